/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_qp.c - the connection manager's own queue pair; see the header.
 *
 * Sends are numbered. What one round of the loop says is posted at its end, in
 * one list: a post may be a call of the system that wakes a thread of the
 * device's. A completion is asked for every so many sends, for the last one
 * that the ring holds, and for each once the instance is stopping; it stands
 * for all before it. The send queue's completions are read whenever something
 * is sent, and wake nobody but where messages wait for room. The queue pair's
 * attributes are those of the historic provider.
 */
#include "dapl/openib_ucm/ucm_qp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dapl/common/services/dapl_log.h"
#include "dapl/openib_ucm/ucm_source.h"

/* A receive: the header's room and the longest message. */
#define BUF_SIZE (UCM_GRH + DCM_MSG)
/*
 * Behind these, one for all receives: where the rest of a longer datagram goes,
 * which would be an error of the queue pair otherwise, from any stranger.
 */
#define SINK_SIZE 4096 /* the largest MTU */

/*
 * As many peers may call at once before the service thread comes round to it.
 * 4096 buffers of 256 bytes are a megabyte, which many adapters never need, and
 * to post them takes as long as a hundred connections: so there are RX_FIRST,
 * and twice as many each time that one in RX_SHARE was taken without a break.
 * A longer burst loses messages, which are repeated, where they come more than
 * RX_SHARE times as fast as this end takes them.
 */
#define RX_DEPTH 4096
#define RX_FIRST 512
#define RX_SHARE 8
_Static_assert(RX_FIRST << (UCM_RX_BLOCKS - 1) == UCM_DEPTH_MAX,
	       "blocks for the deepest queue");
#define TX_DEPTH  512
#define DEPTH_MIN 16
/* Messages that may wait for room. */
#define WAIT_MAX 4096
/* Ways to peers; handles that sends under way hold may be beyond it. */
#define AHS_MAX 65536
/* Answers to strangers that may wait for one way. */
#define STRANGERS_WAIT 4

/* So that one IA does not keep the loop to itself. */
#define BATCH	  128
#define POLL_SIZE 16

/* From a failure to the reset, doubled while they follow one another. */
#define PAUSE_FIRST_US 50000
#define PAUSE_MAX_US   10000000
/* How long close() waits for the last sends. */
#define DRAIN_US 200000

struct waiting {
	struct dapl_list link;
	struct dcm_peer peer;
	uint32_t id;
	size_t len;
	uint8_t msg[DCM_MSG];
};

/* ------------------------------------------------------------ buffers */

static int block_open(struct ucm_qp *q, size_t size,
		      struct ucm_block *ret_block)
{
	struct ucm_block block = {.mem = NULL};
	void *mem;
	int err;

	if (posix_memalign(&mem, (size_t)sysconf(_SC_PAGESIZE), size))
		return -ENOMEM;
	memset(mem, 0, size);
	err = vb_mr_create(q->pd, mem, size, false, IBV_ACCESS_LOCAL_WRITE,
			   &block.mr);
	if (err) {
		free(mem);
		return err;
	}
	block.mem = mem;
	*ret_block = block;
	return 0;
}

static void block_close(struct ucm_block *block)
{
	if (block->mr)
		vb_mr_destroy(block->mr);
	free(block->mem);
	*block = (struct ucm_block){.mem = NULL};
}

/* The first block has RX_FIRST receives, each other as many as those before. */
static uint32_t rx_block(uint32_t slot)
{
	uint32_t i = 0;

	while (slot >= (uint32_t)RX_FIRST << i)
		i++;
	return i;
}

static uint8_t *rx_buf(const struct ucm_qp *q, uint32_t slot)
{
	uint32_t i = rx_block(slot);
	uint32_t begin = i ? (uint32_t)RX_FIRST << (i - 1) : 0;

	return q->rx[i].mem + (size_t)(slot - begin) * BUF_SIZE;
}

static uint8_t *tx_buf(const struct ucm_qp *q, uint32_t slot)
{
	return q->tx.mem + (size_t)slot * DCM_MSG;
}

static uint64_t wr_id(const struct ucm_qp *q, uint32_t low)
{
	return (uint64_t)q->life << 32 | low;
}

