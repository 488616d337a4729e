#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# connect-guest.sh: the guest's part of `./run bench connect`: for each number
# of endpoints in EPS and each stack, connrate's JSON with the stack's name,
# one object per line, on standard output; what went wrong on standard error.
# Stacks take turns, ROUNDS times, so that a slow minute hits all of them.
# Input: STAGE, DEBIAN_DAPL as for test/interop; CONNRATE, the program.

set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Files of the host are slow to read, and the clock jumps meanwhile.
cp -rL "$STAGE/lib" "$dir/ours"
[ -z "$DEBIAN_DAPL" ] || cp -rL "$DEBIAN_DAPL/lib/x86_64-linux-gnu" "$dir/theirs"
cp "$CONNRATE" "$dir/connrate"

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

for round in $(seq "$ROUNDS"); do
    for n in ${EPS//,/ }; do
        for window in 0 1; do
            while IFS='|' read -r name lib plugin params <&3; do
                echo "@round $round, $n endpoints, window $window: $name" >&2
                one "$name" "$lib" "$plugin" "$params" "$n" "$window"
            done 3<<<"$(stacks)"
        done
    done
done
