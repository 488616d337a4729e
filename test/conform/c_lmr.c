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

#define T(name) static void name(struct conf *c)

struct region {
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz;
	unsigned priv;
	DAT_VA_TYPE va;
};

/* A region that can be registered; cases spoil one member. */
static struct region good(struct conf *c)
{
	struct region r = {
		.type = DAT_MEM_TYPE_VIRTUAL,
		.length = 4096,
		.pz = c->a.pz,
		.priv = DAT_MEM_PRIV_ALL_FLAG,
		.va = DAT_VA_TYPE_VA,
	};

	r.desc.for_va = c->a.buf;
	return r;
}

static DAT_RETURN create(struct conf *c, const struct region *r,
			 DAT_LMR_HANDLE *lmr)
{
	return dat_lmr_create(c->a.ia, r->type, r->desc, r->length, r->pz,
			      (DAT_MEM_PRIV_FLAGS)r->priv, r->va, lmr, NULL,
			      NULL, NULL, NULL);
}

T(lmr_create__all_outputs)
{
	struct region r = good(c);
	DAT_VADDR address = 0;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN length = 0;

	EXPECT_OK(dat_lmr_create(c->a.ia, r.type, r.desc, r.length, r.pz,
				 DAT_MEM_PRIV_ALL_FLAG, r.va, &lmr, &lkey,
				 &rkey, &length, &address));
	EXPECT(address <= (DAT_VADDR)(uintptr_t)c->a.buf);
	EXPECT(address + length >= (DAT_VADDR)(uintptr_t)c->a.buf + r.length);
	EXPECT_OK(dat_lmr_free(lmr));
}

T(lmr_create__outputs_may_be_null)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	EXPECT_OK(create(c, &r, &lmr));
	EXPECT_OK(dat_lmr_free(lmr));
}

T(lmr_create__same_memory_twice)
{
	struct region r = good(c);
	DAT_LMR_HANDLE one, two;

	EXPECT_OK(create(c, &r, &one));
	EXPECT_OK(create(c, &r, &two));
	EXPECT(one != two);
	EXPECT_OK(dat_lmr_free(one));
	EXPECT_OK(dat_lmr_free(two));
}

T(lmr_create__length_0)
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

T(lmr_create__not_mapped)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	r.desc.for_va = (DAT_PVOID)(uintptr_t)4096;
	EXPECT_TYPE(create(c, &r, &lmr), DAT_INVALID_PARAMETER);
}

T(lmr_create__remote_write_without_local)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	r.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	EXPECT_TYPE(create(c, &r, &lmr), DAT_PRIVILEGES_VIOLATION);
}

T(lmr_create__privileges_none)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	r.priv = DAT_MEM_PRIV_NONE_FLAG;
	EXPECT_OK(create(c, &r, &lmr));
	EXPECT_OK(dat_lmr_free(lmr));
}

T(lmr_create__zero_based)
{
	struct region r = good(c);
	DAT_LMR_HANDLE lmr;

	r.va = DAT_VA_TYPE_ZB;
	r.length = (DAT_VLEN)sysconf(_SC_PAGESIZE);
	r.desc.for_va = mmap(NULL, (size_t)r.length, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(r.desc.for_va != MAP_FAILED);
	if (!c->ia_attr.zb_supported) {
		EXPECT_TYPE(create(c, &r, &lmr), DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	EXPECT_OK(create(c, &r, &lmr));
	EXPECT_OK(dat_lmr_free(lmr));
	/* doc/conformance.md: only what begins with a page */
	r.desc.for_va = (char *)r.desc.for_va + 64;
	r.length -= 64;
	BAD_ARG(create(c, &r, &lmr), 3);
}

T(lmr_create__from_lmr)
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

T(lmr_create__shared_virtual)
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

T(lmr_query__what_was_asked_for)
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

T(lmr_sync_rdma_read__works)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 64);

	EXPECT_OK(dat_lmr_sync_rdma_read(c->a.ia, &seg, 1));
}

T(lmr_sync_rdma_write__works)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 64);

	EXPECT_OK(dat_lmr_sync_rdma_write(c->a.ia, &seg, 1));
}

#define CREATE(x) CASE(lmr_create__##x, "9 dat_lmr_create", NEED_IA)
#define QUERY(x)  CASE(lmr_query__##x, "9 dat_lmr_query", NEED_IA)
#define FREE(x)	  CASE(lmr_free__##x, "9 dat_lmr_free", NEED_IA)
#define SYNC_READ(x) \
	CASE(lmr_sync_rdma_read__##x, "9 dat_lmr_sync_rdma_read", NEED_IA)
#define SYNC_WRITE(x) \
	CASE(lmr_sync_rdma_write__##x, "9 dat_lmr_sync_rdma_write", NEED_IA)

const struct conf_case cases_lmr[] = {
	CREATE(all_outputs),	   CREATE(outputs_may_be_null),
	CREATE(same_memory_twice), CREATE(length_0),
	CREATE(not_mapped),	   CREATE(remote_write_without_local),
	CREATE(privileges_none),   CREATE(zero_based),
	CREATE(from_lmr),	   CREATE(shared_virtual),
	QUERY(what_was_asked_for), SYNC_READ(works),
	SYNC_WRITE(works),	   {0},
};
