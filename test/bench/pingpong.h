/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pingpong.h - one end of a connection, by DAT or by verbs alone, for the loops
 * of pingpong.c, which know no difference. What is alike in both: a queue of
 * requests and one of receives, of which each completion is taken; one memory
 * of two halves, to send from and to receive into.
 *
 * Threads: an end belongs to one. What fails ends the program.
 */
#ifndef PINGPONG_H
#define PINGPONG_H

#include <stdbool.h>
#include <stdint.h>

enum pp_queue {
	PP_REQ,
	PP_RCV,
	PP_QUEUES
};

enum pp_post {
	PP_SEND,
	PP_WRITE
};

struct pp_cfg {
	const char *name; /* of the adapter, or of the verbs device */
	int peer;	  /* a socket to the other end */
	bool active;	  /* connects */
	bool wait;	  /* sleep for completions; otherwise poll */
	bool yield; /* the processor, when there was nothing to be polled */
	int recvs, requests;
	uint32_t half; /* bytes of memory each way */
};

struct pp_end;

struct pp_ops {
	struct pp_end *(*open)(const struct pp_cfg *cfg);
	/* Connected, when both ends have called it. */
	void (*connect)(struct pp_end *e);
	/* A receive takes what the half holds, however little is sent. */
	void (*post_recv)(struct pp_end *e);
	void (*post)(struct pp_end *e, enum pp_post what, uint32_t bytes);
	/* The next completion of that queue, which has to be a good one. */
	void (*reap)(struct pp_end *e, enum pp_queue q);
	void (*close)(struct pp_end *e);
};

/* What both kinds of end begin with. */
struct pp_end {
	const struct pp_cfg *cfg;
	uint8_t *in, *out;
};

extern const struct pp_ops pp_dat, pp_verbs;

/* Two halves of zeros, in e->in and e->out. */
void pp_memory(struct pp_end *e, const struct pp_cfg *cfg);

#endif
