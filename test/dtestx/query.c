/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * query.c - what a provider says of itself: -q, and the counters of -p.
 *
 * Does not connect. Threads: one. Ownership: the query's handle is closed
 * before it returns.
 * Rule: -q opens the adapter for queries only, as an extension has it.
 */
#include "test/dtestx/dtestx.h"

#include <dat2/dat_ib_extensions.h>
#include <inttypes.h>
#include <string.h>

static void show(struct dx *d, const DAT_IA_ATTR *ia,
		 const DAT_PROVIDER_ATTR *prov)
{
	struct dt_report *r = &d->run.r;

	dt_line(r, "%s: adapter %.*s, %s\n", d->run.provider,
		(int)sizeof(ia->adapter_name), ia->adapter_name,
		dt_address_show(ia->ia_address_ptr).s);
	dt_line(r, " provider %.*s %d.%d, DAT %d.%d\n",
		(int)sizeof(prov->provider_name), prov->provider_name,
		prov->provider_version_major, prov->provider_version_minor,
		prov->dapl_version_major, prov->dapl_version_minor);
	for (int i = 0; i < prov->num_provider_specific_attr; i++)
		dt_line(r, " Provider Specific Attribute[%d] %s=%s\n", i,
			prov->provider_specific_attr[i].name,
			prov->provider_specific_attr[i].value);
}

int dx_query(struct dx *d)
{
	DAT_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;
	struct dt_result res;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	if (!d->run.o->provider_given)
		dt_default_adapter(&d->run.r, d->run.provider,
				   sizeof(d->run.provider));
	memset(&attr, 0, sizeof(attr));
	memset(&prov, 0, sizeof(prov));
	ret = dat_ib_open_query(d->run.provider, &ia, DAT_IA_FIELD_ALL, &attr,
				DAT_PROVIDER_FIELD_ALL, &prov);
	if (ret != DAT_SUCCESS)
		return dt_run_not_opened(&d->run, ret, "dat_ib_open_query");
	show(d, &attr, &prov);
	ret = dat_ib_close_query(ia);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_close_query", NULL);
	dt_result_begin(&res, DT_NO_FIGURES, "query", "ext");
	dt_report_result(&d->run.r, &res);
	return 0;
}

static int show_counters(struct dx *d, const char *of, DAT_HANDLE handle,
			 int all)
{
	DAT_UINT64 values[DCNT_IA_ALL_COUNTERS] = {0};
	DAT_RETURN ret = dat_ib_query_counters(handle, all, values, 0);

	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ib_query_counters", NULL);
	for (int i = 0; i < all; i++)
		dt_line(&d->run.r, " %s counter %2d: %" PRIu64 "\n", of, i,
			(uint64_t)values[i]);
	return 0;
}

void dx_count(struct dx *d)
{
	DAT_UINT64 value;

	/* Some provider counts from the first question on. Of one that has no
	 * counters we hear at the end. */
	(void)dat_ib_query_counters(d->run.ia, 0, &value, 0);
}

int dx_counters(struct dx *d)
{
	const struct {
		const char *of;
		DAT_HANDLE handle;
		int all;
	} objects[] = {
		{"IA", d->run.ia, DCNT_IA_ALL_COUNTERS},
		{"EP", d->ep, DCNT_EP_ALL_COUNTERS},
		{"CR EVD", d->cr_evd, DCNT_EVD_ALL_COUNTERS},
		{"connection EVD", d->conn_evd, DCNT_EVD_ALL_COUNTERS},
		{"DTO EVD", d->dto_evd, DCNT_EVD_ALL_COUNTERS},
	};
	int rc = 0;

	if (!dt_run_attr_true(&d->run, DAT_IB_ATTR_COUNTERS)) {
		dt_report_skipped(&d->run.r, "counters", "ext",
				  "the provider has no counters");
		return 0;
	}
	for (size_t i = 0; !rc && i < sizeof(objects) / sizeof(objects[0]); i++)
		rc = show_counters(d, objects[i].of, objects[i].handle,
				   objects[i].all);
	return rc;
}
