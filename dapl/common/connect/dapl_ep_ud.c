/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_ud.c - how a datagram endpoint finds its peers; see the header.
 *
 * A peer is on ep->peers (lock) until the consumer has no more use for it. Its
 * connection ends with the first event; it is released once nobody is inside:
 * no op runs, no address handle is being made. Memory is counted: the list, who
 * is inside, and who works on a peer that he took off the list hold it.
 * Events are posted with the endpoint's lock held, as in dapl_ep_conn.c.
 * Rule: IB extension 2.0.9; where it is silent, what old programs saw.
 */
#include "dapl/common/connect/dapl_ep_ud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/cm/base/dapl_addr.h"
#include "dapl/common/connect/dapl_sp.h"

struct peer {
	struct dapl_list link; /* lock; ep->peers */
	struct dapl_ep *ep;
	uint64_t id;  /* what events call it */
	int refs;     /* lock */
	int inside;   /* lock; users of conn */
	bool useless; /* lock; the consumer got nothing with that */
	bool over;    /* lock; conn has had its last event, or is given up */
	bool making;  /* lock; JOB is under way */
	bool passive; /* constant */
	int was;      /* the endpoint's state before */
	uint64_t asked_us; /* when it began; 0: the peer asked */
	struct dapl_timer timer;
	struct dapl_cm_conn *conn; /* lock; NULL once released */

	struct dapl_job job;
	dapl_cm_moved_fn *moved;
	struct ibv_pd *pd;
	struct ibv_ah_attr av;
	struct ibv_ah *made; /* the job's own, as RET is, until it is over */
	int ret;

	struct ibv_ah *ah; /* lock */
	uint32_t qpn;
	struct sockaddr_storage addr;
	void *pdata; /* lock */
	size_t pdata_size;
};

/* ------------------------------------------------------------ life */

static struct peer *put_locked(struct peer *peer)
{
	dapl_lock_assert_held(&peer->ep->lock);
	return --peer->refs ? NULL : peer;
}

static void peer_free(struct peer *peer)
{
	if (!peer)
		return;
	if (peer->ah)
		vb_ah_destroy(peer->ah);
	free(peer->pdata);
	free(peer);
}

/* What is to be done with PEER after a change, without the lock. */
struct after {
	struct dapl_cm_conn *release;
	struct peer *freed;
};

/*
 * As soon as nobody is inside the connection goes back, and a peer that is of
 * no use goes. Not before: who frees the endpoint finds what is being made for
 * it by the list.
 */
static void settle_locked(struct peer *peer, struct after *after)
{
	dapl_lock_assert_held(&peer->ep->lock);
	if (!peer->over || peer->inside)
		return;
	if (peer->conn)
		after->release = peer->conn;
	peer->conn = NULL;
	if (!peer->useless || dapl_list_empty(&peer->link))
		return;
	dapl_list_del(&peer->link);
	after->freed = put_locked(peer);
}

static void enter_locked(struct peer *peer)
{
	dapl_lock_assert_held(&peer->ep->lock);
	peer->inside++;
	peer->refs++;
}

static void leave_locked(struct peer *peer, struct after *after)
{
	dapl_lock_assert_held(&peer->ep->lock);
	peer->inside--;
	settle_locked(peer, after);
	/* The list's reference was not the last. */
	after->freed = put_locked(peer);
}

static void carry_out(struct dapl_ep *ep, const struct after *after)
{
	if (after->release)
		ep->obj.ia->cm->ops->release(after->release);
	peer_free(after->freed);
}

static void peer_put(struct dapl_ep *ep, struct peer *peer)
{
	struct after after = {0};

	dapl_lock(&ep->lock);
	after.freed = put_locked(peer);
	dapl_unlock(&ep->lock);
	carry_out(ep, &after);
}

static void leave(struct peer *peer)
{
	struct dapl_ep *ep = peer->ep;
	struct after after = {0};

	dapl_lock(&ep->lock);
	leave_locked(peer, &after);
	dapl_unlock(&ep->lock);
	carry_out(ep, &after);
}

static struct peer *by_conn_locked(struct dapl_ep *ep,
				   const struct dapl_cm_conn *conn)
{
	struct peer *peer;

	dapl_lock_assert_held(&ep->lock);
	dapl_list_for_each(peer, &ep->peers, link)
		if (peer->conn == conn)
			return peer;
	return NULL;
}

static void on_timer(struct dapl_timer *timer);

