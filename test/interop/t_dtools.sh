# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dtools.sh: dtestcm and dtestsrq: ours over each adapter, Debian's on our
# libraries, ours against Debian's on the wire, and what they say when
# something is wrong. dtest itself is in t_blackbox.sh.
# Each adapter is one line of `adapters`: name in dat.conf, address, and what
# it is. Nothing of Debian's source is looked at.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

adapters="ofa-v2-cma $DAPL_VM_RXE_ADDR soft-RoCE
ofa-v2-cma-iw $DAPL_VM_SIW_ADDR soft-iWARP"

cm_options="-c 20 -b 5
-c 100 -b 100 -w --hold 1
-c 20 -b 4 -m -w
-c 60 --ramp 1,10,60 --window --reject 25 -w"

srq_options="-c 4 -B 10 -t 5 -S 0
-c 8 -B 8 -t 10 -b 4096 --poll
-c 2 -B 4 -b 12 --lowwater 2"

# Debian's tools have no PASSED; they say that they reached the end. Errors
# show in their texts only, not in the exit code.
verdict_tool()
{
    local end="Test Complete"

    if [ "$4" = ours ]; then
        verdict "$1" "$2" "$3"
        return
    fi
    if [ "$3" != 0 ]; then
        it_why="$1: exit code $3"
    elif grep -qiE 'err|fail|invalid' "$2"; then
        it_why="$1: $(grep -m 1 -iE 'err|fail|invalid' "$2")"
    elif ! grep -q "$end" "$2"; then
        it_why="$1: not at its end"
    else
        return 0
    fi
    return 1
}

# rows TOOL NAME SERVER CLIENT OPTIONS: one pair for each line of OPTIONS.
rows()
{
    local tool=$1 name=$2 server=$3 client=$4 o

    while read -r o; do
        # shellcheck disable=SC2086
        tool_pair "$tool" verdict_tool "$name" "$server" "$client" $o
    done <<<"$5"
}

all_ours="ours ours ours"
all_debian="debian debian debian"

while read -r name addr what; do
    if [ -z "$what" ]; then
        skip "$addr: dtestcm and dtestsrq" "$DAPL_VM_NO_SIW"
        continue
    fi
    IT_PROVIDER=$name
    IT_ADDR=$addr
    rows dtestcm "$what" "$all_ours" "$all_ours" "$cm_options"
    rows dtestsrq "$what" "$all_ours" "$all_ours" "$srq_options"
done <<<"$adapters"
IT_PROVIDER=ofa-v2-cma
IT_ADDR=$DAPL_VM_RXE_ADDR

rows dtestsrq "soft-RoCE" "$all_ours" "$all_ours" "-c 2 -B 4 --resize 64"

# Debian's dtestcm crashes where -c is no multiple of -b.
old_cm="-c 20 -b 5 -m -w"
rows dtestcm "old program, our libraries" "debian ours ours" "debian ours ours" "-c 10 -b 5
$old_cm"
rows dtestcm "wire: old server, our client" "$all_debian" "$all_ours" "$old_cm"
rows dtestcm "wire: our server, old client" "$all_ours" "$all_debian" "$old_cm"

# Debian's dtestsrq has no TCP port; it says when it is ready.
old_srq="-c 4 -B 4 -t 5"
IT_READY='[Rr]eady'
rows dtestsrq "old program, our libraries" "debian ours ours" "debian ours ours" "$old_srq"
# With Debian's provider and an SRQ it waits for ever for an event that the
# device does not raise; our side may have one all the same.
IT_CLIENT=--direct IT_SERVER="-S 0" \
    rows dtestsrq "wire: old server, our client" "$all_debian" "$all_ours" "$old_srq"
IT_CLIENT="-S 0" \
    rows dtestsrq "wire: our server, old client" "$all_ours" "$all_debian" "$old_srq"
unset IT_READY

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

for tool in dtestcm dtestsrq; do
    check "$tool: no server" ends_with 3 "no answer from" \
        "$STAGE/bin/$tool" -h "$DAPL_VM_RXE_ADDR" --timeout 1
    check "$tool: unknown provider" ends_with 4 "names in dat.conf" \
        "$STAGE/bin/$tool" -P nobody
    check "$tool: sides that disagree" mismatch $tool "-c 3"
done
# Background children of a script ignore SIGINT unless it has job control.
set -m
for tool in dtestcm dtestsrq; do
    check "$tool: SIGINT" stops $tool
done
set +m
done_testing
