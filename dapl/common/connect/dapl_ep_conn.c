/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_conn.c - the connection of an endpoint: connect, accept, disconnect,
 * reset, and what the connection manager reports.
 *
 * Every connection ends in one terminal event. Whoever finds the end first
 * takes the connection out of ep->conn under the lock; from then on all other
 * reports are stale and ignored. The queue pair goes to ERR before the state
 * becomes DISCONNECTED, so flushes have begun when the consumer sees the event;
 * if the kernel is moving it just then, both come when it is through.
 * Events are posted with the endpoint's lock held: they reach the EVD in the
 * order of the state changes, and the end behind what had completed.
 * Rules: DAT 2.0 endpoint states (doc/conformance.md), uDAPL 1.2 dat_ep_*.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/connect/dapl_sp.h"
#include "dapl/common/transfer/dapl_ep_post.h"

#define DRAIN_POLL_MIN_US 200
#define DRAIN_POLL_MAX_US 20000

/* ------------------------------------------------ helpers */

static void post_conn_event_locked(struct dapl_ep *ep, DAT_EVENT_NUMBER number,
				   size_t pdata_size)
{
	DAT_EVENT event;
	DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	dapl_lock_assert_held(&ep->lock);
	if (!ep->conn_evd || ep->freed)
		return;
	memset(&event, 0, sizeof(event));
	event.event_number = number;
	data->ep_handle = (DAT_EP_HANDLE)ep;
	data->private_data_size = (DAT_COUNT)pdata_size;
	data->private_data = pdata_size ? ep->pdata : NULL;
	dapl_evd_post(ep->conn_evd, &event);
	dapl_log(DAPL_LOG_EP, "ep %p: event 0x%x", (void *)ep, number);
}

struct dapl_cm_conn *dapl_ep_conn_drop_locked(struct dapl_ep *ep)
{
	struct dapl_cm_conn *conn = ep->conn;

	dapl_lock_assert_held(&ep->lock);
	ep->conn = NULL;
	if (ep->conn_busy) {
		ep->abandoned = conn;
		conn = NULL;
	} else if (dapl_ep_move_abandon_locked(ep, conn)) {
		conn = NULL;
	}
	return conn;
}

void dapl_ep_conn_release(struct dapl_ep *ep, struct dapl_cm_conn *conn)
{
	if (conn)
		ep->obj.ia->cm->ops->release(conn);
}

/* The op that was running on the connection has returned. */
static struct dapl_cm_conn *conn_idle_locked(struct dapl_ep *ep)
{
	struct dapl_cm_conn *conn = ep->abandoned;

	dapl_lock_assert_held(&ep->lock);
	ep->conn_busy = false;
	ep->abandoned = NULL;
	/* A disconnect that came in the meantime had to leave it alone. */
	if (ep->draining)
		dapl_loop_defer(ep->obj.ia->loop, &ep->drain_work);
	if (conn && dapl_ep_move_abandon_locked(ep, conn))
		conn = NULL;
	return conn;
}

/*
 * A disconnected endpoint takes no more from its SRQ. Old programs (dtestsrq)
 * wait for that, as an error of the endpoint; not every device reports it, so
 * it is always said here, and the device's own event is ignored.
 */
static void tell_last_receive(struct dapl_ep *ep, DAT_EVENT_NUMBER number)
{
	if (ep->qp.srq && (number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			   number == DAT_CONNECTION_EVENT_BROKEN))
		dapl_ia_async(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN,
			      (DAT_HANDLE)ep, DAT_EP_OTHER_ERROR);
}

/*
 * Puts what has completed before the event that follows, where one EVD has
 * both: the consumer may free the endpoint when he sees that, and would lose
 * the rest. The queue pair is in ERR: nothing succeeds from here on. With the
 * endpoint's lock, since its EVDs may go when it is freed.
 */
static void completions_first_locked(struct dapl_ep *ep,
				     struct dapl_evd_after *after)
{
	struct dapl_evd *evd = ep->conn_evd;

