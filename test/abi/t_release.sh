#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_release.sh - what the libraries of a release build must not contain.
#
# An assertion that fails ends the program that uses the library, so release
# builds have none, and none may end a program in another way.
# Needs: top_builddir, nm.
# Rule: an error of a provider is told to its caller.

set -u
: "${top_builddir:?not set}"

if ! command -v nm >/dev/null 2>&1; then
	echo "1..0 # SKIP nm is not installed"
	exit 0
fi
if grep -q '^#define DAPL_DEBUG 1' "$top_builddir/config.h"; then
	echo "1..0 # SKIP built with --enable-debug, which asserts"
	exit 0
fi

if grep -q '^DAPL_LDFLAGS = .*--coverage' "$top_builddir/Makefile"; then
	echo "1..0 # SKIP built for gcov, whose own code may end a program"
	exit 0
fi

n=0
for lib in libdat.so.1 libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2 \
	libdaploucm.so.2 libdaplcma.so.1 libdaplscm.so.1 libdaplucm.so.1; do
	grep -q "/${lib%.so.*}\.la" "$top_builddir/Makefile" || continue
	n=$((n + 1))
	file=$(find "$top_builddir" -path "*/.libs/$lib" | head -n 1)
	if ! symbols=$(nm -D --undefined-only "$file" 2>&1); then
		echo "not ok $n - $lib ends no program"
		echo "# $symbols"
		continue
	fi
	bad=$(echo "$symbols" | grep -wE '__assert(_perror)?_fail|abort|exit|_exit')
	if [ -z "$bad" ]; then
		echo "ok $n - $lib ends no program"
	else
		echo "not ok $n - $lib ends no program"
		echo "$bad" | sed 's/^/# /'
	fi
done
echo "1..$n"
