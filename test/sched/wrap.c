/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wrap.c - the calls of the C library that threads meet in, in place of the
 * real ones (ld's --wrap; the list is in Makefile.inc): a point, and where the
 * real one could block, the scheduler's way of waiting.
 *
 * Descriptors, epoll sets and mutexes are the real ones, and asked without
 * waiting. What the C library calls by itself is not seen here.
 */
#include "test/sched/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/sched/tcp.h"

#define REALTIME_US 1700000000000000u /* what CLOCK_REALTIME is ahead */

/* ------------------------------------------------------ threads */

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*fn)(void *arg), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*fn)(void *arg), void *arg)
{
	if (!sched_on())
		return __real_pthread_create(ret, attr, fn, arg);
	return sched_thread_create(ret, attr, fn, arg, HERE);
}

WRAP(int, pthread_join, pthread_t thread, void **ret)
{
	if (sched_on())
		sched_thread_wait(thread, HERE);
	return __real_pthread_join(thread, ret);
}

WRAP(int, pthread_cancel, pthread_t thread)
{
	sched_point_at("pthread_cancel", HERE);
	if (sched_on())
		sched_thread_cancel(thread);
	return __real_pthread_cancel(thread);
}

WRAP(int, pthread_setcancelstate, int state, int *was)
{
	int err;

	if (sched_on())
		sched_thread_cancel_state(state);
	err = __real_pthread_setcancelstate(state, was);
	sched_thread_may_end();
	return err;
}

/* A thread that may be cancelled at any time is at any of its points. */
WRAP(int, pthread_setcanceltype, int type, int *was)
{
	int before;

	if (!sched_on())
		return __real_pthread_setcanceltype(type, was);
	before = sched_thread_cancel_type(type);
	if (was)
		*was = before;
	sched_thread_may_end();
	return 0;
}

/* What it calls is not disturbed: others would wait for it in earnest. */
WRAP(int, pthread_once, pthread_once_t *once, void (*fn)(void))
{
	sched_point_at("pthread_once", HERE);
	return __real_pthread_once(once, fn);
}

WRAP(pid_t, fork, void)
{
	sched_point_at("fork", HERE);
	return __real_fork();
}

/* A check of debug builds; half of all points would be in there. */
struct dapl_lock;
WRAP(void, dapl_lock_assert_held, const struct dapl_lock *lock)
{
	sched_quiet(true);
	__real_dapl_lock_assert_held(lock);
	sched_quiet(false);
}

/* ------------------------------------------ mutexes, conditions */

