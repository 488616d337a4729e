#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# case.sh PROGRAM [ARGUMENT...]: runs a unit test for automake's TAP driver and
# ends as it does. cmocka calls a skipped case "not ok N # SKIP name", which
# the driver takes for a failed one; here it becomes "ok N - name # SKIP why",
# with the reason that skip_case() (case.h) printed before.

exec 3>&1
rc=$({
	{
		"$@" 3>&- 4>&-
		echo $? >&4
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
