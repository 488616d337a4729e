/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connect.c - how the two sides of dtestx find, accept and leave each other.
 *
 * Does not test anything. Threads: one. Ownership: see dtestx.h.
 * Rule: the rendezvous goes both ways here: the client answers with its own
 * message. The request carries the number of an endpoint, which is 0, and the
 * server echoes it.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestx/dtestx.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define HANG_UP_US 1000000
#define SLICE_NS   (50 * DT_NS_PER_MS)

/* As on the wire, in network order. */
struct rmr_message {
	uint64_t address;
	uint32_t length;
	uint32_t context;
};
_Static_assert(sizeof(struct rmr_message) == DX_RMR, "wire format");

static int compare_params(struct dx *d, const struct dt_oob_params *theirs)
{
	const char *why = dx_mismatch(d->o, theirs);

	return why ? dt_fail(&d->run.r, DT_MISMATCH, "%s", why) : 0;
}

int dx_find_server(struct dx *d)
{
	struct dt_oob_params theirs;
	int rc = dt_run_ask(&d->run, &theirs);

	if (rc)
		return rc;
	rc = compare_params(d, &theirs);
	if (rc)
		dt_oob_decline(d->run.oob_conn, DT_OOB_MISMATCH);
	return rc;
}

int dx_next_conn(struct dx *d, const char *what, DAT_EVENT *event)
{
	int rc = dt_evd_next(&d->run.w, DT_WAIT_EVENT, d->conn_evd,
			     d->run.limit_ns, event);

	return rc ? dt_wait_fail(&d->run.r, &d->run.w, rc, what) : 0;
}

/* ------------------------------------------------------ the server */

/* In slices: a client that gave up is noticed. */
int dx_next_request(struct dx *d, DAT_EVENT *event)
{
	uint64_t deadline = dt_deadline(d->run.limit_ns), left;
	int rc;

	do {
		left = dt_left_ns(deadline);
		rc = dt_evd_next(&d->run.w, DT_WAIT_EVENT, d->cr_evd,
				 left < SLICE_NS ? left : SLICE_NS, event);
		if (!rc)
			return 0;
		if (rc != -ETIMEDOUT || !left)
			return dt_wait_fail(&d->run.r, &d->run.w, rc,
					    "a connection request");
		rc = dt_run_declined(&d->run);
	} while (!rc);
	return rc;
}

static int accept_cr(struct dx *d, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param = {.private_data = NULL};
	uint32_t number = UINT32_MAX;
	DAT_RETURN ret;

	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_query",
				   NULL);
	if (param.private_data &&
	    param.private_data_size >= (DAT_COUNT)sizeof(number))
		memcpy(&number, param.private_data, sizeof(number));
	if (number) {
		dat_cr_reject(cr, 0, NULL);
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "whoever connected is no dtestx, or one with "
			       "several endpoints; rejected");
	}
	ret = dat_cr_accept(cr, d->ep, sizeof(number), &number);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	return 0;
}

int dx_listen(struct dx *d)
{
	struct dt_oob_params params = dx_params(d->o), theirs;
	DAT_RETURN ret;
	int rc;

	ret = dat_psp_create(d->run.ia, d->run.o->port, d->cr_evd,
			     DAT_PSP_CONSUMER_FLAG, &d->psp);
	if (ret != DAT_SUCCESS) {
		d->psp = DAT_HANDLE_NULL;
		return dt_dat_fail(&d->run.r, DT_ENVIRONMENT, ret,
				   "dat_psp_create",
				   "another server may run, see --port");
	}
	rc = dt_run_listen(&d->run);
	if (!rc)
		rc = dt_run_answer(&d->run, &params);
	return rc ? rc : dt_run_hear(&d->run, &theirs);
}

static int serve(struct dx *d)
{
	DAT_EVENT event;
	int rc = dx_listen(d);

	if (!rc)
		rc = dx_next_request(d, &event);
	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		return dt_fail(&d->run.r, DT_FAILED,
			       "waiting for a connection request: got %s",
			       dt_event_name(event.event_number));
	return accept_cr(d, event.event_data.cr_arrival_event_data.cr_handle);
}

