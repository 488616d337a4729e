/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fft_cases.c - the cases of the function test.
 *
 * Each says in the table what must hold. Does not compare subtypes.
 * Threads: one. Ownership: a case frees what it makes, by fft_close().
 * Rule: features and numbers of the historic tool. Two of its cases did not
 * do what they said (mem 3 and 4), one was left out (queryinfo 5); here they
 * do.
 */
#include "test/dapltest/fft.h"

#include <string.h>

#define EVD_LENGTH 10
#define WAIT_US	   10000

/* For what takes some time on a device. */
static DAT_TIMEOUT patience_us(const struct fft *f)
{
	return (DAT_TIMEOUT)(f->d->limit_ns / DT_NS_PER_US);
}

static enum fft_verdict hwconn_0(struct fft *f)
{
	if (fft_open(f, FFT_IA) &&
	    FFT_WANT(f, DAT_SUCCESS,
		     dat_ia_close(f->ia, DAT_CLOSE_ABRUPT_FLAG)))
		f->ia = DAT_HANDLE_NULL;
	return fft_close(f);
}

static enum fft_verdict hwconn_1(struct fft *f)
{
	static const char *const names[] = {"40", "x", "xsdf", "x34", "34df"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		FFT_WANT(f, DAT_PROVIDER_NOT_FOUND,
			 dat_ia_open((DAT_NAME_PTR)(uintptr_t)names[i],
				     EVD_LENGTH, &async, &ia));
	}
	return fft_close(f);
}

static enum fft_verdict hwconn_2(struct fft *f)
{
	FFT_WANT(f, DAT_INVALID_HANDLE,
		 dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG));
	return fft_close(f);
}

static enum fft_verdict hwconn_3(struct fft *f)
{
	struct fft gone = {.d = f->d};

	if (!fft_open(f, FFT_EP))
		return fft_close(f);
	FFT_WANT(f, DAT_SUCCESS, dat_ia_close(f->ia, DAT_CLOSE_ABRUPT_FLAG));
	/* All of it went with the adapter. */
	gone.failed = f->failed;
	return fft_close(&gone);
}

static enum fft_verdict endpoint_0(struct fft *f)
{
	fft_open(f, FFT_EP);
	return fft_close(f);
}

static enum fft_verdict endpoint_1(struct fft *f)
{
	DAT_PZ_HANDLE freed;
	DAT_EP_HANDLE ep;

	if (!fft_open(f, FFT_PZ | FFT_EVDS))
		return fft_close(f);
	freed = f->pz;
	FFT_WANT(f, DAT_SUCCESS, dat_pz_free(f->pz));
	f->pz = DAT_HANDLE_NULL;
	FFT_WANT(f, DAT_INVALID_HANDLE,
		 dat_ep_create(f->ia, freed, f->dto_evd, f->req_evd,
			       f->conn_evd, NULL, &ep));
	return fft_close(f);
}

static enum fft_verdict endpoint_2(struct fft *f)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	DAT_LMR_TRIPLET iov = {.segment_length = 64};

	if (fft_open(f, FFT_EP | FFT_LMR)) {
		iov.virtual_address = (DAT_VADDR)(uintptr_t)f->buffer;
		iov.lmr_context = f->lmr_context;
		FFT_WANT(f, DAT_SUCCESS,
			 dat_ep_post_recv(f->ep, 1, &iov, cookie,
					  DAT_COMPLETION_DEFAULT_FLAG));
	}
	return fft_close(f);
}

static enum fft_verdict pz_0(struct fft *f)
{
	fft_open(f, FFT_PZ);
	return fft_close(f);
}

static enum fft_verdict pz_1(struct fft *f)
{
	if (fft_open(f, FFT_EP))
		FFT_WANT(f, DAT_INVALID_STATE, dat_pz_free(f->pz));
	return fft_close(f);
}

