/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * reason_any.c - no library but this project's has reasons to give. Any thread.
 * See reason_ours.c for the other one.
 */
#include "test/conform/conform.h"

bool conf_gives_reason(DAT_RETURN got)
{
	return true;
}
