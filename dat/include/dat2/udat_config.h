/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * udat_config.h - API version and thread model asked for by dat_ia_open().
 *
 * Does not reflect how the library was built; these are requests compiled
 * into the program. DAT_THREADSAFE expands to a name from dat.h.
 * Threads, ownership: constants only.
 * Rule: dat.conf entries are matched on exactly these values.
 */
#ifndef DAT2_UDAT_CONFIG_H
#define DAT2_UDAT_CONFIG_H

#ifndef DAT_1_2
#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0
#else
#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2
#endif

/* Which kind of provider dat_ia_open() asks for. */
#define DAT_THREADSAFE DAT_FALSE
#ifndef DAT_1_2

/* dat_extension_op() exists. */
#define DAT_EXTENSIONS 1
#endif

#endif /* DAT2_UDAT_CONFIG_H */
