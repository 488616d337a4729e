/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * call.c - makes calls, and writes them down as C.
 *
 * Both come from one text: CALL() below is compiled where a call is made and
 * its own source, with the numbers put in, where it is written. So what is
 * written is what was made. It judges nothing.
 * Threads: one. Ownership: call.h.
 */
#include "test/walk/call.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test/walk/face.h"

#define LIST_MAX 16 /* entries of dat.conf, more than there are */

static const char *const names[] = {
#define X(name) #name,
	WALK_OPS(X)
#undef X
};

const char *call_name(int op)
{
	return names[op];
}

int call_context(const struct call *c)
{
	if (c->h[3] < 0)
		return c->h[2];
	return c->h[3] + (c->h[4] == OBJ_OLDER ? WALK_OBJS : 0);
}

/* ------------------------------------------- what the text is made of */

/* One call, its pieces by name. */
struct making {
	struct world *w;
	const struct call *c;
	struct result *r;
	DAT_LMR_TRIPLET seg[16];
	DAT_RMR_TRIPLET remote, sink;
	DAT_EP_ATTR attr;
	uint8_t private_data[512];
	struct sockaddr_storage csp;
	char shared[DAT_LMR_COOKIE_SIZE];
	DAT_PROVIDER_INFO list[LIST_MAX];
	DAT_PROVIDER_INFO *listed[LIST_MAX];
};

static DAT_HANDLE handle_of(const struct making *k, int i)
{
	int id = k->c->h[i];

	if (id == OBJ_NULL)
		return DAT_HANDLE_NULL;
	if (id == OBJ_SMALL)
		return (DAT_HANDLE)(uintptr_t)700;
	if (id <= OBJ_SMALL_FIRST)
		return (DAT_HANDLE)(uintptr_t)-id;
	return k->w->handle[id];
}

/* Transfers: n[0] segments from byte n[1] of region h[1], n[2] bytes each. */
static DAT_LMR_TRIPLET *segments(struct making *k)
{
	const struct call *c = k->c;
	int id = c->h[1];

	for (uint64_t i = 0; i < 16; i++) {
		k->seg[i] = (DAT_LMR_TRIPLET){
			.virtual_address =
				(DAT_VADDR)(uintptr_t)((id >= 0 ? k->w->mem[id]
								: NULL) +
						       c->n[1] + i * c->n[2]),
			.segment_length = (FACE_SEG_LENGTH)c->n[2],
			.lmr_context = id >= 0 ? k->w->lkey[id] : 0,
		};
	}
	return k->seg;
}

/* Of region h[2], or seen through window h[3], from byte n[5]. */
static DAT_RMR_TRIPLET *remote(struct making *k)
{
	const struct call *c = k->c;

	k->remote = (DAT_RMR_TRIPLET){
		.face_remote_address =
			(DAT_VADDR)(uintptr_t)(k->w->mem[c->h[2]] + c->n[5]),
		.segment_length = (FACE_SEG_LENGTH)(c->n[0] * c->n[2]),
		.rmr_context = k->w->rkey[call_context(c)],
	};
	return &k->remote;
}

#if DAT_FACE == 2
/* The first segment, by the context that a peer would name it by. */
static DAT_RMR_TRIPLET *sink(struct making *k)
{
	const struct call *c = k->c;

	k->sink = (DAT_RMR_TRIPLET){
		.virtual_address =
			(DAT_VADDR)(uintptr_t)(k->w->mem[c->h[1]] + c->n[1]),
		.segment_length = (DAT_SEG_LENGTH)c->n[2],
		.rmr_context = k->w->rkey[c->h[1]],
	};
	return &k->sink;
}
#endif

/* What is registered: n[0] of its making says in which way. */
static DAT_REGION_DESCRIPTION region(struct making *k)
{
	DAT_REGION_DESCRIPTION d = {.for_va = k->w->mem[k->c->out]};

	if (k->c->n[0] == DAT_MEM_TYPE_LMR)
		d.for_lmr_handle = handle_of(k, 2);
	if (k->c->n[0] == DAT_MEM_TYPE_SHARED_VIRTUAL) {
		snprintf(k->shared, sizeof(k->shared), "walk %d", k->c->out);
		d.for_shared_memory.virtual_address = k->w->mem[k->c->out];
		d.for_shared_memory.shared_memory_id = &k->shared;
	}
	return d;
}

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	return (DAT_DTO_COOKIE){.as_64 = n};
}

/* Begins with the number that tells whose it is. */
static void *private_data(struct making *k, uint64_t size, uint64_t serial)
{
	for (size_t i = 0; i < sizeof(k->private_data); i++)
		k->private_data[i] = (uint8_t)(serial >> 8 * (i % 4));
	return size ? k->private_data : NULL;
}

static DAT_EP_ATTR *attributes(struct making *k)
{
	DAT_EP_ATTR *a = &k->attr;

	memset(a, 0, sizeof(*a));
	a->max_message_size = a->max_rdma_size = WALK_MEM;
	a->max_recv_dtos = a->max_request_dtos = SMALL_DTOS;
	a->max_recv_iov = a->max_request_iov =
		k->w->ia_attr.max_iov_segments_per_dto < SMALL_IOV ? 1
								   : SMALL_IOV;
	a->max_rdma_read_in = a->max_rdma_read_out = 1;
	a->max_rdma_read_iov = a->max_rdma_write_iov = 1;
	a->srq_soft_hw = DAT_HW_DEFAULT;
	switch (k->c->n[0]) {
	case ATTR_NULL:
		return NULL;
	case ATTR_NO_RECV:
		a->max_recv_dtos = 0;
		break;
	case ATTR_SUPPRESS_RECV:
		a->recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
		break;
	case ATTR_HUGE:
		a->max_request_dtos = 0x7fffffff;
		break;
	}
	return a;
}

