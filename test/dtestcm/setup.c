/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * setup.c - the DAT objects of dtestcm.
 *
 * Does not connect. Threads: one.
 * Ownership: all is in struct dtcm, zero means "not there".
 * Rule: endpoints with the attributes of the historic tool. Requests and
 * connections share an EVD, so that each event is seen when it comes.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestcm/dtestcm.h"

#include <stdlib.h>

#define ASYNC_LENGTH 8
#define EVD_SPARE    8

static int find_server(struct dtcm *c)
{
	struct dt_oob_params theirs;
	const char *why;
	int rc = dt_run_ask(&c->run, &theirs);

	if (rc)
		return rc;
	why = c->run.o->qpn ? NULL : dtcm_mismatch(c->o, &theirs);
	if (!why)
		return 0;
	dt_oob_decline(c->run.oob_conn, DT_OOB_MISMATCH);
	return dt_fail(&c->run.r, DT_MISMATCH,
		       "%s; give both sides the same options", why);
}

static int make_memory(struct dtcm *c)
{
	uint32_t n = c->o->count;

	c->conns = calloc(n, sizeof(*c->conns));
	/* A step's requests may come while the one before still ends. */
	c->requests = calloc(2 * (size_t)n, sizeof(*c->requests));
	if (c->conns && c->requests && !dt_samples_init(&c->connects, n) &&
	    !dt_samples_init(&c->leaves, n))
		return 0;
	return dt_fail(&c->run.r, DT_ENVIRONMENT,
		       "no memory for %u connections; use a smaller -c", n);
}

static int make_evds(struct dtcm *c)
{
	uint32_t length = 3 * c->o->count + EVD_SPARE;
	int rc;

	rc = dt_run_make_evd(&c->run, length, DAT_HANDLE_NULL,
			     DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			     &c->cm_evd);
	if (!rc)
		rc = dt_run_make_evd(&c->run, EVD_SPARE, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG, &c->req_evd);
	if (!rc)
		rc = dt_run_make_evd(&c->run, EVD_SPARE, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG, &c->rcv_evd);
	return rc;
}

int dtcm_open(struct dtcm *c)
{
	int rc = c->run.server ? 0 : find_server(c);

	if (!rc)
		rc = dt_run_open(&c->run, ASYNC_LENGTH);
	if (!rc && c->o->ud)
		rc = dt_ud_need(&c->run);
	if (!rc)
		rc = make_memory(c);
	if (!rc)
		rc = make_evds(c);
	return rc;
}

static DAT_EP_ATTR attr_of(const struct dtcm *c)
{
	uint32_t mtu = c->run.mtu;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = 0x10000,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};

	if (c->o->ud) {
		attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
		attr.max_message_size =
			mtu && mtu < DTCM_UD_SIZE ? mtu : DTCM_UD_SIZE;
		return attr;
	}
	attr.max_rdma_size = 0x10000;
	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 1;
	return attr;
}

static int make_ep(struct dtcm *c, struct dtcm_conn *conn)
{
	DAT_EP_ATTR attr = attr_of(c);
	DAT_CONTEXT context = {.as_ptr = conn};
	DAT_RETURN ret;

	ret = dat_ep_create(c->run.ia, c->run.pz, c->rcv_evd, c->req_evd,
			    c->cm_evd, &attr, &conn->ep);
	if (ret != DAT_SUCCESS) {
		conn->ep = DAT_HANDLE_NULL;
		return dt_run_failed(&c->run, ret, "dat_ep_create",
				     "the adapter may not have that many; use "
				     "a smaller -c");
	}
	ret = dat_set_consumer_context(conn->ep, context);
	if (ret != DAT_SUCCESS)
		return dt_run_failed(&c->run, ret, "dat_set_consumer_context",
				     NULL);
	return 0;
}

int dtcm_make_eps(struct dtcm *c)
{
	uint64_t start;
	int rc = 0;

	c->kb_before = dtcm_private_kb();
	start = dt_now_ns();
	for (uint32_t i = 0; i < DTCM_STATE_N; i++)
		c->states[i] = 0;
	c->states[DTCM_IDLE] = c->o->count;
	for (uint32_t i = 0; !rc && i < c->o->count; i++) {
		dt_doing("dat_ep_create");
		dt_progress(&c->run.r, "endpoint %u of %u", i + 1, c->o->count);
		c->conns[i].state = DTCM_IDLE;
		rc = make_ep(c, &c->conns[i]);
	}
	c->total.ep_create_ns += dt_now_ns() - start;
	return rc;
}

int dtcm_free_eps(struct dtcm *c, int rc)
{
	uint64_t start;

	/* What a datagram endpoint found goes with it. */
	if (rc && !c->o->ud)
		dtcm_hang_up(c);
	start = dt_now_ns();
	for (uint32_t i = 0; i < c->o->count; i++) {
		dt_doing("dat_ep_free");
		if (c->conns[i].ep == DAT_HANDLE_NULL)
			continue;
		rc = dt_run_freed(&c->run, rc, dat_ep_free(c->conns[i].ep),
				  "dat_ep_free");
		c->conns[i].ep = DAT_HANDLE_NULL;
	}
	c->total.ep_free_ns += dt_now_ns() - start;
	return rc;
}

static void refuse_requests(struct dtcm *c)
{
	for (; c->request_count; c->request_count--) {
		dat_cr_reject(c->requests[c->request_first], 0, NULL);
		c->request_first = (c->request_first + 1) % (2 * c->o->count);
	}
}

int dtcm_close(struct dtcm *c, int rc)
{
	/* Nobody may ask any more before the requests are looked at. */
	for (uint32_t i = 0; i < c->psp_count; i++)
		rc = dt_run_freed(&c->run, rc, dat_psp_free(c->psps[i]),
				  "dat_psp_free");
	refuse_requests(c);
	rc = dt_run_free_evd(&c->run, &c->cm_evd, rc);
	rc = dt_run_free_evd(&c->run, &c->req_evd, rc);
	rc = dt_run_free_evd(&c->run, &c->rcv_evd, rc);
	rc = dt_run_close(&c->run, rc);
	dt_samples_fini(&c->connects);
	dt_samples_fini(&c->leaves);
	free(c->requests);
	free(c->conns);
	free(c->psps);
	return rc;
}
