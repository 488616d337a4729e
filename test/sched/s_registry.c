/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_registry.c - libdat2: adapters opened, closed and listed, providers
 * registered and removed by several threads, while plug-ins come and go.
 *
 * The plug-in is played: dlopen() of its name gives it, and what of it is
 * called while it is not loaded, or for one name on two threads at once, is a
 * fault. Rule: dat_registry.h, dapl_register.h, doc/thread-safety.md.
 */
#include "test/sched/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dat/common/dat_handle.h"
#include "dat/common/dat_reg.h"
#include "dat/common/dat_static.h"
#include "test/sched/scenario.h"

#define NAMES 4 /* "ia-0" and on; the last does not register */
#define LAST  "ia-3"

struct stub_ia {
	const DAT_PROVIDER *table;
};

static struct {
	int loaded;	      /* references to the plug-in */
	bool busy[NAMES];     /* init or fini runs */
	bool ready[NAMES];    /* registered */
	int opens, closes;    /* of the plug-in's adapters */
	DAT_IA_HANDLE ia;     /* that several threads are about */
	bool own, own_opened; /* the program's provider is there, is open */
	bool leaving;	      /* then the registry takes no more */
	int done;
} st;

/* ------------------------------------------------- the plug-in */

void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol);
int __real_dlclose(void *library);
int __wrap_dlclose(void *library);

#define PLUGIN ((void *)&st.loaded)

/* As the loader and real providers do: a cancellation point. */
static void calls_system(const char *what)
{
	sched_point(what);
	pthread_testcancel();
}

static DAT_RETURN stub_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_ia);
static DAT_RETURN stub_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
static DAT_RETURN stub_get_context(DAT_HANDLE ia, DAT_CONTEXT *ret_context);

static const DAT_PROVIDER table = {
	.ia_open_func = stub_open,
	.ia_close_func = stub_close,
	.get_consumer_context_func = stub_get_context,
};
/* Of the program itself. */
static const DAT_PROVIDER own_table = {
	.ia_open_func = stub_open,
	.ia_close_func = stub_close,
	.get_consumer_context_func = stub_get_context,
};

static int number_of(const char *name)
{
	need(!strncmp(name, "ia-", 3) && name[3] < '0' + NAMES);
	return name[3] - '0';
}

static DAT_RETURN stub_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_ia)
{
	struct stub_ia *ia = calloc(1, sizeof(*ia));
	bool own = !strcmp(name, "own");

	calls_system("stub_open");
	need(ia);
	need(own || (st.loaded && st.ready[number_of(name)]));
	ia->table = own ? &own_table : &table;
	st.opens++;
	*ret_ia = ia;
	return DAT_SUCCESS;
}

static DAT_RETURN stub_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct stub_ia *ia = handle;

	calls_system("stub_close");
	need(st.loaded || ia->table == &own_table);
	free(ia);
	st.closes++;
	return DAT_SUCCESS;
}

/* The number that the program knows the adapter by. */
static DAT_RETURN stub_get_context(DAT_HANDLE ia, DAT_CONTEXT *ret_context)
{
	need_ok(dats_get_ia_handle(ia, (DAT_IA_HANDLE *)&ret_context->as_ptr));
	return DAT_SUCCESS;
}

static void begins(int nr)
{
	calls_system("plug-in");
	need(st.loaded && !st.busy[nr]);
	st.busy[nr] = true;
	calls_system("plug-in");
}

static void taken(DAT_RETURN ret)
{
	need_type(ret, DAT_SUCCESS,
		  st.leaving ? DAT_INVALID_STATE : DAT_SUCCESS);
}

static void stub_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	int nr = number_of(info->ia_name);

	begins(nr);
	need(!st.ready[nr]);
	if (nr < NAMES - 1) {
		DAT_RETURN ret = dat_registry_add_provider(&table, info);

		taken(ret);
		st.ready[nr] = ret == DAT_SUCCESS;
	}
	st.busy[nr] = false;
}

static void stub_fini(const DAT_PROVIDER_INFO *info)
{
	int nr = number_of(info->ia_name);

	begins(nr);
	need(st.ready[nr]);
	st.ready[nr] = false;
	taken(dat_registry_remove_provider(&table, info));
	st.busy[nr] = false;
}

void *__wrap_dlopen(const char *path, int flags)
{
	if (!path || strcmp(path, "plug-in") != 0)
		return __real_dlopen(path, flags);
	calls_system("dlopen");
	st.loaded++;
	calls_system("dlopen");
	return PLUGIN;
}