	dapl_lock_assert_held(&ep->lock);
	if (!ep->freed && (evd == ep->qp.recv_evd || evd == ep->qp.request_evd))
		dapl_evd_harvest(evd, NULL, after);
}

void dapl_ep_ended(struct dapl_ep *ep, const struct dapl_ep_end *end)
{
	struct dapl_evd_after after = {0};

	tell_last_receive(ep, end->number);
	dapl_lock(&ep->lock);
	ep->deadline_us = UINT64_MAX;
	ep->draining = false;
	if (end->pdata) {
		free(ep->pdata);
		ep->pdata = end->pdata;
	}
	dapl_ep_set_state_locked(ep, DAT_EP_STATE_DISCONNECTED);
	completions_first_locked(ep, &after);
	post_conn_event_locked(ep, end->number, end->size);
	dapl_unlock(&ep->lock);
	dapl_evd_after(&after);
}

/*
 * Ends CONN of EP with event NUMBER, if it is still EP's connection. The
 * connection is taken first, so that nobody else ends it meanwhile; the state
 * follows when the queue pair is in ERR, which takes a while if the kernel has
 * it in hand.
 */
static void ep_end(struct dapl_ep *ep, const struct dapl_cm_conn *conn,
		   DAT_EVENT_NUMBER number, const void *pdata, size_t size)
{
	struct dapl_ep_end end = {.number = number};
	struct dapl_cm_conn *mine;

	end.pdata = size ? malloc(size) : NULL;
	if (end.pdata) {
		memcpy(end.pdata, pdata, size);
		end.size = size;
	}
	dapl_lock(&ep->lock);
	if (!ep->conn || ep->conn != conn) {
		dapl_unlock(&ep->lock);
		free(end.pdata);
		return;
	}
	mine = dapl_ep_conn_drop_locked(ep);
	dapl_unlock(&ep->lock);
	if (!dapl_ep_move_ends(ep, &end)) {
		dapl_qp_error(&ep->qp);
		dapl_ep_ended(ep, &end);
	}
	dapl_ep_conn_release(ep, mine);
}

/* ------------------------------------------------- upcalls */

static void ep_established(struct dapl_ep *ep, struct dapl_cm_conn *conn,
			   const void *pdata, size_t size)
{
	struct sockaddr_storage peer;
	DAT_PORT_QUAL peer_port, local_port;
	void *copy = size ? malloc(size) : NULL;
	bool known;

	known = !ep->obj.ia->cm->ops->addrs(conn, &peer, &peer_port,
					    &local_port);
	dapl_lock(&ep->lock);
	if (ep->conn != conn ||
	    (ep->qp.state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING &&
	     ep->qp.state != DAT_EP_STATE_COMPLETION_PENDING)) {
		dapl_unlock(&ep->lock);
		free(copy);
		return;
	}
	if (known) {
		ep->remote_addr = peer;
		ep->remote_port = peer_port;
		ep->local_port = local_port;
	}
	if (copy) {
		memcpy(copy, pdata, size);
		free(ep->pdata);
		ep->pdata = copy;
	} else {
		size = 0;
	}
	ep->deadline_us = UINT64_MAX;
	dapl_ep_set_state_locked(ep, DAT_EP_STATE_CONNECTED);
	post_conn_event_locked(ep, DAT_CONNECTION_EVENT_ESTABLISHED, size);
	dapl_unlock(&ep->lock);
	dapl_log(DAPL_LOG_CM_EST,
		 "ep %p: established, %zu bytes of private data", (void *)ep,
		 size);
}

/* The DAT event for the end of a connection that EP began or accepted. */
static DAT_EVENT_NUMBER end_event(const struct dapl_ep *ep, int state,
				  enum dapl_cm_event event)
{
	if (state == DAT_EP_STATE_COMPLETION_PENDING)
		return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	switch (event) {
	case DAPL_CM_PEER_REJECTED:
		return DAT_CONNECTION_EVENT_PEER_REJECTED;
	case DAPL_CM_NON_PEER_REJECTED:
		return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	case DAPL_CM_UNREACHABLE:
		return DAT_CONNECTION_EVENT_UNREACHABLE;
	case DAPL_CM_DISCONNECTED:
		return DAT_CONNECTION_EVENT_DISCONNECTED;
	default:
		return DAT_CONNECTION_EVENT_BROKEN;
	}
}

