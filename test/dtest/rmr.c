/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rmr.c - the RMR message of dtest, in bytes: where the peer may write and
 * read.
 *
 * Does not send, and does not judge what came.
 * Threads: safe. Ownership: none.
 * Rule: as historic tools have it on the wire. That of 2.0 puts address, length
 * and context into 16 bytes, in network order; that of 1.2 sends the triplet of
 * DAT 1.2 as it lies in memory, so both hosts must be of one byte order.
 */
#include "test/dtest/dtest.h"

#include <endian.h>
#include <string.h>

#if DAT_FACE == 1

_Static_assert(sizeof(DAT_RMR_TRIPLET) == DTEST_MSG, "wire format");

void dtest_put_rmr(uint8_t msg[DTEST_MSG], const DAT_RMR_TRIPLET *rmr)
{
	memcpy(msg, rmr, DTEST_MSG);
}

void dtest_get_rmr(const uint8_t msg[DTEST_MSG], DAT_RMR_TRIPLET *ret_rmr)
{
	memcpy(ret_rmr, msg, DTEST_MSG);
}

#else

struct message {
	uint64_t address;
	uint32_t length;
	uint32_t context;
};
_Static_assert(sizeof(struct message) == DTEST_MSG, "wire format");

void dtest_put_rmr(uint8_t msg[DTEST_MSG], const DAT_RMR_TRIPLET *rmr)
{
	struct message m = {
		.address = htobe64(rmr->virtual_address),
		.length = htobe32(rmr->segment_length),
		.context = htobe32(rmr->rmr_context),
	};

	memcpy(msg, &m, sizeof(m));
}

void dtest_get_rmr(const uint8_t msg[DTEST_MSG], DAT_RMR_TRIPLET *ret_rmr)
{
	struct message m;

	memcpy(&m, msg, sizeof(m));
	ret_rmr->virtual_address = be64toh(m.address);
	ret_rmr->segment_length = be32toh(m.length);
	ret_rmr->rmr_context = be32toh(m.context);
}

#endif
