#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_pages.sh: pages name only what there is: each word that begins with DAT_,
# DAPL_ or dat_ is in the headers, or a variable of dapl-env(7) and libdat2(7),
# and each page of this project that one refers to is there. README.md counts as a
# page, whose parts are to be short. All carry the date of the version. TAP.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
doc=$top_srcdir/doc
pages=$top_builddir/doc/man3
[ -d "$pages" ] || pages=$doc/man3
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0

# words FILE...: the names in them, without the markup of pages
words()
{
	sed '/^\.TH /d; s/\\f.//g; s/\\-/-/g; s/\\e//g' "$@" |
		grep -ohE '\b(DAT|DAPL|dat|dats)_[A-Za-z0-9_]+' | sort -u
}

words "$top_builddir"/dat/headers/*/*.h "$doc/dapl-env.7" "$doc/libdat2.7" \
	>"$tmp/known"
[ "$(wc -l <"$tmp/known")" -gt 1000 ] || { echo "Bail out! no headers"; exit 1; }
echo dat_info >>"$tmp/known" # a program
sort -u -o "$tmp/known" "$tmp/known"

for f in "$doc"/*.[1-9] "$top_srcdir/README.md"; do
	n=$((n + 1))
	# A name cut short by an ellipsis or a star ends in an underscore.
	words "$f" | grep -v '_$' | comm -23 - "$tmp/known" >"$tmp/faults"
	sed -n 's/^\.BR \([A-Za-z0-9_.\\-]*\) (\([1-9][a-z0-9]*\)).*/\1.\2/p' "$f" |
		sed 's/\\-/-/g' | grep -E '^(dat|dapl|libdat|dtest)' | sort -u |
		while read -r page; do
			[ -e "$doc/$page" ] || [ -e "$pages/$page" ] || echo "page $page"
		done >>"$tmp/faults"
	if [ -s "$tmp/faults" ]; then
		echo "not ok $n - ${f##*/}"
		sed 's/^/# there is none: /' "$tmp/faults"
		bad=1
	else
		echo "ok $n - ${f##*/}"
	fi
done

# Of the version, so that equal sources make equal pages.
n=$((n + 1))
date=$(sed -n 's/^DAPL_DATE=//p' "$top_srcdir/configure.ac")
grep -H '^\.TH ' "$doc"/*.[1-9] "$pages"/* |
	grep -vE "\.TH [^ ]+ [0-9a-z]+ ${date:-none} " >"$tmp/faults"
version=$(sed -n 's/^AC_INIT(\[dapl\], \[\(.*\)\])/\1/p' "$top_srcdir/configure.ac")
grep "^## $version, " "$top_srcdir/CHANGELOG.md" |
	grep -vx -e "## $version, not released yet" -e "## $version, $date" >>"$tmp/faults"
if [ -s "$tmp/faults" ]; then
	echo "not ok $n - pages have the date of the version"
	head -n 20 "$tmp/faults" | sed 's/^/# /'
	bad=1
else
	echo "ok $n - pages have the date of the version"
fi

n=$((n + 1))
awk '
	function end() { if (lines > 24) print name ": " lines " lines" }
	/^## / { end(); name = $0; lines = 0 }
	{ lines++ }
	END { end() }' "$top_srcdir/README.md" >"$tmp/faults"
if [ -s "$tmp/faults" ]; then
	echo "not ok $n - each part of README.md fits on a screen"
	sed 's/^/# /' "$tmp/faults"
	bad=1
else
	echo "ok $n - each part of README.md fits on a screen"
fi
echo "1..$n"
exit $bad
