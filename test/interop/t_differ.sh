# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_differ.sh: the same programs on Debian's libraries and on ours, what they
# ask for, the calls of recorded walks, and what threads and signals do to a
# wait, and all that the two answer differently. A difference is known (a row of test/differ/
# known.tsv, with its reason) or a fault; so is a row that no run shows.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

known=$(dirname "$0")/../differ/known.tsv
walks=$(dirname "$0")/../differ/walks.txt
programs=$BUILD/test/differ
qualifier=7001

# answers WHOSE: what the programs print on these libraries, into a file.
answers()
{
    use_stack "$1" "$1"
    {
        timeout -k 5 300 "${it_env[@]}" "$programs/attributes" "$IT_PROVIDER" $qualifier &&
            timeout -k 5 300 "${it_env[@]}" "$programs/replay" "$IT_PROVIDER" \
                $((qualifier + 8)) "$walks" &&
            timeout -k 5 100 "${it_env[@]}" "$programs/scenarios" "$IT_PROVIDER" \
                $((qualifier + 1))
    } >"$it_logs/$IT_PROVIDER.$1" 2>"$it_logs/$IT_PROVIDER.$1.err"
}

differ()
{
    local p=$IT_PROVIDER bad

    [ "$it_old" = peers ] || return 0
    if lacks_debian debian; then
        skip "$1: attributes, walks and scenarios" "$DEBIAN_DAPL_REASON"
        return
    fi
    check "$1: our libraries answer" answers ours
    check "$1: Debian's libraries answer" answers debian
    awk -f "$(dirname "$0")/../differ/differ.awk" -v adapter="$p" \
        "$known" "$it_logs/$p.debian" "$it_logs/$p.ours" >"$it_logs/$p.differ"
    bad=$(grep -c '^not ok' "$it_logs/$p.differ")
    if [ "$bad" = 0 ] && [ -s "$it_logs/$p.differ" ]; then
        ok "$1: attributes, walks and scenarios: $(tail -n 1 "$it_logs/$p.differ")"
    else
        not_ok "$1: attributes, walks and scenarios: $bad differences that no row explains"
        grep '^not ok' "$it_logs/$p.differ" | head -n 40 | diag
    fi
}

each_adapter differ
done_testing
