/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ia.c - dat_ia_open, dat_ia_query, dat_ia_close, the ha_related slot,
 * asynchronous events, and registering of the provider itself.
 *
 * What happens to connections at a close is looked at only as far as the close
 * must end; t_ep_conn.c has the rest. Threads: the waiters that a close has to
 * release. Rules: uDAPL 1.2 specification, dat_ia_*; named attributes of the
 * historic providers.
 */
#include "test/unit/world.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "dapl/common/base/dapl_provider.h"
#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/plugin/dapl_register.h"
#include "test/unit/kit.h"

static struct ibv_context *verbs_of(DAT_EVD_HANDLE evd)
{
	return ((struct dapl_evd *)evd)->cq->context;
}

/* ---------------------------------------------- provider */

static int load(void **state)
{
	world_load(FV_IB);
	return 0;
}

static int unload(void **state)
{
	world_unload();
	return 0;
}

#define T(name) CASE_WITH(name, load, unload)

CASE(provider_register__vector)
{
	const void *const *slot;

	world_load(FV_IB);
	assert_int_equal(world_registry.added, 1);
	assert_string_equal(world_registry.vector->device_name, WORLD_IA_NAME);
	assert_memory_equal(&world_registry.info, &world_info,
			    sizeof(world_info));
	slot = (const void *const *)world_registry.vector;
	for (size_t i = 2; i < sizeof(DAT_PROVIDER) / sizeof(*slot); i++)
		assert_non_null(slot[i]);
	world_unload();
	assert_int_equal(world_registry.removed, 1);
}

CASE(provider_register__refused)
{
	memset(&world_registry, 0, sizeof(world_registry));
	world_registry.answer = DAPL_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	dat_provider_init(&world_info, world_provider.params_a);
	assert_int_equal(world_registry.added, 1);
	/* It has left no entry: there is nothing to take back. */
	dat_provider_fini(&world_info);
	assert_int_equal(world_registry.removed, 0);
}

T(provider_unregister__unknown)
{
	DAT_PROVIDER_INFO other = world_info;

	strcpy(other.ia_name, "somebody-else");
	dat_provider_fini(&other);
	assert_int_equal(world_registry.removed, 0);
}

T(provider_register__two_names)
{
	DAT_PROVIDER_INFO other = world_info;
	const DAT_PROVIDER *first;
	DAT_IA_HANDLE ia;

	first = world_registry.vector;
	strcpy(other.ia_name, "other-ia");
	dat_provider_init(&other, world_provider.params_a);
	assert_ptr_not_equal(world_registry.vector, first);
	assert_string_equal(first->device_name, WORLD_IA_NAME);
	ia = world_ia_open(NULL);
	assert_ptr_equal(DAT_HANDLE_TO_PROVIDER(ia), first);
	world_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	dat_provider_fini(&other);
	world_registry.vector = first;
}

/* -------------------------------------------------- open */

T(ia_open__bad_arguments)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;

	assert_refused(V(ia_open)(WORLD_IA_NAME, 8, NULL, &ia),
		       DAPL_BAD_ARG(3));
	assert_refused(V(ia_open)(WORLD_IA_NAME, 8, &evd, NULL),
		       DAPL_BAD_HANDLE(IA));
	assert_refused(
		V(ia_open)(NULL, 8, &evd, &ia),
		DAPL_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	assert_refused(
		V(ia_open)("no-such-ia", 8, &evd, &ia),
		DAPL_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	assert_null(ia);
}

T(ia_open__nth_failure)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;

	assert_nth_failure(
		V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia),
		assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
		evd = DAT_HANDLE_NULL);
}

T(ia_open__failure_writes_nothing)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&evd;

	fv_fail_call("ibv_open_device", 1, EIO);
	assert_int_not_equal(V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia),
			     DAT_SUCCESS);
	assert_null(evd);
	assert_ptr_equal(ia, &evd);
}