void dapl_ep_cm_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size)
{
	int state;

	dapl__lock_assert_none();
	if (event == DAPL_CM_ESTABLISHED) {
		ep_established(ep, conn, pdata, size);
		return;
	}
	state = __atomic_load_n(&ep->qp.state, __ATOMIC_ACQUIRE);
	ep_end(ep, conn, end_event(ep, state, event), pdata, size);
}

void dapl_ep_cm_gone(struct dapl_ep *ep)
{
	dapl_obj_put(&ep->obj);
}

void dapl_ep_broken(struct dapl_ep *ep)
{
	struct dapl_cm_conn *conn;

	dapl_lock(&ep->lock);
	conn = ep->conn;
	if (ep->qp.state != DAT_EP_STATE_CONNECTED &&
	    ep->qp.state != DAT_EP_STATE_DISCONNECT_PENDING)
		conn = NULL;
	dapl_unlock(&ep->lock);
	if (conn)
		ep_end(ep, conn, DAT_CONNECTION_EVENT_BROKEN, NULL, 0);
}

/* The consumer's timeout of a connection attempt. */
void dapl_ep_timer(struct dapl_timer *t)
{
	struct dapl_ep *ep = dapl_container_of(t, struct dapl_ep, timer);
	struct dapl_cm_conn *conn = NULL;
	bool drain;

	dapl_lock(&ep->lock);
	drain = ep->draining;
	if (ep->qp.state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING &&
	    dapl_now_us() >= ep->deadline_us)
		conn = ep->conn;
	dapl_unlock(&ep->lock);
	if (conn)
		ep_end(ep, conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
	if (drain)
		dapl_ep_drain_poll(ep);
}

/* ------------------------------------------------- connect */

static DAT_RETURN check_connect(struct dapl_ep *ep, const void *addr,
				DAT_TIMEOUT timeout, int timeout_arg,
				DAT_COUNT pdata_size, const void *pdata,
				DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	size_t max = ep->obj.ia->cm->ops->max_pdata(ep->obj.ia->cm);

	if (!addr)
		return dapl_fail(DAPL_BAD_ARG(2), "ep %p: no remote address",
				 (void *)ep);
	if (!timeout)
		return dapl_fail(DAPL_ERR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG1 + timeout_arg - 1),
				 "ep %p: a timeout of 0 leaves no time to "
				 "connect",
				 (void *)ep);
	if (pdata_size < 0 || (size_t)pdata_size > max)
		return dapl_fail(DAPL_ERR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG1 + timeout_arg),
				 "ep %p: %d bytes of private data; this "
				 "provider carries up to %zu",
				 (void *)ep, pdata_size, max);
	if (pdata_size && !pdata)
		return dapl_fail(DAPL_ERR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG1 + timeout_arg + 1),
				 "ep %p: no private data", (void *)ep);
	if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep %p: only best effort and single path are "
				 "offered",
				 (void *)ep);
	if (!ep->conn_evd)
		return dapl_fail(DAPL_BAD_HANDLE(EVD_CONN),
				 "ep %p has no EVD for connection events",
				 (void *)ep);
	if (!ep->qp.pz)
		return dapl_fail(DAPL_BAD_STATE(EP_NOTREADY),
				 "ep %p has no protection zone", (void *)ep);
	if (!ep->qp.ibv)
		return dapl_fail(DAPL_BAD_STATE(EP_NOTREADY),
				 "ep %p has no queue pair: %s had none left",
				 (void *)ep, ep->obj.ia->dev.name);
	return DAT_SUCCESS;
}

static struct dapl_cm_qp conn_qp(const struct dapl_ep *ep)
{
	struct dapl_cm_qp qp = {
		.qp_num = ep->qp.ibv->qp_num,
		.has_srq = ep->qp.srq != NULL,
		.ud = ep->qp.ud,
	};

