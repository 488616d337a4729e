/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * end.c - one end of a connection: an endpoint with queues of its own.
 *
 * Does not own what is sent and received. Threads, ownership: see end.h.
 * Rule: what a peer can notice is as in the historic tool: who disconnects
 * how, and that acceptance carries no private data.
 */
#include "test/dapltest/end.h"

#include "test/dapltest/datagram.h"
#include "test/dtest/common/dt_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SPARE	      8 /* events beyond what is posted */
#define READS	      8u
#define PEER_FIRST_NS (5 * DT_NS_PER_S)
/* Bytes per second that even an emulated device moves. */
#define SLOW_RATE 5000000ull
#define GRH_SIZE  64 /* of which a datagram takes 40 */

static uint32_t at_most(uint32_t value, DAT_COUNT limit)
{
	return limit > 0 && value > (uint32_t)limit ? (uint32_t)limit : value;
}

static int make_evds(struct dpt *d, const struct dpt_end_needs *needs,
		     struct dpt_end *e)
{
	DAT_COUNT most = d->attr.max_evd_qlen;
	int rc;

	rc = dpt_evd_make(d, at_most(needs->receives + SPARE, most),
			  DAT_EVD_DTO_FLAG, &e->rcv_evd);
	if (!rc)
		rc = dpt_evd_make(d, at_most(needs->requests + SPARE, most),
				  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				  &e->req_evd);
	if (!rc)
		rc = dpt_evd_make(d, SPARE, DAT_EVD_CONNECTION_FLAG,
				  &e->conn_evd);
	return rc;
}

static int make_ep(struct dpt *d, DAT_PZ_HANDLE pz,
		   const struct dpt_end_needs *needs, struct dpt_end *e)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = needs->bytes;
	attr.max_rdma_size = needs->bytes;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = (DAT_COUNT)needs->receives;
	attr.max_request_dtos = (DAT_COUNT)needs->requests;
	attr.max_recv_iov = (DAT_COUNT)needs->segs;
	attr.max_request_iov = (DAT_COUNT)needs->segs;
	attr.max_rdma_read_in =
		(DAT_COUNT)at_most(READS, d->attr.max_rdma_read_per_ep_in);
	attr.max_rdma_read_out =
		(DAT_COUNT)at_most(READS, d->attr.max_rdma_read_per_ep_out);
	attr.max_rdma_read_iov = (DAT_COUNT)needs->segs;
	attr.max_rdma_write_iov = (DAT_COUNT)needs->segs;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	if (DPT_IS_UD(needs))
		dpt_ud_attr(&attr);
	dt_doing("dat_ep_create");
	ret = dat_ep_create(d->ia, pz, e->rcv_evd, e->req_evd, e->conn_evd,
			    &attr, &e->ep);
	if (ret == DAT_SUCCESS)
		return 0;
	e->ep = DAT_HANDLE_NULL;
	return dpt_failed(d, ret, "dat_ep_create",
			  needs->ud ? "datagrams are no longer than the MTU"
				    : NULL);
}

int dpt_end_open(struct dpt *d, DAT_PZ_HANDLE pz,
		 const struct dpt_end_needs *needs, struct dpt_end *e)
{
	int rc;

	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s%s", needs->name,
		 needs->ud ? " (UD)" : "");
	e->w.mode = needs->mode;
	e->w.yield = true;
	e->limit_ns = d->limit_ns + needs->bulk / SLOW_RATE * DT_NS_PER_S;
	e->ud = needs->ud;
	rc = make_evds(d, needs, e);
	if (!rc && e->ud)
		rc = dpt_region_make(d, pz, GRH_SIZE, &e->grh);
	return rc ? rc : make_ep(d, pz, needs, e);
}

