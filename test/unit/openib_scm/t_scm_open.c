/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_open.c - the SCM provider as a whole: entry points, open and its
 * errors, and what happens when each call of the system fails in turn.
 *
 * Calls of the system are wrapped (-Wl,--wrap) and counted while a failure is
 * armed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "dapl/openib_scm/scm.h"
#include "test/unit/entry.h"
#include "test/unit/openib_scm/scm_raw.h"

/* ------------------------------------------------------ failing calls */

/*
 * The FAIL_AT-th call from now fails, of all that are wrapped or of those to
 * FAIL_CALL; 0: none. Atomic: fail_at and calls.
 */
static int fail_at, calls, fail_errno;
static const char *fail_call;

static bool fails(const char *call)
{
	int at = __atomic_load_n(&fail_at, __ATOMIC_ACQUIRE);

	if (!at || (fail_call && strcmp(fail_call, call) != 0) ||
	    __atomic_add_fetch(&calls, 1, __ATOMIC_ACQ_REL) != at)
		return false;
	errno = fail_errno;
	return true;
}

static void arm_failure(const char *call, int n, int err)
{
	fail_call = call;
	fail_errno = err;
	__atomic_store_n(&calls, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&fail_at, n, __ATOMIC_RELEASE);
}

static bool failed(int n)
{
	__atomic_store_n(&fail_at, 0, __ATOMIC_RELEASE);
	return __atomic_load_n(&calls, __ATOMIC_ACQUIRE) >= n;
}

