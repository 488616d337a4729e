#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_headers.sh - each public header compiles alone and without warnings.
#
# Every header is included by itself, twice, as C11 and as C++17, and those of
# DAT 1.2 also as the C of their time; then
# macros.c uses the macros whose text only a caller's compiler ever sees.
# Does not look at values or layouts: that is t_abi.sh.
# Needs: top_srcdir, top_builddir, and awk as it was for the headers; CC and CXX
# are tried besides gcc, g++, clang, clang++.
# Rule: a program may include any header of the set first.

set -u
: "${top_srcdir:?not set}" "${top_builddir:?not set}"
inc=$top_builddir/dat/headers
here=$top_srcdir/test/abi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
n=0

# result STATUS TEXT: one TAP line, and the compiler's words when it failed
result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$tmp/log"
	fi
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# The same uses of macros, made for each version as its headers are.
for version in 1.2 2.0; do
	awk -v version=$version -f "$top_srcdir/dat/include/plain.awk" \
		"$here/macros.c" >"$tmp/macros-$version.c" || exit 1
done

# check VERSION LANG STD COMPILER...: all headers with one compiler
check()
{
	version=$1
	lang=$2
	std=$3
	shift 3
	if ! command -v "$1" >/dev/null 2>&1; then
		skip "headers of $version with $* $std" "$1 is not installed"
		return
	fi
	case $version in
	1.2) folder=dat ;;
	*) folder=dat2 ;;
	esac
	for h in "$inc/$folder"/*.h; do
		h=$folder/${h##*/}
		printf '#include <%s>\n#include <%s>\nextern int unit;\n' \
			"$h" "$h" >"$tmp/h.src"
		"$@" -x "$lang" "-std=$std" -pedantic -Wall -Wextra -Werror \
			-I "$inc" -fsyntax-only "$tmp/h.src" >"$tmp/log" 2>&1
		result $? "$h alone, $* $std"
	done
	"$@" -x "$lang" "-std=$std" -Wall -Wextra -Wshadow -Wundef -Werror \
		-I "$inc" -c -o "$tmp/macros.o" "$tmp/macros-$version.c" \
		>"$tmp/log" 2>&1
	result $? "every macro of $version, $* $std"
}

seen=
# once WORDS...: true the first time
once()
{
	case "$seen" in
	*"|$*|"*) return 1 ;;
	esac
	seen="$seen|$*|"
}

# CC and CXX may hold options: split them on purpose
for c in "${CC:-gcc}" gcc clang; do
	# shellcheck disable=SC2086
	once $c || continue
	# shellcheck disable=SC2086
	check 1.2 c c89 $c && check 1.2 c c11 $c && check 2.0 c c11 $c
done
for c in "${CXX:-g++}" g++ clang++; do
	# shellcheck disable=SC2086
	once $c || continue
	# shellcheck disable=SC2086
	check 1.2 c++ c++17 $c && check 2.0 c++ c++17 $c
done
echo "1..$n"
