/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cm_addr.c: addresses and ports of the fake rdma_cm: bind, listen, who
 * owns an address. No name service, no routing: an address belongs to the
 * device port that lists it, to the host (fv_cm_host_addr(), 127/8, ::1) or
 * to nobody.
 * Threads: the calls take the fake's lock; cm__ functions expect it held.
 * Ownership: none handed out.
 * Rule: rdma_bind_addr(3); EADDRNOTAVAIL for an address of no interface,
 * ENODEV for one whose interface is no RDMA device, as the kernel does.
 */
#include "fake_cm_int.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define HOST_ADDRS	8
#define EPHEMERAL_FIRST 32768
#define EPHEMERAL_N	28232
#define BACKLOG_MAX	1024

static struct sockaddr_storage host_addr[HOST_ADDRS];
static unsigned int n_host_addr;
static unsigned int next_port;

static bool parse(const char *text, struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (void *)ss;
	struct sockaddr_in6 *in6 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
		ss->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		ss->ss_family = AF_INET6;
	return ss->ss_family;
}

bool cm__addr_equal(const void *a, const void *b)
{
	const struct sockaddr_in *in = a, *jn = b;
	const struct sockaddr_in6 *in6 = a, *jn6 = b;

	if (in->sin_family != jn->sin_family)
		return false;
	if (in->sin_family == AF_INET)
		return in->sin_addr.s_addr == jn->sin_addr.s_addr;
	return in->sin_family == AF_INET6 &&
	       !memcmp(&in6->sin6_addr, &jn6->sin6_addr,
		       sizeof(in6->sin6_addr));
}

bool cm__addr_any(const void *a)
{
	const struct sockaddr_in *in = a;
	const struct sockaddr_in6 *in6 = a;

	if (in->sin_family == AF_INET)
		return in->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

in_port_t *cm__addr_port(void *a)
{
	struct sockaddr_in *in = a;
	struct sockaddr_in6 *in6 = a;

	return in->sin_family == AF_INET6 ? &in6->sin6_port : &in->sin_port;
}

static uint32_t scope_of(const void *a)
{
	const struct sockaddr_in6 *in6 = a;

	return in6->sin6_family == AF_INET6 ? in6->sin6_scope_id : 0;
}

static bool port_has(const struct fv_port_cfg *p, const void *addr)
{
	struct sockaddr_storage ss;

	for (int i = 0; i < FV_ADDRS && p->addr[i]; i++) {
		if (!parse(p->addr[i], &ss) || !cm__addr_equal(&ss, addr))
			continue;
		if (!p->scope_id || !scope_of(addr) ||
		    p->scope_id == scope_of(addr))
			return true;
	}
	return false;
}

static struct fv_device *find_device(const void *addr, bool known_to_cm,
				     uint8_t *ret_port)
{
	struct fv_link *l;
	uint8_t i;

	for (l = fv__devices.next; l != &fv__devices; l = l->next) {
		struct fv_device *d = fv_container(l, struct fv_device, link);

		if (d->cfg.no_rc && known_to_cm)
			continue;
		for (i = 0; i < d->cfg.attr.phys_port_cnt && i < FV_PORTS; i++)
			if (port_has(&d->cfg.port[i], addr)) {
				*ret_port = (uint8_t)(i + 1);
				return d;
			}
	}
	return NULL;
}

struct fv_device *cm__addr_device(const void *addr, uint8_t *ret_port)
{
	return find_device(addr, true, ret_port);
}

bool cm__addr_of_host(const void *addr)
{
	const struct sockaddr_in *in = addr;
	const struct sockaddr_in6 *in6 = addr;
	uint8_t port;

	if (in->sin_family == AF_INET &&
	    ntohl(in->sin_addr.s_addr) >> 24 == 127)
		return true;
	if (in->sin_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr))
		return true;
	for (unsigned int i = 0; i < n_host_addr; i++)
		if (cm__addr_equal(&host_addr[i], addr))
			return true;
	return find_device(addr, false, &port) != NULL;
}

