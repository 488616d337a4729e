/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dtest.h - what the parts of dtest share: options, the run, its steps.
 *
 * Does not hold what other tools could use; that is in common/.
 * Threads: one. Ownership: struct dtest owns every DAT object and buffer;
 * dtest_close() releases what there is, at any point.
 * Rule: the order of what travels is that of the historic tool, in every
 * mode, so that either side may be replaced by it.
 */
#ifndef DTEST_DTEST_H
#define DTEST_DTEST_H

#include "test/dtest/common/dt_meet.h"
#include "test/dtest/common/dt_run.h"
#include "test/dtest/common/dt_stats.h"
#include "test/dtest/common/dt_tool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DTEST_PROVIDER	 DT_FACED("OpenIB-cma", "ofa-v2-mlx4_0-1u")
#define DTEST_SIZE	 DT_FACED(64u, 4194304u)
#define DTEST_COUNT	 DT_FACED(10u, 1000u)
#define DTEST_SIGNAL	 10u
#define DTEST_MSG	 DT_FACED(24, 16) /* bytes of an RMR message or token */
#define DTEST_TOKENS	 3		  /* receives for them */
#define DTEST_READS	 4u		  /* RDMA reads */
#define DTEST_PINGS	 100		  /* messages of the ping-pong */
#define DTEST_SLOTS	 4 /* receives posted for them at a time */
#define DTEST_SQ_SPARE	 7 /* requests besides the writes of one batch */
#define DTEST_SIGNAL_MAX 4096u
#define DTEST_PERF_SIZE	 4096u
#define DTEST_DEPTH	 64u

enum dtest_mode {
	DTEST_ALL,	/* writes, reads, messages */
	DTEST_STREAM,	/* -w */
	DTEST_PINGPONG, /* -W */
	DTEST_CHECK,	/* -D */
	DTEST_PERF,	/* --perf */
	DTEST_MODE_N,
};

enum dtest_verify {
	DTEST_VERIFY_NONE,
	DTEST_VERIFY_FIRST,
	DTEST_VERIFY_FULL,
};

struct dtest_opts {
	struct dt_run_opts run;
	enum dtest_mode mode;
	bool stream, pingpong, check; /* what it was chosen with */
	uint32_t size;
	uint32_t count;
	uint32_t depth; /* of --perf, under way at once */
	uint32_t perf;	/* which of its tests */
	bool perf_given;
	uint32_t signal;
	bool size_given;
	bool signal_given;
	bool uni;
	bool all_sizes;
	uint32_t step; /* 0: powers of two */
	uint32_t wait; /* enum dt_wait_mode */
	bool timing;
	bool direct;
	uint32_t delay_s;
	uint32_t warmup;
	uint32_t reads;
	uint32_t verify; /* enum dtest_verify */
};

struct dtest {
	struct dt_run run;
	const struct dtest_opts *o;
	struct dt_samples samples;
	struct dt_samples reads; /* kept for the times in the end */
	bool connected;
	bool read_ok;  /* the provider has RDMA read */
	bool immed_ok; /* and writes with immediate data */
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE cr_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE req_evd;
	DAT_EVD_HANDLE rcv_evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	struct dt_region rbuf; /* the peer writes here; receives */
	struct dt_region sbuf;
	struct dt_region rmsg; /* DTEST_TOKENS messages */
	struct dt_region smsg;
	DAT_RMR_TRIPLET peer;
	uint32_t token; /* next receive of rmsg */
	uint32_t taken; /* receives of --perf */
	uint64_t read_polls;
	uint64_t connect_polls;
	bool read_done;
	/* historic line of the writes, which comes after all others */
	char write_line[192];
};

/* options.c */

/*
 * Understands the command line. Returns -1 when there is something to run,
 * else the exit status (0 after --help and --version). Texts go to out when
 * asked for, and to err when the command line is wrong.
 */
int dtest_parse(int argc, char **argv, FILE *out, FILE *err,
		struct dtest_opts *ret_opts);

/*
 * Message sizes of a ping-pong in order. Returns how many, storing at most
 * room of them.
 */
size_t dtest_sizes(const struct dtest_opts *o, uint32_t *sizes, size_t room);

/* setup.c: each returns 0 or an exit status, having reported it. */

int dtest_open(struct dtest *d);
/* Releases what there is. Returns rc, or an exit status of its own. */
int dtest_close(struct dtest *d, int rc);
void dtest_print_times(struct dtest *d);

/* connect.c: the same returns. */

