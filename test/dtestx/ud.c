/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ud.c - dtestx -u: datagram endpoints that find one another, and a message
 * from each to each that it has found, both ways.
 *
 * Each endpoint of the client asks the server once, which answers with its
 * first one or, with -m, with the one of the same number: that is in the
 * request. Threads: one. Ownership: struct ud owns what it made, and struct dx
 * the rest; dx_ud() releases both. Rule: IB extension 2.0.9, datagrams. Old
 * peers cannot be met: they ask in both directions, and their address handles
 * lead nowhere on RoCE.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/common/dt_ud.h"
#include "test/dtestx/dtestx.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

struct peer {
	uint32_t number; /* of the pair */
	DAT_EP_HANDLE ep;
	struct dt_ud_peer ud;
};

struct ud {
	struct dx *d;
	uint32_t pairs; /* that find one another: the client's endpoints */
	uint32_t eps;	/* here */
	uint32_t found;
	DAT_EP_HANDLE ep[DX_UD_MAX];
	struct peer peer[DX_UD_MAX];
	struct dt_region mem; /* so many receives, and one send */
};

/* ---------------------------------------------------------- buffers */

static size_t stride(const struct ud *u)
{
	return (DT_UD_GRH + u->d->o->size + 63u) & ~(size_t)63;
}

static uint8_t *buffer(const struct ud *u, uint32_t i)
{
	return u->mem.base + i * stride(u);
}

static DAT_LMR_TRIPLET segment(const struct ud *u, uint32_t i, uint32_t length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)buffer(u, i),
		.segment_length = length,
		.lmr_context = u->mem.lmr_context,
	};
}

/* What a side sends to its peer NUMBER: the number, and what tells the rest. */
static uint8_t pattern(bool server, uint32_t number, uint32_t i)
{
	if (i < sizeof(number))
		return (uint8_t)(number >> 8 * i);
	return (uint8_t)(i * 7 + number + (server ? 0x80 : 0));
}

/* ------------------------------------------------------------ set-up */

static int make_ep(struct ud *u, uint32_t i)
{
	struct dx *d = u->d;
	DAT_EP_ATTR attr = {
		.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD,
		.max_message_size = d->o->size,
		/* All may come to one. */
		.max_recv_dtos = (DAT_COUNT)u->pairs,
		.max_request_dtos = (DAT_COUNT)u->pairs,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_RETURN ret;

	ret = DT_RUN_TIMED(&d->run, DT_RUN_EP_CREATE,
			   dat_ep_create(d->run.ia, d->run.pz, d->dto_evd,
					 d->dto_evd, d->conn_evd, &attr,
					 &u->ep[i]));
	if (ret != DAT_SUCCESS)
		return dt_run_failed(&d->run, ret, "dat_ep_create", NULL);
	u->eps = i + 1;
	return 0;
}

static int post_recv(struct ud *u, DAT_EP_HANDLE ep, uint32_t i)
{
	DAT_LMR_TRIPLET iov = segment(u, i, DT_UD_GRH + u->d->o->size);
	DAT_DTO_COOKIE cookie = {.as_64 = i};
	DAT_RETURN ret;

	ret = dat_ib_post_recv_ud(ep, 1, &iov, cookie,
				  DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&u->d->run.r, DT_FAILED, ret,
				   "dat_ib_post_recv_ud", NULL);
	return 0;
}

static int open_all(struct ud *u)
{
	struct dx *d = u->d;
	uint32_t eps = d->run.server && !d->o->ud_pairs ? 1 : u->pairs;
	int rc = dt_run_open(&d->run, 8);

	if (!rc)
		rc = dt_ud_need(&d->run);
	if (!rc)
		rc = dt_run_make_region(&d->run, &u->mem,
					(u->pairs + 1) * stride(u),
					DAT_MEM_PRIV_ALL_FLAG);
	if (!rc)
		rc = dt_run_make_evd(&d->run, 2 * u->pairs, DAT_HANDLE_NULL,
				     DAT_EVD_CR_FLAG, &d->cr_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, 2 * u->pairs, DAT_HANDLE_NULL,
				     DAT_EVD_CONNECTION_FLAG, &d->conn_evd);
	if (!rc)
		rc = dt_run_make_evd(&d->run, 10 * u->pairs, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG, &d->dto_evd);
	for (uint32_t i = 0; !rc && i < eps; i++)
		rc = make_ep(u, i);
	for (uint32_t i = 0; !rc && i < u->pairs; i++)
		rc = post_recv(u, u->ep[i % eps], i);
	return rc;
}

static int close_all(struct ud *u, int rc)
{
	struct dx *d = u->d;

	for (uint32_t i = 0; i < u->eps; i++)
		rc = dt_run_freed(&d->run, rc, dat_ep_free(u->ep[i]),
				  "dat_ep_free");
	if (d->psp != DAT_HANDLE_NULL)
		rc = dt_run_freed(&d->run, rc, dat_psp_free(d->psp),
				  "dat_psp_free");
	rc = dt_run_free_evd(&d->run, &d->dto_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->conn_evd, rc);
	rc = dt_run_free_evd(&d->run, &d->cr_evd, rc);
	rc = dt_run_free_region(&d->run, &u->mem, rc);
	return dt_run_close(&d->run, rc);
}

/* ------------------------------------------------- finding one another */

static int accept_one(struct ud *u, DAT_CR_HANDLE cr)
{
	struct dx *d = u->d;
	DAT_CR_PARAM param = {.private_data = NULL};
	uint32_t number = UINT32_MAX;
	DAT_RETURN ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);

	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_query",
				   NULL);
	if (param.private_data_size >= (DAT_COUNT)sizeof(number))
		memcpy(&number, param.private_data, sizeof(number));
	if (ntohl(number) >= u->pairs) {
		dat_cr_reject(cr, 0, NULL);
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "an endpoint asks that has no number here");
	}
	ret = dat_cr_accept(cr, u->ep[ntohl(number) % u->eps], sizeof(number),
			    &number);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	return 0;
}

