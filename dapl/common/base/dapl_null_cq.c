/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_null_cq.c - the completion queue of those that have none; see dapl_ia.h.
 */
#include "dapl/common/base/dapl_ia.h"

int dapl_ia_null_cq(struct dapl_ia *ia, struct ibv_cq **ret_cq)
{
	struct ibv_cq *cq, *mine = NULL;
	int ret;

	dapl_lock(&ia->lock);
	cq = ia->null_cq;
	dapl_unlock(&ia->lock);
	if (!cq) {
		ret = vb_cq_create(&ia->dev, 1, NULL, NULL, &mine);
		if (ret)
			return ret;
		dapl_lock(&ia->lock);
		if (!ia->null_cq) {
			ia->null_cq = mine;
			mine = NULL;
		}
		cq = ia->null_cq;
		dapl_unlock(&ia->lock);
		if (mine)
			vb_cq_destroy(mine);
	}
	*ret_cq = cq;
	return 0;
}
