/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * server.c - the server of dapltest: takes one client's request after the
 * other and runs each test in threads of its own.
 *
 * Does not trust a client: what it sends is checked before anything is made,
 * and every wait for it has a limit, so that no client keeps the server busy.
 * Threads: the list of jobs belongs to the loop; a job's thread writes `done`
 * last, and then the loop joins it.
 * Ownership: a job owns its test, the loop owns the jobs.
 * Rule: the client is told where to connect only when all service points
 * listen. Performance tests run one at a time, transactions may overlap.
 */
#include "test/dapltest/control.h"
#include "test/dapltest/perform.h"
#include "test/dapltest/transact.h"
#include "test/dtest/common/dt_oob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUALS	  DPT_EPS_MAX
#define TICK_NS	  (250 * DT_NS_PER_MS)
#define CR_LENGTH 32

struct job {
	struct job *next;
	struct dpt_server *s;
	enum dpt_test test;
	unsigned int number;
	struct dpt_tx tx;
	struct dpt_perf perf;
	pthread_t thread;
	_Atomic bool done;
	int rc;
};

struct dpt_server {
	struct dpt *d;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	struct dt_waiter w;
	struct job *jobs;
	unsigned int served; /* tests that were started */
	unsigned int failed;
	unsigned int broken; /* clients that did not get that far */
	uint32_t next_qual;  /* counted from first_qual() */
	pthread_mutex_t perf_lock;
	bool quit;
	/* Of --oob-port. */
	pthread_t teller;
	bool telling;
	_Atomic bool over;
	int oob_fds[DT_OOB_SOCKETS];
};

/* Data connections use the qualifiers above the port, or else below. */
static uint32_t first_qual(const struct dpt_server *s)
{
	uint32_t port = s->d->o->port;

	return port + QUALS <= UINT16_MAX ? port + 1 : port - QUALS;
}

static void *job_main(void *arg)
{
	struct job *job = arg;

	if (job->test == DPT_TRANSACTION) {
		job->rc = dpt_tx_run(&job->tx);
	} else {
		pthread_mutex_lock(&job->s->perf_lock);
		job->rc = dpt_perf_serve(&job->perf);
		pthread_mutex_unlock(&job->s->perf_lock);
	}
	job->done = true;
	return NULL;
}

static int release_job(struct job *job)
{
	return job->test == DPT_TRANSACTION
		       ? dpt_tx_close(&job->tx, job->rc)
		       : dpt_perf_close(&job->perf, job->rc);
}

static void finish_job(struct dpt_server *s, struct job *job)
{
	int rc;

	pthread_join(job->thread, NULL);
	rc = release_job(job);
	if (rc)
		s->failed++;
	dt_say(&s->d->r, "Test %u, %s: %s\n", job->number,
	       dpt_test_name(job->test), rc ? "FAILED" : "done");
	free(job);
}

static void finish_jobs(struct dpt_server *s, bool all)
{
	struct job **at = &s->jobs;

	while (*at) {
		struct job *job = *at;

		if (all || job->done) {
			*at = job->next;
			finish_job(s, job);
		} else {
			at = &job->next;
		}
	}
}

static int listen_at(struct job *job, uint32_t qual)
{
	if (job->test == DPT_PERFORMANCE) {
		job->perf.qual = qual;
		return dpt_end_listen(job->perf.d, &job->perf.end, qual, false);
	}
	job->tx.qual = qual;
	return dpt_tx_listen(&job->tx);
}

/* Finds as many qualifiers in a row as the test needs. */
static int listen_somewhere(struct dpt_server *s, struct job *job,
			    uint32_t count, uint32_t *ret_qual)
{
	for (uint32_t tries = 0; tries < QUALS; tries++) {
		uint32_t qual;
		int rc;

		if (s->next_qual + count > QUALS)
			s->next_qual = 0;
		qual = first_qual(s) + s->next_qual;
		rc = listen_at(job, qual);
		if (rc == -EADDRINUSE) {
			s->next_qual++;
			continue;
		}
		s->next_qual += count;
		*ret_qual = qual;
		return rc;
	}
	return dt_fail(&s->d->r, DT_ENVIRONMENT,
		       "%u connection qualifiers in a row are not to be had "
		       "from %u on",
		       count, first_qual(s));
}

static struct job *make_job(struct dpt_server *s, enum dpt_test test)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->s = s;
	job->test = test;
	job->tx.d = job->perf.d = s->d;
	job->tx.server = job->perf.server = true;
	job->tx.rmr = job->perf.use_rmr = !s->d->o->no_rmr;
	return job;
}

