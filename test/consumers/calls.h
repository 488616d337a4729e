/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * calls.h - what the consumers' calls have in common: how a result is judged,
 * triplets, addresses, events that are polled for.
 *
 * Makes no sequence of its own: which call comes when is the consumers'. Both
 * versions of DAT by test/face.h. Any thread of the rank.
 */
#ifndef TEST_CONSUMERS_CALLS_H
#define TEST_CONSUMERS_CALLS_H

#include <string.h>
#include <sys/socket.h>

#include "test/consumers/rank.h"
#include "test/consumers/table.h"
#include "test/face.h"

void calls_judge(struct rank *r, const char *file, int line, const char *call,
		 DAT_RETURN got, DAT_RETURN type);
#define OK(r, call) \
	calls_judge(r, __FILE__, __LINE__, #call, (call), DAT_SUCCESS)
/* Programs look at the type; it fails if the call succeeds. */
#define FAILS(r, call, type) \
	calls_judge(r, __FILE__, __LINE__, #call, (call), type)

/*
 * What consumers keep of an address and send one another: the 16 bytes that an
 * IPv4 address has. UCM's, which is longer, needs all of its own.
 */
struct calls_addr {
	uint8_t bytes[28];
	uint32_t size;
};

struct calls_addr calls_addr_of(DAT_IA_ADDRESS_PTR address);
/* A copy that nothing lies behind. */
DAT_IA_ADDRESS_PTR calls_addr_use(struct rank *r, const struct calls_addr *a);

static inline DAT_LMR_TRIPLET calls_seg(const void *at, size_t size,
					DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET t;

	memset(&t, 0, sizeof(t));
	t.lmr_context = context;
	t.virtual_address = (uintptr_t)at;
	t.segment_length = (FACE_SEG_LENGTH)size;
	return t;
}

static inline DAT_RMR_TRIPLET calls_target(uint64_t at, size_t size,
					   DAT_RMR_CONTEXT context)
{
	DAT_RMR_TRIPLET t;

	memset(&t, 0, sizeof(t));
	t.rmr_context = context;
	t.face_remote_address = at;
	t.segment_length = (FACE_SEG_LENGTH)size;
	return t;
}

static inline DAT_DTO_COOKIE calls_cookie(const void *p)
{
	DAT_DTO_COOKIE c;

	c.as_64 = (uintptr_t)p;
	return c;
}

/* The next event, by dat_evd_dequeue() alone. */
DAT_EVENT calls_poll(struct rank *r, DAT_EVD_HANDLE evd, const char *what);
/* The next one, which has to be that, by dat_evd_wait() without a limit. */
DAT_EVENT calls_wait(struct rank *r, DAT_EVD_HANDLE evd,
		     DAT_EVENT_NUMBER number, const char *what);
/* A completion that has to be a success. */
void *calls_done(struct rank *r, const DAT_EVENT *ev);

/* Until the word is not 0: what others write into memory. */
uint32_t calls_poll_word(struct rank *r, const uint32_t *word,
			 const char *what);

#endif
