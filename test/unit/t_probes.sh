#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_probes.sh: the providers have the probes that doc/dapl-counters.7 lists, and
# no others. TAP. Input: top_srcdir, top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# probes LIBRARY: names in its notes.
probes()
{
    readelf -nW "$1" | awk '/Provider: / { dapl = $NF == "dapl" } /Name: / && dapl { print $2 }' | sort -u
}

n=0
bad=0
scm=$top_builddir/dapl/openib_scm/.libs/libdaploscm.so.2
if ! command -v readelf >/dev/null; then
    echo "1..0 # SKIP readelf is not here"
    exit 0
fi
if [ ! -e "$scm" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
if grep -q 'DAPL_PROBES=0' "$top_builddir/Makefile"; then
    echo "1..0 # SKIP built without probes"
    exit 0
fi
sed -n '/^\.SH PROBES/,/^\.PP/s/^\.BR \([a-z_]*\) " (.*/\1/p' "$top_srcdir/doc/dapl-counters.7" |
    sort >"$tmp/page"
for lib in openib_cma/.libs/libdaplofa.so.2 openib_scm/.libs/libdaploscm.so.2 \
    openib_ucm/.libs/libdaploucm.so.2 compat12/.libs/libdaplcma.so.1 \
    compat12/.libs/libdaplscm.so.1 compat12/.libs/libdaplucm.so.1; do
    n=$((n + 1))
    probes "$top_builddir/dapl/$lib" >"$tmp/has"
    if [ -s "$tmp/page" ] && cmp -s "$tmp/page" "$tmp/has"; then
        echo "ok $n - probes of $lib"
    else
        bad=1
        echo "not ok $n - probes of $lib"
        diff "$tmp/page" "$tmp/has" | sed 's/^/# /'
    fi
done
echo "1..$n"
exit $bad
