/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_conn.c - connections over rdma_cm.
 *
 * Keeps no timer but that of a goodbye (retries are paced by rdma_cm's own
 * timeouts) and no queue pair (cma_qp.c).
 *
 * Threads. Ops come on any thread, events and deferred work on the service
 * thread, where all upcalls are made. The instance's lock guards the state and
 * is held for nothing but looking at it and changing it; who changes the state
 * owns the step that follows. The id is written before the first event can
 * come; afterwards only the service thread may take another, before there is a
 * connection.
 *
 * End of life. Nobody but the service thread (or stop(), when that thread does
 * nothing for us any more) destroys an id or frees a connection: release()
 * disconnects, marks and defers. So a connection that an event handler or an
 * upcall works on cannot vanish under it. rdma_destroy_id() waits for events
 * that were read and not acknowledged; the service thread is the only reader
 * and acknowledges each event before it looks at it, so there are none, and
 * what is still in the kernel's queue for the id is thrown away there.
 *
 * Events come at most once because each goes through cma_conn_finish() or
 * established(), which change the state under the lock first.
 */
#include "dapl/openib_cma/cma_conn.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "dapl/openib_cma/cma_addr.h"

/*
 * A consumer's reject begins with the versions of DAT and of the provider, as
 * bytes. rdma_cm reports a reject of a process that died in the same way as a
 * consumer's, only without this, and so do providers of DAT 1.2 refuse.
 */
const uint8_t cma_reject_header[CMA_REJECT_HEADER] = {2, 0, 2, 0};

static struct cma_conn *conn_from(struct dapl_cm_conn *conn)
{
	return (struct cma_conn *)conn;
}

/*
 * rdma_cm repeats a disconnect that is not answered, and tells when it gives
 * up. Of one that it could not send even once it tells nothing, and its call
 * works, as when the address here has gone: so this is taken for its word.
 */
static void goodbye_over(struct dapl_timer *timer)
{
	static const struct cma_event over = {
		.type = RDMA_CM_EVENT_TIMEWAIT_EXIT};
	struct cma_conn *conn =
		dapl_container_of(timer, struct cma_conn, goodbye);
	struct dapl_cm *cm = conn->base.node.cm;
	bool stopped;

	dapl_lock(&cm->lock);
	stopped = cm->stopped;
	dapl_unlock(&cm->lock);
	/* Then all are looked at, and none may end. */
	if (!stopped)
		cma_conn_event(conn, &over);
}

static void set_parting(struct cma_conn *conn, bool parting)
{
	dapl_lock(&conn->base.node.cm->lock);
	conn->parting = parting;
	dapl_unlock(&conn->base.node.cm->lock);
}

bool cma_conn_goodbye(struct cma_conn *conn)
{
	struct dapl_cm *cm = conn->base.node.cm;
	int ret = 0;

	/* First: the answer may be here before the call is over. */
	set_parting(conn, true);
	if (rdma_disconnect(conn->id)) {
		set_parting(conn, false);
		return false;
	}
	/* iWARP's ends with its stream. */
	if (cma_conn_dev(conn)->iw_cm)
		return true;
	dapl_lock(&cm->lock);
	if (!cm->stopped)
		ret = dapl_timer_arm(
			cm->loop, &conn->goodbye,
			dapl_now_us() +
				(uint64_t)cma_from(cm)->goodbye_ms * 1000);
	dapl_unlock(&cm->lock);
	if (ret)
		dapl_log(DAPL_LOG_ERR, "conn %p: no timer: %s", (void *)conn,
			 strerror(-ret));
	return true;
}

void cma_conn_stop(struct dapl_cm_conn *base)
{
	dapl_timer_cancel(base->node.cm->loop, &conn_from(base)->goodbye);
}

void cma_conn_init(struct dapl_cm_conn *base)
{
	struct cma_conn *conn = conn_from(base);

	dapl_timer_init(&conn->goodbye, goodbye_over);
	conn->state = base->passive ? CMA_REQUEST : CMA_IDLE;
	conn->late = DAPL_CM_EVENT_N;
}

bool cma_conn_advance(struct cma_conn *conn, enum cma_state from,
		      enum cma_state to)
{
	bool ok;

	dapl_lock(&conn->base.node.cm->lock);
	ok = conn->state == from && !conn->released;
	if (ok)
		conn->state = to;
	dapl_unlock(&conn->base.node.cm->lock);
	return ok;
}

