/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_cm_base.c - tests of what connection managers stand on, with one that
 * has no protocol, and a real loop.
 *
 * Calls covered: everything in dapl_cm_base.h. That all memory is freed is for
 * the sanitizers to say; here it is counted for connections.
 */
#include "dapl/common/cm/base/dapl_cm_base.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"
#include "test/unit/case.h"

#define ASK_A DAPL_CM_ASK_OWN
#define ASK_B (DAPL_CM_ASK_OWN << 1)

struct conn {
	struct dapl_cm_conn base;
	unsigned asked; /* all that conn_run() was given */
};

struct dapl_ep {
	int gone;
	int stopped; /* qp_stop() */
};

struct dapl_sp {
	int unlistened;
};

/* What the connection manager does, and has done. */
static struct {
	int start_ret, listen_ret;
	bool unlisten_inside, request_inside; /* of listen() */
	int requests;
	int inits, finis, released, abandoned, unlistens, quiesced, left;
	int at_unlisten; /* unlistens when listen() was over */
	bool ep_left;	 /* a connection given up still had its endpoint */
	struct dapl_ep *moved;
} did;

static sem_t heard;
static struct dapl_cm base, cm;
/* As long as the fixture, which ends connections that a test leaves. */
static struct dapl_ep ep;

static void wait_heard(void)
{
	while (sem_wait(&heard))
		;
}

/* ----------------------------------------------------------- upcalls */

static void up_request(struct dapl_sp *sp, struct dapl_cm_conn *conn,
		       const struct dapl_cm_request *req)
{
	assert_true(conn->passive);
	assert_int_equal(req->peer_port, 5);
	did.requests++;
}

static void up_event(struct dapl_ep *e, struct dapl_cm_conn *conn,
		     enum dapl_cm_event event, const void *pdata, size_t size)
{
	assert_ptr_equal(e, conn->ep);
	assert_int_equal(event, DAPL_CM_ESTABLISHED);
	assert_null(pdata);
	assert_int_equal(size, 0);
	sem_post(&heard);
}

static void up_gone(struct dapl_ep *e)
{
	e->gone++;
	sem_post(&heard);
}

static void up_unlistened(struct dapl_sp *sp)
{
	sp->unlistened++;
	sem_post(&heard);
}

static int up_qp_move(struct dapl_ep *e, struct dapl_cm_conn *conn,
		      const struct vb_qp_step *steps, int n,
		      dapl_cm_moved_fn *moved)
{
	assert_ptr_equal(e, conn->ep);
	did.moved = e;
	return -ENOTCONN;
}

static void up_qp_error(struct dapl_ep *e, const struct dapl_cm_conn *conn)
{
	did.moved = e;
}

static void up_qp_stop(struct dapl_ep *e, const struct dapl_cm_conn *conn)
{
	assert_int_equal(did.quiesced, 1);
	assert_int_equal(did.abandoned, 0);
	e->stopped++;
}

static const struct dapl_cm_up up = {
	.request = up_request,
	.event = up_event,
	.gone = up_gone,
	.unlistened = up_unlistened,
	.qp_move = up_qp_move,
	.qp_error = up_qp_error,
	.qp_stop = up_qp_stop,
};

/* ------------------------------------------------------------- hooks */

static int start(struct dapl_cm *c)
{
	return did.start_ret;
}

static void leave(struct dapl_cm *c)
{
	did.left++;
}

static void quiesce(struct dapl_cm *c)
{
	did.quiesced++;
}

static void conn_init(struct dapl_cm_conn *conn)
{
	assert_ptr_equal(conn->node.cm, &cm);
	assert_int_equal(conn->passive, !conn->ep);
	did.inits++;
}

static void conn_fini(struct dapl_cm_conn *conn)
{
	did.finis++;
}

static void conn_run(struct dapl_cm_conn *conn, unsigned asked)
{
	((struct conn *)conn)->asked |= asked;
	if (asked & ASK_B)
		sem_post(&heard);
}

static void conn_released(struct dapl_cm_conn *conn)
{
	did.ep_left |= conn->ep != NULL;
	did.released++;
	dapl_cm_conn_del(conn);
}

static void conn_abandon(struct dapl_cm_conn *conn)
{
	did.ep_left |= conn->ep != NULL;
	did.abandoned++;
	dapl_cm_conn_del(conn); /* has no effect now */
}

