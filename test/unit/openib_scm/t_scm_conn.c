/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_conn.c - connections of the SCM provider, both sides of it in this
 * process: listen, connect, accept, reject, disconnect, release, stop.
 *
 * Real sockets on the loopback address, fake devices; the objects are a
 * recorder (cm_world.h). Every test leaves the descriptors as they were.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dapl/common/services/dapl_log.h"
#include "test/unit/openib_scm/scm_world.h"

static int setup_ib(void **state)
{
	return scm_world_open(FV_IB);
}

#define T(name) CASE_WITH(name, setup, teardown)

static DAT_CONN_QUAL free_qual(void)
{
	return qual_of(raw_free_port());
}

static uint16_t tcp_port(DAT_CONN_QUAL qual)
{
	return (uint16_t)(qual + RAW_QUAL_BASE);
}

static struct dcm_engine *eng_of(struct side *side)
{
	return &((struct dcm *)side->cm)->eng;
}

/* ------------------------------------------------------- the good case */

static void addresses(struct dapl_cm_conn *ca, struct dapl_cm_conn *cb,
		      DAT_CONN_QUAL qual)
{
	struct sockaddr_storage a, b;
	DAT_PORT_QUAL a_peer, a_own, b_peer, b_own;

	assert_int_equal(scm_ops.addrs(ca, &a, &a_peer, &a_own), 0);
	assert_int_equal(scm_ops.addrs(cb, &b, &b_peer, &b_own), 0);
	assert_int_equal(a_peer, qual);
	assert_int_equal(b_own, qual);
	assert_int_equal(a_own, b_peer);
	assert_int_equal(dapl_addr_port(&b), b_peer);
	assert_int_equal(dapl_addr_port(&a), tcp_port(qual));
	assert_true(dapl_addr_same_host((struct sockaddr *)&a,
					(struct sockaddr *)&b));
}

T(connect__both_sides)
{
	struct pair p;
	struct seen s;

	pair_listen(&world, &p, free_qual());
	pair_ask(&p, "ping", 5);
	s = p.request;
	assert_int_equal(s.size, 5);
	assert_memory_equal(s.pdata, "ping", 5);
	assert_int_equal(s.peer.ss_family, AF_INET);
	pair_accept(&p, "pong!", 6);
	s = take(SEEN_EVENT, p.ea);
	assert_int_equal(s.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(s.size, 6);
	assert_memory_equal(s.pdata, "pong!", 6);
	take_event(p.eb, DAPL_CM_ESTABLISHED);
	addresses(p.ca, p.cb, p.qual);
	assert_int_equal(ep_state(p.ea), IBV_QPS_RTS);
	assert_int_equal(ep_state(p.eb), IBV_QPS_RTS);
	unlisten(&p.sp, p.sp.listener);
	/* The IA goes with everything established. */
	scm_ops.stop(world.a.cm);
	take(SEEN_GONE, p.ea);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	scm_ops.stop(world.b.cm);
	take(SEEN_GONE, p.eb);
	pair_del(&p);
}

CASE_AGAIN(connect__both_sides,
	   CASE_ROW(connect__both_sides, ".ib", setup_ib, teardown, NULL))

static void use_ipv6(struct side *s, const char *ia_params)
{
	side_close(s);
	((struct scm_params *)s->params)->netdev = "::1";
	assert_int_equal(side_try_open(s, ia_params), 0);
	assert_int_equal(vb_pd_create(&s->dev, &s->pd), 0);
	assert_int_equal(vb_cq_create(&s->dev, 64, NULL, NULL, &s->cq), 0);
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 own = {.sin6_family = AF_INET6,
				   .sin6_addr = in6addr_loopback};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && !bind(fd, (struct sockaddr *)&own, sizeof(own));

	if (fd >= 0)
		close(fd);
	return ok;
}

T(connect__ipv6)
{
	struct dapl_cm_connect req = {0};
	struct pair p;

	if (!has_ipv6())
		skip_case("the system has no IPv6");
	use_ipv6(&world.a, world_provider.params_a);
	use_ipv6(&world.b, world_provider.params_b);
	pair_listen(&world, &p, free_qual());
	req.qp = p.ea->cfg;
	req.addr = (struct sockaddr *)&world.b.cm->addr;
	req.qual = p.qual;
	p.ca = prepare(p.ea);
	assert_int_equal(scm_ops.connect(p.ca, &req), 0);
	pair_requested(&p);
	assert_int_equal(p.request.peer.ss_family, AF_INET6);
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	addresses(p.ca, p.cb, p.qual);
	part(p.ca, p.ea, p.cb, p.eb);
	pair_end(&p);
}

T(connect__addresses_that_cannot_be)
{
	struct dapl_ep *ea = ep_new(&world.a);
	struct sockaddr_storage addr = {.ss_family = AF_INET6};
	struct dapl_cm_connect req = {
		.qp = ea->cfg, .addr = (struct sockaddr *)&addr, .qual = 5};
	struct dapl_cm_conn *ca = prepare(ea);

	assert_int_equal(scm_ops.connect(ca, &req), -EAFNOSUPPORT);
	addr.ss_family = AF_INET;
	assert_int_equal(scm_ops.connect(ca, &req), -EADDRNOTAVAIL);
	peer_b(&addr);
	req.qual = 64536;
	assert_int_equal(scm_ops.connect(ca, &req), -EINVAL);
	assert_string_not_equal(dapl__fail_text(), "");
	finish(ca, ea);
	ep_del(ea);
}

T(disconnect__both_at_once)
{
	struct pair p;

	for (int i = 0; i < 20; i++) {
		pair_open(&world, &p, free_qual());
		assert_int_equal(scm_ops.disconnect(p.ca), 0);
		assert_int_equal(scm_ops.disconnect(p.cb), 0);
		take_event(p.ea, DAPL_CM_DISCONNECTED);
		take_event(p.eb, DAPL_CM_DISCONNECTED);
		pair_close(&p);
	}
}

T(disconnect__inside_the_upcall)
{
	struct pair p;

	pair_listen(&world, &p, free_qual());
	p.ea->hang_up = true;
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_ESTABLISHED);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	/* RTU and goodbye follow one another at once. */
	take_event(p.eb, DAPL_CM_ESTABLISHED);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	pair_over(&p);
}

