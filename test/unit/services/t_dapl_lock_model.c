/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_lock_model.c - the lock in all orders: dapl_lock.c and dapl_lock.h
 * themselves, run by an owner and two others on processors that are played.
 *
 * A step is one atomic access. Before each, any thread may be the next one, or
 * any processor may let go of the oldest store that it still keeps to itself
 * (as x86 does: stores in order, loads ahead of them; a locked instruction and
 * a system call let go of all). All that can follow from the beginning is
 * looked at, each state once. A state is memory, the stores under way, and what
 * each thread has read where since its last round began, of which all that it
 * does next is a consequence.
 *
 * Must hold: one thread at a time inside; nothing that was counted inside is
 * lost; in the end the lock is free; and no state without a next step before.
 * Two cases show that the model finds what it is for.
 *
 * A thread that reads the same again at the same place goes on once there is
 * something else: that is a loop that waits. Orders of memory that are weaker
 * than x86's are not played.
 */
#include "dapl/common/services/dapl_lock.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "test/unit/case.h"

#define THREADS	  3
#define CHOICES	  (2 * THREADS)
#define STORES	  8
#define STEPS_MAX 400
#define STACK	  4096 /* of it, what may be in use */
#define STACK_ALL 32768
#define KEYS_SIZE (1u << 21)

struct store {
	void *at;
	size_t size;
	uint64_t value;
};

enum state {
	READY,
	WAITS,	/* for another value where it has read last */
	SLEEPS, /* on a futex */
	ENDED
};

struct thread {
	ucontext_t context;
	enum state state;
	uint64_t path; /* where it has read what, in this round */
	const void *site, *at;
	size_t size;
	uint64_t value;
	struct store stores[STORES];
	int n;
	int rounds;
};

struct scenario {
	struct dapl_lock lock; /* as it is at first; bias: of thread 0 */
	bool on;	       /* it has it */
	int rounds[THREADS];
	bool plain[THREADS]; /* not on the data path */
	bool keeps;	     /* what is taken on the fast path */
	bool forgets;	     /* thread 1 makes itself the owner */
	bool no_barrier;
};

/* All that a run changes; begun anew for each. */
static struct world {
	struct dapl_lock lock;
	uint64_t counter;
	int inside;
} world;

static struct {
	const struct scenario *s;
	struct thread thread[THREADS];
	struct thread *me;
	ucontext_t explorer;
	const char *wrong;
} m;

static char stacks[THREADS][STACK_ALL] __attribute__((aligned(64)));

/* A state to come back to. */
struct snapshot {
	int next; /* choice that has not been made there */
	struct world world;
	struct thread thread[THREADS];
	char stacks[THREADS][STACK];
};

/* ------------------------------------------------- processors */

void *model_self(void)
{
	return m.me;
}

/* Where the value's last bytes are, which are those of a smaller type. */
static size_t low(size_t size)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint64_t) - size
						      : 0;
}

static void put(void *at, size_t size, uint64_t value)
{
	memcpy(at, (const char *)&value + low(size), size);
}

static uint64_t get(const void *at, size_t size)
{
	uint64_t value = 0;

	memcpy((char *)&value + low(size), at, size);
	return value;
}

/* As T sees it: its own stores are ahead of all others. */
static uint64_t seen(const struct thread *t, const void *at, size_t size)
{
	for (int i = t->n; i--;)
		if (t->stores[i].at == at)
			return t->stores[i].value;
	return get(at, size);
}

static void let_go(struct thread *t)
{
	put(t->stores[0].at, t->stores[0].size, t->stores[0].value);
	memmove(&t->stores[0], &t->stores[1],
		(size_t)--t->n * sizeof(t->stores[0]));
}

static void let_go_all(struct thread *t)
{
	while (t->n)
		let_go(t);
}

/* FNV-1a, of words. */
static void mix(uint64_t *hash, uint64_t word)
{
	*hash = (*hash ^ word) * 0x100000001b3u;
	*hash ^= *hash >> 29;
}