static struct peer *peer_new(struct dapl_ep *ep)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->ep = ep;
	dapl_list_init(&peer->link);
	dapl_timer_init(&peer->timer, on_timer);
	return peer;
}

/*
 * PEER begins, with the caller inside. False: no peer comes any more, or the
 * endpoint is being modified.
 */
static bool begin(struct dapl_ep *ep, struct peer *peer,
		  struct dapl_cm_conn *conn, DAT_EP_STATE state)
{
	bool ok;

	dapl_lock(&ep->lock);
	ok = !ep->peers_over && ep->fsm.state == DAPL_EP_UNCONNECTED;
	if (ok) {
		peer->was = ep->qp.state;
		peer->id = __atomic_add_fetch(&dapl_process.last_peer_id, 1,
					      __ATOMIC_RELAXED);
		peer->conn = conn;
		peer->refs = 1;
		/* In front: events are of those that began last. */
		dapl_list_add_tail(ep->peers.next, &peer->link);
		enter_locked(peer);
		dapl_qp_set_state(&ep->qp, (int)state);
	}
	dapl_unlock(&ep->lock);
	return ok;
}

/* ---------------------------------------------------------- events */

static void fill_ext(const struct peer *peer, DAT_IB_EXT_TYPE type,
		     DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	ext->type = type;
	/* 0: there is nothing to be freed. */
	ext->context.as_64 = peer->useless ? 0 : peer->id;
	if (type != DAT_IB_UD_REMOTE_AH &&
	    type != DAT_IB_UD_PASSIVE_REMOTE_AH) {
		ext->status = DAT_IB_OP_ERR;
		return;
	}
	ext->remote_ah.ah = peer->ah;
	ext->remote_ah.qpn = peer->qpn;
	memcpy(&ext->remote_ah.ia_addr, &peer->addr,
	       sizeof(ext->remote_ah.ia_addr));
}

static void post_locked(struct peer *peer, enum dapl_cm_event event)
{
	struct dapl_ep *ep = peer->ep;
	DAT_IB_EXTENSION_EVENT_DATA *ext;
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_IB_EVENT_NUMBER number;
	DAT_IB_EXT_TYPE type;
	DAT_EVENT ev;

	dapl_lock_assert_held(&ep->lock);
	switch (event) {
	case DAPL_CM_ESTABLISHED:
		number = DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED;
		type = peer->passive ? DAT_IB_UD_PASSIVE_REMOTE_AH
				     : DAT_IB_UD_REMOTE_AH;
		break;
	case DAPL_CM_PEER_REJECTED:
	case DAPL_CM_NON_PEER_REJECTED:
		number = DAT_IB_UD_CONNECTION_REJECT_EVENT;
		type = DAT_IB_UD_CONNECT_REJECT;
		break;
	default:
		number = DAT_IB_UD_CONNECTION_ERROR_EVENT;
		type = DAT_IB_UD_CONNECT_ERROR;
	}
	dapl_log(DAPL_LOG_CM_EST, "ep %p: peer %llu: event 0x%x", (void *)ep,
		 (unsigned long long)peer->id, (unsigned)number);
	dapl_ep_count_event(ep, (DAT_EVENT_NUMBER)number, peer->asked_us);
	if (event == DAPL_CM_ESTABLISHED)
		dapl_ia_count(ep->obj.ia, DCNT_IA_CM_AH_RESOLVED);
	if (!ep->conn_evd)
		return;
	memset(&ev, 0, sizeof(ev));
	ev.event_number = (DAT_EVENT_NUMBER)number;
	data = &ev.event_data.connect_event_data;
	data->ep_handle = (DAT_EP_HANDLE)ep;
	data->private_data_size = (DAT_COUNT)peer->pdata_size;
	data->private_data = peer->pdata_size ? peer->pdata : NULL;
	ext = (DAT_IB_EXTENSION_EVENT_DATA *)ev.event_extension_data;
	fill_ext(peer, type, ext);
	dapl_evd_post(ep->conn_evd, &ev);
}

static void keep_pdata_locked(struct peer *peer, void **pdata, size_t size)
{
	dapl_lock_assert_held(&peer->ep->lock);
	if (!*pdata)
		return;
	free(peer->pdata);
	peer->pdata = *pdata;
	peer->pdata_size = size;
	*pdata = NULL;
}

/*
 * The last event of PEER's connection. What the consumer gets with it lives on:
 * an address handle, or private data.
 */
