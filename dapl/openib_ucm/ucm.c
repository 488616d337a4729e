/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm.c - an instance of the UCM provider, and its transport for the driver in
 * dcm.h: addresses and ports, and messages to and from the CM's queue pair.
 *
 * An address is the block of doc/cm-protocol.md in a sockaddr: it has the
 * family and the size of an IPv6 address, which is how programs carry it; some
 * carry 16 bytes only, which is enough where the path goes by LID.
 * Threads and locks: dcm.h and ucm_qp.h; none here.
 */
#include "dapl/openib_ucm/ucm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MASK 0xffff
#define SL_MAX	  15

#define MS	     1000ull
#define REP_TIME_MS  800 /* doubled nine times: 409.6 s */
#define TRIES	     10
#define RTU_PATIENCE (60000 * MS)
/* From so many repeats on, the way to the peer is doubted. */
#define UNANSWERED 2

_Static_assert(sizeof(struct dcm_block) == sizeof(struct sockaddr_in6),
	       "an address travels as an IPv6 one");

static struct ucm *ucm_of(struct dcm *dcm)
{
	return (struct ucm *)dcm;
}

/* ------------------------------------------------ addresses and ports */

static void block_to_addr(const struct dcm_ib *ib,
			  struct sockaddr_storage *ret_addr)
{
	struct dcm_block block;

	dcm_block_set_ib(&block, ib);
	memset(ret_addr, 0, sizeof(*ret_addr));
	memcpy(ret_addr, &block, sizeof(block));
}

/*
 * Whether what follows the first 16 bytes is an address's, too. Programs take
 * those for all there is of a sockaddr and pass nothing else on; the rest is
 * then what their memory held.
 */
static bool is_whole(const struct dcm_block *block, const struct dcm_ib *ib)
{
	struct dcm_block again;

	dcm_block_set_ib(&again, ib); /* leaves no other byte */
	return ib->qp_type == DCM_QP_UD && ib->sl <= SL_MAX &&
	       !memcmp(&again, block, sizeof(again));
}

static int addr_to_block(const struct sockaddr *addr, struct dcm_ib *ret_ib,
			 bool *ret_whole)
{
	struct dcm_block block;

	if (addr->sa_family != AF_INET6)
		return dapl_fail_errno(
			-EAFNOSUPPORT,
			"an address of family %u: here it is what "
			"dat_ia_query() gives at the peer",
			addr->sa_family);
	memcpy(&block, addr, sizeof(block));
	dcm_block_get_ib(&block, ret_ib);
	*ret_whole = is_whole(&block, ret_ib);
	if (!*ret_whole) {
		memset(ret_ib->gid, 0, sizeof(ret_ib->gid));
		ret_ib->sl = 0;
		ret_ib->qp_type = DCM_QP_UD;
	}
	return 0;
}

static const char *target_wrong(const struct dcm_path *path,
				const struct dcm_ib *ib, bool whole)
{
	if (!ib->qpn)
		return "it has no queue pair number";
	if (dcm_path_by_gid(path) && !whole)
		return "the program has cut it short, to 16 of its 28 bytes "
		       "(a sockaddr, where a sockaddr_in6 is needed), and so "
		       "lost the GID";
	return dcm_path_wrong(path, ib);
}

static void peer_of(const struct dcm_ib *ib, struct dcm_peer *ret_peer)
{
	memcpy(ret_peer->gid, ib->gid, sizeof(ret_peer->gid));
	ret_peer->lid = ib->lid;
	ret_peer->sl = ib->sl;
	ret_peer->qpn = ib->qpn;
}

/* Old peers find the type and family of the address in a request's daddr. */
static void set_target(struct dcm_cm_conn *conn, const struct dcm_ib *ib,
		       DAT_CONN_QUAL qual)
{
	struct dcm_ib daddr = *ib;

	conn->port = qual & PORT_MASK;
	peer_of(ib, &conn->dcm.peer);
	daddr.qpn = 0;
	dcm_block_set_ib(&conn->dcm.own.daddr, &daddr);
	block_to_addr(ib, &conn->peer_addr);
	conn->peer_port = qual;
}

static int no_port(int ret, DAT_CONN_QUAL qual)
{
	return dapl_fail_errno(ret,
			       "nobody can listen on qualifier %llu: its low "
			       "16 bits are 0",
			       (unsigned long long)qual);
}

static int ucm_target(struct dcm *dcm, struct dcm_cm_conn *conn,
		      const struct sockaddr *addr, DAT_CONN_QUAL qual)
{
	struct dcm_ib ib;
	const char *wrong;
	bool whole;
	int ret;

	ret = addr_to_block(addr, &ib, &whole);
	if (ret)
		return ret;
	wrong = target_wrong(&dcm->path, &ib, whole);
	if (wrong)
		return dapl_fail_errno(-EADDRNOTAVAIL,
				       "the address is of no use: %s", wrong);
	if (!(qual & PORT_MASK))
		return no_port(-EADDRNOTAVAIL, qual);
	set_target(conn, &ib, qual);
	return 0;
}

