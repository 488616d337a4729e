/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_addr.c - addresses of the CMA provider; see the header.
 *
 * All text that comes in is from dat.conf or the environment and is treated as
 * hostile: bounded copies, whole-word numbers, no recursion.
 */
#include "dapl/openib_cma/cma_addr.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <string.h>

#include "dapl/common/cm/base/dapl_cm_params.h"

/* Ports of the range that larger qualifiers are folded into. */
#define FOLD_SIZE 32001
#define FOLD_BASE 33534

int cma_target_parse(const char *text, struct cma_target *ret_target,
		     const char **ret_why)
{
	struct cma_target t;
	const char *why;

	if (!text)
		text = "";
	why = dapl_cm_params_place(&text, t.name, sizeof(t.name), &t.port);
	if (!why)
		why = dapl_cm_params_end(text);
	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret_target = t;
	return 0;
}

int cma_qual_port(DAT_CONN_QUAL qual, uint16_t *ret_port)
{
	if (qual == 0)
		return -EINVAL;
	*ret_port = qual <= UINT16_MAX ? qual : qual % FOLD_SIZE + FOLD_BASE;
	return 0;
}

int cma_addr_host(const struct ifaddrs *ifs, const char *name,
		  struct dapl_addrs *ret_addrs)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct dapl_addrs list = {.n = 0};
	struct addrinfo *all, *ai;
	unsigned class;

	if (getaddrinfo(name, NULL, &hints, &all))
		return -ENOENT;
	for (class = 0; class < DAPL_ADDR_N; class ++)
		for (ai = all; ai; ai = ai->ai_next)
			if (dapl_addr_classify(ai->ai_addr) == class)
				dapl_addrs_add_own(&list, ifs, ai->ai_addr);
	freeaddrinfo(all);
	if (!list.n)
		return -EADDRNOTAVAIL;
	*ret_addrs = list;
	return 0;
}

int cma_addr_peer(const struct sockaddr_storage *own, const struct sockaddr *to,
		  DAT_CONN_QUAL qual, struct sockaddr_storage *ret_addr)
{
	uint16_t port;

	if (cma_qual_port(qual, &port))
		return -EINVAL;
	return dapl_addr_peer(own, to, port, ret_addr);
}
