/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run.c - one run of dapltest: report, server's address, adapter, test.
 *
 * Does not know what the tests do: each is one row of the table.
 * Threads: one here; tests start their own and join them. Several runs of one
 * process may go on at once; they share the request to stop only.
 * Ownership: struct dpt lives on this stack for the whole run.
 * Rule: whatever happens, the last line tells and the exit status agrees.
 */
#include "test/dapltest/dapltest.h"

#include "test/dtest/common/dt_oob.h"
#include "test/dtest/common/dt_process.h"
#include "test/dtest/common/dt_watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static const struct {
	int (*run)(struct dpt *d);
	const char *role;
	bool own_adapter; /* opens the adapter itself */
} tests[DPT_TEST_N] = {
	[DPT_SERVER] = {dpt_serve, "server", false},
	[DPT_TRANSACTION] = {dpt_transaction_client, "client", false},
	[DPT_PERFORMANCE] = {dpt_performance_client, "client", false},
	[DPT_QUIT] = {dpt_quit_client, "client", false},
	[DPT_LIMIT] = {dpt_limits, "local", true},
	[DPT_FUNCTION] = {dpt_functions, "local", true},
};

static void show_address(struct dpt *d)
{
	char text[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in *in = (const void *)&d->server;
	const struct sockaddr_in6 *in6 = (const void *)&d->server;

	if (d->server.ss_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	dt_say(&d->r, "Server Name: %s\nServer Net Address: %s\n", d->o->host,
	       text);
}

/* The first IPv4 address, as ever, or else the first of any kind. */
static int find_server(struct dpt *d)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *ai;
	int rc;

	if (!d->o->host)
		return 0;
	rc = getaddrinfo(d->o->host, NULL, &hints, &list);
	if (rc)
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "-s %s: no such host, or no address of it: %s",
			       d->o->host, gai_strerror(rc));
	ai = list;
	while (ai && ai->ai_family != AF_INET)
		ai = ai->ai_next;
	if (!ai)
		ai = list;
	memcpy(&d->server, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(list);
	show_address(d);
	return 0;
}

/* Where the name leads is not what every provider connects to. */
static int ask_server(struct dpt *d)
{
	uint8_t msg[DT_OOB_SIZE];
	struct dt_oob_info info;
	int rc = dt_oob_ask(d->o->host, d->oob_port, dt_deadline(d->limit_ns),
			    msg);

	if (rc >= 0) {
		close(rc);
		rc = dt_oob_decode(msg, &info);
	}
	if (rc == -EINTR)
		return dt_fail(&d->r, DT_INTERRUPTED, "interrupted");
	if (rc)
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "-s %s: no server's address from TCP port %u "
			       "(%s); does it run with the same --oob-port?",
			       d->o->host, d->oob_port, strerror(-rc));
	d->server = info.addr;
	show_address(d);
	return 0;
}

static int run_test(struct dpt *d)
{
	int rc = d->o->oob_port ? 0 : find_server(d);

	d->oob_port = d->o->oob_port;
	if (!rc && !tests[d->o->test].own_adapter)
		rc = dpt_open(d);
	if (!rc && d->o->host && d->oob_port)
		rc = ask_server(d);
	dt_doing(dpt_test_name(d->o->test));
	if (!rc)
		rc = tests[d->o->test].run(d);
	rc = dpt_close(d, rc);
	/* Of several threads the first error tells the cause. */
	return rc && d->r.code ? (int)d->r.code : rc;
}

int dpt_run(const struct dpt_opts *opts)
{
	struct dpt_opts own = *opts;
	char device[DPT_NAME_SIZE];
	struct dpt d;
	int rc;

	memset(&d, 0, sizeof(d));
	snprintf(device, sizeof(device), "%s", opts->device);
	own.device = device;
	d.o = &own;
	d.limit_ns = opts->timeout_s * DT_NS_PER_S;
	rc = dt_report_open(&d.r, DPT_TOOL, opts->json_path);
	if (rc) {
		fprintf(stderr, "dapltest: --json=%s: %s\n", opts->json_path,
			strerror(-rc));
		return DT_USAGE;
	}
	d.r.quiet = opts->quiet;
	d.r.verbose = (int)opts->debug;
	dt_report_role(&d.r, tests[opts->test].role);
	dt_report_provider(&d.r, opts->device, "");
	dt_allow_files();
	rc = dt_watch_begin(&d.r, opts->timeout_s);
	if (rc)
		return dt_report_close(&d.r, rc);
	rc = dt_pin(&d.r, opts->cpu);
	if (!rc && !opts->device_given)
		dt_default_adapter(&d.r, device, sizeof(device));
	if (!rc)
		rc = run_test(&d);
	dt_watch_end(&d.r);
	return dt_report_close(&d.r, rc);
}
