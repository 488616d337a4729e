/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_conn.c - the connection of an endpoint: connect, accept, disconnect,
 * reset, and what the connection manager reports.
 *
 * What is to be done when is in a table (dapl_ep_states.h). Everything that
 * happens is an input of it: feed() takes the endpoint's lock, makes the step,
 * and does what belongs under the lock; carry_out() does the rest, and may so
 * come to further inputs.
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
#include "dapl/common/connect/dapl_ep_ud.h"
#include "dapl/common/connect/dapl_sp.h"
#include "dapl/common/services/dapl_probe.h"
#include "dapl/common/transfer/dapl_ep_post.h"

#define DRAIN_POLL_MIN_US 200
#define DRAIN_POLL_MAX_US 20000

/* An input, and what comes with it. */
struct input {
	enum dapl_ep_input in;
	/* A connection that the endpoint may take. */
	struct dapl_cm_conn *fresh;
	/* The one it is about. If that is not the endpoint's any more, it is
	 * none. */
	struct dapl_cm_conn *about;
	uint64_t qp_id;		 /* the same of a queue pair; 0: about none */
	struct dapl_ep_use *use; /* who was inside that, and leaves with it */
	const struct dapl_ep_peer *peer;
	uint64_t asked_us;    /* of the attempt: its begin */
	uint64_t deadline_us; /* and its end */
	void *pdata;	      /* from malloc(); feed() takes it over */
	size_t size;
};

/* What came of it. */
struct outcome {
	struct dapl_ep_effects effects;
	int seen;		/* DAT's state before */
	struct dapl_ep_use use; /* of the connection, for what is to follow */
	struct dapl_cm_conn *release;
	struct dapl_evd_after after;
};

/* ------------------------------------- effects under the lock */

void dapl_ep_count_event(const struct dapl_ep *ep, DAT_EVENT_NUMBER event,
			 uint64_t asked_us)
{
	struct dapl_ia *ia = ep->obj.ia;
	uint64_t us;

	switch ((int)event) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED:
		dapl_ia_count(ia, asked_us ? DCNT_IA_CM_ACTIVE_EST
					   : DCNT_IA_CM_PASSIVE_EST);
		us = asked_us ? dapl_now_us() - asked_us : 0;
		if (asked_us)
			dapl_ia_count_connect(ia, us);
		DAPL_PROBE2(established, ep, us);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_IB_UD_CONNECTION_REJECT_EVENT:
		dapl_ia_count(ia, DCNT_IA_CM_USER_REJ_RX);
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		dapl_ia_count(ia, DCNT_IA_CM_ERR_REFUSED);
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		dapl_ia_count(ia, DCNT_IA_CM_ERR_TIMEOUT);
		break;
	case DAT_CONNECTION_EVENT_BROKEN:
		dapl_ia_count(ia, DCNT_IA_CM_ERR_RESET);
		break;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_IB_UD_CONNECTION_ERROR_EVENT:
		dapl_ia_count(ia, DCNT_IA_CM_ERR);
		break;
	default:
		break;
	}
	DAPL_PROBE2(conn_event, ep, event);
}

static void post_conn_event_locked(struct dapl_ep *ep, DAT_EVENT_NUMBER number,
				   size_t pdata_size)
{
	DAT_EVENT event;
	DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	dapl_lock_assert_held(&ep->lock);
	dapl_ep_count_event(ep, number, ep->asked_us);
	ep->asked_us = 0;
	if (!ep->conn_evd)
		return;
	memset(&event, 0, sizeof(event));
	event.event_number = number;
	data->ep_handle = (DAT_EP_HANDLE)ep;
	data->private_data_size = (DAT_COUNT)pdata_size;
	data->private_data = pdata_size ? ep->pdata : NULL;
	dapl_evd_post(ep->conn_evd, &event);
	dapl_log(DAPL_LOG_EP, "ep %p: event 0x%x", (void *)ep, number);
}

/*
 * A disconnected endpoint takes no more from its SRQ. Old programs (dtestsrq)
 * wait for that, as an error of the endpoint; not every device reports it, so
 * it is always said here, and the device's own event is ignored.
 */
