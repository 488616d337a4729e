/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_qp.h - the connection manager's own queue pair: datagrams in and out.
 *
 * Knows nothing of what the messages say. They may be lost anywhere, here too,
 * when more are to be sent than can be kept: the protocol repeats them.
 * A queue pair that fails is reset after a pause and goes on under its number,
 * which peers know it by; what was under way is lost.
 *
 * Threads: after ucm_qp_start() everything but ucm_qp_stop() and
 * ucm_qp_close() happens on the service thread, and after stop() on the thread
 * that called it. No lock.
 */
#ifndef UCM_QP_H
#define UCM_QP_H

#include "dapl/common/cm/dcm/dcm_engine.h"
#include "dapl/common/cm/dcm/dcm_path.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/openib_ucm/ucm_ah.h"

struct ucm_qp;

/*
 * What the environment says of the provider; the table is in ucm.c. Constant
 * once an IA is open.
 */
struct ucm_params {
	struct dcm_path_params path; /* must stay first */
	int retry;	  /* tries; -1: as long as the defaults say */
	int rep_time_ms;  /* -1: adapts */
	int rtu_time_ms;  /* -1: adapts */
	int drep_time_ms; /* -1: adapts */
	int dreq_retry;
	int wait_time_ms;
	int keepalive_ms;
	int qp_size; /* -1: the provider's own */
	int cq_size; /* -1: what the queue pair needs */
	int tx_burst;
	int array_bits;
};

extern const struct dapl_param_table ucm_param_table;

struct ucm_qp_cfg {
	struct vb_dev *dev;
	struct dapl_loop *loop;
	struct dcm_path *path;
	const struct ucm_params *params;
	/* A message that came, from SRC. Any bytes. */
	void (*input)(struct ucm_qp *q, const uint8_t *msg, size_t len,
		      const struct dcm_source *src);
	/* There is none to the peer of the message with ID. Not inside
	 * ucm_qp_send(). May be NULL. */
	void (*no_way)(struct ucm_qp *q, uint32_t id);
};

struct ucm_qp_stats {
	uint64_t received;
	uint64_t sent;
	uint64_t queued;  /* of these, after a wait for room */
	uint64_t dropped; /* no room even to wait, or no way there */
	uint64_t crowds;  /* times that there was no room even to wait */
	uint64_t resets;
};

/* Buffers, and their registration. */
struct ucm_block {
	uint8_t *mem;
	struct ibv_mr *mr;
};

/* Sends that are posted together, at most. */
#define UCM_TX_BATCH 16
/* As deep as the queues may be made. */
#define UCM_DEPTH_MAX 65536
/* Blocks of receives; beyond the first, each is as large as all before it. */
#define UCM_RX_BLOCKS 8

struct ucm_send {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint8_t inlined[DCM_MSG]; /* the message, where that goes inline */
};

struct ucm_qp {
	struct ucm_qp_cfg cfg;
	struct ibv_pd *pd;
	struct ibv_comp_channel *recv_chan, *send_chan;
	struct ibv_cq *recv_cq, *send_cq;
	struct vb_cq_ops recv_io, send_io; /* of these */
	struct ibv_qp *verbs;
	struct vb_qp_ops io; /* of verbs */
	uint32_t max_inline;
	struct ucm_ah_cache ahs;

	struct ucm_block rx[UCM_RX_BLOCKS];
	struct ucm_block tx;   /* none where all goes inline */
	struct ucm_block sink; /* the rest of long datagrams */
	uint32_t rx_n;	       /* receives, of the depth */
	uint32_t rx_depth, tx_depth;
	uint32_t rx_run; /* taken since the queue was read empty */

	struct dapl_watch recv_watch, send_watch;
	struct dapl_work more;	 /* a batch was read, there may be more */
	struct dapl_timer pause; /* until the reset of a broken queue pair */
	uint64_t pause_us;
	bool broken;
	bool stopping;

	uint32_t life;		     /* resets so far; tells late completions */
	struct ucm_ah **tx_ah;	     /* held for each send under way */
	uint64_t tx_posted, tx_done; /* sends; their buffer is number % depth */
	struct ucm_send batch[UCM_TX_BATCH]; /* the last of tx_posted */
	uint32_t batch_n;
	struct dapl_work round_end; /* posts them */
	uint64_t tx_asked;     /* a completion is to come for all up to here */
	struct dapl_list wait; /* messages without room */
	size_t wait_n;
	bool crowded; /* and some were dropped, since the last time of none */
	struct ucm_qp_stats stats;
};

/*
 * Makes the queue pair, ready to send and receive. Nothing is looked at yet.
 * Errors with their reason.
 */
int ucm_qp_open(struct ucm_qp *q, const struct ucm_qp_cfg *cfg);
/* Input from now on. 0 or -errno; ucm_qp_close() follows a failure. */
int ucm_qp_start(struct ucm_qp *q);
/* No input from now on. Sends may follow, on this thread. */
void ucm_qp_stop(struct ucm_qp *q);
/* Waits a moment for the last sends, then frees everything. */
void ucm_qp_close(struct ucm_qp *q);

/*
 * An error of a queue pair or completion queue, of this one or another. Where
 * the queues themselves are lost no completion tells of it.
 */
void ucm_qp_event(struct ucm_qp *q, const struct ibv_async_event *event);

#define UCM_STRANGER   1 /* nothing here has to do with PEER */
#define UCM_UNANSWERED 2 /* was said before, more than once */
/*
 * MSG of up to DCM_MSG bytes to PEER, now or later or never. ID comes back if
 * there is no way to PEER; 0: nobody wants to know.
 */
void ucm_qp_send(struct ucm_qp *q, const struct dcm_peer *peer,
		 const uint8_t *msg, size_t len, uint32_t id, unsigned how);

#endif