/* Room for so many entries as n[0] says, if that is not too much. */
static DAT_PROVIDER_INFO **listed(struct making *k)
{
	for (int i = 0; i < LIST_MAX; i++)
		k->listed[i] = &k->list[i];
	return k->listed;
}

#if DAT_FACE == 2
/* The address of adapter ID with port N of its common service points. */
static DAT_IA_ADDRESS_PTR csp_address(struct making *k, int id, uint64_t n)
{
	uint16_t port = htons((uint16_t)(k->w->qual + n));

	k->csp = k->w->address[id];
	/* where the families of sockets have it */
	memcpy((uint8_t *)&k->csp + offsetof(struct sockaddr_in, sin_port),
	       &port, sizeof(port));
	return (DAT_IA_ADDRESS_PTR)&k->csp;
}
#endif

/* --------------------------------------------------------- the calls */

/* What the printed program has under these names is in call_program(). */
#define H(i)	 handle_of(k, i)
#define N(i)	 (k->c->n[i])
#define MADE	 (k->c->no_out ? NULL : &k->r->made)
#define MADE2	 (&k->r->second)
#define EV	 (k->c->no_out ? NULL : &k->r->ev)
#define PARAM(x) (k->c->no_out ? NULL : &k->r->x##_param)
#define NAME	 ((char *)(uintptr_t)k->w->adapter)
#define ADDRESS \
	(k->c->no_out ? NULL : (DAT_IA_ADDRESS_PTR)&k->w->address[k->c->h[1]])
#define QUAL(i)	    (k->w->qual + k->c->n[i])
#define SEGMENTS    segments(k)
#define REMOTE	    remote(k)
#define PDATA(n, s) private_data(k, n, s)
#define ATTR	    attributes(k)
#define RES(x)	    (&k->r->x)
#define INTO(x)	    (k->c->no_out ? NULL : &k->r->x)
#define REGION	    region(k)
#define LKEY	    (&k->w->lkey[k->c->out])
#define RKEY	    (&k->w->rkey[k->c->out])
#define CONTEXT	    (k->c->h[3] < 0 ? 0 : k->w->rkey[call_context(k->c)])
#define SINK	    sink(k)
#define BOUND \
	(k->c->no_out ? NULL : &k->w->rkey[k->c->h[0] < 0 ? 0 : k->c->h[0]])
#define SE(p, e)                                                           \
	(k->c->no_out                                                      \
		 ? NULL                                                    \
		 : (&(DAT_EVENT){.event_number = (DAT_EVENT_NUMBER)(e),    \
				 .event_data.software_event_data.pointer = \
					 (DAT_PVOID)(uintptr_t)(p)}))
#define PARTS                                                       \
	(k->c->no_out ? NULL                                        \
		      : &(DAT_EP_PARAM){.pz_handle = H(1),          \
					.recv_evd_handle = H(2),    \
					.request_evd_handle = H(3), \
					.connect_evd_handle = H(4)})
#define SRQ_ATTR(d, v, l, null)                                   \
	((null) ? NULL                                            \
		: &(DAT_SRQ_ATTR){(DAT_COUNT)(d), (DAT_COUNT)(v), \
				  (DAT_COUNT)(l)})
#define COMM(type) \
	((type) ? &(DAT_COMM){AF_INET, (int)(type), IPPROTO_TCP} : NULL)
#define CSP_ADDRESS \
	(k->c->h[2] < 0 ? NULL : csp_address(k, k->c->h[2], k->c->n[0]))
#define PORT_ADDRESS \
	(k->c->no_out ? NULL : csp_address(k, k->c->h[1], k->c->n[0]))
#define ASKED(x)  (k->c->no_out ? NULL : &k->r->attr.x)
#define SEGMENTS0 (k->c->h[1] < 0 ? NULL : segments(k))
#define LISTED	  listed(k)

#define CALL(op, ...)                            \
	case OP_##op:                            \
		*text = #__VA_ARGS__;            \
		if (k->r)                        \
			k->r->ret = __VA_ARGS__; \
		break

/* Makes the call when there is a result to fill; its text in any case. */
static void one_of_objects(struct making *k, const char **text)
{
	switch (k->c->op) {
		CALL(IA_OPEN, dat_ia_open(NAME, (DAT_COUNT)N(0), MADE2, MADE));
		CALL(IA_QUERY,
		     dat_ia_query(H(0), RES(evd), (DAT_IA_ATTR_MASK)N(0),
				  ASKED(ia), (DAT_PROVIDER_ATTR_MASK)N(1),
				  ASKED(prov)));
		CALL(IA_CLOSE, dat_ia_close(H(0), (DAT_CLOSE_FLAGS)N(0)));
		CALL(SET_CONTEXT, dat_set_consumer_context(H(0), cookie(N(0))));
		CALL(GET_CONTEXT,
		     dat_get_consumer_context(H(0), INTO(context)));
		CALL(HANDLE_TYPE, dat_get_handle_type(H(0), INTO(type)));
		CALL(PZ_CREATE, dat_pz_create(H(0), MADE));
		CALL(PZ_QUERY,
		     dat_pz_query(H(0), (DAT_PZ_PARAM_MASK)N(0), PARAM(pz)));
		CALL(PZ_FREE, dat_pz_free(H(0)));
		CALL_20(LMR_CREATE,
			dat_lmr_create(H(0), (DAT_MEM_TYPE)N(0), REGION, N(1),
				       H(1), (DAT_MEM_PRIV_FLAGS)N(2),
				       (DAT_VA_TYPE)N(3), MADE, LKEY, RKEY,
				       NULL, NULL));
		CALL_12(LMR_CREATE,
			dat_lmr_create(H(0), (DAT_MEM_TYPE)N(0), REGION, N(1),
				       H(1), (DAT_MEM_PRIV_FLAGS)N(2), MADE,
				       LKEY, RKEY, NULL, NULL));
		CALL(LMR_QUERY,
		     dat_lmr_query(H(0), (DAT_LMR_PARAM_MASK)N(0), PARAM(lmr)));
		CALL(LMR_FREE, dat_lmr_free(H(0)));
	}
}

