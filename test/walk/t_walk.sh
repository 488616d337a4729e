#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_walk.sh: random walks over each provider on the fake device, held against
# the model: without connections, where every answer is certain, or with
# WALK_ALL=yes all. And that a model which is wrong is found out: the walk is
# shrunk to a few calls, which are a C program.
# TAP. Input: top_srcdir, top_builddir, CC, as `make check` sets them;
# WALK_SEEDS, walks of each row; WALK_CALLS, calls of each walk; WALK_ROWS,
# PROVIDER-KIND...; WALK_FIRST, the first seed.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
walk=$top_builddir/test/walk/walk

if [ ! -e "$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
while read -r name lib params; do
    printf '%s %s default %s/dapl/%s %s "%s" ""\n' "$name" "u2.0 threadsafe" \
        "$top_builddir" "$lib" dapl.2.0 "$params"
done >"$tmp/dat.conf" <<E2
cma openib_cma/.libs/libdaplofa.so.2 10.0.0.1 0
scm openib_scm/.libs/libdaploscm.so.2 fake0 1
ucm openib_ucm/.libs/libdaploucm.so.2 fake0 1
E2
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE
# Sockets stay on this host.
DAPL_SCM_NETDEV=lo
export DAPL_SCM_NETDEV

still=--still
[ -z "$WALK_ALL" ] || still=
n=0
bad=0
for row in ${WALK_ROWS:-cma-ib scm-ib ucm-ib cma-roce scm-roce ucm-roce}; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    "$walk" --provider "${row%%-*}" --kind "${row#*-}" \
        $still --seeds "${WALK_SEEDS:-8}" --calls "${WALK_CALLS:-500}" \
        --seed "${WALK_FIRST:-1}" >"$tmp/out" 2>"$tmp/err" || bad=1
    # The program of a failing walk is no TAP.
    sed -e "s/^\(not ok\|ok\) 1 - /\1 $n - /" -e '/^1\.\./d' \
        -e '/^\(not ok\|ok\|#\) /!s/^/# /' "$tmp/out"
    grep -qE '^(not )?ok 1' "$tmp/out" || { sed 's/^/# /' "$tmp/err"; echo "Bail out! $row"; exit 1; }
done

# lie CALL: the model refuses what is right.
lie()
{
    n=$((n + 1))
    if "$walk" --provider ucm --seeds 20 --lie "$1" >"$tmp/lie.out" 2>&1; then
        echo "not ok $n - a model that is wrong about $1 is found out"
        bad=1
        return
    fi
    : >"$tmp/cc.err"
    sed -n '/^#include/,/^# [0-9]* calls in/p' "$tmp/lie.out" | sed '$d' >"$tmp/lie.c"
    lines=$(grep -c '	CALL(' "$tmp/lie.c")
    if [ "$lines" -gt 0 ] && [ "$lines" -le 10 ] &&
        ${CC:-cc} -I"$top_srcdir/dat/include" -Wno-unused -fsyntax-only "$tmp/lie.c" 2>"$tmp/cc.err"; then
        echo "ok $n - a model that is wrong about $1 is found out, in $lines calls"
    else
        echo "not ok $n - the program has $lines calls, or is none"
        sed 's/^/# /' "$tmp/cc.err" "$tmp/lie.out"
        bad=1
    fi
}

lie evd_free
lie ep_create
echo "1..$n"
exit $bad