WRAP(int, pthread_mutex_trylock, pthread_mutex_t *mutex)
{
	sched_point_at("pthread_mutex_trylock", HERE);
	return __real_pthread_mutex_trylock(mutex);
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

static int mutex_lock(pthread_mutex_t *mutex, const void *at)
{
	const struct sched_wait wait = {
		.what = "pthread_mutex_lock",
		.on = mutex,
		.deadline_us = SCHED_NEVER,
	};
	int err;

	while ((err = __real_pthread_mutex_trylock(mutex)) == EBUSY)
		sched_block(&wait, at);
	return err;
}

static int mutex_unlock(pthread_mutex_t *mutex)
{
	int err = __real_pthread_mutex_unlock(mutex);

	sched_wake(mutex, INT_MAX);
	return err;
}

WRAP(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
	if (!sched_on())
		return __real_pthread_mutex_lock(mutex);
	sched_point_at("pthread_mutex_lock", HERE);
	return mutex_lock(mutex, HERE);
}

WRAP(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
	int err;

	if (!sched_on())
		return __real_pthread_mutex_unlock(mutex);
	err = mutex_unlock(mutex);
	sched_point_at("pthread_mutex_unlock", HERE);
	return err;
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
		     uint64_t deadline_us, const void *at)
{
	const struct sched_wait wait = {
		.what = "pthread_cond_wait",
		.on = cond,
		.deadline_us = deadline_us,
	};
	enum sched_woken woken;
	int err;

	mutex_unlock(mutex);
	woken = sched_block(&wait, at);
	err = mutex_lock(mutex, at);
	return err ? err : woken == SCHED_TIMEOUT ? ETIMEDOUT : 0;
}

WRAP(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (!sched_on())
		return __real_pthread_cond_wait(cond, mutex);
	return cond_wait(cond, mutex, SCHED_NEVER, HERE);
}

WRAP(int, pthread_cond_timedwait, pthread_cond_t *cond, pthread_mutex_t *mutex,
     const struct timespec *until)
{
	uint64_t us = (uint64_t)until->tv_sec * 1000000 +
		      (uint64_t)until->tv_nsec / 1000;

	if (!sched_on())
		return __real_pthread_cond_timedwait(cond, mutex, until);
	/* All that are used here are of CLOCK_REALTIME. */
	return cond_wait(cond, mutex, us > REALTIME_US ? us - REALTIME_US : 0,
			 HERE);
}

WRAP(int, pthread_cond_signal, pthread_cond_t *cond)
{
	if (!sched_on())
		return __real_pthread_cond_signal(cond);
	sched_point_at("pthread_cond_signal", HERE);
	sched_wake(cond, 1);
	return 0;
}

WRAP(int, pthread_cond_broadcast, pthread_cond_t *cond)
{
	if (!sched_on())
		return __real_pthread_cond_broadcast(cond);
	sched_point_at("pthread_cond_broadcast", HERE);
	sched_wake(cond, INT_MAX);
	return 0;
}

/* -------------------------------------------------- semaphores */

WRAP(int, sem_wait, sem_t *sem)
{
	const struct sched_wait wait = {
		.what = "sem_wait",
		.on = sem,
		.deadline_us = SCHED_NEVER,
	};

	if (!sched_on())
		return __real_sem_wait(sem);
	sched_point_at("sem_wait", HERE);
	while (sem_trywait(sem))
		sched_block(&wait, HERE);
	return 0;
}

WRAP(int, sem_post, sem_t *sem)
{
	int ret;

	sched_point_at("sem_post", HERE);
	ret = __real_sem_post(sem);
	sched_wake(sem, 1);
	return ret;
}

/* ------------------------------------------------------- futex */

static long futex_wait(const int *word, int value, const void *at)
{
	const struct sched_wait wait = {
		.what = "futex wait",
		.on = word,
		.deadline_us = SCHED_NEVER,
	};

	sched_point_at("futex wait", at);
	if (*(const volatile int *)word != value) {
		errno = EAGAIN;
		return -1;
	}
	sched_block(&wait, at);
	return 0;
}

static long futex(const int *word, long op, int value, const void *at)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return futex_wait(word, value, at);
	case FUTEX_WAKE:
		sched_point_at("futex wake", at);
		return sched_wake(word, value);
	default:
		sched_fail("futex operation %ld is not played", op);
	}
}

/* It takes six whatever the number, as the real one does. */
long __wrap_syscall(long number, ...);
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	long arg[6], ret;
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_futex && sched_on())
		return futex((const int *)arg[0], arg[1], (int)arg[2], HERE);
	sched_point_at("syscall", HERE);
	ret = __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			     arg[5]);
	sched_fds_changed();
	return ret;
}

/* ------------------------------------------------- descriptors */

struct fds {
	struct pollfd *fds;
	nfds_t n;
};

/* No cancellation point: whoever passes a point may look for another. */
static bool fds_ready(void *arg)
{
	const struct fds *f = arg;
	struct timespec zero = {0};
	int saved = errno;
	long n = __real_syscall(SYS_ppoll, f->fds, f->n, &zero, NULL, 8);

	errno = saved;
	return n != 0;
}

static bool epoll_ready(void *arg)
{
	struct pollfd fd = {.fd = *(int *)arg, .events = POLLIN};
	struct fds f = {&fd, 1};

	return fds_ready(&f);
}

/* True: interrupted, and that is the answer. */
static bool await_fds(const char *what, bool (*ready)(void *arg), void *arg,
		      uint64_t timeout_us, const void *at)
{
	const struct sched_wait wait = {
		.what = what,
		.ready = ready,
		.arg = arg,
		.deadline_us = timeout_us == SCHED_NEVER
				       ? SCHED_NEVER
				       : sched_now_us() + timeout_us,
		.cancellable = true,
		.signals = true,
		/* signal(7): of those that are played, it alone does not go on.
		 */
		.stops = ready == epoll_ready,
	};

	sched_point_at(what, at);
	if (!timeout_us)
		return false;
	/* What made it ready another thread may have taken since. */
	while (!ready(arg) && !sched_cancelled())
		switch (sched_block(&wait, at)) {
		case SCHED_SIGNAL:
			errno = EINTR;
			return true;
		case SCHED_TIMEOUT:
			return false;
		default:
			break;
		}
	return false;
}

