#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_arguments.sh: the codes of bad arguments that the headers document are those
# that the conformance suite asks for (c_args.c), call by call and for both
# versions of DAT. Whether the library gives them is the suite's business. TAP.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

# compare PROGRAM INCLUDE [LABEL]
compare()
{
    include=$top_builddir/dat/headers/$2
    awk -f "$top_srcdir/test/conform/documented.awk" "$include/dat.h" \
        "$include/udat.h" "$include/dat_registry.h" >"$tmp/all" ||
        { echo "Bail out! a header that cannot be read"; exit 1; }
    # "INVALID_PARAMETER, a number without a name" is no argument of a handle's call
    grep -v '^dat_strerror ' "$tmp/all" | sort -u >"$tmp/documented"
    "$top_builddir/test/conform/$1" --arguments | sort -u >"$tmp/tested"
    cut -d' ' -f1 "$tmp/documented" "$tmp/tested" | sort -u >"$tmp/calls"
    [ "$(wc -l <"$tmp/calls")" -gt 60 ] ||
        { echo "Bail out! too few calls were found in $include"; exit 1; }

    while read -r call; do
        n=$((n + 1))
        grep "^$call " "$tmp/documented" >"$tmp/a"
        grep "^$call " "$tmp/tested" >"$tmp/b"
        if cmp -s "$tmp/a" "$tmp/b"; then
            echo "ok $n - $3$call"
        else
            echo "not ok $n - $3$call"
            comm -23 "$tmp/a" "$tmp/b" | sed 's/^/# documented, without a row: /'
            comm -13 "$tmp/a" "$tmp/b" | sed 's/^/# a row, not documented: /'
            bad=1
        fi
    done <"$tmp/calls"
}

compare conform dat2
compare conform1 dat "1.2: "
echo "1..$n"
exit ${bad:-0}
