/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cm.c: rdma_cm event channels, ids and events.
 * Events are queued in the call that causes them and read through the
 * channel, so they are asynchronous to the call as the real ones are. There
 * are no synchronous ids (rdma_create_id without a channel).
 * Threads: each call takes the fake's lock; rdma_get_cm_event may block.
 * Ownership: as in rdma_cm(7): an event must be acked, and an id with un-acked
 * events cannot be destroyed; the real call would block, this one aborts.
 * Rule: rdma_get_cm_event(3), rdma_destroy_id(3), rdma_migrate_id(3).
 */
#include "fake_cm_int.h"
#include <stdlib.h>
#include <string.h>

int cm__option[FV_CM_OPTION_N];

static fv_cm_fn hook;
static void *hook_arg;
static struct fv_link held = {&held, &held};

int cm__fail(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

static void free_chan(struct fv_obj *obj)
{
	struct cm_chan *c = fv_container(obj, struct cm_chan, obj);

	fv__queue_fini(&c->q);
	free(c);
}

static void free_id(struct fv_obj *obj)
{
	struct cm_id *c = fv_container(obj, struct cm_id, obj);

	free(c->id.route.path_rec);
	free(c);
}

static void free_event(struct fv_obj *obj)
{
	free(fv_container(obj, struct cm_event, obj));
}

static struct cm_chan *chan_of(struct rdma_event_channel *ch)
{
	return fv_container(ch, struct cm_chan, ch);
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_chan *c;
	int err;

	if (fv__call("rdma_create_event_channel"))
		return NULL;
	c = fv_new(struct cm_chan, FV_OBJ_CM_CHAN, free_chan);
	err = fv__queue_init(&c->q);
	if (err) {
		fv__drop(&c->obj);
		return fv__refuse(err);
	}
	c->ch.fd = c->q.fd;
	fv__leave();
	return &c->ch;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct cm_chan *c = chan_of(channel);

	fv__call_sure("rdma_destroy_event_channel");
	if (c->obj.refs)
		fv__die("rdma_destroy_event_channel with %u id(s) on it",
			c->obj.refs);
	fv__drop(&c->obj);
	fv__leave();
}

struct cm_id *cm__id_new(struct rdma_event_channel *ch, void *context,
			 enum rdma_port_space ps)
{
	struct cm_id *c = fv_new(struct cm_id, FV_OBJ_CM_ID, free_id);

	c->id.channel = ch;
	c->id.context = context;
	c->id.ps = ps;
	c->id.qp_type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD
								 : IBV_QPT_RC;
	c->psn = c->obj.num * 2654435761U & 0xffffff;
	chan_of(ch)->obj.refs++;
	return c;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space ps)
{
	if (fv__call("rdma_create_id"))
		return -1;
	if (!channel)
		return fv__done(cm__fail(ENOSYS));
	*id = &cm__id_new(channel, context, ps)->id;
	return fv__done(0);
}

/* The library opens each device for itself, the first time it meets it. */
int cm__device_open(struct fv_device *d)
{
	if (!d->cm_ctx)
		d->cm_ctx = fv__context_new(d, true);
	return d->cm_ctx ? 0 : errno;
}

/* What the caller sees in the id changes only when the library says so. */
void cm__show(struct cm_id *c, bool with_dst)
{
	memcpy(&c->id.route.addr.src_storage, &c->src, sizeof(c->src));
	if (with_dst)
		memcpy(&c->id.route.addr.dst_storage, &c->dst, sizeof(c->dst));
	if (!c->dev)
		return;
	if (cm__device_open(c->dev))
		fv__die("the library's own device: %s", strerror(errno));
	c->id.verbs = &c->dev->cm_ctx->v.context;
	c->id.port_num = c->port;
}

static void event_drop(struct cm_event *e)
{
	if (e->ev.event == RDMA_CM_EVENT_CONNECT_REQUEST && e->obj.hidden)
		e->owner->waiting--;
	fv__drop(&e->obj);
}

static void event_queue(struct cm_event *e)
{
	fv__queue_push(&chan_of(e->owner->id.channel)->q, &e->link);
}

static struct cm_event *event_copy(const struct cm_event *from)
{
	struct cm_event *e =
		fv_new(struct cm_event, FV_OBJ_CM_EVENT, free_event);

	e->obj.hidden = true;
	fv_link_init(&e->link);
	e->ev = from->ev;
	e->owner = from->owner;
	e->about = from->about;
	memcpy(e->pdata, from->pdata, sizeof(e->pdata));
	if (e->ev.param.conn.private_data)
		e->ev.param.conn.private_data = e->pdata;
	return e;
}

static void event_route(struct cm_event *e)
{
	enum fv_verdict v = hook ? hook(&e->ev, hook_arg) : FV_DELIVER;

	if (v == FV_HOLD) {
		fv_link_add(&held, &e->link);
	} else if (v == FV_DROP) {
		event_drop(e);
	} else {
		if (v == FV_DUP)
			event_queue(event_copy(e));
		event_queue(e);
	}
}

static struct cm_event *event_new(struct cm_id *owner, struct cm_id *about,
				  enum rdma_cm_event_type type, int status)
{
	struct cm_event *e =
		fv_new(struct cm_event, FV_OBJ_CM_EVENT, free_event);

	e->obj.hidden = true;
	e->owner = owner;
	e->about = about;
	e->ev.id = &about->id;
	e->ev.listen_id = owner != about ? &owner->id : NULL;
	e->ev.event = type;
	e->ev.status = status;
	return e;
}

static void event_send(struct cm_event *e)
{
	fv__trace("  event %s status %d on id %u", rdma_event_str(e->ev.event),
		  e->ev.status, e->about->obj.num);
	if (e->ev.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		e->owner->waiting++;
	event_route(e);
}

void cm__event_conn(struct cm_id *owner, struct cm_id *about,
		    enum rdma_cm_event_type type, int status,
		    const struct rdma_conn_param *conn, uint8_t padded_len)
{
	struct cm_event *e = event_new(owner, about, type, status);
	uint8_t len = padded_len;

	if (conn) {
		e->ev.param.conn = *conn;
		if (conn->private_data_len > len)
			len = conn->private_data_len;
		if (conn->private_data && conn->private_data_len)
			memcpy(e->pdata, conn->private_data,
			       conn->private_data_len);
	}
	e->ev.param.conn.private_data_len = len;
	e->ev.param.conn.private_data = len ? e->pdata : NULL;
	event_send(e);
}

void cm__event_ud(struct cm_id *owner, struct cm_id *about,
		  enum rdma_cm_event_type type, int status,
		  const struct rdma_ud_param *ud, uint8_t padded_len)
{
	struct cm_event *e = event_new(owner, about, type, status);

	e->ev.param.ud = *ud;
	memcpy(e->pdata, ud->private_data, ud->private_data_len);
	e->ev.param.ud.private_data = e->pdata;
	e->ev.param.ud.private_data_len = padded_len;
	event_send(e);
}

void cm__event(struct cm_id *about, enum rdma_cm_event_type type, int status)
{
	cm__event_conn(about, about, type, status, NULL, 0);
}

/* An id that nobody has seen goes with the event that would have shown it. */
static void id_free(struct cm_id *c)
{
	chan_of(c->id.channel)->obj.refs--;
	fv__drop(&c->obj);
}

static void purge_list(struct fv_link *head, struct fv_queue *q,
		       struct cm_id *c)
{
	struct fv_link *l = head->next;

	while (l != head) {
		struct cm_event *e = fv_container(l, struct cm_event, link);
		struct cm_id *about = e->about;

		if (e->owner != c && e->about != c) {
			l = l->next;
			continue;
		}
		if (q)
			fv__queue_del(q, l);
		else
			fv_link_del(l);
		event_drop(e);
		if (about != c && about->obj.hidden) {
			cm__leave(about);
			purge_list(head, q, about);
			id_free(about);
		}
		l = head->next;
	}
}

static void purge_events(struct cm_id *c)
{
	struct cm_chan *ch = chan_of(c->id.channel);

	purge_list(&ch->q.items, &ch->q, c);
	purge_list(&held, NULL, c);
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct cm_id *c = cm_of(id);

	fv__call_sure("rdma_destroy_id");
	if (id->qp)
		fv__die("rdma_destroy_id before rdma_destroy_qp");
	purge_events(c);
	cm__leave(c);
	fv__wait_acked(&c->obj.events, "rdma_destroy_id");
	id_free(c);
	return fv__done(0);
}

static void path_set(struct cm_id *c)
{
	const struct fv_port_cfg *port;
	struct ibv_sa_path_rec *rec;
	uint8_t index;

	if (c->id.route.path_rec || cm_iwarp(c))
		return;
	port = &c->dev->cfg.port[c->port - 1];
	rec = fv__zalloc(sizeof(*rec));
	cm__gid_of(port, &c->src, &rec->sgid, &index);
	cm__gid_of(port, &c->dst, &rec->dgid, &index);
	if (port->attr.link_layer == IBV_LINK_LAYER_INFINIBAND)
		rec->slid = htobe16(port->attr.lid);
	else
		rec->hop_limit = 64;
	rec->pkey = htobe16(c->dev->cfg.port[c->port - 1].pkey[0]);
	rec->mtu = (uint8_t)c->dev->cfg.port[c->port - 1].attr.active_mtu;
	rec->reversible = 1;
	rec->numb_path = 1;
	rec->packet_life_time = 18;
	c->id.route.path_rec = rec;
	c->id.route.num_paths = 1;
}

/* The library does part of its work in the thread that reads the event. */
static void on_read(struct cm_event *e)
{
	struct cm_id *c = e->about;

	switch (e->ev.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		e->ev.status = -cm__device_open(c->dev);
		if (e->ev.status)
			e->ev.event = RDMA_CM_EVENT_ADDR_ERROR;
		else
			cm__show(c, true);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		path_set(c);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		e->owner->waiting--;
		c->obj.hidden = false;
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (!c->id.qp)
			break;
		e->ev.status = cm__own_qp_connect(c);
		e->ev.event = e->ev.status ? RDMA_CM_EVENT_CONNECT_ERROR
					   : RDMA_CM_EVENT_ESTABLISHED;
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		cm__own_qp_error(c);
		break;
	default:
		break;
	}
}

int rdma_get_cm_event(struct rdma_event_channel *channel,
		      struct rdma_cm_event **event)
{
	struct fv_link *item;
	struct cm_event *e;

	fv__enter();
	item = fv__queue_get(&chan_of(channel)->q);
	if (!item)
		return fv__done(-1);
	e = fv_container(item, struct cm_event, link);
	on_read(e);
	e->obj.hidden = false;
	e->owner->obj.events++;
	*event = &e->ev;
	return fv__done(0);
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cm_event *e;

	if (!event)
		return cm__fail(EINVAL);
	fv__call_sure("rdma_ack_cm_event");
	e = fv_container(event, struct cm_event, ev);
	e->owner->obj.events--;
	event_drop(e);
	fv__acked();
	return fv__done(0);
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct cm_id *c = cm_of(id);
	struct cm_chan *from = chan_of(id->channel);
	struct fv_link *l, *next;

	if (fv__call("rdma_migrate_id"))
		return -1;
	if (!channel)
		return fv__done(cm__fail(ENOSYS));
	fv__wait_acked(&c->obj.events, "rdma_migrate_id");
	id->channel = channel;
	from->obj.refs--;
	chan_of(channel)->obj.refs++;
	for (l = from->q.items.next; l != &from->q.items; l = next) {
		struct cm_event *e = fv_container(l, struct cm_event, link);

		next = l->next;
		if (e->owner != c)
			continue;
		fv__queue_del(&from->q, l);
		event_queue(e);
	}
	return fv__done(0);
}

void fv_cm_hook(fv_cm_fn fn, void *arg)
{
	fv__enter();
	hook = fn;
	hook_arg = arg;
	fv__leave();
}

unsigned int fv_cm_release(unsigned int max)
{
	unsigned int n = 0;

	fv__enter();
	while (n < max && !fv_link_empty(&held)) {
		struct cm_event *e =
			fv_container(held.next, struct cm_event, link);

		fv_link_del(&e->link);
		event_queue(e);
		n++;
	}
	fv__leave();
	return n;
}

void fv_cm_set(enum fv_cm_option opt, int value)
{
	fv__enter();
	cm__option[opt] = value;
	fv__leave();
}

void fv_cm_inject(struct rdma_cm_id *id, enum rdma_cm_event_type type,
		  int status)
{
	fv__enter();
	cm__event(cm_of(id), type, status);
	fv__leave();
}

void fv_cm_device_removal(struct ibv_device *dev)
{
	struct fv_obj *o;

	fv__enter();
	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *c = fv_container(o, struct cm_id, obj);

		if (c->dev && &c->dev->dev == dev && !o->hidden)
			cm__event(c, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
	fv__leave();
}

void fv__cm_reset(void)
{
	hook = NULL;
	fv_link_init(&held); /* the object list still has the events */
	memset(cm__option, 0, sizeof(cm__option));
	cm__option[FV_CM_TIMEWAIT] = 1;
	cm__addr_reset();
}

/* a program's first test has no reset before it */
static __attribute__((constructor)) void first_reset(void)
{
	cm__option[FV_CM_TIMEWAIT] = 1;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		"ADDR_RESOLVED",  "ADDR_ERROR",	     "ROUTE_RESOLVED",
		"ROUTE_ERROR",	  "CONNECT_REQUEST", "CONNECT_RESPONSE",
		"CONNECT_ERROR",  "UNREACHABLE",     "REJECTED",
		"ESTABLISHED",	  "DISCONNECTED",    "DEVICE_REMOVAL",
		"MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE",
		"TIMEWAIT_EXIT",
	};
	const unsigned int n = sizeof(names) / sizeof(names[0]);

	return (unsigned int)event < n ? names[event] : "unknown";
}
