/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm.c - the operations of dapl_cm.h for providers that bring their own
 * messages: what the objects ask, and what the engine answers.
 *
 * Knows no transport and decides nothing of the protocol. Threads and locks:
 * the head of dcm.h.
 *
 * End of life. The engine forgets a connection after its release, on the
 * service thread, and that frees it; see dapl_cm_base.h.
 */
#include "dapl/common/cm/dcm/dcm_alive.h"

#include <assert.h>
#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_count.h"
#include "dapl/common/services/dapl_probe.h"

/* How long stop() waits for peers: about four tries without a measurement. */
#define LEAVE_US 2000000

static struct dcm_cm_conn *conn_of(struct dapl_cm_conn *conn)
{
	return (struct dcm_cm_conn *)conn;
}

static struct dcm_cm_listener *listener_of(struct dapl_cm_listener *l)
{
	return (struct dcm_cm_listener *)l;
}

/* Where the engine keeps it in the end; that looks there when asked. */
static struct dcm_answer *answer_of(struct dcm_cm_conn *conn)
{
	return &conn->dcm.then.answer;
}

static void ask(struct dcm_cm_conn *conn, enum dcm_ask what)
{
	dapl_cm_ask(&conn->base.node, what);
}

/* -------------------------------------- what the service thread is asked */

static void run_connect(struct dcm_cm_conn *conn)
{
	struct dcm *dcm = dcm_of(conn);

	if (!dcm_engine_connect(&dcm->eng, &conn->dcm, conn->port,
				dapl_now_us())) {
		/* The transport of a stream knows its own. */
		if (!dcm->rules.stream)
			conn->local_port = conn->dcm.own.sport;
		return;
	}
	dapl_log(DAPL_LOG_ERR, "conn %p: no id is free, limit %zu",
		 (void *)conn, dcm->eng.conns_max);
	dapl_cm_conn_event(&conn->base, DAPL_CM_BROKEN, NULL, 0);
}

static void run_conn(struct dapl_cm_conn *base, unsigned asked)
{
	struct dcm_cm_conn *conn = conn_of(base);

	/* An attempt that was given up before it began leaves no trace. */
	if ((asked & DCM_ASK_CONNECT) && !(asked & DAPL_CM_ASK_RELEASE))
		run_connect(conn);
	if (asked & DCM_ASK_ACCEPT)
		dcm_engine_accept(&conn->dcm, answer_of(conn), dapl_now_us());
	if (asked & DCM_ASK_REJECT)
		dcm_engine_reject(&conn->dcm, answer_of(conn)->pdata,
				  answer_of(conn)->p_size, dapl_now_us());
	if (asked & DCM_ASK_DISCONNECT)
		dcm_input(conn, DCM_IN_DISCONNECT, NULL);
}

static void run_released(struct dapl_cm_conn *base)
{
	dcm_alive_leave(conn_of(base));
	dcm_input(conn_of(base), DCM_IN_RELEASE, NULL);
}

static void run_listener(struct dapl_cm_listener *base, unsigned asked)
{
	struct dcm_cm_listener *l = listener_of(base);
	struct dcm *dcm = dcm_of_listener(l);

	if (asked & DCM_ASK_LISTEN) {
		/* Whoever had the port before has been asked to leave it. */
		int ret = dcm_engine_listen(&dcm->eng, &l->dcm, l->dcm.port);

		assert(!ret);
		(void)ret;
	}
	if (asked & DAPL_CM_ASK_UNLISTEN)
		dcm_engine_unlisten(&dcm->eng, &l->dcm);
}

/* Whether stop() waits, or is about to. */
static bool is_leaving(struct dcm *dcm)
{
	bool leaving;

	dapl_lock(&dcm->base.lock);
	leaving = dcm->base.leaving && !dcm->base.stopped;
	dapl_unlock(&dcm->base.lock);
	return leaving;
}

static void ran(struct dapl_cm *base)
{
	struct dcm *dcm = dcm_from(base);

	if (!dcm->eng.leaving_n && is_leaving(dcm))
		sem_post(&dcm->left);
}

static void on_leave_over(struct dapl_timer *timer)
{
	sem_post(&dapl_container_of(timer, struct dcm, leave_over)->left);
}

static void on_timer(struct dapl_timer *timer)
{
	dcm_input(dapl_container_of(timer, struct dcm_cm_conn, timer),
		  DCM_IN_TIMER, NULL);
}