	qp.rd_in = ep->qp.attr.max_rdma_read_in > UINT8_MAX
			   ? UINT8_MAX
			   : (uint8_t)ep->qp.attr.max_rdma_read_in;
	qp.rd_out = ep->qp.attr.max_rdma_read_out > UINT8_MAX
			    ? UINT8_MAX
			    : (uint8_t)ep->qp.attr.max_rdma_read_out;
	return qp;
}

static void remember_peer_locked(struct dapl_ep *ep,
				 const struct sockaddr *addr,
				 DAT_CONN_QUAL qual)
{
	size_t len = addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						 : sizeof(struct sockaddr_in);

	dapl_lock_assert_held(&ep->lock);
	memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	memcpy(&ep->remote_addr, addr, len);
	ep->remote_port = qual;
	ep->remote_qual = qual;
}

static void forget_peer_locked(struct dapl_ep *ep)
{
	dapl_lock_assert_held(&ep->lock);
	memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	ep->remote_qual = 0;
	ep->remote_port = 0;
	ep->local_port = 0;
}

/*
 * The op to WHAT returned ERR. The provider knows better why, and has said so;
 * but want of memory it passes on.
 */
static DAT_RETURN op_failed(const struct dapl_ep *ep, int err, const char *what)
{
	if (err != -ENOMEM)
		return dapl_err_dat(err);
	return dapl_fail(dapl_err_dat(err), "ep %p: no memory to %s",
			 (const void *)ep, what);
}

/* Runs the attempt on a connection that is EP's already. */
static int start_attempt(struct dapl_ep *ep, struct dapl_cm_conn *conn,
			 const struct dapl_cm_connect *req)
{
	struct dapl_cm_conn *mine = NULL, *abandoned;
	int ret;

	ret = ep->obj.ia->cm->ops->connect(conn, req);
	dapl_lock(&ep->lock);
	abandoned = conn_idle_locked(ep);
	if (ret && ep->conn == conn) {
		mine = dapl_ep_conn_drop_locked(ep);
		ep->deadline_us = UINT64_MAX;
		forget_peer_locked(ep);
		dapl_ep_set_state_locked(ep, DAT_EP_STATE_UNCONNECTED);
	} else if (ret) {
		/* Somebody ended the attempt meanwhile: that is its result. */
		ret = 0;
	}
	dapl_unlock(&ep->lock);
	dapl_ep_conn_release(ep, mine);
	dapl_ep_conn_release(ep, abandoned);
	return ret;
}

