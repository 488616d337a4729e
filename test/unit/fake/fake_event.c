/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_event.c: asynchronous events of a context, and names for the enums.
 * Covers ibv_get/ack_async_event, ibv_*_str, ibv_fork_init. Events are never
 * merged: each raise is one event, as the kernel's queue does it.
 * Threads: each call takes the fake's lock; ibv_get_async_event may block.
 * Ownership: an event in the queue belongs to the context; one delivered for
 * a QP, CQ or SRQ must be acked before that object can be destroyed.
 * Rule: ibv_get_async_event(3).
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>

static unsigned int *event_count(const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		return &fv_container(ev->element.cq, struct fv_cq, cq)
				->async_events;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return &fv_container(ev->element.qp, struct fv_qp, qp)
				->obj.events;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &fv_container(ev->element.srq, struct fv_srq, srq)
				->obj.events;
	default:
		return NULL;
	}
}

void fv__async(struct ibv_context *ctx, const struct ibv_async_event *ev)
{
	struct fv_async *a = fv__zalloc(sizeof(*a));

	a->ev = *ev;
	fv__queue_push(&fv__context(ctx)->async, &a->link);
}

/* Nobody may hear of an object that is gone. */
void fv__async_purge(struct ibv_context *ctx, const void *element)
{
	struct fv_queue *q = &fv__context(ctx)->async;
	struct fv_link *l, *next;

	for (l = q->items.next; l != &q->items; l = next) {
		struct fv_async *a = fv_container(l, struct fv_async, link);

		next = l->next;
		if (!event_count(&a->ev) || a->ev.element.qp != element)
			continue;
		fv__queue_del(q, l);
		free(a);
	}
}

/*
 * One each time: of the port, of the other one, of a queue pair in whatever
 * state. None of them changes anything for a consumer.
 */
static const struct {
	enum ibv_event_type type;
	bool of_qp, of_srq;
	int port;
} idle[] = {
	{IBV_EVENT_PORT_ACTIVE, .port = 1},
	{IBV_EVENT_COMM_EST, .of_qp = true},
	{IBV_EVENT_LID_CHANGE, .port = 1},
	{IBV_EVENT_QP_LAST_WQE_REACHED, .of_qp = true, .of_srq = true},
	{IBV_EVENT_PKEY_CHANGE, .port = 1},
	{IBV_EVENT_PORT_ERR, .port = 2},
	{IBV_EVENT_SM_CHANGE, .port = 1},
	{IBV_EVENT_SQ_DRAINED, .of_qp = true},
	{IBV_EVENT_CLIENT_REREGISTER, .port = 1},
	{IBV_EVENT_GID_CHANGE, .port = 1},
};

static struct fv_qp *some_qp(const struct ibv_context *ctx, unsigned int n,
			     bool with_srq)
{
	struct fv_qp *found = NULL;
	struct fv_obj *o;

	fv_for_each(o, FV_OBJ_QP)
	{
		struct fv_qp *q = fv_container(o, struct fv_qp, obj);

		if (q->qp.context != ctx || (with_srq && !q->qp.srq))
			continue;
		found = q;
		if (!n--)
			break;
	}
	return found;
}

static void say(struct fv_context *c, unsigned int n)
{
	unsigned int i = n % (sizeof(idle) / sizeof(*idle));
	struct ibv_async_event ev = {.event_type = idle[i].type};
	struct fv_qp *q = NULL;

	if (idle[i].of_qp) {
		q = some_qp(&c->v.context, n % 5, idle[i].of_srq);
		if (!q)
			return;
		ev.element.qp = &q->qp;
	} else {
		ev.element.port_num = idle[i].port;
	}
	fv__async(&c->v.context, &ev);
}

static struct {
	unsigned int in; /* so many calls; 0: not armed */
	struct ibv_async_event ev;
	bool came;
} due;

void fv_event_at(unsigned int n, enum ibv_event_type type, int port_num)
{
	fv__enter();
	due.in = n;
	due.came = false;
	due.ev.event_type = type;
	due.ev.element.port_num = port_num;
	fv__leave();
}

bool fv_event_came(void)
{
	bool came;

	fv__enter();
	came = due.came;
	fv__leave();
	return came;
}

void fv__event_reset(void)
{
	memset(&due, 0, sizeof(due));
}

