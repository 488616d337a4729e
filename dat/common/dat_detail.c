/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_detail.c - one text per thread: why its last failing call failed.
 *
 * Is not cleared by calls that succeed: those on the data path must not pay
 * for it. So the text belongs to the last call that had something to say.
 * Threads: thread-local, no lock.
 * Ownership: dat_error_detail() lends the thread's own buffer.
 * Rule: udat.h and dat_registry.h.
 */
#include "dat_detail.h"

#include "dat_log.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char detail[DAT_DETAIL_MAX];

const char *dat_error_detail(void)
{
	return detail;
}

void dats_set_error_detail(const char *text)
{
	size_t len = text ? strnlen(text, sizeof(detail) - 1) : 0;

	/* a provider may pass what dat_error_detail() gave it */
	if (len)
		memmove(detail, text, len);
	detail[len] = '\0';
}

/* Names come from files and programs; a terminal must not obey them. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

DAT_RETURN dat_fail(DAT_RETURN ret, const char *fmt, ...)
{
	char text[DAT_DETAIL_MAX];
	int saved_errno = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	make_printable(text);
	dats_set_error_detail(text);
	dat_log(DAT_LOG_ERROR, "%s", text);
	errno = saved_errno;
	return DAT_CLASS_ERROR | ret;
}
