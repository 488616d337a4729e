/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connect.c - how the two sides of dtest find, accept and leave each other.
 *
 * Does not move data beyond the exchange of addresses.
 * Threads: one. Ownership: handles are those of struct dtest.
 * Rule: qualifier, private data and the 16-byte message are historic. The
 * server listens before it tells anybody where, and it speaks second: on
 * iWARP the side that connected has to send first.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* As the historic client asks for; the own limit may be shorter. */
#define CONNECT_NS (100 * DT_NS_PER_S)
#define HANG_UP_US 1000000
#define SLICE_NS   (250 * DT_NS_PER_MS)

#define FLAG_UNI 0x1
#define FLAG_ALL 0x2

struct rmr_message {
	uint64_t address;
	uint32_t length;
	uint32_t context;
};
_Static_assert(sizeof(struct rmr_message) == DTEST_MSG, "wire format");

struct address_text {
	char s[INET6_ADDRSTRLEN + 32];
};

static struct address_text show(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct address_text t = {"unknown address"};
	char host[INET6_ADDRSTRLEN];

	if (addr && addr->sa_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(t.s, sizeof(t.s), "%s", host);
	} else if (addr && addr->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(t.s, sizeof(t.s), "%s QPN 0x%x LID 0x%x", host,
			 ntohl(in6->sin6_flowinfo), ntohs(in6->sin6_port));
	}
	return t;
}

static struct dt_oob_params own_params(const struct dtest_opts *o)
{
	struct dt_oob_params p = {
		.known = true,
		.mode = (uint8_t)o->mode,
		.flags = (uint8_t)((o->uni ? FLAG_UNI : 0) |
				   (o->all_sizes ? FLAG_ALL : 0)),
		.size = o->size,
		.count = o->count,
	};

	return p;
}

/* What the server announced, if it did, against what was asked for here. */
static int compare_params(struct dtest *d, const struct dt_oob_params *theirs)
{
	struct dt_oob_params own = own_params(d->o);
	bool rounds = d->o->mode == DTEST_PINGPONG || d->o->mode == DTEST_CHECK;

	if (!theirs->known)
		return 0;
	if (theirs->mode != own.mode || theirs->flags != own.flags)
		return dt_fail(&d->r, DT_MISMATCH,
			       "the server runs another test; give both sides "
			       "the same of -w, -W, -D, -u, -a and -i");
	if (theirs->size != own.size)
		return dt_fail(&d->r, DT_MISMATCH,
			       "the server runs with -b %u, this side with -b "
			       "%u",
			       theirs->size, own.size);
	if (rounds && theirs->count != own.count)
		return dt_fail(&d->r, DT_MISMATCH,
			       "the server runs with -B %u, this side with -B "
			       "%u",
			       theirs->count, own.count);
	return 0;
}

static int oob_failed(struct dtest *d, int rc)
{
	if (rc == -ETIMEDOUT)
		return dt_fail(
			&d->r, DT_TIMED_OUT,
			"no answer from %s, TCP port %u, within %u s; "
			"is the server running, and no firewall between?",
			d->o->host, d->o->oob_port, d->o->timeout_s);
	if (rc == -EINTR)
		return dt_wait_fail(&d->r, &d->w, rc, "the server");
	if (rc == -EHOSTUNREACH)
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "-h %s: no such host, or no way to it",
			       d->o->host);
	return dt_fail(&d->r, DT_MISMATCH,
		       "%s, TCP port %u, is no dtest server (%s)", d->o->host,
		       d->o->oob_port, strerror(-rc));
}

int dtest_find_server(struct dtest *d)
{
	uint8_t msg[DT_OOB_SIZE];
	struct dt_oob_info info;
	int rc;

	dt_say(&d->r,
	       "%d Running as client - asking %s for the server's "
	       "address\n",
	       d->r.pid, d->o->host);
	rc = dt_oob_ask(d->o->host, d->o->oob_port, dt_deadline(d->limit_ns),
			msg);
	if (rc >= 0) {
		d->oob_conn = rc;
		rc = dt_oob_decode(msg, &info);
	}
	if (rc)
		return oob_failed(d, rc);
	d->remote = info.addr;
	d->peer_is_ours = info.params.known;
	if (!d->o->provider_given)
		memcpy(d->provider, info.provider, sizeof(d->provider));
	dt_report_provider(&d->r, d->provider, "");
	rc = compare_params(d, &info.params);
	if (rc)
		dt_oob_decline(d->oob_conn);
	return rc;
}

