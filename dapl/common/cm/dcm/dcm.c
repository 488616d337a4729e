/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm.c - the operations of dapl_cm.h for providers that bring their own
 * messages: what the objects ask, and what the engine answers.
 *
 * Knows no transport and decides nothing of the protocol. Threads and locks:
 * the head of dcm.h.
 *
 * End of life. The engine forgets a connection after its release, on the
 * service thread, and that frees it. From stop() on nothing is freed until
 * dcm_fini(), since the objects may release later; and the list of nodes does
 * not change any more, so stop() can walk it.
 */
#include "dapl/common/cm/dcm/dcm.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* How long stop() waits for peers: about four tries without a measurement. */
#define LEAVE_US 2000000

static struct dapl_cm_conn *conn_of(struct dcm_node *node)
{
	return dapl_container_of(node, struct dapl_cm_conn, node);
}

static struct dapl_cm_listener *listener_of(struct dcm_node *node)
{
	return dapl_container_of(node, struct dapl_cm_listener, node);
}

/* ----------------------------------------------------------- nodes */

static int node_add(struct dcm *dcm, struct dcm_node *node, bool is_listener)
{
	bool stopped;

	node->dcm = dcm;
	node->is_listener = is_listener;
	dapl_list_init(&node->link);
	dapl_list_init(&node->todo);
	dapl_lock(&dcm->lock);
	stopped = dcm->stopped || dcm->leaving;
	if (!stopped)
		dapl_list_add_tail(&dcm->nodes, &node->link);
	dapl_unlock(&dcm->lock);
	return stopped ? -ECANCELED : 0;
}

/* False after stop(): then the node stays where it is, and alive. */
static bool node_del(struct dcm_node *node)
{
	struct dcm *dcm = node->dcm;
	bool stopped;

	dapl_lock(&dcm->lock);
	stopped = dcm->stopped;
	if (!stopped) {
		dapl_list_del(&node->link);
		dapl_list_del(&node->todo);
	}
	dapl_unlock(&dcm->lock);
	return !stopped;
}

static void ask_locked(struct dcm_node *node, enum dcm_ask what)
{
	struct dcm *dcm = node->dcm;

	dapl_lock_assert_held(&node->dcm->lock);
	if (dcm->stopped)
		return;
	node->asked |= what;
	if (dapl_list_empty(&node->todo))
		dapl_list_add_tail(&dcm->todo, &node->todo);
	dapl_loop_defer(dcm->base.loop, &dcm->work);
}

static void ask(struct dcm_node *node, enum dcm_ask what)
{
	dapl_lock(&node->dcm->lock);
	ask_locked(node, what);
	dapl_unlock(&node->dcm->lock);
}

static void conn_free(struct dapl_cm_conn *conn)
{
	free(conn);
}

static struct dapl_cm_conn *conn_alloc(struct dcm *dcm)
{
	struct dapl_cm_conn *conn = calloc(1, dcm->tp->conn_size);

	if (conn)
		dcm_conn_init(&conn->dcm, &dcm->eng);
	return conn;
}

/* -------------------------------------- what the service thread is asked */

static void run_connect(struct dapl_cm_conn *conn)
{
	struct dcm *dcm = conn->node.dcm;

	if (!dcm_engine_connect(&dcm->eng, &conn->dcm, conn->port,
				dapl_now_us())) {
		/* The transport of a stream knows its own. */
		if (!dcm->rules.stream)
			conn->local_port = conn->dcm.own.sport;
		return;
	}
	dapl_log(DAPL_LOG_ERR, "conn %p: no id is free, limit %zu",
		 (void *)conn, dcm->eng.conns_max);
	dcm->base.up->event(conn->ep, conn, DAPL_CM_BROKEN, NULL, 0);
}

static void run_release(struct dapl_cm_conn *conn)
{
	const struct dapl_cm_up *up = conn->node.dcm->base.up;
	struct dapl_ep *ep = conn->ep;

	conn->ep = NULL;
	dcm_engine_input(&conn->dcm, DCM_IN_RELEASE, NULL, dapl_now_us());
	/* CONN may be gone. */
	if (ep)
		up->gone(ep);
}

