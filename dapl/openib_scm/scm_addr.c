/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_addr.c - the IP address of an adapter, and TCP ports; see the header.
 */
#include "dapl/openib_scm/scm_addr.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl/common/services/dapl_log.h"

#define QUAL_BASE 1000
/* More GIDs than an address vector can name. */
#define GIDS 256

int scm_qual_port(DAT_CONN_QUAL qual, uint16_t *ret_port)
{
	uint16_t port = (uint16_t)(qual + QUAL_BASE);

	if (!port)
		return dapl_fail_errno(-EINVAL,
				       "qualifier %llu stands for TCP port 0",
				       (unsigned long long)qual);
	*ret_port = port;
	return 0;
}

/* The first line of a file of sysfs. 0 or -errno. */
static int read_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int ret = 0;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		ret = -errno;
	close(fd);
	if (ret)
		return ret;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static const struct ifaddrs *interface(const struct ifaddrs *ifs,
				       const char *name)
{
	while (ifs && strcmp(ifs->ifa_name, name) != 0)
		ifs = ifs->ifa_next;
	return ifs;
}

int scm_addr_device(const char *sysfs, const struct ifaddrs *ifs,
		    const char *dev, unsigned port,
		    struct sockaddr_storage *ret_addr)
{
	char path[256], name[IF_NAMESIZE + 1];
	struct dapl_addrs addrs;
	const struct ifaddrs *which;
	bool up = false, down = false;
	int i, ret;

	if (strchr(dev, '/'))
		return -ENODEV;
	for (i = 0; i < GIDS; i++) {
		snprintf(path, sizeof(path),
			 "%s/class/infiniband/%s/ports/%u/gid_attrs/ndevs/%d",
			 sysfs, dev, port, i);
		ret = read_line(path, name, sizeof(name));
		if (ret == -ENOENT)
			break; /* the table's end */
		/* An entry that is not in use cannot be read. */
		which = ret ? NULL : interface(ifs, name);
		if (!which)
			continue;
		up |= (which->ifa_flags & IFF_UP) != 0;
		down |= !(which->ifa_flags & IFF_UP);
		if (!(which->ifa_flags & IFF_UP) ||
		    dapl_addr_netdev(ifs, name, &addrs))
			continue;
		*ret_addr = addrs.addr[0];
		return 0;
	}
	return down && !up ? -ENETDOWN : -ENODEV;
}

static const struct ifaddrs *pick(const struct ifaddrs *ifs,
				  enum dapl_addr_class class, bool infiniband)
{
	const struct ifaddrs *i;

	for (i = ifs; i; i = i->ifa_next)
		if ((i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK) &&
		    (strncmp(i->ifa_name, "ib", 2) == 0) == infiniband &&
		    dapl_addr_classify(i->ifa_addr) == class)
			return i;
	return NULL;
}

int scm_addr_any(const struct ifaddrs *ifs, struct sockaddr_storage *ret_addr)
{
	const struct ifaddrs *found = NULL;
	struct dapl_addrs addrs = {.n = 0};
	unsigned class;

	for (class = DAPL_ADDR_V4; class < DAPL_ADDR_N && !found; class ++) {
		found = pick(ifs, class, false);
		if (!found)
			found = pick(ifs, class, true);
	}
	if (!found)
		return -EADDRNOTAVAIL;
	dapl_addrs_add(&addrs, found->ifa_addr);
	*ret_addr = addrs.addr[0];
	return 0;
}

int scm_addr_named(const struct ifaddrs *ifs, const char *name,
		   struct sockaddr_storage *ret_addr)
{
	struct sockaddr_storage number;
	struct dapl_addrs addrs = {.n = 0};
	int ret;

	ret = dapl_addr_netdev(ifs, name, &addrs);
	if (ret == -ENODEV && !dapl_addr_numeric(name, &number))
		dapl_addrs_add_own(&addrs, ifs, (struct sockaddr *)&number);
	if (!addrs.n)
		return ret;
	*ret_addr = addrs.addr[0];
	return 0;
}
