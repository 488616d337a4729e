/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_counters.c - cases of counters, an extension of 2.0: which there are, what
 * they count, and what starts, stops and resets them.
 *
 * Side b asks side a, as in connections; b's are posts, a's receives. A case
 * that counts transfers asks once before: that turns the counting on.
 * Threads, ownership: conform.h.
 * Rule: IB extension 2.0.9, counters.
 */
#include "test/conform/apart.h"

#include <dat2/dat_ib_extensions.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t count(void *handle, int id)
{
	DAT_UINT64 value = UINT64_MAX;

	EXPECT_OK(dat_ib_query_counters(handle, id, &value, 0));
	EXPECT(value != UINT64_MAX);
	return value;
}

/* What dat_ib_print_counters() writes to standard output. */
static void printed(void *handle, int id, char *text, size_t size)
{
	FILE *f = tmpfile();
	int was = dup(STDOUT_FILENO);
	ssize_t n;

	if (apart_is())
		conf_skip("what is printed does not come over");
	EXPECT(f && was >= 0);
	fflush(stdout);
	EXPECT(dup2(fileno(f), STDOUT_FILENO) >= 0);
	EXPECT_OK(dat_ib_print_counters(handle, id, 0));
	fflush(stdout);
	EXPECT(dup2(was, STDOUT_FILENO) >= 0);
	close(was);
	n = pread(fileno(f), text, size - 1, 0);
	EXPECT(n > 0);
	text[n] = '\0';
	fclose(f);
}

static const char *attribute(const struct conf *c, const char *name)
{
	const DAT_PROVIDER_ATTR *attr = &c->prov_attr;

	for (int i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			return attr->provider_specific_attr[i].value;
	return "";
}

CASE(counters__attribute, "IB extension 2.0.9, DAT_COUNTERS", NEED_IA)
{
	EXPECT(!strcmp(attribute(c, DAT_IB_ATTR_COUNTERS), "TRUE"));
}

/* -------------------------------------------------------- arguments */

CASE(query_counters__what_has_none, "IB extension 2.0.9, counters", NEED_EPS)
{
	DAT_UINT64 value;

	EXPECT_TYPE(dat_ib_query_counters(c->a.pz, 0, &value, 0),
		    DAT_INVALID_HANDLE);
	EXPECT_TYPE(dat_ib_print_counters(c->a.lmr, 0, 0), DAT_INVALID_HANDLE);
	EXPECT_TYPE(dat_ib_start_counter(c->a.ep, DCNT_IA_CM),
		    DAT_INVALID_HANDLE);
	EXPECT_TYPE(dat_ib_stop_counter(c->a.conn_evd, DCNT_IA_CM),
		    DAT_INVALID_HANDLE);
}

CASE(query_counters__numbers, "IB extension 2.0.9, counters", NEED_EPS)
{
	DAT_UINT64 values[DCNT_IA_ALL_COUNTERS];

	BAD_ARG(dat_ib_query_counters(c->a.ia, -1, values, 0), 2);
	BAD_ARG(dat_ib_query_counters(c->a.ia, DCNT_IA_ALL_COUNTERS + 1, values,
				      0),
		2);
	BAD_ARG(dat_ib_query_counters(c->a.ep, DCNT_EP_ALL_COUNTERS + 1, values,
				      0),
		2);
	BAD_ARG(dat_ib_query_counters(c->a.conn_evd, DCNT_EVD_ALL_COUNTERS + 1,
				      values, 0),
		2);
	BAD_ARG(dat_ib_query_counters(c->a.ia, 0, NULL, 0), 3);
	BAD_ARG(dat_ib_print_counters(c->a.ia, -1, 0), 2);
	BAD_ARG(dat_ib_start_counter(c->a.ia, DCNT_IA_DIAG + 1), 2);
	BAD_ARG(dat_ib_stop_counter(c->a.ia, -1), 2);
}

static void check_all(void *handle, int all, bool moves)
{
	DAT_UINT64 values[DCNT_IA_ALL_COUNTERS + 1];

	values[all] = 4711;
	EXPECT_OK(dat_ib_query_counters(handle, all, values, 0));
	EXPECT_EQ(values[all], 4711);
	/* Those of the device go on by themselves. */
	for (int i = 0; i < all && !(moves && i >= DCNT_IA_LNK_ERR_RCV); i++)
		EXPECT_EQ(count(handle, i), values[i]);
}

CASE(query_counters__all, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	check_all(c->a.ia, DCNT_IA_ALL_COUNTERS, true);
	check_all(c->a.ep, DCNT_EP_ALL_COUNTERS, false);
	check_all(c->a.conn_evd, DCNT_EVD_ALL_COUNTERS, false);
}

/* -------------------------------------------------------- transfers */

/* One message of LENGTH bytes from b to a. */
static void message(struct conf *c, size_t length, uint64_t cookie)
{
	conf_post_recv(&c->a, 0, 256, cookie);
	conf_post_send(&c->b, 512, length, cookie);
	conf_dto(c->b.req_evd, cookie, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, cookie, DAT_DTO_SUCCESS);
}

CASE(ep_counters__messages, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	EXPECT_EQ(count(c->a.ep, DCNT_EP_RECV), 0);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND), 0);
	message(c, 100, 1);
	message(c, 28, 2);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_POST_RECV), 2);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_POST_RECV_DATA), 512);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_RECV), 2);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_RECV_DATA), 128);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND), 2);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND_DATA), 128);
	/* Each its own. */
	EXPECT_EQ(count(c->a.ep, DCNT_EP_POST_SEND), 0);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_RECV), 0);
}

