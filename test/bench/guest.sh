#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# guest.sh: the guest's part of `./run bench latency`, bandwidth, scale, memory
# and idle, those that STAGES names: one JSON object per line on standard output,
# each with its stage, stack and round; what could not be measured is such a line
# too and says why. Stacks take turns within a round, so that a slow minute hits
# all of them.
# Input: STAGE, DEBIAN_DAPL as for test/interop; PROGRAMS, the build's test/bench;
# PEERS, where other measuring programs are unpacked, or empty and NO_PEERS why;
# ROUNDS; ITERS, and BYTES that bound it; SIZES, PEER_SIZES, and those of the
# first round only, ONCE, PEER_ONCE; WINDOWS; LIMIT, of one program in seconds.

set -u
: "${STAGE:?}" "${PROGRAMS:?}" "${STAGES:?}" "${ROUNDS:?}" "${ITERS:?}" "${BYTES:?}"
: "${SIZES:?}" "${ONCE:?}" "${PEER_SIZES:?}" "${PEER_ONCE:?}" "${WINDOWS:?}" "${LIMIT:?}"
device=rxe0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tick=$dir/tick
mkfifo "$tick"

# Files of the host are slow to read, and the clock jumps meanwhile.
cp -rL "$STAGE/lib" "$dir/ours"
[ -z "$DEBIAN_DAPL" ] || cp -rL "$DEBIAN_DAPL/lib/x86_64-linux-gnu" "$dir/theirs"
[ -z "$PEERS" ] || cp -r "$PEERS" "$dir/peers"
cp "$PROGRAMS"/.libs/{pingpong,rest,alltoall,yieldpoll.so} "$dir"
PATH=$dir/peers/usr/bin:$PATH
peer_libs=$dir/peers/usr/lib/x86_64-linux-gnu
# Where two programs that poll share a processor, both have to hand it over.
hand_over=
[ "$(nproc)" -gt 1 ] || hand_over=$dir/yieldpoll.so
# And nobody is to take it away because a message woke him up: whether he may
# would depend on what ran before. All programs inherit that.
[ "$(nproc)" -gt 1 ] || chrt -b -p 0 $$
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null

# stack|registry's directory|plugin|ia_params
stacks()
{
    local ours=$dir/ours theirs=$dir/theirs

    echo "ours cma|$ours|libdaplofa.so.2|eth0 0"
    echo "ours scm|$ours|libdaploscm.so.2|$device 1"
    echo "ours ucm|$ours|libdaploucm.so.2|$device 1"
    [ -d "$theirs" ] || return 0
    echo "historic cma|$theirs|libdaplofa.so.2|eth0 0"
    echo "historic scm|$theirs|libdaploscm.so.2|$device 1"
}

# row STAGE STACK: its members are what comes by standard input, one object a
# line, of which the first character is the brace.
row()
{
    sed "s/^{/{\"stage\":\"$1\",\"stack\":\"$2\",\"round\":$round,/"
}