static enum fft_verdict pz_2(struct fft *f)
{
	if (fft_open(f, FFT_LMR))
		FFT_WANT(f, DAT_INVALID_STATE, dat_pz_free(f->pz));
	return fft_close(f);
}

static enum fft_verdict mem_0(struct fft *f)
{
	fft_open(f, FFT_LMR);
	return fft_close(f);
}

static enum fft_verdict mem_1(struct fft *f)
{
	DAT_LMR_HANDLE first;

	if (!fft_open(f, FFT_LMR))
		return fft_close(f);
	first = f->lmr;
	if (FFT_WANT(f, DAT_SUCCESS, fft_register(f, f->pz, f->buffer, 1024)))
		FFT_WANT(f, DAT_SUCCESS, dat_lmr_free(first));
	return fft_close(f);
}

static enum fft_verdict mem_2(struct fft *f)
{
	if (fft_open(f, FFT_PZ))
		FFT_WANT(f, DAT_LENGTH_ERROR, fft_register(f, f->pz, NULL, 0));
	return fft_close(f);
}

static enum fft_verdict mem_3(struct fft *f)
{
	static uint8_t buffer[1024];

	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_INVALID_HANDLE,
			 fft_register(f, DAT_HANDLE_NULL, buffer,
				      sizeof(buffer)));
	return fft_close(f);
}

static enum fft_verdict mem_4(struct fft *f)
{
	FFT_WANT(f, DAT_INVALID_HANDLE, dat_lmr_free(DAT_HANDLE_NULL));
	return fft_close(f);
}

static bool listen_here(struct fft *f, DAT_PSP_FLAGS flags)
{
	return FFT_WANT(f, DAT_SUCCESS,
			dat_psp_create(f->ia, f->d->o->port, f->cr_evd, flags,
				       &f->psp));
}

static enum fft_verdict connmgt(struct fft *f, DAT_TIMEOUT timeout)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (fft_open(f, FFT_EVDS) && listen_here(f, DAT_PSP_CONSUMER_FLAG))
		FFT_WANT(f, DAT_TIMEOUT_EXPIRED,
			 dat_evd_wait(f->cr_evd, timeout, 1, &event, &more));
	return fft_close(f);
}

static enum fft_verdict connmgt_0(struct fft *f)
{
	return connmgt(f, WAIT_US);
}

static enum fft_verdict connmgt_1(struct fft *f)
{
	return connmgt(f, 0);
}

static enum fft_verdict query_0(struct fft *f)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_ia_query(f->ia, &f->async, DAT_IA_FIELD_ALL, &attr,
				      DAT_PROVIDER_FIELD_ALL, &provider));
	return fft_close(f);
}

static enum fft_verdict query_1(struct fft *f)
{
	DAT_CNO_PARAM param;

