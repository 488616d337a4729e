/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_likely.h - what the compiler is told about the data path. */
#ifndef DAPL_LIKELY_H
#define DAPL_LIKELY_H

#include <stdbool.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * The pointer P is in a register now, and the compiler does not know how it got
 * there: it neither computes it again for each access nor keeps it for later.
 */
#define dapl_opaque(p) __asm__("" : "+r"(p))

/*
 * Where X is, for a path that is seldom taken: compilers would keep a register
 * for it on all others, too.
 */
#ifdef __x86_64__
#define dapl_where(x)                                          \
	({                                                     \
		__typeof__(x) *where_;                         \
		__asm__("lea %1, %0" : "=r"(where_) : "m"(x)); \
		where_;                                        \
	})
#else
#define dapl_where(x) (&(x))
#endif

/*
 * Whether *P, which others may be writing, is V: an atomic load, which
 * compilers do not make part of the comparison.
 */
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && \
	!defined(DAPL_LOADS_BY_NAME)
static inline bool dapl_loads_word(const uintptr_t *p, uintptr_t v)
{
	bool is;

	__asm__ volatile("cmp %2, %1" : "=@cce"(is) : "m"(*p), "r"(v));
	return is;
}

static inline bool dapl_loads_u32(const uint32_t *p, uint32_t v)
{
	bool is;

	__asm__ volatile("cmpl %2, %1" : "=@cce"(is) : "m"(*p), "ir"(v));
	return is;
}
#else
static inline bool dapl_loads_word(const uintptr_t *p, uintptr_t v)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED) == v;
}

static inline bool dapl_loads_u32(const uint32_t *p, uint32_t v)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED) == v;
}
#endif

#endif
