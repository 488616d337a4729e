#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_abi_1.sh - t_abi.sh for DAT 1.2.

set -u
: "${top_srcdir:?not set}"

api=1.2
. "$top_srcdir/test/abi/t_abi.sh"
