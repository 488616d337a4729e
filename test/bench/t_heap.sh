#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_heap.sh: whether the heap that an open adapter and a connected endpoint take
# is within the budgets: the table of bytes in doc/architecture.md. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
LD_LIBRARY_PATH=$top_builddir/dat/.libs
export LD_LIBRARY_PATH

# most PROVIDER adapter|endpoint: from its row, behind the last one's title.
most()
{
    awk -F ' *[|] *' -v provider="$1" -v column="$2" '
        $2 == "heap, bytes" { for (i = 3; i < NF; i++) at[$i] = i }
        ("adapter" in at) && $2 == provider { print $at[column] }
    ' "$top_srcdir/doc/architecture.md"
}

n=0
bad=0
for provider in cma scm ucm; do
    "$top_builddir/test/bench/.libs/heap_budget" $provider ib >"$tmp/heap"
    rc=$?
    if [ $rc = 77 ]; then
        echo "1..0 # SKIP a build whose memory is watched"
        exit 0
    fi
    for what in adapter endpoint; do
        n=$((n + 1))
        is=$(sed -n "s/^$what //p" "$tmp/heap")
        limit=$(most $provider $what)
        ok=ok
        if [ $rc != 0 ] || [ -z "$is" ] || [ -z "$limit" ] || [ "$is" -gt "$limit" ]; then
            ok="not ok"
            bad=1
        fi
        echo "$ok $n - heap: $provider: $what: ${is:-?} bytes, at most ${limit:-?}"
    done
done
echo "1..$n"
exit $bad
