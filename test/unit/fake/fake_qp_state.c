/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_qp_state.c: which queue pair transition is legal with which attributes.
 * A table and its reader, nothing else; RC and UD on InfiniBand and RoCE only,
 * iWARP drivers judge for themselves.
 * Threads: pure. Ownership: none.
 * Rule: InfiniBand vol. 1 table 91 ("QP state transition properties"), the
 * same lists ibv_modify_qp(3) prints.
 */
#include "fake_int.h"

#define M_INIT_RC (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define M_INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define M_RTR_RC                                                         \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define M_RTS_RC                                                \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
#define M_LIVE_RC                                                   \
	(IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | \
	 IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE)
#define M_LIVE_UD (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define M_SQD_RC                                                           \
	(IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |     \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |                      \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_PKEY_INDEX | \
	 IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE)

struct transition {
	enum ibv_qp_state from, to;
	int must_rc, may_rc, must_ud, may_ud;
};

static const struct transition table[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, M_INIT_RC, 0, M_INIT_UD, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, M_INIT_RC, 0, M_INIT_UD},
	{IBV_QPS_INIT, IBV_QPS_RTR, M_RTR_RC,
	 IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX, 0,
	 IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{IBV_QPS_RTR, IBV_QPS_RTS, M_RTS_RC, M_LIVE_RC, IBV_QP_SQ_PSN,
	 M_LIVE_UD},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, M_LIVE_RC, 0, M_LIVE_UD},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY, 0,
	 IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, M_LIVE_RC, 0, M_LIVE_UD},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, M_SQD_RC, 0,
	 IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{IBV_QPS_SQE, IBV_QPS_RTS, 0, 0, 0, M_LIVE_UD},
};

bool fv__transition_ok(enum ibv_qp_type type, enum ibv_qp_state from,
		       enum ibv_qp_state to, int mask)
{
	mask &= ~IBV_QP_STATE;
	if (mask & IBV_QP_CUR_STATE && from != IBV_QPS_RTR &&
	    from != IBV_QPS_RTS && from != IBV_QPS_SQD && from != IBV_QPS_SQE)
		return false;
	if (to == IBV_QPS_RESET)
		return !mask;
	if (to == IBV_QPS_ERR)
		return !mask && from != IBV_QPS_RESET;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct transition *t = &table[i];
		int must = type == IBV_QPT_UD ? t->must_ud : t->must_rc;
		int may = type == IBV_QPT_UD ? t->may_ud : t->may_rc;

		if (t->from != from || t->to != to)
			continue;
		return (mask & must) == must && !(mask & ~(must | may));
	}
	return false;
}
