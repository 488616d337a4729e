/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap.h - whose heap it is: a program that links heap.c has its allocator,
 * which keeps every block in a list with who asked for it, the object file that
 * called malloc() or its like. So what the libraries of DAT ask for is told
 * from what verbs below them do. Bytes are those asked for, without the
 * allocator's own.
 */
#ifndef HEAP_H
#define HEAP_H

#include <stdbool.h>

struct heap {
	double ours, below; /* the libraries'; that of verbs below them */
};

/* False: a sanitizer has the allocator. */
bool heap_known(void);
struct heap heap_now(void);

#endif
