# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dapltest.sh: dapltest as a program: all its tests over every adapter, old
# and new programs and libraries against each other, and what a server does
# when clients misbehave.
# dapltest1 does them over every adapter of DAT 1.2.
# The old program's exit status tells only of crashes, so its output decides.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

says_or_gone()
{
    says "$1" "$2" || ! kill -0 "$3" 2>/dev/null
}

tool=dapltest
told= # words that let a client ask where the server is

# launch "PROGRAM LIBDAT2 PROVIDER" OPTION...: a server, ready; server_pid and
# server_log.
launch()
{
    local s

    launched=("$@")
    read -ra s <<<"$1"
    shift
    use_stack "${s[1]}" "${s[2]}"
    server_log=$it_logs/server.$it_n
    rm -f "$server_log" # another one may have been ready
    timeout -k 2 170 "${it_there[@]}" "${it_env[@]}" "${it_bin[${s[0]}]}/$tool" \
        -T S -D "$IT_PROVIDER" $told "$@" >"$server_log" 2>&1 </dev/null &
    server_pid=$!
    poll 20 says_or_gone "Service Point Ready" "$server_log" "$server_pid"
    says "Service Point Ready" "$server_log"
}

# Of a server whose client was not served nobody knows what it waits for.
another_server()
{
    kill "$server_pid" 2>/dev/null
    wait "$server_pid"
    launch "${launched[@]}"
}

# Lines of the old program that mean no good. It always looks up a name, and
# describes cases by the errors that they are about.
complaints()
{
    grep -vE "$it_our_line|^getaddrinfo|Description|^[A-Za-z ]*:? *Verify" "$1" |
        grep -m 1 -iE "fail|error|cannot|warning|timed out"
}

complains()
{
    complaints "$1" >/dev/null
}

# passed WHOSE LOG RC WHAT-IT-PRINTS: what a client made of it.
passed()
{
    if [ "$3" -ge 124 ]; then
        it_why="exit code $3, a crash or no end"
    elif [ "$1" = ours ] && { [ "$3" != 0 ] || ! says "Complete. PASSED" "$2"; }; then
        it_why="exit code $3"
    elif [ "$1" = debian ] && complains "$2"; then
        it_why=$(complaints "$2")
    elif [ -n "$4" ] && ! says "$4" "$2"; then
        it_why="'$4' was not printed"
    else
        return 0
    fi
    return 1
}

