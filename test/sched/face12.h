/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * face12.h - the calls of DAT 2.0, made as a program of DAT 1.2 makes them: so
 * scenarios, which are of 2.0, run through dapl/compat12.
 */
#ifndef SCHED_FACE12_H
#define SCHED_FACE12_H

#include <dat2/udat.h>

/* VECTOR with the calls of 1.2 in place of its own. */
const DAT_PROVIDER *face12(const DAT_PROVIDER *vector);

#endif
