#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_man3.sh: every public call of both versions of DAT has a page of section 3,
# with the parts that a page has, and with each code of a bad argument that its
# header documents. The calls are found by what the headers declare, with or
# without a comment, and by what the libraries export; the codes by the reader
# of the conformance suite (documented.awk), which knows nothing of pages. TAP.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
pages=$top_builddir/doc/man3
[ -d "$pages" ] || pages=$top_srcdir/doc/man3
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0

# calls FOLDER MAP: functions, and macros that look like some
calls()
{
	cat "$top_builddir/dat/headers/$1"/*.h >"$tmp/headers"
	# A name, and what it is called by: DAT_PROVIDER_INIT_FUNC_NAME.
	awk '
		/^#define DAT_[A-Z]+_[A-Z]+_FUNC_NAME / { name[$2] = $3 }
		/^#define dats?_[a-z_0-9]+(\(| dat_)/ { sub(/\(.*/, "", $2); print $2 }
		/^(DAT_EXPORT|static inline)( |$)/ { open = 1 }
		open && match($0, /[A-Za-z_]+\(/) {
			call = substr($0, RSTART, RLENGTH - 1)
			print call in name ? name[call] : call
			open = 0
		}' "$tmp/headers"
	sed -n 's/^\t\t\(dats\{0,1\}_[a-z_]*\);/\1/p' "$top_srcdir/dat/$2"
}

# of PAGE SECTION: that section's text, without the fonts
of()
{
	awk -v want="$2" '/^\.SH / { on = substr($0, 5) == want; next } on' "$1" |
		sed 's/\\f[BIPR]//g; s/^\.[A-Z]* //'
}

# returns CALL SUFFIX DEPTH: what it returns, with what it refers to for that
returns()
{
	of "$(page "$1" "$2")" 'RETURN VALUE' >"$tmp/returns.$3"
	cat "$tmp/returns.$3"
	[ "$3" -lt 3 ] || return 0
	grep -o 'dat_[a-z_]*(3[a-z0-9]*)' "$tmp/returns.$3" | while IFS='(' read -r r _; do
		returns "$r" "$2" $(($3 + 1))
	done
}

# page CALL SUFFIX: the file, also that of a page with several names
page()
{
	file=$pages/$1.$2
	to=$(sed -n 's,^\.so man3/,,p' "$file" 2>/dev/null)
	echo "${to:+$pages/}${to:-$file}"
}

# sentences FILE: what no page says: a call's name that begins with a capital, a
# full stop behind a question, a part that begins without one
sentences()
{
	grep -nE '(^|[^A-Za-z_])Dats?_[a-z]' "$1" | sed 's/^/a call in capitals: /'
	grep -nF '?.' "$1" | sed 's/^/a question with a full stop: /'
	for s in 'RETURN VALUE' STANDARDS; do
		of "$1" "$s" | head -n 1 | grep -E '^[a-z]' | grep -vE '^(uDAPL|dats?_)' |
			sed "s/^/$s begins in lower case: /"
	done
}

# check CALL SUFFIX: prints what is wrong with its page
check()
{
	file=$(page "$1" "$2")
	[ -s "$file" ] || { echo "there is no page"; return; }
	of "$file" NAME | grep -q "\\b$1\\b.* \\\\- ." || echo "NAME does not name it"
	for s in SYNOPSIS DESCRIPTION 'RETURN VALUE'; do
		of "$file" "$s" | grep -q . || echo "$s is empty"
	done
	sentences "$file"
	of "$file" SYNOPSIS | grep -q "\\b$1\\b" || echo "SYNOPSIS does not declare it"
	returns "$1" "$2" 1 >"$tmp/text"
	sed -n "s/^$1 //p" "$tmp/codes" | while IFS=/ read -r type sub; do
		case $type/$sub in
		INVALID_PARAMETER/?*) sub=DAT_INVALID_$sub ;;
		INVALID_HANDLE/HANDLE?) sub=DAT_INVALID_$sub ;;
		INVALID_HANDLE/?*) sub=DAT_INVALID_HANDLE_$sub ;;
		esac
		# "to" stands for what is between.
		grep "DAT_$type" "$tmp/text" | grep -q "${sub:-.}\\b\\| to DAT_INVALID_ARG" ||
			echo "RETURN VALUE lacks DAT_$type $sub"
	done
}

# version FOLDER MAP SUFFIX LABEL
version()
{
	calls "$1" "$2" | sort -u >"$tmp/calls"
	[ "$(wc -l <"$tmp/calls")" -gt 70 ] ||
		{ echo "Bail out! too few calls were found in $1"; exit 1; }
	for h in dat udat dat_registry; do
		cat "$top_builddir/dat/headers/$1/$h.h"
	done >"$tmp/three.h"
	awk -f "$top_srcdir/test/conform/documented.awk" "$tmp/three.h" >"$tmp/codes" ||
		{ echo "Bail out! a header that cannot be read"; exit 1; }
	while read -r call; do
		n=$((n + 1))
		check "$call" "$3" >"$tmp/faults"
		if [ -s "$tmp/faults" ]; then
			echo "not ok $n - $call($3)"
			sed 's/^/# /' "$tmp/faults"
			bad=1
		else
			echo "ok $n - $call($3)"
		fi
	done <"$tmp/calls"
}

version dat2 libdat2.map 3
version dat libdat.map 3dat1
echo "1..$n"
exit $bad
