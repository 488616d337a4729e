#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# install.sh: what becomes of a system that takes our Debian packages: install,
# upgrade over 2.1.10.1, downgrade, purge. Run as root in a chroot that can be
# spoiled, with gcc, by ./run package --prove. Knows nothing of how they are built.
# Input: $1 with old/*.deb (2.1.10.1), new/*.deb and old.c. Output: TAP.

set -u
cd "$1" || exit 1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
conf=/etc/dat.conf
log=$PWD/install.log
n=0

check()
{
	name=$1
	shift
	n=$((n + 1))
	if "$@" >"$log.case" 2>&1 </dev/null; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		tail -n 25 "$log.case" | sed 's/^/# /'
	fi
}

# apt orders what is to be unpacked, as it does for people.
take()
{
	apt-get -qy -o Dpkg::Use-Pty=0 --allow-downgrades install "$@"
}

ours()
{
	dpkg-query -W -f '${Package}\n' 'libdapl*' 'dapl*-utils' 2>/dev/null | sort -u
}

# shellcheck disable=SC2046
purge()
{
	dpkg --purge $(ours)
}

# shellcheck disable=SC2046
verify()
{
	dpkg --verify $(ours)
}

gone()
{
	purge >/dev/null 2>&1
	rm -f $conf
}

listing()
{
	find /etc /usr /var/lib/dpkg/info -xdev | grep -v '/ld.so.cache$' | sort
}

no_conf()
{
	[ -z "$(find /etc -name 'dat.conf*')" ]
}

only_edited()
{
	cmp edited $conf && [ "$(find /etc -name 'dat.conf*')" = $conf ]
}

versions()
{
	for p in libdapl2 libdapl-dev dapl2-utils; do
		dpkg-query -W -f '${Version}\n' $p | grep "^$1" || return 1
	done
	[ -z "$(dpkg --audit)" ]
}

owner()
{
	dpkg -S /usr/share/man/man5/dat.conf.5.gz | grep "^$1[:,]"
}

# Unpacked while the page is still libdapl2's, dapl2-utils goes without: dpkg
# takes Replaces both ways.
page_back()
{
	owner dapl2-utils || { take --reinstall ./old/dapl2-utils_*.deb && owner dapl2-utils; }
}

same_program()
{
	./linked >old.now
	cmp old.out old.now
}

# What is for people, and nothing else here would miss.
for_people()
{
	dat_info --help || return 1
	for page in 1/dat_info.1 3/dat_ia_open.3 3/dat_ia_open.3dat1 7/dapl-trouble.7; do
		ls "/usr/share/man/man$page.gz" || return 1
	done
	gcc -o example /usr/share/doc/libdapl-dev/examples/pingpong.c -ldat2
}

old_and_program()
{
	gone
	take ./old/*.deb >"$log" 2>&1
	cp $conf stock
	gcc -o linked old.c -ldat2 && ./linked >old.out && cat old.out >>"$log"
}

# The whole way with the dat.conf there is; $1: its kind, $2: how it is to look.
there_and_back()
{
	check "$1: upgrade" take ./new/*.deb
	check "$1: upgraded" versions 3.0
	check "$1: dat.conf after the upgrade" "$2"
	check "$1: dat.conf.5 has moved" owner libdapl2
	check "$1: a program of 2.1.10.1 runs" same_program
	check "$1: files are those of the packages" verify
	check "$1: downgrade" take ./old/*.deb
	check "$1: downgraded" versions 2.1.10.1
	check "$1: dat.conf.5 is back" page_back
	check "$1: the program still runs" same_program
}

# What dpkg does when unpacking fails behind preinst.
broken_upgrade()
{
	script=$PWD/control
	rm -rf "$script"
	dpkg-deb -e new/libdapl2_*.deb "$script"
	export DPKG_MAINTSCRIPT_PACKAGE=libdapl2
	DPKG_MAINTSCRIPT_ARCH=$(dpkg --print-architecture)
	export DPKG_MAINTSCRIPT_ARCH
	"$script/preinst" upgrade 2.1.10.1 && [ ! -e $conf ] &&
		"$script/postrm" abort-upgrade 2.1.10.1 && cmp stock $conf
}

gone
listing >before
check "installed" take ./new/*.deb
check "no dat.conf is installed" no_conf
check "dat_info, pages and an example that builds" for_people
check "purged" purge
listing >after
check "purge leaves no file" diff before after

check "2.1.10.1 installed, a program linked with it" old_and_program
check "an upgrade that fails gives dat.conf back" broken_upgrade
there_and_back stock no_conf
check "stock: dat.conf is back" cmp stock $conf

old_and_program
echo '# by hand' >>$conf
cp $conf edited
there_and_back edited only_edited
check "edited: dat.conf is still that" cmp edited $conf

old_and_program
dpkg --remove dapl2-utils libdapl-dev libdapl2 >>"$log" 2>&1
check "removed, not purged: installed anew" take ./new/*.deb
check "removed, not purged: dat.conf is gone" no_conf
echo "1..$n"