static void tell_last_receive_locked(struct dapl_ep *ep,
				     DAT_EVENT_NUMBER number)
{
	dapl_lock_assert_held(&ep->lock);
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
	if (evd == ep->qp.recv_evd || evd == ep->qp.request_evd)
		dapl_evd_poll_all(evd, NULL, after);
}

static void remember_peer_locked(struct dapl_ep *ep,
				 const struct dapl_ep_peer *peer)
{
	dapl_lock_assert_held(&ep->lock);
	if (!peer)
		return;
	memcpy(&ep->remote_addr, &peer->addr, sizeof(ep->remote_addr));
	ep->remote_port = peer->port;
	ep->local_port = peer->local_port;
	if (peer->qual)
		ep->remote_qual = peer->qual;
}

static void forget_peer_locked(struct dapl_ep *ep)
{
	dapl_lock_assert_held(&ep->lock);
	memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	ep->remote_qual = 0;
	ep->remote_port = 0;
	ep->local_port = 0;
}

static void keep_pdata_locked(struct dapl_ep *ep, struct input *in)
{
	dapl_lock_assert_held(&ep->lock);
	ep->pdata_size = in->size;
	if (!in->pdata)
		return;
	free(ep->pdata);
	ep->pdata = in->pdata;
	in->pdata = NULL;
}

static void arm_locked(struct dapl_ep *ep, uint64_t deadline_us)
{
	int ret;

	dapl_lock_assert_held(&ep->lock);
	ep->deadline_us = deadline_us;
	if (deadline_us == UINT64_MAX)
		return;
	ret = dapl_timer_arm(ep->obj.ia->loop, &ep->timer, deadline_us);
	if (ret)
		dapl_log(DAPL_LOG_ERR, "ep %p: no timer: %s", (void *)ep,
			 strerror(-ret));
}

static void arm_pause_locked(struct dapl_ep *ep)
{
	ep->drain_wait_us *= 2;
	if (ep->drain_wait_us > DRAIN_POLL_MAX_US)
		ep->drain_wait_us = DRAIN_POLL_MAX_US;
	arm_locked(ep, dapl_now_us() + ep->drain_wait_us);
}

static void take_locked(struct dapl_ep *ep, struct dapl_cm_conn *conn)
{
	dapl_lock_assert_held(&ep->lock);
	ep->conn = conn;
	ep->drain_wait_us = DRAIN_POLL_MIN_US;
}

static void leave_locked(struct dapl_ep *ep, struct outcome *out)
{
	struct dapl_cm_conn *conn = ep->conn;

	dapl_lock_assert_held(&ep->lock);
	ep->conn = NULL;
	if (dapl_ep_unused(&ep->uses, NULL, conn))
		out->release = conn;
}

static void do_locked(struct dapl_ep *ep, enum dapl_ep_effect effect,
		      struct input *in, struct outcome *out)
{
	switch (effect) {
	case DAPL_EP_DO_TAKE:
		take_locked(ep, in->fresh);
		ep->asked_us = in->asked_us;
		break;
	case DAPL_EP_DO_LEAVE:
		leave_locked(ep, out);
		break;
	case DAPL_EP_DO_RETURN:
		ep->conn = NULL;
		break;
	case DAPL_EP_DO_REMEMBER_PEER:
		remember_peer_locked(ep, in->peer);
		break;
	case DAPL_EP_DO_FORGET_PEER:
		forget_peer_locked(ep);
		break;
	case DAPL_EP_DO_KEEP_PDATA:
		keep_pdata_locked(ep, in);
		break;
	case DAPL_EP_DO_FREE_PDATA:
		free(ep->pdata);
		ep->pdata = NULL;
		break;
	case DAPL_EP_DO_ARM_DEADLINE:
		arm_locked(ep, in->deadline_us);
		break;
	case DAPL_EP_DO_ARM_PAUSE:
		arm_pause_locked(ep);
		break;
	case DAPL_EP_DO_DISARM:
		/* One that is late finds that it is not due. */
		ep->deadline_us = UINT64_MAX;
		break;
	case DAPL_EP_DO_OP:
	case DAPL_EP_DO_CHECK_QUEUE:
	case DAPL_EP_DO_POST_MARKER:
		dapl_ep_use_begin(&ep->uses, &out->use, ep->conn);
		break;
	case DAPL_EP_DO_CHECK_LATER:
		dapl_loop_defer(ep->obj.ia->loop, &ep->drain_work);
		break;
	case DAPL_EP_DO_LAST_RECEIVE:
		tell_last_receive_locked(ep, out->effects.event);
		break;
	case DAPL_EP_DO_COMPLETIONS:
		completions_first_locked(ep, &out->after);
		break;
	case DAPL_EP_DO_EVENT:
		post_conn_event_locked(ep, out->effects.event, ep->pdata_size);
		break;
	default:
		break; /* carry_out(), or the caller */
	}
}

