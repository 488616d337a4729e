/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_msg.h - the connection management message, over streams and datagrams.
 *
 * Pure: bytes to structure and back, nothing else. Framing of a stream,
 * its four-byte words included, is the stream's own business.
 * Layout and meaning of every byte: doc/cm-protocol.md; golden bytes:
 * test/wire.
 *
 * All numbers in the structure are in host order, except what is inside an
 * address block (struct dcm_block), which is kept as it was on the wire and
 * read by functions.
 */
#ifndef DCM_MSG_H
#define DCM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DCM_VERSION	9
#define DCM_VERSION_MIN 6 /* older ones have another layout */
/* Up to this version stream peers put two bytes between header and data. */
#define DCM_VERSION_FILLER 7
/* From when on bytes mean something; they could be anything before. */
#define DCM_VERSION_EXT	  8 /* bits 16 to 23 of the ports, "rtns" */
#define DCM_VERSION_MTU	  9 /* "mtu" */
#define DCM_VERSION_RD_IN 7

#define DCM_HEADER 148
#define DCM_PDATA  68 /* what fits behind the header */
#define DCM_MSG	   (DCM_HEADER + DCM_PDATA)

enum dcm_op {
	DCM_REQ = 1,
	DCM_REP = 2,
	DCM_REJ_USER = 3, /* the consumer said no */
	DCM_REJ_CM = 4,	  /* the provider did: nobody listens, or no room */
	DCM_RTU = 5,
	DCM_DREQ = 6,
	DCM_DREP = 7,
	DCM_OP_N
};

/* Queue pair types as the wire has them. */
#define DCM_QP_RC 2
#define DCM_QP_UD 4

/*
 * 28 bytes that are either the InfiniBand description of a queue pair or a
 * socket address; which, the family (host order!) and the context tell.
 */
struct dcm_block {
	uint8_t b[28];
};

/* The InfiniBand shape. */
struct dcm_ib {
	uint16_t family; /* 0, or AF_INET6: an address of datagrams */
	uint16_t lid;
	uint32_t qpn;
	uint8_t gid[16];
	uint8_t sl;
	uint8_t qp_type; /* DCM_QP_* */
};

struct dcm_msg {
	uint16_t version;
	uint16_t op;	/* enum dcm_op, or what the peer made up */
	uint32_t sport; /* 24 bits */
	uint32_t dport;
	uint32_t sqpn; /* of the CM queue pairs */
	uint32_t dqpn;
	uint32_t s_id;
	uint32_t d_id;
	uint8_t responder_resources;
	uint8_t rtns; /* number of repeats before this one */
	uint8_t mtu;  /* enum ibv_mtu; 0: not told */
	uint16_t p_size;
	struct dcm_block saddr;
	struct dcm_block daddr;
	struct dcm_block saddr_alt; /* see dcm_path_offer(); zero: none */
	uint8_t pdata[DCM_PDATA];
};

/*
 * Counts of repeats that mean something else, while there is a connection: a
 * REP of the side that accepted, or an RTU of the other, asks whether the peer
 * is there. A REP is answered by an RTU, as it always was, an RTU of this kind
 * by a REP of the other, which is not answered.
 */
#define DCM_RTNS_MAX	253
#define DCM_RTNS_ANSWER 254
#define DCM_RTNS_ASK	255

static inline bool dcm_msg_is_alive(const struct dcm_msg *msg)
{
	return msg->rtns > DCM_RTNS_MAX;
}

/* Whether messages of OP carry private data (others have a stale size). */
bool dcm_op_has_pdata(uint16_t op);
const char *dcm_op_name(uint16_t op);

/*
 * Writes MSG to BUF of DCM_MSG bytes; returns the length. p_size must not
 * exceed DCM_PDATA. Bytes that are not ours are 0.
 */
size_t dcm_msg_encode(const struct dcm_msg *msg, uint8_t *buf);

/*
 * Reads the header, from DCM_HEADER bytes at BUF. 0; -EPROTO: version below
 * 6; -EMSGSIZE: it announces more private data than there can be. pdata is
 * left alone.
 */
int dcm_msg_decode_header(const uint8_t *buf, struct dcm_msg *ret_msg);

/*
 * Reads a whole message of LEN bytes, as a datagram brings it: data begins
 * right behind the header, surplus bytes are ignored. As above; -EBADMSG: too
 * short for what it announces.
 */
int dcm_msg_decode(const uint8_t *buf, size_t len, struct dcm_msg *ret_msg);

void dcm_block_set_ib(struct dcm_block *block, const struct dcm_ib *ib);
void dcm_block_get_ib(const struct dcm_block *block, struct dcm_ib *ret_ib);
/* ADDR is IPv4 or IPv6; other families give an empty block. */
void dcm_block_set_sockaddr(struct dcm_block *block,
			    const struct sockaddr *addr);

#endif