/* Tells one client where this server listens. */
static int answer_client(struct dtest *d)
{
	struct dt_oob_info info = {.addr = d->local};
	uint8_t msg[DT_OOB_SIZE];
	int rc;

	info.params = own_params(d->o);
	memcpy(info.provider, d->provider, sizeof(info.provider));
	rc = dt_oob_encode(&info, msg);
	if (rc)
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "the adapter has no address that a client could "
			       "be told");
	rc = dt_oob_listen(d->o->oob_port, d->oob_fds);
	if (rc)
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "TCP port %u: %s; another server may run, see "
			       "--oob-port",
			       d->o->oob_port, strerror(-rc));
	dt_say(&d->r, "%d Server is waiting for a client on TCP port %u\n",
	       d->r.pid, d->o->oob_port);
	rc = dt_oob_answer(d->oob_fds, msg, dt_deadline(d->limit_ns));
	if (rc == -ETIMEDOUT || rc == -EINTR)
		return dt_wait_fail(&d->r, &d->w, rc, "a client");
	if (rc < 0)
		return dt_fail(&d->r, DT_FAILED, "TCP port %u: %s",
			       d->o->oob_port, strerror(-rc));
	d->oob_conn = rc;
	return 0;
}

static int next(struct dtest *d, DAT_EVD_HANDLE evd, const char *what,
		DAT_EVENT *event)
{
	enum dt_wait_mode how =
		d->o->wait == DT_WAIT_POLL ? DT_WAIT_POLL : DT_WAIT_EVENT;
	int rc = dt_evd_next(&d->w, how, evd, d->limit_ns, event);

	return rc ? dt_wait_fail(&d->r, &d->w, rc, what) : 0;
}

/* values first, first + 1, ... */
static void fill_private(uint8_t *pdata, uint8_t first)
{
	for (int i = 0; i < DTEST_PDATA; i++)
		pdata[i] = (uint8_t)(first + i);
}

/* Transports may pad, so more than was sent is fine. */
static bool private_ok(const void *pdata, DAT_COUNT size, uint8_t first)
{
	uint8_t want[DTEST_PDATA];

	fill_private(want, first);
	return pdata && size >= DTEST_PDATA &&
	       !memcmp(pdata, want, DTEST_PDATA);
}

static int accept_cr(struct dtest *d, DAT_CR_HANDLE cr)
{
	uint8_t pdata[DTEST_PDATA];
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_cr_query", NULL);
	if (!private_ok(param.private_data, param.private_data_size, 1)) {
		dat_cr_reject(cr, 0, NULL);
		return dt_fail(&d->r, DT_MISMATCH,
			       "whoever connected is no dtest (%d bytes of "
			       "private data); rejected",
			       param.private_data_size);
	}
	if (d->o->delay_s && !dt_pause(d->o->delay_s * DT_NS_PER_S))
		return dt_wait_fail(&d->r, &d->w, -EINTR, "the time of -d");
	fill_private(pdata, 2);
	ret = dat_cr_accept(cr, d->ep, DTEST_PDATA, pdata);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	return 0;
}

/* In slices, so that a client that declines is not waited for. */
static int next_request(struct dtest *d, DAT_EVENT *event)
{
	enum dt_wait_mode how =
		d->o->wait == DT_WAIT_POLL ? DT_WAIT_POLL : DT_WAIT_EVENT;
	uint64_t deadline = dt_deadline(d->limit_ns), left;

	for (;;) {
		int rc;

		left = dt_left_ns(deadline);
		rc = dt_evd_next(&d->w, how, d->cr_evd,
				 left < SLICE_NS ? left : SLICE_NS, event);
		if (!rc)
			return 0;
		if (rc != -ETIMEDOUT || !dt_left_ns(deadline))
			return dt_wait_fail(&d->r, &d->w, rc,
					    "a connection request");
		if (dt_oob_declined(d->oob_conn))
			return dt_fail(&d->r, DT_MISMATCH,
				       "the client runs another test; give "
				       "both sides the same options");
	}
}

static int serve(struct dtest *d)
{
	DAT_EVENT event;
	DAT_RETURN ret;
	int rc;

	ret = dat_psp_create(d->ia, d->o->port, d->cr_evd,
			     DAT_PSP_CONSUMER_FLAG, &d->psp);
	if (ret != DAT_SUCCESS) {
		d->psp = DAT_HANDLE_NULL;
		return dt_dat_fail(&d->r, DT_ENVIRONMENT, ret, "dat_psp_create",
				   "another server may run, see --port");
	}
	rc = answer_client(d);
	if (rc)
		return rc;
	dt_say(&d->r, "%d Server waits for the connection on port %u\n",
	       d->r.pid, d->o->port);
	rc = next_request(d, &event);
	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		return dt_fail(&d->r, DT_FAILED,
			       "waiting for a connection request: got %s",
			       dt_event_name(event.event_number));
	return accept_cr(d, event.event_data.cr_arrival_event_data.cr_handle);
}

static int call(struct dtest *d)
{
	uint64_t ns = d->limit_ns < CONNECT_NS ? d->limit_ns : CONNECT_NS;
	uint8_t pdata[DTEST_PDATA];
	DAT_RETURN ret;

	dt_say(&d->r, "%d Server address: %s port %u\n", d->r.pid,
	       show((struct sockaddr *)&d->remote).s, d->o->port);
	fill_private(pdata, 1);
	ret = dat_ep_connect(d->ep, (DAT_IA_ADDRESS_PTR)&d->remote, d->o->port,
			     (DAT_TIMEOUT)(ns / DT_NS_PER_US), DTEST_PDATA,
			     pdata, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_ep_connect",
				   NULL);
	return 0;
}

