/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cma_provider.c - the CMA provider as a whole: entry points, open, start,
 * stop, close, max_pdata, listen, unlisten.
 *
 * Over the fake rdma_cm; the registry of the core is stubbed here, so that what
 * the entry points pass on can be seen. Nothing here depends on the interfaces
 * of the machine except that it has "lo".
 */
#include <errno.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl/openib_cma/cma.h"
#include "test/unit/entry.h"

#define QUAL 45248

static struct world world;

static int setup(void **state)
{
	world_open(&world, FV_ROCE);
	return 0;
}

static int teardown(void **state)
{
	world_close(&world);
	return 0;
}

#define WORLD(name) CASE_WITH(name, setup, teardown)

CASE(cma_entry__registers_a_full_table)
{
	entry_is_full("CMA", 64);
}

static int reset_fake(void **state)
{
	struct fv_device_cfg cfg;

	fv_reset();
	fv_device_cfg_init(&cfg, FV_ROCE, "fake0", "10.0.0.1");
	cfg.port[0].addr[1] = "2001:db8::1";
	cfg.port[0].addr[2] = "fe80::1";
	cfg.port[0].addr[3] = NULL;
	fv_device_add(&cfg);
	return 0;
}

#define ALONE(name) CASE_WITH(name, reset_fake, fv_nothing_left)

/* Opens with TEXT, expecting success on fake0 port 1. */
static void open_ok(const char *text, int family)
{
	struct side s;

	side_params(&s);
	assert_int_equal(side_try_open(&s, text), 0);
	assert_string_equal(s.cm->dev_name, "fake0");
	assert_int_equal(s.cm->port, 1);
	assert_int_equal(s.cm->addr.ss_family, family);
	assert_int_equal(cma_ops.max_pdata(s.cm), 56);
	entry_shut(&s);
}

/* Opens with TEXT, expecting failure RET with a reason that has WHY in it. */
static void open_bad(const char *text, int ret, const char *why)
{
	struct side s;

	side_params(&s);
	entry_refuses(&s, text, ret, why);
}

ALONE(open__numeric_address)
{
	open_ok("10.0.0.1 0", AF_INET);
	open_ok("10.0.0.1 1", AF_INET);
	open_ok("10.0.0.1 0x1", AF_INET);
	open_ok("2001:db8::1 0", AF_INET6);
}

ALONE(cma_open__malformed_text)
{
	open_bad("", -EINVAL, "empty");
	open_bad(NULL, -EINVAL, "empty");
	open_bad("10.0.0.1", -EINVAL, "missing");
	open_bad("10.0.0.1 one", -EINVAL, "not a port");
	open_bad("10.0.0.1 0 colour=blue", -EINVAL, "options");
}

ALONE(open__port_of_another_number)
{
	/* The address decides; old files may say anything here. */
	open_ok("10.0.0.1 2", AF_INET);
}

ALONE(open__address_of_no_rdma_device)
{
	fv_cm_host_addr("10.0.0.99");
	open_bad("10.0.0.99 0", -EADDRNOTAVAIL, "devices: fake0");
	open_bad("127.0.0.1 0", -EADDRNOTAVAIL, "is of none");
	open_bad("lo 0", -EADDRNOTAVAIL, "is of none");
	open_bad("localhost 0", -EADDRNOTAVAIL, "localhost");
}

/* A control group's limit on the device, of which rdma_cm itself needs some. */
ALONE(open__nothing_left_for_rdma_cm)
{
	static const int errors[] = {EAGAIN, ENOMEM};

	for (unsigned i = 0; i < 2; i++) {
		fv_fail_call("rdma_bind_addr", 1, errors[i]);
		open_bad("10.0.0.1 0", -errors[i], "has nothing left");
	}
}

ALONE(open__unknown_name)
{
	open_bad("no-such-name.invalid 0", -EADDRNOTAVAIL, "interfaces: ");
	open_bad("no-such-name.invalid 0", -EADDRNOTAVAIL, "lo 127.0.0.1");
}

/* What the node of rdma_cm is. */
static int node_error;

int __wrap_vb_node_check(const char *path);
int __wrap_vb_node_check(const char *path)
{
	assert_string_equal(path, "/dev/infiniband/rdma_cm");
	return node_error;
}

/* The library fails with SAYS, and the node with NODE. */
static void no_rdma_cm(int says, int node, int ret, const char *why)
{
	node_error = node;
	fv_fail_call("rdma_create_event_channel", 1, says);
	open_bad("10.0.0.1 0", ret, why);
}