CASE(ep_counters__rdma, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET iov[2] = {conf_seg(&c->b, 0, 16),
				  conf_seg(&c->b, 64, 48)};
	DAT_RMR_TRIPLET there = conf_target(&c->a, 0, 64);

	count(c->b.ep, 0);
	conf_need_segments(c, 2);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 2, iov, conf_cookie(1),
					 &there, DAT_COMPLETION_DEFAULT_FLAG));
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
	there = conf_target(&c->a, 0, 16);
	EXPECT_OK(dat_ep_post_rdma_read(c->b.ep, 1, iov, conf_cookie(2), &there,
					DAT_COMPLETION_DEFAULT_FLAG));
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_WRITE), 1);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_WRITE_DATA), 64);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_READ), 1);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_READ_DATA), 16);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND), 0);
}

CASE(ep_counters__immediate, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET iov = conf_seg(&c->b, 0, 32);
	DAT_RMR_TRIPLET there = conf_target(&c->a, 0, 32);
	DAT_EVENT ev;

	if (strcmp(attribute(c, DAT_IB_ATTR_IMMED_DATA), "TRUE"))
		conf_skip("the adapter has no immediate data");
	count(c->a.ep, 0);
	count(c->b.ep, 0);
	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ib_post_rdma_write_immed(c->b.ep, 1, &iov, conf_cookie(2),
					       &there, 77,
					       DAT_COMPLETION_DEFAULT_FLAG));
	ev = conf_event(c->a.recv_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	(void)ev;
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_WRITE_IMM), 1);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_WRITE_IMM_DATA), 32);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_RECV_RDMA_IMM), 1);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_RECV), 0);
}

CASE(ep_counters__atomics, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET iov = conf_seg(&c->b, 0, 8);
	DAT_RMR_TRIPLET there = conf_target(&c->a, 0, 8);

	if (strcmp(attribute(c, DAT_IB_ATTR_FETCH_AND_ADD), "TRUE"))
		conf_skip("the adapter has no atomics");
	count(c->b.ep, 0);
	EXPECT_OK(dat_ib_post_fetch_and_add(c->b.ep, (DAT_UINT64)1, &iov,
					    conf_cookie(1), &there,
					    DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_OK(dat_ib_post_cmp_and_swap(
		c->b.ep, (DAT_UINT64)1, (DAT_UINT64)2, &iov, conf_cookie(2),
		&there, DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_FETCH_ADD), 1);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_CMP_SWAP), 1);
}

/* Another thread asks for it while the endpoint goes. */
static void *ask_for(void *arg)
{
	void *volatile *ep = arg;
	DAT_UINT64 values[DCNT_EP_ALL_COUNTERS];

	for (int i = 0; i < 4000; i++)
		if (*ep)
			dat_ib_query_counters(*ep, DCNT_EP_ALL_COUNTERS, values,
					      0);
	return NULL;
}

CASE(ep_counters__asked_for_while_it_is_freed, "IB extension 2.0.9, counters",
     NEED_BOTH)
{
	void *volatile ep = NULL;
	pthread_t thread;

	if (apart_is())
		conf_skip("threads that do not wait for one another cannot go "
			  "in step");
	count(c->b.ia, 0);
	EXPECT_EQ(pthread_create(&thread, NULL, ask_for, (void *)&ep), 0);
	for (int i = 0; i < 100; i++) {
		ep = conf_ep(&c->b, NULL);
		EXPECT_OK(dat_ep_free(ep));
	}
	EXPECT_EQ(pthread_join(thread, NULL), 0);
}