/* ------------------------------------- what the engine asks: its table */

static int engine_dial(struct dcm_conn *dc)
{
	return dcm_of_engine(dc->eng)->tp->dial(dc);
}

/* The first of each, and the repeats. */
static void count_sent(struct dcm *dcm, const struct dcm_msg *msg)
{
	static const struct {
		int first;
		int again;
	} ids[DCM_OP_N] = {
		[DCM_REQ] = {DCNT_IA_CM_REQ_TX, DCNT_IA_CM_ERR_REQ_RETRY},
		[DCM_REP] = {DCNT_IA_CM_REP_TX, DCNT_IA_CM_ERR_REP_RETRY},
		[DCM_REJ_USER] = {DCNT_IA_CM_USER_REJ_TX,
				  DCNT_IA_CM_USER_REJ_TX},
		[DCM_REJ_CM] = {DCNT_IA_CM_ERR_REJ_TX, DCNT_IA_CM_ERR_REJ_TX},
		[DCM_RTU] = {DCNT_IA_CM_RTU_TX, DCNT_IA_CM_ERR_RTU_RETRY},
		[DCM_DREQ] = {DCNT_IA_CM_DREQ_TX, DCNT_IA_CM_ERR_DREQ_RETRY},
		[DCM_DREP] = {DCNT_IA_CM_DREP_TX, DCNT_IA_CM_ERR_DREP_RETRY},
	};

	if (msg->op < DCM_OP_N && !dcm_msg_is_alive(msg))
		dapl_count(dcm->base.counts,
			   msg->rtns ? ids[msg->op].again : ids[msg->op].first);
}

/* The first of each that CONN waits for, and what is none of that. */
static void count_come(const struct dcm_cm_conn *conn, enum dcm_input in)
{
	static const struct {
		enum dcm_state in; /* in which it is new */
		int first;
		int again;
	} ids[DCM_IN_N] = {
		[DCM_IN_REQ] = {DCM_IDLE, DCNT_IA_CM_REQ_RX,
				DCNT_IA_CM_ERR_REQ_DUP},
		[DCM_IN_REP] = {DCM_REQ_SENT, DCNT_IA_CM_REP_RX,
				DCNT_IA_CM_ERR_REP_DUP},
		[DCM_IN_RTU] = {DCM_REP_SENT, DCNT_IA_CM_RTU_RX,
				DCNT_IA_CM_ERR_RTU_DUP},
		[DCM_IN_DREQ] = {DCM_UP, DCNT_IA_CM_DREQ_RX,
				 DCNT_IA_CM_ERR_DREQ_DUP},
		[DCM_IN_DREP] = {DCM_DREQ_SENT, DCNT_IA_CM_DREP_RX,
				 DCNT_IA_CM_ERR_DREP_DUP},
	};
	bool first = conn->dcm.proto.state == ids[in].in;

	if (ids[in].first)
		dapl_count(conn->base.node.cm->counts,
			   first ? ids[in].first : ids[in].again);
	else if (in == DCM_IN_REJ_CM)
		dapl_count(conn->base.node.cm->counts, DCNT_IA_CM_ERR_REJ_RX);
}

static void engine_send(struct dcm_engine *eng, struct dcm_conn *dc,
			const struct dcm_peer *to, const struct dcm_msg *msg,
			bool filler)
{
	dapl_log(DAPL_LOG_CM, "conn %p: %s, repeat %u",
		 dc ? (void *)dcm_conn_from(dc) : NULL, dcm_op_name(msg->op),
		 msg->rtns);
	DAPL_PROBE3(cm_send, dc, dcm_op_name(msg->op), msg->rtns);
	count_sent(dcm_of_engine(eng), msg);
	dcm_of_engine(eng)->tp->send(eng, dc, to, msg, filler);
}

static void engine_hangup(struct dcm_conn *dc)
{
	dcm_of_engine(dc->eng)->tp->hangup(dc);
}

static void engine_arm(struct dcm_conn *dc, uint64_t deadline_us)
{
	struct dcm_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = dcm_of(conn);
	int ret = 0;

	conn->timer.fn = on_timer;
	dapl_lock(&dcm->base.lock);
	if (!dcm->base.stopped)
		ret = dapl_timer_arm(dcm->base.loop, &conn->timer, deadline_us);
	dapl_unlock(&dcm->base.lock);
	if (ret)
		dapl_log(DAPL_LOG_ERR, "conn %p: no timer: %s", (void *)conn,
			 strerror(-ret));
}

