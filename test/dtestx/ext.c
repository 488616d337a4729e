/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ext.c - the operations that dtestx tests, and what has to come of them.
 *
 * Does not say which of them the provider has; see main.c.
 * Threads: one. Ownership: buffers and handles are those of struct dx.
 * Rule: values, cookies and order are historic. Each side does to the other
 * what that does to it, with values of its own.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestx/dtestx.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define IMMED_COOKIE  0x9999
#define ATOMIC_COOKIE 0x7777
#define ATOMIC	      8 /* bytes */
#define OLD_STEP_NS   (10 * DT_NS_PER_MS)

/* What a side does, and finds, of the two. */
struct values {
	uint32_t immed; /* that it sends */
	const char *text;
	uint64_t preset; /* its target, before compare and swap */
	uint64_t compare, swap;
	uint64_t swapped; /* its target, then */
	uint64_t base;	  /* its target, before fetch and add */
	uint64_t add;
	uint64_t sum; /* its target, then */
};

static const struct values client = {
	.immed = 0x7777,
	.text = "Client written data",
	.preset = 0x54321,
	.compare = 0x12345,
	.swap = 0x98765,
	.swapped = 0x54321, /* the server's compare misses */
	.base = 0x100,
	.add = 0x10,
	.sum = 0x300,
};

static const struct values server = {
	.immed = 0x1111,
	.text = "Server data",
	.preset = 0x12345,
	.compare = 0x654321,
	.swap = 0x11111,
	.swapped = 0x98765,
	.base = 0x10,
	.add = 0x100,
	.sum = 0x30,
};

static const struct values *own(const struct dx *d)
{
	return d->run.server ? &server : &client;
}

static const struct values *peers(const struct dx *d)
{
	return d->run.server ? &client : &server;
}

static const DAT_IB_EXTENSION_EVENT_DATA *ext_of(const DAT_EVENT *event)
{
	return (const void *)event->event_extension_data;
}

/* -------------------------------------- RDMA write with immediate */

/* A text, as ever, and behind it what each place has of its own. */
static uint8_t pattern(const struct values *v, size_t i)
{
	size_t n = strlen(v->text) + 1;

	return (uint8_t)(i < n ? (uint8_t)v->text[i] : i * 7 + v->immed);
}

static int check_written(struct dx *d, const struct values *v)
{
	const uint8_t *got = dx_buffer(d, DX_TARGET);
	/* Historic peers have anything behind the text. */
	size_t n = d->run.peer_is_ours ? d->o->size : strlen(v->text);

	for (size_t i = 0; i < n && i < d->o->size; i++)
		if (got[i] != pattern(v, i))
			return dt_fail(&d->run.r, DT_FAILED,
				       "write with immediate: byte %zu is "
				       "0x%02x, expected 0x%02x",
				       i, got[i], pattern(v, i));
	return 0;
}

static int check_immed(struct dx *d, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	const struct values *v = peers(d);
	uint32_t immed = ext_of(event)->val.immed.data;

	if (dto->user_cookie.as_64 != d->received ||
	    dto->transfered_length != d->o->size)
		return dt_fail(&d->run.r, DT_FAILED,
			       "immediate data: cookie 0x%" PRIx64 ", %" PRIu64
			       " bytes; expected 0x%x, %u",
			       dto->user_cookie.as_64,
			       (uint64_t)dto->transfered_length, d->received,
			       d->o->size);
	d->received++;
	if (immed != v->immed)
		return dt_fail(&d->run.r, DT_FAILED,
			       "immediate data 0x%x, expected 0x%x", immed,
			       v->immed);
	dt_say(&d->run.r, "%d Received immediate data 0x%x\n", d->run.r.pid,
	       immed);
	return check_written(d, v);
}

static int check_own_write(struct dx *d, const DAT_EVENT *event)
{
	uint64_t cookie =
		event->event_data.dto_completion_event_data.user_cookie.as_64;

	if (cookie != IMMED_COOKIE)
		return dt_fail(&d->run.r, DT_FAILED,
			       "write with immediate: cookie 0x%" PRIx64
			       ", expected 0x%x",
			       cookie, IMMED_COOKIE);
	return 0;
}

/* Both sides write; which of the two completions comes first is open. */
static int take_both(struct dx *d)
{
	bool mine = false, theirs = false;
	DAT_EVENT event;
	int rc = 0;

	while (!rc && !(mine && theirs)) {
		rc = dx_next_ext(d, "write with immediate", &event);
		if (rc)
			break;
		if (ext_of(&event)->type == DAT_IB_RDMA_WRITE_IMMED && !mine) {
			mine = true;
			rc = check_own_write(d, &event);
		} else if (ext_of(&event)->type ==
				   DAT_IB_RDMA_WRITE_IMMED_DATA &&
			   !theirs) {
			theirs = true;
			rc = check_immed(d, &event);
		} else {
			rc = dt_fail(&d->run.r, DT_FAILED,
				     "write with immediate: extension type %d "
				     "came, and is none that is due",
				     ext_of(&event)->type);
		}
	}
	return rc;
}

int dx_write_immed(struct dx *d)
{
	DAT_LMR_TRIPLET iov = dx_segment(d, DX_SOURCE, d->o->size);
	DAT_DTO_COOKIE cookie = {.as_64 = IMMED_COOKIE};
	DAT_RETURN ret;

	for (size_t i = 0; i < d->o->size; i++)
		dx_buffer(d, DX_SOURCE)[i] = pattern(own(d), i);
	ret = dat_ib_post_rdma_write_immed(d->ep, 1, &iov, cookie, &d->peer,
					   own(d)->immed,
					   DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_post_rdma_write_immed",
				   "the device may lack immediate data");
	return take_both(d);
}