static void one_of_events(struct making *k, const char **text)
{
	switch (k->c->op) {
		CALL(EVD_CREATE, dat_evd_create(H(0), (DAT_COUNT)N(0), H(1),
						(DAT_EVD_FLAGS)N(1), MADE));
		CALL(EVD_QUERY,
		     dat_evd_query(H(0), (DAT_EVD_PARAM_MASK)N(0), PARAM(evd)));
		CALL(EVD_RESIZE, dat_evd_resize(H(0), (DAT_COUNT)N(0)));
		CALL(EVD_POST_SE, dat_evd_post_se(H(0), SE(N(0), N(1))));
		CALL(EVD_DEQUEUE, dat_evd_dequeue(H(0), EV));
		CALL(EVD_WAIT, dat_evd_wait(H(0), (DAT_TIMEOUT)N(0),
					    (DAT_COUNT)N(1), EV, RES(more)));
		CALL(EVD_ENABLE, dat_evd_enable(H(0)));
		CALL(EVD_DISABLE, dat_evd_disable(H(0)));
		CALL(EVD_SET_UNWAITABLE, dat_evd_set_unwaitable(H(0)));
		CALL(EVD_CLEAR_UNWAITABLE, dat_evd_clear_unwaitable(H(0)));
		CALL(EVD_MODIFY_CNO, dat_evd_modify_cno(H(0), H(1)));
		CALL(EVD_FREE, dat_evd_free(H(0)));
		CALL(CNO_CREATE,
		     dat_cno_create(H(0), DAT_OS_WAIT_PROXY_AGENT_NULL, MADE));
		CALL_20(CNO_FD_CREATE,
			dat_cno_fd_create(H(0), RES(more), MADE));
		CALL(CNO_QUERY,
		     dat_cno_query(H(0), (DAT_CNO_PARAM_MASK)N(0), PARAM(cno)));
		CALL(CNO_WAIT, dat_cno_wait(H(0), (DAT_TIMEOUT)N(0), RES(evd)));
		CALL_20(CNO_TRIGGER, dat_cno_trigger(H(0), RES(evd)));
		CALL(CNO_FREE, dat_cno_free(H(0)));
	}
}

static void one_of_endpoints(struct making *k, const char **text)
{
	switch (k->c->op) {
		CALL(EP_CREATE,
		     dat_ep_create(H(0), H(1), H(2), H(3), H(4), ATTR, MADE));
		CALL(EP_CREATE_SRQ,
		     dat_ep_create_with_srq(H(0), H(1), H(2), H(3), H(4), H(5),
					    ATTR, MADE));
		CALL(EP_QUERY, dat_ep_query(H(0), N(0), PARAM(ep)));
		CALL(EP_MODIFY, dat_ep_modify(H(0), N(0), PARTS));
		CALL(EP_STATUS, dat_ep_get_status(H(0), RES(state),
						  RES(idle[0]), RES(idle[1])));
		CALL(EP_CONNECT,
		     dat_ep_connect(H(0), ADDRESS, QUAL(0), (DAT_TIMEOUT)N(1),
				    (DAT_COUNT)N(2), PDATA(N(2), N(3)),
				    (DAT_QOS)N(4), (DAT_CONNECT_FLAGS)N(5)));
		CALL(EP_DUP_CONNECT,
		     dat_ep_dup_connect(H(0), H(1), (DAT_TIMEOUT)N(1),
					(DAT_COUNT)N(2), PDATA(N(2), N(3)),
					(DAT_QOS)N(4)));
		CALL_20(EP_COMMON_CONNECT,
			dat_ep_common_connect(
				H(0), PORT_ADDRESS, (DAT_TIMEOUT)N(1),
				(DAT_COUNT)N(2), PDATA(N(2), N(3))));
		CALL(EP_DISCONNECT,
		     dat_ep_disconnect(H(0), (DAT_CLOSE_FLAGS)N(0)));
		CALL(EP_RESET, dat_ep_reset(H(0)));
		CALL(EP_FREE, dat_ep_free(H(0)));
		CALL(POST_SEND, dat_ep_post_send(H(0), (DAT_COUNT)N(0),
						 SEGMENTS, cookie(N(3)),
						 (DAT_COMPLETION_FLAGS)N(4)));
		CALL(POST_RECV, dat_ep_post_recv(H(0), (DAT_COUNT)N(0),
						 SEGMENTS, cookie(N(3)),
						 (DAT_COMPLETION_FLAGS)N(4)));
		CALL(POST_WRITE,
		     dat_ep_post_rdma_write(H(0), (DAT_COUNT)N(0), SEGMENTS,
					    cookie(N(3)), REMOTE,
					    (DAT_COMPLETION_FLAGS)N(4)));
		CALL(POST_READ,
		     dat_ep_post_rdma_read(H(0), (DAT_COUNT)N(0), SEGMENTS,
					   cookie(N(3)), REMOTE,
					   (DAT_COMPLETION_FLAGS)N(4)));
		CALL(PSP_CREATE, dat_psp_create(H(0), QUAL(0), H(1),
						(DAT_PSP_FLAGS)N(1), MADE));
		CALL(PSP_QUERY,
		     dat_psp_query(H(0), (DAT_PSP_PARAM_MASK)N(0), PARAM(psp)));
		CALL(PSP_FREE, dat_psp_free(H(0)));
		CALL(RSP_CREATE,
		     dat_rsp_create(H(0), QUAL(0), H(1), H(2), MADE));
		CALL(RSP_QUERY,
		     dat_rsp_query(H(0), (DAT_RSP_PARAM_MASK)N(0), PARAM(rsp)));
		CALL(RSP_FREE, dat_rsp_free(H(0)));
		CALL(CR_QUERY,
		     dat_cr_query(H(0), (DAT_CR_PARAM_MASK)N(0), PARAM(cr)));
		CALL(CR_ACCEPT, dat_cr_accept(H(0), H(1), (DAT_COUNT)N(0),
					      PDATA(N(0), N(1))));
		CALL_20(CR_REJECT, dat_cr_reject(H(0), (DAT_COUNT)N(0),
						 PDATA(N(0), N(1))));
		CALL_12(CR_REJECT, dat_cr_reject(H(0)));
	}
}

