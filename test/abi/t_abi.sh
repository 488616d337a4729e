#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_abi.sh - headers and built libraries against the recorded facts of DAT.
#
# Of DAT 2.0, unless the script that reads this one has set api.
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

api=${api:-2.0}
case $api in
2.0) libs='libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2 libdaploucm.so.2' ;;
1.2) libs='libdat.so.1 libdaplcma.so.1 libdaplscm.so.1 libdaplucm.so.1' ;;
esac
set -- "$top_builddir/dat/headers"
for lib in $libs; do
	if ! grep -q "/${lib%.so.*}\.la" "$top_builddir/Makefile"; then
		set -- --skip-lib "$lib" "$@"
		continue
	fi
	dir=$(find "$top_builddir" -path "*/.libs/$lib" | head -n 1)
	set -- "$@" "${dir%/*}"
done
# without a directory abi-check would not mention libraries at all
set -- "$@" "$top_builddir"

"$top_srcdir/test/abi/abi-check" --api "$api" "$@"
status=$?
# differences are in the TAP lines already
[ $status -eq 1 ] && status=0
exit $status
