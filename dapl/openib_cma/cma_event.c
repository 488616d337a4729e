/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_event.c - what rdma_cm's events mean for a connection.
 *
 * Runs on the service thread only, with no lock held; each event was already
 * acknowledged. Connections are freed on this thread too, so the one at hand
 * stays. What the calls of the consumer do is in cma_conn.c.
 * The table of events is that of the historic provider, except that a reject
 * without a consumer's header is not reported as the peer's, unless the peers
 * of the plugin may have none (bare_rejects).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/openib_cma/cma_addr.h"
#include "dapl/openib_cma/cma_conn.h"

/* IB CM reject reason: by the consumer. */
#define REJ_CONSUMER 28
/* Status of a service ID resolution: refused. */
#define SIDR_REJECT 2
/* Local ports to try beyond the first. */
#define PORTS_MAX 20

static bool established(struct cma_conn *conn, enum cma_state from,
			const void *pdata, size_t size)
{
	if (!cma_conn_advance(conn, from, conn->qp.ud ? CMA_FOUND : CMA_UP)) {
		/* Released since: it is up all the same, and is to be ended. */
		cma_conn_released_event(conn, RDMA_CM_EVENT_ESTABLISHED);
		return false;
	}
	dapl_log(DAPL_LOG_CM_EST, "conn %p: ep %p: established, qp 0x%x",
		 (void *)conn, (void *)conn->base.ep, conn->qp.qp_num);
	if (!conn->qp.ud)
		cma_alive_join(conn);
	dapl_cm_conn_event(&conn->base, DAPL_CM_ESTABLISHED, pdata, size);
	return true;
}

static int resolve_route(struct cma_conn *conn)
{
	if (rdma_resolve_route(conn->id, cma_params(conn)->route_timeout_ms))
		return -errno;
	return 0;
}

static void unreachable(struct cma_conn *conn, const char *what, int err)
{
	char peer[64];

	dapl_addr_text((struct sockaddr *)&conn->peer, peer, sizeof(peer));
	dapl_log(DAPL_LOG_CM_WARN, "conn %p: %s: %s: %s", (void *)conn, peer,
		 what, err ? strerror(abs(err)) : "no reason given");
	cma_conn_finish(conn, DAPL_CM_UNREACHABLE, NULL, 0);
}

/*
 * The resolution of WHAT failed with STATUS, which is worth up to LIMIT
 * attempts by RESOLVE if nobody answered.
 */
static void unresolved(struct cma_conn *conn, const char *what, int status,
		       int limit, int (*resolve)(struct cma_conn *conn))
{
	if (abs(status) == ETIMEDOUT && conn->tries < limit) {
		conn->tries++;
		cma_count(conn, DCNT_IA_CM_ERR_REQ_RETRY);
		dapl_log(DAPL_LOG_CM_WARN,
			 "conn %p: no answer, attempt %d of %d", (void *)conn,
			 conn->tries, limit);
		status = resolve(conn);
		if (!status)
			return;
	}
	unreachable(conn, what, status);
}

static void set_tos(struct cma_conn *conn)
{
	uint8_t tos = cma_params(conn)->tos;

	if (tos && rdma_set_option(conn->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				   &tos, sizeof(tos)))
		dapl_log(DAPL_LOG_WARN, "conn %p: cannot set TOS %u: %m",
			 (void *)conn, tos);
}

static void on_addr_resolved(struct cma_conn *conn)
{
	const struct dapl_cm *base = conn->base.node.cm;
	struct rdma_cm_id *id = conn->id;
	int ret;

	if (!cma_conn_advance(conn, CMA_ADDR, CMA_ROUTE))
		return;
	/* The queue pair is the IA's device's and useless on another. */
	if (!id->verbs || id->port_num != base->port ||
	    strcmp(id->verbs->device->name, base->dev_name) != 0) {
		dapl_log(DAPL_LOG_ERR, "conn %p: the way leads over %s port %u",
			 (void *)conn,
			 id->verbs ? id->verbs->device->name : "no device",
			 id->port_num);
		unreachable(conn, "not over the IA's device", -ENETUNREACH);
		return;
	}
	set_tos(conn);
	conn->tries = 1;
	ret = resolve_route(conn);
	if (ret)
		unreachable(conn, "route", ret);
}

