#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# rpm.sh: what our rpms do to a dat.conf that an older dapl installed: upgrade and
# erase, in an empty root below $2 and a database of its own. $1 has our rpms.
# The older package is made here: it has nothing but a dat.conf. Needs root.
# Input: $1, $2. Output: TAP.

set -u
rpms=$1 work=$2
root=$work/root
conf=$root/etc/rdma/dat.conf
n=0

check()
{
	name=$1
	shift
	n=$((n + 1))
	if "$@" >"$work/case.log" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		tail -n 20 "$work/case.log" | sed 's/^/# /'
	fi
}

make_old()
{
	cat >"$work/old.spec" <<'E'
Name: dapl
Version: 2.1.10.1
Release: 1
Summary: dat.conf of old
License: none
BuildArch: noarch
%description
None.
%install
mkdir -p %{buildroot}/etc/rdma
echo '# stock' >%{buildroot}/etc/rdma/dat.conf
%files
%config(noreplace) /etc/rdma/dat.conf
E
	rpmbuild -bb -D "_topdir $work" -D "_dbpath $work/db" "$work/old.spec" &&
		old=$(find "$work/RPMS" -name 'dapl-2*.rpm')
}

in_root()
{
	rpm --root "$root" --dbpath /db "$@"
}

start()
{
	rm -rf "$root"
	mkdir -p "$root"
	in_root -i --nodeps "$old" && cp "$conf" "$work/stock"
}

# Dependencies have no packages in this root.
upgrade()
{
	in_root -U --nodeps "$rpms"/dapl-3*.rpm "$rpms"/dapl-utils-*.rpm "$rpms"/compat-dapl-3*.rpm &&
		in_root -q dapl | grep '^dapl-3'
}

files()
{
	[ "$(cd "$root/etc/rdma" && echo *)" = "$1" ]
}

no_file()
{
	! find "$root/usr" ! -type d | grep .
}

check "an older dapl" make_old
check "stock: installed" start
check "stock: upgrade" upgrade
check "stock: no dat.conf is left" files '*'
check "edited: installed" start
echo '# by hand' >>"$conf"
cp "$conf" "$work/edited"
check "edited: upgrade" upgrade
check "edited: dat.conf is still that" cmp "$work/edited" "$conf"
check "edited: and alone" files dat.conf
check "edited: erased" in_root -e --nodeps dapl dapl-utils compat-dapl
check "edited: dat.conf is still that" cmp "$work/edited" "$conf"
check "erased: no file is left" no_file
echo "1..$n"
