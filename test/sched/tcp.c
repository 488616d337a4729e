/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tcp.c - a small TCP; see the header. The calls of the C library that SCM
 * makes are here in place of the real ones, as in wrap.c.
 */
#include "test/sched/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/sched/sched.h"

#define SOCKETS_MAX 256
#define ROOM_MAX    4096
#define FIRST_PORT  40000 /* of those that connect() chooses */
#define SECOND_US   1000000ull
/* Until TCP gives up: a SYN, and data that nobody acknowledges. */
#define SYN_US	(127 * SECOND_US)
#define DATA_US (924 * SECOND_US)
/* A count of which neither a reader nor a writer of an eventfd is told. */
#define NOT_WRITABLE (UINT64_MAX - 1)

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __real_write(int fd, const void *buf, size_t size);

enum state {
	NEW,
	LISTENING,
	DIALING,
	UP,
	OVER, /* refused, or never to come up */
};

struct bytes {
	uint8_t at[ROOM_MAX];
	size_t n;
};

struct sock {
	bool used;
	int fd; /* -1: to be accepted, or closed */
	bool closed;
	enum state state;
	uint16_t port, peer_port;
	struct sock *peer;     /* NULL: none, or not any more */
	struct sock *listener; /* that is to accept it */
	uint64_t nr;	       /* who came first is accepted first */
	uint64_t shown;	       /* the eventfd's count */
	uint64_t lost_us;      /* when TCP gives it up */

	/* On its way to the peer. */
	struct bytes out;
	bool fin, reset;
	bool shut; /* nothing more is sent */

	/* Here. */
	struct bytes in;
	bool eof;
	int err;

	bool keeps_alive;
	int user_timeout_ms;
};

static struct {
	struct sock sockets[SOCKETS_MAX];
	int n; /* of these, that were ever used */
	uint64_t nr;
	uint16_t ports; /* chosen so far */
	size_t room;
	bool cut, full;
	bool has_wire;
	pthread_t wire;
} net = {.room = ROOM_MAX};

static struct sock *socket_of(int fd)
{
	if (fd < 0 || !sched_on())
		return NULL;
	for (int i = 0; i < net.n; i++)
		if (net.sockets[i].used && net.sockets[i].fd == fd)
			return &net.sockets[i];
	return NULL;
}

static struct sock *listener_on(uint16_t port)
{
	for (int i = 0; i < net.n; i++) {
		struct sock *s = &net.sockets[i];

		if (s->used && s->state == LISTENING && s->port == port)
			return s;
	}
	return NULL;
}

/* The one that L accepts next. */
static struct sock *waiting_for(const struct sock *l)
{
	struct sock *first = NULL;

	for (int i = 0; i < net.n; i++) {
		struct sock *s = &net.sockets[i];

		if (s->used && s->listener == l &&
		    (!first || s->nr < first->nr))
			first = s;
	}
	return first;
}

int tcp_open(void)
{
	int n = 0;

	for (int i = 0; i < net.n; i++)
		n += net.sockets[i].used && !net.sockets[i].closed;
	return n;
}

static struct sock *free_socket(void)
{
	for (int i = 0; i < net.n; i++)
		if (!net.sockets[i].used)
			return &net.sockets[i];
	if (net.n == SOCKETS_MAX)
		sched_fail("more than %d sockets", SOCKETS_MAX);
	return &net.sockets[net.n++];
}

static struct sock *socket_new(int fd)
{
	struct sock *s = free_socket();

	memset(s, 0, sizeof(*s));
	s->used = true;
	s->fd = fd;
	s->nr = net.nr++;
	s->lost_us = SCHED_NEVER;
	return s;
}

/* ----------------------------------------------- what epoll says */

static uint64_t count_of(const struct sock *s)
{
	if (s->state == DIALING)
		return NOT_WRITABLE;
	if (s->state == LISTENING)
		return waiting_for(s) != NULL;
	return s->in.n || s->eof || s->err;
}

static void show(struct sock *s)
{
	uint64_t count = count_of(s), was;

	if (s->fd < 0 || count == s->shown)
		return;
	if ((s->shown && __real_read(s->fd, &was, sizeof(was)) < 0) ||
	    (count && __real_write(s->fd, &count, sizeof(count)) < 0))
		sched_fail("an eventfd that is none: %d", s->fd);
	s->shown = count;
	sched_fds_changed();
}

