# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# bench.sh: `./run bench STAGE`: measures, never judges. Times of one boot can
# be compared with one another, and with nothing else. Stages path and connect
# are here, those of measure.sh there; report.sh makes a page of all.
# Sourced by ./run.

# Tables with tabs between columns: as they are, for a page, or for a terminal.
bench_columns()
{
    case ${bench_form:-} in
    tsv) cat ;;
    markdown)
        awk -F '\t' '
            { n = gsub(/\t/, " | ") + 1; print "| " $0 " |" }
            NR == 1 { s = "|"; for (i = 1; i <= n; i++) s = s " --- |"; print s }'
        ;;
    *) column -t -s "$(printf '\t')" ;;
    esac
}

bench_usage()
{
    cat <<'E'
usage: ./run bench [--quick] [--report]
       ./run bench connect [--eps N,N,...] [--rounds N] [--real]
       ./run bench path [--pairs N,N,...]
       ./run bench latency|bandwidth|scale|memory|idle... [--rounds N]
                   [--iterations N] [--quick] [--real]
       ./run bench report

Without a stage: all of them, one after the other. Each leaves its figures in
.cache/log/bench-STAGE.json, one object per line. --report then makes
doc/performance.md of them, with pictures by gnuplot in doc/performance/;
`report` alone does so with the figures that the stages left. --quick: fewer
rounds and endpoints, for a busy machine.

path: what a call of the data path costs on a device that costs nothing:
instructions of the libraries alone, and over those of a program of verbs that
does the same; of them such as lock the bus; nanoseconds by either; and misses of
a cache of 32 KiB for a message sent and received, by so many pairs of endpoints
in turn. No guest is needed. Counts are those of the compiler that is there;
nanoseconds are this machine's of this moment. What counts may be at most is in
doc/architecture.md, and judged by `./run test --only path`. The figures are
left in .cache/log/bench-path.json, one object per line.
  --pairs   numbers of pairs (1,10,100,1000)

connect: connections and disconnections per second and memory per connected
endpoint, of each provider over soft-RoCE in one guest, and of the historic
providers beside them (Debian's packages, unpacked, not installed; ucm of theirs
cannot run on RoCE). "floor": what the kernel takes for the same connections and
messages without a library. "burst": all at once; "serial": one after the other.
  --eps     numbers of endpoints (16,256,1000)
  --rounds  repetitions; medians are shown (3)
  --real    real time; by default the guest's clock counts instructions, so
            that the load of this machine has no say

latency, bandwidth: one connection over soft-RoCE, 8 B to 4 MiB, polling and
waiting: verbs alone, each provider and the historic ones in the same loops
(test/bench/pingpong.c), and perftest, libfabric and UCX by programs of their
own; and what latency at 8 B is over verbs. Who polls and finds nothing hands the
processor over, as both ends share the only one; with --real each has its own.
scale: 64 processes, each connected with each other. memory: heap that the
libraries ask for, of an adapter and of its endpoints. idle: how often threads of
an adapter with 100 connections wake up. Several of these together share a boot.
  --rounds      repetitions, in which stacks take turns; medians are shown (3)
  --iterations  rounds of a ping-pong, or messages, at most (200)
  --quick       50 of them, to 64 KiB, in two rounds, the second of 8 bytes only
  --real        real time, and two processors
E
}

