/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * asserts.h - included before everything else where assertions are the test:
 * they hold there in every build.
 */
#undef NDEBUG
