/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_frame.c - scm_frame_*: golden bytes (test/wire), any segmentation,
 * every form of a message, hostile bytes.
 */
#include <string.h>

#include "dapl/openib_scm/scm_frame.h"
#include "test/unit/case.h"
#include "test/wire/wire.h"

static void feed(struct scm_frame *f, const void *bytes, size_t n)
{
	size_t room;
	uint8_t *at = scm_frame_room(f, &room);

	assert_true(n <= room);
	memcpy(at, bytes, n);
	scm_frame_read(f, n);
}

static void feed_file(struct scm_frame *f, const char *name)
{
	uint8_t buf[SCM_FRAME_MAX];

	feed(f, buf, wire_load(name, buf, sizeof(buf)));
}

static void next_is(struct scm_frame *f, enum scm_item item)
{
	struct dcm_msg msg;

	assert_int_equal(scm_frame_next(f, &msg), item);
}

static void nothing(struct scm_frame *f)
{
	next_is(f, SCM_ITEM_NONE);
}

static struct dcm_msg message(struct scm_frame *f, unsigned op)
{
	struct dcm_msg msg;

	assert_int_equal(scm_frame_next(f, &msg), SCM_ITEM_MSG);
	assert_int_equal(msg.op, op);
	return msg;
}

/* The private data of the golden request: 50 51 .. 5f 50 .. 53. */
static void is_request(const struct dcm_msg *msg)
{
	struct dcm_ib ib;

	assert_int_equal(msg->p_size, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(msg->pdata[i], 0x50 + i % 16);
	for (int i = 20; i < DCM_PDATA; i++)
		assert_int_equal(msg->pdata[i], 0);
	dcm_block_get_ib(&msg->saddr, &ib);
	assert_int_equal(ib.qpn, 0x14);
	assert_int_equal(ib.qp_type, DCM_QP_RC);
}

static void is_reply(const struct dcm_msg *msg)
{
	assert_int_equal(msg->p_size, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(msg->pdata[i], 0xa0 + i);
}

/* ------------------------------------------------------- golden bytes */

CASE(golden__decode)
{
	struct scm_frame f;
	struct dcm_msg msg;

	scm_frame_passive(&f);
	feed_file(&f, "scm-req");
	msg = message(&f, DCM_REQ);
	is_request(&msg);
	assert_int_equal(msg.version, 9);
	nothing(&f);
	scm_frame_accepted(&f);
	feed_file(&f, "scm-rtu");
	msg = message(&f, DCM_RTU);
	assert_int_equal(msg.version, 9);
	feed_file(&f, "scm-bye");
	next_is(&f, SCM_ITEM_BYE);

	scm_frame_active(&f, false);
	feed_file(&f, "scm-rep");
	msg = message(&f, DCM_REP);
	is_reply(&msg);
	feed_file(&f, "scm-bye");
	next_is(&f, SCM_ITEM_BYE);

	scm_frame_active(&f, false);
	feed_file(&f, "scm-rej-user");
	msg = message(&f, DCM_REJ_USER);
	assert_int_equal(msg.p_size, 12);
	assert_int_equal(msg.pdata[11], 0xab);
}

static void same(const struct dcm_msg *msg, bool filler, const char *name)
{
	uint8_t golden[SCM_FRAME_MAX], buf[SCM_FRAME_MAX];
	size_t n = wire_load(name, golden, sizeof(golden));

	assert_int_equal(scm_frame_encode(msg, filler, buf), n);
	assert_memory_equal(buf, golden, n);
}

static struct dcm_msg golden(const char *name, bool passive, unsigned op)
{
	struct scm_frame f;

	if (passive)
		scm_frame_passive(&f);
	else
		scm_frame_active(&f, false);
	feed_file(&f, name);
	return message(&f, op);
}

CASE(golden__encode)
{
	struct dcm_msg msg = golden("scm-req", true, DCM_REQ);

	same(&msg, false, "scm-req");
	msg = golden("scm-rep", false, DCM_REP);
	same(&msg, false, "scm-rep");
	msg.op = DCM_RTU;
	same(&msg, false, "scm-rtu");
	same(&msg, true, "scm-rtu");
	msg.op = DCM_DREQ;
	same(&msg, false, "scm-bye");
	msg.op = DCM_DREP;
	same(&msg, true, "scm-bye");
	/* A reject has no other form, whoever asks. */
	msg = golden("scm-rej-user", false, DCM_REJ_USER);
	same(&msg, false, "scm-rej-user");
	same(&msg, true, "scm-rej-user");
}

CASE(golden__request_with_filler)
{
	struct dcm_msg msg = golden("scm-req-filler", true, DCM_REQ);
	uint8_t buf[SCM_FRAME_MAX], plain[SCM_FRAME_MAX];

	is_request(&msg);
	msg = golden("scm-v7-req", true, DCM_REQ);
	is_request(&msg);
	assert_int_equal(msg.version, 7);
	assert_int_equal(msg.mtu, 0);

	/* Ours has zeros where nobody looks. */
	msg = golden("scm-req", true, DCM_REQ);
	assert_int_equal(scm_frame_encode(&msg, true, buf), 170);
	wire_load("scm-req", plain, sizeof(plain));
	assert_memory_equal(buf, plain, DCM_HEADER);
	assert_int_equal(buf[148] | buf[149], 0);
	assert_memory_equal(buf + 150, plain + 148, 20);
}

/* --------------------------------------------------------- segments */

/* A passive stream from REQ to goodbye, cut after each N bytes. */
static void pieces(const char *request, size_t n)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load(request, buf, sizeof(buf)), at, part, room;
	struct scm_frame f;
	struct dcm_msg msg;

	scm_frame_passive(&f);
	for (at = 0; at < len; at += part) {
		nothing(&f);
		part = len - at < n ? len - at : n;
		feed(&f, buf + at, part);
	}
	msg = message(&f, DCM_REQ);
	is_request(&msg);
	nothing(&f);
	scm_frame_accepted(&f);
	wire_load("scm-rtu", buf, 4);
	wire_load("scm-bye", buf + 4, 4);
	for (at = 0; at < 8; at += part) {
		part = 8 - at < n ? 8 - at : n;
		scm_frame_room(&f, &room);
		if (part > room)
			part = room;
		feed(&f, buf + at, part);
		/* RTU is read alone: the goodbye waits for its turn. */
		if (at + part == 4)
			message(&f, DCM_RTU);
		else
			assert_false(at < 4 && at + part > 4);
		if (at + part < 8)
			nothing(&f);
	}
	next_is(&f, SCM_ITEM_BYE);
}

CASE(pieces__of_every_size)
{
	for (size_t n = 1; n <= 168; n++)
		pieces("scm-req", n);
	for (size_t n = 1; n <= 170; n++)
		pieces("scm-v7-req", n);
}

CASE(pieces__everything_at_once)
{
	struct scm_frame f;

	/* A server that disconnects at once. */
	scm_frame_active(&f, false);
	feed_file(&f, "scm-rep");
	feed_file(&f, "scm-bye");
	message(&f, DCM_REP);
	next_is(&f, SCM_ITEM_BYE);
}

CASE(surplus__a_segment_late)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req-filler", buf, sizeof(buf));
	struct scm_frame f;

	scm_frame_passive(&f);
	feed(&f, buf, len - 2);
	message(&f, DCM_REQ);
	feed(&f, buf + len - 2, 2);
	nothing(&f);
	scm_frame_accepted(&f);
	feed_file(&f, "scm-rtu");
	message(&f, DCM_RTU);
}

