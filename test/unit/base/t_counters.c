/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_counters.c - counters: what the device counts in files of the kernel, what
 * is printed, and that printing is as asked for.
 *
 * What calls count is conform/c_counters.c. Threads: one, but where counters
 * are read while another counts. Rules: doc/dapl-counters.7; the files of
 * drivers as Linux has them.
 */
#include "test/unit/kit.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/plugin/dapl_calls.h"

/* ----------------------------------------------- of the device */

static char root[64];

static void counter_write(const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/ports/1/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The device of IA has its files in ROOT, and none yet. */
static void device_begin(struct dapl_ia *ia)
{
	strcpy(root, "/tmp/t_counters.XXXXXX");
	assert_non_null(mkdtemp(root));
	folder("ports");
	folder("ports/1");
	folder("ports/1/counters");
	folder("ports/1/hw_counters");
	snprintf(ia->dev.ctx->device->ibdev_path,
		 sizeof(ia->dev.ctx->device->ibdev_path), "%s", root);
}

static void device_end(struct dapl_ia *ia)
{
	static const char *const names[] = {
		"ports/1/counters/port_rcv_errors",
		"ports/1/hw_counters/out_of_seq_request",
		"ports/1/counters",
		"ports/1/hw_counters",
		"ports/1",
		"ports",
		"",
	};
	char path[256];

	ia->dev.ctx->device->ibdev_path[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		remove(path);
	}
}

static uint64_t query(struct dapl_ia *ia, int id, bool reset)
{
	uint64_t value = UINT64_MAX;

	dapl_ia_counters(ia, id, &value, reset);
	return value;
}

ON_IB(device__counts_in_files)
{
	struct dapl_ia *ia = (struct dapl_ia *)s->ia;

	device_begin(ia);
	/* There are none, as with most devices. */
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 0);
	counter_write("counters/port_rcv_errors", "7\n");
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 7);
	/* As one driver calls it. */
	counter_write("hw_counters/out_of_seq_request",
		      "18446744073709551615\n");
	assert_true(query(ia, DCNT_IA_DIAG_ERR_RQ_OOS, false) == UINT64_MAX);
	counter_write("hw_counters/out_of_seq_request", "none\n");
	assert_int_equal(query(ia, DCNT_IA_DIAG_ERR_RQ_OOS, false), 0);
	counter_write("hw_counters/out_of_seq_request", "");
	assert_int_equal(query(ia, DCNT_IA_DIAG_ERR_RQ_OOS, false), 0);
	device_end(ia);
}

ON_IB(device__is_counted_from_a_reset_on)
{
	struct dapl_ia *ia = (struct dapl_ia *)s->ia;

	device_begin(ia);
	counter_write("counters/port_rcv_errors", "7\n");
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, true), 7);
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 0);
	counter_write("counters/port_rcv_errors", "9\n");
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 2);
	/* Somebody else has cleared it. */
	counter_write("counters/port_rcv_errors", "1\n");
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 1);
	device_end(ia);
}

ON_IB(device__stopped_and_started)
{
	struct dapl_ia *ia = (struct dapl_ia *)s->ia;

	device_begin(ia);
	counter_write("counters/port_rcv_errors", "7\n");
	query(ia, DCNT_IA_LNK_ERR_RCV, true);
	counter_write("counters/port_rcv_errors", "10\n");
	dapl_ia_counters_stopped(ia, DCNT_IA_LNK, true);
	counter_write("counters/port_rcv_errors", "100\n");
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 3);
	dapl_ia_counters_stopped(ia, DCNT_IA_LNK, false);
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 3);
	counter_write("counters/port_rcv_errors", "101\n");
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 4);
	dapl_ia_counters_stopped(ia, DCNT_IA_LNK, true);
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, true), 4);
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 0);
	dapl_ia_counters_stopped(ia, DCNT_IA_LNK, false);
	assert_int_equal(query(ia, DCNT_IA_LNK_ERR_RCV, false), 0);
	device_end(ia);
}

/* ----------------------------------------------------- printed */

static uint64_t ia_values[DCNT_IA_ALL_COUNTERS];
static uint64_t ep_values[DAPL_EP_COUNTS];

static void say(void (*form)(FILE *to, const struct dapl_counters_say *say),
		const struct dapl_counters_say *what, char *text, size_t size)
{
	FILE *f = fmemopen(text, size, "w");

	assert_non_null(f);
	form(f, what);
	fclose(f);
}

static void clear_values(void)
{
	memset(ia_values, 0, sizeof(ia_values));
	memset(ep_values, 0, sizeof(ep_values));
}