/* Windows and shared queues. */
static void one_of_sharing(struct making *k, const char **text)
{
	switch (k->c->op) {
		CALL(RMR_CREATE, dat_rmr_create(H(0), MADE));
		CALL_20(RMR_CREATE_EP, dat_rmr_create_for_ep(H(0), MADE));
		CALL(RMR_QUERY,
		     dat_rmr_query(H(0), (DAT_RMR_PARAM_MASK)N(0), PARAM(rmr)));
		CALL_20(RMR_BIND,
			dat_rmr_bind(H(0), H(1), SEGMENTS,
				     (DAT_MEM_PRIV_FLAGS)N(5), DAT_VA_TYPE_VA,
				     H(2), cookie(N(3)),
				     (DAT_COMPLETION_FLAGS)N(4), BOUND));
		CALL_12(RMR_BIND,
			dat_rmr_bind(H(0), SEGMENTS, (DAT_MEM_PRIV_FLAGS)N(5),
				     H(2), cookie(N(3)),
				     (DAT_COMPLETION_FLAGS)N(4), BOUND));
		CALL(RMR_FREE, dat_rmr_free(H(0)));
		CALL(LMR_SYNC_READ,
		     dat_lmr_sync_rdma_read(H(0), SEGMENTS0, N(0)));
		CALL(LMR_SYNC_WRITE,
		     dat_lmr_sync_rdma_write(H(0), SEGMENTS0, N(0)));
		CALL_20(SEND_INV,
			dat_ep_post_send_with_invalidate(
				H(0), (DAT_COUNT)N(0), SEGMENTS, cookie(N(3)),
				(DAT_COMPLETION_FLAGS)N(4), (DAT_BOOLEAN)N(5),
				CONTEXT));
		CALL_20(READ_TO_RMR, dat_ep_post_rdma_read_to_rmr(
					     H(0), SINK, cookie(N(3)), REMOTE,
					     (DAT_COMPLETION_FLAGS)N(4)));
		CALL(SRQ_CREATE,
		     dat_srq_create(H(0), H(1),
				    SRQ_ATTR(N(0), N(1), N(2), N(3)), MADE));
		CALL(SRQ_QUERY,
		     dat_srq_query(H(0), (DAT_SRQ_PARAM_MASK)N(0), PARAM(srq)));
		CALL(SRQ_POST_RECV, dat_srq_post_recv(H(0), (DAT_COUNT)N(0),
						      SEGMENTS, cookie(N(3))));
		CALL(SRQ_RESIZE, dat_srq_resize(H(0), (DAT_COUNT)N(0)));
		CALL(SRQ_SET_LW, dat_srq_set_lw(H(0), (DAT_COUNT)N(0)));
		CALL(SRQ_FREE, dat_srq_free(H(0)));
		CALL(EP_SET_WATERMARK,
		     dat_ep_set_watermark(H(0), (DAT_COUNT)N(0),
					  (DAT_COUNT)N(1)));
		CALL(EP_RECV_QUERY,
		     dat_ep_recv_query(H(0), RES(held), INTO(span)));
	}
}

static void one_of_rest(struct making *k, const char **text)
{
	switch (k->c->op) {
		CALL_20(CSP_CREATE, dat_csp_create(H(0), COMM(N(1)),
						   CSP_ADDRESS, H(1), MADE));
		CALL_20(CSP_QUERY, dat_csp_query(H(0), (DAT_CSP_PARAM_MASK)N(0),
						 PARAM(csp)));
		CALL_20(CSP_FREE, dat_csp_free(H(0)));
		CALL(CR_HANDOFF, dat_cr_handoff(H(0), QUAL(0)));
		CALL(STRERROR,
		     dat_strerror((DAT_RETURN)N(0), RES(major), INTO(minor)));
		CALL(LIST_PROVIDERS,
		     dat_registry_list_providers((DAT_COUNT)N(0), INTO(more),
						 LISTED));
	}
}