static void run_conn(struct dapl_cm_conn *conn, unsigned asked)
{
	/* An attempt that was given up before it began leaves no trace. */
	if ((asked & DCM_ASK_CONNECT) && !(asked & DCM_ASK_RELEASE))
		run_connect(conn);
	if (asked & DCM_ASK_ACCEPT)
		dcm_engine_accept(&conn->dcm, &conn->answer, dapl_now_us());
	if (asked & DCM_ASK_REJECT)
		dcm_engine_reject(&conn->dcm, conn->answer.pdata,
				  conn->answer.p_size, dapl_now_us());
	if (asked & DCM_ASK_DISCONNECT)
		dcm_engine_input(&conn->dcm, DCM_IN_DISCONNECT, NULL,
				 dapl_now_us());
	if (asked & DCM_ASK_RELEASE)
		run_release(conn);
}

static void run_listener(struct dapl_cm_listener *l, unsigned asked)
{
	struct dcm *dcm = l->node.dcm;
	const struct dapl_cm_up *up = dcm->base.up;
	struct dapl_sp *sp = l->sp;

	if (asked & DCM_ASK_LISTEN) {
		/* Whoever had the port before has been asked to leave it. */
		int ret = dcm_engine_listen(&dcm->eng, &l->dcm, l->dcm.port);

		assert(!ret);
		(void)ret;
	}
	if (!(asked & DCM_ASK_UNLISTEN))
		return;
	dcm_engine_unlisten(&dcm->eng, &l->dcm);
	if (!node_del(&l->node))
		return; /* stop() will say it */
	free(l);
	up->unlistened(sp);
}

static struct dcm_node *next_todo(struct dcm *dcm, unsigned *ret_asked)
{
	struct dcm_node *node = NULL;

	dapl_lock(&dcm->lock);
	if (!dcm->stopped && !dapl_list_empty(&dcm->todo)) {
		node = dapl_list_first(&dcm->todo, struct dcm_node, todo);
		dapl_list_del(&node->todo);
		*ret_asked = node->asked;
		node->asked = 0;
	}
	dapl_unlock(&dcm->lock);
	return node;
}

void dcm_run(struct dcm *dcm)
{
	struct dcm_node *node;
	unsigned asked;

	while ((node = next_todo(dcm, &asked))) {
		if (node->is_listener)
			run_listener(listener_of(node), asked);
		else
			run_conn(conn_of(node), asked);
	}
}

/* Whether stop() waits, or is about to. */
static bool is_leaving(struct dcm *dcm)
{
	bool leaving;

	dapl_lock(&dcm->lock);
	leaving = dcm->leaving && !dcm->stopped;
	dapl_unlock(&dcm->lock);
	return leaving;
}

static void on_work(struct dapl_work *work)
{
	struct dcm *dcm = dapl_container_of(work, struct dcm, work);

	dcm_run(dcm);
	if (!dcm->eng.leaving_n && is_leaving(dcm))
		sem_post(&dcm->left);
}

static void on_leave_over(struct dapl_timer *timer)
{
	sem_post(&dapl_container_of(timer, struct dcm, leave_over)->left);
}

static void on_timer(struct dapl_timer *timer)
{
	struct dapl_cm_conn *conn =
		dapl_container_of(timer, struct dapl_cm_conn, timer);

	dcm_engine_input(&conn->dcm, DCM_IN_TIMER, NULL, dapl_now_us());
}

/* ------------------------------------- what the engine asks: its table */

static int engine_dial(struct dcm_conn *dc)
{
	return dcm_of_engine(dc->eng)->tp->dial(dc);
}

static void engine_send(struct dcm_engine *eng, struct dcm_conn *dc,
			const struct dcm_peer *to, const struct dcm_msg *msg,
			bool filler)
{
	dapl_log(DAPL_LOG_CM, "conn %p: %s, repeat %u", (void *)dc,
		 dcm_op_name(msg->op), msg->rtns);
	dcm_of_engine(eng)->tp->send(eng, dc, to, msg, filler);
}

static void engine_hangup(struct dcm_conn *dc)
{
	dcm_of_engine(dc->eng)->tp->hangup(dc);
}