CASE(json__one_line_whatever_the_name)
{
	static const char name[] = "a\"b\\c\nd";
	char want[256], text[4096] = "";

	clear_values();
	ia_values[DCNT_IA_PZ_CREATE] = 1;
	ia_values[DCNT_IA_DIAG_ERR_SQ_TREE] = UINT64_MAX;
	say(dapl_counters_json,
	    &(struct dapl_counters_say){
		    .name = name, .ia = ia_values, .ep = ep_values},
	    text, sizeof(text));
	snprintf(want, sizeof(want),
		 "{\"counters\":\"a\\\"b\\\\c\\u000ad\",\"pid\":%d,"
		 "\"ia\":{\"pz_create\":1,"
		 "\"diag_err_sq_tree\":18446744073709551615},\"ep\":{}}\n",
		 (int)getpid());
	assert_string_equal(text, want);
}

CASE(json__times_of_connections)
{
	struct dapl_connects c = {
		.n = {[0] = 1, [1] = 1, [5] = 2},
		.us = 41,
		.most_us = 20,
	};
	char text[4096] = "";

	say(dapl_counters_json,
	    &(struct dapl_counters_say){.name = "x", .connects = &c}, text,
	    sizeof(text));
	assert_non_null(strstr(
		text, "\"connect\":{\"n\":4,\"mean_us\":10,\"most_us\":20,"
		      "\"from_us\":{\"0\":1,\"1\":1,\"16\":2}}}\n"));
}

CASE(table__what_is_not_0)
{
	char text[4096] = "";

	clear_values();
	ep_values[DCNT_EP_RECV_RDMA_IMM_DATA] = 12;
	ep_values[DAPL_EP_RECEIVES_MOST] = 3;
	say(dapl_counters_table,
	    &(struct dapl_counters_say){.name = "x", .ep = ep_values}, text,
	    sizeof(text));
	assert_non_null(
		strstr(text, "\n  ep  recv_rdma_imm_data                 12\n"
			     "  ep  receives_most                       3\n"));
	assert_null(strstr(text, "  ia"));
	assert_null(strstr(text, "(null)"));
}

/* Each has a name of its own. */
CASE(table__names_of_all)
{
	char text[16384] = "";
	size_t lines = 0;

	for (int i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		ia_values[i] = 1;
	for (int i = 0; i < DAPL_EP_COUNTS; i++)
		ep_values[i] = 1;
	say(dapl_counters_table,
	    &(struct dapl_counters_say){
		    .name = "x", .ia = ia_values, .ep = ep_values},
	    text, sizeof(text));
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 1 + DCNT_IA_ALL_COUNTERS + DAPL_EP_COUNTS);
	assert_null(strstr(text, "(null)"));
}

CASE(connects__by_their_time)
{
	static struct dapl_ia ia;
	static const uint64_t us[] = {0, 1, 2, 3, 1023, 1024, UINT64_MAX};

	for (size_t i = 0; i < sizeof(us) / sizeof(us[0]); i++)
		dapl_ia_count_connect(&ia, us[i]);
	assert_int_equal(ia.counters.connects.n[0], 1);
	assert_int_equal(ia.counters.connects.n[1], 1);
	assert_int_equal(ia.counters.connects.n[2], 2);
	assert_int_equal(ia.counters.connects.n[10], 1);
	assert_int_equal(ia.counters.connects.n[11], 1);
	assert_int_equal(ia.counters.connects.n[DAPL_TIMES - 1], 1);
	assert_true(ia.counters.connects.most_us == UINT64_MAX);
}

/* ---------------------------------------------------- asked for */

CASE(form__of_the_variable)
{
	assert_int_equal(dapl_counters_form(NULL), DAPL_COUNTERS_NONE);
	assert_int_equal(dapl_counters_form(""), DAPL_COUNTERS_NONE);
	assert_int_equal(dapl_counters_form("0"), DAPL_COUNTERS_NONE);
	assert_int_equal(dapl_counters_form("1"), DAPL_COUNTERS_TABLE);
	assert_int_equal(dapl_counters_form("table"), DAPL_COUNTERS_TABLE);
	assert_int_equal(dapl_counters_form("json"), DAPL_COUNTERS_JSON);
	/* With a warning. */
	assert_int_equal(dapl_counters_form("xml"), DAPL_COUNTERS_TABLE);
}

/* Nobody has asked yet: the calls are the plain ones. They stay counted for the
 * life of the name, so this comes before what asks. */
