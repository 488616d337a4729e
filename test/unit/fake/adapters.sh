# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# adapters.sh - sourced by tests that load the providers of this build over the
# fake device: $tmp, which goes at the end, and in it a dat.conf with adapters
# cma, scm and ucm of both versions of DAT. Input: top_srcdir, top_builddir.

: "${top_srcdir:?}" "${top_builddir:?}"
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

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
# The fake device is in no sysfs.
DAT_OVERRIDE=$tmp/dat.conf
DAT_AUTO=0
export DAT_OVERRIDE DAT_AUTO
# Sockets stay on this host.
DAPL_SCM_NETDEV=lo
export DAPL_SCM_NETDEV
