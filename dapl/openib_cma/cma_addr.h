/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_addr.h - addresses of the CMA provider: the text of ia_params, names of
 * hosts, connection qualifiers.
 *
 * Knows nothing of rdma_cm: whether an address belongs to an RDMA device is for
 * the caller to find out. Holds no state and takes no lock.
 * Rules: doc of dat.conf, field 7; the qualifier rule is that of every earlier
 * CMA provider, since both ends must agree on it.
 */
#ifndef CMA_ADDR_H
#define CMA_ADDR_H

#include <dat2/udat.h>
#include <stdint.h>

#include "dapl/common/cm/base/dapl_addr.h"

/* ia_params taken apart. */
struct cma_target {
	char name[256]; /* interface, address or host */
	uint8_t port;	/* 0: whichever port the address belongs to */
};

/* -EINVAL with a static text that says what is wrong. */
int cma_target_parse(const char *text, struct cma_target *ret_target,
		     const char **ret_why);

/* -EINVAL for qualifiers that stand for no port. */
int cma_qual_port(DAT_CONN_QUAL qual, uint16_t *ret_port);

/*
 * Those addresses of host NAME that IFS has. May block in the resolver.
 * -ENOENT: the name does not resolve, -EADDRNOTAVAIL: to other hosts only.
 */
int cma_addr_host(const struct ifaddrs *ifs, const char *name,
		  struct dapl_addrs *ret_addrs);

/* As dapl_addr_peer(), with the port of QUAL; -EINVAL: the qualifier. */
int cma_addr_peer(const struct sockaddr_storage *own, const struct sockaddr *to,
		  DAT_CONN_QUAL qual, struct sockaddr_storage *ret_addr);

#endif
