/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tries.h - programs of tables of tries: each is a call that may be the end of
 * the process. A table is made in a child that has its objects; where a library
 * ends it, the next child goes on behind the try that did.
 *
 * Knows the public API only and judges nothing. Threads: one.
 */
#ifndef DIFFER_TRIES_H
#define DIFFER_TRIES_H

#include "test/differ/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PATIENCE_US 10000000
#define MEM_SIZE    65536
#define HUGE	    0x7fffffff
#define N_OF(table) (sizeof(table) / sizeof((table)[0]))

/* Whether it is this child that makes the try of this NAME. */
bool is_next(const char *name);

#define TRY(name, call)                       \
	do {                                  \
		if (is_next(name))            \
			answer(name, (call)); \
	} while (0)

/* A further line of the try NAME. */
#define THEN(name, fmt, ...)                                      \
	do {                                                      \
		char then_[128];                                  \
		snprintf(then_, sizeof(then_), "%s, then", name); \
		say(then_, fmt, __VA_ARGS__);                     \
	} while (0)

/* Ends the child when an object cannot be had that a try is about. */
void quietly(DAT_RETURN ret);

/* ----------------------------------------------------------- objects */

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, dto_evd;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
};

/* Of this child. Both sides are of one adapter, opened twice. */
extern struct side mine, other;
extern DAT_EVD_HANDLE se_evd;
extern DAT_LMR_HANDLE lmr;
extern DAT_LMR_TRIPLET seg;
extern DAT_RMR_TRIPLET target;
extern DAT_IA_ATTR ia_attr;
extern DAT_PROVIDER_ATTR provider_attr;
extern char *mem;
extern DAT_HANDLE made; /* where handles go that nobody asks for */

DAT_EVD_HANDLE new_evd(const struct side *s, unsigned flags);
DAT_EP_HANDLE new_ep(void);
DAT_SRQ_HANDLE new_srq(void); /* of 8 receives */
/* The request of ASKER, or of a new endpoint, at a new service point. */
DAT_CR_HANDLE request_of(DAT_EP_HANDLE asker);
DAT_CR_HANDLE new_request(DAT_EP_HANDLE *asker);
/* One of a pair of which the other has posted 8 receives. */
DAT_EP_HANDLE new_connected(void);
DAT_EP_HANDLE disconnected(void);
DAT_EP_HANDLE with_srq(void);
DAT_EP_HANDLE with_receive(void); /* a posted one */
void end_connection(DAT_EP_HANDLE ep);
DAT_EVENT next_event(DAT_EVD_HANDLE evd);
/* Until both ends of a connection have heard of it. */
void wait_for_both(void);
DAT_RETURN receives(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
		    unsigned flags);
DAT_DTO_COOKIE cookie(void);
/* A free qualifier for each who listens. */
DAT_CONN_QUAL next_qual(void);

/* ------------------------------------------------------------ tables */

/* Values for one field after the other of a struct that is right elsewhere. */
struct field {
	const char *name;
	size_t at, size;
};

#define F(type, member)                                                      \
	{                                                                    \
#member, offsetof(type, member), sizeof(((type *)0)->member) \
	}

const char *varied(void *of, const struct field *f, int64_t value);
const char *numbered(const char *what, uint64_t n);
/* Attributes of an endpoint of 4 receives and 4 requests of a segment. */
DAT_EP_ATTR right_attr(void);

/* main() of a program that is called with ADAPTER QUALIFIER: makes the N TABLES
 * in order. */
int tries_main(int argc, char **argv, const struct part *tables, size_t n);

#endif /* DIFFER_TRIES_H */