static uint32_t under_way(const struct ucm_qp *q)
{
	return (uint32_t)(q->tx_posted - q->tx_done);
}

/* ----------------------------------------------------------- failure */

static void drop_all(struct ucm_qp *q, struct dapl_list *list, size_t *n)
{
	struct waiting *w, *tmp;

	dapl_list_for_each_safe(w, tmp, list, link) {
		dapl_list_del(&w->link);
		free(w);
	}
	q->stats.dropped += *n;
	*n = 0;
}

static void drop_waiting(struct ucm_qp *q)
{
	drop_all(q, &q->wait, &q->wait_n);
}

static void arm_pause(struct ucm_qp *q)
{
	int ret = dapl_timer_arm(q->cfg.loop, &q->pause,
				 dapl_now_us() + q->pause_us);

	q->pause_us *= 2;
	if (q->pause_us > PAUSE_MAX_US)
		q->pause_us = PAUSE_MAX_US;
	if (ret)
		dapl_log(DAPL_LOG_ERR,
			 "cm qp 0x%x: hears nothing from now on, no timer: %s",
			 q->verbs->qp_num, strerror(-ret));
}

/* Such a descriptor stays readable; the device is gone. */
static void channel_lost(struct ucm_qp *q, struct dapl_watch *watch, int err)
{
	dapl_log(DAPL_LOG_ERR,
		 "cm qp 0x%x: hears nothing from now on, channel: %s",
		 q->verbs->qp_num, strerror(-err));
	dapl_loop_del(q->cfg.loop, watch);
}

/* The slots of the sends that are left out are free again with the reset. */
static void drop_batch(struct ucm_qp *q)
{
	q->stats.dropped += q->batch_n;
	q->batch_n = 0;
}

/* Everything else that was posted fails too: once is enough to hear of it. */
static void fail(struct ucm_qp *q, const char *what, const char *why)
{
	if (q->broken)
		return;
	q->broken = true;
	dapl_log(DAPL_LOG_ERR, "cm qp 0x%x: %s: %s; to be reset",
		 q->verbs->qp_num, what, why);
	drop_batch(q);
	drop_waiting(q);
	if (!q->stopping)
		arm_pause(q);
}

void ucm_qp_event(struct ucm_qp *q, const struct ibv_async_event *event)
{
	bool mine;

	if (event->event_type == IBV_EVENT_CQ_ERR)
		mine = event->element.cq == q->recv_cq ||
		       event->element.cq == q->send_cq;
	else
		mine = event->element.qp == q->verbs;
	if (mine)
		fail(q, "device", ibv_event_type_str(event->event_type));
}

/* ----------------------------------------------------------- sending */

/* The sends up to number END have ended. */
static void sends_done(struct ucm_qp *q, uint64_t end)
{
	for (; q->tx_done < end; q->tx_done++)
		ucm_ah_put(q->tx_ah[q->tx_done % q->tx_depth]);
}

static void send_completed(struct ucm_qp *q, const struct ibv_wc *wc)
{
	if (wc->wr_id >> 32 != q->life)
		return;
	if (wc->status != IBV_WC_SUCCESS) {
		fail(q, "send", ibv_wc_status_str(wc->status));
		return;
	}
	sends_done(q,
		   q->tx_done + ((uint32_t)wc->wr_id - (uint32_t)q->tx_done));
}

static void reap(struct ucm_qp *q)
{
	struct ibv_wc wc[POLL_SIZE];
	int i, n;

	do {
		n = q->send_io.poll(q->send_cq, POLL_SIZE, wc);
		if (n < 0)
			fail(q, "send queue", strerror(errno));
		for (i = 0; i < n; i++)
			send_completed(q, &wc[i]);
	} while (n == POLL_SIZE);
}

static bool wants_completion(const struct ucm_qp *q)
{
	return q->stopping || under_way(q) + 1 == q->tx_depth ||
	       (q->tx_posted + 1) % (uint64_t)q->cfg.params->tx_burst == 0;
}

