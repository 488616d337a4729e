/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_detail.h - the reason why a call is about to fail.
 *
 * Does not choose return codes. The two calls that programs and providers
 * make, dat_error_detail() and dats_set_error_detail(), are in the public
 * headers.
 * Threads: any; each has its own text.
 * Ownership: texts are copied.
 * Rule: every failing registry or open call leaves a sentence that names the
 * object and the cause; libdat2(7).
 */
#ifndef DAT_DETAIL_H
#define DAT_DETAIL_H

#include "dat_face.h"
#include "dat_text.h"

/*
 * Stores the text for the calling thread, logs it as an error and returns RET
 * with the error class set.
 */
DAT_RETURN dat_fail(DAT_RETURN ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

#endif
