/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * attack_ucm.c - one datagram, from a queue pair of the attacker's own: whose a
 * datagram is, the device says, so that is what nobody can forge. The answers
 * are read, and tell which ids the server hands out.
 */
#include "test/hostile/hostile.h"

void attack_ucm_step(struct attacker *a)
{
	uint8_t bytes[ATTACK_BYTES];
	struct wire_msg answer;
	enum attack_kind kind;
	size_t len;

	kind = attack_make(a, bytes, &len);
	wire_send_raw(&a->w, &a->server,
		      a->aside ? a->w.qp->qp_num : wire_qpn_of(&a->server),
		      bytes, len);
	attack_count(a, kind);
	while (wire_next(&a->w, 0, &answer))
		if (answer.s_id)
			a->seen_id = answer.s_id;
}