ALONE(open__no_rdma_cm)
{
	no_rdma_cm(ENOENT, -ENOENT, -ENOENT,
		   "load rdma_ucm, or let this container see "
		   "/dev/infiniband/rdma_cm: it is missing");
	no_rdma_cm(ENOENT, -EACCES, -EACCES,
		   "let this user read and write /dev/infiniband/rdma_cm: "
		   "Permission denied");
	no_rdma_cm(ENODEV, -ENXIO, -ENXIO,
		   "load rdma_ucm: /dev/infiniband/rdma_cm is there");
	no_rdma_cm(ENOMEM, -EACCES, -ENOMEM, "Cannot allocate memory");
	no_rdma_cm(ENODEV, 0, -ENODEV, "No such device");
	setenv("SYSFS_PATH", "/nonexistent", 1);
	fv_reset();
	no_rdma_cm(ENODEV, -ENOENT, -ENODEV, "there is no RDMA device");
	unsetenv("SYSFS_PATH");
}

ALONE(cma_open__nth_call_fails)
{
	struct side s;
	unsigned n;
	int ret;

	side_params(&s);
	for (n = 1;; n++) {
		fv_fail_at(n, ENOMEM);
		ret = side_try_open(&s, "10.0.0.1 0");
		if (!ret)
			break;
		assert_int_equal(fv_live(), 0);
		assert_true(n < 100);
	}
	assert_true(n > 3);
	fv_fail_at(0, 0);
	cma_ops.stop(s.cm);
	cma_ops.close(s.cm);
	vb_close(&s.dev);
	dapl_loop_close(s.loop);
}

ALONE(close__without_start)
{
	struct dapl_cm base = {.ops = &cma_ops};
	struct dapl_cm *cm;

	assert_int_equal(dapl_loop_open("test", &base.loop), 0);
	assert_int_equal(cma_ops.open("10.0.0.1 0", &base, &cm), DAT_SUCCESS);
	cma_ops.close(cm);
	dapl_loop_close(base.loop);
}

/* How many of the next reads of an event channel fail. */
static int bad_reads;

int __real_rdma_get_cm_event(struct rdma_event_channel *chan,
			     struct rdma_cm_event **ret_event);
int __wrap_rdma_get_cm_event(struct rdma_event_channel *chan,
			     struct rdma_cm_event **ret_event);

int __wrap_rdma_get_cm_event(struct rdma_event_channel *chan,
			     struct rdma_cm_event **ret_event)
{
	if (__atomic_fetch_sub(&bad_reads, 1, __ATOMIC_RELAXED) > 0) {
		errno = ENOMEM;
		return -1;
	}
	return __real_rdma_get_cm_event(chan, ret_event);
}

WORLD(events__channel_fails_for_a_while)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *conn;

	__atomic_store_n(&bad_reads, 3, __ATOMIC_RELAXED);
	conn = begin(ep, QUAL, NULL, 0);
	take_event(ep, DAPL_CM_NON_PEER_REJECTED);
	assert_true(__atomic_load_n(&bad_reads, __ATOMIC_RELAXED) < 0);
	finish(conn, ep);
	ep_del(ep);
}

WORLD(stop__while_the_channel_fails)
{
	struct dapl_ep *ep = ep_new(&world.a);

	__atomic_store_n(&bad_reads, 1 << 30, __ATOMIC_RELAXED);
	begin(ep, QUAL, NULL, 0);
	cma_ops.stop(world.a.cm);
	__atomic_store_n(&bad_reads, 0, __ATOMIC_RELAXED);
	take(SEEN_GONE, ep);
	ep_del(ep);
}

static int try_listen(struct dapl_sp *sp, DAT_CONN_QUAL qual)
{
	struct dapl_cm_listener *l = NULL;
	int ret = cma_ops.listen(sp->side->cm, qual, sp, &l);

	assert_null(l);
	return ret;
}

WORLD(listen__qualifier_taken)
{
	struct dapl_sp sp = {.side = &world.b}, other = {.side = &world.b};
	struct dapl_cm_listener *l = listen_on(&sp, QUAL);

	assert_int_equal(try_listen(&other, QUAL), -EADDRINUSE);
	unlisten(&sp, l);
}

/* The port is free when unlisten() returns, not only after the upcall. */
WORLD(listen__again_at_once)
{
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_listener *l;

	for (int i = 0; i < 20; i++) {
		l = listen_on(&sp, QUAL);
		cma_ops.unlisten(l);
	}
	for (int i = 0; i < 20; i++)
		take(SEEN_UNLISTENED, &sp);
}

WORLD(listen__qualifier_zero)
{
	struct dapl_sp sp = {.side = &world.b};

	assert_int_equal(try_listen(&sp, 0), -EINVAL);
}

WORLD(listen__folded_qualifier)
{
	struct dapl_sp sp = {.side = &world.b}, other = {.side = &world.b};
	struct dapl_cm_listener *l = listen_on(&sp, 70000);

	assert_int_equal(try_listen(&other, 39532), -EADDRINUSE);
	unlisten(&sp, l);
}

static sem_t gate_entered, gate_open, asked;