static void post_batch(struct ucm_qp *q)
{
	struct ibv_send_wr *first = &q->batch[0].wr, *wr, *bad = NULL;
	int ret;

	if (!q->batch_n)
		return;
	ret = vb_op_error(q->io.post_send(q->verbs, first, &bad));
	for (wr = first; wr && !(ret && wr == bad); wr = wr->next) {
		q->stats.sent++;
		q->batch_n--;
	}
	if (ret)
		fail(q, "post a send", strerror(-ret));
}

/* What was to be said as the instance stopped, and is waited for now. */
static void post_last(struct ucm_qp *q)
{
	if (!q->batch_n)
		return;
	q->batch[q->batch_n - 1].wr.send_flags |= IBV_SEND_SIGNALED;
	q->tx_asked = q->tx_posted;
	post_batch(q);
}

static void on_round_end(struct dapl_work *work)
{
	post_batch(dapl_container_of(work, struct ucm_qp, round_end));
}

/* There is room for it. Posted with the batch, now or at the round's end. */
static void send_now(struct ucm_qp *q, struct ucm_way *way, uint32_t qpn,
		     const uint8_t *msg, size_t len)
{
	uint32_t slot = (uint32_t)(q->tx_posted % q->tx_depth);
	struct ucm_send *send = &q->batch[q->batch_n];
	bool asked = wants_completion(q);

	q->tx_ah[slot] = ucm_ah_hold(way);
	q->tx_posted++;
	if (asked)
		q->tx_asked = q->tx_posted;
	send->sge.addr = (uintptr_t)memcpy(
		q->tx.mem ? tx_buf(q, slot) : send->inlined, msg, len);
	send->sge.length = (uint32_t)len;
	send->sge.lkey = q->tx.mr ? q->tx.mr->lkey : 0;
	send->wr = (struct ibv_send_wr){
		.wr_id = wr_id(q, (uint32_t)q->tx_posted),
		.sg_list = &send->sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = (asked ? IBV_SEND_SIGNALED : 0) |
			      (q->tx.mr ? 0 : IBV_SEND_INLINE),
		.wr.ud = {.ah = q->tx_ah[slot]->verbs,
			  .remote_qpn = qpn,
			  .remote_qkey = VB_UD_QKEY},
	};
	if (q->batch_n++)
		send[-1].wr.next = &send->wr;
	if (q->batch_n == UCM_TX_BATCH || q->stopping)
		post_batch(q);
	else if (q->batch_n == 1)
		dapl_loop_defer(q->cfg.loop, &q->round_end);
}

static void keep(struct dapl_list *list, size_t *n, struct waiting *w)
{
	dapl_list_add_tail(list, &w->link);
	(*n)++;
}

static struct waiting *take(struct dapl_list *list, size_t *n)
{
	struct waiting *w = dapl_list_first(list, struct waiting, link);

	dapl_list_del(&w->link);
	(*n)--;
	return w;
}

/* There is room, but perhaps no way any more. */
static void send_waiting(struct ucm_qp *q, struct waiting *w)
{
	struct ucm_way *way = ucm_ah_way(&q->ahs, &w->peer, false);

	if (way && ucm_way_is_to_come(way)) {
		keep(&way->wait, &way->wait_n, w);
		return;
	}
	q->stats.queued++;
	if (way && way->ah)
		send_now(q, way, w->peer.qpn, w->msg, w->len);
	else
		q->stats.dropped++;
	free(w);
}

static void flush(struct ucm_qp *q)
{
	reap(q);
	while (!q->broken && q->wait_n && under_way(q) < q->tx_depth)
		send_waiting(q, take(&q->wait, &q->wait_n));
	if (!q->wait_n)
		q->crowded = false;
}

/* As flush(); and an event will come when there is room for more. */
static void flush_and_arm(struct ucm_qp *q)
{
	int ret;

	flush(q);
	if (!q->wait_n)
		return;
	ret = vb_op_error(q->send_io.arm(q->send_cq, 0));
	if (ret)
		fail(q, "arm the send queue", strerror(-ret));
	/* What completed in between raises no event. */
	flush(q);
}

static void on_send(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct ucm_qp *q = dapl_container_of(watch, struct ucm_qp, send_watch);
	int ret = vb_cq_events_take(q->send_cq, q->send_chan);

	if (ret < 0)
		channel_lost(q, watch, ret);
	flush_and_arm(q);
}

