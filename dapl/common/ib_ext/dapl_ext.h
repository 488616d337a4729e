/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ext.h - dat_extension_op(): the IB extension.
 *
 * One table of operations; an operation that is not in it answers
 * DAT_NOT_IMPLEMENTED.
 */
#ifndef DAPL_EXT_H
#define DAPL_EXT_H

#include <dat2/udat.h>
#include <stdarg.h>

/* Also exported from the plugin: old registries look for the symbol. */
DAT_EXPORT DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op,
				      va_list args);

/* dapl_ext_counters.c: four of its operations. */
DAT_RETURN dapl_ext_query_counters(DAT_HANDLE handle, va_list args);
DAT_RETURN dapl_ext_print_counters(DAT_HANDLE handle, va_list args);
DAT_RETURN dapl_ext_start_counters(DAT_HANDLE handle, va_list args);
DAT_RETURN dapl_ext_stop_counters(DAT_HANDLE handle, va_list args);

#endif
