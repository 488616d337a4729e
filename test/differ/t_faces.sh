#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_faces.sh: the calls of recorded walks by DAT 2.0 and by 1.2 over the same
# core, on the fake device. What the two answer differently is a row of
# faces.tsv or a fault of the faces; the core is not judged. UCM has walks of its
# own: there two adapters do not share an address.
# TAP. Input: top_srcdir, top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
differ=$top_srcdir/test/differ
n=0
bad=0

# faces PROVIDER-KIND WALKS [KNOWN]: prints what differs without a row.
faces()
{
    for face in replay replay1; do
        timeout -k 5 300 "$top_builddir/test/differ/${face}_fake" "${1%%-*}" 0 "$2" "${1#*-}" \
            >"$tmp/$face" 2>"$tmp/$face.err" || { cat "$tmp/$face.err"; return 1; }
    done
    awk -f "$differ/differ.awk" -v adapter="${1%%-*}" -v names=1 "${3-$differ/faces.tsv}" \
        "$tmp/replay" "$tmp/replay1" >"$tmp/differ"
}

# row PROVIDER-KIND WALKS
row()
{
    n=$((n + 1))
    if faces "$1" "$differ/$2" && [ "$(wc -l <"$tmp/differ")" = 1 ]; then
        echo "ok $n - $1: $2 by DAT 2.0 and 1.2: $(cat "$tmp/differ")"
    else
        echo "not ok $n - $1: $2 by DAT 2.0 and 1.2"
        sed 's/^/# /' "$tmp/differ" | head -n 40
        bad=1
    fi
}

row cma-rxe walks.txt
row scm-rxe walks.txt
row ucm-roce walks.ucm.txt

# Without its row a difference is found.
n=$((n + 1))
: >"$tmp/none"
if faces cma-rxe "$differ/walks.txt" "$tmp/none" &&
    grep -q "^not ok: walk .* IA_QUERY .*: old DAT_SUCCESS, new 8 DAT_INVALID_PARAMETER" "$tmp/differ"; then
    echo "ok $n - a difference without a row is found"
else
    echo "not ok $n - a difference without a row is found"
    bad=1
fi

# Debian's libdat2 has symbols of DAT_2.0 only, and starts no program that wants
# others.
n=$((n + 1))
for program in arguments attributes changes modify replay scenarios; do
    file=$top_builddir/test/differ/.libs/$program
    [ -e "$file" ] || file=$top_builddir/test/differ/$program
    nm -D "$file" >"$tmp/symbols" 2>&1 && grep -q 'dat_ia_openv@DAT_2\.0' "$tmp/symbols" ||
        echo "$program opens no adapter"
    sed -n "s/.* U \(dat.*@DAT_2\.[1-9].*\)/$program: \1/p" "$tmp/symbols"
done >"$tmp/newer"
if [ -s "$tmp/newer" ]; then
    echo "not ok $n - programs for Debian's libraries start there"
    sed 's/^/# /' "$tmp/newer"
    bad=1
else
    echo "ok $n - programs for Debian's libraries start there"
fi

# What Debian's libraries answer otherwise has its reason on the page. A reason may
# go on behind what it quotes.
n=$((n + 1))
awk -F '\t' '
    NR == FNR { gsub(/`/, ""); page = page "\n" tolower($0); next }
    /^#/ || $5 ~ /^the same/ { next }
    {
        reason = $5
        if (match(reason, /doc\/conformance\.md, /)) {
            reason = substr(reason, RSTART + RLENGTH)
            sub(/[:;].*/, "", reason)
            sub(/, and .*/, "", reason)
        }
        sub(/ *\(doc\/conformance\.md\)/, "", reason)
        rows++
        if (!index(page, tolower(reason))) print reason
    }
    END { if (rows < 70) print rows " rows" }' \
    "$top_srcdir/doc/conformance.md" "$differ/known.tsv" >"$tmp/reasons"
if [ -s "$tmp/reasons" ]; then
    echo "not ok $n - each reason of known.tsv is on doc/conformance.md"
    sed 's/^/# /' "$tmp/reasons"
    bad=1
else
    echo "ok $n - each reason of known.tsv is on doc/conformance.md"
fi
echo "1..$n"
exit $bad
