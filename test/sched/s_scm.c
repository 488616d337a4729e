/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_scm.c - what only streams have: strangers at the port of a listener,
 * descriptors that run out, buffers that are full, a network that is cut. The
 * endpoints hear of all that as of any other end, once.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/openib_scm/scm.h"
#include "test/sched/engine.h"
#include "test/sched/scenario.h"
#include "test/sched/tcp.h"

static struct {
	struct world *w;
	bool accepted;
} st;

static void await_end(struct world_side *s)
{
	while ((unsigned)await_event(s->conn_evd).event_number ==
	       DAT_CONNECTION_EVENT_ESTABLISHED)
		;
}

static void connects(void *arg)
{
	need_ok(kit_connect(st.w->client.ep, DAT_TIMEOUT_INFINITE, NULL, 0));
}

/* What comes, if it comes. */
static void accepts_if_asked(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (V(evd_wait)(s->cr_evd, 100000, 1, &ev, &more) != DAT_SUCCESS)
		return;
	st.accepted =
		need_type(V(cr_accept)(
				  ev.event_data.cr_arrival_event_data.cr_handle,
				  s->ep, 0, NULL),
			  DAT_SUCCESS, DAT_INVALID_STATE) == DAT_SUCCESS;
}

/* Both ends, and whoever comes later finds the endpoints as they were. */
static void need_over(void)
{
	struct world_side *s = &st.w->server, *c = &st.w->client;

	await_end(c);
	expect_empty(c->conn_evd);
	if (st.accepted)
		await_end(s);
	expect_empty(s->conn_evd);
}

/* ------------------------------------------------- strangers */

static const unsigned char words[8] = {0, 8, 0, 1};

static int dials_listener(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	to.sin_port = htons((uint16_t)(WORLD_QUAL + 1000));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
	return fd;
}

/* Somebody who connects, and says nothing, or nothing of use, or a part. */
static void is_stranger(void *arg)
{
	int fd = dials_listener();

	for (unsigned n = sched_dice(6); n; n--) {
		world_pause();
		(void)send(fd, words, sched_dice(sizeof(words)), MSG_NOSIGNAL);
	}
	close(fd);
}

/* And one who is long about it. */
static void is_talkative(void *arg)
{
	int fd = dials_listener();

	for (size_t i = 0; i < sizeof(words); i++) {
		world_pause();
		(void)send(fd, &words[i], 1, MSG_NOSIGNAL);
	}
	close(fd);
}

static void accepts(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_EVENT ev = await_event(s->cr_evd);

	need_ok(V(cr_accept)(ev.event_data.cr_arrival_event_data.cr_handle,
			     s->ep, 0, NULL));
}

/* There is room for one that has not asked; who asks gets through. */
SCENARIO_SCM(strangers__against_a_request)
{
	struct dapl_cm *cm = ((struct dapl_ia *)s->ia)->cm;

	st.w = w;
	((struct scm *)cm)->limits.half_open_max = 1 + sched_dice(2);
	kit_ready(w);
	actor(is_stranger, NULL);
	actor(is_stranger, NULL);
	actor(is_stranger, NULL);
	actor(connects, NULL);
	actor(accepts, NULL);
	play();
	kit_established(w);
	expect_empty(s->cr_evd);
}

/* ------------------------------------- dialed while all ends */

static void dials_and_closes(void *arg)
{
	struct world_side *s = &st.w->server;

	need_ok(world_ask(s->ep, world_addr(), WORLD_QUAL + 1));
	world_pause();
	need_ok(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	world_forget_ia(s->ia);
	s->ia = NULL;
}

/*
 * What a stranger says has the service thread dial first. The adapter is closed
 * meanwhile, and waits for the stranger's stream when it has looked at the one
 * that is dialed.
 */
SCENARIO_SCM(ia_close__while_a_stranger_has_it_dial)
{
	st.w = w;
	engine_dawdles();
	kit_listen(w);
	s->ep = world_ep(s, NULL);
	actor(dials_and_closes, NULL);
	for (int i = 0; i < 4; i++)
		actor(is_talkative, NULL);
	play();
}

/* ------------------------------------- something is used up */

static void uses_up_files(void *arg)
{
	world_pause();
	tcp_set_full(true);
	for (unsigned n = sched_dice(10); n; n--)
		world_pause();
	tcp_set_full(false);
}

SCENARIO_SCM(files__used_up_while_a_request_comes)
{
	st.w = w;
	kit_ready(w);
	connects(NULL);
	actor(uses_up_files, NULL);
	actor(accepts, NULL);
	play();
	kit_established(w);
}

static void fills(void *arg)
{
	for (unsigned n = sched_dice(4); n; n--)
		world_pause();
	tcp_set_room(1 + sched_dice(200));
}

static void disconnects(void *arg)
{
	need_type(V(ep_disconnect)(st.w->client.ep, DAT_CLOSE_ABRUPT_FLAG),
		  DAT_SUCCESS, DAT_INVALID_STATE);
}

/* A message that a stream does not take ends that. */
SCENARIO_SCM(stream__full)
{
	st.w = w;
	kit_ready(w);
	actor(connects, NULL);
	actor(accepts_if_asked, NULL);
	actor(fills, NULL);
	play();
	disconnects(NULL);
	need_over();
}

/* ------------------------------------------------------- cut */

static void cuts(void *arg)
{
	for (unsigned n = sched_dice(10); n; n--)
		world_pause();
	tcp_cut();
}

SCENARIO_SCM(network__cut)
{
	st.w = w;
	kit_ready(w);
	actor(connects, NULL);
	actor(accepts_if_asked, NULL);
	actor(cuts, NULL);
	play();
	need_over();
}

/* The one who disconnects has not to wait for TCP. */
SCENARIO_SCM(network__cut_against_disconnect)
{
	uint64_t began = world_now_us();

	st.w = w;
	world_connect(w);
	actor(cuts, NULL);
	actor(disconnects, NULL);
	play();
	await_end(c);
	need(world_now_us() - began < 10000000);
	await_end(s);
	expect_empty(c->conn_evd);
	expect_empty(s->conn_evd);
}
