#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_case.sh: what case.sh makes of a program's output and end. TAP.

here=$top_srcdir/test/unit
n=0

# row NAME EXIT-STATUS OUTPUT EXPECTED: both are printf formats.
row()
{
	n=$((n + 1))
	# shellcheck disable=SC2059
	got=$(sh "$here/case.sh" sh -c 'printf "$1"; exit "$2"' - "$3" "$2"; echo "end $?")
	# shellcheck disable=SC2059
	want=$(printf "$4"; echo "end $2")
	if [ "$got" = "$want" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$got" | sed 's/^/# /'
	fi
}

row skipped 0 \
	'1..2\n# skipped: no IPv6\nnot ok 1 # SKIP a__b.ib\nok 2 - c\n' \
	'1..2\nok 1 - a__b.ib # SKIP no IPv6\nok 2 - c\n'
row skipped_newer_cmocka 0 '1..1\n# skipped: x\nok 1 # SKIP a\n' \
	'1..1\nok 1 - a # SKIP x\n'
row reason_is_of_one_case 0 \
	'1..2\n# skipped: x\nok 1 - a\nnot ok 2 # SKIP b\n' \
	'1..2\nok 1 - a\nok 2 - b # SKIP \n'
row failed_stays_failed 1 '1..1\n# word\nnot ok 1 - a\n' \
	'1..1\n# word\nnot ok 1 - a\n'
row broken_off 134 '1..2\nok 1 - a\n' '1..2\nok 1 - a\n'

# One that hangs, and has a child in a group of its own.
n=$((n + 1))
got=$(CASE_SECONDS=1 sh "$here/case.sh" sh -c '
	echo "ok 1 - a"; timeout 300 sleep 299 & (sleep 298; :) & wait')
rc=$?
if [ $rc = 137 ] && echo "$got" | grep -q '^ok 1 - a$' &&
	echo "$got" | grep -q '^Bail out! not finished after 1 s$' &&
	[ "$(echo "$got" | grep -cE '^# process [0-9]+: (timeout 300 )?sleep 29[89] ')" = 3 ]; then
	echo "ok $n - hung_is_ended_and_told"
else
	echo "not ok $n - hung_is_ended_and_told"
	printf '%s\nend %s\n' "$got" $rc | sed 's/^/# /'
fi
echo "1..$n"
