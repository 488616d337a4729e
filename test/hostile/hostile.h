/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile.h - the two sides that are honest, and those that are not, which have
 * no DAT: verbs (ucm_wire.h) and sockets are all that an attacker has.
 *
 * All are threads of one process, so that one program suits the fake device,
 * too, and memory and descriptors are read from within. What an attacker takes
 * for itself is allocated before the first reading and does not grow.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "test/bench/bench.h"
#include "test/interop/ucm_wire.h"

/* The private data of a request: who it says it is, and a number. The server
 * takes honest ones, a few guests at a time, and rejects all others. */
#define HONEST "honest"
#define GUEST  "guest."
#define WHO    6
#define PDATA  8
#define BYTES  64 /* of a transfer */

/* ---------------------------------------------------------------- server */

struct server {
	struct bench_ia ia;
	DAT_CONN_QUAL qual;
	_Atomic uint64_t honest, guests, rejected;
	atomic_bool stop;
};

/* Listens on return, until stop is set and it has been joined. */
void server_start(struct server *s, const char *ia, DAT_CONN_QUAL qual);
void server_stop(struct server *s);

/* -------------------------------------------------------------- attackers */

/* What is sent; counted apart. */
enum attack_kind {
	ATTACK_FORGED,	     /* any op, ids that may be in use */
	ATTACK_IMPERSONATED, /* in the name of the honest client; UCM */
	ATTACK_REPLAYED,     /* what was sent before, again */
	ATTACK_MUTATED,	     /* with flipped bits */
	ATTACK_CUT,	     /* too short or too long */
	ATTACK_VERSION,	     /* another version or op */
	ATTACK_GARBAGE,
	ATTACK_STRANGER,  /* a good request, of somebody unknown */
	ATTACK_GUEST,	  /* one that is accepted, and left alone then */
	ATTACK_HALF_OPEN, /* a connection that says nothing; SCM */
	ATTACK_SLOW,	  /* one more byte of a request; SCM */
	ATTACK_KINDS
};

extern const char *const attack_names[ATTACK_KINDS];

#define RECORDED 64
#define HELD_MAX 1024

struct attacker {
	bool scm;
	bool aside; /* to its own queue pair, and not to the server's; UCM */
	unsigned number;
	unsigned held_max; /* sockets; at most HELD_MAX */
	unsigned good_in;  /* of so many messages one is a good request */
	uint64_t seed;
	/* What is known of the others. */
	struct wire_addr server, client;
	uint16_t port; /* of the listener; TCP's for SCM */
	/* Its own. */
	struct wire w;
	uint32_t next_id, seen_id; /* of requests; of the server's answers */
	struct {
		uint8_t bytes[WIRE_HEADER + WIRE_PDATA];
		size_t len;
	} recorded[RECORDED];
	unsigned recorded_n;
	struct {
		int fd;
		size_t said;
	} held[HELD_MAX];
	unsigned held_next;
	_Atomic uint64_t sent[ATTACK_KINDS];
};

/* Its device and seed; before anything is measured. */
void attacker_open(struct attacker *a, const char *device, const uint8_t *gid);
/* Sends one message, or does one thing to one socket. */
void attacker_step(struct attacker *a);
/* Leaves nothing open between phases. */
void attacker_pause(struct attacker *a);

/* attack.c, for the two ways: */
uint32_t attack_random(struct attacker *a);
/* A message for UCM, or SCM where ids and ports are 0. */
struct wire_msg attack_request(struct attacker *a, const char *who);
/* A kind, and its bytes (at most ATTACK_BYTES). */
#define ATTACK_BYTES 1024
enum attack_kind attack_make(struct attacker *a, uint8_t *bytes,
			     size_t *ret_len);
void attack_count(struct attacker *a, enum attack_kind kind);

void attack_scm_step(struct attacker *a);
void attack_scm_pause(struct attacker *a);
void attack_ucm_step(struct attacker *a);

#endif
