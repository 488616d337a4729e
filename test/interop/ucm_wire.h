/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_wire.h - a peer of the UCM protocol made of verbs alone: a datagram
 * queue pair that sends and reads the messages of the historic provider, and a
 * reliable one to carry data.
 *
 * Written from the protocol's description and shares no code with the
 * provider, so that an error there is not repeated here. It has no protocol of
 * its own: what is sent when, a test says.
 * Threads: one. Every wait is bounded. Errors of the device end the program.
 */
#ifndef UCM_WIRE_H
#define UCM_WIRE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_op {
	WIRE_REQ = 1,
	WIRE_REP,
	WIRE_REJ_USER,
	WIRE_REJ_CM,
	WIRE_RTU,
	WIRE_DREQ,
	WIRE_DREP,
};

#define WIRE_HEADER 148
#define WIRE_PDATA  68
#define WIRE_RC	    2
#define WIRE_UD	    4

/* 28 bytes as they travel. */
struct wire_addr {
	uint8_t b[28];
};

struct wire_msg {
	uint16_t ver, op;
	uint16_t sport, dport;
	uint32_t sqpn, dqpn;
	uint16_t p_size;
	uint32_t s_id, d_id;
	uint8_t responder_resources, rtns, mtu;
	struct wire_addr saddr, daddr;
	uint8_t pdata[WIRE_PDATA];
	/* Of what came only. */
	size_t len;
	bool zeros; /* all bytes without a meaning are 0 */
	uint32_t src_qpn;
};

struct wire {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq, *send_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	uint16_t id;	   /* messages for other ports are not shown */
	struct ibv_ah *ah; /* of what was sent last, which went to */
	struct wire_addr ah_to;
};

void wire_open(struct wire *w, const char *device, int gid_index);
/* The index of GID in the port's table, or -1. */
int wire_gid_index(const char *device, const uint8_t *gid);

/* The address by which a program would connect to this peer. */
struct wire_addr wire_address(const struct wire *w);
/* A block that describes queue pair QPN of this peer. */
struct wire_addr wire_block(const struct wire *w, uint32_t qpn, uint8_t type);
uint32_t wire_qpn_of(const struct wire_addr *addr);
uint16_t wire_family_of(const struct wire_addr *addr);
uint8_t wire_type_of(const struct wire_addr *addr);

/* Sends LEN bytes to queue pair QPN at GID of ADDR. */
void wire_send_raw(struct wire *w, const struct wire_addr *addr, uint32_t qpn,
		   const uint8_t *bytes, size_t len);
/* MSG to msg->dqpn at ADDR; 148 + p_size bytes, or 148 for messages without
 * data, whatever p_size is. */
void wire_send(struct wire *w, const struct wire_addr *addr,
	       const struct wire_msg *msg);
/* Bytes of MSG; returns how many. */
size_t wire_encode(const struct wire_msg *msg, uint8_t *bytes);
/* The next message for port w->id. False: none within MS milliseconds. */
bool wire_next(struct wire *w, int ms, struct wire_msg *ret_msg);

/* A reliable queue pair with one receive of 64 bytes. */
struct wire_rc {
	struct ibv_qp *qp;
	struct ibv_cq *cq, *send_cq;
	struct ibv_mr *mr;
	uint8_t mem[128]; /* received, to send */
};

void wire_rc_open(struct wire *w, struct wire_rc *rc);
/* To RTS, towards what REMOTE describes. */
void wire_rc_connect(struct wire *w, struct wire_rc *rc,
		     const struct wire_addr *remote, uint8_t mtu);
/* Sends 64 bytes; false: that failed. */
bool wire_rc_send(struct wire_rc *rc, const char *text);
/* The 64 bytes that came, or NULL. */
const char *wire_rc_received(struct wire_rc *rc);
void wire_rc_close(struct wire_rc *rc);

#endif
