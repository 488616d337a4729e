/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * modify.c - modify ADAPTER QUALIFIER: what dat_ep_modify() answers and does:
 * each parameter, in each state that stays, and what becomes of the endpoint.
 *
 * Knows the public API only and judges nothing. Where a value could be anything
 * it is printed as that which was asked for, or was there before.
 */
#include "test/differ/tries.h"

#include <string.h>

/* ------------------------------------------------------------ states */

static DAT_EP_HANDLE reserved(void)
{
	DAT_EP_HANDLE ep = new_ep();

	quietly(dat_rsp_create(mine.ia, next_qual(), ep, mine.cr_evd, &made));
	return ep;
}

static void asks_there(void)
{
	quietly(dat_ep_connect(new_ep(), ia_attr.ia_address_ptr, next_qual(),
			       PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_EP_HANDLE passive(void)
{
	DAT_EP_HANDLE ep = reserved();

	asks_there();
	next_event(mine.cr_evd);
	return ep;
}

static DAT_EP_HANDLE tentative(void)
{
	DAT_CR_PARAM param;
	DAT_EVENT ev;

	quietly(dat_psp_create(mine.ia, next_qual(), mine.cr_evd,
			       DAT_PSP_PROVIDER_FLAG, &made));
	asks_there();
	ev = next_event(mine.cr_evd);
	quietly(dat_cr_query(ev.event_data.cr_arrival_event_data.cr_handle,
			     DAT_CR_FIELD_ALL, &param));
	return param.local_ep_handle;
}

static DAT_EP_HANDLE active(void)
{
	DAT_EP_HANDLE ep;

	new_request(&ep);
	return ep;
}

/* ----------------------------------------------------- dat_ep_modify */

#define P(bit, member)                                      \
	{                                                   \
		DAT_EP_FIELD_##bit, F(DAT_EP_PARAM, member) \
	}

static const struct {
	DAT_EP_PARAM_MASK bit;
	struct field f;
} numbers[] = {
	P(EP_STATE, ep_state),
	P(LOCAL_PORT_QUAL, local_port_qual),
	P(REMOTE_PORT_QUAL, remote_port_qual),
	P(EP_ATTR_SERVICE_TYPE, ep_attr.service_type),
	P(EP_ATTR_MAX_MESSAGE_SIZE, ep_attr.max_message_size),
	P(EP_ATTR_MAX_RDMA_SIZE, ep_attr.max_rdma_size),
	P(EP_ATTR_QOS, ep_attr.qos),
	P(EP_ATTR_RECV_COMPLETION_FLAGS, ep_attr.recv_completion_flags),
	P(EP_ATTR_REQUEST_COMPLETION_FLAGS, ep_attr.request_completion_flags),
	P(EP_ATTR_MAX_RECV_DTOS, ep_attr.max_recv_dtos),
	P(EP_ATTR_MAX_REQUEST_DTOS, ep_attr.max_request_dtos),
	P(EP_ATTR_MAX_RECV_IOV, ep_attr.max_recv_iov),
	P(EP_ATTR_MAX_REQUEST_IOV, ep_attr.max_request_iov),
	P(EP_ATTR_MAX_RDMA_READ_IN, ep_attr.max_rdma_read_in),
	P(EP_ATTR_MAX_RDMA_READ_OUT, ep_attr.max_rdma_read_out),
	P(EP_ATTR_SRQ_SOFT_HW, ep_attr.srq_soft_hw),
	P(EP_ATTR_MAX_RDMA_READ_IOV, ep_attr.max_rdma_read_iov),
	P(EP_ATTR_MAX_RDMA_WRITE_IOV, ep_attr.max_rdma_write_iov),
	P(EP_ATTR_NUM_TRANSPORT_ATTR, ep_attr.ep_transport_specific_count),
	P(EP_ATTR_NUM_PROVIDER_ATTR, ep_attr.ep_provider_specific_count),
};

/* The value is a handle or an address. */
static const struct {
	DAT_EP_PARAM_MASK bit;
	struct field f;
} handles[] = {
	P(IA_HANDLE, ia_handle),
	P(COMM, comm),
	P(LOCAL_IA_ADDRESS_PTR, local_ia_address_ptr),
	P(REMOTE_IA_ADDRESS_PTR, remote_ia_address_ptr),
	P(SRQ_HANDLE, srq_handle),
	P(EP_ATTR_TRANSPORT_SPECIFIC_ATTR, ep_attr.ep_transport_specific),
	P(EP_ATTR_PROVIDER_SPECIFIC_ATTR, ep_attr.ep_provider_specific),
	P(PZ_HANDLE, pz_handle),
	P(RECV_EVD_HANDLE, recv_evd_handle),
	P(REQUEST_EVD_HANDLE, request_evd_handle),
	P(CONNECT_EVD_HANDLE, connect_evd_handle),
};

/* Those of HANDLES that may be changed begin here; some of NUMBERS. */
#define PARTS 7
#define FLAGS 7
#define READS 13

/* Of the right kind, and not that which endpoints are made of. */
static char another;
#define ANOTHER ((DAT_HANDLE)&another)

static DAT_HANDLE another_part(DAT_EP_PARAM_MASK bit)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	switch (bit) {
	case DAT_EP_FIELD_IA_HANDLE:
		return other.ia;
	case DAT_EP_FIELD_SRQ_HANDLE:
		return new_srq();
	case DAT_EP_FIELD_PZ_HANDLE:
		quietly(dat_pz_create(mine.ia, &pz));
		return pz;
	case DAT_EP_FIELD_RECV_EVD_HANDLE:
	case DAT_EP_FIELD_REQUEST_EVD_HANDLE:
		return new_evd(&mine, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	case DAT_EP_FIELD_CONNECT_EVD_HANDLE:
		return new_evd(&mine, DAT_EVD_CONNECTION_FLAG);
	default:
		return DAT_HANDLE_NULL;
	}
}

static bool same(const struct field *f, const DAT_EP_PARAM *a,
		 const DAT_EP_PARAM *b)
{
	return !memcmp((const char *)a + f->at, (const char *)b + f->at,
		       f->size);
}

/* Changes the parameter F of EP to that in WISH, and what a query tells of it.
 */
static DAT_RETURN modify(const char *name, DAT_EP_HANDLE ep,
			 DAT_EP_PARAM_MASK bit, const struct field *f,
			 const DAT_EP_PARAM *wish)
{
	DAT_EP_PARAM before, now;
	DAT_RETURN ret;

	memset(&before, 0, sizeof(before));
	memset(&now, 0, sizeof(now));
	quietly(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	ret = answer(name, dat_ep_modify(ep, bit, wish));
	quietly(dat_ep_query(ep, DAT_EP_FIELD_ALL, &now));
	THEN(name, "%s",
	     same(f, &now, &before) ? "as before"
	     : same(f, &now, wish)  ? "as asked for"
				    : "something else");
	return ret;
}

/*
 * The endpoint of the next try, if it was left as it was, since another one may
 * cost a connection. A bare code came from a change that had begun.
 */
static DAT_EP_HANDLE left;

static void try_modify(const char *name, DAT_EP_HANDLE (*reach)(void),
		       DAT_EP_PARAM_MASK bit, const struct field *f,
		       const DAT_EP_PARAM *wish)
{
	DAT_EP_HANDLE ep = left ? left : reach();
	DAT_RETURN ret = modify(name, ep, bit, f, wish);

	left = ret & DAT_CLASS_ERROR ? ep : DAT_HANDLE_NULL;
}

static void modify_number(size_t i, DAT_EP_HANDLE (*reach)(void), int64_t value)
{
	const char *name;
	DAT_EP_PARAM wish;

	memset(&wish, 0, sizeof(wish));
	name = varied(&wish, &numbers[i].f, value);
	if (is_next(name))
		try_modify(name, reach, numbers[i].bit, &numbers[i].f, &wish);
}

static void modify_handle(const char *what, size_t i,
			  DAT_EP_HANDLE (*reach)(void), DAT_HANDLE value)
{
	char name[96];
	DAT_EP_PARAM wish;

	snprintf(name, sizeof(name), "%s: %s", handles[i].f.name, what);
	if (!is_next(name))
		return;
	memset(&wish, 0, sizeof(wish));
	if (value == ANOTHER)
		value = another_part(handles[i].bit);
	memcpy((char *)&wish + handles[i].f.at, &value, sizeof(value));
	try_modify(name, reach, handles[i].bit, &handles[i].f, &wish);
}

static DAT_RETURN modified(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_PARAM param;

	quietly(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return dat_ep_modify(ep, mask, &param);
}

static void modify_numbers(void)
{
	static const int64_t values[] = {-1, 0, 2, HUGE};

	for (size_t i = 0; i < N_OF(numbers); i++)
		for (size_t j = 0; j < N_OF(values); j++)
			modify_number(i, new_ep, values[j]);
}

static void modify_handles(void)
{
	for (size_t i = 0; i < N_OF(handles); i++)
		modify_handle("another", i, new_ep, ANOTHER);
	for (size_t i = PARTS; i < N_OF(handles); i++) {
		modify_handle("none", i, new_ep, DAT_HANDLE_NULL);
		modify_handle("a CNO", i, new_ep, mine.cno);
	}
	modify_handle("of another", PARTS, new_ep, other.pz);
	modify_handle("of another", PARTS + 1, new_ep, other.dto_evd);
	modify_handle("of another", PARTS + 2, new_ep, other.dto_evd);
	modify_handle("of another", PARTS + 3, new_ep, other.conn_evd);
	for (size_t i = PARTS + 1; i < N_OF(handles); i++) {
		modify_handle("of software", i, new_ep, se_evd);
		modify_handle("of requests", i, new_ep, mine.cr_evd);
	}
	TRY("nothing", modified(new_ep(), 0));
	TRY("nothing, no parameters", dat_ep_modify(new_ep(), 0, NULL));
	TRY("no parameters",
	    dat_ep_modify(new_ep(), DAT_EP_FIELD_PZ_HANDLE, NULL));
	TRY("all", modified(new_ep(), DAT_EP_FIELD_ALL));
	TRY("all attributes", modified(new_ep(), DAT_EP_FIELD_EP_ATTR_ALL));
	TRY("a bit of nothing", modified(new_ep(), UINT64_C(1) << 31));
	TRY("a high bit of nothing", modified(new_ep(), UINT64_C(1) << 62));
	TRY("no endpoint", dat_ep_modify(DAT_HANDLE_NULL, 0, NULL));
	TRY("a PZ for the endpoint", dat_ep_modify(mine.pz, 0, NULL));
}

static void modify_each_handle(DAT_EP_HANDLE (*reach)(void))
{
	for (size_t i = 0; i < N_OF(handles); i++)
		modify_handle("another", i, reach, ANOTHER);
}

static void modify_each(DAT_EP_HANDLE (*reach)(void))
{
	for (size_t i = 0; i < N_OF(numbers); i++)
		modify_number(i, reach, i < 3 ? 0 : 2);
	modify_each_handle(reach);
}

static void modify_reserved(void)
{
	modify_each(reserved);
}

static void modify_with_srq(void)
{
	modify_each(with_srq);
}

static void modify_with_receive(void)
{
	modify_each(with_receive);
}

static void modify_passive(void)
{
	modify_each(passive);
}

/* Few: in this state the historic library crashes of each. */
static void modify_tentative(void)
{
	for (size_t i = PARTS; i < N_OF(handles); i++)
		modify_handle("another", i, tentative, ANOTHER);
	modify_number(FLAGS, tentative, 2);
}

/*
 * The historic library takes the others in this state, and hangs next: one of
 * these is enough.
 */
static void modify_active(void)
{
	for (size_t i = 0; i <= READS; i++)
		modify_number(i, active, i < 3 ? 0 : 2);
	for (size_t i = PARTS; i < N_OF(handles); i++)
		modify_handle("another", i, active, ANOTHER);
}

static void modify_connected(void)
{
	modify_each(new_connected);
}

static void modify_disconnected(void)
{
	modify_each(disconnected);
}

static DAT_EP_HANDLE after_reset(void)
{
	DAT_EP_HANDLE ep = disconnected();

	quietly(dat_ep_reset(ep));
	return ep;
}

static void modify_after_reset(void)
{
	modify_each_handle(after_reset);
}

/* The event of EP's connection; its peer may have its own on the same EVD. */
static void await_connection(const char *name, DAT_EP_HANDLE ep,
			     DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	do {
		if (dat_evd_wait(evd, PATIENCE_US / 10, 1, &ev, &more) !=
		    DAT_SUCCESS) {
			THEN(name, "%s", "no event");
			return;
		}
	} while (ev.event_data.connect_event_data.ep_handle != ep);
	THEN(name, "event 0x%x", (unsigned)ev.event_number);
}

/* How a message of an endpoint with another part goes. */
static void modify_and_send(const char *name, size_t i)
{
	DAT_EP_HANDLE ep = new_ep(), peer = new_ep();
	DAT_EP_PARAM now, wish;
	DAT_LMR_TRIPLET none = seg;
	DAT_COUNT more;
	DAT_EVENT ev;

	memset(&wish, 0, sizeof(wish));
	*(DAT_HANDLE *)((char *)&wish + handles[i].f.at) =
		another_part(handles[i].bit);
	modify(name, ep, handles[i].bit, &handles[i].f, &wish);
	quietly(dat_ep_query(ep, DAT_EP_FIELD_ALL, &now));
	quietly(receives(peer, 1, &seg, 0));
	quietly(dat_cr_accept(request_of(ep), peer, 0, NULL));
	await_connection(name, ep, now.connect_evd_handle);
	none.segment_length = 0; /* no matter what zone it is of */
	answer(name, dat_ep_post_send(ep, 1, &none, cookie(),
				      DAT_COMPLETION_DEFAULT_FLAG));
	answer(name, dat_evd_wait(now.request_evd_handle, PATIENCE_US / 10, 1,
				  &ev, &more));
}

static void modified_table(void)
{
	for (size_t i = PARTS; i < N_OF(handles); i++)
		if (is_next(handles[i].f.name))
			modify_and_send(handles[i].f.name, i);
	if (is_next("freed")) {
		DAT_EP_HANDLE ep = new_ep();

		answer("freed", modified(ep, DAT_EP_FIELD_PZ_HANDLE));
		answer("freed", dat_ep_free(ep));
	}
}

/* -------------------------------------------------------------- main */

static const struct part tables[] = {
	{"dat_ep_modify, numbers", modify_numbers},
	{"dat_ep_modify, handles", modify_handles},
	{"dat_ep_modify, reserved", modify_reserved},
	{"dat_ep_modify, passive", modify_passive},
	{"dat_ep_modify, tentative", modify_tentative},
	{"dat_ep_modify, active", modify_active},
	{"dat_ep_modify, connected", modify_connected},
	{"dat_ep_modify, disconnected", modify_disconnected},
	{"dat_ep_modify, reset", modify_after_reset},
	{"dat_ep_modify, with an SRQ", modify_with_srq},
	{"dat_ep_modify, with a receive", modify_with_receive},
	{"modified endpoints", modified_table},
};

int main(int argc, char **argv)
{
	return tries_main(argc, argv, tables, N_OF(tables));
}
