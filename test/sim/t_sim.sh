#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_sim.sh - the simulator, as much of it as `make check` has time for;
# `./run sim` does more.
# Needs: top_builddir with test/sim/sim built. TAP on standard output.

set -u
: "${top_builddir:?not set}"

sim=$top_builddir/test/sim/sim
n=0

# one NAME OPTION...: a case; what the simulator says is shown.
one()
{
    name=$1
    shift
    n=$((n + 1))
    out=$("$sim" "$@" 2>&1)
    rc=$?
    printf '%s\n' "$out" | sed 's/^/# /'
    if [ $rc -eq 0 ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name, exit code $rc"
    fi
}

one "5000 small worlds full of trouble" --seeds 5000
one "the same with the waiting times of old peers" --seeds 1000 --historic --datagram
one "one pair, all sequences of 4 inputs" --pair 4
one "10,000 nodes connect to one" --star
one "the same, and nothing is lost" --star --loss 0
one "the same over streams" --star --stream
one "the same, with room for 8 requests" --star --waiting 8
one "64 nodes connect to one another" --mesh --nodes 64
one "the same, and nothing is lost" --mesh --nodes 64 --loss 0
one "200 datagram endpoints find one another" --mesh --nodes 200 --ud
one "10,000 find one" --star --ud
one "the same over streams" --star --ud --stream
echo "1..$n"
