/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_stub.c - a provider plug-in that does what a test tells it to.
 *
 * Drives no device. Like old plug-ins it is not linked with the library and
 * finds its symbols in the global scope. Built three times for each version of
 * DAT: whole, without init, without fini. Threads: any; one lock guards the
 * list of names. Ownership: one registration and its words for each name, until
 * fini. Rule: dat_registry.h. Words in ia_params:
 * - silent: leaves no reason when something fails
 * - noregister: init does not register
 * - extra: init registers "<name>-extra" too
 * - stay: fini does not remove what init registered
 * - openinit: init tries to open "other"
 * - noopen: the table has no ia_open
 * - refuse: ia_open fails
 * - nohandle: ia_open succeeds and gives no handle
 * - busy: a graceful close fails
 */
#include "dat_stub.h"

#include "dat_test_face.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

/*
 * Where one copy was, another one may be loaded. The loader's own lock is
 * between the two, of which the sanitizer does not know.
 */
__attribute__((constructor)) static void loaded(void)
{
	__tsan_acquire(&stub_count);
}

__attribute__((destructor)) static void unloaded(void)
{
	__tsan_release(&stub_count);
}
#endif

#define MAX_NAMES 64

struct name {
	DAT_PROVIDER_INFO info;
	char words[64];
	bool used;
};

struct stub_ia {
	DAT_PROVIDER *table;
	bool busy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name names[MAX_NAMES]; /* lock */
static DAT_PROVIDER table;
/* the rest of a table is not looked at by the registry */
__attribute__((unused)) static DAT_PROVIDER table_without_open;

static void count(int *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
}

static bool has_word(const char *ia_name, const char *word)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_NAMES && !found; i++)
		found = names[i].used &&
			strcmp(names[i].info.ia_name, ia_name) == 0 &&
			strstr(names[i].words, word);
	pthread_mutex_unlock(&lock);
	return found;
}

static DAT_RETURN stub_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			       DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_ia)
{
	struct stub_ia *ia;

	if (has_word(name, "refuse")) {
		if (!has_word(name, "silent"))
			dats_set_error_detail("the stub has no device");
		return DAT_INVALID_ADDRESS; /* without class, as old ones */
	}
	if (has_word(name, "nohandle"))
		return DAT_SUCCESS;
	ia = calloc(1, sizeof(*ia));
	if (!ia)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
	ia->table = &table;
	ia->busy = has_word(name, "busy");
	count(&stub_count.opens);
	*ret_ia = ia;
	return DAT_SUCCESS;
}

static DAT_RETURN stub_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct stub_ia *ia = handle;

	if (ia->busy && flags == DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE |
		       DAT_INVALID_STATE_IA_IN_USE;
	free(ia);
	count(&stub_count.closes);
	return DAT_SUCCESS;
}

/* Tells whether the registry knows the number of this adapter. */
static DAT_RETURN stub_get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	DAT_IA_HANDLE number;
	DAT_RETURN ret = dats_get_ia_handle(handle, &number);

	if (!ret)
		context->as_ptr = number;
	return ret;
}

#ifndef DAT_FACE_1
static DAT_RETURN stub_extended(DAT_HANDLE handle, DAT_EXTENDED_OP op,
				va_list args)
{
	if (op == (DAT_EXTENDED_OP)DAT_IB_OPEN_QUERY_OP)
		return stub_ia_open(handle, 0, NULL,
				    va_arg(args, DAT_IA_HANDLE *));
	if (op == (DAT_EXTENDED_OP)DAT_IB_CLOSE_QUERY_OP)
		return stub_ia_close(handle, va_arg(args, int) == 77
						     ? DAT_CLOSE_GRACEFUL_FLAG
						     : DAT_CLOSE_ABRUPT_FLAG);
	return DAT_NOT_IMPLEMENTED;
}
#endif

static DAT_PROVIDER table = {
	.ia_open_func = stub_ia_open,
	.ia_close_func = stub_ia_close,
	.get_consumer_context_func = stub_get_context,
#ifndef DAT_FACE_1
	.handle_extendedop_func = stub_extended,
#endif
};

__attribute__((unused)) static void remember(const DAT_PROVIDER_INFO *info,
					     const char *words)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_NAMES; i++) {
		if (names[i].used)
			continue;
		names[i].used = true;
		names[i].info = *info;
		snprintf(names[i].words, sizeof(names[i].words), "%s", words);
		break;
	}
	pthread_mutex_unlock(&lock);
}

#ifndef STUB_WITHOUT_INIT
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *words)
{
	DAT_PROVIDER_INFO extra = *info;
	DAT_IA_HANDLE ia;

	count(&stub_count.inits);
	if (stub_count.gate)
		stub_count.gate();
	remember(info, words);
	if (strstr(words, "openinit"))
		dat_ia_openv((DAT_NAME_PTR) "other", 8, NULL, &ia, MAJOR, MINOR,
			     DAT_FALSE);
	if (strstr(words, "noregister")) {
		if (!strstr(words, "silent"))
			dats_set_error_detail("the stub was told not to");
		return;
	}
	dat_registry_add_provider(
		strstr(words, "noopen") ? &table_without_open : &table, info);
	if (strstr(words, "extra")) {
		strcat(extra.ia_name, "-extra");
		dat_registry_add_provider(&table, &extra);
	}
}
#endif

#ifndef STUB_WITHOUT_FINI
void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	count(&stub_count.finis);
	if (!has_word(info->ia_name, "stay"))
		dat_registry_remove_provider(has_word(info->ia_name, "noopen")
						     ? &table_without_open
						     : &table,
					     info);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_NAMES; i++)
		if (names[i].used &&
		    !strcmp(names[i].info.ia_name, info->ia_name))
			names[i].used = false;
	pthread_mutex_unlock(&lock);
}
#endif
