/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_listen.c - listening sockets, and accepted ones whose request is not
 * complete.
 *
 * Nobody is refused for coming when there is much to do. What cannot be served
 * waits where it costs nothing: in the kernel's queue of the listening socket,
 * or, once accepted, unread in the socket ("parked").
 *
 * Anybody can connect. What is half-open is bounded in number and time; when
 * there are too many the oldest goes, unless it has hardly had a chance: then
 * the others wait. The same gives descriptors back when the process has run
 * out of them.
 *
 * A half-open connection knows its listener by the port only, so an unlisten
 * in the meantime does no harm. A listener that was found stays valid until
 * the next dapl_cm_run(), since only that frees it.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/common/services/dapl_files.h"
#include "dapl/openib_scm/scm.h"

/* So that one busy listener does not keep the loop to itself. */
#define ACCEPT_BATCH 64
/* No event tells that another part of the process has closed a file. */
#define RETRY_US 50000

static struct scm_listener *listener_from(struct dcm_cm_listener *l)
{
	return (struct scm_listener *)l;
}

static struct dapl_loop *loop_of(const struct scm *cm)
{
	return cm->dcm.base.loop;
}

/* ---------------------------------------------- listeners that wait */

/* What cannot be accepted keeps the socket readable, and the loop busy. */
static bool hold(struct scm *cm, struct scm_listener *l, enum scm_held why,
		 const char *text)
{
	dapl_log(why == SCM_HELD_FILES ? DAPL_LOG_WARN : DAPL_LOG_CM,
		 "sp %p: accepts nothing for now: %s", (void *)l->base.base.sp,
		 text);
	l->held = why;
	cm->held |= why;
	dapl_loop_mod(loop_of(cm), &l->watch, 0);
	return false;
}

/* Those held back for one of the reasons WHY; ONLY: may be NULL. */
static void resume(struct scm *cm, unsigned why,
		   const struct scm_listener *only)
{
	struct scm_listener *l;

	if (!(cm->held & why))
		return;
	cm->held = 0;
	dapl_lock(&cm->dcm.base.lock);
	dapl_list_for_each(l, &cm->listeners, link) {
		if ((l->held & why) && (!only || l == only)) {
			l->held = 0;
			dapl_loop_mod(loop_of(cm), &l->watch, EPOLLIN);
		}
		cm->held |= l->held;
	}
	dapl_unlock(&cm->dcm.base.lock);
}

void scm_files_again(struct scm *cm)
{
	resume(cm, SCM_HELD_FILES, NULL);
}

void scm_retry_timer(struct dapl_timer *timer)
{
	scm_files_again(dapl_container_of(timer, struct scm, retry));
}

/* --------------------------------------------------------- half-open */

static struct scm_conn *oldest(struct scm *cm)
{
	return dapl_list_first(&cm->half_open, struct scm_conn, half_open);
}

/* For the end of the oldest one's time, or where others wait, of its grace. */
static int arm_half_open_timer(struct scm *cm)
{
	uint64_t us = cm->held & SCM_HELD_HALF_OPEN
			      ? cm->limits.half_open_grace_us
			      : cm->limits.half_open_us;

	return dapl_timer_arm(loop_of(cm), &cm->half_open_timer,
			      oldest(cm)->since_us + us);
}

static int half_open_add(struct scm *cm, struct scm_conn *conn)
{
	int ret = 0;

	conn->since_us = dapl_now_us();
	dapl_list_add_tail(&cm->half_open, &conn->half_open);
	cm->half_open_n++;
	if (oldest(cm) == conn)
		ret = arm_half_open_timer(cm);
	if (ret)
		scm_half_open_remove(conn);
	return ret;
}

void scm_half_open_remove(struct scm_conn *conn)
{
	struct scm *cm = scm_from(dcm_of(&conn->base));

	if (dapl_list_empty(&conn->half_open))
		return;
	dapl_list_del(&conn->half_open);
	if (conn->parked) {
		conn->parked = false;
		return;
	}
	cm->half_open_n--;
	resume(cm, SCM_HELD_HALF_OPEN, NULL);
}

