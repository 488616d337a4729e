/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_lmr.c - dat_lmr_create, dat_lmr_query, dat_lmr_free, dat_lmr_sync_*.
 *
 * Whether a region's rights hold is the device's business and is tried here
 * only by transfers over regions of the special kinds. Threads: the test's
 * own. Rules: uDAPL 1.2 specification, dat_lmr_*; va_type is DAT 2.0.
 */
#include "test/unit/world.h"

#include <errno.h>
#include <string.h>

static uint8_t buf[8192] __attribute__((aligned(4096)));

/* Arguments of one create, with everything right at first. */
struct lmr_args {
	DAT_IA_HANDLE ia;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz;
	unsigned priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_VLEN ret_length;
	DAT_VADDR ret_addr;
};

static struct lmr_args args_of(const struct world_side *s)
{
	return (struct lmr_args){
		.ia = s->ia,
		.type = DAT_MEM_TYPE_VIRTUAL,
		.desc.for_va = buf,
		.length = sizeof(buf),
		.pz = s->pz,
		.priv = DAT_MEM_PRIV_ALL_FLAG,
		.va_type = DAT_VA_TYPE_VA,
	};
}

static DAT_RETURN create(struct lmr_args *a)
{
	return V(lmr_create)(a->ia, a->type, a->desc, a->length, a->pz,
			     (DAT_MEM_PRIV_FLAGS)a->priv, a->va_type, &a->lmr,
			     &a->lkey, &a->rkey, &a->ret_length, &a->ret_addr);
}

static void lmr_create__ok(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);
	DAT_LMR_PARAM p;

	assert_dat_ok(create(&a));
	assert_true(a.ret_length >= sizeof(buf));
	assert_true(a.ret_addr <= (DAT_VADDR)(uintptr_t)buf);
	memset(&p, 0xa5, sizeof(p));
	assert_dat_ok(V(lmr_query)(a.lmr, DAT_LMR_FIELD_ALL, &p));
	assert_ptr_equal(p.ia_handle, world_user_ia(w->server.ia));
	assert_int_equal(p.mem_type, a.type);
	assert_ptr_equal(p.region_desc.for_va, buf);
	assert_int_equal(p.length, sizeof(buf));
	assert_ptr_equal(p.pz_handle, a.pz);
	assert_int_equal(p.mem_priv, a.priv);
	assert_int_equal(p.va_type, DAT_VA_TYPE_VA);
	assert_int_equal(p.lmr_context, a.lkey);
	assert_int_equal(p.rmr_context, a.rkey);
	assert_int_equal(p.registered_size, a.ret_length);
	assert_int_equal(p.registered_address, a.ret_addr);
	assert_dat_ok(V(lmr_free)(a.lmr));
}

static void lmr_create__range_beyond_the_end(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);
	DAT_RETURN ret;

	a.length = UINT64_MAX - 100;
	dapl_fail(DAT_SUCCESS, "%s", "");
	ret = create(&a);
	assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
	assert_string_not_equal(dapl__fail_text(), "");
	assert_null(a.lmr);
}

static void lmr_create__remote_writing_alone(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);

	a.priv = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	assert_refused(create(&a), DAPL_ERR(DAT_PRIVILEGES_VIOLATION,
					    DAT_PRIVILEGES_WRITE));
	a.priv = 0x40; /* atomics write as well */
	assert_refused(create(&a), DAPL_ERR(DAT_PRIVILEGES_VIOLATION,
					    DAT_PRIVILEGES_WRITE));
}

static void lmr_create__nth_failure(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);

	assert_nth_failure(create(&a), assert_dat_ok(V(lmr_free)(a.lmr)));
	/* The zone was given back each time. */
	assert_dat_ok(V(lmr_free)(w->server.mem.lmr));
	assert_dat_ok(V(pz_free)(w->server.pz));
}

static void refused_with(struct world *w, int err, DAT_RETURN code)
{
	struct lmr_args a = args_of(&w->server);

	fv_fail_from(1, err);
	assert_refused(create(&a), code);
	fv_fail_at(0, 0);
	assert_null(a.lmr);
	assert_int_equal(a.lkey, 0);
}