void *__wrap_dlsym(void *library, const char *symbol)
{
	if (library != PLUGIN)
		return __real_dlsym(library, symbol);
	calls_system("dlsym");
	need(st.loaded);
	return !strcmp(symbol, DAT_PROVIDER_INIT_FUNC_STR) ? (void *)stub_init
							   : (void *)stub_fini;
}

int __wrap_dlclose(void *library)
{
	if (library != PLUGIN)
		return __real_dlclose(library);
	calls_system("dlclose");
	need(st.loaded--);
	return 0;
}

/* -------------------------------------------------- steps */

static void make(void)
{
	static const char line[] =
		"ia-%d u2.0 threadsafe default plug-in stub.1.0 \"\" \"\"\n";
	char path[64];
	int fd = memfd_create("dat.conf", MFD_CLOEXEC);

	need(fd >= 0);
	for (int i = 0; i < NAMES; i++)
		dprintf(fd, line, i);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	dat_registry_fini();
	dat_registry_init(&(struct dat_static_options){.override = path,
						       .automatic = "0"});
	close(fd);
}

static DAT_RETURN open_one(const char *name, DAT_IA_HANDLE *ret_ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &async, ret_ia);
}

static void close_one(DAT_IA_HANDLE ia)
{
	need_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static const char *some_name(void)
{
	static const char *const names[] = {"ia-0", "ia-0", "ia-1", "ia-2"};

	return names[sched_dice(4)];
}

/* No adapter is open, and no plug-in there that nobody uses. */
static void nothing_is_left(void)
{
	need(st.opens == st.closes);
	need(!st.loaded);
	for (int i = 0; i < NAMES; i++)
		need(!st.ready[i]);
	dat_registry_fini();
	need(!dat_handle_get((DAT_IA_HANDLE)1));
}

/* ---------------------------------------- opened and closed */

static void opens_and_closes(void *arg)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_CONTEXT context;

	for (int i = 0; i < 3; i++) {
		need_ok(open_one(some_name(), &ia));
		need_ok(dat_get_consumer_context(ia, &context));
		need(context.as_ptr == ia);
		close_one(ia);
	}
	st.done++;
}

SCENARIO_BARE(registry__opened_and_closed_by_three)
{
	make();
	for (int i = 0; i < 3; i++)
		actor(opens_and_closes, NULL);
	play();
	nothing_is_left();
}

static void closes(void *arg)
{
	DAT_RETURN ret = dat_ia_close(st.ia, DAT_CLOSE_ABRUPT_FLAG);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE);
	st.done += ret == DAT_SUCCESS;
}

SCENARIO_BARE(registry__closed_by_two)
{
	make();
	need_ok(open_one("ia-0", &st.ia));
	actor(closes, NULL);
	actor(closes, NULL);
	play();
	need(st.done == 1);
	nothing_is_left();
}

static void opens_in_vain(void *arg)
{
	DAT_IA_HANDLE ia;

	for (int i = 0; i < 2; i++)
		need_type(open_one(LAST, &ia), DAT_PROVIDER_NOT_FOUND);
}

SCENARIO_BARE(registry__a_plugin_that_does_not_register)
{
	make();
	actor(opens_in_vain, NULL);
	actor(opens_in_vain, NULL);
	actor(opens_and_closes, NULL);
	play();
	nothing_is_left();
}

/* --------------------------------- registered by the program */

static DAT_PROVIDER_INFO own_info(void)
{
	return (DAT_PROVIDER_INFO){
		.ia_name = "own",
		.dapl_version_major = DAT_VERSION_MAJOR,
		.is_thread_safe = DAT_TRUE,
	};
}

/* In use, it cannot be removed; nobody opens what was. */
static void registers_and_removes(void *arg)
{
	DAT_PROVIDER_INFO info = own_info();
	DAT_RETURN ret;

	for (int i = 0; i < 2; i++) {
		need_ok(dat_registry_add_provider(&own_table, &info));
		need_type(dat_registry_add_provider(&own_table, &info),
			  DAT_PROVIDER_ALREADY_REGISTERED);
		while ((ret = dat_registry_remove_provider(
				&own_table, &info)) != DAT_SUCCESS) {
			need_type(ret, DAT_PROVIDER_IN_USE);
			world_pause();
		}
		need(!st.own_opened);
	}
}

