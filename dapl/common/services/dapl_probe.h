/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_probe.h - places where a tracer can look in, in a program that runs.
 *
 * A probe is an instruction that does nothing, and a note in the library of
 * where it is and where its arguments are. None is on the data path. They are
 * an interface: doc/dapl-counters.7 lists them, and a test compares. Built
 * without sys/sdt.h there are none.
 */
#ifndef DAPL_PROBE_H
#define DAPL_PROBE_H

#if DAPL_PROBES
#include <sys/sdt.h>
#define DAPL_PROBE1(name, a)	   DTRACE_PROBE1(dapl, name, a)
#define DAPL_PROBE2(name, a, b)	   DTRACE_PROBE2(dapl, name, a, b)
#define DAPL_PROBE3(name, a, b, c) DTRACE_PROBE3(dapl, name, a, b, c)
#else
#define DAPL_PROBE1(name, a)	   ((void)(a))
#define DAPL_PROBE2(name, a, b)	   ((void)(a), (void)(b))
#define DAPL_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#endif
