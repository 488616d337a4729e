/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_map.h - hash table of nodes that their owners embed.
 *
 * Keys are numbers and need not be unique: the caller compares what they stand
 * for. Grows by itself; when there is no memory for that it becomes slower,
 * nothing else. Takes no lock.
 */
#ifndef DCM_MAP_H
#define DCM_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dcm_map_node {
	struct dcm_map_node *next;
	uint64_t key;
	bool in;
};

struct dcm_map {
	struct dcm_map_node **bucket;
	size_t mask; /* number of buckets - 1; all zero is an empty map */
	size_t n;
	struct dcm_map_node *one; /* the bucket until there is a table */
};

void dcm_map_add(struct dcm_map *map, struct dcm_map_node *node, uint64_t key);
/* A node that is not in does no harm. */
void dcm_map_del(struct dcm_map *map, struct dcm_map_node *node);
/* The first node of KEY and, after NODE, the next; or NULL. */
struct dcm_map_node *dcm_map_find(const struct dcm_map *map, uint64_t key);
struct dcm_map_node *dcm_map_next(const struct dcm_map_node *node);
/* Frees the table; the nodes are their owners'. */
void dcm_map_fini(struct dcm_map *map);

#endif
