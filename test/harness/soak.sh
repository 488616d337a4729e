# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# soak.sh: `./run soak`: a load (test/load) on the guest's devices for as long as
# wanted. It decides nothing: what may not grow, and what has to be as it was, is
# in test/load/rest.c and test/load/at-rest.sh.

soak_usage()
{
    cat <<'E'
usage: ./run soak [--minutes M] [--provider P] [--ranks N] [--seed S]

Connects, exchanges checked data, disconnects in any order and opens anew, again
and again, on soft-RoCE and soft-iWARP in a guest. Every 8 cycles everything is
closed: then descriptors, threads, heap, resident memory and the kernel's objects
(rdma resource) are counted, and shown; in the second half none may grow.

  --minutes M   of each provider, default 5
  --provider P  cma, scm, ucm or cma-iw (soft-iWARP); default: each
  --ranks N     processes, default 4
  --seed S      of sizes, orders and delays; default: another one each time
E
}

cmd_soak()
{
    local dir=$h_top/build-gcc minutes=5 providers="cma scm ucm cma-iw" ranks=4 seed=$RANDOM
    local vm_opt_timeout

    vm_defaults
    while [ $# -gt 0 ]; do
        case $1 in
        --minutes) vm_need_count "$1" "${2-}"; minutes=$2; shift ;;
        --provider)
            case ${2-} in
            cma | scm | ucm | cma-iw) providers=$2 ;;
            *) usage_error "soak: --provider is cma, scm, ucm or cma-iw" ;;
            esac
            shift
            ;;
        --ranks) vm_need_count "$1" "${2-}"; ranks=$2; shift ;;
        --seed) vm_need_count "$1" "${2-}"; seed=$2; shift ;;
        -h | --help) soak_usage; return 0 ;;
        *) usage_error "soak: unknown option $1 (see ./run soak --help)" ;;
        esac
        shift
    done
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror &&
        build_stage "$dir" "$dir/stage" || return 1
    # Each provider's last cycle comes after its minutes.
    vm_opt_timeout=$((4 * (minutes + 3) * 60))
    cd "$h_top" || return 1
    vm_run_guest env STAGE="$dir/stage/usr/local" BUILD="$dir" DEBIAN_DAPL='' \
        SOAK_MINUTES="$minutes" SOAK_PROVIDERS="$providers" SOAK_RANKS="$ranks" \
        SOAK_SEED="$seed" bash test/harness/soak-guest.sh
}
