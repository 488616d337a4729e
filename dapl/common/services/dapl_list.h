/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_list.h - intrusive circular doubly linked list.
 *
 * Knows nothing of what it links and takes no lock: the owner of a list names
 * the lock that guards it. A node that is on no list points to itself, so
 * dapl_list_del() of it is harmless.
 */
#ifndef DAPL_LIST_H
#define DAPL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct dapl_list {
	struct dapl_list *next;
	struct dapl_list *prev;
};

#define dapl_container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

static inline void dapl_list_init(struct dapl_list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool dapl_list_empty(const struct dapl_list *l)
{
	return l->next == l;
}

static inline void dapl_list_add_tail(struct dapl_list *head,
				      struct dapl_list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void dapl_list_del(struct dapl_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	dapl_list_init(n);
}

/* First node of a list that is not empty. */
#define dapl_list_first(head, type, member) \
	dapl_container_of((head)->next, type, member)

#define dapl_list_for_each(pos, head, member)                                 \
	for (pos = dapl_container_of((head)->next, __typeof__(*pos), member); \
	     &pos->member != (head);                                          \
	     pos = dapl_container_of(pos->member.next, __typeof__(*pos),      \
				     member))

/* As above; the body may remove pos. */
#define dapl_list_for_each_safe(pos, tmp, head, member)                       \
	for (pos = dapl_container_of((head)->next, __typeof__(*pos), member), \
	    tmp = dapl_container_of(pos->member.next, __typeof__(*pos),       \
				    member);                                  \
	     &pos->member != (head);                                          \
	     pos = tmp, tmp = dapl_container_of(tmp->member.next,             \
						__typeof__(*tmp), member))

#endif