static void engine_disarm(struct dcm_conn *dc)
{
	struct dcm_cm_conn *conn = dcm_conn_from(dc);

	dapl_timer_cancel(dcm_of(conn)->base.loop, &conn->timer);
}

static void on_moved(struct dapl_cm_conn *base, int ret)
{
	struct dcm_cm_conn *conn = conn_of(base);
	enum dcm_input in = DCM_IN_QP_READY;

	if (ret == -ENOTCONN)
		return; /* the release follows */
	if (ret) {
		dcm_path_refused(&conn->ends, ret);
		in = ret == -ETIMEDOUT ? DCM_IN_QP_SILENT : DCM_IN_QP_FAILED;
	}
	dcm_input(conn, in, NULL);
}

/* What the passive side has settled when it accepted. */
static void agree(struct dcm_cm_conn *conn)
{
	struct dcm_conn *dc = &conn->dcm;
	struct dcm *dcm = dcm_of(conn);
	struct dcm_path_ends *ends = &conn->ends;

	if (dcm->rules.stream)
		dcm_path_offered(&dcm->path, ends->own.qpn, dc->remote.ib.gid,
				 ends);
	ends->peer = dc->remote.ib;
	ends->mtu = dcm_path_mtu(&dcm->path, dc->remote.mtu);
	dc->own.mtu = ends->mtu;
	dcm_path_agree(&conn->base.depths, dc->remote.version,
		       dc->remote.responder_resources);
}

/* Between datagram endpoints, in place of moving a queue pair. */
static int find_peer(struct dcm_cm_conn *conn)
{
	const struct dcm_path *path = &dcm_of(conn)->path;
	const char *wrong = dcm_path_wrong(path, &conn->ends.peer);
	struct ibv_ah_attr av;

	if (wrong)
		return dcm_path_is_wrong(&conn->ends, wrong);
	dcm_path_av(path, conn->ends.own_index, &conn->ends.peer, &av);
	return dapl_cm_conn_ah(&conn->base, &av, conn->ends.peer.qpn, on_moved);
}

static int engine_qp_connect(struct dcm_conn *dc)
{
	struct dcm_cm_conn *conn = dcm_conn_from(dc);
	struct vb_qp_step steps[DAPL_CM_WAY_STEPS];
	int ret;

	if (!conn->base.passive)
		agree(conn);
	if (dc->proto.datagram)
		return find_peer(conn);
	ret = dcm_path_steps(&dcm_of(conn)->path, &conn->ends,
			     &conn->base.depths, steps);
	if (ret)
		return ret;
	return dapl_cm_conn_move(&conn->base, steps, DAPL_CM_WAY_STEPS,
				 on_moved);
}

static void engine_qp_error(struct dcm_conn *dc)
{
	dapl_cm_conn_error(&dcm_conn_from(dc)->base);
}

static void engine_own_gid(struct dcm_engine *eng, const struct dcm_peer *to,
			   uint8_t ret_gid[16])
{
	struct dcm_path_ends ends;

	dcm_path_own(&dcm_of_engine(eng)->path, 0, to->gid, &ends);
	memcpy(ret_gid, ends.own.gid, sizeof(ends.own.gid));
}

static struct dcm_conn *engine_conn_new(struct dcm_engine *eng)
{
	struct dcm_cm_conn *conn = dcm_conn_new(dcm_of_engine(eng));

	return conn ? &conn->dcm : NULL;
}

static void engine_request(struct dcm_listener *dl, struct dcm_conn *dc,
			   const struct dcm_msg *msg)
{
	struct dcm_cm_listener *l =
		dapl_container_of(dl, struct dcm_cm_listener, dcm);
	struct dcm_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = dcm_of(conn);
	struct dapl_cm_request req = {
		.peer_addr = (struct sockaddr *)&conn->peer_addr,
		.pdata = msg->p_size ? msg->pdata : NULL,
		.pdata_size = msg->p_size,
		.ud = dc->proto.datagram,
	};

	dapl_count(dcm->base.counts, DCNT_IA_CM_REQ_RX);
	if (dcm->tp->peer)
		dcm->tp->peer(conn, msg);
	req.peer_port = conn->peer_port;
	dapl_cm_conn_request(&l->base, &conn->base, &req);
}

