/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world_make.h - what a world is made of. Tests include world.h, and the
 * program links one of these besides what is the same for all:
 *
 *   world_dat.c       real objects over a real provider
 *   world_adapter.c   an adapter of the fixture's own, for the folders that
 * know no connection; and with it one of world_event.c     endpoints as event/
 * knows them: queue pair, work queues world_transfer.c  endpoints that are
 * struct dapl_qp
 *
 * In the latter two, V() has the calls of these folders, and of the endpoint
 * those that a test cannot do without: it is connected by the device alone.
 */
#ifndef WORLD_MAKE_H
#define WORLD_MAKE_H

#include "test/unit/world.h"

/* Sets world_registry.vector; and takes it away. */
void world_make_vector(void);
void world_drop_vector(void);
/* Gives IA a number that consumers know it by. */
void world_know_ia(DAT_IA_HANDLE ia);

/* world_adapter.c: the calls of endpoints, for what adds them. */
void world_layer_calls(DAT_PROVIDER *vector);

#endif