static const char *dispatch(struct making *k)
{
	const char *text = NULL;

	one_of_objects(k, &text);
	if (!text)
		one_of_sharing(k, &text);
	if (!text)
		one_of_rest(k, &text);
	if (!text)
		one_of_events(k, &text);
	if (!text)
		one_of_endpoints(k, &text);
	return text;
}

bool call_exists(int op)
{
	struct call c = {.op = (uint8_t)op};
	struct making k = {.c = &c};

	return dispatch(&k);
}

static void fill_chunk(uint8_t *chunk, uint64_t cookie, uint64_t len)
{
	memset(chunk, FRAME, WALK_CHUNK);
	for (size_t i = 0; i < len; i++)
		chunk[i] = call_byte(cookie, i);
}

/* Memory as it is before a transfer: what is sent, and where it is to go. */
static void fill(struct world *w, const struct call *c)
{
	uint64_t len = c->n[0] * c->n[2];
	bool from = call_gives(c->op);
	uint8_t *local, *remote;

	if (!call_posts(c->op) || c->op == OP_RMR_BIND || len > WALK_CHUNK)
		return;
	local = w->mem[c->h[1]] + c->n[1];
	fill_chunk(local, c->n[3], from ? len : 0);
	if (!call_reaches(c->op))
		return;
	remote = w->mem[c->h[2]] + c->n[5];
	fill_chunk(remote, c->n[3], from ? 0 : len);
}

/* What the harness asks besides, to know what came. */
static void look_closer(struct world *w, const struct call *c, struct result *r)
{
	DAT_CR_PARAM cr;

	switch (c->op) {
	case OP_IA_OPEN:
		dat_ia_query(r->made, NULL, DAT_IA_FIELD_ALL, &w->ia_attr,
			     DAT_PROVIDER_FIELD_ALL, &w->prov_attr);
		memcpy(&w->address[c->out], w->ia_attr.ia_address_ptr,
		       sizeof(DAT_SOCK_ADDR6));
		break;
	case OP_EVD_CREATE:
	case OP_EVD_RESIZE:
		dat_evd_query(c->op == OP_EVD_CREATE ? r->made
						     : w->handle[c->h[0]],
			      DAT_EVD_FIELD_ALL, &r->evd_param);
		break;
	case OP_EP_CREATE:
	case OP_EP_CREATE_SRQ:
	case OP_EP_MODIFY:
		dat_ep_query(c->op == OP_EP_MODIFY ? w->handle[c->h[0]]
						   : r->made,
			     DAT_EP_FIELD_ALL, &r->ep_param);
		break;
	case OP_SRQ_CREATE:
	case OP_SRQ_RESIZE:
		dat_srq_query(c->op == OP_SRQ_CREATE ? r->made
						     : w->handle[c->h[0]],
			      DAT_SRQ_FIELD_ALL, &r->srq_param);
		break;
	case OP_EVD_DEQUEUE:
	case OP_EVD_WAIT:
		if (r->ev.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			r->made = r->ev.event_data.cr_arrival_event_data
					  .cr_handle;
			memset(&cr, 0, sizeof(cr));
			dat_cr_query(r->made, DAT_CR_FIELD_ALL, &cr);
			r->size = cr.private_data_size;
			r->brought = r->second = cr.local_ep_handle;
			if (r->size >= 4)
				memcpy(&r->serial, cr.private_data, 4);
		}
		break;
	}
}

void call_make(struct world *w, const struct call *c, struct result *r)
{
	struct making k = {.w = w, .c = c, .r = r};
	DAT_RMR_CONTEXT was = 0;

	memset(r, 0, sizeof(*r));
	r->made = r->evd = NOT_WRITTEN;
	if (c->op == OP_IA_OPEN)
		r->second = DAT_HANDLE_NULL;
	if (c->op == OP_LMR_CREATE && !w->mem[c->out]) {
		w->mem[c->out] = aligned_alloc(WALK_MEM, WALK_MEM);
		memset(w->mem[c->out], FRAME, WALK_MEM);
	}
	fill(w, c);
	if (c->op == OP_RMR_BIND && c->h[0] >= 0)
		was = w->rkey[c->h[0]];
	dispatch(&k);
	if (r->ret != DAT_SUCCESS)
		return;
	if (c->op == OP_RMR_BIND && w->rkey[c->h[0]] != was)
		w->rkey[c->h[0] + WALK_OBJS] = was;
	look_closer(w, c, r);
	if (c->out && r->made != NOT_WRITTEN) {
		w->handle[c->out] = r->made;
		w->handle[c->out + 1] = r->second;
	}
}

/* ------------------------------------------------------------- as C */

static void print_handle(FILE *to, int id)
{
	if (id == OBJ_NULL)
		fputs("DAT_HANDLE_NULL", to);
	else if (id == OBJ_SMALL)
		fputs("(DAT_HANDLE)700", to);
	else if (id <= OBJ_SMALL_FIRST)
		fprintf(to, "(DAT_HANDLE)%d", -id);
	else
		fprintf(to, "h[%d]", id);
}

static void print_attr(FILE *to, const struct call *c)
{
	if (c->n[0] == ATTR_NULL)
		fputs("NULL", to);
	else
		fprintf(to, "attr(%d, %s, %s)",
			c->n[0] == ATTR_NO_RECV ? 0 : SMALL_DTOS,
			c->n[0] == ATTR_HUGE ? "0x7fffffff" : "4",
			c->n[0] == ATTR_SUPPRESS_RECV ? "1" : "0");
}

