# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_tools.sh: the tools with their server on another host: over each adapter, of
# DAT 1.2 too, and old against new in every mix of programs and libraries where
# old ones can. What they do besides is tried within one host (test/interop).

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"
# shellcheck source=test/interop/dapltest.sh
. "$(dirname "$0")/../interop/dapltest.sh"

dtest_options="-b 64 -B 100
-b 4096 -B 50 -p
-W -b 64 -B 100"

# rows TOOL VERDICT NAME SERVER CLIENT OPTIONS: one pair for each line
rows()
{
    local o

    while read -r o; do
        # shellcheck disable=SC2086
        tool_pair "$1" "$2" "$3" "$4" "$5" $o
    done <<<"$6"
}

# dapltest NAME SERVER CLIENT: old against new; ./run regress's lines are all ours.
# Its other test has the server speak first, which iWARP leaves to the client.
dapltest()
{
    local p

    [ "$it_old" = ours ] || p=$(sed -n 1p <<<"$p_rows")
    dapltest_rows "$1" "$2" "$3" "$(sed -n '1p;3p' <<<"$t_mixed")" "$p"
}

adapter()
{
    local all="$1, all ours"

    rows dtest verdict "$all" "$all_ours" "$all_ours" "$dtest_options"
    # dtestcm cannot be told where a UCM server is, dtestsrq can.
    rows dtestcm verdict_tool "$all" "$all_ours" "$all_ours" "-c 20 -b 5"
    rows dtestsrq verdict_tool "$all" "$all_ours" "$all_ours" "-c 4 -B 10 -t 5 -S 0"
    [ "$it_old" != local ] || return
    dapltest "$1, old program, our libraries" "$old_program" "$old_program"
    [ "$it_old" = peers ] || return
    dapltest "$1, our server, old client" "$all_ours" "$all_debian"
    dapltest "$1, old server, our client" "$all_debian" "$all_ours"
    rows dtest verdict "$1, old program, our libraries" "$old_program" "$old_program" "-b 64 -B 50"
    rows dtest verdict "$1, our server, old client" "$all_ours" "$all_debian" "-b 64 -B 50 -p"
    rows dtest verdict "$1, old server, our client" "$all_debian" "$all_ours" "-b 64 -B 50 -p"
    rows dtest verdict "$1, all old" "$all_debian" "$all_debian" "-b 64 -B 50"
}

adapter_1()
{
    rows dtest1 verdict "$1, all ours" "$all_ours" "$all_ours" "-b 64 -B 50"
}

each_adapter adapter
each_adapter_1 adapter_1
done_testing