static void lmr_create__causes(void **state)
{
	struct world *w = *state;

	refused_with(w, ENOMEM, DAPL_NO_RES(MEMORY_REGION));
	refused_with(w, EFAULT, DAPL_BAD_ARG(3));
	refused_with(w, EOPNOTSUPP, DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
}

/* A device may refuse the flag for windows: the region is still wanted. */
static void lmr_create__no_windows(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);

	fv_fail_at(1, EINVAL);
	assert_dat_ok(create(&a));
	assert_true(fv_fail_hit());
	assert_dat_ok(V(lmr_free)(a.lmr));
}

static void lmr_create__of_lmr(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server), b;

	assert_dat_ok(create(&a));
	b = a;
	b.type = DAT_MEM_TYPE_LMR;
	b.desc.for_lmr_handle = a.lmr;
	b.length = 1; /* ignored */
	b.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	assert_dat_ok(create(&b));
	assert_int_not_equal(a.lkey, b.lkey);
	assert_int_equal(b.ret_length, a.ret_length);
	assert_int_equal(b.ret_addr, a.ret_addr);
	/* Each stands by itself. */
	assert_dat_ok(V(lmr_free)(a.lmr));
	assert_dat_ok(V(lmr_free)(b.lmr));
}

static void lmr_create__shared_virtual_twice(void **state)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "one";
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server), b;

	a.type = DAT_MEM_TYPE_SHARED_VIRTUAL;
	a.desc.for_shared_memory.virtual_address = buf;
	a.desc.for_shared_memory.shared_memory_id = &cookie;
	b = a;
	assert_dat_ok(create(&a));
	assert_dat_ok(create(&b));
	assert_int_equal(a.ret_addr, b.ret_addr);
	assert_dat_ok(V(lmr_free)(a.lmr));
	assert_dat_ok(V(lmr_free)(b.lmr));
}

static void lmr_create__zero_based_is_written(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET target;
	DAT_LMR_PARAM p;

	a.va_type = DAT_VA_TYPE_ZB;
	assert_dat_ok(create(&a));
	assert_int_equal(a.ret_addr, 0);
	assert_dat_ok(V(lmr_query)(a.lmr, DAT_LMR_FIELD_ALL, &p));
	assert_int_equal(p.va_type, DAT_VA_TYPE_ZB);
	world_connect(w);
	memset(buf, 0, sizeof(buf));
	memset(w->client.mem.buf, 'z', 16);
	seg = world_seg(&w->client, 0, 16);
	target = (DAT_RMR_TRIPLET){.virtual_address = 100,
				   .segment_length = 16,
				   .rmr_context = a.rkey};
	assert_dat_ok(V(ep_post_rdma_write)(w->client.ep, 1, &seg,
					    world_cookie(1), &target,
					    DAT_COMPLETION_DEFAULT_FLAG));
	expect_dto(w->client.req_evd, 1, DAT_DTO_SUCCESS);
	assert_memory_equal(buf + 100, w->client.mem.buf, 16);
	assert_int_equal(buf[99], 0);
	assert_dat_ok(V(lmr_free)(a.lmr));
}

/* The kernel refuses it on every device: the reason is told before. */
static void lmr_create__zero_based_within_a_page(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);

	a.va_type = DAT_VA_TYPE_ZB;
	a.desc.for_va = buf + 64;
	assert_refused(create(&a), DAPL_BAD_ARG(3));
	assert_non_null(strstr(dapl__fail_text(), "page"));
}