/* By the specification an RSP is gone after its request; some keep it. */
static int free_rsp(struct dpt *d, struct dpt_end *e, int rc)
{
	DAT_RETURN ret = dat_rsp_free(e->rsp);

	if (e->requested && DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		return rc;
	return dpt_freed(d, rc, ret, "dat_rsp_free");
}

int dpt_end_close(struct dpt *d, struct dpt_end *e, int rc)
{
	if (e->connected)
		dpt_end_part(d, e, DAT_CLOSE_ABRUPT_FLAG, false);
	if (e->psp != DAT_HANDLE_NULL)
		rc = dpt_freed(d, rc, dat_psp_free(e->psp), "dat_psp_free");
	if (e->rsp != DAT_HANDLE_NULL)
		rc = free_rsp(d, e, rc);
	dt_doing("dat_ep_free");
	if (e->ep != DAT_HANDLE_NULL)
		rc = dpt_freed(d, rc, dat_ep_free(e->ep), "dat_ep_free");
	e->psp = e->rsp = e->ep = DAT_HANDLE_NULL;
	rc = dpt_region_free(d, &e->grh, rc);
	rc = dpt_evd_free(d, &e->rcv_evd, rc);
	rc = dpt_evd_free(d, &e->req_evd, rc);
	rc = dpt_evd_free(d, &e->conn_evd, rc);
	return dpt_evd_free(d, &e->cr_evd, rc);
}

int dpt_end_listen(struct dpt *d, struct dpt_end *e, uint32_t qual, bool rsp)
{
	DAT_RETURN ret;
	int rc = 0;

	if (e->cr_evd == DAT_HANDLE_NULL)
		rc = dpt_evd_make(d, SPARE, DAT_EVD_CR_FLAG, &e->cr_evd);
	if (rc)
		return rc;
	ret = rsp ? dat_rsp_create(d->ia, qual, e->ep, e->cr_evd, &e->rsp)
		  : dat_psp_create(d->ia, qual, e->cr_evd,
				   DAT_PSP_CONSUMER_FLAG, &e->psp);
	if (ret == DAT_SUCCESS)
		return 0;
	*(rsp ? &e->rsp : &e->psp) = DAT_HANDLE_NULL;
	if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
		return -EADDRINUSE;
	return dpt_failed(d, ret, rsp ? "dat_rsp_create" : "dat_psp_create",
			  "is the port of another program?");
}

/* Reports that a wait ended badly. */
static int wait_failed(struct dpt *d, struct dpt_end *e, int rc,
		       const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "%s of %s", what, e->name);
	return dt_wait_fail(&d->r, &e->w, rc, text);
}

/* Connections are waited for, not polled for, as ever. */
static int next_event(struct dpt *d, struct dpt_end *e, DAT_EVD_HANDLE evd,
		      const char *what, DAT_EVENT *event)
{
	int rc = dt_evd_next(&e->w, DT_WAIT_EVENT, evd, d->limit_ns, event);

	return rc ? wait_failed(d, e, rc, what) : 0;
}

/* A connection event that is not ESTABLISHED, with what it mostly means. */
static int not_connected(struct dpt *d, const struct dpt_end *e,
			 DAT_EVENT_NUMBER number)
{
	const char *why = "";
	enum dt_exit code = DT_FAILED;

	switch (number) {
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		why = "; nobody listens there; is the server running, with "
		      "the same -n?";
		code = DT_ENVIRONMENT;
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		why = "; no route to that address from this adapter";
		code = DT_ENVIRONMENT;
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		why = "; no answer from that address";
		code = DT_TIMED_OUT;
		break;
	default:
		break;
	}
	return dt_fail(&d->r, code, "%s: not connected: %s (0x%x)%s", e->name,
		       dt_event_name(number), number, why);
}

static int established(struct dpt *d, struct dpt_end *e)
{
	DAT_EVENT event;
	int rc = next_event(d, e, e->conn_evd, "the connection", &event);
	DAT_EVENT as_it_came;

	if (rc)
		return rc;
	as_it_came = event;
	if (DPT_IS_UD(e))
		dpt_ud_as_plain(&event);
	if (event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED)
		return -ECONNREFUSED;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return not_connected(d, e, event.event_number);
	if (DPT_IS_UD(e))
		rc = dpt_ud_found(d, e, &as_it_came);
	if (rc)
		return rc;
	e->connected = true;
	/* A peer's datagram endpoint that ends is not told of. */
	if (!e->ud)
		e->w.conn_evd = e->conn_evd;
	dt_trace(&d->r, "%d: %s: connected\n", d->r.pid, e->name);
	return 0;
}

