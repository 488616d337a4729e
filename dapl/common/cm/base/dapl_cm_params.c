/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_params.c - the beginning of ia_params; see the header.
 *
 * The number of the port is what the historic providers take: decimal,
 * hexadecimal or octal.
 */
#include "dapl/common/cm/base/dapl_cm_params.h"

#include <errno.h>

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

int dapl_cm_params_wrong(const char *ia_params, const char *why,
			 const char *form)
{
	return dapl_fail_errno(-EINVAL, "ia_params \"%.64s\": %s; write %s",
			       ia_params ? ia_params : "", why, form);
}