static int do_listen(struct dapl_cm_listener *l, DAT_CONN_QUAL qual)
{
	static const struct dapl_cm_request req = {.peer_port = 5};
	struct dapl_cm_conn *conn;

	if (did.unlisten_inside)
		dapl_cm_unlisten(l);
	if (did.request_inside) {
		assert_int_equal(dapl_cm_conn_new(&cm, NULL, &conn), 0);
		dapl_cm_conn_request(l, conn, &req);
	}
	did.at_unlisten = did.unlistens;
	return did.listen_ret;
}

static void do_unlisten(struct dapl_cm_listener *l)
{
	did.unlistens++;
	dapl_cm_ask(&l->node, DAPL_CM_ASK_UNLISTEN);
}

static const struct dapl_cm_hooks hooks = {
	.start = start,
	.leave = leave,
	.quiesce = quiesce,
	.conn_init = conn_init,
	.conn_fini = conn_fini,
	.conn_run = conn_run,
	.conn_released = conn_released,
	.conn_abandon = conn_abandon,
	.listen = do_listen,
	.unlisten = do_unlisten,
};

static const struct dapl_cm_ops ops = {.release = dapl_cm_release};

static const struct dapl_cm_sizes sizes = {
	.conn = sizeof(struct conn),
	.listener = sizeof(struct dapl_cm_listener),
	.pdata = 10,
};

/* ----------------------------------------------------------- fixture */

static int setup(void **state)
{
	memset(&did, 0, sizeof(did));
	memset(&ep, 0, sizeof(ep));
	base = (struct dapl_cm){.ops = &ops, .up = &up};
	sem_init(&heard, 0, 0);
	if (dapl_loop_open("test", &base.loop))
		return -1;
	dapl_cm_init(&cm, &base, &hooks, &sizes);
	return dapl_cm_start(&cm);
}

/* Whoever has closed it already has set cm.hooks to NULL. */
static int teardown(void **state)
{
	if (cm.hooks)
		dapl_cm_fini(&cm);
	dapl_loop_close(base.loop);
	sem_destroy(&heard);
	return did.finis != did.inits;
}

#define T(name) CASE_WITH(name, setup, teardown)

static struct dapl_cm_conn *prepare(void)
{
	struct dapl_cm_conn *conn;

	assert_int_equal(dapl_cm_conn_new(&cm, &ep, &conn), 0);
	return conn;
}

/* ------------------------------------------------------- connections */

T(release__gives_the_endpoint_back)
{
	struct dapl_cm_conn *conn = prepare();

	assert_ptr_equal(conn->ep, &ep);
	dapl_cm_ask(&conn->node, DAPL_CM_ASK_RELEASE);
	wait_heard();
	assert_int_equal(ep.gone, 1);
	assert_int_equal(did.released, 1);
	assert_int_equal(did.finis, 1);
	assert_false(did.ep_left);
}

T(ask__each_thing_is_done)
{
	struct dapl_cm_conn *conn = prepare();

	dapl_cm_ask(&conn->node, ASK_A);
	dapl_cm_ask(&conn->node, ASK_B);
	wait_heard();
	assert_int_equal(((struct conn *)conn)->asked, ASK_A | ASK_B);
	assert_int_equal(did.released, 0);
}

T(upcalls__for_the_endpoint_it_has)
{
	struct vb_qp_step step = {.mask = 0};
	struct dapl_cm_conn *conn = prepare(), *passive;

	dapl_cm_conn_event(conn, DAPL_CM_ESTABLISHED, &ep, 0);
	wait_heard();
	assert_int_equal(dapl_cm_conn_move(conn, &step, 1, NULL), -ENOTCONN);
	assert_ptr_equal(did.moved, &ep);
	assert_int_equal(dapl_cm_conn_new(&cm, NULL, &passive), 0);
	did.moved = NULL;
	dapl_cm_conn_error(passive);
	assert_null(did.moved);
	dapl_cm_conn_error(conn);
	assert_ptr_equal(did.moved, &ep);
}

T(check__what_cannot_be)
{
	struct dapl_cm_conn *conn = prepare();

	assert_int_equal(dapl_cm_max_pdata(&cm), 10);
	assert_int_equal(dapl_cm_check(conn, 10), 0);
	assert_int_equal(dapl_cm_check(conn, 11), -EINVAL);
	assert_non_null(strstr(dapl__fail_text(), "than 10"));
	assert_int_equal(dapl_cm_not_accepted(conn, -ECONNABORTED),
			 -ECONNABORTED);
	assert_non_null(strstr(dapl__fail_text(), "the peer has given up"));
	assert_int_equal(dapl_cm_not_accepted(conn, -EIO), -EIO);
	assert_non_null(strstr(dapl__fail_text(), strerror(EIO)));
	assert_int_equal(dapl_cm_not_asking(conn, -EINVAL), -EINVAL);
	assert_int_equal(dapl_cm_not_connected(conn), -ENOTCONN);
}