static int new_fd(void)
{
	if (net.full) {
		errno = EMFILE;
		return -1;
	}
	return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

/* --------------------------------------------------------- its end */

static void free_if_over(struct sock *s)
{
	struct sock *peer = s->peer;

	if (!s->closed || (peer && !peer->closed))
		return;
	s->used = false;
	if (peer)
		peer->used = false;
}

/* S and its peer have no more to do with one another. */
static void part(struct sock *s)
{
	struct sock *peer = s->peer;

	s->peer = NULL;
	peer->peer = NULL;
	s->out.n = peer->out.n = 0;
	free_if_over(s);
	free_if_over(peer);
}

static void fails(struct sock *s, int err)
{
	s->err = err;
	s->state = OVER;
	s->lost_us = SCHED_NEVER;
	show(s);
	if (s->peer)
		part(s);
}

/* ---------------------------------------------------------- the wire */

static bool can_carry(const struct sock *s)
{
	if (!s->used || net.cut)
		return false;
	if (s->state == DIALING)
		return true;
	if (!s->peer)
		return false;
	if (s->out.n)
		return s->peer->closed || s->peer->in.n < net.room;
	return s->fin || s->reset;
}

static void syn_comes(struct sock *s)
{
	struct sock *l = listener_on(s->peer_port), *peer;

	if (!l) {
		fails(s, ECONNREFUSED);
		return;
	}
	peer = socket_new(-1);
	peer->state = s->state = UP;
	peer->peer = s;
	s->peer = peer;
	peer->port = s->peer_port;
	peer->peer_port = s->port;
	peer->listener = l;
	show(s);
	show(l);
}

static void take(struct bytes *from, size_t n)
{
	from->n -= n;
	memmove(from->at, from->at + n, from->n);
}

static void put(struct bytes *to, const void *from, size_t n)
{
	memcpy(to->at + to->n, from, n);
	to->n += n;
}

/* N, or less. */
static size_t some_of(size_t n)
{
	return sched_dice(4) ? n : 1 + sched_dice((unsigned)n);
}

static void bytes_come(struct sock *s)
{
	struct sock *to = s->peer;
	size_t n = s->out.n;

	if (to->closed) {
		to->reset = true;
		s->out.n = 0;
		return;
	}
	if (n > net.room - to->in.n)
		n = net.room - to->in.n;
	n = some_of(n);
	put(&to->in, s->out.at, n);
	take(&s->out, n);
	show(to);
}

static void carry(struct sock *s)
{
	if (s->state == DIALING) {
		syn_comes(s);
	} else if (s->out.n) {
		bytes_come(s);
	} else if (s->fin) {
		s->fin = false;
		s->peer->eof = true;
		show(s->peer);
	} else {
		fails(s->peer, ECONNRESET);
	}
}

static int to_carry(struct sock **ret)
{
	int n = 0;

	for (int i = 0; i < net.n; i++)
		if (can_carry(&net.sockets[i]))
			ret[n++] = &net.sockets[i];
	return n;
}

static void give_up(void)
{
	for (int i = 0; i < net.n; i++) {
		struct sock *s = &net.sockets[i];

		if (s->used && s->lost_us <= sched_now_us())
			fails(s, ETIMEDOUT);
	}
}

/* Until there is something to carry, or US have passed. */
static void rest(const void *on, uint64_t us)
{
	struct sched_wait wait = {
		.what = "the wire",
		.on = on,
		.deadline_us = us,
	};

	if (us != SCHED_NEVER)
		wait.deadline_us += sched_now_us();
	for (int i = 0; on && i < net.n; i++)
		if (net.sockets[i].used &&
		    net.sockets[i].lost_us < wait.deadline_us)
			wait.deadline_us = net.sockets[i].lost_us;
	sched_block(&wait, &net);
}

static void *wire(void *arg)
{
	struct sock *of[SOCKETS_MAX];
	int n;

	(void)arg;
	for (;;) {
		if (!to_carry(of))
			rest(&net, SCHED_NEVER);
		else if (!sched_dice(8))
			rest(NULL, 1 + sched_dice(300));
		sched_point("the wire");
		give_up();
		n = to_carry(of);
		if (n)
			carry(of[sched_dice((unsigned)n)]);
	}
	return NULL;
}

static void kick(void)
{
	if (!net.has_wire) {
		net.has_wire = true;
		if (sched_thread_create(&net.wire, NULL, wire, NULL, &net))
			sched_fail("no thread");
	}
	sched_wake(&net, 1);
}

static uint64_t patience_us(const struct sock *s)
{
	if (s->state == DIALING)
		return SYN_US;
	if (s->user_timeout_ms && (s->out.n || s->keeps_alive))
		return (uint64_t)s->user_timeout_ms * 1000;
	if (s->out.n)
		return DATA_US;
	if (s->keeps_alive)
		sched_fail("a number of questions is not played");
	return SCHED_NEVER;
}

/* On a network that is cut, what S does has no answer. */
static void may_be_lost(struct sock *s)
{
	uint64_t us = patience_us(s);

	if (net.cut && s->lost_us == SCHED_NEVER && us != SCHED_NEVER &&
	    (s->state == DIALING || s->state == UP))
		s->lost_us = sched_now_us() + us;
}

void tcp_cut(void)
{
	net.cut = true;
	for (int i = 0; i < net.n; i++)
		if (net.sockets[i].used)
			may_be_lost(&net.sockets[i]);
	if (net.has_wire)
		kick();
}

void tcp_set_room(size_t bytes)
{
	net.room = bytes;
}

void tcp_set_full(bool full)
{
	net.full = full;
}

/* ------------------------------------------- closing, shutting down */

static void says_end(struct sock *s)
{
	if (s->shut || !s->peer)
		return;
	s->fin = true;
	kick();
}

static void shut(struct sock *s)
{
	says_end(s);
	s->shut = true;
	s->eof = true;
	show(s);
}

static void closes(struct sock *s)
{
	if (s->in.n && s->peer) {
		s->reset = true;
		kick();
	}
	says_end(s);
	s->shut = true;
	s->closed = true;
	s->fd = -1;
	s->listener = NULL;
	if (s->state == DIALING)
		s->state = OVER;
	free_if_over(s);
}

static void listens_no_more(struct sock *l)
{
	struct sock *s;

	l->state = NEW;
	while ((s = waiting_for(l))) {
		s->reset = s->peer;
		closes(s);
	}
}

void tcp_closes(int fd)
{
	struct sock *s = socket_of(fd);

	if (!s)
		return;
	if (s->state == LISTENING)
		listens_no_more(s);
	closes(s);
}

/* ------------------------------------------- what is played: set up */

WRAP(int, socket, int domain, int type, int protocol)
{
	int fd;

	if (!sched_on() || domain != AF_INET || !(type & SOCK_STREAM))
		return __real_socket(domain, type, protocol);
	sched_point_at("socket", HERE);
	fd = new_fd();
	if (fd >= 0)
		socket_new(fd);
	return fd;
}

static uint16_t port_of(const struct sockaddr *addr)
{
	return ntohs(
		((const struct sockaddr_in *)(const void *)addr)->sin_port);
}

static void set_addr(uint16_t port, struct sockaddr *ret_addr,
		     socklen_t *ret_len)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(port)};

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memcpy(ret_addr, &in, sizeof(in));
	*ret_len = sizeof(in);
}

