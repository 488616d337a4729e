#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_abi.sh - headers and built libraries against the recorded DAT 2.0 facts.
#
# Does not decide what is right: dat-2.0.tsv does, abi-check compares. A
# library that the Makefile has no rule for is skipped by name; one that has a
# rule must be there.
# Needs: top_srcdir, top_builddir, python3, nm, readelf, objcopy.
# Rule: old binaries run unchanged, so no recorded fact may differ.

set -u
: "${top_srcdir:?not set}" "${top_builddir:?not set}"

for tool in python3 nm readelf objcopy; do
	if ! command -v $tool >/dev/null 2>&1; then
		echo "1..0 # SKIP $tool is not installed"
		exit 0
	fi
done
if [ "$(uname -m)" != x86_64 ]; then
	echo "1..0 # SKIP the facts were recorded for x86_64"
	exit 0
fi

set -- "$top_srcdir/dat/include"
for lib in libdat2 libdaplofa libdaploscm libdaploucm; do
	if ! grep -q "/$lib\.la" "$top_builddir/Makefile"; then
		set -- --skip-lib "$lib.so.2" "$@"
		continue
	fi
	dir=$(find "$top_builddir" -path "*/.libs/$lib.so.2" | head -n 1)
	set -- "$@" "${dir%/*}"
done
# without a directory abi-check would not mention libraries at all
set -- "$@" "$top_builddir"

"$top_srcdir/test/abi/abi-check" "$@"
status=$?
# differences are in the TAP lines already
[ $status -eq 1 ] && status=0
exit $status
