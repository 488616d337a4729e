/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fft.h - the function test: small cases on one adapter, without a peer.
 *
 * Threads: one. Ownership: a case opens what it needs and fft_close() frees
 * what is left of it.
 * Rule: features, numbers and meaning of the historic tool; a case passes only
 * if all it asserts holds.
 */
#ifndef DAPLTEST_FFT_H
#define DAPLTEST_FFT_H

#include "test/dapltest/dapltest.h"

enum fft_verdict {
	FFT_PASS,
	FFT_FAIL,
	FFT_UNSUPP, /* this adapter or provider lacks it */
};

/* What fft_open() makes, each with what it needs. */
enum fft_part {
	FFT_IA = 0x1,
	FFT_PZ = 0x2,
	FFT_EVDS = 0x4,
	FFT_EP = 0x8,
	FFT_LMR = 0x10,
	FFT_CNO = 0x20,
};

struct fft {
	struct dpt *d;
	bool failed;
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE req_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE cr_evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_RMR_HANDLE rmr;
	uint8_t *buffer;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
};

struct fft_case {
	const char *feature;
	int number;
	const char *text; /* what must hold */
	enum fft_verdict (*run)(struct fft *f);
};

/* fft_cases.c: ends with an entry without feature. */
extern const struct fft_case fft_cases[];

/* Returns whether the call said what it should; a failure is shown. */
bool fft_want(struct fft *f, DAT_RETURN got, DAT_RETURN want, const char *call,
	      const char *file, int line);

#define FFT_WANT(f, want, call) \
	fft_want((f), (call), (want), #call, __FILE__, __LINE__)

/* Makes these parts. Returns false if it could not, which is a failure. */
bool fft_open(struct fft *f, unsigned int parts);
/* Registers memory; what fft_close() deregisters if that succeeds. */
DAT_RETURN fft_register(struct fft *f, DAT_PZ_HANDLE pz, void *base,
			DAT_VLEN length);
/* Frees all that is there; each free must succeed. The case's verdict. */
enum fft_verdict fft_close(struct fft *f);

#endif /* DAPLTEST_FFT_H */
