/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_library.h - which file a provider library of dat.conf is.
 *
 * Loads nothing (dat_load.h). Threads: no shared state. Ownership: results are
 * the caller's arguments.
 * Rule: dat.conf(5). A name without a slash is looked for beside libdat2, or
 * libdat, which belongs to the same version, then where it was configured to be
 * installed, and then by the loader.
 */
#ifndef DAT_LIBRARY_H
#define DAT_LIBRARY_H

#include <stddef.h>

/*
 * The folder, with its slash, of the library that the code INSIDE is of. "" of
 * a program's own: what the loader knows of that is what it was called by.
 */
void dat_library_folder(void *inside, char *buf, size_t size);

/*
 * What to hand to the loader for the library of a line: PATH, or a file in
 * FOLDER or in the configured one, in BUF.
 */
const char *dat_library_file(const char *path, const char *folder, char *buf,
			     size_t size);

#endif