/*
 * Some iWARP drivers connect inside the call and know at once. Their port is
 * one of TCP as well, where another socket may have it, or had it a minute ago.
 */
static void not_sent(struct cma_conn *conn, int err)
{
	dapl_log(DAPL_LOG_CM_WARN, "conn %p: request: %s", (void *)conn,
		 strerror(err));
	switch (err) {
	case EADDRINUSE:
		if (conn->ports++ < PORTS_MAX && !cma_conn_another_port(conn))
			break;
		cma_conn_finish(conn, DAPL_CM_BROKEN, NULL, 0);
		break;
	case ECONNREFUSED:
	case ECONNRESET:
		cma_conn_finish(conn, DAPL_CM_NON_PEER_REJECTED, NULL, 0);
		break;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		unreachable(conn, "request", err);
		break;
	default:
		cma_conn_finish(conn, DAPL_CM_BROKEN, NULL, 0);
		break;
	}
}

static void on_route_resolved(struct cma_conn *conn)
{
	const void *data = conn->pdata;
	size_t size = conn->pdata_size;
	struct rdma_conn_param param;
	uint8_t buf[CMA_UD_ROOM];

	if (!cma_conn_advance(conn, CMA_ROUTE, CMA_CONNECT))
		return;
	if (conn->qp.ud) {
		size = cma_ud_ask(cma_conn_cm(conn), conn->id, conn->qp.qp_num,
				  data, size, buf);
		data = buf;
		if (!size) {
			unreachable(conn, "route", -EHOSTUNREACH);
			return;
		}
	}
	cma_conn_param(conn, data, size, &param);
	if (rdma_connect(conn->id, &param))
		not_sent(conn, errno);
	else
		cma_count(conn, DCNT_IA_CM_REQ_TX);
}

/*
 * So that the peer need not wait for its timeout; who answered a datagram
 * endpoint does not wait.
 */
static void give_up(struct cma_conn *conn, enum dapl_cm_event event)
{
	if (conn->base.passive || !conn->qp.ud) {
		rdma_reject(conn->id, NULL, 0);
		cma_count(conn, DCNT_IA_CM_ERR_REJ_TX);
	}
	cma_conn_finish(conn, event, NULL, 0);
}

/*
 * The peer accepted. rdma_cm reports nothing more to this side, it is told by
 * rdma_establish(), when the queue pair is ready. Not on iWARP.
 */
static void on_response(struct cma_conn *conn, const struct cma_event *ev)
{
	if (!cma_conn_advance(conn, CMA_CONNECT, CMA_CONNECT_MOVE))
		return;
	cma_count(conn, DCNT_IA_CM_REP_RX);
	conn->pdata_size = ev->size;
	memcpy(conn->pdata, ev->pdata, ev->size);
	if (cma_conn_move(conn))
		give_up(conn, DAPL_CM_BROKEN);
}

/* The same of datagrams: nothing more goes to the peer. */
static void on_ud_answer(struct cma_conn *conn, const struct cma_event *ev)
{
	const uint8_t *pdata;
	size_t size;

	if (!cma_conn_advance(conn, CMA_CONNECT, CMA_CONNECT_MOVE))
		return;
	cma_count(conn, DCNT_IA_CM_REP_RX);
	if (!cma_ud_answered(ev, &pdata, &size)) {
		dapl_log(DAPL_LOG_CM_WARN,
			 "conn %p: who answers is no datagram endpoint",
			 (void *)conn);
		cma_conn_finish(conn, DAPL_CM_NON_PEER_REJECTED, NULL, 0);
		return;
	}
	conn->ud.av = ev->av;
	conn->ud.qpn = ev->qpn;
	conn->pdata_size = size;
	if (size)
		memcpy(conn->pdata, pdata, size);
	if (cma_conn_move(conn))
		give_up(conn, DAPL_CM_BROKEN);
}

static void active_moved(struct cma_conn *conn)
{
	if (cma_conn_state(conn) != CMA_CONNECT_MOVE)
		return;
	if (conn->qp.ud) {
		established(conn, CMA_CONNECT_MOVE, conn->pdata,
			    conn->pdata_size);
		return;
	}
	if (!rdma_establish(conn->id)) {
		cma_count(conn, DCNT_IA_CM_RTU_TX);
		established(conn, CMA_CONNECT_MOVE, conn->pdata,
			    conn->pdata_size);
		return;
	}
	dapl_log(DAPL_LOG_ERR, "conn %p: accepted, but not usable here: %m",
		 (void *)conn);
	give_up(conn, DAPL_CM_BROKEN);
}