ON_IB(calls__are_plain_until_somebody_asks)
{
	const DAT_PROVIDER *vector = ((struct dapl_ia *)s->ia)->obj.provider;
	DAT_EP_POST_SEND_FUNC plain = vector->ep_post_send_func;
	DAT_UINT64 value;

	assert_ptr_equal(plain, dapl__vector.ep_post_send_func);
	assert_dat_ok(world_op((DAT_HANDLE)s->ia, DAT_IB_QUERY_COUNTERS_OP, 0,
			       &value, 0));
	assert_ptr_not_equal(plain, vector->ep_post_send_func);
}

static uint64_t ep_value(DAT_EP_HANDLE ep, int id)
{
	DAT_UINT64 value = UINT64_MAX;

	assert_dat_ok(world_op((DAT_HANDLE)ep, DAT_IB_QUERY_COUNTERS_OP, id,
			       &value, 0));
	return value;
}

static void expect_posted(DAT_EP_HANDLE ep, unsigned posts)
{
	assert_int_equal(ep_value(ep, DCNT_EP_POST_SEND), posts);
	assert_int_equal(ep_value(ep, DCNT_EP_POST_SEND_DATA), posts * 8);
	assert_int_equal(ep_value(ep, DCNT_EP_POST_RECV), posts);
	assert_int_equal(ep_value(ep, DCNT_EP_POST_RECV_DATA), posts * 64);
}

/* Posts until the queues' locks are this thread's, and the fast ways open. */
#define WARM 20

/* A post that the device refuses is none; but one that is flushed is. */
ON_EACH(posts__refused_by_the_device, world_connect)
{
	const DAT_PROVIDER *vector;
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8), room = world_seg(c, 0, 64);

	expect_posted(c->ep, 0);
	vector = ((struct dapl_ia *)c->ia)->obj.provider;
#define SEND vector->ep_post_send_func(c->ep, 1, &seg, world_cookie(1), 0)
#define RECV vector->ep_post_recv_func(c->ep, 1, &room, world_cookie(2), 0)
	for (unsigned i = 1; i <= WARM; i++) {
		world_recv(s, 0, 64, 3);
		assert_dat_ok(RECV);
		assert_dat_ok(SEND);
		expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		expect_dto(s->recv_evd, 3, DAT_DTO_SUCCESS);
		world_send(s, 0, 64, 4, 0);
		expect_dto(s->req_evd, 4, DAT_DTO_SUCCESS);
		expect_dto(c->recv_evd, 2, DAT_DTO_SUCCESS);
		fv_fail_call("ibv_post_send", 1, EINVAL);
		assert_int_equal(DAT_GET_TYPE(SEND), DAT_INVALID_PARAMETER);
		fv_fail_call("ibv_post_recv", 1, EINVAL);
		assert_int_equal(DAT_GET_TYPE(RECV), DAT_INVALID_PARAMETER);
		expect_posted(c->ep, i);
	}
	fv_qp_error(world_qp(c->ep));
	assert_dat_ok(RECV);
	assert_dat_ok(SEND);
	expect_posted(c->ep, WARM + 1);
#undef SEND
#undef RECV
}

static uint64_t evd_count(DAT_EVD_HANDLE evd, int id)
{
	DAT_UINT64 value = UINT64_MAX;

	assert_dat_ok(world_op((DAT_HANDLE)evd, DAT_IB_QUERY_COUNTERS_OP, id,
			       &value, 0));
	return value;
}

/* Found at once, waited for, and nothing: as often as they were. */
ON_EACH(events__that_were_taken, world_connect)
{
	const DAT_PROVIDER *vector;
	unsigned found = 0, empty = 0, waits = 0;
	DAT_EVENT event;
	DAT_RETURN ret;
	DAT_COUNT more;

	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_DEQUEUE), 0);
	vector = ((struct dapl_ia *)c->ia)->obj.provider;
	for (unsigned i = 0; i < 2 * WARM; i++) {
		world_recv(c, 0, 64, i);
		world_send(s, 0, 8, i, 0);
		expect_dto(s->req_evd, i, DAT_DTO_SUCCESS);
		if (i % 2) {
			ret = vector->evd_wait_func(c->recv_evd, 5000000, 1,
						    &event, &more);
			waits++;
		} else {
			while ((ret = vector->evd_dequeue_func(
					c->recv_evd, &event)) != DAT_SUCCESS)
				empty++;
			found++;
		}
		assert_dat_ok(ret);
		ret = vector->evd_dequeue_func(c->recv_evd, &event);
		assert_int_equal(DAT_GET_TYPE(ret), DAT_QUEUE_EMPTY);
		empty++;
		ret = vector->evd_wait_func(c->recv_evd, 0, 1, &event, &more);
		assert_int_equal(DAT_GET_TYPE(ret), DAT_TIMEOUT_EXPIRED);
		waits++;
	}
	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_WAIT), waits);
	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_DEQUEUE),
			 found + empty);
	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_DEQUEUE_FOUND), found);
	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_DEQUEUE_NOT_FOUND),
			 empty);
	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_DEQUEUE_POLL),
			 found + empty);
	assert_int_equal(evd_count(c->recv_evd, DCNT_EVD_DEQUEUE_POLL_FOUND),
			 found);
	assert_int_equal(ep_value(c->ep, DCNT_EP_RECV), 2 * WARM);
	assert_int_equal(ep_value(c->ep, DCNT_EP_RECV_DATA), 2 * WARM * 8);
}