/* -------------------------------------------------- the table */

static void step_locked(struct dapl_ep *ep, struct input *in,
			struct outcome *out)
{
	const char *before = dapl_ep_state_name(ep->fsm.state);
	int i;

	dapl_lock_assert_held(&ep->lock);
	dapl_ep_step(&ep->fsm, in->in, &out->effects);
	/* That of a datagram endpoint is dapl_ep_ud.c's. */
	if (!ep->qp.ud)
		dapl_qp_set_state(&ep->qp, dapl_ep_dat_state(ep->fsm.state));
	dapl_log(DAPL_LOG_EP, "ep %p: %s: %s", (void *)ep,
		 dapl_ep_input_name(in->in), dapl_ep_state_name(ep->fsm.state));
	DAPL_PROBE3(ep_state, ep, before, dapl_ep_state_name(ep->fsm.state));
	for (i = 0; i < out->effects.n; i++)
		do_locked(ep, out->effects.e[i], in, out);
}

/* Whether IN comes too late to be one. */
static bool stale_locked(struct dapl_ep *ep, const struct input *in)
{
	dapl_lock_assert_held(&ep->lock);
	if (in->about)
		return ep->conn != in->about;
	if (in->qp_id)
		return dapl_qp_last_id(&ep->qp) != in->qp_id;
	return in->in == DAPL_EP_IN_TIMER && dapl_now_us() < ep->deadline_us;
}

/* Returns whether it was an input; in any case carry_out() follows. */
static bool feed(struct dapl_ep *ep, struct input *in, struct outcome *out)
{
	bool stale;

	memset(out, 0, sizeof(*out));
	dapl_lock(&ep->lock);
	out->seen = ep->qp.state;
	if (in->use)
		dapl_ep_use_end(in->use);
	stale = stale_locked(ep, in);
	if (!stale)
		step_locked(ep, in, out);
	else if (in->use && dapl_ep_unused(&ep->uses, ep->conn, in->about))
		out->release = in->about;
	dapl_unlock(&ep->lock);
	free(in->pdata);
	return !stale;
}

static bool is_told_to(const struct outcome *out, enum dapl_ep_effect effect)
{
	for (int i = 0; i < out->effects.n; i++)
		if (out->effects.e[i] == effect)
			return true;
	return false;
}

static bool refused(const struct outcome *out)
{
	return is_told_to(out, DAPL_EP_DO_REFUSE);
}

static void conn_release(struct dapl_ep *ep, struct dapl_cm_conn *conn)
{
	if (conn)
		ep->obj.ia->cm->ops->release(conn);
}

static void carry_out(struct dapl_ep *ep, struct outcome *out);

/* An input that comes alone. */
static void happens(struct dapl_ep *ep, enum dapl_ep_input in)
{
	struct input input = {.in = in};
	struct outcome out;

	feed(ep, &input, &out);
	carry_out(ep, &out);
}

/* One that is a call of the consumer. */
static DAT_RETURN call(struct dapl_ep *ep, enum dapl_ep_input in,
		       const char *name)
{
	struct input input = {.in = in};
	struct outcome out;

	feed(ep, &input, &out);
	carry_out(ep, &out);
	return refused(&out) ? dapl_qp_bad_state(&ep->qp, out.seen, name)
			     : DAT_SUCCESS;
}