/* Client: where the server is, and whether it runs the same. */
int dtest_find_server(struct dtest *d);
/* Up to the exchange of RMR messages. */
int dtest_connect(struct dtest *d);
int dtest_disconnect(struct dtest *d);
/* Ends a connection that an error left behind. */
void dtest_hang_up(struct dtest *d);

/* xfer.c: posts and completions; the same returns. */

/* Limit of a wait during which the peer moves that many bytes. */
uint64_t dtest_bulk_limit(const struct dtest *d, uint64_t bytes);

/*
 * Takes a completion from evd and checks it: a plain DTO, successful, with
 * this cookie and length. what: for the error text.
 */
int dtest_complete(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
		   uint64_t cookie, uint64_t length, const char *what);
/* The next completion, whatever it is, and one that is a DTO's. */
int dtest_next(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
	       const char *what, DAT_EVENT *event);
int dtest_check_dto(struct dtest *d, const DAT_EVENT *event, uint64_t cookie,
		    uint64_t length, const char *what);
DAT_LMR_TRIPLET dtest_segment(const struct dt_region *reg, size_t offset,
			      uint32_t length);
DAT_COMPLETION_FLAGS dtest_flags(bool signalled);
int dtest_post_recv(struct dtest *d, struct dt_region *reg, size_t offset,
		    uint32_t length, uint64_t cookie);
int dtest_post_send(struct dtest *d, struct dt_region *reg, uint32_t length,
		    bool signalled);
int dtest_post_write(struct dtest *d, uint32_t length, uint64_t cookie,
		     bool signalled);
int dtest_post_read(struct dtest *d, uint32_t length, uint64_t cookie,
		    bool signalled);
/* A send from sbuf whose completion the caller takes. */
int dtest_post_message(struct dtest *d, uint32_t length, uint64_t cookie,
		       bool signalled);
int dtest_send_token(struct dtest *d, bool signalled);
int dtest_wait_token(struct dtest *d, uint64_t limit_ns, const char *what);

/* immed.c: writes with immediate data, an extension of 2.0. */

bool dtest_immed_works(const struct dtest *d);
int dtest_post_write_immed(struct dtest *d, uint64_t cookie, bool signalled);
/* As dtest_complete(). here: this side wrote. */
int dtest_complete_immed(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
			 bool here, uint64_t cookie, const char *what);

/* rmr.c: the RMR message, which says where the peer may write and read. */

void dtest_put_rmr(uint8_t msg[DTEST_MSG], const DAT_RMR_TRIPLET *rmr);
void dtest_get_rmr(const uint8_t msg[DTEST_MSG], DAT_RMR_TRIPLET *ret_rmr);

/* data.c: what is in the buffers. Checks return the bad offset, or -1. */

void dtest_fill_write(struct dtest *d);
void dtest_fill_stream(struct dtest *d, uint32_t index);
void dtest_fill_read(struct dtest *d);
int64_t dtest_check_write(const struct dtest *d, uint8_t *ret_want);
int64_t dtest_check_read(const struct dtest *d, uint8_t *ret_want);
void dtest_fill_message(struct dtest *d, uint32_t index);
/* *ret_pattern: the message announced a pattern, so all of it was checked. */
int64_t dtest_check_message(const struct dtest *d, const uint8_t *msg,
			    uint32_t index, bool *ret_pattern,
			    uint8_t *ret_want);
void dtest_fill_check(struct dtest *d, uint32_t length, uint32_t round);
/* The text at the start of a buffer, without what could upset a terminal. */
struct dtest_text {
	char s[65];
};
struct dtest_text dtest_text(const struct dtest *d, const uint8_t *buf);
/* A mismatch in words; returns the exit status. */
int dtest_bad_data(struct dtest *d, const char *what, int64_t offset,
		   uint8_t got, uint8_t want);

/* modes.c, pingpong.c */

int dtest_run(struct dtest *d);
int dtest_write_pingpong(struct dtest *d);
int dtest_message_pingpong(struct dtest *d);
int dtest_post_messages(struct dtest *d);
/* A row of half round trips, and its historic line. */
void dtest_report_pingpong(struct dtest *d, const char *name, const char *test,
			   uint32_t length, uint32_t count, uint64_t total_ns);

/* perf.c */

int dtest_perf(struct dtest *d);
/* Its receives: how many, how large together, and their posts. */
uint32_t dtest_perf_slots(const struct dtest_opts *o);
size_t dtest_perf_bytes(const struct dtest_opts *o);
int dtest_perf_prepare(struct dtest *d);

#endif /* DTEST_DTEST_H */