/* Has the service thread report EVENT, unless there is a release first. */
static void finish_later(struct cma_conn *conn, enum dapl_cm_event event)
{
	dapl_lock(&conn->base.node.cm->lock);
	conn->late = event;
	dapl_cm_ask_locked(&conn->base.node, CMA_ASK_LATE);
	dapl_unlock(&conn->base.node.cm->lock);
}

void cma_conn_finish(struct cma_conn *conn, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	bool tell = false;

	cma_alive_leave(conn);
	dapl_lock(&conn->base.node.cm->lock);
	if (conn->state == CMA_ACCEPT_MOVE) {
		/* accept() may not have said yet if there will be events. */
		conn->late = event;
	} else if (conn->state != CMA_OVER && conn->state != CMA_FOUND) {
		/* A release meanwhile has nothing to wait for any more. */
		conn->state = CMA_OVER;
		tell = !conn->released && conn->base.ep;
	}
	dapl_unlock(&conn->base.node.cm->lock);
	if (!tell)
		return;
	/* So that what is posted is flushed before the consumer hears of it. */
	if (event == DAPL_CM_DISCONNECTED)
		dapl_cm_conn_error(&conn->base);
	dapl_cm_conn_event(&conn->base, event, pdata, size);
}

enum cma_state cma_conn_state(struct cma_conn *conn)
{
	enum cma_state state;

	dapl_lock(&conn->base.node.cm->lock);
	state = conn->released ? CMA_OVER : conn->state;
	dapl_unlock(&conn->base.node.cm->lock);
	return state;
}

void cma_conn_param(const struct cma_conn *conn, const void *pdata, size_t size,
		    struct rdma_conn_param *ret_param)
{
	*ret_param = (struct rdma_conn_param){
		.private_data = size ? pdata : NULL,
		.private_data_len = size,
		.responder_resources = conn->base.depths.responder_resources,
		.initiator_depth = conn->base.depths.initiator_depth,
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.srq = conn->qp.has_srq,
		.qp_num = conn->qp.qp_num,
	};
}

int cma_conn_resolve(struct cma_conn *conn)
{
	const struct dapl_cm *base = conn->base.node.cm;
	struct sockaddr_storage own = base->addr;

	if (rdma_resolve_addr(conn->id, (struct sockaddr *)&own,
			      (struct sockaddr *)&conn->peer,
			      cma_params(conn)->arp_timeout_ms))
		return -errno;
	return 0;
}

int cma_conn_another_port(struct cma_conn *conn)
{
	struct rdma_cm_id *id;
	int ret;

	if (!cma_conn_advance(conn, CMA_CONNECT, CMA_ADDR))
		return -ECANCELED;
	ret = cma_id_create(cma_conn_cm(conn), conn, conn->qp.ud, &id);
	if (ret)
		return ret;
	/* The old one first kept its port, so that the new one has another. */
	if (conn->first_id)
		cma_id_destroy(conn->id);
	else
		conn->first_id = conn->id;
	conn->id = id;
	conn->tries = 1;
	return cma_conn_resolve(conn);
}

/*
 * Errors of the way to the peer, as opposed to ours: rdma_cm finds some of them
 * at once and some later, which should make no difference to the consumer.
 */
static bool is_way(int err)
{
	switch (-err) {
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
	case ETIMEDOUT:
	case ENODEV:
	case EADDRNOTAVAIL:
		return true;
	default:
		return false;
	}
}

static int start(struct cma_conn *conn)
{
	int ret;

	conn->tries = 1;
	ret = cma_id_create(cma_conn_cm(conn), conn, conn->qp.ud, &conn->id);
	if (ret)
		return ret;
	/* From here on events may come, and even the result. */
	ret = cma_conn_resolve(conn);
	if (!ret)
		return 0;
	if (!is_way(ret))
		return dapl_fail_errno(
			ret, "conn %p: cannot resolve the address: %s",
			(void *)conn, strerror(-ret));
	dapl_log(DAPL_LOG_CM_WARN, "conn %p: no way to the peer: %s",
		 (void *)conn, strerror(-ret));
	finish_later(conn, DAPL_CM_UNREACHABLE);
	return 0;
}