static uint64_t timeout_of(int ms)
{
	return ms < 0 ? SCHED_NEVER : (uint64_t)ms * 1000;
}

static uint64_t us_of(const struct timespec *ts)
{
	return ts ? (uint64_t)ts->tv_sec * 1000000 +
			       ((uint64_t)ts->tv_nsec + 999) / 1000
		  : SCHED_NEVER;
}

WRAP(int, poll, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct fds f = {fds, n};

	if (!sched_on())
		return __real_poll(fds, n, timeout_ms);
	if (await_fds("poll", fds_ready, &f, timeout_of(timeout_ms), HERE))
		return -1;
	return __real_poll(fds, n, 0);
}

WRAP(int, ppoll, struct pollfd *fds, nfds_t n, const struct timespec *ts,
     const sigset_t *mask)
{
	const struct timespec zero = {0};
	struct fds f = {fds, n};

	if (!sched_on())
		return __real_ppoll(fds, n, ts, mask);
	if (await_fds("ppoll", fds_ready, &f, us_of(ts), HERE))
		return -1;
	return __real_ppoll(fds, n, &zero, mask);
}

WRAP(int, epoll_wait, int epfd, struct epoll_event *events, int max,
     int timeout_ms)
{
	if (!sched_on())
		return __real_epoll_wait(epfd, events, max, timeout_ms);
	if (await_fds("epoll_wait", epoll_ready, &epfd, timeout_of(timeout_ms),
		      HERE))
		return -1;
	return __real_epoll_wait(epfd, events, max, 0);
}

WRAP(int, epoll_ctl, int epfd, int op, int fd, struct epoll_event *event)
{
	sched_point_at("epoll_ctl", HERE);
	sched_fds_changed();
	return __real_epoll_ctl(epfd, op, fd, event);
}

/* Of programs: what is ours does not block. */
static void await_readable(int fd, const void *at)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	struct fds f = {&one, 1};
	const struct sched_wait wait = {
		.what = "read",
		.ready = fds_ready,
		.arg = &f,
		.deadline_us = SCHED_NEVER,
		.cancellable = true,
	};

	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		return;
	while (!fds_ready(&f) && !sched_cancelled())
		sched_block(&wait, at);
}

WRAP(ssize_t, read, int fd, void *buf, size_t size)
{
	sched_point_at("read", HERE);
	if (sched_on())
		await_readable(fd, HERE);
	sched_fds_changed();
	return __real_read(fd, buf, size);
}

WRAP(ssize_t, write, int fd, const void *buf, size_t size)
{
	sched_point_at("write", HERE);
	sched_fds_changed();
	return __real_write(fd, buf, size);
}

WRAP(int, close, int fd)
{
	sched_point_at("close", HERE);
	sched_fds_changed();
	tcp_closes(fd);
	return __real_close(fd);
}

/* Not a point: what is used after its end shows. */
WRAP(void, free, void *p)
{
	if (p)
		memset(p, 0x5a, malloc_usable_size(p));
	__real_free(p);
}

/* -------------------------------------------------------- time */

WRAP(int, clock_gettime, clockid_t clock, struct timespec *ts)
{
	uint64_t us = sched_now_us();

	if (!sched_on())
		return __real_clock_gettime(clock, ts);
	if (clock == CLOCK_REALTIME)
		us += REALTIME_US;
	ts->tv_sec = (time_t)(us / 1000000);
	ts->tv_nsec = (long)(us % 1000000 * 1000);
	return 0;
}

WRAP(int, nanosleep, const struct timespec *ts, struct timespec *rest)
{
	const struct sched_wait wait = {
		.what = "nanosleep",
		.deadline_us = sched_now_us() + us_of(ts),
		.cancellable = true,
		.signals = true,
	};

	if (!sched_on())
		return __real_nanosleep(ts, rest);
	if (sched_block(&wait, HERE) == SCHED_SIGNAL) {
		errno = EINTR;
		return -1;
	}
	pthread_testcancel();
	return 0;
}

/* Others are let go on. */
WRAP(int, sched_yield, void)
{
	if (!sched_on())
		return __real_sched_yield();
	sched_yield_at(HERE);
	return 0;
}

WRAP(ssize_t, getrandom, void *buf, size_t size, unsigned flags)
{
	unsigned char *byte = buf;

	if (!sched_on())
		return __real_getrandom(buf, size, flags);
	for (size_t i = 0; i < size; i++)
		byte[i] = (unsigned char)sched_dice(256);
	return (ssize_t)size;
}
