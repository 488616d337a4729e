/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device.h - prepares the devices below a test program, in two ways:
 * device_fake.c and device_real.c. Nothing else of the programs, so that it
 * suits those of both versions of DAT.
 */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <stdbool.h>

/*
 * KIND: a fake device as fv_devices_named() knows them, or NULL for what the
 * machine has. False: there is none of that kind.
 */
bool device_make(const char *kind);

#endif
