/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_base.c - connections and listeners of a connection manager, from
 * their allocation to their end; see the header.
 *
 * Knows no protocol. Threads and locks: the head of the header.
 */
#include "dapl/common/cm/base/dapl_cm_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "dapl/common/services/dapl_log.h"

static struct dapl_cm_conn *conn_of(struct dapl_cm_node *node)
{
	return (struct dapl_cm_conn *)node;
}

static struct dapl_cm_listener *listener_of(struct dapl_cm_node *node)
{
	return (struct dapl_cm_listener *)node;
}

/* ----------------------------------------------------------- nodes */

static int node_add(struct dapl_cm *cm, struct dapl_cm_node *node,
		    bool is_listener)
{
	bool stopped;

	node->cm = cm;
	node->is_listener = is_listener;
	dapl_list_init(&node->link);
	dapl_list_init(&node->todo);
	dapl_lock(&cm->lock);
	stopped = cm->stopped || cm->leaving;
	if (!stopped)
		dapl_list_add_tail(&cm->nodes, &node->link);
	dapl_unlock(&cm->lock);
	return stopped ? -ECANCELED : 0;
}

/* False after stop(): then the node stays where it is, and alive. */
static bool node_del(struct dapl_cm_node *node)
{
	struct dapl_cm *cm = node->cm;
	bool stopped;

	dapl_lock(&cm->lock);
	stopped = cm->stopped;
	if (!stopped) {
		dapl_list_del(&node->link);
		dapl_list_del(&node->todo);
	}
	dapl_unlock(&cm->lock);
	return !stopped;
}

void dapl_cm_ask_locked(struct dapl_cm_node *node, unsigned what)
{
	struct dapl_cm *cm = node->cm;

	dapl_lock_assert_held(&cm->lock);
	if (cm->stopped)
		return;
	node->asked |= what;
	if (dapl_list_empty(&node->todo))
		dapl_list_add_tail(&cm->todo, &node->todo);
	dapl_loop_defer(cm->loop, &cm->work);
}

void dapl_cm_ask(struct dapl_cm_node *node, unsigned what)
{
	struct dapl_cm *cm = node->cm;

	dapl_lock(&cm->lock);
	dapl_cm_ask_locked(node, what);
	dapl_unlock(&cm->lock);
}

static void conn_free(struct dapl_cm_conn *conn)
{
	if (conn->node.cm->hooks->conn_fini)
		conn->node.cm->hooks->conn_fini(conn);
	free(conn);
}

int dapl_cm_conn_new(struct dapl_cm *cm, struct dapl_ep *ep,
		     struct dapl_cm_conn **ret_conn)
{
	struct dapl_cm_conn *conn = calloc(1, cm->sizes->conn);
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->ep = ep;
	conn->passive = !ep;
	conn->node.cm = cm;
	cm->hooks->conn_init(conn);
	ret = node_add(cm, &conn->node, false);
	if (ret) {
		conn_free(conn);
		return ret;
	}
	*ret_conn = conn;
	return 0;
}

void dapl_cm_conn_del(struct dapl_cm_conn *conn)
{
	if (node_del(&conn->node))
		conn_free(conn);
}

/* --------------------------------- what the service thread is asked */

static void run_conn(struct dapl_cm_conn *conn, unsigned asked)
{
	const struct dapl_cm *cm = conn->node.cm;
	struct dapl_ep *ep;

	cm->hooks->conn_run(conn, asked);
	if (!(asked & DAPL_CM_ASK_RELEASE))
		return;
	ep = conn->ep;
	conn->ep = NULL;
	cm->hooks->conn_released(conn);
	/* CONN may be gone. */
	if (ep)
		cm->up->gone(ep);
}

static void run_listener(struct dapl_cm_listener *l, unsigned asked)
{
	const struct dapl_cm *cm = l->node.cm;
	struct dapl_sp *sp = l->sp;
	bool failed;

	if (cm->hooks->listener_run)
		cm->hooks->listener_run(l, asked);
	if (!(asked & DAPL_CM_ASK_UNLISTEN))
		return;
	/* Constant since listen() was over, which has come before that. */
	failed = l->failed;
	if (!node_del(&l->node))
		return; /* stop() will say it */
	free(l);
	if (!failed)
		cm->up->unlistened(sp);
}

static struct dapl_cm_node *next_todo(struct dapl_cm *cm, unsigned *ret_asked)
{
	struct dapl_cm_node *node = NULL;