/* The words of a call's text that stand for something of this call. */
static bool print_word(FILE *to, const struct world *w, const struct call *c,
		       const char *word)
{
	const char *null = c->no_out ? "NULL" : NULL;

	if (!strcmp(word, "MADE"))
		null ? fputs(null, to) : fprintf(to, "&h[%d]", c->out);
	else if (!strcmp(word, "MADE2"))
		fprintf(to, "&h[%d]", c->out + 1);
	else if (!strcmp(word, "EV"))
		fputs(null ? null : "&ev", to);
	else if (!strcmp(word, "NAME"))
		fputs("adapter", to);
	else if (!strcmp(word, "ADDRESS"))
		null ? fputs(null, to) : fprintf(to, "address[%d]", c->h[1]);
	else if (!strcmp(word, "CSP_ADDRESS"))
		c->h[2] < 0 ? fputs("NULL", to)
			    : fprintf(to, "csp_address(%d, %u)", c->h[2],
				      (unsigned)(w->qual + c->n[0]));
	else if (!strcmp(word, "PORT_ADDRESS"))
		null ? fputs(null, to)
		     : fprintf(to, "csp_address(%d, %u)", c->h[1],
			       (unsigned)(w->qual + c->n[0]));
	else if (!strcmp(word, "SEGMENTS0") && c->h[1] < 0)
		fputs("NULL", to);
	else if (!strcmp(word, "SEGMENTS") || !strcmp(word, "SEGMENTS0"))
		fprintf(to, "seg(%d, %llu, %llu)", c->h[1],
			(unsigned long long)c->n[1],
			(unsigned long long)c->n[2]);
	else if (!strcmp(word, "REMOTE"))
		fprintf(to, "target(%d, %d, %llu, %llu)", c->h[2],
			call_context(c), (unsigned long long)c->n[5],
			(unsigned long long)(c->n[0] * c->n[2]));
	else if (!strcmp(word, "SINK"))
		fprintf(to, "target(%d, %d, %llu, %llu)", c->h[1], c->h[1],
			(unsigned long long)c->n[1],
			(unsigned long long)c->n[2]);
	else if (!strcmp(word, "CONTEXT"))
		c->h[3] < 0 ? fputs("0", to)
			    : fprintf(to, "rkey[%d]", call_context(c));
	else if (!strcmp(word, "ATTR"))
		print_attr(to, c);
	else if (!strcmp(word, "REGION") && c->n[0] == DAT_MEM_TYPE_LMR) {
		fputs("again(", to);
		print_handle(to, c->h[2]);
		fputs(")", to);
	} else if (!strcmp(word, "REGION"))
		fprintf(to, "%s(%d)",
			c->n[0] == DAT_MEM_TYPE_SHARED_VIRTUAL ? "shared"
							       : "region",
			c->out);
	else if (!strcmp(word, "LKEY"))
		fprintf(to, "&lkey[%d]", c->out);
	else if (!strcmp(word, "RKEY"))
		fprintf(to, "&rkey[%d]", c->out);
	else if (!strcmp(word, "BOUND"))
		null ? fputs(null, to)
		     : fprintf(to, "&rkey[%d]", c->h[0] < 0 ? 0 : c->h[0]);
	else if (!strcmp(word, "PARTS"))
		if (null) {
			fputs(null, to);
		} else {
			fputs("&(DAT_EP_PARAM){.pz_handle = ", to);
			print_handle(to, c->h[1]);
			fputs(", .recv_evd_handle = ", to);
			print_handle(to, c->h[2]);
			fputs(", .request_evd_handle = ", to);
			print_handle(to, c->h[3]);
			fputs(", .connect_evd_handle = ", to);
			print_handle(to, c->h[4]);
			fputs("}", to);
		}
	else
		return false;
	return true;
}

/* WORD(I...): its arguments follow at *text. */
static bool print_function(FILE *to, const struct world *w,
			   const struct call *c, const char *word,
			   const char **text)
{
	const char *s = *text;
	int i = s[0] == '(' ? s[1] - '0' : 0;
	char what[16] = "";

	if (!strcmp(word, "H"))
		print_handle(to, c->h[i]);
	else if (!strcmp(word, "N"))
		fprintf(to, "%lluu", (unsigned long long)c->n[i]);
	else if (!strcmp(word, "QUAL"))
		fprintf(to, "%llu", (unsigned long long)(w->qual + c->n[i]));
	else if (!strcmp(word, "PARAM")) {
		sscanf(s, "(%15[a-z]", what);
		c->no_out ? fputs("NULL", to) : fprintf(to, "&param.%s", what);
	} else if (c->no_out &&
		   (!strcmp(word, "INTO") || !strcmp(word, "ASKED"))) {
		fputs("NULL", to);
	} else if (!strcmp(word, "RES") || !strcmp(word, "INTO")) {
		sscanf(s, "(%15[a-z0-9[]", what);
		fprintf(to, "&%s%s", what, strchr(what, '[') ? "]" : "");
	} else if (!strcmp(word, "ASKED")) {
		sscanf(s, "(%15[a-z]", what);
		fprintf(to, "&asked_%s", what);
	} else if (!strcmp(word, "SE") && c->no_out) {
		fputs("NULL", to);
		*text = s + strcspn(s, ")") + 1;  /* N(0) */
		*text += strcspn(*text, ")") + 1; /* N(1) */
	} else {
		return false;
	}
	*text += strcspn(*text, ")") + 1;
	return true;
}

