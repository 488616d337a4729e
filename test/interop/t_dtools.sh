# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dtools.sh: dtestcm, dtestsrq and dtestx: ours over each adapter, Debian's on
# our libraries, ours against Debian's on the wire, and what they say when
# something is wrong. dtest itself is in t_blackbox.sh.
# Nothing of Debian's source is looked at.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

cm_options="-c 20 -b 5
-c 100 -b 100 -w --hold 1
-c 20 -b 4 -m -w
-c 60 --ramp 1,10,60 --window --reject 25 -w"

srq_options="-c 4 -B 10 -t 5 -S 0
-c 8 -B 8 -t 10 -b 4096 --poll
-c 2 -B 4 -b 12 --lowwater 2"

# Both print a line for each part, and Debian's has no other verdict.
# shellcheck disable=SC2317
verdict_x()
{
    if [ "$3" != 0 ]; then
        it_why="$1: exit code $3"
    elif [ "$(grep -cE '^ (RDMA_WRITE_WITH_IMMEDIATE_DATA|CMP_SWAP|FETCH_ADD) test - PASSED$' "$2")" != 3 ]; then
        it_why="$1: not all parts PASSED"
    elif ! grep -qx ' IB extension test - immed/atomic test PASSED' "$2"; then
        it_why="$1: not PASSED"
    else
        return 0
    fi
    return 1
}

# Of datagram endpoints there is one part.
# shellcheck disable=SC2317
verdict_ud()
{
    if [ "$3" != 0 ]; then
        it_why="$1: exit code $3"
    elif ! grep -qx ' IB extension test - UD test PASSED' "$2"; then
        it_why="$1: not PASSED"
    else
        return 0
    fi
    return 1
}

cm_ud="-u -c 20 -b 5
-u -c 60 --ramp 1,10,60 --window --reject 25 -w"

srq_ud="-u -S 0 -c 4 -B 10 -t 5
-u -c 8 -B 8 -t 10 -b 1000
-u -c 2 -B 4 -b 12 --lowwater 2 --poll"

# rows TOOL NAME SERVER CLIENT OPTIONS: one pair for each line of OPTIONS.
rows()
{
    local tool=$1 name=$2 server=$3 client=$4 o judge=verdict_tool

    [ "$tool" != dtestx ] || judge=verdict_x
    while read -r o; do
        # shellcheck disable=SC2086
        tool_pair "$tool" $judge "$name" "$server" "$client" $o
    done <<<"$5"
}

# Debian's dtestcm crashes where -c is no multiple of -b.
old_cm="-c 10 -b 5
-c 20 -b 5 -m -w
-c 200 -b 50"
# With Debian's provider and an SRQ its dtestsrq waits for ever for an event
# that the device does not raise; ours makes it up.
old_srq="-c 4 -B 4 -t 5
-c 4 -B 10 -S 0"
wire_srq="-c 4 -B 4 -t 5"

# The server of Debian's dtestsrq has no TCP port; it says when it is ready.
# Where a peer is a queue pair, it can be told one, though not whose.
old_programs()
{
    local name="$1, old program, our libraries" IT_NO_WAY='' IT_READY=''

    [ "$it_old" != local ] || IT_NO_WAY="No valid data was received|DAT_INVALID_ADDRESS"
    rows dtestcm "$name" "$old_program" "$old_program" "$old_cm"
    IT_READY='[Rr]eady'
    rows dtestsrq "$name" "$old_program" "$old_program" "$old_srq"
    [ "$it_old" != local ] || IT_CLIENT="-q 17 -l 1" \
        rows dtestsrq "$name" "$old_program" "$old_program" "-c 4 -B 4"
}

wire()
{
    rows dtestcm "$1, wire: old server, our client" "$all_debian" "$all_ours" "$old_cm"
    rows dtestcm "$1, wire: our server, old client" "$all_ours" "$all_debian" "$old_cm"
    # Our side may have an SRQ all the same.
    IT_READY='[Rr]eady' IT_CLIENT=--direct IT_SERVER="-S 0" \
        rows dtestsrq "$1, wire: old server, our client" "$all_debian" "$all_ours" "$wire_srq"
    IT_READY='[Rr]eady' IT_CLIENT="-S 0" \
        rows dtestsrq "$1, wire: our server, old client" "$all_ours" "$all_debian" "$wire_srq"
}

# has_datagrams: does the adapter's attribute say so?
has_datagrams()
{
    use_stack ours ours
    "${it_env[@]}" "$STAGE/bin/dtestx" -q -P "$IT_PROVIDER" 2>&1 | grep -q " DAT_IB_UD=TRUE\$"
}

