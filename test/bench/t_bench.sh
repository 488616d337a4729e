#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_bench.sh: what the measuring programs understand and print, on the fake
# device: arguments, the rows, and that what they count was done. It judges no
# figure. The libraries are those that were built, not installed ones. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/unit/fake/adapters.sh
. "$top_srcdir/test/unit/fake/adapters.sh"
dir=$top_builddir/test/bench
n=0
bad=0

# judge NAME: the case passed if the command before did.
judge()
{
    rc=$?
    n=$((n + 1))
    if [ $rc = 0 ]; then
        echo "ok $n - $1"
    else
        bad=1
        echo "not ok $n - $1"
        sed 's/^/# /' "$tmp/out" "$tmp/err"
    fi
}

# run PROGRAM ARGUMENT...: what it prints is in $tmp/out and $tmp/err.
run()
{
    program=$1
    shift
    timeout 60 "$dir/$program" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# refused NAME PROGRAM ARGUMENT...: exit status 2, with a word about it.
refused()
{
    name=$1
    shift
    run "$@"
    [ $? = 2 ] && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ]
    judge "$name"
}

# rows N PATTERN: so many lines, each of which matches.
rows()
{
    [ "$(wc -l <"$tmp/out")" = "$1" ] && [ "$(grep -c -- "$2" "$tmp/out")" = "$1" ]
}

for p in pingpong_fake rest_fake alltoall; do
    run $p -h && grep -q '^usage: ' "$tmp/out"
    judge "${p}__help: -h tells the usage"
    refused "${p}__no_adapter: it has to be named" $p
    refused "${p}__unknown_option: is told" $p -P cma -Z
done
refused "pingpong__no_test: it has to be named" pingpong_fake -P cma
refused "pingpong__unknown_test: is told" pingpong_fake -P cma -t nonsense
refused "pingpong__both_kinds: DAT and verbs at once" pingpong_fake -P cma -V fake0 -t send_lat
refused "pingpong__write_lat_wait: nothing wakes who watches memory" \
    pingpong_fake -P cma -t write_lat -w
for value in 0 x 1x -1 2000000000; do
    refused "pingpong__bad_size: '$value'" pingpong_fake -P cma -t send_lat -s "8,$value"
    refused "pingpong__bad_rounds: '$value'" pingpong_fake -P cma -t send_lat -n "$value"
done

for by in '-P cma' '-P scm' '-P ucm' '-V fake0'; do
    for test in send_lat write_lat send_rate write_rate; do
        # shellcheck disable=SC2086
        run pingpong_fake $by -T -k roce -t $test -n 30 -q 4 -s 8,4096 &&
            rows 2 '"iterations":30,' && grep -q '"bytes":8,' "$tmp/out" &&
            grep -q '"bytes":4096,' "$tmp/out"
        judge "pingpong__$test: $by, 30 of each size"
    done
    # shellcheck disable=SC2086
    run pingpong_fake $by -T -k ib -t send_lat -w -n 30 && rows 1 '"mode":"wait",.*"iterations":30,'
    judge "pingpong__wait: $by sleeps for 30 messages"
    # A window that is no divisor, and more than there are messages.
    for q in 7 64; do
        # shellcheck disable=SC2086
        run pingpong_fake $by -T -k ib -t send_rate -w -n 30 -q $q && rows 1 "\"window\":$q,"
        judge "pingpong__window: $by, 30 messages, $q under way"
    done
done
run pingpong_fake -V fake0 -T -k ib -t write_rate -n 1000 -s 8,1048576 -b 4194304 &&
    grep -q '"bytes":8,"iterations":1000,' "$tmp/out" &&
    grep -q '"bytes":1048576,"iterations":4,' "$tmp/out"
judge "pingpong__bytes: bound the rounds of a large size"
run pingpong_fake -P nobody -T -k ib -t send_lat
[ $? = 1 ] && grep -q '^pingpong: dat_ia_open: ' "$tmp/err"
judge "pingpong__no_such_adapter: is told, with the call"

for adapter in cma scm ucm; do
    run rest_fake -P $adapter -k roce -n 1 -i 0
    if [ $? = 77 ]; then
        n=$((n + 1))
        echo "ok $n - rest__heap: $adapter # SKIP $(cat "$tmp/err")"
        continue
    fi
    run rest_fake -P $adapter -k roce -n 5 -i 1 && [ "$(wc -l <"$tmp/out")" = 2 ] &&
        grep -q '"test":"memory","endpoints":10,' "$tmp/out" &&
        grep -q '"test":"idle","connections":5,' "$tmp/out"
    judge "rest__rows: $adapter"
    # A library that has no block of its own is not the one that is measured.
    grep -q '"adapter_bytes":[1-9].*"endpoint_bytes":[1-9].*"connected_bytes":[1-9]' "$tmp/out"
    judge "rest__heap: $adapter has some, for all of its parts"
done

# table EXPRESSION: of three rounds of rows made up, in $tmp/out.
table()
{
    jq -rs -L "$top_srcdir/test/bench" "include \"table\"; $1" >"$tmp/out" 2>"$tmp/err" <<E
{"stage":"latency","stack":"verbs","round":1,"op":"send","mode":"wait","bytes":8,"median_us":10,"calls":3,"post_calls":1,"sleeps":1}
{"stage":"latency","stack":"ours","round":1,"op":"send","mode":"wait","bytes":8,"median_us":12,"calls":4,"post_calls":1,"sleeps":0.5}
{"stage":"latency","stack":"verbs","round":2,"op":"send","mode":"wait","bytes":8,"median_us":20,"calls":3,"post_calls":1,"sleeps":1}
{"stage":"latency","stack":"ours","round":2,"op":"send","mode":"wait","bytes":8,"median_us":22,"calls":4,"post_calls":1,"sleeps":0.5}
{"stage":"latency","stack":"verbs","round":3,"op":"send","mode":"wait","bytes":8,"median_us":30,"calls":3,"post_calls":1,"sleeps":0}
{"stage":"latency","stack":"ours","round":3,"op":"send","mode":"wait","bytes":8,"median_us":45,"calls":4,"post_calls":1,"sleeps":0.5}
{"stage":"latency","stack":"ours","round":1,"op":"send","mode":"wait","bytes":64,"median_us":13.25}
{"stage":"latency","stack":"theirs","round":1,"op":"send","mode":"wait","bytes":64,"why":"it broke"}
{"stage":"latency","stack":"theirs","round":2,"op":"send","mode":"wait","bytes":64,"why":"it broke"}
E
}

if command -v jq >/dev/null; then
    table ratio_table && grep -q '^ours	-	-	1.2 (1.1 to 1.5)	3	0.5	6$' "$tmp/out"
    judge "table__ratio: the median of each round's own, with its spread"
    table 'latency_table("send"; "wait")' && grep -q '^stack	8	64$' "$tmp/out" &&
        grep -q '^verbs	20	-$' "$tmp/out" && grep -q '^ours	22	13.3$' "$tmp/out" &&
        ! grep -q theirs "$tmp/out"
    judge "table__sizes: a column for each, the median of the rounds"
    table why_table && [ "$(grep -c '^theirs	latency	send	wait	64	it broke$' "$tmp/out")" = 1 ]
    judge "table__why: what broke is told once"
else
    n=$((n + 1))
    echo "ok $n - table # SKIP jq is not installed"
fi

echo "1..$n"
exit $bad