static void opens_own(void *arg)
{
	DAT_IA_HANDLE ia;

	for (int i = 0; i < 4; i++) {
		DAT_RETURN ret = open_one("own", &ia);

		need_type(ret, DAT_SUCCESS, DAT_PROVIDER_NOT_FOUND);
		if (ret != DAT_SUCCESS)
			continue;
		st.own_opened = true;
		sched_point("open");
		st.own_opened = false;
		close_one(ia);
	}
}

SCENARIO_BARE(registry__provider_of_the_program)
{
	make();
	actor(registers_and_removes, NULL);
	actor(opens_own, NULL);
	actor(opens_and_closes, NULL);
	play();
	nothing_is_left();
}

#define LISTED (NAMES + 1) /* and the program's */

static void lists(void *arg)
{
	DAT_PROVIDER_INFO info[LISTED], *list[LISTED];
	DAT_COUNT n;

	for (int i = 0; i < LISTED; i++)
		list[i] = &info[i];
	for (int i = 0; i < 3; i++) {
		need_ok(dat_registry_list_providers(LISTED, &n, list));
		need(n == NAMES || n == LISTED);
		for (int k = 0; k < NAMES; k++)
			need(number_of(info[k].ia_name) == k);
		need(n == NAMES || !strcmp(info[NAMES].ia_name, "own"));
	}
}

SCENARIO_BARE(registry__listed_while_it_changes)
{
	make();
	actor(lists, NULL);
	actor(registers_and_removes, NULL);
	actor(opens_and_closes, NULL);
	play();
	nothing_is_left();
}

/* --------------------------------- cancelled, forked, left */

/* Opening is no cancellation point: what it has opened is known here. */
static void opens_until_cancelled(void *arg)
{
	for (;;) {
		need_ok(open_one("ia-0", &st.ia));
		pthread_testcancel();
		close_one(st.ia);
		st.ia = DAT_HANDLE_NULL;
		pthread_testcancel();
	}
}

static void cancels(void *arg)
{
	for (unsigned n = sched_dice(4); n; n--)
		world_pause();
	need(!pthread_cancel(actor_thread(0)));
}

SCENARIO_BARE(registry__cancelled)
{
	make();
	actor(opens_until_cancelled, NULL);
	actor(cancels, NULL);
	actor(opens_and_closes, NULL);
	play();
	if (st.ia)
		close_one(st.ia);
	nothing_is_left();
}

/* What it finds is whole; what was open is not its own. */
_Noreturn static void child(void)
{
	DAT_PROVIDER_INFO info[LISTED], *list[LISTED];
	DAT_IA_HANDLE ia;
	DAT_COUNT n;

	for (int i = 0; i < LISTED; i++)
		list[i] = &info[i];
	need_ok(dat_registry_list_providers(LISTED, &n, list));
	if (dat_forked())
		need_type(open_one("ia-2", &ia), DAT_INVALID_STATE);
	else
		need_ok(open_one("ia-2", &ia));
	_exit(0);
}

static void forks(void *arg)
{
	int status;
	pid_t pid = fork();

	need(pid >= 0);
	if (!pid)
		child();
	need(waitpid(pid, &status, 0) == pid);
	need(WIFEXITED(status) && !WEXITSTATUS(status));
}

SCENARIO_BARE(registry__forked_while_others_call)
{
	make();
	actor(forks, NULL);
	actor(opens_and_closes, NULL);
	actor(registers_and_removes, NULL);
	play();
	nothing_is_left();
}

static void leaves(void *arg)
{
	for (unsigned n = sched_dice(6); n; n--)
		world_pause();
	st.leaving = true;
	leave();
}

/* They are refused when the library goes, and it goes with what they use. */
static void calls_until_the_end(void *arg)
{
	DAT_PROVIDER_INFO info[LISTED], *list[LISTED];
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	DAT_COUNT n;

	for (int i = 0; i < LISTED; i++)
		list[i] = &info[i];
	for (;;) {
		ret = open_one(some_name(), &ia);
		need_type(ret, DAT_SUCCESS, DAT_INVALID_STATE,
			  DAT_PROVIDER_NOT_FOUND);
		need(ret == DAT_SUCCESS || st.leaving);
		need_ok(dat_registry_list_providers(LISTED, &n, list));
		need(n == NAMES || st.leaving);
		if (ret == DAT_SUCCESS)
			close_one(ia);
	}
}

SCENARIO_BARE(registry__left_while_others_call)
{
	make();
	actor(leaves, NULL);
	actor(calls_until_the_end, NULL);
	actor(calls_until_the_end, NULL);
	play();
}