static void lmr_create__zero_based_on_siw(void **state)
{
	struct world *w = *state;
	struct lmr_args a = args_of(&w->server);
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	fv_device_cfg_get(w->dev)->attr.vendor_id = 0x626d74;
	ia = world_ia_open(NULL);
	assert_dat_ok(V(ia_query)(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	assert_int_equal(attr.zb_supported, DAT_FALSE);
	a.ia = ia;
	a.pz = world_pz(ia);
	a.va_type = DAT_VA_TYPE_ZB;
	assert_refused(create(&a), DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	world_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void lmr_free__window_bound(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_LMR_TRIPLET seg, none = {0};
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;

	world_connect(w);
	assert_dat_ok(V(rmr_create)(s->pz, &rmr));
	seg = world_seg(s, 0, 64);
	assert_dat_ok(V(rmr_bind)(rmr, s->mem.lmr, &seg,
				  DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA,
				  s->ep, world_cookie(1),
				  DAT_COMPLETION_DEFAULT_FLAG, &key));
	expect_event(s->req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_refused(V(lmr_free)(s->mem.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	none.lmr_context = s->mem.lkey;
	assert_dat_ok(V(rmr_bind)(
		rmr, s->mem.lmr, &none, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA,
		s->ep, world_cookie(2), DAT_COMPLETION_DEFAULT_FLAG, &key));
	expect_event(s->req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
}

static void lmr_free__used_by_a_late_send(void **state)
{
	struct world *w = *state;

	/* Longer than what is sent inline, where no key is looked at. */
	world_connect(w);
	world_recv(&w->server, 0, 4096, 1);
	assert_dat_ok(V(lmr_free)(w->client.mem.lmr));
	world_send(&w->client, 0, 4096, 2, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(w->client.req_evd, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
}

typedef DAT_RETURN (*sync_fn)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

static void check_sync(struct world *w, sync_fn sync)
{
	struct world_side *s = &w->server;
	DAT_LMR_TRIPLET seg[2] = {world_seg(s, 0, 64),
				  world_seg(s, 64, WORLD_MEM_SIZE - 64)};

	assert_dat_ok(sync(s->ia, seg, 2));
	assert_dat_ok(sync(s->ia, NULL, 0));
	assert_refused(sync(s->ia, NULL, 1), DAPL_BAD_ARG(2));
	assert_refused(sync((DAT_IA_HANDLE)s->pz, seg, 2), DAPL_BAD_HANDLE(IA));
	seg[1].segment_length++;
	assert_refused(sync(s->ia, seg, 2), DAPL_BAD_ARG(2));
	seg[1].segment_length = UINT32_MAX;
	assert_refused(sync(s->ia, seg, 2), DAPL_BAD_ARG(2));
	seg[1].segment_length = 0;
	seg[1].virtual_address--;
	assert_dat_ok(sync(s->ia, seg, 2));
	seg[1].virtual_address = seg[0].virtual_address - 1;
	assert_refused(sync(s->ia, seg, 2), DAPL_BAD_ARG(2));
	seg[1].lmr_context ^= 0x5555;
	assert_refused(sync(s->ia, seg, 2), DAPL_BAD_HANDLE(LMR));
}

static void lmr_sync_rdma_read__segments(void **state)
{
	check_sync(*state, V(lmr_sync_rdma_read));
}

static void lmr_sync_rdma_write__segments(void **state)
{
	check_sync(*state, V(lmr_sync_rdma_write));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ib_test(lmr_create__ok),
		iwarp_test(lmr_create__ok),
		ib_test(lmr_create__range_beyond_the_end),
		ib_test(lmr_create__remote_writing_alone),
		ib_test(lmr_create__nth_failure),
		ib_test(lmr_create__causes),
		ib_test(lmr_create__no_windows),
		ib_test(lmr_create__of_lmr),
		ib_test(lmr_create__shared_virtual_twice),
		ib_test(lmr_create__zero_based_is_written),
		roce_test(lmr_create__zero_based_is_written),
		ib_test(lmr_create__zero_based_within_a_page),
		iwarp_test(lmr_create__zero_based_on_siw),
		ib_test(lmr_free__window_bound),
		ib_test(lmr_free__used_by_a_late_send),
		ib_test(lmr_sync_rdma_read__segments),
		ib_test(lmr_sync_rdma_write__segments),
	};

	return world_run(tests);
}