	if (fft_open(f, FFT_CNO))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_cno_query(f->cno, DAT_CNO_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_2(struct fft *f)
{
	DAT_EVD_PARAM param;

	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_evd_query(f->async, DAT_EVD_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_3(struct fft *f)
{
	DAT_PSP_PARAM param;

	if (fft_open(f, FFT_EVDS) && listen_here(f, DAT_PSP_PROVIDER_FLAG))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_psp_query(f->psp, DAT_PSP_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_4(struct fft *f)
{
	DAT_RSP_PARAM param;

	if (fft_open(f, FFT_EP) &&
	    FFT_WANT(f, DAT_SUCCESS,
		     dat_rsp_create(f->ia, f->d->o->port, f->ep, f->cr_evd,
				    &f->rsp)))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_rsp_query(f->rsp, DAT_RSP_FIELD_ALL, &param));
	return fft_close(f);
}

/* A request of this adapter's own. */
static bool request_to_self(struct fft *f, DAT_CR_HANDLE *ret_cr)
{
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;

	if (!FFT_WANT(f, DAT_SUCCESS,
		      dat_ia_query(f->ia, NULL, DAT_IA_FIELD_ALL, &attr,
				   DAT_PROVIDER_FIELD_NONE, NULL)) ||
	    !FFT_WANT(f, DAT_SUCCESS,
		      dat_ep_connect(f->ep, attr.ia_address_ptr, f->d->o->port,
				     patience_us(f), 0, NULL,
				     DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG)) ||
	    !FFT_WANT(
		    f, DAT_SUCCESS,
		    dat_evd_wait(f->cr_evd, patience_us(f), 1, &event, &more)))
		return false;
	*ret_cr = event.event_data.cr_arrival_event_data.cr_handle;
	return true;
}

static enum fft_verdict query_5(struct fft *f)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_COUNT more;

	if (fft_open(f, FFT_EP) && listen_here(f, DAT_PSP_CONSUMER_FLAG) &&
	    request_to_self(f, &cr)) {
		FFT_WANT(f, DAT_SUCCESS,
			 dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		FFT_WANT(f, DAT_SUCCESS, face_cr_reject(cr));
		FFT_WANT(f, DAT_SUCCESS,
			 dat_evd_wait(f->conn_evd, patience_us(f), 1, &event,
				      &more));
	}
	return fft_close(f);
}

static enum fft_verdict query_6(struct fft *f)
{
	DAT_EP_PARAM param;

	if (fft_open(f, FFT_EP))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_ep_query(f->ep, DAT_EP_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_7(struct fft *f)
{
	DAT_PZ_PARAM param;

	if (fft_open(f, FFT_PZ))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_pz_query(f->pz, DAT_PZ_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_8(struct fft *f)
{
	DAT_LMR_PARAM param;

	if (fft_open(f, FFT_LMR))
		FFT_WANT(f, DAT_SUCCESS,
			 dat_lmr_query(f->lmr, DAT_LMR_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_9(struct fft *f)
{
	DAT_RMR_PARAM param;
	enum fft_verdict verdict;
	bool there = false;

	if (fft_open(f, FFT_PZ)) {
		there = dat_rmr_create(f->pz, &f->rmr) == DAT_SUCCESS;
		if (!there)
			f->rmr = DAT_HANDLE_NULL;
	}
	if (there)
		FFT_WANT(
			f, DAT_SUCCESS,
			dat_rmr_query(
				f->rmr,
				(DAT_RMR_PARAM_MASK)(DAT_RMR_FIELD_ALL &
						     ~DAT_RMR_FIELD_LMR_TRIPLET),
				&param));
	verdict = fft_close(f);
	return verdict == FFT_PASS && !there ? FFT_UNSUPP : verdict;
}

static enum fft_verdict query_10(struct fft *f)
{
	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_INVALID_PARAMETER,
			 dat_ia_query(f->ia, NULL, DAT_IA_FIELD_ALL, NULL,
				      DAT_PROVIDER_FIELD_NONE, NULL));
	return fft_close(f);
}

static enum fft_verdict query_11(struct fft *f)
{
	DAT_IA_ATTR attr;

	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_INVALID_HANDLE,
			 dat_ia_query(f->async, NULL, DAT_IA_FIELD_ALL, &attr,
				      DAT_PROVIDER_FIELD_NONE, NULL));
	return fft_close(f);
}

static enum fft_verdict query_12(struct fft *f)
{
	if (fft_open(f, FFT_CNO))
		FFT_WANT(f, DAT_INVALID_PARAMETER,
			 dat_cno_query(f->cno, DAT_CNO_FIELD_ALL, NULL));
	return fft_close(f);
}

static enum fft_verdict query_13(struct fft *f)
{
	DAT_CNO_PARAM param;

	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_INVALID_HANDLE,
			 dat_cno_query(f->async, DAT_CNO_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_14(struct fft *f)
{
	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_INVALID_PARAMETER,
			 dat_evd_query(f->async, DAT_EVD_FIELD_ALL, NULL));
	return fft_close(f);
}

static enum fft_verdict query_15(struct fft *f)
{
	DAT_EVD_PARAM param;

	if (fft_open(f, FFT_PZ))
		FFT_WANT(f, DAT_INVALID_HANDLE,
			 dat_evd_query(f->pz, DAT_EVD_FIELD_ALL, &param));
	return fft_close(f);
}

static enum fft_verdict query_16(struct fft *f)
{
	if (fft_open(f, FFT_EVDS) && listen_here(f, DAT_PSP_CONSUMER_FLAG))
		FFT_WANT(f, DAT_INVALID_PARAMETER,
			 dat_psp_query(f->psp, DAT_PSP_FIELD_ALL, NULL));
	return fft_close(f);
}

static enum fft_verdict query_17(struct fft *f)
{
	DAT_PSP_PARAM param;

	if (fft_open(f, FFT_IA))
		FFT_WANT(f, DAT_INVALID_HANDLE,
			 dat_psp_query(f->async, DAT_PSP_FIELD_ALL, &param));
	return fft_close(f);
}

/* clang-format off */
const struct fft_case fft_cases[] = {
	{"hwconn", 0, "open and abrupt close succeed", hwconn_0},
	{"hwconn", 1, "opening unknown names gives PROVIDER_NOT_FOUND",
	 hwconn_1},
	{"hwconn", 2, "closing a null handle gives INVALID_HANDLE", hwconn_2},
	{"hwconn", 3, "abrupt close with objects alive succeeds", hwconn_3},
	{"endpoint", 0, "an EP is made and freed", endpoint_0},
	{"endpoint", 1, "an EP on a freed PZ gives INVALID_HANDLE", endpoint_1},
	{"endpoint", 2, "an EP with a posted receive is freed", endpoint_2},
	{"pz", 0, "a PZ is made and freed", pz_0},
	{"pz", 1, "freeing a PZ with an EP gives INVALID_STATE", pz_1},
	{"pz", 2, "freeing a PZ with an LMR gives INVALID_STATE", pz_2},
	{"mem", 0, "1024 bytes are registered and deregistered", mem_0},
	{"mem", 1, "the same bytes are registered twice", mem_1},
	{"mem", 2, "registering no bytes is refused as such", mem_2},
	{"mem", 3, "registering with a null PZ gives INVALID_HANDLE", mem_3},
	{"mem", 4, "freeing a null LMR gives INVALID_HANDLE", mem_4},
	{"connmgt", 0, "waiting 10 ms for a request gives TIMEOUT_EXPIRED",
	 connmgt_0},
	{"connmgt", 1, "waiting 0 ms for a request gives TIMEOUT_EXPIRED",
	 connmgt_1},
	{"queryinfo", 0, "an IA is queried", query_0},
	{"queryinfo", 1, "a CNO is queried", query_1},
	{"queryinfo", 2, "an EVD is queried", query_2},
	{"queryinfo", 3, "a PSP is queried", query_3},
	{"queryinfo", 4, "an RSP is queried", query_4},
	{"queryinfo", 5, "a CR is queried", query_5},
	{"queryinfo", 6, "an EP is queried", query_6},
	{"queryinfo", 7, "a PZ is queried", query_7},
	{"queryinfo", 8, "an LMR is queried", query_8},
	{"queryinfo", 9, "an RMR is queried", query_9},
	{"queryinfo", 10, "IA, no result: INVALID_PARAMETER", query_10},
	{"queryinfo", 11, "IA, another handle: INVALID_HANDLE", query_11},
	{"queryinfo", 12, "CNO, no result: INVALID_PARAMETER", query_12},
	{"queryinfo", 13, "CNO, another handle: INVALID_HANDLE", query_13},
	{"queryinfo", 14, "EVD, no result: INVALID_PARAMETER", query_14},
	{"queryinfo", 15, "EVD, another handle: INVALID_HANDLE", query_15},
	{"queryinfo", 16, "PSP, no result: INVALID_PARAMETER", query_16},
	{"queryinfo", 17, "PSP, another handle: INVALID_HANDLE", query_17},
	{NULL, 0, NULL, NULL},
};
/* clang-format on */
