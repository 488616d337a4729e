/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_device.c - reads ia_params that name a device; see the header.
 *
 * The number of the port is what the historic providers take: decimal,
 * hexadecimal or octal. "gid=" is ours.
 */
#include "dapl/common/cm/dcm/dcm_device.h"

#include <errno.h>
#include <string.h>

#include "dapl/common/cm/base/dapl_cm_params.h"
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

int dcm_device_parse(const char *text, struct dcm_device *ret_device,
		     const char **ret_why)
{
	struct dcm_device dev = {.wish.gid_index = -1};
	const char *why;

	if (!text)
		text = "";
	if (dapl_cm_params_place(&text, dev.name, sizeof(dev.name), &dev.port,
				 ret_why))
		return -EINVAL;
	why = parse_gid(text, &dev.wish.gid_index);
	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret_device = dev;
	return 0;
}