#define WRAP(ret, name, params, args)      \
	ret __real_##name params;          \
	ret __wrap_##name params;          \
	ret __wrap_##name params           \
	{                                  \
		if (fails(#name))          \
			return (ret)-1;    \
		return __real_##name args; \
	}

WRAP(int, socket, (int a, int b, int c), (a, b, c))
WRAP(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
WRAP(int, listen, (int fd, int n), (fd, n))
WRAP(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
WRAP(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int f),
     (fd, a, n, f))
WRAP(int, getsockname, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
WRAP(int, getsockopt, (int fd, int l, int o, void *v, socklen_t *n),
     (fd, l, o, v, n))
WRAP(int, setsockopt, (int fd, int l, int o, const void *v, socklen_t n),
     (fd, l, o, v, n))
WRAP(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *e),
     (ep, op, fd, e))
WRAP(ssize_t, send, (int fd, const void *b, size_t n, int f), (fd, b, n, f))
WRAP(ssize_t, recv, (int fd, void *b, size_t n, int f), (fd, b, n, f))

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fails("calloc") ? NULL : __real_calloc(n, size);
}

/* -------------------------------------------------------------- entry */

CASE(scm_entry__registers_a_full_table)
{
	entry_is_full("SCM", 200);
}

/* --------------------------------------------------------------- open */

static int reset_fake(void **state)
{
	fv_reset();
	fv_devices_default(FV_ROCE, 1);
	return 0;
}

#define ALONE(name) CASE_WITH(name, reset_fake, fv_nothing_left)

ALONE(open__device_and_port)
{
	struct side s;

	side_params(&s);
	assert_int_equal(side_try_open(&s, "fake0 1"), 0);
	assert_string_equal(s.cm->dev_name, "fake0");
	assert_int_equal(s.cm->port, 1);
	assert_int_equal(s.cm->addr.ss_family, AF_INET);
	assert_int_equal(dapl_addr_port(&s.cm->addr), 0);
	entry_shut(&s);
	assert_int_equal(side_try_open(&s, " fake0\t0x1 gid=3"), 0);
	entry_shut(&s);
}

static void open_bad(const char *text, const char *netdev, int ret,
		     const char *why)
{
	struct side s;

	side_params(&s);
	((struct scm_params *)s.params)->netdev = netdev;
	entry_refuses(&s, text, ret, why);
}

ALONE(scm_open__malformed_text)
{
	open_bad(NULL, "lo", -EINVAL, "empty");
	open_bad("", "lo", -EINVAL, "empty");
	open_bad("fake0", "lo", -EINVAL, "missing");
	open_bad("fake0 one", "lo", -EINVAL, "not a port");
	open_bad("fake0 1 colour=blue", "lo", -EINVAL, "gid=");
}

ALONE(open__no_such_interface)
{
	open_bad("fake0 1", "nope0", -EADDRNOTAVAIL, "nope0 is none");
	open_bad("fake0 1", "nope0", -EADDRNOTAVAIL, "lo 127.0.0.1");
}

ALONE(open__gid_that_is_not_there)
{
	open_bad("fake0 1 gid=77", "lo", -EADDRNOTAVAIL, "77");
}

ALONE(scm_open__iwarp)
{
	struct side s;

	fv_reset();
	fv_devices_default(FV_IWARP, 1);
	side_params(&s);
	assert_int_not_equal(side_try_open(&s, "fake0 1"), 0);
	assert_non_null(strstr(dapl__fail_text(), "iWARP"));
}

ALONE(open__range_of_ports)
{
	struct side s;
	struct scm_params *params = (struct scm_params *)s.params;

	side_params(&s);
	params->ports = (struct dapl_ports){5000, 5010};
	assert_int_equal(side_try_open(&s, "fake0 1"), 0);
	assert_int_equal(((struct scm *)s.cm)->ports.last, 5010);
	entry_shut(&s);
}

/* --------------------------------------------------------- n-th failure */

static struct world world;

static int setup(void **state)
{
	world_open(&world, FV_ROCE);
	return 0;
}

static int teardown(void **state)
{
	arm_failure(NULL, 0, 0);
	world_close(&world);
	return 0;
}

#define WORLD(name) CASE_WITH(name, setup, teardown)

/* Events and requests that came, whatever they are. */
static void take_all(struct dapl_ep *ea, struct dapl_ep *eb, struct dapl_sp *sp)
{
	while (pending(SEEN_EVENT, ea))
		take(SEEN_EVENT, ea);
	while (pending(SEEN_EVENT, eb))
		take(SEEN_EVENT, eb);
	while (pending(SEEN_REQUEST, sp))
		take(SEEN_REQUEST, sp);
}

/* From prepare() to the end; calls fail on either side and either thread. */
static bool attempt(int n, int err)
{
	struct dapl_sp sp = {.side = &world.b, .refuse = true};
	DAT_CONN_QUAL qual = raw_free_port() - RAW_QUAL_BASE;
	struct dapl_ep *ea = ep_new(&world.a), *eb = ep_new(&world.b);
	struct dapl_cm_connect req = {.qp = ea->cfg, .qual = qual};
	struct sockaddr_storage addr;
	struct dapl_cm_conn *conn;
	bool hit;

	peer_b(&addr);
	req.addr = (struct sockaddr *)&addr;
	arm_failure(NULL, n, err);
	if (scm_ops.listen(world.b.cm, qual, &sp, &sp.listener)) {
		sp.listener = NULL;
		goto out;
	}
	if (scm_ops.prepare(world.a.cm, ea, &conn))
		goto out;
	ea->refs++;
	if (!scm_ops.connect(conn, &req))
		/* Refused, whether or not something failed on the way. */
		take(SEEN_EVENT, ea);
	finish(conn, ea);
out:
	hit = failed(n);
	if (sp.listener)
		unlisten(&sp, sp.listener);
	take_all(ea, eb, &sp);
	ep_del(ea);
	ep_del(eb);
	return hit;
}

WORLD(attempt__nth_call_fails)
{
	int files = raw_open_files();

	for (int n = 1;; n++) {
		assert_in_range(n, 1, 100);
		if (!attempt(n, ENOMEM))
			break;
		/* The other side closes its socket when it hears the end. */
		for (int tries = 0; raw_open_files() != files; tries++) {
			assert_in_range(tries, 0, 10000);
			usleep(1000);
		}
	}
}

/*
 * What this host lacks is no refusal of a peer's: the call says so, and leaves
 * nothing behind.
 */
WORLD(connect__this_host_lacks_something)
{
	static const struct {
		const char *call;
		int err, ret;
		const char *why;
	} rows[] = {
		{"socket", EMFILE, -EMFILE, "ulimit -n"},
		{"socket", ENFILE, -ENFILE, "fs.file-max"},
		{"socket", ENOBUFS, -ENOBUFS, "memory"},
		{"connect", EADDRNOTAVAIL, -ENOBUFS, "ip_local_port_range"},
		{"bind", EADDRINUSE, -ENOBUFS, "ip_local_port_range"},
		{"bind", EADDRNOTAVAIL, -EADDRNOTAVAIL, "adapter anew"},
	};
	struct dapl_ep *ea = ep_new(&world.a);
	struct sockaddr_storage addr;
	struct dapl_cm_connect req = {
		.qp = ea->cfg, .addr = (struct sockaddr *)&addr, .qual = 5000};
	int files = raw_open_files();
	struct dapl_cm_conn *conn;
	struct rlimit limit, now;

	peer_b(&addr);
	/* So that there is no more to be had by asking. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	now = limit;
	now.rlim_cur = now.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		conn = prepare(ea);
		arm_failure(rows[i].call, 1, rows[i].err);
		assert_int_equal(scm_ops.connect(conn, &req), rows[i].ret);
		assert_true(failed(1));
		assert_non_null(strstr(dapl__fail_text(), rows[i].why));
		finish(conn, ea);
		assert_int_equal(raw_open_files(), files);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ep_del(ea);
}

/* Near its soft limit the process gets more, on either side. */
WORLD(connect__soft_limit_is_raised)
{
	struct dapl_sp sp = {.side = &world.b};
	DAT_CONN_QUAL qual = raw_free_port() - RAW_QUAL_BASE;
	struct rlimit limit, now;
	struct dapl_ep *ea[40];
	struct dapl_cm_conn *ca[40];
	int fd = dup(0);

	close(fd);
	listen_on(&sp, qual);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	now = limit;
	now.rlim_cur = (rlim_t)fd + 10;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	for (int i = 0; i < 40; i++) {
		ea[i] = ep_new(&world.a);
		ca[i] = begin(ea[i], qual, NULL, 0);
	}
	for (int i = 0; i < 40; i++)
		world_release(take(SEEN_REQUEST, &sp).conn);
	for (int i = 0; i < 40; i++) {
		take_event(ea[i], DAPL_CM_NON_PEER_REJECTED);
		finish(ca[i], ea[i]);
		ep_del(ea[i]);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	/*
	 * Those of the clients are open at once, of the others as many as had
	 * come. And no more than it takes: there are programs with select().
	 */
	assert_in_range(now.rlim_cur, fd + 40, 4 * (fd + 80));
	assert_int_equal(now.rlim_max, limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	unlisten(&sp, sp.listener);
}

/* The process has run out of descriptors when a peer comes. */
WORLD(accept__no_descriptors)
{
	struct dapl_sp sp = {.side = &world.b};
	uint16_t port = raw_free_port();
	int fd;

	listen_on(&sp, port - RAW_QUAL_BASE);
	arm_failure("accept4", 1, EMFILE);
	fd = raw_connect(port);
	raw_send_file(fd, "scm-req");
	world_release(take(SEEN_REQUEST, &sp).conn);
	assert_int_equal(raw_msg(fd, 0).op, DCM_REJ_CM);
	assert_true(failed(1));
	raw_close(fd);
	unlisten(&sp, sp.listener);
}

RUN_CASES(NULL, NULL)
