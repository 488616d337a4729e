/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world.c - two IAs on one fake device; see the header. Contains no test.
 *
 * What is the same for every world; see world_make.h for the rest.
 * The stubs at the top stand for libdat2, which a provider finds in the global
 * scope: they record what is registered, and know the IAs of world_ia_open()
 * by small numbers.
 */
#include "test/unit/world_make.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/event/dapl_evd.h"

#define IA_MAX 64

struct world_registry world_registry;
DAT_PROVIDER_INFO world_info = {
	.ia_name = WORLD_IA_NAME,
	.dapl_version_major = 2,
	.dapl_version_minor = 0,
	.is_thread_safe = DAT_TRUE,
};

static DAT_IA_HANDLE known_ias[IA_MAX];
static bool cqes_otherwise; /* world_run_twice(): this is the second time */

/* ------------------------------------------- libdat2's part */

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *info)
{
	world_registry.added++;
	if (world_registry.answer != DAT_SUCCESS)
		return world_registry.answer;
	world_registry.vector = provider;
	world_registry.info = *info;
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *info)
{
	world_registry.removed++;
	if (world_registry.vector == provider)
		world_registry.vector = NULL;
	return DAT_SUCCESS;
}

DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out)
{
	DAT_IA_HANDLE number = world_user_ia(in);

	if (!number)
		return DAPL_BAD_HANDLE(IA);
	*out = number;
	return DAT_SUCCESS;
}

DAT_IA_HANDLE world_user_ia(DAT_IA_HANDLE ia)
{
	for (uintptr_t i = 0; i < IA_MAX; i++)
		if (known_ias[i] && known_ias[i] == ia)
			return (DAT_IA_HANDLE)(i + 1);
	return NULL;
}

void world_know_ia(DAT_IA_HANDLE ia)
{
	for (int i = 0; i < IA_MAX; i++)
		if (!known_ias[i]) {
			known_ias[i] = ia;
			return;
		}
	fail_msg("too many IAs");
}

void world_forget_ia(DAT_IA_HANDLE ia)
{
	for (int i = 0; i < IA_MAX; i++)
		if (known_ias[i] == ia)
			known_ias[i] = NULL;
}

/* --------------------------------------------- the fixture */

uint64_t world_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void world_pause(void)
{
	const struct timespec ts = {.tv_nsec = 100000};

	nanosleep(&ts, NULL);
}

static struct ibv_device *first_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *dev;

	assert_non_null(list);
	dev = list[0];
	ibv_free_device_list(list);
	return dev;
}

void world_load(enum fv_kind kind)
{
	fv_reset();
	fv_devices_default(kind, 1);
	if (cqes_otherwise) {
		struct fv_device_cfg *cfg = fv_device_cfg_get(first_device());

		cfg->takes_cqes_along = !cfg->takes_cqes_along;
	}
	memset(&world_registry, 0, sizeof(world_registry));
	memset(known_ias, 0, sizeof(known_ias));
	world_make_vector();
	assert_non_null(world_registry.vector);
}

void world_unload(void)
{
	unsigned int live = fv_live();

	world_drop_vector();
	if (live)
		fv_live_dump(stderr);
	fv_reset();
	assert_int_equal(live, 0);
	assert_null(world_registry.vector);
}

DAT_EVD_HANDLE world_evd(DAT_IA_HANDLE ia, unsigned flags)
{
	return world_evd_cno(ia, flags, DAT_HANDLE_NULL);
}

