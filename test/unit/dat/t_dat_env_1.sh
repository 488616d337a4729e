#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dat_env_1.sh - t_dat_env.sh for DAT 1.2.

set -u
: "${top_srcdir:?not set}"

api=1.2
. "$top_srcdir/test/unit/dat/t_dat_env.sh"
