/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connect.c - how the two sides of dtestsrq connect and leave each other.
 *
 * Threads: one. Ownership: see dtestsrq.h.
 * Rule: each request carries the number of its endpoint, and the server takes
 * the endpoint of that number. A client may come by the rendezvous or, as the
 * historic one does, without; the server looks for both. Datagram endpoints
 * find one another the same way; a client has one of them, whose peers the
 * echoed number tells apart.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestsrq/dtestsrq.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* Between two looks at the rendezvous. */
#define SLICE_NS   (50 * DT_NS_PER_MS)
#define HANG_UP_NS DT_NS_PER_S

bool dsrq_shares_ep(const struct dsrq *d)
{
	return d->o->ud && !d->run.server;
}

int dsrq_index(struct dsrq *d, DAT_EP_HANDLE ep)
{
	for (uint32_t i = 0; i < d->o->count; i++)
		if (d->eps[i].ep == ep)
			return (int)i;
	return -1;
}

/* Server without a client yet: the rendezvous is looked after meanwhile. */
static int look_after_others(struct dsrq *d)
{
	struct dt_oob_params params = dsrq_params(d->o, d->size);
	int rc = dt_run_declined(&d->run);

	return rc ? rc : dt_run_try_answer(&d->run, &params);
}

static int next(struct dsrq *d, const char *what, DAT_EVENT *event)
{
	uint64_t deadline = dt_deadline(d->run.limit_ns), left;
	int rc, bad = 0;

	do {
		left = dt_left_ns(deadline);
		if (d->run.server && !d->met && left > SLICE_NS)
			left = SLICE_NS;
		rc = dt_evd_next(&d->run.w, d->run.w.mode, d->cm_evd, left,
				 event);
		if (rc == -ETIMEDOUT && d->run.server && !d->met)
			bad = look_after_others(d);
	} while (!bad && rc == -ETIMEDOUT && dt_left_ns(deadline));
	if (bad)
		return bad;
	d->met = true;
	return rc ? dt_wait_fail(&d->run.r, &d->run.w, rc, what) : 0;
}

/* Returns the number that the request asks for, or -1. */
static int wanted_ep(struct dsrq *d, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param = {.private_data = NULL};
	uint32_t index;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS ||
	    !param.private_data ||
	    param.private_data_size < (DAT_COUNT)sizeof(index))
		return -1;
	memcpy(&index, param.private_data, sizeof(index));
	index = be32toh(index);
	return index < d->o->count && !d->eps[index].asked ? (int)index : -1;
}

static int on_request(struct dsrq *d, DAT_CR_HANDLE cr)
{
	int index = wanted_ep(d, cr);
	uint32_t pdata = htobe32((uint32_t)index);
	DAT_RETURN ret;

	if (index < 0) {
		dat_cr_reject(cr, 0, NULL);
		return dt_fail(&d->run.r, DT_MISMATCH,
			       "a request names no endpoint that is free; "
			       "rejected. Same -c on both sides?");
	}
	d->eps[index].asked = true;
	ret = dat_cr_accept(cr, d->eps[index].ep, sizeof(pdata), &pdata);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_cr_accept",
				   NULL);
	return 0;
}

/* The number that the server echoes, or -1. */
static int echo_of(const struct dsrq *d, const DAT_CONNECTION_EVENT_DATA *data)
{
	uint32_t number;

	if (!data->private_data ||
	    data->private_data_size < (DAT_COUNT)sizeof(number))
		return -1;
	memcpy(&number, data->private_data, sizeof(number));
	number = be32toh(number);
	return number < d->o->count ? (int)number : -1;
}

static int on_established(struct dsrq *d, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;
	int index = dsrq_shares_ep(d) ? echo_of(d, data)
				      : dsrq_index(d, data->ep_handle);
	int rc;

	if (index < 0 || d->eps[index].up)
		return dt_fail(&d->run.r, DT_FAILED,
			       "an endpoint that did not ask is connected");
	d->eps[index].up = true;
	d->up++;
	dt_trace(&d->run.r, "%d: endpoint %d is connected\n", d->run.r.pid,
		 index);
	rc = d->o->ud ? dt_ud_found(&d->run.r, d->run.server, event,
				    &d->eps[index].peer)
		      : 0;
	if (rc || d->run.server || echo_of(d, data) == index)
		return rc;
	return dt_fail(&d->run.r, DT_MISMATCH,
		       "private data of the server is not what dtestsrq sends "
		       "(%d bytes)",
		       data->private_data_size);
}

static int on_event(struct dsrq *d, const DAT_EVENT *event)
{
	const struct dt_ud_numbers *n = &dt_ud_numbers[d->o->ud];

	if (event->event_number == n->request)
		return on_request(
			d, event->event_data.cr_arrival_event_data.cr_handle);
	if (event->event_number == n->established)
		return on_established(d, event);
	return dt_not_connected(&d->run.r, event->event_number);
}

