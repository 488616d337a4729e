#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_consumers_fake.sh: the consumers on the fake device, by each provider and
# kind of adapter: ranks of DAT 1.2, of 2.0, and of both. The libraries are those
# that were built, not installed ones. It contains no case. TAP; the numbers of
# the runs are put behind each other.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
prog=$top_builddir/test/consumers/consumers_fake
modules=$top_builddir/test/consumers/.libs
dapl=$top_builddir/dapl
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$dapl/compat12/.libs/libdaplcma.so.1" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
while read -r cm lib params; do
    # What comes first cannot be opened: programs pass over it.
    cat <<E >"$tmp/$cm"
nobody u1.2 nonthreadsafe default $tmp/nowhere.so.1 dapl.1.2 "$params" ""
nobody u2.0 threadsafe default $tmp/nowhere.so.2 dapl.2.0 "$params" ""
$cm u1.2 nonthreadsafe default $dapl/compat12/.libs/libdapl$cm.so.1 dapl.1.2 "$params" ""
$cm u2.0 threadsafe default $dapl/openib_$cm/.libs/$lib.so.2 dapl.2.0 "$params" ""
E
done <<E
cma libdaplofa 10.0.0.1 0
scm libdaploscm fake0 1
ucm libdaploucm fake0 1
E
# The fake device is in no sysfs. Sockets stay on this host.
DAT_AUTO=0
DAPL_SCM_NETDEV=lo
LD_LIBRARY_PATH=$top_builddir/dat/.libs
export DAT_AUTO DAPL_SCM_NETDEV LD_LIBRARY_PATH

# Each in ranks of one version, and both ways between the two. What is not here
# only processes can do.
settings="reopen:1:1 reopen:1:2 mvapich2_demand:16:12 openmpi:16:21"
for c in ends netpipe netpipe_memory; do
    settings="$settings $c:2:1 $c:2:2 $c:2:12 $c:2:21"
done
for c in intelmpi mvapich2 mvapich2_demand openmpi photon pscom srdma; do
    settings="$settings $c:2:1 $c:2:21 $c:4:2 $c:4:12"
done

n=0
bad=0
for run in cma-ib cma-roce cma-iwarp cma-siw scm-ib scm-roce ucm-ib ucm-roce; do
    case $run in *-iwarp | *-siw) option=-i ;; *) option= ;; esac
    # shellcheck disable=SC2086
    DAT_OVERRIDE=$tmp/${run%-*} "$prog" -P "${run%-*}" -k "${run#*-}" -m "$modules" \
        -t 60 $option $settings >"$tmp/$run.tap"
    rc=$?
    # A run that broke off has printed no plan.
    grep -q '^1\.\.' "$tmp/$run.tap" || { echo "Bail out! $run: exit code $rc"; exit 1; }
    [ $rc = 0 ] || bad=1
    awk -v n=$n -v label=$run -f "$top_srcdir/test/conform/number.awk" "$tmp/$run.tap"
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/$run.tap")))
done
echo "1..$n"
exit $bad