#define CROWD 20

/* Nobody is refused, and no more are shown than there is room for. */
T(connect__more_than_there_is_room_for)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_conn *conn[CROWD];
	struct dapl_ep *ep[CROWD];

	eng_of(&world.b)->listener_max = 2;
	listen_on(&sp, qual);
	for (int i = 0; i < CROWD; i++) {
		ep[i] = ep_new(&world.a);
		conn[i] = begin(ep[i], qual, NULL, 0);
	}
	for (int i = 0; i < CROWD; i++) {
		struct seen s = take(SEEN_REQUEST, &sp);

		assert_in_range(pending(SEEN_REQUEST, &sp), 0, 1);
		scm_ops.reject(s.conn, NULL, 0);
		world_release(s.conn);
	}
	for (int i = 0; i < CROWD; i++) {
		take_event(ep[i], DAPL_CM_PEER_REJECTED);
		finish(conn[i], ep[i]);
		ep_del(ep[i]);
	}
	unlisten(&sp, sp.listener);
}

/* Those that waited in vain do not keep others out. */
T(connect__given_up_for_want_of_room)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_ep *ea = ep_new(&world.a), *other = ep_new(&world.a);
	struct dapl_cm_conn *ca, *co, *cb;

	eng_of(&world.b)->listener_max = 1;
	listen_on(&sp, qual);
	ca = begin(ea, qual, NULL, 0);
	cb = take(SEEN_REQUEST, &sp).conn;
	for (int i = 0; i < CROWD; i++)
		finish(begin(other, qual, NULL, 0), other);
	co = begin(other, qual, "last", 4);
	world_release(cb);
	take_event(ea, DAPL_CM_NON_PEER_REJECTED);
	for (;;) {
		struct seen s = take(SEEN_REQUEST, &sp);

		world_release(s.conn);
		if (s.size == 4)
			break;
	}
	take_event(other, DAPL_CM_NON_PEER_REJECTED);
	finish(ca, ea);
	finish(co, other);
	unlisten(&sp, sp.listener);
	/* One that was given up may have been read after the last. */
	while (pending(SEEN_REQUEST, &sp))
		world_release(take(SEEN_REQUEST, &sp).conn);
	ep_del(ea);
	ep_del(other);
}

