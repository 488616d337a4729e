/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_calls.h - the table of all calls. */
#ifndef DAPL_CALLS_H
#define DAPL_CALLS_H

#include <dat2/dat_registry.h>
#include <dat2/udat.h>

/* The template of all vectors. */
extern const DAT_PROVIDER dapl__vector;

#endif
