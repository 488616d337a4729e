#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# case.sh PROGRAM [ARGUMENT...]: runs a test for automake's TAP driver and
# ends as it does. cmocka calls a skipped case "not ok N # SKIP name", which
# the driver takes for a failed one; here it becomes "ok N - name # SKIP why",
# with the reason that skip_case() (case.h) printed before.
# After CASE_SECONDS, 1200 if not set, the program and all that it began are ended,
# and what they were at is told: one that hangs costs no other its result.

limit=${CASE_SECONDS:-1200}
tree=$(dirname "$0")/../harness/tree.sh

# late PID: when the time is up
late()
{
	nap=
	trap 'kill $nap 2>/dev/null; exit' TERM
	# Who reads our output does not wait for it.
	sleep "$limit" >/dev/null 2>&1 3>&- &
	nap=$!
	wait $nap
	echo "Bail out! not finished after $limit s"
	sh "$tree" tell "$1"
	sh "$tree" kill "$1"
}

exec 3>&1
rc=$({
	{
		"$@" 3>&- 4>&- </dev/null &
		pid=$!
		late $pid 4>&- &
		timer=$!
		wait $pid 2>/dev/null
		echo $? >&4
		kill $timer 2>/dev/null
		wait $timer 2>/dev/null
	} | awk '
		/^# skipped: / { why = substr($0, 12); next }
		/^(not )?ok [0-9]+ # SKIP / {
			n = $1 == "not" ? $3 : $2
			sub(/^.*# SKIP /, "")
			$0 = "ok " n " - " $0 " # SKIP " why
		}
		/^(not )?ok / { why = "" }
		{ print; fflush() }' >&3
} 4>&1)
exit "$rc"
