/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_kinds.c: what kinds of devices there are: limits, and the ways in which
 * their drivers differ where verbs leave them free. One row for each.
 * The first three are no device's: round limits, and the ways of most of those
 * on that transport. Below them each fact has the file of Linux
 * (drivers/infiniband/, "k:") or of rdma-core (providers/, "u:") that it is
 * from; "assumed:" stands before one that none of these files says. A limit
 * that a driver asks its device for is the firmware's; a usual value.
 * Threads: pure, but for the serial number of a device.
 * Ownership: fv_device_add() copies what is filled here.
 */
#include "fake_int.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum family {
	IB,
	ROCE,
	IWARP,
	NO_RC /* has no port that rdma_cm would know */
};

/* What a driver does, as bits: the names are those of struct fv_device_cfg. */
enum way {
	TAKES_CQES_ALONG = 1 << 0,
	ERR_RECV_STAYS = 1 << 1,
	ERR_SEND_STAYS = 1 << 2,
	POSTS_ENTER_KERNEL = 1 << 3,
	ROUND_UP = 1 << 4,
	COMM_EST = 1 << 5,
	FLUSHES_LATE = 1 << 6,
	READ_SINK_RW = 1 << 7,
	RECV_NEEDS_SEGMENT = 1 << 8,
	IGNORES_SOLICITED = 1 << 9,
	UD_SQE = 1 << 10,
	NEGATIVE_ERRORS = 1 << 11,
	DANGLING_CQES = 1 << 12,
	QUEUES_NOT_EMPTY = 1 << 13,
	CQ_NEEDS_ALLOCATOR = 1 << 14,
	ERR_IS_FINAL = 1 << 15,
	READ_HAS_SEGMENT = 1 << 16,
	UNFENCED_READS = 1 << 17,
	OVERTAKES_READS = 1 << 18,
	EMPTY_SEGMENT_PANICS = 1 << 19,
};

#define WINDOWS_1 IBV_DEVICE_MEM_WINDOW
#define WINDOWS	  (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B)
#define KEYS	  IBV_DEVICE_MEM_MGT_EXTENSIONS
#define RNR	  IBV_DEVICE_RC_RNR_NAK_GEN
#define SRQ	  IBV_DEVICE_SRQ_RESIZE

struct kind {
	const char *name;
	enum family family;
	uint32_t vendor_id;
	int qp_wr, sge, sge_rd;
	int read_sge; /* that a read takes, if not what sge_rd says */
	int cqe, cqe_min;
	int rd_atom, init_rd_atom;
	uint32_t inline_data;
	int srq, srq_wr, srq_sge;
	enum ibv_atomic_cap atomics;
	unsigned int flags;
	unsigned int mw_types; /* of struct fv_device_cfg */
	int max_mw;
	int resize_error;      /* of ibv_resize_cq(); 0: queues can grow */
	int err_refuses_posts; /* of struct fv_device_cfg */
	uint16_t lid;	       /* that an Ethernet port shows */
	unsigned int ways;
};

