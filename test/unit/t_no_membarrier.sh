#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_no_membarrier.sh: what moves data, where membarrier(2) is refused, and so no
# lock has a bias (doc/locking.md): the cases of those programs, and random walks.
# TAP. Input: top_srcdir, top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
refuse=$top_builddir/test/no_membarrier

"$refuse" true 2>"$tmp/refuse"
if [ $? = 77 ]; then
    echo "1..0 # SKIP $(cat "$tmp/refuse")"
    exit 0
fi

n=0
bad=0

# each LABEL COMMAND...: its cases; one that broke off says nothing of the rest.
each()
{
    label=$1
    shift
    sh "$top_srcdir/test/unit/case.sh" "$refuse" "$@" >"$tmp/tap" 2>"$tmp/err"
    rc=$?
    awk -v n="$n" -v label="$label" -f "$top_srcdir/test/conform/number.awk" "$tmp/tap" |
        sed '/^\(not \)\{0,1\}ok \|^#/!s/^/# /'
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/tap")))
    if [ $rc != 0 ] || ! grep -q '^1\.\.' "$tmp/tap"; then
        bad=1
        n=$((n + 1))
        echo "not ok $n - $label: to its end"
        echo "# exit code $rc"
        sed 's/^/# /' "$tmp/err"
    fi
}

for program in transfer/t_ep_post objects/t_srq event/t_evd_wait plugin/t_stress; do
    each "${program#*/}" "$top_builddir/test/unit/$program"
done
for provider in cma scm ucm; do
    each "walk, $provider" "$top_builddir/test/walk/walk" --provider $provider --kind roce --seeds 8
done
echo "1..$n"
exit $bad
