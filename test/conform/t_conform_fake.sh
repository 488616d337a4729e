#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform_fake.sh: the conformance suite on the fake device, once as each
# kind of adapter. The libraries are those that were built, not installed ones.
# It contains no case. TAP; the numbers of the runs are put behind each other.
# Input: top_srcdir and top_builddir, as `make check` sets them; CONFORM_OUT, if
# it is set, is where the TAP of each run is left.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
prog=$top_builddir/test/conform/conform_fake
lib=$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$lib" ]; then
    echo "1..0 # SKIP the CMA provider was built without shared libraries"
    exit 0
fi
printf 'conform u2.0 threadsafe default %s dapl.2.0 "10.0.0.1 0" ""\n' \
    "$lib" >"$tmp/dat.conf"
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE

n=0
bad=0
for kind in ib roce iwarp; do
    "$prog" -P conform -k $kind --timeout 60 >"$tmp/$kind"
    rc=$?
    [ -z "$CONFORM_OUT" ] || cp "$tmp/$kind" "$CONFORM_OUT/fake-$kind.tap"
    # A run that broke off has printed no plan.
    grep -q '^1\.\.' "$tmp/$kind" || { echo "Bail out! $kind: exit code $rc"; exit 1; }
    [ $rc = 0 ] || bad=1
    awk -v n=$n -v label=$kind -f "$top_srcdir/test/conform/number.awk" "$tmp/$kind"
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/$kind")))
done
echo "1..$n"
exit $bad
