/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_pz.h - protection zone: a verbs protection domain. */
#ifndef DAPL_PZ_H
#define DAPL_PZ_H

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/verbs/vb.h"

struct dapl_pz {
	struct dapl_obj obj;
	struct ibv_pd *pd;
};

static inline struct dapl_pz *dapl_pz_from(DAT_PZ_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_PZ);
}

DAT_RETURN dapl_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *ret_pz);
DAT_RETURN dapl_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask,
			 DAT_PZ_PARAM *ret_param);
DAT_RETURN dapl_pz_free(DAT_PZ_HANDLE handle);

#endif