/* What the client asks for, understood and affordable; else why not. */
static const char *read_command(struct job *job,
				const struct dpt_client_info *info,
				const uint8_t *msg, char *why, size_t why_size)
{
	bool pattern = info->ext.features & DPT_FEATURE_PATTERN;
	const char *wrong;

	if (job->test == DPT_PERFORMANCE) {
		wrong = dpt_get_performance(msg, &job->perf.cmd);
		if (wrong)
			return wrong;
		job->perf.check = pattern;
		job->perf.start = info->ext.features & DPT_FEATURE_START;
		return dpt_perf_fits(job->perf.d, &job->perf.cmd, why, why_size)
			       ? NULL
			       : why;
	}
	wrong = dpt_get_transaction(msg, &job->tx.cmd);
	if (wrong)
		return wrong;
	job->tx.cmd.ud = info->ext.features & DPT_FEATURE_UD;
	job->tx.final = !job->tx.cmd.old_form || info->ext.present;
	job->tx.data = pattern		      ? DPT_DATA_PATTERN
		       : job->tx.cmd.validate ? DPT_DATA_HISTORIC
					      : DPT_DATA_ANY;
	if (job->tx.cmd.threads * job->tx.cmd.eps != info->eps)
		return "the number of its endpoints differs between its two "
		       "messages";
	return dpt_tx_fits(job->tx.d, &job->tx.cmd, why, why_size) ? NULL : why;
}

static int answer(struct dpt_server *s, struct dpt_control *c, uint32_t qual,
		  const char *reason)
{
	struct dpt_server_info info = {
		.qual = qual,
		.ext = {.present = true, .features = DPT_FEATURES},
	};

	if (reason)
		snprintf(info.ext.reason, sizeof(info.ext.reason), "%s",
			 reason);
	dpt_put_server_info(dpt_control_out(c), &info);
	return dpt_control_send(s->d, c, "the answer");
}

/*
 * A client that is refused hears why, if it can; to a historic one an answer
 * would mean "go on". It is no failure of this side.
 */
static int refuse(struct dpt_server *s, struct dpt_control *c,
		  const struct dpt_client_info *info, const char *reason)
{
	dt_say(&s->d->r, "A client is refused: %s\n", reason);
	return info->ext.present ? answer(s, c, 0, reason) : 0;
}

static int open_job(struct dpt_server *s, struct job *job, uint32_t *ret_qual)
{
	uint32_t count = 1;
	int rc;

	if (job->test == DPT_PERFORMANCE) {
		rc = dpt_perf_open(&job->perf);
	} else {
		count = job->tx.cmd.threads * job->tx.cmd.eps;
		rc = dpt_tx_open(&job->tx);
	}
	return rc ? rc : listen_somewhere(s, job, count, ret_qual);
}

static int start_job(struct dpt_server *s, struct job *job)
{
	int rc;

	job->number = s->served + 1;
	rc = pthread_create(&job->thread, NULL, job_main, job);

	if (rc)
		return dt_fail(&s->d->r, DT_ENVIRONMENT,
			       "a test's thread cannot be started: %s",
			       strerror(rc));
	s->served++;
	job->next = s->jobs;
	s->jobs = job;
	return 0;
}

static int run_job(struct dpt_server *s, struct dpt_control *c, struct job *job,
		   const struct dpt_client_info *info)
{
	uint32_t qual = 0;
	int rc = open_job(s, job, &qual);

	if (rc)
		refuse(s, c, info,
		       "the server could not make what the test "
		       "needs; see its messages");
	if (!rc)
		rc = answer(s, c, qual, NULL);
	if (!rc)
		rc = start_job(s, job);
	if (rc) {
		job->rc = rc;
		release_job(job);
		free(job);
	}
	return rc;
}

static int serve_test(struct dpt_server *s, struct dpt_control *c,
		      const struct dpt_client_info *info, const uint8_t *msg)
{
	struct job *job = make_job(s, info->test);
	const char *wrong;
	char why[160];
	int rc;

	if (!job)
		return dt_fail(&s->d->r, DT_ENVIRONMENT, "no memory");
	wrong = read_command(job, info, msg, why, sizeof(why));
	if (!wrong)
		return run_job(s, c, job, info);
	rc = refuse(s, c, info, wrong);
	free(job);
	return rc;
}

static int serve_quit(struct dpt_server *s, struct dpt_control *c,
		      const uint8_t *msg)
{
	struct dpt_quit cmd;

	dpt_get_quit(msg, &cmd);
	dt_say(&s->d->r, "A client asks this server to end\n");
	s->quit = true;
	return answer(s, c, 0, NULL);
}

/* Both messages of one client, and the answer. */
static int converse(struct dpt_server *s, struct dpt_control *c)
{
	struct dpt_client_info info;
	const uint8_t *msg;
	const char *wrong;
	int rc = dpt_control_receive(s->d, c, "the client's information", &msg);

	if (rc)
		return rc;
	wrong = dpt_get_client_info(msg, &info);
	if (wrong) {
		dt_say(&s->d->r, "A client is refused: %s\n", wrong);
		return 0;
	}
	rc = dpt_control_receive(s->d, c, "the client's command", &msg);
	if (rc)
		return rc;
	return info.test == DPT_QUIT ? serve_quit(s, c, msg)
				     : serve_test(s, c, &info, msg);
}