CASE(surplus__of_the_largest_message)
{
	struct dcm_msg msg = golden("scm-req", true, DCM_REQ);
	uint8_t buf[SCM_FRAME_MAX];
	struct scm_frame f;

	msg.p_size = DCM_PDATA;
	memset(msg.pdata, 0x77, sizeof(msg.pdata));
	scm_frame_passive(&f);
	feed(&f, buf, scm_frame_encode(&msg, true, buf));
	msg = message(&f, DCM_REQ);
	assert_int_equal(msg.p_size, DCM_PDATA);
	assert_int_equal(msg.pdata[0], 0x77);
	assert_int_equal(msg.pdata[DCM_PDATA - 1], 0x77);
	nothing(&f);
}

/* ------------------------------------------------- forms of answers */

static void answer(bool our_filler, unsigned version, unsigned op,
		   bool their_filler)
{
	struct dcm_msg msg = golden("scm-rep", false, DCM_REP);
	uint8_t buf[SCM_FRAME_MAX];
	struct scm_frame f;
	size_t n;

	msg.version = (uint16_t)version;
	scm_frame_active(&f, our_filler);
	n = scm_frame_encode(&msg, their_filler, buf);
	buf[3] = (uint8_t)op;
	feed(&f, buf, n);
	msg = message(&f, op);
	is_reply(&msg);
	nothing(&f);
}