/* clang-format off */
static const struct kind kinds[FV_KINDS] = {
	[FV_IB] = {
		.name = "ib", .family = IB,
		.ways = TAKES_CQES_ALONG,
	},
	[FV_ROCE] = {
		.name = "roce", .family = ROCE, .vendor_id = FV_RXE_VENDOR_ID,
		.ways = ERR_RECV_STAYS | POSTS_ENTER_KERNEL,
	},
	[FV_IWARP] = {
		.name = "iwarp", .family = IWARP,
		.sge_rd = 1, .atomics = IBV_ATOMIC_NONE,
		.ways = TAKES_CQES_ALONG | ERR_RECV_STAYS | ERR_SEND_STAYS |
			READ_SINK_RW,
	},
	/*
	 * k: sw/siw/siw_main.c and siw.h: limits, no windows; siw_verbs.c and
	 * siw_qp.c: what is posted in ERR stays, even if moved there again, and
	 * receives never notify a queue armed for solicited ones, a fenced read
	 * gives EPERM; siw_qp_tx.c: a request is complete when it is sent, a read
	 * when its answer has come; siw_qp_rx.c:
	 * the sink of a read needs local write only; siw_tx_hdt() has no memory
	 * for an empty segment and goes there; u: siw/siw.c: posts enter
	 * the kernel, their errors are negative, queues have entries, receives
	 * segments, a queue leaves its completions, queues cannot grow (where
	 * siw.c says so itself and not libibverbs, the error is negative)
	 */
	[FV_SIW] = {
		.name = "siw", .family = IWARP, .vendor_id = FV_SIW_VENDOR_ID,
		.qp_wr = 32768, .sge = 6, .sge_rd = 1,
		.cqe = 3276800, .rd_atom = 128, .init_rd_atom = 128,
		.inline_data = 80,
		.srq = 102400, .srq_wr = 327680, .srq_sge = 6,
		.atomics = IBV_ATOMIC_NONE, .flags = KEYS,
		.resize_error = EOPNOTSUPP,
		.ways = ERR_RECV_STAYS | ERR_SEND_STAYS | POSTS_ENTER_KERNEL |
			RECV_NEEDS_SEGMENT | IGNORES_SOLICITED |
			QUEUES_NOT_EMPTY | NEGATIVE_ERRORS | ERR_IS_FINAL |
			UNFENCED_READS | OVERTAKES_READS | EMPTY_SEGMENT_PANICS,
	},
	/*
	 * k: sw/rxe/rxe_param.h: limits; rxe_qp.c and rxe_resp.c: each move to
	 * ERR flushes; u: rxe/rxe.c: posts of requests enter the kernel, those
	 * of receives do not, so that one posted in ERR waits for such a move;
	 * a queue leaves its completions
	 */
	[FV_RXE] = {
		.name = "rxe", .family = ROCE, .vendor_id = FV_RXE_VENDOR_ID,
		.qp_wr = 1048576, .sge = 32, .sge_rd = 32,
		.cqe = 32767, .rd_atom = 128, .init_rd_atom = 128,
		.inline_data = 512,
		.srq = 917503, .srq_wr = 1048576, .srq_sge = 27,
		.atomics = IBV_ATOMIC_HCA,
		.flags = WINDOWS | KEYS | RNR | SRQ, .mw_types = FV_MW_BOTH,
		.max_mw = 524287,
		.ways = ERR_RECV_STAYS | POSTS_ENTER_KERNEL,
	},
	/*
	 * k: hw/mlx5/main.c: 30 segments of a read, windows; the other limits
	 * are the firmware's; a usual value; srq.c: no SRQ can grow; qp.c:
	 * COMM_EST, and a state SQE; assumed: a datagram that fails leads there;
	 * u: mlx5/verbs.c: queues are powers of two, an end takes completions
	 * along; assumed: how much is inline
	 */
	[FV_MLX5] = {
		.name = "mlx5", .family = IB, .vendor_id = 0x02c9,
		.qp_wr = 32768, .sge = 30, .sge_rd = 30,
		.cqe = 4194303, .rd_atom = 16, .init_rd_atom = 16,
		.inline_data = 828,
		.srq = 8388608, .srq_wr = 32767, .srq_sge = 31,
		.atomics = IBV_ATOMIC_HCA,
		.flags = WINDOWS | KEYS | RNR, .mw_types = FV_MW_BOTH,
		.max_mw = 16777216,
		.ways = TAKES_CQES_ALONG | ROUND_UP | COMM_EST | UD_SQE,
	},
	/* The same driver on Ethernet. */
	[FV_MLX5_ROCE] = {
		.name = "mlx5-roce", .family = ROCE, .vendor_id = 0x02c9,
		.qp_wr = 32768, .sge = 30, .sge_rd = 30,
		.cqe = 4194303, .rd_atom = 16, .init_rd_atom = 16,
		.inline_data = 828,
		.srq = 8388608, .srq_wr = 32767, .srq_sge = 31,
		.atomics = IBV_ATOMIC_HCA,
		.flags = WINDOWS | KEYS | RNR, .mw_types = FV_MW_BOTH,
		.max_mw = 16777216,
		.ways = TAKES_CQES_ALONG | ROUND_UP | COMM_EST | UD_SQE,
	},
	/*
	 * k: hw/mlx4/main.c: 30 segments of a read, windows whose number is
	 * not told; the other limits are the firmware's; a usual value, of which
	 * more reads may be asked for than are answered; srq.c: no SRQ can grow;
	 * qp.c: COMM_EST, and a state SQE; assumed: a datagram that fails leads
	 * there; u: mlx4/verbs.c: as mlx5; assumed: how much is inline
	 */
	[FV_MLX4] = {
		.name = "mlx4", .family = IB, .vendor_id = 0x02c9,
		.qp_wr = 16351, .sge = 32, .sge_rd = 30,
		.cqe = 4194303, .rd_atom = 16, .init_rd_atom = 128,
		.inline_data = 928,
		.srq = 65472, .srq_wr = 16383, .srq_sge = 31,
		.atomics = IBV_ATOMIC_HCA,
		.flags = WINDOWS | KEYS | RNR, .mw_types = FV_MW_BOTH,
		.ways = TAKES_CQES_ALONG | ROUND_UP | COMM_EST | UD_SQE,
	},
	/*
	 * k: hw/irdma/verbs.c: no SRQ, no atomics, windows of type 1, LID 1;
	 * icrdma_hw.c: segments, reads, queues can grow; hw.c: flushed later
	 * than the move; u: irdma/uverbs.c: an end takes completions along
	 */
	[FV_IRDMA] = {
		.name = "irdma", .family = ROCE, .vendor_id = 0x8086,
		.qp_wr = 4063, .sge = 13, .sge_rd = 13,
		.cqe = 1048574, .rd_atom = 127, .init_rd_atom = 255,
		.inline_data = 101,
		.atomics = IBV_ATOMIC_NONE,
		.flags = WINDOWS_1 | KEYS | RNR, .mw_types = FV_MW_1,
		.max_mw = 4194302, .lid = 1,
		.ways = TAKES_CQES_ALONG | ROUND_UP | FLUSHES_LATE,
	},
	[FV_IRDMA_IWARP] = {
		.name = "irdma-iwarp", .family = IWARP, .vendor_id = 0x8086,
		.qp_wr = 4063, .sge = 13, .sge_rd = 13,
		.cqe = 1048574, .rd_atom = 127, .init_rd_atom = 255,
		.inline_data = 101,
		.atomics = IBV_ATOMIC_NONE,
		.flags = WINDOWS_1 | KEYS, .mw_types = FV_MW_1,
		.max_mw = 4194302, .lid = 1,
		.ways = TAKES_CQES_ALONG | ROUND_UP | FLUSHES_LATE |
			READ_SINK_RW,
	},
	/*
	 * k: hw/bnxt_re/ib_verbs.c: limits, flags of windows that
	 * u: bnxt_re/main.c has no calls for; bnxt_re/verbs.c: flushes are made
	 * by polls, bnxt_re_destroy_qp() takes completions along; errors of
	 * bnxt_re_post_send() and _recv() are positive, but for an unknown opcode
	 */
	[FV_BNXT_RE] = {
		.name = "bnxt_re", .family = ROCE, .vendor_id = 0x14e4,
		.qp_wr = 65407, .sge = 6, .sge_rd = 6,
		.cqe = 8388607, .rd_atom = 126, .init_rd_atom = 126,
		.inline_data = 96,
		.srq = 65536, .srq_wr = 1048575, .srq_sge = 6,
		.atomics = IBV_ATOMIC_NONE,
		.flags = WINDOWS | KEYS | RNR, .max_mw = 262144,
		.ways = TAKES_CQES_ALONG | ROUND_UP | FLUSHES_LATE,
	},
	/*
	 * k: hw/hns/hns_roce_main.c: one segment of a read is what it says,
	 * before Linux 6.15, and no windows; hns_roce_hw_v2.h: limits; hns_roce_qp.c: COMM_EST;
	 * u: hns/hns_roce_u.c: queues cannot grow; hns_roce_u_hw_v2.c: a read
	 * takes as many as others, an end takes completions along
	 */
	[FV_HNS] = {
		.name = "hns", .family = ROCE, .vendor_id = 0x19e5,
		.qp_wr = 32768, .sge = 64, .sge_rd = 1, .read_sge = 64,
		.cqe = 4194304, .rd_atom = 128, .init_rd_atom = 128,
		.inline_data = 32,
		.srq = 65536, .srq_wr = 32768, .srq_sge = 64,
		.atomics = IBV_ATOMIC_HCA,
		.flags = RNR, .resize_error = EOPNOTSUPP,
		.ways = TAKES_CQES_ALONG | ROUND_UP | COMM_EST,
	},
	/*
	 * k: hw/erdma/erdma_verbs.c, erdma_main.c: limits, one segment of a
	 * receive, which the core takes for all; no SRQ, a number of windows
	 * that nothing makes, no queue without entries
	 * (erdma_qp_validate_cap()); u: erdma/erdma_verbs.c: no completion queue
	 * below 64 entries, nor one that grows; completions without a queue pair
	 * are passed over (__erdma_poll_one_cqe()); errors of posts are negative,
	 * -EIO in ERR (erdma_post_send(), _recv()); a read takes its segment
	 * without a look at their number (erdma_push_one_sqe())
	 */
	[FV_ERDMA] = {
		.name = "erdma", .family = IWARP, .vendor_id = 0x1ded,
		.qp_wr = 8192, .sge = 1, .sge_rd = 1,
		.cqe = 1048576, .cqe_min = 64,
		.rd_atom = 128, .init_rd_atom = 128,
		.inline_data = 96,
		.atomics = IBV_ATOMIC_NONE,
		.flags = KEYS, .max_mw = 131072, .resize_error = EOPNOTSUPP,
		.err_refuses_posts = EIO,
		.ways = TAKES_CQES_ALONG | READ_SINK_RW | QUEUES_NOT_EMPTY |
			NEGATIVE_ERRORS | READ_HAS_SEGMENT,
	},
	/*
	 * k: hw/qedr/verbs.c: limits, a number of windows that nothing makes;
	 * main.c: no COMM_EST, which its firmware does not raise;
	 * u: qedr/qelr_main.c: no windows, queues cannot grow; qelr_verbs.c:
	 * errors of posts are negative, and a completion of a queue pair that
	 * is gone leads to memory that was freed
	 */
	[FV_QEDR] = {
		.name = "qedr", .family = ROCE, .vendor_id = 0x1077,
		.qp_wr = 32767, .sge = 4, .sge_rd = 4,
		.cqe = 8388352, .rd_atom = 16, .init_rd_atom = 16,
		.inline_data = 128,
		.srq = 8192, .srq_wr = 32767, .srq_sge = 4,
		.atomics = IBV_ATOMIC_NONE,
		.flags = KEYS | RNR, .max_mw = 262144,
		.resize_error = EOPNOTSUPP,
		.ways = ROUND_UP | NEGATIVE_ERRORS | DANGLING_CQES,
	},
	/*
	 * k: hw/cxgb4/provider.c: limits, windows that no command makes, SRQs
	 * only of a T6 (this is a T5); device.c, c4iw_alloc(): depths of queues;
	 * t4.h: T4_MAX_SEND_INLINE, four segments of a receive;
	 * u: cxgb4/verbs.c: resizing gives -ENOSYS; qp.c: what is posted to a
	 * queue pair in ERR is refused with -EINVAL; cq.c: flushes are made by
	 * polls, completions without a queue pair are passed over
	 */
	[FV_CXGB4] = {
		.name = "cxgb4", .family = IWARP, .vendor_id = 0x1425,
		.qp_wr = 8190, .sge = 4, .sge_rd = 1,
		.cqe = 65518, .rd_atom = 32, .init_rd_atom = 32,
		.inline_data = 280,
		.atomics = IBV_ATOMIC_NONE,
		.flags = WINDOWS_1 | KEYS, .resize_error = -ENOSYS,
		.err_refuses_posts = EINVAL,
		.ways = TAKES_CQES_ALONG | FLUSHES_LATE | READ_SINK_RW |
			NEGATIVE_ERRORS,
	},
	/*
	 * k: hw/efa/efa_verbs.c: queue pairs of type UD and its own, EOPNOTSUPP
	 * for others; efa_main.c: no node type; limits are the firmware's; a
	 * usual value; u: efa/verbs.c: an end leaves completions; efa.c: queues
	 * cannot grow
	 */
	[FV_EFA] = {
		.name = "efa", .family = NO_RC, .vendor_id = 0x1d0f,
		.qp_wr = 4096, .sge = 2, .sge_rd = 1, .cqe = 32768,
		.inline_data = 32,
		.atomics = IBV_ATOMIC_NONE,
		.resize_error = EOPNOTSUPP,
	},
	/*
	 * k: hw/mana/main.c, when it was for raw packets only: limits, nothing
	 * of reads; later ones: the vendor; u: mana/cq.c, as version 44 has it:
	 * completion queues take an allocator of the caller's: EINVAL; qp.c:
	 * raw packets only; mana.c: queues cannot grow
	 */
	[FV_MANA] = {
		.name = "mana", .family = NO_RC, .vendor_id = 0x1414,
		.qp_wr = 256, .sge = 15, .sge_rd = 1, .cqe = 256,
		.atomics = IBV_ATOMIC_NONE,
		.resize_error = EOPNOTSUPP,
		.ways = CQ_NEEDS_ALLOCATOR,
	},
};
/* clang-format on */

