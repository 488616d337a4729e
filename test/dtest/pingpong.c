/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pingpong.c - the two ping-pongs of dtest: RDMA writes and messages.
 *
 * Does not synchronise the sides: round 1 of a size begins when the client
 * writes, and nobody writes out of turn.
 * Threads: one. Ownership: buffers are those of struct dtest.
 * Rule: the write ping-pong looks at the last byte of the buffer, where the
 * round's number modulo 256 arrives last; that is what the historic tool does
 * and what the adapters it knew guaranteed. A time is half a round trip.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPINS 1024

static uint8_t peek(const uint8_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Waits until the last byte of the buffer is the round's. */
static int wait_byte(struct dtest *d, uint32_t length, uint32_t round)
{
	const uint8_t *last = d->rbuf.base + length - 1;
	uint64_t deadline = dt_deadline(d->run.limit_ns);
	uint8_t want = (uint8_t)round;
	int rc;

	/* Asked here too: with a quick peer the loop below never gets there. */
	if (dt_stopped())
		return dt_wait_fail(&d->run.r, &d->run.w, -EINTR,
				    "the peer's RDMA write");
	for (;;) {
		for (int i = 0; i < SPINS; i++)
			if (peek(last) == want)
				return 0;
		rc = dt_spin_check(&d->run.w, deadline);
		/* The last write may have come before the peer left. */
		if (rc && peek(last) != want)
			return dt_wait_fail(&d->run.r, &d->run.w, rc,
					    "the peer's RDMA write");
	}
}

/* Completions are polled for, whatever -p and -c say, as ever. */
static int reap(struct dtest *d, uint32_t length, uint32_t round)
{
	enum dt_wait_mode mode = d->run.w.mode;
	int rc;

	d->run.w.mode = DT_WAIT_POLL;
	rc = dtest_complete(d, d->req_evd, d->run.limit_ns, round, length,
			    "RDMA write");
	d->run.w.mode = mode;
	return rc;
}

static bool signalled(const struct dtest *d, uint32_t round)
{
	return round % d->o->signal == 0 || round == d->o->count;
}

/*
 * The place where the next size's rounds arrive must not hold their first
 * number by chance. Only called while the peer waits for this side.
 */
static void clear_last(struct dtest *d, uint32_t length)
{
	__atomic_store_n(d->rbuf.base + length - 1, 0xff, __ATOMIC_RELEASE);
}

static int check_echo(struct dtest *d, uint32_t length, uint32_t round)
{
	const uint8_t *want = d->sbuf.base, *got = d->rbuf.base;

	if (d->o->verify != DTEST_VERIFY_FULL || !memcmp(want, got, length))
		return 0;
	for (uint32_t i = 0; i < length; i++) {
		char what[64];

		if (got[i] == want[i])
			continue;
		snprintf(what, sizeof(what), "echo of round %u, %u bytes",
			 round, length);
		return dtest_bad_data(d, what, i, got[i], want[i]);
	}
	return 0;
}

static int client_round(struct dtest *d, uint32_t length, uint32_t round)
{
	bool check = d->o->mode == DTEST_CHECK;
	uint64_t start;
	int rc;

	if (check)
		dtest_fill_check(d, length, round);
	d->sbuf.base[length - 1] = (uint8_t)round;
	start = dt_now_ns();
	rc = dtest_post_write(d, length, round, signalled(d, round));
	if (!rc)
		rc = wait_byte(d, length, round);
	if (rc)
		return rc;
	dt_samples_add(&d->samples, dt_now_ns() - start);
	if (signalled(d, round))
		rc = reap(d, length, round);
	if (!rc && check)
		rc = check_echo(d, length, round);
	return rc;
}

/* The four uniform patterns are known on this side too. */
static int check_pattern(struct dtest *d, uint32_t length, uint32_t round)
{
	uint8_t *got = d->rbuf.base;
	char what[64];

	if ((round - 1) % 5 == 4)
		return 0;
	dtest_fill_check(d, length, round);
	if (!memcmp(got, d->sbuf.base, length - 1))
		return 0;
	for (uint32_t i = 0; i + 1 < length; i++) {
		if (got[i] == d->sbuf.base[i])
			continue;
		snprintf(what, sizeof(what), "write of round %u, %u bytes",
			 round, length);
		return dtest_bad_data(d, what, i, got[i], d->sbuf.base[i]);
	}
	return 0;
}

/* next: length of the following size, 0 at the end. */
static int server_round(struct dtest *d, uint32_t length, uint32_t round,
			uint32_t next, uint64_t *last_arrival)
{
	int rc = wait_byte(d, length, round);
	uint64_t now = dt_now_ns();
	/*
	 * The client may disconnect on the very last write before this side
	 * has the completion, which then would be flushed.
	 */
	bool very_last = !next && round == d->o->count;
	bool signal = signalled(d, round) && !very_last;

	if (!rc && *last_arrival)
		dt_samples_add(&d->samples, now - *last_arrival);
	*last_arrival = now;
	if (!rc && d->o->mode == DTEST_CHECK) {
		rc = check_pattern(d, length, round);
		memcpy(d->sbuf.base, d->rbuf.base, length);
	}
	d->sbuf.base[length - 1] = (uint8_t)round;
	if (!rc && next && round == d->o->count)
		clear_last(d, next);
	if (!rc)
		rc = dtest_post_write(d, length, round, signal);
	if (!rc && signal)
		rc = reap(d, length, round);
	return rc;
}

/* The client's times begin afterwards; the server's pauses would be in them. */
static void show_progress(struct dtest *d, uint32_t length, uint32_t done,
			  uint32_t count)
{
	if (!d->run.server)
		dt_progress(&d->run.r, "%u bytes, round %u of %u", length, done,
			    count);
}

static int one_size(struct dtest *d, uint32_t length, uint32_t next)
{
	uint64_t start, arrival = 0, total;
	int rc = 0;

	dt_samples_clear(&d->samples);
	/* The server cleared it before its last answer. */
	if (!d->run.server)
		clear_last(d, length);
	start = dt_now_ns();
	for (uint32_t round = 1; !rc && round <= d->o->count; round++) {
		rc = d->run.server
			     ? server_round(d, length, round, next, &arrival)
			     : client_round(d, length, round);
		show_progress(d, length, round, d->o->count);
	}
	total = dt_now_ns() - start;
	if (!rc)
		dtest_report_pingpong(d, "RDMA write", "write_pingpong", length,
				      d->o->count, total);
	return rc;
}

int dtest_write_pingpong(struct dtest *d)
{
	size_t n = dtest_sizes(d->o, NULL, 0);
	uint32_t *sizes = calloc(n, sizeof(*sizes));
	int rc = 0;

	if (!sizes)
		return dt_fail(&d->run.r, DT_ENVIRONMENT,
			       "no memory for %zu sizes", n);
	dtest_sizes(d->o, sizes, n);
	dt_say(&d->run.r, "\n %d RDMA write ping-pong%s\n\n", d->run.r.pid,
	       d->o->mode == DTEST_CHECK ? ", data checked" : "");
	for (size_t i = 0; !rc && i < n; i++)
		rc = one_size(d, sizes[i], i + 1 < n ? sizes[i + 1] : 0);
	free(sizes);
	return rc;
}

/* Receives for the first messages; the others are posted as these arrive. */
int dtest_post_messages(struct dtest *d)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < DTEST_SLOTS; i++)
		rc = dtest_post_recv(d, &d->rbuf, (size_t)i * d->o->size,
				     d->o->size, i);
	return rc;
}

