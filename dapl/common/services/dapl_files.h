/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_files.h - the process's limit on file descriptors.
 *
 * An adapter takes some ten of them, and connections over TCP one each, while
 * systems start programs with a soft limit of 1,024 and a hard one far above.
 * The soft one is that low for programs that call select(), which cannot use
 * descriptors beyond; so it is raised only when the process would fail
 * otherwise, and never at once to what the hard limit allows.
 *
 * Any thread, any lock but LEAF. The limit is the process's: whoever else
 * changes it at the same time may undo this, and is met by the next call.
 */
#ifndef DAPL_FILES_H
#define DAPL_FILES_H

#include <stdbool.h>

/*
 * After a call failed with ERR, a positive errno: true if it was for want of a
 * descriptor and there may be one now, so that it should be tried again.
 */
bool dapl_files_more(int err);
/*
 * A stream socket of FAMILY that does not block and is closed by exec, with
 * descriptors made more if need be. The descriptor, or -errno.
 */
int dapl_files_socket(int family);
/*
 * Sees to it that N more can be had; false: the hard limit is in the way. For
 * what libraries open on our behalf, which cannot be tried again in the middle.
 */
bool dapl_files_reserve(unsigned n);

#endif