static int send_accept(struct cma_conn *conn)
{
	struct rdma_conn_param param;

	if (conn->qp.ud)
		return cma_ud_answer(cma_conn_cm(conn), conn->id, &conn->ud,
				     conn->qp.qp_num, conn->pdata,
				     conn->pdata_size);
	cma_conn_param(conn, conn->pdata, conn->pdata_size, &param);
	return rdma_accept(conn->id, &param) ? -errno : 0;
}

static void passive_moved(struct cma_conn *conn)
{
	int ret = send_accept(conn);

	if (ret) {
		dapl_log(DAPL_LOG_ERR, "conn %p: cannot accept: %s",
			 (void *)conn, strerror(-ret));
		give_up(conn, DAPL_CM_ACCEPT_FAILED);
		return;
	}
	cma_count(conn, DCNT_IA_CM_REP_TX);
	/* Who asked says nothing more. */
	if (conn->qp.ud)
		established(conn, CMA_ACCEPT, NULL, 0);
}

static void not_moved(struct cma_conn *conn, int err)
{
	dapl_log(DAPL_LOG_ERR, "conn %p: queue pair 0x%x cannot be moved: %s",
		 (void *)conn, conn->qp.qp_num, strerror(-err));
	if (conn->base.passive)
		give_up(conn, DAPL_CM_ACCEPT_FAILED);
	else if (err == -ETIMEDOUT)
		give_up(conn, DAPL_CM_UNREACHABLE);
	else
		give_up(conn, DAPL_CM_BROKEN);
}

/* The hardware address was not found in time: once more? */
static bool move_again(struct cma_conn *conn, int err)
{
	return err == -ETIMEDOUT &&
	       conn->moves++ < cma_params(conn)->arp_retry_count &&
	       !cma_conn_move(conn);
}

void cma_conn_moved(struct dapl_cm_conn *base, int ret)
{
	struct cma_conn *conn = (struct cma_conn *)base;
	enum dapl_cm_event late;

	if (move_again(conn, ret))
		return;
	late = cma_conn_accepted(conn);
	if (late != DAPL_CM_EVENT_N)
		cma_conn_finish(conn, late, NULL, 0);
	else if (ret)
		not_moved(conn, ret);
	else if (conn->base.passive)
		passive_moved(conn);
	else
		active_moved(conn);
}

static bool has_header(const struct cma_event *ev)
{
	return ev->size >= sizeof(cma_reject_header) &&
	       !memcmp(ev->pdata, cma_reject_header, sizeof(cma_reject_header));
}

static void on_refused(struct cma_conn *conn, const struct cma_event *ev)
{
	bool iwarp = cma_conn_dev(conn)->iw_cm; /* has no reasons */
	bool consumer = !iwarp && ev->status == REJ_CONSUMER;

	if ((iwarp || consumer) && has_header(ev))
		cma_conn_finish(conn, DAPL_CM_PEER_REJECTED,
				ev->pdata + sizeof(cma_reject_header),
				ev->size - sizeof(cma_reject_header));
	else if (consumer && conn->base.node.cm->ops->bare_rejects)
		cma_conn_finish(conn, DAPL_CM_PEER_REJECTED, NULL, 0);
	else
		cma_conn_finish(conn, DAPL_CM_NON_PEER_REJECTED, NULL, 0);
}

/* STATUS is the peer's word: a service ID resolution's. */
static void on_ud_refused(struct cma_conn *conn, const struct cma_event *ev)
{
	const uint8_t *pdata;
	size_t size;

	if (ev->status == SIDR_REJECT && cma_ud_answered(ev, &pdata, &size))
		cma_conn_finish(conn, DAPL_CM_PEER_REJECTED, pdata, size);
	else
		cma_conn_finish(conn, DAPL_CM_NON_PEER_REJECTED, NULL, 0);
}