static void cfg_attr_init(struct ibv_device_attr *a)
{
	strcpy(a->fw_ver, "fake 1.0");
	a->max_mr_size = UINT64_C(1) << 40;
	a->page_size_cap = 0xfffff000;
	a->vendor_id = 0xfa4e;
	a->vendor_part_id = 1;
	a->max_qp = 1024;
	a->max_qp_wr = 4096;
	a->device_cap_flags = IBV_DEVICE_MEM_WINDOW |
			      IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			      IBV_DEVICE_MEM_MGT_EXTENSIONS |
			      IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_RC_RNR_NAK_GEN;
	a->max_sge = 16;
	a->max_sge_rd = 16;
	a->max_cq = 1024;
	a->max_cqe = 8192;
	a->max_mr = 4096;
	a->max_pd = 1024;
	a->max_qp_rd_atom = 16;
	a->max_res_rd_atom = 16 * 1024;
	a->max_qp_init_rd_atom = 16;
	a->atomic_cap = IBV_ATOMIC_HCA;
	a->max_mw = 1024;
	a->max_ah = 1024;
	a->max_srq = 256;
	a->max_srq_wr = 4096;
	a->max_srq_sge = 16;
	a->max_pkeys = 1;
	a->local_ca_ack_delay = 15;
	a->phys_port_cnt = 1;
}

