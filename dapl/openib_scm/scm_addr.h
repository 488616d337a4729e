/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_addr.h - the IP address of an adapter, and TCP ports.
 *
 * Opens no socket. No state, no lock; everything but sysfs comes in as an
 * argument. The rule for ports is that of every earlier SCM provider, since
 * both ends must agree on it.
 */
#ifndef SCM_ADDR_H
#define SCM_ADDR_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/common/cm/base/dapl_addr.h"

/* -EINVAL, with the reason: for qualifiers that stand for no port. */
int scm_qual_port(DAT_CONN_QUAL qual, uint16_t *ret_port);
/* Stands for the last port; the next ones for none, and for privileged ones. */
#define SCM_ANY_QUAL_LAST 64535

/*
 * The address of the network interface that port PORT of Ethernet device DEV
 * belongs to: the first of its GIDs' interfaces that is up and has one. SYSFS
 * is where the system's is mounted. -ENETDOWN: all are down; -ENODEV: there is
 * none with an address, so it is with InfiniBand.
 */
int scm_addr_device(const char *sysfs, const struct ifaddrs *ifs,
		    const char *dev, unsigned port,
		    struct sockaddr_storage *ret_addr);

/*
 * The address that NAME, of an interface or one of this host's addresses as a
 * number, stands for. -ENODEV: it is neither, -EADDRNOTAVAIL: the interface has
 * none.
 */
int scm_addr_named(const struct ifaddrs *ifs, const char *name,
		   struct sockaddr_storage *ret_addr);

/*
 * Without such: the address of any interface that is up, other than loopback.
 * IPv4, then global IPv6, then link-local; of each, those of InfiniBand last.
 * -EADDRNOTAVAIL: there is none.
 */
int scm_addr_any(const struct ifaddrs *ifs, struct sockaddr_storage *ret_addr);

#endif
