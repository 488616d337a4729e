/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * conn.c - the events of dtestcm and what they do to its connections.
 *
 * Does not start anything. Threads: one.
 * Ownership: see dtestcm.h.
 * Rule: an event belongs to the connection that its endpoint carries as
 * context; each is taken as soon as it is there, since its time is a sample.
 * Of many failures the first is reported in words, the others are counted.
 * Events of datagram endpoints have numbers of their own; the rest is the same.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestcm/dtestcm.h"

#include <errno.h>

#define SLICE_NS   (250 * DT_NS_PER_MS)
#define HANG_UP_NS DT_NS_PER_S

void dtcm_set(struct dtcm *c, struct dtcm_conn *conn, enum dtcm_state state)
{
	c->states[conn->state]--;
	conn->state = state;
	c->states[state]++;
}

uint32_t dtcm_settled(const struct dtcm *c)
{
	return c->states[DTCM_UP] + c->states[DTCM_DOWN] +
	       c->states[DTCM_REJECTED] + c->states[DTCM_FAILED];
}

static struct dtcm_conn *conn_of(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context = {.as_ptr = NULL};

	if (ep == DAT_HANDLE_NULL ||
	    dat_get_consumer_context(ep, &context) != DAT_SUCCESS)
		return NULL;
	return context.as_ptr;
}

static int take_request(struct dtcm *c, DAT_CR_HANDLE cr)
{
	uint32_t room = 2 * c->o->count;

	c->met = true;
	if (c->request_count == room) {
		dat_cr_reject(cr, 0, NULL);
		return dt_fail(&c->run.r, DT_MISMATCH,
			       "more than %u requests are waiting; the client "
			       "runs with another -c",
			       room);
	}
	c->requests[(c->request_first + c->request_count++) % room] = cr;
	return 0;
}

static int established(struct dtcm *c, struct dtcm_conn *conn,
		       const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;
	int rc;

	dt_samples_add(&c->connects, dt_now_ns() - conn->mark);
	dtcm_set(c, conn, DTCM_UP);
	rc = c->o->ud
		     ? dt_ud_found(&c->run.r, c->run.server, event, &conn->peer)
		     : 0;
	if (rc || c->run.server ||
	    dt_pdata_ok(data->private_data, data->private_data_size,
			DT_PDATA_SERVER))
		return rc;
	return dt_fail(&c->run.r, DT_MISMATCH,
		       "private data of the server is not what dtestcm sends "
		       "(%d bytes)",
		       data->private_data_size);
}

/* The other side ended it, or answered our end of it. */
static int ended(struct dtcm *c, struct dtcm_conn *conn)
{
	bool wanted = conn->state == DTCM_LEAVING;

	if (wanted)
		dt_samples_add(&c->leaves, dt_now_ns() - conn->mark);
	dtcm_set(c, conn, DTCM_DOWN);
	if (wanted || c->run.server)
		return 0;
	return dt_fail(&c->run.r, DT_FAILED,
		       "the server ended a connection that was to last; see "
		       "its messages");
}

static int failed(struct dtcm *c, struct dtcm_conn *conn,
		  DAT_EVENT_NUMBER number)
{
	bool first = !c->states[DTCM_FAILED];
	bool was_up = conn->state == DTCM_UP || conn->state == DTCM_LEAVING;

	dtcm_set(c, conn, DTCM_FAILED);
	if (first && was_up)
		dt_fail(&c->run.r, DT_FAILED, "a connection ended with %s",
			dt_event_name(number));
	else if (first)
		dt_not_connected(&c->run.r, number);
	return 0;
}

static int on_connection(struct dtcm *c, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;
	struct dtcm_conn *conn = conn_of(data->ep_handle);
	const struct dt_ud_numbers *n = &dt_ud_numbers[c->o->ud];
	DAT_EVENT_NUMBER number = event->event_number;

	if (!conn)
		return dt_fail(&c->run.r, DT_FAILED,
			       "%s (0x%x) of an endpoint that is not there",
			       dt_event_name(number), number);
	dt_trace(&c->run.r, "%d: connection %td: %s\n", c->run.r.pid,
		 conn - c->conns, dt_event_name(number));
	if (number == n->established && conn->state == DTCM_ASKED)
		return established(c, conn, event);
	if (number == n->rejected && c->o->reject &&
	    conn->state == DTCM_ASKED) {
		dtcm_set(c, conn, DTCM_REJECTED);
		return 0;
	}
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED &&
	    (conn->state == DTCM_UP || conn->state == DTCM_LEAVING))
		return ended(c, conn);
	return failed(c, conn, number);
}

