/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * data.c - what dtest puts into its buffers, and whether it arrived.
 *
 * Does not move anything.
 * Threads: one. Ownership: the buffers are those of struct dtest.
 * Rule: contents that either side may expect of the other are historic: the
 * texts, the fill bytes 'a' and 'b', the counters, the cycle of patterns. So
 * data of an old peer can be checked too. Messages carry a pattern of ours
 * that announces itself; an old peer does not send it and ignores it.
 */
#include "test/dtest/dtest.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define FILL_RECV     'a'
#define FILL_SEND     'b'
#define STREAM_TEXT   "rdma writes completed == "
#define STREAM_OFFSET 25
#define TEXT_MAX      64

static const uint8_t pattern_magic[8] = {0, 'd', 't', 'p', 'a', 't', 0xd7, 1};

static const char *role(bool server)
{
	return server ? "server" : "client";
}

/* The text at the start of a buffer; returns its bytes with the NUL. */
static size_t write_text(bool server, uint8_t text[TEXT_MAX])
{
	return (size_t)snprintf((char *)text, TEXT_MAX, "%s RDMA write data...",
				role(server)) +
	       1;
}

static size_t stream_text(bool server, uint32_t index, uint8_t text[TEXT_MAX])
{
	write_text(server, text);
	return (size_t)snprintf((char *)text + STREAM_OFFSET,
				TEXT_MAX - STREAM_OFFSET, STREAM_TEXT "%u",
				index + 1) +
	       STREAM_OFFSET + 1;
}

static size_t read_text(bool server, uint8_t text[TEXT_MAX])
{
	return (size_t)snprintf((char *)text, TEXT_MAX, "%s RDMA read data...",
				role(server)) +
	       1;
}

/* Texts may be longer than the message; each buffer has a page at least. */
void dtest_fill_write(struct dtest *d)
{
	uint8_t text[TEXT_MAX];
	size_t n = write_text(d->run.server, text);

	memset(d->rbuf.base, FILL_RECV, d->o->size);
	memset(d->sbuf.base, FILL_SEND, d->o->size);
	/* The ping-pongs send the fill bytes only. */
	if (d->o->mode == DTEST_ALL || d->o->mode == DTEST_STREAM)
		memcpy(d->sbuf.base, text, n);
}

void dtest_fill_stream(struct dtest *d, uint32_t index)
{
	uint8_t text[TEXT_MAX];
	size_t n = stream_text(d->run.server, index, text);

	memcpy(d->sbuf.base, text, n);
	d->sbuf.base[d->o->size - 1] = (uint8_t)index;
}

void dtest_fill_read(struct dtest *d)
{
	static const char old[] = "blah, blah, blah\n";
	uint8_t text[TEXT_MAX];
	size_t n = read_text(d->run.server, text);

	memcpy(d->rbuf.base, text, n);
	memcpy(d->sbuf.base, old, sizeof(old));
}

/* What the last write of one side leaves behind at an offset. */
static uint8_t written(const struct dtest *d, bool by_server,
		       const uint8_t *text, size_t n, size_t offset)
{
	bool stream = d->o->mode == DTEST_STREAM;

	if (stream && offset == d->o->size - 1)
		return (uint8_t)(d->o->count - 1);
	return offset < n ? text[offset] : FILL_SEND;
}

int64_t dtest_check_write(const struct dtest *d, uint8_t *ret_want)
{
	uint8_t text[TEXT_MAX];
	size_t n;

	n = d->o->mode == DTEST_STREAM
		    ? stream_text(!d->run.server, d->o->count - 1, text)
		    : write_text(!d->run.server, text);
	for (size_t i = 0; i < d->o->size; i++) {
		*ret_want = written(d, !d->run.server, text, n, i);
		if (d->rbuf.base[i] != *ret_want)
			return (int64_t)i;
	}
	return -1;
}

/*
 * The peer puts its text for reads over what our writes left there, and
 * nothing says when. So each byte may be the old one or the new one.
 */
int64_t dtest_check_read(const struct dtest *d, uint8_t *ret_want)
{
	uint8_t old[TEXT_MAX], now[TEXT_MAX];
	size_t n_old = write_text(d->run.server, old);
	size_t n_now = read_text(!d->run.server, now);
	bool wrote = d->o->count && !(d->o->uni && d->run.server);

	for (size_t i = 0; i < d->o->size; i++) {
		uint8_t got = d->sbuf.base[i];

		*ret_want = wrote ? written(d, d->run.server, old, n_old, i)
				  : FILL_RECV;
		if (got != *ret_want && !(i < n_now && got == now[i]))
			return (int64_t)i;
	}
	return -1;
}

/* Differs from byte to byte and from message to message. */
static uint8_t pattern(uint32_t index, size_t offset)
{
	uint32_t x = (uint32_t)offset * 2654435761u ^ index * 40503u;

	return (uint8_t)(x >> 24 ^ x >> 8);
}

void dtest_fill_message(struct dtest *d, uint32_t index)
{
	uint8_t *p = d->sbuf.base;
	uint32_t size = d->o->size;

	if (d->o->verify == DTEST_VERIFY_FULL && size > sizeof(pattern_magic)) {
		memcpy(p, pattern_magic, sizeof(pattern_magic));
		for (size_t i = sizeof(pattern_magic); i < size; i++)
			p[i] = pattern(index, i);
	}
	p[0] = d->run.server ? 0xaa : 0x55;
}

int64_t dtest_check_message(const struct dtest *d, const uint8_t *msg,
			    uint32_t index, bool *ret_pattern,
			    uint8_t *ret_want)
{
	uint32_t size = d->o->size;

	*ret_pattern = false;
	*ret_want = d->run.server ? 0x55 : 0xaa;
	if (d->o->verify == DTEST_VERIFY_NONE)
		return -1;
	if (msg[0] != *ret_want)
		return 0;
	if (d->o->verify != DTEST_VERIFY_FULL ||
	    size <= sizeof(pattern_magic) ||
	    memcmp(msg + 1, pattern_magic + 1, sizeof(pattern_magic) - 1))
		return -1;
	*ret_pattern = true;
	for (size_t i = sizeof(pattern_magic); i < size; i++) {
		*ret_want = pattern(index, i);
		if (msg[i] != *ret_want)
			return (int64_t)i;
	}
	return -1;
}

/* 0x00, 0xff, 0x55, 0xaa, random, by round from 1; not the last byte. */
void dtest_fill_check(struct dtest *d, uint32_t length, uint32_t round)
{
	static const uint8_t fill[4] = {0x00, 0xff, 0x55, 0xaa};
	uint32_t kind = (round - 1) % 5, x = round * 2654435761u | 1;

	if (kind < 4) {
		memset(d->sbuf.base, fill[kind], length - 1);
		return;
	}
	for (size_t i = 0; i + 1 < length; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		d->sbuf.base[i] = (uint8_t)x;
	}
}

struct dtest_text dtest_text(const struct dtest *d, const uint8_t *buf)
{
	struct dtest_text t;
	size_t n = 0;

	while (n < sizeof(t.s) - 1 && n < d->o->size && buf[n]) {
		t.s[n] = isprint(buf[n]) ? (char)buf[n] : '.';
		n++;
	}
	t.s[n] = 0;
	return t;
}

int dtest_bad_data(struct dtest *d, const char *what, int64_t offset,
		   uint8_t got, uint8_t want)
{
	return dt_fail(&d->run.r, DT_FAILED,
		       "%s: wrong data at offset %" PRId64
		       ": got 0x%02x, wanted 0x%02x",
		       what, offset, got, want);
}