int cma_connect(struct dapl_cm_conn *base, const struct dapl_cm_connect *req)
{
	struct cma_conn *conn = conn_from(base);
	const struct dapl_cm *cm = base->node.cm;
	struct sockaddr_storage peer;
	int ret;

	ret = dapl_cm_check(base, req->pdata_size);
	if (ret)
		return ret;
	ret = cma_addr_peer(&cm->addr, req->addr, req->qual, &peer);
	if (ret)
		return dapl_fail_errno(
			ret,
			"conn %p: cannot connect to that address "
			"or qualifier: %s",
			(void *)conn, strerror(-ret));
	memcpy(&conn->peer, &peer, sizeof(conn->peer));
	conn->qp = req->qp;
	base->depths = dapl_cm_depths_own(cm->dev, &req->qp);
	conn->pdata_size = req->pdata_size;
	if (req->pdata_size)
		memcpy(conn->pdata, req->pdata, req->pdata_size);
	if (!cma_conn_advance(conn, CMA_IDLE, CMA_ADDR))
		return dapl_fail_errno(-EINVAL, "conn %p: not just prepared",
				       (void *)conn);
	ret = start(conn);
	if (ret)
		cma_conn_advance(conn, CMA_ADDR, CMA_OVER);
	return ret;
}

static int accept_begin(struct cma_conn *conn, struct dapl_ep *ep)
{
	int ret = -EINVAL;

	dapl_lock(&conn->base.node.cm->lock);
	if (conn->state == CMA_REQUEST) {
		conn->state = CMA_ACCEPT_MOVE;
		conn->base.ep = ep;
		ret = 0;
	} else if (conn->base.passive && conn->state == CMA_OVER) {
		ret = -ECONNABORTED;
	}
	dapl_unlock(&conn->base.node.cm->lock);
	return ret;
}

/* The call has failed, and no move begun. */
static int accept_undo(struct cma_conn *conn, int ret)
{
	dapl_lock(&conn->base.node.cm->lock);
	if (conn->late != DAPL_CM_EVENT_N)
		ret = -ECONNABORTED;
	conn->late = DAPL_CM_EVENT_N;
	conn->state = ret == -ECONNABORTED ? CMA_OVER : CMA_REQUEST;
	conn->base.ep = NULL;
	dapl_unlock(&conn->base.node.cm->lock);
	return ret;
}

static struct dapl_cm_depths agree(const struct vb_dev *dev,
				   struct dapl_cm_depths asked,
				   const struct dapl_cm_qp *qp)
{
	struct dapl_cm_depths own = dapl_cm_depths_own(dev, qp);

	/* iWARP peers that do not negotiate show as 0. */
	if (asked.responder_resources < own.responder_resources &&
	    !(dev->iw_cm && !asked.responder_resources))
		own.responder_resources = asked.responder_resources;
	if (asked.initiator_depth < own.initiator_depth &&
	    !(dev->iw_cm && !asked.initiator_depth))
		own.initiator_depth = asked.initiator_depth;
	return own;
}

enum dapl_cm_event cma_conn_accepted(struct cma_conn *conn)
{
	enum dapl_cm_event late = DAPL_CM_EVENT_N;

	dapl_lock(&conn->base.node.cm->lock);
	if (conn->state == CMA_ACCEPT_MOVE) {
		conn->state = CMA_ACCEPT;
		late = conn->late;
		conn->late = DAPL_CM_EVENT_N;
	}
	dapl_unlock(&conn->base.node.cm->lock);
	return late;
}

int cma_conn_move(struct cma_conn *conn)
{
	struct vb_qp_step steps[VB_QP_STEPS];
	int n, ret;

	if (conn->qp.ud)
		return dapl_cm_conn_ah(&conn->base, &conn->ud.av, conn->ud.qpn,
				       cma_conn_moved);
	ret = cma_qp_steps(conn, steps, &n);
	if (ret)
		return ret;
	return dapl_cm_conn_move(&conn->base, steps, n, cma_conn_moved);
}