CASE(answer__forms)
{
	answer(false, 9, DCM_REP, false);
	answer(false, 8, DCM_REP, false);
	answer(true, 9, DCM_REP, false);
	/* A server of version 7, which only takes the other form. */
	answer(true, 7, DCM_REP, true);
	answer(true, 9, DCM_REJ_USER, true); /* our version, sent back */
	answer(true, 9, DCM_REJ_USER, false);
	answer(false, 7, DCM_REP, false);
}

CASE(answer__other_ops_are_a_no)
{
	static const uint16_t ops[] = {0, 1, 4, 5, 6, 7, 8, 0xffff};
	uint8_t buf[SCM_FRAME_MAX];
	struct scm_frame f;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		wire_load("scm-rep", buf, sizeof(buf));
		buf[2] = (uint8_t)(ops[i] >> 8);
		buf[3] = (uint8_t)ops[i];
		buf[17] = 0; /* no private data */
		scm_frame_active(&f, false);
		feed(&f, buf, DCM_HEADER);
		message(&f, DCM_REJ_CM);
	}
}

CASE(answer__goodbye_instead)
{
	struct scm_frame f;

	scm_frame_active(&f, false);
	feed_file(&f, "scm-bye");
	next_is(&f, SCM_ITEM_BYE);
}

/* ----------------------------------------------------------- hostile */

static void bad_request(size_t offset, uint8_t high, uint8_t low, size_t len)
{
	uint8_t buf[SCM_FRAME_MAX];
	struct scm_frame f;

	wire_load("scm-req", buf, sizeof(buf));
	buf[offset] = high;
	buf[offset + 1] = low;
	scm_frame_passive(&f);
	feed(&f, buf, len - 1);
	nothing(&f);
	feed(&f, buf + len - 1, 1);
	next_is(&f, SCM_ITEM_BAD);
}

CASE(hostile__request)
{
	/* Known after four bytes: version 5, and other ops. */
	bad_request(0, 0, 5, 4);
	bad_request(2, 0, DCM_REP, 4);
	bad_request(2, 1, 1, 4);
	/* Known with the header: more private data than there can be. */
	bad_request(16, 0, 69, DCM_HEADER);
	bad_request(16, 0xff, 0xff, DCM_HEADER);
}

CASE(hostile__answer)
{
	static const struct {
		size_t at;
		uint8_t byte;
		size_t len; /* that it is known with */
	} rows[] = {{1, 5, 4}, {17, 69, DCM_HEADER}};
	uint8_t buf[SCM_FRAME_MAX];
	struct scm_frame f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wire_load("scm-rep", buf, sizeof(buf));
		buf[rows[i].at] = rows[i].byte;
		scm_frame_active(&f, false);
		feed(&f, buf, rows[i].len);
		next_is(&f, SCM_ITEM_BAD);
	}
}

CASE(hostile__more_than_a_peer_says)
{
	struct scm_frame f;

	/* Before our answer, and in place of RTU. */
	for (int answered = 0; answered < 2; answered++) {
		scm_frame_passive(&f);
		feed_file(&f, "scm-req");
		message(&f, DCM_REQ);
		if (answered)
			scm_frame_accepted(&f);
		feed(&f, "junk", 4);
		next_is(&f, SCM_ITEM_BAD);
	}
	/* When established. */
	scm_frame_active(&f, false);
	feed_file(&f, "scm-rep");
	message(&f, DCM_REP);
	feed(&f, "junk", 4);
	next_is(&f, SCM_ITEM_BAD);
}

CASE(goodbye__to_an_unanswered_request)
{
	struct scm_frame f;

	scm_frame_passive(&f);
	feed_file(&f, "scm-req");
	feed_file(&f, "scm-bye");
	message(&f, DCM_REQ);
	next_is(&f, SCM_ITEM_BYE);
}

RUN_CASES(NULL, NULL)
