# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_ucm.sh: the UCM provider over soft-RoCE: dtest with itself, an independent
# peer that speaks the historic provider's bytes in both roles (ucm_peer.c),
# and a peer that is killed. Debian's UCM has no route headers and cannot run
# on such a device at all, so it is no peer here; and Debian's programs carry a
# peer's address without its GID, so on our UCM they get as far as that.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

IT_PROVIDER=ofa-v2-ucm
lib=$STAGE/lib/libdaploucm.so.2
peer=$BUILD/test/interop/.libs/ucm_peer

without_rdmacm()
{
    ! LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$lib /bin/true | grep librdmacm
}

# peer_cases NAME ADAPTER: the program's own cases, one by one.
peer_cases()
{
    local name=$1 log=$it_logs/peer.$2 rc line

    use_stack ours ours
    timeout -k 2 200 "${it_env[@]}" "$peer" "$2" rxe0 >"$log" 2>&1
    rc=$?
    while read -r line; do
        case $line in
        "ok "*) ok "$name: ${line#ok * - }" ;;
        "not ok "*) not_ok "$name: ${line#not ok * - }" ;;
        "#"*) echo "$line" ;;
        esac
    done <"$log"
    check "$name: all cases ran" grep -qE "^1\.\.$(grep -cE '^(not )?ok ' "$log")\$" "$log"
    [ $rc -le 1 ] || not_ok "$name: exit code $rc"
}

# The server is killed while data flows: the client ends, and says why.
killed_peer()
{
    local name="a killed peer ends the client's run" log=$it_logs/killed rc

    use_stack ours ours
    it_env+=(DAPL_ACK_TIMER=14 DAPL_ACK_RETRY=3)
    if ! start_server "$log.server" "${it_env[@]}" "$STAGE/bin/dtest" -P $IT_PROVIDER \
        -W -b 64 -B 1000000; then
        not_ok "$name"
        echo "# $it_why"
        return
    fi
    timeout -k 2 60 "${it_env[@]}" "$STAGE/bin/dtest" -P $IT_PROVIDER -W -b 64 -B 1000000 \
        -h "$DAPL_VM_RXE_ADDR" >"$log.client" 2>&1 </dev/null &
    client_pid=$!
    poll 20 grep -q CONNECTED "$log.client"
    # The timeout program around it would pass nothing but TERM on.
    pkill -KILL -P "$server_pid"
    wait "$server_pid" 2>/dev/null
    wait "$client_pid"
    rc=$?
    if [ $rc != 0 ] && [ $rc != 124 ] && [ $rc != 137 ]; then
        ok "$name"
        tail -n 2 "$log.client" | diag
    else
        not_ok "$name"
        echo "# exit code $rc"
        tail -n 5 "$log.client" | diag
    fi
}

check "libdaploucm.so.2 is installed" test -e "$lib"
check "it does without librdmacm" without_rdmacm
while read -r o; do
    # shellcheck disable=SC2086
    dtest_pair "ucm" "ours ours ours" "ours ours ours" $o
done <<E
-b 64 -B 100
-b 64 -B 50 -p
-b 64 -B 50 -c
-b 64 -B 100 -u
-b 64 -B 100 -w
-W -b 64 -B 100
-D -a -b 1024 -B 20
E
IT_NO_WAY="No valid data was received" \
    dtest_pair "ucm, old program, our libraries" "$old_program" "$old_program" -b 64 -B 50
IT_PROVIDER=ofa-v2-ucm-gid0
dtest_pair "ucm, GID 0" "ours ours ours" "ours ours ours" -b 64 -B 50
IT_PROVIDER=ofa-v2-ucm

peer_cases "peer" ofa-v2-ucm
# Old peers know no other.
peer_cases "peer, GID 0" ofa-v2-ucm-gid0
killed_peer
done_testing
