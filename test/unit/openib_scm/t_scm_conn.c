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
#include "dapl/openib_scm/scm.h"
#include "test/unit/cm_world.h"
#include "test/unit/openib_scm/scm_raw.h"

static struct world world;
static int files;

static int setup(void **state)
{
	files = raw_open_files();
	world_open(&world, FV_ROCE);
	return 0;
}

static int setup_ib(void **state)
{
	files = raw_open_files();
	world_open(&world, FV_IB);
	return 0;
}

static int teardown(void **state)
{
	world_close(&world);
	assert_int_equal(raw_open_files(), files);
	return 0;
}

static DAT_CONN_QUAL qual_of(uint16_t port)
{
	return (DAT_CONN_QUAL)(uint16_t)(port - RAW_QUAL_BASE);
}

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

static void accept_ok(struct dapl_cm_conn *conn, struct dapl_ep *ep,
		      const void *pdata, size_t size)
{
	assert_int_equal(scm_ops.accept(conn, &ep->cfg, ep, pdata, size), 0);
	ep->refs++;
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

static void connect__both_sides(void **state)
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

static void connect__largest_private_data(void **state)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_ep *ea = ep_new(&world.a), *eb = ep_new(&world.b);
	struct dapl_cm_listener *l = listen_on(&sp, qual);
	uint8_t data[DCM_PDATA];
	struct dapl_cm_conn *ca;
	struct seen r, s;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	assert_int_equal(scm_ops.max_pdata(world.a.cm), sizeof(data));
	ca = begin(ea, qual, data, sizeof(data));
	r = take(SEEN_REQUEST, &sp);
	assert_int_equal(r.size, sizeof(data));
	assert_memory_equal(r.pdata, data, sizeof(data));
	accept_ok(r.conn, eb, data, sizeof(data));
	s = take(SEEN_EVENT, ea);
	assert_int_equal(s.size, sizeof(data));
	assert_memory_equal(s.pdata, data, sizeof(data));
	take_event(eb, DAPL_CM_ESTABLISHED);
	part(ca, ea, r.conn, eb);
	unlisten(&sp, l);
	ep_del(ea);
	ep_del(eb);
}

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

static void connect__ipv6(void **state)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_connect req = {.qual = qual};
	struct dapl_cm_listener *l;
	struct dapl_ep *ea, *eb;
	struct dapl_cm_conn *ca;
	struct seen r;

	if (!has_ipv6()) {
		print_message("# the system has no IPv6\n");
		skip();
	}
	use_ipv6(&world.a, world_provider.params_a);
	use_ipv6(&world.b, world_provider.params_b);
	ea = ep_new(&world.a);
	eb = ep_new(&world.b);
	req.qp = ea->cfg;
	l = listen_on(&sp, qual);
	assert_int_equal(scm_ops.prepare(world.a.cm, ea, &ca), 0);
	ea->refs++;
	req.addr = (struct sockaddr *)&world.b.cm->addr;
	assert_int_equal(scm_ops.connect(ca, &req), 0);
	r = take(SEEN_REQUEST, &sp);
	assert_int_equal(r.peer.ss_family, AF_INET6);
	accept_ok(r.conn, eb, NULL, 0);
	take_event(ea, DAPL_CM_ESTABLISHED);
	take_event(eb, DAPL_CM_ESTABLISHED);
	addresses(ca, r.conn, qual);
	part(ca, ea, r.conn, eb);
	unlisten(&sp, l);
	ep_del(ea);
	ep_del(eb);
}

