/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_alive.c - asks hosts whether they are there; see the header.
 *
 * The answers come by a channel of their own, for their ids are nobody's
 * connections; over iWARP by a TCP socket for each question, since rdma_cm asks
 * for nothing there without a queue pair.
 * Rule: a request that no listener takes is rejected, with reason 8
 * (InfiniBand vol. 1 ch. 12.9), a SYN with a reset (RFC 9293, 3.5.2); any
 * answer is as good.
 */
#include "dapl/openib_cma/cma_alive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/common/services/dapl_files.h"
#include "dapl/openib_cma/cma_addr.h"
#include "dapl/openib_cma/cma_conn.h"

/* Where it is not set, on Ethernet. */
#define INTERVAL_MS 30000

struct host {
	struct dapl_cm_peer base; /* must stay first */
	struct cma *cm;
	struct sockaddr_storage addr; /* without a port */
	/* While it is asked, one or the other. */
	struct rdma_cm_id *id;
	int fd; /* or below 0 */
	struct dapl_watch watch;
};

static struct cma *cma_of(struct dapl_cm_alive *alive)
{
	return dapl_container_of(alive, struct cma, alive.base);
}

static bool channel_open(struct cma *cm)
{
	struct cma_alive *alive = &cm->alive;
	int flags;

	if (alive->chan)
		return true;
	alive->chan = rdma_create_event_channel();
	if (!alive->chan)
		return false;
	flags = fcntl(alive->chan->fd, F_GETFL);
	if (flags >= 0 &&
	    !fcntl(alive->chan->fd, F_SETFL, flags | O_NONBLOCK) &&
	    !dapl_loop_add(cm->base.loop, &alive->watch, alive->chan->fd,
			   EPOLLIN))
		return true;
	rdma_destroy_event_channel(alive->chan);
	alive->chan = NULL;
	return false;
}

