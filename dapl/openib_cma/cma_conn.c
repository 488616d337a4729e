/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_conn.c - connections over rdma_cm.
 *
 * Keeps no timers (retries are paced by rdma_cm's own timeouts) and no queue
 * pair (cma_qp.h).
 *
 * Threads. Ops come on any thread, events and deferred work on the service
 * thread, where all upcalls are made. conn->lock guards the state and is
 * held for nothing but looking at it and changing it; who changes the state
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
#include <stdlib.h>
#include <string.h>

#include "dapl/openib_cma/cma_addr.h"

/*
 * A consumer's reject begins with the versions of DAT and of the provider, as
 * bytes. rdma_cm reports a reject of a process that died in the same way as a
 * consumer's, only without this.
 */
const uint8_t cma_reject_header[CMA_REJECT_HEADER] = {2, 0, 2, 0};

static struct dapl_cm_conn *conn_new(enum cma_state state)
{
	struct dapl_cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	dapl_lock_init(&conn->lock, DAPL_LOCK_CONN);
	conn->state = state;
	conn->late = DAPL_CM_EVENT_N;
	return conn;
}

void cma_conn_free(struct dapl_cm_conn *conn)
{
	dapl_lock_fini(&conn->lock);
	free(conn);
}

bool cma_conn_advance(struct dapl_cm_conn *conn, enum cma_state from,
		      enum cma_state to)
{
	bool ok;

	dapl_lock(&conn->lock);
	ok = conn->state == from && !conn->released;
	if (ok)
		conn->state = to;
	dapl_unlock(&conn->lock);
	return ok;
}

/* Has the service thread report EVENT. */
static void finish_later(struct dapl_cm_conn *conn, enum dapl_cm_event event)
{
	dapl_lock(&conn->lock);
	conn->late = event;
	dapl_unlock(&conn->lock);
	cma_node_defer(&conn->node);
}

void cma_conn_finish(struct dapl_cm_conn *conn, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	struct dapl_ep *ep = NULL;

	dapl_lock(&conn->lock);
	if (conn->state == CMA_ACCEPT_MOVE) {
		/* accept() may not have said yet if there will be events. */
		conn->late = event;
	} else if (conn->state != CMA_OVER) {
		/* A release meanwhile has nothing to wait for any more. */
		conn->state = CMA_OVER;
		ep = conn->released ? NULL : conn->ep;
	}
	dapl_unlock(&conn->lock);
	if (!ep)
		return;
	/* So that what is posted is flushed before the consumer hears of it. */
	if (event == DAPL_CM_DISCONNECTED)
		conn->node.cm->base.up->qp_error(ep, conn);
	dapl_log(DAPL_LOG_CM, "conn %p: ep %p: over, event %d", (void *)conn,
		 (void *)ep, event);
	conn->node.cm->base.up->event(ep, conn, event, size ? pdata : NULL,
				      size);
}

enum cma_state cma_conn_state(struct dapl_cm_conn *conn)
{
	enum cma_state state;

	dapl_lock(&conn->lock);
	state = conn->released ? CMA_OVER : conn->state;
	dapl_unlock(&conn->lock);
	return state;
}

void cma_conn_param(const struct dapl_cm_conn *conn, const void *pdata,
		    size_t size, struct rdma_conn_param *ret_param)
{
	*ret_param = (struct rdma_conn_param){
		.private_data = size ? pdata : NULL,
		.private_data_len = size,
		.responder_resources = conn->depths.in,
		.initiator_depth = conn->depths.out,
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.srq = conn->qp.has_srq,
		.qp_num = conn->qp.qp_num,
	};
}

int cma_conn_resolve(struct dapl_cm_conn *conn)
{
	const struct dapl_cm *base = &conn->node.cm->base;
	struct sockaddr_storage own = base->addr;

	if (rdma_resolve_addr(conn->id, (struct sockaddr *)&own,
			      (struct sockaddr *)&conn->peer,
			      cma_params(conn->node.cm)->arp_timeout_ms))
		return -errno;
	return 0;
}

int cma_conn_another_port(struct dapl_cm_conn *conn)
{
	struct rdma_cm_id *id;
	int ret;

	if (!cma_conn_advance(conn, CMA_CONNECT, CMA_ADDR))
		return -ECANCELED;
	ret = cma_id_create(conn->node.cm, conn, &id);
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

int cma_prepare(struct dapl_cm *base, struct dapl_ep *ep,
		struct dapl_cm_conn **ret_conn)
{
	struct cma *cm = cma_from(base);
	struct dapl_cm_conn *conn = conn_new(CMA_IDLE);
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->ep = ep;
	ret = cma_node_add(cm, &conn->node, CMA_CONN);
	if (ret) {
		cma_conn_free(conn);
		return ret;
	}
	*ret_conn = conn;
	return 0;
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

static int start(struct dapl_cm_conn *conn)
{
	int ret;

	conn->tries = 1;
	ret = cma_id_create(conn->node.cm, conn, &conn->id);
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

int cma_connect(struct dapl_cm_conn *conn, const struct dapl_cm_connect *req)
{
	const struct dapl_cm *base = &conn->node.cm->base;
	int ret;

	if (req->pdata_size > CMA_PDATA_MAX || req->qp.ud)
		return dapl_fail_errno(-EINVAL,
				       "conn %p: more private data than %d, "
				       "or a datagram endpoint",
				       (void *)conn, CMA_PDATA_MAX);
	ret = cma_addr_peer(&base->addr, req->addr, req->qual, &conn->peer);
	if (ret)
		return dapl_fail_errno(
			ret,
			"conn %p: cannot connect to that address "
			"or qualifier: %s",
			(void *)conn, strerror(-ret));
	conn->qp = req->qp;
	conn->depths = cma_depths_own(base->dev, &req->qp);
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

int cma_conn_passive(struct cma *cm, struct rdma_cm_id *id,
		     const struct cma_event *ev, struct dapl_cm_conn **ret_conn)
{
	struct dapl_cm_conn *conn = conn_new(CMA_REQUEST);
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->passive = true;
	/* rdma_cm gives these as seen from here. */
	conn->depths.in = ev->responder_resources;
	conn->depths.out = ev->initiator_depth;
	ret = cma_node_add(cm, &conn->node, CMA_CONN);
	if (ret) {
		cma_conn_free(conn);
		return ret;
	}
	conn->id = id;
	id->context = conn;
	*ret_conn = conn;
	return 0;
}

static int accept_begin(struct dapl_cm_conn *conn, struct dapl_ep *ep)
{
	int ret = -EINVAL;

	dapl_lock(&conn->lock);
	if (conn->state == CMA_REQUEST) {
		conn->state = CMA_ACCEPT_MOVE;
		conn->ep = ep;
		ret = 0;
	} else if (conn->passive && conn->state == CMA_OVER) {
		ret = -ECONNABORTED;
	}
	dapl_unlock(&conn->lock);
	return ret;
}

/* The call has failed, and no move begun. */
static int accept_undo(struct dapl_cm_conn *conn, int ret)
{
	dapl_lock(&conn->lock);
	if (conn->late != DAPL_CM_EVENT_N)
		ret = -ECONNABORTED;
	conn->late = DAPL_CM_EVENT_N;
	conn->state = ret == -ECONNABORTED ? CMA_OVER : CMA_REQUEST;
	conn->ep = NULL;
	dapl_unlock(&conn->lock);
	return ret;
}

static struct cma_depths agree(const struct vb_dev *dev,
			       struct cma_depths asked,
			       const struct dapl_cm_qp *qp)
{
	struct cma_depths own = cma_depths_own(dev, qp);

	/* iWARP peers that do not negotiate show as 0. */
	if (asked.in < own.in && !(dev->iw_cm && !asked.in))
		own.in = asked.in;
	if (asked.out < own.out && !(dev->iw_cm && !asked.out))
		own.out = asked.out;
	return own;
}

enum dapl_cm_event cma_conn_accepted(struct dapl_cm_conn *conn)
{
	enum dapl_cm_event late = DAPL_CM_EVENT_N;

	dapl_lock(&conn->lock);
	if (conn->state == CMA_ACCEPT_MOVE) {
		conn->state = CMA_ACCEPT;
		late = conn->late;
		conn->late = DAPL_CM_EVENT_N;
	}
	dapl_unlock(&conn->lock);
	return late;
}

int cma_conn_move(struct dapl_cm_conn *conn)
{
	struct dapl_cm_step steps[DAPL_CM_STEPS];
	int n, ret;

	ret = cma_qp_steps(cma_conn_dev(conn), conn->id, conn->depths, steps,
			   &n);
	if (ret)
		return ret;
	return conn->node.cm->base.up->qp_move(conn->ep, conn, steps, n,
					       cma_conn_moved);
}

int cma_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size)
{
	struct cma_depths asked = conn->depths;
	int ret;

	if (size > CMA_PDATA_MAX || qp->ud)
		return dapl_fail_errno(-EINVAL,
				       "conn %p: more private data than %d, "
				       "or a datagram endpoint",
				       (void *)conn, CMA_PDATA_MAX);
	ret = accept_begin(conn, ep);
	if (!ret) {
		conn->qp = *qp;
		conn->depths = agree(cma_conn_dev(conn), asked, qp);
		conn->pdata_size = size;
		if (size)
			memcpy(conn->pdata, pdata, size);
		ret = cma_conn_move(conn);
		if (ret) {
			conn->depths = asked;
			ret = accept_undo(conn, ret);
		}
	}
	if (ret)
		return dapl_fail_errno(
			ret, "conn %p: not accepted: %s", (void *)conn,
			ret == -ECONNABORTED ? "the peer has given up"
					     : strerror(-ret));
	return 0;
}

int cma_reject(struct dapl_cm_conn *conn, const void *pdata, size_t size)
{
	uint8_t buf[sizeof(cma_reject_header) + CMA_PDATA_MAX];

	if (size > CMA_PDATA_MAX)
		return dapl_fail_errno(-EINVAL,
				       "conn %p: more private data than %d",
				       (void *)conn, CMA_PDATA_MAX);
	if (!cma_conn_advance(conn, CMA_REQUEST, CMA_OVER)) {
		/* A peer that has gone is as good as refused. */
		if (conn->passive && cma_conn_state(conn) == CMA_OVER)
			return 0;
		return dapl_fail_errno(-EINVAL, "conn %p: not an open request",
				       (void *)conn);
	}
	memcpy(buf, cma_reject_header, sizeof(cma_reject_header));
	if (size)
		memcpy(buf + sizeof(cma_reject_header), pdata, size);
	if (rdma_reject(conn->id, buf, sizeof(cma_reject_header) + size))
		dapl_log(DAPL_LOG_CM_WARN, "conn %p: reject: %m", (void *)conn);
	return 0;
}

int cma_disconnect(struct dapl_cm_conn *conn)
{
	if (!cma_conn_advance(conn, CMA_UP, CMA_DOWN)) {
		if (cma_conn_state(conn) == CMA_DOWN)
			return 0;
		return dapl_fail_errno(-ENOTCONN, "conn %p: not established",
				       (void *)conn);
	}
	/*
	 * On iWARP the kernel ends the stream after what was sent; an error
	 * state would cut off what the peer has not read yet.
	 */
	if (!cma_conn_dev(conn)->iw_cm)
		conn->node.cm->base.up->qp_error(conn->ep, conn);
	if (rdma_disconnect(conn->id)) {
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
 * during a disconnect: so that is done here, before, and not by the service
 * thread, which has to leave CONN to us meanwhile.
 */
void cma_release(struct dapl_cm_conn *conn)
{
	bool up;

	dapl_lock(&conn->lock);
	up = conn->state == CMA_UP;
	if (up)
		conn->state = CMA_DOWN;
	conn->leaving = up;
	conn->released = true;
	dapl_unlock(&conn->lock);
	if (up) {
		bool ended = rdma_disconnect(conn->id);

		dapl_lock(&conn->lock);
		if (ended)
			conn->late = DAPL_CM_DISCONNECTED;
		conn->leaving = false;
		dapl_unlock(&conn->lock);
	}
	cma_node_defer(&conn->node);
}

int cma_addrs(const struct dapl_cm_conn *conn,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port)
{
	enum cma_state state = cma_conn_state((struct dapl_cm_conn *)conn);
	const struct sockaddr *peer;

	if (state != CMA_UP && state != CMA_DOWN)
		return -ENOTCONN;
	peer = rdma_get_peer_addr(conn->id);
	memset(ret_peer, 0, sizeof(*ret_peer));
	memcpy(ret_peer, peer, dapl_addr_len(peer));
	*ret_peer_port = be16toh(rdma_get_dst_port(conn->id));
	*ret_local_port = be16toh(rdma_get_src_port(conn->id));
	return 0;
}

static void destroy_id(struct dapl_cm_conn *conn, enum cma_state state)
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
static void conn_end(struct dapl_cm_conn *conn, enum cma_state state)
{
	destroy_id(conn, state);
	cma_node_del(&conn->node);
	cma_conn_free(conn);
}

/*
 * Destroying the id at once would stop rdma_cm from repeating a lost message
 * to the peer; and on iWARP it would block until the peer has answered a
 * request. So the id stays until rdma_cm has an answer, or no hope of one. An
 * iWARP connection that came up after the release ends with its id; there the
 * kernel does hold the queue pair.
 */
static bool linger(struct dapl_cm_conn *conn, enum cma_state state)
{
	switch (state) {
	case CMA_CONNECT:
	case CMA_ACCEPT:
		if (!cma_conn_dev(conn)->iw_cm)
			return false;
		break;
	case CMA_UP:
		if (cma_conn_dev(conn)->iw_cm || rdma_disconnect(conn->id))
			return false;
		break;
	case CMA_DOWN:
		break;
	default:
		return false;
	}
	dapl_lock(&conn->lock);
	conn->state = CMA_LINGER;
	dapl_unlock(&conn->lock);
	return true;
}

static void run_released(struct dapl_cm_conn *conn, bool ended)
{
	const struct dapl_cm_up *up = conn->node.cm->base.up;
	struct dapl_ep *ep = conn->ep;
	/* Nobody else changes it after release(). */
	enum cma_state state = conn->state;

	conn->ep = NULL;
	if (ended || !linger(conn, state))
		conn_end(conn, state);
	if (ep)
		up->gone(ep);
}

void cma_conn_run(struct dapl_cm_conn *conn)
{
	enum dapl_cm_event late;
	bool released;

	dapl_lock(&conn->lock);
	if (conn->leaving) {
		dapl_unlock(&conn->lock);
		return;
	}
	released = conn->released;
	late = conn->late;
	conn->late = DAPL_CM_EVENT_N;
	dapl_unlock(&conn->lock);
	if (released)
		run_released(conn, late != DAPL_CM_EVENT_N);
	else if (late != DAPL_CM_EVENT_N)
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

bool cma_conn_released_event(struct dapl_cm_conn *conn,
			     enum rdma_cm_event_type type)
{
	bool up = type == RDMA_CM_EVENT_ESTABLISHED;
	bool released, lingers, ended = is_end(type);

	dapl_lock(&conn->lock);
	released = conn->released;
	lingers = conn->state == CMA_LINGER;
	/* The deferred run, if it is yet to come, must know what to wait for.
	 */
	if (released && ended)
		conn->state = CMA_OVER;
	else if (released && up && !lingers)
		conn->state = CMA_UP;
	dapl_unlock(&conn->lock);
	if (lingers && up)
		ended = cma_conn_dev(conn)->iw_cm || rdma_disconnect(conn->id);
	if (lingers && ended)
		conn_end(conn, CMA_OVER);
	return released;
}

void cma_conn_stop(struct dapl_cm_conn *conn)
{
	if (conn->ep)
		conn->node.cm->base.up->qp_stop(conn->ep, conn);
}

void cma_conn_abandon(struct dapl_cm_conn *conn)
{
	enum cma_state state;
	struct dapl_ep *ep;

	dapl_lock(&conn->lock);
	state = conn->state;
	conn->state = CMA_OVER;
	ep = conn->ep;
	conn->ep = NULL;
	dapl_unlock(&conn->lock);
	destroy_id(conn, state);
	if (ep)
		conn->node.cm->base.up->gone(ep);
}
