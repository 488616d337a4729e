/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * server.c - the server under attack, an ordinary one: one thread and one EVD,
 * an endpoint for each request that it takes, and an echo.
 *
 * It never waits for a peer. A guest has to leave when another comes; how an
 * honest connection ends but by a disconnect ends the program.
 * Its thread owns all that is in it but the counters.
 */
#include <pthread.h>
#include <string.h>

#include "test/hostile/hostile.h"

#define SLOTS	  16
#define GUESTS	  8 /* of these */
#define REQUESTS  4096
#define LOOK_US	  50000 /* is it to stop? */
#define COOKIE(i) ((DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)(i)})

struct slot {
	DAT_EP_HANDLE ep;	/* or none */
	bool honest, up, heard; /* the data may come first */
	uint8_t received[BYTES], sent[BYTES];
};

static struct {
	struct server *s;
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	struct slot slots[SLOTS];
	unsigned next_guest;
} v;

static DAT_LMR_TRIPLET triplet(const void *p)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)p,
		.segment_length = BYTES,
		.lmr_context = v.context,
	};
}

static struct slot *slot_of(DAT_EP_HANDLE ep)
{
	for (int i = 0; i < SLOTS; i++)
		if (v.slots[i].ep == ep)
			return &v.slots[i];
	return NULL;
}

/* Guests have the first ones. NULL: the one whose turn it is has yet to go. */
static struct slot *slot_for(bool honest)
{
	struct slot *slot;

	if (!honest) {
		slot = &v.slots[v.next_guest++ % GUESTS];
		if (slot->ep == DAT_HANDLE_NULL)
			return slot;
		dat_ep_disconnect(slot->ep, DAT_CLOSE_ABRUPT_FLAG);
		return NULL;
	}
	for (int i = GUESTS; i < SLOTS; i++)
		if (v.slots[i].ep == DAT_HANDLE_NULL)
			return &v.slots[i];
	bench_die("more honest connections than there are clients");
}

static void take(struct slot *slot, bool honest, DAT_CR_HANDLE cr)
{
	DAT_LMR_TRIPLET iov = triplet(slot->received);
	DAT_RETURN ret;

	slot->ep = bench_ep(&v.s->ia, v.evd, v.evd, 2, 2, BYTES);
	slot->honest = honest;
	slot->up = slot->heard = false;
	bench_need(dat_ep_post_recv(slot->ep, 1, &iov, COOKIE(slot - v.slots),
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
	ret = dat_cr_accept(cr, slot->ep, 0, NULL);
	if (honest)
		bench_need(ret, "dat_cr_accept");
	if (ret == DAT_SUCCESS)
		return;
	dat_ep_free(slot->ep);
	slot->ep = DAT_HANDLE_NULL;
}

static void on_request(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	struct slot *slot = NULL;
	bool honest, guest;

	bench_need(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	honest = param.private_data_size >= PDATA &&
		 !memcmp(param.private_data, HONEST, WHO);
	guest = param.private_data_size >= PDATA &&
		!memcmp(param.private_data, GUEST, WHO);
	if (honest || guest)
		slot = slot_for(honest);
	if (slot) {
		take(slot, honest, cr);
		++*(honest ? &v.s->honest : &v.s->guests);
	} else {
		/* It may have gone meanwhile. */
		dat_cr_reject(cr, 0, NULL);
		v.s->rejected++;
	}
}

static void on_end(DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	struct slot *slot = slot_of(ep);

	if (!slot)
		return;
	if (slot->honest && number != DAT_CONNECTION_EVENT_DISCONNECTED)
		bench_die("an honest connection ends by event 0x%x",
			  (unsigned int)number);
	dat_ep_free(slot->ep);
	slot->ep = DAT_HANDLE_NULL;
}

static void echo(struct slot *slot)
{
	DAT_LMR_TRIPLET iov = triplet(slot->sent);

	if (!slot->up || !slot->heard)
		return;
	memcpy(slot->sent, slot->received, BYTES);
	bench_need(dat_ep_post_send(slot->ep, 1, &iov, COOKIE(SLOTS),
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
}

static void on_established(DAT_EP_HANDLE ep)
{
	struct slot *slot = slot_of(ep);

	if (!slot)
		return;
	slot->up = true;
	echo(slot);
}

static void on_transfer(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct slot *slot = slot_of(dto->ep_handle);

	if (!slot || dto->status != DAT_DTO_SUCCESS ||
	    dto->user_cookie.as_64 >= SLOTS)
		return;
	slot->heard = true;
	echo(slot);
}

static void on_event(const DAT_EVENT *ev)
{
	switch (ev->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		on_request(ev->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		on_established(ev->event_data.connect_event_data.ep_handle);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		on_transfer(&ev->event_data.dto_completion_event_data);
		break;
	default:
		on_end(ev->event_data.connect_event_data.ep_handle,
		       ev->event_number);
	}
}

static void *serve(void *arg)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	(void)arg;
	while (!v.s->stop)
		if (dat_evd_wait(v.evd, LOOK_US, 1, &ev, &more) == DAT_SUCCESS)
			on_event(&ev);
	return NULL;
}

void server_start(struct server *s, const char *ia, DAT_CONN_QUAL qual)
{
	DAT_REGION_DESCRIPTION region = {.for_va = v.slots};
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN size;
	DAT_VADDR address;

	v.s = s;
	s->qual = qual;
	bench_ia_open(&s->ia, ia, 8);
	bench_need(dat_evd_create(s->ia.ia, REQUESTS, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
					  DAT_EVD_DTO_FLAG,
				  &v.evd),
		   "dat_evd_create");
	/* For bench_ep() and bench_listen(): there is one queue for all. */
	s->ia.cr = s->ia.conn = v.evd;
	bench_need(dat_lmr_create(s->ia.ia, DAT_MEM_TYPE_VIRTUAL, region,
				  sizeof(v.slots), s->ia.pz,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG |
					  DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				  DAT_VA_TYPE_VA, &v.lmr, &v.context, &rmr,
				  &size, &address),
		   "dat_lmr_create");
	v.psp = bench_listen(&s->ia, qual);
	if (pthread_create(&v.thread, NULL, serve, NULL))
		bench_die("no thread");
}

void server_stop(struct server *s)
{
	s->stop = true;
	pthread_join(v.thread, NULL);
	bench_ia_close(&s->ia);
}
