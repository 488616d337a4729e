/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_calls.h - the table of all calls. */
#ifndef DAPL_CALLS_H
#define DAPL_CALLS_H

#include <dat2/dat_registry.h>
#include <dat2/udat.h>

struct dapl_calls;

/* The template of all vectors. */
extern const DAT_PROVIDER dapl__vector;
/* That, and how it is made to count. */
extern const struct dapl_calls dapl__calls;

#endif
