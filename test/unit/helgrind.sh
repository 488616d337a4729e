#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# helgrind.sh - t_stress and t_stress_objs under valgrind's helgrind, which
# checks the order of locks and that shared data has one.
#
# usage: helgrind.sh BUILD_DIR
#   BUILD_DIR  configured with CPPFLAGS=-DDAPL_PTHREAD_LOCKS and
#              CFLAGS='-g -O1 -fno-inline', and both built in it
# helgrind sees neither futexes nor, in suppressions, inlined functions: hence
# these options. What is atomic is named in helgrind.supp, with the reason.
# Threads take turns, so that none waits for another's luck.
# A tenth of the usual work, unless DAPL_STRESS_PERCENT says otherwise.
# Prints TAP; a comment has the figures. Exit status 0: nothing was found.

set -u

here=$(cd "$(dirname "$0")" && pwd -P) || exit 2
[ $# = 1 ] || {
    echo "usage: helgrind.sh BUILD_DIR" >&2
    exit 2
}
echo 1..2
if ! command -v valgrind >/dev/null; then
    echo "ok 1 - helgrind t_stress # SKIP valgrind is not installed"
    echo "ok 2 - helgrind t_stress_objs # SKIP valgrind is not installed"
    exit 0
fi
cd "$1" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
DAPL_STRESS_PERCENT=${DAPL_STRESS_PERCENT:-10}
export DAPL_STRESS_PERCENT
n=0
bad=0
for prog in t_stress t_stress_objs; do
    n=$((n + 1))
    ./libtool --mode=execute timeout 300 valgrind --tool=helgrind \
        --fair-sched=try --suppressions="$here/helgrind.supp" --error-exitcode=9 \
        --log-file="$tmp/log" "test/unit/plugin/$prog" >"$tmp/out" 2>&1
    rc=$?
    sed -n 's/^==[0-9]*== ERROR SUMMARY:/# helgrind:/p' "$tmp/log"
    sed -n "s/^# seed/# $prog: seed/p" "$tmp/out"
    if [ $rc = 0 ]; then
        echo "ok $n - helgrind $prog"
        continue
    fi
    bad=1
    echo "not ok $n - helgrind $prog"
    echo "# exit status $rc; what failed in it, and the end of what was printed:"
    grep -n '^not ok\|: error: \|^Bail' "$tmp/out" | head -n 6 | sed 's/^/# /'
    tail -n 40 "$tmp/out" | sed 's/^/# /'
    head -n 200 "$tmp/log" | sed 's/^/# /'
done
exit $bad
