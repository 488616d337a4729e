/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * reason_ours.c - whether a refusal gives a reason, where the libraries are
 * those of this project. Any thread. See reason_any.c for the other one.
 */
#include "test/conform/conform.h"

bool conf_gives_reason(DAT_RETURN got)
{
	return (got & 0xc0000000u) == DAT_CLASS_ERROR && *dat_error_detail();
}
