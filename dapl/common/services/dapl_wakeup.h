/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_wakeup.h - eventfds that wake a sleeper, kept for the next one.
 *
 * One is needed while somebody sleeps, not for as long as there is
 * something to wait for: programs have thousands of EVDs, and descriptors are
 * few. One that comes back may be set still; who takes one has to bear
 * being woken for nothing.
 * Threads: any; no lock.
 * Rule: eventfd(2).
 */
#ifndef DAPL_WAKEUP_H
#define DAPL_WAKEUP_H

#include <stdbool.h>

#define DAPL_WAKEUPS 64 /* kept; threads that sleep at one time are few */

struct dapl_wakeups {
	int kept[DAPL_WAKEUPS]; /* atomic; -1: none */
};

void dapl_wakeups_init(struct dapl_wakeups *wakeups);
/* Closes those that are kept. */
void dapl_wakeups_fini(struct dapl_wakeups *wakeups);

/* A descriptor for dapl_wakeup_put(), or -errno. It does not block. */
int dapl_wakeup_take(struct dapl_wakeups *wakeups);
void dapl_wakeup_put(struct dapl_wakeups *wakeups, int fd);

/* It stays readable until it is cleared. */
void dapl_wakeup_signal(int fd);
/* Whether it was set. */
bool dapl_wakeup_clear(int fd);

#endif
