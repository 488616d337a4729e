/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_addr.h - internet addresses: of this host's interfaces, as text, and as
 * a consumer gives them for a peer.
 *
 * Knows no device and no provider. Holds no state and takes no lock;
 * everything but scope names is a function of its arguments, and the
 * interfaces there are come in as a list so that a test can make them up.
 */
#ifndef DAPL_ADDR_H
#define DAPL_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct ifaddrs;

#define DAPL_ADDRS_MAX 16

/* Candidates, the preferred one first. */
struct dapl_addrs {
	struct sockaddr_storage addr[DAPL_ADDRS_MAX];
	int n;
};

/* In the order of preference. */
enum dapl_addr_class {
	DAPL_ADDR_V4,
	DAPL_ADDR_V6,
	DAPL_ADDR_V6_LOCAL,
	DAPL_ADDR_N
};

/* DAPL_ADDR_N: ADDR is NULL or of another family. */
enum dapl_addr_class dapl_addr_classify(const struct sockaddr *addr);
/* Length of an IPv4 or IPv6 address, else 0. */
socklen_t dapl_addr_len(const struct sockaddr *addr);
void dapl_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
uint16_t dapl_addr_port(const struct sockaddr_storage *addr);
/* Whatever the ports. */
bool dapl_addr_same_host(const struct sockaddr *a, const struct sockaddr *b);
/* Of a GID: an IPv4 address, mapped into IPv6. Its last four bytes are that. */
static inline bool dapl_addr_gid_is_v4(const uint8_t *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}
/* Whether GID is the one that RoCE makes of ADDR. */
bool dapl_addr_is_gid(const struct sockaddr_storage *addr, const uint8_t *gid);
/* Numeric form, with the scope of a link-local address. */
void dapl_addr_text(const struct sockaddr *addr, char *buf, size_t size);
/* Adds an internet address without its port; one too many is left out. */
void dapl_addrs_add(struct dapl_addrs *list, const struct sockaddr *addr);
/* Adds ADDR as the interfaces that have it write it: with their scope. */
void dapl_addrs_add_own(struct dapl_addrs *list, const struct ifaddrs *ifs,
			const struct sockaddr *addr);

/*
 * Addresses of interface (or alias) NAME: IPv4, then global IPv6, then
 * link-local. -ENODEV: no such interface, -EADDRNOTAVAIL: it has none.
 */
int dapl_addr_netdev(const struct ifaddrs *ifs, const char *name,
		     struct dapl_addrs *ret_addrs);
/* A numeric address, "fe80::1%eth0" included. -EINVAL if it is none. */
int dapl_addr_numeric(const char *text, struct sockaddr_storage *ret_addr);
/*
 * "eth0 10.0.0.1, lo 127.0.0.1" for error texts; cut at SIZE. Eight interfaces
 * at most, those that are up first, loopback behind them.
 */
void dapl_addr_netdevs_text(const struct ifaddrs *ifs, char *buf, size_t size);

/*
 * Where to connect to: TO with PORT, as seen from OWN. TO is a consumer's.
 * -EAFNOSUPPORT: another family than OWN's, -EADDRNOTAVAIL: not an address of
 * one host.
 */
int dapl_addr_peer(const struct sockaddr_storage *own,
		   const struct sockaddr *to, uint16_t port,
		   struct sockaddr_storage *ret_addr);

#endif
