#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# run-fuzz.sh - builds a fuzz target and runs it a given number of times.
#
# usage: run-fuzz.sh TARGET RUNS [BUILD_DIR]
#        run-fuzz.sh --list
#   TARGET     one of those in the file targets, which --list names
#   RUNS       executions, 1 or more
#   BUILD_DIR  kept afterwards, outside the source tree; default: a temporary
#              directory
# The corpus in the tree is read, never written; what is found new, and an
# input that crashes, goes to the build directory.
# Needs clang with libFuzzer. Exit status: 0 all runs passed, 1 a run failed,
# 2 it could not run.

set -u

usage()
{
    echo "usage: run-fuzz.sh TARGET RUNS [BUILD_DIR], or run-fuzz.sh --list" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd -P) || exit 2
top=${here%/test/fuzz}

if [ "$*" = --list ]; then
    awk '!/^#/ && NF { print $1 }' "$here/targets"
    exit 0
fi
case $# in
2 | 3) ;;
*) usage ;;
esac
target=$1
runs=$2
clang=${CLANG:-clang}

case $runs in
'' | *[!0-9]* | 0*) usage ;;
esac
row=$(awk -v t="$target" '$1 == t' "$here/targets")
if [ -z "$row" ]; then
    echo "run-fuzz.sh: no target '$target' in $here/targets" >&2
    exit 2
fi
if ! command -v "$clang" >/dev/null 2>&1; then
    echo "run-fuzz.sh: $clang is not installed" >&2
    exit 2
fi

if [ $# -eq 3 ]; then
    build=$3
    mkdir -p "$build" || exit 2
else
    build=$(mktemp -d "${TMPDIR:-/tmp}/dapl-fuzz.XXXXXX") || exit 2
    trap 'rm -rf "$build"' EXIT
fi
build=$(cd "$build" && pwd -P) || exit 2
case $build/ in
"$top"/dat/* | "$top"/dapl/* | "$top"/test/*)
    echo "run-fuzz.sh: $build is in the source tree" >&2
    exit 2
    ;;
esac
mkdir -p "$build/corpus" || exit 2

# shellcheck disable=SC2086
set -- $row
max_len=$2
shift 2
sources=$here/fuzz_$target.c
for source; do
    sources="$sources $top/$source"
done
# shellcheck disable=SC2086
"$clang" -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all -I"$top" -I"$top/dat/include" \
    -o "$build/fuzz_$target" $sources || exit 2

set -- -runs="$runs" -seed=1 -max_len="$max_len" -timeout=10
[ ! -f "$here/$target.dict" ] || set -- "$@" -dict="$here/$target.dict"
cd "$build" || exit 2
"./fuzz_$target" "$@" "$build/corpus" "$here/corpus/$target"
status=$?
if [ $status -ne 0 ]; then
    # the temporary directory goes, the input must not
    for crash in crash-* leak-* timeout-* oom-*; do
        [ -f "$crash" ] || continue
        echo "run-fuzz.sh: $crash, base64:" >&2
        base64 "$crash" >&2
    done
    exit 1
fi
exit 0
