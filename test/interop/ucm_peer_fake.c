/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_peer_fake.c - ucm_peer on a fake RoCE device: this program's own symbols
 * stand in for libibverbs below the provider that it loads.
 * Does nothing but add the device, before main(). It goes with the process.
 */
#include "test/unit/fake/fake_verbs.h"

__attribute__((constructor)) static void add_device(void)
{
	fv_devices_default(FV_ROCE, 1);
}