static void params_refused(const char *params)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN ret;

	memset(&world_registry, 0, sizeof(world_registry));
	dat_provider_init(&world_info, params);
	dapl_fail(DAT_SUCCESS, "%s", "");
	ret = V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia);
	if (ret == DAT_SUCCESS)
		fail_msg("ia_params \"%s\" taken", params ? params : "(null)");
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INVALID_ADDRESS);
	assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
	assert_string_not_equal(dapl__fail_text(), "");
	assert_null(ia);
	assert_int_equal(fv_live(), 0);
	dat_provider_fini(&world_info);
}

CASE(ia_open__wrong_params)
{
	char text[4097];

	fv_reset();
	fv_devices_default(FV_IB, 1);
	params_refused(NULL);
	params_refused("");
	params_refused(" \t ");
	params_refused("10.0.0.1");
	params_refused("10.0.0.1 256");
	params_refused("10.0.0.1 -1");
	params_refused("10.0.0.1 abc");
	params_refused("10.0.0.1 0 more");
	params_refused("10.0.0.1 99999999999999999999");
	params_refused("10.0.0.9 0");
	params_refused("127.0.0.1 0");
	params_refused("0.0.0.0 0");
	params_refused("lo 0");
	params_refused(":: 0");
	params_refused("%s%s%n 0");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	params_refused(text);
	memcpy(text + 2000, " 0", 2);
	params_refused(text);
	fv_reset();
}

/* rdma_cm passes such a device over. */
CASE(ia_open__device_without_connected_queue_pairs)
{
	fv_reset();
	fv_devices_default(FV_EFA, 1);
	params_refused("10.0.0.1 0");
	assert_non_null(strstr(dapl__fail_text(), "fake0 (no RC)"));
	fv_reset();
}

/* The address decides; a file that names another port works as ever. */
T(ia_open__explicit_port)
{
	static const char *const params[] = {"10.0.0.1 1", "10.0.0.1 2"};
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;

	for (int i = 0; i < 2; i++) {
		dat_provider_fini(&world_info);
		dat_provider_init(&world_info, params[i]);
		evd = DAT_HANDLE_NULL;
		assert_dat_ok(V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia));
		assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

T(ia_open__no_device)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	fv_reset();
	ret = V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia);
	assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
	assert_string_not_equal(dapl__fail_text(), "");
}

/* --------------------------------------------- async EVD */

static DAT_IA_HANDLE open_with(DAT_EVD_HANDLE evd, DAT_EVD_HANDLE *ret_evd)
{
	DAT_IA_HANDLE ia = NULL;

	/* The length is ignored when there is an EVD. */
	assert_dat_ok(V(ia_open)(WORLD_IA_NAME, 0, &evd, &ia));
	*ret_evd = evd;
	return ia;
}

ON_IB(ia_open__async_evd_given)
{
	DAT_EVD_HANDLE mine = world_evd(s->ia, DAT_EVD_ASYNC_FLAG), out;
	DAT_IA_HANDLE ia = open_with(mine, &out);

	assert_ptr_equal(out, mine);
	assert_refused(V(evd_free)(mine), DAPL_BAD_STATE(EVD_IN_USE));
	assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
	/* It belongs to the consumer. */
	assert_dat_ok(V(evd_free)(mine));
}

ON_IB(ia_open__async_evd_shared)
{
	DAT_EVD_HANDLE out, queried;
	DAT_IA_HANDLE ia = open_with(s->async_evd, &out);

	assert_ptr_equal(out, s->async_evd);
	assert_dat_ok(V(ia_query)(ia, &queried, 0, NULL, 0, NULL));
	assert_ptr_equal(queried, out);
	assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG));
	/* Still in service. */
	fv_inject_async(verbs_of(s->recv_evd), IBV_EVENT_DEVICE_FATAL, 1);
	expect_event(s->async_evd, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
}

T(ia_open__async_exists)
{
	DAT_EVD_HANDLE evd, out = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE first, ia = NULL;

	assert_refused(V(ia_open)(WORLD_IA_NAME, 8, &out, &ia),
		       DAPL_BAD_HANDLE(EVD_ASYNC));
	assert_ptr_equal(out, DAT_EVD_ASYNC_EXISTS);
	first = world_ia_open(&evd);
	assert_dat_ok(V(ia_open)(WORLD_IA_NAME, 8, &out, &ia));
	assert_ptr_equal(out, evd);
	assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
	world_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG);
}

