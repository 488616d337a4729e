/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_registry.c - from dat.conf to an open adapter and back.
 *
 * Covers dat_ia_openv, dat_ia_close, dat_registry_*, dat_extension_op for
 * queries, with provider plug-ins that are real shared libraries (dat_stub.c).
 * No device. Each test writes the dat.conf it needs; the environment is
 * tested by t_dat_env.sh, a privately loaded library by t_dat_private.c.
 * Compiled for each version of DAT (dat_test_face.h).
 * Threads: one test runs eight at once; pthread_cond_wait is wrapped to see
 * that a thread waits.
 */
#include "dat_stub.h"
#include "dat_test_face.h"

#include "dat/common/dat_handle.h"
#include "dat/common/dat_log.h"
#include "dat/common/dat_reg.h"
#include "dat/common/dat_static.h"
#include "test/unit/case.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUB	     DAT_TEST_LIBDIR "/" STUB_NAME ".so"
#define STUB_NO_INIT DAT_TEST_LIBDIR "/" STUB_NAME "_noinit.so"
#define STUB_NO_FINI DAT_TEST_LIBDIR "/" STUB_NAME "_nofini.so"

/* One line of dat.conf. */
#define LINE(name, api, mt, lib, params) \
	name " " api " " mt " default " lib " stub.1.0 \"" params "\" \"\"\n"
#define STD(name, params) LINE(name, API, "threadsafe", STUB, params)

#define NOT_REGISTERED code(0x800a0064)

DAT_STUB_COUNTERS;

static char dir[] = "/tmp/dapl-test.XXXXXX";
static char conf_path[64];

/* Of this machine's own devices nothing is seen. */
static void init_with(const char *override)
{
	dat_registry_init(&(struct dat_static_options){
		.override = override,
		.sysfs = dir,
	});
}

static void use_conf(const char *text)
{
	FILE *f = fopen(conf_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
	dat_registry_fini();
	init_with(conf_path);
	memset(&stub_count, 0, sizeof(stub_count));
}

static DAT_RETURN open_version(const char *name, DAT_IA_HANDLE *ia,
			       DAT_UINT32 major, DAT_UINT32 minor,
			       DAT_BOOLEAN thread_safe)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)name, 8, &evd, ia, major, minor,
			    thread_safe);
}

static DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia)
{
	return open_version(name, ia, MAJOR, MINOR, DAT_FALSE);
}

static DAT_IA_HANDLE must_open(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	assert_int_equal(open_name(name, &ia), DAT_SUCCESS);
	assert_non_null(ia);
	return ia;
}

static void must_close(DAT_IA_HANDLE ia)
{
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void check_reason(const char *part)
{
	if (!strstr(dat_error_detail(), part))
		fail_msg("'%s' is not in '%s'", part, dat_error_detail());
}

static void check_refused(const char *name, DAT_RETURN code, const char *part)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&code;

	assert_int_equal(open_name(name, &ia), code);
	/* outputs are written only on success */
	assert_ptr_equal(ia, (DAT_IA_HANDLE)&code);
	check_reason(part);
	assert_null(dat_handle_get((DAT_IA_HANDLE)1));
	assert_int_equal(stub_count.opens, stub_count.closes);
}

static int group_setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
	return 0;
}

static int group_teardown(void **state)
{
	dat_registry_fini();
	unlink(conf_path);
	return rmdir(dir);
}

/* Whatever a test did, no provider may be left. */
static int teardown(void **state)
{
	if (stub_count.opens != stub_count.closes || stub_is_loaded(STUB))
		return -1;
	return dat_handle_fini() ? 0 : -1;
}

#define T(name) CASE_WITH(name, NULL, teardown)

/*
 * The file
 */

T(openv__no_file)
{
	dat_registry_fini();
	init_with("/nonexistent/dat.conf");
	check_refused("a", NOT_REGISTERED, "there is no /nonexistent/dat.conf");
	check_reason("load the driver of an RDMA device");
}

T(openv__override_empty)
{
	dat_registry_fini();
	init_with("");
	check_refused("a", NOT_REGISTERED, "DAT_OVERRIDE is an empty path");
}

T(openv__file_is_a_directory)
{
	dat_registry_fini();
	init_with(dir);
	check_refused("a", NOT_REGISTERED, "is not a regular file");
}

/* Must not wait for somebody to write into it. */
T(openv__file_is_a_fifo)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	dat_registry_fini();
	init_with(path);
	unlink(path);
	check_refused("a", NOT_REGISTERED, "is not a regular file");
}