static void print_text(FILE *to, const struct world *w, const struct call *c,
		       const char *text)
{
	char word[64];
	size_t n;

	while (*text) {
		n = 0;
		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
		if (!n) {
			fputc(*text++, to);
			continue;
		}
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		text += n;
		if (!print_word(to, w, c, word) &&
		    !print_function(to, w, c, word, &text))
			fputs(word, to);
	}
}

/* What the call leaves for later ones, besides what it made. */
static void print_after(FILE *to, const struct call *c)
{
	if (c->no_out)
		return;
	if ((c->op == OP_EVD_DEQUEUE || c->op == OP_EVD_WAIT))
		fprintf(to, "\tseen(%d);\n", c->out);
	if (c->op == OP_RMR_BIND && c->h[0] >= 0)
		fprintf(to,
			"\tif (rkey[%d] != was)\n"
			"\t\trkey[%d] = was;\n",
			c->h[0], c->h[0] + WALK_OBJS);
	if (c->op == OP_CR_QUERY)
		fprintf(to, "\th[%d] = param.cr.local_ep_handle;\n", c->out);
	if (c->op == OP_IA_OPEN)
		fprintf(to,
			"\tdat_ia_query(h[%d], NULL, DAT_IA_FIELD_ALL, &ia, "
			"DAT_PROVIDER_FIELD_ALL, &provider);\n"
			"\taddress[%d] = ia.ia_address_ptr;\n",
			c->out, c->out);
}

void call_print(FILE *to, const struct world *w, const struct call *c)
{
	struct making k = {.w = (struct world *)(uintptr_t)w, .c = c};
	const char *text = dispatch(&k);

	if (c->op == OP_SETTLE || c->op == OP_TROUBLE) {
		fprintf(to,
			c->op == OP_SETTLE ? "\tsettle();\n"
					   : "\t/* h[%d]: the device "
					     "gives up */\n",
			c->h[0]);
		return;
	}
	if (c->fails)
		fputs("\t/* a call of the device fails: ENOMEM */\n", to);
	if (c->op == OP_RMR_BIND && c->h[0] >= 0)
		fprintf(to, "\twas = rkey[%d];\n", c->h[0]);
	fputs("\tCALL(", to);
	print_text(to, w, c, text);
	fputs(");\n", to);
	if (c->op == OP_EVD_CREATE && !c->no_out)
		fprintf(to, "\tevds[n_evds++] = h[%d];\n", c->out);
	print_after(to, c);
}

static const char prelude[] =
	"/*\n"
	" * %s\n"
	" * cc PROGRAM.c " WALK_LIBRARY
	"; the argument is the name of an adapter.\n"
	" */\n"
	"#include <arpa/inet.h>\n#include <" WALK_HEADER ">\n"
	"#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\n"
	"static char *adapter;\n"
	"static DAT_HANDLE h[%d], evds[%d];\n"
	"static int n_evds;\n"
	"static uint8_t mem[%d][%d] __attribute__((aligned(4096)));\n"
	"static DAT_LMR_CONTEXT lkey[%d];\n"
	"static DAT_RMR_CONTEXT rkey[%d], was;\n"
	"static DAT_IA_ADDRESS_PTR address[%d];\n"
	"static DAT_IA_ATTR ia, asked_ia;\n"
	"static DAT_PROVIDER_ATTR provider, asked_prov;\n"
	"static DAT_COUNT held, span;\nstatic const char *major, *minor;\n"
	"static DAT_PROVIDER_INFO list[%d], *listed[%d];\n"
	"static DAT_EVENT ev;\nstatic DAT_COUNT more;\n"
	"static DAT_CONTEXT context;\nstatic DAT_HANDLE_TYPE type;\n"
	"static DAT_EVD_HANDLE evd;\nstatic DAT_EP_STATE state;\n"
	"static DAT_BOOLEAN idle[2];\n"
	"static union {\n"
	"\tDAT_EVD_PARAM evd;\n\tDAT_EP_PARAM ep;\n\tDAT_CR_PARAM cr;\n"
	"\tDAT_PZ_PARAM pz;\n\tDAT_CNO_PARAM cno;\n\tDAT_LMR_PARAM lmr;\n"
	"\tDAT_RMR_PARAM rmr;\n\tDAT_SRQ_PARAM srq;\n\tDAT_PSP_PARAM psp;\n"
	"\tDAT_RSP_PARAM rsp;\n" WALK_CSP_MEMBER "} param;\n\n"
	"#define SE(p, e) &(DAT_EVENT){.event_number = "
	"(DAT_EVENT_NUMBER)(e), \\\n"
	"\t.event_data.software_event_data.pointer = "
	"(DAT_PVOID)(uintptr_t)(p)}\n"
	"#define SRQ_ATTR(d, v, l, null) ((null) ? NULL : "
	"&(DAT_SRQ_ATTR){(DAT_COUNT)(d), \\\n"
	"\t(DAT_COUNT)(v), (DAT_COUNT)(l)})\n"
	"#define COMM(type) ((type) ? &(DAT_COMM){AF_INET, (int)(type), "
	"IPPROTO_TCP} : NULL)\n"
	"#define LISTED listed\n"
	"#define PDATA(n, s) ((n) ? private_data(s) : NULL)\n"
	"#define CALL(...) printf(\"0x%%08x  %%s\\n\", "
	"(unsigned)(__VA_ARGS__), #__VA_ARGS__)\n\n";

