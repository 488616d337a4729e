/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_dev.c: devices, contexts, attributes, ports, GIDs. What a device is like
 * is fake_kinds.c's.
 * Covers ibv_get_device_list .. ibv_query_pkey, ibv_get/ack_async_event,
 * ibv_fork_init. It has no sysfs and no uverbs file: cmd_fd is -1.
 * Threads: each call takes the fake's lock; ibv_get_async_event may block.
 * Ownership: devices live until fv_reset(), contexts until closed.
 * Rules: verbs.h (verbs_context comes before ibv_context), man pages.
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef ibv_query_port
#undef ibv_get_device_list

struct fv_link fv__devices = {&fv__devices, &fv__devices};
static void (*data_path)(struct ibv_context_ops *ops);

struct dev_list {
	struct fv_obj obj;
	struct ibv_device *dev[]; /* NULL terminated */
};

static void free_plain_list(struct fv_obj *obj)
{
	free(fv_container(obj, struct dev_list, obj));
}

struct fv_context *fv__context(struct ibv_context *ctx)
{
	return fv_container(ctx, struct fv_context, v.context);
}

struct fv_device *fv__device(struct ibv_context *ctx)
{
	return fv__context(ctx)->fdev;
}

void fv__block(struct ibv_context *ctx)
{
	unsigned int ms = fv__device(ctx)->cfg.blocks_ms;
	const struct timespec ts = {.tv_sec = ms / 1000,
				    .tv_nsec = (long)(ms % 1000) * 1000000};

	if (!ms)
		return;
	pthread_mutex_unlock(&fv__lock);
	nanosleep(&ts, NULL);
	pthread_mutex_lock(&fv__lock);
}

bool fv__is_iwarp(struct ibv_context *ctx)
{
	return ctx->device->transport_type == IBV_TRANSPORT_IWARP;
}

bool fv__padding_taken(struct ibv_context *ctx, const void *init, size_t end,
		       const void *behind)
{
	const unsigned char *last = (const unsigned char *)init + end;
	const unsigned char *p = behind;

	while (p < last && !*p)
		p++;
	return p == last || !fv__device(ctx)->cfg.reads_padding;
}

struct fv_port_cfg *fv__port(struct ibv_context *ctx, unsigned int port)
{
	struct fv_device_cfg *cfg = &fv__device(ctx)->cfg;

	if (port < 1 || port > cfg->attr.phys_port_cnt)
		return NULL;
	return &cfg->port[port - 1];
}