static void cfg_port_init(struct fv_port_cfg *p, enum family family, int lid)
{
	p->attr.state = IBV_PORT_ACTIVE;
	p->attr.max_mtu = IBV_MTU_4096;
	p->attr.active_mtu = family == IB ? IBV_MTU_2048 : IBV_MTU_1024;
	p->attr.gid_tbl_len = family == ROCE ? 4 : 1;
	p->attr.max_msg_sz = 1U << 30;
	p->attr.pkey_tbl_len = 1;
	p->attr.active_width = 2;
	p->attr.active_speed = 32;
	p->attr.phys_state = 5;
	p->attr.link_layer = family == IB ? IBV_LINK_LAYER_INFINIBAND
					  : IBV_LINK_LAYER_ETHERNET;
	p->attr.lid = family == IB ? (uint16_t)lid : 0;
	p->attr.sm_lid = family == IB ? 1 : 0;
	p->pkey[0] = 0xffff;
}

/* RoCE: entry 0 link local v1, 1 link local v2, 2 and 3 the IPv4 address */
static void cfg_gids_init(struct fv_port_cfg *p, enum family family,
			  const char *addr, int lid)
{
	static const uint8_t prefix[8] = {0xfe, 0x80};
	struct in_addr in;

	for (int i = 0; i < (family == ROCE ? 2 : 1); i++) {
		memcpy(p->gid[i].raw, prefix, 8);
		p->gid[i].raw[8] = 2;
		p->gid[i].raw[14] = (uint8_t)(lid >> 8);
		p->gid[i].raw[15] = (uint8_t)lid;
		p->gid_type[i] = family != ROCE ? IBV_GID_TYPE_IB
				 : i		? IBV_GID_TYPE_ROCE_V2
						: IBV_GID_TYPE_ROCE_V1;
	}
	if (family != ROCE || !addr || inet_pton(AF_INET, addr, &in) != 1)
		return;
	for (int i = 2; i < 4; i++) {
		p->gid[i].raw[10] = p->gid[i].raw[11] = 0xff;
		memcpy(p->gid[i].raw + 12, &in, 4);
		p->gid_type[i] =
			i == 2 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	}
}

