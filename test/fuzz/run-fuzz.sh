#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# run-fuzz.sh - builds a fuzz target and runs it a given number of times.
#
# usage: run-fuzz.sh [--keep] TARGET RUNS [BUILD_DIR]
#        run-fuzz.sh --list
#   --keep     what was found and reaches more than the tree's corpus does is
#              added to that, as corpus/TARGET/grown/
#   TARGET     one of those in the file targets, which --list names
#   RUNS       executions, 1 or more
#   BUILD_DIR  kept afterwards, outside the source tree; default: a temporary
#              directory
# A run begins with the corpus in the tree, and writes to it only with --keep;
# what is found new, and an input that crashes, goes to the build directory.
# Ends with the lines that all inputs together reach of each source of the
# target, from a program of their own ("coverage: FILE LINES SHARE"), if LLVM's
# tools are there.
# Needs clang with libFuzzer. Exit status: 0 all runs passed, 1 a run failed,
# 2 it could not run.

set -u

usage()
{
    echo "usage: run-fuzz.sh [--keep] TARGET RUNS [BUILD_DIR], or run-fuzz.sh --list" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd -P) || exit 2
top=${here%/test/fuzz}

if [ "$*" = --list ]; then
    awk '!/^#/ && NF { print $1 }' "$here/targets"
    exit 0
fi
keep=no
if [ "${1-}" = --keep ]; then
    keep=yes
    shift
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
product=
for source; do
    product="$product $top/$source"
done
flags="-std=gnu11 -D_GNU_SOURCE -g -O1 -I$top -I$top/dat/include"
tree=$here/corpus/$target

# reached SOURCE...: the program of the replay over all inputs, counted by line
reached()
{
    if ! command -v llvm-cov >/dev/null 2>&1 || ! command -v llvm-profdata >/dev/null 2>&1; then
        echo "run-fuzz.sh: no coverage, llvm-cov and llvm-profdata are not installed"
        return 0
    fi
    rm -f cov-*.raw
    # shellcheck disable=SC2086
    "$clang" $flags -fprofile-instr-generate -fcoverage-mapping -o "cov_$target" \
        "$here/fuzz_$target.c" "$here/fuzz_replay.c" $product || return 1
    LLVM_PROFILE_FILE=cov-%p.raw find "$tree" corpus -type f -exec "./cov_$target" {} + &&
        llvm-profdata merge -o cov.data cov-*.raw || return 1
    for source; do
        # The last row is the sum, of one file. Columns: name; regions, missed,
        # share; the same of functions; lines, missed, share; ...
        llvm-cov report "./cov_$target" -instr-profile=cov.data "$top/$source" |
            awk -v f="$source" '
                $1 == "TOTAL" { printf "coverage: %-40s %5d lines %7s\n", f, $8, $10; found = 1 }
                END { exit !found }' || return 1
    done
}

# grow: what adds to the tree's corpus, by names that are short
grow()
{
    rm -rf merged
    mkdir merged && find "$tree" -type f -exec cp -t merged {} + || return 1
    ls merged >before
    "./fuzz_$target" -merge=1 -max_len="$max_len" merged corpus >merge.out 2>&1 || return 1
    mkdir -p "$tree/grown"
    find merged -type f | sed 's,.*/,,' | grep -vxFf before | while read -r file; do
        cp "merged/$file" "$tree/grown/$(printf %.12s "$file")" || exit 1
    done
    echo "run-fuzz.sh: $(find "$tree/grown" -type f | wc -l) files in $tree/grown"
}

# shellcheck disable=SC2086
"$clang" $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -o "$build/fuzz_$target" "$here/fuzz_$target.c" $product || exit 2

cd "$build" || exit 2
dict=
[ ! -f "$here/$target.dict" ] || dict=-dict=$here/$target.dict
"./fuzz_$target" -runs="$runs" -seed=1 -max_len="$max_len" -timeout=10 \
    ${dict:+"$dict"} "$build/corpus" "$tree"
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
[ $keep = no ] || grow || exit 2
reached "$@" || exit 2
exit 0
