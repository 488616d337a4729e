/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_lines.h - memory by cache lines, for what the data path touches: which
 * fields share a line is decided where the structure is, and asserted there.
 */
#ifndef DAPL_LINES_H
#define DAPL_LINES_H

#include <stdlib.h>
#include <string.h>

#define DAPL_CACHE_LINE 64

/* Zeroed memory of at least SIZE bytes that begins with a line; or NULL. */
static inline void *dapl_alloc_lines(size_t size)
{
	void *p;

	size = (size + DAPL_CACHE_LINE - 1) & ~(size_t)(DAPL_CACHE_LINE - 1);
	p = aligned_alloc(DAPL_CACHE_LINE, size);
	return p ? memset(p, 0, size) : NULL;
}

#endif
