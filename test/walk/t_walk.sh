#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_walk.sh: random walks over each provider on the fake device, by both
# versions of DAT, held against the model. With WALK_STILL=yes nobody connects.
# And that a model which is wrong is found out: the walk is shrunk to a few calls,
# which are a C program.
# TAP. Input: top_srcdir, top_builddir, CC, as `make check` sets them;
# WALK_SEEDS, walks of each row; WALK_CALLS, calls of each walk; WALK_ROWS,
# PROVIDER-KIND...; WALK_FIRST, the first seed; WALK_PROGRAMS, walk and walk1.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
programs=${WALK_PROGRAMS:-walk walk1}

n=0
bad=0

# row PROGRAM PROVIDER-KIND
row()
{
    n=$((n + 1))
    "$top_builddir/test/walk/$1" --provider "${2%%-*}" --kind "${2#*-}" \
        ${WALK_STILL:+--still} --seeds "${WALK_SEEDS:-8}" --calls "${WALK_CALLS:-500}" \
        --seed "${WALK_FIRST:-1}" >"$tmp/out" 2>"$tmp/err" || bad=1
    # The program of a failing walk is no TAP.
    sed -e "s/^\(not ok\|ok\) 1 - /\1 $n - /" -e '/^1\.\./d' \
        -e '/^\(not ok\|ok\|#\) /!s/^/# /' "$tmp/out"
    grep -qE '^(not )?ok 1' "$tmp/out" ||
        { sed 's/^/# /' "$tmp/err"; echo "Bail out! $1 $2"; exit 1; }
}

# Time decides nothing in a recorded walk.
n=$((n + 1))
for i in 1 2; do
    "$top_builddir/test/walk/walk" --provider cma --kind rxe --seeds 8 --calls 150 --record "$tmp/walks.$i" \
        >"$tmp/record.$i" 2>&1 || echo "the walks failed" >"$tmp/walks.$i"
done
if grep -q '^POST_SEND' "$tmp/walks.1" && cmp "$tmp/walks.1" "$tmp/walks.2" >"$tmp/cmp" 2>&1; then
    echo "ok $n - walks are recorded, twice alike"
else
    echo "not ok $n - walks are recorded, twice alike"
    cat "$tmp/cmp" "$tmp/record.1" "$tmp/record.2" | sed 's/^/# /'
    bad=1
fi

# lie PROGRAM CALL: the model refuses what is right.
lie()
{
    n=$((n + 1))
    if "$top_builddir/test/walk/$1" --provider ucm --seeds 20 --lie "$2" >"$tmp/lie.out" 2>&1; then
        echo "not ok $n - $1: a model that is wrong about $2 is found out"
        bad=1
        return
    fi
    : >"$tmp/cc.err"
    sed -n '/^#include/,/^# [0-9]* calls in/p' "$tmp/lie.out" | sed '$d' >"$tmp/lie.c"
    lines=$(grep -c '	CALL(' "$tmp/lie.c")
    # The headers of each version as they are installed.
    if [ "$lines" -gt 0 ] && [ "$lines" -le 10 ] &&
        ${CC:-cc} -I"$top_builddir/dat/headers" -Wno-unused -fsyntax-only "$tmp/lie.c" 2>"$tmp/cc.err"; then
        echo "ok $n - $1: a model that is wrong about $2 is found out, in $lines calls"
    else
        echo "not ok $n - $1: the program has $lines calls, or is none"
        sed 's/^/# /' "$tmp/cc.err" "$tmp/lie.out"
        bad=1
    fi
}

for program in $programs; do
    for row in ${WALK_ROWS:-cma-ib scm-ib ucm-ib cma-roce scm-roce ucm-roce cma-iwarp cma-irdma}; do
        row "$program" "$row"
    done
    lie "$program" evd_free
    lie "$program" ep_create
    lie "$program" rmr_create
    lie "$program" srq_query
done

# Each public call is walked, or in the table of README.md.
n=$((n + 1))
miss=
for call in $(cat "$top_srcdir/dat/include/dat2/dat.h" \
    "$top_srcdir/dat/include/dat2/udat.h" | tr '\n' ' ' |
    grep -oE 'DAT_EXPORT (DAT_RETURN|const char \*) ?[[:space:]]*dat_[a-z_]+' |
    grep -oE 'dat_[a-z_]+$' | sort -u); do
    name=${call%v} # of dat_ia_openv()
    grep -qE "\b($call|$name)\(" "$top_srcdir"/test/walk/call.c "$top_srcdir"/test/walk/model.c ||
        grep -q "^| .$call. |" "$top_srcdir/test/walk/README.md" || miss="$miss $call"
done
if [ -z "$miss" ]; then
    echo "ok $n - each call is walked or named"
else
    echo "not ok $n - neither walked nor named:$miss"
    bad=1
fi
echo "1..$n"
exit $bad
