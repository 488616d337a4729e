#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_names.sh: no two cases of the unit tests and of the conformance suite have
# the same name, so that a name in a log leads to one place. A source that runs
# over several providers or devices counts once: the program's name, or what
# stands behind the dot, tells which. TAP.

top_srcdir=${top_srcdir:-.}
names=$(mktemp) || exit 99
trap 'rm -f "$names"' EXIT

# The head of a case is a macro: a line of its own before the body.
find "$top_srcdir/test/unit" -name 't_*.c' -exec \
    awk '$0 == "{" && head ~ /^[A-Z][A-Z_]*\(/ && match(head, /[a-z_0-9A-Z]+__[a-z_0-9A-Z]+/) {
             print substr(head, RSTART, RLENGTH)
         }
         { head = $0 }' {} + >"$names"
units=$(wc -l <"$names")
sed -n 's/^CASE(\([a-z_0-9]*\),.*/\1/p' "$top_srcdir"/test/conform/c_*.c >>"$names"
cases=$(wc -l <"$names")

echo 1..1
if [ "$units" -lt 1000 ] || [ "$cases" -lt "$((units + 200))" ]; then
    echo "Bail out! only $units units and $cases cases were found"
    exit 1
fi
twice=$(sort "$names" | uniq -d)
echo "# $cases names"
[ -z "$twice" ] && { echo "ok 1 - each name once"; exit 0; }
echo "not ok 1 - each name once"
printf '%s\n' "$twice" | sed 's/^/# stands twice: /'
exit 1
