/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_obj.c - pools, references and generic calls of DAT objects.
 *
 * A pool hands out the object that was freed longest ago, so that a stale
 * handle stays recognisable for as long as possible. Nothing is returned: see
 * dapl_process.h, where the pools are.
 */
#include "dapl/common/base/dapl_obj.h"

#include <dat2/dat_registry.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/services/dapl_lock.h"

/* Objects kept back before one is used again. */
#define POOL_QUARANTINE 32

/*
 * The addresses of all objects that were ever made: what is not here is no
 * handle, whatever it points to. None goes away, so a reader needs no lock: it
 * finds an empty slot or the address, in this table or in one that was replaced
 * while it looked.
 */
struct dapl_obj_known {
	struct dapl_obj_known *before; /* the smaller one it replaced */
	size_t mask;
	struct dapl_obj *slots[]; /* atomic; at least half are empty */
};

static void after_fork_in_child(void)
{
	struct dapl_obj_known *k =
		__atomic_load_n(&dapl_process.known, __ATOMIC_ACQUIRE);
	struct dapl_obj *obj;

	if (!__atomic_load_n(&dapl_process.adapter_count, __ATOMIC_RELAXED))
		return;
	dapl_process.forked = true;
	dapl__fail_always("this process was forked from one that had adapters "
			  "open; it may only exec or _exit");
	for (size_t i = 0; k && i <= k->mask; i++) {
		obj = __atomic_load_n(&k->slots[i], __ATOMIC_ACQUIRE);
		if (obj)
			__atomic_store_n(&obj->magic, 0, __ATOMIC_RELAXED);
	}
}

bool dapl_obj_forked(void)
{
	return dapl_process.forked;
}

void dapl_obj_watch_fork(void)
{
	if (pthread_atfork(NULL, NULL, after_fork_in_child))
		dapl_log(DAPL_LOG_ERR, "a child after fork() will not know "
				       "that it is one: no memory");
}

static struct dapl_obj *pool_take(DAT_HANDLE_TYPE type)
{
	struct dapl_obj_pool *pool = &dapl_process.pools[type];
	struct dapl_obj *obj = NULL;

	dapl_lock(&dapl_process.pool_lock);
	if (pool->count > POOL_QUARANTINE) {
		obj = dapl_list_first(&pool->free, struct dapl_obj, link);
		dapl_list_del(&obj->link);
		pool->count--;
	}
	dapl_unlock(&dapl_process.pool_lock);
	return obj;
}

/* Where the search for P begins; objects are aligned to cache lines. */
static size_t first_slot(const struct dapl_obj_known *k, const void *p)
{
	return (size_t)((uintptr_t)p * 0x9e3779b97f4a7c15u >> 20) & k->mask;
}

static bool is_known(const void *p)
{
	struct dapl_obj_known *k =
		__atomic_load_n(&dapl_process.known, __ATOMIC_ACQUIRE);
	const struct dapl_obj *obj;
	size_t i;

	if (!k)
		return false;
	for (i = first_slot(k, p);; i = (i + 1) & k->mask) {
		obj = __atomic_load_n(&k->slots[i], __ATOMIC_ACQUIRE);
		if (!obj || obj == p)
			return obj != NULL;
	}
}

static void known_put(struct dapl_obj_known *k, struct dapl_obj *obj)
{
	size_t i = first_slot(k, obj);

	while (k->slots[i])
		i = (i + 1) & k->mask;
	__atomic_store_n(&k->slots[i], obj, __ATOMIC_RELEASE);
}

static bool known_grow_locked(void)
{
	struct dapl_obj_known *old = dapl_process.known, *k;
	size_t size = old ? 2 * (old->mask + 1) : 64;

	dapl_lock_assert_held(&dapl_process.pool_lock);
	k = calloc(1, sizeof(*k) + size * sizeof(k->slots[0]));
	if (!k)
		return false;
	k->before = old;
	k->mask = size - 1;
	for (size_t i = 0; old && i <= old->mask; i++)
		if (old->slots[i])
			known_put(k, old->slots[i]);
	__atomic_store_n(&dapl_process.known, k, __ATOMIC_RELEASE);
	return true;
}

static bool known_add(struct dapl_obj *obj)
{
	struct dapl_process *p = &dapl_process;
	bool room;

	dapl_lock(&p->pool_lock);
	room = (p->known && 2 * p->known_count <= p->known->mask) ||
	       known_grow_locked();
	if (room) {
		known_put(p->known, obj);
		p->known_count++;
	}
	dapl_unlock(&p->pool_lock);
	return room;
}

static struct dapl_obj *obj_make(size_t size)
{
	struct dapl_obj *obj = dapl_alloc_lines(size);

	if (obj && !known_add(obj)) {
		free(obj);
		obj = NULL;
	}
	return obj;
}

void *dapl_obj_new_uncleared(struct dapl_ia *ia, const struct dapl_obj_ops *ops,
			     bool *ret_fresh)
{
	struct dapl_obj *obj = pool_take(ops->type);

	*ret_fresh = !obj;
	if (!obj)
		obj = obj_make(ops->size);
	if (!obj)
		return NULL;
	if (ops->type == DAT_HANDLE_TYPE_IA)
		__atomic_add_fetch(&dapl_process.adapter_count, 1,
				   __ATOMIC_RELAXED);
	/* Not the magic, which is 0: a stale handle may be looked at now. */
	obj->provider = ia ? ia->obj.provider : NULL;
	obj->ia = ia;
	obj->context = (DAT_CONTEXT){0};
	dapl_list_init(&obj->link);
	obj->users = 0;
	obj->ops = ops;
	__atomic_store_n(&obj->refs, 1, __ATOMIC_RELEASE);
	return obj;
}

