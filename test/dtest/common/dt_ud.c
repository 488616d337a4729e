/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_ud.c - datagram endpoints for the test tools.
 *
 * Threads, ownership, rule: see dt_ud.h.
 */
#include "test/dtest/common/dt_ud.h"

#define UD(number) ((DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_##number)

const struct dt_ud_numbers dt_ud_numbers[2] = {
	{DAT_CONNECTION_REQUEST_EVENT, DAT_CONNECTION_EVENT_ESTABLISHED,
	 DAT_CONNECTION_EVENT_PEER_REJECTED},
	{UD(REQUEST_EVENT), UD(EVENT_ESTABLISHED), UD(REJECT_EVENT)},
};

int dt_ud_need(struct dt_run *run)
{
	if (dt_run_attr_true(run, DAT_IB_ATTR_UD))
		return 0;
	return dt_fail(&run->r, DT_ENVIRONMENT,
		       "%s has no datagram endpoints: its attribute %s is not "
		       "TRUE; iWARP adapters never have",
		       run->provider, DAT_IB_ATTR_UD);
}

int dt_ud_found(struct dt_report *r, bool passive, const DAT_EVENT *event,
		struct dt_ud_peer *ret_peer)
{
	const DAT_IB_EXTENSION_EVENT_DATA *ext =
		(const void *)event->event_extension_data;
	DAT_IB_EXT_TYPE type =
		passive ? DAT_IB_UD_PASSIVE_REMOTE_AH : DAT_IB_UD_REMOTE_AH;

	if (ext->type != type || !ext->remote_ah.ah)
		return dt_fail(r, DT_FAILED,
			       "an endpoint was found by extension type %d, "
			       "expected %d, %s address handle",
			       ext->type, type,
			       ext->remote_ah.ah ? "with an" : "without");
	ret_peer->to = ext->remote_ah;
	ret_peer->context = ext->context;
	return 0;
}

int dt_ud_forget(struct dt_report *r, DAT_EP_HANDLE ep, struct dt_ud_peer *peer)
{
	DAT_RETURN ret = dat_ib_ud_ah_free(ep, &peer->to);

	if (ret != DAT_SUCCESS)
		return dt_dat_fail(r, DT_FAILED, ret, "dat_ib_ud_ah_free",
				   NULL);
	ret = dat_ib_ud_cm_free(ep, peer->context);
	/* Old providers of other connection managers keep no record. */
	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_NOT_IMPLEMENTED)
		return dt_dat_fail(r, DT_FAILED, ret, "dat_ib_ud_cm_free",
				   NULL);
	return 0;
}
