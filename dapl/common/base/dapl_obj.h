/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_obj.h - what every DAT object begins with.
 *
 * The first word of a handle is the provider's vector: libdat2 and programs
 * compiled with the redirection macros jump through it (DAT 2.0 ABI).
 *
 * Memory of objects is type-stable: it returns to a per-type pool, never to
 * malloc, while the plugin is loaded. So a call with a freed handle reads an
 * object whose magic is gone, answers DAT_INVALID_HANDLE and touches nothing.
 *
 * Life of an object: new (one reference, the consumer's) - enlist (visible) -
 * retire (handle dead, refused while others use it) - end (it does nothing any
 * more) - put (last reference returns the memory). "Users" are objects that
 * depend on it by the rules of DAT (an EP uses its PZ); references are pointers
 * held by code. What differs between types is in struct dapl_obj_ops, so that
 * who holds or ends an object need not know of which type it is.
 * Lists and the alive mark are guarded by the IA's lock. With it users are
 * counted up, without any lock down: that may be done from under others.
 *
 * In a child of fork() no handle is valid, if there was an IA in the parent:
 * the child has neither the threads nor the right to the devices behind them,
 * and locks may be held for ever. No call gets beyond its handle there.
 */
#ifndef DAPL_OBJ_H
#define DAPL_OBJ_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/common/services/dapl_likely.h"
#include "dapl/common/services/dapl_lines.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_log.h"

struct dapl_ia;

#define DAPL_OBJ_TYPES	 (DAT_HANDLE_TYPE_CSP + 1)
#define DAPL_MAGIC(type) (0xda910000u + (unsigned)(type))

struct dapl_obj;

/* A type; one constant for each. */
struct dapl_obj_ops {
	DAT_HANDLE_TYPE type;
	size_t size;
	/* DCNT_IA_*: handles made and ended. Both 0: not counted so. */
	int made;
	int ended;
	/* The handle is retired: ends what the object does and uses. */
	void (*shutdown)(struct dapl_obj *obj);
	/*
	 * The last reference is gone: gives back what the object still has,
	 * and its memory by dapl_obj_release(). NULL: it has nothing else.
	 */
	void (*destroy)(struct dapl_obj *obj);
};

struct dapl_obj {
	const DAT_PROVIDER *provider;
	uint32_t magic; /* DAPL_MAGIC(type); 0 once retired */
	int refs;	/* atomic */
	struct dapl_ia *ia;
	DAT_CONTEXT context;
	struct dapl_list link; /* in the IA's list of this type */
	int users;	       /* atomic */
	const struct dapl_obj_ops *ops;
};

_Static_assert(sizeof(void *) < 8 || sizeof(struct dapl_obj) == DAPL_CACHE_LINE,
	       "one cache line before the rest");

/* Shorthand for error codes of the specification. */
#define DAPL_ERR(type, subtype) (DAT_CLASS_ERROR | (type) | (subtype))
#define DAPL_BAD_HANDLE(x)	DAPL_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##x)
#define DAPL_BAD_ARG(n)		DAPL_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define DAPL_BAD_STATE(x)	DAPL_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_##x)
#define DAPL_NO_RES(x)		DAPL_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##x)
#define DAPL_NO_MEM		DAPL_NO_RES(MEMORY)

/*
 * H as a living object of TYPE, or NULL: for freed handles, and for any value
 * that a program may take for one. Looks the address up before what is there.
 */
void *dapl_obj_from(DAT_HANDLE h, DAT_HANDLE_TYPE type);

/*
 * Whether H is of TYPE: for the first argument of a data path call, behind
 * which is memory: libdat2 and the redirection macros have read the vector.
 */
static inline bool dapl_obj_is(DAT_HANDLE h, DAT_HANDLE_TYPE type)
{
	return dapl_loads_u32(&((struct dapl_obj *)h)->magic, DAPL_MAGIC(type));
}

/* Zeroed object with one reference, or NULL. Not yet visible. */
void *dapl_obj_new(struct dapl_ia *ia, const struct dapl_obj_ops *ops);
/*
 * The same for a type whose calls may look at an object that has just ended:
 * what is behind struct dapl_obj is as that one left it, unless *RET_FRESH.
 */
void *dapl_obj_new_uncleared(struct dapl_ia *ia, const struct dapl_obj_ops *ops,
			     bool *ret_fresh);
/* Makes the handle valid and puts it on the IA's list. */
void dapl_obj_enlist(struct dapl_obj *obj);
/*
 * Ends the handle: false (and nothing changed) when it is retired already or
 * has users, unless FORCE. The consumer's reference stays with the caller.
 */
bool dapl_obj_retire(struct dapl_obj *obj, bool force);
/* One of IA's of TYPE, whatever uses it; NULL: there are none. */
struct dapl_obj *dapl_obj_retire_any(struct dapl_ia *ia, DAT_HANDLE_TYPE type);
/*
 * The same, with MARK as the magic of the handle that has ended, so that a
 * later call can tell how. It stays until the memory is used again.
 */
bool dapl_obj_retire_as(struct dapl_obj *obj, bool force, uint32_t mark);

static inline void dapl_obj_get(struct dapl_obj *obj)
{
	__atomic_fetch_add(&obj->refs, 1, __ATOMIC_RELAXED);
}
/*
 * A reference on H if it is a living object of TYPE: it does not become
 * another one until the put. Else NULL.
 */
static inline void *dapl_obj_hold(DAT_HANDLE h, DAT_HANDLE_TYPE type)
{
	struct dapl_obj *obj = dapl_obj_from(h, type);
	int refs = obj ? __atomic_load_n(&obj->refs, __ATOMIC_RELAXED) : 0;

	while (refs &&
	       !__atomic_compare_exchange_n(&obj->refs, &refs, refs + 1, 1,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		;
	return refs ? obj : NULL;
}
/* With the last reference the object is destroyed. NULL: nothing. */
void dapl_obj_put(struct dapl_obj *obj);
/* Shuts a retired object down, and puts the consumer's reference. */
void dapl_obj_end(struct dapl_obj *obj);
/* Whether this process is a child as above: it can have no new IA either. */
bool dapl_obj_forked(void);
/* Once, before there is an adapter. */
void dapl_obj_watch_fork(void);
/* Returns the memory to the pool. */
void dapl_obj_release(struct dapl_obj *obj);

/* Counts a user of OBJ; false when it was retired meanwhile. NULL: true. */
bool dapl_obj_use(struct dapl_obj *obj);
/*
 * True when that was the last user: OBJ may be freed by anybody from here on,
 * so who goes on with it has a reference. NULL: false.
 */
bool dapl_obj_unuse(struct dapl_obj *obj);

/* The handle that the consumer knows the IA by, for query results. */
DAT_IA_HANDLE dapl_obj_ia_handle(const struct dapl_obj *obj);

DAT_RETURN dapl_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dapl_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN dapl_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *ret_type);

#endif
