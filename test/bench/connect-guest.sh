#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# connect-guest.sh: the guest's part of `./run bench connect`: for each number
# of endpoints in EPS and each stack, connrate's JSON with the stack's name,
# one object per line, on standard output; what went wrong on standard error.
# Stacks take turns, ROUNDS times, so that a slow minute hits all of them.
# "floor" is the kernel's share: connfloor, and for cma the sum of cmtime's
# steps from an id to a connection, which it makes for all connections at once.
# Input: STAGE, DEBIAN_DAPL as for test/interop; CONNRATE, CONNFLOOR, programs.

set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Files of the host are slow to read, and the clock jumps meanwhile.
cp -rL "$STAGE/lib" "$dir/ours"
[ -z "$DEBIAN_DAPL" ] || cp -rL "$DEBIAN_DAPL/lib/x86_64-linux-gnu" "$dir/theirs"
cp "$CONNRATE" "$dir/connrate"
cp "$CONNFLOOR" "$dir/connfloor"
cp "$(command -v cmtime)" "$dir/cmtime"

# stack|registry's directory|plugin|ia_params
stacks()
{
    local ours=$dir/ours theirs=$dir/theirs

    echo "ours cma|$ours|$ours/libdaplofa.so.2|eth0 0"
    echo "ours scm|$ours|$ours/libdaploscm.so.2|rxe0 1"
    echo "ours ucm|$ours|$ours/libdaploucm.so.2|rxe0 1"
    [ -d "$theirs" ] || return 0
    echo "historic cma|$theirs|$theirs/libdaplofa.so.2|eth0 0"
    echo "historic scm|$theirs|$theirs/libdaploscm.so.2|rxe0 1"
}

one()
{
    local name=$1 lib=$2 plugin=$3 params=$4 n=$5 window=$6 rc

    [ -e "$plugin" ] || return 0
    echo "bench u2.0 nonthreadsafe default $plugin dapl.2.0 \"$params\" \"\"" >"$dir/dat.conf"
    DAT_OVERRIDE=$dir/dat.conf LD_LIBRARY_PATH=$lib DAPL_SCM_NETDEV=eth0 \
        timeout -k 5 "$((LIMIT * 4))" "$dir/connrate" -P bench -n "$n" -w "$window" -t "$LIMIT" \
        >"$dir/out" 2>"$dir/err"
    rc=$?
    [ $rc = 0 ] || echo "$name, $n endpoints, window $window: exit code $rc: $(tail -n 1 "$dir/err")" >&2
    grep -a '^{' "$dir/out" | sed "s/^{/{\"stack\":\"$name\",\"rc\":$rc,/"
}

floor_json()
{
    local name=$1

    grep -a '^{' "$dir/out" | sed "s/^{/{\"stack\":\"floor $name\",\"rc\":$2,/"
    [ "$2" = 0 ] || echo "floor $name: exit code $2: $(tail -n 1 "$dir/err")" >&2
}

# cmtime's server says nothing when it can be asked, and crashes or hangs when
# it is asked before: it can when it listens and all its threads sleep. It does
# not end by itself.
cmtime_server()
{
    timeout -k 5 "$LIMIT" "$dir/cmtime" -b "$DAPL_VM_RXE_ADDR" -c "$1" >/dev/null 2>&1 &
    server=$!
    until rdma resource show cm_id 2>/dev/null | grep -q LISTEN &&
        ! cat /proc/"$(pgrep -P "$server")"/task/*/status | grep '^State:' | grep -qv S; do
        kill -0 "$server" 2>/dev/null || return
    done
}

floor_cma()
{
    local n=$1 rc server

    cmtime_server "$n"
    timeout -k 5 "$LIMIT" "$dir/cmtime" -s "$DAPL_VM_RXE_ADDR" -c "$n" >"$dir/cmtime.out" 2>"$dir/err"
    rc=$?
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    awk -v n="$n" '
        /^(create id|resolve addr|resolve route|connect) *:/ { sum += $NF; steps++ }
        END { if (steps == 4 && sum > 0)
                  printf "{\"role\":\"client\",\"endpoints\":%d,\"window\":0,\"connects_per_s\":%.0f}\n", n, 1e6 / sum
        }' "$dir/cmtime.out" >"$dir/out"
    [ -s "$dir/out" ] || { rc=1; cat "$dir/cmtime.out" >>"$dir/err"; }
    floor_json cma $rc
}

floor_own()
{
    local name=$1 option=$2 n=$3 window=$4

    timeout -k 5 "$((LIMIT * 2))" "$dir/connfloor" -d rxe0 -a "$DAPL_VM_RXE_ADDR" ${option:+"$option"} \
        -n "$n" -w "$window" >"$dir/out" 2>"$dir/err"
    floor_json "$name" $?
}

# What is read for the first time comes from the host.
while IFS='|' read -r name lib plugin params <&3; do
    one "$name" "$lib" "$plugin" "$params" 1 0 >"$dir/warm" 2>&1
done 3<<<"$(stacks)"
floor_cma 1 >"$dir/warm" 2>&1

for round in $(seq "$ROUNDS"); do
    for n in ${EPS//,/ }; do
        for window in 0 1; do
            echo "@round $round, $n endpoints, window $window: floors" >&2
            [ "$window" != 0 ] || floor_cma "$n"
            floor_own scm '' "$n" "$window"
            floor_own ucm -u "$n" "$window"
            while IFS='|' read -r name lib plugin params <&3; do
                echo "@round $round, $n endpoints, window $window: $name" >&2
                one "$name" "$lib" "$plugin" "$params" "$n" "$window"
            done 3<<<"$(stacks)"
        done
    done
done
