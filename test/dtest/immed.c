/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * immed.c - RDMA writes with immediate data in dtest, an extension of DAT 2.0.
 *
 * Does not say when they are made. For DAT 1.2, which has no extensions, all of
 * it says so; nobody gets that far.
 * Threads: one. Ownership: buffers and handles are those of struct dtest.
 * Rule: the value is historic.
 */
#include "test/dtest/dtest.h"

#if DAT_FACE == 2

#include <dat2/dat_ib_extensions.h>

#define DATA 0x7777

bool dtest_immed_works(const struct dtest *d)
{
	const char *immed = dt_run_attr(&d->run, DAT_IB_ATTR_IMMED_DATA);

	return d->run.attr.extension_supported == DAT_EXTENSION_IB &&
	       (!immed || dt_run_attr_true(&d->run, DAT_IB_ATTR_IMMED_DATA));
}

int dtest_post_write_immed(struct dtest *d, uint64_t cookie, bool signalled)
{
	DAT_LMR_TRIPLET iov = dtest_segment(&d->sbuf, 0, d->o->size);
	DAT_DTO_COOKIE c = {.as_64 = cookie};
	DAT_RETURN ret;

	ret = dat_ib_post_rdma_write_immed(d->ep, 1, &iov, c, &d->peer, DATA,
					   dtest_flags(signalled));
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_post_rdma_write_immed",
				   "the device may lack immediate data");
	return 0;
}

int dtest_complete_immed(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
			 bool here, uint64_t cookie, const char *what)
{
	DAT_IB_EXT_TYPE type =
		here ? DAT_IB_RDMA_WRITE_IMMED : DAT_IB_RDMA_WRITE_IMMED_DATA;
	const DAT_IB_EXTENSION_EVENT_DATA *ext;
	DAT_EVENT event;
	int rc = dtest_next(d, evd, limit_ns, what, &event);

	if (rc)
		return rc;
	ext = (const void *)event.event_extension_data;
	if (event.event_number != (DAT_EVENT_NUMBER)DAT_IB_EXTENSION_RANGE_BASE)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: got %s (0x%x), expected an IB extension "
			       "event",
			       what, dt_event_name(event.event_number),
			       event.event_number);
	rc = dtest_check_dto(d, &event, cookie, d->o->size, what);
	if (rc)
		return rc;
	if (ext->status != DAT_OP_SUCCESS || ext->type != type)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: extension type %d status %d, expected type "
			       "%d",
			       what, ext->type, ext->status, type);
	if (!here && ext->val.immed.data != DATA)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: immediate data 0x%x, expected 0x%x", what,
			       ext->val.immed.data, DATA);
	return 0;
}

#else

static int none(struct dtest *d)
{
	return dt_fail(&d->run.r, DT_FAILED, "DAT 1.2 has no immediate data");
}

bool dtest_immed_works(const struct dtest *d)
{
	return false;
}

int dtest_post_write_immed(struct dtest *d, uint64_t cookie, bool signalled)
{
	return none(d);
}

int dtest_complete_immed(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
			 bool here, uint64_t cookie, const char *what)
{
	return none(d);
}

#endif
