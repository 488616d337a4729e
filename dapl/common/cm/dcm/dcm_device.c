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

#include "dapl/common/services/dapl_text.h"

static const char *parse(const char *text, struct dcm_device *dev)
{
	char word[32];
	size_t len;
	long long number;

	len = dapl_text_word(&text, dev->name, sizeof(dev->name));
	if (!len)
		return "it is empty";
	if (len >= sizeof(dev->name))
		return "the name of the device is too long";
	len = dapl_text_word(&text, word, sizeof(word));
	if (!len)
		return "the port number is missing";
	if (len >= sizeof(word) ||
	    !dapl_text_number(word, 0, UINT8_MAX, &number))
		return "the second word is not a port number";
	dev->port = (uint8_t)number;
	dev->wish.gid_index = -1;
	len = dapl_text_word(&text, word, sizeof(word));
	if (!len)
		return NULL;
	if (len >= sizeof(word) || strncmp(word, "gid=", 4) ||
	    !dapl_text_number(word + 4, 0, UINT8_MAX, &number))
		return "the third word is not gid= and an index";
	dev->wish.gid_index = (int)number;
	if (dapl_text_word(&text, word, sizeof(word)))
		return "there are words after the third";
	return NULL;
}

int dcm_device_parse(const char *text, struct dcm_device *ret_device,
		     const char **ret_why)
{
	struct dcm_device dev = {.port = 0};
	const char *why = parse(text ? text : "", &dev);

	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret_device = dev;
	return 0;
}