static void set(int *field, int value)
{
	if (value)
		*field = value;
}

/* A row that says no limits has those of cfg_attr_init(). */
static void cfg_limits_init(struct fv_device_cfg *cfg, const struct kind *k)
{
	struct ibv_device_attr *a = &cfg->attr;

	set(&a->max_qp_wr, k->qp_wr);
	set(&a->max_sge, k->sge);
	set(&a->max_sge_rd, k->sge_rd);
	set(&a->max_cqe, k->cqe);
	set(&a->max_qp_rd_atom, k->rd_atom);
	set(&a->max_qp_init_rd_atom, k->init_rd_atom);
	cfg->read_sge = k->read_sge ? k->read_sge : a->max_sge_rd;
	cfg->cqe_min = k->cqe_min;
	cfg->resize_error = k->resize_error;
	cfg->err_refuses_posts = k->err_refuses_posts;
	if (k->vendor_id)
		a->vendor_id = k->vendor_id;
	if (!k->qp_wr) {
		if (k->family == IWARP)
			a->atomic_cap = IBV_ATOMIC_NONE;
		cfg->mw_types = FV_MW_BOTH;
		return;
	}
	cfg->max_inline = k->inline_data;
	cfg->mw_types = k->mw_types;
	a->max_mw = k->max_mw;
	a->max_srq = k->srq;
	a->max_srq_wr = k->srq_wr;
	a->max_srq_sge = k->srq_sge;
	a->atomic_cap = k->atomics;
	a->device_cap_flags = k->flags;
}