/* A port of the range that the system dials from connects to itself. */
T(connect__not_to_itself)
{
	struct scm *cm = (struct scm *)world.a.cm;
	uint16_t port = raw_free_port();
	struct dapl_ep *ea = ep_new(&world.a);
	struct dapl_cm_conn *ca;

	cm->ports.first = cm->ports.last = port;
	ca = begin(ea, qual_of(port), NULL, 0);
	take_event(ea, DAPL_CM_NON_PEER_REJECTED);
	finish(ca, ea);
	ep_del(ea);
}

/* ------------------------------------------------------ listening */

T(listen__qualifiers)
{
	struct dapl_sp one = {.side = &world.a}, two = {.side = &world.b};
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_cm_listener *l = listen_on(&one, qual), *other = NULL;

	assert_int_equal(scm_ops.listen(world.b.cm, qual, &two, &other),
			 -EADDRINUSE);
	assert_null(other);
	assert_int_equal(scm_ops.listen(world.b.cm, 64536, &two, &other),
			 -EINVAL);
	/* The same TCP port. */
	assert_int_equal(scm_ops.listen(world.b.cm, qual + 65536, &two, &other),
			 -EADDRINUSE);
	unlisten(&one, l);
	other = listen_on(&two, qual);
	unlisten(&two, other);
}

/* ---------------------------------------------------- given up attempts */

T(release__before_the_answer)
{
	struct pair p;
	int ret;

	pair_meet(&world, &p, free_qual());
	finish(p.ca, p.ea);
	/* The end of the stream is on its way; accepting is in vain. */
	ret = scm_ops.accept(p.cb, &p.eb->cfg, p.eb, NULL, 0);
	if (!ret) {
		p.eb->refs++;
		take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
		finish(p.cb, p.eb);
	} else {
		assert_int_equal(ret, -ECONNABORTED);
		world_release(p.cb);
	}
	pair_end(&p);
}

T(release__at_once)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_listener *l = listen_on(&sp, qual);
	struct dapl_ep *ea = ep_new(&world.a);

	for (int i = 0; i < 50; i++)
		finish(begin(ea, qual, NULL, 0), ea);
	while (pending(SEEN_REQUEST, &sp))
		world_release(take(SEEN_REQUEST, &sp).conn);
	unlisten(&sp, l);
	while (pending(SEEN_REQUEST, &sp))
		world_release(take(SEEN_REQUEST, &sp).conn);
	ep_del(ea);
}

/* A port whose listener's queue is full: further ones hear nothing. */
static uint16_t black_hole(void)
{
	uint16_t port;

	/* The queue of length 0 takes one. */
	raw_listen(0, &port);
	raw_connect(port);
	return port;
}

T(release__while_nobody_answers)
{
	struct dapl_ep *ea = ep_new(&world.a);

	finish(begin(ea, qual_of(black_hole()), NULL, 0), ea);
	assert_int_equal(pending(SEEN_EVENT, ea), 0);
	ep_del(ea);
}

/* ------------------------------------------------------------- many */

#define MANY 1000

static struct pair many[MANY];

T(connect__a_thousand)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};

	listen_on(&sp, qual);
	for (int i = 0; i < MANY; i++) {
		many[i].ea = ep_new(&world.a);
		many[i].eb = ep_new(&world.b);
	}
	for (int i = 0; i < MANY; i++)
		many[i].ca = begin(many[i].ea, qual, &i, sizeof(i));
	for (int i = 0; i < MANY; i++) {
		struct seen s = take(SEEN_REQUEST, &sp);
		int k;

		memcpy(&k, s.pdata, sizeof(k));
		assert_null(many[k].cb);
		many[k].cb = s.conn;
		pair_accept(&many[k], NULL, 0);
	}
	for (int i = 0; i < MANY; i++)
		pair_established(&many[i]);
	for (int i = 0; i < MANY; i++)
		pair_close(&many[i]);
	unlisten(&sp, sp.listener);
}

/* ------------------------------------------------------------- stop */

T(stop__with_everything_open)
{
	struct dapl_ep *waits = ep_new(&world.a), *dials = ep_new(&world.a),
		       *idle = ep_new(&world.a);
	struct pair p;
	int half;

	/* Established, requested, accepted by nobody, and prepared. */
	pair_meet(&world, &p, free_qual());
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	begin(waits, p.qual, NULL, 0);
	take(SEEN_REQUEST, &p.sp);
	begin(dials, qual_of(black_hole()), NULL, 0);
	prepare(idle);
	half = raw_connect(tcp_port(p.qual));
	raw_write(half, "\0\11\0\1", 4);
	scm_ops.stop(world.b.cm);
	take(SEEN_GONE, p.eb);
	take(SEEN_UNLISTENED, &p.sp);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	take_event(waits, DAPL_CM_NON_PEER_REJECTED);
	raw_ended(half);
	scm_ops.stop(world.a.cm);
	take(SEEN_GONE, p.ea);
	take(SEEN_GONE, waits);
	take(SEEN_GONE, dials);
	take(SEEN_GONE, idle);
	ep_del(waits);
	ep_del(dials);
	ep_del(idle);
	pair_del(&p);
}

