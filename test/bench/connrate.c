/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connrate.c - how many connections a second an adapter makes and ends, and
 * what memory a connected endpoint costs.
 *
 * One program, two processes: a child listens, the parent connects; they talk
 * over a socket pair, so that any provider's address will do. Uses dat_* calls
 * only and therefore runs on any libdat2. Every wait has a limit, and a phase
 * that does not finish in it is reported as what it is.
 *
 * Output: one JSON object per process, on standard output.
 */
#include <dat2/udat.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDR_SIZE 64 /* the largest address of any provider, and some */
#define QUAL	  45300
#define SLICE_US  100000

struct options {
	const char *ia;
	int n;
	int window; /* connects under way at once; 0: all */
	int limit_s;
};

struct side {
	const struct options *opt;
	const char *who;
	int peer; /* the other process */
	DAT_IA_HANDLE ia;
	DAT_IA_ADDRESS_PTR addr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, dto;
	DAT_EP_HANDLE *ep;
	int established, ended, failed, taken;
	double up_s, down_s; /* of the phases */
	long kb_before, kb_after;
};

static void die(const struct side *s, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "connrate %s: ", s->who);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void need(const struct side *s, DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	die(s, "%s: %s %s", call, major, minor);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Private memory of this process. */
static long private_kb(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	long kb, sum = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Clean: %ld", &kb) == 1 ||
		    sscanf(line, "Private_Dirty: %ld", &kb) == 1)
			sum += kb;
	if (f)
		fclose(f);
	return sum;
}

/* ------------------------------------------------------ the other process */

static void tell(const struct side *s, const void *buf, size_t size)
{
	if (send(s->peer, buf, size, MSG_NOSIGNAL) != (ssize_t)size)
		die(s, "the other side is gone");
}

static void hear(const struct side *s, void *buf, size_t size)
{
	if (recv(s->peer, buf, size, MSG_WAITALL) != (ssize_t)size)
		die(s, "the other side is gone, or silent");
}

/* Both get here before either goes on. */
static void meet(const struct side *s)
{
	char c = 'm';

	tell(s, &c, 1);
	hear(s, &c, 1);
}

/* ----------------------------------------------------------------- events */

static void on_request(struct side *s, DAT_CR_HANDLE cr)
{
	if (s->taken < s->opt->n)
		need(s, dat_cr_accept(cr, s->ep[s->taken++], 0, NULL),
		     "dat_cr_accept");
	else
		need(s, dat_cr_reject(cr, 0, NULL), "dat_cr_reject");
}

static void on_event(struct side *s, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		on_request(s,
			   event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		s->established++;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		s->ended++;
		break;
	default:
		s->failed++;
		fprintf(stderr, "connrate %s: event 0x%x\n", s->who,
			event->event_number);
	}
}

/* Takes events until *COUNT (and failures) reach N, or END_S. */
static void pump(struct side *s, const int *count, int n, double end_s)
{
	DAT_EVENT event;
	DAT_COUNT more;

	while (*count + s->failed < n && now_s() < end_s) {
		while (dat_evd_dequeue(s->conn, &event) == DAT_SUCCESS)
			on_event(s, &event);
		if (*count + s->failed >= n)
			return;
		if (dat_evd_wait(s->conn, SLICE_US, 1, &event, &more) ==
		    DAT_SUCCESS)
			on_event(s, &event);
	}
}

/* ----------------------------------------------------------------- phases */

static void open_side(struct side *s)
{
	DAT_IA_ATTR attr;
	int n = s->opt->n;

	s->async = DAT_HANDLE_NULL;
	need(s, dat_ia_open((DAT_NAME_PTR)s->opt->ia, 8, &s->async, &s->ia),
	     "dat_ia_open");
	need(s,
	     dat_ia_query(s->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			  NULL),
	     "dat_ia_query");
	s->addr = attr.ia_address_ptr;
	need(s, dat_pz_create(s->ia, &s->pz), "dat_pz_create");
	need(s,
	     dat_evd_create(s->ia, 4 * n + 16, DAT_HANDLE_NULL,
			    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &s->conn),
	     "dat_evd_create");
	need(s,
	     dat_evd_create(s->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			    &s->dto),
	     "dat_evd_create");
	s->ep = calloc((size_t)n, sizeof(*s->ep));
	if (!s->ep)
		die(s, "no memory");
}

static void make_eps(struct side *s)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_mtu_size = 4096;
	attr.max_rdma_size = 65536;
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.max_recv_dtos = 16;
	attr.max_request_dtos = 16;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	for (int i = 0; i < s->opt->n; i++)
		need(s,
		     dat_ep_create(s->ia, s->pz, s->dto, s->dto, s->conn, &attr,
				   &s->ep[i]),
		     "dat_ep_create");
}

static void connect_all(struct side *s, DAT_IA_ADDRESS_PTR addr, double end_s)
{
	int window = s->opt->window ? s->opt->window : s->opt->n;

	for (int i = 0; i < s->opt->n; i++) {
		need(s,
		     dat_ep_connect(s->ep[i], addr, QUAL,
				    (DAT_TIMEOUT)s->opt->limit_s * 1000000, 0,
				    NULL, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG),
		     "dat_ep_connect");
		pump(s, &s->established, i + 2 - window, end_s);
	}
	pump(s, &s->established, s->opt->n, end_s);
}