static void engine_arm(struct dcm_conn *dc, uint64_t deadline_us)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = conn->node.dcm;
	int ret = 0;

	conn->timer.fn = on_timer;
	dapl_lock(&dcm->lock);
	if (!dcm->stopped)
		ret = dapl_timer_arm(dcm->base.loop, &conn->timer, deadline_us);
	dapl_unlock(&dcm->lock);
	if (ret)
		dapl_log(DAPL_LOG_ERR, "conn %p: no timer: %s", (void *)conn,
			 strerror(-ret));
}

static void engine_disarm(struct dcm_conn *dc)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);

	dapl_timer_cancel(conn->node.dcm->base.loop, &conn->timer);
}

static void on_moved(struct dapl_cm_conn *conn, int ret)
{
	enum dcm_input in = DCM_IN_QP_READY;

	if (ret == -ENOTCONN)
		return; /* the release follows */
	if (ret) {
		dcm_path_refused(&conn->ends, ret);
		in = ret == -ETIMEDOUT ? DCM_IN_QP_SILENT : DCM_IN_QP_FAILED;
	}
	dcm_engine_input(&conn->dcm, in, NULL, dapl_now_us());
}

/* What the passive side has settled when it accepted. */
static void agree(struct dapl_cm_conn *conn)
{
	struct dcm_conn *dc = &conn->dcm;
	struct dcm *dcm = conn->node.dcm;
	struct dcm_path_ends *ends = &conn->ends;

	if (dcm->rules.stream)
		dcm_path_offered(&dcm->path, ends->own.qpn, dc->remote.ib.gid,
				 ends);
	ends->peer = dc->remote.ib;
	ends->mtu = dcm_path_mtu(&dcm->path, dc->remote.mtu);
	dc->own.mtu = ends->mtu;
	dcm_path_agree(&conn->depths, dc->remote.version, dc->remote.rd_in);
}

static int engine_qp_connect(struct dcm_conn *dc)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);
	struct dapl_cm_step steps[DCM_PATH_STEPS];
	int ret;

	if (!conn->passive)
		agree(conn);
	ret = dcm_path_steps(&conn->node.dcm->path, &conn->ends, &conn->depths,
			     steps);
	if (ret)
		return ret;
	return conn->node.dcm->base.up->qp_move(conn->ep, conn, steps,
						DCM_PATH_STEPS, on_moved);
}

static void engine_qp_error(struct dcm_conn *dc)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);

	if (conn->ep)
		conn->node.dcm->base.up->qp_error(conn->ep, conn);
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
	struct dapl_cm_conn *conn = dcm_conn_new(dcm_of_engine(eng));

	return conn ? &conn->dcm : NULL;
}

static void engine_request(struct dcm_listener *dl, struct dcm_conn *dc,
			   const struct dcm_msg *msg)
{
	struct dapl_cm_listener *l = (struct dapl_cm_listener *)dl;
	struct dapl_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = conn->node.dcm;
	struct dapl_cm_request req = {
		.pdata = msg->p_size ? msg->pdata : NULL,
		.pdata_size = msg->p_size,
	};
	bool closing;

	dcm->tp->peer(conn, msg);
	dapl_lock(&dcm->lock);
	closing = l->closing;
	if (closing)
		ask_locked(&conn->node, DCM_ASK_RELEASE);
	dapl_unlock(&dcm->lock);
	if (closing)
		return;
	req.peer_addr = (struct sockaddr *)&conn->peer_addr;
	req.peer_port = conn->peer_port;
	dapl_log(DAPL_LOG_CM, "sp %p: request, conn %p, %u bytes",
		 (void *)l->sp, (void *)conn, msg->p_size);
	dcm->base.up->request(l->sp, conn, &req);
}

static void engine_request_gone(struct dcm_conn *dc)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = conn->node.dcm;

	dapl_lock(&dcm->lock);
	conn->gone = true;
	dapl_unlock(&dcm->lock);
}

static void engine_event(struct dcm_conn *dc, enum dapl_cm_event event,
			 const void *pdata, size_t size)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);
	struct dcm *dcm = conn->node.dcm;

	if (event == DAPL_CM_ESTABLISHED) {
		dapl_lock(&dcm->lock);
		conn->up = true;
		dapl_unlock(&dcm->lock);
	}
	dapl_log(DAPL_LOG_CM, "conn %p: ep %p: event %d", (void *)conn,
		 (void *)conn->ep, event);
	dcm->base.up->event(conn->ep, conn, event, pdata, size);
}

