# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dapltest.sh: dapltest as a program: all its tests over soft-RoCE and
# soft-iWARP, old and new programs and libraries against each other, and what
# a server does when clients misbehave.
# The old program's exit status is 0 whatever happens, so its output decides.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

prov=${IT_PROVIDER:-ofa-v2-cma}
addr=$DAPL_VM_RXE_ADDR

dapltest_of()
{
    case $1 in
    ours) echo "$STAGE/bin/dapltest" ;;
    debian) echo "$DEBIAN_DAPL/bin/dapltest" ;;
    esac
}

says_or_gone()
{
    grep -q "$1" "$2" 2>/dev/null || ! kill -0 "$3" 2>/dev/null
}

# launch "PROGRAM LIBDAT2 PROVIDER" OPTION...: a server, ready; server_pid and
# server_log.
launch()
{
    local s

    read -ra s <<<"$1"
    shift
    use_stack "${s[1]}" "${s[2]}"
    server_log=$it_logs/server.$it_n
    timeout -k 2 170 "${it_env[@]}" "$(dapltest_of "${s[0]}")" \
        -T S -D "$prov" "$@" >"$server_log" 2>&1 </dev/null &
    server_pid=$!
    poll 20 says_or_gone "Service Point Ready" "$server_log" "$server_pid"
    grep -q "Service Point Ready" "$server_log"
}

# Lines of the old program that mean no good. It always looks up a name, and
# describes cases by the errors that they are about.
complaints()
{
    grep -vE "^getaddrinfo|Description|^[A-Za-z ]*:? *Verify" "$1" |
        grep -m 1 -iE "fail|error|cannot|warning|timed out"
}

complains()
{
    complaints "$1" >/dev/null
}

# passed WHOSE LOG RC WHAT-IT-PRINTS: what a client made of it.
passed()
{
    if [ "$1" = ours ] && { [ "$3" != 0 ] || ! grep -q "Complete. PASSED" "$2"; }; then
        it_why="exit code $3"
    elif [ "$1" = debian ] && complains "$2"; then
        it_why=$(complaints "$2")
    elif [ -n "$4" ] && ! grep -qE "$4" "$2"; then
        it_why="'$4' was not printed"
    else
        return 0
    fi
    return 1
}

# client "PROGRAM LIBDAT2 PROVIDER" NAME WHAT-IT-PRINTS WORD...: one case.
client()
{
    local c name=$2 what=$3 log rc

    read -ra c <<<"$1"
    shift 3
    use_stack "${c[1]}" "${c[2]}"
    log=$it_logs/client.$it_n
    run_client "$log" "${it_env[@]}" "$(dapltest_of "${c[0]}")" "$@"
    rc=$?
    if passed "${c[0]}" "$log" $rc "$what"; then
        ok "$name: ${*:2}"
    else
        not_ok "$name: ${*:2}"
        echo "# $it_why; client.$((it_n - 1)), its last lines:"
        tail -n 5 "$log" | diag
    fi
}

# The server has been asked to end: does it, and what does it say of itself?
server_ends()
{
    local rc

    if ! poll 20 says_or_gone 'Exiting\.' "$server_log" "$server_pid"; then
        kill "$server_pid" 2>/dev/null
        wait "$server_pid"
        not_ok "$1: the server ends"
        tail -n 5 "$server_log" | diag
        return
    fi
    wait "$server_pid"
    rc=$?
    if [ "$2" = any ] || [ "$rc" = "$2" ]; then
        ok "$1: the server ends"
    else
        not_ok "$1: the server ends"
        echo "# exit code $rc, wanted $2"
        grep -E "ERR|FAILED" "$server_log" | head -n 5 | diag
    fi
}

# Reads have one segment only, all that soft-iWARP takes.
t_rows="-i 100 client SR 256 server SR 256
-i 50 -P client SR 256 server RW 4096 server SR 256
-i 50 -V client SR 256 server RR 4096 1 server SR 256
-i 30 -t 2 -w 4 client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
-i 30 -t 2 -w 2 -V -P client RW 4096 1 server RW 2048 4 client SR 1024 4 server SR 4096 2 client SR 1024 3 -f server SR 2048 1 -f
-i 10 client RW 1048576 client SR 8 server SR 8"
rsp_row="-i 20 -r client SR 65536 server SR 65536"

p_rows="-i 100 -p 16 -m b RW 4096 2
-i 100 -m p RR 4096 1"

