/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device_real.c - the suite on the devices that the machine has. It makes and
 * changes none. Any thread, owns nothing. See device_fake.c for the other one.
 */
#include "test/conform/conform.h"

bool conf_device(const char *kind)
{
	return !kind;
}

/* Nor are the libraries ours everywhere. */
bool conf_gives_reason(DAT_RETURN got)
{
	return true;
}