/* ------------------------------------------------------ the client */

static int call(struct dx *d)
{
	uint64_t ns = DT_RUN_TIMEOUT_S * DT_NS_PER_S;
	struct dt_oob_params params = dx_params(d->o);
	uint32_t number = 0;
	DAT_RETURN ret;
	int rc = dt_run_tell(&d->run, &params);

	if (rc)
		return rc;
	/* It listens only now, and tells nobody. */
	if (!d->run.peer_is_ours && !dt_pause(DT_NS_PER_S))
		return dt_wait_fail(&d->run.r, &d->run.w, -EINTR, "the server");
	if (d->run.limit_ns < ns)
		ns = d->run.limit_ns;
	dt_say(&d->run.r, "%d Server address: %s port %u\n", d->run.r.pid,
	       dt_address_show((struct sockaddr *)&d->run.remote).s,
	       d->run.o->port);
	ret = dat_ep_connect(d->ep, (DAT_IA_ADDRESS_PTR)&d->run.remote,
			     d->run.o->port, (DAT_TIMEOUT)(ns / DT_NS_PER_US),
			     sizeof(number), &number, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_ep_connect",
				   NULL);
	return 0;
}

/* ------------------------------------------------------------ both */

static int established(struct dx *d)
{
	DAT_EVENT event;
	int rc = dx_next_conn(d, "the connection", &event);

	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return dt_not_connected(&d->run.r, event.event_number);
	d->connected = true;
	d->run.w.conn_evd = d->conn_evd;
	dt_say(&d->run.r, "\n%d Connected! 1 endpoints\n", d->run.r.pid);
	return 0;
}

static int exchange_rmr(struct dx *d)
{
	struct rmr_message m = {
		.address = htobe64((uintptr_t)dx_buffer(d, DX_TARGET)),
		.length = htobe32(d->o->size),
		.context = htobe32(d->buffers.rmr_context),
	};
	const uint8_t *msg;
	int rc;

	memcpy(dx_buffer(d, DX_MESSAGE), &m, sizeof(m));
	rc = dx_send_message(d);
	if (!rc)
		rc = dx_wait_message(d, "the peer's RMR message", &msg);
	if (rc)
		return rc;
	memcpy(&m, msg, sizeof(m));
	d->peer.virtual_address = be64toh(m.address);
	d->peer.segment_length = be32toh(m.length);
	d->peer.rmr_context = be32toh(m.context);
	if (d->peer.segment_length != d->o->size)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "the peer runs with -b %" PRIu64
			       ", this side with -b %u",
			       (uint64_t)d->peer.segment_length, d->o->size);
	return 0;
}

int dx_connect(struct dx *d)
{
	int rc = d->run.server ? serve(d) : call(d);

	if (!rc)
		rc = established(d);
	return rc ? rc : exchange_rmr(d);
}

/* Both sides leave, and who is the second finds that the other has left. */
int dx_disconnect(struct dx *d)
{
	DAT_EVENT event;
	DAT_RETURN ret;
	int rc;

	ret = dat_ep_disconnect(d->ep, DAT_CLOSE_DEFAULT);
	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_disconnect", NULL);
	event.event_number = d->run.w.gone;
	if (!d->run.w.gone) {
		rc = dx_next_conn(d, "the end of the connection", &event);
		if (rc)
			return rc;
	}
	d->connected = false;
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		return dt_fail(&d->run.r, DT_FAILED,
			       "disconnect: got %s (0x%x) instead of "
			       "DAT_CONNECTION_EVENT_DISCONNECTED",
			       dt_event_name(event.event_number),
			       event.event_number);
	return 0;
}

void dx_hang_up(struct dx *d)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (!d->connected)
		return;
	d->connected = false;
	if (d->run.w.gone ||
	    dat_ep_disconnect(d->ep, DAT_CLOSE_DEFAULT) != DAT_SUCCESS)
		return;
	dat_evd_wait(d->conn_evd, HANG_UP_US, 1, &event, &more);
}