/*
 * There is no message that the protocol does not say again, or is asked for
 * again: what is lost here is time.
 */
static void crowded_out(struct ucm_qp *q)
{
	q->stats.dropped++;
	if (q->crowded)
		return;
	q->crowded = true;
	q->stats.crowds++;
	dapl_log(DAPL_LOG_WARN,
		 "cm qp 0x%x: %zu messages wait for room; more are dropped, "
		 "and come again",
		 q->verbs->qp_num, q->wait_n);
}

static struct waiting *waiting_new(struct ucm_qp *q,
				   const struct dcm_peer *peer, uint32_t id,
				   const uint8_t *msg, size_t len, size_t there)
{
	struct waiting *w = there < WAIT_MAX ? malloc(sizeof(*w)) : NULL;

	if (!w) {
		crowded_out(q);
		return NULL;
	}
	w->peer = *peer;
	w->id = id;
	w->len = len;
	memcpy(w->msg, msg, len);
	return w;
}

static void send_later(struct ucm_qp *q, struct waiting *w)
{
	if (!w)
		return;
	keep(&q->wait, &q->wait_n, w);
	if (q->wait_n == 1)
		flush_and_arm(q);
}

static bool is_full(const struct ucm_qp *q)
{
	return q->wait_n || under_way(q) == q->tx_depth;
}

/* WAY has got its handle, or ERR. */
static void on_way(struct ucm_ah_cache *cache, struct ucm_way *way, int err)
{
	struct ucm_qp *q = dapl_container_of(cache, struct ucm_qp, ahs);
	struct waiting *w;

	flush(q);
	while (way->wait_n) {
		w = take(&way->wait, &way->wait_n);
		if (way->ah && !q->broken && is_full(q)) {
			send_later(q, w);
			continue;
		}
		if (way->ah && !q->broken)
			send_now(q, way, w->peer.qpn, w->msg, w->len);
		else
			q->stats.dropped++;
		/* Silence may end; other errors are the same next time. */
		if (err && err != -ETIMEDOUT && w->id && q->cfg.no_way)
			q->cfg.no_way(q, w->id);
		free(w);
	}
}

void ucm_qp_send(struct ucm_qp *q, const struct dcm_peer *peer,
		 const uint8_t *msg, size_t len, uint32_t id, unsigned how)
{
	bool stranger = how & UCM_STRANGER;
	struct ucm_way *way;
	struct waiting *w;

	/* The loop may not come round for long; who waits goes first. */
	flush(q);
	way = q->broken ? NULL : ucm_ah_way(&q->ahs, peer, stranger);
	if (way && ucm_way_is_to_come(way) &&
	    !(stranger && way->wait_n >= STRANGERS_WAIT)) {
		w = waiting_new(q, peer, id, msg, len, way->wait_n);
		if (w)
			keep(&way->wait, &way->wait_n, w);
		return;
	}
	if (!way || !way->ah) {
		q->stats.dropped++;
		return;
	}
	if (how & UCM_UNANSWERED)
		ucm_ah_doubt(&q->ahs, way);
	if (is_full(q))
		send_later(q, waiting_new(q, peer, id, msg, len, q->wait_n));
	else
		send_now(q, way, peer->qpn, msg, len);
}

/* --------------------------------------------------------- receiving */

static int post_recv(struct ucm_qp *q, uint32_t slot)
{
	struct ibv_sge sge[] = {
		{.addr = (uintptr_t)rx_buf(q, slot),
		 .length = BUF_SIZE,
		 .lkey = q->rx[rx_block(slot)].mr->lkey},
		{.addr = (uintptr_t)q->sink.mem,
		 .length = SINK_SIZE,
		 .lkey = q->sink.mr->lkey},
	};
	struct ibv_recv_wr wr = {
		.wr_id = wr_id(q, slot),
		.sg_list = sge,
		.num_sge = 2,
	};
	struct ibv_recv_wr *bad;

	*rx_buf(q, slot) = 0; /* for ucm_source() */
	return vb_op_error(q->io.post_recv(q->verbs, &wr, &bad));
}

