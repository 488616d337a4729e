/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_counters_text.c - counters as a table for people, and as one line of
 * JSON for programs. What is 0 is left out of both.
 *
 * The names are those of the extension, in small letters and without their
 * first words. Each call writes once, so that processes that share a terminal
 * do not write into one another's lines.
 */
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "dapl/common/base/dapl_counters.h"

static const char *const ia_names[DCNT_IA_ALL_COUNTERS] = {
	[DCNT_IA_PZ_CREATE] = "pz_create",
	[DCNT_IA_PZ_FREE] = "pz_free",
	[DCNT_IA_LMR_CREATE] = "lmr_create",
	[DCNT_IA_LMR_FREE] = "lmr_free",
	[DCNT_IA_RMR_CREATE] = "rmr_create",
	[DCNT_IA_RMR_FREE] = "rmr_free",
	[DCNT_IA_PSP_CREATE] = "psp_create",
	[DCNT_IA_PSP_CREATE_ANY] = "psp_create_any",
	[DCNT_IA_PSP_FREE] = "psp_free",
	[DCNT_IA_RSP_CREATE] = "rsp_create",
	[DCNT_IA_RSP_FREE] = "rsp_free",
	[DCNT_IA_EVD_CREATE] = "evd_create",
	[DCNT_IA_EVD_FREE] = "evd_free",
	[DCNT_IA_EP_CREATE] = "ep_create",
	[DCNT_IA_EP_FREE] = "ep_free",
	[DCNT_IA_SRQ_CREATE] = "srq_create",
	[DCNT_IA_SRQ_FREE] = "srq_free",
	[DCNT_IA_SP_CR] = "sp_cr",
	[DCNT_IA_SP_CR_ACCEPTED] = "sp_cr_accepted",
	[DCNT_IA_SP_CR_REJECTED] = "sp_cr_rejected",
	[DCNT_IA_MEM_ALLOC] = "mem_alloc",
	[DCNT_IA_MEM_ALLOC_DATA] = "mem_alloc_data",
	[DCNT_IA_MEM_FREE] = "mem_free",
	[DCNT_IA_ASYNC_ERROR] = "async_error",
	[DCNT_IA_ASYNC_QP_ERROR] = "async_qp_error",
	[DCNT_IA_ASYNC_CQ_ERROR] = "async_cq_error",
	[DCNT_IA_CM_LISTEN] = "cm_listen",
	[DCNT_IA_CM_REQ_TX] = "cm_req_tx",
	[DCNT_IA_CM_REQ_RX] = "cm_req_rx",
	[DCNT_IA_CM_REP_TX] = "cm_rep_tx",
	[DCNT_IA_CM_REP_RX] = "cm_rep_rx",
	[DCNT_IA_CM_RTU_TX] = "cm_rtu_tx",
	[DCNT_IA_CM_RTU_RX] = "cm_rtu_rx",
	[DCNT_IA_CM_USER_REJ_TX] = "cm_user_rej_tx",
	[DCNT_IA_CM_USER_REJ_RX] = "cm_user_rej_rx",
	[DCNT_IA_CM_ACTIVE_EST] = "cm_active_est",
	[DCNT_IA_CM_PASSIVE_EST] = "cm_passive_est",
	[DCNT_IA_CM_AH_REQ_TX] = "cm_ah_req_tx",
	[DCNT_IA_CM_AH_REQ_RX] = "cm_ah_req_rx",
	[DCNT_IA_CM_AH_RESOLVED] = "cm_ah_resolved",
	[DCNT_IA_CM_DREQ_TX] = "cm_dreq_tx",
	[DCNT_IA_CM_DREQ_RX] = "cm_dreq_rx",
	[DCNT_IA_CM_DREP_TX] = "cm_drep_tx",
	[DCNT_IA_CM_DREP_RX] = "cm_drep_rx",
	[DCNT_IA_CM_MRA_TX] = "cm_mra_tx",
	[DCNT_IA_CM_MRA_RX] = "cm_mra_rx",
	[DCNT_IA_CM_REQ_FULLQ_POLL] = "cm_req_fullq_poll",
	[DCNT_IA_CM_ERR] = "cm_err",
	[DCNT_IA_CM_ERR_REQ_FULLQ] = "cm_err_req_fullq",
	[DCNT_IA_CM_ERR_REQ_DUP] = "cm_err_req_dup",
	[DCNT_IA_CM_ERR_REQ_RETRY] = "cm_err_req_retry",
	[DCNT_IA_CM_ERR_REP_DUP] = "cm_err_rep_dup",
	[DCNT_IA_CM_ERR_REP_RETRY] = "cm_err_rep_retry",
	[DCNT_IA_CM_ERR_RTU_DUP] = "cm_err_rtu_dup",
	[DCNT_IA_CM_ERR_RTU_RETRY] = "cm_err_rtu_retry",
	[DCNT_IA_CM_ERR_REFUSED] = "cm_err_refused",
	[DCNT_IA_CM_ERR_RESET] = "cm_err_reset",
	[DCNT_IA_CM_ERR_TIMEOUT] = "cm_err_timeout",
	[DCNT_IA_CM_ERR_REJ_TX] = "cm_err_rej_tx",
	[DCNT_IA_CM_ERR_REJ_RX] = "cm_err_rej_rx",
	[DCNT_IA_CM_ERR_DREQ_DUP] = "cm_err_dreq_dup",
	[DCNT_IA_CM_ERR_DREQ_RETRY] = "cm_err_dreq_retry",
	[DCNT_IA_CM_ERR_DREP_DUP] = "cm_err_drep_dup",
	[DCNT_IA_CM_ERR_DREP_RETRY] = "cm_err_drep_retry",
	[DCNT_IA_CM_ERR_MRA_DUP] = "cm_err_mra_dup",
	[DCNT_IA_CM_ERR_MRA_RETRY] = "cm_err_mra_retry",
	[DCNT_IA_CM_ERR_UNEXPECTED] = "cm_err_unexpected",
	[DCNT_IA_LNK_ERR_RCV] = "lnk_err_rcv",
	[DCNT_IA_LNK_ERR_RCV_REM_PHYS] = "lnk_err_rcv_rem_phys",
	[DCNT_IA_LNK_ERR_RCV_CONSTRAINT] = "lnk_err_rcv_constraint",
	[DCNT_IA_LNK_ERR_XMT_DISCARDS] = "lnk_err_xmt_discards",
	[DCNT_IA_LNK_ERR_XMT_CONTRAINT] = "lnk_err_xmt_constraint",
	[DCNT_IA_LNK_ERR_INTEGRITY] = "lnk_err_integrity",
	[DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN] = "lnk_err_exc_buf_overrun",
	[DCNT_IA_LNK_WARN_RCV_SW_RELAY] = "lnk_warn_rcv_sw_relay",
	[DCNT_IA_LNK_WARN_XMT_WAIT] = "lnk_warn_xmt_wait",
	[DCNT_IA_DIAG_ERR_RQ_RAE] = "diag_err_rq_rae",
	[DCNT_IA_DIAG_ERR_RQ_OOS] = "diag_err_rq_oos",
	[DCNT_IA_DIAG_ERR_RQ_RIRE] = "diag_err_rq_rire",
	[DCNT_IA_DIAG_ERR_RQ_UDSDPRD] = "diag_err_rq_udsdprd",
	[DCNT_IA_DIAG_ERR_SQ_RAE] = "diag_err_sq_rae",
	[DCNT_IA_DIAG_ERR_SQ_OOS] = "diag_err_sq_oos",
	[DCNT_IA_DIAG_ERR_SQ_RIRE] = "diag_err_sq_rire",
	[DCNT_IA_DIAG_ERR_SQ_RREE] = "diag_err_sq_rree",
	[DCNT_IA_DIAG_ERR_SQ_TREE] = "diag_err_sq_tree",
};

