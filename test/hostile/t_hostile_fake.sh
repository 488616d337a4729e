#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_hostile_fake.sh: the hostile network for some seconds, on the fake device.
# No figure of time is judged. On real devices: test/interop/t_hostile.sh.
# TAP. Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
n=0
bad=0

for cm in scm ucm; do
    option=
    [ $cm = ucm ] || option=-s
    # shellcheck disable=SC2086
    timeout -k 5 200 "$top_builddir/test/hostile/hostile_fake" -P $cm -d fake0 -k roce \
        $option -r 2 -t 1 >"$tmp/out" 2>"$tmp/err"
    rc=$?
    sed 's/^/# /' "$tmp/err"
    # One that broke off has printed no plan.
    grep -q '^1\.\.' "$tmp/out" || { echo "Bail out! $cm: exit code $rc"; exit 1; }
    [ $rc = 0 ] || bad=1
    awk -v n=$n -v label="$cm" -f "$top_srcdir/test/conform/number.awk" "$tmp/out"
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/out")))
done
echo "1..$n"
exit $bad