static void end_locked(struct peer *peer, enum dapl_cm_event event,
		       struct after *after)
{
	dapl_lock_assert_held(&peer->ep->lock);
	peer->over = true;
	if (event != DAPL_CM_ESTABLISHED && peer->passive)
		peer->pdata_size = 0;
	peer->useless = event != DAPL_CM_ESTABLISHED && !peer->pdata_size;
	post_locked(peer, event);
	settle_locked(peer, after);
}

static void on_timer(struct dapl_timer *timer)
{
	struct peer *peer = dapl_container_of(timer, struct peer, timer);
	struct dapl_ep *ep = peer->ep;
	struct after after = {0};

	dapl_lock(&ep->lock);
	if (!peer->over)
		end_locked(peer, DAPL_CM_UNREACHABLE, &after);
	dapl_unlock(&ep->lock);
	carry_out(ep, &after);
}

static void *copy_of(const void *data, size_t size)
{
	void *copy = size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, data, size);
	return copy;
}

void dapl_ep_ud_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size)
{
	void *copy = copy_of(pdata, size);
	struct after after = {0};
	struct sockaddr_storage addr;
	DAT_PORT_QUAL port, local;
	struct peer *peer;
	bool known;

	dapl__lock_assert_none();
	/* Whose connection goes back below may be the last to keep it. */
	dapl_obj_get(&ep->obj);
	known = event == DAPL_CM_ESTABLISHED &&
		!ep->obj.ia->cm->ops->addrs(conn, &addr, &port, &local);
	dapl_lock(&ep->lock);
	peer = by_conn_locked(ep, conn);
	if (peer && peer->over)
		peer = NULL;
	if (peer) {
		peer->refs++;
		if (known)
			peer->addr = addr;
		keep_pdata_locked(peer, &copy, size);
		end_locked(peer, event, &after);
	}
	dapl_unlock(&ep->lock);
	free(copy);
	carry_out(ep, &after);
	if (peer) {
		dapl_timer_cancel(ep->obj.ia->loop, &peer->timer);
		peer_put(ep, peer);
	}
	dapl_obj_put(&ep->obj);
}

/* ------------------------------------------------- address handles */

/* On the helper. */
static void run_make(struct dapl_job *job)
{
	struct peer *peer = dapl_container_of(job, struct peer, job);

	peer->ret = vb_ah_create(peer->pd, &peer->av, &peer->made);
}

/* The job is over, by its end or by being cancelled. */
static void adopt(struct peer *peer)
{
	dapl_lock(&peer->ep->lock);
	peer->ah = peer->made;
	dapl_unlock(&peer->ep->lock);
}

/* Ends the making of PEER's handle for whoever comes first; true: he did. */
static bool made(struct peer *peer, bool *ret_over)
{
	struct dapl_ep *ep = peer->ep;
	bool mine;

	dapl_lock(&ep->lock);
	mine = peer->making;
	peer->making = false;
	*ret_over = peer->over;
	dapl_unlock(&ep->lock);
	return mine;
}

static void make_done(struct dapl_job *job)
{
	struct peer *peer = dapl_container_of(job, struct peer, job);
	struct dapl_ep *ep = peer->ep;
	bool over;

	if (!made(peer, &over))
		return;
	adopt(peer);
	/* The connection is ours to name as long as we are inside. */
	peer->moved(peer->conn, over ? -ENOTCONN : peer->ret);
	leave(peer);
	dapl_obj_put(&ep->obj);
}

int dapl_ep_ud_ah_make(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct ibv_ah_attr *av, uint32_t qpn,
		       dapl_cm_moved_fn *moved)
{
	struct peer *peer;
	bool ok;

	dapl_lock(&ep->lock);
	peer = by_conn_locked(ep, conn);
	ok = peer && !peer->over && !peer->making && !peer->ah && ep->qp.pd;
	if (ok) {
		peer->making = true;
		peer->pd = ep->qp.pd;
		peer->av = *av;
		peer->qpn = qpn;
		peer->moved = moved;
		peer->ret = -ECANCELED;
		enter_locked(peer);
		dapl_obj_get(&ep->obj);
		dapl_job_init(&peer->job, run_make, make_done);
		memcpy(&peer->job.peer, &av->grh.dgid, sizeof(peer->job.peer));
		dapl_job_start(ep->obj.ia->loop, &peer->job);
	}
	dapl_unlock(&ep->lock);
	return ok ? 0 : -ENOTCONN;
}

