#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform_fake.sh: the conformance suite on the fake device, by each provider
# and as each kind of adapter that it knows. The libraries are those that were
# built, not installed ones. It contains no case. TAP; the numbers of the runs
# are put behind each other.
# Input: top_srcdir and top_builddir, as `make check` sets them; CONFORM_OUT, if
# it is set, is where the TAP of each run is left.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
prog=$top_builddir/test/conform/conform_fake
cma=$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2
scm=$top_builddir/dapl/openib_scm/.libs/libdaploscm.so.2
ucm=$top_builddir/dapl/openib_ucm/.libs/libdaploucm.so.2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$cma" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
while read -r name lib params; do
    printf '%s u2.0 threadsafe default %s dapl.2.0 "%s" ""\n' \
        "$name" "$lib" "$params"
done >"$tmp/dat.conf" <<E
cma $cma 10.0.0.1 0
scm $scm fake0 1
ucm $ucm fake0 1
E
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE
# Sockets stay on this host.
DAPL_SCM_NETDEV=lo
export DAPL_SCM_NETDEV

n=0
bad=0
for run in cma-ib cma-roce cma-iwarp cma-siw scm-ib scm-roce ucm-ib ucm-roce; do
    "$prog" -P ${run%-*} -k ${run#*-} --timeout 60 >"$tmp/$run"
    rc=$?
    [ -z "$CONFORM_OUT" ] || cp "$tmp/$run" "$CONFORM_OUT/fake-$run.tap"
    # A run that broke off has printed no plan.
    grep -q '^1\.\.' "$tmp/$run" || { echo "Bail out! $run: exit code $rc"; exit 1; }
    [ $rc = 0 ] || bad=1
    awk -v n=$n -v label=$run -f "$top_srcdir/test/conform/number.awk" "$tmp/$run"
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/$run")))
done
echo "1..$n"
exit $bad
