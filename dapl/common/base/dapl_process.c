/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_process.c - the one structure of the process; see dapl_process.h. */
#include "dapl/common/base/dapl_process.h"

struct dapl_process dapl_process = {
	.left_mutex = PTHREAD_MUTEX_INITIALIZER,
	.left = PTHREAD_COND_INITIALIZER,
};

__attribute__((constructor)) static void process_init(void)
{
	struct dapl_process *p = &dapl_process;

	dapl_lock_init(&p->lock, DAPL_LOCK_PROVIDER);
	dapl_list_init(&p->names);
	dapl_list_init(&p->adapters);
	dapl_lock_init(&p->pool_lock, DAPL_LOCK_LEAF);
	for (int i = 0; i < DAPL_OBJ_TYPES; i++)
		dapl_list_init(&p->pools[i].free);
	dapl_obj_watch_fork();
}
