/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_conn.c - the socket of a connection: dialing, messages in and out, end.
 *
 * What a message means is decided elsewhere. Each read is followed by
 * dapl_cm_run(): what the consumer asked before the peer caused those bytes has
 * then been done. The engine may hang up in any call; cm->reading tells, and
 * after that CONN may not be touched.
 * A message is one write, as old peers need it. A stream carries less than a
 * socket buffer holds, so there is no queue for what cannot be sent: if that
 * happens at all, the stream is ended.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/common/services/dapl_files.h"
#include "dapl/openib_scm/scm.h"

/* So many a host may leave unanswered, in as much time as it was quiet. */
#define KEEP_QUESTIONS 6

/* One event, and then none until the watch is set again. */
#define ONCE(events) ((events) | EPOLLONESHOT)

static struct scm *cm_of(const struct scm_conn *conn)
{
	return scm_from(dcm_of(&conn->base));
}

static struct dapl_loop *loop_of(const struct scm_conn *conn)
{
	return conn->base.base.node.cm->loop;
}

/* ----------------------------------------------------------- sockets */

static void set_option(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		dapl_log(DAPL_LOG_WARN, "socket %d: option %d: %m", fd, option);
}

/* A part of MS in seconds, which is what TCP counts in, and one at least. */
static int seconds_of(int ms, int parts)
{
	return (ms + parts * 1000 - 1) / (parts * 1000);
}

/*
 * While what was sent is not acknowledged TCP asks nothing; it has as long for
 * that as for all questions, whose number TCP_USER_TIMEOUT stands for.
 */
void scm_socket_tune(const struct scm *cm, int fd)
{
	const struct scm_params *params = cm->dcm.base.params;
	int idle_s = seconds_of(params->keepalive_ms, 1);
	int interval_s = seconds_of(params->keepalive_ms, KEEP_QUESTIONS);

	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (!params->keepalive_ms)
		return;
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
		   (idle_s + KEEP_QUESTIONS * interval_s) * 1000);
}

static int own_name(int fd, struct sockaddr_storage *ret_addr)
{
	socklen_t len = sizeof(*ret_addr);

	return getsockname(fd, (struct sockaddr *)ret_addr, &len) ? -errno : 0;
}

void scm_socket_end(int fd)
{
	shutdown(fd, SHUT_RDWR);
	close(fd);
}

void scm_hangup(struct dcm_conn *dc)
{
	struct scm_conn *conn = scm_conn_from(dcm_conn_from(dc));
	struct scm *cm = cm_of(conn);

	if (!conn->open)
		return;
	if (cm->reading == conn)
		cm->reading = NULL;
	scm_half_open_remove(conn);
	dapl_loop_del(loop_of(conn), &conn->watch);
	scm_socket_end(conn->fd);
	conn->open = false;
	scm_files_again(cm);
}

/* ------------------------------------------------------------ input */

static void lost(struct scm_conn *conn, const char *why)
{
	dapl_log(DAPL_LOG_CM, "conn %p: %s", (void *)conn, why);
	if (!dapl_list_empty(&conn->half_open))
		scm_half_open_drop(conn, why);
	else
		dcm_input(&conn->base, DCM_IN_LOST, NULL);
}

static void item(struct scm_conn *conn, enum scm_item what,
		 const struct dcm_msg *msg)
{
	if (what == SCM_ITEM_BAD)
		lost(conn, "not a peer of ours");
	else if (what == SCM_ITEM_BYE)
		dcm_input(&conn->base, DCM_IN_DREQ, NULL);
	else if (msg->op == DCM_REQ)
		scm_half_open_request(conn, msg);
	else
		dcm_input(&conn->base, dcm_input_of(msg->op), msg);
}

static void handle(struct scm_conn *conn)
{
	struct scm *cm = cm_of(conn);
	enum scm_item what;
	struct dcm_msg msg;

	while (cm->reading == conn) {
		what = scm_frame_next(&conn->frame, &msg);
		if (what == SCM_ITEM_NONE)
			return;
		item(conn, what, &msg);
	}
}

static void readable(struct scm_conn *conn)
{
	struct scm *cm = cm_of(conn);
	uint8_t *at;
	size_t room;
	ssize_t n;
	int err;

	if (!dapl_list_empty(&conn->half_open) && !scm_half_open_may_ask(conn))
		return;
	at = scm_frame_room(&conn->frame, &room);
	n = recv(conn->fd, at, room, 0);
	err = n < 0 ? errno : 0;
	if (err == EAGAIN || err == EINTR)
		return;
	if (n > 0)
		scm_frame_read(&conn->frame, (size_t)n);
	dapl_cm_run(&cm->dcm.base);
	if (cm->reading != conn)
		return;
	if (n > 0)
		handle(conn);
	else
		lost(conn, err ? strerror(err) : "the peer has hung up");
}

/* ------------------------------------------------------------ dialing */

