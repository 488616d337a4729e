#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_example.sh: doc/examples/pingpong.c is short, compiles against the headers as
# they are installed, and runs, by CMA and SCM on kinds of the fake device. TAP.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
example=$top_srcdir/doc/examples/pingpong.c
dapl=$top_builddir/dapl
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0

# result STATUS TEXT: a case, and what was printed when it failed
result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
		return
	fi
	echo "not ok $n - $2"
	sed 's/^/# /' "$tmp/log"
	bad=1
}

wc -l <"$example" >"$tmp/log"
[ "$(cat "$tmp/log")" -lt 200 ]
result $? "fewer than 200 lines"

# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror -I "$top_builddir/dat/headers" -c \
	-o "$tmp/pingpong.o" "$example" >"$tmp/log" 2>&1
result $? "it compiles without options of this project"

if [ ! -e "$dapl/openib_scm/.libs/libdaploscm.so.2" ]; then
	n=$((n + 1))
	echo "ok $n - it runs # SKIP the providers were built without shared libraries"
	echo "1..$n"
	exit $bad
fi
cat >"$tmp/dat.conf" <<E
cma u2.0 threadsafe default $dapl/openib_cma/.libs/libdaplofa.so.2 dapl.2.0 "10.0.0.1 0" ""
scm u2.0 threadsafe default $dapl/openib_scm/.libs/libdaploscm.so.2 dapl.2.0 "fake0 1" ""
E
# The fake device is in no sysfs. Sockets stay on this host.
DAT_AUTO=0
DAPL_SCM_NETDEV=lo
DAT_OVERRIDE=$tmp/dat.conf
LD_LIBRARY_PATH=$top_builddir/dat/.libs
export DAT_AUTO DAPL_SCM_NETDEV DAT_OVERRIDE LD_LIBRARY_PATH
for run in cma-ib cma-roce cma-iwarp scm-ib scm-roce; do
	timeout -k 5 60 "$top_builddir/test/doc/pingpong_fake" "${run%-*}" \
		"${run#*-}" >"$tmp/log" 2>&1
	grep -q '^ok 1 ' "$tmp/log" && grep -q '^1\.\.1$' "$tmp/log"
	result $? "it runs, $run"
done

DAT_OVERRIDE=$tmp/nothing "$top_builddir/doc/examples/pingpong" nobody \
	>"$tmp/log" 2>&1
[ $? -eq 1 ] && grep -q 'DAT_PROVIDER_NOT_FOUND' "$tmp/log" &&
	grep -q '"nobody"' "$tmp/log"
result $? "a name that there is not: the code and the reason"
echo "1..$n"
exit $bad