static void say_what_is_due(void)
{
	struct fv_obj *o;

	due.came = true;
	fv_for_each(o, FV_OBJ_CTX)
	{
		struct fv_context *c = fv_container(o, struct fv_context, obj);

		if (!c->obj.hidden)
			fv__async(&c->v.context, &due.ev);
	}
}

void fv__restless(void)
{
	static unsigned int calls;
	struct fv_obj *o;

	if (due.in && !--due.in)
		say_what_is_due();
	if (++calls % 3)
		return;
	fv_for_each(o, FV_OBJ_CTX)
	{
		struct fv_context *c = fv_container(o, struct fv_context, obj);

		if (!c->obj.hidden && c->fdev->cfg.restless)
			say(c, calls / 3);
	}
}

int ibv_get_async_event(struct ibv_context *context,
			struct ibv_async_event *event)
{
	struct fv_link *item;
	struct fv_async *a;
	unsigned int *count;

	fv__enter();
	item = fv__queue_get(&fv__context(context)->async);
	if (!item)
		return fv__done(-1);
	a = fv_container(item, struct fv_async, link);
	*event = a->ev;
	free(a);
	count = event_count(event);
	if (count)
		++*count;
	return fv__done(0);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	unsigned int *count;

	fv__call_sure("ibv_ack_async_event");
	count = event_count(event);
	if (count && !(*count)--)
		fv__die("ibv_ack_async_event: acked more than delivered");
	fv__acked();
	fv__leave();
}

void fv_inject_async(struct ibv_context *ctx, enum ibv_event_type type,
		     int port_num)
{
	struct ibv_async_event ev = {.event_type = type};

	ev.element.port_num = port_num;
	fv__enter();
	fv__async(ctx, &ev);
	fv__leave();
}

void fv_inject_async_qp(struct ibv_qp *qp, enum ibv_event_type type)
{
	struct ibv_async_event ev = {.element.qp = qp, .event_type = type};

	fv__enter();
	fv__async(qp->context, &ev);
	fv__leave();
}

void fv_inject_async_cq(struct ibv_cq *cq, enum ibv_event_type type)
{
	struct ibv_async_event ev = {.element.cq = cq, .event_type = type};

	fv__enter();
	fv__async(cq->context, &ev);
	fv__leave();
}

void fv_inject_async_srq(struct ibv_srq *srq, enum ibv_event_type type)
{
	struct ibv_async_event ev = {.element.srq = srq, .event_type = type};

	fv__enter();
	fv__async(srq->context, &ev);
	fv__leave();
}

static const char *name_of(const char *const *names, int n, int value)
{
	return value >= 0 && value < n && names[value] ? names[value]
						       : "unknown";
}
#define NAME_OF(names, value) \
	name_of(names, (int)(sizeof(names) / sizeof(names[0])), (int)(value))

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	static const char *const names[] = {
		"success",
		"local length error",
		"local QP operation error",
		"local EE context operation error",
		"local protection error",
		"work request flushed",
		"memory window bind error",
		"bad response",
		"local access error",
		"remote invalid request",
		"remote access error",
		"remote operation error",
		"transport retries exceeded",
		"RNR retries exceeded",
	};

	return NAME_OF(names, status);
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	static const char *const names[] = {
		"CQ error",	    "QP fatal",
		"QP request error", "QP access error",
		"communication up", "SQ drained",
		"path migrated",    "path migration error",
		"device fatal",	    "port active",
		"port error",	    "LID change",
		"P_Key change",	    "SM change",
		"SRQ error",	    "SRQ limit reached",
		"last WQE reached", "client reregistration",
		"GID table change", "WQ fatal",
	};

	return NAME_OF(names, event);
}

const char *ibv_node_type_str(enum ibv_node_type node_type)
{
	static const char *const names[] = {
		NULL,	"CA",	 "switch",    "router",
		"RNIC", "usNIC", "usNIC UDP", "unspecified",
	};

	return NAME_OF(names, node_type);
}

const char *ibv_port_state_str(enum ibv_port_state port_state)
{
	static const char *const names[] = {"nop",   "down",   "init",
					    "armed", "active", "deferred"};

	return NAME_OF(names, port_state);
}

int ibv_fork_init(void)
{
	int err = fv__call("ibv_fork_init");

	return err ? err : fv__done(0);
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
