/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * changes.c - changes ADAPTER QUALIFIER: dat_evd_resize() of each kind of
 * queue, in use and not, and what the historic library has little of:
 * watermarks, memory windows, common service points.
 *
 * Knows the public API only and judges nothing. Where a value could be anything
 * it is printed as that which was asked for, or was there before.
 */
#include "test/differ/tries.h"

#include <netinet/in.h>
#include <string.h>

/* ---------------------------------------------------- dat_evd_resize */

#define QLEN   8 /* of the queues that are resized */
#define QUEUED 4 /* events that are there by then */

static DAT_EVD_HANDLE evd_of(unsigned flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	quietly(dat_evd_create(mine.ia, QLEN, DAT_HANDLE_NULL,
			       (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void resize(const char *name, DAT_EVD_HANDLE evd, DAT_COUNT n)
{
	DAT_EVD_PARAM now;

	answer(name, dat_evd_resize(evd, n));
	quietly(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &now));
	THEN(name, "%s",
	     now.evd_qlen == n	? "as asked for"
	     : now.evd_qlen > n ? "more"
				: "less");
}

/* Those that come, until N have. */
static void count_events(const char *name, DAT_EVD_HANDLE evd, int n)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	int got = 0;

	while (got < n && dat_evd_wait(evd, PATIENCE_US / 10, 1, &ev, &more) ==
				  DAT_SUCCESS)
		got++;
	THEN(name, "%d events of %d", got, n);
}

static void post_software(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (int i = 0; i < QUEUED; i++)
		quietly(dat_evd_post_se(evd, &ev));
}

static void resize_software(const char *what, int64_t n, bool in_use)
{
	const char *name = numbered(what, (uint64_t)n);
	DAT_EVD_HANDLE evd;

	if (!is_next(name))
		return;
	evd = evd_of(DAT_EVD_SOFTWARE_FLAG);
	if (in_use)
		post_software(evd);
	resize(name, evd, (DAT_COUNT)n);
	count_events(name, evd, in_use ? QUEUED : 0);
	if (n == 64)
		post_software(evd);
	count_events(name, evd, n == 64 ? QUEUED : 0);
	answer(name, dat_evd_free(evd));
}

/* Who sends, to a peer that has posted receives for all. */
static DAT_EP_HANDLE sender(DAT_EVD_HANDLE requests)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL, peer = new_ep();
	DAT_EP_ATTR attr = right_attr();

	quietly(dat_ep_create(mine.ia, mine.pz, mine.dto_evd, requests,
			      mine.conn_evd, &attr, &ep));
	for (int i = 0; i < 2 * QUEUED; i++)
		quietly(receives(peer, 1, &seg, 0));
	quietly(dat_cr_accept(request_of(ep), peer, 0, NULL));
	wait_for_both();
	return ep;
}

static void send_some(DAT_EP_HANDLE ep, int n)
{
	for (int i = 0; i < n; i++)
		quietly(dat_ep_post_send(ep, 1, &seg, cookie(),
					 DAT_COMPLETION_DEFAULT_FLAG));
}

/* With as many sends QUEUED as say, but for one that the wait for them takes.
 */
static void resize_transfers(const char *what, int64_t n, int queued)
{
	const char *name = numbered(what, (uint64_t)n);
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (!is_next(name))
		return;
	evd = evd_of(DAT_EVD_DTO_FLAG);
	ep = sender(evd);
	if (queued) {
		send_some(ep, queued);
		quietly(dat_evd_wait(evd, PATIENCE_US, queued, &ev, &more));
	}
	resize(name, evd, (DAT_COUNT)n);
	send_some(ep, 1);
	count_events(name, evd, queued ? queued : 1);
}

static void resize_unused(const char *what, unsigned flags, int64_t n)
{
	const char *name = numbered(what, (uint64_t)n);

	if (is_next(name))
		resize(name, evd_of(flags), (DAT_COUNT)n);
}

static DAT_EVD_HANDLE disabled(void)
{
	DAT_EVD_HANDLE evd = evd_of(DAT_EVD_SOFTWARE_FLAG);

	quietly(dat_evd_disable(evd));
	return evd;
}

static DAT_EVD_HANDLE unwaitable(void)
{
	DAT_EVD_HANDLE evd = evd_of(DAT_EVD_SOFTWARE_FLAG);

	quietly(dat_evd_set_unwaitable(evd));
	return evd;
}

static DAT_EVD_HANDLE with_cno(void)
{
	DAT_EVD_HANDLE evd = evd_of(DAT_EVD_SOFTWARE_FLAG);

	quietly(dat_evd_modify_cno(evd, mine.cno));
	return evd;
}

static void resize_table(void)
{
	static const int64_t lengths[] = {
		-1, 1, QUEUED - 1, QUEUED, QLEN, 1000000, HUGE, 64, 0};

	if (is_next("disabled"))
		resize("disabled", disabled(), 64);
	if (is_next("unwaitable"))
		resize("unwaitable", unwaitable(), 64);
	if (is_next("with a CNO"))
		resize("with a CNO", with_cno(), 64);
	TRY("none", dat_evd_resize(DAT_HANDLE_NULL, 8));
	TRY("a CNO", dat_evd_resize(mine.cno, 8));
	TRY("a PZ", dat_evd_resize(mine.pz, 8));
	/* The historic library damages its memory by the last two. */
	for (size_t i = 0; i < N_OF(lengths); i++) {
		int64_t n = lengths[i];

		resize_software("of software", n, false);
		resize_software("with events of software", n, true);
		resize_unused("of connections", DAT_EVD_CONNECTION_FLAG, n);
		resize_unused("of requests", DAT_EVD_CR_FLAG, n);
		resize_unused("of connections and requests",
			      DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, n);
		if (is_next(numbered("asynchronous", (uint64_t)n)))
			resize(numbered("asynchronous", (uint64_t)n),
			       mine.async_evd, (DAT_COUNT)n);
	}
}

/* The historic library hangs in some of these for the limit of a try. */
static void resize_transfers_table(void)
{
	static const int64_t lengths[] = {-1, HUGE, 0};

	resize_unused("unused", DAT_EVD_DTO_FLAG, 1);
	resize_transfers("with ends", 1, QUEUED);
	resize_transfers("with ends", QUEUED - 2, QUEUED);
	resize_transfers("used", 64, 0);
	resize_transfers("with ends", 64, QUEUED);
	for (size_t i = 0; i < N_OF(lengths); i++) {
		resize_unused("unused", DAT_EVD_DTO_FLAG, lengths[i]);
		resize_transfers("used", lengths[i], 0);
		resize_transfers("with ends", lengths[i], QUEUED);
	}
}

/* -------------------------------------------------------- watermarks */

static void count_receives(const char *name, DAT_EP_HANDLE ep)
{
	DAT_COUNT n = 77, span = 77;

	answer(name, dat_ep_recv_query(ep, &n, &span));
	THEN(name, "%d in %d", n, span);
}

static void set_low(const char *name, DAT_COUNT n)
{
	DAT_SRQ_HANDLE srq = new_srq();
	DAT_SRQ_PARAM param;

	answer(name, dat_srq_set_lw(srq, n));
	quietly(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	THEN(name, "%d", param.low_watermark);
}

static const struct {
	const char *name;
	DAT_EP_HANDLE (*reach)(void);
} kinds[] = {
	{"unconnected", new_ep},	  {"with an SRQ", with_srq},
	{"with a receive", with_receive}, {"connected", new_connected},
	{"disconnected", disconnected},
};

static void watermark_table(void)
{
	static const DAT_COUNT marks[][2] = {
		{-2, -1}, {-1, -2}, {0, 0},  {-1, 0}, {0, -1}, {HUGE, HUGE},
		{8, 4},	  {4, -1},  {-1, 8}, {4, 8},  {-1, -1}};
	char name[96];

	/* All of an unconnected one, two of each other. */
	for (size_t i = 0; i < N_OF(kinds); i++)
		for (size_t j = i ? N_OF(marks) - 2 : 0; j < N_OF(marks); j++) {
			snprintf(name, sizeof(name), "%s, %d and %d",
				 kinds[i].name, marks[j][0], marks[j][1]);
			TRY(name,
			    dat_ep_set_watermark(kinds[i].reach(), marks[j][0],
						 marks[j][1]));
		}
	TRY("no endpoint", dat_ep_set_watermark(DAT_HANDLE_NULL, -1, -1));
	TRY("a PZ", dat_ep_set_watermark(mine.pz, -1, -1));
}

static void low_table(void)
{
	static const DAT_COUNT lows[] = {-1, 0, 1, 7, 8, 9, HUGE};

	for (size_t i = 0; i < N_OF(lows); i++) {
		const char *name = numbered("low", (uint64_t)lows[i]);

		if (is_next(name))
			set_low(name, lows[i]);
	}
	TRY("no SRQ", dat_srq_set_lw(DAT_HANDLE_NULL, 1));
	TRY("a PZ", dat_srq_set_lw(mine.pz, 1));
}

static void receives_table(void)
{
	DAT_COUNT n;

	for (size_t i = 0; i < N_OF(kinds); i++)
		if (is_next(kinds[i].name))
			count_receives(kinds[i].name, kinds[i].reach());
	TRY("no span", dat_ep_recv_query(new_ep(), &n, NULL));
	TRY("no number", dat_ep_recv_query(new_ep(), NULL, &n));
	TRY("no endpoint", dat_ep_recv_query(DAT_HANDLE_NULL, &n, &n));
	TRY("a PZ", dat_ep_recv_query(mine.pz, &n, &n));
}

/* ---------------------------------------------------- memory windows */

#define ANY_PRIV ((unsigned)DAT_MEM_PRIV_ALL_FLAG)

/* A bind that is right, of which each try spoils something. */
struct bind {
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET seg;
	unsigned priv, va_type, flags;
	DAT_EP_HANDLE ep;
	bool no_seg, no_key;
};

/* One for all, while no bind has failed. */
static DAT_EP_HANDLE binder;

static struct bind right_bind(void)
{
	struct bind b = {
		.rmr = DAT_HANDLE_NULL,
		.lmr = lmr,
		.seg = seg,
		.priv = DAT_MEM_PRIV_REMOTE_READ_FLAG |
			DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		.va_type = DAT_VA_TYPE_VA,
	};

	if (!binder)
		binder = new_connected();
	b.ep = binder;
	/* Where windows cannot be had the bind is of none. */
	if (dat_rmr_create(mine.pz, &b.rmr) != DAT_SUCCESS)
		b.rmr = DAT_HANDLE_NULL;
	return b;
}

/* What it answers, and how it ends. */
static void bind_as(const char *name, const struct bind *b)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *end;
	DAT_RMR_CONTEXT key = 0;
	DAT_COUNT more;
	DAT_RETURN ret;
	DAT_EVENT ev;

	ret = dat_rmr_bind(b->rmr, b->lmr, b->no_seg ? NULL : &b->seg,
			   (DAT_MEM_PRIV_FLAGS)b->priv, (DAT_VA_TYPE)b->va_type,
			   b->ep, cookie(), (DAT_COMPLETION_FLAGS)b->flags,
			   b->no_key ? NULL : &key);
	if (answer(name, ret) != DAT_SUCCESS ||
	    b->flags & DAT_COMPLETION_SUPPRESS_FLAG)
		return;
	do {
		quietly(dat_evd_wait(mine.dto_evd, PATIENCE_US / 10, 1, &ev,
				     &more));
	} while (ev.event_number != DAT_RMR_BIND_COMPLETION_EVENT);
	end = &ev.event_data.rmr_completion_event_data;
	if (end->status != DAT_RMR_BIND_SUCCESS)
		binder = DAT_HANDLE_NULL;
	THEN(name, "%s, %s, status %d", key ? "a key" : "no key",
	     end->rmr_handle == b->rmr && end->user_cookie.as_64 == 1
		     ? "its own event"
		     : "an event",
	     (int)end->status);
}

#define BIND(name, spoil)                             \
	do {                                          \
		if (is_next(name)) {                  \
			struct bind b = right_bind(); \
			spoil;                        \
			bind_as(name, &b);            \
		}                                     \
	} while (0)

static DAT_LMR_HANDLE lmr_of(const struct side *s, unsigned priv)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = mem};
	DAT_LMR_HANDLE of = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT key;

	quietly(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, desc, MEM_SIZE,
			       s->pz, (DAT_MEM_PRIV_FLAGS)priv, DAT_VA_TYPE_VA,
			       &of, &key, NULL, NULL, NULL));
	return of;
}

