/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_test_face.h - the version of DAT that a test is compiled for.
 *
 * One source of tests for both: what they write into a dat.conf and which codes
 * they expect. Does not know which calls a version has; a test of one that only
 * one has stands between #ifdef DAT_FACE_1 or #ifndef.
 * Threads, ownership: nothing here has any.
 * Rule: codes are written as the numbers of 2.0; 1.2 has no CSP and no SRQ that
 * is shut down, so that what comes behind their subtypes has smaller ones.
 */
#ifndef DAT_TEST_FACE_H
#define DAT_TEST_FACE_H

#include "dat/common/dat_face.h"

#ifdef DAT_FACE_1
#define API	  "u1.2"
#define API_PLUS1 "u1.3"
#define API_PLUS2 "u1.4"
#define API_PLUS3 "u1.5"
#define API_OTHER "u2.0"
#define STUB_NAME "libdatstub1"
#define OWN_CMA	  "libdaplcma.so.1"
#define OTHER_CMA "libdaplofa.so.2"
#define OWN_UCM	  "libdaplucm.so.1"
#else
#define API	  "u2.0"
#define API_PLUS1 "u2.1"
#define API_PLUS2 "u2.2"
#define API_PLUS3 "u2.3"
#define API_OTHER "u1.2"
#define STUB_NAME "libdatstub"
#define OWN_CMA	  "libdaplofa.so.2"
#define OTHER_CMA "libdaplcma.so.1"
#define OWN_UCM	  "libdaploucm.so.2"
#endif

/* The version behind the letter. */
#define API_VERSION(api) ((api) + 1)

#define MAJOR	    DAT_VERSION_MAJOR
#define MAJOR_OTHER (3 - MAJOR)
#define MINOR	    DAT_VERSION_MINOR

static inline DAT_RETURN code(DAT_RETURN of_2_0)
{
#ifdef DAT_FACE_1
	DAT_RETURN subtype = DAT_GET_SUBTYPE(of_2_0);

	if (DAT_GET_TYPE(of_2_0) == 0x3fff0000)
		return 0xffff0000;
	return of_2_0 - (subtype > 26) - (subtype > 88);
#else
	return of_2_0;
#endif
}

#endif
