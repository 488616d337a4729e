/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_likely.h - what the compiler is told about the data path. */
#ifndef DAPL_LIKELY_H
#define DAPL_LIKELY_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * The pointer P is in a register now, and the compiler does not know how it got
 * there: it neither computes it again for each access nor keeps it for later.
 */
#define dapl_opaque(p) __asm__("" : "+r"(p))

#endif
