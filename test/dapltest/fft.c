/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fft.c - the function test: choosing, running and judging cases.
 *
 * Does not know what the cases assert. Threads: one.
 * Ownership: see fft.h.
 * Rule: types of codes are compared, not codes: some providers leave out the
 * class bits or the subtype.
 */
#include "test/dapltest/fft.h"

#include "test/dtest/common/dt_watch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define EVD_LENGTH 10
#define LMR_SIZE   1024

static const char *type_name(DAT_RETURN ret)
{
	const char *major = NULL, *minor = NULL;

	dat_strerror(ret, &major, &minor);
	return major ? major : "unknown code";
}

bool fft_want(struct fft *f, DAT_RETURN got, DAT_RETURN want, const char *call,
	      const char *file, int line)
{
	if (DAT_GET_TYPE(got) == DAT_GET_TYPE(want))
		return true;
	f->failed = true;
	dt_line(&f->d->r, "%s: got %s, wanted %s; failed in file %s, line %d\n",
		call, type_name(got), type_name(want), file, line);
	return false;
}

static bool open_evds(struct fft *f)
{
	static const struct {
		size_t at;
		unsigned int flags;
	} evds[] = {
		{offsetof(struct fft, dto_evd), DAT_EVD_DTO_FLAG},
		{offsetof(struct fft, req_evd),
		 DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG},
		{offsetof(struct fft, conn_evd), DAT_EVD_CONNECTION_FLAG},
		{offsetof(struct fft, cr_evd), DAT_EVD_CR_FLAG},
	};

	for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
		DAT_EVD_HANDLE *evd = (void *)((char *)f + evds[i].at);

		if (!FFT_WANT(f, DAT_SUCCESS,
			      dat_evd_create(f->ia, EVD_LENGTH, DAT_HANDLE_NULL,
					     (DAT_EVD_FLAGS)evds[i].flags,
					     evd)))
			return false;
	}
	return true;
}

DAT_RETURN fft_register(struct fft *f, DAT_PZ_HANDLE pz, void *base,
			DAT_VLEN length)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = base};
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR reg_address;
	DAT_VLEN reg_length;
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = face_lmr_create(f->ia, DAT_MEM_TYPE_VIRTUAL, desc, length, pz,
			      DAT_MEM_PRIV_ALL_FLAG, &lmr, &f->lmr_context,
			      &rmr_context, &reg_length, &reg_address);
	if (ret == DAT_SUCCESS)
		f->lmr = lmr;
	return ret;
}

static bool open_lmr(struct fft *f)
{
	f->buffer = calloc(1, LMR_SIZE);
	if (!f->buffer) {
		f->failed = true;
		dt_line(&f->d->r, "no memory\n");
		return false;
	}
	return FFT_WANT(f, DAT_SUCCESS,
			fft_register(f, f->pz, f->buffer, LMR_SIZE));
}

bool fft_open(struct fft *f, unsigned int parts)
{
	bool ok;

	ok = FFT_WANT(f, DAT_SUCCESS,
		      dat_ia_open((DAT_NAME_PTR)(uintptr_t)f->d->o->device,
				  EVD_LENGTH, &f->async, &f->ia));
	if (ok && (parts & (FFT_PZ | FFT_EP | FFT_LMR)))
		ok = FFT_WANT(f, DAT_SUCCESS, dat_pz_create(f->ia, &f->pz));
	if (ok && (parts & FFT_CNO))
		ok = FFT_WANT(f, DAT_SUCCESS,
			      dat_cno_create(f->ia,
					     DAT_OS_WAIT_PROXY_AGENT_NULL,
					     &f->cno));
	if (ok && (parts & (FFT_EVDS | FFT_EP)))
		ok = open_evds(f);
	if (ok && (parts & FFT_EP))
		ok = FFT_WANT(f, DAT_SUCCESS,
			      dat_ep_create(f->ia, f->pz, f->dto_evd,
					    f->req_evd, f->conn_evd, NULL,
					    &f->ep));
	if (ok && (parts & FFT_LMR))
		ok = open_lmr(f);
	return ok;
}

static void free_objects(struct fft *f)
{
	if (f->rmr)
		FFT_WANT(f, DAT_SUCCESS, dat_rmr_free(f->rmr));
	if (f->psp)
		FFT_WANT(f, DAT_SUCCESS, dat_psp_free(f->psp));
	if (f->rsp)
		FFT_WANT(f, DAT_SUCCESS, dat_rsp_free(f->rsp));
	if (f->ep)
		FFT_WANT(f, DAT_SUCCESS, dat_ep_free(f->ep));
	if (f->lmr)
		FFT_WANT(f, DAT_SUCCESS, dat_lmr_free(f->lmr));
	if (f->pz)
		FFT_WANT(f, DAT_SUCCESS, dat_pz_free(f->pz));
}