static int ucm_listen(struct dcm *dcm, struct dcm_cm_listener *l,
		      DAT_CONN_QUAL qual, uint32_t *ret_port)
{
	if (!(qual & PORT_MASK))
		return no_port(-EINVAL, qual);
	*ret_port = qual & PORT_MASK;
	return 0;
}

/* The address of the peer's connection manager, to connect to if wanted. */
static void ucm_peer(struct dcm_cm_conn *conn, const struct dcm_msg *req)
{
	struct dcm_ib ib;

	dcm_block_get_ib(&req->saddr, &ib);
	ib.family = AF_INET6;
	ib.qpn = req->sqpn;
	ib.qp_type = DCM_QP_UD;
	block_to_addr(&ib, &conn->peer_addr);
	conn->peer_port = req->sport;
	conn->local_port = req->dport;
}

/* ------------------------------------------------------------ messages */

static void ucm_send(struct dcm_engine *eng, struct dcm_conn *conn,
		     const struct dcm_peer *to, const struct dcm_msg *msg,
		     bool filler)
{
	struct ucm *ucm = ucm_of(dcm_of_engine(eng));
	struct dcm_ib ib = {.lid = to->lid, .qpn = to->qpn};
	uint8_t buf[DCM_MSG];
	size_t len = dcm_msg_encode(msg, buf);
	unsigned how = conn ? 0 : UCM_STRANGER;

	/* An error of the queue pair would hold up everybody. */
	memcpy(ib.gid, to->gid, sizeof(ib.gid));
	if (dcm_path_wrong(&ucm->dcm.path, &ib))
		return;
	if (msg->rtns >= UNANSWERED)
		how |= UCM_UNANSWERED;
	ucm_qp_send(&ucm->qp, to, buf, len, conn ? conn->id : 0, how);
}

static void on_no_way(struct ucm_qp *qp, uint32_t id)
{
	struct ucm *ucm = dapl_container_of(qp, struct ucm, qp);

	dcm_engine_no_way(&ucm->dcm.eng, id, dapl_now_us());
}

static void on_message(struct ucm_qp *qp, const uint8_t *buf, size_t len,
		       const struct dcm_source *src)
{
	struct ucm *ucm = dapl_container_of(qp, struct ucm, qp);

	dapl_cm_run(&ucm->dcm.base);
	dcm_datagram(&ucm->dcm, buf, len, src);
}

/* ------------------------------------------------------------ instance */

/* What peers know us by: best GID, LID, number of the CM's queue pair. */
static void set_own_address(struct ucm *ucm)
{
	struct dcm *dcm = &ucm->dcm;
	struct dcm_path_ends ends;

	dcm_path_own(&dcm->path, ucm->qp.verbs->qp_num, NULL, &ends);
	dcm->eng.self = ends.own;
	dcm->eng.self.family = AF_INET6;
	dcm->eng.self.sl = 0;
	dcm->eng.self.qp_type = DCM_QP_UD;
	block_to_addr(&dcm->eng.self, &dcm->base.addr);
}

static int ucm_start(struct dcm *dcm)
{
	struct ucm *ucm = ucm_of(dcm);
	const struct ucm_qp_cfg cfg = {
		.dev = dcm->base.dev,
		.loop = dcm->base.loop,
		.path = &dcm->path,
		.params = dcm->base.params,
		.input = on_message,
		.no_way = on_no_way,
	};
	int ret;

	ret = ucm_qp_open(&ucm->qp, &cfg);
	if (ret)
		return ret;
	set_own_address(ucm);
	dcm->eng.conns_max = (size_t)1 << cfg.params->array_bits;
	ret = ucm_qp_start(&ucm->qp);
	if (ret) {
		ucm_qp_close(&ucm->qp);
		return dapl_fail_errno(ret, "cm %p: cannot listen: %s",
				       (void *)ucm, strerror(-ret));
	}
	ucm->started = true;
	return 0;
}

static void ucm_stop(struct dcm *dcm)
{
	ucm_qp_stop(&ucm_of(dcm)->qp);
}

static const struct dcm_transport transport = {
	.sizes = {.conn = sizeof(struct dcm_cm_conn),
		  .listener = sizeof(struct dcm_cm_listener),
		  .pdata = DCM_PDATA},
	.target = ucm_target,
	.listen = ucm_listen,
	.peer = ucm_peer,
	.send = ucm_send,
	.start = ucm_start,
	.stop = ucm_stop,
};

#define FIELD(f) offsetof(struct ucm_params, f)