T(openv__file_too_large)
{
	use_conf(STD("a", "ok"));
	assert_int_equal(truncate(conf_path, (16 << 20) + 1), 0);
	dat_registry_fini();
	init_with(conf_path);
	check_refused("a", NOT_REGISTERED, "is larger than 16 MiB");
}

T(openv__file_of_zeros)
{
	use_conf(STD("a", "ok"));
	assert_int_equal(truncate(conf_path, 1 << 20), 0);
	dat_registry_fini();
	init_with(conf_path);
	must_close(must_open("a"));
}

/*
 * Names and versions
 */

T(openv__longest_name)
{
	char name[DAT_NAME_MAX_LENGTH + 1];
	DAT_IA_HANDLE ia;

	use_conf(STD("a", "ok"));
	memset(name, 'a', sizeof(name));
	name[DAT_NAME_MAX_LENGTH] = '\0';
	assert_int_equal(open_name(name, &ia), code(0x80060025));
	check_reason("longer than 255");
	name[DAT_NAME_MAX_LENGTH - 1] = '\0';
	assert_int_equal(open_name(name, &ia), NOT_REGISTERED);
}

T(openv__unknown_name_lists_the_known)
{
	use_conf(STD("alpha", "ok") STD("beta", "ok"));
	check_refused("gamma", NOT_REGISTERED,
		      "no adapter \"gamma\": use alpha, beta: it is not in ");
	check_reason(conf_path);
}

T(openv__long_list_is_cut)
{
	char text[100 * sizeof(STD("n12", "ok"))] = "";
	char line[sizeof(STD("n12", "ok")) + 8];

	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), STD("n%02d", "ok"), i);
		strcat(text, line);
	}
	use_conf(text);
	check_refused("gamma", NOT_REGISTERED, "use n00, n01, n02");
	check_reason("n07 or 92 more: ");
}

T(openv__malformed_line_of_that_name)
{
	use_conf("alpha v2.0 threadsafe\n" STD("beta", "ok"));
	check_refused("alpha", NOT_REGISTERED,
		      "line 1, column 7: write u<major>.<minor>, such as "
		      "u2.0 as api version: found 'v2.0'");
	must_close(must_open("beta"));
}

T(openv__crlf)
{
	use_conf("alpha " API " threadsafe default " STUB
		 " stub.1.0 \"ok\" \"\"\r\n");
	check_refused("alpha", NOT_REGISTERED,
		      "convert the file to Unix line ends: ");
}

T(openv__line_not_used)
{
	use_conf("alpha " API " threadsafe nondefault " STUB
		 " stub.1.0 \"ok\" \"\"\n");
	check_refused("alpha", NOT_REGISTERED,
		      "write default as default section: found 'nondefault', "
		      "which this library does not use");
}

T(openv__similar_name)
{
	use_conf(STD("alpha", "ok") STD("Beta", "ok"));
	check_refused("beta", NOT_REGISTERED, "use \"Beta\", ");
}

T(openv__major)
{
	char asked[32];

	use_conf(LINE("a", API_OTHER, "threadsafe", STUB, "ok"));
	check_refused("a", code(0x800a0065), "of API version ");
	check_reason(API_VERSION(API_OTHER));
	snprintf(asked, sizeof(asked), "asks for %s", API_VERSION(API));
	check_reason(asked);
}

/* A table of the other version would be called as if it were of this one. */
T(openv__major_of_the_other_library)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)0x77;

	use_conf(LINE("a", API_OTHER, "threadsafe", STUB, "ok"));
	assert_int_equal(open_version("a", &ia, MAJOR_OTHER, 0, DAT_FALSE),
			 code(0x800a0065));
	assert_ptr_equal(ia, (DAT_IA_HANDLE)0x77);
	assert_int_equal(stub_count.inits, 0);
	check_reason("the calls of ");
}

T(openv__minor)
{
	DAT_IA_HANDLE ia;

	use_conf(LINE("a", API_PLUS1, "threadsafe", STUB, "ok"));
	assert_int_equal(open_version("a", &ia, MAJOR, MINOR + 2, DAT_FALSE),
			 code(0x800a0066));
	check_reason("of API version ");
	check_reason(API_VERSION(API_PLUS1));
	assert_int_equal(open_version("a", &ia, MAJOR, MINOR + 1, DAT_FALSE),
			 DAT_SUCCESS);
	must_close(ia);
	assert_int_equal(open_version("a", &ia, MAJOR, MINOR, DAT_FALSE),
			 DAT_SUCCESS);
	must_close(ia);
}

