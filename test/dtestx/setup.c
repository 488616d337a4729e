/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * setup.c - the DAT objects and buffers of dtestx.
 *
 * Does not connect. Threads: one.
 * Ownership: all is in struct dx, zero means "not there"; dx_close() releases
 * in reverse whatever was made, so errors need no path of their own.
 * Rule: as many buffers, receives and requests as the historic tool has.
 */
#include "test/dtestx/dtestx.h"

#include <dat2/dat_ib_extensions.h>
#include <inttypes.h>
#include <string.h>

#define ASYNC_LENGTH 8
#define DTOS	     10 /* requests, and receives, of the endpoint */
#define ATOMIC	     8	/* bytes */

/* What each buffer takes: atomics want theirs at a multiple of 8. */
static size_t stride(const struct dx *d)
{
	return ((size_t)d->o->size + 63) & ~(size_t)63;
}

uint8_t *dx_buffer(const struct dx *d, unsigned int which)
{
	return d->buffers.base + which * stride(d);
}

static int check_limits(struct dx *d)
{
	const DAT_IA_ATTR *ia = &d->run.attr;
	uint32_t size = d->o->size;

	if (ia->extension_supported != DAT_EXTENSION_IB)
		return dt_fail(&d->run.r, DT_ENVIRONMENT,
			       "%s has no InfiniBand extensions; iWARP "
			       "adapters never have",
			       d->run.provider);
	if ((ia->max_rdma_size && size > ia->max_rdma_size) ||
	    (ia->max_message_size && size > ia->max_message_size))
		return dt_fail(&d->run.r, DT_USAGE,
			       "-b %u: this adapter takes at most %" PRIu64
			       " bytes of RDMA and %" PRIu64 " of a message",
			       size, (uint64_t)ia->max_rdma_size,
			       (uint64_t)ia->max_message_size);
	return 0;
}

static int make_regions(struct dx *d)
{
	DAT_MEM_PRIV_FLAGS all = DAT_MEM_PRIV_ALL_FLAG;
	int rc;

	if (dt_run_attr_true(&d->run, DAT_IB_ATTR_CMP_AND_SWAP) ||
	    dt_run_attr_true(&d->run, DAT_IB_ATTR_FETCH_AND_ADD))
		all |= DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	rc = dt_run_make_region(&d->run, &d->buffers, DX_BUFFERS * stride(d),
				all);
	if (!rc)
		rc = dt_run_make_region(&d->run, &d->result, ATOMIC,
					DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	return rc;
}

static int make_evds(struct dx *d)
{
	int rc;

	rc = dt_run_make_evd(&d->run, 2, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
			     &d->cr_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, 2, DAT_HANDLE_NULL,
				     DAT_EVD_CONNECTION_FLAG, &d->conn_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, 2 * DTOS, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG, &d->dto_evd);
	return rc;
}

static int make_ep(struct dx *d)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = d->o->size;
	attr.max_rdma_size = d->o->size;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = DTOS;
	attr.max_request_dtos = DTOS;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	attr.max_rdma_read_in = 4; /* atomics are reads to the device */
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 1;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	ret = DT_RUN_TIMED(&d->run, DT_RUN_EP_CREATE,
			   dat_ep_create(d->run.ia, d->run.pz, d->dto_evd,
					 d->dto_evd, d->conn_evd, &attr,
					 &d->ep));
	if (ret == DAT_SUCCESS)
		return 0;
	d->ep = DAT_HANDLE_NULL;
	return dt_run_failed(&d->run, ret, "dat_ep_create", NULL);
}

int dx_open(struct dx *d)
{
	int rc = dt_run_open(&d->run, ASYNC_LENGTH);

	if (!rc)
		rc = check_limits(d);
	if (!rc)
		rc = make_regions(d);
	if (!rc)
		rc = make_evds(d);
	if (!rc)
		rc = make_ep(d);
	for (unsigned int i = DX_FIRST_RECV; !rc && i < DX_BUFFERS; i++)
		rc = dx_post_recv(d, i);
	return rc;
}

int dx_close(struct dx *d, int rc)
{
	dx_hang_up(d);
	if (d->psp != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc, dat_psp_free(d->psp),
				  "dat_psp_free");
	d->psp = DAT_HANDLE_NULL;
	if (d->ep != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc, dat_ep_free(d->ep),
				  "dat_ep_free");
	d->ep = DAT_HANDLE_NULL;
	rc = dt_run_free_evd(&d->run, &d->dto_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->conn_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->cr_evd, rc);
	rc = dt_run_free_region(&d->run, &d->result, rc);
	rc = dt_run_free_region(&d->run, &d->buffers, rc);
	return dt_run_close(&d->run, rc);
}
