/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_params.c - the words of ia_params; see the header.
 *
 * The number of the port is what the historic providers take: decimal,
 * hexadecimal or octal.
 */
#include "dapl/common/cm/base/dapl_cm_params.h"

#include <errno.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_text.h"

const char *dapl_cm_params_place(const char **text, char *name, size_t size,
				 uint8_t *ret_port)
{
	long long port;
	char word[32];
	size_t len;

	len = dapl_text_word(text, name, size);
	if (!len)
		return "it is empty";
	if (len >= size)
		return "the first word is too long";
	len = dapl_text_word(text, word, sizeof(word));
	if (!len)
		return "the port number is missing";
	if (len >= sizeof(word) || !dapl_text_number(word, 0, UINT8_MAX, &port))
		return "the second word is not a port number";
	*ret_port = (uint8_t)port;
	return NULL;
}

const char *dapl_cm_params_gid(const char *text, int *ret_index)
{
	long long number = -1;
	char word[32];
	size_t len = dapl_text_word(&text, word, sizeof(word));

	if (len && (len >= sizeof(word) || strncmp(word, "gid=", 4) ||
		    !dapl_text_number(word + 4, 0, UINT8_MAX, &number)))
		return "the third word is not gid= and an index";
	if (dapl_text_word(&text, word, sizeof(word)))
		return "there are words after the third";
	*ret_index = (int)number;
	return NULL;
}

const char *dapl_cm_params_end(const char *text)
{
	char word[16];

	if (!dapl_text_word(&text, word, sizeof(word)))
		return NULL;
	return strchr(word, '=') ? "no options are known"
				 : "there are words after the port number";
}

int dapl_cm_params_wrong(const char *ia_params, const char *why,
			 const char *form)
{
	return dapl_fail_errno(-EINVAL, "write %s: ia_params is \"%.64s\", %s",
			       form, ia_params ? ia_params : "", why);
}
