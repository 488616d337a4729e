/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device_fake.c - the suite on the fake device: this program's own symbols
 * stand in for libibverbs and librdmacm below the provider that it loads.
 * It does not touch anything real. Called once per case, before any DAT call,
 * on the only thread. The device goes with the process.
 * Rule: test/unit/fake/fake_verbs.h.
 */
#include "test/conform/conform.h"

#include <string.h>

#include "test/unit/fake/fake_verbs.h"

bool conf_device(const char *kind)
{
	static const struct {
		const char *name;
		enum fv_kind kind;
	} kinds[] = {{"ib", FV_IB},
		     {"roce", FV_ROCE},
		     {"iwarp", FV_IWARP},
		     {"siw", FV_SIW}};

	for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kind, kinds[i].name) != 0)
			continue;
		fv_reset();
		fv_devices_default(kinds[i].kind, 1);
		return true;
	}
	return false;
}

bool conf_gives_reason(DAT_RETURN got)
{
	return (got & 0xc0000000u) == DAT_CLASS_ERROR && *dat_error_detail();
}