static DAT_RETURN ep_connect(struct dapl_ep *ep, const struct sockaddr *addr,
			     DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			     DAT_COUNT pdata_size, const void *pdata)
{
	struct dapl_cm *cm = ep->obj.ia->cm;
	struct dapl_cm_connect req = {
		.qp = conn_qp(ep),
		.addr = addr,
		.qual = qual,
		.pdata = pdata,
		.pdata_size = (size_t)pdata_size,
	};
	struct dapl_cm_conn *conn;
	int ret, state;

	dapl_obj_get(&ep->obj);
	ret = cm->ops->prepare(cm, ep, &conn);
	if (ret) {
		dapl_obj_put(&ep->obj);
		return dapl_fail(dapl_err_dat(ret), "ep %p: cannot connect: %s",
				 (void *)ep, strerror(-ret));
	}
	dapl_lock(&ep->lock);
	state = ep->qp.state;
	if (state == DAT_EP_STATE_UNCONNECTED) {
		dapl_ep_set_state_locked(
			ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
		ep->conn = conn;
		ep->conn_busy = true;
		ep->passive = false;
		remember_peer_locked(ep, addr, qual);
		if (timeout != DAT_TIMEOUT_INFINITE) {
			ep->deadline_us = dapl_now_us() + timeout;
			ret = dapl_timer_arm(ep->obj.ia->loop, &ep->timer,
					     ep->deadline_us);
		}
	}
	dapl_unlock(&ep->lock);
	if (state != DAT_EP_STATE_UNCONNECTED) {
		dapl_ep_conn_release(ep, conn);
		return dapl_qp_bad_state(&ep->qp, state, "dat_ep_connect");
	}
	if (ret)
		dapl_log(DAPL_LOG_ERR, "ep %p: no timer: %s", (void *)ep,
			 strerror(-ret));
	ret = start_attempt(ep, conn, &req);
	if (ret)
		return op_failed(ep, ret, "connect");
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr,
			   DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			   DAT_COUNT pdata_size, const DAT_PVOID pdata,
			   DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	DAT_RETURN ret;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	ret = check_connect(ep, addr, timeout, 4, pdata_size, pdata, qos,
			    flags);
	if (ret != DAT_SUCCESS)
		return ret;
	return ep_connect(ep, (const struct sockaddr *)addr, qual, timeout,
			  pdata_size, pdata);
}

DAT_RETURN dapl_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle,
			       DAT_TIMEOUT timeout, DAT_COUNT pdata_size,
			       const DAT_PVOID pdata, DAT_QOS qos)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	struct dapl_ep *dup = dapl_ep_from(dup_handle);
	struct sockaddr_storage addr;
	DAT_PORT_QUAL qual;
	DAT_RETURN ret;
	int state;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (!dup)
		return dapl_fail(DAPL_BAD_HANDLE(EP),
				 "no such EP to connect alike");
	ret = check_connect(ep, &addr, timeout, 3, pdata_size, pdata, qos,
			    DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return ret;
	dapl_lock(&dup->lock);
	state = dup->qp.state;
	addr = dup->remote_addr;
	qual = dup->remote_qual;
	dapl_unlock(&dup->lock);
	if (state != DAT_EP_STATE_CONNECTED)
		return dapl_qp_bad_state(&dup->qp, state, "dat_ep_dup_connect");
	return ep_connect(ep, (const struct sockaddr *)&addr, qual, timeout,
			  pdata_size, pdata);
}

/* The peer is named as a socket is: the port in the address is the qualifier.
 */
DAT_RETURN dapl_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr,
				  DAT_TIMEOUT timeout, DAT_COUNT pdata_size,
				  const DAT_PVOID pdata)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	ret = check_connect(ep, addr, timeout, 3, pdata_size, pdata,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return ret;
	if (ep->obj.ia->cm->ops->addr_without_port)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep %p: addresses of %s have no port; use "
				 "dat_ep_connect()",
				 (void *)ep, ep->obj.ia->cm->ops->name);
	if (!dapl_sp_addr_qual((const struct sockaddr *)addr, &qual))
		return dapl_fail(DAPL_ERR(DAT_INVALID_ADDRESS,
					  DAT_INVALID_ADDRESS_MALFORMED),
				 "ep %p: the address is not an IP address",
				 (void *)ep);
	return ep_connect(ep, (const struct sockaddr *)addr, qual, timeout,
			  pdata_size, pdata);
}

/* -------------------------------------------------- accept */

