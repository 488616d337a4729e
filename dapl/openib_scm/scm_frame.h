/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_frame.h - messages of a TCP stream: bytes in, messages out, and back.
 *
 * Pure: no socket, no clock, no allocation; any bytes may come in, in pieces
 * of any size. What a message means is not known here, only which may be next:
 *
 *	active		passive		on the wire
 *	REPLY		REQUEST		REQ, 148 bytes and private data
 *	REPLY		ANSWER		nothing: the consumer thinks
 *	REPLY		RTU		REP or a reject, as REQ
 *	UP		RTU		RTU: its first four bytes
 *	UP		UP		goodbye, either side: 00 00 de ad
 *
 * Peers of version 7 and less put two bytes between header and private data
 * (DCM_VERSION_FILLER), and want to get them. Newer clients try that form too,
 * without saying so, when a server hung up on them for whatever reason; such a
 * request shows by having exactly two bytes more than it announces.
 * Bytes: doc/cm-protocol.md; golden ones: test/wire.
 */
#ifndef SCM_FRAME_H
#define SCM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/common/cm/dcm/dcm_msg.h"

#define SCM_FILLER 2
#define SCM_WORD   4 /* RTU and goodbye */
/* The longest message. */
#define SCM_FRAME_MAX (DCM_MSG + SCM_FILLER)

enum scm_stage {
	SCM_STAGE_REQUEST,
	SCM_STAGE_ANSWER,
	SCM_STAGE_RTU,
	SCM_STAGE_REPLY,
	SCM_STAGE_UP,
};

struct scm_frame {
	enum scm_stage stage;
	bool filler; /* active: our request had the other form */
	size_t len;
	/* The goodbye may come with an answer. */
	uint8_t buf[SCM_FRAME_MAX + 2 * SCM_WORD];
};

enum scm_item {
	SCM_ITEM_NONE, /* more bytes are needed */
	SCM_ITEM_MSG,
	SCM_ITEM_BYE, /* goodbye */
	SCM_ITEM_BAD, /* not our protocol: nothing can follow */
};

/* A new stream. FILLER: our request will have the other form. */
void scm_frame_active(struct scm_frame *f, bool filler);
void scm_frame_passive(struct scm_frame *f);

/*
 * Where to read to, and how much: at least one byte after SCM_ITEM_NONE. A
 * goodbye behind RTU has to wait for its turn, so that what other streams were
 * told before it is seen first. What was read is then told.
 */
uint8_t *scm_frame_room(struct scm_frame *f, size_t *ret_size);
void scm_frame_read(struct scm_frame *f, size_t n);

/*
 * Takes the next item from what was read. A message goes to RET_MSG. On the
 * active side its op is DCM_REP, DCM_REJ_USER or DCM_REJ_CM; on the passive
 * side DCM_REQ or DCM_RTU.
 */
enum scm_item scm_frame_next(struct scm_frame *f, struct dcm_msg *ret_msg);

/* Passive: our REP was sent. */
void scm_frame_accepted(struct scm_frame *f);

/*
 * Writes MSG to BUF of SCM_FRAME_MAX bytes; returns the length. DREQ and DREP
 * are goodbyes. FILLER has a meaning for REQ and REP only.
 */
size_t scm_frame_encode(const struct dcm_msg *msg, bool filler, uint8_t *buf);

#endif
