#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# switches.sh: configure --disable-cma builds where there is no librdmacm, and what
# it builds loads there. Run as root by ./run package --prove in a chroot that can
# be spoiled, after install.sh, with mounts of its own. Input: $1, with dapl_*.orig.tar.gz. Output: TAP.

set -u
cd "$1" || exit 1
export LC_ALL=C
n=0

check()
{
	name=$1
	shift
	n=$((n + 1))
	if "$@" >case.log 2>&1 </dev/null; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		tail -n 20 case.log | sed 's/^/# /'
	fi
}

# The library stays installed, but nothing can load it as long as this runs.
without()
{
	dpkg --purge --force-depends librdmacm-dev && [ ! -e /usr/include/rdma/rdma_cma.h ] &&
		mount --bind /dev/null "$(readlink -f /usr/lib/*/librdmacm.so.1)"
}

build()
{
	mkdir -p switches/source && tar -xf dapl_*.orig.tar.gz -C switches/source --strip-components 1 &&
		(cd switches && sh source/configure -q --prefix="$PWD/out" --disable-cma &&
			make -s -j"$(nproc)" && make -s install)
}

only_others()
{
	[ "$(cd switches/out/lib && echo libdap*.so)" = \
		"libdaploscm.so libdaploucm.so libdaplscm.so libdaplucm.so" ]
}

load()
{
	cat >switches/load.c <<'E'
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);

		if (!lib || !dlsym(lib, "dat_provider_init"))
			return puts(dlerror()), 1;
	}
	return argc < 2;
}
E
	gcc -o switches/load switches/load.c -ldl && switches/load "$@"
}

not_cma()
{
	! load libdaplofa.so.2 >why 2>&1 && cat why && grep -q rdmacm why
}

check "librdmacm is not there" without
check "built with --disable-cma" build
check "without the providers that need librdmacm" only_others
check "the one that needs librdmacm does not load" not_cma
check "providers of DAT 2.0 load" load "$PWD"/switches/out/lib/libdaplo*.so.2
check "providers of DAT 1.2 load" load "$PWD"/switches/out/lib/libdapl[su]*.so.1
echo "1..$n"
