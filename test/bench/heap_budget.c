/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap_budget.c - how many bytes of heap the libraries take: for an open
 * adapter, and for an endpoint that is connected.
 *
 * On the fake device, which is part of this program and so counts with it and
 * not with the libraries (heap.h). Endpoints come in pairs of one adapter,
 * each with 16 requests and 16 receives; those of before have filled what is
 * kept for later, and the EVD's ring is as large as all of them need: that is
 * the EVD's, 32 events for each endpoint, and grows by doubling.
 *
 * Arguments: the adapter's name in dat.conf, and the kind of device.
 * Output: "adapter BYTES" and "endpoint BYTES". Exit code 77: the allocator is
 * a sanitizer's, or locks are larger, as they are where they are watched.
 */
#include "config.h"

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/heap.h"
#include "test/device.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	defined(DAPL_DEBUG) || defined(DAPL_PTHREAD_LOCKS)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WATCHED 1
#endif
#endif

#define PATIENCE 60000000
#define QUAL	 25300
#define DTOS	 16
#define WARM_UP	 66
#define PAIRS	 60

#ifndef WATCHED

/* -------------------------------------------------------- connections */

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE conn, dto;
	DAT_PSP_HANDLE psp;
	DAT_IA_ADDRESS_PTR addr;
} d;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "heap_budget: %s\n", what);
	exit(1);
}

#define NEED(call) need((call) == DAT_SUCCESS, #call)

static void adapter_open(char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	static DAT_IA_ATTR attr;

	NEED(dat_ia_open(name, 8, &async, &d.ia));
	NEED(dat_ia_query(d.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	d.addr = attr.ia_address_ptr;
}

static void queues_make(int endpoints)
{
	NEED(dat_pz_create(d.ia, &d.pz));
	NEED(dat_evd_create(d.ia, 64, DAT_HANDLE_NULL,
			    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &d.conn));
	NEED(dat_evd_create(d.ia, endpoints * 2 * DTOS, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG, &d.dto));
	NEED(dat_psp_create(d.ia, QUAL, d.conn, DAT_PSP_CONSUMER_FLAG, &d.psp));
}

static DAT_EVENT event_of(DAT_EVENT_NUMBER number)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	NEED(dat_evd_wait(d.conn, PATIENCE, 1, &ev, &more));
	need(ev.event_number == number, "another event than expected");
	return ev;
}

static DAT_EP_HANDLE endpoint_make(void)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_mtu_size = 4096;
	attr.max_rdma_size = 65536;
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.max_recv_dtos = DTOS;
	attr.max_request_dtos = DTOS;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	NEED(dat_ep_create(d.ia, d.pz, d.dto, d.dto, d.conn, &attr, &ep));
	return ep;
}

static void pair_make(void)
{
	DAT_EP_HANDLE from = endpoint_make(), to = endpoint_make();
	DAT_EVENT ev;

	NEED(dat_ep_connect(from, d.addr, QUAL, PATIENCE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ev = event_of(DAT_CONNECTION_REQUEST_EVENT);
	NEED(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, to, 0,
			   NULL));
	event_of(DAT_CONNECTION_EVENT_ESTABLISHED);
	event_of(DAT_CONNECTION_EVENT_ESTABLISHED);
}

static long bytes(void)
{
	return (long)heap_now().ours;
}

int main(int argc, char **argv)
{
	long before;
	int i;

	need(argc == 3, "usage: heap_budget ADAPTER KIND");
	need(device_make(argv[2]), "no such device");
	/* What is once in a process is no adapter's. */
	adapter_open(argv[1]);
	NEED(dat_ia_close(d.ia, DAT_CLOSE_ABRUPT_FLAG));
	before = bytes();
	adapter_open(argv[1]);
	printf("adapter %ld\n", bytes() - before);
	queues_make(2 * (WARM_UP + PAIRS));
	for (i = 0; i < WARM_UP; i++)
		pair_make();
	before = bytes();
	for (i = 0; i < PAIRS; i++)
		pair_make();
	printf("endpoint %ld\n", (bytes() - before) / (2 * PAIRS));
	fflush(stdout);
	_Exit(0);
}

#else

int main(void)
{
	return 77;
}

#endif
