/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rest.c - what is left when all ranks have closed everything: memory,
 * descriptors, threads, and what a command says (--at-rest).
 *
 * In the second half of the rests nothing may grow but by what differs from
 * cycle to cycle, a page here and there. Memory is judged from when the
 * providers have as many freed objects of each type as they keep, which are 32.
 * Called by the rank's own thread; rank 0 keeps and judges.
 */
#include "test/load/load.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAP_SLACK  16384 /* of each rank */
#define RSS_SLACK   262144
#define WARM_CYCLES 100 /* of which some close the adapter */

static uint64_t entries(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	uint64_t n = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static uint64_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A sanitizer's heap is another one, and the C library's is not to be touched.
 */
static uint64_t heap(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0;
#else
	struct mallinfo2 m;

	malloc_trim(0);
	m = mallinfo2();
	return m.uordblks + m.hblkhd;
#endif
}

static struct figures take(void)
{
	return (struct figures){
		.heap = heap(),
		.rss = resident(),
		.files = entries("/proc/self/fd"),
		.threads = entries("/proc/self/task"),
	};
}

static void keep(struct load *l, const struct figures *all)
{
	struct figures *sum;

	l->taken =
		realloc(l->taken, (size_t)(l->takes + 1) * sizeof(*l->taken));
	EXPECT(&l->r, l->taken);
	sum = &l->taken[l->takes++];
	memset(sum, 0, sizeof(*sum));
	/* Of ranks that are threads one speaks for all. */
	for (int i = 0; i < (l->o->kind ? 1 : l->r.n); i++) {
		sum->heap += all[i].heap;
		sum->rss += all[i].rss;
		sum->files += all[i].files;
		sum->threads += all[i].threads;
	}
	printf("# cycle %d, all ranks: heap %llu, resident %llu KiB, "
	       "descriptors %llu, threads %llu\n",
	       l->cycle, (unsigned long long)sum->heap,
	       (unsigned long long)sum->rss / 1024,
	       (unsigned long long)sum->files,
	       (unsigned long long)sum->threads);
	fflush(stdout);
}

void rest_take(struct load *l)
{
	struct figures mine = {0}, all[LOAD_RANKS];

	rank_waits(&l->r, "the others to close everything");
	boot_barrier(&l->boot);
	/* Of threads one looks, for what it opens to look would count. */
	if (!l->o->kind || !l->r.id)
		mine = take();
	rank_waits(&l->r, "what the others have left");
	boot_allgather(&l->boot, &mine, sizeof(mine), all);
	if (!l->r.id) {
		keep(l, all);
		if (l->o->at_rest && system(l->o->at_rest))
			RANK_FAIL(&l->r, "after cycle %d: %s", l->cycle,
				  l->o->at_rest);
	}
	boot_barrier(&l->boot);
}

static void judge(struct load *l, const char *what, uint64_t was, uint64_t is,
		  uint64_t slack)
{
	if (is > was + slack)
		RANK_FAIL(
			&l->r,
			"%s grew from %llu, after half of the cycles, to %llu",
			what, (unsigned long long)was, (unsigned long long)is);
}

void rest_verdict(struct load *l)
{
	uint64_t ranks = (uint64_t)l->r.n;
	const struct figures *was, *is;
	int half = l->takes / 2;

	if (l->takes < 2)
		return;
	was = &l->taken[half];
	is = &l->taken[l->takes - 1];
	judge(l, "descriptors", was->files, is->files, 0);
	judge(l, "threads", was->threads, is->threads, 0);
	if ((half + 1) * l->o->rest >= WARM_CYCLES) {
		judge(l, "heap", was->heap, is->heap, ranks * HEAP_SLACK);
		judge(l, "resident memory", was->rss, is->rss,
		      ranks * RSS_SLACK);
	} else {
		printf("# memory is not judged before cycle %d\n",
		       2 * WARM_CYCLES);
		fflush(stdout);
	}
}