static void bind_table(void)
{
	BIND("a segment", (void)0);
	BIND("all", b.seg.segment_length = MEM_SIZE);
	BIND("one byte more", b.seg.segment_length = MEM_SIZE + 1);
	BIND("before it", b.seg.virtual_address--);
	BIND("behind it", b.seg.virtual_address += MEM_SIZE);
	BIND("no bytes", b.seg.segment_length = 0);
	BIND("another key", b.seg.lmr_context++);
	BIND("no segment", b.no_seg = true);
	BIND("no place for the key", b.no_key = true);
	BIND("no window", b.rmr = DAT_HANDLE_NULL);
	BIND("a PZ for the window", b.rmr = mine.pz);
	BIND("no region", b.lmr = DAT_HANDLE_NULL);
	BIND("a PZ for the region", b.lmr = mine.pz);
	BIND("region of another", b.lmr = lmr_of(&other, 0x33));
	BIND("no endpoint", b.ep = DAT_HANDLE_NULL);
	BIND("a PZ for the endpoint", b.ep = mine.pz);
	BIND("not connected", b.ep = new_ep());
	BIND("disconnected", end_connection(b.ep); binder = DAT_HANDLE_NULL);
	if (is_next("twice")) {
		struct bind b = right_bind();

		bind_as("twice", &b);
		bind_as("twice", &b);
		b.seg.segment_length = 0;
		bind_as("unbound", &b);
		answer("unbound", dat_rmr_free(b.rmr));
	}
}

