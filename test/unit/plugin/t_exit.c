/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_exit.c - a program that ends with adapters open: what runs on while it
 * does, its threads, the service threads and destructors of other libraries,
 * finds everything as it was.
 *
 * Each case is a process of its own, this program with the name of a case. Its
 * last destructor stands for all that may still run then; what that finds is
 * the exit status. free() overwrites what it is given, so that it shows.
 * Rule: libdat2(7), end of the process.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "test/unit/kit.h"

#define CHILD_S 120
#define ROUNDS	50 /* more than the objects that a pool keeps back */

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
	if (p)
		memset(p, 0x5a, malloc_usable_size(p));
	__real_free(p);
}

static struct world w;
static void (*late)(void); /* what the last destructor does */

/* Those without a priority, as a library has, were all run before. */
__attribute__((destructor(101))) static void at_last(void)
{
	if (!late)
		return;
	late();
	_exit(0);
}

static void pz_make(struct world_side *s)
{
	DAT_PZ_HANDLE pz = world_pz(s->ia);

	assert_dat_ok(V(pz_free)(pz));
}

/* ------------------------------------------ the cases, each a process */

static void calls_late(void)
{
	for (int i = 0; i < ROUNDS; i++)
		pz_make(&w.client);
	world_post_se(world_evd(w.client.ia, DAT_EVD_SOFTWARE_FLAG), NULL);
	world_ia_close(w.client.ia, DAT_CLOSE_ABRUPT_FLAG);
	w.client.ia = world_ia_open(NULL);
}

static void program_calls(void)
{
	world_open(&w, FV_IB);
	for (int i = 0; i < ROUNDS; i++)
		pz_make(&w.client);
	late = calls_late;
}

static bool hold; /* requests; atomic */

static enum fv_verdict hold_back(struct rdma_cm_event *ev, void *arg)
{
	return __atomic_load_n(&hold, __ATOMIC_ACQUIRE) ? FV_HOLD : FV_DELIVER;
}

static DAT_EP_HANDLE ask(void)
{
	DAT_EP_HANDLE ep = world_ep(&w.client, NULL);

	assert_dat_ok(kit_connect(ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	return ep;
}

static void request_late(void)
{
	__atomic_store_n(&hold, false, __ATOMIC_RELEASE);
	while (!fv_cm_release(1))
		world_pause();
	/* Others may be held: they come when they come. */
	assert_dat_ok(V(cr_reject)(kit_request(&w), 0, NULL));
}

/* The service thread makes a request's object while the process ends. */
static void request_comes(void)
{
	DAT_EP_HANDLE ep;

	world_open(&w, FV_IB);
	fv_cm_hook(hold_back, NULL);
	kit_listen(&w);
	for (int i = 0; i < ROUNDS; i++) {
		ep = ask();
		assert_dat_ok(V(cr_reject)(kit_request(&w), 0, NULL));
		expect_event(w.client.conn_evd,
			     DAT_CONNECTION_EVENT_PEER_REJECTED);
		assert_dat_ok(V(ep_free)(ep));
	}
	__atomic_store_n(&hold, true, __ATOMIC_RELEASE);
	ask();
	late = request_late;
}

static bool calls_again; /* atomic */

static void *caller(void *arg)
{
	for (;;) {
		pz_make(&w.client);
		__atomic_store_n(&calls_again, true, __ATOMIC_RELEASE);
	}
	return arg;
}

static void thread_late(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		__atomic_store_n(&calls_again, false, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&calls_again, __ATOMIC_ACQUIRE))
			world_pause();
	}
}

/* A thread that does not know that the process ends. */
static void thread_calls(void)
{
	pthread_t thread;

	world_open(&w, FV_IB);
	assert_int_equal(pthread_create(&thread, NULL, caller, NULL), 0);
	late = thread_late;
	thread_late();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"program_calls", program_calls},
	{"request_comes", request_comes},
	{"thread_calls", thread_calls},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static int run_case(const char *name)
{
	for (size_t i = 0; i < CASES; i++)
		if (!strcmp(cases[i].name, name)) {
			alarm(CHILD_S);
			cases[i].run();
			return 0;
		}
	return 1;
}

/* --------------------------------------------------------- the parent */

static void run_alone(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		execl("/proc/self/exe", "t_exit", *state, (char *)NULL);
		_exit(98);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("%s: died of signal %d", (char *)*state,
			 WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXIT(how)                                              \
	{                                                      \
		.name = "exit__" #how, .test_func = run_alone, \
		.initial_state = (void *)#how                  \
	}

CASE_ROWS(exit__with_adapters_open, EXIT(program_calls), EXIT(request_comes),
	  EXIT(thread_calls))

int main(int argc, char **argv)
{
	if (argc > 1)
		return run_case(argv[1]);
	return cases_run(NULL, NULL);
}