/* --------------------------------------------------------- listening */

T(unlisten__once)
{
	struct dapl_cm_listener *l;
	struct dapl_sp sp = {0};

	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), 0);
	assert_int_equal(did.unlistens, 0);
	dapl_cm_unlisten(l);
	wait_heard();
	assert_int_equal(did.unlistens, 1);
	assert_int_equal(sp.unlistened, 1);
}

/* As the first request of a service point for one does it. */
T(unlisten__inside_listen)
{
	struct dapl_cm_listener *l;
	struct dapl_sp sp = {0};

	did.unlisten_inside = true;
	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), 0);
	assert_int_equal(did.at_unlisten, 0);
	wait_heard();
	assert_int_equal(did.unlistens, 1);
	assert_int_equal(sp.unlistened, 1);
}

T(request__goes_up)
{
	struct dapl_cm_listener *l;
	struct dapl_sp sp = {0};

	did.request_inside = true;
	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), 0);
	assert_int_equal(did.requests, 1);
	dapl_cm_unlisten(l);
	wait_heard();
	assert_int_equal(did.released, 0);
}

T(request__not_once_it_is_closing)
{
	struct dapl_cm_listener *l;
	struct dapl_sp sp = {0};

	did.request_inside = true;
	did.unlisten_inside = true;
	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), 0);
	wait_heard();
	assert_int_equal(sp.unlistened, 1);
	assert_int_equal(did.requests, 0);
	assert_int_equal(did.released, 1);
}

T(listen__fails_and_nobody_hears)
{
	struct dapl_cm_listener *l = NULL;
	struct dapl_sp sp = {0};

	did.listen_ret = -EADDRINUSE;
	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), -EADDRINUSE);
	assert_null(l);
	dapl_cm_stop(&cm);
	assert_int_equal(did.unlistens, 0);
	assert_int_equal(sp.unlistened, 0);
}

/* -------------------------------------------------------------- stop */

T(stop__gives_up_all_and_frees_nothing)
{
	struct dapl_cm_conn *conn = prepare(), *passive;
	struct dapl_cm_listener *l;
	struct dapl_sp sp = {0};

	assert_int_equal(dapl_cm_conn_new(&cm, NULL, &passive), 0);
	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), 0);
	dapl_cm_stop(&cm);
	assert_int_equal(did.left, 1);
	assert_int_equal(ep.stopped, 1);
	assert_int_equal(ep.gone, 1);
	assert_int_equal(did.abandoned, 2);
	assert_false(did.ep_left);
	assert_int_equal(did.unlistens, 1);
	assert_int_equal(sp.unlistened, 1);
	assert_int_equal(did.finis, 0);
	/* What the objects may still call. */
	dapl_cm_ask(&conn->node, DAPL_CM_ASK_RELEASE);
	dapl_cm_unlisten(l);
	dapl_cm_run(&cm);
	dapl_cm_stop(&cm);
	assert_int_equal(did.released, 0);
	assert_int_equal(did.unlistens, 1);
	assert_int_equal(ep.gone, 1);
	dapl_cm_fini(&cm);
	cm.hooks = NULL;
	assert_int_equal(did.finis, 2);
	assert_int_equal(did.quiesced, 1);
}

static void refuses(void)
{
	struct dapl_cm_conn *conn = NULL;
	struct dapl_cm_listener *l = NULL;
	struct dapl_sp sp = {0};

	assert_int_equal(dapl_cm_conn_new(&cm, &ep, &conn), -ECANCELED);
	assert_int_equal(dapl_cm_listen(&cm, 1, &sp, &l), -ECANCELED);
	assert_null(conn);
	assert_null(l);
}

T(stop__nothing_new_after_it)
{
	dapl_cm_stop(&cm);
	refuses();
}

T(leave__nothing_new_before_the_stop)
{
	dapl_lock(&cm.lock);
	cm.leaving = true;
	dapl_unlock(&cm.lock);
	refuses();
}

T(start__fails)
{
	dapl_cm_fini(&cm);
	did.start_ret = -EIO;
	dapl_cm_init(&cm, &base, &hooks, &sizes);
	assert_int_equal(dapl_cm_start(&cm), -EIO);
	refuses();
	did.quiesced = 0;
	dapl_cm_stop(&cm);
	assert_int_equal(did.quiesced, 0);
}

RUN_CASES(NULL, NULL)
