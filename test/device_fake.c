/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device_fake.c - a program on the fake device: its own symbols stand in for
 * libibverbs and librdmacm below the providers that it loads. It does not touch
 * anything real. Called once in a process, before any DAT call, on the only
 * thread. The device goes with the process.
 * Rule: test/unit/fake/fake_verbs.h.
 */
#include "test/device.h"

#include "test/unit/fake/fake_verbs.h"

bool device_make(const char *kind)
{
	if (!kind)
		return false;
	fv_reset();
	return fv_devices_named(kind, 1);
}
