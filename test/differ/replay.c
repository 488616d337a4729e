/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * replay.c - replay ADAPTER QUALIFIER FILE [KIND]: makes the calls of recorded
 * walks (`walk --record`) and prints what each answers; on a fake device of
 * that KIND if it has one below. Objects are named by their numbers in the
 * file. QUALIFIER 0: of its own. Compiled for both versions of DAT.
 *
 * Knows the public API only and judges nothing. The order of events is that of
 * the requests or the receives of one endpoint, or of its connection, on one
 * EVD: between these there is none. A walk ends where an event does not come,
 * since the rest hangs on it.
 */
#include "test/conform/ports.h"
#include "test/device.h"
#include "test/differ/parts.h"
#include "test/walk/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WALK_SECONDS 120
#define PATIENT_US   1000000 /* a wait of so long is for what is owed */
/* Those of a walk, and others before they are used again. */
#define QUALS 8

#if DAT_FACE == 2
#include <dat2/dat_ib_extensions.h>
/* Laid out as a transfer's. */
#define IS_DTO(number)                           \
	((number) == DAT_DTO_COMPLETION_EVENT || \
	 (number) == (int)DAT_IB_DTO_EVENT)
#else
#define IS_DTO(number) ((number) == DAT_DTO_COMPLETION_EVENT)
#endif

struct walk {
	char name[32];
	struct call *calls;
	int n;
};

static struct world world;
static const char *kind; /* of the device, NULL: a real one */
static struct call made[WALK_CALLS];
/* Of each endpoint, or other object: its events so far, by what they are of. */
enum stream {
	STREAM_REQUESTS,
	STREAM_RECEIVES,
	STREAM_CONNECTION,
	STREAMS
};
static int events[WALK_OBJS + 1][STREAMS];
static bool is_receive[65536]; /* by cookie */

/* Its number, the newest first: handles are used again. 0: none. */
static int number_of(DAT_HANDLE h)
{
	for (int i = WALK_OBJS; h && i-- > 1;)
		if (world.handle[i] == h)
			return i;
	return 0;
}

static enum stream stream_of(const DAT_EVENT *ev)
{
	uint64_t cookie;

	if (ev->event_number != DAT_DTO_COMPLETION_EVENT &&
	    ev->event_number >> 12 == 4)
		return STREAM_CONNECTION;
	cookie = ev->event_data.dto_completion_event_data.user_cookie.as_64;
	return is_receive[cookie % 65536] ? STREAM_RECEIVES : STREAM_REQUESTS;
}

/* "EVD 5, EP 9, connection 2" */
static void say_of(int evd, DAT_HANDLE ep, const DAT_EVENT *ev,
		   const char *value)
{
	static const char *const names[] = {"request", "receive", "connection"};
	enum stream s = stream_of(ev);
	int id = number_of(ep);
	char what[96];

	snprintf(what, sizeof(what), "EVD %d, EP %d, %s %d", evd, id, names[s],
		 ++events[id][s]);
	say(what, "%s", value);
}

static void say_dto(int evd, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d =
		&ev->event_data.dto_completion_event_data;
	char text[128];

	/* of what failed nothing was moved */
	snprintf(text, sizeof(text),
		 "0x%x, cookie %" PRIu64 ", status %d, length %" PRIu64,
		 (unsigned)ev->event_number, (uint64_t)d->user_cookie.as_64,
		 (int)d->status,
		 d->status ? 0 : (uint64_t)d->transfered_length);
	say_of(evd, d->ep_handle, ev, text);
}

static void say_request(const struct call *c, const struct result *r)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *d =
		&r->ev.event_data.cr_arrival_event_data;
	char what[64];

	snprintf(what, sizeof(what), "request %d", c->out);
	say(what,
	    "EVD %d, service point %d, qualifier +%d, serial %u, endpoint %d",
	    c->h[0], number_of(d->sp_handle.psp_handle),
	    (int)(d->conn_qual - world.qual), r->serial, number_of(r->brought));
}

static void say_event(const struct call *c, const struct result *r)
{
	const DAT_EVENT *ev = &r->ev;
	char text[64];

	if (IS_DTO(ev->event_number)) {
		say_dto(c->h[0], ev);
		return;
	}
	snprintf(text, sizeof(text), "0x%x", (unsigned)ev->event_number);
	switch ((unsigned)ev->event_number) {
	case DAT_SOFTWARE_EVENT:
		snprintf(text, sizeof(text), "EVD %d, software", c->h[0]);
		say(text, "%" PRIuPTR ", %d more",
		    (uintptr_t)ev->event_data.software_event_data.pointer,
		    (int)r->more);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		say_request(c, r);
		break;
	default:
		if (ev->event_number >> 12 == 4)
			say_of(c->h[0],
			       ev->event_data.connect_event_data.ep_handle, ev,
			       text);
		else
			say("event", "%s", text);
	}
}