static int post_from(struct ucm_qp *q, uint32_t slot)
{
	int ret = 0;

	for (; slot < q->rx_n && !ret; slot++)
		ret = post_recv(q, slot);
	return ret;
}

/* Room for twice as many receives, up to the queue's depth. 0 or -errno. */
static int rx_grow(struct ucm_qp *q)
{
	uint32_t n = q->rx_n, left = q->rx_depth - n;
	uint32_t more = left < n ? left : n;
	int ret = block_open(q, (size_t)more * BUF_SIZE, &q->rx[rx_block(n)]);

	if (!ret)
		q->rx_n += more;
	return ret;
}

/*
 * Where there is no memory for more, or it cannot be locked, it stays at those
 * that there are: who finds none says it again.
 */
static void more_receives(struct ucm_qp *q)
{
	uint32_t n = q->rx_n;
	int ret = rx_grow(q);

	if (ret) {
		dapl_log(DAPL_LOG_WARN, "cm qp 0x%x: stays at %u receives: %s",
			 q->verbs->qp_num, n, strerror(-ret));
		q->rx_depth = n;
		return;
	}
	ret = post_from(q, n);
	if (ret)
		fail(q, "post a receive", strerror(-ret));
}

/* The buffer goes back before the message is handled, which takes longer. */
static void take_message(struct ucm_qp *q, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;
	struct dcm_source src;
	uint8_t msg[DCM_MSG];
	size_t len;
	int ret;

	if (wc->wr_id >> 32 != q->life || q->broken)
		return;
	if (wc->status != IBV_WC_SUCCESS) {
		fail(q, "receive", ibv_wc_status_str(wc->status));
		return;
	}
	ucm_source(wc, rx_buf(q, slot), q->cfg.dev->ethernet, &src);
	len = wc->byte_len > UCM_GRH ? wc->byte_len - UCM_GRH : 0;
	if (len > sizeof(msg))
		len = 0;
	memcpy(msg, rx_buf(q, slot) + UCM_GRH, len);
	ret = post_recv(q, slot);
	if (ret)
		fail(q, "post a receive", strerror(-ret));
	q->pause_us = PAUSE_FIRST_US;
	q->stats.received++;
	q->cfg.input(q, msg, len, &src);
}

/* False when there may be more, since as many were read as a batch has. */
static bool take_batch(struct ucm_qp *q)
{
	struct ibv_wc wc[POLL_SIZE];
	int i, n, left;

	for (left = BATCH; left > 0; left -= POLL_SIZE) {
		n = q->recv_io.poll(q->recv_cq, POLL_SIZE, wc);
		if (n < 0)
			fail(q, "receive queue", strerror(errno));
		for (i = 0; i < n; i++)
			take_message(q, &wc[i]);
		if (n < POLL_SIZE) {
			q->rx_run = 0;
			return true;
		}
		q->rx_run += POLL_SIZE;
		if (q->rx_run >= q->rx_n / RX_SHARE && q->rx_n < q->rx_depth &&
		    !q->broken)
			more_receives(q);
	}
	return false;
}

static int arm_recv(struct ucm_qp *q)
{
	return vb_op_error(q->recv_io.arm(q->recv_cq, 0));
}

/*
 * The queue is armed once it was read empty: what comes before raises no event.
 * So it is looked at once more then. What is too much is for the loop's next
 * round.
 */
static void receive(struct ucm_qp *q)
{
	int ret;

	if (take_batch(q)) {
		ret = arm_recv(q);
		if (ret)
			fail(q, "arm the receive queue", strerror(-ret));
		if (take_batch(q))
			return;
	}
	dapl_loop_defer(q->cfg.loop, &q->more);
}

static void on_more(struct dapl_work *work)
{
	receive(dapl_container_of(work, struct ucm_qp, more));
}

/* There is one event at most for each time that the queue was armed. */
static void on_recv(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct ucm_qp *q = dapl_container_of(watch, struct ucm_qp, recv_watch);
	int ret = vb_cq_event_take(q->recv_cq, q->recv_chan);

	if (ret < 0)
		channel_lost(q, watch, ret);
	receive(q);
}

