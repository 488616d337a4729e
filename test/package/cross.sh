#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# cross.sh ARCHITECTURE JOBS: build the tree for another architecture, and run the
# unit tests, which have no device, under QEMU's user emulation. Run by ./run
# package --cross in a chroot that has compilers and libraries. Output: TAP.

set -u
arch=$1 jobs=$2
cd "$(dirname "$0")" || exit 1
gnu=$(dpkg-architecture -a "$arch" -q DEB_HOST_GNU_TYPE)
PKG_CONFIG_LIBDIR=/usr/lib/$(dpkg-architecture -a "$arch" -q DEB_HOST_MULTIARCH)/pkgconfig
export PKG_CONFIG_LIBDIR
case $arch in
arm64) qemu="qemu-aarch64" ;;
ppc64el) qemu="qemu-ppc64le" ;;
*) qemu="qemu-$arch" ;;
esac

fail()
{
	echo "not ok 1 - $arch: $1"
	tail -n 20 "$2" | sed 's/^/# /'
	echo 1..1
	exit 1
}

# All but two that run themselves anew: the emulation cannot.
units()
{
	make -s -f - units <<'E'
include Makefile
units:
	@echo $(filter test/unit/%,$(filter-out %.sh %/t_exit %/t_plugin,$(TESTS)))
E
}

[ -e /etc/hosts ] || echo '127.0.0.1 localhost' >/etc/hosts
tar -xf dapl-*.tar.gz
mkdir -p "$arch"
cd "$arch" || exit 1
sh ../dapl-*/configure -q --host="$gnu" PKG_CONFIG=pkg-config >configure.out 2>&1 ||
	fail configure configure.out
make -s -j"$jobs" >make.out 2>&1 || fail make make.out
units=$(units)
make -s -j"$jobs" check_PROGRAMS="$units" TESTS="$units" \
	LOG_COMPILER="sh $(echo ../dapl-*/test/unit/case.sh) ./libtool --mode=execute $qemu" \
	check >check.out 2>&1
grep -E '^(PASS|FAIL|ERROR|SKIP|XPASS): ' check.out | awk -v arch="$arch" '
	{
		line = $0
		sub(/^[A-Z]+: /, "", line)
		print ($1 ~ /^(PASS|SKIP)/ ? "ok " : "not ok ") NR " - " arch ": " line
	}
	END {
		if (!NR)
			print "not ok 1 - " arch ": no test was run"
		print "ok " NR + 1 " - " arch ": t_exit, t_plugin # SKIP they run themselves anew"
		print "1.." NR + 1
	}'