static void engine_room(struct dcm_engine *eng, struct dcm_listener *dl)
{
	struct dcm *dcm = dcm_of_engine(eng);
	bool stopped;

	dapl_lock(&dcm->lock);
	stopped = dcm->stopped;
	dapl_unlock(&dcm->lock);
	if (!stopped && dcm->tp->room)
		dcm->tp->room(dcm, (struct dapl_cm_listener *)dl);
}

static void engine_freed(struct dcm_conn *dc)
{
	struct dapl_cm_conn *conn = dcm_conn_from(dc);

	/* An attempt that was given up before it began has been dialed. */
	if (conn->node.dcm->tp->hangup)
		conn->node.dcm->tp->hangup(dc);
	if (node_del(&conn->node))
		conn_free(conn);
}

/* By way of on_work(): others may have been asked for meanwhile. */
static void engine_left(struct dcm_engine *eng)
{
	struct dcm *dcm = dcm_of_engine(eng);

	if (is_leaving(dcm))
		dapl_loop_defer(dcm->base.loop, &dcm->work);
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
};

/* -------------------------------------------------- for the transports */

struct dapl_cm_conn *dcm_conn_new(struct dcm *dcm)
{
	struct dapl_cm_conn *conn = conn_alloc(dcm);

	if (!conn)
		return NULL;
	conn->passive = true;
	if (node_add(dcm, &conn->node, false)) {
		conn_free(conn);
		return NULL;
	}
	return conn;
}

void dcm_conn_discard(struct dapl_cm_conn *conn)
{
	if (node_del(&conn->node))
		conn_free(conn);
}

bool dcm_room(struct dapl_cm_listener *l)
{
	return dcm_engine_room(&l->node.dcm->eng, &l->dcm);
}

int dcm_request(struct dapl_cm_listener *l, struct dapl_cm_conn *conn,
		const struct dcm_msg *msg)
{
	struct dcm *dcm = l->node.dcm;
	bool closing;

	dapl_lock(&dcm->lock);
	closing = l->closing || dcm->stopped;
	dapl_unlock(&dcm->lock);
	if (closing)
		return -ECANCELED;
	return dcm_engine_stream_request(&dcm->eng, &l->dcm, &conn->dcm, msg,
					 dapl_now_us());
}

void dcm_input(struct dapl_cm_conn *conn, enum dcm_input in,
	       const struct dcm_msg *msg)
{
	dcm_engine_input(&conn->dcm, in, msg, dapl_now_us());
}

/* ----------------------------------------------------------- instance */

/* Not that of another life: not even of one after the last boot. */
static uint32_t seed(void)
{
	uint32_t n;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
		n = (uint32_t)dapl_now_us() ^ (uint32_t)getpid() << 16;
	return n;
}

void dcm_init(struct dcm *dcm, const struct dapl_cm *base,
	      const struct dcm_transport *tp, const struct dcm_rules *rules,
	      const struct dcm_path_wish *wish)
{
	dcm->base = *base;
	dcm->tp = tp;
	dcm->rules = *rules;
	dcm->wish = *wish;
	dcm_engine_init(&dcm->eng, &engine_ops, &dcm->rules, seed());
	dapl_work_init(&dcm->work, on_work);
	dapl_timer_init(&dcm->leave_over, on_leave_over);
	sem_init(&dcm->left, 0, 0);
	dapl_lock_init(&dcm->lock, DAPL_LOCK_CONN);
	dapl_list_init(&dcm->nodes);
	dapl_list_init(&dcm->todo);
	dapl_list_init(&dcm->dead);
	dcm->stopped = true;
}

static bool set_stopped(struct dcm *dcm, bool stopped)
{
	bool was;

	dapl_lock(&dcm->lock);
	was = dcm->stopped;
	dcm->stopped = stopped;
	dapl_unlock(&dcm->lock);
	return was;
}

int dcm_start(struct dapl_cm *base)
{
	struct dcm *dcm = dcm_from(base);
	int ret;

	ret = dcm_path_init(&dcm->path, base, &dcm->wish);
	if (ret)
		return ret;
	set_stopped(dcm, false);
	ret = dcm->tp->start(dcm);
	if (ret)
		set_stopped(dcm, true);
	return ret;
}