static void remember(const void *site, uint64_t value)
{
	mix(&m.me->path, (uintptr_t)site);
	mix(&m.me->path, value);
}

/* Somebody may be next. */
static void step(void)
{
	const char *end = stacks[m.me - m.thread] + STACK_ALL;

	assert_true(end - (char *)__builtin_frame_address(0) < STACK - 512);
	swapcontext(&m.me->context, &m.explorer);
}

__attribute__((noinline)) uint64_t model_load(const void *at, size_t size)
{
	struct thread *t = m.me;
	const void *site = __builtin_return_address(0);
	bool again = t->site == site && t->at == at;

	t->site = site;
	t->at = at;
	t->size = size;
	if (again)
		t->state = WAITS;
	step();
	t->state = READY;
	t->value = seen(t, at, size);
	remember(site, t->value);
	return t->value;
}

__attribute__((noinline)) void model_store(void *at, size_t size,
					   uint64_t value)
{
	struct thread *t = m.me;

	remember(__builtin_return_address(0), value);
	t->site = NULL;
	step();
	assert_true(t->n < STORES);
	t->stores[t->n++] = (struct store){at, size, value};
}

__attribute__((noinline)) uint64_t model_exchange(void *at, size_t size,
						  uint64_t value)
{
	uint64_t was;

	m.me->site = NULL;
	step();
	let_go_all(m.me);
	was = get(at, size);
	put(at, size, value);
	remember(__builtin_return_address(0), was);
	return was;
}

__attribute__((noinline)) bool model_cas(int *at, int *expected, int value)
{
	bool ok;

	m.me->site = NULL;
	step();
	let_go_all(m.me);
	ok = *at == *expected;
	if (ok)
		*at = value;
	else
		*expected = *at;
	remember(__builtin_return_address(0), ok);
	return ok;
}

/* -------------------------------------------------- the kernel */

static void futex_sleep(const int *word, int value)
{
	if (*word != value)
		return;
	m.me->at = word;
	m.me->state = SLEEPS;
	step();
}

static void futex_wake(const int *word)
{
	for (int i = 0; i < THREADS; i++)
		if (m.thread[i].state == SLEEPS && m.thread[i].at == word) {
			m.thread[i].state = READY;
			return;
		}
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	const int *word;
	long command;
	va_list args;
	int value;

	va_start(args, number);
	word = va_arg(args, const int *);
	command = va_arg(args, int) & FUTEX_CMD_MASK;
	value = va_arg(args, int);
	va_end(args);
	m.me->site = NULL;
	step();
	let_go_all(m.me);
	remember((void *)(uintptr_t)number, (uint64_t)command);
	if (number == SYS_futex && command == FUTEX_WAIT)
		futex_sleep(word, value);
	else if (number == SYS_futex)
		futex_wake(word);
	else if (!m.s->no_barrier)
		for (int i = 0; i < THREADS; i++)
			let_go_all(&m.thread[i]);
	return 0;
}

/* A loop that naps is one that waits: see the head. */
int __wrap_nanosleep(const struct timespec *ts, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *rest)
{
	return 0;
}

/* Of debug builds: who holds what is there a matter of real threads. */
void __wrap_dapl__lock_order_enter(enum dapl_lock_role role);
void __wrap_dapl__lock_order_enter(enum dapl_lock_role role)
{
}

void __wrap_dapl__lock_order_leave(enum dapl_lock_role role);
void __wrap_dapl__lock_order_leave(enum dapl_lock_role role)
{
}

/* ----------------------------------------------------- threads */

static void is_wrong(const char *what)
{
	if (!m.wrong)
		m.wrong = what;
}

static void inside(int me, int round)
{
	uint64_t n;

	if (++world.inside != 1)
		is_wrong("two are inside");
	n = __atomic_load_n(&world.counter, __ATOMIC_RELAXED);
	__atomic_store_n(&world.counter, n + 1, __ATOMIC_RELAXED);
	if (m.s->forgets && me == 1 && round == 0) {
		world.lock.owned = false;
		world.lock.streak = DAPL_LOCK_STREAK - 1;
		__atomic_store_n(&world.lock.bias,
				 dapl__lock_self() | DAPL_LOCK_OFF,
				 __ATOMIC_RELAXED);
	}
	world.inside--;
}

