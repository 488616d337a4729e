/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_addr.h - addresses of the CMA provider: the text of ia_params, names of
 * interfaces and hosts, connection qualifiers.
 *
 * Knows nothing of rdma_cm: whether an address belongs to an RDMA device is for
 * the caller to find out. Holds no state and takes no lock; everything but
 * cma_addr_host() and scope names is a function of its arguments, and the
 * interfaces there are come in as a list so that a test can make them up.
 * Rules: doc of dat.conf, field 7; the qualifier rule is that of every earlier
 * CMA provider, since both ends must agree on it.
 */
#ifndef CMA_ADDR_H
#define CMA_ADDR_H

#include <dat2/udat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct ifaddrs;

/* ia_params taken apart. */
struct cma_target {
	char name[256]; /* interface, address or host */
	unsigned port;	/* 0: whichever port the address belongs to */
};

#define CMA_ADDRS_MAX 16

/* Candidates, the preferred one first. */
struct cma_addrs {
	struct sockaddr_storage addr[CMA_ADDRS_MAX];
	int n;
};

/* -EINVAL with a static text that says what is wrong. */
int cma_target_parse(const char *text, struct cma_target *ret_target,
		     const char **ret_why);

/* -EINVAL for qualifiers that stand for no port. */
int cma_qual_port(DAT_CONN_QUAL qual, uint16_t *ret_port);

/* Length of an IPv4 or IPv6 address, else 0. */
socklen_t cma_addr_len(const struct sockaddr *addr);
void cma_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
/* Numeric form, with the scope of a link-local address. */
void cma_addr_text(const struct sockaddr *addr, char *buf, size_t size);

/*
 * Addresses of interface (or alias) NAME: IPv4, then global IPv6, then
 * link-local. -ENODEV: no such interface, -EADDRNOTAVAIL: it has none.
 */
int cma_addr_netdev(const struct ifaddrs *ifs, const char *name,
		    struct cma_addrs *ret_addrs);
/* A numeric address, "fe80::1%eth0" included. -EINVAL if it is none. */
int cma_addr_numeric(const char *text, struct sockaddr_storage *ret_addr);
/*
 * Those addresses of host NAME that IFS has. May block in the resolver.
 * -ENOENT: the name does not resolve, -EADDRNOTAVAIL: to other hosts only.
 */
int cma_addr_host(const struct ifaddrs *ifs, const char *name,
		  struct cma_addrs *ret_addrs);
/* "eth0 10.0.0.1, lo 127.0.0.1" for error texts; cut at SIZE. */
void cma_addr_netdevs_text(const struct ifaddrs *ifs, char *buf, size_t size);

/*
 * Where to connect to: TO with the port of QUAL, as seen from OWN.
 * -EAFNOSUPPORT: another family than OWN's, -EADDRNOTAVAIL: not an address of
 * one host, -EINVAL: the qualifier.
 */
int cma_addr_peer(const struct sockaddr_storage *own, const struct sockaddr *to,
		  DAT_CONN_QUAL qual, struct sockaddr_storage *ret_addr);

#endif
