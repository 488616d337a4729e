/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * adapter.c - the adapter of a run, and objects that belong to no connection.
 *
 * Does not connect. Threads: dpt_open() and dpt_close() one, the others any.
 * Ownership: makers fill in a handle that the matching release sets back;
 * releasing what is not there does nothing, so errors need no path of their
 * own.
 * Rule: see dapltest.h.
 */
#include "test/dapltest/dapltest.h"

#include "test/dtest/common/dt_oob.h"
#include "test/dtest/common/dt_watch.h"

#include <stdlib.h>
#include <string.h>

#define PAGE	     4096
#define ASYNC_LENGTH 32

int dpt_failed(struct dpt *d, DAT_RETURN ret, const char *call,
	       const char *remedy)
{
	return dt_dat_fail(&d->r, DT_ENVIRONMENT, ret, call, remedy);
}

int dpt_freed(struct dpt *d, int rc, DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS || rc)
		return rc;
	return dt_dat_fail(&d->r, DT_FAILED, ret, call, NULL);
}

static int open_ia(struct dpt *d)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char call[DPT_NAME_SIZE + 24];
	DAT_RETURN ret;

	dt_doing("dat_ia_open");
	ret = dat_ia_open((DAT_NAME_PTR)(uintptr_t)d->o->device, ASYNC_LENGTH,
			  &async, &d->ia);
	if (ret == DAT_SUCCESS)
		return 0;
	d->ia = DAT_HANDLE_NULL;
	snprintf(call, sizeof(call), "dat_ia_open(%s)", d->o->device);
	return dt_dat_not_opened(&d->r, ret, call, NULL);
}

int dpt_open(struct dpt *d)
{
	DAT_PROVIDER_ATTR provider;
	const char *cm, *ud;
	DAT_RETURN ret;
	int rc = open_ia(d);

	if (rc)
		return rc;
	/* Old providers leave out members. */
	memset(&d->attr, 0, sizeof(d->attr));
	memset(&provider, 0, sizeof(provider));
	ret = dat_ia_query(d->ia, NULL, DAT_IA_FIELD_ALL, &d->attr,
			   DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret != DAT_SUCCESS)
		return dpt_failed(d, ret, "dat_ia_query", NULL);
	d->oob_port = d->o->oob_port;
	/* Its peers are queue pairs, of which no name service knows. */
	cm = dt_dat_attr(&provider, "DAT_IB_PROVIDER_NAME");
	if (!d->oob_port && cm && !strcmp(cm, "UCM"))
		d->oob_port = DT_OOB_PORT;
	ud = dt_dat_attr(&provider, "DAT_IB_UD");
	d->has_ud = ud && !strcmp(ud, "TRUE");
	d->attr.adapter_name[sizeof(d->attr.adapter_name) - 1] = 0;
	dt_report_provider(&d->r, d->o->device, d->attr.adapter_name);
	return 0;
}

int dpt_close(struct dpt *d, int rc)
{
	if (d->ia == DAT_HANDLE_NULL)
		return rc;
	dt_doing("dat_ia_close");
	/* After an error something may still be there. */
	rc = dpt_freed(d, rc,
		       dat_ia_close(d->ia, rc ? DAT_CLOSE_ABRUPT_FLAG
					      : DAT_CLOSE_GRACEFUL_FLAG),
		       "dat_ia_close");
	d->ia = DAT_HANDLE_NULL;
	return rc;
}

int dpt_pz_make(struct dpt *d, DAT_PZ_HANDLE *ret_pz)
{
	DAT_RETURN ret = dat_pz_create(d->ia, ret_pz);

	if (ret == DAT_SUCCESS)
		return 0;
	*ret_pz = DAT_HANDLE_NULL;
	return dpt_failed(d, ret, "dat_pz_create", NULL);
}

int dpt_pz_free(struct dpt *d, DAT_PZ_HANDLE *pz, int rc)
{
	if (*pz != DAT_HANDLE_NULL)
		rc = dpt_freed(d, rc, dat_pz_free(*pz), "dat_pz_free");
	*pz = DAT_HANDLE_NULL;
	return rc;
}

int dpt_evd_make(struct dpt *d, uint32_t length, DAT_EVD_FLAGS flags,
		 DAT_EVD_HANDLE *ret_evd)
{
	DAT_RETURN ret;

	dt_doing("dat_evd_create");
	ret = dat_evd_create(d->ia, (DAT_COUNT)length, DAT_HANDLE_NULL, flags,
			     ret_evd);
	if (ret == DAT_SUCCESS)
		return 0;
	*ret_evd = DAT_HANDLE_NULL;
	return dpt_failed(d, ret, "dat_evd_create", NULL);
}