static int on_event(struct dtcm *c, const DAT_EVENT *event)
{
	if (event->event_number == dt_ud_numbers[c->o->ud].request)
		return take_request(
			c, event->event_data.cr_arrival_event_data.cr_handle);
	return on_connection(c, event);
}

int dtcm_take(struct dtcm *c)
{
	DAT_EVENT event;
	int rc = 0;

	dt_alive();
	while (!rc && dat_evd_dequeue(c->cm_evd, &event) == DAT_SUCCESS)
		rc = on_event(c, &event);
	if (!rc && dt_stopped())
		return dt_wait_fail(&c->run.r, &c->run.w, -EINTR,
				    "the connections");
	return rc;
}

static void show_progress(struct dtcm *c)
{
	dt_progress(&c->run.r, "%u up, %u down, %u failed, of %u",
		    c->states[DTCM_UP], c->states[DTCM_DOWN],
		    c->states[DTCM_FAILED], c->o->count);
}

/* In slices, so that a client that declines is not waited for. */
int dtcm_wait(struct dtcm *c, uint64_t limit_ns, const char *what)
{
	enum dt_wait_mode how = c->o->wait ? DT_WAIT_EVENT : DT_WAIT_POLL;
	uint64_t deadline = dt_deadline(limit_ns), left;
	DAT_EVENT event;
	int rc, bad;

	show_progress(c);
	do {
		left = dt_left_ns(deadline);
		rc = dt_evd_next(&c->run.w, how, c->cm_evd,
				 left < SLICE_NS ? left : SLICE_NS, &event);
		bad = rc == -ETIMEDOUT && !c->met ? dt_run_declined(&c->run)
						  : 0;
		if (bad)
			return bad;
	} while (rc == -ETIMEDOUT && dt_left_ns(deadline));
	if (rc)
		return dt_wait_fail(&c->run.r, &c->run.w, rc, what);
	rc = on_event(c, &event);
	return rc ? rc : dtcm_take(c);
}

static bool all_down(const struct dtcm *c)
{
	return !c->states[DTCM_UP] && !c->states[DTCM_LEAVING];
}

static int check_failed(struct dtcm *c)
{
	if (!c->states[DTCM_FAILED])
		return 0;
	return dt_fail(&c->run.r, DT_FAILED, "%u of %u connections failed",
		       c->states[DTCM_FAILED], c->o->count);
}

int dtcm_wait_down(struct dtcm *c, uint64_t limit_ns)
{
	int rc = 0;

	while (!rc && !all_down(c))
		rc = dtcm_wait(c, limit_ns, "the end of the connections");
	return rc ? rc : check_failed(c);
}

int dtcm_forget(struct dtcm *c)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < c->o->count; i++) {
		struct dtcm_conn *conn = &c->conns[i];

		if (conn->state != DTCM_UP)
			continue;
		rc = dt_ud_forget(&c->run.r, conn->ep, &conn->peer);
		dtcm_set(c, conn, DTCM_DOWN);
	}
	return rc ? rc : check_failed(c);
}

void dtcm_hang_up(struct dtcm *c)
{
	uint64_t deadline = dt_deadline(HANG_UP_NS);
	DAT_EVENT event;
	DAT_COUNT more;

	for (uint32_t i = 0; i < c->o->count; i++) {
		struct dtcm_conn *conn = &c->conns[i];

		dt_alive();
		if (conn->state != DTCM_UP || conn->ep == DAT_HANDLE_NULL)
			continue;
		if (dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG) ==
		    DAT_SUCCESS)
			dtcm_set(c, conn, DTCM_LEAVING);
	}
	while (c->states[DTCM_LEAVING] && dt_left_ns(deadline)) {
		struct dtcm_conn *conn;

		if (dat_evd_wait(
			    c->cm_evd,
			    (DAT_TIMEOUT)(dt_left_ns(deadline) / DT_NS_PER_US),
			    1, &event, &more) != DAT_SUCCESS)
			break;
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			dat_cr_reject(event.event_data.cr_arrival_event_data
					      .cr_handle,
				      0, NULL);
			continue;
		}
		conn = conn_of(event.event_data.connect_event_data.ep_handle);
		if (conn && conn->state == DTCM_LEAVING)
			dtcm_set(c, conn, DTCM_DOWN);
	}
}
