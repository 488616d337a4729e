/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_msg.c - encoding and decoding of the shared CM message.
 *
 * No I/O, no state, no allocation; any bytes may be decoded.
 * Layout: doc/cm-protocol.md.
 */
#include "dapl/common/cm/dcm/dcm_msg.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* Offsets in the message. */
enum {
	AT_VERSION = 0,
	AT_OP = 2,
	AT_SPORT = 4,
	AT_DPORT = 6,
	AT_SQPN = 8,
	AT_DQPN = 12,
	AT_P_SIZE = 16,
	AT_S_ID = 20,
	AT_D_ID = 24,
	AT_RD_IN = 28,
	AT_SPORT_HIGH = 29, /* bits 16 to 23 */
	AT_DPORT_HIGH = 30,
	AT_RTNS = 31,
	AT_MTU = 32,
	AT_SADDR = 36,
	AT_DADDR = 64,
	AT_SADDR_ALT = 92,
};

/* Offsets in an address block. */
enum {
	AT_FAMILY = 0,
	AT_LID = 2,
	AT_QPN = 4,
	AT_GID = 8,
	AT_SL = 26,
	AT_QP_TYPE = 27,
};

static void put16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

bool dcm_op_has_pdata(uint16_t op)
{
	return op >= DCM_REQ && op <= DCM_REJ_CM;
}

const char *dcm_op_name(uint16_t op)
{
	static const char *const names[DCM_OP_N] = {
		[DCM_REQ] = "REQ",	     [DCM_REP] = "REP",
		[DCM_REJ_USER] = "REJ_USER", [DCM_REJ_CM] = "REJ_CM",
		[DCM_RTU] = "RTU",	     [DCM_DREQ] = "DREQ",
		[DCM_DREP] = "DREP",
	};

	return op < DCM_OP_N && names[op] ? names[op] : "?";
}

size_t dcm_msg_encode(const struct dcm_msg *msg, uint8_t *buf)
{
	assert(msg->p_size <= DCM_PDATA);
	memset(buf, 0, DCM_HEADER);
	put16(buf + AT_VERSION, msg->version);
	put16(buf + AT_OP, msg->op);
	put16(buf + AT_SPORT, (uint16_t)msg->sport);
	put16(buf + AT_DPORT, (uint16_t)msg->dport);
	put32(buf + AT_SQPN, msg->sqpn);
	put32(buf + AT_DQPN, msg->dqpn);
	put16(buf + AT_P_SIZE, msg->p_size);
	put32(buf + AT_S_ID, msg->s_id);
	put32(buf + AT_D_ID, msg->d_id);
	buf[AT_RD_IN] = msg->responder_resources;
	buf[AT_SPORT_HIGH] = (uint8_t)(msg->sport >> 16);
	buf[AT_DPORT_HIGH] = (uint8_t)(msg->dport >> 16);
	buf[AT_RTNS] = msg->rtns;
	buf[AT_MTU] = msg->mtu;
	memcpy(buf + AT_SADDR, &msg->saddr, sizeof(msg->saddr));
	memcpy(buf + AT_DADDR, &msg->daddr, sizeof(msg->daddr));
	memcpy(buf + AT_SADDR_ALT, &msg->saddr_alt, sizeof(msg->saddr_alt));
	if (!dcm_op_has_pdata(msg->op))
		return DCM_HEADER;
	memcpy(buf + DCM_HEADER, msg->pdata, msg->p_size);
	return (size_t)DCM_HEADER + msg->p_size;
}

int dcm_msg_decode_header(const uint8_t *buf, struct dcm_msg *ret_msg)
{
	uint16_t version = get16(buf + AT_VERSION);
	uint16_t op = get16(buf + AT_OP);
	uint16_t p_size = get16(buf + AT_P_SIZE);

	if (version < DCM_VERSION_MIN)
		return -EPROTO;
	if (!dcm_op_has_pdata(op))
		p_size = 0;
	if (p_size > DCM_PDATA)
		return -EMSGSIZE;
	ret_msg->version = version;
	ret_msg->op = op;
	ret_msg->p_size = p_size;
	ret_msg->sport = get16(buf + AT_SPORT);
	ret_msg->dport = get16(buf + AT_DPORT);
	ret_msg->sqpn = get32(buf + AT_SQPN);
	ret_msg->dqpn = get32(buf + AT_DQPN);
	ret_msg->s_id = get32(buf + AT_S_ID);
	ret_msg->d_id = get32(buf + AT_D_ID);
	ret_msg->responder_resources = buf[AT_RD_IN];
	ret_msg->rtns = 0;
	ret_msg->mtu = version < DCM_VERSION_MTU ? 0 : buf[AT_MTU];
	if (version >= DCM_VERSION_EXT) {
		ret_msg->sport |= (uint32_t)buf[AT_SPORT_HIGH] << 16;
		ret_msg->dport |= (uint32_t)buf[AT_DPORT_HIGH] << 16;
		ret_msg->rtns = buf[AT_RTNS];
	}
	memcpy(&ret_msg->saddr, buf + AT_SADDR, sizeof(ret_msg->saddr));
	memcpy(&ret_msg->daddr, buf + AT_DADDR, sizeof(ret_msg->daddr));
	memset(&ret_msg->saddr_alt, 0, sizeof(ret_msg->saddr_alt));
	if (version >= DCM_VERSION_MTU)
		memcpy(&ret_msg->saddr_alt, buf + AT_SADDR_ALT,
		       sizeof(ret_msg->saddr_alt));
	return 0;
}

int dcm_msg_decode(const uint8_t *buf, size_t len, struct dcm_msg *ret_msg)
{
	struct dcm_msg msg;
	int ret;

	if (len < DCM_HEADER)
		return -EBADMSG;
	ret = dcm_msg_decode_header(buf, &msg);
	if (ret)
		return ret;
	if (len < (size_t)DCM_HEADER + msg.p_size)
		return -EBADMSG;
	memset(msg.pdata, 0, sizeof(msg.pdata));
	memcpy(msg.pdata, buf + DCM_HEADER, msg.p_size);
	*ret_msg = msg;
	return 0;
}

void dcm_block_set_ib(struct dcm_block *block, const struct dcm_ib *ib)
{
	memset(block, 0, sizeof(*block));
	/* The one field that is in the sender's order. */
	memcpy(block->b + AT_FAMILY, &ib->family, sizeof(ib->family));
	put16(block->b + AT_LID, ib->lid);
	put32(block->b + AT_QPN, ib->qpn);
	memcpy(block->b + AT_GID, ib->gid, sizeof(ib->gid));
	block->b[AT_SL] = ib->sl;
	block->b[AT_QP_TYPE] = ib->qp_type;
}

void dcm_block_get_ib(const struct dcm_block *block, struct dcm_ib *ret_ib)
{
	memcpy(&ret_ib->family, block->b + AT_FAMILY, sizeof(ret_ib->family));
	ret_ib->lid = get16(block->b + AT_LID);
	ret_ib->qpn = get32(block->b + AT_QPN);
	memcpy(ret_ib->gid, block->b + AT_GID, sizeof(ret_ib->gid));
	ret_ib->sl = block->b[AT_SL];
	ret_ib->qp_type = block->b[AT_QP_TYPE];
}

void dcm_block_set_sockaddr(struct dcm_block *block,
			    const struct sockaddr *addr)
{
	memset(block, 0, sizeof(*block));
	if (addr->sa_family == AF_INET)
		memcpy(block->b, addr, sizeof(struct sockaddr_in));
	else if (addr->sa_family == AF_INET6)
		memcpy(block->b, addr, sizeof(struct sockaddr_in6));
}
