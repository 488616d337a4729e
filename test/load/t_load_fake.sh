#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_load_fake.sh: loads on the fake device, by each provider and kind of adapter:
# some ranks that connect in both ways, a thousand endpoints of one adapter over
# 256 listeners, and cycles after which nothing may be left. It contains no
# check but of command lines: see test/load. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_builddir=${top_builddir:-.}
prog=$top_builddir/test/load/load_fake
dapl=$top_builddir/dapl
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$dapl/openib_cma/.libs/libdaplofa.so.2" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
while read -r cm lib params; do
    echo "$cm u2.0 threadsafe default $dapl/openib_$cm/.libs/$lib.so.2 dapl.2.0 \"$params\" \"\""
done <<E >"$tmp/dat.conf"
cma libdaplofa 10.0.0.1 0
scm libdaploscm fake0 1
ucm libdaploucm fake0 1
E
# The fake device is in no sysfs. Sockets stay on this host.
DAT_AUTO=0
DAPL_SCM_NETDEV=lo
DAT_OVERRIDE=$tmp/dat.conf
LD_LIBRARY_PATH=$top_builddir/dat/.libs
export DAT_AUTO DAPL_SCM_NETDEV DAT_OVERRIDE LD_LIBRARY_PATH

n=0
bad=0

# result NAME CODE
result()
{
    n=$((n + 1))
    if [ "$2" = 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        tail -n 20 "$tmp/out" | sed 's/^/# /'
        bad=1
    fi
}

# run ROW OPTION...: ROW is PROVIDER-KIND
run()
{
    row=$1
    shift
    case $row in *-iwarp | *-siw) set -- --iwarp "$@" ;; esac
    "$prog" --provider "${row%-*}" --kind "${row#*-}" --timeout 30 "$@" >"$tmp/out" 2>&1
    result "$row: $*" $?
}

# refuses WHY OPTION...
refuses()
{
    why=$1
    shift
    "$prog" "$@" >"$tmp/out" 2>&1
    [ $? = 2 ] && grep -q "^load: .*$why" "$tmp/out"
    result "is not taken: $*" $?
}

for row in cma-ib cma-iwarp cma-siw scm-roce ucm-roce; do
    run $row --ranks 4 --connect burst
    run $row --ranks 6 --connect demand --links 2 --rounds 2 --patterns put,get
    run $row --ranks 1 --links 500 --listeners 256 --rounds 1 --size 512
    run $row --ranks 3 --connect mixed --cycles 6 --rest 2 --rounds 1 --spread 10
done
"$prog" --help >"$tmp/out" 2>&1 && grep -q -- '--at-rest' "$tmp/out"
result "--help" $?
refuses "--provider" --ranks 2
refuses "--ranks is a number" --provider cma --ranks 0
refuses "--connect: never" --provider cma --connect never
refuses "--patterns: pull" --provider cma --patterns put,pull
refuses "--root: is needed" --provider cma --ranks 4 --local 2
refuses "more ranks" --provider cma --ranks 4 --first 2 --local 3
echo "1..$n"
exit $bad
