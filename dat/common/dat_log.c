/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_log.c - writes messages of the registry to where they are wanted.
 *
 * Does not look at the environment. One message is one write of one line, so
 * lines of several threads do not mix.
 * Threads: any; mask and destination are set once, by the library's
 * constructor.
 * Ownership: nothing is kept.
 * Rule: libdat2(7).
 */
#include "dat_log.h"

#include "dat_cancel.h"
#include "dat_face.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

unsigned dat_log_mask;
static unsigned dat_log_dest = DAT_LOG_STDOUT;

void dat_log_setup(unsigned mask, unsigned dest)
{
	dat_log_mask = mask;
	dat_log_dest = dest;
}

void dat_log_write(const char *fmt, ...)
{
	char text[1280];
	int saved_errno = errno;
	va_list args;
	DAT_NOT_CANCELLABLE;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (dat_log_dest & DAT_LOG_STDOUT) {
		printf(DAT_FACE_LIBRARY ": %s\n", text);
		fflush(stdout);
	}
	if (dat_log_dest & DAT_LOG_STDERR)
		fprintf(stderr, DAT_FACE_LIBRARY ": %s\n", text);
	if (dat_log_dest & DAT_LOG_SYSLOG)
		syslog(LOG_USER | LOG_DEBUG, DAT_FACE_LIBRARY ": %s", text);
	errno = saved_errno;
}
