#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# at-rest.sh FILE: what the kernel counts of each RDMA device is what it was when
# this was run for the first time, which FILE keeps. Contexts are not compared:
# librdmacm keeps one of each device until its process ends. What the kernel ends
# after a process has let it go is waited for, 10 s at most.

count()
{
    rdma resource show | sed 's/ ctx [0-9]*//'
}

now=$(count)
if [ -z "$now" ]; then
    echo "rdma resource show: nothing"
    exit 1
elif [ ! -e "$1" ]; then
    printf '%s\n' "$now" >"$1"
    exit
fi
end=$(($(date +%s) + 10))
until printf '%s\n' "$now" | cmp -s - "$1"; do
    if [ "$(date +%s)" -gt $end ]; then
        echo "the kernel's objects are not what they were at first:"
        printf '%s\n' "$now" | diff "$1" -
        exit 1
    fi
    sleep 0.1
    now=$(count)
done