T(openv__thread_safety)
{
	DAT_IA_HANDLE ia;

	use_conf(STD("both", "ok")
			 LINE("one", API, "nonthreadsafe", STUB, "ok"));
	assert_int_equal(open_version("one", &ia, MAJOR, MINOR, DAT_TRUE),
			 code(0x800a0067));
	check_reason("marked nonthreadsafe");
	assert_int_equal(open_version("one", &ia, MAJOR, MINOR, DAT_FALSE),
			 DAT_SUCCESS);
	must_close(ia);
	assert_int_equal(open_version("both", &ia, MAJOR, MINOR, DAT_TRUE),
			 DAT_SUCCESS);
	must_close(ia);
	assert_int_equal(open_version("both", &ia, MAJOR, MINOR, DAT_FALSE),
			 DAT_SUCCESS);
	must_close(ia);
}

/* The nearest miss is reported, wherever it stands. */
T(openv__nearest_miss)
{
	DAT_IA_HANDLE ia;

	use_conf(LINE("a", API, "nonthreadsafe", STUB, "ok")
			 LINE("a", API_OTHER, "threadsafe", STUB, "ok"));
	assert_int_equal(open_version("a", &ia, MAJOR, MINOR, DAT_TRUE),
			 code(0x800a0067));
	assert_int_equal(open_version("a", &ia, MAJOR + 2, 0, DAT_TRUE),
			 code(0x800a0065));
}

T(openv__exact_match_first)
{
	use_conf(LINE("a", API_PLUS1, "threadsafe", STUB, "refuse")
			 LINE("a", API, "threadsafe", STUB, "refuse")
				 LINE("a", API, "nonthreadsafe", STUB, "ok"));
	must_close(must_open("a"));
}

T(openv__else_file_order)
{
	use_conf(LINE("a", API_PLUS3, "threadsafe", STUB, "ok")
			 LINE("a", API_PLUS2, "threadsafe", STUB, "refuse"));
	must_close(must_open("a"));
}

/*
 * Loading
 */

T(openv__library_missing)
{
	use_conf(LINE("a", API, "threadsafe", "/nonexistent/x.so", "ok"));
	check_refused("a", NOT_REGISTERED,
		      "line 1: install or correct the library: "
		      "cannot load ");
	check_reason("/nonexistent/x.so");
	check_reason("No such file");
}

T(openv__library_empty)
{
	use_conf(LINE("a", API, "threadsafe", "\"\"", "ok"));
	check_refused("a", NOT_REGISTERED, "it is empty");
}

T(openv__library_of_the_other_version)
{
	use_conf(LINE("a", API, "threadsafe", OTHER_CMA, "ok"));
	check_refused("a", NOT_REGISTERED, "line 1: write " OWN_CMA ": ");
}

T(openv__library_that_cannot_be_read)
{
	char path[80], text[256];

	snprintf(path, sizeof(path), "%s/l.so", dir);
	snprintf(text, sizeof(text), LINE("a", API, "threadsafe", "%s", "ok"),
		 path);
	use_conf(text);
	assert_int_equal(close(creat(path, 0)), 0);
	if (!access(path, R_OK))
		check_refused("a", NOT_REGISTERED, "install or correct");
	else
		check_refused("a", NOT_REGISTERED, "let this user read");
	unlink(path);
}

T(openv__library_is_no_library)
{
	use_conf(LINE("a", API, "threadsafe", "/etc", "ok")
			 LINE("b", API, "threadsafe", "/etc/passwd", "ok"));
	check_refused("a", NOT_REGISTERED, "/etc is not a regular file");
	check_refused("b", NOT_REGISTERED, "cannot load /etc/passwd");
}

T(openv__library_is_a_fifo)
{
	char text[256];
	char path[80];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(text, sizeof(text), LINE("a", API, "threadsafe", "%s", "ok"),
		 path);
	use_conf(text);
	check_refused("a", NOT_REGISTERED, "is not a regular file");
	unlink(path);
}

T(openv__entry_points_missing)
{
	use_conf(LINE("a", API, "threadsafe", STUB_NO_INIT, "ok")
			 LINE("b", API, "threadsafe", STUB_NO_FINI, "ok"));
	check_refused("a", NOT_REGISTERED, "has no dat_provider_init");
	check_refused("b", NOT_REGISTERED, "has no dat_provider_fini");
	assert_false(stub_is_loaded(STUB_NO_INIT));
	assert_false(stub_is_loaded(STUB_NO_FINI));
	assert_int_equal(stub_count.inits, 0);
}