static void cfg_ways_init(struct fv_device_cfg *cfg, unsigned int ways)
{
	cfg->takes_cqes_along = ways & TAKES_CQES_ALONG;
	cfg->err_recv_stays = ways & ERR_RECV_STAYS;
	cfg->err_send_stays = ways & ERR_SEND_STAYS;
	cfg->posts_enter_kernel = ways & POSTS_ENTER_KERNEL;
	cfg->round_up = ways & ROUND_UP;
	cfg->comm_est = ways & COMM_EST;
	cfg->flushes_late = ways & FLUSHES_LATE;
	cfg->read_sink_rw = ways & READ_SINK_RW;
	cfg->recv_needs_segment = ways & RECV_NEEDS_SEGMENT;
	cfg->ignores_solicited = ways & IGNORES_SOLICITED;
	cfg->ud_sqe = ways & UD_SQE;
	cfg->negative_errors = ways & NEGATIVE_ERRORS;
	cfg->dangling_cqes = ways & DANGLING_CQES;
	cfg->queues_not_empty = ways & QUEUES_NOT_EMPTY;
	cfg->cq_needs_allocator = ways & CQ_NEEDS_ALLOCATOR;
	cfg->err_is_final = ways & ERR_IS_FINAL;
	cfg->read_has_segment = ways & READ_HAS_SEGMENT;
	cfg->unfenced_reads = ways & UNFENCED_READS;
	cfg->overtakes_reads = ways & OVERTAKES_READS;
	cfg->empty_segment_panics = ways & EMPTY_SEGMENT_PANICS;
}

static void cfg_transport_init(struct fv_device_cfg *cfg, const struct kind *k)
{
	cfg->no_rc = k->family == NO_RC;
	cfg->node_type = k->family == IWARP ? IBV_NODE_RNIC : IBV_NODE_CA;
	cfg->transport_type =
		k->family == IWARP ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	if (k == &kinds[FV_EFA]) {
		cfg->node_type = IBV_NODE_UNSPECIFIED;
		cfg->transport_type = IBV_TRANSPORT_UNSPECIFIED;
	}
}