/* A socket from the adapter's own address, or -errno. */
static int socket_open(const struct cma *cm)
{
	const struct sockaddr *own = (const struct sockaddr *)&cm->base.addr;
	int fd = dapl_files_socket(own->sa_family), ret;

	if (fd < 0 || !bind(fd, own, dapl_addr_len(own)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static void answered(struct host *host, int err)
{
	if (!err || err == ECONNREFUSED || err == ECONNRESET)
		dapl_cm_alive_there(&host->cm->alive.base, &host->base);
	else
		dapl_cm_alive_silent(&host->cm->alive.base, &host->base);
}

static void on_socket(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct host *host = dapl_container_of(watch, struct host, watch);
	int err = 0;
	socklen_t len = sizeof(err);

	(void)epoll_events;
	if (getsockopt(host->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	answered(host, err);
}

static bool ask_by_tcp(struct cma *cm, struct host *host)
{
	const struct sockaddr *addr = (struct sockaddr *)&host->addr;
	int err;

	host->fd = socket_open(cm);
	if (host->fd < 0)
		return false;
	err = connect(host->fd, addr, dapl_addr_len(addr)) ? errno : 0;
	switch (err) {
	case EINPROGRESS:
		return !dapl_loop_add(cm->base.loop, &host->watch, host->fd,
				      EPOLLOUT);
	case 0:
	case ECONNREFUSED:
	case ENETUNREACH:
	case EHOSTUNREACH:
		answered(host, err);
		return true;
	default: /* for want of a port, say */
		return false;
	}
}

static bool ask(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	struct cma *cm = cma_of(alive);
	struct host *host = (struct host *)peer;
	struct sockaddr_storage own = cm->base.addr;

	/* Here as there, what is missing here says nothing of the host. */
	if (cm->base.dev->iw_cm)
		return ask_by_tcp(cm, host);
	if (!channel_open(cm) ||
	    rdma_create_id(cm->alive.chan, &host->id, host, RDMA_PS_TCP)) {
		host->id = NULL;
		return false;
	}
	if (rdma_resolve_addr(host->id, (struct sockaddr *)&own,
			      (struct sockaddr *)&host->addr,
			      dapl_cm_alive_wait_ms(alive)))
		dapl_cm_alive_silent(alive, peer);
	return true;
}

static void asked(struct dapl_cm_peer *peer)
{
	struct host *host = (struct host *)peer;

	if (host->id)
		cma_id_destroy(host->id);
	host->id = NULL;
	if (host->fd < 0)
		return;
	dapl_loop_del(host->cm->base.loop, &host->watch);
	close(host->fd);
	host->fd = -1;
}

static void vanished(struct dapl_cm_alive *alive, struct dapl_cm_peer_conn *pc)
{
	struct cma_conn *conn = dapl_container_of(pc, struct cma_conn, alive);
	bool ours = cma_conn_state(conn) == CMA_DOWN;

	(void)alive;
	/* Should the host be there, and only the way to it gone for now. */
	if (!ours)
		cma_conn_goodbye(conn);
	dapl_cm_conn_error(&conn->base);
	cma_conn_finish(conn, ours ? DAPL_CM_DISCONNECTED : DAPL_CM_BROKEN,
			NULL, 0);
}

/* With the last of them, nothing is left that was not there before. */
static void freed(struct dapl_cm_alive *base, struct dapl_cm_peer *peer)
{
	struct cma_alive *alive = &cma_of(base)->alive;

	free(peer);
	if (!dapl_list_empty(&base->peers) || !alive->chan)
		return;
	dapl_loop_del(base->cm->loop, &alive->watch);
	rdma_destroy_event_channel(alive->chan);
	alive->chan = NULL;
}

static void name(const struct dapl_cm_peer *peer, char *buf, size_t size)
{
	const struct host *host = (const struct host *)peer;

	dapl_addr_text((const struct sockaddr *)&host->addr, buf, size);
}

static const struct dapl_cm_alive_ops alive_ops = {
	.ask = ask,
	.asked = asked,
	.vanished = vanished,
	.freed = freed,
	.name = name,
};

static void on_answer(struct dapl_cm_alive *alive, struct host *host,
		      enum rdma_cm_event_type type)
{
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(host->id, dapl_cm_alive_wait_ms(alive)))
			dapl_cm_alive_silent(alive, &host->base);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rdma_connect(host->id, &param))
			dapl_cm_alive_silent(alive, &host->base);
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		dapl_cm_alive_there(alive, &host->base);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		dapl_cm_alive_silent(alive, &host->base);
		break;
	}
}

static void on_channel(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct cma_alive *alive =
		dapl_container_of(watch, struct cma_alive, watch);
	enum rdma_cm_event_type type;
	struct rdma_cm_event *raw;
	struct host *host;

	(void)epoll_events;
	while (!rdma_get_cm_event(alive->chan, &raw)) {
		host = raw->id->context;
		type = raw->event;
		rdma_ack_cm_event(raw);
		on_answer(&alive->base, host, type);
	}
}

void cma_alive_init(struct cma *cm)
{
	cm->alive.watch.fn = on_channel;
	cm->alive.watch.fd = -1;
	dapl_cm_alive_init(&cm->alive.base, &cm->base, &alive_ops,
			   &cm->alive.interval_ms);
}

void cma_alive_start(struct cma *cm)
{
	const struct cma_params *params = cm->base.params;
	const struct vb_dev *dev = cm->base.dev;

	cm->alive.interval_ms = params->keepalive_ms;
	if (cm->alive.interval_ms < 0)
		cm->alive.interval_ms =
			dev->ethernet && !dev->iw_cm ? INTERVAL_MS : 0;
}

void cma_alive_stop(struct cma *cm)
{
	struct dapl_loop *loop = cm->base.loop;
	struct dapl_cm_peer *peer;

	/* In this order: the timer opens the channel, and sockets. */
	dapl_cm_alive_stop(&cm->alive.base);
	dapl_loop_del(loop, &cm->alive.watch);
	/* What runs now may end a connection, and with it a host. */
	dapl_loop_barrier(loop);
	dapl_list_for_each(peer, &cm->alive.base.peers, link)
		dapl_loop_del(loop, &((struct host *)peer)->watch);
}

static struct host *host_of(struct cma *cm, const struct sockaddr *addr)
{
	struct dapl_cm_peer *peer;
	struct host *host;

	dapl_list_for_each(peer, &cm->alive.base.peers, link) {
		host = (struct host *)peer;
		if (dapl_addr_same_host((struct sockaddr *)&host->addr, addr))
			return host;
	}
	host = calloc(1, sizeof(*host));
	if (!host)
		return NULL;
	host->cm = cm;
	host->fd = -1;
	host->watch.fn = on_socket;
	host->watch.fd = -1;
	memcpy(&host->addr, addr, dapl_addr_len(addr));
	dapl_addr_set_port(&host->addr, 0);
	return host;
}

void cma_alive_join(struct cma_conn *conn)
{
	const struct sockaddr *addr = rdma_get_peer_addr(conn->id);
	struct cma *cm = cma_conn_cm(conn);
	struct host *host;

	if (!dapl_cm_alive_on(&cm->alive.base) ||
	    dapl_addr_same_host((struct sockaddr *)&cm->base.addr, addr))
		return;
	host = host_of(cm, addr);
	/* Without memory this one is not watched. */
	if (host)
		dapl_cm_alive_join(&cm->alive.base, &host->base, &conn->alive);
}

void cma_alive_leave(struct cma_conn *conn)
{
	dapl_cm_alive_leave(&cma_conn_cm(conn)->alive.base, &conn->alive);
}