void scm_half_open_drop(struct scm_conn *conn, const char *why)
{
	dapl_log(DAPL_LOG_CM, "conn %p: no request: %s", (void *)conn, why);
	scm_hangup(&conn->base.dcm);
	dapl_cm_conn_del(&conn->base.base);
}

static bool is_full(const struct scm *cm)
{
	return cm->half_open_n >= cm->limits.half_open_max;
}

/* Whether the oldest was given at least US. */
static bool had(struct scm *cm, uint64_t us)
{
	return !dapl_list_empty(&cm->half_open) &&
	       dapl_now_us() >= oldest(cm)->since_us + us;
}

/* Whether the oldest has had its chance. */
static bool can_drop(struct scm *cm)
{
	return had(cm, cm->limits.half_open_grace_us);
}

static void make_room(struct scm *cm)
{
	scm_half_open_drop(oldest(cm), "others want its place");
}

void scm_half_open_timer(struct dapl_timer *timer)
{
	struct scm *cm = dapl_container_of(timer, struct scm, half_open_timer);

	while (had(cm, cm->limits.half_open_us))
		scm_half_open_drop(oldest(cm), "its time is over");
	if (can_drop(cm))
		resume(cm, SCM_HELD_HALF_OPEN, NULL);
	while (!dapl_list_empty(&cm->half_open) && arm_half_open_timer(cm))
		scm_half_open_drop(oldest(cm), "no timer");
}

static struct scm_listener *listener_of_port(struct scm *cm, uint16_t port)
{
	struct scm_listener *l, *found = NULL;

	dapl_lock(&cm->dcm.base.lock);
	dapl_list_for_each(l, &cm->listeners, link)
		if (l->port == port)
			found = l;
	dapl_unlock(&cm->dcm.base.lock);
	return found;
}

bool scm_half_open_may_ask(struct scm_conn *conn)
{
	struct scm *cm = scm_from(dcm_of(&conn->base));
	struct scm_listener *l = listener_of_port(cm, conn->port);

	/* Without a listener it will be told so. */
	if (!l || dcm_room(&l->base))
		return true;
	scm_half_open_remove(conn);
	conn->parked = true;
	dapl_list_add_tail(&cm->parked, &conn->half_open);
	return false;
}

/* Who waits in a socket of ours came before who waits in the system's queue. */
void scm_room(struct dcm *dcm, struct dcm_cm_listener *base)
{
	struct scm_listener *l = base ? listener_from(base) : NULL;
	struct scm *cm = scm_from(dcm);
	struct scm_conn *conn, *tmp;

	dapl_list_for_each_safe(conn, tmp, &cm->parked, half_open) {
		if (l && conn->port != l->port)
			continue;
		scm_half_open_remove(conn);
		if (half_open_add(cm, conn))
			scm_half_open_drop(conn, "no timer");
		else
			scm_conn_read_on(conn);
	}
	resume(cm, SCM_HELD_REQUESTS, l);
}

void scm_half_open_request(struct scm_conn *conn, const struct dcm_msg *msg)
{
	struct scm *cm = scm_from(dcm_of(&conn->base));
	struct scm_listener *l = listener_of_port(cm, conn->port);

	if (!l) {
		scm_half_open_drop(conn, "nobody listens any more");
		return;
	}
	conn->base.local_port = l->qual;
	scm_half_open_remove(conn);
	/* Where it fails the peer has been told, or need not be. */
	if (dcm_request(&l->base, &conn->base, msg))
		scm_half_open_drop(conn, "refused");
}

/* ------------------------------------------------------------ accept */

static void accepted(struct scm *cm, const struct scm_listener *l,
		     struct scm_conn *conn, int fd)
{
	int ret = scm_conn_accepted(conn, fd, l->port);

	if (ret) {
		dapl_log(DAPL_LOG_WARN, "conn %p: not accepted: %s",
			 (void *)conn, strerror(-ret));
		scm_socket_end(fd);
		dapl_cm_conn_del(&conn->base.base);
		return;
	}
	if (half_open_add(cm, conn))
		scm_half_open_drop(conn, "no timer");
}