/* No handle is being made for PEER, whom the caller holds, after this. */
static void stop_making(struct peer *peer)
{
	struct dapl_ep *ep = peer->ep;
	bool over;

	if (!made(peer, &over))
		return;
	dapl_job_cancel(&peer->job);
	adopt(peer);
	leave(peer);
	dapl_obj_put(&ep->obj);
}

void dapl_ep_ud_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	struct peer *peer;

	dapl_lock(&ep->lock);
	peer = by_conn_locked(ep, conn);
	if (peer)
		peer->refs++;
	dapl_unlock(&ep->lock);
	if (!peer)
		return;
	stop_making(peer);
	peer_put(ep, peer);
}

/* -------------------------------------------------- connect, accept */

static DAT_RETURN not_now(const struct dapl_ep *ep)
{
	return dapl_fail(DAPL_BAD_STATE(EP_NOTREADY),
			 "ep %p is being modified, reset or freed",
			 (const void *)ep);
}

/*
 * An attempt that never began: nothing is told of it, and the endpoint is as it
 * was, unless others have begun since.
 */
static void undo_locked(struct peer *peer, struct after *after)
{
	struct dapl_ep *ep = peer->ep;

	dapl_lock_assert_held(&ep->lock);
	if (!peer->over) {
		if (ep->peers.next == &peer->link)
			dapl_qp_set_state(&ep->qp, peer->was);
		peer->over = true;
		dapl_list_del(&peer->link);
		(void)put_locked(peer); /* the caller is inside */
	}
	leave_locked(peer, after);
}

DAT_RETURN dapl_ep_ud_connect(struct dapl_ep *ep,
			      const struct dapl_cm_connect *req,
			      DAT_TIMEOUT timeout)
{
	struct dapl_cm *cm = ep->obj.ia->cm;
	struct peer *peer = peer_new(ep);
	struct dapl_cm_conn *conn;
	struct after after = {0};
	int ret;

	if (!peer)
		return dapl_ep_op_failed(ep, -ENOMEM, "connect");
	peer->asked_us = dapl_now_us();
	memcpy(&peer->addr, req->addr, dapl_addr_len(req->addr));
	dapl_obj_get(&ep->obj);
	ret = cm->ops->prepare(cm, ep, &conn);
	if (ret) {
		dapl_obj_put(&ep->obj);
		peer_free(peer);
		return dapl_ep_op_failed(ep, ret, "connect");
	}
	if (!begin(ep, peer, conn, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)) {
		cm->ops->release(conn);
		peer_free(peer);
		return not_now(ep);
	}
	if (timeout != DAT_TIMEOUT_INFINITE)
		ret = dapl_timer_arm(ep->obj.ia->loop, &peer->timer,
				     peer->asked_us + timeout);
	if (!ret)
		ret = cm->ops->connect(conn, req);
	if (ret)
		dapl_timer_cancel(ep->obj.ia->loop, &peer->timer);
	dapl_lock(&ep->lock);
	if (ret)
		undo_locked(peer, &after);
	else
		leave_locked(peer, &after);
	dapl_unlock(&ep->lock);
	carry_out(ep, &after);
	return ret ? dapl_ep_op_failed(ep, ret, "connect") : DAT_SUCCESS;
}

DAT_RETURN dapl_ep_ud_accept(struct dapl_ep *ep, const struct dapl_cr *cr,
			     const struct dapl_cm_qp *qp, const void *pdata,
			     size_t size, bool *ret_peer_gone)
{
	const struct dapl_cm_ops *ops = ep->obj.ia->cm->ops;
	struct peer *peer = peer_new(ep);
	struct after after = {0};
	int ret;

	*ret_peer_gone = false;
	if (!peer)
		return dapl_ep_op_failed(ep, -ENOMEM, "accept");
	peer->passive = true;
	peer->addr = cr->remote_addr;
	peer->pdata = copy_of(cr->pdata, cr->pdata_size);
	peer->pdata_size = peer->pdata ? cr->pdata_size : 0;
	if (!begin(ep, peer, cr->conn, DAT_EP_STATE_COMPLETION_PENDING)) {
		peer_free(peer);
		return not_now(ep);
	}
	dapl_obj_get(&ep->obj);
	ret = ops->accept(cr->conn, qp, ep, pdata, size);
	dapl_lock(&ep->lock);
	if (ret) {
		/* Still the request's, which can be answered otherwise. */
		peer->conn = NULL;
		undo_locked(peer, &after);
	} else {
		leave_locked(peer, &after);
	}
	dapl_unlock(&ep->lock);
	carry_out(ep, &after);
	if (!ret)
		return DAT_SUCCESS;
	dapl_obj_put(&ep->obj);
	*ret_peer_gone = ret == -ECONNABORTED;
	return dapl_ep_op_failed(ep, ret, "accept");
}

