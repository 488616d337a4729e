/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock_model.h - included before all else in dapl_lock.c and in the model that
 * runs it: each atomic is a step of the model (t_dapl_lock_model.c).
 */
#ifndef LOCK_MODEL_H
#define LOCK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of memory of SIZE bytes; what a processor of its own would do. */
uint64_t model_load(const void *at, size_t size);
void model_store(void *at, size_t size, uint64_t value);
uint64_t model_exchange(void *at, size_t size, uint64_t value);
bool model_cas(int *at, int *expected, int value);
/* The thread whose turn it is. */
void *model_self(void);

#define DAPL_LOADS_BY_NAME /* each load of the lock is one of these */
#define __atomic_load_n(p, order) \
	((__typeof__(*(p) + 0))model_load((p), sizeof(*(p))))
#define __atomic_store_n(p, value, order) \
	model_store((p), sizeof(*(p)), (uint64_t)(value))
#define __atomic_exchange_n(p, value, order)                     \
	((__typeof__(*(p) + 0))model_exchange((p), sizeof(*(p)), \
					      (uint64_t)(value)))
#define __atomic_compare_exchange_n(p, expected, value, weak, ok, failed) \
	model_cas((p), (expected), (value))
/* Also where the compiler knows no such thing, and the lock asks otherwise. */
#define HAVE_THREAD_POINTER	   1
#define __builtin_thread_pointer() model_self()

#endif
