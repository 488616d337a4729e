# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dapltest.sh: dapltest as a program: all its tests over every adapter, old
# and new programs and libraries against each other, and what a server does
# when clients misbehave.
# dapltest1 does them over every adapter of DAT 1.2.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/interop/dapltest.sh
. "$(dirname "$0")/dapltest.sh"

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
        dapltest_rows "$1, old server, new client" "$all_debian" "$all_ours" "$t_mixed" "$p_rows"
        dapltest_rows "$1, new server, old client" "$all_ours" "$all_debian" "$t_mixed" "$p_rows"
        dapltest_rows "$name" "$old_program" "$old_program" "$t_old" "$p_old"
        ;;
    ours)
        local_tests "$name" "$old_program" "queryinfo case0 case1 case2 case3 case4 case5 case6 \
            case7 case8 case10 case11 case12 case13 case14 case15 case16 case17"
        skip "$name: -T F -f queryinfo case9" "it wants an RMR; soft-iWARP has no memory windows"
        dapltest_rows "$name" "$old_program" "$old_program" "$t_old" ""
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
    [ "$it_old" = local ] || dapltest_rows "$1, all ours" "$all_ours" "$all_ours" "$t_rows" "$p_rows"
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

    dapltest_rows "$1, all ours" "$all_ours" "$all_ours" "$t_mixed" "$p_rows"
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
