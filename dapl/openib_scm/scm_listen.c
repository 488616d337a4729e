/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_listen.c - listening sockets, and accepted ones whose request is not
 * complete.
 *
 * Anybody can connect. What is half-open is bounded in number and time; when
 * there are too many the oldest goes, unless it has hardly had a chance: then
 * the others wait in the kernel's queue. The same gives descriptors back when
 * the process has run out of them.
 *
 * A half-open connection knows its listener by the port only, so an unlisten
 * in the meantime does no harm. A listener that was found stays valid until
 * the next dcm_run(), since only that frees it.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/openib_scm/scm.h"

/* So that one busy listener does not keep the loop to itself. */
#define ACCEPT_BATCH 64
/* How long a listener that cannot accept is left alone. */
#define PAUSE_US 50000

static struct scm_listener *listener_from(struct dapl_cm_listener *l)
{
	return (struct scm_listener *)l;
}

static struct dapl_loop *loop_of(const struct scm *cm)
{
	return cm->dcm.base.loop;
}

/* --------------------------------------------------------- half-open */

static struct scm_conn *oldest(struct scm *cm)
{
	return dapl_list_first(&cm->half, struct scm_conn, half);
}

static int half_add(struct scm *cm, struct scm_conn *conn)
{
	uint64_t now = dapl_now_us();
	int ret = 0;

	if (dapl_list_empty(&cm->half))
		ret = dapl_timer_arm(loop_of(cm), &cm->half_timer,
				     now + cm->limits.half_us);
	if (ret)
		return ret;
	conn->since_us = now;
	dapl_list_add_tail(&cm->half, &conn->half);
	cm->half_n++;
	return 0;
}

void scm_half_remove(struct scm_conn *conn)
{
	if (dapl_list_empty(&conn->half))
		return;
	dapl_list_del(&conn->half);
	scm_from(conn->base.node.dcm)->half_n--;
}

void scm_half_drop(struct scm_conn *conn, const char *why)
{
	dapl_log(DAPL_LOG_CM, "conn %p: no request: %s", (void *)conn, why);
	scm_hangup(&conn->base.dcm);
	dcm_conn_discard(&conn->base);
}

void scm_half_timer(struct dapl_timer *timer)
{
	struct scm *cm = dapl_container_of(timer, struct scm, half_timer);
	uint64_t now = dapl_now_us();

	while (!dapl_list_empty(&cm->half)) {
		uint64_t end = oldest(cm)->since_us + cm->limits.half_us;

		if (end > now && !dapl_timer_arm(loop_of(cm), timer, end))
			return;
		scm_half_drop(oldest(cm), "its time is over");
	}
}

static bool is_full(const struct scm *cm)
{
	return cm->half_n >= cm->limits.half_max;
}

/* Whether the oldest has had its chance. */
static bool can_drop(struct scm *cm)
{
	return !dapl_list_empty(&cm->half) &&
	       dapl_now_us() >= oldest(cm)->since_us + cm->limits.half_grace_us;
}

static void make_room(struct scm *cm)
{
	scm_half_drop(oldest(cm), "others want its place");
}

static struct scm_listener *listener_of_port(struct scm *cm, uint16_t port)
{
	struct scm_listener *l, *found = NULL;

	dapl_lock(&cm->dcm.lock);
	dapl_list_for_each(l, &cm->listeners, link)
		if (l->port == port)
			found = l;
	dapl_unlock(&cm->dcm.lock);
	return found;
}

void scm_half_request(struct scm_conn *conn, const struct dcm_msg *msg)
{
	struct scm *cm = scm_from(conn->base.node.dcm);
	struct scm_listener *l = listener_of_port(cm, conn->port);

	if (!l) {
		scm_half_drop(conn, "nobody listens any more");
		return;
	}
	conn->base.local_port = l->qual;
	scm_half_remove(conn);
	/* Where it fails the peer has been told, or need not be. */
	if (dcm_request(&l->base, &conn->base, msg))
		scm_half_drop(conn, "refused");
}

/* ------------------------------------------------------------ accept */

static void accepted(struct scm *cm, int fd,
		     const struct sockaddr_storage *peer)
{
	struct dapl_cm_conn *base = dcm_conn_new(&cm->dcm);
	struct scm_conn *conn;
	int ret;

	if (!base) {
		scm_socket_end(fd);
		return;
	}
	conn = scm_conn_from(base);
	dapl_list_init(&conn->half);
	base->peer_addr = *peer;
	ret = scm_conn_accepted(conn, fd);
	if (ret) {
		dapl_log(DAPL_LOG_WARN, "conn %p: not accepted: %s",
			 (void *)conn, strerror(-ret));
		scm_socket_end(fd);
		dcm_conn_discard(base);
		return;
	}
	if (half_add(cm, conn))
		scm_half_drop(conn, "no timer");
}

