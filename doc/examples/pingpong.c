/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pingpong.c - a message goes to and fro between two programs, by DAT 2.0.
 *
 *	cc -o pingpong pingpong.c -ldat2
 *	./pingpong NAME			the server, which prints its address
 *	./pingpong NAME ADDRESS		the client
 *
 * NAME is an adapter of CMA or SCM, such as ofa-v2-eth0 or ofa-v2-mlx5_0-1s
 * (dat.conf(5)). Read from the bottom up; each call has a page in section 3.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dat2/udat.h>

#define ROUNDS	  1000
#define SIZE	  64
#define QUALIFIER 7471		     /* what a port is to sockets */
#define LIMIT	  (60 * 1000 * 1000) /* of each wait, in microseconds */

struct end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;	  /* what may work together */
	DAT_EVD_HANDLE async_evd; /* the adapter's errors; nobody looks here */
	DAT_EVD_HANDLE conn_evd, send_evd, recv_evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	char out[SIZE];
	char in[SIZE]; /* behind it: one registration is enough */
};

#define MUST(call) must(call, #call)

/* Prints the names of a code, and the reason, which is an addition to DAT. */
static void must(DAT_RETURN ret, const char *call)
{
	const char *major, *minor;

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "%s: %s %s\n%s\n", call, major, minor,
		dat_error_detail());
	exit(1);
}

static void fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static DAT_EVENT await(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_COUNT more;
	DAT_EVENT event;

	MUST(dat_evd_wait(evd, LIMIT, 1, &event, &more));
	if (event.event_number != number)
		fail("another event came than the one that was waited for");
	return event;
}

static void await_transfer(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = await(evd, DAT_DTO_COMPLETION_EVENT);

	if (event.event_data.dto_completion_event_data.status)
		fail("a transfer failed");
}

static DAT_LMR_TRIPLET segment(struct end *e, char *data)
{
	return (DAT_LMR_TRIPLET){.virtual_address = (DAT_VADDR)(uintptr_t)data,
				 .segment_length = SIZE,
				 .lmr_context = e->context};
}

/* A receive has to be there before its message comes. */
static void receive(struct end *e)
{
	DAT_LMR_TRIPLET seg = segment(e, e->in);

	MUST(dat_ep_post_recv(e->ep, 1, &seg, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
}

/* What is sent belongs to the adapter until the send has completed. */
static void transmit(struct end *e)
{
	DAT_LMR_TRIPLET seg = segment(e, e->out);

	MUST(dat_ep_post_send(e->ep, 1, &seg, (DAT_DTO_COOKIE){.as_64 = 2},
			      DAT_COMPLETION_DEFAULT_FLAG));
	await_transfer(e->send_evd);
}

static void open_end(struct end *e, char *name)
{
	DAT_REGION_DESCRIPTION both = {.for_va = e->out};

	MUST(dat_ia_open(name, 8, &e->async_evd, &e->ia));
	MUST(dat_pz_create(e->ia, &e->pz));
	MUST(dat_evd_create(e->ia, 8, DAT_HANDLE_NULL,
			    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &e->conn_evd));
	MUST(dat_evd_create(e->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			    &e->send_evd));
	MUST(dat_evd_create(e->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			    &e->recv_evd));
	MUST(dat_lmr_create(
		e->ia, DAT_MEM_TYPE_VIRTUAL, both, 2 * SIZE, e->pz,
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_VA_TYPE_VA, &e->lmr, &e->context, NULL, NULL, NULL));
	MUST(dat_ep_create(e->ia, e->pz, e->recv_evd, e->send_evd, e->conn_evd,
			   NULL, &e->ep));
	receive(e);
}

static void serve(struct end *e, const char *name)
{
	DAT_IA_ATTR attr;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	char address[64];

	MUST(dat_ia_query(e->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			  NULL));
	if (getnameinfo((struct sockaddr *)attr.ia_address_ptr,
			sizeof(struct sockaddr_in6), address, sizeof(address),
			NULL, 0, NI_NUMERICHOST))
		fail("this adapter has no IP address");
	MUST(dat_psp_create(e->ia, QUALIFIER, e->conn_evd,
			    DAT_PSP_CONSUMER_FLAG, &psp));
	printf("now, on another host: pingpong %s %s\n", name, address);
	fflush(stdout);
	event = await(e->conn_evd, DAT_CONNECTION_REQUEST_EVENT);
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			   e->ep, 0, NULL));
	await(e->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);

	for (int i = 0; i < ROUNDS; i++) {
		await_transfer(e->recv_evd);
		memcpy(e->out, e->in, SIZE);
		receive(e); /* for what the answer lets come */
		transmit(e);
	}
}

static void ask(struct end *e, const char *address)
{
	struct timespec from, to;
	struct addrinfo *found;

	if (getaddrinfo(address, NULL, NULL, &found))
		fail("no such address");
	MUST(dat_ep_connect(e->ep, (DAT_IA_ADDRESS_PTR)found->ai_addr,
			    QUALIFIER, LIMIT, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	freeaddrinfo(found);
	await(e->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(e->out, SIZE, "round %d", i);
		transmit(e);
		await_transfer(e->recv_evd);
		if (memcmp(e->out, e->in, SIZE) != 0)
			fail("something else came back");
		receive(e);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%d rounds, %.1f us each\n", ROUNDS,
	       (to.tv_sec - from.tv_sec) * 1e6 / ROUNDS +
		       (to.tv_nsec - from.tv_nsec) / 1e3 / ROUNDS);
	MUST(dat_ep_disconnect(e->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

int main(int argc, char **argv)
{
	struct end e = {.async_evd = DAT_HANDLE_NULL};

	if (argc < 2 || argc > 3)
		fail("usage: pingpong NAME [ADDRESS]");
	open_end(&e, argv[1]);
	if (argc == 2)
		serve(&e, argv[1]);
	else
		ask(&e, argv[2]);
	await(e.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* abruptly: with all that was made of it */
	MUST(dat_ia_close(e.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