#define HUNG_UP 16

/* Each hang-up has the active side dial again, while stop() takes it down. */
T(stop__while_peers_hang_up)
{
	struct dapl_ep *ea[HUNG_UP];
	uint16_t port;
	int fd;

	for (int round = 0; round < 20; round++) {
		fd = raw_listen(HUNG_UP * 2, &port);
		for (int i = 0; i < HUNG_UP; i++) {
			ea[i] = ep_new(&world.a);
			begin(ea[i], qual_of(port), NULL, 0);
		}
		for (int i = 0; i < HUNG_UP; i++)
			raw_close(raw_accept(fd));
		scm_ops.stop(world.a.cm);
		for (int i = 0; i < HUNG_UP; i++) {
			take(SEEN_GONE, ea[i]);
			/* Its end was quicker. */
			if (pending(SEEN_EVENT, ea[i]))
				take(SEEN_EVENT, ea[i]);
			ep_del(ea[i]);
		}
		raw_close(fd);
		side_close(&world.a);
		side_open(&world.a, world_provider.params_a);
	}
}

/* --------------------------------------------------------- port range */

T(connect__from_a_range_of_ports)
{
	struct scm *cm = (struct scm *)world.a.cm;
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_listener *l = listen_on(&sp, qual);
	struct dapl_ep *ea[3];
	struct dapl_cm_conn *ca[3];
	uint16_t port = raw_free_port();

	/* Two of three can be had: the peer is always the same. */
	cm->ports.first = port;
	cm->ports.last = port + 1;
	for (int i = 0; i < 3; i++) {
		ea[i] = ep_new(&world.a);
		ca[i] = begin(ea[i], qual, NULL, 0);
		if (i == 2)
			break;
		struct seen s = take(SEEN_REQUEST, &sp);

		assert_in_range(s.peer_port, port, port + 1);
		scm_ops.reject(s.conn, NULL, 0);
		world_release(s.conn);
		take_event(ea[i], DAPL_CM_PEER_REJECTED);
	}
	/* The server was the first to close: both are in time-wait there, and
	 * can be used again. */
	world_release(take(SEEN_REQUEST, &sp).conn);
	take_event(ea[2], DAPL_CM_NON_PEER_REJECTED);
	for (int i = 0; i < 3; i++) {
		finish(ca[i], ea[i]);
		ep_del(ea[i]);
	}
	unlisten(&sp, l);
}

T(connect__range_used_up)
{
	struct scm *cm = (struct scm *)world.a.cm;
	struct dapl_ep *other = ep_new(&world.a);
	struct sockaddr_storage addr;
	struct dapl_cm_connect req = {.qp = other->cfg,
				      .addr = (struct sockaddr *)&addr};
	struct dapl_cm_conn *co;
	struct pair p;

	cm->ports.first = cm->ports.last = raw_free_port();
	pair_meet(&world, &p, free_qual());
	/* No peer has refused that. */
	peer_b(&addr);
	req.qual = p.qual;
	co = prepare(other);
	assert_int_equal(scm_ops.connect(co, &req), -ENOBUFS);
	assert_non_null(strstr(dapl__fail_text(), "DAPL_SCM_PORT_RANGE"));
	finish(co, other);
	world_release(p.cb);
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
	finish(p.ca, p.ea);
	pair_end(&p);
	ep_del(other);
}

/* ------------------------------------------------------------ failures */

T(scm_accept__queue_pair_fails)
{
	struct pair p;

	pair_meet(&world, &p, free_qual());
	p.eb->fail_modify = 1;
	pair_accept(&p, NULL, 0);
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
	pair_over(&p);
}

T(scm_connect__queue_pair_fails)
{
	struct pair p;

	pair_meet(&world, &p, free_qual());
	p.ea->fail_modify = 1;
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_BROKEN);
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
	pair_over(&p);
}

RUN_CASES(NULL, NULL)