/*
 * A socket that cannot be accepted stays in the queue and keeps the listener
 * readable, which would keep the loop busy.
 */
static void pause_listener(struct scm *cm, struct scm_listener *l,
			   const char *why)
{
	dapl_log(DAPL_LOG_WARN, "sp %p: accepts nothing for now: %s",
		 (void *)l->base.sp, why);
	if (!dapl_timer_arm(loop_of(cm), &l->pause, dapl_now_us() + PAUSE_US))
		dapl_loop_mod(loop_of(cm), &l->watch, 0);
}

static void resume_listener(struct dapl_timer *timer)
{
	struct scm_listener *l =
		dapl_container_of(timer, struct scm_listener, pause);

	dapl_loop_mod(l->base.node.dcm->base.loop, &l->watch, EPOLLIN);
}

/* Gives back what half-open sockets hold, or waits. */
static bool short_of(struct scm *cm, struct scm_listener *l, int err)
{
	if (can_drop(cm)) {
		make_room(cm);
		return true;
	}
	pause_listener(cm, l, strerror(err));
	return false;
}

/* False: not for now. */
static bool accept_one(struct scm *cm, struct scm_listener *l)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd;

	if (is_full(cm) && !can_drop(cm)) {
		pause_listener(cm, l, "too many without a request");
		return false;
	}
	memset(&peer, 0, sizeof(peer));
	fd = accept4(l->fd, (struct sockaddr *)&peer, &len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		if (is_full(cm))
			make_room(cm);
		accepted(cm, fd, &peer);
		return true;
	}
	switch (errno) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return short_of(cm, l, errno);
	default:
		return true; /* that one peer's trouble */
	}
}

static void on_listener(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct scm_listener *l =
		dapl_container_of(watch, struct scm_listener, watch);
	struct scm *cm = scm_from(l->base.node.dcm);
	int i;

	(void)epoll_events;
	for (i = 0; i < ACCEPT_BATCH && accept_one(cm, l); i++)
		;
}

/* ------------------------------------------------------------ listen */

static int open_socket(const struct scm *cm, uint16_t port, int *ret_fd)
{
	struct sockaddr_storage own = cm->dcm.base.addr;
	const struct sockaddr *addr = (struct sockaddr *)&own;
	const int one = 1;
	int fd, ret = 0;

	dapl_addr_set_port(&own, port);
	fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0);
	if (fd < 0)
		return -errno;
	/* The system cuts the backlog to what it allows. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, addr, dapl_addr_len(addr)) || listen(fd, INT_MAX))
		ret = -errno;
	if (ret)
		scm_socket_end(fd);
	else
		*ret_fd = fd;
	return ret;
}

static void enlist(struct scm *cm, struct scm_listener *l)
{
	dapl_lock(&cm->dcm.lock);
	dapl_list_add_tail(&cm->listeners, &l->link);
	dapl_unlock(&cm->dcm.lock);
}

static void delist(struct scm *cm, struct scm_listener *l)
{
	dapl_lock(&cm->dcm.lock);
	dapl_list_del(&l->link);
	dapl_unlock(&cm->dcm.lock);
}

int scm_listen(struct dcm *dcm, struct dapl_cm_listener *base,
	       DAT_CONN_QUAL qual, int backlog, uint32_t *ret_port)
{
	struct scm *cm = scm_from(dcm);
	struct scm_listener *l = listener_from(base);
	int ret;

	(void)backlog; /* of requests; that of sockets is as deep as can be */
	(void)ret_port;
	if (scm_qual_port(qual, &l->port))
		return SCM_FAIL(-EINVAL, "qualifier %llu stands for TCP port 0",
				(unsigned long long)qual);
	ret = open_socket(cm, l->port, &l->fd);
	if (ret)
		return SCM_FAIL(ret, "cannot listen on TCP port %u: %s",
				l->port, strerror(-ret));
	l->qual = qual;
	l->watch.fn = on_listener;
	dapl_timer_init(&l->pause, resume_listener);
	enlist(cm, l);
	ret = dapl_loop_add(loop_of(cm), &l->watch, l->fd, EPOLLIN);
	if (!ret)
		return 0;
	delist(cm, l);
	scm_socket_end(l->fd);
	return SCM_FAIL(ret, "cannot watch TCP port %u: %s", l->port,
			strerror(-ret));
}

void scm_listener_mute(struct scm_listener *l)
{
	struct dapl_loop *loop = l->base.node.dcm->base.loop;

	dapl_loop_del(loop, &l->watch);
	/* Whose callback arms it does not run any more. */
	dapl_timer_cancel(loop, &l->pause);
}

void scm_unlisten(struct dapl_cm_listener *base)
{
	struct scm_listener *l = listener_from(base);

	scm_listener_mute(l);
	delist(scm_from(base->node.dcm), l);
	scm_socket_end(l->fd);
}