/* REJECTED, UNREACHABLE or CONNECT_ERROR. */
static void on_failure(struct cma_conn *conn, const struct cma_event *ev)
{
	switch (cma_conn_state(conn)) {
	case CMA_CONNECT:
		if (ev->type == RDMA_CM_EVENT_REJECTED)
			on_refused(conn, ev);
		else if (conn->qp.ud && ev->status > 0)
			on_ud_refused(conn, ev);
		else
			unreachable(conn, rdma_event_str(ev->type), ev->status);
		break;
	case CMA_CONNECT_MOVE:
		/* The peer did not wait for our answer to its own. */
		cma_conn_finish(conn, DAPL_CM_NON_PEER_REJECTED, NULL, 0);
		break;
	case CMA_UP:
		/*
		 * The kernel has seen another hardware address for the peer's
		 * host, which may be there all the same, and knows of nothing.
		 */
		if (ev->type == RDMA_CM_EVENT_UNREACHABLE)
			cma_conn_goodbye(conn);
		/* fallthrough */
	case CMA_DOWN:
		/* Or the other side gave up before it knew of our answer. */
		cma_conn_finish(conn, DAPL_CM_DISCONNECTED, NULL, 0);
		break;
	case CMA_ADDR:
	case CMA_ROUTE:
		unreachable(conn, rdma_event_str(ev->type), ev->status);
		break;
	default:
		cma_conn_finish(conn, DAPL_CM_ACCEPT_FAILED, NULL, 0);
		break;
	}
}

static void on_established(struct cma_conn *conn, const struct cma_event *ev)
{
	if (conn->qp.ud) {
		on_ud_answer(conn, ev);
		return;
	}
	if (!conn->base.passive) { /* iWARP */
		cma_count(conn, DCNT_IA_CM_REP_RX);
		established(conn, CMA_CONNECT, ev->pdata, ev->size);
		return;
	}
	cma_count(conn, DCNT_IA_CM_RTU_RX);
	established(conn, CMA_ACCEPT, NULL, 0);
}

static void on_disconnected(struct cma_conn *conn)
{
	enum cma_state state = cma_conn_state(conn);
	bool iwarp = cma_conn_dev(conn)->iw_cm, answer = state == CMA_DOWN;

	/* Only who is connected sends DREQ: its RTU was lost, or overtaken. */
	if (state == CMA_ACCEPT && !iwarp) {
		established(conn, CMA_ACCEPT, NULL, 0);
		state = cma_conn_state(conn);
	}
	if (state != CMA_UP && state != CMA_DOWN) {
		on_failure(conn, &(struct cma_event){
					 .type = RDMA_CM_EVENT_DISCONNECTED});
		return;
	}
	cma_count(conn, answer ? DCNT_IA_CM_DREP_RX : DCNT_IA_CM_DREQ_RX);
	/* The IB CM waits for an answer; without a need for one it says so. */
	if (!iwarp)
		rdma_disconnect(conn->id);
	cma_conn_finish(conn, DAPL_CM_DISCONNECTED, NULL, 0);
}

void cma_conn_event(struct cma_conn *conn, const struct cma_event *ev)
{
	const struct cma_params *params = cma_params(conn);
	/* First: a release that comes in between is not to be taken for it. */
	enum cma_state state = cma_conn_state(conn);

	if (cma_conn_released_event(conn, ev->type))
		return;
	dapl_log(DAPL_LOG_CM, "conn %p: %s, status %d, state %d", (void *)conn,
		 rdma_event_str(ev->type), ev->status, state);
	if (state == CMA_OVER || state == CMA_FOUND)
		return;
	switch (ev->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_addr_resolved(conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (state == CMA_ADDR)
			unresolved(conn, "address", ev->status,
				   params->arp_retry_count, cma_conn_resolve);
		/* The kernel takes nothing from who answers without a Q_Key. */
		else if (state == CMA_CONNECT && conn->qp.ud)
			cma_conn_finish(conn, DAPL_CM_NON_PEER_REJECTED, NULL,
					0);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_route_resolved(conn);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		if (state == CMA_ROUTE)
			unresolved(conn, "route", ev->status,
				   params->route_retry_count, resolve_route);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		on_response(conn, ev);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(conn, ev);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		on_failure(conn, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		on_disconnected(conn);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		cma_conn_finish(conn, DAPL_CM_BROKEN, NULL, 0);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		/* Comes after DISCONNECTED, or in its place when the message
		 * to the peer could not be sent. */
		if (state == CMA_DOWN)
			cma_conn_finish(conn, DAPL_CM_DISCONNECTED, NULL, 0);
		break;
	default: /* ADDR_CHANGE, multicast */
		break;
	}
}