/* A service point that reserves an endpoint names it itself. */
static int accept_on(struct dpt *d, struct dpt_end *e, DAT_CR_HANDLE cr,
		     DAT_EP_HANDLE ep)
{
	DAT_RETURN ret;
	int rc;

	dt_doing("dat_cr_accept");
	ret = dat_cr_accept(cr, ep, 0, NULL);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	rc = established(d, e);
	if (rc == -ECONNREFUSED)
		rc = not_connected(d, e, DAT_CONNECTION_EVENT_PEER_REJECTED);
	return rc;
}

int dpt_end_take(struct dpt *d, struct dpt_end *e, DAT_CR_HANDLE cr)
{
	return accept_on(d, e, cr, e->ep);
}

/* A mismatch is only reported, as ever: transports may cut or pad. */
static int check_private(struct dpt *d, struct dpt_end *e, DAT_CR_HANDLE cr,
			 const void *pdata, int size)
{
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	if (!size)
		return 0;
	memset(&param, 0, sizeof(param));
	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_cr_query", NULL);
	if (param.private_data_size < size || !param.private_data ||
	    memcmp(param.private_data, pdata, (size_t)size))
		dt_say(&d->r,
		       "%d: %s: private data is not what a dapltest sends\n",
		       d->r.pid, e->name);
	return 0;
}

int dpt_end_accept(struct dpt *d, struct dpt_end *e, const void *pdata,
		   int pdata_size)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int rc = next_event(d, e, e->cr_evd, "the request", &event);

	if (rc)
		return rc;
	if (DPT_IS_UD(e))
		dpt_ud_as_plain(&event);
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		return dt_fail(&d->r, DT_FAILED,
			       "%s: got %s instead of a connection request",
			       e->name, dt_event_name(event.event_number));
	e->requested = true;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	rc = check_private(d, e, cr, pdata, pdata_size);
	if (rc)
		return rc;
	return accept_on(d, e, cr,
			 e->rsp == DAT_HANDLE_NULL ? e->ep : DAT_HANDLE_NULL);
}

int dpt_end_connect(struct dpt *d, struct dpt_end *e, uint32_t qual,
		    const void *pdata, int pdata_size)
{
	DAT_RETURN ret;

	dt_doing("dat_ep_connect");
	ret = dat_ep_connect(e->ep, (DAT_IA_ADDRESS_PTR)&d->server, qual,
			     (DAT_TIMEOUT)(d->limit_ns / DT_NS_PER_US),
			     pdata_size, (DAT_PVOID)(uintptr_t)pdata, d->o->qos,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_ep_connect",
				   d->o->qos != DAT_QOS_BEST_EFFORT
					   ? "providers know -R BE only"
					   : NULL);
	return established(d, e);
}

static void let_peer_leave(struct dpt *d, struct dpt_end *e)
{
	uint64_t ns = d->limit_ns < PEER_FIRST_NS ? d->limit_ns : PEER_FIRST_NS;
	DAT_EVENT event;

	if (!e->w.gone &&
	    !dt_evd_next(&e->w, DT_WAIT_EVENT, e->conn_evd, ns, &event))
		e->w.gone = event.event_number;
}

/* Also after a request to stop: this event comes soon. */
static int await_end(struct dpt *d, struct dpt_end *e)
{
	DAT_EVENT event;
	DAT_COUNT more;

	e->w.ret = dat_evd_wait(e->conn_evd,
				(DAT_TIMEOUT)(d->limit_ns / DT_NS_PER_US), 1,
				&event, &more);
	if (e->w.ret == DAT_SUCCESS) {
		e->w.gone = event.event_number;
		return 0;
	}
	return wait_failed(
		d, e,
		DAT_GET_TYPE(e->w.ret) == DAT_TIMEOUT_EXPIRED	 ? -ETIMEDOUT
		: DAT_GET_TYPE(e->w.ret) == DAT_INTERRUPTED_CALL ? -EINTR
								 : -EIO,
		"the end");
}

int dpt_end_part(struct dpt *d, struct dpt_end *e, DAT_CLOSE_FLAGS how,
		 bool peer_first)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	if (!e->connected)
		return 0;
	e->connected = false;
	if (DPT_IS_UD(e))
		return dpt_ud_forget(d, e);
	if (peer_first)
		let_peer_leave(d, e);
	if (e->w.gone)
		return 0;
	dt_doing("dat_ep_disconnect");
	ret = dat_ep_disconnect(e->ep, how);
	/* Both sides may do it at once; then the event is there already. */
	if (ret != DAT_SUCCESS &&
	    dat_evd_dequeue(e->conn_evd, &event) == DAT_SUCCESS)
		return 0;
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_ep_disconnect",
				   NULL);
	return await_end(d, e);
}