/* As posts do, and as whoever sets an object up. */
static void thread_main(int me)
{
	for (int i = 0; i < m.s->rounds[me]; i++) {
		m.me->path = (uint64_t)i;
		bool mine = !m.s->plain[me] && dapl_lock_mine(&world.lock);

		if (m.s->plain[me])
			dapl_lock(&world.lock);
		else if (!mine && !dapl_lock_plain(&world.lock))
			dapl_lock_hot(&world.lock);
		inside(me, i);
		if (mine && m.s->keeps)
			dapl_lock_keep(&world.lock);
		if (mine && !m.s->keeps)
			dapl_unlock_mine(&world.lock);
		else
			dapl_unlock(&world.lock);
	}
	m.me->path = 0;
	m.me->state = ENDED;
	step();
}

static void run_to_step(struct thread *t)
{
	m.me = t;
	swapcontext(&m.explorer, &t->context);
}

static void begin(void)
{
	world = (struct world){.lock = m.s->lock};
	m.wrong = NULL;
	world.lock.bias = (uintptr_t)&m.thread[0];
	if (!m.s->on)
		world.lock.bias |= DAPL_LOCK_OFF;
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &m.thread[i];

		memset(t, 0, sizeof(*t));
		getcontext(&t->context);
		t->context.uc_stack.ss_sp = stacks[i];
		t->context.uc_stack.ss_size = STACK_ALL;
		makecontext(&t->context, (void (*)(void))thread_main, 1, i);
		run_to_step(t);
	}
}

/* -------------------------------------------------- all orders */

static uint64_t *keys; /* an open hash table; 0: free */
static uint32_t n_keys;

static uint64_t key_now(void)
{
	uint64_t key = 0xcbf29ce484222325u;

	mix(&key, world.counter);
	mix(&key, (uint64_t)world.inside);
	mix(&key, world.lock.bias);
	mix(&key, (uint64_t)world.lock.word << 8 | world.lock.busy);
	mix(&key, (uint64_t)world.lock.owned << 16 |
			  (uint64_t)world.lock.streak << 8 | world.lock.shifts);
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &m.thread[i];

		mix(&key, t->path);
		mix(&key, (uint64_t)t->state);
		mix(&key, t->state == WAITS ? t->value : 0);
		mix(&key, (uintptr_t)t->site);
		for (int j = 0; j < t->n; j++) {
			mix(&key, (uintptr_t)t->stores[j].at);
			mix(&key, t->stores[j].value);
		}
		mix(&key, (uint64_t)t->n);
	}
	return key | 1;
}

/* Whether it is new. */
static bool key_add(uint64_t key)
{
	uint32_t i = (uint32_t)(key >> 20) & (KEYS_SIZE - 1);

	while (keys[i] && keys[i] != key)
		i = (i + 1) & (KEYS_SIZE - 1);
	if (keys[i])
		return false;
	keys[i] = key;
	assert_true(++n_keys < KEYS_SIZE / 2);
	return true;
}

/* Choices: thread I goes on, or its processor lets go of a store. */
static bool can(int choice)
{
	const struct thread *t = &m.thread[choice / 2];

	if (choice % 2)
		return t->n > 0;
	return t->state == READY ||
	       (t->state == WAITS && seen(t, t->at, t->size) != t->value);
}

static void take(int choice)
{
	if (choice % 2)
		let_go(&m.thread[choice / 2]);
	else
		run_to_step(&m.thread[choice / 2]);
}