/*
 * A port that nobody listens on may be the very one that the kernel gave us to
 * dial from; TCP then connects the socket to itself.
 */
static bool is_self(const struct scm_conn *conn,
		    const struct sockaddr_storage *own)
{
	const struct sockaddr_storage *peer = &conn->base.peer_addr;

	return dapl_addr_port(own) == dapl_addr_port(peer) &&
	       dapl_addr_same_host((const struct sockaddr *)own,
				   (const struct sockaddr *)peer);
}

static int dial_result(const struct scm_conn *conn,
		       struct sockaddr_storage *ret_own)
{
	int err = 0, ret;
	socklen_t len = sizeof(err);

	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	if (err)
		return -err;
	ret = own_name(conn->fd, ret_own);
	if (ret)
		return ret;
	return is_self(conn, ret_own) ? -ECONNREFUSED : 0;
}

static void no_way(const struct scm_conn *conn, int err)
{
	char text[64];

	dapl_addr_text((const struct sockaddr *)&conn->base.peer_addr, text,
		       sizeof(text));
	dapl_log(DAPL_LOG_CM | DAPL_LOG_CM_WARN,
		 "conn %p: no connection to %s port %u: %s", (void *)conn, text,
		 dapl_addr_port(&conn->base.peer_addr), strerror(-err));
}

static void dialed(struct scm_conn *conn)
{
	struct scm *cm = cm_of(conn);
	struct sockaddr_storage own;
	int ret;

	ret = dial_result(conn, &own);
	dapl_cm_run(&cm->dcm.base);
	if (cm->reading != conn)
		return;
	if (ret) {
		no_way(conn, ret);
		dcm_input(&conn->base, DCM_IN_LOST, NULL);
		return;
	}
	/* Not before: how long it may be dialed is the consumer's to say. */
	scm_socket_tune(cm, conn->fd);
	conn->dialing = false;
	conn->base.local_port = dapl_addr_port(&own);
	dcm_block_set_sockaddr(&conn->base.dcm.own.daddr,
			       (struct sockaddr *)&own);
	dcm_input(&conn->base, DCM_IN_DIALED, NULL);
}

void scm_conn_read_on(struct scm_conn *conn)
{
	int ret = dapl_loop_mod(loop_of(conn), &conn->watch, ONCE(EPOLLIN));

	/* stop() takes the watch away while we are at it. */
	if (ret && ret != -ENOENT)
		lost(conn, strerror(-ret));
}

static void on_socket(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct scm_conn *conn =
		dapl_container_of(watch, struct scm_conn, watch);
	struct scm *cm = cm_of(conn);

	(void)epoll_events;
	cm->reading = conn;
	if (conn->dialing)
		dialed(conn);
	else
		readable(conn);
	if (cm->reading == conn && !conn->parked)
		scm_conn_read_on(conn);
	cm->reading = NULL;
}

/* Under the lock, so that stop() finds every watch, and none comes after it. */
static int begin_watch(struct scm_conn *conn, uint32_t events)
{
	struct dcm *dcm = dcm_of(&conn->base);
	int ret = -ECANCELED;

	conn->watch.fn = on_socket;
	dapl_lock(&dcm->base.lock);
	if (!dcm->base.stopped)
		ret = dapl_loop_add(dcm->base.loop, &conn->watch, conn->fd,
				    events);
	dapl_unlock(&dcm->base.lock);
	return ret;
}

/* The source is the adapter's address; PORT 0: any, chosen by connect(). */
static int bind_source(const struct scm *cm, int fd, uint16_t port)
{
	struct sockaddr_storage own = cm->dcm.base.addr;
	const struct sockaddr *addr = (struct sockaddr *)&own;

	/* With a range, ports in time-wait must do: there are no others. */
	if (port)
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	else
		set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	dapl_addr_set_port(&own, port);
	return bind(fd, addr, dapl_addr_len(addr)) ? -errno : 0;
}

static int dial_from(struct scm_conn *conn, uint16_t port)
{
	const struct sockaddr *to = (struct sockaddr *)&conn->base.peer_addr;
	int fd, ret;

	fd = dapl_files_socket(to->sa_family);
	if (fd < 0)
		return fd;
	ret = bind_source(cm_of(conn), fd, port);
	/* Of connect() it means a port; of bind(), the address has gone. */
	if (!ret && connect(fd, to, dapl_addr_len(to)) && errno != EINPROGRESS)
		ret = errno == EADDRNOTAVAIL ? -EADDRINUSE : -errno;
	if (ret) {
		scm_socket_end(fd);
		return ret;
	}
	conn->fd = fd;
	conn->open = true;
	return 0;
}

/* From the next port of the range that is free. */
static int dial_in_range(struct scm *cm, struct scm_conn *conn)
{
	unsigned n = cm->ports.last - cm->ports.first + 1u, tries = n, next;
	int ret;

	do {
		next = __atomic_fetch_add(&cm->next_port, 1, __ATOMIC_RELAXED);
		ret = dial_from(conn, (uint16_t)(cm->ports.first + next % n));
	} while (ret == -EADDRINUSE && --tries);
	return ret;
}

