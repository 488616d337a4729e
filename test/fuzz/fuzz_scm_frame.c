/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fuzz_scm_frame.c - any bytes as one side's end of a stream.
 *
 * Input: a byte whose bits say which side this is, how the stream is cut into
 * reads and when the passive side answers; the rest is the stream.
 * Checks what must hold for every stream: messages come in the order that the
 * stage allows and are such as a decoder may hand out; there is always room to
 * read on; and, as long as nothing depends on what else was there to be read,
 * the same stream in one piece gives the same items.
 * One thread.
 */
#include "dapl/openib_scm/scm_frame.h"

#include <string.h>

#include "test/fuzz/fuzz.h"

#define ITEMS_MAX 4

enum {
	ACTIVE = 0x80,
	FILLER = 0x40, /* ours had it */
	SIZE = 0x3f,   /* of the reads, less 1 */
};

struct result {
	int n;
	enum scm_item item[ITEMS_MAX];
	uint16_t op[ITEMS_MAX];
	bool surplus; /* a message of the other form for its length alone */
};

static void check_message(const struct scm_frame *f, const struct dcm_msg *msg,
			  enum scm_stage before)
{
	uint8_t zero[DCM_PDATA] = {0};

	REQUIRE(msg->p_size <= DCM_PDATA);
	switch (before) {
	case SCM_STAGE_REQUEST:
		REQUIRE(msg->op == DCM_REQ && f->stage == SCM_STAGE_ANSWER);
		break;
	case SCM_STAGE_RTU:
		REQUIRE(msg->op == DCM_RTU && f->stage == SCM_STAGE_UP);
		REQUIRE(msg->p_size == 0);
		return;
	default:
		REQUIRE(before == SCM_STAGE_REPLY && f->stage == SCM_STAGE_UP);
		REQUIRE(msg->op == DCM_REP || msg->op == DCM_REJ_USER ||
			msg->op == DCM_REJ_CM);
		break;
	}
	REQUIRE(msg->version >= DCM_VERSION_MIN);
	REQUIRE(memcmp(msg->pdata + msg->p_size, zero,
		       sizeof(zero) - msg->p_size) == 0);
}

/* What was decoded and encoded again is the same to a reader. */
static void check_again(const struct dcm_msg *msg)
{
	uint8_t buf[SCM_FRAME_MAX];
	struct dcm_msg again;
	struct scm_frame f;
	size_t n = scm_frame_encode(msg, false, buf), room;
	uint8_t *at;

	if (msg->op != DCM_REQ || msg->version <= DCM_VERSION_FILLER)
		return;
	REQUIRE(n == (size_t)DCM_HEADER + msg->p_size);
	scm_frame_passive(&f);
	at = scm_frame_room(&f, &room);
	memcpy(at, buf, n);
	scm_frame_read(&f, n);
	REQUIRE(scm_frame_next(&f, &again) == SCM_ITEM_MSG);
	REQUIRE(again.p_size == msg->p_size);
	REQUIRE(memcmp(again.pdata, msg->pdata, sizeof(msg->pdata)) == 0);
	REQUIRE(memcmp(&again.saddr, &msg->saddr, sizeof(msg->saddr)) == 0);
}

/* Takes what there is. False: nothing can follow. */
static bool take(struct scm_frame *f, struct result *r)
{
	enum scm_stage before = f->stage;
	size_t had = f->len;
	struct dcm_msg msg;
	enum scm_item item;

	while ((item = scm_frame_next(f, &msg)) != SCM_ITEM_NONE) {
		REQUIRE(r->n < ITEMS_MAX);
		r->item[r->n] = item;
		r->op[r->n] = item == SCM_ITEM_MSG ? msg.op : 0;
		r->n++;
		if (item != SCM_ITEM_MSG)
			return false;
		check_message(f, &msg, before);
		check_again(&msg);
		if (had - f->len ==
		    (size_t)DCM_HEADER + SCM_FILLER + msg.p_size)
			r->surplus = true;
		/* The consumer is quick. */
		if (msg.op == DCM_REQ)
			scm_frame_accepted(f);
		before = f->stage;
		had = f->len;
	}
	return true;
}

static void run(uint8_t how, size_t step, const uint8_t *data, size_t size,
		struct result *r)
{
	struct scm_frame f;
	uint8_t *at;
	size_t room;

	memset(r, 0, sizeof(*r));
	if (how & ACTIVE)
		scm_frame_active(&f, how & FILLER);
	else
		scm_frame_passive(&f);
	while (size) {
		at = scm_frame_room(&f, &room);
		REQUIRE(room > 0);
		if (room > step)
			room = step;
		if (room > size)
			room = size;
		memcpy(at, data, room);
		scm_frame_read(&f, room);
		data += room;
		size -= room;
		if (!take(&f, r))
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result pieces, whole;

	if (!size)
		return 0;
	run(data[0], (data[0] & SIZE) + 1u, data + 1, size - 1, &pieces);
	run(data[0], SIZE_MAX, data + 1, size - 1, &whole);
	if (pieces.surplus || whole.surplus)
		return 0;
	REQUIRE(pieces.n == whole.n);
	for (int i = 0; i < whole.n; i++)
		REQUIRE(pieces.item[i] == whole.item[i] &&
			pieces.op[i] == whole.op[i]);
	return 0;
}