/* --------------------------------------------------- states and resets */

static int bring_up(struct ucm_qp *q)
{
	int ret;

	ret = vb_qp_init(q->cfg.dev, q->verbs, q->cfg.dev->pkey_index, 0);
	if (!ret)
		ret = post_from(q, 0);
	if (!ret)
		ret = vb_qp_ready_ud(q->verbs);
	return ret;
}

/* Nothing of the life before may be left to fill the queues of the next. */
static void discard(struct ibv_cq *cq, const struct vb_cq_ops *io)
{
	struct ibv_wc wc[POLL_SIZE];

	while (io->poll(cq, POLL_SIZE, wc) > 0)
		;
}

static int reset(struct ucm_qp *q)
{
	int ret = vb_qp_reset(q->verbs);

	if (ret)
		return ret;
	discard(q->recv_cq, &q->recv_io);
	discard(q->send_cq, &q->send_io);
	q->life++;
	sends_done(q, q->tx_posted);
	ret = bring_up(q);
	if (ret)
		return ret;
	ret = arm_recv(q);
	if (ret)
		return ret;
	q->broken = false;
	q->stats.resets++;
	/* What arrived before the queue was armed. */
	dapl_loop_defer(q->cfg.loop, &q->more);
	return 0;
}

static void on_pause_over(struct dapl_timer *timer)
{
	struct ucm_qp *q = dapl_container_of(timer, struct ucm_qp, pause);
	int ret = reset(q);

	if (!ret) {
		dapl_log(DAPL_LOG_WARN, "cm qp 0x%x: reset", q->verbs->qp_num);
		return;
	}
	dapl_log(DAPL_LOG_ERR, "cm qp 0x%x: cannot be reset: %s",
		 q->verbs->qp_num, strerror(-ret));
	arm_pause(q);
}

/* ---------------------------------------------------- open and close */

static uint32_t limited(uint32_t wish, int limit)
{
	return limit > 0 && (uint32_t)limit < wish ? (uint32_t)limit : wish;
}

static int queues_open(struct ucm_qp *q)
{
	int max_cqe = q->cfg.dev->attr.max_cqe;
	int wish = q->cfg.params->cq_size;
	uint32_t recv_cqe = q->rx_depth, send_cqe = q->tx_depth;
	int ret;

	if (wish > 0 && (uint32_t)wish > recv_cqe)
		recv_cqe = limited((uint32_t)wish, max_cqe);
	if (wish > 0 && (uint32_t)wish > send_cqe)
		send_cqe = limited((uint32_t)wish, max_cqe);
	ret = vb_channel_create(q->cfg.dev, &q->recv_chan);
	if (!ret)
		ret = vb_channel_create(q->cfg.dev, &q->send_chan);
	if (!ret)
		ret = vb_cq_create(q->cfg.dev, (int)recv_cqe, q->recv_chan,
				   NULL, &q->recv_cq);
	if (!ret)
		ret = vb_cq_create(q->cfg.dev, (int)send_cqe, q->send_chan,
				   NULL, &q->send_cq);
	if (ret)
		return ret;
	q->recv_io = vb_cq_ops_of(q->recv_cq);
	q->send_io = vb_cq_ops_of(q->send_cq);
	return 0;
}

static int pair_open(struct ucm_qp *q)
{
	struct vb_qp_cfg cfg = {
		.type = IBV_QPT_UD,
		.send_cq = q->send_cq,
		.recv_cq = q->recv_cq,
		.max_send_wr = q->tx_depth,
		.max_recv_wr = q->rx_depth,
		.max_send_sge = 1,
		.max_recv_sge = 2,
		.max_inline = DCM_MSG,
	};

	int ret = vb_qp_create(q->pd, &cfg, &q->verbs, &q->max_inline);

	if (!ret)
		q->io = vb_qp_ops_of(q->cfg.dev, q->verbs);
	return ret;
}

