# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# fake.sh: the conformance suite on the fake device, for the scripts that source
# it: begin() a run, wait for it, and have it shown(); suites_end() in the end.
# The libraries are those that were built, not
# installed ones. It contains no case.
# Input: top_srcdir and top_builddir, as `make check` sets them; CONFORM_OUT, if
# it is set, is where the TAP of each run is left, as fake-LABEL.tap.

: "${top_srcdir:?}" "${top_builddir:?}"
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
# Most cases wait, and not for a processor.
jobs=4

if [ ! -e "$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
# Each version finds its own under the same name.
while read -r name lib2 lib1 params; do
    printf '%s %s default %s/dapl/%s %s "%s" ""\n' \
        "$name" "u2.0 threadsafe" "$top_builddir" "$lib2" dapl.2.0 "$params" \
        "$name" "u1.2 nonthreadsafe" "$top_builddir" "$lib1" dapl.1.2 "$params"
done >"$tmp/dat.conf" <<E
cma openib_cma/.libs/libdaplofa.so.2 compat12/.libs/libdaplcma.so.1 10.0.0.1 0
scm openib_scm/.libs/libdaploscm.so.2 compat12/.libs/libdaplscm.so.1 fake0 1
ucm openib_ucm/.libs/libdaploucm.so.2 compat12/.libs/libdaplucm.so.1 fake0 1
E
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE
# Sockets stay on this host.
DAPL_SCM_NETDEV=lo
export DAPL_SCM_NETDEV

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
