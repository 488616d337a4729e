# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# measure.sh: the stages of `./run bench` that are test/bench/guest.sh: latency,
# bandwidth, scale, memory and idle, in one boot of a guest. Rows go into
# $h_cache/log/bench-STAGE.json, one object per line. Sourced by ./run.

measure_stages="latency bandwidth scale memory idle"
measure_peers="perftest ucx-utils libfabric-bin"

# Packages that measure, and what they need that is not installed, unpacked into
# the cache and not installed, as Debian's dapl is. Such as are installed are
# found where they are.
measure_fetch_locked()
{
    local new=$h_cache/.new-peers deb

    [ ! -e "$h_cache/peers/ready" ] || return 0
    rm -rf "$new" "$h_cache/peers" "$h_tmp/peers"
    mkdir -p "$new/usr" "$h_tmp/peers/partial"
    # shellcheck disable=SC2086
    logged "$h_tmp/peers.log" "fetching $measure_peers" \
        apt-get -qy --no-install-recommends --download-only -o APT::Sandbox::User=root \
        -o Debug::NoLocking=1 -o Dir::Cache::archives="$h_tmp/peers" install $measure_peers ||
        return 1
    for deb in "$h_tmp"/peers/*.deb; do
        [ ! -e "$deb" ] || dpkg-deb -x "$deb" "$new" || return 1
    done
    # What installing it would link; libfabric does not load without.
    for deb in "$new"/usr/lib/libpsm1/*.so.1.*; do
        [ ! -e "$deb" ] || ln -s "../libpsm1/${deb##*/}" \
            "$new/usr/lib/x86_64-linux-gnu/libpsm_infinipath.so.1"
    done
    : >"$new/ready"
    mv "$new" "$h_cache/peers"
}

# Result: measure_peers_dir (a directory, or empty) and measure_no_peers.
measure_fetch()
{
    measure_peers_dir=
    measure_no_peers=
    if have apt-get && locked peers measure_fetch_locked; then
        measure_peers_dir=$h_cache/peers
    else
        measure_no_peers="$measure_peers cannot be fetched"
    fi
}

# measure_run STAGES ROUNDS ITERS ICOUNT QUICK: 0, or the guest's exit code. Sizes
# that take long are of the first round only; if it is to be quick, they are left
# out, and all but the least are of the first round.
measure_run()
{
    local stages=$1 rounds=$2 iters=$3 icount=$4 quick=$5
    local sizes=8,64,512,4096,65536 once=1048576,4194304
    local peer_sizes=8,4096,65536 peer_once=1048576
    local dir=$h_top/build-gcc out=$h_tmp/measure stage rc

    if [ "$quick" = yes ]; then
        once=${sizes#*,} sizes=8
        peer_once=${peer_sizes#*,} peer_sizes=8
    fi
    . "$h_top/test/interop/fetch.sh"
    # shellcheck disable=SC2086
    need_packages "build and measure" $build_packages $vm_packages jq bsdextrautils || return 1
    mkdir -p "$dir" "$out" "$h_cache/log"
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror && build_stage "$dir" "$dir/stage" || return 1
    logged "$out/make.log" "building what measures" make -C "$dir" \
        test/bench/{pingpong,rest,alltoall,yieldpoll.la} || return 1
    interop_fetch
    [ -n "$interop_debian" ] || say "bench: without the historic packages: $interop_reason"
    measure_fetch
    [ -n "$measure_peers_dir" ] || say "bench: without others' programs: $measure_no_peers"
    (
        vm_defaults
        vm_opt_timeout=$((600 + rounds * 1200))
        vm_opt_out=$out
        vm_opt_icount=$icount
        cd "$h_top" || exit 1
        vm_run_guest env STAGE="$dir/stage/usr/local" DEBIAN_DAPL="$interop_debian" \
            PROGRAMS="$dir/test/bench" PEERS="$measure_peers_dir" NO_PEERS="$measure_no_peers" \
            STAGES="$stages" ROUNDS="$rounds" ITERS="$iters" BYTES=1048576 LIMIT=600 \
            SIZES="$sizes" ONCE="$once" PEER_SIZES="$peer_sizes" PEER_ONCE="$peer_once" \
            WINDOWS=1,4,64 \
            bash "$h_top/test/bench/guest.sh"
    ) 2> >(bench_follow) >"$out/json"
    rc=$?
    h_wipe
    for stage in $stages; do
        {
            grep -a "^{\"stage\":\"$stage\"," "$out/json"
            [ $rc = 0 ] || echo "{\"stage\":\"$stage\",\"stack\":\"what is missing\"," \
                "\"why\":\"the guest ended early, exit code $rc\"}"
        } >"$h_cache/log/bench-$stage.json"
    done
    return $rc
}

# measure_jq STAGE EXPRESSION: a table of the rows that the stage left.
measure_jq()
{
    jq -rs -L "$h_top/test/bench" "include \"table\"; $2" "$h_cache/log/bench-$1.json" | bench_columns
}

# measure_table TITLE STAGE EXPRESSION; nothing if it has no lines.
measure_table()
{
    local text

    [ "$(bench_form=tsv measure_jq "$2" "$3" | wc -l)" -gt 1 ] || return 0
    text=$(measure_jq "$2" "$3")
    printf '\n%s\n\n%s\n' "$1" "$text"
}

measure_show_latency()
{
    measure_table "8 bytes, over verbs: median (least to most of the rounds)" latency ratio_table
    measure_table "Send, polling, us" latency 'latency_table("send"; "poll")'
    measure_table "Send, waiting, us" latency 'latency_table("send"; "wait")'
    measure_table "RDMA write, polling, us" latency 'latency_table("write"; "poll")'
}

measure_show_bandwidth()
{
    measure_table "Send, 16 under way, polling, MB/s" bandwidth 'bandwidth_table("send"; "poll")'
    measure_table "Send, 16 under way, waiting, MB/s" bandwidth 'bandwidth_table("send"; "wait")'
    measure_table "RDMA write, 16 under way, polling, MB/s" bandwidth 'bandwidth_table("write"; "poll")'
    measure_table "RDMA write of 8 bytes, messages a second, by how many are under way" \
        bandwidth window_table
}

measure_show_scale()
{
    measure_table "Processes, each connected with each other" scale scale_table
}

measure_show_memory()
{
    measure_table "Bytes: of an adapter, and of an endpoint of 16 receives and 16 requests" \
        memory memory_table
}

measure_show_idle()
{
    measure_table "An adapter with connections on which nothing happens" idle idle_table
}

# measure_show STAGE
measure_show()
{
    "measure_show_$1"
    measure_table "Not measured" "$1" why_table
}

bench_measure()
{
    local stages="" rounds=3 iters=200 icount=yes quick=no stage rc

    while [ $# -gt 0 ]; do
        case $1 in
        latency | bandwidth | scale | memory | idle) stages+="$1 " ;;
        --rounds) is_count "${2-}" || usage_error "bench: --rounds N"; rounds=$2; shift ;;
        --iterations) is_count "${2-}" || usage_error "bench: --iterations N"; iters=$2; shift ;;
        --real) icount=no ;;
        --quick) quick=yes rounds=2 iters=50 ;;
        *) usage_error "bench: unknown option $1" ;;
        esac
        shift
    done
    measure_run "$stages" "$rounds" "$iters" "$icount" "$quick"
    rc=$?
    for stage in $stages; do
        [ ! -s "$h_cache/log/bench-$stage.json" ] || measure_show "$stage"
    done
    return $rc
}
