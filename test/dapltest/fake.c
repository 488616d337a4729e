/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake.c - dapltest_fake KIND WORD...: a server and a client of dapltest in
 * one process, on the fake device, for make check and the sanitizers.
 *
 * Does not judge: it exits with the client's status, or else the server's.
 * Threads: the server's, and this one. Ownership: none.
 * Rule: WORD... is a client's command line; the server ends on a quit client.
 * Ports are the program's own, whatever is asked for, so that runs do not meet.
 * With TAMPER=N in the environment one byte of the Nth transfer that is
 * prepared is wrong, which somebody has to notice. With HOSTILE=1 strangers
 * come to the server first. With HISTORIC=1 neither side tells the other that
 * it is of this project. With LAST=STATUS the server's last message of a
 * transaction test arrives, but completes with that DAT_DTO_COMPLETION_STATUS.
 * With HANG=CALL that call of libibverbs or librdmacm never returns. It is a
 * failure if a good run leaves objects of the device.
 */
#include "test/conform/ports.h"
#include "test/dapltest/dapltest.h"
#include "test/dapltest/hostile.h"
#include "test/dapltest/pattern.h"
#include "test/dapltest/transact.h"
#include "test/device.h"
#include "test/unit/fake/fake_verbs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS	    "10.0.0.1"
#define DEVICE	    "fake"
#define TRIES	    1000
#define LEFT_BEHIND 99 /* exit status */
#define TICK_NS	    (10 * DT_NS_PER_MS)

/* --wrap=dpt_fill */
void __real_dpt_fill(const struct dpt_layout *at, const struct dpt_pattern *p);
void __wrap_dpt_fill(const struct dpt_layout *at, const struct dpt_pattern *p);

void __wrap_dpt_fill(const struct dpt_layout *at, const struct dpt_pattern *p)
{
	static _Atomic int count;
	const char *tamper = getenv("TAMPER");

	__real_dpt_fill(at, p);
	if (tamper && ++count == atoi(tamper))
		at->base[at->size / 2] ^= 0x40;
}

/* The same, both info messages. */
void __real_dpt_put_client_info(uint8_t *msg, const struct dpt_client_info *i);
void __wrap_dpt_put_client_info(uint8_t *msg, const struct dpt_client_info *i);
void __real_dpt_put_server_info(uint8_t *msg, const struct dpt_server_info *i);
void __wrap_dpt_put_server_info(uint8_t *msg, const struct dpt_server_info *i);

void __wrap_dpt_put_client_info(uint8_t *msg, const struct dpt_client_info *i)
{
	struct dpt_client_info info = *i;

	info.ext.present &= !getenv("HISTORIC");
	__real_dpt_put_client_info(msg, &info);
}

void __wrap_dpt_put_server_info(uint8_t *msg, const struct dpt_server_info *i)
{
	struct dpt_server_info info = *i;

	info.ext.present &= !getenv("HISTORIC");
	__real_dpt_put_server_info(msg, &info);
}

/* Peers of 1.2 that are not ours have no messages at the end. */
int __real_dpt_tx_post_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			       enum dpt_tx_place place, size_t length);
int __wrap_dpt_tx_post_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			       enum dpt_tx_place place, size_t length);

int __wrap_dpt_tx_post_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			       enum dpt_tx_place place, size_t length)
{
	if (DAT_FACE == 1 && getenv("HISTORIC") && place == DPT_TX_FINAL_IN)
		return dt_fail(&t->tx->d->r, DT_FAILED,
			       "a historic peer is expected to end in step");
	return __real_dpt_tx_post_control(t, e, place, length);
}

/* The client's options: where it looks for the server. */
static const struct dpt_opts *client;

/* A connection that ends after a failure is a broken one. */
static _Thread_local bool last_fails;

int __real_dpt_end_send_last(struct dpt *d, struct dpt_end *e,
			     const struct dpt_region *region, size_t offset,
			     size_t length, uint64_t cookie, const char *what);
int __wrap_dpt_end_send_last(struct dpt *d, struct dpt_end *e,
			     const struct dpt_region *region, size_t offset,
			     size_t length, uint64_t cookie, const char *what);

int __wrap_dpt_end_send_last(struct dpt *d, struct dpt_end *e,
			     const struct dpt_region *region, size_t offset,
			     size_t length, uint64_t cookie, const char *what)
{
	int rc;

	last_fails = getenv("LAST") && d->o->test == DPT_SERVER;
	rc = __real_dpt_end_send_last(d, e, region, offset, length, cookie,
				      what);
	last_fails = false;
	return rc;
}

int __real_dt_evd_next(struct dt_waiter *w, enum dt_wait_mode how,
		       DAT_EVD_HANDLE evd, uint64_t limit_ns, DAT_EVENT *event);