static void engine_request_gone(struct dcm_conn *dc)
{
	struct dcm_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = dcm_of(conn);

	dapl_lock(&dcm->base.lock);
	conn->gone = true;
	dapl_unlock(&dcm->base.lock);
}

static void engine_event(struct dcm_conn *dc, enum dapl_cm_event event,
			 const void *pdata, size_t size)
{
	struct dcm_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = dcm_of(conn);

	if (event == DAPL_CM_ESTABLISHED) {
		dapl_lock(&dcm->base.lock);
		conn->up = true;
		dapl_unlock(&dcm->base.lock);
	}
	if (event != DAPL_CM_ESTABLISHED)
		dcm_alive_leave(conn);
	else if (!dc->proto.datagram)
		dcm_alive_join(conn);
	dapl_cm_conn_event(&conn->base, event, pdata, size);
}

static void engine_room(struct dcm_engine *eng, struct dcm_listener *dl)
{
	struct dcm *dcm = dcm_of_engine(eng);
	bool stopped;

	dapl_lock(&dcm->base.lock);
	stopped = dcm->base.stopped;
	dapl_unlock(&dcm->base.lock);
	if (!stopped && dcm->tp->room)
		dcm->tp->room(dcm, dl ? dapl_container_of(
						dl, struct dcm_cm_listener, dcm)
				      : NULL);
}

static void engine_freed(struct dcm_conn *dc)
{
	dapl_cm_conn_del(&dcm_conn_from(dc)->base);
}

/* By way of ran(): others may have been asked for meanwhile. */
static void engine_left(struct dcm_engine *eng)
{
	struct dcm *dcm = dcm_of_engine(eng);

	if (is_leaving(dcm))
		dapl_loop_defer(dcm->base.loop, &dcm->base.work);
}

static void engine_comes(struct dcm_conn *dc, enum dcm_input in,
			 const struct dcm_msg *msg)
{
	struct dcm_cm_conn *conn = dcm_conn_from(dc);
	bool answer;

	dapl_log(DAPL_LOG_CM, "conn %p, %s: %s", (const void *)conn,
		 dcm_state_name(dc->proto.state), dcm_input_name(in));
	DAPL_PROBE3(cm_input, dc, dcm_state_name(dc->proto.state),
		    dcm_input_name(in));
	if (!msg || in < DCM_IN_REQ) {
		count_come(conn, in);
		return;
	}
	/* What a question is answered with repeats what was said before. */
	answer = dcm_msg_is_alive(msg) ||
		 (in == DCM_IN_RTU && dcm_alive_asked(conn));
	dcm_alive_heard(conn, msg);
	if (!answer)
		count_come(conn, in);
}

static const struct dcm_engine_ops engine_ops = {
	.dial = engine_dial,
	.send = engine_send,
	.hangup = engine_hangup,
	.arm = engine_arm,
	.disarm = engine_disarm,
	.qp_connect = engine_qp_connect,
	.qp_error = engine_qp_error,
	.own_gid = engine_own_gid,
	.conn_new = engine_conn_new,
	.request = engine_request,
	.request_gone = engine_request_gone,
	.event = engine_event,
	.room = engine_room,
	.freed = engine_freed,
	.left = engine_left,
	.comes = engine_comes,
};

/* -------------------------------------------------- for the transports */

struct dcm_cm_conn *dcm_conn_new(struct dcm *dcm)
{
	struct dapl_cm_conn *conn;

	if (dapl_cm_conn_new(&dcm->base, NULL, &conn))
		return NULL;
	return conn_of(conn);
}

bool dcm_room(struct dcm_cm_listener *l)
{
	struct dcm *dcm = dcm_of_listener(l);
	bool room = dcm_engine_room(&dcm->eng, &l->dcm);

	if (!room)
		dapl_count(dcm->base.counts, DCNT_IA_CM_ERR_REQ_FULLQ);
	return room;
}

void dcm_datagram(struct dcm *dcm, const uint8_t *buf, size_t len,
		  const struct dcm_source *src)
{
	const struct dcm_engine_stats before = dcm->eng.stats;
	const struct dcm_engine_stats *now = &dcm->eng.stats;

	dcm_engine_datagram(&dcm->eng, buf, len, src, dapl_now_us());
	dapl_count_add(dcm->base.counts, DCNT_IA_CM_ERR_REQ_FULLQ,
		       now->held - before.held);
	dapl_count_add(dcm->base.counts, DCNT_IA_CM_ERR_UNEXPECTED,
		       now->unmatched - before.unmatched + now->malformed -
			       before.malformed);
}