static int serve(struct ud *u)
{
	const DAT_EVENT_NUMBER asks = dt_ud_numbers[1].request;
	DAT_EVENT event;
	int rc = dx_listen(u->d);

	for (uint32_t i = 0; !rc && i < u->pairs; i++) {
		rc = dx_next_request(u->d, &event);
		if (!rc && event.event_number != asks)
			rc = dt_fail(&u->d->run.r, DT_FAILED,
				     "waiting for a datagram endpoint's "
				     "request: got 0x%x",
				     event.event_number);
		if (!rc)
			rc = accept_one(u,
					event.event_data.cr_arrival_event_data
						.cr_handle);
	}
	return rc;
}

static int call(struct ud *u)
{
	struct dx *d = u->d;
	struct dt_oob_params params = dx_params(d->o);
	int rc = dt_run_tell(&d->run, &params);

	for (uint32_t i = 0; !rc && i < u->pairs; i++) {
		uint32_t number = htonl(i);
		DAT_RETURN ret = dat_ep_connect(
			u->ep[i], (DAT_IA_ADDRESS_PTR)&d->run.remote,
			d->run.o->port,
			(DAT_TIMEOUT)(d->run.limit_ns / DT_NS_PER_US),
			sizeof(number), &number, DAT_QOS_BEST_EFFORT,
			DAT_CONNECT_DEFAULT_FLAG);

		if (ret != DAT_SUCCESS)
			rc = dt_dat_fail(&d->run.r, DT_FAILED, ret,
					 "dat_ep_connect", NULL);
	}
	return rc;
}

static int take_peer(struct ud *u, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;
	const DAT_IB_EXTENSION_EVENT_DATA *ext =
		(const void *)event->event_extension_data;
	struct peer *peer = &u->peer[u->found];
	uint32_t number = UINT32_MAX;

	if (event->event_number != dt_ud_numbers[1].established)
		return dt_fail(&u->d->run.r, DT_FAILED,
			       "an endpoint was not found: event 0x%x, "
			       "extension type %d",
			       event->event_number, ext->type);
	if (data->private_data_size >= (DAT_COUNT)sizeof(number))
		memcpy(&number, data->private_data, sizeof(number));
	if (ntohl(number) >= u->pairs)
		return dt_fail(&u->d->run.r, DT_FAILED,
			       "an endpoint was found with number %u",
			       ntohl(number));
	peer->number = ntohl(number);
	peer->ep = data->ep_handle;
	u->found++;
	return dt_ud_found(&u->d->run.r, u->d->run.server, event, &peer->ud);
}

/* ---------------------------------------------------------- messages */

