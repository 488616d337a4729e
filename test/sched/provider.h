/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * provider.h - the providers of the program, of which each run has one.
 */
#ifndef SCHED_PROVIDER_H
#define SCHED_PROVIDER_H

#define PROVIDERS 3

/* In the order in which they are run: "cma", "scm", "ucm". */
const char *provider_name(int nr);
/* The kinds of device that it takes: so many, from the first of fv_kind. */
int provider_kinds(int nr);
/* Before the world is opened, inside a run. */
void provider_choose(int nr);

#endif
