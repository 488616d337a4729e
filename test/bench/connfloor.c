/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connfloor.c - what connections cost without a library: the floor that
 * connrate's figures are held against.
 *
 * Two processes, as connrate's, of one thread each. Queue pairs are made and in
 * INIT before the clock runs. Then, for each connection, a request, an answer
 * and a last word, each of the size that SCM and UCM say them in, and the moves
 * of both queue pairs to RTR and RTS; over TCP a stream each, set up and
 * accepted as cheaply as can be, and over datagrams one queue pair of either
 * process. Nothing is checked that a peer could do wrong, and nothing repeated.
 *
 * Output: one JSON object, the client's, on standard output.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DTOS	  16  /* of each queue */
#define REQUEST	  148 /* bytes of a request and of an answer */
#define LAST_WORD 4
#define QKEY	  0x78655322
#define GRH	  40
#define RX	  4096
#define TX	  512
#define LIMIT_S	  120

#define CHECK(ok)                                                       \
	do {                                                            \
		if (!(ok)) {                                            \
			fprintf(stderr, "connfloor: line %d: %s: %s\n", \
				__LINE__, #ok, strerror(errno));        \
			exit(1);                                        \
		}                                                       \
	} while (0)

struct options {
	const char *dev;
	struct in_addr addr;
	bool datagrams;
	int n, window;
};

/* Every message; over TCP its last word is LAST_WORD bytes of it. */
struct msg {
	uint32_t kind; /* 1: request, 2: answer, 3: last word */
	uint32_t from; /* the sender's queue pair, counted */
	uint32_t to;   /* the receiver's */
	uint32_t qpn;
	uint8_t rest[REQUEST - 16];
};

struct conn {
	struct ibv_qp *qp;
	int fd;
};

struct side {
	const struct options *opt;
	bool active;
	int peer; /* the other process */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	union ibv_gid gid;
	int gid_index;
	struct conn *conn;
	int begun, up;

	int epfd, listener;

	/* Datagrams. */
	struct ibv_comp_channel *chan;
	struct ibv_cq *ud_recv, *ud_send;
	struct ibv_qp *ud;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *mem;
	uint32_t ud_peer, sent, unread;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void tell(const struct side *s, uint32_t word)
{
	CHECK(send(s->peer, &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word));
}

static uint32_t hear(const struct side *s)
{
	uint32_t word;

	CHECK(recv(s->peer, &word, sizeof(word), MSG_WAITALL) == sizeof(word));
	return word;
}

/* -------------------------------------------------------- queue pairs */

static void open_device(struct side *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;
	int i = 0;

	CHECK(list);
	while (list[i] && strcmp(ibv_get_device_name(list[i]), s->opt->dev))
		i++;
	CHECK(list[i]);
	s->ctx = ibv_open_device(list[i]);
	CHECK(s->ctx);
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, 2 * DTOS * s->opt->n, NULL, NULL, 0);
	CHECK(s->pd && s->cq);
	/* The one that stands for the address, as our providers take it. */
	for (i = 0; !s->gid_index && !ibv_query_gid(s->ctx, 1, i, &gid); i++)
		if (!memcmp(gid.raw + 12, &s->opt->addr, 4) && !gid.raw[0]) {
			s->gid = gid;
			s->gid_index = i;
		}
	CHECK(s->gid_index);
}

static void make_pairs(struct side *s)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {.max_send_wr = DTOS,
			.max_recv_wr = DTOS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	s->conn = calloc((size_t)s->opt->n, sizeof(*s->conn));
	CHECK(s->conn);
	for (int i = 0; i < s->opt->n; i++) {
		s->conn[i].qp = ibv_create_qp(s->pd, &init);
		CHECK(s->conn[i].qp);
		CHECK(!ibv_modify_qp(s->conn[i].qp, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					     IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS));
	}
}

static struct ibv_ah_attr way(const struct side *s)
{
	return (struct ibv_ah_attr){
		.grh = {.dgid = s->gid,
			.sgid_index = (uint8_t)s->gid_index,
			.hop_limit = 64},
		.is_global = 1,
		.port_num = 1,
	};
}

static void move(struct side *s, struct conn *c, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = way(s),
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = 1,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
	};

	CHECK(!ibv_modify_qp(c->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 20,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = 1,
		.max_rd_atomic = 4,
	};
	CHECK(!ibv_modify_qp(c->qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC));
}

/* ---------------------------------------------------------------- TCP */

static void watch(struct side *s, int op, int fd, uint32_t events, uint32_t i)
{
	struct epoll_event ev = {.events = events, .data.u32 = i};

	CHECK(!epoll_ctl(s->epfd, op, fd, &ev));
}

static void tcp_send(int fd, struct msg *msg, uint32_t kind, uint32_t qpn)
{
	size_t size = kind == 3 ? LAST_WORD : REQUEST;

	msg->kind = kind;
	msg->qpn = qpn;
	CHECK(send(fd, msg, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static void tcp_dial(struct side *s, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = port,
				 .sin_addr = s->opt->addr};
	struct conn *c = &s->conn[s->begun];
	const int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK(c->fd >= 0);
	CHECK(!setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	CHECK(!connect(c->fd, (struct sockaddr *)&to, sizeof(to)) ||
	      errno == EINPROGRESS);
	watch(s, EPOLL_CTL_ADD, c->fd, EPOLLOUT, (uint32_t)s->begun);
	s->begun++;
}

static void tcp_active(struct side *s, const struct epoll_event *ev)
{
	struct conn *c = &s->conn[ev->data.u32];
	struct msg msg = {0};

	if (ev->events & EPOLLOUT) {
		tcp_send(c->fd, &msg, 1, c->qp->qp_num);
		watch(s, EPOLL_CTL_MOD, c->fd, EPOLLIN, ev->data.u32);
		return;
	}
	CHECK(recv(c->fd, &msg, sizeof(msg), 0) == REQUEST);
	move(s, c, msg.qpn);
	tcp_send(c->fd, &msg, 3, 0);
	s->up++;
}

static void tcp_accept(struct side *s)
{
	struct conn *c;
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		c = &s->conn[s->begun];
		c->fd = fd;
		watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, (uint32_t)s->begun++);
	}
	CHECK(errno == EAGAIN);
}

static void tcp_passive(struct side *s, const struct epoll_event *ev)
{
	struct msg msg = {0};
	struct conn *c;

	if (ev->data.u32 == UINT32_MAX) {
		tcp_accept(s);
		return;
	}
	c = &s->conn[ev->data.u32];
	if (recv(c->fd, &msg, sizeof(msg), 0) == LAST_WORD) {
		s->up++;
		return;
	}
	move(s, c, msg.qpn);
	tcp_send(c->fd, &msg, 2, c->qp->qp_num);
}

static void tcp_pump(struct side *s, int until)
{
	struct epoll_event ev[16];
	int n;

	while (s->up < until) {
		n = epoll_wait(s->epfd, ev, 16, LIMIT_S * 1000);
		CHECK(n > 0);
		for (int i = 0; i < n; i++)
			if (s->active)
				tcp_active(s, &ev[i]);
			else
				tcp_passive(s, &ev[i]);
	}
}

static void tcp_open(struct side *s)
{
	struct sockaddr_in own = {.sin_family = AF_INET,
				  .sin_addr = s->opt->addr};
	socklen_t len = sizeof(own);
	const int one = 1;

	s->epfd = epoll_create1(EPOLL_CLOEXEC);
	CHECK(s->epfd >= 0);
	if (s->active)
		return;
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(s->listener >= 0);
	CHECK(!setsockopt(s->listener, IPPROTO_TCP, TCP_NODELAY, &one,
			  sizeof(one)));
	CHECK(!bind(s->listener, (struct sockaddr *)&own, sizeof(own)));
	CHECK(!listen(s->listener, s->opt->n));
	CHECK(!getsockname(s->listener, (struct sockaddr *)&own, &len));
	watch(s, EPOLL_CTL_ADD, s->listener, EPOLLIN, UINT32_MAX);
	tell(s, own.sin_port);
}

/* ---------------------------------------------------------- datagrams */

static uint8_t *rx_buf(const struct side *s, uint64_t i)
{
	return s->mem + i * (GRH + REQUEST);
}

static void ud_post(struct side *s, uint64_t i)
{
	struct ibv_sge sge = {.addr = (uintptr_t)rx_buf(s, i),
			      .length = GRH + REQUEST,
			      .lkey = s->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	CHECK(!ibv_post_recv(s->ud, &wr, &bad));
}

static void ud_make(struct side *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = TX,
			.max_recv_wr = RX,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = REQUEST},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	s->chan = ibv_create_comp_channel(s->ctx);
	CHECK(s->chan);
	s->ud_recv = ibv_create_cq(s->ctx, RX, NULL, s->chan, 0);
	s->ud_send = ibv_create_cq(s->ctx, TX, NULL, NULL, 0);
	CHECK(s->ud_recv && s->ud_send);
	init.recv_cq = s->ud_recv;
	init.send_cq = s->ud_send;
	s->ud = ibv_create_qp(s->pd, &init);
	CHECK(s->ud);
	CHECK(!ibv_modify_qp(s->ud, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	CHECK(!ibv_modify_qp(s->ud, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	CHECK(!ibv_modify_qp(s->ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void ud_open(struct side *s)
{
	struct ibv_ah_attr attr = way(s);
	size_t size = (size_t)RX * (GRH + REQUEST);

	ud_make(s);
	s->mem = calloc(1, size);
	CHECK(s->mem);
	s->mr = ibv_reg_mr(s->pd, s->mem, size, IBV_ACCESS_LOCAL_WRITE);
	CHECK(s->mr);
	for (uint64_t i = 0; i < RX; i++)
		ud_post(s, i);
	CHECK(!ibv_req_notify_cq(s->ud_recv, 0));
	s->ah = ibv_create_ah(s->pd, &attr);
	CHECK(s->ah);
	tell(s, s->ud->qp_num);
	s->ud_peer = hear(s);
}

/* Completions are asked for as UCM asks for them. */
static void ud_send(struct side *s, uint32_t kind, uint32_t from, uint32_t to)
{
	struct msg msg = {.kind = kind, .from = from, .to = to};
	struct ibv_sge sge = {.addr = (uintptr_t)&msg, .length = sizeof(msg)};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.wr.ud = {.ah = s->ah,
			  .remote_qpn = s->ud_peer,
			  .remote_qkey = QKEY},
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	msg.qpn = s->conn[from].qp->qp_num;
	if (++s->sent % 50 == 0) {
		wr.send_flags |= IBV_SEND_SIGNALED;
		s->unread++;
	}
	CHECK(!ibv_post_send(s->ud, &wr, &bad));
	while (s->unread > TX / 50 - 2)
		if (ibv_poll_cq(s->ud_send, 1, &wc) == 1)
			s->unread--;
}

static void ud_message(struct side *s, const struct msg *msg)
{
	uint32_t own = msg->to;

	if (msg->kind == 3) {
		s->up++;
		return;
	}
	if (msg->kind == 1)
		own = (uint32_t)s->begun++;
	move(s, &s->conn[own], msg->qpn);
	ud_send(s, msg->kind + 1, own, msg->from);
	s->up += msg->kind == 2;
}

static void ud_pump(struct side *s, int until)
{
	struct ibv_wc wc[16];
	struct ibv_cq *cq;
	struct msg msg;
	void *context;
	int n;

	while (s->up < until) {
		n = ibv_poll_cq(s->ud_recv, 16, wc);
		CHECK(n >= 0);
		for (int i = 0; i < n; i++) {
			CHECK(wc[i].status == IBV_WC_SUCCESS);
			memcpy(&msg, rx_buf(s, wc[i].wr_id) + GRH, sizeof(msg));
			ud_post(s, wc[i].wr_id);
			ud_message(s, &msg);
		}
		if (n || s->up >= until)
			continue;
		CHECK(!ibv_get_cq_event(s->chan, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		CHECK(!ibv_req_notify_cq(s->ud_recv, 0));
	}
}

/* ---------------------------------------------------------------- both */

static void pump(struct side *s, int until)
{
	if (s->opt->datagrams)
		ud_pump(s, until);
	else
		tcp_pump(s, until);
}

static void connect_all(struct side *s, uint16_t port)
{
	int window = s->opt->window ? s->opt->window : s->opt->n;

	while (s->begun < s->opt->n) {
		if (s->opt->datagrams) {
			ud_send(s, 1, (uint32_t)s->begun, 0);
			s->begun++;
		} else {
			tcp_dial(s, port);
		}
		pump(s, s->begun + 1 - window);
	}
	pump(s, s->opt->n);
}

static void run(const struct options *opt, int peer, bool active)
{
	struct side s = {.opt = opt, .peer = peer, .active = active};
	uint16_t port = 0;
	double begin, took;

	alarm(LIMIT_S); /* whatever hangs */
	open_device(&s);
	make_pairs(&s);
	if (opt->datagrams)
		ud_open(&s);
	else
		tcp_open(&s);
	if (active && !opt->datagrams)
		port = (uint16_t)hear(&s);
	tell(&s, 0);
	hear(&s);
	begin = now_s();
	if (active)
		connect_all(&s, port);
	else
		pump(&s, opt->n);
	took = now_s() - begin;
	tell(&s, 0);
	hear(&s);
	if (active)
		printf("{\"role\":\"client\",\"endpoints\":%d,\"window\":%d,"
		       "\"established\":%d,\"connects_per_s\":%.0f}\n",
		       opt->n, opt->window, s.up, s.up / took);
}

static void parse(int argc, char **argv, struct options *ret_opt)
{
	int c;

	while ((c = getopt(argc, argv, "d:a:un:w:")) != -1)
		switch (c) {
		case 'd':
			ret_opt->dev = optarg;
			break;
		case 'a':
			CHECK(inet_pton(AF_INET, optarg, &ret_opt->addr) == 1);
			break;
		case 'u':
			ret_opt->datagrams = true;
			break;
		case 'n':
			ret_opt->n = atoi(optarg);
			break;
		case 'w':
			ret_opt->window = atoi(optarg);
			break;
		default:
			exit(2);
		}
	if (ret_opt->dev && ret_opt->addr.s_addr && ret_opt->n > 0 &&
	    ret_opt->window >= 0 && optind == argc)
		return;
	fputs("usage: connfloor -d DEVICE -a ADDRESS [-u] [-n CONNECTIONS] "
	      "[-w WINDOW]\n"
	      "\n"
	      "Connects queue pairs of DEVICE, whose IPv4 address is ADDRESS,\n"
	      "between two processes of its own, and prints a rate as JSON.\n"
	      "  -u  by datagrams, not TCP\n"
	      "  -w  connections under way at once (0: all; 1: one by one)\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options opt = {.n = 16};
	int pair[2], status;
	pid_t child;

	parse(argc, argv, &opt);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		run(&opt, pair[1], false);
		exit(0);
	}
	close(pair[1]);
	run(&opt, pair[0], true);
	CHECK(waitpid(child, &status, 0) == child);
	return status ? 1 : 0;
}
