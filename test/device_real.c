/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device_real.c - a program on the devices that the machine has. It makes and
 * changes none. Any thread, owns nothing. See device_fake.c for the other one.
 */
#include "test/device.h"

bool device_make(const char *kind)
{
	return !kind;
}