static void serve_client(struct dpt_server *s, DAT_CR_HANDLE cr)
{
	struct dpt_control c;
	int rc = dpt_control_open(s->d, &c);

	if (!rc)
		rc = dpt_end_take(s->d, &c.end, cr);
	if (!rc)
		rc = converse(s, &c);
	if (!rc)
		rc = dpt_end_part(s->d, &c.end, DAT_CLOSE_GRACEFUL_FLAG, false);
	if (dpt_control_close(s->d, &c, rc))
		s->broken++;
}

/* Without limit: a server waits until it is told to end. */
static int next_client(struct dpt_server *s, DAT_CR_HANDLE *ret_cr)
{
	DAT_EVENT event;
	int rc;

	for (;;) {
		finish_jobs(s, false);
		rc = dt_evd_next(&s->w, DT_WAIT_EVENT, s->cr_evd, TICK_NS,
				 &event);
		if (!rc && event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			break;
		if (rc && rc != -ETIMEDOUT)
			return dt_wait_fail(&s->d->r, &s->w, rc, "a client");
	}
	*ret_cr = event.event_data.cr_arrival_event_data.cr_handle;
	return 0;
}

static int loop(struct dpt_server *s)
{
	int rc = 0;

	while (!rc && !s->quit) {
		DAT_CR_HANDLE cr = DAT_HANDLE_NULL;

		/* Scripts wait for this line. */
		dt_line(&s->d->r, "Dapltest: Service Point Ready - %s\n",
			s->d->o->device);
		rc = next_client(s, &cr);
		if (!rc)
			serve_client(s, cr);
	}
	return rc;
}

static int address_message(struct dpt_server *s, uint8_t msg[DT_OOB_SIZE])
{
	const struct sockaddr *addr = s->d->attr.ia_address_ptr;
	struct dt_oob_info info;

	memset(&info, 0, sizeof(info));
	snprintf(info.provider, sizeof(info.provider), "%.*s",
		 (int)sizeof(info.provider) - 1, s->d->o->device);
	memcpy(&info.addr, addr,
	       addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
	return dt_oob_encode(&info, msg);
}

/* Tells clients where this adapter is, one after the other. */
static void *tell_address(void *arg)
{
	struct dpt_server *s = arg;
	uint8_t msg[DT_OOB_SIZE];
	int rc = address_message(s, msg);

	while (!rc && !s->over) {
		rc = dt_oob_answer_next(s->oob_fds, msg, dt_deadline(TICK_NS));
		if (rc >= 0)
			close(rc);
		/* Nor does a client that is gone before it was told. */
		if (rc >= 0 || rc == -ETIMEDOUT || rc == -EPIPE ||
		    rc == -ECONNRESET)
			rc = 0;
	}
	if (rc && rc != -EINTR)
		dt_fail(&s->d->r, DT_ENVIRONMENT,
			"TCP port %u: %s; clients do not learn the address",
			s->d->oob_port, strerror(-rc));
	dt_oob_close(s->oob_fds);
	return NULL;
}

static int start_telling(struct dpt_server *s)
{
	int rc;

	if (!s->d->oob_port)
		return 0;
	rc = dt_oob_listen(s->d->oob_port, s->oob_fds);
	if (!rc)
		rc = -pthread_create(&s->teller, NULL, tell_address, s);
	if (rc)
		return dt_fail(&s->d->r, DT_ENVIRONMENT, "TCP port %u: %s",
			       s->d->oob_port, strerror(-rc));
	s->telling = true;
	return 0;
}

static int open_point(struct dpt_server *s)
{
	DAT_RETURN ret;
	int rc = dpt_evd_make(s->d, CR_LENGTH, DAT_EVD_CR_FLAG, &s->cr_evd);

	if (rc)
		return rc;
	ret = dat_psp_create(s->d->ia, s->d->o->port, s->cr_evd,
			     DAT_PSP_CONSUMER_FLAG, &s->psp);
	if (ret == DAT_SUCCESS)
		return 0;
	s->psp = DAT_HANDLE_NULL;
	return dpt_failed(s->d, ret, "dat_psp_create",
			  "another server may run; see -n");
}

int dpt_serve(struct dpt *d)
{
	struct dpt_server s = {.d = d};
	int rc;

	pthread_mutex_init(&s.perf_lock, NULL);
	rc = open_point(&s);
	if (!rc)
		rc = start_telling(&s);
	if (!rc)
		rc = loop(&s);
	s.over = true;
	finish_jobs(&s, true);
	if (s.telling)
		pthread_join(s.teller, NULL);
	if (s.psp != DAT_HANDLE_NULL)
		rc = dpt_freed(d, rc, dat_psp_free(s.psp), "dat_psp_free");
	rc = dpt_evd_free(d, &s.cr_evd, rc);
	pthread_mutex_destroy(&s.perf_lock);
	dt_line(&d->r, "%u tests served, %u failed; %u clients left early\n",
		s.served, s.failed, s.broken);
	dt_line(&d->r, "DT_cs_Server (%s):  Exiting.\n", d->o->device);
	return rc;
}
