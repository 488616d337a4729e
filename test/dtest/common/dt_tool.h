/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_tool.h - the version of DAT that a test tool is compiled for, and what
 * the tool is called then.
 *
 * Does not hold what the tools do otherwise: dtest has that in rmr.c and
 * immed.c, dapltest in proto.h.
 * Rule: distributions called the tools of DAT 1.2 dtest1 and dapltest1, and
 * adapters that begin with OpenIB are those of 1.2.
 */
#ifndef DTEST_DT_TOOL_H
#define DTEST_DT_TOOL_H

#include "test/face.h"

/* What a tool of 1.2 has, and one of 2.0. */
#if DAT_FACE == 1
#define DT_FACED(v1, v2) v1
#else
#define DT_FACED(v1, v2) v2
#endif

#define DT_TOOL(name) name DT_FACED("1", "")
#define DT_EXAMPLE    DT_FACED("OpenIB-cma", "ofa-v2-eth0") /* an adapter */

#endif /* DTEST_DT_TOOL_H */