/* A second adapter, "second", beside the world's. */
struct two {
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *vector; /* of the first */
};

static void load_two(struct two *two)
{
	struct fv_device_cfg cfg;

	world_load(FV_IB);
	two->vector = world_registry.vector;
	two->info = world_info;
	fv_device_cfg_init(&cfg, FV_IB, "fake1", "10.0.0.2");
	fv_device_add(&cfg);
	strcpy(two->info.ia_name, "second");
	dat_provider_init(&two->info, "10.0.0.2 0");
}

static void unload_two(struct two *two)
{
	dat_provider_fini(&two->info);
	world_registry.vector = two->vector;
	world_unload();
}

CASE(ia_open__async_evd_of_other_adapter)
{
	struct two two;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE first, ia = NULL;

	load_two(&two);
	first = world_ia_open(&evd);
	assert_refused(V(ia_open)("second", 8, &evd, &ia),
		       DAPL_BAD_HANDLE(EVD_ASYNC));
	evd = DAT_EVD_ASYNC_EXISTS;
	assert_refused(V(ia_open)("second", 8, &evd, &ia),
		       DAPL_BAD_HANDLE(EVD_ASYNC));
	world_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG);
	unload_two(&two);
}

/* The owner of a shared EVD goes first: the other IA goes on without. */
T(ia_close__shared_async_evd_goes_first)
{
	DAT_EVD_HANDLE evd, out, dto;
	DAT_IA_HANDLE first, ia;
	DAT_EVENT ev;

	first = world_ia_open(&evd);
	ia = open_with(evd, &out);
	world_ia_close(first, DAT_CLOSE_ABRUPT_FLAG);
	assert_refused(V(evd_dequeue)(evd, &ev),
		       DAPL_ERR(DAT_INVALID_HANDLE, 0));
	dto = world_evd(ia, DAT_EVD_DTO_FLAG);
	fv_inject_async(verbs_of(dto), IBV_EVENT_DEVICE_FATAL, 1);
	assert_dat_ok(V(evd_free)(dto));
	assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

T(ia_close__async_evd_of_other_ia_goes_first)
{
	DAT_EVD_HANDLE mine, out;
	DAT_IA_HANDLE first, ia;

	first = world_ia_open(NULL);
	mine = world_evd(first, DAT_EVD_ASYNC_FLAG);
	ia = open_with(mine, &out);
	world_ia_close(first, DAT_CLOSE_ABRUPT_FLAG);
	assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ------------------------------------------ async events */

static DAT_ASYNCH_ERROR_EVENT_DATA expect_async(DAT_EVD_HANDLE evd,
						unsigned number)
{
	DAT_EVENT ev = expect_event(evd, number);

	return ev.event_data.asynch_error_event_data;
}

/* The next alarm of the adapter of S has REASON. */
static void expect_alarm(struct world_side *s, unsigned reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA d =
		expect_async(s->async_evd, DAT_ASYNC_ERROR_IA_CATASTROPHIC);

	assert_ptr_equal(d.dat_handle, world_user_ia(s->ia));
	assert_int_equal(d.reason, reason);
}

/* To the consumer to say what follows from it: nothing ends by itself. */
static void at_each_call(struct world *w, enum ibv_event_type type)
{
	for (unsigned n = 1;; n++) {
		bool came;

		assert_in_range(n, 1, 300);
		fv_event_at(n, type, 1);
		world_connect(w);
		world_recv(&w->server, 0, 64, 1);
		world_send(&w->client, 0, 64, 2, 0);
		expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
		expect_dto(w->client.req_evd, 2, DAT_DTO_SUCCESS);
		kit_abort(w->client.ep);
		kit_over(w);
		assert_dat_ok(V(ep_free)(w->client.ep));
		assert_dat_ok(V(ep_free)(w->server.ep));
		w->client.ep = w->server.ep = NULL;
		came = fv_event_came();
		fv_event_at(0, type, 1);
		if (!came)
			break;
		expect_event(w->server.async_evd,
			     DAT_ASYNC_ERROR_IA_CATASTROPHIC);
		expect_event(w->client.async_evd,
			     DAT_ASYNC_ERROR_IA_CATASTROPHIC);
		expect_empty(w->server.async_evd);
		expect_empty(w->client.async_evd);
	}
}

ON_EACH(async__device_fatal_at_any_moment)
{
	at_each_call(w, IBV_EVENT_DEVICE_FATAL);
}

ON_EACH(async__port_error_at_any_moment)
{
	at_each_call(w, IBV_EVENT_PORT_ERR);
}

/* The fatal event marks the end of what is not told. */
ON_IB(async__of_the_device)
{
	static const enum ibv_event_type harmless[] = {
		IBV_EVENT_PORT_ACTIVE,	     IBV_EVENT_LID_CHANGE,
		IBV_EVENT_PKEY_CHANGE,	     IBV_EVENT_SM_CHANGE,
		IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE};
	struct ibv_context *ctx = verbs_of(s->recv_evd);

	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		fv_inject_async(ctx, harmless[i], 1);
	/* Another port is not this IA. */
	fv_inject_async(ctx, IBV_EVENT_PORT_ERR, 2);
	fv_inject_async(ctx, IBV_EVENT_PORT_ERR, 1);
	fv_inject_async(ctx, IBV_EVENT_DEVICE_FATAL, 1);
	expect_alarm(s, DAT_IA_OTHER_ERROR);
	expect_alarm(s, DAT_IA_CATASTROPHIC_ERROR);
	expect_empty(s->async_evd);
	expect_empty(c->async_evd);
}

ON_IB(async__qp_fault_names_the_ep, world_eps)
{
	static const enum ibv_event_type faults[] = {IBV_EVENT_QP_FATAL,
						     IBV_EVENT_QP_REQ_ERR,
						     IBV_EVENT_QP_ACCESS_ERR};
	DAT_ASYNCH_ERROR_EVENT_DATA d;
	struct ibv_qp *qp;

	qp = world_qp(s->ep);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		fv_inject_async_qp(qp, faults[i]);
		d = expect_async(s->async_evd, DAT_ASYNC_ERROR_EP_BROKEN);
		assert_ptr_equal(d.dat_handle, s->ep);
		assert_int_equal(d.reason, DAT_EP_TRANSFER_TO_ERROR);
	}
}

/* The objects say themselves when an EP has taken its last receive. */
ON_IB(async__last_wqe_reached_is_no_fault, world_eps)
{
	struct ibv_qp *qp = world_qp(s->ep);

	fv_inject_async_qp(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	fv_inject_async_qp(qp, IBV_EVENT_COMM_EST);
	fv_inject_async_qp(qp, IBV_EVENT_SQ_DRAINED);
	fv_inject_async_qp(qp, IBV_EVENT_PATH_MIG);
	fv_inject_async(qp->context, IBV_EVENT_DEVICE_FATAL, 1);
	expect_alarm(s, DAT_IA_CATASTROPHIC_ERROR);
}

ON_IB(async__cq_error_names_the_evd)
{
	struct dapl_evd *evd = (struct dapl_evd *)s->recv_evd;
	DAT_ASYNCH_ERROR_EVENT_DATA d;

	fv_inject_async_cq(evd->cq, IBV_EVENT_CQ_ERR);
	d = expect_async(s->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	assert_ptr_equal(d.dat_handle, evd);
	assert_int_equal(d.reason, DAT_EVD_OVERFLOW_ERROR);
}

/* ------------------------------------------------- query */

ON_IB_IWARP(ia_query__attributes)
{
	const struct fv_device_cfg *cfg = fv_device_cfg_get(w->dev);
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;

	memset(&attr, 0xa5, sizeof(attr));
	assert_dat_ok(
		V(ia_query)(s->ia, &evd, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	assert_dat_ok(V(ia_query)(s->ia, NULL, 0, NULL, 0, NULL));
	assert_ptr_equal(evd, s->async_evd);
	assert_string_equal(attr.adapter_name, "fake0");
	assert_int_equal(attr.max_eps, cfg->attr.max_qp);
	assert_int_equal(attr.max_dto_per_ep, cfg->attr.max_qp_wr);
	assert_int_equal(attr.max_evds, cfg->attr.max_cq);
	assert_int_equal(attr.max_evd_qlen, cfg->attr.max_cqe);
	assert_int_equal(attr.max_iov_segments_per_dto, cfg->attr.max_sge);
	assert_int_equal(attr.max_lmrs, cfg->attr.max_mr);
	assert_int_equal(attr.max_pzs, cfg->attr.max_pd);
	assert_int_equal(attr.max_srqs, cfg->attr.max_srq);
	assert_int_equal(attr.max_rdma_read_per_ep_in,
			 cfg->attr.max_qp_rd_atom);
	assert_int_equal(attr.max_iov_segments_per_rdma_read,
			 w->kind == FV_IWARP ? 1 : cfg->attr.max_sge);
	assert_int_equal(attr.extension_supported, w->kind == FV_IWARP
							   ? DAT_EXTENSION_NONE
							   : DAT_EXTENSION_IB);
	assert_int_equal(attr.num_transport_attr, 0);
	assert_null(attr.transport_attr);
	assert_int_equal(attr.num_vendor_attr, 0);
	assert_memory_equal(
		&((struct sockaddr_in *)attr.ia_address_ptr)->sin_addr,
		&((struct sockaddr_in *)world_addr())->sin_addr, 4);
}

ON_IB_IWARP(ia_query__provider_attributes)
{
	DAT_PROVIDER_ATTR attr;

	memset(&attr, 0xa5, sizeof(attr));
	assert_dat_ok(V(ia_query)(s->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
				  &attr));
	assert_string_equal(attr.provider_name, WORLD_IA_NAME);
	/* libdat2 finds the registry's entry by these. */
	assert_int_equal(attr.dapl_version_major, 2);
	assert_int_equal(attr.dapl_version_minor, 0);
	assert_int_equal(attr.is_thread_safe, world_info.is_thread_safe);
	assert_int_equal(attr.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	assert_int_equal(attr.max_private_data_size, 56);
	assert_int_equal(attr.optimal_buffer_alignment, 256);
	for (int i = 0; i < 36; i++)
		assert_int_equal(
			attr.evd_stream_merging_supported[i / 6][i % 6],
			DAT_TRUE);
	/* Written, every one of them: a boolean is 0 or 1. */
	assert_in_range(attr.srq_supported, 0, 1);
	assert_in_range(attr.srq_ep_pz_difference_supported, 0, 1);
	assert_in_range(attr.lmr_sync_req, 0, 1);
	assert_in_range(attr.dto_async_return_guaranteed, 0, 1);
	assert_in_range(attr.is_signal_safe, 0, 1);
	assert_in_range(attr.ha_supported, 0, 1);
	assert_int_equal(attr.rdma_write_for_rdma_read_req,
			 w->kind == FV_IWARP);
}

static const char *named_attr(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	const DAT_NAMED_ATTR *found = NULL;

	for (int i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name)) {
			assert_null(found);
			found = &attr->provider_specific_attr[i];
		}
	if (!found)
		fail_msg("no attribute %s", name);
	return found->value;
}

ON_EACH(ia_query__named_attributes)
{
	DAT_PROVIDER_ATTR attr;

	assert_dat_ok(V(ia_query)(s->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
				  &attr));
	assert_int_equal(attr.num_provider_specific_attr, 15);
	assert_string_equal(named_attr(&attr, "DAT_IB_PROVIDER_NAME"), "CMA");
	assert_string_equal(named_attr(&attr, "DAT_IB_DEVICE_NAME"), "fake0");
	assert_string_equal(named_attr(&attr, "DAT_IB_PORT_STATUS"), "ACTIVE");
	assert_string_equal(named_attr(&attr, "DAT_IB_PORT_NUMBER"), "1");
	assert_string_equal(named_attr(&attr, "DAT_IB_TRANSPORT_MTU"),
			    w->kind == FV_IB ? "2048" : "1024");
	assert_int_equal(strlen(named_attr(&attr, "DAT_IB_NODE_GUID")), 19);
	assert_int_equal(strlen(named_attr(&attr, "DAT_IB_GID")), 39);
	assert_string_equal(named_attr(&attr, DAT_IB_ATTR_COUNTERS), "TRUE");
	assert_string_equal(named_attr(&attr, DAT_IB_ATTR_UD),
			    w->kind == FV_IWARP ? "FALSE" : "TRUE");
	assert_string_equal(named_attr(&attr, DAT_IB_ATTR_FETCH_AND_ADD),
			    w->kind == FV_IWARP ? "FALSE" : "TRUE");
	assert_string_equal(named_attr(&attr, DAT_IB_ATTR_CMP_AND_SWAP),
			    w->kind == FV_IWARP ? "FALSE" : "TRUE");
}

/* As extension_supported has it. */
ON_EACH(ia_query__name_of_the_extension)
{
	DAT_PROVIDER_ATTR attr;

	assert_dat_ok(V(ia_query)(s->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
				  &attr));
	assert_string_equal(named_attr(&attr, "DAT_EXTENSION_INTERFACE"),
			    w->kind == FV_IWARP ? "FALSE" : "TRUE");
}

static DAT_PROVIDER_ATTR provider_attr(DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR attr;

	assert_dat_ok(
		V(ia_query)(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	return attr;
}

/* What one adapter says of itself stays when another is opened and closed. */
CASE(ia_query__named_attributes_of_two_adapters)
{
	struct two two;
	DAT_PROVIDER_ATTR a, b;
	DAT_IA_HANDLE first, second;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	load_two(&two);
	first = world_ia_open(NULL);
	a = provider_attr(first);
	assert_dat_ok(V(ia_open)("second", 8, &evd, &second));
	b = provider_attr(second);
	assert_string_equal(named_attr(&a, "DAT_IB_DEVICE_NAME"), "fake0");
	assert_string_equal(named_attr(&b, "DAT_IB_DEVICE_NAME"), "fake1");
	assert_dat_ok(V(ia_close)(second, DAT_CLOSE_GRACEFUL_FLAG));
	assert_string_equal(named_attr(&a, "DAT_IB_DEVICE_NAME"), "fake0");
	world_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG);
	unload_two(&two);
}

ON_IB(ia_ha_related__same_and_other)
{
	const DAT_PROVIDER *vector = world_registry.vector;
	DAT_PROVIDER_INFO other = world_info;
	DAT_BOOLEAN answer;

	assert_dat_ok(V(ia_ha_related)(s->ia, WORLD_IA_NAME, &answer));
	assert_int_equal(answer, DAT_TRUE);
	strcpy(other.ia_name, "other-ia");
	dat_provider_init(&other, "10.0.0.2 0");
	assert_dat_ok(V(ia_ha_related)(s->ia, other.ia_name, &answer));
	assert_int_equal(answer, DAT_FALSE);
	dat_provider_fini(&other);
	world_registry.vector = vector;
	assert_refused(V(ia_ha_related)(s->ia, NULL, &answer), DAPL_BAD_ARG(2));
	assert_refused(V(ia_ha_related)(s->ia, WORLD_IA_NAME, NULL),
		       DAPL_BAD_ARG(3));
}

/* ------------------------------------------------- close */

/* Each kind of object alone keeps a graceful close from happening. */
T(ia_close__graceful_with_each_object)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;

	ia = world_ia_open(NULL);
#define REFUSED                                                  \
	assert_refused(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG), \
		       DAPL_BAD_STATE(IA_IN_USE))
	pz = world_pz(ia);
	REFUSED;
	assert_dat_ok(V(srq_create)(ia, pz, &attr, &srq));
	REFUSED;
	assert_dat_ok(V(srq_free)(srq));
	assert_dat_ok(V(pz_free)(pz));
	cno = world_cno(ia);
	REFUSED;
	assert_dat_ok(V(cno_free)(cno));
	evd = world_evd(ia, DAT_EVD_CR_FLAG);
	REFUSED;
	assert_dat_ok(V(psp_create)(ia, WORLD_QUAL, evd, DAT_PSP_CONSUMER_FLAG,
				    &psp));
	REFUSED;
	assert_dat_ok(V(psp_free)(psp));
	assert_dat_ok(V(evd_free)(evd));
#undef REFUSED
	world_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
}

/* Both events, in either order. */
static void expect_two(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER a,
		       DAT_EVENT_NUMBER b)
{
	DAT_EVENT_NUMBER first =
		next_event(evd, WORLD_PATIENCE_US).event_number;

	assert_true(first == a || first == b);
	expect_event(evd, first == a ? b : a);
}

/* Everything there is, in use; the fixture checks that nothing is left. */
/* Who shuts down cannot help a peer that asks in the last moment. */
ON_EACH(ia_close__graceful_with_a_request, world_eps)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	assert_dat_ok(V(psp_create_any)(s->ia, &qual, s->cr_evd,
					DAT_PSP_CONSUMER_FLAG, &psp));
	assert_dat_ok(world_ask(c->ep, world_addr(), qual));
	world_request(s->cr_evd);
	assert_dat_ok(V(psp_free)(psp));
	assert_dat_ok(V(ep_free)(s->ep));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
	assert_dat_ok(V(pz_free)(s->pz));
	assert_dat_ok(V(evd_free)(s->recv_evd));
	assert_dat_ok(V(evd_free)(s->req_evd));
	assert_dat_ok(V(evd_free)(s->conn_evd));
	assert_dat_ok(V(evd_free)(s->cr_evd));
	world_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG);
	s->ia = NULL;
	expect_event(c->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

ON_EACH(ia_close__abrupt_with_everything, world_connect)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_CNO_HANDLE cno;
	DAT_FD fd;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;
	DAT_CONN_QUAL qual;

	for (int i = 0; i < 4; i++)
		world_recv(s, 64 * (size_t)i, 64, (uint64_t)i);
	fv_pause(true);
	world_send(c, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG);
	world_evd_cno(s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
		      world_cno(s->ia));
	assert_dat_ok(V(cno_fd_create)(s->ia, &fd, &cno));
	assert_dat_ok(V(srq_create)(s->ia, s->pz, &attr, &srq));
	assert_dat_ok(V(rmr_create)(s->pz, &rmr));
	assert_dat_ok(V(psp_create_any)(s->ia, &qual, s->cr_evd,
					DAT_PSP_CONSUMER_FLAG, &psp));
	ep = world_ep(s, NULL);
	assert_dat_ok(V(rsp_create)(s->ia, 7777, ep, s->cr_evd, &rsp));
	ep = world_ep(c, NULL);
	assert_dat_ok(world_ask(ep, world_addr(), qual));
	/* A request that nobody has answered yet. */
	expect_event(s->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	world_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG);
	s->ia = NULL;
	fv_pause(false);
	expect_two(c->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
		   DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* Nothing else would end those waits. */
ON_IB(ia_close__evd_waiters_abort)
{
	struct waiter t[4];
	DAT_EVD_HANDLE evd[] = {s->conn_evd, s->recv_evd, s->async_evd,
				world_evd(s->ia, 0x1f1)};

	for (int i = 0; i < 4; i++)
		waiter_start(&t[i], evd[i], DAT_TIMEOUT_INFINITE, 1);
	world_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG);
	s->ia = NULL;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].ret, DAPL_ERR(DAT_ABORT, 0));
	}
}

/* Threads that are now in, now between calls when the IA goes. */
struct poller {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	bool dequeue;
	DAT_RETURN ret;
	int calls; /* atomic */
};

static void *poll_evd(void *arg)
{
	struct poller *p = arg;
	DAT_EVENT ev;
	DAT_COUNT more;

	do {
		p->ret = p->dequeue ? V(evd_dequeue)(p->evd, &ev)
				    : V(evd_wait)(p->evd, 5, 1, &ev, &more);
		__atomic_add_fetch(&p->calls, 1, __ATOMIC_RELAXED);
	} while (DAT_GET_TYPE(p->ret) == DAT_TIMEOUT_EXPIRED ||
		 DAT_GET_TYPE(p->ret) == DAT_QUEUE_EMPTY);
	return NULL;
}

T(ia_close__evd_pollers)
{
	struct poller p[4];

	for (int round = 0; round < 50; round++) {
		DAT_IA_HANDLE ia = world_ia_open(NULL);

		memset(p, 0, sizeof(p));
		for (int i = 0; i < 4; i++) {
			p[i].evd = world_evd(ia, i & 1 ? DAT_EVD_DTO_FLAG
						       : DAT_EVD_CR_FLAG);
			p[i].dequeue = i & 2;
			pthread_create(&p[i].thread, NULL, poll_evd, &p[i]);
		}
		for (int i = 0; i < 4; i++)
			world_until(__atomic_load_n(&p[i].calls,
						    __ATOMIC_RELAXED) > 3);
		world_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		for (int i = 0; i < 4; i++) {
			pthread_join(p[i].thread, NULL);
			if (DAT_GET_TYPE(p[i].ret) != DAT_ABORT)
				assert_int_equal(DAT_GET_TYPE(p[i].ret),
						 DAT_INVALID_HANDLE);
		}
	}
}

static void *wait_on_cno(void *arg)
{
	struct waiter *t = arg;
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)t;

	t->ret =
		V(cno_wait)((DAT_CNO_HANDLE)t->evd, DAT_TIMEOUT_INFINITE, &evd);
	t->evd = evd;
	return NULL;
}

