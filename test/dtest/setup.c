/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * setup.c - the DAT objects and buffers of dtest.
 *
 * Does not connect. Threads: one.
 * Ownership: all is in struct dtest, zero means "not there"; dtest_close()
 * releases in reverse whatever was made, so errors need no path of their own.
 * Rule: kinds and sizes as the historic tool has them where the peer could
 * notice; buffers only as large as what is in flight at once.
 */
#include "test/dtest/dtest.h"

#include <inttypes.h>
#include <string.h>

#define PAGE	     4096
#define ASYNC_LENGTH 8
#define EVD_SPARE    8

#define ALL_PRIVILEGES DAT_MEM_PRIV_ALL_FLAG

/* What is in flight at once, by mode. */
struct depths {
	uint32_t send, recv, tokens;
	size_t rbuf;
};

static struct depths depths(const struct dtest_opts *o)
{
	size_t size = o->size;

	switch (o->mode) {
	case DTEST_ALL:
		return (struct depths){DTEST_PINGS, DTEST_SLOTS, DTEST_TOKENS,
				       size * DTEST_SLOTS};
	case DTEST_PERF:
		/* Its own tokens come among the other messages. */
		return (struct depths){o->depth, dtest_perf_slots(o), 1,
				       dtest_perf_bytes(o)};
	default:
		return (struct depths){o->signal, 1, DTEST_TOKENS, size};
	}
}

static uint32_t recv_depth(const struct dtest *d)
{
	return DTEST_TOKENS + depths(d->o).recv;
}

static uint32_t send_depth(const struct dtest *d)
{
	return DTEST_SQ_SPARE + depths(d->o).send;
}

/* The largest message the adapter takes is smaller than -b, or the like. */
static int check_limits(struct dtest *d)
{
	const DAT_IA_ATTR *ia = &d->run.attr;
	uint32_t size = d->o->size;

	if ((ia->max_rdma_size && size > ia->max_rdma_size) ||
	    (ia->max_message_size && size > ia->max_message_size))
		return dt_fail(&d->run.r, DT_USAGE,
			       "-b %u: this adapter takes at most %" PRIu64
			       " bytes of RDMA and %" PRIu64 " of a message",
			       size, (uint64_t)ia->max_rdma_size,
			       (uint64_t)ia->max_message_size);
	if (ia->max_dto_per_ep > 0 &&
	    send_depth(d) > (uint32_t)ia->max_dto_per_ep)
		return dt_fail(&d->run.r, DT_USAGE,
			       "this adapter queues at most %d requests; use a "
			       "smaller -S or --depth",
			       ia->max_dto_per_ep);
	return 0;
}

static int learn_abilities(struct dtest *d)
{
	/* Where there are no extensions, reads are not one of them. */
	d->read_ok =
		DAT_FACE == 1 || dt_run_attr_true(&d->run, "DAT_IB_RDMA_READ");
	d->immed_ok = dtest_immed_works(d);
	return check_limits(d);
}

static int make_data_regions(struct dtest *d)
{
	size_t r = depths(d->o).rbuf, s = d->o->size;
	int rc;

	rc = dt_run_make_region(&d->run, &d->rbuf, r < PAGE ? PAGE : r,
				ALL_PRIVILEGES);
	if (!rc)
		rc = dt_run_make_region(&d->run, &d->sbuf, s < PAGE ? PAGE : s,
					ALL_PRIVILEGES);
	if (!rc)
		dtest_fill_write(d);
	return rc;
}

static int make_cno(struct dtest *d)
{
	DAT_RETURN ret;

	if (d->o->wait != DT_WAIT_CNO)
		return 0;
	ret = DT_RUN_TIMED(&d->run, DT_RUN_CNO_CREATE,
			   dat_cno_create(d->run.ia,
					  DAT_OS_WAIT_PROXY_AGENT_NULL,
					  &d->cno));
	if (ret == DAT_SUCCESS)
		return 0;
	d->cno = DAT_HANDLE_NULL;
	return dt_run_failed(&d->run, ret, "dat_cno_create", NULL);
}

static int make_evds(struct dtest *d)
{
	int rc = make_cno(d);

	if (!rc)
		rc = dt_run_make_evd(&d->run, 10, DAT_HANDLE_NULL,
				     DAT_EVD_CR_FLAG, &d->cr_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, 10, DAT_HANDLE_NULL,
				     DAT_EVD_CONNECTION_FLAG, &d->conn_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, send_depth(d) + EVD_SPARE, d->cno,
				     DAT_EVD_DTO_FLAG, &d->req_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, recv_depth(d) + EVD_SPARE, d->cno,
				     DAT_EVD_DTO_FLAG, &d->rcv_evd);
	d->run.w.mode = d->o->wait;
	d->run.w.cno = d->cno;
	return rc;
}

static int make_ep(struct dtest *d)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = d->o->size > DTEST_MSG ? d->o->size : DTEST_MSG;
	attr.max_rdma_size = d->o->size;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = (DAT_COUNT)recv_depth(d);
	attr.max_request_dtos = (DAT_COUNT)send_depth(d);
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 1;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	ret = DT_RUN_TIMED(&d->run, DT_RUN_EP_CREATE,
			   dat_ep_create(d->run.ia, d->run.pz, d->rcv_evd,
					 d->req_evd, d->conn_evd, &attr,
					 &d->ep));
	if (ret == DAT_SUCCESS)
		return 0;
	d->ep = DAT_HANDLE_NULL;
	return dt_run_failed(&d->run, ret, "dat_ep_create", NULL);
}