/*
 * Peers that are connected have to be told, and after this nobody is there to
 * tell them again: waits until all have answered, or too long.
 */
static void take_leave(struct dcm *dcm)
{
	struct dapl_loop *loop = dcm->base.loop;
	bool stopped;
	int state;

	if (dcm->rules.stream || dapl_loop_here(loop))
		return;
	dapl_lock(&dcm->lock);
	stopped = dcm->stopped;
	dcm->leaving = true;
	dapl_unlock(&dcm->lock);
	/* Where nobody runs the timer nobody else would end the wait. */
	if (stopped ||
	    dapl_timer_arm(loop, &dcm->leave_over, dapl_now_us() + LEAVE_US))
		return;
	dapl_loop_defer(loop, &dcm->work);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (sem_wait(&dcm->left) && errno == EINTR)
		;
	pthread_setcancelstate(state, NULL);
	dapl_timer_cancel(loop, &dcm->leave_over);
}

/* From here on the service thread does nothing for us. */
static void quiesce(struct dcm *dcm)
{
	struct dcm_node *node;

	dapl_work_cancel(dcm->base.loop, &dcm->work);
	/* No node comes or goes any more, and no timer is armed. */
	dapl_list_for_each(node, &dcm->nodes, link)
		if (!node->is_listener)
			dapl_timer_cancel(dcm->base.loop,
					  &conn_of(node)->timer);
	dcm->tp->stop(dcm);
	/* Their ends, until here, find that nothing can be armed or asked. */
	dapl_list_for_each(node, &dcm->nodes, link)
		if (!node->is_listener && conn_of(node)->ep)
			dcm->base.up->qp_stop(conn_of(node)->ep, conn_of(node));
	/* A callback may still run whose connection it has freed itself. */
	dapl_loop_barrier(dcm->base.loop);
}

static void abandon_listener(struct dapl_cm_listener *l)
{
	struct dcm *dcm = l->node.dcm;

	if (!l->closing && dcm->tp->unlisten)
		dcm->tp->unlisten(l);
	l->closing = true;
	dcm->base.up->unlistened(l->sp);
}

static void abandon_conn(struct dapl_cm_conn *conn)
{
	struct dcm *dcm = conn->node.dcm;
	bool released = conn->dcm.proto.released;

	/* A request that came just now: the peer is told, once. */
	if (!released)
		dcm_engine_input(&conn->dcm, DCM_IN_RELEASE, NULL,
				 dapl_now_us());
	if (dcm->tp->hangup)
		dcm->tp->hangup(&conn->dcm);
	if (!released && conn->ep)
		dcm->base.up->gone(conn->ep);
}

void dcm_stop(struct dapl_cm *base)
{
	struct dcm *dcm = dcm_from(base);
	struct dcm_node *node, *tmp;

	take_leave(dcm);
	if (set_stopped(dcm, true))
		return;
	quiesce(dcm);
	dapl_list_for_each_safe(node, tmp, &dcm->nodes, link) {
		dapl_list_del(&node->link);
		dapl_list_del(&node->todo);
		dapl_list_add_tail(&dcm->dead, &node->link);
		if (node->is_listener)
			abandon_listener(listener_of(node));
		else
			abandon_conn(conn_of(node));
	}
}

void dcm_fini(struct dcm *dcm)
{
	struct dcm_node *node, *tmp;

	dcm_stop(&dcm->base);
	dapl_list_for_each_safe(node, tmp, &dcm->dead, link) {
		dapl_list_del(&node->link);
		if (node->is_listener) {
			free(listener_of(node));
			continue;
		}
		if (dcm->tp->hangup)
			dcm->tp->hangup(&conn_of(node)->dcm);
		conn_free(conn_of(node));
	}
	dcm_engine_fini(&dcm->eng);
	dcm_map_fini(&dcm->ports);
	dcm_path_fini(&dcm->path);
	sem_destroy(&dcm->left);
	dapl_lock_fini(&dcm->lock);
}

/* -------------------------------------------------- entries: listening */

size_t dcm_max_pdata(const struct dapl_cm *base)
{
	return ((const struct dcm *)base)->tp->pdata_max;
}

