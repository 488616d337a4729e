/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_device.c - reads ia_params that name a device; see dcm.h. "gid=" is ours.
 */
#include <string.h>

#include "dapl/common/cm/base/dapl_cm_params.h"
#include "dapl/common/cm/dcm/dcm.h"
#include "dapl/common/services/dapl_text.h"

static const char *parse_gid(const char *text, int *ret_index)
{
	char word[32];
	size_t len;
	long long number;

	len = dapl_text_word(&text, word, sizeof(word));
	if (!len)
		return NULL;
	if (len >= sizeof(word) || strncmp(word, "gid=", 4) ||
	    !dapl_text_number(word + 4, 0, UINT8_MAX, &number))
		return "the third word is not gid= and an index";
	*ret_index = (int)number;
	if (dapl_text_word(&text, word, sizeof(word)))
		return "there are words after the third";
	return NULL;
}

int dcm_device_parse(const char *ia_params, struct dapl_cm *ret_cm,
		     struct dcm_path_wish *ret_wish)
{
	const char *text = ia_params ? ia_params : "", *why;
	char name[sizeof(ret_cm->dev_name)];
	int gid_index = -1;
	uint8_t port;

	why = dapl_cm_params_place(&text, name, sizeof(name), &port);
	if (!why)
		why = parse_gid(text, &gid_index);
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
