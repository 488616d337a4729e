/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtest_rmr.c - tests of the message with which dtest announces its memory,
 * compiled for each version of DAT.
 *
 * Calls covered: dtest_put_rmr, dtest_get_rmr. Does not send.
 * Rule: the bytes of the historic tools: 2.0 in network order; 1.2 a triplet as
 * the host has it (context 4, nothing 4, address 8, length 8).
 */
#include "test/dtest/dtest.h"

#include <string.h>

#include "test/unit/case.h"

static const DAT_RMR_TRIPLET sample = {
	.face_remote_address = 0x0102030405060708,
	.segment_length = 0x11121314,
	.rmr_context = 0x21222324,
};

static const uint8_t bytes[] = {
#if DAT_FACE == 2
	1,    2,    3,	  4,	5,    6,    7,	  8, /* address */
	0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	0x24, 0x23, 0x22, 0x21, 0,    0,    0,	  0,	8, 7, 6, 5,
	4,    3,    2,	  1,	0x14, 0x13, 0x12, 0x11, 0, 0, 0, 0,
#else
	0x21, 0x22, 0x23, 0x24, 0, 0, 0, 0, 1,	  2,	3,    4,
	5,    6,    7,	  8,	0, 0, 0, 0, 0x11, 0x12, 0x13, 0x14,
#endif
};
_Static_assert(sizeof(bytes) == DTEST_MSG, "all of it");

CASE(put_rmr__historic_bytes)
{
	uint8_t msg[DTEST_MSG];

	memset(msg, 0xa5, sizeof(msg));
	dtest_put_rmr(msg, &sample);
	assert_memory_equal(msg, bytes, sizeof(bytes));
}

CASE(get_rmr__historic_bytes)
{
	DAT_RMR_TRIPLET got;

	memset(&got, 0, sizeof(got));
	dtest_get_rmr(bytes, &got);
	assert_memory_equal(&got, &sample, sizeof(got));
}

RUN_CASES(NULL, NULL)
