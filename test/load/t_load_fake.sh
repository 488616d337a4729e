#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_load_fake.sh: loads on the fake device, by each provider and kind of adapter:
# some ranks that connect in both ways, a thousand endpoints of one adapter over
# 256 listeners, and cycles after which nothing may be left. It contains no
# check but of command lines: see test/load. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
prog=$top_builddir/test/load/load_fake
LD_LIBRARY_PATH=$top_builddir/dat/.libs
export LD_LIBRARY_PATH
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