void dapl_ep_leave(struct dapl_ep *ep, struct dapl_ep_use *use)
{
	struct dapl_cm_conn *conn = use->conn;
	bool last;

	dapl_lock(&ep->lock);
	dapl_ep_use_end(use);
	last = dapl_ep_unused(&ep->uses, ep->conn, conn);
	dapl_unlock(&ep->lock);
	conn_release(ep, last ? conn : NULL);
}

/* ---------------------------------- effects without the lock */

static void qp_error(struct dapl_ep *ep)
{
	/* If it is being moved, the move's end tells. */
	if (dapl_ep_move_ends(ep))
		return;
	dapl_qp_error(&ep->qp);
	dapl_ep_qp_in_error(ep);
}

/* USE tells of whose connection, and ends here. */
static void op_disconnect(struct dapl_ep *ep, struct dapl_ep_use *use)
{
	struct input in = {.about = use->conn, .use = use};
	struct outcome out;

	in.in = ep->obj.ia->cm->ops->disconnect(use->conn)
			? DAPL_EP_IN_DISCONNECT_FAILED
			: DAPL_EP_IN_OP_DONE;
	feed(ep, &in, &out);
	carry_out(ep, &out);
}

/*
 * Whether requests are outstanding. The consumer may have stopped reading its
 * EVD, so the completions are read here.
 */
static void check_queue(struct dapl_ep *ep, struct dapl_ep_use *use)
{
	struct input in = {.about = use->conn, .use = use};
	struct dapl_evd_after after = {0};
	struct outcome out;

	dapl_evd_poll_all(ep->qp.request_evd, NULL, &after);
	dapl_evd_after(&after);
	in.in = ep->qp.sq && dapl_wq_used(ep->qp.sq) ? DAPL_EP_IN_QUEUE_BUSY
						     : DAPL_EP_IN_QUEUE_EMPTY;
	feed(ep, &in, &out);
	carry_out(ep, &out);
}

/*
 * Suppressed requests at the end of the queue would not be seen to complete: a
 * marker behind them is. A full queue has room for it when some have completed.
 * If the device takes it not, there is nothing to wait for.
 */
static void post_marker(struct dapl_ep *ep, struct dapl_ep_use *use)
{
	struct input in = {.about = use->conn, .use = use};
	int ret = dapl_qp_post_marker(&ep->qp);
	struct outcome out;

	if (!ret) {
		dapl_ep_leave(ep, use);
		return;
	}
	in.in = ret == -ENOBUFS ? DAPL_EP_IN_MARKER_NO_ROOM
				: DAPL_EP_IN_QUEUE_EMPTY;
	feed(ep, &in, &out);
	carry_out(ep, &out);
}

/* What runs on a connection is the last to use it: it is released last. */
static void carry_out(struct dapl_ep *ep, struct outcome *out)
{
	int i;

	dapl_evd_after(&out->after);
	for (i = 0; i < out->effects.n; i++)
		switch (out->effects.e[i]) {
		case DAPL_EP_DO_QP_ERROR:
			qp_error(ep);
			break;
		case DAPL_EP_DO_OP:
			op_disconnect(ep, &out->use);
			break;
		case DAPL_EP_DO_CHECK_QUEUE:
			check_queue(ep, &out->use);
			break;
		case DAPL_EP_DO_POST_MARKER:
			post_marker(ep, &out->use);
			break;
		default:
			break;
		}
	conn_release(ep, out->release);
}

void dapl_ep_qp_in_error(struct dapl_ep *ep)
{
	bool was_up;

	dapl_lock(&ep->lock);
	was_up = ep->fsm.state == DAPL_EP_END_UP ||
		 ep->fsm.state == DAPL_EP_END_CLOSE;
	dapl_unlock(&ep->lock);
	dapl_qp_over(&ep->qp, was_up);
	happens(ep, DAPL_EP_IN_QP_IN_ERROR);
}

/* ------------------------------------------------- upcalls */