void fv_device_cfg_init(struct fv_device_cfg *cfg, enum fv_kind kind,
			const char *name, const char *addr)
{
	static int serial; /* guarded by the lock: distinct LIDs and GUIDs */
	const struct kind *k = &kinds[kind];
	int i, n;

	fv__enter();
	n = ++serial;
	fv__leave();
	memset(cfg, 0, sizeof(*cfg));
	snprintf(cfg->name, sizeof(cfg->name), "%s", name);
	cfg->max_inline = 256;
	cfg->num_comp_vectors = 1;
	cfg_transport_init(cfg, k);
	cfg_attr_init(&cfg->attr);
	cfg->attr.node_guid = htobe64(0x0002000000000000 + (uint64_t)n * 16);
	cfg->attr.sys_image_guid = cfg->attr.node_guid;
	cfg_limits_init(cfg, k);
	cfg_ways_init(cfg, k->ways);
	for (i = 0; i < FV_PORTS; i++) {
		int lid = n * 4 + i;

		cfg_port_init(&cfg->port[i], k->family, lid);
		cfg_gids_init(&cfg->port[i], k->family, i ? NULL : addr, lid);
		if (k->lid)
			cfg->port[i].attr.lid = k->lid;
	}
	cfg->port[0].addr[0] = addr;
}

/* ------------------------------------------------ by name */

const char *fv_kind_name(enum fv_kind kind)
{
	return kinds[kind].name;
}

static bool is_name(const char *text, size_t len, const char *name)
{
	return strlen(name) == len && !strncmp(text, name, len);
}

bool fv_kind_find(const char *name, size_t len, enum fv_kind *ret_kind)
{
	for (int i = 0; i < FV_KINDS; i++) {
		if (!is_name(name, len, kinds[i].name))
			continue;
		*ret_kind = (enum fv_kind)i;
		return true;
	}
	return false;
}

/* What a test wants beyond what the kind is like. */
static bool change(struct fv_device_cfg *cfg, const char *how, size_t len)
{
	if (is_name(how, len, "late"))
		cfg->flushes_late = true;
	else if (is_name(how, len, "leaves"))
		cfg->takes_cqes_along = false;
	else if (is_name(how, len, "restless"))
		cfg->restless = true;
	else if (is_name(how, len, "slow"))
		cfg->blocks_ms = 1000;
	else if (is_name(how, len, "takes"))
		cfg->takes_cqes_along = true;
	else
		return false;
	return true;
}

/* HOW: "" or "+late+slow" ... False: there is something unknown in it. */
static bool change_all(struct fv_device_cfg *cfg, const char *how)
{
	while (*how == '+') {
		size_t len = strcspn(how + 1, "+");

		if (!change(cfg, how + 1, len))
			return false;
		how += len + 1;
	}
	return !*how;
}

/* PATH: a profile, instead of KIND, or NULL. */
static bool add(enum fv_kind kind, const char *path, const char *how, int n)
{
	struct fv_device_cfg cfg;
	char name[16], addr[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "fake%d", i);
		snprintf(addr, sizeof(addr), "10.0.0.%d", i + 1);
		if (!path)
			fv_device_cfg_init(&cfg, kind, name, addr);
		else if (!fv_device_cfg_load(&cfg, path, name, addr))
			return false;
		if (!change_all(&cfg, how))
			return false;
		fv_device_add(&cfg);
	}
	return true;
}

void fv_devices_default(enum fv_kind kind, int n)
{
	add(kind, NULL, "", n);
}

bool fv_devices_named(const char *text, int n)
{
	size_t len = strcspn(text, "+");
	enum fv_kind kind;

	/* a path may have a "+" of its own */
	if (!strncmp(text, "file:", 5))
		return add(FV_KINDS, text + 5, "", n);
	return fv_kind_find(text, len, &kind) && add(kind, NULL, text + len, n);
}