int dcm_request(struct dcm_cm_listener *l, struct dcm_cm_conn *conn,
		const struct dcm_msg *msg)
{
	struct dcm *dcm = dcm_of_listener(l);
	bool closing;

	dapl_lock(&dcm->base.lock);
	closing = l->base.closing || dcm->base.stopped;
	dapl_unlock(&dcm->base.lock);
	if (closing)
		return -ECANCELED;
	return dcm_engine_stream_request(&dcm->eng, &l->dcm, &conn->dcm, msg,
					 dapl_now_us());
}

void dcm_input(struct dcm_cm_conn *conn, enum dcm_input in,
	       const struct dcm_msg *msg)
{
	dcm_engine_input(&conn->dcm, in, msg, dapl_now_us());
}

/* ----------------------------------------------------------- instance */

static int start(struct dapl_cm *base)
{
	struct dcm *dcm = dcm_from(base);
	int ret = dcm->tp->place ? dcm->tp->place(dcm) : 0;

	if (!ret)
		ret = dcm_path_init(&dcm->path, base, &dcm->wish);
	return ret || !dcm->tp->start ? ret : dcm->tp->start(dcm);
}

void dcm_device_event(struct dapl_cm *base, const struct ibv_async_event *event)
{
	if (event->event_type == IBV_EVENT_GID_CHANGE)
		dcm_path_renew(&dcm_from(base)->path);
}

/*
 * Peers that are connected have to be told, and after this nobody is there to
 * tell them again: waits until all have answered, or too long.
 */
static void leave(struct dapl_cm *base)
{
	struct dcm *dcm = dcm_from(base);
	struct dapl_loop *loop = base->loop;
	bool stopped;
	int state;

	if (dcm->rules.stream || dapl_loop_here(loop))
		return;
	dapl_lock(&dcm->base.lock);
	stopped = dcm->base.stopped;
	dcm->base.leaving = true;
	dapl_unlock(&dcm->base.lock);
	/* Where nobody runs the timer nobody else would end the wait. */
	if (stopped ||
	    dapl_timer_arm(loop, &dcm->leave_over, dapl_now_us() + LEAVE_US))
		return;
	dapl_loop_defer(loop, &dcm->base.work);
	state = dapl_cancel_off();
	while (sem_wait(&dcm->left) && errno == EINTR)
		;
	dapl_cancel_restore(state);
	dapl_timer_cancel(loop, &dcm->leave_over);
}

static void quiesce(struct dapl_cm *base)
{
	struct dcm *dcm = dcm_from(base);
	struct dapl_cm_node *node;

	dapl_list_for_each(node, &base->nodes, link)
		if (!node->is_listener)
			dapl_timer_cancel(base->loop,
					  &((struct dcm_cm_conn *)node)->timer);
	dcm_alive_stop(dcm);
	dcm->tp->stop(dcm);
}

static void conn_init(struct dapl_cm_conn *conn)
{
	dcm_conn_init(&conn_of(conn)->dcm, &dcm_from(conn->node.cm)->eng);
}

/* An attempt that was given up before it began has been dialed, too. */
static void conn_fini(struct dapl_cm_conn *conn)
{
	const struct dcm_transport *tp = dcm_from(conn->node.cm)->tp;

	if (tp->hangup)
		tp->hangup(&conn_of(conn)->dcm);
}

static void abandon(struct dapl_cm_conn *base)
{
	struct dcm_cm_conn *conn = conn_of(base);

	dcm_alive_leave(conn);
	/* A request that came just now: the peer is told, once. */
	if (!conn->dcm.proto.released)
		dcm_input(conn, DCM_IN_RELEASE, NULL);
	conn_fini(base);
}

/* -------------------------------------------------- entries: listening */

static int take_port(struct dcm *dcm, struct dcm_cm_listener *l, uint32_t port)
{
	bool taken;

	dapl_lock(&dcm->base.lock);
	taken = dcm_map_find(&dcm->ports, port);
	if (!taken) {
		l->dcm.port = port;
		dcm_map_add(&dcm->ports, &l->taken, port);
		dapl_cm_ask_locked(&l->base.node, DCM_ASK_LISTEN);
	}
	dapl_unlock(&dcm->base.lock);
	if (taken)
		return dapl_fail_errno(-EADDRINUSE, "sp %p: port %u is taken",
				       (void *)l->base.sp, port);
	return 0;
}