	dapl_lock(&cm->lock);
	if (!cm->stopped && !dapl_list_empty(&cm->todo)) {
		node = dapl_list_first(&cm->todo, struct dapl_cm_node, todo);
		dapl_list_del(&node->todo);
		*ret_asked = node->asked;
		node->asked = 0;
	}
	dapl_unlock(&cm->lock);
	return node;
}

void dapl_cm_run(struct dapl_cm *cm)
{
	struct dapl_cm_node *node;
	unsigned asked;

	while ((node = next_todo(cm, &asked))) {
		if (node->is_listener)
			run_listener(listener_of(node), asked);
		else
			run_conn(conn_of(node), asked);
	}
}

static void on_work(struct dapl_work *work)
{
	struct dapl_cm *cm = dapl_container_of(work, struct dapl_cm, work);

	dapl_cm_run(cm);
	if (cm->hooks->ran)
		cm->hooks->ran(cm);
}

/* --------------------------------------------------------- instance */

uint32_t dapl_cm_seed(void)
{
	uint32_t n;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
		n = (uint32_t)dapl_now_us() ^ (uint32_t)getpid() << 16;
	return n;
}

void dapl_cm_init(struct dapl_cm *cm, const struct dapl_cm *base,
		  const struct dapl_cm_hooks *hooks,
		  const struct dapl_cm_sizes *sizes)
{
	*cm = *base;
	cm->hooks = hooks;
	cm->sizes = sizes;
	dapl_lock_init(&cm->lock, DAPL_LOCK_CONN);
	dapl_list_init(&cm->nodes);
	dapl_list_init(&cm->todo);
	dapl_list_init(&cm->dead);
	dapl_work_init(&cm->work, on_work);
	cm->stopped = true;
}

static bool set_stopped(struct dapl_cm *cm, bool stopped)
{
	bool was;

	dapl_lock(&cm->lock);
	was = cm->stopped;
	cm->stopped = stopped;
	dapl_unlock(&cm->lock);
	return was;
}

int dapl_cm_start(struct dapl_cm *cm)
{
	int ret;

	set_stopped(cm, false);
	ret = cm->hooks->start(cm);
	if (ret)
		set_stopped(cm, true);
	return ret;
}

/* From here on the service thread does nothing for us. */
static void quiesce(struct dapl_cm *cm)
{
	struct dapl_cm_node *node;

	dapl_work_cancel(cm->loop, &cm->work);
	cm->hooks->quiesce(cm);
	/* The ends of moves, until here, find that nothing can be asked. */
	dapl_list_for_each(node, &cm->nodes, link)
		if (!node->is_listener && conn_of(node)->ep)
			cm->up->qp_stop(conn_of(node)->ep, conn_of(node));
	/* A callback may still run whose connection it has freed itself. */
	dapl_loop_barrier(cm->loop);
}

static void abandon_listener(struct dapl_cm_listener *l)
{
	const struct dapl_cm *cm = l->node.cm;

	if (!l->closing)
		cm->hooks->unlisten(l);
	l->closing = true;
	if (!l->failed)
		cm->up->unlistened(l->sp);
}

static void abandon_conn(struct dapl_cm_conn *conn)
{
	const struct dapl_cm *cm = conn->node.cm;
	struct dapl_ep *ep = conn->ep;

	conn->ep = NULL;
	cm->hooks->conn_abandon(conn);
	if (ep)
		cm->up->gone(ep);
}

/* This thread takes the service thread's place. */
void dapl_cm_stop(struct dapl_cm *cm)
{
	struct dapl_cm_node *node, *tmp;

	if (cm->hooks->leave)
		cm->hooks->leave(cm);
	if (set_stopped(cm, true))
		return;
	quiesce(cm);
	dapl_list_for_each_safe(node, tmp, &cm->nodes, link) {
		dapl_list_del(&node->link);
		dapl_list_del(&node->todo);
		dapl_list_add_tail(&cm->dead, &node->link);
		if (node->is_listener)
			abandon_listener(listener_of(node));
		else
			abandon_conn(conn_of(node));
	}
}

void dapl_cm_fini(struct dapl_cm *cm)
{
	struct dapl_cm_node *node, *tmp;

	dapl_cm_stop(cm);
	dapl_list_for_each_safe(node, tmp, &cm->dead, link) {
		dapl_list_del(&node->link);
		if (node->is_listener)
			free(listener_of(node));
		else
			conn_free(conn_of(node));
	}
	dapl_lock_fini(&cm->lock);
}

/* --------------------------------------------------------- listening */

/*
 * listen() is over. A request may have come before, whose upcall unlistens; L
 * had to outlive the call, though.
 */
