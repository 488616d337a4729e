/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ia.h - what all ways to open or close something by its name share.
 *
 * Does not open anything; dat_ia.c does, and the extensions of a face.
 * Threads: any.
 * Ownership: none.
 * Rule: a provider's own return code always reaches the program unchanged.
 */
#ifndef DAT_IA_H
#define DAT_IA_H

#include "dat_reg.h"

/* The name that the provider is told when it is asked for ASKED. */
DAT_NAME_PTR dat_ia_name(const struct dat_entries *entries, DAT_NAME_PTR asked);

/* Gives a provider's refusal of CALL a reason if it left none; returns RET. */
DAT_RETURN dat_ia_refused(const char *call, DAT_RETURN ret);

/* The same of opening, with the adapter and its line before the reason. */
DAT_RETURN dat_ia_refused_open(const struct dat_use *use, DAT_RETURN ret);

#endif
