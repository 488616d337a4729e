#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_first.sh: what ./run says to somebody who has just come: in a folder with a
# blank in its name, and on systems without dpkg, which are played by commands of
# their names; and what `make install` says last. Nothing is built or installed.
# TAP.

top=$(cd "${top_srcdir:-.}" && pwd -P)
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0

# says TEXT NAME: the last output has TEXT
says()
{
	n=$((n + 1))
	if grep -qF -- "$1" "$tmp/out"; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$tmp/out"
		bad=1
	fi
}

if ! command -v bash >/dev/null || [ ! -e "$top/run" ]; then
	echo "1..0 # SKIP no bash, or no ./run in a tarball"
	exit 0
fi

mkdir -p "$tmp/a folder/test"
cp "$top/run" "$tmp/a folder"
cp -r "$top/test/harness" "$top/test/vm" "$tmp/a folder/test"
chmod -R u+w "$tmp/a folder" # a tarball's may be read-only
(cd "$tmp/a folder" && ./run build) >"$tmp/out" 2>&1 </dev/null
says "blank in the path of this folder" "a checkout in a folder with a blank"
[ ! -e "$tmp/a folder/.cache" ] || says "nothing was written" "nothing is left there"

# Help comes without a build: there is nothing here that could be built.
mkdir -p "$tmp/bare/test/sim" "$tmp/bare/test/sched"
cp "$top/run" "$tmp/bare"
cp -r "$top/test/harness" "$top/test/vm" "$tmp/bare/test"
for c in sim sched; do
	cp "$top/test/$c/main.c" "$tmp/bare/test/$c"
	(cd "$tmp/bare" && ./run $c --help) >"$tmp/out" 2>&1 </dev/null
	says "usage: ./run $c " "./run $c --help"
	says "  --seeds N " "./run $c --help has the options"
	# The last words of it are the program's own.
	sed -n '/"usage: /,/"[;,]$/p' "$top/test/$c/main.c" | tail -n 1 |
		sed 's/^[^"]*"//; s/\\n"[;,]$//' >"$tmp/last"
	says "$(cat "$tmp/last")" "./run $c --help is whole"
done
(cd "$tmp/bare" && ./run sched --1.2 --help) >"$tmp/out" 2>&1 </dev/null
says "  --1.2 " "./run sched --1.2 --help"

# Only these commands, and the one that is played.
mkdir "$tmp/bin"
for c in bash awk grep sed cut tr cat; do
	ln -s "$(command -v $c)" "$tmp/bin/$c"
done

# elsewhere MANAGER QUERY: what is asked for on such a system; only make is there
elsewhere()
{
	rm -f "$tmp"/bin/dnf "$tmp"/bin/zypper "$tmp"/bin/pacman "$tmp"/bin/rpm
	for c in "$1" "$2"; do
		# shellcheck disable=SC2016
		printf '#!%s/bin/bash\n[ "$2" = make ]\n' "$tmp" >"$tmp/bin/$c"
		chmod +x "$tmp/bin/$c"
	done
	# shellcheck disable=SC2016
	PATH=$tmp/bin bash -c 'h_top=$1 h_line=; . "$1/test/harness/lib.sh"
		need_packages build make g++ libibverbs-dev librdmacm-dev jq' \
		bash "$top" >"$tmp/out" 2>&1
}

elsewhere dnf rpm
says "    dnf install gcc-c++ rdma-core-devel jq" "dnf"
elsewhere zypper rpm
says "    zypper install gcc-c++ rdma-core-devel jq" "zypper"
elsewhere pacman pacman
says "    pacman -S gcc rdma-core jq" "pacman"
elsewhere none none
says "make g++ libibverbs-dev librdmacm-dev jq" "another system: the names of Debian"

# The commands, not the words between them: lines of their own.
MAKEFLAGS='' make -s --no-print-directory -C "${top_builddir:-.}" say-loader DESTDIR= libdir=/no/where >"$tmp/out" 2>&1
says "    export LD_LIBRARY_PATH=/no/where" "make install, to where the loader does not look"
MAKEFLAGS='' make -s --no-print-directory -C "${top_builddir:-.}" say-loader DESTDIR=/stage libdir=/no/where >"$tmp/out" 2>&1
echo "[$(cat "$tmp/out")]" >"$tmp/out2" && mv "$tmp/out2" "$tmp/out"
says "[]" "make install, to a staging directory"
echo "1..$n"
exit $bad
