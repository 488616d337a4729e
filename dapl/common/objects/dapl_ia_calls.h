/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_ia_calls.h - dat_ia_*: open, close, query. */
#ifndef DAPL_IA_CALLS_H
#define DAPL_IA_CALLS_H

#include "dapl/common/base/dapl_ia.h"

/* All of ATTR, for this device. */
void dapl_ia_attr_fill(struct dapl_ia *ia, DAT_IA_ATTR *attr);
/* What dat_ia_query() answers, with its codes. */
DAT_RETURN dapl_ia_tell(struct dapl_ia *ia, DAT_IA_ATTR_MASK ia_mask,
			DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK prov_mask,
			DAT_PROVIDER_ATTR *prov_attr);
/* Fills ia->named; part of open. */
void dapl_ia_named_attrs(struct dapl_ia *ia);

/* The IA vector entries. ia_open's arguments are those of slot 2. */
DAT_RETURN dapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_ia);
DAT_RETURN dapl_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags);
DAT_RETURN dapl_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK prov_mask,
			 DAT_PROVIDER_ATTR *prov_attr);
/*
 * dat_ib_open_query(): an IA that nothing can be done with but to close it. The
 * arguments from ia_mask on are those of dapl_ia_query().
 */
DAT_RETURN dapl_ia_open_query(const char *name, DAT_HANDLE *ret_ia,
			      DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			      DAT_PROVIDER_ATTR_MASK prov_mask,
			      DAT_PROVIDER_ATTR *prov_attr);
DAT_RETURN dapl_ia_close_query(DAT_HANDLE handle);
DAT_RETURN dapl_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *ret_answer);

/* Whether endpoints of DAT_IB_SERVICE_TYPE_UD can be made. */
bool dapl_ia_has_datagrams(const struct dapl_ia *ia);

#endif