static void bind_flags_table(void)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned priv = (i & 3) | (i & 12) << 2;

		BIND(numbered("privileges", priv), b.priv = priv);
	}
	for (unsigned bit = 4; bit <= 0x100; bit <<= 1)
		if (!(bit & ANY_PRIV))
			BIND(numbered("privilege", bit), b.priv = bit);
	for (unsigned bit = 1; bit & ANY_PRIV; bit <<= bit == 2 ? 3 : 1)
		if (bit != DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
			BIND(numbered("of a region with", bit),
			     b.lmr = lmr_of(&mine, bit));
	for (unsigned type = 1; type < 4; type++)
		BIND(numbered("va_type", type), b.va_type = type);
	for (unsigned flag = 1; flag <= 0x100; flag <<= 1)
		BIND(numbered("flag", flag), b.flags = flag);
}

static void window_table(void)
{
	DAT_RMR_PARAM param;

	TRY("no place", dat_rmr_create(mine.pz, NULL));
	TRY("in an EVD", dat_rmr_create(mine.dto_evd, &made));
	TRY("query none",
	    dat_rmr_query(DAT_HANDLE_NULL, DAT_RMR_FIELD_ALL, &param));
	TRY("query a PZ", dat_rmr_query(mine.pz, DAT_RMR_FIELD_ALL, &param));
	TRY("free none", dat_rmr_free(DAT_HANDLE_NULL));
	TRY("free a PZ", dat_rmr_free(mine.pz));
	TRY("of an endpoint", dat_rmr_create_for_ep(mine.pz, &made));
}

