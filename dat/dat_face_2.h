/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_face_2.h - what libdat2, the face of DAT 2.0, tells dat/common.
 *
 * Nothing but names; the calls that 2.0 alone has, or has with arguments of its
 * own, are in dat_api_2.c, dat_query.c and dat_related.c.
 * Threads, ownership: nothing here has any.
 * Rule: dat/common/dat_face.h.
 */
#ifndef DAT_FACE_2_H
#define DAT_FACE_2_H

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <stdbool.h>
#include <stddef.h>

#define DAT_FACE_LIBRARY "libdat2"

/* Lists are whole, or an error. */
#define DAT_FACE_LIST_CUT false

/* Return types and subtypes that only this version has, for dat_strerror(). */
#define DAT_FACE_TYPES                                 \
	TYPE(DAT_RESERVED_LMR), TYPE(DAT_PORT_IN_USE), \
		TYPE(DAT_COMM_NOT_SUPPORTED),

#define DAT_FACE_SUBTYPES \
	NAME(DAT_INVALID_HANDLE_CSP), NAME(DAT_INVALID_STATE_SRQ_SHUTDOWN),

/* Types of extensions, which have subtypes of their own. */
static inline bool dat_face_is_extension(DAT_UINT32 type)
{
	return type == (DAT_UINT32)DAT_IB_ERR;
}

static inline const char *dat_face_extension_type(DAT_UINT32 type)
{
	return dat_face_is_extension(type) ? "DAT_IB_ERR" : NULL;
}

/* NULL: the type has no such subtype. */
static inline const char *dat_face_extension_subtype(DAT_UINT32 type,
						     DAT_UINT32 subtype)
{
	return dat_face_is_extension(type) &&
			       subtype == DAT_GET_SUBTYPE(DAT_IB_COLLECTIVE_ERR)
		       ? "DAT_IB_COLLECTIVE_ERR"
		       : NULL;
}

#endif
