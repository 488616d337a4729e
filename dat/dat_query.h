/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_query.h - operations of extensions that open or close something.
 *
 * Not for operations on open objects; dat_api_2.c redirects those.
 * Threads: any. No lock is held while a provider runs.
 * Ownership: what is opened holds its provider until it is closed.
 * Rule: DAT_IB_OPEN_QUERY_OP in dat_ib_extensions.h.
 */
#ifndef DAT_QUERY_H
#define DAT_QUERY_H

#include <dat2/udat.h>
#include <stdarg.h>

/* ARGS: name, pointer to the handle, then what only the provider knows. */
DAT_RETURN dat_query_open(DAT_EXTENDED_OP operation, va_list args);

/* HANDLE is what dat_query_open() stored. */
DAT_RETURN dat_query_close(DAT_HANDLE handle, DAT_EXTENDED_OP operation,
			   va_list args);

#endif
