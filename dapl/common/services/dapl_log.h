/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_log.h - diagnostics: log lines on request, and the reason of a failure.
 *
 * The library prints nothing unless DAPL_DBG_TYPE asks for it. Independently
 * of that, the place that decides on a failure leaves one sentence behind with
 * dapl_fail(); a program fetches it with dat_error_detail().
 *
 * Any thread may call; errno is preserved; no lock of ours may be needed by
 * the callee except one leaf lock. Not for the data path.
 */
#ifndef DAPL_LOG_H
#define DAPL_LOG_H

#include <dat2/udat.h>
#include <stdbool.h>

#include "dapl/common/services/dapl_param.h"

/*
 * Message classes: the bits of DAPL_DBG_TYPE (doc/dapl-env.7), unchanged from
 * the historic library so that old instructions keep working. It has more, of
 * which there is nothing to say here.
 */
enum dapl_log_class {
	DAPL_LOG_ERR = 0x1,
	DAPL_LOG_WARN = 0x2,
	DAPL_LOG_CM = 0x8,
	DAPL_LOG_EP = 0x10,
	DAPL_LOG_UTIL = 0x20,
	DAPL_LOG_DTO_ERR = 0x80,
	DAPL_LOG_SRQ = 0x800,
	DAPL_LOG_CM_EST = 0x8000,
	DAPL_LOG_CM_WARN = 0x10000,
};

/*
 * Current mask; written at provider load and at each IA open, while other
 * threads log: hence the atomic load below.
 */
extern unsigned dapl__log_mask;

/* Whether messages of class CLS are wanted: one load that nothing orders. */
static inline bool dapl__log_wants(unsigned cls)
{
	return __atomic_load_n(&dapl__log_mask, __ATOMIC_RELAXED) & cls;
}

void dapl__log(unsigned cls, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Text is lower case, object first, "%m" for the system's error. */
#define dapl_log(cls, ...)                                     \
	do {                                                   \
		if (__builtin_expect(dapl__log_wants(cls), 0)) \
			dapl__log((cls), __VA_ARGS__);         \
	} while (0)

/* TEXT, a sentence, in class DAPL_LOG_WARN: for dapl_params_read(). */
void dapl__log_warn(const char *text);

/* DAPL_DBG_TYPE, DAPL_DBG_LEVEL, DAPL_DBG_DEST. */
extern const struct dapl_param_table dapl_log_param_table;
/* Reads these. PROVIDER is a literal. */
void dapl__log_setup(const char *provider);

/* From now on every failure has the reason WHY, a literal. */
void dapl__fail_always(const char *why);

/*
 * Stores the reason of a failure for the calling thread, logs it in class
 * DAPL_LOG_ERR, and returns RET, so that the deciding line reads
 *	return dapl_fail(DAT_CLASS_ERROR | ..., "ep %p: ...", ep);
 * The text says what is wrong and what to do about it, in one sentence.
 */
DAT_RETURN dapl_fail(DAT_RETURN ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

/*
 * The same below the objects, which speak errno: returns ERR, 0 or negative.
 * What DAT calls it is decided above (dapl_err_dat()).
 */
int dapl_fail_errno(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

/* The last text of dapl_fail() on this thread, "" before the first. */
const char *dapl__fail_text(void);

/*
 * The DAT_RETURN (error class set) for a negative errno of the layers below
 * the objects. 0 gives DAT_SUCCESS. No side effect.
 */
DAT_RETURN dapl_err_dat(int err);

#endif