/* -------------------------------------------------------- atomics */

/* Its last writer may be the device of the other side. */
static uint64_t target(const struct dx *d)
{
	return __atomic_load_n((uint64_t *)(void *)dx_buffer(d, DX_TARGET),
			       __ATOMIC_ACQUIRE);
}

static void set_target(const struct dx *d, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)dx_buffer(d, DX_TARGET), value,
			 __ATOMIC_RELEASE);
}

/*
 * Historic peers do not say how far they are: they preset, and go on a second
 * later. What they do to the target here tells it too; that it is FROM no more.
 */
static int pause_for_old(struct dx *d, const char *what)
{
	if (dt_pause(DT_NS_PER_S))
		return 0;
	return dt_wait_fail(&d->run.r, &d->run.w, -EINTR, what);
}

static int wait_for_old(struct dx *d, const char *what, uint64_t from)
{
	uint64_t deadline = dt_deadline(d->run.limit_ns);

	while (target(d) == from) {
		dt_alive();
		if (!dt_left_ns(deadline))
			return dt_wait_fail(&d->run.r, &d->run.w, -ETIMEDOUT,
					    what);
		if (!dt_pause(OLD_STEP_NS))
			return dt_wait_fail(&d->run.r, &d->run.w, -EINTR, what);
	}
	return 0;
}

static int check_target(struct dx *d, const char *what, uint64_t want)
{
	uint64_t got = target(d);

	dt_say(&d->run.r, "%d %s: the peer left 0x%" PRIx64 " here\n",
	       d->run.r.pid, what, got);
	if (got == want)
		return 0;
	return dt_fail(&d->run.r, DT_FAILED,
		       "%s: the peer left 0x%" PRIx64
		       " here, expected 0x%" PRIx64,
		       what, got, want);
}

static int take_atomic(struct dx *d, const char *what, DAT_IB_EXT_TYPE type,
		       uint64_t want)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	uint64_t got;
	int rc = dx_next_ext(d, what, &event);

	if (rc)
		return rc;
	dto = &event.event_data.dto_completion_event_data;
	if (ext_of(&event)->type != type ||
	    dto->user_cookie.as_64 != ATOMIC_COOKIE)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: extension type %d, cookie 0x%" PRIx64
			       "; expected %d, 0x%x",
			       what, ext_of(&event)->type,
			       dto->user_cookie.as_64, type, ATOMIC_COOKIE);
	memcpy(&got, d->result.base, sizeof(got));
	dt_say(&d->run.r, "%d %s: found 0x%" PRIx64 " at the peer\n",
	       d->run.r.pid, what, got);
	if (got == want)
		return 0;
	return dt_fail(&d->run.r, DT_FAILED,
		       "%s: found 0x%" PRIx64
		       " at the peer, expected 0x%" PRIx64,
		       what, got, want);
}

static DAT_LMR_TRIPLET result_segment(const struct dx *d)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (DAT_VADDR)(uintptr_t)d->result.base,
		.segment_length = ATOMIC,
		.lmr_context = d->result.lmr_context,
	};

	return iov;
}

static int swap(struct dx *d, const char *what)
{
	DAT_LMR_TRIPLET iov = result_segment(d);
	DAT_DTO_COOKIE cookie = {.as_64 = ATOMIC_COOKIE};
	DAT_RETURN ret;

	ret = dat_ib_post_cmp_and_swap(d->ep, own(d)->compare, own(d)->swap,
				       &iov, cookie, &d->peer,
				       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_post_cmp_and_swap", NULL);
	return take_atomic(d, what, DAT_IB_CMP_AND_SWAP, peers(d)->preset);
}

int dx_cmp_and_swap(struct dx *d)
{
	const char *what = "compare and swap";
	const struct values *v = own(d);
	bool ours = d->run.peer_is_ours;
	int rc;

	set_target(d, v->preset);
	rc = ours ? dx_in_step(d, what) : pause_for_old(d, what);
	if (!rc)
		rc = swap(d, what);
	if (!rc && ours)
		rc = dx_in_step(d, what);
	/* One that misses changes nothing. */
	else if (!rc)
		rc = v->swapped == v->preset ? pause_for_old(d, what)
					     : wait_for_old(d, what, v->preset);
	return rc ? rc : check_target(d, what, v->swapped);
}

static int add(struct dx *d, const char *what, uint64_t want)
{
	DAT_LMR_TRIPLET iov = result_segment(d);
	DAT_DTO_COOKIE cookie = {.as_64 = ATOMIC_COOKIE};
	DAT_RETURN ret;

	ret = dat_ib_post_fetch_and_add(d->ep, own(d)->add, &iov, cookie,
					&d->peer, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_post_fetch_and_add", NULL);
	return take_atomic(d, what, DAT_IB_FETCH_AND_ADD, want);
}

int dx_fetch_and_add(struct dx *d)
{
	const char *what = "fetch and add";
	const struct values *v = own(d), *peer = peers(d);
	bool ours = d->run.peer_is_ours;
	int rc;

	set_target(d, v->base);
	rc = ours ? dx_in_step(d, what) : wait_for_old(d, what, v->base);
	if (!rc)
		rc = add(d, what, peer->base);
	if (!rc)
		rc = add(d, what, peer->base + v->add);
	if (!rc)
		rc = ours ? dx_in_step(d, what)
			  : wait_for_old(d, what, v->base + peer->add);
	return rc ? rc : check_target(d, what, v->sum);
}
