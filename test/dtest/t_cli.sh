#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_cli.sh: what the test tools say and how they exit where no device is
# needed, and whether --help and the manual pages have the same options. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
{
    echo 'somebody u2.0 threadsafe default libnone.so dapl.2.0 "" ""'
    echo 'someone u1.2 nonthreadsafe default libnone.so dapl.1.2 "" ""'
} >"$tmp/dat.conf"
export DAT_OVERRIDE="$tmp/dat.conf"
n=0

program()
{
    case $1 in
    dapltest*) echo "$top_builddir/test/dapltest/$1" ;;
    *) echo "$top_builddir/test/${1%1}/$1" ;;
    esac
}

# verdict NAME LOG: of the status before.
verdict()
{
    good=$?
    n=$((n + 1))
    if [ $good = 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        tail -n 20 "$2" | sed 's/^/# /'
    fi
}

# says CODE TEXT TOOL WORD...
says()
{
    code=$1 text=$2 tool=$3
    shift 3
    timeout 60 "$(program "$tool")" "$@" >"$tmp/out" 2>&1 </dev/null
    rc=$?
    echo "exit code $rc, wanted $code and '$text'" >>"$tmp/out"
    [ $rc = "$code" ] && head -n -1 "$tmp/out" | grep -q -e "$text"
    verdict "$tool $*" "$tmp/out"
}

# help_of TOOL: the options, one a line.
help_of()
{
    case $1 in
    dapltest*)
        for t in S T P Q L F; do
            "$(program "$1")" -T $t --help
        done
        ;;
    *) "$(program "$1")" --help ;;
    esac | sed -n 's/^  \(-[^ ].*\)/\1/p' | grep -oE -e '^-[a-zA-Z]|^(-[a-zA-Z], )?--[a-z-]+' |
        tr -d ',' | tr ' ' '\n' | sort -u
}

# page_of TOOL: those that the manual page describes, under .TP.
page_of()
{
    # shellcheck disable=SC1003 # a lone backslash, no attempt to escape the quote
    tr -d '\\' <"$top_srcdir/doc/$1.1" |
        awk '/^\.SH/ { on = /OPTIONS/ } on && tag { print } { tag = /^\.TP/ }' |
        sed 's/fI[^f]*fP//g; s/f[RP]//g; s/"//g' | grep -oE -e '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u
}

# who TOOL: an adapter of its version of DAT.
who()
{
    case $1 in
    *1) echo someone ;;
    *) echo somebody ;;
    esac
}

for tool in dtest dtest1 dtestcm dtestsrq dtestx dapltest dapltest1; do
    help_of $tool >"$tmp/help"
    # Pages of the tools of 1.2 say what differs.
    { page_of ${tool%1}; page_of $tool; } | sort -u >"$tmp/page"
    diff "$tmp/help" "$tmp/page" >"$tmp/out" && [ -s "$tmp/help" ]
    verdict "$tool: --help and the manual page have the same options" "$tmp/out"
    says 0 "usage: $tool" $tool --help
    says 0 "^$tool (" $tool --version
    says 2 "--help tells more" $tool --nonsense
done
for tool in dtest dtest1 dtestcm dtestsrq dtestx; do
    who=$(who $tool)
    says 244 "usage: $tool" $tool -Z
    says 4 "no adapter \"nobody\": use $who: it is not in" $tool -P nobody
    says 4 "dat_ia_open($who): .*cannot load libnone.so[^;]*\$" $tool -P $who
    says 4 "no such host" $tool -h ..
    says 3 "no answer from 127.0.0.1.*is the server running" $tool -h 127.0.0.1 --oob-port 1 --timeout 1
    says 2 "--json=/nonexistent/x: No such file" $tool --json=/nonexistent/x
    says 4 '"test":"summary","result":"FAILED","exit":4,"error":"dat_ia_open' $tool -P nobody --json
done
# Scripts take these for a good end.
! "$(program dtestsrq)" -P nobody 2>&1 | grep "SRQ Test Complete" >"$tmp/out"
verdict "dtestsrq: a run that failed is not complete" "$tmp/out"
! "$(program dtestcm)" -P nobody 2>&1 | grep "Test Complete$" >"$tmp/out"
verdict "dtestcm: a run that failed is not complete" "$tmp/out"
! "$(program dtestx)" -P nobody 2>&1 | grep "test PASSED$" >"$tmp/out"
verdict "dtestx: a run that failed has not passed" "$tmp/out"
says 2 "-c without -h" dtestx -c
says 4 "dat_ib_open_query(nobody): " dtestx -q -P nobody
says 2 "-b 15: " dtestx -b 15
says 2 "-u with --hold: " dtestcm -u --hold 1
says 2 "--last-receive need with -u: " dtestsrq -u --last-receive need
for tool in dapltest dapltest1; do
    who=$(who $tool)
    for t in "T -s . client RW client SR server SR" "P -s . RW"; do
        # shellcheck disable=SC2086
        says 2 "-u: .*\(no RDMA\|which datagrams\|no datagrams\)" $tool -T ${t%% *} -u ${t#* }
    done
    says 2 "not an option of this test" $tool -T S -Z
    says 4 "no adapter \"nobody\": use $who: it is not in" $tool -T S -D nobody
    says 4 "dat_ia_open($who): .*cannot load libnone.so[^;]*\$" $tool -T F -f pz -D $who
done
# Where no adapter opens it is the first of the list that is told of.
for tool in dtest dtest1 dapltest1; do
    says 4 "dat_ia_open($(who $tool)): .*cannot load libnone.so" $tool
done
# Defaults of 1.2.
says 0 "OpenIB-cma" dtest1 --help
says 0 "(OpenIB-cma" dapltest1 -T S --help
says 0 "(64; with -W 1)" dtest1 --help
says 0 "(45278)" dapltest1 -T S --help
says 4 "no such host" dapltest -T Q -s ..
says 2 "--json=/nonexistent/x: No such file" dapltest -T S --json=/nonexistent/x
says 4 '"test":"summary","result":"FAILED","exit":4,"error":"dat_ia_open' dapltest -T L -D nobody --json
echo "1..$n"