static int send_message(struct dtest *d, uint32_t index)
{
	dtest_fill_message(d, index);
	/* The peer's answer, or its orderly end, is completion enough. */
	return dtest_post_send(d, &d->sbuf, d->o->size, false);
}

static int receive_message(struct dtest *d, uint32_t index, bool *ret_pattern)
{
	uint32_t slot = index % DTEST_SLOTS, size = d->o->size;
	size_t offset = (size_t)slot * size;
	const uint8_t *msg = d->rbuf.base + offset;
	uint8_t want;
	int64_t at;
	int rc;

	rc = dtest_complete(d, d->rcv_evd, d->run.limit_ns, slot, size,
			    "message of the peer");
	if (rc)
		return rc;
	at = dtest_check_message(d, msg, index, ret_pattern, &want);
	if (at >= 0) {
		char what[32];

		snprintf(what, sizeof(what), "message %u", index);
		return dtest_bad_data(d, what, at, msg[at], want);
	}
	if (index + DTEST_SLOTS < DTEST_PINGS)
		rc = dtest_post_recv(d, &d->rbuf, offset, size, slot);
	return rc;
}

static int message_round(struct dtest *d, uint32_t index, uint64_t *mark,
			 bool *ret_pattern)
{
	uint64_t now;
	int rc = 0;

	if (!d->run.server) {
		*mark = dt_now_ns();
		rc = send_message(d, index);
	}
	if (!rc)
		rc = receive_message(d, index, ret_pattern);
	now = dt_now_ns();
	if (!rc && *mark)
		dt_samples_add(&d->samples, now - *mark);
	if (d->run.server) {
		*mark = now;
		if (!rc)
			rc = send_message(d, index);
	}
	return rc;
}

int dtest_message_pingpong(struct dtest *d)
{
	uint64_t start, mark = 0;
	bool pattern = false;
	int rc = 0;

	dt_say(&d->run.r, "\n %d Message ping-pong\n\n", d->run.r.pid);
	/* An old server posts its receives after its token, unannounced. */
	if (!d->run.server && !d->run.peer_is_ours && !dt_pause(DT_NS_PER_S))
		return dt_wait_fail(&d->run.r, &d->run.w, -EINTR, "the peer");
	dt_samples_clear(&d->samples);
	start = dt_now_ns();
	for (uint32_t i = 0; !rc && i < DTEST_PINGS; i++) {
		rc = message_round(d, i, &mark, &pattern);
		show_progress(d, d->o->size, i + 1, DTEST_PINGS);
	}
	if (rc)
		return rc;
	if (d->o->verify == DTEST_VERIFY_FULL && !pattern)
		dt_say(&d->run.r,
		       "%d: the peer's messages carry no pattern; only their "
		       "length and first byte were checked\n",
		       d->run.r.pid);
	dtest_report_pingpong(d, "Message", "message_pingpong", d->o->size,
			      DTEST_PINGS, dt_now_ns() - start);
	return 0;
}
