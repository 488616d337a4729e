/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * udat_vendor_specific.h - place for user-space definitions of one maker.
 *
 * Empty on purpose, see dat_vendor_specific.h.
 * Threads, ownership: nothing here has any.
 * Rule: DAT names this file as part of the header set.
 */
#ifndef DAT2_UDAT_VENDOR_SPECIFIC_H
#define DAT2_UDAT_VENDOR_SPECIFIC_H

#endif /* DAT2_UDAT_VENDOR_SPECIFIC_H */
