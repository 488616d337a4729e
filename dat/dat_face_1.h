/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_face_1.h - what libdat, the face of DAT 1.2, tells dat/common.
 *
 * Nothing but names; the calls that 1.2 has with arguments of its own are in
 * dat_api_1.c.
 * Threads, ownership: nothing here has any.
 * Rule: dat/common/dat_face.h.
 */
#ifndef DAT_FACE_1_H
#define DAT_FACE_1_H

#include <dat/dat_registry.h>
#include <stdbool.h>
#include <stddef.h>

#define DAT_FACE_LIBRARY "libdat"

/* Lists are cut where there is no more room: Open MPI has it for eight. */
#define DAT_FACE_LIST_CUT true

/* Return types and subtypes that only this version has, for dat_strerror(). */
#define DAT_FACE_TYPES
#define DAT_FACE_SUBTYPES

/* There are no extensions. */
static inline bool dat_face_is_extension(DAT_UINT32 type)
{
	(void)type;
	return false;
}

static inline const char *dat_face_extension_type(DAT_UINT32 type)
{
	(void)type;
	return NULL;
}

static inline const char *dat_face_extension_subtype(DAT_UINT32 type,
						     DAT_UINT32 subtype)
{
	(void)type;
	(void)subtype;
	return NULL;
}

#endif