# client "PROGRAM LIBDAT2 PROVIDER" NAME WHAT-IT-PRINTS WORD...: one case.
client()
{
    local c name=$2 what=$3 log rc again=("$@")

    read -ra c <<<"$1"
    shift 3
    no_excuse
    use_stack "${c[1]}" "${c[2]}"
    log=$it_logs/client.$it_n
    run_client "$log" "${it_env[@]}" "${it_bin[${c[0]}]}/$tool" "$@"
    rc=$?
    if passed "${c[0]}" "$log" $rc "$what"; then
        ok "$name: ${*:2}"
    elif no_way_to_peer "$log"; then
        skip "$name: ${*:2}" "$it_why"
    elif once_more "$name: ${*:2}"; then
        another_server
        it_tries=$((${it_tries:-0} + 1)) client "${again[@]}"
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
-i 20 -r client SR 65536 server SR 65536
-i 10 client RW 1048576 client SR 8 server SR 8"
# With two kinds of program or library.
t_mixed=$(sed -n '1p;4,6p' <<<"$t_rows")
# The old program does not ask for segments; old libraries had 4 for it.
t_old="$t_mixed
-i 10 client SR 256 5 server SR 256 5"

p_rows="-i 100 -p 16 -m b RW 4096 2
-i 100 -m p RR 4096 1"
p_old="$p_rows
-i 100 RW 64 8"

# each_row TEST NAME CLIENT WHAT-IT-PRINTS ROWS
each_row()
{
    local words

    while read -r words; do
        # shellcheck disable=SC2086
        client "$3" "$2" "$4" -T "$1" -s "$IT_ADDR" -D "$IT_PROVIDER" $told $words
    done <<<"$5"
}

# started NAME SERVER: launches it; if that fails, it is a failed case.
started()
{
    launch "$2" && return
    not_ok "$1: the server starts"
    tail -n 5 "$server_log" | diag
    return 1
}

# rows NAME SERVER CLIENT T-ROWS P-ROWS: against one server, which has to end.
rows()
{
    local name=$1 server=$2 client=$3 rc=any

    if lacks_debian "$server" "$client"; then
        skip "$name" "$DEBIAN_DAPL_REASON"
        return
    fi
    started "$name" "$server" || return
    each_row T "$name" "$client" "Total WQE +:" "$4"
    [ -z "$5" ] || each_row P "$name" "$client" "^raw: R" "$5"
    [ "$server" != "$old_program" ] || leave_behind "$client"
    # shellcheck disable=SC2086
    client "$client" "$name" "" -T Q -s "$IT_ADDR" -D "$IT_PROVIDER" $told
    [[ $server != ours* ]] || rc=0
    server_ends "$name" $rc
}

# Tests without data or iterations, which the old program takes for successes.
# With old libraries the server could not end after them.
leave_behind()
{
    local c words

    read -ra c <<<"$1"
    for words in "-i 10 client SR 0 server SR 0" "-i 0 client SR 64 server SR 64"; do
        use_stack "${c[1]}" "${c[2]}"
        # shellcheck disable=SC2086
        run_client "$it_logs/left" "${it_env[@]}" "${it_bin[${c[0]}]}/dapltest" \
            -T T -s "$IT_ADDR" -D "$IT_PROVIDER" $words
        [ -z "$it_siw" ] || another_server
    done
}

# local_tests NAME STACK QUERIES: those without a peer; QUERIES is the feature
# queryinfo, with its cases if not all of them.
local_tests()
{
    local name=$1 feature

    if lacks_debian "$2"; then
        skip "$name" "$DEBIAN_DAPL_REASON"
        return
    fi
    for feature in hwconn endpoint pz mem connmgt "$3"; do
        # shellcheck disable=SC2086
        client "$2" "$name" "Result: PASS" -T F -D "$IT_PROVIDER" -f $feature
    done
    client "$2" "$name" "IAs opened: 8" -T L -D "$IT_PROVIDER" -m 8 limit_ia
    client "$2" "$name" "LMRs created: 40" -T L -D "$IT_PROVIDER" -w 4 -m 40 \
        limit_pz limit_cno limit_evd limit_ep limit_rsp limit_psp limit_lmr
    client "$2" "$name" "posted per EP: 15" -T L -D "$IT_PROVIDER" -w 4 -m 15 limit_rpost
}

# The old program against a server that it cannot name: each test a case of
# its own, should it be able to one day.
unnamed_server()
{
    local IT_NO_WAY="Cannot connect Endpoint DAT_INVALID_ADDRESS"

    if lacks_debian "$old_program"; then
        skip "$1" "$DEBIAN_DAPL_REASON"
        return
    fi
    started "$1" "$old_program" || return
    each_row T "$1" "$old_program" "Total WQE +:" "$(sed -n 1p <<<"$t_rows")"
    each_row P "$1" "$old_program" "^raw: R" "$(sed -n 1p <<<"$p_rows")"
    client "$old_program" "$1" "" -T Q -s "$IT_ADDR" -D "$IT_PROVIDER"
    kill "$server_pid"
    wait "$server_pid"
}

# What old programs and libraries do on this adapter.
old_ones()
{
    local name="$1, old program, our libraries"

    case $it_old in
    peers)
        local_tests "$name" "$old_program" queryinfo
        rows "$1, old server, new client" "$all_debian" "$all_ours" "$t_mixed" "$p_rows"
        rows "$1, new server, old client" "$all_ours" "$all_debian" "$t_mixed" "$p_rows"
        rows "$name" "$old_program" "$old_program" "$t_old" "$p_old"
        ;;
    ours)
        local_tests "$name" "$old_program" "queryinfo case0 case1 case2 case3 case4 case5 case6 \
            case7 case8 case10 case11 case12 case13 case14 case15 case16 case17"
        skip "$name: -T F -f queryinfo case9" "it wants an RMR; soft-iWARP has no memory windows"
        rows "$name" "$old_program" "$old_program" "$t_old" ""
        skip "$name: -T P" "its server speaks first, which iWARP leaves to the client"
        ;;
    local)
        local_tests "$name" "$old_program" queryinfo
        unnamed_server "$name"
        ;;
    esac
}