static void connect__addresses_that_cannot_be(void **state)
{
	struct dapl_ep *ea = ep_new(&world.a);
	struct sockaddr_storage addr;
	struct dapl_cm_connect req = {
		.qp = ea->cfg, .addr = (struct sockaddr *)&addr, .qual = 5};
	struct dapl_cm_conn *ca;

	assert_int_equal(scm_ops.prepare(world.a.cm, ea, &ca), 0);
	ea->refs++;
	memset(&addr, 0, sizeof(addr));
	addr.ss_family = AF_INET6;
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

static void disconnect__by_either_side(void **state)
{
	struct pair p;

	pair_open(&world, &p, free_qual());
	assert_int_equal(scm_ops.disconnect(p.ca), 0);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	assert_int_equal(ep_state(p.ea), IBV_QPS_ERR);
	assert_int_equal(ep_state(p.eb), IBV_QPS_ERR);
	pair_close(&p);

	pair_open(&world, &p, free_qual());
	assert_int_equal(scm_ops.disconnect(p.cb), 0);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	pair_close(&p);
}

static void disconnect__both_at_once(void **state)
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

static void disconnect__inside_the_upcall(void **state)
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
	finish(p.ca, p.ea);
	finish(p.cb, p.eb);
	pair_end(&p);
}

static void release__of_an_established_connection(void **state)
{
	struct pair p;

	pair_open(&world, &p, free_qual());
	finish(p.cb, p.eb);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	finish(p.ca, p.ea);
	pair_del(&p);
}

static void scm_reject__by_the_consumer(void **state)
{
	struct pair p;
	struct seen s;

	pair_listen(&world, &p, free_qual());
	pair_ask(&p, "x", 1);
	assert_int_equal(scm_ops.reject(p.cb, "no way", 7), 0);
	world_release(p.cb);
	s = take(SEEN_EVENT, p.ea);
	assert_int_equal(s.event, DAPL_CM_PEER_REJECTED);
	assert_int_equal(s.size, 7);
	assert_memory_equal(s.pdata, "no way", 7);
	finish(p.ca, p.ea);
	pair_end(&p);
}

static void reject__by_the_provider(void **state)
{
	struct pair p;

	pair_listen(&world, &p, free_qual());
	p.sp.refuse = true;
	pair_ask(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
	finish(p.ca, p.ea);
	pair_end(&p);
}

#define CROWD 20

/* Nobody is refused, and no more are shown than there is room for. */
static void connect__more_than_there_is_room_for(void **state)
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
static void connect__given_up_for_want_of_room(void **state)
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

static void scm_connect__nobody_listens(void **state)
{
	struct dapl_ep *ea = ep_new(&world.a);
	struct dapl_cm_conn *ca = begin(ea, free_qual(), NULL, 0);

	take_event(ea, DAPL_CM_NON_PEER_REJECTED);
	finish(ca, ea);
	ep_del(ea);
}

/* A port of the range that the system dials from connects to itself. */
static void connect__not_to_itself(void **state)
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

static void listen__qualifiers(void **state)
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

static void unlisten__inside_the_request(void **state)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b, .once = true};
	struct dapl_ep *ea = ep_new(&world.a), *eb = ep_new(&world.b);
	struct dapl_cm_conn *ca, *cb;

	listen_on(&sp, qual);
	ca = begin(ea, qual, NULL, 0);
	cb = take(SEEN_REQUEST, &sp).conn;
	take(SEEN_UNLISTENED, &sp);
	accept_ok(cb, eb, NULL, 0);
	take_event(ea, DAPL_CM_ESTABLISHED);
	take_event(eb, DAPL_CM_ESTABLISHED);
	part(ca, ea, cb, eb);
	ep_del(ea);
	ep_del(eb);
}

/* ---------------------------------------------------- given up attempts */

static void release__before_the_answer(void **state)
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

static void release__at_once(void **state)
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

/* A listening socket whose queue is full: further ones hear nothing. */
static int black_hole(uint16_t *ret_port, int fill[2])
{
	int fd = raw_listen(0, ret_port);

	/* The queue of length 0 takes one. */
	fill[0] = raw_connect(*ret_port);
	fill[1] = -1;
	return fd;
}