/* ------------------------------------------------------------- ends */

static void drop_ah(struct dapl_ep *ep, struct peer *peer)
{
	struct ibv_ah *ah;

	dapl_lock(&ep->lock);
	ah = peer->ah;
	peer->ah = NULL;
	dapl_unlock(&ep->lock);
	if (ah)
		vb_ah_destroy(ah);
}

/* PEER is off the list, whose reference is the caller's now. */
static void forget(struct dapl_ep *ep, struct peer *peer)
{
	struct after after = {0};

	dapl_timer_cancel(ep->obj.ia->loop, &peer->timer);
	stop_making(peer);
	/* Who is still inside may leave after the protection domain. */
	drop_ah(ep, peer);
	dapl_lock(&ep->lock);
	settle_locked(peer, &after);
	after.freed = put_locked(peer);
	dapl_unlock(&ep->lock);
	carry_out(ep, &after);
}

void dapl_ep_ud_forget_all(struct dapl_ep *ep, bool last)
{
	struct peer *peer = NULL;

	do {
		dapl_lock(&ep->lock);
		ep->peers_over |= last;
		peer = dapl_list_empty(&ep->peers)
			       ? NULL
			       : dapl_list_first(&ep->peers, struct peer, link);
		if (peer) {
			peer->over = true;
			dapl_list_del(&peer->link);
		}
		dapl_unlock(&ep->lock);
		if (peer)
			forget(ep, peer);
	} while (peer);
}

static struct dapl_ep *ud_ep(DAT_EP_HANDLE handle)
{
	struct dapl_ep *ep = dapl_ep_from(handle);

	if (ep && ep->qp.ud)
		return ep;
	dapl_fail(0, ep ? "ep %p is no datagram endpoint" : "no such EP: %p",
		  (void *)handle);
	return NULL;
}

DAT_RETURN dapl_ep_ud_cm_free(DAT_EP_HANDLE handle, DAT_CONTEXT cm)
{
	struct dapl_ep *ep = ud_ep(handle);
	struct peer *peer, *found = NULL, *freed = NULL;
	void *pdata = NULL;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!cm.as_64)
		return DAT_SUCCESS;
	dapl_lock(&ep->lock);
	dapl_list_for_each(peer, &ep->peers, link) {
		if (peer->id != cm.as_64 || !peer->over)
			continue;
		found = peer;
		break;
	}
	if (found) {
		pdata = found->pdata;
		found->pdata = NULL;
		found->pdata_size = 0;
		found->id = 0;
		/* Without a handle nothing is left of it. */
		if (!found->ah) {
			dapl_list_del(&found->link);
			freed = found;
		}
	}
	dapl_unlock(&ep->lock);
	free(pdata);
	if (freed)
		forget(ep, freed);
	if (!found)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "ep %p: no event had the context 0x%llx, or "
				 "it was freed",
				 (void *)ep, (unsigned long long)cm.as_64);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_ud_ah_free(DAT_EP_HANDLE handle,
			      const DAT_IB_ADDR_HANDLE *ah)
{
	struct dapl_ep *ep = ud_ep(handle);
	struct peer *peer, *found = NULL;
	bool last = false;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!ah || !ah->ah)
		return dapl_fail(DAPL_BAD_ARG(2), "ep %p: no address handle",
				 (void *)ep);
	dapl_lock(&ep->lock);
	dapl_list_for_each(peer, &ep->peers, link) {
		if (peer->ah != ah->ah || !peer->over)
			continue;
		found = peer;
		found->refs++;
		/* Private data lives until dat_ib_ud_cm_free(). */
		last = !peer->id;
		if (last)
			dapl_list_del(&peer->link);
		break;
	}
	dapl_unlock(&ep->lock);
	if (!found)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "ep %p: address handle %p is none of its own, "
				 "or was freed",
				 (void *)ep, (void *)ah->ah);
	drop_ah(ep, found);
	if (last)
		forget(ep, found);
	peer_put(ep, found);
	return DAT_SUCCESS;
}