adapter()
{
    # UCM's server has to tell its address.
    [ "$it_old" = local ] || rows "$1, all ours" "$all_ours" "$all_ours" "$t_rows" "$p_rows"
    old_ones "$1"
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

    d=$STAGE/bin/dapltest
    t=(-s "$IT_ADDR" -D "$IT_PROVIDER")
    use_stack ours ours
    check "no server: says so" ends 4 "${it_env[@]}" "$d" -T T "${t[@]}" client SR server SR
    check "no such adapter: says so" ends 4 "${it_env[@]}" "$d" -T S -D nobody
    check "quality of service that nobody has: fails" \
        ends 1 "${it_env[@]}" "$d" -T Q "${t[@]}" -R HT
    launch "ours ours ours" --timeout 5
    check "a second server on the port: says so" ends 4 "${it_env[@]}" "$d" -T S -D "$IT_PROVIDER"
    # A stranger whose message is no control message.
    if command -v rping >/dev/null; then
        timeout -k 2 30 rping -c -a "$IT_ADDR" -p 62000 -C 1 >"$it_logs/rping" 2>&1
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

adapter_1()
{
    local tool=dapltest1 told="--oob-port 5000"

    rows "$1, all ours" "$all_ours" "$all_ours" "$t_mixed" "$p_rows"
    local_tests "$1, all ours" "$all_ours" queryinfo
}

# Ends of both versions connect: each asks a server of the other.
both_versions()
{
    local name="$1: a server of $2, clients of $3" IT_PROVIDER=$4 tool=$2

    started "$name" "$all_ours" || return
    tool=$3 IT_PROVIDER=$5
    client "$all_ours" "$name" "Total WQE +:" -T T -s "$IT_ADDR" -D "$5" -n "$6" -i 50 -V \
        client RW 4096 server RR 4096 1 client SR 1000 3
    client "$all_ours" "$name" "^raw: RW" -T P -s "$IT_ADDR" -D "$5" -n "$6" -i 50 RW 4096
    client "$all_ours" "$name" "" -T Q -s "$IT_ADDR" -D "$5" -n "$6"
    server_ends "$name" 0
}

# datagrams ADAPTER
datagrams()
{
    local name="datagrams, $1" IT_PROVIDER=$1

    started "$name" "$all_ours" || return
    client "$all_ours" "$name" "Total WQE +:" -T T -s "$IT_ADDR" -D "$1" -u -i 100 -t 2 -w 3 \
        client SR 256 3 server SR 1000 client SR 8
    client "$all_ours" "$name" "Total WQE +:" -T T -s "$IT_ADDR" -D "$1" -u -i 100 -P \
        client SR 8 -f client SR 8 -f server SR 8 -f server SR 8 -f
    client "$all_ours" "$name" "" -T Q -s "$IT_ADDR" -D "$1"
    server_ends "$name" 0
}

check "bin/dapltest is installed" test -x "$STAGE/bin/dapltest"

each_adapter adapter
each_adapter_1 adapter_1

IT_PROVIDER=ofa-v2-cma
IT_ADDR=$DAPL_VM_RXE_ADDR
both_versions soft-RoCE dapltest1 dapltest OpenIB-cma ofa-v2-cma 45278
both_versions soft-RoCE dapltest dapltest1 ofa-v2-cma OpenIB-cma 62000
both_versions "soft-RoCE, SCM" dapltest1 dapltest OpenIB-scm ofa-v2-scm 45278
for adapter in ofa-v2-cma ofa-v2-scm ofa-v2-ucm; do
    datagrams "$adapter"
done
# By a host's name, without --oob-port.
both_versions "soft-RoCE, UCM" dapltest dapltest1 ofa-v2-ucm OpenIB-ucm 62000
local_tests "all ours" "$all_ours" queryinfo
misbehaviour
# A case that fails is told as such; old libraries have one.
if lacks_debian debian; then
    skip "new program, old libraries: a failed case" "$DEBIAN_DAPL_REASON"
else
    use_stack debian debian
    check "new program, old libraries: a failed case" ends 1 "${it_env[@]}" \
        "$STAGE/bin/dapltest" -T F -D "$IT_PROVIDER" -f mem case2
fi
done_testing
