/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_face.h - the version of DAT that this folder is compiled for.
 *
 * The sources here are compiled once for each library that programs link, with
 * that version's own headers, so that codes and types are right by themselves.
 * What else depends on the version is in the face, as constants; the sources
 * ask for nothing but these. Does not decide which face: the Makefile does.
 * Threads, ownership: each library has its own copy of all state, and its map
 * keeps the names of this folder inside. Rule: doc/architecture.md.
 */
#ifndef DAT_FACE_H
#define DAT_FACE_H

#ifdef DAT_FACE_1
#include "dat/dat_face_1.h"
#else
#include "dat/dat_face_2.h"
#endif

#endif
