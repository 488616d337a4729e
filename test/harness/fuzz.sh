# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# fuzz.sh: `./run fuzz`: a fuzz target for a number of executions, with clang's
# fuzzer and sanitizers. The targets are below test/fuzz/; none is here.

cmd_fuzz()
{
    local runs=1000000 target=dat_conf

    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help)
            echo "usage: ./run fuzz [TARGET] [RUNS]     (dat_conf, 1000000)"
            return 0
            ;;
        [0-9]*) is_count "$1" || usage_error "fuzz: '$1' is not a number of runs"; runs=$1 ;;
        *)
            [[ $1 =~ ^[a-z0-9_]+$ ]] && [ -e "$h_top/test/fuzz/fuzz_$1.c" ] ||
                usage_error "fuzz: no target '$1' in test/fuzz/"
            target=$1
            ;;
        esac
        shift
    done
    need_packages "fuzz" clang gcc libc6-dev || return 1
    bash "$h_top/test/fuzz/run-fuzz.sh" "$target" "$runs"
}