/* --------------------------------------------- common service points */

static DAT_COMM socket_like = {AF_INET, SOCK_STREAM, 0};

/* This adapter's, with a port for each try. */
static DAT_IA_ADDRESS_PTR csp_address(void)
{
	static struct sockaddr_in at;

	memcpy(&at, ia_attr.ia_address_ptr, sizeof(at));
	at.sin_port = htons((uint16_t)next_qual());
	return (DAT_IA_ADDRESS_PTR)&at;
}

static DAT_RETURN csp_at(DAT_COMM *comm, DAT_IA_ADDRESS_PTR at,
			 DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *ret_csp)
{
	return dat_csp_create(mine.ia, comm, at, evd, ret_csp);
}

static void csp_table(void)
{
	DAT_COMM udp = {AF_INET, SOCK_DGRAM, 0};
	DAT_EVD_HANDLE evd = mine.cr_evd;
	DAT_CSP_PARAM param;

	TRY("a service point", csp_at(&socket_like, csp_address(), evd, &made));
	TRY("of datagrams", csp_at(&udp, csp_address(), evd, &made));
	TRY("of no kind", csp_at(NULL, csp_address(), evd, &made));
	TRY("nowhere", csp_at(&socket_like, NULL, evd, &made));
	TRY("no EVD",
	    csp_at(&socket_like, csp_address(), DAT_HANDLE_NULL, &made));
	TRY("an EVD of software",
	    csp_at(&socket_like, csp_address(), se_evd, &made));
	TRY("no place", csp_at(&socket_like, csp_address(), evd, NULL));
	TRY("query none",
	    dat_csp_query(DAT_HANDLE_NULL, DAT_CSP_FIELD_ALL, &param));
	TRY("query a PZ", dat_csp_query(mine.pz, DAT_CSP_FIELD_ALL, &param));
	TRY("free none", dat_csp_free(DAT_HANDLE_NULL));
	TRY("free a PZ", dat_csp_free(mine.pz));
	TRY("connect", dat_ep_common_connect(new_ep(), csp_address(),
					     PATIENCE_US, 0, NULL));
}

/* -------------------------------------------------------------- main */

static const struct part tables[] = {
	{"dat_evd_resize", resize_table},
	{"dat_evd_resize, transfers", resize_transfers_table},
	{"dat_ep_set_watermark", watermark_table},
	{"dat_srq_set_lw", low_table},
	{"dat_ep_recv_query", receives_table},
	{"dat_rmr_bind", bind_table},
	{"dat_rmr_bind, flags", bind_flags_table},
	{"memory windows", window_table},
	{"common service points", csp_table},
};

int main(int argc, char **argv)
{
	return tries_main(argc, argv, tables, N_OF(tables));
}
