/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12_ret.c - return codes: what DAT 2.0 added has no name in 1.2, and what
 * stands behind an addition has another number.
 */
#include "dapl/compat12/c12.h"

#define CLASS_MASK   0xc0000000u
#define TYPE_MASK    0x3fff0000u
#define SUBTYPE_MASK 0x0000ffffu

/* In 1.2 it has the bits of the class, too. */
#define NOT_IMPLEMENTED_12 0xffff0000u
/* The numbers of 1.2. */
#define ARG_12(n)	   (35u + (unsigned)(n))
#define STATE_SRQ_ERROR_12 85u
#define INVALID_HANDLE1_12 26u

static unsigned subtype_12(unsigned subtype)
{
	if (subtype < DAT_INVALID_HANDLE_CSP)
		return subtype;
	if (subtype == DAT_INVALID_HANDLE_CSP)
		return INVALID_HANDLE1_12;
	if (subtype < DAT_INVALID_STATE_SRQ_SHUTDOWN)
		return subtype - 1;
	if (subtype == DAT_INVALID_STATE_SRQ_SHUTDOWN)
		return STATE_SRQ_ERROR_12;
	return subtype - 2;
}

static unsigned type_12(unsigned type)
{
	switch (type) {
	case DAT_RESERVED_LMR:
		return DAT_INVALID_STATE;
	case DAT_PORT_IN_USE:
		return DAT_CONN_QUAL_IN_USE;
	case DAT_COMM_NOT_SUPPORTED:
		return DAT_MODEL_NOT_SUPPORTED;
	default:
		return type >= (unsigned)DAT_EXTENSION_BASE ? DAT_INTERNAL_ERROR
							    : type;
	}
}

DAT_RETURN c12_error(DAT_RETURN ret)
{
	unsigned type = ret & TYPE_MASK;

	if (type == (DAT_NOT_IMPLEMENTED & TYPE_MASK))
		return NOT_IMPLEMENTED_12;
	return (ret & CLASS_MASK) | type_12(type) |
	       subtype_12(ret & SUBTYPE_MASK);
}

DAT_RETURN c12_ret_moved(DAT_RETURN ret, int first, int last, int by)
{
	DAT_RETURN ret12 = c12_ret(ret);
	unsigned subtype = ret12 & SUBTYPE_MASK;

	if ((ret12 & TYPE_MASK) == DAT_INVALID_PARAMETER &&
	    subtype >= ARG_12(first) && subtype <= ARG_12(last))
		return ret12 - (unsigned)by;
	return ret12;
}