DAT_RETURN dapl_ep_accept(struct dapl_ep *ep, int from_state,
			  const struct dapl_cr *cr, const void *pdata,
			  size_t size, bool *ret_peer_gone)
{
	struct dapl_cm *cm = ep->obj.ia->cm;
	struct dapl_cm_conn *abandoned, *conn = cr->conn;
	struct dapl_cm_qp qp;
	int ret, state;

	*ret_peer_gone = false;
	if (!ep->qp.pz || !ep->qp.ibv || !ep->conn_evd)
		return dapl_fail(DAPL_BAD_STATE(EP_NOTREADY),
				 "ep %p lacks a protection zone or an EVD for "
				 "connection events",
				 (void *)ep);
	qp = conn_qp(ep);
	dapl_lock(&ep->lock);
	state = ep->qp.state;
	if (state == from_state) {
		dapl_ep_set_state_locked(ep, DAT_EP_STATE_COMPLETION_PENDING);
		ep->conn = conn;
		ep->conn_busy = true;
		ep->passive = true;
		ep->remote_addr = cr->remote_addr;
		ep->remote_port = cr->remote_port;
		ep->remote_qual = cr->qual;
		dapl_obj_get(&ep->obj);
	}
	dapl_unlock(&ep->lock);
	if (state != from_state)
		return dapl_qp_bad_state(&ep->qp, state, "dat_cr_accept");

	ret = cm->ops->accept(conn, &qp, ep, pdata, size);
	dapl_lock(&ep->lock);
	abandoned = conn_idle_locked(ep);
	if (ret && ep->conn == conn) {
		ep->conn = NULL;
		forget_peer_locked(ep);
		dapl_ep_set_state_locked(ep, from_state);
	}
	dapl_unlock(&ep->lock);
	if (!ret) {
		dapl_ep_conn_release(ep, abandoned);
		return DAT_SUCCESS;
	}
	/*
	 * Without success the reference stays here. The request goes on living
	 * unless its peer has gone, or the endpoint was disconnected
	 * meanwhile: then the caller drops it.
	 */
	dapl_obj_put(&ep->obj);
	*ret_peer_gone = ret == -ECONNABORTED || abandoned;
	if (abandoned)
		return DAT_SUCCESS;
	return op_failed(ep, ret, "accept");
}

/* ---------------------------------------------- disconnect */

/* Tells the peer; without an answer from the layers below, ends it here. */
static void disconnect_conn(struct dapl_ep *ep, struct dapl_cm_conn *conn)
{
	struct dapl_cm_conn *abandoned;
	int ret;

	dapl_lock(&ep->lock);
	if (ep->conn != conn || ep->conn_busy) {
		dapl_unlock(&ep->lock);
		return;
	}
	ep->draining = false;
	ep->conn_busy = true;
	dapl_unlock(&ep->lock);
	ret = ep->obj.ia->cm->ops->disconnect(conn);
	dapl_lock(&ep->lock);
	abandoned = conn_idle_locked(ep);
	dapl_unlock(&ep->lock);
	dapl_ep_conn_release(ep, abandoned);
	if (ret)
		ep_end(ep, conn, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0);
}

/*
 * Whether requests are outstanding. Suppressed ones at the end of the queue
 * would not be seen to complete: a marker behind them is. A full queue has room
 * for it when some have completed. If the device takes it not, there is nothing
 * to wait for.
 */
static bool drain_busy(struct dapl_ep *ep)
{
	bool mark;
	int ret;

	if (!ep->qp.sq || !dapl_wq_used(ep->qp.sq))
		return false;
	dapl_lock(&ep->lock);
	mark = !ep->marked;
	ep->marked = true;
	dapl_unlock(&ep->lock);
	ret = mark ? dapl_qp_post_marker(&ep->qp) : 0;
	if (!ret)
		return true;
	dapl_lock(&ep->lock);
	ep->marked = false;
	dapl_unlock(&ep->lock);
	return ret == -ENOBUFS;
}

/*
 * Looks whether the send queue of a gracefully disconnecting endpoint is
 * empty, and goes on if so. The consumer may have stopped reading its EVD, so
 * the completions are read here, with growing pauses.
 */
void dapl_ep_drain_poll(struct dapl_ep *ep)
{
	struct dapl_evd_after after = {0};
	struct dapl_cm_conn *conn;
	bool draining, busy;

	dapl_lock(&ep->lock);
	draining = ep->draining;
	dapl_unlock(&ep->lock);
	if (!draining)
		return; /* nor touch an EVD that may be gone */
	dapl_evd_harvest(ep->qp.request_evd, NULL, &after);
	dapl_evd_after(&after);
	busy = drain_busy(ep);
	dapl_lock(&ep->lock);
	conn = ep->conn;
	draining = ep->draining && conn;
	if (draining && busy) {
		ep->drain_wait_us *= 2;
		if (ep->drain_wait_us > DRAIN_POLL_MAX_US)
			ep->drain_wait_us = DRAIN_POLL_MAX_US;
		dapl_timer_arm(ep->obj.ia->loop, &ep->timer,
			       dapl_now_us() + ep->drain_wait_us);
		draining = false;
	}
	dapl_unlock(&ep->lock);
	if (draining)
		disconnect_conn(ep, conn);
}