DAT_LMR_TRIPLET dpt_segment(const struct dpt_region *region, size_t offset,
			    size_t length)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address =
			(DAT_VADDR)(uintptr_t)(region->base + offset),
		.segment_length = (FACE_SEG_LENGTH)length,
		.lmr_context = region->lmr_context,
	};

	return iov;
}

int dpt_end_post(struct dpt *d, struct dpt_end *e,
		 const struct dpt_request *req)
{
	static const char *const calls[] = {
		[DPT_OP_READ] = "dat_ep_post_rdma_read",
		[DPT_OP_WRITE] = "dat_ep_post_rdma_write",
		[DPT_OP_SEND] = "dat_ep_post_send",
	};
	DAT_LMR_TRIPLET *iov = (DAT_LMR_TRIPLET *)(uintptr_t)req->iov;
	DAT_DTO_COOKIE cookie = {.as_64 = req->cookie};
	DAT_COUNT n = (DAT_COUNT)req->segs;
	DAT_RETURN ret;

	if (DPT_IS_UD(e))
		ret = dpt_ud_post_send(e, n, iov, cookie);
	else if (req->type == DPT_OP_SEND)
		ret = dat_ep_post_send(e->ep, n, iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG);
	else if (req->type == DPT_OP_WRITE)
		ret = dat_ep_post_rdma_write(e->ep, n, iov, cookie, req->remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_read(e->ep, n, iov, cookie, req->remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, calls[req->type],
				   NULL);
	return 0;
}

int dpt_end_post_recv(struct dpt *d, struct dpt_end *e,
		      const DAT_LMR_TRIPLET *iov, uint32_t segs,
		      uint64_t cookie)
{
	DAT_LMR_TRIPLET all[DPT_SEGS_MAX + 1];
	DAT_DTO_COOKIE c = {.as_64 = cookie};
	uint32_t front = 0;
	DAT_RETURN ret;

#if DAT_FACE == 2
	if (e->ud)
		all[front++] = dpt_segment(&e->grh, 0, DT_UD_GRH);
#endif
	memcpy(&all[front], iov, segs * sizeof(*iov));
	ret = dat_ep_post_recv(e->ep, (DAT_COUNT)(front + segs), all, c,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_ep_post_recv",
				   NULL);
	return 0;
}

static int bind_done(struct dpt *d, struct dpt_end *e)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind;
	DAT_EVENT event;
	int rc = next_event(d, e, e->req_evd, "an RMR bind", &event);

	if (rc)
		return rc;
	bind = &event.event_data.rmr_completion_event_data;
	if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
	    bind->status == DAT_RMR_BIND_SUCCESS)
		return 0;
	return dt_fail(&d->r, DT_FAILED,
		       "%s: the bind of an RMR failed (%s, status %d); "
		       "--no-rmr does without",
		       e->name, dt_event_name(event.event_number),
		       (int)bind->status);
}

int dpt_end_bind(struct dpt *d, struct dpt_end *e, DAT_PZ_HANDLE pz,
		 const struct dpt_region *region, DAT_MEM_PRIV_FLAGS privileges,
		 DAT_RMR_HANDLE *ret_rmr, DAT_RMR_CONTEXT *ret_context)
{
	DAT_LMR_TRIPLET iov = dpt_segment(region, 0, region->length);
	DAT_RMR_COOKIE cookie = {.as_64 = 0};
	DAT_RETURN ret;

	ret = dat_rmr_create(pz, ret_rmr);
	if (ret != DAT_SUCCESS) {
		*ret_rmr = DAT_HANDLE_NULL;
		return dpt_failed(d, ret, "dat_rmr_create",
				  "--no-rmr does without");
	}
	ret = face_rmr_bind(*ret_rmr, region->lmr, &iov, privileges, e->ep,
			    cookie, DAT_COMPLETION_DEFAULT_FLAG, ret_context);
	if (ret != DAT_SUCCESS)
		return dpt_failed(d, ret, "dat_rmr_bind",
				  "--no-rmr does without");
	return bind_done(d, e);
}