static void release__while_nobody_answers(void **state)
{
	struct dapl_ep *ea = ep_new(&world.a);
	int fill[2], hole;
	struct dapl_cm_conn *ca;
	uint16_t port;

	hole = black_hole(&port, fill);
	ca = begin(ea, qual_of(port), NULL, 0);
	finish(ca, ea);
	assert_int_equal(pending(SEEN_EVENT, ea), 0);
	close(fill[0]);
	close(hole);
	ep_del(ea);
}

/* ------------------------------------------------------------- many */

#define MANY 1000

static struct {
	struct dapl_ep *ea, *eb;
	struct dapl_cm_conn *ca, *cb;
} many[MANY];

static void connect__a_thousand(void **state)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	int i;

	assert_int_equal(scm_ops.listen(world.b.cm, qual, &sp, &sp.listener),
			 0);
	for (i = 0; i < MANY; i++) {
		many[i].ea = ep_new(&world.a);
		many[i].eb = ep_new(&world.b);
	}
	for (i = 0; i < MANY; i++)
		many[i].ca = begin(many[i].ea, qual, &i, sizeof(i));
	for (i = 0; i < MANY; i++) {
		struct seen s = take(SEEN_REQUEST, &sp);
		int k;

		memcpy(&k, s.pdata, sizeof(k));
		assert_null(many[k].cb);
		many[k].cb = s.conn;
		accept_ok(s.conn, many[k].eb, NULL, 0);
	}
	for (i = 0; i < MANY; i++) {
		take_event(many[i].ea, DAPL_CM_ESTABLISHED);
		take_event(many[i].eb, DAPL_CM_ESTABLISHED);
	}
	for (i = 0; i < MANY; i++)
		part(many[i].ca, many[i].ea, many[i].cb, many[i].eb);
	unlisten(&sp, sp.listener);
	for (i = 0; i < MANY; i++) {
		ep_del(many[i].ea);
		ep_del(many[i].eb);
	}
}

/* ------------------------------------------------------------- stop */

static void stop__with_everything_open(void **state)
{
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_ep *ea[4], *eb[2];
	struct dapl_cm_conn *cb;
	int fill[2], hole, half;
	uint16_t port;

	hole = black_hole(&port, fill);
	for (int i = 0; i < 4; i++)
		ea[i] = ep_new(&world.a);
	for (int i = 0; i < 2; i++)
		eb[i] = ep_new(&world.b);
	listen_on(&sp, qual);
	/* Established, requested, accepted by nobody, and prepared. */
	begin(ea[0], qual, NULL, 0);
	cb = take(SEEN_REQUEST, &sp).conn;
	accept_ok(cb, eb[0], NULL, 0);
	take_event(ea[0], DAPL_CM_ESTABLISHED);
	take_event(eb[0], DAPL_CM_ESTABLISHED);
	begin(ea[1], qual, NULL, 0);
	take(SEEN_REQUEST, &sp);
	begin(ea[2], qual_of(port), NULL, 0);
	assert_int_equal(scm_ops.prepare(world.a.cm, ea[3], &cb), 0);
	ea[3]->refs++;
	half = raw_connect(tcp_port(qual));
	raw_write(half, "\0\11\0\1", 4);
	scm_ops.stop(world.b.cm);
	take(SEEN_GONE, eb[0]);
	take(SEEN_UNLISTENED, &sp);
	take_event(ea[0], DAPL_CM_DISCONNECTED);
	take_event(ea[1], DAPL_CM_NON_PEER_REJECTED);
	raw_ended(half);
	scm_ops.stop(world.a.cm);
	for (int i = 0; i < 4; i++)
		take(SEEN_GONE, ea[i]);
	close(half);
	close(fill[0]);
	close(hole);
	for (int i = 0; i < 4; i++)
		ep_del(ea[i]);
	for (int i = 0; i < 2; i++)
		ep_del(eb[i]);
}

#define HUNG_UP 16

