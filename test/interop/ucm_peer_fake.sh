#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# ucm_peer_fake.sh: the UCM provider against the independent peer, on the
# fake device. The same on real ones is in t_ucm.sh. It contains no case.
# Input: top_builddir, as `make check` sets it.

top_builddir=${top_builddir:-.}
lib=$top_builddir/dapl/openib_ucm/.libs/libdaploucm.so.2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$lib" ]; then
    echo "1..0 # SKIP the provider was built without shared libraries"
    exit 0
fi
printf 'ucm u2.0 threadsafe default %s dapl.2.0 "fake0 1" ""\n' \
    "$lib" >"$tmp/dat.conf"
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE
timeout -k 5 120 "$top_builddir/test/interop/ucm_peer_fake" ucm fake0
