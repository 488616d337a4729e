/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_pz.c - dat_pz_*: protection zones.
 *
 * EPs, LMRs, RMRs and SRQs count as users; a zone with users cannot be freed.
 */
#include "dapl/common/objects/dapl_pz.h"

#include <errno.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"

static void pz_shutdown(struct dapl_obj *obj)
{
	vb_pd_destroy(((struct dapl_pz *)obj)->pd);
}

static const struct dapl_obj_ops pz_ops = {
	.type = DAT_HANDLE_TYPE_PZ,
	.made = DCNT_IA_PZ_CREATE,
	.ended = DCNT_IA_PZ_FREE,
	.size = sizeof(struct dapl_pz),
	.shutdown = pz_shutdown,
};

DAT_RETURN dapl_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *ret_pz)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_pz *pz;
	int ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (!ret_pz)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the handle");
	pz = dapl_obj_new(ia, &pz_ops);
	if (!pz)
		return dapl_fail(DAPL_NO_MEM, "pz: no memory");
	ret = vb_pd_create(&ia->dev, &pz->pd);
	if (ret) {
		dapl_obj_release(&pz->obj);
		return dapl_fail(ret == -ENOMEM ? DAPL_NO_RES(PROTECTION_DOMAIN)
						: dapl_err_dat(ret),
				 "pz: %s gave no protection domain: %s",
				 ia->dev.name, strerror(-ret));
	}
	dapl_obj_enlist(&pz->obj);
	*ret_pz = (DAT_PZ_HANDLE)pz;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask,
			 DAT_PZ_PARAM *ret_param)
{
	struct dapl_pz *pz = dapl_pz_from(handle);

	if (!pz)
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "no such PZ");
	if (mask & ~(unsigned)DAT_PZ_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	ret_param->ia_handle = dapl_obj_ia_handle(&pz->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_pz_free(DAT_PZ_HANDLE handle)
{
	struct dapl_pz *pz = dapl_pz_from(handle);

	if (!pz)
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "no such PZ");
	if (!dapl_obj_retire(&pz->obj, false))
		return dapl_fail(DAPL_BAD_STATE(PZ_IN_USE),
				 "pz %p: endpoints, regions or receive queues "
				 "still use it",
				 (void *)pz);
	dapl_obj_end(&pz->obj);
	return DAT_SUCCESS;
}