void dapl_ep_cm_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size)
{
	struct input in = {.in = dapl_ep_input_of(event), .about = conn};
	struct dapl_ep_peer peer = {.qual = 0}; /* stays what was asked for */
	struct outcome out;

	dapl__lock_assert_none();
	if (ep->qp.ud) {
		dapl_ep_ud_event(ep, conn, event, pdata, size);
		return;
	}
	if (event == DAPL_CM_ESTABLISHED &&
	    !ep->obj.ia->cm->ops->addrs(conn, &peer.addr, &peer.port,
					&peer.local_port))
		in.peer = &peer;
	in.pdata = size ? malloc(size) : NULL;
	if (in.pdata) {
		memcpy(in.pdata, pdata, size);
		in.size = size;
	}
	if (feed(ep, &in, &out) && event == DAPL_CM_ESTABLISHED)
		dapl_log(DAPL_LOG_CM_EST,
			 "ep %p: established, %zu bytes of private data",
			 (void *)ep, in.size);
	carry_out(ep, &out);
}

void dapl_ep_cm_gone(struct dapl_ep *ep)
{
	dapl_obj_put(&ep->obj);
}

/* The consumer's timeout of an attempt, or time to look at the requests. */
void dapl_ep_timer(struct dapl_timer *t)
{
	happens(dapl_container_of(t, struct dapl_ep, timer), DAPL_EP_IN_TIMER);
}

void dapl_ep_drained(struct dapl_work *w)
{
	happens(dapl_container_of(w, struct dapl_ep, drain_work),
		DAPL_EP_IN_DRAINED);
}

static void broken(struct dapl_ep *ep, uint64_t qp_id)
{
	struct input in = {.in = DAPL_EP_IN_COMPLETION_ERROR, .qp_id = qp_id};
	struct outcome out;

	feed(ep, &in, &out);
	carry_out(ep, &out);
}

void dapl_ep_broken(struct dapl_work *w)
{
	struct dapl_ep *ep = dapl_container_of(w, struct dapl_ep, broken_work);

	broken(ep, __atomic_load_n(&ep->broken_qp, __ATOMIC_ACQUIRE));
}

/* Where a connection has ended there may be none, and the state says more. */
static bool lacks_qp(struct dapl_ep *ep)
{
	bool over;

	dapl_lock(&ep->lock);
	over = ep->fsm.state >= DAPL_EP_END_ACTIVE &&
	       ep->fsm.state <= DAPL_EP_RESETTING;
	dapl_unlock(&ep->lock);
	return !ep->qp.ibv && !over;
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
	if (lacks_qp(ep))
		return dapl_fail(DAPL_BAD_STATE(EP_NOTREADY),
				 "ep %p has no queue pair: %s had none left",
				 (void *)ep, ep->obj.ia->dev.name);
	return DAT_SUCCESS;
}

/* Where a free has taken the queue pair away, the attempt is over as well. */
static struct dapl_cm_qp conn_qp(struct dapl_ep *ep)
{
	struct dapl_cm_qp qp = {
		.has_srq = ep->qp.srq != NULL,
		.ud = ep->qp.ud,
	};

	dapl_lock(&ep->qp.ctl);
	if (ep->qp.ibv)
		qp.qp_num = ep->qp.ibv->qp_num;
	dapl_unlock(&ep->qp.ctl);
	qp.responder_resources =
		ep->qp.attr.max_rdma_read_in > UINT8_MAX
			? UINT8_MAX
			: (uint8_t)ep->qp.attr.max_rdma_read_in;
	qp.initiator_depth = ep->qp.attr.max_rdma_read_out > UINT8_MAX
				     ? UINT8_MAX
				     : (uint8_t)ep->qp.attr.max_rdma_read_out;
	return qp;
}

static struct dapl_ep_peer peer_named(const struct sockaddr *addr,
				      DAT_CONN_QUAL qual)
{
	size_t len = addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						 : sizeof(struct sockaddr_in);
	struct dapl_ep_peer peer = {.port = qual, .qual = qual};

	memcpy(&peer.addr, addr, len);
	return peer;
}

