# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# hostile.sh: `./run hostile`: SCM and UCM on a hostile network, over soft-RoCE
# in the guest, for minutes. What is done and judged is in test/hostile/; the
# short run of it is a script of the interop stage.

hostile_usage()
{
    cat <<'E'
usage: ./run hostile [--minutes M] [--attackers N] [--half-open N] [--good N]
                     [--seed N]

Phases of 10 s without and with an attack take turns, M (4) minutes for each of
SCM and UCM, while an honest client connects, transfers and disconnects. Printed
are the latencies of its connects and their ratio, what was sent a second, and
memory and descriptors of the process.

  --attackers N   threads that attack as fast as they can (2)
  --half-open N   connections to SCM that they leave half-open (256)
  --good N        of so many messages one is a good request (64): the server has
                  to answer it, and its consumer's time is what is attacked
  --seed N        of what is sent (1)

The exit status is 0 if every honest connection came up and brought its data,
and memory and descriptors stayed within bounds.
E
}

cmd_hostile()
{
    local dir=$h_top/build-gcc out=$h_cache/log/hostile minutes=4 options='-t 10' rc

    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) hostile_usage; return 0 ;;
        --minutes | --attackers | --half-open | --good | --seed)
            is_count "${2-}" || usage_error "hostile: $1 takes a number from 1 up" ;;
        *) usage_error "hostile: unknown option $1" ;;
        esac
        case $1 in
        --minutes) minutes=$2 ;;
        --attackers) options+=" -a $2" ;;
        --half-open) options+=" -o $2" ;;
        --good) options+=" -g $2" ;;
        --seed) options+=" -S $2" ;;
        esac
        shift 2
    done
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror &&
        build_stage "$dir" "$dir/stage" || return 1
    rm -rf "$out"
    mkdir -p "$out"
    (
        vm_defaults
        vm_opt_timeout=$((minutes * 120 + 900))
        vm_opt_out=$out
        cd "$h_top" || exit 1
        vm_run_guest env STAGE="$dir/stage/usr/local" BUILD="$dir" DEBIAN_DAPL= \
            HOSTILE="$options -r $((minutes * 3))" HOSTILE_LIMIT=$((minutes * 60 + 300)) \
            bash "$h_top/test/interop/t_hostile.sh"
    ) | tee "$out/tap"
    rc=${PIPESTATUS[0]}
    [ "$rc" = 0 ] && grep -q '^1\.\.' "$out/tap" && ! grep -q '^not ok' "$out/tap"
}