/* A connection event that is not ESTABLISHED, with what it mostly means. */
static int not_connected(struct dtest *d, DAT_EVENT_NUMBER number)
{
	const char *why = "";
	enum dt_exit code = DT_FAILED;

	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		why = "; the server refused this client";
		code = DT_MISMATCH;
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		why = "; nobody listens there; same --port on both sides?";
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		why = "; no route to that address from this adapter";
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		why = "; no answer from that address";
		code = DT_TIMED_OUT;
		break;
	default:
		break;
	}
	return dt_fail(&d->r, code, "connection not established: %s (0x%x)%s",
		       dt_event_name(number), number, why);
}

static int established(struct dtest *d)
{
	const DAT_CONNECTION_EVENT_DATA *conn;
	DAT_EVENT event;
	int rc = next(d, d->conn_evd, "the connection", &event);

	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return not_connected(d, event.event_number);
	d->connected = true;
	d->w.conn_evd = d->conn_evd;
	conn = &event.event_data.connect_event_data;
	if (!d->server &&
	    !private_ok(conn->private_data, conn->private_data_size, 2))
		return dt_fail(&d->r, DT_MISMATCH,
			       "private data of the server is not what dtest "
			       "sends (%d bytes)",
			       conn->private_data_size);
	dt_say(&d->r, "\n%d CONNECTED!\n\n", d->r.pid);
	return 0;
}

static int send_rmr(struct dtest *d)
{
	struct rmr_message msg = {
		.address = htobe64((uintptr_t)d->rbuf.base),
		.length = htobe32(d->o->size),
		.context = htobe32(d->rbuf.rmr_context),
	};

	memcpy(d->smsg.base, &msg, sizeof(msg));
	dt_say(&d->r,
	       "%d Send RMR: context 0x%x, address 0x%" PRIxPTR ", length %u\n",
	       d->r.pid, d->rbuf.rmr_context, (uintptr_t)d->rbuf.base,
	       d->o->size);
	return dtest_send_token(d, true);
}

static int receive_rmr(struct dtest *d)
{
	struct rmr_message msg;
	int rc = dtest_wait_token(d, d->limit_ns, "the peer's RMR message");

	if (rc)
		return rc;
	memcpy(&msg, d->rmsg.base, sizeof(msg));
	d->peer.virtual_address = be64toh(msg.address);
	d->peer.segment_length = be32toh(msg.length);
	d->peer.rmr_context = be32toh(msg.context);
	dt_say(&d->r,
	       "%d Received RMR: context 0x%x, address 0x%" PRIx64
	       ", length %u\n",
	       d->r.pid, d->peer.rmr_context, d->peer.virtual_address,
	       d->peer.segment_length);
	if (d->peer.segment_length != d->o->size)
		return dt_fail(&d->r, DT_MISMATCH,
			       "the peer runs with -b %u, this side with -b %u",
			       d->peer.segment_length, d->o->size);
	return 0;
}

static int exchange_rmr(struct dtest *d)
{
	int rc;

	if (d->server) {
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
		return dt_dat_fail(&d->r, DT_FAILED, ret, "dat_ep_query", NULL);
	dt_say(&d->r, "\n%d EP: local address %s port %" PRIu64 "\n", d->r.pid,
	       show(param.local_ia_address_ptr).s, param.local_port_qual);
	dt_say(&d->r, "%d EP: remote address %s port %" PRIu64 "\n", d->r.pid,
	       show(param.remote_ia_address_ptr).s, param.remote_port_qual);
	return 0;
}

int dtest_connect(struct dtest *d)
{
	uint64_t start;
	int rc;

	dt_say(&d->r, "%d Local address %s port %u\n", d->r.pid,
	       show((struct sockaddr *)&d->local).s, d->o->port);
	start = dt_now_ns();
	rc = d->server ? serve(d) : call(d);
	if (!rc)
		rc = established(d);
	if (!d->server)
		d->time_ns[DTEST_T_CONNECT] = dt_now_ns() - start;
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

	if (!d->server) {
		ret = dat_ep_disconnect(d->ep, DAT_CLOSE_DEFAULT);
		if (ret != DAT_SUCCESS)
			return dt_dat_fail(&d->r, DT_FAILED, ret,
					   "dat_ep_disconnect", NULL);
	}
	event.event_number = d->w.gone;
	if (!d->w.gone) {
		rc = next(d, d->conn_evd, "the end of the connection", &event);
		if (rc)
			return rc;
	}
	d->connected = false;
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		return dt_fail(&d->r, DT_FAILED,
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
	if (d->w.gone ||
	    dat_ep_disconnect(d->ep, DAT_CLOSE_DEFAULT) != DAT_SUCCESS)
		return;
	dat_evd_wait(d->conn_evd, HANG_UP_US, 1, &event, &more);
}
