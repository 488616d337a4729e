/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registry.h - libdat2 beside the world, which has stubs of what a provider
 * calls of it (world.c): these functions of the real one have other names here.
 *
 * Included before all else in the sources of dat/ as they are compiled for this
 * program, and by s_registry.c, whose provider calls them.
 */
#ifndef SCHED_REGISTRY_H
#define SCHED_REGISTRY_H

#define dat_registry_add_provider    sched_registry_add_provider
#define dat_registry_remove_provider sched_registry_remove_provider
#define dats_get_ia_handle	     sched_registry_get_ia_handle

#endif
