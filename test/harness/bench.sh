# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# bench.sh: `./run bench WHAT`: measures, never judges. Times of one boot can
# be compared with one another, and with nothing else. Sourced by ./run.

bench_usage()
{
    cat <<'E'
usage: ./run bench connect [--eps N,N,...] [--rounds N] [--real]
       ./run bench path [--pairs N,N,...]

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
cannot run on RoCE). "burst": all at once; "serial": one after the other.
  --eps     numbers of endpoints (16,256,1000)
  --rounds  repetitions; medians are shown (3)
  --real    real time; by default the guest's clock counts instructions, so
            that the load of this machine has no say
E
}

# The median of each figure, client's side; ratios to the historic stack of
# the same provider.
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
        | ["endpoints", "mode", "stack", "connects/s", "ratio", "disconnects/s", "ratio",
           "kB/endpoint", "complete"],
          ($rows[] | . as $r
           | ($r.stack | sub("ours"; "historic") | sub("ucm"; "scm")) as $peer
           | ([$rows[] | select(.stack == $peer and key == ($r | key))] | first) as $h
           | def ratio(a; b): if b == null or b == 0 then "-" else (a / b * 10 | round / 10) end;
           [$r.endpoints, (if $r.window == 0 then "burst" else "serial" end), $r.stack,
            $r.up, ratio($r.up; $h.up), $r.down, ratio($r.down; $h.down), $r.kb, $r.complete])
        | map(tostring) | @tsv' "$1" | column -t -s "$(printf '\t')"
    echo "ratio: to the historic stack; of ucm, which has none on RoCE, to the historic scm"
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
    make -C "$dir" test/bench/connrate >"$out/make.log" 2>&1 || { cat "$out/make.log" >&2; return 1; }
    interop_fetch
    [ -n "$interop_debian" ] || say "bench: without the historic packages: $interop_reason"
    (
        vm_defaults
        vm_opt_timeout=$((rounds * 1200))
        vm_opt_out=$out
        vm_opt_icount=$icount
        cd "$h_top" || exit 1
        vm_run_guest env STAGE="$dir/stage/usr/local" DEBIAN_DAPL="$interop_debian" \
            CONNRATE="$dir/test/bench/.libs/connrate" EPS="$eps" ROUNDS="$rounds" LIMIT="$limit" \
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
        (["call", "alone", "over verbs", "locked", "ns", "ns of verbs"],
         (.[] | select(.call) | [.call, .alone, .over, .locked, .ns // "-", .ns_verbs // "-"]))
        | map(tostring) | @tsv' "$1" | column -t -s "$(printf '\t')"
    echo
    jq -rs '
        (["pairs in turn", "misses a message"], (.[] | select(.pairs) | [.pairs, .d1_misses]))
        | map(tostring) | @tsv' "$1" | column -t -s "$(printf '\t')"
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

cmd_bench()
{
    case ${1-} in
    -h | --help) bench_usage ;;
    connect) shift; bench_connect "$@" ;;
    path) shift; bench_path "$@" ;;
    '') bench_usage >&2; return 2 ;;
    *) usage_error "bench: unknown benchmark '$1'" ;;
    esac
}
