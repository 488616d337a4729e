/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * setup.c - the DAT objects and buffers of dtestsrq.
 *
 * Does not connect. Threads: one.
 * Ownership: all is in struct dsrq, zero means "not there".
 * Rule: queues as long as a burst over all connections, which is what the
 * historic tool has; the buffers of a burst are all different.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestsrq/dtestsrq.h"

#include <stdlib.h>

#define EVD_SPARE 8

static int find_server(struct dsrq *d)
{
	struct dt_oob_params theirs;
	const char *why;
	int rc;

	if (d->o->direct)
		return dt_run_resolve(&d->run);
	rc = dt_run_ask(&d->run, &theirs);
	if (rc || d->run.o->qpn)
		return rc;
	why = dsrq_mismatch(d->o, &theirs);
	if (!why) {
		d->size = theirs.size;
		return 0;
	}
	dt_oob_decline(d->run.oob_conn, DT_OOB_MISMATCH);
	return dt_fail(&d->run.r, DT_MISMATCH,
		       "%s; give both sides the same options", why);
}

static int settle_size(struct dsrq *d)
{
	const DAT_IA_ATTR *ia = &d->run.attr;

	if (!d->size)
		d->size = d->o->size ? d->o->size : d->run.mtu;
	if (!d->size)
		d->size = DSRQ_SIZE;
	if (d->size < DSRQ_HEADER)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "messages of %u bytes are too short; give the "
			       "server a -b of %d or more",
			       d->size, DSRQ_HEADER);
	if (d->o->ud && d->run.mtu && d->size > d->run.mtu)
		return dt_fail(&d->run.r, DT_USAGE,
			       "-b %u: datagrams of this adapter are at most "
			       "%u bytes",
			       d->size, d->run.mtu);
	if (ia->max_message_size && d->size > ia->max_message_size)
		return dt_fail(&d->run.r, DT_USAGE,
			       "-b %u: this adapter takes messages of at most "
			       "%u bytes",
			       d->size, ia->max_message_size);
	return 0;
}

static int make_memory(struct dsrq *d)
{
	int rc;

	d->taken = calloc(d->slots, sizeof(*d->taken));
	if (!d->taken || dt_samples_init(&d->bursts, d->o->bursts))
		return dt_fail(&d->run.r, DT_ENVIRONMENT,
			       "no memory for %u receives", d->slots);
	rc = dt_run_make_region(
		&d->run, &d->rbuf, (size_t)d->slots * (d->grh + d->size),
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (!rc)
		rc = dt_run_make_region(&d->run, &d->sbuf,
					(size_t)d->flow * d->size,
					DAT_MEM_PRIV_LOCAL_READ_FLAG);
	return rc;
}

static int make_evds(struct dsrq *d)
{
	int rc;

	rc = dt_run_make_evd(
		&d->run, 3 * d->o->count + EVD_SPARE, DAT_HANDLE_NULL,
		DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &d->cm_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, d->flow + EVD_SPARE,
				     DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				     &d->req_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, d->slots + EVD_SPARE,
				     DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				     &d->rcv_evd);
	d->run.w.mode = d->o->poll ? DT_WAIT_POLL : DT_WAIT_EVENT;
	return rc;
}

static int make_srq(struct dsrq *d)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = (DAT_COUNT)d->flow,
		.max_recv_iov = 1,
	};
	DAT_RETURN ret;

	if (!d->o->srq)
		return 0;
	ret = dat_srq_create(d->run.ia, d->run.pz, &attr, &d->srq);
	if (ret == DAT_SUCCESS)
		return 0;
	d->srq = DAT_HANDLE_NULL;
	return dt_run_failed(&d->run, ret, "dat_srq_create",
			     "the provider may have none; -S 0 does without");
}

static int make_ep(struct dsrq *d, struct dsrq_ep *ep)
{
	uint32_t dtos = dsrq_shares_ep(d) ? d->flow : d->o->messages;
	DAT_EP_ATTR attr = {
		.service_type =
			d->o->ud ? (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD
				 : DAT_SERVICE_TYPE_RC,
		.max_message_size = d->size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = (DAT_COUNT)dtos,
		.max_request_dtos = (DAT_COUNT)dtos,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_RETURN ret;

	if (d->o->srq)
		ret = dat_ep_create_with_srq(d->run.ia, d->run.pz, d->rcv_evd,
					     d->req_evd, d->cm_evd, d->srq,
					     &attr, &ep->ep);
	else
		ret = dat_ep_create(d->run.ia, d->run.pz, d->rcv_evd,
				    d->req_evd, d->cm_evd, &attr, &ep->ep);
	if (ret == DAT_SUCCESS)
		return 0;
	ep->ep = DAT_HANDLE_NULL;
	return dt_run_failed(
		&d->run, ret,
		d->o->srq ? "dat_ep_create_with_srq" : "dat_ep_create", NULL);
}

static int make_eps(struct dsrq *d)
{
	int rc = make_srq(d);

	d->ep_count = dsrq_shares_ep(d) ? 1 : d->o->count;
	for (uint32_t i = 0; !rc && i < d->ep_count; i++)
		rc = make_ep(d, &d->eps[i]);
	for (uint32_t i = d->ep_count; !rc && i < d->o->count; i++)
		d->eps[i].ep = d->eps[0].ep;
	for (uint32_t i = 0; !rc && i < d->flow; i++)
		rc = dsrq_post_recv(d, i);
	/* Before anybody can connect and send. */
	return rc ? rc : dsrq_arm_low_water(d);
}

int dsrq_open(struct dsrq *d)
{
	int rc = d->run.server ? 0 : find_server(d);

	d->flow = d->o->count * d->o->messages;
	d->slots = d->o->resize > d->flow ? d->o->resize : d->flow;
	d->grh = d->o->ud ? DT_UD_GRH : 0;
	/* One event for each endpoint, all at once. */
	if (!rc)
		rc = dt_run_open(&d->run, d->o->count + EVD_SPARE);
	if (!rc && d->o->ud)
		rc = dt_ud_need(&d->run);
	if (!rc)
		rc = settle_size(d);
	if (!rc)
		rc = make_memory(d);
	if (!rc)
		rc = make_evds(d);
	if (!rc)
		rc = make_eps(d);
	return rc;
}

static int free_eps(struct dsrq *d, int rc)
{
	for (uint32_t i = 0; i < d->ep_count; i++) {
		if (d->eps[i].ep == DAT_HANDLE_NULL)
			continue;
		rc = dt_run_freed(&d->run, rc, dat_ep_free(d->eps[i].ep),
				  "dat_ep_free");
		d->eps[i].ep = DAT_HANDLE_NULL;
	}
	return rc;
}

int dsrq_close(struct dsrq *d, int rc)
{
	dsrq_hang_up(d);
	if (d->psp != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc, dat_psp_free(d->psp),
				  "dat_psp_free");
	rc = free_eps(d, rc);
	if (d->srq != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc, dat_srq_free(d->srq),
				  "dat_srq_free");
	d->psp = DAT_HANDLE_NULL;
	d->srq = DAT_HANDLE_NULL;
	rc = dt_run_free_evd(&d->run, &d->rcv_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->req_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->cm_evd, rc);
	rc = dt_run_free_region(&d->run, &d->rbuf, rc);
	rc = dt_run_free_region(&d->run, &d->sbuf, rc);
	rc = dt_run_close(&d->run, rc);
	dt_samples_fini(&d->bursts);
	free(d->taken);
	d->taken = NULL;
	return rc;
}