# What there is to test is InfiniBand's.
extensions()
{
    local IT_NO_WAY=''

    [ "$it_old" != local ] || IT_NO_WAY="No valid data was received|DAT_INVALID_ADDRESS"
    rows dtestx "$1" "$all_ours" "$all_ours" "-b 256
-b 4096"
    rows dtestx "$1, old program, our libraries" "$old_program" "$old_program" "-b 256"
    if has_datagrams; then
        tool_pair dtestx verdict_ud "$1" "$all_ours" "$all_ours" -u
        tool_pair dtestx verdict_ud "$1" "$all_ours" "$all_ours" -U 50 -m
        rows dtestcm "$1" "$all_ours" "$all_ours" "$cm_ud"
        rows dtestsrq "$1" "$all_ours" "$all_ours" "$srq_ud"
    else
        skip "$1: datagrams" "the provider's DAT_IB_UD is not TRUE"
    fi
    [ "$it_old" = peers ] || return
    rows dtestx "$1, wire: old server, our client" "$all_debian" "$all_ours" "-b 256"
    rows dtestx "$1, wire: our server, old client" "$all_ours" "$all_debian" "-b 256"
}

adapter()
{
    rows dtestcm "$1" "$all_ours" "$all_ours" "$cm_options"
    rows dtestsrq "$1" "$all_ours" "$all_ours" "$srq_options"
    old_programs "$1"
    [ "$it_old" != peers ] || wire "$1"
    [ "$it_old" = ours ] || extensions "$1"
}

each_adapter adapter
rows dtestsrq "soft-RoCE" "$all_ours" "$all_ours" "-c 2 -B 4 --resize 64"

# ends_with CODE PATTERN COMMAND...: its exit code, and a line of its output.
ends_with()
{
    local code=$1 pattern=$2 rc

    shift 2
    use_stack ours ours
    timeout -k 2 "$it_limit" "${it_env[@]}" "$@" >"$it_logs/out" 2>&1 </dev/null
    rc=$?
    cat "$it_logs/out"
    [ $rc = "$code" ] && grep -q -- "$pattern" "$it_logs/out"
}

# mismatch TOOL OPTION: the client refuses and the server hears of it.
mismatch()
{
    use_stack ours ours
    start_server "$it_logs/mismatch.server" "${it_env[@]}" "$STAGE/bin/$1" -P ofa-v2-cma || return 1
    ends_with 5 "runs with another" "$STAGE/bin/$1" -h "$DAPL_VM_RXE_ADDR" $2 || return 1
    wait "$server_pid"
    [ $? = 5 ] && grep -q "runs another test" "$it_logs/mismatch.server"
}

# stops TOOL: SIGINT while it waits; it must clean up and say so.
stops()
{
    use_stack ours ours
    # No timeout(1) between, which would get the signal.
    "${it_env[@]}" "$STAGE/bin/$1" -P ofa-v2-cma >"$it_logs/stop" 2>&1 </dev/null &
    poll 20 listening 15828 || return 1
    kill -INT $!
    wait $!
    [ $? = 130 ] && grep -q interrupted "$it_logs/stop" && ! listening 15828
}

check "dtestx: what a provider has" ends_with 0 " DAT_IB_DEVICE_NAME=rxe0\$" \
    "$STAGE/bin/dtestx" -q -P ofa-v2-scm
if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    check "dtestx: not on iWARP" ends_with 4 "has no InfiniBand extensions" \
        "$STAGE/bin/dtestx" -P ofa-v2-cma-iw
    for tool in dtestcm dtestsrq dtestx; do
        check "$tool -u: not on iWARP" ends_with 4 "has no datagram endpoints" \
            "$STAGE/bin/$tool" -u -P ofa-v2-cma-iw
    done
else
    skip "dtestx, and -u of dtestcm and dtestsrq: not on iWARP" "$DAPL_VM_NO_SIW"
fi
for tool in dtestcm dtestsrq dtestx; do
    check "$tool: no server" ends_with 3 "no answer from" \
        "$STAGE/bin/$tool" -h "$DAPL_VM_RXE_ADDR" --timeout 1
    check "$tool: unknown provider" ends_with 4 "no adapter .nobody.: use " \
        "$STAGE/bin/$tool" -P nobody
    differs="-c 3"
    [ $tool != dtestx ] || differs="-b 64"
    check "$tool: sides that disagree" mismatch $tool "$differs"
done
# Background children of a script ignore SIGINT unless it has job control.
set -m
for tool in dtestcm dtestsrq dtestx; do
    check "$tool: SIGINT" stops $tool
done
set +m
done_testing