static void ia_close__cno_waiters(bool with_evd)
{
	struct waiter t[3];
	DAT_IA_HANDLE ia;
	DAT_CNO_HANDLE cno;

	world_load(FV_IB);
	ia = world_ia_open(NULL);
	cno = world_cno(ia);
	if (with_evd)
		world_evd_cno(ia, DAT_EVD_DTO_FLAG, cno);
	for (int i = 0; i < 3; i++) {
		t[i].evd = (DAT_EVD_HANDLE)cno;
		pthread_create(&t[i].thread, NULL, wait_on_cno, &t[i]);
	}
	world_until(world_cno_waiters(cno) == 3);
	world_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].ret, DAT_SUCCESS);
		assert_null(t[i].evd);
	}
	world_unload();
}

CASE(ia_close__cno_waiters_with_evd)
{
	ia_close__cno_waiters(true);
}

CASE(ia_close__cno_waiters_without_evd)
{
	ia_close__cno_waiters(false);
}

struct closer {
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
};

static void *close_ia(void *arg)
{
	struct closer *c = arg;

	c->ret = V(ia_close)(c->ia, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

T(ia_close__two_threads)
{
	struct closer a, b;
	pthread_t thread;

	for (int round = 0; round < 50; round++) {
		a.ia = b.ia = world_ia_open(NULL);
		pthread_create(&thread, NULL, close_ia, &b);
		close_ia(&a);
		pthread_join(thread, NULL);
		assert_true((a.ret == DAT_SUCCESS) ^ (b.ret == DAT_SUCCESS));
		assert_int_equal(a.ret | b.ret, DAPL_BAD_HANDLE(IA));
		world_forget_ia(a.ia);
	}
}

/* In every build: a call would jump to nothing. */
ON_IB(register__an_operation_is_missing)
{
	const struct dapl_cm_ops *whole =
		dapl_provider_find(WORLD_IA_NAME)->ops;
	struct dapl_cm_ops ops = *whole;
	DAT_PROVIDER_INFO info = {"lacking", 2, 0, DAT_TRUE};
	int added = world_registry.added;

#define WITHOUT(op)                                                           \
	do {                                                                  \
		ops = *whole;                                                 \
		ops.op = NULL;                                                \
		dapl_provider_register(&ops, &info, "");                      \
		assert_int_equal(world_registry.added, added);                \
		assert_non_null(strstr(dapl__fail_text(), "operation " #op)); \
		assert_null(dapl_provider_find("lacking"));                   \
	} while (0)
	WITHOUT(name);
	WITHOUT(open);
	WITHOUT(start);
	WITHOUT(stop);
	WITHOUT(close);
	WITHOUT(max_pdata);
	WITHOUT(listen);
	WITHOUT(unlisten);
	WITHOUT(prepare);
	WITHOUT(connect);
	WITHOUT(accept);
	WITHOUT(reject);
	WITHOUT(disconnect);
	WITHOUT(release);
	WITHOUT(addrs);
}

RUN_CASES(NULL, NULL)