/* What goes inline needs no buffer. */
static int memory_open(struct ucm_qp *q)
{
	int ret = 0;

	q->tx_ah = calloc(q->tx_depth, sizeof(struct ucm_ah *));
	if (!q->tx_ah)
		return -ENOMEM;
	if (q->max_inline < DCM_MSG)
		ret = block_open(q, (size_t)q->tx_depth * DCM_MSG, &q->tx);
	if (!ret)
		ret = block_open(q, SINK_SIZE, &q->sink);
	q->rx_n = limited(RX_FIRST, (int)q->rx_depth);
	if (!ret)
		ret = block_open(q, (size_t)q->rx_n * BUF_SIZE, &q->rx[0]);
	/* Who asks for a depth has it from the beginning. */
	while (!ret && q->cfg.params->qp_size > 0 && q->rx_n < q->rx_depth)
		ret = rx_grow(q);
	return ret;
}

/* Frees what depends on the depths. */
static void give_back(struct ucm_qp *q)
{
	size_t i;

	if (q->verbs)
		vb_qp_destroy(q->verbs);
	for (i = 0; i < UCM_RX_BLOCKS; i++)
		block_close(&q->rx[i]);
	block_close(&q->tx);
	block_close(&q->sink);
	if (q->send_cq)
		vb_cq_destroy(q->send_cq);
	if (q->recv_cq)
		vb_cq_destroy(q->recv_cq);
	if (q->send_chan)
		vb_channel_destroy(q->send_chan);
	if (q->recv_chan)
		vb_channel_destroy(q->recv_chan);
	free(q->tx_ah);
	q->verbs = NULL;
	q->send_cq = q->recv_cq = NULL;
	q->send_chan = q->recv_chan = NULL;
	q->tx_ah = NULL;
}

static int try_open(struct ucm_qp *q)
{
	int ret = queues_open(q);

	if (!ret)
		ret = pair_open(q);
	if (!ret)
		ret = memory_open(q);
	if (!ret)
		ret = bring_up(q);
	if (ret)
		give_back(q);
	return ret;
}

/*
 * Limits on locked memory, and devices whose limit is not what they say, are
 * met only by trying; less depth is less comfort, no fault.
 */
static int open_as_deep_as_possible(struct ucm_qp *q)
{
	const struct ibv_device_attr *attr = &q->cfg.dev->attr;
	int wish = q->cfg.params->qp_size;
	int ret;

	q->rx_depth =
		limited(wish > 0 ? (uint32_t)wish : RX_DEPTH, attr->max_qp_wr);
	q->rx_depth = limited(q->rx_depth, attr->max_cqe);
	q->tx_depth =
		limited(wish > 0 ? (uint32_t)wish : TX_DEPTH, attr->max_qp_wr);
	q->tx_depth = limited(q->tx_depth, attr->max_cqe);
	for (;;) {
		ret = try_open(q);
		if ((ret != -ENOMEM && ret != -EINVAL) ||
		    q->rx_depth <= DEPTH_MIN)
			return ret;
		q->rx_depth /= 2;
		if (q->tx_depth > q->rx_depth)
			q->tx_depth = q->rx_depth;
	}
}

static int no_queue_pair(const struct vb_dev *dev, int err)
{
	char remedy[160] = "";

	if (vb_locked_text(err, remedy, sizeof(remedy)))
		strcat(remedy, ": ");
	return dapl_fail_errno(err,
			       "%s%s port %u: no datagram queue pair for "
			       "connection management: %s",
			       remedy, dev->name, dev->port, strerror(-err));
}

int ucm_qp_open(struct ucm_qp *q, const struct ucm_qp_cfg *cfg)
{
	int ret;

	memset(q, 0, sizeof(*q));
	q->cfg = *cfg;
	q->pause_us = PAUSE_FIRST_US;
	dapl_list_init(&q->wait);
	q->recv_watch.fn = on_recv;
	q->recv_watch.fd = -1;
	q->send_watch.fn = on_send;
	q->send_watch.fd = -1;
	dapl_work_init(&q->more, on_more);
	dapl_work_init_at_end(&q->round_end, on_round_end);
	dapl_timer_init(&q->pause, on_pause_over);
	ret = vb_pd_create(cfg->dev, &q->pd);
	if (!ret) {
		ret = open_as_deep_as_possible(q);
		if (ret)
			vb_pd_destroy(q->pd);
	}
	if (ret)
		return no_queue_pair(cfg->dev, ret);
	ucm_ah_cache_init(&q->ahs, cfg->path, q->pd, cfg->loop,
			  limited(AHS_MAX, cfg->dev->attr.max_ah));
	q->ahs.ready = on_way;
	dapl_log(DAPL_LOG_CM, "cm qp 0x%x: %u receives, %u sends, inline %u",
		 q->verbs->qp_num, q->rx_depth, q->tx_depth, q->max_inline);
	return 0;
}

