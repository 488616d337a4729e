/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * datagram.c - what is different where the ends of a test are datagram
 * endpoints (UD).
 *
 * Threads, ownership, rule: see datagram.h.
 */
#include "test/dapltest/datagram.h"

static const DAT_IB_EXTENSION_EVENT_DATA *extension(const DAT_EVENT *event)
{
	return (const void *)event->event_extension_data;
}

void dpt_ud_attr(DAT_EP_ATTR *attr)
{
	attr->service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr->max_rdma_size = 0;
	attr->max_rdma_read_in = attr->max_rdma_read_out = 0;
	attr->max_rdma_read_iov = attr->max_rdma_write_iov = 0;
	attr->max_recv_iov++; /* for what is in front */
}

void dpt_ud_as_plain(DAT_EVENT *event)
{
	const struct dt_ud_numbers *plain = &dt_ud_numbers[0];
	const struct dt_ud_numbers *ud = &dt_ud_numbers[1];

	if (event->event_number == ud->request)
		event->event_number = plain->request;
	else if (event->event_number == ud->established)
		event->event_number = plain->established;
	else if (event->event_number == ud->rejected)
		event->event_number = plain->rejected;
	if (event->event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		return;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	if (extension(event)->type == DAT_IB_UD_RECV)
		event->event_data.dto_completion_event_data.transfered_length -=
			DT_UD_GRH;
}

int dpt_ud_found(struct dpt *d, struct dpt_end *e, const DAT_EVENT *event)
{
	return dt_ud_found(&d->r, e->requested, event, &e->peer);
}

int dpt_ud_forget(struct dpt *d, struct dpt_end *e)
{
	return dt_ud_forget(&d->r, e->ep, &e->peer);
}

DAT_RETURN dpt_ud_post_send(struct dpt_end *e, DAT_COUNT segs,
			    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	return dat_ib_post_send_ud(e->ep, segs, iov, &e->peer.to, cookie,
				   DAT_COMPLETION_DEFAULT_FLAG);
}