int cma_accept(struct dapl_cm_conn *base, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size)
{
	struct cma_conn *conn = conn_from(base);
	struct dapl_cm_depths asked = base->depths;
	int ret;

	ret = dapl_cm_check(base, size);
	if (ret)
		return ret;
	ret = accept_begin(conn, ep);
	if (!ret) {
		conn->qp = *qp;
		base->depths = agree(cma_conn_dev(conn), asked, qp);
		conn->pdata_size = size;
		if (size)
			memcpy(conn->pdata, pdata, size);
		ret = cma_conn_move(conn);
		if (ret) {
			base->depths = asked;
			ret = accept_undo(conn, ret);
		}
	}
	return ret ? dapl_cm_not_accepted(base, ret) : 0;
}

static int send_reject(struct cma_conn *conn, const void *pdata, size_t size)
{
	uint8_t buf[sizeof(cma_reject_header) + CMA_PDATA_MAX];

	if (conn->qp.ud)
		return cma_ud_answer(cma_conn_cm(conn), conn->id, &conn->ud, 0,
				     pdata, size);
	memcpy(buf, cma_reject_header, sizeof(cma_reject_header));
	if (size)
		memcpy(buf + sizeof(cma_reject_header), pdata, size);
	return rdma_reject(conn->id, buf, sizeof(cma_reject_header) + size)
		       ? -errno
		       : 0;
}

int cma_reject(struct dapl_cm_conn *base, const void *pdata, size_t size)
{
	struct cma_conn *conn = conn_from(base);
	int ret;

	ret = dapl_cm_check(base, size);
	if (ret)
		return ret;
	if (!cma_conn_advance(conn, CMA_REQUEST, CMA_OVER)) {
		/* A peer that has gone is as good as refused. */
		if (base->passive && cma_conn_state(conn) == CMA_OVER)
			return 0;
		return dapl_cm_not_asking(base, -EINVAL);
	}
	cma_count(conn, DCNT_IA_CM_USER_REJ_TX);
	ret = send_reject(conn, pdata, size);
	if (ret)
		dapl_log(DAPL_LOG_CM_WARN, "conn %p: reject: %s", (void *)conn,
			 strerror(-ret));
	return 0;
}

int cma_disconnect(struct dapl_cm_conn *base)
{
	struct cma_conn *conn = conn_from(base);

	if (!cma_conn_advance(conn, CMA_UP, CMA_DOWN))
		return cma_conn_state(conn) == CMA_DOWN
			       ? 0
			       : dapl_cm_not_connected(base);
	/*
	 * On iWARP the kernel ends the stream after what was sent; an error
	 * state would cut off what the peer has not read yet.
	 */
	if (!cma_conn_dev(conn)->iw_cm)
		dapl_cm_conn_error(base);
	cma_count(conn, DCNT_IA_CM_DREQ_TX);
	if (!cma_conn_goodbye(conn)) {
		dapl_log(DAPL_LOG_CM_WARN, "conn %p: disconnect: %m",
			 (void *)conn);
		finish_later(conn, DAPL_CM_DISCONNECTED);
	}
	return 0;
}

/*
 * The queue pair is not touched: the objects have moved it to ERR, and by now
 * the endpoint may have another one, which is none of this connection's
 * business. They destroy it next, while the kernel's iWARP does not hold it
 * during a disconnect: so that is done here, before the service thread is
 * asked.
 */
void cma_release(struct dapl_cm_conn *base)
{
	struct cma_conn *conn = conn_from(base);
	bool up;

	dapl_lock(&base->node.cm->lock);
	up = conn->state == CMA_UP;
	if (up)
		conn->state = CMA_DOWN;
	conn->released = true;
	dapl_unlock(&base->node.cm->lock);
	if (up)
		cma_count(conn, DCNT_IA_CM_DREQ_TX);
	if (up && !cma_conn_goodbye(conn))
		finish_later(conn, DAPL_CM_DISCONNECTED);
	dapl_cm_release(base);
}

int cma_addrs(const struct dapl_cm_conn *base,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port)
{
	const struct cma_conn *conn = (const struct cma_conn *)base;
	enum cma_state state = cma_conn_state((struct cma_conn *)conn);
	const struct sockaddr *peer;

	if (state != CMA_UP && state != CMA_DOWN && state != CMA_FOUND)
		return -ENOTCONN;
	peer = rdma_get_peer_addr(conn->id);
	memset(ret_peer, 0, sizeof(*ret_peer));
	memcpy(ret_peer, peer, dapl_addr_len(peer));
	*ret_peer_port = be16toh(rdma_get_dst_port(conn->id));
	*ret_local_port = be16toh(rdma_get_src_port(conn->id));
	return 0;
}