static void say_result(const char *what, const struct call *c,
		       const struct result *r)
{
	const DAT_EP_PARAM *ep = &r->ep_param;

	switch (c->op) {
	case OP_EVD_WAIT:
	case OP_EVD_DEQUEUE:
		say_event(c, r);
		break;
	case OP_HANDLE_TYPE:
		say(what, "type %d", (int)r->type);
		break;
	case OP_GET_CONTEXT:
		say(what, "context %" PRIu64, (uint64_t)r->context.as_64);
		break;
	case OP_CNO_WAIT:
		say(what, "EVD %d", number_of(r->evd));
		break;
	case OP_EP_STATUS:
		say(what, "state %d", (int)r->state);
		break;
	case OP_EP_QUERY:
		say(what, "state %d, PZ %d, EVDs %d %d %d", (int)ep->ep_state,
		    number_of(ep->pz_handle), number_of(ep->recv_evd_handle),
		    number_of(ep->request_evd_handle),
		    number_of(ep->connect_evd_handle));
		break;
	case OP_EVD_QUERY:
		say(what, "IA %d, CNO %d", number_of(r->evd_param.ia_handle),
		    number_of(r->evd_param.cno_handle));
		break;
	case OP_LMR_QUERY:
		say(what, "PZ %d, length %" PRIu64,
		    number_of(r->lmr_param.pz_handle),
		    (uint64_t)r->lmr_param.length);
		break;
	case OP_PSP_QUERY:
	case OP_RSP_QUERY:
		say(what, "EVD %d",
		    number_of(c->op == OP_PSP_QUERY ? r->psp_param.evd_handle
						    : r->rsp_param.evd_handle));
		break;
	}
}

/* What it names was made here, too. */
static bool can(const struct call *c)
{
	for (int i = 0; i < 6; i++)
		if (c->h[i] >= 0 && !world.handle[c->h[i]])
			return false;
	return true;
}

static void name_call(char *what, size_t size, int i, const struct call *c)
{
	size_t at = (size_t)snprintf(what, size, "%d %s", i, call_name(c->op));

	for (int h = 0; h < 6 && at < size; h++)
		if (c->h[h] >= 0)
			at += (size_t)snprintf(what + at, size - at, " %d",
					       c->h[h]);
}

static void play(void *arg)
{
	const struct walk *w = arg;
	struct result r;
	char what[96];

	if (!device_make(kind)) {
		say("device", "there is none of this kind");
		return;
	}
	for (int i = 0; i < w->n; i++) {
		const struct call *c = &w->calls[i];
		bool reads = c->op == OP_EVD_WAIT || c->op == OP_EVD_DEQUEUE;

		name_call(what, sizeof(what), i + 1, c);
		if (!can(c)) {
			say(what, "an object is missing");
			continue;
		}
		if (c->op >= OP_POST_SEND && c->op <= OP_POST_READ)
			is_receive[c->n[3] % 65536] = c->op == OP_POST_RECV;
		call_make(&world, c, &r);
		/* Which of several waits has an event is not compared. */
		if (!reads || r.ret != DAT_SUCCESS)
			answer(what, r.ret);
		if (r.ret == DAT_SUCCESS)
			say_result(what, c, &r);
		else if (c->op == OP_EVD_WAIT && c->n[0] >= PATIENT_US)
			return;
	}
}

/* ------------------------------------------------------------ the file */

static _Noreturn void bad(const char *file, int line)
{
	fprintf(stderr, "replay: %s: line %d is no call\n", file, line);
	exit(2);
}

static void play_all(const char *name, FILE *f)
{
	struct walk w = {.calls = made};
	unsigned long long seed;
	char line[256];
	bool more;

	for (int at = 1;; at++) {
		more = fgets(line, sizeof(line), f);
		if (more && sscanf(line, "walk %llu", &seed) != 1) {
			if (line[0] == '#')
				continue;
			if (w.n == WALK_CALLS || !call_read(line, &made[w.n++]))
				bad(name, at);
			continue;
		}
		if (w.n) {
			run_part(w.name, WALK_SECONDS, play, &w);
			world.qual += QUALS;
		}
		if (!more)
			return;
		w.n = 0;
		snprintf(w.name, sizeof(w.name), "walk %llu", seed);
	}
}

int main(int argc, char **argv)
{
	FILE *f;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: %s ADAPTER QUALIFIER FILE [KIND]\n",
			argv[0]);
		return 2;
	}
	world.adapter = argv[1];
	world.qual = strtoull(argv[2], NULL, 0);
	if (!world.qual)
		world.qual = ports_own();
	kind = argv[4];
	f = fopen(argv[3], "r");
	if (!f) {
		perror(argv[3]);
		return 2;
	}
	play_all(argv[3], f);
	fclose(f);
	return 0;
}
