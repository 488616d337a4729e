/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * analyse.h - what analysers, which see one file at a time, cannot know of the
 * core. `./run tidy` includes it before each source; nothing else does.
 */
#include "dapl/common/services/dapl_log.h"

/* What is passed through here is a failure. */
static inline int analyse__is_failure(long ret)
{
	if (!ret)
		__builtin_unreachable();
	return 1;
}

#define dapl_fail(ret, ...)                                                 \
	(analyse__is_failure((long)(ret)), (dapl_fail)((ret), __VA_ARGS__), \
	 (ret))
#define dapl_fail_errno(err, ...)                                           \
	(analyse__is_failure((err)), (dapl_fail_errno)((err), __VA_ARGS__), \
	 (err))
