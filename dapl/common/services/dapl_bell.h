/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_bell.h - eventfds that wake a sleeper, kept for the next one.
 *
 * A bell is needed while somebody sleeps, not for as long as there is
 * something to wait for: programs have thousands of EVDs, and descriptors are
 * few. A bell that comes back may be ringing still; who takes one has to bear
 * being woken for nothing.
 * Threads: any; no lock.
 * Rule: eventfd(2).
 */
#ifndef DAPL_BELL_H
#define DAPL_BELL_H

#include <stdbool.h>

#define DAPL_BELLS 64 /* kept; threads that sleep at one time are few */

struct dapl_bells {
	int kept[DAPL_BELLS]; /* atomic; -1: none */
};

void dapl_bells_init(struct dapl_bells *bells);
/* Closes those that are kept. */
void dapl_bells_fini(struct dapl_bells *bells);

/* A descriptor for dapl_bell_put(), or -errno. It does not block. */
int dapl_bell_take(struct dapl_bells *bells);
void dapl_bell_put(struct dapl_bells *bells, int fd);

/* It stays readable until it is cleared. */
void dapl_bell_ring(int fd);
/* Whether it was ringing. */
bool dapl_bell_clear(int fd);

#endif