int __wrap_dt_evd_next(struct dt_waiter *w, enum dt_wait_mode how,
		       DAT_EVD_HANDLE evd, uint64_t limit_ns, DAT_EVENT *event);

int __wrap_dt_evd_next(struct dt_waiter *w, enum dt_wait_mode how,
		       DAT_EVD_HANDLE evd, uint64_t limit_ns, DAT_EVENT *event)
{
	int rc = __real_dt_evd_next(w, how, evd, limit_ns, event);

	if (rc || !last_fails)
		return rc;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		event->event_data.dto_completion_event_data.status =
			(DAT_DTO_COMPLETION_STATUS)atoi(getenv("LAST"));
	else if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		event->event_number = DAT_CONNECTION_EVENT_BROKEN;
	return 0;
}

static void use_ports(struct dpt_opts *opts)
{
	opts->port = client->port;
	opts->oob_port = client->oob_port;
}

static void *serve(void *arg)
{
	static char *words[] = {DPT_TOOL, "-T",	       "S", "-D",
				DEVICE,	  "--timeout", "2", NULL};
	/* Only where it may wait in vain: sanitizers take their time. */
	int argc = getenv("HOSTILE") || getenv("HANG") ? 7 : 5;
	struct dpt_opts opts;
	int *ret_rc = arg;

	if (getenv("HANG"))
		words[6] = "8";
	*ret_rc = dpt_parse(argc, words, stdout, stderr, &opts);
	use_ports(&opts);
	if (*ret_rc < 0)
		*ret_rc = dpt_run(&opts);
	return NULL;
}

/* Until the server listens there is nobody to connect to. */
static int run_patiently(const struct dpt_opts *opts)
{
	int rc = DT_ENVIRONMENT;

	for (int i = 0; i < TRIES && rc == DT_ENVIRONMENT; i++) {
		rc = dpt_run(opts);
		/* The server may have been stopped before it was found. */
		if (rc == DT_ENVIRONMENT && dt_stopped())
			rc = DT_INTERRUPTED;
		if (rc == DT_ENVIRONMENT)
			dt_pause(TICK_NS);
	}
	return rc;
}

static int quit(void)
{
	static char *words[] = {DPT_TOOL, "-T", "Q",	 "-D",
				DEVICE,	  "-s", ADDRESS, NULL};
	struct dpt_opts opts;
	int rc = dpt_parse(7, words, stdout, stderr, &opts);

	use_ports(&opts);
	opts.host = client->host;
	return rc < 0 ? run_patiently(&opts) : rc;
}

/* Strangers wait for the server too: a good client comes first. */
static void attack(const struct dpt_opts *opts)
{
	struct sockaddr_in *in;
	struct dpt d;

	if (run_patiently(opts))
		return;
	memset(&d, 0, sizeof(d));
	d.o = opts;
	d.limit_ns = DT_NS_PER_S;
	in = (void *)&d.server;
	in->sin_family = AF_INET;
	inet_pton(AF_INET, ADDRESS, &in->sin_addr);
	if (dt_report_open(&d.r, "hostile", NULL) || dpt_open(&d))
		return;
	dt_report_close(&d.r, dpt_close(&d, dpt_hostile(&d)));
}

static int with_server(const struct dpt_opts *opts)
{
	int server_rc = 0, rc;
	pthread_t thread;

	client = opts;
	if (pthread_create(&thread, NULL, serve, &server_rc))
		return DT_ENVIRONMENT;
	if (getenv("HOSTILE"))
		attack(opts);
	rc = run_patiently(opts);
	if (opts->test != DPT_QUIT && !dt_stopped() && quit())
		return DT_FAILED;
	pthread_join(thread, NULL);
	/* Of two that are interrupted one may see only that the other left. */
	return rc && server_rc != DT_INTERRUPTED ? rc : server_rc;
}

int main(int argc, char **argv)
{
	struct dpt_opts opts;
	unsigned int first = ports_own();
	int rc;

	if (argc < 3 || !device_make(argv[1]))
		return DT_USAGE;
	rc = dpt_parse(argc - 1, argv + 1, stdout, stderr, &opts);
	if (rc >= 0)
		return rc;
	opts.device = DEVICE;
	opts.port = (uint16_t)first;
	if (opts.oob_port)
		opts.oob_port = (uint16_t)PORTS_OOB(first);
	dt_catch_signals();
	fv_hang(getenv("HANG"));
	if (opts.test == DPT_LIMIT || opts.test == DPT_FUNCTION)
		rc = dpt_run(&opts);
	else
		rc = with_server(&opts);
	fv_live_dump(stderr);
	return rc || !fv_live() ? rc : LEFT_BEHIND;
}
