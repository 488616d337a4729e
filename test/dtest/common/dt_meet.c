/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_meet.c - how the two sides of a test tool find each other.
 *
 * Does not connect endpoints.
 * Threads, ownership, rule: see dt_meet.h.
 */
#include "test/dtest/common/dt_meet.h"

#include "test/dtest/common/dt_dat.h"
#include "test/dtest/common/dt_time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

/*
 * Among the flags of what a client tells. Historic clients write their text
 * over the message that they have read, and send all of it: ours comes back.
 */
#define FROM_CLIENT 0x80

struct dt_address_text dt_address_show(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct dt_address_text t = {"unknown address"};
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

void dt_pdata_fill(uint8_t pdata[DT_PDATA], uint8_t first)
{
	for (int i = 0; i < DT_PDATA; i++)
		pdata[i] = (uint8_t)(first + i);
}

bool dt_pdata_ok(const void *pdata, DAT_COUNT size, uint8_t first)
{
	uint8_t want[DT_PDATA];

	dt_pdata_fill(want, first);
	return pdata && size >= DT_PDATA && !memcmp(pdata, want, DT_PDATA);
}

int dt_not_connected(struct dt_report *r, DAT_EVENT_NUMBER number)
{
	enum dt_exit code = DT_FAILED;
	const char *why = "";

	switch ((unsigned int)number) {
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
#if DAT_FACE == 2
	case DAT_IB_UD_CONNECTION_REJECT_EVENT:
		why = "; the server refused this client, or nobody listens "
		      "there; same --port on both sides?";
		break;
	case DAT_IB_UD_CONNECTION_ERROR_EVENT:
		why = "; no answer from that address, or no address handle "
		      "for it";
		break;
#endif
	default:
		break;
	}
	return dt_fail(r, code, "connection not established: %s (0x%x)%s",
		       dt_event_name(number), number, why);
}

/* ------------------------------------------------------------ the server */

static int prepare(struct dt_run *run, const struct dt_oob_params *params,
		   uint8_t msg[DT_OOB_SIZE])
{
	struct dt_oob_info info = {.addr = run->local, .params = *params};

	info.params.known = true;
	memcpy(info.provider, run->provider, sizeof(info.provider));
	if (dt_oob_encode(&info, msg))
		return dt_fail(&run->r, DT_ENVIRONMENT,
			       "the adapter has no address that a client could "
			       "be told");
	return 0;
}

int dt_run_listen(struct dt_run *run)
{
	int rc = dt_oob_listen(run->o->oob_port, run->oob_fds);

	if (rc)
		return dt_fail(&run->r, DT_ENVIRONMENT,
			       "TCP port %u: %s; another server may run, see "
			       "--oob-port",
			       run->o->oob_port, strerror(-rc));
	dt_say(&run->r, "%d Server is waiting for a client on TCP port %u\n",
	       run->r.pid, run->o->oob_port);
	return 0;
}

/* conn: what the rendezvous returned. */
static int answered(struct dt_run *run, int conn)
{
	if (conn == -ETIMEDOUT || conn == -EINTR)
		return dt_wait_fail(&run->r, &run->w, conn, "a client");
	if (conn < 0)
		return dt_fail(&run->r, DT_FAILED, "TCP port %u: %s",
			       run->o->oob_port, strerror(-conn));
	run->oob_conn = conn;
	return 0;
}

int dt_run_answer(struct dt_run *run, const struct dt_oob_params *params)
{
	uint8_t msg[DT_OOB_SIZE];
	int rc = prepare(run, params, msg);

	if (rc)
		return rc;
	return answered(run, dt_oob_answer(run->oob_fds, msg,
					   dt_deadline(run->limit_ns)));
}

int dt_run_try_answer(struct dt_run *run, const struct dt_oob_params *params)
{
	uint8_t msg[DT_OOB_SIZE];
	int rc = run->oob_fds[0] < 0 ? 0 : prepare(run, params, msg);

	if (rc || run->oob_fds[0] < 0)
		return rc;
	rc = dt_oob_try_answer(run->oob_fds, msg);
	return rc == -EAGAIN ? 0 : answered(run, rc);
}

/* What a client said that will not connect. */
static int declined(struct dt_run *run, enum dt_oob_word word)
{
	switch (word) {
	case DT_OOB_NOTHING:
		return 0;
	case DT_OOB_GAVE_UP:
		return dt_fail(&run->r, DT_FAILED,
			       "the client gave up before it connected; see "
			       "its messages");
	default:
		return dt_fail(&run->r, DT_MISMATCH,
			       "the client runs another test; give both sides "
			       "the same options");
	}
}

int dt_run_declined(struct dt_run *run)
{
	return declined(run, run->oob_conn < 0
				     ? DT_OOB_NOTHING
				     : dt_oob_declined(run->oob_conn));
}

int dt_run_hear(struct dt_run *run, struct dt_oob_params *ret_params)
{
	struct dt_oob_info info;
	uint8_t msg[DT_OOB_SIZE];
	enum dt_oob_word word;
	int rc;

	rc = dt_oob_hear(run->oob_conn, dt_deadline(run->limit_ns), msg, &word);
	if (rc == -ETIMEDOUT || rc == -EINTR)
		return dt_wait_fail(&run->r, &run->w, rc,
				    "what the client tells of itself");
	if (word != DT_OOB_NOTHING)
		return declined(run, word);
	if (!rc)
		rc = dt_oob_decode(msg, &info);
	if (rc)
		return dt_fail(&run->r, DT_MISMATCH,
			       "whoever came is no %s (%s)", run->r.tool,
			       strerror(-rc));
	if (!(info.params.flags & FROM_CLIENT))
		info.params.known = false;
	run->peer_is_ours = info.params.known;
	*ret_params = info.params;
	return 0;
}

/* ------------------------------------------------------------ the client */

static int ask_failed(struct dt_run *run, int rc)
{
	const char *host = run->o->host;

	if (rc == -ETIMEDOUT)
		return dt_fail(
			&run->r, DT_TIMED_OUT,
			"no answer from %s, TCP port %u, within %u s; "
			"is the server running, and no firewall between?",
			host, run->o->oob_port, run->o->timeout_s);
	if (rc == -EINTR)
		return dt_wait_fail(&run->r, &run->w, rc, "the server");
	if (rc == -EHOSTUNREACH)
		return dt_fail(&run->r, DT_ENVIRONMENT,
			       "-h %s: no such host, or no way to it", host);
	return dt_fail(&run->r, DT_MISMATCH,
		       "%s, TCP port %u, is no %s server (%s)", host,
		       run->o->oob_port, run->r.tool, strerror(-rc));
}

/* The address that -q and -l spell out. */
static void take_ucm_address(struct dt_run *run)
{
	struct sockaddr_in6 *in6 = (void *)&run->remote;

	in6->sin6_family = AF_INET6;
	in6->sin6_flowinfo = htonl(run->o->qpn);
	in6->sin6_port = htons((uint16_t)run->o->lid);
}

int dt_run_ask(struct dt_run *run, struct dt_oob_params *ret_params)
{
	struct dt_oob_info info;
	uint8_t msg[DT_OOB_SIZE];
	int rc;

	memset(ret_params, 0, sizeof(*ret_params));
	if (run->o->qpn) {
		take_ucm_address(run);
		return 0;
	}
	dt_say(&run->r,
	       "%d Running as client - asking %s for the server's address\n",
	       run->r.pid, run->o->host);
	rc = dt_oob_ask(run->o->host, run->o->oob_port,
			dt_deadline(run->limit_ns), msg);
	if (rc >= 0) {
		run->oob_conn = rc;
		rc = dt_oob_decode(msg, &info);
	}
	if (rc)
		return ask_failed(run, rc);
	run->remote = info.addr;
	run->peer_is_ours = info.params.known;
	if (!run->o->provider_given)
		memcpy(run->provider, info.provider, sizeof(run->provider));
	dt_report_provider(&run->r, run->provider, "");
	*ret_params = info.params;
	return 0;
}

int dt_run_tell(struct dt_run *run, const struct dt_oob_params *params)
{
	struct dt_oob_params own = *params;
	uint8_t msg[DT_OOB_SIZE];
	int rc;

	own.flags |= FROM_CLIENT;
	rc = prepare(run, &own, msg);
	if (rc)
		return rc;
	rc = dt_oob_tell(run->oob_conn, msg);
	if (rc)
		return dt_fail(&run->r, DT_FAILED, "the server went away: %s",
			       strerror(-rc));
	return 0;
}

int dt_run_await_server(struct dt_run *run)
{
	int rc = run->oob_conn < 0
			 ? 0
			 : dt_oob_await_end(run->oob_conn,
					    dt_deadline(run->limit_ns));

	return rc ? dt_wait_fail(&run->r, &run->w, rc,
				 "the server to find all endpoints")
		  : 0;
}

int dt_run_resolve(struct dt_run *run)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	int rc = getaddrinfo(run->o->host, NULL, &hints, &list);

	if (rc)
		return dt_fail(&run->r, DT_ENVIRONMENT, "-h %s: %s",
			       run->o->host, gai_strerror(rc));
	memcpy(&run->remote, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}