static int take_port(struct dcm *dcm, struct dapl_cm_listener *l, uint32_t port)
{
	bool taken;

	dapl_lock(&dcm->lock);
	taken = dcm_map_find(&dcm->ports, port);
	if (!taken) {
		l->dcm.port = port;
		dcm_map_add(&dcm->ports, &l->taken, port);
		ask_locked(&l->node, DCM_ASK_LISTEN);
	}
	dapl_unlock(&dcm->lock);
	if (taken)
		return dapl_fail_errno(-EADDRINUSE, "sp %p: port %u is taken",
				       (void *)l->sp, port);
	return 0;
}

int dcm_listen(struct dapl_cm *base, DAT_CONN_QUAL qual, struct dapl_sp *sp,
	       struct dapl_cm_listener **ret_l)
{
	struct dcm *dcm = dcm_from(base);
	struct dapl_cm_listener *l = calloc(1, dcm->tp->listener_size);
	uint32_t port = 0;
	int ret;

	if (!l)
		return -ENOMEM;
	l->sp = sp;
	/* Without a port this only prepares L: requests may come at once. */
	(void)dcm_engine_listen(&dcm->eng, &l->dcm, 0);
	ret = node_add(dcm, &l->node, true);
	if (ret)
		goto err_free;
	*ret_l = l;
	ret = dcm->tp->listen(dcm, l, qual, &port);
	if (!ret && port)
		ret = take_port(dcm, l, port);
	if (ret)
		goto err_del;
	dapl_log(DAPL_LOG_CM, "sp %p: listens on qualifier %llu", (void *)sp,
		 (unsigned long long)qual);
	return 0;

err_del:
	*ret_l = NULL;
	node_del(&l->node);
err_free:
	free(l);
	return ret;
}

void dcm_unlisten(struct dapl_cm_listener *l)
{
	struct dcm *dcm = l->node.dcm;
	bool closing;

	dapl_lock(&dcm->lock);
	closing = l->closing || dcm->stopped;
	l->closing = true;
	dapl_unlock(&dcm->lock);
	if (closing)
		return;
	if (dcm->tp->unlisten)
		dcm->tp->unlisten(l);
	/*
	 * In one go: the port is free for whoever sees it so, and what he asks
	 * for comes behind this in the list.
	 */
	dapl_lock(&dcm->lock);
	dcm_map_del(&dcm->ports, &l->taken);
	ask_locked(&l->node, DCM_ASK_UNLISTEN);
	dapl_unlock(&dcm->lock);
}

/* ------------------------------------------------ entries: connections */

int dcm_prepare(struct dapl_cm *base, struct dapl_ep *ep,
		struct dapl_cm_conn **ret_conn)
{
	struct dcm *dcm = dcm_from(base);
	struct dapl_cm_conn *conn = conn_alloc(dcm);
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->ep = ep;
	ret = node_add(dcm, &conn->node, false);
	if (ret) {
		conn_free(conn);
		return ret;
	}
	*ret_conn = conn;
	return 0;
}

static int check_pdata(const struct dcm *dcm, const struct dapl_cm_conn *conn,
		       size_t size, bool ud)
{
	if (size > dcm->tp->pdata_max || ud)
		return dapl_fail_errno(-EINVAL,
				       "conn %p: more private data than %zu, "
				       "or a datagram endpoint",
				       (void *)conn, dcm->tp->pdata_max);
	return 0;
}

int dcm_connect(struct dapl_cm_conn *conn, const struct dapl_cm_connect *req)
{
	struct dcm *dcm = conn->node.dcm;
	struct dcm_msg *own = &conn->dcm.own;
	int ret;

	ret = check_pdata(dcm, conn, req->pdata_size, req->qp.ud);
	if (!ret)
		ret = dcm->tp->target(dcm, conn, req->addr, req->qual);
	if (ret)
		return ret;
	conn->depths = dcm_path_depths(&dcm->path, &req->qp);
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
	dcm_block_set_ib(&own->saddr, &conn->ends.own);
	own->rd_in = conn->depths.in;
	own->mtu = dcm->path.mtu;
	own->p_size = (uint16_t)req->pdata_size;
	if (req->pdata_size)
		memcpy(own->pdata, req->pdata, req->pdata_size);
	ask(&conn->node, DCM_ASK_CONNECT);
	return 0;
}

