/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_auto.h - names for the RDMA ports of a machine, as lines of dat.conf.
 *
 * Does not look for ports (dat_auto_ports.h), nor merge the lines with those of
 * a file (dat_static.h). Threads: no shared state. Ownership: none; the stream
 * is the caller's. Rule: dat.conf(5), adapters that need no line.
 */
#ifndef DAT_AUTO_H
#define DAT_AUTO_H

#include "dat_auto_ports.h"

#include <stdbool.h>
#include <stdio.h>

/* A comment and the lines of each port, for both versions of DAT. */
void dat_auto_write(const struct dat_ports *ports, FILE *f);

/*
 * The library of DAT MAJOR that does what PATH, one of the other version, does
 * there; NULL for anything else.
 */
const char *dat_auto_library_for(unsigned major, const char *path);

/* Whether any name wants rdma_cm. */
bool dat_auto_wants_rdma_cm(void);

/*
 * Lines for the names that files of old gave to such ports: by the kernel's
 * number of the device, though udev gave it another name since, and of
 * providers that are no more. Some repeat lines of dat_auto_write().
 * 0 or -ENOMEM.
 */
int dat_auto_write_old(const struct dat_ports *ports, FILE *f);

#endif
