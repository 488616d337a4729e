/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dtestx.h - what the parts of dtestx share: options, one endpoint, buffers.
 *
 * Threads: one. Ownership: struct dx owns every object; dx_close() releases
 * what there is, at any point.
 * Rule: qualifier, private data, messages, buffers and values are those of the
 * historic tool, so that either side may be replaced by it.
 * What returns int returns 0 or an exit status, having reported it.
 */
#ifndef DTESTX_DTESTX_H
#define DTESTX_DTESTX_H

#include "test/dtest/common/dt_meet.h"
#include "test/dtest/common/dt_run.h"

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#define DX_PROVIDER "ofa-v2-mlx4_0-1u"
#define DX_PORT	    31112
#define DX_SIZE	    256u
#define DX_RMR	    16u /* bytes of an RMR message, and of a token */
#define DX_UD_MAX   1000u
#define DX_UD	    4u /* datagram endpoints, unless -U says how many */
/* What its servers say they run, beside the modes of the other tools. */
#define DX_MODE	   48
#define DX_MODE_UD 49

/* The buffers of an endpoint, by number. */
enum dx_buffer {
	DX_SOURCE,     /* of writes */
	DX_TARGET,     /* the peer writes here, and has its atomics here */
	DX_MESSAGE,    /* of sends */
	DX_FIRST_RECV, /* from here on receives; their cookies are these */
	DX_BUFFERS = 10,
};

struct dx_opts {
	struct dt_run_opts run;
	uint32_t size;
	bool client; /* asked for by name */
	bool query;
	bool counters;
	bool ud;	       /* also by -U and -m */
	uint32_t ud_endpoints; /* of a client */
	bool ud_pairs;
};

struct dx {
	struct dt_run run;
	const struct dx_opts *o;
	DAT_EVD_HANDLE cr_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE dto_evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	bool connected;
	struct dt_region buffers; /* DX_BUFFERS of them, one after the other */
	struct dt_region result;  /* of an atomic, 8 bytes */
	uint32_t received;	  /* cookie of the next receive */
	uint32_t early; /* buffer of a message that was not due yet; 0: none */
	DAT_RMR_TRIPLET peer; /* its DX_TARGET */
};

/* options.c */

/* As dt_opt_parse(). */
int dx_parse(int argc, char **argv, FILE *out, FILE *err,
	     struct dx_opts *ret_opts);
/* What each side tells, and what a client makes of it: NULL, or why not. */
struct dt_oob_params dx_params(const struct dx_opts *o);
const char *dx_mismatch(const struct dx_opts *o,
			const struct dt_oob_params *theirs);

/* setup.c */

int dx_open(struct dx *d);
int dx_close(struct dx *d, int rc);
uint8_t *dx_buffer(const struct dx *d, unsigned int which);

/* connect.c: up to the exchange of RMR messages. */

/* Client: where the server is. Before dx_open(), which the answer may name. */
int dx_find_server(struct dx *d);
int dx_connect(struct dx *d);
int dx_disconnect(struct dx *d);
/* Its parts: the server listens, and tells the client so; the next events. */
int dx_listen(struct dx *d);
int dx_next_request(struct dx *d, DAT_EVENT *event);
int dx_next_conn(struct dx *d, const char *what, DAT_EVENT *event);
/* Ends what an error left behind, without insisting. */
void dx_hang_up(struct dx *d);

/* xfer.c: posts, completions, and the two sides in step. */

DAT_LMR_TRIPLET dx_segment(const struct dx *d, unsigned int buffer,
			   uint32_t length);
int dx_post_recv(struct dx *d, unsigned int buffer);
/* DX_RMR bytes of DX_MESSAGE, and those that come into the next receive. */
int dx_send_message(struct dx *d);
int dx_wait_message(struct dx *d, const char *what, const uint8_t **ret_msg);
/* The next completion of an extension: one that succeeded. */
int dx_next_ext(struct dx *d, const char *what, DAT_EVENT *ret_event);
/* Until the peer, which is ours, is as far as this side. */
int dx_in_step(struct dx *d, const char *what);

/* ext.c: the operations that are tested. */

int dx_write_immed(struct dx *d);
int dx_cmp_and_swap(struct dx *d);
int dx_fetch_and_add(struct dx *d);

/* ud.c: -u, from the adapter to the verdict. */

int dx_ud(struct dx *d);

/* query.c: -q and -p. */

int dx_query(struct dx *d);
/* Has them counted, so that there is something to show. */
void dx_count(struct dx *d);
int dx_counters(struct dx *d);

#endif /* DTESTX_DTESTX_H */