/* What is refused was not posted. */
CASE(ep_counters__refused, "IB extension 2.0.9, counters", NEED_EPS)
{
	DAT_LMR_TRIPLET iov = conf_seg(&c->b, 0, 8);

	count(c->b.ep, 0);
	EXPECT_TYPE(dat_ep_post_send(c->b.ep, 1, &iov, conf_cookie(1),
				     DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_INVALID_STATE);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND), 0);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND_DATA), 0);
}

CASE(ep_counters__calls, "IB extension 2.0.9, counters", NEED_EPS)
{
	count(c->b.ep, 0);
	conf_connect(c);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_CONNECT), 1);
	EXPECT_EQ(count(c->a.ep, DCNT_EP_CONNECT), 0);
	conf_disconnect(c);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_DISCONNECT) +
			  count(c->a.ep, DCNT_EP_DISCONNECT),
		  1);
}

CASE(query_counters__reset, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	DAT_UINT64 value, values[DCNT_EP_ALL_COUNTERS];

	count(c->b.ep, 0);
	message(c, 8, 1);
	EXPECT_OK(dat_ib_query_counters(c->b.ep, DCNT_EP_POST_SEND, &value, 1));
	EXPECT_EQ(value, 1);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND), 0);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND_DATA), 8);
	message(c, 8, 2);
	EXPECT_OK(dat_ib_query_counters(c->b.ep, DCNT_EP_ALL_COUNTERS, values,
					1));
	EXPECT_EQ(values[DCNT_EP_POST_SEND], 1);
	EXPECT_EQ(values[DCNT_EP_POST_SEND_DATA], 16);
	EXPECT_EQ(count(c->b.ep, DCNT_EP_POST_SEND_DATA), 0);
	/* Of an adapter, too; and it counts on. */
	EXPECT_OK(dat_ib_query_counters(c->b.ia, DCNT_IA_PZ_CREATE, &value, 1));
	EXPECT_EQ(value, 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_PZ_CREATE), 0);
}

