/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * table.h - the consumers, each of which is a file of its name, or a part of
 * the one whose name its own begins with. Each is a rank's whole life.
 */
#ifndef TEST_CONSUMERS_TABLE_H
#define TEST_CONSUMERS_TABLE_H

struct rank;

void ends(struct rank *r);
void intelmpi(struct rank *r);
void mvapich2(struct rank *r);
void mvapich2_death(struct rank *r);
void mvapich2_demand(struct rank *r);
void netpipe(struct rank *r);
void netpipe_memory(struct rank *r);
void openmpi(struct rank *r);
void photon(struct rank *r);
void pscom(struct rank *r);
void reopen(struct rank *r);
void srdma(struct rank *r);

#endif
