/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * attack.c - what is wrong with the messages of an attacker, for both ways to
 * bring them (attack_scm.c, attack_ucm.c). Which comes when, the seed says.
 * An attacker is one thread's.
 */
#include <stdio.h>
#include <string.h>

#include "test/hostile/hostile.h"

#define IDS_NEAR 64
#define GUEST_IN \
	64 /* messages one is a guest's: he is much work, for us, too */

const char *const attack_names[ATTACK_KINDS] = {
	[ATTACK_FORGED] = "forged",	[ATTACK_IMPERSONATED] = "impersonated",
	[ATTACK_REPLAYED] = "replayed", [ATTACK_MUTATED] = "mutated",
	[ATTACK_CUT] = "cut",		[ATTACK_VERSION] = "version",
	[ATTACK_GARBAGE] = "garbage",	[ATTACK_STRANGER] = "stranger",
	[ATTACK_GUEST] = "guest",	[ATTACK_HALF_OPEN] = "half_open",
	[ATTACK_SLOW] = "slow",
};

/* xorshift64*: no lock, unlike random(). */
uint32_t attack_random(struct attacker *a)
{
	a->seed ^= a->seed >> 12;
	a->seed ^= a->seed << 25;
	a->seed ^= a->seed >> 27;
	return (uint32_t)((a->seed * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

void attack_count(struct attacker *a, enum attack_kind kind)
{
	atomic_fetch_add_explicit(&a->sent[kind], 1, memory_order_relaxed);
}

struct wire_msg attack_request(struct attacker *a, const char *who)
{
	struct wire_msg msg = {
		.ver = 9,
		.op = WIRE_REQ,
		.p_size = PDATA,
		.responder_resources = 4,
		.mtu = 3,
		.saddr = wire_block(&a->w, 0x100 + attack_random(a) % 4096,
				    WIRE_RC),
		.daddr = a->server,
	};

	memcpy(msg.pdata, who, WHO);
	if (a->scm)
		return msg;
	memset(msg.daddr.b + 4, 0, 4);
	msg.sport = a->w.id;
	msg.dport = a->port;
	msg.sqpn = a->w.qp->qp_num;
	msg.dqpn = wire_qpn_of(&a->server);
	msg.s_id = ++a->next_id;
	return msg;
}

/* Ids as they are handed out now, by the server and by the client. */
static struct wire_msg forged(struct attacker *a)
{
	struct wire_msg msg = attack_request(a, "forged");

	msg.op = (uint16_t)(WIRE_REQ + attack_random(a) % 7);
	msg.rtns = (uint8_t)(attack_random(a) % 3);
	msg.s_id = attack_random(a) % 2 ? a->next_id - attack_random(a) % 8
					: a->seen_id;
	msg.d_id = a->seen_id + attack_random(a) % IDS_NEAR - IDS_NEAR / 2;
	if (attack_random(a) % 2)
		msg.dport = (uint16_t)msg.d_id;
	return msg;
}

static size_t record(struct attacker *a, const struct wire_msg *msg,
		     uint8_t *bytes)
{
	unsigned i = a->recorded_n++ % RECORDED;

	a->recorded[i].len = wire_encode(msg, a->recorded[i].bytes);
	memcpy(bytes, a->recorded[i].bytes, a->recorded[i].len);
	return a->recorded[i].len;
}

static size_t replay(struct attacker *a, uint8_t *bytes)
{
	unsigned n = a->recorded_n < RECORDED ? a->recorded_n : RECORDED;
	struct wire_msg msg;
	unsigned i;

	if (!n) {
		msg = attack_request(a, "replay");
		return record(a, &msg, bytes);
	}
	i = attack_random(a) % n;
	memcpy(bytes, a->recorded[i].bytes, a->recorded[i].len);
	return a->recorded[i].len;
}

static void flip(struct attacker *a, uint8_t *bytes, size_t len)
{
	for (unsigned n = 1 + attack_random(a) % 8; n; n--)
		bytes[attack_random(a) % len] ^=
			(uint8_t)(1u << attack_random(a) % 8);
}

static void garbage(struct attacker *a, uint8_t *bytes, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		bytes[i] = (uint8_t)attack_random(a);
}

/* Over a stream anybody may say that he is the client: a password's business.
 */
static enum attack_kind pick(struct attacker *a)
{
	enum attack_kind kind = attack_random(a) % ATTACK_STRANGER;

	if (attack_random(a) % a->good_in == 0)
		return attack_random(a) % GUEST_IN ? ATTACK_STRANGER
						   : ATTACK_GUEST;
	return a->scm && kind == ATTACK_IMPERSONATED ? ATTACK_FORGED : kind;
}

enum attack_kind attack_make(struct attacker *a, uint8_t *bytes,
			     size_t *ret_len)
{
	enum attack_kind kind = pick(a);
	struct wire_msg msg;
	size_t len;

	switch (kind) {
	case ATTACK_FORGED:
		msg = forged(a);
		*ret_len = record(a, &msg, bytes);
		break;
	case ATTACK_IMPERSONATED:
		msg = forged(a);
		memcpy(msg.pdata, HONEST, WHO);
		msg.sqpn = wire_qpn_of(&a->client);
		msg.saddr = a->client;
		*ret_len = wire_encode(&msg, bytes);
		break;
	case ATTACK_REPLAYED:
		*ret_len = replay(a, bytes);
		break;
	case ATTACK_MUTATED:
		*ret_len = replay(a, bytes);
		flip(a, bytes, *ret_len);
		break;
	case ATTACK_CUT:
		len = replay(a, bytes);
		*ret_len = attack_random(a) % ATTACK_BYTES;
		if (*ret_len > len)
			garbage(a, bytes, len, *ret_len);
		break;
	case ATTACK_VERSION:
		msg = attack_request(a, "versio");
		msg.ver = (uint16_t)(attack_random(a) % 16);
		if (attack_random(a) % 2)
			msg.op = (uint16_t)attack_random(a);
		*ret_len = wire_encode(&msg, bytes);
		break;
	case ATTACK_GARBAGE:
		*ret_len = attack_random(a) % ATTACK_BYTES;
		garbage(a, bytes, 0, *ret_len);
		break;
	default:
		msg = attack_request(a,
				     kind == ATTACK_GUEST ? GUEST : "nobody");
		*ret_len = record(a, &msg, bytes);
		break;
	}
	return kind;
}

void attacker_open(struct attacker *a, const char *device, const uint8_t *gid)
{
	int index = gid ? wire_gid_index(device, gid) : 0;

	wire_open(&a->w, device, index < 0 ? 0 : index);
	a->w.id = (uint16_t)(0x4000 + a->number);
	/* 0 would stay 0. */
	a->seed = (a->seed + a->number + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (unsigned i = 0; i < HELD_MAX; i++)
		a->held[i].fd = -1;
}

void attacker_step(struct attacker *a)
{
	if (a->scm)
		attack_scm_step(a);
	else
		attack_ucm_step(a);
}

void attacker_pause(struct attacker *a)
{
	if (a->scm)
		attack_scm_pause(a);
}