T(openv__init_does_not_register)
{
	use_conf(STD("a", "noregister") STD("b", "noregister silent"));
	check_refused("a", NOT_REGISTERED,
		      STUB_NAME ".so did not register \"a\": the stub was "
				"told not to");
	check_refused("b", NOT_REGISTERED,
		      STUB_NAME ".so did not register \"b\"");
	assert_int_equal(stub_count.inits, 2);
	assert_int_equal(stub_count.finis, 0);
}

T(openv__refused_with_reason)
{
	use_conf(STD("a", "refuse"));
	/* the code without class bit is the provider's, and stays so */
	check_refused("a", 0x00120000, "line 1: the stub has no device");
	check_reason("adapter \"a\": ");
	check_reason(conf_path);
	assert_int_equal(stub_count.finis, 1);
}

T(openv__refused_without_reason)
{
	use_conf(STD("a", "refuse silent"));
	check_refused("a", 0x00120000,
		      "line 1: its provider refused: 0x00120000 "
		      "DAT_INVALID_ADDRESS");
	check_reason("adapter \"a\": ");
}

T(openv__no_handle_and_no_slot)
{
	use_conf(STD("a", "nohandle") STD("b", "noopen"));
	check_refused("a", code(0x80040000), "gave no handle");
	check_refused("b", code(0xbfff0000), "cannot open adapters");
}

T(openv__duplicates_first_that_loads)
{
	use_conf(LINE("a", API, "threadsafe", "/nonexistent/x.so", "ok")
			 LINE("a", API, "threadsafe", STUB_NO_INIT, "ok")
				 STD("a", "ok") STD("a", "refuse"));
	must_close(must_open("a"));
	assert_int_equal(stub_count.inits, 1);
}

T(openv__duplicates_all_fail)
{
	use_conf(LINE("a", API, "threadsafe", "/nonexistent/x.so", "ok")
			 LINE("a", API, "threadsafe", STUB_NO_INIT, "ok"));
	check_refused("a", NOT_REGISTERED,
		      "line 1: install or correct the library: "
		      "cannot load ");
	check_reason("line 2: ");
}

T(openv__duplicates_not_after_a_refusal)
{
	use_conf(STD("a", "refuse") STD("a", "ok"));
	check_refused("a", 0x00120000, "the stub has no device");
	assert_int_equal(stub_count.inits, 1);
}

T(openv__init_must_not_open)
{
	use_conf(STD("a", "openinit noregister silent") STD("other", "ok"));
	check_refused("a", NOT_REGISTERED, "initialisation of provider \"a\"");
	assert_int_equal(stub_count.opens, 0);
}

/*
 * Life of a provider
 */

T(close__last_one_unloads)
{
	DAT_IA_HANDLE first;
	DAT_IA_HANDLE second;

	use_conf(STD("a", "ok"));
	assert_false(stub_is_loaded(STUB));
	first = must_open("a");
	second = must_open("a");
	assert_ptr_equal(first, (DAT_IA_HANDLE)1);
	assert_ptr_equal(second, (DAT_IA_HANDLE)2);
	assert_int_equal(stub_count.inits, 1);
	must_close(first);
	assert_int_equal(stub_count.finis, 0);
	assert_true(stub_is_loaded(STUB));
	assert_ptr_equal(must_open("a"), first);
	must_close(first);
	assert_int_equal(dat_ia_close(first, 0), code(0x8005000b));
	check_reason("IA 0x1 is not open");
	must_close(second);
	assert_int_equal(stub_count.finis, 1);
	assert_false(stub_is_loaded(STUB));
	must_close(must_open("a"));
	assert_int_equal(stub_count.inits, 2);
	assert_int_equal(stub_count.finis, 2);
}

T(close__two_names_of_one_library)
{
	DAT_IA_HANDLE a;
	DAT_IA_HANDLE b;

	use_conf(STD("a", "ok") STD("b", "ok"));
	a = must_open("a");
	b = must_open("b");
	assert_int_equal(stub_count.inits, 2);
	must_close(a);
	assert_int_equal(stub_count.finis, 1);
	assert_true(stub_is_loaded(STUB));
	must_close(b);
	assert_int_equal(stub_count.finis, 2);
}

T(close__refused_stays_open)
{
	DAT_CONTEXT context = {.as_ptr = NULL};
	DAT_IA_HANDLE ia;

	use_conf(STD("a", "busy"));
	ia = must_open("a");
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG),
			 code(0x80070050));
	check_reason("DAT_INVALID_STATE_IA_IN_USE");
	assert_int_equal(dat_get_consumer_context(ia, &context), DAT_SUCCESS);
	assert_ptr_equal(context.as_ptr, ia);
	must_close(ia);
}