WRAP(int, bind, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sock *s = socket_of(fd);

	if (!s)
		return __real_bind(fd, addr, len);
	sched_point_at("bind", HERE);
	if (port_of(addr) && listener_on(port_of(addr))) {
		errno = EADDRINUSE;
		return -1;
	}
	s->port = port_of(addr);
	return 0;
}

WRAP(int, listen, int fd, int backlog)
{
	struct sock *s = socket_of(fd);

	if (!s)
		return __real_listen(fd, backlog);
	sched_point_at("listen", HERE);
	if (listener_on(s->port)) {
		errno = EADDRINUSE;
		return -1;
	}
	s->state = LISTENING;
	return 0;
}

WRAP(int, accept4, int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct sock *l = socket_of(fd), *s;
	int new;

	if (!l)
		return __real_accept4(fd, addr, len, flags);
	sched_point_at("accept4", HERE);
	s = waiting_for(l);
	if (!s) {
		errno = EAGAIN;
		return -1;
	}
	new = new_fd();
	if (new < 0)
		return -1;
	s->fd = new;
	s->listener = NULL;
	s->keeps_alive = l->keeps_alive;
	s->user_timeout_ms = l->user_timeout_ms;
	set_addr(s->peer_port, addr, len);
	show(l);
	show(s);
	return new;
}

