/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_lmr.c - cases of local memory regions.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_lmr_*; va_type: DAT 2.0.
 */
#include "test/conform/conform.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct region {
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz;
	unsigned priv;
};

/* A region that can be registered; cases spoil one member. */
static struct region good(struct conf *c)
{
	struct region r = {
		.type = DAT_MEM_TYPE_VIRTUAL,
		.length = 4096,
		.pz = c->a.pz,
		.priv = DAT_MEM_PRIV_ALL_FLAG,
	};

	r.desc.for_va = c->a.buf;
	return r;
}

static DAT_RETURN create(struct conf *c, const struct region *r,
			 DAT_LMR_HANDLE *lmr)
{
	return face_lmr_create(c->a.ia, r->type, r->desc, r->length, r->pz,
			       (DAT_MEM_PRIV_FLAGS)r->priv, lmr, NULL, NULL,
			       NULL, NULL);
}

CASE(lmr_create__all_outputs, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_VADDR address = 0;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN length = 0;

	EXPECT_OK(face_lmr_create(c->a.ia, r.type, r.desc, r.length, r.pz,
				  DAT_MEM_PRIV_ALL_FLAG, &lmr, &lkey, &rkey,
				  &length, &address));
	EXPECT(address <= (DAT_VADDR)(uintptr_t)c->a.buf);
	EXPECT(address + length >= (DAT_VADDR)(uintptr_t)c->a.buf + r.length);
	EXPECT_OK(dat_lmr_free(lmr));
}

CASE(lmr_create__outputs_may_be_null, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	EXPECT_OK(create(c, &r, &lmr));
	EXPECT_OK(dat_lmr_free(lmr));
}

CASE(lmr_create__same_memory_twice, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_LMR_HANDLE one, two;

	EXPECT_OK(create(c, &r, &one));
	EXPECT_OK(create(c, &r, &two));
	EXPECT(one != two);
	EXPECT_OK(dat_lmr_free(one));
	EXPECT_OK(dat_lmr_free(two));
}

CASE(lmr_create__length_0, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	/* doc/conformance.md */
	r.length = 0;
	EXPECT_TYPE(create(c, &r, &lmr), DAT_LENGTH_ERROR);
	/* the historic dapltest has no address either */
	r.desc.for_va = NULL;
	EXPECT_TYPE(create(c, &r, &lmr), DAT_LENGTH_ERROR);
}

CASE(lmr_create__remote_write_without_local, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	r.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	EXPECT_TYPE(create(c, &r, &lmr), DAT_PRIVILEGES_VIOLATION);
}

CASE(lmr_create__privileges_none, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	r.priv = DAT_MEM_PRIV_NONE_FLAG;
	EXPECT_OK(create(c, &r, &lmr));
	EXPECT_OK(dat_lmr_free(lmr));
}

CASE(lmr_create__from_lmr, "9 dat_lmr_create", NEED_IA)
{
	struct region r = good(c);
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	r.type = DAT_MEM_TYPE_LMR;
	r.desc.for_lmr_handle = c->a.lmr;
	EXPECT_OK(create(c, &r, &lmr));
	EXPECT_OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	EXPECT_EQ(param.mem_type, DAT_MEM_TYPE_LMR);
	EXPECT(param.registered_size >= CONF_MEM);
	EXPECT_OK(dat_lmr_free(lmr));
}

CASE(lmr_create__shared_virtual, "9 dat_lmr_create", NEED_IA)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "one";
	struct region r = good(c);
	DAT_LMR_HANDLE one, two;

	r.type = DAT_MEM_TYPE_SHARED_VIRTUAL;
	r.desc.for_shared_memory.virtual_address = c->a.buf;
	r.desc.for_shared_memory.shared_memory_id = &cookie;
	EXPECT_OK(create(c, &r, &one));
	EXPECT_OK(create(c, &r, &two));
	EXPECT_OK(dat_lmr_free(one));
	EXPECT_OK(dat_lmr_free(two));
}

CASE(lmr_query__what_was_asked_for, "9 dat_lmr_query", NEED_IA)
{
	DAT_LMR_PARAM p;

	EXPECT_OK(dat_lmr_query(c->a.lmr, DAT_LMR_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT_EQ(p.mem_type, DAT_MEM_TYPE_VIRTUAL);
	EXPECT(p.region_desc.for_va == c->a.buf);
	EXPECT_EQ(p.length, CONF_MEM);
	EXPECT(p.pz_handle == c->a.pz);
	EXPECT_EQ(p.mem_priv & DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_ALL_FLAG);
	EXPECT_EQ(p.lmr_context, c->a.lkey);
	EXPECT_EQ(p.rmr_context, c->a.rkey);
	EXPECT(p.registered_size >= CONF_MEM);
}

CASE(lmr_sync_rdma_read__works, "9 dat_lmr_sync_rdma_read", NEED_IA)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 64);

	EXPECT_OK(dat_lmr_sync_rdma_read(c->a.ia, &seg, 1));
}

CASE(lmr_sync_rdma_write__works, "9 dat_lmr_sync_rdma_write", NEED_IA)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 64);

	EXPECT_OK(dat_lmr_sync_rdma_write(c->a.ia, &seg, 1));
}