int fv__gid_index(const struct fv_port_cfg *p, const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	if (!memcmp(gid, &zero, sizeof(zero)))
		return -1;
	for (int i = 0; i < p->attr.gid_tbl_len && i < FV_GIDS; i++)
		if (!memcmp(&p->gid[i], gid, sizeof(*gid)))
			return i;
	return -1;
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

/*
 * The kernel finds a RoCE peer's MAC address through IP, so both ends must be
 * of one family; only RoCE v1 reads it from a link-local GID.
 */
static bool can_be_found(const struct fv_port_cfg *p, int index,
			 const union ibv_gid *dgid)
{
	if (p->attr.link_layer != IBV_LINK_LAYER_ETHERNET)
		return true;
	if (p->gid_type[index] == IBV_GID_TYPE_ROCE_V1 &&
	    dgid->raw[0] == 0xfe && (dgid->raw[1] & 0xc0) == 0x80)
		return true;
	return is_ipv4(&p->gid[index]) == is_ipv4(dgid);
}

/* What a driver checks of an address vector when it is given one. */
int fv__check_av(struct ibv_context *ctx, const struct ibv_ah_attr *av)
{
	static const union ibv_gid zero;
	const struct fv_port_cfg *p = fv__port(ctx, av->port_num);
	int index = av->grh.sgid_index;

	if (!p)
		return EINVAL;
	if (!av->is_global)
		return p->attr.link_layer == IBV_LINK_LAYER_ETHERNET ||
				       !av->dlid
			       ? EINVAL
			       : 0;
	if (index >= p->attr.gid_tbl_len || index >= FV_GIDS ||
	    !memcmp(&p->gid[index], &zero, sizeof(zero)) ||
	    !memcmp(&av->grh.dgid, &zero, sizeof(zero)))
		return EINVAL;
	return can_be_found(p, index, &av->grh.dgid) ? 0 : EINVAL;
}

struct ibv_device *fv_device_add(const struct fv_device_cfg *cfg)
{
	struct fv_device *d = fv__zalloc(sizeof(*d));
	int p, i;

	d->cfg = *cfg;
	for (p = 0; p < FV_PORTS; p++)
		for (i = 0; i < FV_ADDRS && cfg->port[p].addr[i]; i++) {
			d->cfg.port[p].addr[i] = strdup(cfg->port[p].addr[i]);
			if (!d->cfg.port[p].addr[i])
				fv__die("out of memory");
		}
	snprintf(d->dev.name, sizeof(d->dev.name), "%s", cfg->name);
	d->dev.node_type = cfg->node_type;
	d->dev.transport_type = cfg->transport_type;
	fv__enter();
	fv_link_add(&fv__devices, &d->link);
	fv__leave();
	return &d->dev;
}

struct fv_device_cfg *fv_device_cfg_get(struct ibv_device *dev)
{
	return &fv_container(dev, struct fv_device, dev)->cfg;
}

void fv__devices_reset(void)
{
	int p, i;

	data_path = NULL;
	while (!fv_link_empty(&fv__devices)) {
		struct fv_device *d =
			fv_container(fv__devices.next, struct fv_device, link);

		fv_link_del(&d->link);
		for (p = 0; p < FV_PORTS; p++)
			for (i = 0; i < FV_ADDRS; i++)
				free((void *)(uintptr_t)d->cfg.port[p].addr[i]);
		free(d);
	}
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct dev_list *list;
	struct fv_link *l;
	int n = 0;

	if (fv__call("ibv_get_device_list"))
		return NULL;
	for (l = fv__devices.next; l != &fv__devices; l = l->next)
		n++;
	list = fv__new(sizeof(*list) + (size_t)(n + 1) * sizeof(list->dev[0]),
		       offsetof(struct dev_list, obj), FV_OBJ_LIST,
		       free_plain_list);
	n = 0;
	for (l = fv__devices.next; l != &fv__devices; l = l->next)
		list->dev[n++] = &fv_container(l, struct fv_device, link)->dev;
	fv__leave();
	if (num_devices)
		*num_devices = n;
	return list->dev;
}

void ibv_free_device_list(struct ibv_device **list)
{
	fv__call_sure("ibv_free_device_list");
	fv__drop(&fv_container(list, struct dev_list, dev)->obj);
	fv__leave();
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return fv_device_cfg_get(device)->attr.node_guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

static int query_port_op(struct ibv_context *ctx, uint8_t port,
			 struct ibv_port_attr *attr, size_t len)
{
	struct fv_port_cfg *p;
	int err = fv__call("ibv_query_port");

	if (err)
		return err;
	p = fv__port(ctx, port);
	if (p)
		memcpy(attr, &p->attr,
		       len < sizeof(*attr) ? len : sizeof(*attr));
	return fv__done(p ? 0 : EINVAL);
}

int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	/* the old structure ends before port_cap_flags2 */
	return query_port_op(context, port_num, (void *)port_attr,
			     offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int err = fv__call("ibv_query_device");

	if (err)
		return err;
	*attr = fv__device(context)->cfg.attr;
	return fv__done(0);
}

static int query_device_ex_op(struct ibv_context *ctx,
			      const struct ibv_query_device_ex_input *input,
			      struct ibv_device_attr_ex *attr, size_t size)
{
	(void)input;
	memset(attr, 0, size);
	return ibv_query_device(ctx, &attr->orig_attr);
}

static void free_context(struct fv_obj *obj)
{
	struct fv_context *c = fv_container(obj, struct fv_context, obj);

	while (!fv_link_empty(&c->async.items)) {
		struct fv_link *l = c->async.items.next;

		fv_link_del(l);
		free(fv_container(l, struct fv_async, link));
	}
	fv__queue_fini(&c->async);
	pthread_mutex_destroy(&c->v.context.mutex);
	free(c);
}

void fv_data_path(void (*set)(struct ibv_context_ops *ops))
{
	data_path = set;
}

struct fv_context *fv__context_new(struct fv_device *fdev, bool hidden)
{
	struct fv_context *c =
		fv_new(struct fv_context, FV_OBJ_CTX, free_context);
	struct ibv_context *ctx = &c->v.context;
	int err;

	c->fdev = fdev;
	c->obj.hidden = hidden;
	pthread_mutex_init(&ctx->mutex, NULL);
	err = fv__queue_init(&c->async);
	if (err) {
		fv__drop(&c->obj);
		errno = err;
		return NULL;
	}
	ctx->device = &fdev->dev;
	ctx->cmd_fd = -1;
	ctx->async_fd = c->async.fd;
	ctx->num_comp_vectors = fdev->cfg.num_comp_vectors;
	c->v.sz = sizeof(c->v);
	ctx->abi_compat = fdev->cfg.old_abi ? NULL : __VERBS_ABI_IS_EXTENDED;
	c->v.query_port = query_port_op;
	c->v.query_device_ex = query_device_ex_op;
	ctx->ops.alloc_mw = fv__alloc_mw;
	ctx->ops.bind_mw = fv__bind_mw;
	ctx->ops.dealloc_mw = fv__dealloc_mw;
	ctx->ops.poll_cq = fv__poll_cq;
	ctx->ops.req_notify_cq = fv__req_notify;
	ctx->ops.post_srq_recv = fv__post_srq_recv;
	ctx->ops.post_send = fv__post_send;
	ctx->ops.post_recv = fv__post_recv;
	if (data_path)
		data_path(&ctx->ops);
	return c;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct fv_context *c;

	if (fv__call("ibv_open_device"))
		return NULL;
	c = fv__context_new(fv_container(device, struct fv_device, dev), false);
	if (!c)
		return fv__refuse(errno);
	fv__leave();
	return &c->v.context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct fv_context *c = fv__context(context);

	fv__call_sure("ibv_close_device");
	if (c->obj.refs)
		fv__die("ibv_close_device with %u live object(s)", c->obj.refs);
	fv__drop(&c->obj);
	return fv__done(0);
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
		  union ibv_gid *gid)
{
	struct fv_port_cfg *p;
	bool ok;

	if (fv__call("ibv_query_gid"))
		return -1;
	p = fv__port(context, port_num);
	ok = p && index >= 0 && index < p->attr.gid_tbl_len && index < FV_GIDS;
	if (ok)
		*gid = p->gid[index];
	fv__leave();
	if (!ok)
		errno = EINVAL;
	return ok ? 0 : -1;
}

static int gid_entry(struct ibv_context *ctx, uint32_t port, uint32_t index,
		     struct ibv_gid_entry *e)
{
	static const union ibv_gid zero;
	struct fv_port_cfg *p = fv__port(ctx, port);

	if (!p || index >= (uint32_t)p->attr.gid_tbl_len || index >= FV_GIDS)
		return EINVAL;
	if (!memcmp(&p->gid[index], &zero, sizeof(zero)))
		return ENODATA;
	memset(e, 0, sizeof(*e));
	e->gid = p->gid[index];
	e->gid_index = index;
	e->port_num = port;
	e->gid_type = p->gid_type[index];
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
		      uint32_t gid_index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t entry_size)
{
	int err = fv__call("ibv_query_gid_ex");

	if (err)
		return err;
	err = flags || entry_size != sizeof(*entry)
		      ? EINVAL
		      : gid_entry(context, port_num, gid_index, entry);
	return fv__done(err);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context,
			     struct ibv_gid_entry *entries, size_t max_entries,
			     uint32_t flags, size_t entry_size)
{
	uint32_t port, i;
	size_t n = 0;
	int err = fv__call("ibv_query_gid_table");

	if (err)
		return -err;
	if (flags || entry_size != sizeof(*entries)) {
		fv__leave();
		return -EINVAL;
	}
	for (port = 1; fv__port(context, port); port++)
		for (i = 0; i < FV_GIDS && n < max_entries; i++)
			n += !gid_entry(context, port, i, &entries[n]);
	fv__leave();
	return (ssize_t)n;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index,
		   __be16 *pkey)
{
	struct fv_port_cfg *p;
	bool ok;

	if (fv__call("ibv_query_pkey"))
		return -1;
	p = fv__port(context, port_num);
	ok = p && index >= 0 && index < p->attr.pkey_tbl_len &&
	     index < FV_PKEYS;
	if (ok)
		*pkey = htobe16(p->pkey[index]);
	fv__leave();
	if (!ok)
		errno = EINVAL;
	return ok ? 0 : -1;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
		       __be16 pkey)
{
	struct fv_port_cfg *p;
	int i, found = -1;

	if (fv__call("ibv_get_pkey_index"))
		return -1;
	p = fv__port(context, port_num);
	for (i = 0; p && i < p->attr.pkey_tbl_len && i < FV_PKEYS; i++)
		if (found < 0 && htobe16(p->pkey[i]) == pkey)
			found = i;
	fv__leave();
	if (found < 0)
		errno = EINVAL;
	return found;
}
