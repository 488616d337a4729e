/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_lmr.c - dat_lmr_*: local memory regions.
 *
 * All three memory types end in one registration of a range of addresses: an
 * LMR on an LMR registers the same range again, and shared virtual memory is
 * shared by the mapping, so its cookie needs no table.
 * Registration may sleep in the kernel (page pinning); no lock is held.
 */
#include "dapl/common/objects/dapl_lmr.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dapl/common/base/dapl_ia.h"

#define LMR_PRIV_ALL (DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

static int verbs_access(DAT_MEM_PRIV_FLAGS priv)
{
	int access = 0;

	if (priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IBV_ACCESS_REMOTE_READ;
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (priv & DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* The range that DESC names: *RET_ADDR and *LENGTH. */
static DAT_RETURN lmr_range(struct dapl_ia *ia, DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION desc, DAT_VLEN *length,
			    void **ret_addr)
{
	struct dapl_lmr *source;

	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		*ret_addr = desc.for_va;
		break;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		*ret_addr = desc.for_shared_memory.virtual_address;
		break;
	case DAT_MEM_TYPE_LMR:
		source = dapl_lmr_from(desc.for_lmr_handle);
		if (!source || source->obj.ia != ia)
			return dapl_fail(DAPL_BAD_HANDLE(LMR),
					 "the region to register again is not "
					 "an LMR of this IA");
		*ret_addr = source->mr->addr;
		*length = source->mr->length;
		break;
	default:
		return dapl_fail(DAPL_BAD_ARG(2), "no memory type %d",
				 (int)mem_type);
	}
	return DAT_SUCCESS;
}

static DAT_RETURN check_privileges(DAT_MEM_PRIV_FLAGS priv)
{
	if (priv & ~(unsigned)LMR_PRIV_ALL)
		return dapl_fail(DAPL_BAD_ARG(6), "unknown privileges 0x%x",
				 (unsigned)priv);
	if ((priv & (DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
		     DAT_IB_MEM_PRIV_REMOTE_ATOMIC)) &&
	    !(priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return dapl_fail(DAPL_ERR(DAT_PRIVILEGES_VIOLATION,
					  DAT_PRIVILEGES_WRITE),
				 "remote write needs local write as well");
	return DAT_SUCCESS;
}

/*
 * The kernel maps pages whole, so a region keeps its place in the first one:
 * addresses that begin at 0 begin with a page. Any other base would let what
 * the consumer did not name be reached.
 */
static DAT_RETURN check_zero_based(const struct dapl_ia *ia, const void *addr)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (!ia->dev.zero_based)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "lmr: %s has no regions with addresses from 0",
				 ia->dev.name);
	if ((uintptr_t)addr & (page - 1))
		return dapl_fail(DAPL_BAD_ARG(3),
				 "lmr: a region with addresses from 0 must "
				 "begin with a page of %zu bytes, not at %p",
				 (size_t)page, addr);
	return DAT_SUCCESS;
}

/* Says why a registration failed, in words that lead to the remedy. */
static DAT_RETURN lmr_refused(const struct dapl_ia *ia, int err, void *addr,
			      DAT_VLEN length)
{
	char remedy[160];

	switch (err) {
	case -EFAULT:
		return dapl_fail(DAPL_BAD_ARG(3),
				 "lmr: %p to +%llu is not all mapped, or is "
				 "read-only and local write was asked for",
				 addr, (unsigned long long)length);
	case -ENOMEM:
		if (vb_locked_text(err, remedy, sizeof(remedy)))
			return dapl_fail(DAPL_NO_RES(MEMORY_REGION),
					 "lmr: %s: %llu bytes could not be "
					 "locked",
					 remedy, (unsigned long long)length);
		return dapl_fail(DAPL_NO_RES(MEMORY_REGION),
				 "lmr: %s has no memory for a region of %llu "
				 "bytes",
				 ia->dev.name, (unsigned long long)length);
	case -EOPNOTSUPP:
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "lmr: %s cannot register that way",
				 ia->dev.name);
	default:
		return dapl_fail(dapl_err_dat(err),
				 "lmr: %s refused %p to +%llu: %s",
				 ia->dev.name, addr, (unsigned long long)length,
				 strerror(-err));
	}
}

static void lmr_shutdown(struct dapl_obj *obj)
{
	struct dapl_lmr *lmr = (struct dapl_lmr *)obj;

	vb_mr_destroy(lmr->mr);
	dapl_obj_unuse(&lmr->pz->obj);
}

static const struct dapl_obj_ops lmr_ops = {
	.type = DAT_HANDLE_TYPE_LMR,
	.made = DCNT_IA_LMR_CREATE,
	.ended = DCNT_IA_LMR_FREE,
	.size = sizeof(struct dapl_lmr),
	.shutdown = lmr_shutdown,
};

DAT_RETURN dapl_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION desc, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS priv,
			   DAT_VA_TYPE va_type, DAT_LMR_HANDLE *ret_lmr,
			   DAT_LMR_CONTEXT *ret_lmr_context,
			   DAT_RMR_CONTEXT *ret_rmr_context,
			   DAT_VLEN *ret_length, DAT_VADDR *ret_address)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_pz *pz = dapl_pz_from(pz_handle);
	bool zero_based = va_type == DAT_VA_TYPE_ZB;
	struct dapl_lmr *lmr;
	void *addr = NULL;
	DAT_RETURN ret;
	int err;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	ret = lmr_range(ia, mem_type, desc, &length, &addr);
	if (ret != DAT_SUCCESS)
		return ret;
	/* doc/conformance.md: the historic dapltest wants this code. */
	if (!length)
		return dapl_fail(DAPL_ERR(DAT_LENGTH_ERROR, 0),
				 "lmr: a region of no bytes");
	if (length > SIZE_MAX)
		return dapl_fail(DAPL_BAD_ARG(4), "lmr: a region of %llu bytes",
				 (unsigned long long)length);
	if (!pz || pz->obj.ia != ia)
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "no such PZ");
	ret = check_privileges(priv);
	if (ret != DAT_SUCCESS)
		return ret;
	if (va_type != DAT_VA_TYPE_VA && !zero_based)
		return dapl_fail(DAPL_BAD_ARG(7), "no address type %d",
				 (int)va_type);
	ret = zero_based ? check_zero_based(ia, addr) : DAT_SUCCESS;
	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_lmr)
		return dapl_fail(DAPL_BAD_ARG(8), "no place for the handle");
	lmr = dapl_obj_new(ia, &lmr_ops);
	if (!lmr)
		return dapl_fail(DAPL_NO_MEM, "lmr: no memory");
	if (!dapl_obj_use(&pz->obj)) {
		dapl_obj_release(&lmr->obj);
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "the PZ was freed");
	}
	err = vb_mr_create(pz->pd, addr, (size_t)length, zero_based,
			   verbs_access(priv) | IBV_ACCESS_MW_BIND, &lmr->mr);
	/* Windows are optional: a device without them may refuse the flag. */
	if (err == -EINVAL || err == -EOPNOTSUPP)
		err = vb_mr_create(pz->pd, addr, (size_t)length, zero_based,
				   verbs_access(priv), &lmr->mr);
	if (err) {
		dapl_obj_unuse(&pz->obj);
		dapl_obj_release(&lmr->obj);
		return lmr_refused(ia, err, addr, length);
	}
	lmr->pz = pz;
	lmr->param.mem_type = mem_type;
	lmr->param.region_desc = desc;
	lmr->param.length = length;
	lmr->param.pz_handle = pz_handle;
	lmr->param.mem_priv = priv;
	lmr->param.va_type = va_type;
	lmr->param.lmr_context = lmr->mr->lkey;
	lmr->param.rmr_context = lmr->mr->rkey;
	lmr->param.registered_size = length;
	lmr->param.registered_address =
		zero_based ? 0 : (DAT_VADDR)(uintptr_t)addr;
	dapl_obj_enlist(&lmr->obj);

	*ret_lmr = (DAT_LMR_HANDLE)lmr;
	if (ret_lmr_context)
		*ret_lmr_context = lmr->param.lmr_context;
	if (ret_rmr_context)
		*ret_rmr_context = lmr->param.rmr_context;
	if (ret_length)
		*ret_length = lmr->param.registered_size;
	if (ret_address)
		*ret_address = lmr->param.registered_address;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask,
			  DAT_LMR_PARAM *ret_param)
{
	struct dapl_lmr *lmr = dapl_lmr_from(handle);

	if (!lmr)
		return dapl_fail(DAPL_BAD_HANDLE(LMR), "no such LMR");
	if (mask & ~(unsigned)DAT_LMR_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	*ret_param = lmr->param;
	ret_param->ia_handle = dapl_obj_ia_handle(&lmr->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_lmr_free(DAT_LMR_HANDLE handle)
{
	struct dapl_lmr *lmr = dapl_lmr_from(handle);

	if (!lmr)
		return dapl_fail(DAPL_BAD_HANDLE(LMR), "no such LMR");
	if (!dapl_obj_retire(&lmr->obj, false))
		return dapl_fail(DAPL_BAD_STATE(LMR_IN_USE),
				 "lmr %p: an RMR is bound to it, or its unbind "
				 "has not completed",
				 (void *)lmr);
	dapl_obj_end(&lmr->obj);
	return DAT_SUCCESS;
}

struct dapl_lmr *dapl_lmr_find(struct dapl_ia *ia, DAT_LMR_CONTEXT key)
{
	struct dapl_obj *obj;
	struct dapl_lmr *found = NULL;

	dapl_lock(&ia->lock);
	dapl_list_for_each(obj, &ia->objs[DAT_HANDLE_TYPE_LMR], link) {
		struct dapl_lmr *lmr = (struct dapl_lmr *)obj;

		if (lmr->param.lmr_context == key) {
			found = lmr;
			break;
		}
	}
	dapl_unlock(&ia->lock);
	return found;
}

/*
 * RDMA and local stores are coherent on every platform that Linux verbs run
 * on: what is left is to check the segments, and to keep the compiler and the
 * processor from moving accesses across the call.
 */
static DAT_RETURN lmr_sync(DAT_IA_HANDLE ia_handle,
			   const DAT_LMR_TRIPLET *segments, DAT_VLEN count)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (!segments && count)
		return dapl_fail(DAPL_BAD_ARG(2), "no segments");
	for (DAT_VLEN i = 0; i < count; i++) {
		const DAT_LMR_TRIPLET *s = &segments[i];
		struct dapl_lmr *lmr = dapl_lmr_find(ia, s->lmr_context);
		DAT_VADDR start;

		if (!lmr)
			return dapl_fail(
				DAPL_BAD_HANDLE(LMR),
				"segment %llu: no LMR has context 0x%x",
				(unsigned long long)i, s->lmr_context);
		start = lmr->param.registered_address;
		if (s->virtual_address < start ||
		    s->virtual_address - start > lmr->param.registered_size ||
		    s->segment_length > lmr->param.registered_size -
						(s->virtual_address - start))
			return dapl_fail(DAPL_BAD_ARG(2),
					 "segment %llu lies outside its LMR",
					 (unsigned long long)i);
	}
	__sync_synchronize();
	return DAT_SUCCESS;
}

DAT_RETURN dapl_lmr_sync_rdma_read(DAT_IA_HANDLE ia,
				   const DAT_LMR_TRIPLET *segments,
				   DAT_VLEN count)
{
	return lmr_sync(ia, segments, count);
}

DAT_RETURN dapl_lmr_sync_rdma_write(DAT_IA_HANDLE ia,
				    const DAT_LMR_TRIPLET *segments,
				    DAT_VLEN count)
{
	return lmr_sync(ia, segments, count);
}