# The median of each figure, client's side; ratios to the historic stack of
# the same provider, and shares of the floor's rate.
bench_connect_table()
{
    jq -rs '
        def med: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
        def key: "\(.endpoints) \(.window)";
        map(select(.role == "client")) | group_by([.endpoints, .window, .stack])
        | map({endpoints: .[0].endpoints, window: .[0].window, stack: .[0].stack,
               complete: "\([.[] | select(.rc == 0)] | length)/\(length)",
               up: [.[].connects_per_s] | med, down: [.[].disconnects_per_s] | med,
               kb: [.[].kB_per_endpoint] | med}) as $rows
        | ["endpoints", "mode", "stack", "connects/s", "of floor", "ratio", "disconnects/s",
           "ratio", "kB/endpoint", "complete"],
          ($rows[] | . as $r
           | ($r.stack | sub("ours"; "historic") | sub("ucm"; "scm")) as $peer
           | ([$rows[] | select(.stack == $peer and key == ($r | key))] | first) as $h
           | ($r.stack | sub("ours|historic"; "floor")) as $least
           | ([$rows[] | select(.stack == $least and key == ($r | key))] | first) as $f
           | def ratio(a; b): if a == null or b == null or b == 0 then "-"
                              else (a / b * 100 | round / 100) end;
           [$r.endpoints, (if $r.window == 0 then "burst" else "serial" end), $r.stack,
            $r.up, ratio($r.up; $f.up), ratio($r.up; $h.up), $r.down // "-",
            ratio($r.down; $h.down), $r.kb // "-", $r.complete])
        | map(tostring) | @tsv' "$1" | bench_columns
    echo
    echo "ratio: to the historic stack; of ucm, which has none on RoCE, to the historic scm"
    echo "of floor: share of what the kernel alone does; of cma, the sum of cmtime's steps"
}

bench_connect()
{
    local eps=16,256,1000 rounds=3 dir=$h_top/build-gcc out=$h_tmp/bench limit=60 icount=yes rc

    while [ $# -gt 0 ]; do
        case $1 in
        --eps) [[ ${2-} =~ ^[0-9]+(,[0-9]+)*$ ]] || usage_error "bench: --eps N,N,..."; eps=$2; shift ;;
        --rounds) is_count "${2-}" || usage_error "bench: --rounds N"; rounds=$2; shift ;;
        --real) icount=no ;;
        *) usage_error "bench: unknown option $1" ;;
        esac
        shift
    done
    . "$h_top/test/interop/fetch.sh"
    # shellcheck disable=SC2086
    need_packages "build and measure" $build_packages $vm_packages jq bsdextrautils || return 1
    mkdir -p "$dir" "$out"
    build_tree "$dir" gcc && build_stage "$dir" "$dir/stage" || return 1
    make -C "$dir" test/bench/connrate test/bench/connfloor >"$out/make.log" 2>&1 || { cat "$out/make.log" >&2; return 1; }
    interop_fetch
    [ -n "$interop_debian" ] || say "bench: without the historic packages: $interop_reason"
    (
        vm_defaults
        vm_opt_timeout=$((rounds * 1200))
        vm_opt_out=$out
        vm_opt_icount=$icount
        cd "$h_top" || exit 1
        vm_run_guest env STAGE="$dir/stage/usr/local" DEBIAN_DAPL="$interop_debian" \
            CONNRATE="$dir/test/bench/.libs/connrate" CONNFLOOR="$dir/test/bench/connfloor" EPS="$eps" ROUNDS="$rounds" LIMIT="$limit" \
            bash "$h_top/test/bench/connect-guest.sh"
    ) 2> >(bench_follow) >"$out/json"
    rc=$?
    h_wipe
    [ -s "$out/json" ] || { say "bench: no figures"; return 1; }
    mkdir -p "$h_cache/log"
    cp "$out/json" "$h_cache/log/bench-connect.json"
    bench_connect_table "$out/json"
    return $rc
}

bench_path_table()
{
    jq -rs '
        (["call", "alone", "over verbs", "counting", "plain", "locked", "ns", "ns of verbs"],
         (.[] | select(.call) | [.call, .alone, .over, .counting, .plain, .locked, .ns // "-",
                .ns_verbs // "-"]))
        | map(tostring) | @tsv' "$1" | bench_columns
    echo
    jq -rs '
        (["pairs in turn", "misses a message"], (.[] | select(.pairs) | [.pairs, .d1_misses]))
        | map(tostring) | @tsv' "$1" | bench_columns
}

bench_path()
{
    local pairs=1,10,100,1000 dir=$h_top/build-gcc out=$h_tmp/path n

    while [ $# -gt 0 ]; do
        case $1 in
        --pairs) [[ ${2-} =~ ^[0-9]+(,[0-9]+)*$ ]] || usage_error "bench: --pairs N,N,..."; pairs=$2; shift ;;
        *) usage_error "bench: unknown option $1" ;;
        esac
        shift
    done
    # shellcheck disable=SC2086
    need_packages "build and measure" $build_packages valgrind binutils jq bsdextrautils || return 1
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror && path_prepare "$dir" "$out" || return 1
    path_run "$dir" "$out" "$dir/test/bench/.libs/path" time >"$out/times" || return 1
    path_counts "$dir" "$out" >"$out/json" || return 1
    for n in ${pairs//,/ }; do
        path_pairs "$dir" "$out" "$n" >>"$out/json" || return 1
    done
    mkdir -p "$h_cache/log"
    cp "$out/json" "$h_cache/log/bench-path.json"
    bench_path_table "$out/json"
}

# The guest's remarks: progress, and what the user should see.
bench_follow()
{
    local line

    while IFS= read -r line; do
        case $line in
        @*) progress "bench: ${line#@}" ;;
        *) say "$line" ;;
        esac
    done
}

# bench_all [--quick] [--report]
bench_all()
{
    local rc=0 report=no connect=() measure=()

    while [ $# -gt 0 ]; do
        case $1 in
        --report) report=yes ;;
        --quick) connect=(--eps "16,256" --rounds 1) measure=(--quick) ;;
        *) usage_error "bench: unknown option $1" ;;
        esac
        shift
    done
    bench_path || rc=1
    bench_connect "${connect[@]}" || rc=1
    # shellcheck disable=SC2086
    bench_measure $measure_stages "${measure[@]}" || rc=1
    [ $report = no ] || report_make || rc=1
    return $rc
}

cmd_bench()
{
    case ${1-} in
    -h | --help) bench_usage ;;
    connect) shift; bench_connect "$@" ;;
    path) shift; bench_path "$@" ;;
    latency | bandwidth | scale | memory | idle) bench_measure "$@" ;;
    report) report_make ;;
    '' | --*) bench_all "$@" ;;
    *) usage_error "bench: unknown benchmark '$1'" ;;
    esac
}
