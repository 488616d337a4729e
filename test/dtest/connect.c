/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connect.c - how the two sides of dtest find, accept and leave each other.
 *
 * Does not move data beyond the exchange of addresses.
 * Threads: one. Ownership: handles are those of struct dtest.
 * Rule: qualifier, private data and the RMR message are historic. The
 * server listens before it tells anybody where, and it speaks second: on
 * iWARP the side that connected has to send first.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define HANG_UP_US 1000000
#define SLICE_NS   (50 * DT_NS_PER_MS)

#define FLAG_UNI 0x1
#define FLAG_ALL 0x2
#define PERF_BIT 4 /* where the number of a --perf test is */

static struct dt_oob_params own_params(const struct dtest_opts *o)
{
	struct dt_oob_params p = {
		.known = true,
		.mode = (uint8_t)o->mode,
		.flags = (uint8_t)((o->uni ? FLAG_UNI : 0) |
				   (o->all_sizes ? FLAG_ALL : 0) |
				   o->perf << PERF_BIT),
		.size = o->size,
		.count = o->count,
	};

	return p;
}

/* What the server announced, if it did, against what was asked for here. */
static int compare_params(struct dtest *d, const struct dt_oob_params *theirs)
{
	struct dt_oob_params own = own_params(d->o);
	bool rounds = d->o->mode != DTEST_ALL && d->o->mode != DTEST_STREAM;

	if (!theirs->known && d->o->mode == DTEST_PERF)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "the server is an older dtest, which has no "
			       "--perf");
	if (!theirs->known)
		return 0;
	if (theirs->mode != own.mode || theirs->flags != own.flags)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "the server runs another test; give both sides "
			       "the same of -w, -W, -D, -u, -a, -i and --perf");
	if (theirs->size != own.size)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "the server runs with -b %u, this side with -b "
			       "%u",
			       theirs->size, own.size);
	if (rounds && theirs->count != own.count)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "the server runs with -B %u, this side with -B "
			       "%u",
			       theirs->count, own.count);
	return 0;
}

int dtest_find_server(struct dtest *d)
{
	struct dt_oob_params theirs;
	int rc;

	if (d->o->direct)
		return dt_run_resolve(&d->run);
	rc = dt_run_ask(&d->run, &theirs);
	if (rc)
		return rc;
	rc = compare_params(d, &theirs);
	if (rc)
		dt_oob_decline(d->run.oob_conn, DT_OOB_MISMATCH);
	return rc;
}

static int next(struct dtest *d, DAT_EVD_HANDLE evd, const char *what,
		DAT_EVENT *event)
{
	enum dt_wait_mode how =
		d->o->wait == DT_WAIT_POLL ? DT_WAIT_POLL : DT_WAIT_EVENT;
	int rc = dt_evd_next(&d->run.w, how, evd, d->run.limit_ns, event);

	return rc ? dt_wait_fail(&d->run.r, &d->run.w, rc, what) : 0;
}

static int accept_cr(struct dtest *d, DAT_CR_HANDLE cr)
{
	uint8_t pdata[DT_PDATA];
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_query",
				   NULL);
	if (!dt_pdata_ok(param.private_data, param.private_data_size,
			 DT_PDATA_CLIENT)) {
		face_cr_reject(cr);
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "whoever connected is no dtest (%d bytes of "
			       "private data); rejected",
			       param.private_data_size);
	}
	if (d->o->delay_s && !dt_pause(d->o->delay_s * DT_NS_PER_S))
		return dt_wait_fail(&d->run.r, &d->run.w, -EINTR,
				    "the time of -d");
	dt_pdata_fill(pdata, DT_PDATA_SERVER);
	ret = dat_cr_accept(cr, d->ep, DT_PDATA, pdata);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	return 0;
}

/*
 * In slices: the rendezvous is looked after meanwhile. A client may come
 * without it, and one that came may decline.
 */
static int next_request(struct dtest *d, DAT_EVENT *event)
{
	enum dt_wait_mode how =
		d->o->wait == DT_WAIT_POLL ? DT_WAIT_POLL : DT_WAIT_EVENT;
	uint64_t deadline = dt_deadline(d->run.limit_ns), left;
	struct dt_oob_params params = own_params(d->o);

	for (;;) {
		int rc;

		left = dt_left_ns(deadline);
		rc = dt_evd_next(&d->run.w, how, d->cr_evd,
				 left < SLICE_NS ? left : SLICE_NS, event);
		if (!rc)
			return 0;
		if (rc != -ETIMEDOUT || !dt_left_ns(deadline))
			return dt_wait_fail(&d->run.r, &d->run.w, rc,
					    "a connection request");
		rc = dt_run_declined(&d->run);
		if (!rc)
			rc = dt_run_try_answer(&d->run, &params);
		if (rc)
			return rc;
	}
}

static int serve(struct dtest *d)
{
	DAT_EVENT event;
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
	if (rc)
		return rc;
	dt_say(&d->run.r, "%d Server waits for the connection on port %u\n",
	       d->run.r.pid, d->run.o->port);
	rc = next_request(d, &event);
	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		return dt_fail(&d->run.r, DT_FAILED,
			       "waiting for a connection request: got %s",
			       dt_event_name(event.event_number));
	return accept_cr(d, event.event_data.cr_arrival_event_data.cr_handle);
}