int ucm_qp_start(struct ucm_qp *q)
{
	struct dapl_loop *loop = q->cfg.loop;
	int ret;

	ret = dapl_loop_add(loop, &q->send_watch, q->send_chan->fd, EPOLLIN);
	if (!ret)
		ret = dapl_loop_add(loop, &q->recv_watch, q->recv_chan->fd,
				    EPOLLIN);
	if (!ret)
		ret = arm_recv(q);
	if (!ret)
		/* What arrived before the queue was armed. */
		dapl_loop_defer(loop, &q->more);
	return ret;
}

/*
 * Sends what waited for handles that are not to come any more. They are made
 * here, as those of all last words are from now on.
 */
static void send_held_up(struct ucm_qp *q)
{
	struct ucm_way *way, *tmp;
	struct dcm_peer peer;

	dapl_list_for_each_safe(way, tmp, &q->ahs.used, used) {
		if (!way->wait_n)
			continue;
		peer = dapl_list_first(&way->wait, struct waiting, link)->peer;
		(void)ucm_ah_way(&q->ahs, &peer, false);
		on_way(&q->ahs, way, 0);
	}
}

void ucm_qp_stop(struct ucm_qp *q)
{
	struct dapl_loop *loop = q->cfg.loop;

	dapl_loop_del(loop, &q->recv_watch);
	dapl_loop_del(loop, &q->send_watch);
	dapl_work_cancel(loop, &q->more);
	dapl_timer_cancel(loop, &q->pause);
	/* The pause may have been over just now. */
	dapl_work_cancel(loop, &q->more);
	ucm_ah_cache_stop(&q->ahs);
	/* After all that sends: the batch is this thread's from now on. */
	dapl_work_cancel(loop, &q->round_end);
	q->stopping = true;
	post_last(q);
	send_held_up(q);
}

/* Until the sends that completions were asked for have left, or time is up. */
static void drain(struct ucm_qp *q)
{
	uint64_t now = dapl_now_us(), end = now + DRAIN_US;
	struct pollfd pfd = {.fd = q->send_chan->fd, .events = POLLIN};

	for (; now < end; now = dapl_now_us()) {
		if (q->send_io.arm(q->send_cq, 0))
			return;
		flush(q);
		if (q->broken || (!q->wait_n && q->tx_done >= q->tx_asked))
			return;
		poll(&pfd, 1, (int)((end - now) / 1000) + 1);
		if (vb_cq_events_take(q->send_cq, q->send_chan) < 0)
			return;
	}
}

void ucm_qp_close(struct ucm_qp *q)
{
	const struct ucm_qp_stats *stats = &q->stats;
	uint32_t qpn = q->verbs->qp_num;
	struct ucm_way *way;

	ucm_qp_stop(q);
	drain(q);
	vb_cq_events_take(q->send_cq, q->send_chan);
	vb_cq_events_take(q->recv_cq, q->recv_chan);
	drop_waiting(q);
	dapl_list_for_each(way, &q->ahs.used, used)
		drop_all(q, &way->wait, &way->wait_n);
	vb_qp_destroy(q->verbs);
	q->verbs = NULL;
	sends_done(q, q->tx_posted);
	ucm_ah_cache_fini(&q->ahs);
	give_back(q);
	vb_pd_destroy(q->pd);
	dapl_log(DAPL_LOG_CM,
		 "cm qp 0x%x: %llu received, %llu sent, %llu of them after a "
		 "wait, %llu dropped, %llu resets",
		 qpn, (unsigned long long)stats->received,
		 (unsigned long long)stats->sent,
		 (unsigned long long)stats->queued,
		 (unsigned long long)stats->dropped,
		 (unsigned long long)stats->resets);
}