DAT_RETURN dapl_ep_op_failed(const struct dapl_ep *ep, int err,
			     const char *what)
{
	if (err != -ENOMEM)
		return dapl_err_dat(err);
	return dapl_fail(dapl_err_dat(err), "ep %p: no memory to %s",
			 (const void *)ep, what);
}

/*
 * Runs the attempt on a connection that is EP's already. If somebody has ended
 * it meanwhile, that is its result.
 */
static int start_attempt(struct dapl_ep *ep, struct dapl_ep_use *use,
			 const struct dapl_cm_connect *req)
{
	struct input in = {.about = use->conn, .use = use};
	struct outcome out;
	bool mine;
	int ret;

	ret = ep->obj.ia->cm->ops->connect(use->conn, req);
	in.in = ret ? DAPL_EP_IN_CONNECT_FAILED : DAPL_EP_IN_OP_DONE;
	mine = feed(ep, &in, &out);
	carry_out(ep, &out);
	return mine ? ret : 0;
}

static DAT_RETURN attempt(struct dapl_ep *ep, const struct sockaddr *addr,
			  DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			  DAT_COUNT pdata_size, const void *pdata)
{
	struct dapl_cm *cm = ep->obj.ia->cm;
	struct dapl_cm_connect req = {
		.addr = addr,
		.qual = qual,
		.pdata = pdata,
		.pdata_size = (size_t)pdata_size,
	};
	struct dapl_ep_peer peer = peer_named(addr, qual);
	struct input in = {.in = DAPL_EP_IN_CONNECT, .peer = &peer};
	struct outcome out;
	int ret;

	if (ep->qp.ud) {
		req.qp = conn_qp(ep);
		return dapl_ep_ud_connect(ep, &req, timeout);
	}
	dapl_obj_get(&ep->obj);
	ret = cm->ops->prepare(cm, ep, &in.fresh);
	if (ret) {
		dapl_obj_put(&ep->obj);
		return dapl_fail(dapl_err_dat(ret), "ep %p: cannot connect: %s",
				 (void *)ep, strerror(-ret));
	}
	in.asked_us = dapl_now_us();
	in.deadline_us = timeout == DAT_TIMEOUT_INFINITE
				 ? UINT64_MAX
				 : in.asked_us + timeout;
	feed(ep, &in, &out);
	if (refused(&out)) {
		conn_release(ep, in.fresh);
		return dapl_qp_bad_state(&ep->qp, out.seen, "dat_ep_connect");
	}
	/* Not before: it may just have been modified. */
	req.qp = conn_qp(ep);
	ret = start_attempt(ep, &out.use, &req);
	return ret ? dapl_ep_op_failed(ep, ret, "connect") : DAT_SUCCESS;
}