static int listen_here(struct dsrq *d)
{
	DAT_RETURN ret;

	ret = dat_psp_create(d->run.ia, d->run.o->port, d->cm_evd,
			     DAT_PSP_CONSUMER_FLAG, &d->psp);
	if (ret != DAT_SUCCESS) {
		d->psp = DAT_HANDLE_NULL;
		return dt_run_failed(&d->run, ret, "dat_psp_create",
				     "another server may run, see --port");
	}
	dt_say(&d->run.r, "%d Local address %s\n", d->run.r.pid,
	       dt_address_show((struct sockaddr *)&d->run.local).s);
	dt_say(&d->run.r, "%d Server ready on port %u\n", d->run.r.pid,
	       d->run.o->port);
	return dt_run_listen(&d->run);
}

static int call(struct dsrq *d, uint32_t index)
{
	uint64_t limit = DT_RUN_CONNECT_S * DT_NS_PER_S;
	uint32_t pdata = htobe32(index);
	DAT_RETURN ret;

	if (d->run.limit_ns < limit)
		limit = d->run.limit_ns;
	d->eps[index].asked = true;
	ret = dat_ep_connect(d->eps[index].ep,
			     (DAT_IA_ADDRESS_PTR)&d->run.remote, d->run.o->port,
			     (DAT_TIMEOUT)(limit / DT_NS_PER_US), sizeof(pdata),
			     &pdata, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_ep_connect",
				   NULL);
	return 0;
}

static int begin(struct dsrq *d)
{
	int rc = 0;

	if (d->run.server)
		return listen_here(d);
	dt_say(&d->run.r, "%d Server address: %s port %u\n", d->run.r.pid,
	       dt_address_show((struct sockaddr *)&d->run.remote).s,
	       d->run.o->port);
	for (uint32_t i = 0; !rc && i < d->o->count; i++)
		rc = call(d, i);
	return rc;
}

int dsrq_connect(struct dsrq *d)
{
	DAT_EVENT event;
	int rc = begin(d);

	while (!rc && d->up < d->o->count) {
		rc = next(d, d->run.server ? "a client" : "the connections",
			  &event);
		if (!rc)
			rc = on_event(d, &event);
	}
	if (!rc)
		dt_say(&d->run.r, "%d ALL %u CONNECTED\n", d->run.r.pid, d->up);
	return rc;
}

static int wait_one_down(struct dsrq *d)
{
	DAT_EVENT event;
	int index, rc;

	rc = next(d, "the end of the connections", &event);
	if (rc)
		return rc;
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		return dt_fail(&d->run.r, DT_FAILED,
			       "disconnect: got %s (0x%x) instead of "
			       "DAT_CONNECTION_EVENT_DISCONNECTED",
			       dt_event_name(event.event_number),
			       event.event_number);
	index = dsrq_index(d, event.event_data.connect_event_data.ep_handle);
	if (index < 0 || !d->eps[index].up)
		return dt_fail(&d->run.r, DT_FAILED,
			       "an endpoint that was not connected ended");
	d->eps[index].up = false;
	d->up--;
	return 0;
}

static int forget_all(struct dsrq *d)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < d->o->count; i++)
		rc = dt_ud_forget(&d->run.r, d->eps[i].ep, &d->eps[i].peer);
	return rc;
}

/*
 * The client ends one after the other, the server waits. Datagram endpoints
 * have nothing to end.
 */
int dsrq_disconnect(struct dsrq *d)
{
	int rc = 0;

	if (d->o->ud)
		return forget_all(d);
	for (uint32_t i = 0; !rc && i < d->o->count; i++) {
		DAT_RETURN ret = DAT_SUCCESS;

		if (!d->run.server)
			ret = dat_ep_disconnect(d->eps[i].ep,
						DAT_CLOSE_DEFAULT);
		if (ret != DAT_SUCCESS)
			return dt_dat_fail(&d->run.r, DT_FAILED, ret,
					   "dat_ep_disconnect", NULL);
		rc = wait_one_down(d);
	}
	return rc;
}

void dsrq_hang_up(struct dsrq *d)
{
	uint64_t deadline = dt_deadline(HANG_UP_NS);
	uint32_t leaving = 0;
	DAT_EVENT event;
	DAT_COUNT more;

	if (d->o->ud)
		return;
	for (uint32_t i = 0; i < d->o->count; i++)
		if (d->eps[i].up &&
		    dat_ep_disconnect(d->eps[i].ep, DAT_CLOSE_ABRUPT_FLAG) ==
			    DAT_SUCCESS)
			leaving++;
	while (leaving && dt_left_ns(deadline)) {
		if (dat_evd_wait(
			    d->cm_evd,
			    (DAT_TIMEOUT)(dt_left_ns(deadline) / DT_NS_PER_US),
			    1, &event, &more) != DAT_SUCCESS)
			break;
		leaving--;
	}
}