static int start_listening(struct dapl_cm_listener *base, DAT_CONN_QUAL qual)
{
	struct dcm_cm_listener *l = listener_of(base);
	struct dcm *dcm = dcm_of_listener(l);
	uint32_t port = 0;
	int ret;

	/* Without a port this only prepares L: requests may come at once. */
	(void)dcm_engine_listen(&dcm->eng, &l->dcm, 0);
	ret = dcm->tp->listen(dcm, l, qual, &port);
	if (!ret && port)
		ret = take_port(dcm, l, port);
	if (!ret)
		dapl_log(DAPL_LOG_CM, "sp %p: listens on qualifier %llu",
			 (void *)base->sp, (unsigned long long)qual);
	return ret;
}

static void stop_listening(struct dapl_cm_listener *base)
{
	struct dcm_cm_listener *l = listener_of(base);
	struct dcm *dcm = dcm_of_listener(l);

	if (dcm->tp->unlisten)
		dcm->tp->unlisten(l);
	/*
	 * In one go: the port is free for whoever sees it so, and what he asks
	 * for comes behind this in the list.
	 */
	dapl_lock(&dcm->base.lock);
	dcm_map_del(&dcm->ports, &l->taken);
	dapl_cm_ask_locked(&base->node, DAPL_CM_ASK_UNLISTEN);
	dapl_unlock(&dcm->base.lock);
}

static const struct dapl_cm_hooks hooks = {
	.start = start,
	.leave = leave,
	.quiesce = quiesce,
	.ran = ran,
	.conn_init = conn_init,
	.conn_fini = conn_fini,
	.conn_run = run_conn,
	.conn_released = run_released,
	.conn_abandon = abandon,
	.listen = start_listening,
	.unlisten = stop_listening,
	.listener_run = run_listener,
};

void dcm_init(struct dcm *dcm, const struct dapl_cm *base,
	      const struct dcm_transport *tp, const struct dcm_rules *rules,
	      const struct dcm_path_wish *wish)
{
	dapl_cm_init(&dcm->base, base, &hooks, &tp->sizes);
	dcm->tp = tp;
	dcm->rules = *rules;
	dcm->wish = *wish;
	dcm_alive_init(dcm);
	dcm_engine_init(&dcm->eng, &engine_ops, &dcm->rules, dapl_cm_seed());
	dapl_timer_init(&dcm->leave_over, on_leave_over);
	sem_init(&dcm->left, 0, 0);
}

void dcm_fini(struct dcm *dcm)
{
	dapl_cm_fini(&dcm->base);
	dcm_engine_fini(&dcm->eng);
	dcm_map_fini(&dcm->ports);
	dcm_path_fini(&dcm->path);
	sem_destroy(&dcm->left);
}

/* ------------------------------------------------ entries: connections */

int dcm_connect(struct dapl_cm_conn *base, const struct dapl_cm_connect *req)
{
	struct dcm_cm_conn *conn = conn_of(base);
	struct dcm *dcm = dcm_of(conn);
	struct dcm_msg *own = &conn->dcm.own;
	int ret;

	ret = dapl_cm_check(base, req->pdata_size);
	if (!ret)
		ret = dcm->tp->target(dcm, conn, req->addr, req->qual);
	if (ret)
		return ret;
	conn->base.depths = dapl_cm_depths_own(dcm->base.dev, &req->qp);
	/*
	 * Old peers of datagrams never were on RoCE; and the address says which
	 * of its GIDs the peer uses.
	 */
	if (dcm->rules.stream)
		dcm_path_offer(&dcm->path, req->qp.qp_num, &conn->ends,
			       &own->saddr_alt);
	else
		dcm_path_own(&dcm->path, req->qp.qp_num, conn->dcm.peer.gid,
			     &conn->ends);
	if (req->qp.ud)
		conn->ends.own.qp_type = DCM_QP_UD;
	conn->dcm.proto.datagram = req->qp.ud;
	dcm_block_set_ib(&own->saddr, &conn->ends.own);
	own->responder_resources = conn->base.depths.responder_resources;
	own->mtu = dcm->path.mtu;
	own->p_size = (uint16_t)req->pdata_size;
	if (req->pdata_size)
		memcpy(own->pdata, req->pdata, req->pdata_size);
	ask(conn, DCM_ASK_CONNECT);
	return 0;
}