WRAP(int, connect, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sock *s = socket_of(fd);

	if (!s)
		return __real_connect(fd, addr, len);
	sched_point_at("connect", HERE);
	if (!s->port)
		s->port = (uint16_t)(FIRST_PORT + net.ports++ % 20000);
	s->peer_port = port_of(addr);
	s->state = DIALING;
	show(s);
	may_be_lost(s);
	kick();
	errno = EINPROGRESS;
	return -1;
}

WRAP(int, getsockname, int fd, struct sockaddr *addr, socklen_t *len)
{
	struct sock *s = socket_of(fd);

	if (!s)
		return __real_getsockname(fd, addr, len);
	set_addr(s->port, addr, len);
	return 0;
}

WRAP(int, setsockopt, int fd, int level, int option, const void *value,
     socklen_t len)
{
	struct sock *s = socket_of(fd);
	int n = 0;

	if (!s)
		return __real_setsockopt(fd, level, option, value, len);
	memcpy(&n, value, sizeof(n));
	if (level == SOL_SOCKET && option == SO_KEEPALIVE)
		s->keeps_alive = n;
	else if (level == IPPROTO_TCP && option == TCP_USER_TIMEOUT)
		s->user_timeout_ms = n;
	return 0;
}

/* An error is told once; what is left is an end. */
static int take_error(struct sock *s)
{
	int err = s->err;

	s->err = 0;
	s->eof = true;
	return err;
}

WRAP(int, getsockopt, int fd, int level, int option, void *value,
     socklen_t *len)
{
	struct sock *s = socket_of(fd);
	int err;

	if (!s)
		return __real_getsockopt(fd, level, option, value, len);
	if (level != SOL_SOCKET || option != SO_ERROR)
		sched_fail("socket option %d is not played", option);
	sched_point_at("getsockopt", HERE);
	err = s->err ? take_error(s) : 0;
	memcpy(value, &err, sizeof(err));
	return 0;
}

/* ------------------------------------------- what is played: streams */

static ssize_t refused(int err)
{
	errno = err;
	return -1;
}

WRAP(ssize_t, send, int fd, const void *buf, size_t size, int flags)
{
	struct sock *s = socket_of(fd);
	size_t n = size;

	if (!s)
		return __real_send(fd, buf, size, flags);
	sched_point_at("send", HERE);
	if (s->err)
		return refused(take_error(s));
	if (s->shut || !s->peer)
		return refused(EPIPE);
	if (s->out.n >= net.room)
		return refused(EAGAIN);
	if (n > net.room - s->out.n)
		n = net.room - s->out.n;
	put(&s->out, buf, n);
	may_be_lost(s);
	kick();
	return (ssize_t)n;
}

static ssize_t receive(struct sock *s, void *buf, size_t size)
{
	size_t n = s->in.n < size ? s->in.n : size;

	if (n) {
		n = some_of(n);
		memcpy(buf, s->in.at, n);
		take(&s->in, n);
		kick();
		return (ssize_t)n;
	}
	if (s->err)
		return refused(take_error(s));
	return s->eof ? 0 : refused(EAGAIN);
}

WRAP(ssize_t, recv, int fd, void *buf, size_t size, int flags)
{
	struct sock *s = socket_of(fd);
	ssize_t n;
	int err;

	if (!s)
		return __real_recv(fd, buf, size, flags);
	sched_point_at("recv", HERE);
	n = receive(s, buf, size);
	err = errno;
	show(s);
	errno = err;
	return n;
}

WRAP(int, shutdown, int fd, int how)
{
	struct sock *s = socket_of(fd);

	if (!s)
		return __real_shutdown(fd, how);
	sched_point_at("shutdown", HERE);
	if (s->state == LISTENING)
		listens_no_more(s);
	else
		shut(s);
	return 0;
}