# why STAGE STACK MEMBERS TEXT: a row that has no figures.
why()
{
    local text=${4//[^[:print:]]/ }

    text=${text//\\/}
    echo "{$3\"why\":\"${text//\"/}\"}" | row "$1" "$2"
}

# last FILE...: the last line that says something; UCX puts time and place before.
last()
{
    grep -ahv '^[[:space:]-]*$' "$@" | tail -n 1 | sed 's/.* ERROR *//' | cut -c 1-160
}

# ours STAGE STACK MEMBERS PROGRAM...: prints rows; STACK is one of stacks(), or
# verbs, which needs no registry.
ours()
{
    local stage=$1 stack=$2 members=$3 rc

    shift 3
    echo "@round $round, $stage: $stack, ${*:2}" >&2
    timeout -k 5 "$LIMIT" "$@" >"$dir/out" 2>"$dir/err"
    rc=$?
    sed -n "s/^{\"test\":\"$stage\",/{/p" "$dir/out" | row "$stage" "$stack"
    [ $rc = 0 ] || why "$stage" "$stack" "$members" "exit code $rc: $(last "$dir/err")"
}

# each_stack COMMAND...: with stack's name and how to find it behind.
each_stack()
{
    local name lib plugin params

    while IFS='|' read -r name lib plugin params <&3; do
        echo "bench u2.0 nonthreadsafe default $lib/$plugin dapl.2.0 \"$params\" \"\"" \
            >"$dir/dat.conf"
        DAT_OVERRIDE=$dir/dat.conf LD_LIBRARY_PATH=$lib DAPL_SCM_NETDEV=eth0 "$@" "$name"
    done 3<<<"$(stacks)"
}

# ------------------------------------------------------ our own programs

# pingpong TEST OP MODE OPTION... STACK
pingpong()
{
    local stage=$1 op=$2 mode=$3 stack=${*: -1} who=(-P bench) w=()
    local options=("${@:4:$#-4}")

    [ "$stack" != verbs ] || who=(-V "$device")
    [ "$mode" != wait ] || w=(-w)
    ours "$stage" "$stack" "\"op\":\"$op\",\"mode\":\"$mode\"," "$dir/pingpong" "${who[@]}" \
        -l "$LIMIT" -b "$BYTES" -c "${w[@]}" "${options[@]}"
}

# both TEST OP MODE OPTION...: verbs, and each stack.
both()
{
    # Linked with a libdat2 that it does not use.
    LD_LIBRARY_PATH=$dir/ours pingpong "$@" verbs
    each_stack pingpong "$@"
}

# ------------------------------------------------------ others' programs

listens()
{
    ss -ltnH "sport = :$1" 2>/dev/null | grep -q .
}

# pair PORT PROGRAM... -- CLIENT-ARGUMENT...: a server, and a client of it, whose
# output is in $dir/out; false: it failed, and $reason says why.
pair()
{
    local port=$1 pid rc n=0 cmd=()

    shift
    while [ "$1" != -- ]; do
        cmd+=("$1")
        shift
    done
    shift
    timeout -k 5 "$LIMIT" "${cmd[@]}" >"$dir/server" 2>&1 &
    pid=$!
    until listens "$port"; do
        n=$((n + 1))
        if [ $n -gt 200 ] || ! kill -0 $pid 2>/dev/null; then
            kill $pid 2>/dev/null
            wait $pid
            reason="its server does not listen: $(last "$dir/server")"
            return 1
        fi
        read -r -t 0.1 <>"$tick"
    done
    timeout -k 5 "$LIMIT" "${cmd[@]}" "$@" >"$dir/out" 2>&1
    rc=$?
    [ $rc = 0 ] || kill $pid 2>/dev/null
    wait $pid
    reason="exit code $rc: $(last "$dir/out" "$dir/server")"
    return $rc
}

# figures STAGE STACK MEMBERS AWK: what AWK makes of the client's output, or why.
figures()
{
    local text

    text=$(awk "$4" "$dir/out")
    if [ -n "$text" ]; then
        echo "{$3$text}" | row "$1" "$2"
    else
        why "$1" "$2" "$3" "nothing that is understood: $(last "$dir/out")"
    fi
}

rounds_of()
{
    local n=$((BYTES / $1))

    [ "$n" -ge 5 ] || n=5
    echo $((n < ITERS ? n : ITERS))
}

# members OP MODE BYTES [WINDOW]
members()
{
    echo "\"op\":\"$1\",\"mode\":\"$2\",\"bytes\":$3,\"iterations\":$(rounds_of "$3"),${4:+\"window\":$4,}"
}

# peer STAGE STACK OP MODE BYTES AWK PORT PROGRAM... -- CLIENT-ARGUMENT...
peer()
{
    local stage=$1 stack=$2 m awk=$6 reason

    m=$(members "$3" "$4" "$5" "$([ "$stage" = latency ] || echo "$window")")
    shift 6
    echo "@round $round, $stage: $stack, ${*:2}" >&2
    if LD_PRELOAD=$hand_over pair "$@"; then
        figures "$stage" "$stack" "$m" "$awk"
    else
        why "$stage" "$stack" "$m" "$reason"
    fi
}

# The index of the IPv4 address; names differ from kernel to kernel.
gid_index()
{
    local i

    for i in 0 1 2 3 4 5; do
        ! grep -q '0000:ffff:' "/sys/class/infiniband/$device/ports/1/gids/$i" || break
    done
    echo "$i"
}

# perftest STAGE OP MODE BYTES TOOL OPTION...
perftest()
{
    local stage=$1 op=$2 mode=$3 bytes=$4 tool=$5 n e=() awk

    shift 5
    n=$(rounds_of "$bytes")
    [ "$mode" != wait ] || e=(-e)
    case $stage in
    latency) awk='$1 ~ /^[0-9]+$/ && NF >= 8 { printf "\"min_us\":%s,\"median_us\":%s,\"p99_us\":%s", $3, $5, $8 }' ;;
    *) awk='$1 ~ /^[0-9]+$/ && NF >= 5 { printf "\"MB_per_s\":%.3f,\"msgs_per_s\":%.0f", $4 * 1.048576, $5 * 1e6 }' ;;
    esac
    peer "$stage" perftest "$op" "$mode" "$bytes" "$awk" 18515 \
        "$tool" -d "$device" -x "$gid" -F -s "$bytes" -n "$n" "${e[@]}" "$@" -- "$DAPL_VM_RXE_ADDR"
}

# libfabric STAGE BYTES
libfabric()
{
    LD_LIBRARY_PATH=$peer_libs peer "$1" libfabric send poll "$2" \
        'NF >= 8 && $2 ~ /^[0-9]/ { printf "\"median_us\":%s", $(NF - 1) }' 47592 \
        fi_pingpong -p verbs -e msg -I "$(rounds_of "$2")" -S "$2" -- "$DAPL_VM_RXE_ADDR"
}

