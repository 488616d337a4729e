/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_vendor_specific.h - place for definitions of one adapter maker.
 *
 * Empty on purpose: this implementation has no maker-specific types, and
 * programs include the file because other DAT implementations had some.
 * Threads, ownership: nothing here has any.
 * Rule: DAT names this file as part of the header set.
 */
#ifndef DAT2_VENDOR_SPECIFIC_H
#define DAT2_VENDOR_SPECIFIC_H

#endif /* DAT2_VENDOR_SPECIFIC_H */
