/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * null_path.h - a data path that costs next to nothing, for the fake device: a
 * request is carried out within its post. What is measured above it is what is
 * above it.
 *
 * It knows queue pairs of type RC of one process: sends to a peer that has a
 * receive, writes, reads. It checks no key and no length, has no errors, and
 * does not notify, but of what is late: other waits above it must find what
 * they wait for. Threads: one at a time, and no lock. Ownership: what it
 * allocates is the process's.
 */
#ifndef NULL_PATH_H
#define NULL_PATH_H

#include <stdbool.h>

/* Of all devices that are opened from now on. Its functions are null_*. */
void null_path_use(void);
/*
 * Completions that come while it is on are seen by nobody who looks before his
 * queue is armed, nor in the first look after that: then they are there, and
 * notify. The latest they can come, and he sleeps.
 */
void null_path_late(bool on);

#endif