static DAT_RETURN disconnect_gracefully(struct dapl_ep *ep,
					struct dapl_cm_conn *conn)
{
	dapl_lock(&ep->lock);
	if (ep->conn == conn) {
		ep->drain_wait_us = DRAIN_POLL_MIN_US;
		ep->marked = false;
		ep->draining = true;
	}
	dapl_unlock(&ep->lock);
	dapl_ep_drain_poll(ep);
	return DAT_SUCCESS;
}

/*
 * Abrupt: the consumer is through with the connection now. The provider goes
 * on telling the peer after the release.
 */
static DAT_RETURN disconnect_abruptly(struct dapl_ep *ep,
				      struct dapl_cm_conn *conn)
{
	ep_end(ep, conn, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	struct dapl_cm_conn *conn;
	bool abrupt = flags == DAT_CLOSE_ABRUPT_FLAG;
	int state;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (!abrupt && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown flag %d",
				 (int)flags);
	dapl_lock(&ep->lock);
	state = ep->qp.state;
	conn = ep->conn;
	if (!abrupt && state == DAT_EP_STATE_CONNECTED && conn)
		dapl_ep_set_state_locked(ep, DAT_EP_STATE_DISCONNECT_PENDING);
	dapl_unlock(&ep->lock);

	switch (state) {
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_SUCCESS;
	case DAT_EP_STATE_CONNECTED:
		/* Without a connection: its end is being reported already. */
		if (!conn)
			return DAT_SUCCESS;
		return abrupt ? disconnect_abruptly(ep, conn)
			      : disconnect_gracefully(ep, conn);
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return abrupt && conn ? disconnect_abruptly(ep, conn)
				      : DAT_SUCCESS;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		return conn ? disconnect_abruptly(ep, conn) : DAT_SUCCESS;
	default:
		return dapl_qp_bad_state(&ep->qp, state, "dat_ep_disconnect");
	}
}

DAT_RETURN dapl_ep_reset(DAT_EP_HANDLE handle)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	int state, ret;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	dapl_lock(&ep->lock);
	state = ep->qp.state;
	dapl_unlock(&ep->lock);
	if (state == DAT_EP_STATE_UNCONNECTED)
		return DAT_SUCCESS;
	if (state != DAT_EP_STATE_DISCONNECTED)
		return dapl_qp_bad_state(&ep->qp, state, "dat_ep_reset");
	ret = dapl_qp_renew(&ep->qp);
	if (ret)
		return dapl_fail(dapl_err_dat(ret),
				 "ep %p: no new queue pair: %s", (void *)ep,
				 strerror(-ret));
	dapl_lock(&ep->lock);
	if (ep->qp.state == DAT_EP_STATE_DISCONNECTED) {
		forget_peer_locked(ep);
		free(ep->pdata);
		ep->pdata = NULL;
		dapl_ep_set_state_locked(ep, DAT_EP_STATE_UNCONNECTED);
	}
	dapl_unlock(&ep->lock);
	return DAT_SUCCESS;
}

/* ---------------------------------- what completions tell */

static void qp_broken(struct dapl_obj *owner)
{
	dapl_ep_broken((struct dapl_ep *)owner);
}

static void qp_broken_later(struct dapl_obj *owner)
{
	struct dapl_ep *ep = (struct dapl_ep *)owner;

	dapl_loop_defer(owner->ia->loop, &ep->broken_work);
}

/* On the service thread: the caller is in the data path. */
static void qp_drained(struct dapl_obj *owner)
{
	struct dapl_ep *ep = (struct dapl_ep *)owner;

	dapl_loop_defer(owner->ia->loop, &ep->drain_work);
}

const struct dapl_qp_ops dapl_ep_qp_ops = {
	.broken = qp_broken,
	.broken_later = qp_broken_later,
	.drained = qp_drained,
};
