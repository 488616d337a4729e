/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engine.h - the engine of SCM and UCM has no lock: one thread is in it at a
 * time, the service thread, and once stop() has taken its place, never that
 * again. Each run sees to this; doc/locking.md has the rule.
 */
#ifndef SCHED_ENGINE_H
#define SCHED_ENGINE_H

/* From now on a thread that begins to connect may be kept for a while. */
void engine_dawdles(void);

#endif
