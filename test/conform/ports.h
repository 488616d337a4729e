/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ports.h - ports of the host that no other run of the tests uses.
 *
 * Does not open them. What other programs of the host listen at is not asked.
 * Threads: any. Ownership: a range is the process's, and its children's, until
 * the last of them ends.
 */
#ifndef CONFORM_PORTS_H
#define CONFORM_PORTS_H

/* Qualifiers of a range, of which SCM makes TCP ports 1000 above them. */
#define PORTS_QUALS 1024
#define PORTS_RANGE 2048
/* A TCP port besides. */
#define PORTS_OOB(first) ((first) + PORTS_RANGE - 1)

/* The first qualifier of the range. */
unsigned int ports_own(void);

#endif /* CONFORM_PORTS_H */