static void at_gate(struct dapl_work *work)
{
	sem_post(&gate_entered);
	sem_wait(&gate_open);
}

static enum fv_verdict on_asked(struct rdma_cm_event *ev, void *arg)
{
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST ||
	    ev->event == RDMA_CM_EVENT_REJECTED)
		sem_post(&asked);
	return FV_DELIVER;
}

#define CROWD 200 /* the kernel holds 1,024 */

/* None is refused because the service thread is busy. */
WORLD(listen__crowd_while_busy)
{
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_listener *l = listen_on(&sp, QUAL);
	struct dapl_work gate;
	struct dapl_ep *ep[CROWD];
	struct dapl_cm_conn *conn[CROWD];

	sem_init(&gate_entered, 0, 0);
	sem_init(&gate_open, 0, 0);
	sem_init(&asked, 0, 0);
	fv_cm_hook(on_asked, NULL);
	dapl_work_init(&gate, at_gate);
	dapl_loop_defer(world.b.loop, &gate);
	sem_wait(&gate_entered);
	for (int i = 0; i < CROWD; i++) {
		ep[i] = ep_new(&world.a);
		conn[i] = begin(ep[i], QUAL, NULL, 0);
	}
	for (int i = 0; i < CROWD; i++)
		sem_wait(&asked);
	fv_cm_hook(NULL, NULL);
	sem_post(&gate_open);
	for (int i = 0; i < CROWD; i++)
		world_release(take(SEEN_REQUEST, &sp).conn);
	for (int i = 0; i < CROWD; i++) {
		take_event(ep[i], DAPL_CM_NON_PEER_REJECTED);
		finish(conn[i], ep[i]);
		ep_del(ep[i]);
	}
	unlisten(&sp, l);
	sem_destroy(&gate_entered);
	sem_destroy(&gate_open);
	sem_destroy(&asked);
}

WORLD(listen__nth_call_fails)
{
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_listener *l = NULL;
	unsigned n;

	for (n = 1;; n++) {
		fv_fail_at(n, EACCES);
		if (!cma_ops.listen(world.b.cm, QUAL, &sp, &l))
			break;
		assert_null(l);
		assert_true(n < 100);
	}
	assert_true(n > 2);
	fv_fail_at(0, 0);
	unlisten(&sp, l);
}

WORLD(stop__gives_up_everything)
{
	struct dapl_sp sp = {.side = &world.b}, idle = {.side = &world.a};
	struct dapl_cm_listener *l = listen_on(&sp, QUAL);
	struct dapl_cm_conn *live, *asking, *prepared, *unanswered;
	struct dapl_ep *ep[4];
	struct pair p;

	pair_open(&world, &p, QUAL + 1);
	for (int i = 0; i < 4; i++)
		ep[i] = ep_new(&world.a);
	listen_on(&idle, QUAL);
	live = p.ca;
	asking = begin(ep[0], QUAL, NULL, 0);
	unanswered = take(SEEN_REQUEST, &sp).conn;
	fv_cm_set(FV_CM_ADDR_SILENT, 1);
	begin(ep[1], QUAL, NULL, 0);
	assert_int_equal(cma_ops.prepare(world.a.cm, ep[2], &prepared), 0);
	ep[2]->refs++;

	cma_ops.stop(world.a.cm);
	/* All of it was said before stop() returned. */
	assert_int_equal(pending(SEEN_GONE, p.ea), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pending(SEEN_GONE, ep[i]), 1);
		take(SEEN_GONE, ep[i]);
	}
	take(SEEN_GONE, p.ea);
	assert_int_equal(pending(SEEN_UNLISTENED, &idle), 1);
	take(SEEN_UNLISTENED, &idle);

	/* New work is refused; a late release does no harm. */
	assert_int_equal(cma_ops.prepare(world.a.cm, ep[3], &prepared),
			 -ECANCELED);
	assert_int_equal(try_listen(&idle, QUAL), -ECANCELED);
	world_release(live);
	world_release(asking);

	take_event(p.eb, DAPL_CM_DISCONNECTED);
	finish(p.cb, p.eb);
	world_release(unanswered);
	unlisten(&sp, l);
	for (int i = 0; i < 4; i++)
		ep_del(ep[i]);
	pair_del(&p);
}

WORLD(stop__after_release)
{
	struct pair p;

	pair_open(&world, &p, QUAL);
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	world_release(p.ca);
	world_release(p.cb);
	cma_ops.stop(world.a.cm);
	cma_ops.stop(world.b.cm);
	assert_int_equal(pending(SEEN_GONE, p.ea), 1);
	assert_int_equal(pending(SEEN_GONE, p.eb), 1);
	take(SEEN_GONE, p.ea);
	take(SEEN_GONE, p.eb);
	pair_del(&p);
}

RUN_CASES(NULL, NULL)
