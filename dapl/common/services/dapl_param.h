/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_param.h - environment variables, declared once.
 *
 * Each variable is one row of the table in dapl_param.c: name, type, range,
 * default, help. dapl-env.7 lists the same rows and a test compares the two.
 * Values are read at IA open into a struct dapl_params that never changes
 * afterwards. A value that is not a number or out of range is not guessed at:
 * the default is used and a warning is logged (class DAPL_LOG_WARN).
 */
#ifndef DAPL_PARAM_H
#define DAPL_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dapl_param_type {
	DAPL_PARAM_INT,	 /* int; decimal, 0x hexadecimal or 0 octal */
	DAPL_PARAM_FLAG, /* bool: set or not; the value does not matter */
	DAPL_PARAM_STR,	 /* const char *; MIN and MAX limit the length */
	DAPL_PARAM_MASK, /* 32 bits, DAPL_DBG_*: has no field, see dapl_log.c */
	DAPL_PARAM_NONE, /* once meant something; accepted, has no field */
};

/* -1 in a field of type int means "not set" where the default says so. */
struct dapl_params {
	int max_inline; /* -1: the provider's default */
	int wr_max;	/* -1: the device's limit */
	int ib_mtu;	/* bytes; -1: active MTU */
	int ib_pkey;	/* 0: index 0 */
	int ib_sl;
	int ack_timer;
	int ack_retry;
	int rnr_timer;
	int rnr_retry;
	int gid_index; /* -1: the best one */
	int global_routing;
	int hop_limit;
	int tclass;
	int cm_arp_timeout_ms;
	int cm_arp_retry_count;
	int cm_route_timeout_ms;
	int cm_route_retry_count;
	int cm_tos;
	int ucm_retry;	      /* tries; -1: as long as the defaults say */
	int ucm_rep_time_ms;  /* -1: adapts */
	int ucm_rtu_time_ms;  /* -1: adapts */
	int ucm_drep_time_ms; /* -1: adapts */
	int ucm_dreq_retry;
	int ucm_wait_time_ms;
	int ucm_qp_size; /* -1: the provider's own */
	int ucm_cq_size; /* -1: what the queue pair needs */
	int ucm_tx_burst;
	int ucm_array_bits;
	/* NULL: not set; they point into the environment. */
	const char *scm_netdev;
	const char *scm_port_range;
};

struct dapl_param {
	const char *name;
	enum dapl_param_type type;
	size_t offset; /* in struct dapl_params */
	int min;
	int max;
	int def;
	const char *help;
};

extern const struct dapl_param dapl__param_table[];
extern const size_t dapl__param_count;

/*
 * The environment, except in set-user-ID programs: there it is the user's and
 * not the program's, so every variable counts as not set.
 */
const char *dapl__env(const char *name);

/*
 * Sets the field of ROW in the struct at BASE from TEXT; NULL is "not set".
 * False when TEXT was bad and the default was used.
 */
bool dapl__param_set(const struct dapl_param *row, const char *text,
		     void *base);

/* Fills PARAMS from the environment. Cannot fail. */
void dapl_params_read(struct dapl_params *params);

#endif
