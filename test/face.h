/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * face.h - the public interface for programs that are written once and
 * compiled for DAT 2.0 and, with $(dat_face_1), for DAT 1.2.
 *
 * Brings the version's <udat.h>, and under one name each what both versions
 * have with other arguments or members. What only one version has is for its
 * user to leave out: DAT_FACE is 1 or 2. Codes that carry the number of an
 * argument stay those of the version.
 * Rule: the arguments that 2.0 added have one value that means what 1.2 does.
 */
#ifndef TEST_FACE_H
#define TEST_FACE_H

#ifdef DAT_FACE_1
#define DAT_FACE 1
#include <dat/udat.h>
#else
#define DAT_FACE 2
#include <dat2/udat.h>
#endif

#if DAT_FACE == 1
typedef DAT_VLEN FACE_SEG_LENGTH;
#define face_remote_address target_address /* of DAT_RMR_TRIPLET */
#else
typedef DAT_SEG_LENGTH FACE_SEG_LENGTH;
#define face_remote_address virtual_address
#endif

static inline DAT_RETURN
face_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
		DAT_REGION_DESCRIPTION region, DAT_VLEN length,
		DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv, DAT_LMR_HANDLE *lmr,
		DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
		DAT_VLEN *size, DAT_VADDR *address)
{
	return dat_lmr_create(ia, type, region, length, pz, priv,
#if DAT_FACE == 2
			      DAT_VA_TYPE_VA,
#endif
			      lmr, lmr_context, rmr_context, size, address);
}

/* LMR is the region that SEGMENT lies in: 1.2 goes by the segment's context. */
static inline DAT_RETURN face_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				       const DAT_LMR_TRIPLET *segment,
				       DAT_MEM_PRIV_FLAGS priv,
				       DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				       DAT_COMPLETION_FLAGS flags,
				       DAT_RMR_CONTEXT *context)
{
#if DAT_FACE == 1
	(void)lmr;
	return dat_rmr_bind(rmr, segment, priv, ep, cookie, flags, context);
#else
	return dat_rmr_bind(rmr, lmr, segment, priv, DAT_VA_TYPE_VA, ep, cookie,
			    flags, context);
#endif
}

/* Without private data, which 1.2 has none of. */
static inline DAT_RETURN face_cr_reject(DAT_CR_HANDLE cr)
{
#if DAT_FACE == 1
	return dat_cr_reject(cr);
#else
	return dat_cr_reject(cr, 0, NULL);
#endif
}

#endif