static const char helpers[] =
	"static inline DAT_DTO_COOKIE cookie(uint64_t n)\n"
	"{\n\treturn (DAT_DTO_COOKIE){.as_64 = n};\n}\n\n"
	"static inline void *private_data(uint64_t serial)\n"
	"{\n\tstatic uint8_t data[512];\n\n"
	"\tfor (int i = 0; i < 512; i++)\n"
	"\t\tdata[i] = (uint8_t)(serial >> 8 * (i % 4));\n"
	"\treturn data;\n}\n\n"
	"static inline DAT_REGION_DESCRIPTION region(int id)\n"
	"{\n\treturn (DAT_REGION_DESCRIPTION){.for_va = mem[id]};\n}\n\n"
	"static inline DAT_REGION_DESCRIPTION again(DAT_LMR_HANDLE of)\n"
	"{\n\treturn (DAT_REGION_DESCRIPTION){.for_lmr_handle = of};\n}\n\n"
	"static inline DAT_REGION_DESCRIPTION shared(int id)\n"
	"{\n\tstatic char name[DAT_LMR_COOKIE_SIZE];\n"
	"\tDAT_REGION_DESCRIPTION d;\n\n"
	"\tsnprintf(name, sizeof(name), \"walk %d\", id);\n"
	"\td.for_shared_memory.virtual_address = mem[id];\n"
	"\td.for_shared_memory.shared_memory_id = &name;\n"
	"\treturn d;\n}\n\n"
	"static inline DAT_LMR_TRIPLET *seg(int id, size_t at, size_t n)\n"
	"{\n\tstatic DAT_LMR_TRIPLET s[16];\n\n"
	"\tfor (int i = 0; i < 16 && id >= 0; i++)\n"
	"\t\ts[i] = (DAT_LMR_TRIPLET){\n"
	"\t\t\t.virtual_address = (DAT_VADDR)(uintptr_t)(mem[id] + at + "
	"i * n),\n"
	"\t\t\t.segment_length = n, .lmr_context = lkey[id]};\n"
	"\treturn s;\n}\n\n"
	"static inline DAT_RMR_TRIPLET *target(int id, int by, size_t at, "
	"size_t n)\n"
	"{\n\tstatic DAT_RMR_TRIPLET two[2], *t = two;\n\n"
	"\tt = t == two ? two + 1 : two;\n"
	"\t*t = (DAT_RMR_TRIPLET){\n"
	"\t\t." WALK_TARGET " = (DAT_VADDR)(uintptr_t)(mem[id] + at),\n"
	"\t\t.segment_length = n, .rmr_context = rkey[by]};\n"
	"\treturn t;\n}\n\n"
	"static inline DAT_EP_ATTR *attr(int recvs, int requests, int flags)\n"
	"{\n\tstatic DAT_EP_ATTR a;\n\n"
	"\ta = (DAT_EP_ATTR){.max_message_size = 4096, .max_rdma_size = 4096,\n"
	"\t\t.recv_completion_flags = (DAT_COMPLETION_FLAGS)flags,\n"
	"\t\t.max_recv_dtos = recvs, .max_request_dtos = requests,\n"
	"\t\t.max_rdma_read_in = 1, .max_rdma_read_out = 1,\n"
	"\t\t.srq_soft_hw = DAT_HW_DEFAULT,\n"
	"\t\t.max_rdma_read_iov = 1, .max_rdma_write_iov = 1};\n"
	"\ta.max_recv_iov = a.max_request_iov =\n"
	"\t\tia.max_iov_segments_per_dto < 2 ? 1 : 2;\n"
	"\treturn &a;\n}\n\n"
	"static inline DAT_IA_ADDRESS_PTR csp_address(int id, unsigned port)\n"
	"{\n\tstatic struct sockaddr_in6 at;\n\n"
	"\tmemcpy(&at, address[id], sizeof(at));\n"
	"\tat.sin6_port = htons((uint16_t)port);\n"
	"\treturn (DAT_IA_ADDRESS_PTR)&at;\n}\n\n"
	"static inline void seen(int cr)\n"
	"{\n\tprintf(\"\\tevent 0x%x\\n\", (unsigned)ev.event_number);\n"
	"\tif (ev.event_number == DAT_CONNECTION_REQUEST_EVENT)\n"
	"\t\th[cr] = ev.event_data.cr_arrival_event_data.cr_handle;\n}\n\n"
	"/* All that comes within a second. */\n"
	"static inline void settle(void)\n"
	"{\n\tfor (int i = 0; i < n_evds; i++)\n"
	"\t\twhile (!dat_evd_wait(evds[i], 1000000, 1, &ev, &more))\n"
	"\t\t\tprintf(\"\\tevent 0x%x\\n\", "
	"(unsigned)ev.event_number);\n}\n\n"
	"int main(int argc, char **argv)\n"
	"{\n\t(void)argc;\n\tadapter = argv[1];\n"
	"\tfor (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)\n"
	"\t\tlisted[i] = &list[i];\n";

void call_program(FILE *to, const struct world *w, const struct call *calls,
		  int n, const char *what)
{
	fprintf(to, prelude, what, WALK_OBJS, WALK_OBJS, WALK_OBJS, WALK_MEM,
		WALK_OBJS, 2 * WALK_OBJS, WALK_OBJS, LIST_MAX, LIST_MAX);
	fputs(helpers, to);
	for (int i = 0; i < n; i++)
		call_print(to, w, &calls[i]);
	fputs("\treturn 0;\n}\n", to);
}