static int send_one(struct ud *u, const struct peer *peer)
{
	struct dx *d = u->d;
	DAT_LMR_TRIPLET iov = segment(u, u->pairs, d->o->size);
	DAT_DTO_COOKIE cookie = {.as_64 = u->pairs};
	DAT_IB_ADDR_HANDLE to = peer->ud.to;
	DAT_RETURN ret;

	for (uint32_t i = 0; i < d->o->size; i++)
		buffer(u, u->pairs)[i] =
			pattern(d->run.server, peer->number, i);
	ret = dat_ib_post_send_ud(peer->ep, 1, &iov, &to, cookie,
				  DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_post_send_ud", NULL);
	return 0;
}

static int check(struct ud *u, uint32_t i, uint8_t *seen)
{
	const uint8_t *got = buffer(u, i) + DT_UD_GRH;
	uint32_t number = got[0] | got[1] << 8;

	if (number >= u->pairs || seen[number]++)
		return dt_fail(&u->d->run.r, DT_FAILED,
			       "a message of number %u, for the second time or "
			       "of none",
			       number);
	for (uint32_t k = 0; k < u->d->o->size; k++)
		if (got[k] != pattern(!u->d->run.server, number, k))
			return dt_fail(&u->d->run.r, DT_FAILED,
				       "message %u: byte %u is 0x%02x", number,
				       k, got[k]);
	return 0;
}

/* The next completion; *SENT: it was that of a send. */
static int complete(struct ud *u, uint8_t *seen, bool *sent)
{
	struct dx *d = u->d;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int rc = dx_next_ext(d, "a datagram", &event);

	if (rc)
		return rc;
	dto = &event.event_data.dto_completion_event_data;
	*sent = dto->operation == (DAT_DTOS)DAT_IB_DTO_SEND_UD;
	if (*sent)
		return 0;
	if (dto->operation != (DAT_DTOS)DAT_IB_DTO_RECV_UD ||
	    dto->user_cookie.as_64 >= u->pairs ||
	    dto->transfered_length != DT_UD_GRH + d->o->size)
		return dt_fail(&d->run.r, DT_FAILED,
			       "a datagram: operation %d, %u bytes",
			       dto->operation,
			       (unsigned)dto->transfered_length);
	return check(u, (uint32_t)dto->user_cookie.as_64, seen);
}

/* One send at a time, since they have one buffer; receives come when they do.
 */
static int exchange(struct ud *u)
{
	uint8_t seen[DX_UD_MAX] = {0};
	uint32_t received = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < u->pairs; i++) {
		bool sent = false;

		rc = send_one(u, &u->peer[i]);
		while (!rc && !sent) {
			rc = complete(u, seen, &sent);
			received += !rc && !sent;
		}
	}
	while (!rc && received < u->pairs) {
		bool sent;

		rc = complete(u, seen, &sent);
		received++;
	}
	return rc;
}

static int forget(struct ud *u)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < u->found; i++)
		rc = dt_ud_forget(&u->d->run.r, u->peer[i].ep, &u->peer[i].ud);
	return rc;
}

static int run(struct ud *u)
{
	struct dx *d = u->d;
	DAT_EVENT event;
	int rc = d->run.server ? 0 : dx_find_server(d);

	if (!rc)
		rc = open_all(u);
	dt_doing("finding one another");
	if (!rc)
		rc = d->run.server ? serve(u) : call(u);
	while (!rc && u->found < u->pairs) {
		rc = dx_next_conn(d, "an endpoint", &event);
		if (!rc)
			rc = take_peer(u, &event);
	}
	if (!rc)
		dt_say(&d->run.r, "\n%d Connected! %u endpoints\n",
		       d->run.r.pid, u->pairs);
	dt_doing("datagrams");
	if (!rc)
		rc = exchange(u);
	return rc ? rc : forget(u);
}

int dx_ud(struct dx *d)
{
	struct ud *u = calloc(1, sizeof(*u));
	struct dt_result res;
	int rc;

	if (!u)
		return dt_fail(&d->run.r, DT_ENVIRONMENT, "no memory");
	u->d = d;
	u->pairs = d->o->ud_endpoints;
	rc = close_all(u, run(u));
	free(u);
	if (rc)
		return rc;
	dt_line(&d->run.r, "\n IB extension test - UD test PASSED\n\n");
	dt_result_begin(&res, DT_NO_FIGURES, "ud", "ext");
	dt_report_result(&d->run.r, &res);
	return 0;
}