static void free_evds(struct fft *f)
{
	DAT_EVD_HANDLE evds[] = {f->dto_evd, f->req_evd, f->conn_evd,
				 f->cr_evd};
	DAT_EVENT event;

	for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
		if (!evds[i])
			continue;
		while (dat_evd_dequeue(evds[i], &event) == DAT_SUCCESS)
			;
		FFT_WANT(f, DAT_SUCCESS, dat_evd_free(evds[i]));
	}
	if (f->cno)
		FFT_WANT(f, DAT_SUCCESS, dat_cno_free(f->cno));
}

enum fft_verdict fft_close(struct fft *f)
{
	free_objects(f);
	free_evds(f);
	if (f->ia)
		FFT_WANT(f, DAT_SUCCESS,
			 dat_ia_close(f->ia,
				      f->failed ? DAT_CLOSE_ABRUPT_FLAG
						: DAT_CLOSE_GRACEFUL_FLAG));
	free(f->buffer);
	return f->failed ? FFT_FAIL : FFT_PASS;
}

static void report(struct dpt *d, const struct fft_case *c,
		   enum fft_verdict verdict)
{
	char op[24];
	struct dt_result res;

	snprintf(op, sizeof(op), "%s case%d", c->feature, c->number);
	if (verdict == FFT_UNSUPP) {
		dt_report_skipped(&d->r, "function", op,
				  "the adapter does not have it");
		return;
	}
	/* No table: a case has no figures. */
	dt_result_begin(&res, DT_NO_FIGURES, "function", op);
	if (verdict == FFT_FAIL)
		res.result = "FAILED";
	dt_report_result(&d->r, &res);
}

static int run_case(struct dpt *d, const struct fft_case *c)
{
	static const char *const words[] = {"PASS", "FAIL", "UNSUPP"};
	struct fft f = {.d = d};
	enum fft_verdict verdict;

	dt_line(&d->r,
		"*******************************************************"
		"***************\nFunction Feature: %s, case%d\n%s\n",
		c->feature, c->number, c->text);
	dt_doing(c->text);
	verdict = c->run(&f);
	dt_line(&d->r, "Result: %s\n", words[verdict]);
	report(d, c, verdict);
	if (verdict == FFT_FAIL)
		return dt_fail(&d->r, DT_FAILED, "%s case%d: %s", c->feature,
			       c->number, c->text);
	return 0;
}

static bool is_feature(const struct dpt *d, const struct fft_case *c)
{
	return !strcmp(c->feature, d->o->feature);
}

/* The number of "caseN", or -1. */
static int case_number(const char *word)
{
	if (strncmp(word, "case", 4) || !isdigit((unsigned char)word[4]) ||
	    strlen(word) > 6)
		return -1;
	return atoi(word + 4);
}

static bool is_wanted(const struct dpt *d, const struct fft_case *c)
{
	for (int i = 0; i < d->o->word_count; i++)
		if (case_number(d->o->words[i]) == c->number)
			return true;
	return !d->o->word_count;
}

static int check_names(struct dpt *d)
{
	int cases = 0;

	for (const struct fft_case *c = fft_cases; c->feature; c++)
		cases += is_feature(d, c);
	if (!cases)
		return dt_fail(&d->r, DT_USAGE,
			       "-f %s: no such feature; '" DPT_TOOL
			       " -T F --help' "
			       "names them",
			       d->o->feature);
	for (int i = 0; i < d->o->word_count; i++) {
		int n = case_number(d->o->words[i]);

		if (n < 0 || n >= cases)
			return dt_fail(
				&d->r, DT_USAGE, "'%s': %s has case0 to case%d",
				d->o->words[i], d->o->feature, cases - 1);
	}
	return 0;
}

int dpt_functions(struct dpt *d)
{
	int rc = check_names(d), first = 0;

	/* Whether there is an adapter at all. */
	if (!rc)
		rc = dpt_open(d);
	rc = dpt_close(d, rc);
	if (rc)
		return rc;
	for (const struct fft_case *c = fft_cases; c->feature; c++) {
		if (!is_feature(d, c) || !is_wanted(d, c))
			continue;
		if (dt_stopped())
			return dt_fail(&d->r, DT_INTERRUPTED, "interrupted");
		rc = run_case(d, c);
		first = first ? first : rc;
	}
	return first;
}