/* Each hang-up has the active side dial again, while stop() takes it down. */
static void stop__while_peers_hang_up(void **state)
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
			close(raw_accept(fd));
		scm_ops.stop(world.a.cm);
		for (int i = 0; i < HUNG_UP; i++) {
			take(SEEN_GONE, ea[i]);
			/* Its end was quicker. */
			if (pending(SEEN_EVENT, ea[i]))
				take(SEEN_EVENT, ea[i]);
			ep_del(ea[i]);
		}
		close(fd);
		side_close(&world.a);
		side_open(&world.a, world_provider.params_a);
	}
}

/* --------------------------------------------------------- port range */

static void connect__from_a_range_of_ports(void **state)
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

static void connect__range_used_up(void **state)
{
	struct scm *cm = (struct scm *)world.a.cm;
	DAT_CONN_QUAL qual = free_qual();
	struct dapl_sp sp = {.side = &world.b};
	struct dapl_cm_listener *l = listen_on(&sp, qual);
	struct dapl_ep *ea = ep_new(&world.a), *other = ep_new(&world.a);
	struct dapl_cm_conn *ca, *co, *cb;
	struct sockaddr_storage addr;
	struct dapl_cm_connect req = {.qp = other->cfg,
				      .addr = (struct sockaddr *)&addr,
				      .qual = qual};

	cm->ports.first = cm->ports.last = raw_free_port();
	ca = begin(ea, qual, NULL, 0);
	cb = take(SEEN_REQUEST, &sp).conn;
	/* No peer has refused that. */
	peer_b(&addr);
	assert_int_equal(scm_ops.prepare(world.a.cm, other, &co), 0);
	other->refs++;
	assert_int_equal(scm_ops.connect(co, &req), -ENOBUFS);
	assert_non_null(strstr(dapl__fail_text(), "DAPL_SCM_PORT_RANGE"));
	finish(co, other);
	world_release(cb);
	take_event(ea, DAPL_CM_NON_PEER_REJECTED);
	finish(ca, ea);
	unlisten(&sp, l);
	ep_del(ea);
	ep_del(other);
}

/* ------------------------------------------------------------ failures */

static void scm_accept__queue_pair_fails(void **state)
{
	struct pair p;

	pair_meet(&world, &p, free_qual());
	p.eb->fail_modify = 1;
	pair_accept(&p, NULL, 0);
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
	finish(p.ca, p.ea);
	finish(p.cb, p.eb);
	pair_end(&p);
}

static void scm_connect__queue_pair_fails(void **state)
{
	struct pair p;

	pair_meet(&world, &p, free_qual());
	p.ea->fail_modify = 1;
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_BROKEN);
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
	finish(p.ca, p.ea);
	finish(p.cb, p.eb);
	pair_end(&p);
}

#define test(f)	   cmocka_unit_test_setup_teardown(f, setup, teardown)
#define test_ib(f) cmocka_unit_test_setup_teardown(f, setup_ib, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(connect__both_sides),
		{"connect__both_sides.ib", connect__both_sides, setup_ib,
		 teardown, NULL},
		test(connect__largest_private_data),
		test(connect__ipv6),
		test(connect__addresses_that_cannot_be),
		test(disconnect__by_either_side),
		test(disconnect__both_at_once),
		test(disconnect__inside_the_upcall),
		test(release__of_an_established_connection),
		test(scm_reject__by_the_consumer),
		test(reject__by_the_provider),
		test(connect__more_than_there_is_room_for),
		test(connect__given_up_for_want_of_room),
		test(scm_connect__nobody_listens),
		test(connect__not_to_itself),
		test(listen__qualifiers),
		test(unlisten__inside_the_request),
		test(release__before_the_answer),
		test(release__at_once),
		test(release__while_nobody_answers),
		test(connect__a_thousand),
		test(stop__with_everything_open),
		test(stop__while_peers_hang_up),
		test(connect__from_a_range_of_ports),
		test(connect__range_used_up),
		test(scm_accept__queue_pair_fails),
		test(scm_connect__queue_pair_fails),
	};

	alarm(300);
	return cmocka_run_group_tests_name("t_scm_conn", tests, NULL, NULL);
}
