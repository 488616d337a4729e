/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * calls.c - judges results, keeps addresses, fetches events.
 *
 * Decides nothing about what a consumer does next. Any thread of a rank.
 * Rule: calls.h.
 */
#include "test/consumers/calls.h"

#include <netinet/in.h>

/* The reason of a failure; of DAT 1.2 there is none to be had. */
static const char *detail(void)
{
#if DAT_FACE == 2
	return dat_error_detail();
#else
	return "";
#endif
}

void calls_judge(struct rank *r, const char *file, int line, const char *call,
		 DAT_RETURN got, DAT_RETURN type)
{
	const char *major = NULL, *minor = NULL, *why;

	if (DAT_GET_TYPE(got) == type)
		return;
	why = detail();
	/* One consumer prints both texts, whatever the code is. */
	dat_strerror(got, &major, &minor);
	rank_fail(r, file, line, "%.60s: 0x%08x [%s:%s], not type 0x%x; %s",
		  call, got, major ? major : "(null)", minor ? minor : "(null)",
		  type, why);
}

struct calls_addr calls_addr_of(DAT_IA_ADDRESS_PTR address)
{
	struct calls_addr a = {.size = sizeof(struct sockaddr_in)};

	if (((const struct sockaddr *)address)->sa_family != AF_INET)
		a.size = sizeof(a.bytes);
	memcpy(a.bytes, address, a.size);
	return a;
}

DAT_IA_ADDRESS_PTR calls_addr_use(struct rank *r, const struct calls_addr *a)
{
	return memcpy(rank_keep(r, a->size), a->bytes, a->size);
}

DAT_EVENT calls_poll(struct rank *r, DAT_EVD_HANDLE evd, const char *what)
{
	DAT_RETURN ret;
	DAT_EVENT ev;

	rank_waits(r, "%s (polled)", what);
	while (DAT_GET_TYPE(ret = dat_evd_dequeue(evd, &ev)) == DAT_QUEUE_EMPTY)
		rank_spin();
	OK(r, ret);
	EXPECT(r, ev.evd_handle == evd);
	return ev;
}

DAT_EVENT calls_wait(struct rank *r, DAT_EVD_HANDLE evd,
		     DAT_EVENT_NUMBER number, const char *what)
{
	DAT_COUNT more = -1;
	DAT_EVENT ev;

	rank_waits(r, "%s (asleep)", what);
	OK(r, dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	EXPECT(r, ev.evd_handle == evd);
	EXPECT(r, more >= 0);
	if (ev.event_number != number)
		RANK_FAIL(r, "%s: event 0x%x, not 0x%x", what, ev.event_number,
			  number);
	return ev;
}

void *calls_done(struct rank *r, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;

	EXPECT_EQ(r, ev->event_number, DAT_DTO_COMPLETION_EVENT);
	EXPECT_EQ(r, dto->status, DAT_DTO_SUCCESS);
	return (void *)(uintptr_t)dto->user_cookie.as_64;
}

uint32_t calls_poll_word(struct rank *r, const uint32_t *word, const char *what)
{
	uint32_t seen;

	rank_waits(r, "%s (in memory)", what);
	while (!(seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)))
		rank_spin();
	return seen;
}
