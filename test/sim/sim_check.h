/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_check.h - what must hold after every step of every connection,
 * whatever the network and the consumers do.
 *
 * Shared by the simulator and the fuzz target. The number of a queue pair names
 * it: all of a world are different, and private data is made from them, so
 * that what arrived tells whose it was. A violation is printed, and ends the
 * program by abort().
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/common/cm/base/dapl_cm_event.h"
#include "dapl/common/cm/dcm/dcm_msg.h"

/* Data queue pairs are numbered from here up. */
#define SIM_FIRST_QP 0x20000

enum sim_qp_role {
	SIM_QP_UNUSED,
	SIM_QP_ACTIVE,
	SIM_QP_PASSIVE
};

/* What became of one queue pair; outlives its connection. */
struct sim_qp {
	enum sim_qp_role role;
	uint32_t partner;
	bool moved; /* to RTS */
	bool established;
	bool given_up; /* its consumer had enough before it heard the end */
	bool ended;    /* its consumer asked for that, or is no more */
	bool asked;    /* the other side's consumer has heard of it */
	bool told;
	bool silent; /* active, and never finds its peer's hardware address */
};

struct sim_checks {
	struct sim_qp *qp;
	size_t n, room;
	/* Peers are none of ours: what they say need not be true. */
	bool hostile;
	bool cut; /* streams break */
};

/* One connection. */
struct sim_check {
	struct sim_checks *all;
	bool passive;
	bool datagram; /* no queue pair is touched; found is the last event */
	uint32_t qpn;  /* 0: no endpoint yet */
	uint32_t peer_qpn;
	bool established, told, released, forgotten, gone;
	bool moving; /* its queue pair, to RTS */
	bool qp_error;
};

void sim_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

#define SIM_REQUIRE(condition, ...)            \
	do {                                   \
		if (!(condition))              \
			sim_fail(__VA_ARGS__); \
	} while (0)

/*
 * What was done so far, for who looks for the reason: told by a handler of
 * SIGABRT, so also when an assertion did not hold.
 */
void sim_story_begin(void);
void sim_story_add(const char *what, int of_whom);
void sim_story_tell(void);

/* A new queue pair for one side of a connection. */
uint32_t sim_qp_new(struct sim_checks *all, enum sim_qp_role role);
struct sim_qp *sim_qp_of(struct sim_checks *all, uint32_t qpn);
void sim_checks_fini(struct sim_checks *all);

/* Private data of messages OP that QPN's owner sends. */
size_t sim_pdata(uint16_t op, uint32_t qpn, uint8_t *buf);
bool sim_pdata_is(uint16_t op, uint32_t qpn, const void *pdata, size_t size);

/* The consumer's steps. */
void sim_check_request(struct sim_check *c, uint32_t peer_qpn,
		       const struct dcm_msg *msg);
void sim_check_accept(struct sim_check *c, uint32_t qpn);
void sim_check_disconnect(struct sim_check *c);
void sim_check_release(struct sim_check *c);
/* The host of it died. */
void sim_check_crash(struct sim_check *c);
/* Its node leaves, and takes its peers for told. */
void sim_check_left(const struct sim_check *c);

/* The engine's. */
void sim_check_event(struct sim_check *c, enum dapl_cm_event event,
		     const void *pdata, size_t size);
void sim_check_gone(struct sim_check *c);
/* A move of the queue pair begins; and it is over. */
void sim_check_qp_connect(struct sim_check *c, uint32_t peer_qpn);
void sim_check_qp_moved(struct sim_check *c, bool ok);
void sim_check_qp_error(struct sim_check *c);
void sim_check_forgotten(struct sim_check *c);

#endif
