/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rank.c - verdicts, wires and data of a rank.
 *
 * Calls nothing of DAT and reads no clock: the runner cuts off what does not
 * end. Called by a rank's own thread; verdicts and data by any of its threads.
 * Rule: rank.h.
 */
#include "test/consumers/rank.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SPINS 32

void rank_fail(struct rank *r, const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	size_t used;
	va_list ap;

	snprintf(r->note->failed, RANK_NOTE, "%s:%d: ", base ? base + 1 : file,
		 line);
	used = strlen(r->note->failed);
	va_start(ap, fmt);
	vsnprintf(r->note->failed + used, RANK_NOTE - used, fmt, ap);
	va_end(ap);
	/* no destructors: threads of the provider may be in the way */
	_exit(EXIT_FAILURE);
}

void rank_waits(struct rank *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->note->waits_for, RANK_NOTE, fmt, ap);
	va_end(ap);
}

void rank_skip(struct rank *r, const char *reason)
{
	snprintf(r->note->skipped, RANK_NOTE, "%s", reason);
}

void rank_die(struct rank *r)
{
	r->note->dies = true;
	kill(getpid(), SIGKILL);
	_exit(EXIT_FAILURE); /* not reached */
}

/* ------------------------------------------------------------------ wires */

void rank_send(struct rank *r, int to, const void *buf, size_t size)
{
	const char *p = buf;
	ssize_t n;

	while (size) {
		n = write(r->fd[to], p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			RANK_FAIL(r, "the wire to rank %d: %m", to);
		p += n;
		size -= (size_t)n;
	}
}

void rank_recv(struct rank *r, int from, void *buf, size_t size)
{
	char *p = buf;
	ssize_t n;

	while (size) {
		n = read(r->fd[from], p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			RANK_FAIL(r, "the wire from rank %d: %m", from);
		if (!n)
			RANK_FAIL(r, "rank %d has gone", from);
		p += n;
		size -= (size_t)n;
	}
}

void rank_allgather(struct rank *r, const void *mine, size_t size, void *all)
{
	char *p = all;

	memcpy(p + (size_t)r->id * size, mine, size);
	for (int i = 0; i < r->n; i++)
		if (i != r->id)
			rank_send(r, i, mine, size);
	for (int i = 0; i < r->n; i++)
		if (i != r->id)
			rank_recv(r, i, p + (size_t)i * size, size);
}

void rank_barrier(struct rank *r)
{
	char all[RANKS_MAX], mine = 0;
	char before[RANK_NOTE];

	memcpy(before, r->note->waits_for, sizeof(before));
	rank_waits(r, "the other ranks, after: %.200s", before);
	rank_allgather(r, &mine, 1, all);
}

/* ------------------------------------------------------------------- data */

static uint8_t pattern(size_t at, int from, int to, unsigned int number)
{
	uint64_t x = (uint64_t)at * 0x9e3779b97f4a7c15u;

	x ^= ((uint64_t)number << 32) + ((uint64_t)from << 8) + (uint64_t)to;
	x *= 0xbf58476d1ce4e5b9u;
	return (uint8_t)(x >> 56);
}

void rank_fill(void *buf, size_t size, int from, int to, unsigned int number)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < size; i++)
		p[i] = pattern(i, from, to, number);
}

void rank_check(struct rank *r, const void *buf, size_t size, int from, int to,
		unsigned int number)
{
	const uint8_t *p = buf;

	for (size_t i = 0; i < size; i++)
		if (p[i] != pattern(i, from, to, number))
			RANK_FAIL(r,
				  "message %u from %d to %d: byte %zu of %zu "
				  "is 0x%02x, not 0x%02x",
				  number, from, to, i, size, p[i],
				  pattern(i, from, to, number));
}

/* One byte more is not the rank's. */
struct rank_kept {
	struct rank_kept *before;
	uint64_t data[];
};

void *rank_keep(struct rank *r, size_t size)
{
	struct rank_kept *k = calloc(1, sizeof(*k) + size);

	if (!k)
		RANK_FAIL(r, "no memory");
	k->before = r->kept;
	r->kept = k;
	return k->data;
}

/* Who looks again and again keeps those from the processor that it waits for.
 */
void rank_spin(void)
{
	static const struct timespec pause = {.tv_nsec = 300000};
	static __thread unsigned int looks;

	if (++looks % SPINS)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}