int dpt_end_next(struct dpt *d, struct dpt_end *e, DAT_EVD_HANDLE evd,
		 const char *what, DAT_DTO_COMPLETION_EVENT_DATA *ret_dto)
{
	DAT_EVENT event;
	int rc = dt_evd_next(&e->w, e->w.mode, evd, e->limit_ns, &event);

	if (rc)
		return wait_failed(d, e, rc, what);
	if (DPT_IS_UD(e))
		dpt_ud_as_plain(&event);
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		return dt_fail(&d->r, DT_FAILED, "%s of %s: got %s (0x%x)",
			       what, e->name, dt_event_name(event.event_number),
			       event.event_number);
	*ret_dto = event.event_data.dto_completion_event_data;
	if (ret_dto->status != DAT_DTO_SUCCESS)
		return dt_fail(&d->r, DT_FAILED,
			       "%s of %s: completed with %s%s", what, e->name,
			       dt_dto_status_name(ret_dto->status),
			       ret_dto->status == DAT_DTO_ERR_FLUSHED
				       ? "; the connection ended first"
				       : "");
	if (ret_dto->ep_handle != e->ep)
		return dt_fail(&d->r, DT_FAILED,
			       "%s of %s: completed for another endpoint", what,
			       e->name);
	return 0;
}

int dpt_end_reap(struct dpt *d, struct dpt_end *e, DAT_EVD_HANDLE evd,
		 uint64_t cookie, uint64_t length, const char *what)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	int rc = dpt_end_next(d, e, evd, what, &dto);

	if (rc)
		return rc;
	if (dto.user_cookie.as_64 != cookie)
		return dt_fail(&d->r, DT_FAILED,
			       "%s of %s: cookie 0x%" PRIx64
			       ", expected 0x%" PRIx64,
			       what, e->name, dto.user_cookie.as_64, cookie);
	if (dto.transfered_length != length)
		return dt_fail(&d->r, DT_FAILED,
			       "%s of %s: %" PRIu64 " bytes, expected %" PRIu64,
			       what, e->name, (uint64_t)dto.transfered_length,
			       length);
	return 0;
}

static int post_message(struct dpt *d, struct dpt_end *e,
			const struct dpt_region *region, size_t offset,
			size_t length, uint64_t cookie)
{
	DAT_LMR_TRIPLET iov = dpt_segment(region, offset, length);
	struct dpt_request req = {
		.type = DPT_OP_SEND,
		.iov = &iov,
		.segs = 1,
		.cookie = cookie,
	};

	return dpt_end_post(d, e, &req);
}

int dpt_end_send(struct dpt *d, struct dpt_end *e,
		 const struct dpt_region *region, size_t offset, size_t length,
		 uint64_t cookie, const char *what)
{
	int rc = post_message(d, e, region, offset, length, cookie);

	return rc ? rc : dpt_end_reap(d, e, e->req_evd, cookie, length, what);
}

/*
 * Is STATUS, of a message that went to a peer that has left, no fault? Soft
 * iWARP ends one that is being sent meanwhile with an error of the queue pair.
 */
static bool has_left(const struct dpt_end *e, DAT_DTO_COMPLETION_STATUS status)
{
	return e->w.gone == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       (e->w.gone == DAT_CONNECTION_EVENT_BROKEN &&
		status == DAT_DTO_ERR_LOCAL_EP);
}

int dpt_end_send_last(struct dpt *d, struct dpt_end *e,
		      const struct dpt_region *region, size_t offset,
		      size_t length, uint64_t cookie, const char *what)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;
	int rc = post_message(d, e, region, offset, length, cookie);

	if (rc)
		return rc;
	rc = dt_evd_next(&e->w, e->w.mode, e->req_evd, d->limit_ns, &event);
	if (rc == -ENOTCONN)
		return 0;
	if (rc)
		return wait_failed(d, e, rc, what);
	status = event.event_data.dto_completion_event_data.status;
	if (status == DAT_DTO_SUCCESS)
		return 0;
	let_peer_leave(d, e);
	if (!has_left(e, status))
		return dt_fail(&d->r, DT_FAILED, "%s of %s: completed with %s",
			       what, e->name, dt_dto_status_name(status));
	return 0;
}