int dpt_evd_free(struct dpt *d, DAT_EVD_HANDLE *evd, int rc)
{
	DAT_EVENT event;

	if (*evd == DAT_HANDLE_NULL)
		return rc;
	dt_doing("dat_evd_free");
	/* Flushed receives; bounded, since nothing new can come. */
	for (int i = 0; i < 100000; i++)
		if (dat_evd_dequeue(*evd, &event) != DAT_SUCCESS)
			break;
	rc = dpt_freed(d, rc, dat_evd_free(*evd), "dat_evd_free");
	*evd = DAT_HANDLE_NULL;
	return rc;
}

int dpt_region_make(struct dpt *d, DAT_PZ_HANDLE pz, size_t length,
		    struct dpt_region *region)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN reg_length;
	DAT_VADDR reg_address;
	DAT_RETURN ret;
	void *base;

	if (posix_memalign(&base, PAGE, length))
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "no memory for %zu bytes; use smaller or fewer "
			       "operations",
			       length);
	memset(base, 0, length);
	region->base = base;
	region->length = length;
	desc.for_va = base;
	dt_doing("dat_lmr_create");
	ret = face_lmr_create(d->ia, DAT_MEM_TYPE_VIRTUAL, desc, length, pz,
			      DAT_MEM_PRIV_ALL_FLAG, &region->lmr,
			      &region->lmr_context, &region->rmr_context,
			      &reg_length, &reg_address);
	if (ret == DAT_SUCCESS)
		return 0;
	region->lmr = DAT_HANDLE_NULL;
	return dpt_failed(d, ret, "dat_lmr_create",
			  "locked memory may be limited (ulimit -l)");
}

int dpt_region_free(struct dpt *d, struct dpt_region *region, int rc)
{
	dt_doing("dat_lmr_free");
	if (region->base && region->lmr != DAT_HANDLE_NULL)
		rc = dpt_freed(d, rc, dat_lmr_free(region->lmr),
			       "dat_lmr_free");
	free(region->base);
	memset(region, 0, sizeof(*region));
	return rc;
}

bool dpt_rmr_works(struct dpt *d, DAT_PZ_HANDLE pz)
{
	DAT_RMR_HANDLE rmr;

	if (d->attr.max_rmrs > 0 && dat_rmr_create(pz, &rmr) == DAT_SUCCESS) {
		dat_rmr_free(rmr);
		return true;
	}
	dt_trace(&d->r,
		 "%d: no RMR on this adapter; peers get the LMR's context\n",
		 d->r.pid);
	return false;
}

static DAT_COUNT max_segments(const DAT_IA_ATTR *attr, enum dpt_op_type type)
{
	DAT_COUNT max =
		type == DPT_OP_READ    ? attr->max_iov_segments_per_rdma_read
		: type == DPT_OP_WRITE ? attr->max_iov_segments_per_rdma_write
				       : attr->max_iov_segments_per_dto;

	/* Old providers only know the common limit. */
	return max > 0 ? max : attr->max_iov_segments_per_dto;
}

bool dpt_op_fits(const struct dpt *d, const struct dpt_op *op, char *why,
		 size_t why_size)
{
	uint64_t bytes = dpt_op_bytes(op), room = dpt_stride(op) * op->segs;
	uint64_t most = op->type == DPT_OP_SEND ? d->attr.max_message_size
						: d->attr.max_rdma_size;
	DAT_COUNT segs = max_segments(&d->attr, op->type);

	why[0] = 0;
	if (segs > 0 && op->segs > (uint32_t)segs)
		snprintf(why, why_size,
			 "%s of %u segments: the adapter takes at most %d",
			 dpt_op_name(op->type), op->segs, segs);
	else if (most && bytes > most)
		snprintf(why, why_size,
			 "%s of %llu bytes: the adapter moves at most %llu",
			 dpt_op_name(op->type), (unsigned long long)bytes,
			 (unsigned long long)most);
	else if (d->attr.max_lmr_block_size &&
		 room > d->attr.max_lmr_block_size)
		snprintf(why, why_size,
			 "%s of %llu bytes: the adapter registers at most %llu",
			 dpt_op_name(op->type), (unsigned long long)bytes,
			 (unsigned long long)d->attr.max_lmr_block_size);
	return !why[0];
}