/* clang-format off */
static const struct dapl_param rows[] = {
	{"DAPL_UCM_ARRAY_BITS", DAPL_PARAM_INT, FIELD(array_bits), 1, 18,
	 18, "at most 2 to this power of connections"},
	{"DAPL_UCM_CQ_SIZE", DAPL_PARAM_INT, FIELD(cq_size), 16, 1 << 20,
	 -1, "entries of the CM's completion queues, if that is more"},
	{"DAPL_UCM_DREP_TIME", DAPL_PARAM_INT, FIELD(drep_time_ms), 1,
	 600000, -1, "fixed first wait for a DREP, milliseconds"},
	{"DAPL_UCM_DREQ_RETRY", DAPL_PARAM_INT, FIELD(dreq_retry), 0, 100,
	 1, "repeats of a DREQ before the consumer is told"},
	{"DAPL_UCM_ENTRY_BITS", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: tables grow by themselves"},
	{"DAPL_UCM_KEEPALIVE_MS", DAPL_PARAM_INT, FIELD(keepalive_ms), 0,
	 3600000, 0,
	 "from one question whether a peer is there to the next; 0: none"},
	{"DAPL_UCM_QP_SIZE", DAPL_PARAM_INT, FIELD(qp_size), 16,
	 UCM_DEPTH_MAX, -1,
	 "depth of both queues of the CM's queue pair"},
	{"DAPL_UCM_REP_TIME", DAPL_PARAM_INT, FIELD(rep_time_ms), 1, 600000,
	 -1, "fixed first wait for a REP, milliseconds"},
	{"DAPL_UCM_RETRY", DAPL_PARAM_INT, FIELD(retry), 1, 32, -1,
	 "tries of a REQ or REP before it is given up"},
	{"DAPL_UCM_RTU_TIME", DAPL_PARAM_INT, FIELD(rtu_time_ms), 1, 600000,
	 -1, "fixed first wait for an RTU, milliseconds"},
	{"DAPL_UCM_TIMER", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: each connection has its own timer"},
	{"DAPL_UCM_TX_BURST", DAPL_PARAM_INT, FIELD(tx_burst), 1, 1024, 50,
	 "a completion is asked for every so many CM sends"},
	{"DAPL_UCM_WAIT_TIME", DAPL_PARAM_INT, FIELD(wait_time_ms), 1,
	 3600000, 60000, "how long an ended connection is remembered, ms"},
};
/* clang-format on */

const struct dapl_param_table ucm_param_table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.size = sizeof(struct ucm_params),
	.base = &dcm_path_param_table,
};

/* MS or, if that is not set, DEF. */
static uint64_t or_default(int ms, uint64_t def_us)
{
	return ms < 0 ? def_us : (uint64_t)ms * MS;
}

/* FIRST_MS, doubled before each try but the first two. */
static uint64_t patience(const struct ucm_params *params, int first_ms,
			 uint64_t def_us)
{
	int tries = params->retry < 0 ? TRIES : params->retry;

	if (first_ms < 0 && params->retry < 0)
		return def_us;
	return or_default(first_ms, REP_TIME_MS * MS) << (tries - 1);
}

struct dcm_rules ucm_rules(const struct ucm_params *p)
{
	return (struct dcm_rules){
		.rep_wait_us = or_default(p->rep_time_ms, 0),
		.rtu_wait_us = or_default(p->rtu_time_ms, 0),
		.drep_wait_us = or_default(p->drep_time_ms, 0),
		.rep_patience_us = patience(p, p->rep_time_ms,
					    REP_TIME_MS * MS << (TRIES - 1)),
		.rtu_patience_us = patience(p, p->rtu_time_ms, RTU_PATIENCE),
		.dreq_repeats = p->dreq_retry,
		.timewait_us = (uint64_t)p->wait_time_ms * MS,
		.keepalive_ms = p->keepalive_ms,
	};
}

int ucm_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm)
{
	const struct dcm_rules rules = ucm_rules(base->params);
	struct dapl_cm own = *base;
	struct dcm_path_wish wish;
	struct ucm *ucm;
	int ret;

	ret = dcm_device_parse(ia_params, &own, &wish);
	if (ret)
		return ret;
	ucm = calloc(1, sizeof(*ucm));
	if (!ucm)
		return dapl_fail_errno(-ENOMEM, "ucm: no memory");
	dcm_init(&ucm->dcm, &own, &transport, &rules, &wish);
	*ret_cm = &ucm->dcm.base;
	return 0;
}

void ucm_device_event(struct dapl_cm *base, const struct ibv_async_event *event)
{
	struct ucm *ucm = ucm_of(dcm_from(base));

	if (event->event_type != IBV_EVENT_GID_CHANGE) {
		ucm_qp_event(&ucm->qp, event);
		return;
	}
	dcm_device_event(base, event);
	ucm_ah_forget(&ucm->qp.ahs);
}

void ucm_close(struct dapl_cm *base)
{
	struct ucm *ucm = ucm_of(dcm_from(base));

	dapl_cm_stop(base);
	if (ucm->started)
		ucm_qp_close(&ucm->qp);
	dcm_fini(&ucm->dcm);
	free(ucm);
}