T(fini__leaves_its_registration)
{
	use_conf(STD("a", "stay"));
	must_close(must_open("a"));
	assert_false(stub_is_loaded(STUB));
	/* the registry forgot it too, or this would jump into nowhere */
	must_close(must_open("a"));
	assert_int_equal(stub_count.inits, 2);
}

T(init__registers_another_name)
{
	DAT_IA_HANDLE ia;

	use_conf(STD("a", "extra"));
	ia = must_open("a");
	must_close(must_open("a-extra"));
	must_close(ia);
	check_refused("a-extra", NOT_REGISTERED, "no adapter \"a-extra\"");
}

static void *open_and_close(void *arg)
{
	pthread_barrier_t *start = arg;
	DAT_IA_HANDLE ia;

	pthread_barrier_wait(start);
	for (int i = 0; i < 100; i++) {
		if (open_name(i % 2 ? "a" : "b", &ia))
			return arg;
		if (dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG))
			return arg;
		if (open_name("c", &ia) != 0x00120000)
			return arg;
	}
	return NULL;
}

T(openv__eight_threads)
{
	pthread_barrier_t start;
	pthread_t threads[8];
	void *failed;

	use_conf(STD("a", "ok") STD("b", "ok") STD("c", "refuse"));
	pthread_barrier_init(&start, NULL, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						open_and_close, &start),
				 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	pthread_barrier_destroy(&start);
	assert_int_equal(stub_count.opens, 800);
	assert_int_equal(stub_count.closes, 800);
	assert_int_equal(stub_count.inits, stub_count.finis);
	assert_true(stub_count.inits >= 2);
}

/*
 * One thread is in init, another waits for it. When the latter waits, and not
 * before, init goes on.
 */
static sem_t waiting;
static sem_t in_init;

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	/* the mutex is held until it waits indeed, and init's end wants it */
	sem_post(&waiting);
	return __real_pthread_cond_wait(cond, mutex);
}

static void wait_for_the_other(void)
{
	sem_post(&in_init);
	sem_wait(&waiting);
}

static void *open_a(void *arg)
{
	DAT_IA_HANDLE *ia = arg;
	DAT_RETURN ret = open_name("a", ia);

	/* Should init not have been called. */
	sem_post(&in_init);
	return ret ? arg : NULL;
}

T(openv__waits_for_a_load)
{
	DAT_IA_HANDLE ias[2];
	pthread_t threads[2];
	void *failed;

	use_conf(STD("a", "ok"));
	sem_init(&in_init, 0, 0);
	sem_init(&waiting, 0, 0);
	stub_count.gate = wait_for_the_other;
	assert_int_equal(pthread_create(&threads[0], NULL, open_a, &ias[0]), 0);
	sem_wait(&in_init);
	assert_int_equal(pthread_create(&threads[1], NULL, open_a, &ias[1]), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(stub_count.inits, 1);
	must_close(ias[0]);
	must_close(ias[1]);
	assert_int_equal(stub_count.finis, 1);
}

/* What the child found is its exit status; it must not hang. */
static void in_child(bool (*fine)(DAT_IA_HANDLE ia), DAT_IA_HANDLE ia)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		_exit(fine(ia) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define FORKED \
	(DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE)

static bool child_is_refused(DAT_IA_HANDLE ia)
{
	DAT_IA_HANDLE other;

	return open_name("a", &other) == (DAT_RETURN)FORKED &&
	       strstr(dat_error_detail(), "forked") &&
	       dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == (DAT_RETURN)FORKED &&
	       strstr(dat_error_detail(), "forked");
}

static bool child_may_open(DAT_IA_HANDLE none)
{
	DAT_IA_HANDLE ia;

	(void)none;
	return open_name("a", &ia) == DAT_SUCCESS &&
	       dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
}

T(fork__adapter_open)
{
	DAT_IA_HANDLE ia;

	use_conf(STD("a", "ok"));
	ia = must_open("a");
	in_child(child_is_refused, ia);
	must_close(ia);
	assert_int_equal(stub_count.finis, 1);
	in_child(child_may_open, DAT_HANDLE_NULL);
}

/* The thread that would end the loading is not there in the child. */
T(fork__while_a_thread_loads)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	pthread_t thread;
	void *failed;

	use_conf(STD("a", "ok"));
	sem_init(&in_init, 0, 0);
	sem_init(&waiting, 0, 0);
	stub_count.gate = wait_for_the_other;
	assert_int_equal(pthread_create(&thread, NULL, open_a, &ia), 0);
	sem_wait(&in_init);
	in_child(child_is_refused, (DAT_IA_HANDLE)1);
	sem_post(&waiting);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	must_close(ia);
}

/* A program may end with adapters open; providers still call us then. */
T(registry_fini__with_an_adapter_open)
{
	DAT_PROVIDER provider = {0};
	DAT_PROVIDER_INFO info = {"p", MAJOR, MINOR, DAT_TRUE};
	DAT_IA_HANDLE other;
	DAT_IA_HANDLE ia;

	use_conf(STD("a", "ok"));
	ia = must_open("a");
	dat_registry_fini();
	assert_int_equal(open_name("a", &other), code(0x80070000));
	check_reason("being unloaded");
	assert_int_equal(dat_registry_add_provider(&provider, &info),
			 code(0x80070000));
	assert_int_equal(dat_registry_remove_provider(&provider, &info),
			 code(0x80070000));
	assert_int_equal(dats_get_ia_handle(ia, &other), DAT_SUCCESS);
	must_close(ia);
	dat_registry_fini();
	init_with("");
}

/*
 * Providers of the program
 */

static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	return DAT_SUCCESS;
}

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_ia)
{
	static DAT_PROVIDER table = {.ia_close_func = own_close};
	static struct {
		DAT_PROVIDER *table;
	} ia = {&table};

	assert_int_equal(qlen, 8);
	*ret_ia = &ia;
	return DAT_SUCCESS;
}

