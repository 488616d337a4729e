/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * server.c - the server of dtestcm: listens, accepts, waits for the end.
 *
 * Threads: one. Ownership: see dtestcm.h.
 * Rule: requests are answered in the order of their arrival, with endpoint 0,
 * 1, 2, ... The client is told where to connect when all listeners are there.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestcm/dtestcm.h"

#include <errno.h>
#include <stdlib.h>

static int make_psps(struct dtcm *c)
{
	uint32_t n = c->o->many_ports ? dtcm_burst(c->o, 0) : 1;

	c->psps = calloc(n, sizeof(*c->psps));
	if (!c->psps)
		return dt_fail(&c->run.r, DT_ENVIRONMENT,
			       "no memory for %u listeners", n);
	for (; c->psp_count < n; c->psp_count++) {
		DAT_RETURN ret = dat_psp_create(
			c->run.ia, c->run.o->port + c->psp_count, c->cm_evd,
			DAT_PSP_CONSUMER_FLAG, &c->psps[c->psp_count]);

		if (ret != DAT_SUCCESS)
			return dt_run_failed(&c->run, ret, "dat_psp_create",
					     "another server may run, see "
					     "--port");
	}
	return 0;
}

int dtcm_listen(struct dtcm *c)
{
	struct dt_oob_params params = dtcm_params(c->o);
	int rc = make_psps(c);

	if (rc)
		return rc;
	dt_say(&c->run.r, "%d Local address %s port %u\n", c->run.r.pid,
	       dt_address_show((struct sockaddr *)&c->run.local).s,
	       c->run.o->port);
	rc = dt_run_listen(&c->run);
	return rc ? rc : dt_run_answer(&c->run, &params);
}

/* Returns whether the request is one of a dtestcm. */
static bool right_client(DAT_CR_HANDLE cr, DAT_COUNT *ret_size)
{
	DAT_CR_PARAM param = {.private_data = NULL};

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS)
		return false;
	*ret_size = param.private_data_size;
	return dt_pdata_ok(param.private_data, param.private_data_size,
			   DT_PDATA_CLIENT);
}

static int accept_request(struct dtcm *c, struct dtcm_conn *conn,
			  DAT_CR_HANDLE cr)
{
	uint8_t pdata[DT_PDATA];
	DAT_RETURN ret;

	if (c->o->delay_s && !dt_pause(c->o->delay_s * DT_NS_PER_S))
		return dt_wait_fail(&c->run.r, &c->run.w, -EINTR,
				    "the time of -d");
	dt_pdata_fill(pdata, DT_PDATA_SERVER);
	conn->mark = dt_now_ns();
	dtcm_set(c, conn, DTCM_ASKED);
	ret = dat_cr_accept(cr, conn->ep, DT_PDATA, pdata);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&c->run.r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	return 0;
}

static int reject_request(struct dtcm *c, struct dtcm_conn *conn,
			  DAT_CR_HANDLE cr)
{
	DAT_RETURN ret = dat_cr_reject(cr, 0, NULL);

	dtcm_set(c, conn, DTCM_REJECTED);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&c->run.r, DT_FAILED, ret, "dat_cr_reject",
				   NULL);
	return 0;
}

static int answer_request(struct dtcm *c, uint32_t index)
{
	DAT_CR_HANDLE cr = c->requests[c->request_first];
	struct dtcm_conn *conn = &c->conns[index];
	DAT_COUNT size = 0;

	c->request_first = (c->request_first + 1) % (2 * c->o->count);
	c->request_count--;
	if (!right_client(cr, &size)) {
		dat_cr_reject(cr, 0, NULL);
		return dt_fail(&c->run.r, DT_MISMATCH,
			       "whoever connected is no dtestcm (%d bytes of "
			       "private data); rejected",
			       size);
	}
	return dtcm_rejects(c->o->reject, index) ? reject_request(c, conn, cr)
						 : accept_request(c, conn, cr);
}

static int accept_all(struct dtcm *c)
{
	uint32_t answered = 0;
	uint64_t start = 0;
	int rc = 0;

	dt_samples_clear(&c->connects);
	dt_samples_clear(&c->leaves);
	while (!rc) {
		if (c->request_count && !start)
			start = dt_now_ns();
		while (!rc && c->request_count && answered < c->o->count) {
			rc = answer_request(c, answered++);
			if (!rc)
				rc = dtcm_take(c);
		}
		if (rc || (answered == c->o->count && !c->states[DTCM_ASKED]))
			break;
		rc = dtcm_wait(c, c->run.limit_ns,
			       answered < c->o->count
				       ? "connection requests"
				       : "accepted connections to come up");
	}
	c->connect_ns = start ? dt_now_ns() - start : 0;
	return rc;
}

int dtcm_serve(struct dtcm *c)
{
	uint64_t hold_ns = c->o->hold_s * DT_NS_PER_S, start;
	int rc;

	dt_say(&c->run.r, "%d Server waits for %u connections\n", c->run.r.pid,
	       c->o->count);
	rc = accept_all(c);
	if (rc)
		return rc;
	c->kb_after = dtcm_private_kb();
	dt_say(&c->run.r, "%d %u connections are up\n", c->run.r.pid,
	       c->states[DTCM_UP]);
	if (c->o->ud)
		return dtcm_forget(c);
	start = dt_now_ns();
	rc = dtcm_wait_down(c, c->run.limit_ns + hold_ns);
	c->leave_ns = dt_now_ns() - start;
	return rc;
}