static int call(struct dtest *d)
{
	uint64_t ns = DT_RUN_CONNECT_S * DT_NS_PER_S;
	uint8_t pdata[DT_PDATA];
	DAT_RETURN ret;

	if (d->run.limit_ns < ns)
		ns = d->run.limit_ns;
	dt_say(&d->run.r, "%d Server address: %s port %u\n", d->run.r.pid,
	       dt_address_show((struct sockaddr *)&d->run.remote).s,
	       d->run.o->port);
	dt_pdata_fill(pdata, DT_PDATA_CLIENT);
	ret = dat_ep_connect(d->ep, (DAT_IA_ADDRESS_PTR)&d->run.remote,
			     d->run.o->port, (DAT_TIMEOUT)(ns / DT_NS_PER_US),
			     DT_PDATA, pdata, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_ep_connect",
				   NULL);
	return 0;
}

static int established(struct dtest *d)
{
	const DAT_CONNECTION_EVENT_DATA *conn;
	DAT_EVENT event;
	int rc = next(d, d->conn_evd, "the connection", &event);

	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return dt_not_connected(&d->run.r, event.event_number);
	d->connected = true;
	d->run.w.conn_evd = d->conn_evd;
	conn = &event.event_data.connect_event_data;
	if (!d->run.server &&
	    !dt_pdata_ok(conn->private_data, conn->private_data_size,
			 DT_PDATA_SERVER))
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "private data of the server is not what dtest "
			       "sends (%d bytes)",
			       conn->private_data_size);
	dt_say(&d->run.r, "\n%d CONNECTED!\n\n", d->run.r.pid);
	return 0;
}

static int send_rmr(struct dtest *d)
{
	DAT_RMR_TRIPLET rmr = {
		.face_remote_address = (uintptr_t)d->rbuf.base,
		.segment_length = d->o->size,
		.rmr_context = d->rbuf.rmr_context,
	};

	dtest_put_rmr(d->smsg.base, &rmr);
	dt_say(&d->run.r,
	       "%d Send RMR: context 0x%x, address 0x%" PRIxPTR ", length %u\n",
	       d->run.r.pid, d->rbuf.rmr_context, (uintptr_t)d->rbuf.base,
	       d->o->size);
	return dtest_send_token(d, true);
}

static int receive_rmr(struct dtest *d)
{
	int rc = dtest_wait_token(d, d->run.limit_ns, "the peer's RMR message");

	if (rc)
		return rc;
	dtest_get_rmr(d->rmsg.base, &d->peer);
	dt_say(&d->run.r,
	       "%d Received RMR: context 0x%x, address 0x%" PRIx64
	       ", length %" PRIu64 "\n",
	       d->run.r.pid, d->peer.rmr_context, d->peer.face_remote_address,
	       (uint64_t)d->peer.segment_length);
	if (d->peer.segment_length != d->o->size)
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "the peer runs with -b %" PRIu64
			       ", this side with -b %u",
			       (uint64_t)d->peer.segment_length, d->o->size);
	return 0;
}

static int exchange_rmr(struct dtest *d)
{
	int rc;

	if (d->run.server) {
		rc = receive_rmr(d);
		return rc ? rc : send_rmr(d);
	}
	rc = send_rmr(d);
	return rc ? rc : receive_rmr(d);
}

static int show_ep(struct dtest *d)
{
	DAT_EP_PARAM param;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	ret = dat_ep_query(d->ep, DAT_EP_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_ep_query",
				   NULL);
	dt_say(&d->run.r, "\n%d EP: local address %s port %" PRIu64 "\n",
	       d->run.r.pid, dt_address_show(param.local_ia_address_ptr).s,
	       param.local_port_qual);
	dt_say(&d->run.r, "%d EP: remote address %s port %" PRIu64 "\n",
	       d->run.r.pid, dt_address_show(param.remote_ia_address_ptr).s,
	       param.remote_port_qual);
	return 0;
}

int dtest_connect(struct dtest *d)
{
	uint64_t start;
	int rc;

	dt_say(&d->run.r, "%d Local address %s port %u\n", d->run.r.pid,
	       dt_address_show((struct sockaddr *)&d->run.local).s,
	       d->run.o->port);
	start = dt_now_ns();
	rc = d->run.server ? serve(d) : call(d);
	if (!rc)
		rc = established(d);
	if (!d->run.server)
		d->run.time_ns[DT_RUN_CONNECT] = dt_now_ns() - start;
	d->connect_polls = d->run.w.polls;
	if (!rc)
		rc = exchange_rmr(d);
	if (!rc)
		rc = show_ep(d);
	return rc;
}

/* The client leaves, the server waits until it did. */
int dtest_disconnect(struct dtest *d)
{
	DAT_EVENT event;
	DAT_RETURN ret;
	int rc;

	if (!d->run.server) {
		ret = dat_ep_disconnect(d->ep, DAT_CLOSE_DEFAULT);
		if (ret != DAT_SUCCESS)
			return dt_dat_fail(&d->run.r, DT_FAILED, ret,
					   "dat_ep_disconnect", NULL);
	}
	event.event_number = d->run.w.gone;
	if (!d->run.w.gone) {
		rc = next(d, d->conn_evd, "the end of the connection", &event);
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

/* After an error: lets the peer know, without insisting on an answer. */
void dtest_hang_up(struct dtest *d)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (!d->connected || d->ep == DAT_HANDLE_NULL)
		return;
	d->connected = false;
	if (d->run.w.gone ||
	    dat_ep_disconnect(d->ep, DAT_CLOSE_DEFAULT) != DAT_SUCCESS)
		return;
	dat_evd_wait(d->conn_evd, HANG_UP_US, 1, &event, &more);
}