void fv_cm_host_addr(const char *addr)
{
	fv__enter();
	if (n_host_addr == HOST_ADDRS || !parse(addr, &host_addr[n_host_addr]))
		fv__die("fv_cm_host_addr: %s", addr);
	n_host_addr++;
	fv__leave();
}

void cm__addr_reset(void)
{
	n_host_addr = 0;
}

static bool port_taken(const struct cm_id *c, struct sockaddr_storage *addr)
{
	struct fv_obj *o;

	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *d = fv_container(o, struct cm_id, obj);

		if (d == c || d->passive || d->stage == CM_IDLE ||
		    d->id.ps != c->id.ps || (c->reuse && d->reuse))
			continue;
		if (*cm__addr_port(&d->src) != *cm__addr_port(addr))
			continue;
		if (cm__addr_any(&d->src) || cm__addr_any(addr) ||
		    cm__addr_equal(&d->src, addr))
			return true;
	}
	return false;
}

static int take_port(const struct cm_id *c, struct sockaddr_storage *addr)
{
	if (*cm__addr_port(addr))
		return port_taken(c, addr) ? EADDRINUSE : 0;
	for (unsigned int i = 0; i < EPHEMERAL_N; i++) {
		*cm__addr_port(addr) = htons((
			uint16_t)(EPHEMERAL_FIRST + next_port++ % EPHEMERAL_N));
		if (!port_taken(c, addr))
			return 0;
	}
	return EADDRNOTAVAIL;
}

int cm__bind(struct cm_id *c, const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct sockaddr_storage ss = {0};
	struct fv_device *dev = NULL;
	uint8_t port = 0;
	int err;

	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return EAFNOSUPPORT;
	if (c->stage != CM_IDLE)
		return EINVAL;
	if (addr->sa_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) && !in6->sin6_scope_id)
		return EINVAL;
	memcpy(&ss, addr,
	       addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
	if (!cm__addr_any(addr)) {
		dev = cm__addr_device(addr, &port);
		if (!dev)
			return cm__addr_of_host(addr) ? ENODEV : EADDRNOTAVAIL;
	}
	err = dev ? cm__device_open(dev) : 0;
	if (!err)
		err = take_port(c, &ss);
	if (err)
		return err;
	c->src = ss;
	c->dev = dev;
	c->port = port;
	c->stage = CM_ADDR_BOUND;
	cm__show(c, false);
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	int err;

	if (fv__call("rdma_bind_addr"))
		return -1;
	err = cm__bind(cm_of(id), addr);
	return fv__done(cm__fail(err));
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct cm_id *c = cm_of(id);
	int err = 0;

	if (fv__call("rdma_listen"))
		return -1;
	if (c->stage == CM_IDLE)
		err = cm__bind(c, (struct sockaddr *)&any);
	if (!err && c->stage != CM_ADDR_BOUND)
		err = EINVAL;
	if (!err) {
		c->stage = CM_LISTEN;
		c->backlog = backlog > 0 && backlog < BACKLOG_MAX ? backlog
								  : BACKLOG_MAX;
	}
	return fv__done(cm__fail(err));
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return *cm__addr_port(&id->route.addr.src_storage);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return *cm__addr_port(&id->route.addr.dst_storage);
}

/* RoCE: the table entry of the IP address, version 2 if there is one */
void cm__gid_of(const struct fv_port_cfg *p, const void *addr,
		union ibv_gid *ret_gid, uint8_t *ret_index)
{
	const struct sockaddr_in *in = addr;
	const struct sockaddr_in6 *in6 = addr;
	union ibv_gid gid = {0};
	int i, found = 0;

	if (in->sin_family == AF_INET) {
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, &in->sin_addr, 4);
	} else {
		memcpy(gid.raw, &in6->sin6_addr, 16);
	}
	for (i = 0; i < p->attr.gid_tbl_len && i < FV_GIDS; i++) {
		if (memcmp(&p->gid[i], &gid, sizeof(gid)))
			continue;
		found = i;
		if (p->gid_type[i] == IBV_GID_TYPE_ROCE_V2)
			break;
	}
	*ret_gid = p->gid[found];
	*ret_index = (uint8_t)found;
}