static const char *const ep_names[DAPL_EP_COUNTS] = {
	[DCNT_EP_CONNECT] = "connect",
	[DCNT_EP_DISCONNECT] = "disconnect",
	[DCNT_EP_POST_SEND] = "post_send",
	[DCNT_EP_POST_SEND_DATA] = "post_send_data",
	[DCNT_EP_POST_SEND_UD] = "post_send_ud",
	[DCNT_EP_POST_SEND_UD_DATA] = "post_send_ud_data",
	[DCNT_EP_POST_RECV] = "post_recv",
	[DCNT_EP_POST_RECV_DATA] = "post_recv_data",
	[DCNT_EP_POST_WRITE] = "post_write",
	[DCNT_EP_POST_WRITE_DATA] = "post_write_data",
	[DCNT_EP_POST_WRITE_IMM] = "post_write_imm",
	[DCNT_EP_POST_WRITE_IMM_DATA] = "post_write_imm_data",
	[DCNT_EP_POST_READ] = "post_read",
	[DCNT_EP_POST_READ_DATA] = "post_read_data",
	[DCNT_EP_POST_CMP_SWAP] = "post_cmp_swap",
	[DCNT_EP_POST_FETCH_ADD] = "post_fetch_add",
	[DCNT_EP_RECV] = "recv",
	[DCNT_EP_RECV_DATA] = "recv_data",
	[DCNT_EP_RECV_UD] = "recv_ud",
	[DCNT_EP_RECV_UD_DATA] = "recv_ud_data",
	[DCNT_EP_RECV_IMM] = "recv_imm",
	[DCNT_EP_RECV_IMM_DATA] = "recv_imm_data",
	[DCNT_EP_RECV_RDMA_IMM] = "recv_rdma_imm",
	[DCNT_EP_RECV_RDMA_IMM_DATA] = "recv_rdma_imm_data",
	[DAPL_EP_REQUESTS_MOST] = "requests_most",
	[DAPL_EP_RECEIVES_MOST] = "receives_most",
};

