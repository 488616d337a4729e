/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_params.h - ia_params, the text of dat.conf that says where a provider
 * is: "<name> <port>", and what a connection manager adds to it. "gid=" is
 * ours.
 *
 * The text is hostile. No state, no lock.
 */
#ifndef DAPL_CM_PARAMS_H
#define DAPL_CM_PARAMS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads the first two words, *TEXT is what follows then. NAME has SIZE bytes.
 * NULL, or what is wrong, a literal for dapl_cm_params_wrong().
 */
const char *dapl_cm_params_place(const char **text, char *name, size_t size,
				 uint8_t *ret_port);

/*
 * What may follow: "gid=<index>", RET_INDEX -1 if it does not; or nothing.
 * NULL, or what is wrong, as above.
 */
const char *dapl_cm_params_gid(const char *text, int *ret_index);
const char *dapl_cm_params_end(const char *text);

/* -EINVAL, with the reason; FORM is how it is written. */
int dapl_cm_params_wrong(const char *ia_params, const char *why,
			 const char *form);

#endif
