#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_headers.sh - each public header compiles alone and without warnings.
#
# Every header is included by itself, twice, as C11 and as C++17; then
# macros.c uses the macros whose text only a caller's compiler ever sees.
# Does not look at values or layouts: that is t_abi.sh.
# Needs: top_srcdir; CC and CXX are tried besides gcc, g++, clang, clang++.
# Rule: a program may include any header of the set first.

set -u
: "${top_srcdir:?not set}"
inc=$top_srcdir/dat/include
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

# check LANG STD COMPILER...: all headers with one compiler
check()
{
	lang=$1
	std=$2
	shift 2
	if ! command -v "$1" >/dev/null 2>&1; then
		skip "headers with $* $std" "$1 is not installed"
		return
	fi
	for h in "$inc"/dat2/*.h; do
		h=dat2/${h##*/}
		printf '#include <%s>\n#include <%s>\nextern int unit;\n' \
			"$h" "$h" >"$tmp/h.src"
		"$@" -x "$lang" "-std=$std" -pedantic -Wall -Wextra -Werror \
			-I "$inc" -fsyntax-only "$tmp/h.src" >"$tmp/log" 2>&1
		result $? "$h alone, $* $std"
	done
	"$@" -x "$lang" "-std=$std" -Wall -Wextra -Wshadow -Wundef -Werror \
		-I "$inc" -c -o "$tmp/macros.o" "$here/macros.c" \
		>"$tmp/log" 2>&1
	result $? "every macro, $* $std"
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
	once $c && check c c11 $c
done
for c in "${CXX:-g++}" g++ clang++; do
	# shellcheck disable=SC2086
	once $c && check c++ c++17 $c
done
echo "1..$n"