static void started(struct dapl_cm_listener *l, bool failed)
{
	struct dapl_cm *cm = l->node.cm;
	bool closing;

	dapl_lock(&cm->lock);
	l->starting = false;
	closing = l->closing;
	l->failed = failed;
	/* The service thread may have it in hand, so that thread frees it. */
	if (failed) {
		l->closing = true;
		dapl_cm_ask_locked(&l->node, DAPL_CM_ASK_UNLISTEN);
	}
	dapl_unlock(&cm->lock);
	if (closing && !failed)
		cm->hooks->unlisten(l);
}

int dapl_cm_listen(struct dapl_cm *cm, DAT_CONN_QUAL qual, struct dapl_sp *sp,
		   struct dapl_cm_listener **ret_l)
{
	struct dapl_cm_listener *l = calloc(1, cm->sizes->listener);
	int ret;

	if (!l)
		return -ENOMEM;
	l->sp = sp;
	l->starting = true;
	ret = node_add(cm, &l->node, true);
	if (ret) {
		free(l);
		return ret;
	}
	*ret_l = l;
	ret = cm->hooks->listen(l, qual);
	if (ret)
		*ret_l = NULL;
	started(l, ret);
	return ret;
}

void dapl_cm_unlisten(struct dapl_cm_listener *l)
{
	struct dapl_cm *cm = l->node.cm;
	bool now;

	dapl_lock(&cm->lock);
	now = !l->closing && !l->starting;
	l->closing = true;
	dapl_unlock(&cm->lock);
	if (now)
		cm->hooks->unlisten(l);
}

/* ------------------------------------------------------- connections */

size_t dapl_cm_max_pdata(const struct dapl_cm *cm)
{
	return cm->sizes->pdata;
}

void dapl_cm_release(struct dapl_cm_conn *conn)
{
	dapl_cm_ask(&conn->node, DAPL_CM_ASK_RELEASE);
}

void dapl_cm_conn_request(struct dapl_cm_listener *l, struct dapl_cm_conn *conn,
			  const struct dapl_cm_request *req)
{
	struct dapl_cm *cm = l->node.cm;
	bool closing;

	dapl_lock(&cm->lock);
	closing = l->closing;
	dapl_unlock(&cm->lock);
	if (closing) {
		cm->ops->release(conn);
		return;
	}
	dapl_log(DAPL_LOG_CM, "sp %p: request, conn %p, %zu bytes",
		 (void *)l->sp, (void *)conn, req->pdata_size);
	cm->up->request(l->sp, conn, req);
}

void dapl_cm_conn_event(struct dapl_cm_conn *conn, enum dapl_cm_event event,
			const void *pdata, size_t size)
{
	dapl_log(DAPL_LOG_CM, "conn %p: ep %p: event %d", (void *)conn,
		 (void *)conn->ep, event);
	conn->node.cm->up->event(conn->ep, conn, event, size ? pdata : NULL,
				 size);
}

int dapl_cm_conn_move(struct dapl_cm_conn *conn, const struct vb_qp_step *steps,
		      int n, dapl_cm_moved_fn *moved)
{
	return conn->node.cm->up->qp_move(conn->ep, conn, steps, n, moved);
}

int dapl_cm_conn_ah(struct dapl_cm_conn *conn, const struct ibv_ah_attr *av,
		    uint32_t qpn, dapl_cm_moved_fn *moved)
{
	return conn->node.cm->up->ah_make(conn->ep, conn, av, qpn, moved);
}

void dapl_cm_conn_error(struct dapl_cm_conn *conn)
{
	if (conn->ep)
		conn->node.cm->up->qp_error(conn->ep, conn);
}

int dapl_cm_check(const struct dapl_cm_conn *conn, size_t size)
{
	size_t max = conn->node.cm->sizes->pdata;

	if (size > max)
		return dapl_fail_errno(-EINVAL,
				       "conn %p: more private data than %zu",
				       (void *)conn, max);
	return 0;
}

int dapl_cm_not_accepted(const struct dapl_cm_conn *conn, int ret)
{
	return dapl_fail_errno(ret, "conn %p: not accepted: %s", (void *)conn,
			       ret == -ECONNABORTED ? "the peer has given up"
						    : strerror(-ret));
}

int dapl_cm_not_asking(const struct dapl_cm_conn *conn, int ret)
{
	return dapl_fail_errno(ret, "conn %p: not an open request",
			       (void *)conn);
}

int dapl_cm_not_connected(const struct dapl_cm_conn *conn)
{
	return dapl_fail_errno(-ENOTCONN, "conn %p: not established",
			       (void *)conn);
}