void *dapl_obj_new(struct dapl_ia *ia, const struct dapl_obj_ops *ops)
{
	char *obj;
	bool fresh;

	obj = dapl_obj_new_uncleared(ia, ops, &fresh);
	if (obj && !fresh)
		memset(obj + sizeof(struct dapl_obj), 0,
		       ops->size - sizeof(struct dapl_obj));
	return obj;
}

void dapl_obj_put(struct dapl_obj *obj)
{
	if (!obj || __atomic_sub_fetch(&obj->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (obj->ops->destroy)
		obj->ops->destroy(obj);
	else
		dapl_obj_release(obj);
}

void dapl_obj_end(struct dapl_obj *obj)
{
	obj->ops->shutdown(obj);
	dapl_obj_put(obj);
}

void dapl_obj_release(struct dapl_obj *obj)
{
	struct dapl_obj_pool *pool = &dapl_process.pools[obj->ops->type];

	if (obj->ops->type == DAT_HANDLE_TYPE_IA)
		__atomic_sub_fetch(&dapl_process.adapter_count, 1,
				   __ATOMIC_RELAXED);
	dapl_lock(&dapl_process.pool_lock);
	dapl_list_add_tail(&pool->free, &obj->link);
	pool->count++;
	dapl_unlock(&dapl_process.pool_lock);
}

void dapl_obj_enlist(struct dapl_obj *obj)
{
	struct dapl_ia *ia = obj->ia;

	dapl_lock(&ia->lock);
	dapl_list_add_tail(&ia->objs[obj->ops->type], &obj->link);
	__atomic_store_n(&obj->magic, DAPL_MAGIC(obj->ops->type),
			 __ATOMIC_RELEASE);
	dapl_unlock(&ia->lock);
	if (obj->ops->made != obj->ops->ended)
		dapl_ia_count(ia, obj->ops->made);
}

static void unlist_locked(struct dapl_obj *obj)
{
	dapl_list_del(&obj->link);
	if (obj->ops->made != obj->ops->ended)
		dapl_ia_count(obj->ia, obj->ops->ended);
}

struct dapl_obj *dapl_obj_retire_any(struct dapl_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dapl_obj *obj = NULL;

	dapl_lock(&ia->lock);
	if (!dapl_list_empty(&ia->objs[type])) {
		obj = dapl_list_first(&ia->objs[type], struct dapl_obj, link);
		__atomic_store_n(&obj->magic, 0, __ATOMIC_RELAXED);
		unlist_locked(obj);
	}
	dapl_unlock(&ia->lock);
	return obj;
}

bool dapl_obj_retire(struct dapl_obj *obj, bool force)
{
	return dapl_obj_retire_as(obj, force, 0);
}

bool dapl_obj_retire_as(struct dapl_obj *obj, bool force, uint32_t mark)
{
	struct dapl_ia *ia = obj->ia;
	bool ok;

	dapl_lock(&ia->lock);
	ok = obj->magic == DAPL_MAGIC(obj->ops->type) &&
	     (force || !__atomic_load_n(&obj->users, __ATOMIC_ACQUIRE));
	if (ok) {
		__atomic_store_n(&obj->magic, mark, __ATOMIC_RELAXED);
		unlist_locked(obj);
	}
	dapl_unlock(&ia->lock);
	return ok;
}

bool dapl_obj_use(struct dapl_obj *obj)
{
	bool ok;

	if (!obj)
		return true;
	dapl_lock(&obj->ia->lock);
	ok = obj->magic != 0;
	if (ok)
		__atomic_add_fetch(&obj->users, 1, __ATOMIC_RELAXED);
	dapl_unlock(&obj->ia->lock);
	return ok;
}

bool dapl_obj_unuse(struct dapl_obj *obj)
{
	return obj && !__atomic_sub_fetch(&obj->users, 1, __ATOMIC_ACQ_REL);
}

DAT_IA_HANDLE dapl_obj_ia_handle(const struct dapl_obj *obj)
{
	DAT_IA_HANDLE handle = DAT_HANDLE_NULL;

	if (dats_get_ia_handle((DAT_IA_HANDLE)obj->ia, &handle) != DAT_SUCCESS)
		handle = (DAT_IA_HANDLE)obj->ia;
	return handle;
}

/* Who sees a new object under an old handle sees it made. */
static uint32_t obj_magic(const struct dapl_obj *obj)
{
	return __atomic_load_n(&obj->magic, __ATOMIC_ACQUIRE);
}

void *dapl_obj_from(DAT_HANDLE h, DAT_HANDLE_TYPE type)
{
	return is_known(h) && obj_magic(h) == DAPL_MAGIC(type) ? h : NULL;
}

static struct dapl_obj *obj_of_any_type(DAT_HANDLE handle)
{
	struct dapl_obj *obj = handle;

	return is_known(obj) && obj_magic(obj) - DAPL_MAGIC(0) < DAPL_OBJ_TYPES
		       ? obj
		       : NULL;
}

DAT_RETURN dapl_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct dapl_obj *obj = obj_of_any_type(handle);

	if (!obj)
		return dapl_fail(
			DAPL_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			"%p is not a handle of this provider", handle);
	obj->context = context;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct dapl_obj *obj = obj_of_any_type(handle);

	if (!obj)
		return dapl_fail(
			DAPL_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			"%p is not a handle of this provider", handle);
	if (!context)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the context");
	*context = obj->context;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *ret_type)
{
	struct dapl_obj *obj = obj_of_any_type(handle);

	if (!obj)
		return dapl_fail(
			DAPL_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			"%p is not a handle of this provider", handle);
	if (!ret_type)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the type");
	*ret_type = obj->ops->type;
	return DAT_SUCCESS;
}
