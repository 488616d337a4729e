#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_again.sh: what `./run test` makes of cases on devices that fail and are run once
# more: guests are played by files with what they print, a lane and a run each. Every
# row says what the lanes print first, what is printed when it is run again, and the
# records that must come out. TAP.

top=$(cd "${top_srcdir:-.}" && pwd -P)
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

if ! command -v bash >/dev/null || [ ! -e "$top/run" ]; then
	echo "1..0 # SKIP no bash, or no ./run in a tarball"
	exit 0
fi

cat >"$tmp/play.sh" <<'P'
. "$1/test/harness/test.sh"
h_top=$1 h_tmp=$2 logs=$2/logs
say() { echo "$@"; }
interop_guest()
{
    echo "$*" >>"$h_tmp/asked"
    cat "$h_tmp/out.$(basename "$1")"
    [ ! -e "$h_tmp/out.$(basename "$1").panic" ] || return 125
}
test_rec=$h_tmp/rec
interop_lanes 1 interop 't_a' 't_b X=1' >"$h_tmp/log"
cut -f 1,2 "$test_rec" | tr '\t\n' ' ,'
P

# script NAME CASE...: what a script prints; "!" in front of a case that fails
script()
{
	echo "#begin $1"
	s_name=$1 s_n=0
	shift
	for s_case in "$@"; do
		s_n=$((s_n + 1))
		case $s_case in
		!*) echo "not ok $s_n - ${s_case#!}" ;;
		*) echo "ok $s_n - $s_case" ;;
		esac
	done
	echo "1..$s_n"
	echo "#end $s_name 0"
}

# row NAME RECORDS [RERUN]: RERUN is how the guests of that were asked
row()
{
	: >"$tmp/asked"
	: >"$tmp/rec"
	got=$(bash "$tmp/play.sh" "$top" "$tmp")
	again=$(grep -e -again "$tmp/asked" | sed 's,[^ ]*/,,' | tr '\n' ',')
	n=$((n + 1))
	if [ "$got" = "$2" ] && [ "$again" = "${3-}" ]; then
		echo "ok $n - again__$1"
	else
		echo "not ok $n - again__$1"
		echo "# wanted $2 and ${3-}"
		echo "# got    $got and $again"
	fi
	rm -f "$tmp"/out.*
}

script t_a one two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
row nothing_failed 'P t_a: one,P t_a: two,P t_b: three,'

script t_a one two >"$tmp/out.0"
script t_b three '!four' >"$tmp/out.1"
script t_b three four >"$tmp/out.1-again"
row passes_then 'P t_a: one,P t_a: two,P t_b: three,A t_b: four,' '1-again 1 interop @(t_b) X=1,'

script t_a '!one' two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
script t_a '!one' two >"$tmp/out.0-again"
row fails_again 'F t_a: one,P t_a: two,P t_b: three,' '0-again 1 interop @(t_a),'

script t_a '!one' two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
script t_a one '!two' >"$tmp/out.0-again"
row fails_then_only 'A t_a: one,F t_a: two,P t_b: three,' '0-again 1 interop @(t_a),'

script t_a '!one' two >"$tmp/out.0"
script t_b '!three' >"$tmp/out.1"
script t_a one two >"$tmp/out.0-again"
script t_b '!three' >"$tmp/out.1-again"
row of_two_lanes 'A t_a: one,P t_a: two,F t_b: three,' \
	'0-again 1 interop @(t_a),1-again 1 interop @(t_b) X=1,'

script t_a '!one' '!two' >"$tmp/out.0"
script t_b '!three' >"$tmp/out.1"
row too_many 'F t_a: one,F t_a: two,F t_b: three,'

script t_a '!one' two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
: >"$tmp/out.0-again"
row guest_says_nothing 'F t_a: one,P t_a: two,P t_b: three,' '0-again 1 interop @(t_a),'

script t_a '!one' two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
script t_a one two >"$tmp/out.0-again"
: >"$tmp/out.0-again.panic"
row guest_panics_then 'A t_a: one,P t_a: two,F interop: the guests of lane 0,P t_b: three,' \
	'0-again 1 interop @(t_a),'

# What an earlier stage with more lanes has left is no failure of this one.
script t_a '!one' two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
script t_a one two >"$tmp/out.0-again"
printf 'F\tt_c: %s\n' four five >"$tmp/lane2.rec"
row stage_of_before 'A t_a: one,P t_a: two,P t_b: three,' '0-again 1 interop @(t_a),'
rm "$tmp/lane2.rec"

script t_a '!one' two >"$tmp/out.0"
script t_b three >"$tmp/out.1"
script t_a two >"$tmp/out.0-again"
row not_run_then 'F t_a: one,P t_a: two,P t_b: three,' '0-again 1 interop @(t_a),'
echo "1..$n"
