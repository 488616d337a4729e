/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_map.c - the hash table: chains, doubled when they get long.
 *
 * Hostile peers choose some of the keys (ids and numbers of queue pairs); the
 * multiplication spreads what they are likely to choose, and chains are
 * bounded by the limit on connections.
 */
#include "dapl/common/cm/dcm/dcm_map.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 16

static size_t slot(size_t mask, uint64_t key)
{
	/* The golden ratio's bits; the upper half is the well mixed one. */
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & mask;
}

static struct dcm_map_node **head(struct dcm_map *map, uint64_t key)
{
	return map->bucket ? &map->bucket[slot(map->mask, key)] : &map->one;
}

static void push(struct dcm_map *map, struct dcm_map_node *node)
{
	struct dcm_map_node **h = head(map, node->key);

	node->next = *h;
	*h = node;
}

static void rehash(struct dcm_map *map, size_t size)
{
	struct dcm_map_node **fresh =
		calloc(size, sizeof(struct dcm_map_node *));
	struct dcm_map old = *map;
	struct dcm_map_node *node, *next;
	size_t i, buckets = old.bucket ? old.mask + 1 : 1;

	if (!fresh)
		return;
	map->bucket = fresh;
	map->mask = size - 1;
	map->one = NULL;
	for (i = 0; i < buckets; i++)
		for (node = old.bucket ? old.bucket[i] : old.one; node;
		     node = next) {
			next = node->next;
			push(map, node);
		}
	free(old.bucket);
}

void dcm_map_add(struct dcm_map *map, struct dcm_map_node *node, uint64_t key)
{
	size_t buckets = map->bucket ? map->mask + 1 : 0;

	if (map->n >= buckets)
		rehash(map, buckets ? 2 * buckets : FIRST_SIZE);
	node->key = key;
	node->in = true;
	push(map, node);
	map->n++;
}

void dcm_map_del(struct dcm_map *map, struct dcm_map_node *node)
{
	struct dcm_map_node **p;

	if (!node->in)
		return;
	for (p = head(map, node->key); *p != node; p = &(*p)->next)
		;
	*p = node->next;
	node->in = false;
	map->n--;
}

static struct dcm_map_node *skip(struct dcm_map_node *node, uint64_t key)
{
	while (node && node->key != key)
		node = node->next;
	return node;
}

struct dcm_map_node *dcm_map_find(const struct dcm_map *map, uint64_t key)
{
	struct dcm_map_node *first =
		map->bucket ? map->bucket[slot(map->mask, key)] : map->one;

	return skip(first, key);
}

struct dcm_map_node *dcm_map_next(const struct dcm_map_node *node)
{
	return skip(node->next, node->key);
}

void dcm_map_fini(struct dcm_map *map)
{
	free(map->bucket);
	memset(map, 0, sizeof(*map));
}
