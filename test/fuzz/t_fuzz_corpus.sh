#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_fuzz_corpus.sh - replays the corpus of every fuzz target.
#
# Does not fuzz. Each file is one test, those that fuzzing found (grown/) are
# one together; a target without a corpus is an error.
# Needs: top_srcdir, top_builddir with the replay programs built.

set -u
: "${top_srcdir:?not set}" "${top_builddir:?not set}"

targets=$(sh "$top_srcdir/test/fuzz/run-fuzz.sh" --list)

n=0
if [ -z "$targets" ]; then
    echo "Bail out! no fuzz targets"
    exit 1
fi
for target in $targets; do
    replay=$top_builddir/test/fuzz/replay_$target
    found=no
    for file in "$top_srcdir/test/fuzz/corpus/$target"/*; do
        [ -f "$file" ] || continue
        found=yes
        n=$((n + 1))
        if "$replay" "$file" >/dev/null; then
            echo "ok $n - $target ${file##*/}"
        else
            echo "not ok $n - $target ${file##*/}"
        fi
    done
    grown=$top_srcdir/test/fuzz/corpus/$target/grown
    if [ -d "$grown" ]; then
        n=$((n + 1))
        if "$replay" "$grown"/* >/dev/null; then
            echo "ok $n - $target: what fuzzing found"
        else
            echo "not ok $n - $target: what fuzzing found"
        fi
    fi
    if [ $found = no ]; then
        n=$((n + 1))
        echo "not ok $n - $target has no corpus"
    fi
done
echo "1..$n"