static void check_end(void)
{
	uint64_t all = 0;

	for (int i = 0; i < THREADS; i++) {
		if (m.thread[i].state != ENDED)
			is_wrong("somebody waits for ever");
		all += (uint64_t)m.s->rounds[i];
	}
	if (world.counter != all)
		is_wrong("what was done inside is lost");
	if (world.lock.word || world.lock.busy)
		is_wrong("the lock is held in the end");
}

static int next_choice(int from)
{
	while (from < CHOICES && !can(from))
		from++;
	return from;
}

static void save(struct snapshot *to)
{
	to->next = 0;
	to->world = world;
	memcpy(to->thread, m.thread, sizeof(to->thread));
	for (int i = 0; i < THREADS; i++)
		memcpy(to->stacks[i], stacks[i] + STACK_ALL - STACK, STACK);
}

static void restore(const struct snapshot *from)
{
	world = from->world;
	memcpy(m.thread, from->thread, sizeof(m.thread));
	for (int i = 0; i < THREADS; i++)
		memcpy(stacks[i] + STACK_ALL - STACK, from->stacks[i], STACK);
}

/* What is wrong in some order of S, or NULL. */
static const char *explore(const struct scenario *s)
{
	struct snapshot *path = calloc(STEPS_MAX, sizeof(*path)), *at = path;

	m.s = s;
	n_keys = 0;
	keys = calloc(KEYS_SIZE, sizeof(*keys));
	assert_true(path && keys);
	begin();
	save(at);
	while (at >= path && !m.wrong) {
		restore(at);
		at->next = next_choice(at->next);
		if (at->next == CHOICES) {
			at--;
			continue;
		}
		take(at->next++);
		if (m.wrong || !key_add(key_now()))
			continue;
		assert_true(at < path + STEPS_MAX - 1);
		save(++at);
		if (next_choice(0) == CHOICES)
			check_end();
	}
	free(keys);
	free(path);
	print_message("# %u states%s%s\n", n_keys, m.wrong ? ": " : "",
		      m.wrong ? m.wrong : "");
	return m.wrong;
}

/* ------------------------------------------------------- cases */

/* KEEPS: the owner's fast path leaves the lock to a slow one. */
static const char *owner_and_two_others(bool keeps)
{
	const struct scenario s = {
		.lock = {.owned = true},
		.on = true,
		.rounds = {2, 1, 1},
		.plain = {false, true, true},
		.keeps = keeps,
	};

	return explore(&s);
}

CASE(model__owner_and_two_others)
{
	assert_null(owner_and_two_others(false));
}

CASE(model__owner_goes_on_from_the_fast_path)
{
	assert_null(owner_and_two_others(true));
}

CASE(model__bias_is_switched_on_again)
{
	const struct scenario s = {
		.lock = {.owned = true, .streak = DAPL_LOCK_STREAK - 1},
		.rounds = {2, 1, 1},
		.plain = {false, true, false},
	};

	assert_null(explore(&s));
}

CASE(model__two_want_to_be_owners)
{
	const struct scenario s = {
		.lock = {.streak = DAPL_LOCK_STREAK - 1},
		.rounds = {2, 2, 0},
	};

	assert_null(explore(&s));
}

CASE(model__bias_ends_for_good)
{
	const struct scenario s = {
		.lock = {.owned = true, .shifts = DAPL_LOCK_SHIFTS - 1},
		.on = true,
		.rounds = {2, 1, 1},
		.plain = {false, true, false},
	};

	assert_null(explore(&s));
}

/* What the barrier is for. */
CASE(model__without_the_barrier_it_fails)
{
	const struct scenario s = {
		.lock = {.owned = true},
		.on = true,
		.rounds = {1, 1, 0},
		.no_barrier = true,
	};

	assert_non_null(explore(&s));
}

/* Why an owner stays the owner: another's busy is cleared by it. */
CASE(model__a_second_owner_makes_it_fail)
{
	const struct scenario s = {
		.lock = {.owned = true},
		.on = true,
		.rounds = {1, 2, 1},
		.plain = {false, false, true},
		.forgets = true,
	};

	assert_non_null(explore(&s));
}

RUN_CASES(NULL, NULL)
