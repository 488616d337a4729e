/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * old.c: a program of an administrator's, compiled and linked with the packages
 * of 2.1.10.1 and run, unchanged, over those and over ours. It prints what
 * both must answer alike. With a name it opens that adapter, too.
 */
#include <dat2/udat.h>
#include <stdio.h>

static const char *major(DAT_RETURN ret)
{
	const char *text = "?", *minor = "?";

	dat_strerror(ret, &text, &minor);
	return text;
}

static int open_one(DAT_NAME_PTR name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;

	ret = dat_ia_open(name, 8, &async, &ia);
	printf("open %s: %s\n", name, major(ret));
	if (ret != DAT_SUCCESS)
		return 1;
	printf("pz: %s\n", major(dat_pz_create(ia, &pz)));
	printf("pz free: %s\n", major(dat_pz_free(pz)));
	printf("close: %s\n", major(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG)));
	return 0;
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	printf("no such name: %s\n",
	       major(dat_ia_open("no such adapter", 8, &async, &ia)));
	printf("no handle: %s\n",
	       major(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG)));
	return argc > 1 ? open_one(argv[1]) : 0;
}
