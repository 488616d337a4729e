/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_frame.c - messages of a TCP stream; see the header.
 */
#include "dapl/openib_scm/scm_frame.h"

#include <assert.h>
#include <string.h>

/* Where version and op are in every message, RTU included. */
enum {
	AT_VERSION = 0,
	AT_OP = 2,
};

static const uint8_t goodbye[SCM_WORD] = {0x00, 0x00, 0xde, 0xad};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void scm_frame_active(struct scm_frame *f, bool filler)
{
	f->stage = SCM_STAGE_REPLY;
	f->filler = filler;
	f->len = 0;
}

void scm_frame_passive(struct scm_frame *f)
{
	f->stage = SCM_STAGE_REQUEST;
	f->filler = false;
	f->len = 0;
}

uint8_t *scm_frame_room(struct scm_frame *f, size_t *ret_size)
{
	*ret_size = sizeof(f->buf) - f->len;
	if (f->stage == SCM_STAGE_RTU && f->len < SCM_WORD)
		*ret_size = SCM_WORD - f->len;
	return f->buf + f->len;
}

void scm_frame_read(struct scm_frame *f, size_t n)
{
	assert(n <= sizeof(f->buf) - f->len);
	f->len += n;
}

static void consume(struct scm_frame *f, size_t n)
{
	f->len -= n;
	memmove(f->buf, f->buf + n, f->len);
}

static bool is_goodbye(const struct scm_frame *f)
{
	return memcmp(f->buf, goodbye, SCM_WORD) == 0;
}

/* What can be said after four bytes need not wait for the rest. */
static bool possible(const struct scm_frame *f)
{
	return get16(f->buf + AT_VERSION) >= DCM_VERSION_MIN &&
	       (f->stage == SCM_STAGE_REPLY ||
		get16(f->buf + AT_OP) == DCM_REQ);
}

/* Whether MSG has two bytes between header and private data. */
static bool has_filler(const struct scm_frame *f, const struct dcm_msg *msg)
{
	size_t len = (size_t)DCM_HEADER + msg->p_size;

	if (msg->version <= DCM_VERSION_FILLER &&
	    (f->stage == SCM_STAGE_REQUEST || f->filler))
		return true;
	/* Nothing follows a request or a reject of its own. */
	return f->len == len + SCM_FILLER && msg->op != DCM_REP;
}

static enum scm_item whole_message(struct scm_frame *f, struct dcm_msg *ret_msg)
{
	size_t header = DCM_HEADER;
	struct dcm_msg msg;

	if (!possible(f))
		return SCM_ITEM_BAD;
	if (f->len < DCM_HEADER)
		return SCM_ITEM_NONE;
	if (dcm_msg_decode_header(f->buf, &msg))
		return SCM_ITEM_BAD;
	if (has_filler(f, &msg))
		header += SCM_FILLER;
	if (f->len < header + msg.p_size)
		return SCM_ITEM_NONE;
	memset(msg.pdata, 0, sizeof(msg.pdata));
	memcpy(msg.pdata, f->buf + header, msg.p_size);
	consume(f, header + msg.p_size);
	*ret_msg = msg;
	return SCM_ITEM_MSG;
}

static enum scm_item request(struct scm_frame *f, struct dcm_msg *ret_msg)
{
	enum scm_item item = whole_message(f, ret_msg);

	if (item == SCM_ITEM_MSG)
		f->stage = SCM_STAGE_ANSWER;
	return item;
}

static enum scm_item reply(struct scm_frame *f, struct dcm_msg *ret_msg)
{
	enum scm_item item = whole_message(f, ret_msg);

	if (item != SCM_ITEM_MSG)
		return item;
	/* Whatever else a peer may answer, it is a no. */
	if (ret_msg->op != DCM_REP && ret_msg->op != DCM_REJ_USER)
		ret_msg->op = DCM_REJ_CM;
	f->stage = SCM_STAGE_UP;
	return item;
}

static enum scm_item rtu(struct scm_frame *f, struct dcm_msg *ret_msg)
{
	if (get16(f->buf + AT_OP) != DCM_RTU)
		return SCM_ITEM_BAD;
	memset(ret_msg, 0, sizeof(*ret_msg));
	ret_msg->version = get16(f->buf + AT_VERSION);
	ret_msg->op = DCM_RTU;
	consume(f, SCM_WORD);
	f->stage = SCM_STAGE_UP;
	return SCM_ITEM_MSG;
}

enum scm_item scm_frame_next(struct scm_frame *f, struct dcm_msg *ret_msg)
{
	if (f->len < SCM_WORD)
		return SCM_ITEM_NONE;
	if (f->stage != SCM_STAGE_REQUEST && is_goodbye(f)) {
		consume(f, SCM_WORD);
		return SCM_ITEM_BYE;
	}
	switch (f->stage) {
	case SCM_STAGE_REQUEST:
		return request(f, ret_msg);
	case SCM_STAGE_REPLY:
		return reply(f, ret_msg);
	case SCM_STAGE_RTU:
		return rtu(f, ret_msg);
	default:
		/* Neither before our answer nor later does a peer say more. */
		return SCM_ITEM_BAD;
	}
}

void scm_frame_accepted(struct scm_frame *f)
{
	/* What came after the request was its private data's last two bytes,
	 * a segment late: too late for the consumer, but not part of RTU. */
	if (f->len == SCM_FILLER)
		f->len = 0;
	f->stage = SCM_STAGE_RTU;
}

size_t scm_frame_encode(const struct dcm_msg *msg, bool filler, uint8_t *buf)
{
	size_t len;

	switch (msg->op) {
	case DCM_RTU:
		put16(buf + AT_VERSION, msg->version);
		put16(buf + AT_OP, msg->op);
		return SCM_WORD;
	case DCM_DREQ:
	case DCM_DREP:
		memcpy(buf, goodbye, SCM_WORD);
		return SCM_WORD;
	default:
		len = dcm_msg_encode(msg, buf);
		break;
	}
	if (!filler || (msg->op != DCM_REQ && msg->op != DCM_REP))
		return len;
	memmove(buf + DCM_HEADER + SCM_FILLER, buf + DCM_HEADER,
		len - DCM_HEADER);
	memset(buf + DCM_HEADER, 0, SCM_FILLER);
	return len + SCM_FILLER;
}
