#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_c12.sh: the cases of t_c12 by each provider of DAT 1.2 and on each kind of
# adapter that it knows. The libraries are those that were built, not installed
# ones. It contains no case. TAP; the numbers of the runs are put behind each
# other.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
prog=$top_builddir/test/unit/compat12/t_c12
libs=$top_builddir/dapl/compat12/.libs
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$libs/libdaplcma.so.1" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
for cm in cma scm ucm; do
    params="fake0 1"
    [ $cm = cma ] && params="10.0.0.1 0"
    echo "OpenIB-$cm u1.2 nonthreadsafe default $libs/libdapl$cm.so.1 dapl.1.2 \"$params\" \"\""
done >"$tmp/dat.conf"
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE
# Sockets stay on this host.
DAPL_SCM_NETDEV=lo
export DAPL_SCM_NETDEV
CMOCKA_MESSAGE_OUTPUT=TAP
export CMOCKA_MESSAGE_OUTPUT

n=0
bad=0
for run in cma-ib cma-roce cma-iwarp cma-siw scm-ib scm-roce ucm-ib ucm-roce; do
    "$prog" "OpenIB-${run%-*}" "${run#*-}" >"$tmp/$run" 2>"$tmp/err"
    rc=$?
    sed 's/^/# /' "$tmp/err"
    # A run that broke off has printed no plan.
    grep -q '^1\.\.' "$tmp/$run" || { echo "Bail out! $run: exit code $rc"; exit 1; }
    [ $rc = 0 ] || bad=1
    awk -v n=$n -v label=$run -f "$top_srcdir/test/conform/number.awk" "$tmp/$run"
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/$run")))
done
echo "1..$n"
exit $bad