#define MANY	3000
#define READERS 2

/* What moves there, and by how much in all. */
static const struct moving {
	int id;
	uint64_t in_all;
} moving[] = {
	{DCNT_EP_POST_SEND, MANY}, {DCNT_EP_POST_SEND_DATA, MANY * 8},
	{DCNT_EP_POST_RECV, MANY}, {DCNT_EP_POST_RECV_DATA, MANY * 64},
	{DCNT_EP_RECV, MANY},	   {DCNT_EP_RECV_DATA, MANY * 64},
};

#define MOVING (sizeof(moving) / sizeof(moving[0]))

/* Somebody who reads an endpoint's counters and resets each. */
struct reader {
	DAT_EP_HANDLE ep;
	bool stop; /* atomic */
	uint64_t sum[MOVING];
	bool failed;
};

static void read_all(struct reader *r)
{
	DAT_UINT64 value = 0;

	for (size_t i = 0; i < MOVING; i++) {
		r->failed |=
			world_op((DAT_HANDLE)r->ep, DAT_IB_QUERY_COUNTERS_OP,
				 moving[i].id, &value, 1) != DAT_SUCCESS;
		r->failed |= value > moving[i].in_all;
		r->sum[i] += value;
	}
}

static void *reads(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED))
		read_all(r);
	return NULL;
}

/* What is posted and received meanwhile is read once, whoever resets when. */
ON_EACH(reset__while_they_count, world_connect)
{
	struct reader r[READERS] = {{.ep = c->ep}, {.ep = c->ep}};
	const DAT_PROVIDER *vector;
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8), room = world_seg(c, 0, 64);
	pthread_t thread[READERS];
	DAT_EVENT event;

	read_all(&r[0]);
	vector = ((struct dapl_ia *)c->ia)->obj.provider;
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reads, &r[i]),
				 0);
	for (unsigned i = 0; i < MANY; i++) {
		world_recv(s, 0, 64, 3);
		assert_dat_ok(vector->ep_post_recv_func(c->ep, 1, &room,
							world_cookie(2), 0));
		assert_dat_ok(vector->ep_post_send_func(c->ep, 1, &seg,
							world_cookie(1), 0));
		expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		expect_dto(s->recv_evd, 3, DAT_DTO_SUCCESS);
		world_send(s, 0, 64, 4, 0);
		expect_dto(s->req_evd, 4, DAT_DTO_SUCCESS);
		while (vector->evd_dequeue_func(c->recv_evd, &event) !=
		       DAT_SUCCESS)
			sched_yield();
	}
	for (int i = 0; i < READERS; i++)
		__atomic_store_n(&r[i].stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	read_all(&r[0]);
	assert_false(r[0].failed || r[1].failed);
	for (size_t i = 0; i < MOVING; i++)
		assert_int_equal(r[0].sum[i] + r[1].sum[i], moving[i].in_all);
}

/* What stderr gets when an adapter is closed that was opened with TEXT in the
 * environment, where there is something else by then. */
static void at_close(const char *text, char *ret, size_t size)
{
	static char variable[64];
	int was = dup(STDERR_FILENO);
	FILE *f = tmpfile();
	DAT_IA_HANDLE ia;
	ssize_t n;

	assert_true(f && was >= 0);
	snprintf(variable, sizeof(variable), "DAPL_COUNTERS=%s", text);
	assert_int_equal(putenv(variable), 0);
	ia = world_ia_open(NULL);
	memset(strchr(variable, '=') + 1, 'x', strlen(text));
	fflush(stderr);
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	world_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	assert_true(dup2(was, STDERR_FILENO) >= 0);
	close(was);
	unsetenv("DAPL_COUNTERS");
	n = pread(fileno(f), ret, size - 1, 0);
	assert_true(n >= 0);
	ret[n] = '\0';
	fclose(f);
}