# rows NAME SERVER CLIENT: with two kinds of program or library only some.
rows()
{
    local name=$1 server=$2 client=$3 words which=cat

    [[ "$server $client" != *debian* ]] || which="sed -n 1p;4,5p"

    if [[ "$server $client" == *debian* ]] && [ -z "$DEBIAN_DAPL" ]; then
        skip "$name" "$DEBIAN_DAPL_REASON"
        return
    fi
    # shellcheck disable=SC2086
    if ! launch "$server"; then
        not_ok "$name: the server starts"
        tail -n 5 "$server_log" | diag
        return
    fi
    while read -r words; do
        # shellcheck disable=SC2086
        client "$client" "$name" "Total WQE +:" -T T -s "$addr" -D "$prov" $words
    done <<<"$($which <<<"$t_rows")"
    # shellcheck disable=SC2086
    client "$client" "$name" "Total WQE +:" -T T -s "$addr" -D "$prov" $rsp_row
    while read -r words; do
        # shellcheck disable=SC2086
        client "$client" "$name" "^raw: R" -T P -s "$addr" -D "$prov" $words
    done <<<"$p_rows"
    client "$client" "$name" "" -T Q -s "$addr" -D "$prov"
    case $server in
    ours*) server_ends "$name" 0 ;;
    *) server_ends "$name" any ;;
    esac
}

# local_tests NAME STACK MEM: MEM is the feature mem with its cases.
local_tests()
{
    local name=$1 feature

    if [[ $2 == *debian* ]] && [ -z "$DEBIAN_DAPL" ]; then
        skip "$name" "$DEBIAN_DAPL_REASON"
        return
    fi
    for feature in hwconn endpoint pz "$3" connmgt queryinfo; do
        # shellcheck disable=SC2086
        client "$2" "$name" "Result: PASS" -T F -D "$prov" -f $feature
    done
    client "$2" "$name" "IAs opened: 8" -T L -D "$prov" -m 8 limit_ia
    client "$2" "$name" "LMRs created: 40" -T L -D "$prov" -w 4 -m 40 \
        limit_pz limit_cno limit_evd limit_ep limit_rsp limit_psp limit_lmr
    client "$2" "$name" "posted per EP: 15" -T L -D "$prov" -w 4 -m 15 limit_rpost
}

# ends WANTED COMMAND...: with that exit code, and soon.
ends()
{
    local want=$1 rc

    shift
    timeout -k 2 40 "$@"
    rc=$?
    echo "exit code $rc, wanted $want"
    [ $rc = "$want" ]
}

misbehaviour()
{
    local d t client_pid words="client SR 256 server SR 256"

    d=$(dapltest_of ours)
    t=(-s "$addr" -D "$prov")
    use_stack ours ours
    check "no server: says so" ends 4 "${it_env[@]}" "$d" -T T "${t[@]}" client SR server SR
    check "no such adapter: says so" ends 4 "${it_env[@]}" "$d" -T S -D nobody
    check "quality of service that nobody has: fails" \
        ends 1 "${it_env[@]}" "$d" -T Q "${t[@]}" -R HT
    launch "ours ours ours" --timeout 5
    check "a second server on the port: says so" ends 4 "${it_env[@]}" "$d" -T S -D "$prov"
    # A stranger whose message is no control message.
    if command -v rping >/dev/null; then
        timeout -k 2 30 rping -c -a "$addr" -p 62000 -C 1 >"$it_logs/rping" 2>&1
    fi
    # shellcheck disable=SC2086
    timeout -k 2 30 "${it_env[@]}" "$d" -T T "${t[@]}" -i 1000000 $words \
        >"$it_logs/killed" 2>&1 </dev/null &
    client_pid=$!
    poll 20 grep -q "Data:" "$it_logs/killed"
    kill -KILL "$(pgrep -P "$client_pid")"
    wait "$client_pid" 2>/dev/null
    # shellcheck disable=SC2086
    client "ours ours ours" "after a stranger and a death" "Total WQE" -T T "${t[@]}" -i 50 $words
    client "ours ours ours" "after a stranger and a death" "" -T Q "${t[@]}"
    # It tells that not all went well.
    server_ends "after a stranger and a death" 1
    launch "ours ours ours"
    kill -INT "$(pgrep -P "$server_pid")" 2>/dev/null
    server_ends "interrupted" 130
}

check "bin/dapltest is installed" test -x "$STAGE/bin/dapltest"

#    name                             server: dapltest libdat2 provider    client
rows "all ours" "ours ours ours" "ours ours ours"
rows "old server, new client" "debian debian debian" "ours ours ours"
rows "new server, old client" "ours ours ours" "debian debian debian"
rows "old program, our libraries" "debian ours ours" "debian ours ours"
local_tests "all ours" "ours ours ours" mem
# The old case 2 wants an error code that no library of the two gives.
local_tests "old program, our libraries" "debian ours ours" "mem case0 case1 case3 case4"
misbehaviour

if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    prov=ofa-v2-cma-iw
    addr=$DAPL_VM_SIW_ADDR
    rows "soft-iWARP, all ours" "ours ours ours" "ours ours ours"
    client "ours ours ours" "soft-iWARP, all ours" "LMRs created: 40" -T L -D "$prov" -w 4 -m 40 \
        limit_pz limit_cno limit_evd limit_ep limit_rsp limit_psp limit_lmr
else
    skip "soft-iWARP, all ours" "$DAPL_VM_NO_SIW"
fi
done_testing