static void destroy_id(struct cma_conn *conn, enum cma_state state)
{
	if (!conn->id)
		return;
	if (state == CMA_REQUEST)
		rdma_reject(conn->id, NULL, 0);
	else if (state == CMA_UP && !cma_conn_dev(conn)->iw_cm)
		rdma_disconnect(conn->id);
	cma_id_destroy(conn->id);
	if (conn->first_id)
		cma_id_destroy(conn->first_id);
	conn->id = conn->first_id = NULL;
}

/* The last of a released connection. */
static void conn_end(struct cma_conn *conn, enum cma_state state)
{
	cma_conn_stop(&conn->base);
	destroy_id(conn, state);
	dapl_cm_conn_del(&conn->base);
}

/*
 * Destroying the id at once would stop rdma_cm from repeating a lost message
 * to the peer; and on iWARP it would block until the peer has answered a
 * request. So the id stays until rdma_cm has an answer, or no hope of one. An
 * iWARP connection that came up after the release ends with its id; there the
 * kernel does hold the queue pair.
 */
static bool linger(struct cma_conn *conn, enum cma_state state)
{
	switch (state) {
	case CMA_CONNECT:
	case CMA_ACCEPT:
		if (!cma_conn_dev(conn)->iw_cm)
			return false;
		break;
	case CMA_UP:
		if (cma_conn_dev(conn)->iw_cm || !cma_conn_goodbye(conn))
			return false;
		break;
	case CMA_DOWN:
		break;
	case CMA_OVER:
		if (!conn->parting)
			return false;
		break;
	default:
		return false;
	}
	dapl_lock(&conn->base.node.cm->lock);
	conn->state = CMA_LINGER;
	dapl_unlock(&conn->base.node.cm->lock);
	return true;
}

void cma_conn_released(struct dapl_cm_conn *base)
{
	struct cma_conn *conn = conn_from(base);
	/* Nobody else changes these after release(). */
	enum cma_state state = conn->state;

	cma_alive_leave(conn);
	if (conn->late != DAPL_CM_EVENT_N || !linger(conn, state))
		conn_end(conn, state);
}

void cma_conn_run(struct dapl_cm_conn *base, unsigned asked)
{
	struct cma_conn *conn = conn_from(base);
	enum dapl_cm_event late = DAPL_CM_EVENT_N;

	(void)asked;
	dapl_lock(&base->node.cm->lock);
	if (!conn->released) {
		late = conn->late;
		conn->late = DAPL_CM_EVENT_N;
	}
	dapl_unlock(&base->node.cm->lock);
	if (late != DAPL_CM_EVENT_N)
		cma_conn_finish(conn, late, NULL, 0);
}

static bool is_end(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return true;
	default:
		return false;
	}
}

bool cma_conn_released_event(struct cma_conn *conn,
			     enum rdma_cm_event_type type)
{
	bool up = type == RDMA_CM_EVENT_ESTABLISHED && !conn->qp.ud;
	bool released, lingers, ended = is_end(type);

	dapl_lock(&conn->base.node.cm->lock);
	/*
	 * Of a connection that was up, UNREACHABLE tells that the host has
	 * another hardware address, and the goodbye goes on.
	 */
	if (type == RDMA_CM_EVENT_UNREACHABLE && conn->parting)
		ended = false;
	if (ended)
		conn->parting = false;
	released = conn->released;
	lingers = conn->state == CMA_LINGER;
	/* The deferred run, if it is yet to come, must know what to wait for.
	 */
	if (released && ended)
		conn->state = CMA_OVER;
	else if (released && up && !lingers)
		conn->state = CMA_UP;
	dapl_unlock(&conn->base.node.cm->lock);
	if (lingers && up)
		ended = cma_conn_dev(conn)->iw_cm || rdma_disconnect(conn->id);
	if (lingers && ended)
		conn_end(conn, CMA_OVER);
	return released;
}

void cma_conn_abandon(struct dapl_cm_conn *base)
{
	struct cma_conn *conn = conn_from(base);
	enum cma_state state;

	cma_alive_leave(conn);
	dapl_lock(&base->node.cm->lock);
	state = conn->state;
	conn->state = CMA_OVER;
	dapl_unlock(&base->node.cm->lock);
	destroy_id(conn, state);
}