DAT_EVD_HANDLE world_evd_cno(DAT_IA_HANDLE ia, unsigned flags,
			     DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = NULL;

	assert_dat_ok(
		V(evd_create)(ia, WORLD_QLEN, cno, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void side_open(struct world_side *s)
{
	s->ia = world_ia_open(&s->async_evd);
	s->pz = world_pz(s->ia);
	s->recv_evd = world_evd(s->ia, DAT_EVD_DTO_FLAG);
	s->req_evd = world_evd(s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	s->conn_evd = world_evd(s->ia, DAT_EVD_CONNECTION_FLAG);
	s->cr_evd = world_evd(s->ia, DAT_EVD_CR_FLAG);
	s->mem.buf = calloc(1, WORLD_MEM_SIZE);
	assert_non_null(s->mem.buf);
	s->mem.lmr = world_lmr(s->ia, s->pz, s->mem.buf, WORLD_MEM_SIZE,
			       &s->mem.lkey, &s->mem.rkey);
}

static void side_close(struct world_side *s)
{
	if (s->ia)
		world_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG);
	free(s->mem.buf);
	memset(s, 0, sizeof(*s));
}

void world_open(struct world *w, enum fv_kind kind)
{
	memset(w, 0, sizeof(*w));
	w->kind = kind;
	world_load(kind);
	w->dev = first_device();
	side_open(&w->server);
	side_open(&w->client);
}

void world_close(struct world *w)
{
	fv_fail_at(0, 0);
	fv_pause(false);
	side_close(&w->client);
	side_close(&w->server);
	world_unload();
}

/* Beside the kind of device in a case's state: world_run_twice()'s second run.
 */
#define OTHERWISE 0x100

int world_setup(void **state)
{
	intptr_t how = (intptr_t)*state;
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	cqes_otherwise = how & OTHERWISE;
	*state = w;
	world_open(w, (enum fv_kind)(how & ~OTHERWISE));
	cqes_otherwise = false;
	return 0;
}

int world_run_twice(const struct CMUnitTest *tests, size_t n)
{
	struct CMUnitTest *all = calloc(2 * n, sizeof(*all));
	char(*names)[128] = calloc(n, sizeof(*names));
	int failed;

	if (!all || !names)
		abort();
	for (size_t i = 0; i < n; i++) {
		all[i] = all[n + i] = tests[i];
		snprintf(names[i], sizeof(*names), "%s.other_cqes",
			 tests[i].name);
		all[n + i].name = names[i];
		all[n + i].initial_state =
			(void *)((intptr_t)tests[i].initial_state | OTHERWISE);
	}
	failed = _cmocka_run_group_tests("tests", all, 2 * n, NULL, NULL);
	free(names);
	free(all);
	return failed;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	world_close(w);
	free(w);
	return 0;
}

/* ----------------------------------------------- endpoints */

DAT_EP_HANDLE world_ep(struct world_side *s, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = NULL;

	assert_dat_ok(V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd,
				   s->conn_evd, attr, &ep));
	return ep;
}

DAT_EP_ATTR world_ep_attr(struct world_side *s)
{
	DAT_EP_HANDLE ep = world_ep(s, NULL);
	DAT_EP_PARAM param;

	assert_dat_ok(V(ep_query)(ep, DAT_EP_FIELD_ALL, &param));
	assert_dat_ok(V(ep_free)(ep));
	return param.ep_attr;
}

DAT_EP_STATE world_ep_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	assert_dat_ok(V(ep_get_status)(ep, &state, NULL, NULL));
	return state;
}

void world_eps(struct world *w)
{
	if (!w->server.ep)
		w->server.ep = world_ep(&w->server, NULL);
	if (!w->client.ep)
		w->client.ep = world_ep(&w->client, NULL);
}

void world_connect(struct world *w)
{
	world_eps(w);
	world_connect_pair(w, w->server.ep, w->client.ep);
}

/* ------------------------------------------ data transfers */

DAT_LMR_TRIPLET world_seg(const struct world_side *s, size_t offset,
			  size_t length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)(s->mem.buf + offset),
		.segment_length = length,
		.lmr_context = s->mem.lkey,
	};
}

DAT_RMR_TRIPLET world_target(const struct world_side *s, size_t offset,
			     size_t length)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)(s->mem.buf + offset),
		.segment_length = length,
		.rmr_context = s->mem.rkey,
	};
}

DAT_DTO_COOKIE world_cookie(uint64_t n)
{
	return (DAT_DTO_COOKIE){.as_64 = n};
}

void world_recv(struct world_side *s, size_t offset, size_t length,
		uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = world_seg(s, offset, length);

	assert_dat_ok(V(ep_post_recv)(s->ep, 1, &seg, world_cookie(cookie),
				      DAT_COMPLETION_DEFAULT_FLAG));
}

void world_send(struct world_side *s, size_t offset, size_t length,
		uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = world_seg(s, offset, length);

	assert_dat_ok(V(ep_post_send)(s->ep, 1, &seg, world_cookie(cookie),
				      (DAT_COMPLETION_FLAGS)flags));
}

/* -------------------------------------------------- events */

DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout_us)
{
	uint64_t deadline = world_now_us() + timeout_us;
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_RETURN ret;

	memset(&ev, 0xa5, sizeof(ev));
	do {
		uint64_t now = world_now_us();

		ret = V(evd_wait)(
			evd, now < deadline ? (DAT_TIMEOUT)(deadline - now) : 0,
			1, &ev, &more);
	} while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	if (ret != DAT_SUCCESS)
		fail_msg("no event on evd %p within %u us: 0x%x", (void *)evd,
			 timeout_us, ret);
	assert_ptr_equal(ev.evd_handle, evd);
	return ev;
}

DAT_EVENT expect_event(DAT_EVD_HANDLE evd, unsigned number)
{
	DAT_EVENT ev = next_event(evd, WORLD_PATIENCE_US);

	if ((unsigned)ev.event_number != number)
		fail_msg("event 0x%x, not 0x%x", (unsigned)ev.event_number,
			 number);
	return ev;
}

DAT_EVENT expect_dto(DAT_EVD_HANDLE evd, uint64_t cookie, unsigned status)
{
	DAT_EVENT ev = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev.event_data.dto_completion_event_data;

	assert_int_equal(dto->user_cookie.as_64, cookie);
	assert_int_equal(dto->status, status);
	return ev;
}

void expect_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = {0};
	DAT_RETURN ret = V(evd_dequeue)(evd, &ev);

	if (ret == DAT_SUCCESS)
		fail_msg("unexpected event 0x%x", (unsigned)ev.event_number);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_QUEUE_EMPTY);
}

bool world_evd_is_waited_for(DAT_EVD_HANDLE handle)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	bool waited_for;

	dapl_lock(&evd->lock);
	waited_for = dapl_evd_is_waited_for_locked(evd);
	dapl_unlock(&evd->lock);
	return waited_for;
}

static void *run_waiter(void *arg)
{
	struct waiter *t = arg;

	t->ret =
		V(evd_wait)(t->evd, t->timeout, t->threshold, &t->ev, &t->more);
	__atomic_store_n(&t->returned, true, __ATOMIC_RELEASE);
	return NULL;
}

void waiter_start(struct waiter *t, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold)
{
	memset(t, 0, sizeof(*t));
	t->evd = evd;
	t->timeout = timeout;
	t->threshold = threshold;
	t->more = -1;
	assert_int_equal(pthread_create(&t->thread, NULL, run_waiter, t), 0);
	world_until(world_evd_is_waited_for(evd) ||
		    __atomic_load_n(&t->returned, __ATOMIC_ACQUIRE));
}

void waiter_end(struct waiter *t, DAT_RETURN type)
{
	pthread_join(t->thread, NULL);
	assert_int_equal(DAT_GET_TYPE(t->ret), type);
}

void waiter_got(struct waiter *t, uint64_t cookie, DAT_COUNT more)
{
	waiter_end(t, DAT_SUCCESS);
	assert_int_equal(
		t->ev.event_data.dto_completion_event_data.user_cookie.as_64,
		cookie);
	assert_int_equal(t->more, more);
}

DAT_CNO_HANDLE world_cno(DAT_IA_HANDLE ia)
{
	DAT_CNO_HANDLE cno = NULL;

	assert_dat_ok(V(cno_create)(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	return cno;
}

void expect_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = NULL;

	assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
	assert_ptr_equal(got, evd);
}

void expect_no_trigger(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout_us)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)cno;

	assert_int_equal(DAT_GET_TYPE(V(cno_wait)(cno, timeout_us, &got)),
			 DAT_QUEUE_EMPTY);
	assert_null(got);
}

DAT_RETURN world_op(DAT_HANDLE handle, int number, ...)
{
	DAT_RETURN ret;
	va_list args;

	va_start(args, number);
	ret = V(handle_extendedop)(handle, (DAT_EXTENDED_OP)number, args);
	va_end(args);
	return ret;
}

void world_post_se(DAT_EVD_HANDLE evd, void *pointer)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	ev.event_data.software_event_data.pointer = pointer;
	assert_dat_ok(V(evd_post_se)(evd, &ev));
}

bool world_thread_is(pid_t tid, char state)
{
	char path[64], text[256] = "";
	const char *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	/* behind the name, which may have anything in it */
	after = strrchr(text, ')');
	return after && after[1] && after[2] == state;
}

int world_cno_waiters(DAT_CNO_HANDLE handle)
{
	struct dapl_cno *cno = (struct dapl_cno *)handle;
	int n;

	dapl_lock(&cno->lock);
	n = cno->waiters;
	dapl_unlock(&cno->lock);
	return n;
}