/* Gives back what half-open sockets hold, or waits. */
static bool short_of(struct scm *cm, struct scm_listener *l, int err)
{
	if (can_drop(cm)) {
		make_room(cm);
		return true;
	}
	/* Without a timer there may still be a descriptor of ours closed. */
	dapl_timer_arm(loop_of(cm), &cm->retry, dapl_now_us() + RETRY_US);
	return hold(cm, l, SCM_HELD_FILES, strerror(err));
}

static bool accept_failed(struct scm *cm, struct scm_listener *l, int err)
{
	switch (err) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return short_of(cm, l, err);
	default:
		return true; /* that one peer's trouble */
	}
}

static bool accept_into(struct scm *cm, struct scm_listener *l,
			struct scm_conn *conn)
{
	struct sockaddr_storage *peer = &conn->base.peer_addr;
	socklen_t len = sizeof(*peer);
	int fd, err;

	dapl_list_init(&conn->half_open);
	do
		fd = accept4(l->fd, (struct sockaddr *)peer, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
	while (fd < 0 && dapl_files_more(errno));
	if (fd < 0) {
		err = errno;
		dapl_cm_conn_del(&conn->base.base);
		return accept_failed(cm, l, err);
	}
	if (is_full(cm))
		make_room(cm);
	accepted(cm, l, conn, fd);
	return true;
}

/* False: not for now. */
static bool accept_one(struct scm *cm, struct scm_listener *l)
{
	struct dcm_cm_conn *base;

	if (!dcm_room(&l->base))
		return hold(cm, l, SCM_HELD_REQUESTS,
			    "too many requests are not answered");
	if (is_full(cm) && !can_drop(cm)) {
		hold(cm, l, SCM_HELD_HALF_OPEN, "too many without a request");
		/* Else an end of one of them is waited for. */
		arm_half_open_timer(cm);
		return false;
	}
	/* What is accepted cannot be given back: so memory comes first. */
	base = dcm_conn_new(&cm->dcm);
	if (!base)
		return short_of(cm, l, ENOMEM);
	return accept_into(cm, l, scm_conn_from(base));
}

static void on_listener(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct scm_listener *l =
		dapl_container_of(watch, struct scm_listener, watch);
	struct scm *cm = scm_from(dcm_of_listener(&l->base));
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
	fd = dapl_files_socket(addr->sa_family);
	if (fd < 0)
		return fd;
	scm_socket_tune(cm, fd);
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
	dapl_lock(&cm->dcm.base.lock);
	dapl_list_add_tail(&cm->listeners, &l->link);
	dapl_unlock(&cm->dcm.base.lock);
}

static void delist(struct scm *cm, struct scm_listener *l)
{
	dapl_lock(&cm->dcm.base.lock);
	dapl_list_del(&l->link);
	dapl_unlock(&cm->dcm.base.lock);
}

int scm_listen(struct dcm *dcm, struct dcm_cm_listener *base,
	       DAT_CONN_QUAL qual, uint32_t *ret_port)
{
	struct scm *cm = scm_from(dcm);
	struct scm_listener *l = listener_from(base);
	int ret;

	(void)ret_port;
	ret = scm_qual_port(qual, &l->port);
	if (ret)
		return ret;
	ret = open_socket(cm, l->port, &l->fd);
	if (ret)
		return dapl_fail_errno(ret, "cannot listen on TCP port %u: %s",
				       l->port, strerror(-ret));
	l->qual = qual;
	l->watch.fn = on_listener;
	enlist(cm, l);
	ret = dapl_loop_add(loop_of(cm), &l->watch, l->fd, EPOLLIN);
	if (!ret)
		return 0;
	delist(cm, l);
	scm_socket_end(l->fd);
	return dapl_fail_errno(ret, "cannot watch TCP port %u: %s", l->port,
			       strerror(-ret));
}

void scm_unlisten(struct dcm_cm_listener *base)
{
	struct scm_listener *l = listener_from(base);
	struct scm *cm = scm_from(dcm_of_listener(base));

	dapl_loop_del(loop_of(cm), &l->watch);
	delist(cm, l);
	scm_socket_end(l->fd);
}