static DAT_RETURN ep_connect(struct dapl_ep *ep, const struct sockaddr *addr,
			     DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			     DAT_COUNT pdata_size, const void *pdata)
{
	DAT_RETURN ret = attempt(ep, addr, qual, timeout, pdata_size, pdata);

	if (ret == DAT_SUCCESS)
		dapl_count(dapl_counts_if_on(&ep->obj, &ep->qp.counts),
			   DCNT_EP_CONNECT);
	return ret;
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
	struct sockaddr_storage addr = {0};
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
	memcpy(&addr, &dup->remote_addr, sizeof(dup->remote_addr));
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

static enum dapl_ep_input accept_failed(enum dapl_ep_input in)
{
	switch (in) {
	case DAPL_EP_IN_ACCEPT_REQUESTED:
		return DAPL_EP_IN_ACCEPT_REQUESTED_FAILED;
	case DAPL_EP_IN_ACCEPT_TENTATIVE:
		return DAPL_EP_IN_ACCEPT_TENTATIVE_FAILED;
	default:
		return DAPL_EP_IN_ACCEPT_FAILED;
	}
}

/* Calls the connection manager. Returns what accept() did; *RET_MINE: nobody
 * has ended the connection meanwhile. */
static int op_accept(struct dapl_ep *ep, struct dapl_ep_use *use,
		     enum dapl_ep_input accept, const struct dapl_cm_qp *qp,
		     const void *pdata, size_t size, bool *ret_mine)
{
	struct input in = {.about = use->conn, .use = use};
	struct outcome out;
	int ret;

	ret = ep->obj.ia->cm->ops->accept(use->conn, qp, ep, pdata, size);
	in.in = ret ? accept_failed(accept) : DAPL_EP_IN_OP_DONE;
	*ret_mine = feed(ep, &in, &out);
	/* Without success it is the request's to release. */
	if (ret)
		out.release = NULL;
	carry_out(ep, &out);
	return ret;
}

DAT_RETURN dapl_ep_accept(struct dapl_ep *ep, enum dapl_ep_input accept,
			  const struct dapl_cr *cr, const void *pdata,
			  size_t size, bool *ret_peer_gone)
{
	struct dapl_ep_peer peer = {cr->remote_addr, cr->remote_port, cr->qual,
				    0};
	struct input in = {.in = accept, .fresh = cr->conn, .peer = &peer};
	struct outcome out;
	struct dapl_cm_qp qp;
	bool mine;
	int ret;

	*ret_peer_gone = false;
	if (!ep->qp.pz || lacks_qp(ep) || !ep->conn_evd)
		return dapl_fail(DAPL_BAD_STATE(EP_NOTREADY),
				 "ep %p lacks a protection zone or an EVD for "
				 "connection events",
				 (void *)ep);
	if (ep->qp.ud) {
		qp = conn_qp(ep);
		return dapl_ep_ud_accept(ep, cr, &qp, pdata, size,
					 ret_peer_gone);
	}
	dapl_obj_get(&ep->obj);
	feed(ep, &in, &out);
	if (refused(&out)) {
		dapl_obj_put(&ep->obj);
		return dapl_qp_bad_state(&ep->qp, out.seen, "dat_cr_accept");
	}
	qp = conn_qp(ep);
	ret = op_accept(ep, &out.use, accept, &qp, pdata, size, &mine);
	if (!ret)
		return DAT_SUCCESS;
	/*
	 * Without success the reference stays here. The request goes on living
	 * unless its peer has gone, or the endpoint was disconnected
	 * meanwhile: then the caller drops it.
	 */
	dapl_obj_put(&ep->obj);
	*ret_peer_gone = ret == -ECONNABORTED || !mine;
	if (!mine)
		return DAT_SUCCESS;
	return dapl_ep_op_failed(ep, ret, "accept");
}

/* ----------------------------- service points and requests */

DAT_RETURN dapl_ep_reserve(struct dapl_ep *ep)
{
	return call(ep, DAPL_EP_IN_RESERVE, "dat_rsp_create");
}

void dapl_ep_unreserve(struct dapl_ep *ep)
{
	happens(ep, DAPL_EP_IN_UNRESERVE);
}

bool dapl_ep_request(struct dapl_ep *ep)
{
	struct input in = {.in = DAPL_EP_IN_REQUEST};
	struct outcome out;

	feed(ep, &in, &out);
	return !refused(&out);
}

/*
 * One of the provider's own making is freed, unless it has been accepted with,
 * which has made it the consumer's. Not the one whose accept ran into a
 * disconnect, either: that had its event.
 */
void dapl_ep_request_over(struct dapl_ep *ep)
{
	struct input in = {.in = DAPL_EP_IN_REQUEST_OVER};
	struct outcome out;

	feed(ep, &in, &out);
	if (is_told_to(&out, DAPL_EP_DO_TAKE_BACK) &&
	    dapl_obj_retire(&ep->obj, true))
		dapl_obj_end(&ep->obj);
}

/* -------------------------------- disconnect, reset, free */

DAT_RETURN dapl_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	bool abrupt = flags == DAT_CLOSE_ABRUPT_FLAG;
	DAT_RETURN ret;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (!abrupt && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown flag %d",
				 (int)flags);
	/* There is nothing to end: its peers are forgotten one by one. */
	if (ep->qp.ud)
		return DAT_SUCCESS;
	ret = call(ep, abrupt ? DAPL_EP_IN_ABORT : DAPL_EP_IN_DISCONNECT,
		   "dat_ep_disconnect");
	if (ret == DAT_SUCCESS)
		dapl_count(dapl_counts_if_on(&ep->obj, &ep->qp.counts),
			   DCNT_EP_DISCONNECT);
	return ret;
}

