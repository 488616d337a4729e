# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# fake.sh: the conformance suite on the fake device, for the scripts that source
# it: begin() a run, wait for it, and have it shown(); suites_end() in the end.
# The libraries are those that were built, not
# installed ones. It contains no case.
# Input: top_srcdir and top_builddir, as `make check` sets them; CONFORM_OUT, if
# it is set, is where the TAP of each run is left, as fake-LABEL.tap;
# CONFORM_FEW=yes: each provider, on few kinds, for programs that a sanitizer makes
# slow.

: "${top_srcdir:?}" "${top_builddir:?}"
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
# Most cases wait, and not for a processor.
jobs=4
n=0
bad=0
pids=

# begin LABEL PROGRAM CM-KIND [OPTION]...: a run, which goes to $tmp/LABEL. Many
# can be under way: $pids are those that nobody has waited for.
begin()
{
    label=$1 program=$2 run=$3
    shift 3
    (
        "$top_builddir/test/conform/$program" -P "${run%%-*}" -k "${run#*-}" \
            -j $jobs --timeout 60 "$@" >"$tmp/$label"
        echo $? >"$tmp/$label.rc"
    ) &
    pids="$pids $!"
}

# shown LABEL: its TAP, behind that of others. The run is over.
shown()
{
    rc=$(cat "$tmp/$1.rc")
    [ -z "$CONFORM_OUT" ] || cp "$tmp/$1" "$CONFORM_OUT/fake-$1.tap"
    # A run that broke off has printed no plan.
    grep -q '^1\.\.' "$tmp/$1" || { echo "Bail out! $1: exit code $rc"; exit 1; }
    [ "$rc" = 0 ] || bad=1
    awk -v n=$n -v label="$1" -f "$top_srcdir/test/conform/number.awk" "$tmp/$1"
    n=$((n + $(grep -cE '^(not )?ok ' "$tmp/$1")))
}

suites_end()
{
    echo "1..$n"
    exit $bad
}