ON_IB(close__as_it_was_asked_for_when_it_was_opened)
{
	char text[4096];

	at_close("json", text, sizeof(text));
	assert_int_equal(strncmp(text, "{\"counters\":", 12), 0);
	at_close("table", text, sizeof(text));
	assert_int_equal(strncmp(text, "counters of ", 12), 0);
	at_close("0", text, sizeof(text));
	assert_string_equal(text, "");
}

CASE(places__of_those_that_are_gone_are_used_again)
{
	struct dapl_counts *a = NULL, *b = NULL;
	uint64_t sum[DAPL_EP_COUNTS] = {0};
	uint64_t *n = dapl_counts_at(NULL, &a);

	assert_non_null(n);

	dapl_count_add(n, 3, 5);
	dapl_count_most(n, DAPL_EP_RECEIVES_MOST, 4);
	dapl_count_most(sum, DAPL_EP_RECEIVES_MOST, 6);
	assert_ptr_equal(dapl_counts_at(NULL, &a), n);
	dapl_counts_end(&a, DAPL_COUNTS_EP, sum);
	assert_null(a);
	assert_int_equal(sum[3], 5);
	assert_int_equal(sum[DAPL_EP_RECEIVES_MOST], 6);
	dapl_counts_end(&a, DAPL_COUNTS_EP, sum);
	assert_int_equal(sum[3], 5);
	assert_ptr_equal(dapl_counts_at(NULL, &b), n);
	assert_int_equal(n[3], 0);
	dapl_counts_end(&b, DAPL_COUNTS_EP, NULL);
}

static uint64_t evd_value(struct dapl_counts *c, int id, bool reset)
{
	return dapl_counts_value(c, DAPL_COUNTS_EVD_CQ, id, NULL, reset);
}

/* A dequeue counts one thing, and is seen in all of them. */
CASE(values__of_dequeues)
{
	struct dapl_counts *place = NULL;
	struct dapl_counts *c = dapl_counts_get(NULL, &place);
	uint64_t sum[DAPL_EVD_COUNTS] = {0};

	dapl_count_own(&c->fast[DCNT_EVD_DEQUEUE_POLL_FOUND], 3);
	dapl_count_own(&c->fast[DCNT_EVD_DEQUEUE_NOT_FOUND], 4);
	dapl_count_add(c->n, DCNT_EVD_DEQUEUE_FOUND, 10);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE, false), 17);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_FOUND, true), 13);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_NOT_FOUND, false), 4);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_POLL, false), 17);
	assert_int_equal(dapl_counts_value(c, DAPL_COUNTS_EVD,
					   DCNT_EVD_DEQUEUE_POLL, NULL, false),
			 0);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_POLL_FOUND, false), 3);
	dapl_count_own(&c->fast[DCNT_EVD_DEQUEUE_POLL_FOUND], 1);
	/* Each is reset for itself. */
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_FOUND, false), 1);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE, false), 18);
	/* One is taken back that has been read, and the next is in its place.
	 */
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_FOUND, true), 1);
	dapl_count_own(&c->fast[DCNT_EVD_DEQUEUE_POLL_FOUND], (uint64_t)-1);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_FOUND, true), 0);
	dapl_count_own(&c->fast[DCNT_EVD_DEQUEUE_POLL_FOUND], 1);
	assert_int_equal(evd_value(c, DCNT_EVD_DEQUEUE_FOUND, true), 0);
	dapl_counts_end(&place, DAPL_COUNTS_EVD_CQ, sum);
	assert_int_equal(sum[DCNT_EVD_DEQUEUE_FOUND], 14);
}

/* The most there was goes to the adapter when it is reset. */
CASE(values__the_most)
{
	struct dapl_counts *place = NULL;
	struct dapl_counts *c = dapl_counts_get(NULL, &place);
	uint64_t sum[DAPL_EP_COUNTS] = {0};
	const int id = DAPL_EP_REQUESTS_MOST;

	dapl_count_own_most(&c->fast[id], 5);
	dapl_count_own_most(&c->fast[id], 4);
	dapl_count_most(c->n, id, 3);
	assert_int_equal(dapl_counts_value(c, DAPL_COUNTS_EP, id, sum, true),
			 5);
	assert_int_equal(sum[id], 5);
	assert_int_equal(dapl_counts_value(c, DAPL_COUNTS_EP, id, sum, false),
			 0);
	dapl_count_most(c->n, id, 3);
	dapl_counts_end(&place, DAPL_COUNTS_EP, sum);
	assert_int_equal(sum[id], 5);
}

RUN_CASES(NULL, NULL)