static const DAT_PROVIDER own = {.ia_open_func = own_open};
static const DAT_PROVIDER_INFO own_info = {"own", MAJOR, MINOR, DAT_TRUE};

/* ------------------------------------------- cancellation */

struct pending {
	DAT_RETURN (*call)(DAT_IA_HANDLE *ia);
	DAT_IA_HANDLE *ia;
	DAT_RETURN ret;
	bool returned;
};

static void *call_cancelled(void *arg)
{
	struct pending *p = arg;

	pthread_cancel(pthread_self());
	p->ret = p->call(p->ia);
	p->returned = true;
	pthread_testcancel();
	return NULL;
}

/* CALL returns RET although its thread is to end at the first occasion. */
static void check_pending(DAT_RETURN (*call)(DAT_IA_HANDLE *ia),
			  DAT_IA_HANDLE *ia, DAT_RETURN ret)
{
	struct pending p = {.call = call, .ia = ia};
	pthread_t thread;
	void *end = NULL;

	assert_int_equal(pthread_create(&thread, NULL, call_cancelled, &p), 0);
	pthread_join(thread, &end);
	assert_true(p.returned);
	assert_int_equal(p.ret, ret);
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

static DAT_RETURN open_known(DAT_IA_HANDLE *ia)
{
	return open_name("one", ia);
}

static DAT_RETURN open_unknown(DAT_IA_HANDLE *ia)
{
	return open_name("two", ia);
}

static DAT_RETURN close_it(DAT_IA_HANDLE *ia)
{
	return dat_ia_close(*ia, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN list_them(DAT_IA_HANDLE *ia)
{
	DAT_COUNT n;

	(void)ia;
	return DAT_GET_TYPE(dat_registry_list_providers(0, &n, NULL));
}

#ifndef DAT_FACE_1
static DAT_RETURN relate_them(DAT_IA_HANDLE *ia)
{
	DAT_HA_RELATIONSHIP related;

	(void)ia;
	return dat_registry_providers_related("one", "one", &related);
}
#endif

/* A file is read, a library loaded, a line logged: cancellation points all. */
T(calls__with_a_cancel_pending)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	const char *conf = STD("one", "");

	use_conf(conf);
	check_pending(open_known, &ia, DAT_SUCCESS);
	check_pending(close_it, &ia, DAT_SUCCESS);
	use_conf(conf);
	check_pending(list_them, NULL, DAT_INVALID_PARAMETER);
#ifndef DAT_FACE_1
	use_conf(conf);
	check_pending(relate_them, NULL, DAT_SUCCESS);
#endif
	dat_log_setup(DAT_LOG_ERROR, DAT_LOG_STDOUT);
	check_pending(open_unknown, &ia, NOT_REGISTERED);
	dat_log_setup(0, DAT_LOG_STDOUT);
}

T(add_provider__of_the_program)
{
	DAT_IA_HANDLE ia;

	use_conf(STD("a", "ok"));
	assert_int_equal(dat_registry_add_provider(&own, &own_info),
			 DAT_SUCCESS);
	assert_int_equal(dat_registry_add_provider(&own, &own_info),
			 code(0x80100000));
	check_reason("registered already");
	check_refused("gamma", NOT_REGISTERED, "use a, own: ");
	ia = must_open("own");
	assert_int_equal(dat_registry_remove_provider(&own, &own_info),
			 code(0x80110000));
	must_close(ia);
	assert_int_equal(dat_registry_remove_provider(&own, &own_info),
			 DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&own, &own_info),
			 NOT_REGISTERED);
	check_refused("own", NOT_REGISTERED, "no adapter \"own\"");
}

/* What a program registered is used instead of what the file says. */
T(add_provider__instead_of_the_file)
{
	DAT_PROVIDER_INFO info = {"a", MAJOR, MINOR, DAT_TRUE};

	use_conf(STD("a", "ok"));
	assert_int_equal(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
	must_close(must_open("a"));
	assert_int_equal(stub_count.inits, 0);
	assert_int_equal(dat_registry_remove_provider(&own, &info),
			 DAT_SUCCESS);
}

/* The same name, version and thread safety, but somebody else's table. */
T(remove_provider__of_another)
{
	DAT_PROVIDER other = own;

	use_conf("");
	assert_int_equal(dat_registry_add_provider(&own, &own_info),
			 DAT_SUCCESS);
	assert_int_equal(dat_registry_add_provider(&other, &own_info),
			 code(0x80100000));
	assert_int_equal(dat_registry_remove_provider(&other, &own_info),
			 NOT_REGISTERED);
	check_reason("by another provider");
	must_close(must_open("own"));
	assert_int_equal(dat_registry_remove_provider(&own, &own_info),
			 DAT_SUCCESS);
}

T(add_provider__name_without_end)
{
	DAT_PROVIDER_INFO info = own_info;

	memset(info.ia_name, 'x', sizeof(info.ia_name));
	assert_int_equal(dat_registry_add_provider(&own, &info),
			 code(0x80060026));
	check_reason("its name has no end");
}

/*
 * Lists
 */

T(list_providers__order_and_content)
{
	DAT_PROVIDER_INFO infos[6];
	DAT_PROVIDER_INFO *list[6];
	DAT_COUNT n = -1;

	for (int i = 0; i < 6; i++)
		list[i] = &infos[i];
	use_conf(STD("z", "ok") STD("a", "ok") STD("z", "again")
			 LINE("z", API, "nonthreadsafe", STUB, "ok"));
	assert_int_equal(dat_registry_add_provider(&own, &own_info),
			 DAT_SUCCESS);
	assert_int_equal(dat_registry_list_providers(6, &n, list), DAT_SUCCESS);
	assert_int_equal(n, 4);
	assert_string_equal(infos[0].ia_name, "z");
	assert_int_equal(infos[0].dapl_version_major, MAJOR);
	assert_int_equal(infos[0].is_thread_safe, DAT_TRUE);
	assert_string_equal(infos[1].ia_name, "a");
	assert_string_equal(infos[2].ia_name, "z");
	assert_int_equal(infos[2].dapl_version_major, MAJOR);
	assert_int_equal(infos[2].dapl_version_minor, MINOR);
	assert_int_equal(infos[2].is_thread_safe, DAT_FALSE);
	assert_string_equal(infos[3].ia_name, "own");
	assert_false(stub_is_loaded(STUB));
	dat_registry_remove_provider(&own, &own_info);
}

/* Programs open whatever they are told of, and look at no version. */
T(list_providers__other_versions)
{
	DAT_PROVIDER_INFO infos[2];
	DAT_PROVIDER_INFO *list[2] = {&infos[0], &infos[1]};
	DAT_COUNT n = -1;

	use_conf(LINE("z", API_OTHER, "threadsafe", STUB, "ok") STD("a", "ok"));
	assert_int_equal(dat_registry_list_providers(2, &n, list), DAT_SUCCESS);
	assert_int_equal(n, 1);
	assert_string_equal(infos[0].ia_name, "a");
	assert_int_equal(infos[0].dapl_version_major, MAJOR);
}

/* More than there is room for: 1.2 has the first, 2.0 an error. */
T(list_providers__capacity)
{
	DAT_PROVIDER_INFO infos[3];
	DAT_PROVIDER_INFO *list[3] = {&infos[0], &infos[1], NULL};
	DAT_COUNT n = -1;

	use_conf(STD("a", "ok") STD("b", "ok") STD("c", "ok"));
	memset(infos, 0x55, sizeof(infos));
#ifdef DAT_FACE_1
	assert_int_equal(dat_registry_list_providers(2, &n, list), DAT_SUCCESS);
	assert_int_equal(n, 2);
	assert_string_equal(infos[0].ia_name, "a");
	assert_string_equal(infos[1].ia_name, "b");
#else
	assert_int_equal(dat_registry_list_providers(2, &n, list),
			 code(0x80060025));
	assert_int_equal(n, 3);
	assert_int_equal(infos[0].ia_name[0], 0x55);
#endif
	assert_int_equal(infos[2].ia_name[0], 0x55);
}

T(list_providers__element_is_null)
{
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO *list[2] = {&info, NULL};
	DAT_COUNT n = -1;

	use_conf(STD("a", "ok") STD("b", "ok"));
	assert_int_equal(dat_registry_list_providers(2, &n, list),
			 code(0x80060027));
	assert_int_equal(n, 0);
	check_reason("element 1");
}

T(list_providers__none)
{
	DAT_COUNT n = -1;

	use_conf("");
	assert_int_equal(dat_registry_list_providers(0, &n, NULL), DAT_SUCCESS);
	assert_int_equal(n, 0);
}

#ifndef DAT_FACE_1
static DAT_HA_RELATIONSHIP related(const char *a, const char *b)
{
	DAT_HA_RELATIONSHIP answer = DAT_HA_EXTENSION_BASE;

	assert_int_equal(dat_registry_providers_related(
				 (DAT_NAME_PTR)a, (DAT_NAME_PTR)b, &answer),
			 DAT_SUCCESS);
	return answer;
}

T(providers_related__answers)
{
	DAT_HA_RELATIONSHIP none;

	use_conf(STD("a1", "dev0 1") STD("a2", "dev0 2") STD("b1", "dev01 1")
			 LINE("c1", API, "threadsafe", "/x.so", "dev0 1"));
	dat_registry_add_provider(&own, &own_info);
	assert_int_equal(related("a1", "a1"), DAT_HA_TRUE);
	assert_int_equal(related("a1", "a2"), DAT_HA_TRUE);
	assert_int_equal(related("a1", "b1"), DAT_HA_FALSE);
	assert_int_equal(related("a1", "c1"), DAT_HA_FALSE);
	assert_int_equal(related("a1", "own"), DAT_HA_UNKNOWN);
	assert_int_equal(related("own", "own"), DAT_HA_TRUE);
	assert_int_equal(dat_registry_providers_related((DAT_NAME_PTR) "a1",
							(DAT_NAME_PTR) "b",
							&none),
			 NOT_REGISTERED);
	dat_registry_remove_provider(&own, &own_info);
}

/*
 * Queries
 */

static DAT_RETURN open_query(const char *name, DAT_HANDLE *ret_handle)
{
	return dat_ib_open_query(name, ret_handle, 0, NULL, 0, NULL);
}

T(query__open_and_close)
{
	DAT_HANDLE a = DAT_HANDLE_NULL;
	DAT_HANDLE b = DAT_HANDLE_NULL;

	use_conf(STD("a", "ok"));
	assert_int_equal(open_query("a", &a), DAT_SUCCESS);
	assert_int_equal(open_query("a", &b), DAT_SUCCESS);
	assert_false(dat_handle_is_number(a));
	assert_int_equal(stub_count.inits, 1);
	assert_int_equal(dat_ib_close_query(a), DAT_SUCCESS);
	assert_int_equal(dat_ib_close_query(a), code(0x8005000b));
	assert_true(stub_is_loaded(STUB));
	assert_int_equal(dat_ib_close_query(b), DAT_SUCCESS);
	assert_int_equal(stub_count.finis, 1);
}

T(query__refused)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;

	use_conf(STD("a", "refuse") STD("b", "nohandle") STD("c", "noopen"));
	assert_int_equal(open_query(NULL, &handle), code(0x80050027));
	assert_int_equal(open_query("gamma", &handle), NOT_REGISTERED);
	assert_int_equal(open_query("a", &handle), 0x00120000);
	check_reason("the stub has no device");
	assert_int_equal(open_query("b", &handle), code(0x80040000));
	assert_int_equal(open_query("c", &handle), code(0xbfff0000));
	assert_int_equal(stub_count.finis, 3);
}

T(query__close_refused_stays_open)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;

	use_conf(STD("a", "busy"));
	assert_int_equal(open_query("a", &handle), DAT_SUCCESS);
	/* 77 is what the stub takes for a graceful close */
	assert_int_equal(dat_extension_op(handle, DAT_CLOSE_EXTENSION_BASE, 77),
			 code(0x80070050));
	assert_int_equal(dat_extension_op(handle, DAT_CLOSE_EXTENSION_BASE, 0),
			 DAT_SUCCESS);
}

#endif

RUN_CASES(group_setup, group_teardown)