/* Receives for RMR message and tokens, before there is a connection. */
static int make_messages(struct dtest *d)
{
	int rc;

	rc = dt_run_make_region(&d->run, &d->smsg, DTEST_MSG,
				DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (!rc)
		rc = dt_run_make_region(&d->run, &d->rmsg,
					DTEST_TOKENS * DTEST_MSG,
					DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	for (uint32_t i = 0; !rc && i < depths(d->o).tokens; i++)
		rc = dtest_post_recv(d, &d->rmsg, (size_t)i * DTEST_MSG,
				     DTEST_MSG, i);
	if (!rc && d->o->mode == DTEST_PERF)
		rc = dtest_perf_prepare(d);
	return rc;
}

static int make_objects(struct dtest *d)
{
	int rc = make_data_regions(d);

	if (!rc)
		rc = make_evds(d);
	if (!rc)
		rc = make_ep(d);
	if (!rc)
		rc = make_messages(d);
	return rc;
}

int dtest_open(struct dtest *d)
{
	int rc = 0;

	if (!d->run.server)
		rc = dtest_find_server(d);
	if (!rc)
		rc = dt_run_open(&d->run, ASYNC_LENGTH);
	if (!rc)
		rc = learn_abilities(d);
	if (!rc)
		rc = make_objects(d);
	return rc;
}

static int free_ends(struct dtest *d, int rc)
{
	if (d->psp != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc, dat_psp_free(d->psp),
				  "dat_psp_free");
	d->psp = DAT_HANDLE_NULL;
	if (d->ep != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc,
				  DT_RUN_TIMED(&d->run, DT_RUN_EP_FREE,
					       dat_ep_free(d->ep)),
				  "dat_ep_free");
	d->ep = DAT_HANDLE_NULL;
	rc = dt_run_free_evd(&d->run, &d->rcv_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->req_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->conn_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->cr_evd, rc);
	if (d->cno != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc,
				  DT_RUN_TIMED(&d->run, DT_RUN_CNO_FREE,
					       dat_cno_free(d->cno)),
				  "dat_cno_free");
	d->cno = DAT_HANDLE_NULL;
	return rc;
}

int dtest_close(struct dtest *d, int rc)
{
	dtest_hang_up(d);
	rc = free_ends(d, rc);
	rc = dt_run_free_region(&d->run, &d->rmsg, rc);
	rc = dt_run_free_region(&d->run, &d->smsg, rc);
	rc = dt_run_free_region(&d->run, &d->rbuf, rc);
	rc = dt_run_free_region(&d->run, &d->sbuf, rc);
	return dt_run_close(&d->run, rc);
}

static void print_reads(struct dtest *d)
{
	uint64_t total = 0;

	for (size_t i = 0; i < d->reads.count; i++)
		total += d->reads.ns[i];
	for (size_t i = 0; d->read_done && i < d->reads.count; i++)
		dt_line(&d->run.r,
			"%d: RDMA read:   Total=%11.2f usec, %3zu bursts, "
			"itime=%11.2f usec, pc=%" PRIu64 "\n",
			d->run.r.pid, dt_ns_to_us(total), d->reads.count,
			dt_ns_to_us(d->reads.ns[i]), d->read_polls);
}

void dtest_print_times(struct dtest *d)
{
	static const char *const names[DT_RUN_TIME_N] = {
		[DT_RUN_OPEN] = "open:",
		[DT_RUN_CLOSE] = "close:",
		[DT_RUN_PZ_CREATE] = "PZ create:",
		[DT_RUN_PZ_FREE] = "PZ free:",
		[DT_RUN_LMR_CREATE] = "LMR create:",
		[DT_RUN_LMR_FREE] = "LMR free:",
		[DT_RUN_EVD_CREATE] = "EVD create:",
		[DT_RUN_EVD_FREE] = "EVD free:",
		[DT_RUN_CNO_CREATE] = "CNO create:",
		[DT_RUN_CNO_FREE] = "CNO free:",
		[DT_RUN_EP_CREATE] = "EP create:",
		[DT_RUN_EP_FREE] = "EP free:",
		[DT_RUN_CONNECT] = "connect:",
	};
	char polls[40] = ""; /* CONNECT is the last of them */
	uint64_t total = 0;

	print_reads(d);
	for (int i = 0; i < DT_RUN_TIME_N; i++) {
		bool cno = i == DT_RUN_CNO_CREATE || i == DT_RUN_CNO_FREE;

		total += d->run.time_ns[i];
		if ((cno && d->o->wait != DT_WAIT_CNO) ||
		    (i == DT_RUN_CONNECT && d->run.server))
			continue;
		if (i == DT_RUN_CONNECT)
			snprintf(polls, sizeof(polls), ", poll_cnt=%" PRIu64,
				 d->connect_polls);
		dt_line(&d->run.r, "%d: %-11s%10.2f usec%s\n", d->run.r.pid,
			names[i], dt_ns_to_us(d->run.time_ns[i]), polls);
	}
	dt_line(&d->run.r, "%d: %-11s%10.2f usec\n", d->run.r.pid,
		"TOTAL:", dt_ns_to_us(total));
}
