/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_probe.c - opens an adapter and says what happened; for t_dat_env.sh.
 *
 * An ordinary program that uses the finished library, nothing more.
 * usage: dat_probe NAME
 *   prints "CODE MAJOR MINOR", then the reason, on standard error, so that
 *   what the library prints is alone on standard output.
 * One thread. Leaves the adapter open: ending like that must be harmless.
 */
#include "dat_stub.h"
#include "dat_test_face.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

DAT_STUB_COUNTERS;

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	const char *major;
	const char *minor;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (argc != 2)
		return 2;
	/* too late to have an effect */
	setenv("DAT_OVERRIDE", "/nonexistent/too-late", 1);
	setenv("DAT_DBG_TYPE", "0xff", 1);
	ret = dat_ia_open(argv[1], 8, &evd, &ia);
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "0x%08x %s %s\n%s\n", ret, major, minor,
		ret ? dat_error_detail() : "");
	return 0;
}