static void run_client(struct side *s)
{
	/* In a sockaddr's clothes, whatever the provider makes of it. */
	union {
		struct sockaddr sa;
		uint8_t b[ADDR_SIZE];
	} addr;
	double begin;

	hear(s, addr.b, sizeof(addr.b));
	begin = now_s();
	connect_all(s, &addr.sa, begin + s->opt->limit_s);
	s->up_s = now_s() - begin;
	meet(s);
	s->kb_after = private_kb();
	meet(s);
	begin = now_s();
	for (int i = 0; i < s->opt->n; i++)
		dat_ep_disconnect(s->ep[i], DAT_CLOSE_ABRUPT_FLAG);
	pump(s, &s->ended, s->established, begin + s->opt->limit_s);
	s->down_s = now_s() - begin;
	meet(s);
}

static void run_server(struct side *s)
{
	uint8_t addr[ADDR_SIZE] = {0};
	DAT_PSP_HANDLE psp;
	double begin;

	need(s,
	     dat_psp_create(s->ia, QUAL, s->conn, DAT_PSP_CONSUMER_FLAG, &psp),
	     "dat_psp_create");
	/* Enough for a sockaddr_in6 and UCM's block. */
	memcpy(addr, s->addr, 28);
	begin = now_s();
	tell(s, addr, sizeof(addr));
	pump(s, &s->established, s->opt->n, begin + s->opt->limit_s);
	s->up_s = now_s() - begin;
	meet(s);
	s->kb_after = private_kb();
	meet(s);
	begin = now_s();
	pump(s, &s->ended, s->established, begin + s->opt->limit_s);
	s->down_s = now_s() - begin;
	meet(s);
	dat_psp_free(psp);
}

static void report(const struct side *s)
{
	printf("{\"role\":\"%s\",\"ia\":\"%s\",\"endpoints\":%d,\"window\":%d,"
	       "\"established\":%d,\"disconnected\":%d,\"failed\":%d,"
	       "\"connects_per_s\":%.0f,\"disconnects_per_s\":%.0f,"
	       "\"kB_per_endpoint\":%.2f}\n",
	       s->who, s->opt->ia, s->opt->n, s->opt->window, s->established,
	       s->ended, s->failed, s->established / s->up_s,
	       s->ended / s->down_s,
	       (double)(s->kb_after - s->kb_before) / s->opt->n);
	fflush(stdout);
}

static int run(const struct options *opt, int peer, bool active)
{
	struct side s = {
		.opt = opt,
		.who = active ? "client" : "server",
		.peer = peer,
	};

	open_side(&s);
	s.kb_before = private_kb();
	make_eps(&s);
	meet(&s);
	if (active)
		run_client(&s);
	else
		run_server(&s);
	report(&s);
	for (int i = 0; i < opt->n; i++)
		dat_ep_free(s.ep[i]);
	dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG);
	free(s.ep);
	return s.established == opt->n && s.ended == opt->n && !s.failed ? 0
									 : 1;
}

/* ------------------------------------------------------------------- main */

static void usage(FILE *f)
{
	fputs("usage: connrate -P IA [-n ENDPOINTS] [-w WINDOW] [-t SECONDS]\n"
	      "\n"
	      "Connects ENDPOINTS (16) between two processes of its own, ends\n"
	      "them and prints rates and memory as JSON.\n"
	      "  -P  name of the adapter in dat.conf\n"
	      "  -w  connects under way at once (0: all; 1: one by one)\n"
	      "  -t  limit for each phase (60)\n",
	      f);
}

static int number(const char *text, int min, int max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 0);
	if (errno || end == text || *end || v < min || v > max) {
		fprintf(stderr,
			"connrate: '%s' is not a number from %d to %d\n", text,
			min, max);
		exit(2);
	}
	return (int)v;
}

static void parse(int argc, char **argv, struct options *ret_opt)
{
	int c;

	while ((c = getopt(argc, argv, "P:n:w:t:h")) != -1)
		switch (c) {
		case 'P':
			ret_opt->ia = optarg;
			break;
		case 'n':
			ret_opt->n = number(optarg, 1, 100000);
			break;
		case 'w':
			ret_opt->window = number(optarg, 0, 100000);
			break;
		case 't':
			ret_opt->limit_s = number(optarg, 1, 3600);
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	if (!ret_opt->ia || optind < argc) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct options opt = {.n = 16, .limit_s = 60};
	int pair[2], status = 1, rc;
	struct timeval limit;
	pid_t child;

	parse(argc, argv, &opt);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		perror("connrate: socketpair");
		return 1;
	}
	limit = (struct timeval){.tv_sec = 2 * opt.limit_s + 10};
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* Before the first dat call: a child has no service thread. */
	child = fork();
	if (child < 0) {
		perror("connrate: fork");
		return 1;
	}
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		exit(run(&opt, pair[1], false));
	}
	close(pair[1]);
	rc = run(&opt, pair[0], true);
	waitpid(child, &status, 0);
	return rc || status ? 1 : 0;
}