static DAT_RETURN renewed(struct dapl_ep *ep, int ret)
{
	if (ret)
		return dapl_fail(dapl_err_dat(ret),
				 "ep %p: no new queue pair: %s", (void *)ep,
				 strerror(-ret));
	return DAT_SUCCESS;
}

/*
 * As it was when it was made: it knows nobody. To the table that is a change of
 * it, beside which nothing else goes on.
 */
static DAT_RETURN reset_ud(struct dapl_ep *ep)
{
	struct input in = {.in = DAPL_EP_IN_MODIFY};
	struct outcome out;
	int ret;

	feed(ep, &in, &out);
	if (refused(&out))
		return dapl_qp_bad_state(&ep->qp, out.seen, "dat_ep_reset");
	dapl_ep_ud_forget_all(ep, false);
	ret = dapl_qp_renew(&ep->qp);
	dapl_lock(&ep->lock);
	dapl_qp_set_state(&ep->qp, DAT_EP_STATE_UNCONNECTED);
	dapl_unlock(&ep->lock);
	dapl_ep_modified(ep);
	return renewed(ep, ret);
}

DAT_RETURN dapl_ep_reset(DAT_EP_HANDLE handle)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	struct input in = {.in = DAPL_EP_IN_RESET};
	struct outcome out;
	int ret;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (ep->qp.ud)
		return reset_ud(ep);
	feed(ep, &in, &out);
	if (refused(&out))
		return dapl_qp_bad_state(&ep->qp, out.seen, "dat_ep_reset");
	if (!is_told_to(&out, DAPL_EP_DO_RENEW_QP))
		return DAT_SUCCESS;
	ret = dapl_qp_renew(&ep->qp);
	happens(ep, ret ? DAPL_EP_IN_RENEW_FAILED : DAPL_EP_IN_RENEWED);
	return renewed(ep, ret);
}

DAT_RETURN dapl_ep_modify_begin(struct dapl_ep *ep, int *ret_seen)
{
	struct input in = {.in = DAPL_EP_IN_MODIFY};
	struct outcome out;

	feed(ep, &in, &out);
	if (refused(&out))
		return dapl_qp_bad_state(&ep->qp, out.seen, "dat_ep_modify");
	*ret_seen = out.seen;
	return DAT_SUCCESS;
}

void dapl_ep_modified(struct dapl_ep *ep)
{
	happens(ep, DAPL_EP_IN_MODIFIED);
}

DAT_RETURN dapl_ep_may_free(struct dapl_ep *ep)
{
	return call(ep, DAPL_EP_IN_FREE, "dat_ep_free");
}

void dapl_ep_close(struct dapl_ep *ep)
{
	if (ep->qp.ud)
		dapl_ep_ud_forget_all(ep, true);
	happens(ep, DAPL_EP_IN_CLOSE);
}

/* ---------------------------------- what completions tell */

/* A datagram endpoint has no connection that a failed request could end. */
static void qp_broken(struct dapl_obj *owner, uint64_t qp_id)
{
	if (!((struct dapl_ep *)owner)->qp.ud)
		broken((struct dapl_ep *)owner, qp_id);
}

static void qp_broken_later(struct dapl_obj *owner, uint64_t qp_id)
{
	struct dapl_ep *ep = (struct dapl_ep *)owner;

	if (ep->qp.ud)
		return;
	__atomic_store_n(&ep->broken_qp, qp_id, __ATOMIC_RELEASE);
	dapl_loop_defer(owner->ia->loop, &ep->broken_work);
}

/* On the service thread: the caller is in the data path. */
static void qp_drained(struct dapl_obj *owner, uint64_t qp_id)
{
	struct dapl_ep *ep = (struct dapl_ep *)owner;

	dapl_loop_defer(owner->ia->loop, &ep->drain_work);
}

const struct dapl_qp_ops dapl_ep_qp_ops = {
	.broken = qp_broken,
	.broken_later = qp_broken_later,
	.drained = qp_drained,
};