static int dial(struct scm *cm, struct scm_conn *conn)
{
	return cm->ports.first ? dial_in_range(cm, conn) : dial_from(conn, 0);
}

/* What this host lacks, no peer has a part in. NULL: it is something else. */
static const char *what_lacks(const struct scm *cm, int err)
{
	switch (err) {
	case -EMFILE:
		return "no file descriptor is left (see ulimit -n)";
	case -ENFILE:
		return "the system has no file descriptor left (see "
		       "fs.file-max)";
	case -ENOMEM:
	case -ENOBUFS:
		return "the system has no memory for it";
	case -EADDRNOTAVAIL:
		return "the adapter's address is none of this host's any "
		       "more: open the adapter anew";
	case -EADDRINUSE:
	case -EAGAIN:
		return cm->ports.first
			       ? "no port of DAPL_SCM_PORT_RANGE is free"
			       : "no TCP port is free to connect from (see "
				 "net.ipv4.ip_local_port_range)";
	default:
		return NULL;
	}
}

/* On the consumer's thread, before it is the connection's turn. */
static int dial_ahead(struct scm *cm, struct scm_conn *conn)
{
	int ret = dial(cm, conn);
	const char *lacks = what_lacks(cm, ret);

	if (ret == -EADDRINUSE || ret == -EAGAIN)
		ret = -ENOBUFS;
	if (lacks)
		return dapl_fail_errno(ret, "conn %p: cannot connect: %s",
				       (void *)conn, lacks);
	conn->ahead = true;
	conn->dial_ret = ret;
	return 0;
}

int scm_dial(struct dcm_conn *dc)
{
	struct scm_conn *conn = scm_conn_from(dcm_conn_from(dc));
	int ret;

	conn->dialing = true;
	scm_frame_active(&conn->frame, dc->proto.filler);
	ret = conn->ahead ? conn->dial_ret : dial(cm_of(conn), conn);
	conn->ahead = false;
	if (!ret)
		ret = begin_watch(conn, ONCE(EPOLLOUT));
	if (ret)
		no_way(conn, ret);
	return ret;
}

int scm_target(struct dcm *dcm, struct dcm_cm_conn *base,
	       const struct sockaddr *addr, DAT_CONN_QUAL qual)
{
	struct scm_conn *conn = scm_conn_from(base);
	uint16_t port;
	int ret;

	ret = scm_qual_port(qual, &port);
	if (ret)
		return ret;
	ret = dapl_addr_peer(&dcm->base.addr, addr, port, &base->peer_addr);
	if (ret)
		return dapl_fail_errno(
			ret, "the peer's address: %s; the adapter's is %s",
			strerror(-ret),
			dcm->base.addr.ss_family == AF_INET ? "IPv4" : "IPv6");
	base->peer_port = qual;
	dapl_list_init(&conn->half_open);
	return dial_ahead(scm_from(dcm), conn);
}

int scm_conn_accepted(struct scm_conn *conn, int fd, uint16_t port)
{
	struct sockaddr_storage own = cm_of(conn)->dcm.base.addr;
	int ret;

	/* The listener's address, as are its options. */
	dapl_addr_set_port(&own, port);
	conn->port = port;
	conn->base.peer_port = dapl_addr_port(&conn->base.peer_addr);
	dcm_block_set_sockaddr(&conn->base.dcm.local, (struct sockaddr *)&own);
	scm_frame_passive(&conn->frame);
	conn->fd = fd;
	ret = begin_watch(conn, ONCE(EPOLLIN));
	conn->open = !ret;
	return ret;
}

/* ----------------------------------------------------------- output */

static bool wants_filler(const struct dcm_conn *dc, const struct dcm_msg *msg)
{
	return dc->proto.passive && msg->op == DCM_REP &&
	       dc->remote.version <= DCM_VERSION_FILLER;
}

void scm_send(struct dcm_engine *eng, struct dcm_conn *dc,
	      const struct dcm_peer *to, const struct dcm_msg *msg, bool filler)
{
	struct scm_conn *conn = scm_conn_from(dcm_conn_from(dc));
	uint8_t buf[SCM_FRAME_MAX];
	size_t len;
	ssize_t n;

	(void)eng;
	(void)to;
	if (!conn->open)
		return;
	len = scm_frame_encode(msg, filler || wants_filler(dc, msg), buf);
	do
		n = send(conn->fd, buf, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (msg->op == DCM_REP)
		scm_frame_accepted(&conn->frame);
	if (n == (ssize_t)len)
		return;
	dapl_log(DAPL_LOG_WARN, "conn %p: %s cannot be sent: %s", (void *)conn,
		 dcm_op_name(msg->op), n < 0 ? strerror(errno) : "no room");
	/* The reader finds that. */
	shutdown(conn->fd, SHUT_RDWR);
}
