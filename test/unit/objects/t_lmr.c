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

ON_IB_IWARP(lmr_create__ok)
{
	struct lmr_args a = args_of(s);
	DAT_LMR_PARAM p;

	assert_dat_ok(create(&a));
	assert_true(a.ret_length >= sizeof(buf));
	assert_true(a.ret_addr <= (DAT_VADDR)(uintptr_t)buf);
	memset(&p, 0xa5, sizeof(p));
	assert_dat_ok(V(lmr_query)(a.lmr, DAT_LMR_FIELD_ALL, &p));
	assert_ptr_equal(p.ia_handle, world_user_ia(s->ia));
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

ON_IB(lmr_create__range_beyond_the_end)
{
	struct lmr_args a = args_of(s);
	DAT_RETURN ret;

	a.length = UINT64_MAX - 100;
	dapl_fail(DAT_SUCCESS, "%s", "");
	ret = create(&a);
	assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
	assert_string_not_equal(dapl__fail_text(), "");
	assert_null(a.lmr);
}

ON_IB(lmr_create__remote_writing_alone)
{
	struct lmr_args a = args_of(s);

	a.priv = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	assert_refused(create(&a), DAPL_ERR(DAT_PRIVILEGES_VIOLATION,
					    DAT_PRIVILEGES_WRITE));
	a.priv = 0x40; /* atomics write as well */
	assert_refused(create(&a), DAPL_ERR(DAT_PRIVILEGES_VIOLATION,
					    DAT_PRIVILEGES_WRITE));
}

ON_IB(lmr_create__nth_failure)
{
	struct lmr_args a = args_of(s);

	assert_nth_failure(create(&a), assert_dat_ok(V(lmr_free)(a.lmr)));
	/* The zone was given back each time. */
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
	assert_dat_ok(V(pz_free)(s->pz));
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

ON_IB(lmr_create__causes)
{
	refused_with(w, ENOMEM, DAPL_NO_RES(MEMORY_REGION));
	refused_with(w, EAGAIN, DAPL_ERR(DAT_INSUFFICIENT_RESOURCES, 0));
	refused_with(w, EFAULT, DAPL_BAD_ARG(3));
	refused_with(w, EOPNOTSUPP, DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
}

/* A device may refuse the flag for windows: the region is still wanted. */
ON_IB(lmr_create__no_windows)
{
	struct lmr_args a = args_of(s);

	fv_fail_at(1, EINVAL);
	assert_dat_ok(create(&a));
	assert_true(fv_fail_hit());
	assert_dat_ok(V(lmr_free)(a.lmr));
}

ON_IB(lmr_create__of_lmr)
{
	struct lmr_args a = args_of(s), b;

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

ON_IB_ROCE(lmr_create__zero_based_is_written)
{
	struct lmr_args a = args_of(s);
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
	memset(c->mem.buf, 'z', 16);
	seg = world_seg(c, 0, 16);
	target = (DAT_RMR_TRIPLET){.virtual_address = 100,
				   .segment_length = 16,
				   .rmr_context = a.rkey};
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(1),
					    &target,
					    DAT_COMPLETION_DEFAULT_FLAG));
	expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	assert_memory_equal(buf + 100, c->mem.buf, 16);
	assert_int_equal(buf[99], 0);
	assert_dat_ok(V(lmr_free)(a.lmr));
}

/* The kernel refuses it on every device: the reason is told before. */
ON_IB(lmr_create__zero_based_within_a_page)
{
	struct lmr_args a = args_of(s);

	a.va_type = DAT_VA_TYPE_ZB;
	a.desc.for_va = buf + 64;
	assert_refused(create(&a), DAPL_BAD_ARG(3));
	assert_non_null(strstr(dapl__fail_text(), "page"));
}

ON_IWARP(lmr_create__zero_based_on_siw)
{
	struct lmr_args a = args_of(s);
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

ON_IB(lmr_free__used_by_a_late_send)
{
	/* Longer than what is sent inline, where no key is looked at. */
	world_connect(w);
	world_recv(s, 0, 4096, 1);
	assert_dat_ok(V(lmr_free)(c->mem.lmr));
	world_send(c, 0, 4096, 2, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(c->req_evd, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
}

typedef DAT_RETURN (*sync_fn)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

static void check_sync(struct world *w, sync_fn sync)
{
	struct world_side *s = &w->server;
	DAT_LMR_TRIPLET seg[2] = {world_seg(s, 0, 64),
				  world_seg(s, 64, WORLD_MEM_SIZE - 64)};

	assert_dat_ok(sync(s->ia, seg, 2));
	assert_dat_ok(sync(s->ia, NULL, 0));
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

ON_IB(lmr_sync_rdma_read__segments)
{
	check_sync(w, V(lmr_sync_rdma_read));
}

ON_IB(lmr_sync_rdma_write__segments)
{
	check_sync(w, V(lmr_sync_rdma_write));
}

RUN_CASES(NULL, NULL)