/* A new endpoint has counted nothing, though its memory be an old one's. */
CASE(ep_counters__new_endpoint, "IB extension 2.0.9, counters", NEED_CONNECTED)
{
	count(c->b.ep, 0);
	message(c, 8, 1);
	for (int i = 0; i < 40; i++) {
		DAT_EP_HANDLE ep = conf_ep(&c->b, NULL);
		DAT_LMR_TRIPLET iov = conf_seg(&c->b, 0, 8);

		EXPECT_EQ(count(ep, DCNT_EP_POST_RECV), 0);
		EXPECT_OK(dat_ep_post_recv(ep, 1, &iov, conf_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		EXPECT_EQ(count(ep, DCNT_EP_POST_RECV), 1);
		EXPECT_OK(dat_ep_free(ep));
		EXPECT_TYPE(dat_ib_query_counters(ep, 0, &(DAT_UINT64){0}, 0),
			    DAT_INVALID_HANDLE);
	}
}

/* ------------------------------------------------------------- EVDs */

CASE(evd_counters__dequeue, "IB extension 2.0.9, counters", NEED_IA)
{
	DAT_EVD_HANDLE evd = conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT ev;

	count(evd, 0);
	EXPECT_TYPE(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	EXPECT_OK(conf_post_se(evd, &ev));
	EXPECT_OK(dat_evd_dequeue(evd, &ev));
	EXPECT_TYPE(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	EXPECT_EQ(count(evd, DCNT_EVD_DEQUEUE), 3);
	EXPECT_EQ(count(evd, DCNT_EVD_DEQUEUE_FOUND), 1);
	EXPECT_EQ(count(evd, DCNT_EVD_DEQUEUE_NOT_FOUND), 2);
	EXPECT_EQ(count(evd, DCNT_EVD_DEQUEUE_POLL), 0);
	EXPECT_EQ(count(evd, DCNT_EVD_WAIT), 0);
}

CASE(evd_counters__wait, "IB extension 2.0.9, counters", NEED_IA)
{
	DAT_EVD_HANDLE evd = conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT more;
	DAT_EVENT ev;

	count(evd, 0);
	EXPECT_OK(conf_post_se(evd, &ev));
	EXPECT_OK(dat_evd_wait(evd, CONF_PATIENCE, 1, &ev, &more));
	EXPECT_EQ(count(evd, DCNT_EVD_WAIT), 1);
	EXPECT_EQ(count(evd, DCNT_EVD_WAIT_BLOCKED), 0);
	EXPECT_TYPE(dat_evd_wait(evd, 1000, 1, &ev, &more),
		    DAT_TIMEOUT_EXPIRED);
	/* Refused: that was no wait. */
	BAD_ARG(dat_evd_wait(evd, 0, 0, &ev, &more), 3);
	EXPECT_EQ(count(evd, DCNT_EVD_WAIT), 2);
	EXPECT_EQ(count(evd, DCNT_EVD_WAIT_BLOCKED), 1);
	EXPECT_EQ(count(evd, DCNT_EVD_WAIT_NOTIFY), 0);
}

CASE(evd_counters__connections, "IB extension 2.0.9, counters", NEED_EPS)
{
	count(c->b.conn_evd, 0);
	count(c->a.cr_evd, 0);
	conf_connect(c);
	EXPECT_EQ(count(c->b.conn_evd, DCNT_EVD_CONN_CALLBACK), 1);
	EXPECT_EQ(count(c->a.cr_evd, DCNT_EVD_CONN_CALLBACK), 1);
}

/* --------------------------------------------------------- adapters */

static void check_object(DAT_IA_HANDLE ia, int made, int freed, int n_made,
			 int n_freed)
{
	EXPECT_EQ(count(ia, made), n_made);
	EXPECT_EQ(count(ia, freed), n_freed);
}

CASE(ia_counters__objects, "IB extension 2.0.9, counters", NEED_BOTH)
{
	DAT_UINT64 before[DCNT_IA_ALL_COUNTERS];
	DAT_IA_HANDLE ia = c->a.ia;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	EXPECT_OK(dat_ib_query_counters(ia, DCNT_IA_ALL_COUNTERS, before, 1));
	EXPECT(before[DCNT_IA_EVD_CREATE] >= 5);
	EXPECT_EQ(before[DCNT_IA_PZ_CREATE], 1);
	EXPECT_EQ(before[DCNT_IA_LMR_CREATE], 1);
	EXPECT_EQ(before[DCNT_IA_PZ_FREE], 0);
	EXPECT_OK(dat_pz_create(ia, &pz));
	check_object(ia, DCNT_IA_PZ_CREATE, DCNT_IA_PZ_FREE, 1, 0);
	EXPECT_OK(dat_pz_free(pz));
	check_object(ia, DCNT_IA_PZ_CREATE, DCNT_IA_PZ_FREE, 1, 1);
	ep = conf_ep(&c->a, NULL);
	EXPECT_OK(dat_ep_free(ep));
	check_object(ia, DCNT_IA_EP_CREATE, DCNT_IA_EP_FREE, 1, 1);
	evd = conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG);
	EXPECT_OK(dat_evd_free(evd));
	check_object(ia, DCNT_IA_EVD_CREATE, DCNT_IA_EVD_FREE, 1, 1);
	psp = conf_listen(c);
	/* It is taken. */
	EXPECT_TYPE(dat_psp_create(ia, c->qual, c->a.cr_evd,
				   DAT_PSP_CONSUMER_FLAG, &(DAT_PSP_HANDLE){0}),
		    DAT_CONN_QUAL_IN_USE);
	EXPECT_OK(dat_psp_free(psp));
	check_object(ia, DCNT_IA_PSP_CREATE, DCNT_IA_PSP_FREE, 1, 1);
	EXPECT_EQ(count(ia, DCNT_IA_CM_LISTEN), 1);
	EXPECT_OK(dat_psp_create_any(ia, &qual, c->a.cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_EQ(count(ia, DCNT_IA_PSP_CREATE_ANY), 1);
	EXPECT_OK(dat_psp_free(psp));
	check_object(ia, DCNT_IA_PSP_CREATE, DCNT_IA_PSP_FREE, 2, 2);
}

CASE(ia_counters__accepted, "IB extension 2.0.9, counters", NEED_EPS)
{
	conf_connect(c);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_SP_CR), 1);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_SP_CR_ACCEPTED), 1);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_CM_REQ_RX), 1);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_CM_REP_TX), 1);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_CM_PASSIVE_EST), 1);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_CM_ACTIVE_EST), 0);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_REQ_TX), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_REP_RX), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_ACTIVE_EST), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_PASSIVE_EST), 0);
	conf_disconnect(c);
	/* On iWARP the end of the queue pair may have told the peer before. */
	EXPECT(count(c->b.ia, DCNT_IA_CM_DREQ_TX) +
		       count(c->b.ia, DCNT_IA_CM_DREQ_RX) >=
	       1);
}