/* Only one answer, and none to a peer that has gone. */
static int answer_begin(struct dapl_cm_conn *conn)
{
	int ret = 0;

	dapl_lock(&conn->node.dcm->lock);
	if (!conn->passive || conn->answered)
		ret = -EINVAL;
	else if (conn->gone)
		ret = -ECONNABORTED;
	else
		conn->answered = true;
	dapl_unlock(&conn->node.dcm->lock);
	return ret;
}

static int answer_undo(struct dapl_cm_conn *conn, int ret)
{
	dapl_lock(&conn->node.dcm->lock);
	conn->answered = false;
	if (conn->gone)
		ret = -ECONNABORTED;
	dapl_unlock(&conn->node.dcm->lock);
	return ret;
}

static void set_answer(struct dapl_cm_conn *conn, const void *pdata,
		       size_t size)
{
	conn->answer.p_size = (uint16_t)size;
	if (size)
		memcpy(conn->answer.pdata, pdata, size);
}

/* The request's end is constant since it was reported. */
static int answer_yes(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp)
{
	const struct dcm_path *path = &conn->node.dcm->path;
	struct dcm_path_ends *ends = &conn->ends;
	struct dapl_cm_step steps[DCM_PATH_STEPS];

	dcm_path_meet(path, qp->qp_num, &conn->dcm.remote.ib,
		      &conn->dcm.remote.alt, ends);
	ends->mtu = dcm_path_mtu(path, conn->dcm.remote.mtu);
	conn->depths = dcm_path_depths(path, qp);
	conn->answer.ib = ends->own;
	conn->answer.rd_in = conn->depths.in;
	conn->answer.mtu = ends->mtu;
	dcm_path_agree(&conn->depths, conn->dcm.remote.version,
		       conn->dcm.remote.rd_in);
	/* What can be told at once. */
	return dcm_path_steps(path, ends, &conn->depths, steps);
}

int dcm_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size)
{
	struct dcm *dcm = conn->node.dcm;
	int ret;

	ret = check_pdata(dcm, conn, size, qp->ud);
	if (ret)
		return ret;
	ret = answer_begin(conn);
	if (!ret) {
		ret = answer_yes(conn, qp);
		if (ret)
			ret = answer_undo(conn, ret);
	}
	if (ret)
		return dapl_fail_errno(
			ret, "conn %p: not accepted: %s", (void *)conn,
			ret == -ECONNABORTED ? "the peer has given up"
					     : strerror(-ret));
	set_answer(conn, pdata, size);
	dapl_lock(&dcm->lock);
	conn->ep = ep;
	ask_locked(&conn->node, DCM_ASK_ACCEPT);
	dapl_unlock(&dcm->lock);
	return 0;
}

int dcm_reject(struct dapl_cm_conn *conn, const void *pdata, size_t size)
{
	int ret;

	ret = check_pdata(conn->node.dcm, conn, size, false);
	if (ret)
		return ret;
	ret = answer_begin(conn);
	if (ret == -ECONNABORTED)
		return 0; /* as good as refused */
	if (ret)
		return dapl_fail_errno(ret, "conn %p: not an open request",
				       (void *)conn);
	set_answer(conn, pdata, size);
	ask(&conn->node, DCM_ASK_REJECT);
	return 0;
}

int dcm_disconnect(struct dapl_cm_conn *conn)
{
	struct dcm *dcm = conn->node.dcm;
	bool up;

	dapl_lock(&dcm->lock);
	up = conn->up;
	if (up)
		ask_locked(&conn->node, DCM_ASK_DISCONNECT);
	dapl_unlock(&dcm->lock);
	if (!up)
		return dapl_fail_errno(-ENOTCONN, "conn %p: not established",
				       (void *)conn);
	return 0;
}

void dcm_release(struct dapl_cm_conn *conn)
{
	ask(&conn->node, DCM_ASK_RELEASE);
}

int dcm_addrs(const struct dapl_cm_conn *conn,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port)
{
	struct dcm *dcm = conn->node.dcm;
	bool up;

	dapl_lock(&dcm->lock);
	up = conn->up;
	dapl_unlock(&dcm->lock);
	if (!up)
		return -ENOTCONN;
	*ret_peer = conn->peer_addr;
	*ret_peer_port = conn->peer_port;
	*ret_local_port = conn->local_port;
	return 0;
}
