/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile.c - strangers who talk to a server of dapltest, for the tests.
 *
 * Does not judge: whoever runs this asks the server for a test afterwards.
 * Threads: one. Ownership: each attack makes and releases its connection.
 * Rule: each attack is one row: what the two messages say. What a message
 * claims is put over a good one.
 */
#include "test/dapltest/hostile.h"

#include "test/dapltest/control.h"

#include <string.h>

struct claim {
	size_t at;
	uint32_t value;
};

enum conduct {
	FINISH,	  /* both messages, then an answer is waited for */
	LEAVE,	  /* connects, says nothing */
	SHORT,	  /* a message of a few bytes */
	NOISE,	  /* bytes without meaning */
	HALF,	  /* the first message only */
	STAND_UP, /* gets the answer, never comes to the data connection */
};

static const struct attack {
	const char *name;
	enum conduct conduct;
	enum dpt_test test;
	struct claim info, command[2];
} attacks[] = {
	{"leaves at once", LEAVE, DPT_TRANSACTION, {0, 0}, {{0, 0}}},
	{"short message", SHORT, DPT_TRANSACTION, {0, 0}, {{0, 0}}},
	{"noise", NOISE, DPT_TRANSACTION, {0, 0}, {{0, 0}}},
	{"half a conversation", HALF, DPT_TRANSACTION, {0, 0}, {{0, 0}}},
	{"version", FINISH, DPT_TRANSACTION, {0, 7}, {{0, 0}}},
	{"no such test", FINISH, DPT_TRANSACTION, {8, 77}, {{0, 0}}},
	{"many endpoints", FINISH, DPT_TRANSACTION, {12, 1u << 31}, {{0, 0}}},
	{"numbers differ", FINISH, DPT_TRANSACTION, {12, 3}, {{0, 0}}},
	{"no iterations", FINISH, DPT_TRANSACTION, {0, 0}, {{264, 0}}},
	{"many threads", FINISH, DPT_TRANSACTION, {0, 0}, {{268, 1u << 30}}},
	{"overflowing product",
	 FINISH,
	 DPT_TRANSACTION,
	 {0, 0},
	 {{268, 1u << 16}, {272, 1u << 16}}},
	{"many operations", FINISH, DPT_TRANSACTION, {0, 0}, {{564, ~0u}}},
	{"no operations", FINISH, DPT_TRANSACTION, {0, 0}, {{564, 0}}},
	{"type", FINISH, DPT_TRANSACTION, {0, 0}, {{572, 9}}},
	{"segments", FINISH, DPT_TRANSACTION, {0, 0}, {{576, ~0u}}},
	{"more segments than there are",
	 FINISH,
	 DPT_TRANSACTION,
	 {0, 0},
	 {{576, 1000}}},
	{"size", FINISH, DPT_TRANSACTION, {0, 0}, {{580, 1u << 31}}},
	{"older form", FINISH, DPT_TRANSACTION, {0, 0}, {{300, 0x6b6f6c62}}},
	{"pipeline", FINISH, DPT_PERFORMANCE, {0, 0}, {{536, 0}}},
	{"nothing to move", FINISH, DPT_PERFORMANCE, {0, 0}, {{544, 0}}},
	{"stands up", STAND_UP, DPT_TRANSACTION, {0, 0}, {{0, 0}}},
};

static void claim(uint8_t *msg, const struct claim *c)
{
	/* The version is where good messages have it, so 0 means none. */
	if (!c->at && !c->value)
		return;
	for (int i = 0; i < 4; i++)
		msg[c->at + (size_t)i] = (uint8_t)(c->value >> 8 * i);
}

static void put_info(const struct attack *a, uint8_t *msg)
{
	struct dpt_client_info info = {
		.test = a->test,
		.eps = 1,
		.ext = {.present = true},
	};

	dpt_put_client_info(msg, &info);
	claim(msg, &a->info);
}

static void put_command(const struct attack *a, uint8_t *msg)
{
	struct dpt_transaction t = {
		.iterations = 1,
		.threads = 1,
		.eps = 1,
		.port = 1,
		.op_count = 2,
		.ops = {{false, DPT_OP_SEND, 1, 64, false},
			{true, DPT_OP_SEND, 1, 64, false}},
	};
	struct dpt_performance p = {
		.iterations = 1,
		.pipeline = 1,
		.op = {false, DPT_OP_WRITE, 1, 64, false},
		.port = 1,
	};

	if (a->test == DPT_TRANSACTION)
		dpt_put_transaction(msg, &t);
	else
		dpt_put_performance(msg, &p);
	claim(msg, &a->command[0]);
	claim(msg, &a->command[1]);
}

static int speak(struct dpt *d, struct dpt_control *c, const struct attack *a)
{
	const uint8_t *answer;
	int rc;

	if (a->conduct == LEAVE)
		return 0;
	put_info(a, dpt_control_out(c));
	if (a->conduct == NOISE)
		memset(dpt_control_out(c), 0xa5, DPT_MSG_SIZE);
	if (a->conduct == SHORT)
		return dpt_end_send(d, &c->end, &c->mem, 0, 16, 0, "an attack");
	rc = dpt_control_send(d, c, "an attack");
	if (rc || a->conduct == HALF || a->conduct == NOISE)
		return rc;
	put_command(a, dpt_control_out(c));
	/* After a bad first message the server may be gone already. */
	if (dpt_end_send_last(d, &c->end, &c->mem, 2 * DPT_MSG_SIZE,
			      DPT_MSG_SIZE, 0, "an attack"))
		return 0;
	return a->conduct == STAND_UP
		       ? dpt_control_receive(d, c, "the answer", &answer)
		       : 0;
}

static int attack(struct dpt *d, const struct attack *a)
{
	struct dpt_control c;
	int rc = dpt_control_open(d, &c);

	dt_say(&d->r, "Attack: %s\n", a->name);
	if (!rc)
		rc = dpt_end_connect(d, &c.end, d->o->port, NULL, 0);
	if (!rc)
		rc = speak(d, &c, a);
	/* Time to answer, or to leave first. */
	dpt_end_part(d, &c.end, DAT_CLOSE_ABRUPT_FLAG, a->conduct == FINISH);
	return dpt_control_close(d, &c, rc);
}

int dpt_hostile(struct dpt *d)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(attacks) / sizeof(attacks[0]); i++)
		rc = attack(d, &attacks[i]);
	return rc;
}
