/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_likely.h - which way the data path goes. */
#ifndef DAPL_LIKELY_H
#define DAPL_LIKELY_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