# ucx STAGE OP BYTES TEST OPTION...: the layer that is beside verbs; the one above
# it wants datagrams between the two ends.
ucx()
{
    local stage=$1 op=$2 bytes=$3 test=$4 how=(-D zcopy) awk

    shift 4
    [ "$bytes" -gt 8000 ] || how=(-D bcopy)
    [ "$bytes" -gt 64 ] || how=()
    case $stage in
    latency) awk='$1 == "Final:" { printf "\"median_us\":%s", $3 }' ;;
    *) awk='$1 == "Final:" { printf "\"MB_per_s\":%.3f,\"msgs_per_s\":%s", $6 * 1.048576, $8 }' ;;
    esac
    LD_LIBRARY_PATH=$peer_libs UCX_IB_GID_INDEX=$gid UCX_WARN_UNUSED_ENV_VARS=n \
        peer "$stage" ucx "$op" poll "$bytes" "$awk" 13337 ucx_perftest -d "$device:1" -x rc_verbs -- \
        -t "$test" -s "$bytes" -n "$(rounds_of "$bytes")" -w 16 "${how[@]}" "$@" "$DAPL_VM_RXE_ADDR"
}

# ---------------------------------------------------------------- stages

# What no program of theirs does, said once.
latency_not()
{
    why latency libfabric '"op":"send","mode":"wait",' "fi_pingpong polls only"
    why latency libfabric '"op":"write","mode":"poll",' "fi_pingpong sends only"
    why latency ucx '"op":"send","mode":"wait",' "ucx_perftest of rc_verbs polls only"
}

stage_latency()
{
    local bytes

    both latency send poll -t send_lat -n "$ITERS" -s "$sizes"
    both latency send wait -t send_lat -n "$ITERS" -s "$sizes"
    both latency write poll -t write_lat -n "$ITERS" -s "$sizes"
    [ -n "$PEERS" ] || { why latency "perftest, libfabric, ucx" "" "$NO_PEERS"; return; }
    [ "$round" != 1 ] || latency_not
    for bytes in ${peer_sizes//,/ }; do
        perftest latency send poll "$bytes" ib_send_lat
        perftest latency send wait "$bytes" ib_send_lat
        libfabric latency "$bytes"
        ucx latency send "$bytes" am_lat
        ucx latency write "$bytes" put_lat
        [ -z "$hand_over" ] || continue
        perftest latency write poll "$bytes" ib_write_lat
    done
    [ -z "$hand_over" ] || [ "$round" != 1 ] ||
        why latency perftest '"op":"write","mode":"poll",' \
            "ib_write_lat watches memory, and lets nobody else onto the one processor"
}

bandwidth_not()
{
    why bandwidth libfabric '' "fi_pingpong has one message under way only"
    why bandwidth ucx '"mode":"wait",' "ucx_perftest of rc_verbs polls only"
}

stage_bandwidth()
{
    local bytes window=16 w

    both bandwidth send poll -t send_rate -n "$ITERS" -q $window -s "$sizes"
    both bandwidth write poll -t write_rate -n "$ITERS" -q $window -s "$sizes"
    both bandwidth send wait -t send_rate -n "$ITERS" -q $window -s "$sizes"
    for w in ${WINDOWS//,/ }; do
        both bandwidth write poll -t write_rate -n "$ITERS" -q "$w" -s 8
    done
    [ -n "$PEERS" ] || { why bandwidth "perftest, libfabric, ucx" "" "$NO_PEERS"; return; }
    [ "$round" != 1 ] || bandwidth_not
    for bytes in ${peer_sizes//,/ }; do
        perftest bandwidth send poll "$bytes" ib_send_bw -t $window -Q 1
        perftest bandwidth send wait "$bytes" ib_send_bw -t $window -Q 1
        perftest bandwidth write poll "$bytes" ib_write_bw -t $window -Q 1
        ucx bandwidth send "$bytes" am_bw -O $window
        ucx bandwidth write "$bytes" put_bw -O $window
    done
}

scale_one()
{
    ours scale "$1" "" "$dir/alltoall" -P bench -n 64 -l "$LIMIT"
}

# These take long, or do not change, and are of the first round.
stage_scale()
{
    [ "$round" != 1 ] || each_stack scale_one
}

rest_one()
{
    ours "$2" "$3" "" "$dir/rest" -P bench -n 100 -l "$LIMIT" -i "$1"
}

stage_memory()
{
    [ "$round" != 1 ] || each_stack rest_one 0 memory
}

stage_idle()
{
    [ "$round" != 1 ] || each_stack rest_one 10 idle
}

# Libraries of verbs are files of the host, too: no program is to be late because
# it was the first to read them.
warm()
{
    timeout -k 5 1200 "$dir/rest" -P bench -n 1 -i 0 -l 1200 >/dev/null 2>&1
}

each_stack warm
gid=$(gid_index)
sizes=$SIZES,$ONCE peer_sizes=$PEER_SIZES,$PEER_ONCE
for round in $(seq "$ROUNDS"); do
    for stage in $STAGES; do
        "stage_$stage"
    done
    sizes=$SIZES peer_sizes=$PEER_SIZES
done