static const char *const evd_names[DAPL_EVD_COUNTS] = {
	[DCNT_EVD_WAIT] = "wait",
	[DCNT_EVD_WAIT_BLOCKED] = "wait_blocked",
	[DCNT_EVD_WAIT_NOTIFY] = "wait_notify",
	[DCNT_EVD_DEQUEUE] = "dequeue",
	[DCNT_EVD_DEQUEUE_FOUND] = "dequeue_found",
	[DCNT_EVD_DEQUEUE_NOT_FOUND] = "dequeue_not_found",
	[DCNT_EVD_DEQUEUE_POLL] = "dequeue_poll",
	[DCNT_EVD_DEQUEUE_POLL_FOUND] = "dequeue_poll_found",
	[DCNT_EVD_CONN_CALLBACK] = "conn_callback",
	[DCNT_EVD_DTO_CALLBACK] = "dto_callback",
	[DAPL_EVD_EVENTS_MOST] = "events_most",
};

/* The sets that there are, in the order of their printing. */
static const struct set {
	const char *name;
	const char *const *names;
	int count;
} sets[] = {
	{"ia", ia_names, DCNT_IA_ALL_COUNTERS},
	{"ep", ep_names, DAPL_EP_COUNTS},
	{"evd", evd_names, DAPL_EVD_COUNTS},
};

#define SETS (sizeof(sets) / sizeof(sets[0]))

static const uint64_t *values_of(const struct dapl_counters_say *say, size_t i)
{
	const uint64_t *all[SETS] = {say->ia, say->ep, say->evd};

	return all[i];
}

static uint64_t connects_of(const struct dapl_connects *c)
{
	uint64_t n = 0;

	for (int i = 0; c && i < DAPL_TIMES; i++)
		n += c->n[i];
	return n;
}

/* Where the times of bucket I begin, in microseconds. */
static unsigned long long from_us(int i)
{
	return i ? 1ull << (i - 1) : 0;
}

/* ----------------------------------------------------------- table */

static void table_times(FILE *f, const struct dapl_connects *c, uint64_t n)
{
	fprintf(f, "  connect: %llu in %llu us on the average, %llu at most\n",
		(unsigned long long)n, (unsigned long long)(c->us / n),
		(unsigned long long)c->most_us);
	for (int i = 0; i < DAPL_TIMES; i++)
		if (c->n[i])
			fprintf(f, "    from %10llu us %14llu\n", from_us(i),
				(unsigned long long)c->n[i]);
}

static void table(FILE *f, const struct dapl_counters_say *say)
{
	uint64_t n = connects_of(say->connects);

	fprintf(f, "counters of %s, pid %d", say->name, (int)getpid());
	if (say->handle)
		fprintf(f, ", %p", say->handle);
	fputc('\n', f);
	for (size_t s = 0; s < SETS; s++) {
		const uint64_t *values = values_of(say, s);

		for (int i = 0; values && i < sets[s].count; i++)
			if (values[i])
				fprintf(f, "  %-3s %-24s %12llu\n",
					sets[s].name, sets[s].names[i],
					(unsigned long long)values[i]);
	}
	if (n)
		table_times(f, say->connects, n);
}

/* ------------------------------------------------------------ JSON */

static void json_text(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (iscntrl(c))
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void json_set(FILE *f, const struct set *set, const uint64_t *values)
{
	const char *comma = "";

	fprintf(f, ",\"%s\":{", set->name);
	for (int i = 0; i < set->count; i++) {
		if (!values[i])
			continue;
		fprintf(f, "%s\"%s\":%llu", comma, set->names[i],
			(unsigned long long)values[i]);
		comma = ",";
	}
	fputc('}', f);
}

static void json_times(FILE *f, const struct dapl_connects *c, uint64_t n)
{
	const char *comma = "";

	fprintf(f, ",\"connect\":{\"n\":%llu,\"mean_us\":%llu,\"most_us\":%llu",
		(unsigned long long)n, (unsigned long long)(c->us / n),
		(unsigned long long)c->most_us);
	fprintf(f, ",\"from_us\":{");
	for (int i = 0; i < DAPL_TIMES; i++) {
		if (!c->n[i])
			continue;
		fprintf(f, "%s\"%llu\":%llu", comma, from_us(i),
			(unsigned long long)c->n[i]);
		comma = ",";
	}
	fputs("}}", f);
}

static void json(FILE *f, const struct dapl_counters_say *say)
{
	uint64_t n = connects_of(say->connects);

	fputs("{\"counters\":", f);
	json_text(f, say->name);
	fprintf(f, ",\"pid\":%d", (int)getpid());
	for (size_t s = 0; s < SETS; s++)
		if (values_of(say, s))
			json_set(f, &sets[s], values_of(say, s));
	if (n)
		json_times(f, say->connects, n);
	fputs("}\n", f);
}

/* ------------------------------------------------------------------ */

static void write_once(FILE *to, const struct dapl_counters_say *say,
		       void (*form)(FILE *f, const struct dapl_counters_say *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	form(f, say);
	if (!fclose(f))
		fwrite(text, 1, size, to);
	fflush(to);
	free(text);
}

void dapl_counters_table(FILE *to, const struct dapl_counters_say *say)
{
	write_once(to, say, table);
}

void dapl_counters_json(FILE *to, const struct dapl_counters_say *say)
{
	write_once(to, say, json);
}
