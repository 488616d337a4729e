# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# soak.sh: `./run soak`: a load (test/load) on the guest's devices for as long as
# wanted. It decides nothing: what may not grow, and what has to be as it was, is
# in test/load/rest.c and test/load/at-rest.sh.

soak_usage()
{
    cat <<'E'
usage: ./run soak [--minutes M | --cycles C] [--provider P] [--ranks N] [--nodes N]
                  [--seed S] [-- OPTION...]

Connects, exchanges checked data, disconnects in any order and opens anew, again
and again, on soft-RoCE and soft-iWARP in guests. Every 8 cycles everything is
closed: then descriptors, threads, heap, resident memory and the kernel's objects
(rdma resource) are counted, and shown; in the second half none may grow.

  --minutes M   of each provider, default 5
  --cycles C    so many instead; in 4 hours at most
  --provider P  cma, scm, ucm or cma-iw (soft-iWARP); default: each
  --ranks N     processes, of all guests; default 4
  --nodes N     guests, which have as many ranks each; default 1, at most 4
  --seed S      of sizes, orders and delays; default: another one each time
  OPTION        of test/load, which goes before those that are chosen here; one that
                is wrong has its list printed. A large job on few processors:
                ./run soak --nodes 4 --ranks 64 --cycles 1 -- --links 1 --connect burst
E
}

cmd_soak()
{
    local dir=$h_top/build-gcc providers="cma scm ucm cma-iw" ranks=4 seed=$RANDOM
    local time=5 how_long="--minutes 5"

    vm_defaults
    while [ $# -gt 0 ]; do
        case $1 in
        --minutes) vm_need_count "$1" "${2-}"; how_long="$1 $2"; time=$2; shift ;;
        --cycles) vm_need_count "$1" "${2-}"; how_long="$1 $2"; time=60; shift ;;
        --provider)
            case ${2-} in
            cma | scm | ucm | cma-iw) providers=$2 ;;
            *) usage_error "soak: --provider is cma, scm, ucm or cma-iw" ;;
            esac
            shift
            ;;
        --ranks) vm_need_count "$1" "${2-}"; ranks=$2; shift ;;
        --nodes) vm_need_count "$1" "${2-}"; vm_opt_nodes=$2; shift ;;
        --seed) vm_need_count "$1" "${2-}"; seed=$2; shift ;;
        -h | --help) soak_usage; return 0 ;;
        --) shift; break ;;
        *) usage_error "soak: unknown option $1 (see ./run soak --help)" ;;
        esac
        shift
    done
    [ "$vm_opt_nodes" -le 4 ] || usage_error "soak: --nodes is at most 4"
    [ $((ranks % vm_opt_nodes)) = 0 ] ||
        usage_error "soak: $ranks ranks cannot be shared evenly by $vm_opt_nodes guests"
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror &&
        build_stage "$dir" "$dir/stage" || return 1
    # Each provider's last cycle comes after its minutes.
    vm_opt_timeout=$((4 * (time + 3) * 60))
    cd "$h_top" || return 1
    vm_run_guest env STAGE="$dir/stage/usr/local" BUILD="$dir" DEBIAN_DAPL='' \
        SOAK_PROVIDERS="$providers" SOAK_RANKS="$ranks" SOAK_SEED="$seed" \
        bash test/harness/soak-guest.sh "${how_long% *}" "${how_long#* }" "$@"
}