CASE(ia_counters__rejected, "IB extension 2.0.9, counters", NEED_EPS)
{
	EXPECT_OK(dat_cr_reject(conf_meet(c), 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_SP_CR_REJECTED), 1);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_CM_USER_REJ_TX), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_USER_REJ_RX), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_ACTIVE_EST), 0);
}

CASE(ia_counters__refused, "IB extension 2.0.9, counters", NEED_EPS)
{
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_ERR_REFUSED), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_USER_REJ_RX), 0);
}

CASE(start_counter__and_stop, "IB extension 2.0.9, counters", NEED_EPS)
{
	DAT_UINT64 value;

	EXPECT_OK(dat_ib_stop_counter(c->b.ia, DCNT_IA_CM));
	EXPECT_OK(dat_ib_stop_counter(c->b.ia, DCNT_IA_CM));
	conf_connect(c);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_REQ_TX), 0);
	EXPECT_EQ(count(c->a.ia, DCNT_IA_CM_REQ_RX), 1);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_EP_CREATE), 1);
	EXPECT_OK(dat_ib_start_counter(c->b.ia, DCNT_IA_CM));
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_REQ_TX), 0);
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_DREQ_TX) +
			  count(c->b.ia, DCNT_IA_CM_DREQ_RX),
		  0);
	conf_disconnect(c);
	EXPECT(count(c->b.ia, DCNT_IA_CM_DREQ_TX) +
		       count(c->b.ia, DCNT_IA_CM_DREQ_RX) >=
	       1);
	EXPECT_OK(dat_ib_stop_counter(c->b.ia, DCNT_IA_CM));
	EXPECT_OK(dat_ib_query_counters(c->b.ia, DCNT_IA_CM_ACTIVE_EST, &value,
					1));
	EXPECT_EQ(count(c->b.ia, DCNT_IA_CM_ACTIVE_EST), 0);
	for (int group = DCNT_IA_CM; group <= DCNT_IA_DIAG; group++)
		EXPECT_OK(dat_ib_start_counter(c->b.ia, group));
}

/* What is reset at once, with the times of connects, which are only printed. */
CASE(query_counters__reset_of_all, "IB extension 2.0.9, counters",
     NEED_CONNECTED)
{
	DAT_UINT64 values[DCNT_IA_ALL_COUNTERS];
	char text[8192];

	printed(c->b.ia, DCNT_IA_ALL_COUNTERS, text, sizeof(text));
	EXPECT(strstr(text, "connect: 1 in "));
	EXPECT_OK(dat_ib_query_counters(c->b.ia, DCNT_IA_ALL_COUNTERS, values,
					1));
	printed(c->b.ia, DCNT_IA_ALL_COUNTERS, text, sizeof(text));
	EXPECT(!strstr(text, "connect: "));
	EXPECT(!strstr(text, "cm_active_est"));
}

/* ------------------------------------------------------------ print */

CASE(print_counters__what_is_not_0, "IB extension 2.0.9, counters",
     NEED_CONNECTED)
{
	char text[8192];

	count(c->b.ep, 0);
	message(c, 8, 1);
	printed(c->b.ep, DCNT_EP_ALL_COUNTERS, text, sizeof(text));
	EXPECT(strstr(text, c->name));
	EXPECT(strstr(text, "post_send "));
	EXPECT(strstr(text, "post_send_data "));
	EXPECT(!strstr(text, "post_write"));
	printed(c->b.ep, DCNT_EP_POST_SEND, text, sizeof(text));
	EXPECT(strstr(text, "post_send "));
	EXPECT(!strstr(text, "post_send_data"));
	printed(c->b.ia, DCNT_IA_ALL_COUNTERS, text, sizeof(text));
	EXPECT(strstr(text, "cm_active_est"));
	EXPECT(strstr(text, "connect: 1 in "));
	printed(c->b.req_evd, DCNT_EVD_ALL_COUNTERS, text, sizeof(text));
	EXPECT(strstr(text, c->name));
}
