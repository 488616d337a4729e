/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fuzz_dcm_msg.c - any bytes as a CM message.
 *
 * Checks what must hold for every input: it is refused for one of the three
 * documented reasons, or gives values that are in range; written anew and read
 * again these are the same; the header alone says the same as the whole.
 * One thread.
 */
#include <errno.h>
#include <string.h>

#include "dapl/common/cm/dcm/dcm_msg.h"
#include "test/fuzz/fuzz.h"

static void check_blocks(const struct dcm_msg *msg)
{
	struct dcm_block block;
	struct dcm_ib ib, again;

	memset(&ib, 0, sizeof(ib));
	memset(&again, 0, sizeof(again));
	dcm_block_get_ib(&msg->saddr, &ib);
	dcm_block_set_ib(&block, &ib);
	dcm_block_get_ib(&block, &again);
	REQUIRE(!memcmp(&ib, &again, sizeof(ib)));
}

static void check_same(const struct dcm_msg *a, const struct dcm_msg *b)
{
	REQUIRE(a->version == b->version && a->op == b->op);
	REQUIRE(a->sport == b->sport && a->dport == b->dport);
	REQUIRE(a->sqpn == b->sqpn && a->dqpn == b->dqpn);
	REQUIRE(a->s_id == b->s_id && a->d_id == b->d_id);
	REQUIRE(a->responder_resources == b->responder_resources &&
		a->rtns == b->rtns && a->mtu == b->mtu);
	REQUIRE(a->p_size == b->p_size);
	REQUIRE(!memcmp(&a->saddr, &b->saddr, sizeof(a->saddr)));
	REQUIRE(!memcmp(&a->daddr, &b->daddr, sizeof(a->daddr)));
	REQUIRE(!memcmp(&a->saddr_alt, &b->saddr_alt, sizeof(a->saddr_alt)));
}

static void check_values(const struct dcm_msg *msg, size_t size)
{
	REQUIRE(msg->version >= DCM_VERSION_MIN);
	REQUIRE(msg->p_size <= DCM_PDATA);
	REQUIRE(size >= (size_t)DCM_HEADER + msg->p_size);
	REQUIRE(!msg->p_size || dcm_op_has_pdata(msg->op));
	REQUIRE(msg->sport <= 0xffffff && msg->dport <= 0xffffff);
	REQUIRE(dcm_op_name(msg->op)[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_msg msg, header, again;
	uint8_t bytes[DCM_MSG];
	size_t len;
	int ret = dcm_msg_decode(data, size, &msg);

	REQUIRE(!ret || ret == -EPROTO || ret == -EMSGSIZE || ret == -EBADMSG);
	REQUIRE(size >= DCM_HEADER || ret == -EBADMSG);
	if (size >= DCM_HEADER) {
		int head = dcm_msg_decode_header(data, &header);

		REQUIRE(head == (ret == -EBADMSG ? 0 : ret));
	}
	if (ret)
		return 0;
	check_values(&msg, size);
	check_same(&msg, &header);
	check_blocks(&msg);
	len = dcm_msg_encode(&msg, bytes);
	REQUIRE(len == (size_t)DCM_HEADER + msg.p_size);
	REQUIRE(!dcm_msg_decode(bytes, len, &again));
	check_same(&msg, &again);
	REQUIRE(!memcmp(msg.pdata, again.pdata, sizeof(msg.pdata)));
	return 0;
}