/* Only one answer, and none to a peer that has gone. */
static int answer_begin(struct dcm_cm_conn *conn)
{
	int ret = 0;

	dapl_lock(&dcm_of(conn)->base.lock);
	if (!conn->base.passive || conn->answered)
		ret = -EINVAL;
	else if (conn->gone)
		ret = -ECONNABORTED;
	else
		conn->answered = true;
	dapl_unlock(&dcm_of(conn)->base.lock);
	return ret;
}

static int answer_undo(struct dcm_cm_conn *conn, int ret)
{
	dapl_lock(&dcm_of(conn)->base.lock);
	conn->answered = false;
	if (conn->gone)
		ret = -ECONNABORTED;
	dapl_unlock(&dcm_of(conn)->base.lock);
	return ret;
}

static void set_answer(struct dcm_cm_conn *conn, const void *pdata, size_t size)
{
	answer_of(conn)->p_size = (uint16_t)size;
	if (size)
		memcpy(answer_of(conn)->pdata, pdata, size);
}

/* The request's end is constant since it was reported. */
static int answer_yes(struct dcm_cm_conn *conn, const struct dapl_cm_qp *qp)
{
	struct dcm_path *path = &dcm_of(conn)->path;
	struct dcm_path_ends *ends = &conn->ends;
	struct dcm_answer *answer = answer_of(conn);
	struct vb_qp_step steps[DAPL_CM_WAY_STEPS];

	dcm_path_meet(path, qp->qp_num, &conn->dcm.remote.ib,
		      &conn->dcm.remote.alt, ends);
	ends->mtu = dcm_path_mtu(path, conn->dcm.remote.mtu);
	conn->base.depths = dapl_cm_depths_own(path->dev, qp);
	if (qp->ud)
		ends->own.qp_type = DCM_QP_UD;
	answer->ib = ends->own;
	answer->responder_resources = conn->base.depths.responder_resources;
	answer->mtu = ends->mtu;
	dcm_path_agree(&conn->base.depths, conn->dcm.remote.version,
		       conn->dcm.remote.responder_resources);
	/* What can be told at once. */
	return dcm_path_steps(path, ends, &conn->base.depths, steps);
}

int dcm_accept(struct dapl_cm_conn *base, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size)
{
	struct dcm_cm_conn *conn = conn_of(base);
	int ret;

	ret = dapl_cm_check(base, size);
	if (ret)
		return ret;
	ret = answer_begin(conn);
	if (!ret) {
		ret = answer_yes(conn, qp);
		if (ret)
			ret = answer_undo(conn, ret);
	}
	if (ret)
		return dapl_cm_not_accepted(base, ret);
	set_answer(conn, pdata, size);
	dapl_lock(&base->node.cm->lock);
	base->ep = ep;
	dapl_cm_ask_locked(&base->node, DCM_ASK_ACCEPT);
	dapl_unlock(&base->node.cm->lock);
	return 0;
}

int dcm_reject(struct dapl_cm_conn *base, const void *pdata, size_t size)
{
	struct dcm_cm_conn *conn = conn_of(base);
	int ret;

	ret = dapl_cm_check(base, size);
	if (ret)
		return ret;
	ret = answer_begin(conn);
	if (ret == -ECONNABORTED)
		return 0; /* as good as refused */
	if (ret)
		return dapl_cm_not_asking(base, ret);
	set_answer(conn, pdata, size);
	ask(conn, DCM_ASK_REJECT);
	return 0;
}

static bool is_up(const struct dcm_cm_conn *conn)
{
	struct dcm *dcm = dcm_of(conn);
	bool up;

	dapl_lock(&dcm->base.lock);
	up = conn->up;
	dapl_unlock(&dcm->base.lock);
	return up;
}

int dcm_disconnect(struct dapl_cm_conn *base)
{
	if (!is_up(conn_of(base)))
		return dapl_cm_not_connected(base);
	ask(conn_of(base), DCM_ASK_DISCONNECT);
	return 0;
}

int dcm_addrs(const struct dapl_cm_conn *base,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port)
{
	const struct dcm_cm_conn *conn = (const struct dcm_cm_conn *)base;

	if (!is_up(conn))
		return -ENOTCONN;
	*ret_peer = conn->peer_addr;
	*ret_peer_port = conn->peer_port;
	*ret_local_port = conn->local_port;
	return 0;
}
