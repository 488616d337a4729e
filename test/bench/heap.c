/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap.c - whose heap it is; see the header. A file of its own: compilers know
 * what malloc() and free() are, and would see through them.
 *
 * Threads: any. One lock guards the list, and is the last that anybody takes.
 */
#include "test/bench/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test/bench/bench.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

bool heap_known(void)
{
	return false;
}

struct heap heap_now(void)
{
	return (struct heap){0, 0};
}

#else

struct block {
	struct block *next, *prev;
	void *raw; /* what the C library gave */
	const void *caller;
	size_t size;
	size_t pad; /* to a multiple of 16 bytes */
};

void *__libc_malloc(size_t size);
void __libc_free(void *p);

static struct block blocks = {.next = &blocks, .prev = &blocks};
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static void *block_make(size_t align, size_t size, const void *caller)
{
	size_t most = size + align + sizeof(struct block);
	void *raw = most < size ? NULL : __libc_malloc(most);
	struct block *b;
	uintptr_t at;

	if (!raw) {
		errno = ENOMEM;
		return NULL;
	}
	at = (uintptr_t)raw + sizeof(*b);
	at = (at + align - 1) / align * align;
	b = (struct block *)at - 1;
	*b = (struct block){.raw = raw, .caller = caller, .size = size};
	pthread_mutex_lock(&blocks_lock);
	b->next = &blocks;
	b->prev = blocks.prev;
	b->prev->next = b;
	blocks.prev = b;
	pthread_mutex_unlock(&blocks_lock);
	return (void *)at;
}

#define CALLER __builtin_return_address(0)

#pragma GCC visibility push(default)

void *malloc(size_t size)
{
	return block_make(16, size, CALLER);
}

void free(void *p)
{
	struct block *b = (struct block *)p - 1;

	if (!p)
		return;
	pthread_mutex_lock(&blocks_lock);
	b->prev->next = b->next;
	b->next->prev = b->prev;
	pthread_mutex_unlock(&blocks_lock);
	__libc_free(b->raw);
}

void *calloc(size_t n, size_t size)
{
	void *p = size && n > SIZE_MAX / size
			  ? NULL
			  : block_make(16, n * size, CALLER);

	return p ? memset(p, 0, n * size) : NULL;
}

void *realloc(void *p, size_t size)
{
	size_t old = p ? ((struct block *)p - 1)->size : 0;
	void *new = block_make(16, size, CALLER);

	if (!new)
		return NULL;
	if (p)
		memcpy(new, p, old < size ? old : size);
	free(p);
	return new;
}

/* The C library's would be who asked. */
void *reallocarray(void *p, size_t n, size_t size)
{
	void *new = size &&n > SIZE_MAX / size
			    ? NULL
			    : block_make(16, n * size, CALLER);
	size_t old = p ? ((struct block *)p - 1)->size : 0;

	if (!new)
		return NULL;
	if (p)
		memcpy(new, p, old < n * size ? old : n * size);
	free(p);
	return new;
}

static size_t at_least_16(size_t align)
{
	return align < 16 ? 16 : align;
}

int posix_memalign(void **ret_p, size_t align, size_t size)
{
	void *p = block_make(at_least_16(align), size, CALLER);

	if (!p)
		return ENOMEM;
	*ret_p = p;
	return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
	return block_make(at_least_16(align), size, CALLER);
}

void *memalign(size_t align, size_t size)
{
	return block_make(at_least_16(align), size, CALLER);
}

size_t malloc_usable_size(void *p)
{
	return p ? ((struct block *)p - 1)->size : 0;
}

#pragma GCC visibility pop

bool heap_known(void)
{
	return true;
}

static void heap_add(struct heap *h, const struct block *b)
{
	Dl_info info;
	const char *name;

	if (!dladdr(b->caller, &info) || !info.dli_fname)
		return;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	if (!strncmp(name, "libdat", 6) || !strncmp(name, "libdapl", 7))
		h->ours += (double)b->size;
	else if (!strncmp(name, "libibverbs", 10) ||
		 !strncmp(name, "librdmacm", 9) || strstr(name, "-rdmav"))
		h->below += (double)b->size;
}

/* Copied first: dladdr() takes a lock below which others may allocate. */
struct heap heap_now(void)
{
	size_t n = 0, i = 0, bytes;
	struct heap h = {0};
	struct block *copy;

	pthread_mutex_lock(&blocks_lock);
	for (struct block *b = blocks.next; b != &blocks; b = b->next)
		n++;
	bytes = (n + 1) * sizeof(*copy);
	copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (struct block *b = blocks.next; copy != MAP_FAILED && b != &blocks;
	     b = b->next)
		copy[i++] = *b;
	pthread_mutex_unlock(&blocks_lock);
	if (copy == MAP_FAILED)
		bench_die("no memory");
	for (i = 0; i < n; i++)
		heap_add(&h, &copy[i]);
	munmap(copy, bytes);
	return h;
}

#endif
