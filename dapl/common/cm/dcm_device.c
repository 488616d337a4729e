/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_device.c - reads ia_params of SCM and UCM; see the header.
 *
 * The number of the port is what the historic providers take: decimal,
 * hexadecimal or octal. "gid=" is ours.
 */
#include "dapl/common/cm/dcm_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the next word of *TEXT and moves behind it; its full length. */
static size_t next_word(const char **text, char *word, size_t size)
{
	const char *s = *text + strspn(*text, " \t");
	size_t len = strcspn(s, " \t");

	*text = s + len;
	snprintf(word, size, "%.*s", (int)(len < size ? len : size - 1), s);
	return len;
}

static bool parse_number(const char *word, unsigned long max, int *ret_value)
{
	unsigned long v;
	char *end;

	/* strtoul() would take a sign and leading white space. */
	if (word[0] < '0' || word[0] > '9')
		return false;
	errno = 0;
	v = strtoul(word, &end, 0);
	if (*end || errno || v > max)
		return false;
	*ret_value = (int)v;
	return true;
}

static const char *parse(const char *text, struct dcm_device *dev)
{
	char word[32];
	size_t len;
	int number;

	len = next_word(&text, dev->name, sizeof(dev->name));
	if (!len)
		return "it is empty";
	if (len >= sizeof(dev->name))
		return "the name of the device is too long";
	len = next_word(&text, word, sizeof(word));
	if (!len)
		return "the port number is missing";
	if (len >= sizeof(word) || !parse_number(word, UINT8_MAX, &number))
		return "the second word is not a port number";
	dev->port = (uint8_t)number;
	dev->wish.gid_index = -1;
	len = next_word(&text, word, sizeof(word));
	if (!len)
		return NULL;
	if (len >= sizeof(word) || strncmp(word, "gid=", 4) ||
	    !parse_number(word + 4, UINT8_MAX, &dev->wish.gid_index))
		return "the third word is not gid= and an index";
	if (next_word(&text, word, sizeof(word)))
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
