# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# fuzz.sh: `./run fuzz`: one fuzz target, or each of them, for a number of
# executions, with clang's fuzzer and sanitizers. The targets are below
# test/fuzz/ (the file targets); none is here.

fuzz_script=$h_top/test/fuzz/run-fuzz.sh

cmd_fuzz()
{
    local runs=1000000 all target targets=

    all=$(sh "$fuzz_script" --list)
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help)
            echo "usage: ./run fuzz [TARGET...] [RUNS]     (all targets, 1000000)"
            echo "targets:" $all
            return 0
            ;;
        [0-9]*) is_count "$1" || usage_error "fuzz: '$1' is not a number of runs"; runs=$1 ;;
        *)
            printf '%s\n' "$all" | grep -qxF -e "$1" || usage_error "fuzz: no target '$1'; there are:" $all
            targets+=" $1"
            ;;
        esac
        shift
    done
    need_packages "fuzz" clang gcc libc6-dev libibverbs-dev || return 1
    for target in ${targets:-$all}; do
        say "fuzz: $target, $runs executions"
        sh "$fuzz_script" "$target" "$runs" || return 1
    done
}
