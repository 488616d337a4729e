/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_device.c - reads ia_params that name a device; see dcm.h.
 */
#include <string.h>

#include "dapl/common/cm/base/dapl_cm_params.h"
#include "dapl/common/cm/dcm/dcm.h"

int dcm_device_parse(const char *ia_params, struct dapl_cm *ret_cm,
		     struct dcm_path_wish *ret_wish)
{
	const char *text = ia_params ? ia_params : "", *why;
	char name[sizeof(ret_cm->dev_name)];
	int gid_index = -1;
	uint8_t port;

	why = dapl_cm_params_place(&text, name, sizeof(name), &port);
	if (!why)
		why = dapl_cm_params_gid(text, &gid_index);
	if (why)
		return dapl_cm_params_wrong(
			ia_params, why,
			"\"<verbs device> <port>\" and, if need be, "
			"\"gid=<index>\"");
	memcpy(ret_cm->dev_name, name, sizeof(name));
	ret_cm->port = port;
	ret_wish->gid_index = gid_index;
	return 0;
}
