# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_differ.sh: the same programs on Debian's libraries and on ours, what they
# ask for, each argument that no program should give, what becomes of objects
# that are changed, the calls of recorded walks, and what threads and signals do
# to a wait, and all that the two answer differently. A difference is known (a
# row of test/differ/known.tsv, with its reason) or a fault; so is a row that no
# run shows. And the walks by both versions of DAT of ours (faces.tsv): of 1.2 no
# historic library is at hand.
#
# Over soft-iWARP without the walks, which take longest.
# Not over UCM: Debian's opens an adapter on RoCE, which is what the guest has,
# and cannot connect there (doc/conformance.md).

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

dir=$(dirname "$0")/../differ
walks=$dir/walks.txt
# Themselves: libtool's scripts put the libraries of the build before any other.
programs=$BUILD/test/differ/.libs
qualifier=7001

# runs SECONDS PROGRAM ADAPTER QUALIFIER [FILE]
runs()
{
    local seconds=$1 program=$2

    shift 2
    # What they log, in the midst of a line now and then, is not compared.
    timeout -k 5 "$seconds" "${it_env[@]}" DAPL_DBG_TYPE=0 DAT_DBG_TYPE=0 "$programs/$program" "$@"
}

# answers WHOSE: what the programs print on these libraries, into a file.
answers()
{
    local p=$IT_PROVIDER

    use_stack "$1" "$1"
    "${it_env[@]}" ldd "$programs/arguments" | grep -F "libdat2.so.2 => ${it_lib[$1]}/" || return
    {
        runs 300 attributes "$p" $qualifier &&
            runs 300 arguments "$p" $((qualifier + 2000)) &&
            { [ "$it_old" != peers ] || runs 600 replay "$p" $((qualifier + 8)) "$walks"; } &&
            runs 100 scenarios "$p" $((qualifier + 1))
    } >"$it_logs/$p.$1" 2>"$it_logs/$p.$1.err"
}

# changes WHOSE QUALIFIER: those that change what there is, after the others.
changes()
{
    local p=$IT_PROVIDER

    use_stack "$1" "$1"
    {
        runs 300 modify "$p" "$2" &&
            runs 300 changes "$p" $(($2 + 1000))
    } >>"$it_logs/$p.$1" 2>>"$it_logs/$p.$1.err"
}

# Side by side: Debian's hang in some.
changes_of_both()
{
    local good=yes

    changes ours $((qualifier + 4000)) &
    changes debian $((qualifier + 14000)) || good=no
    wait $! && [ $good = yes ]
}

# faces: the same walks by ours, on both versions of DAT.
faces()
{
    local p=$IT_PROVIDER

    use_stack ours ours
    runs 600 replay "$p" $((qualifier + 3000)) "$walks" >"$it_logs/$p.2.0" &&
        runs 600 replay1 "OpenIB-${p#ofa-v2-}" $((qualifier + 3200)) "$walks" >"$it_logs/$p.1.2"
}

# compared WHAT KNOWN OLD NEW [OPTION...]: a case, of files in the logs
compared()
{
    local what=$1 known=$dir/$2 old=$it_logs/$IT_PROVIDER.$3 new=$it_logs/$IT_PROVIDER.$4
    local out=$it_logs/$IT_PROVIDER.$2.differ bad

    shift 4
    awk -f "$dir/differ.awk" -v adapter="$IT_PROVIDER" "$@" "$known" "$old" "$new" >"$out"
    bad=$(grep -c '^not ok' "$out")
    if [ "$bad" = 0 ] && [ -s "$out" ]; then
        ok "$what: $(tail -n 1 "$out")"
    else
        not_ok "$what: $bad differences that no row explains"
        grep '^not ok' "$out" | head -n 40 | diag
    fi
}

differ()
{
    [ "$it_old" != local ] || return 0
    if [ "$it_old" = peers ]; then
        check "$1: walks by DAT 2.0 and 1.2" faces
        compared "$1: walks by DAT 2.0 and 1.2" faces.tsv 2.0 1.2 -v names=1
    fi
    if lacks_debian debian; then
        skip "$1: attributes, arguments, changes, walks and scenarios" "$DEBIAN_DAPL_REASON"
        return
    fi
    check "$1: our libraries answer" answers ours
    check "$1: Debian's libraries answer" answers debian
    check "$1: both answer to changes" changes_of_both
    compared "$1: attributes, arguments, changes, walks and scenarios" known.tsv debian ours
}

each_adapter differ
done_testing
