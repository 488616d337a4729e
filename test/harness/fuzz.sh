# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# fuzz.sh: `./run fuzz`: one fuzz target, or each of them, for a number of
# executions, with clang's fuzzer and sanitizers. The targets are below
# test/fuzz/ (the file targets); none is here.

fuzz_script=$h_top/test/fuzz/run-fuzz.sh

fuzz_usage()
{
    cat <<'E'
usage: ./run fuzz [--keep] [TARGET...] [RUNS]     (all targets, 1000000)

A target begins with its corpus, test/fuzz/corpus/TARGET, and runs under the
address and undefined-behaviour sanitizers. --keep adds to that corpus, in its
folder grown, what was found and reaches more. At the end it prints, for each
source that the targets consist of (parsers and protocol), how many lines all
inputs together reach.
E
}

# fuzz_coverage LOG...: a source that targets have in common once, as the one
# that reaches most of it does.
fuzz_coverage()
{
    awk '/^coverage: / {
            if (!($2 in row) || $5 + 0 > most[$2]) { row[$2] = $0; most[$2] = $5 + 0 }
        }
        END { for (f in row) print row[f] | "sort" }' "$@"
}

cmd_fuzz()
{
    local runs=1000000 all target targets='' keep=''

    all=$(sh "$fuzz_script" --list)
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help)
            fuzz_usage
            echo "targets:" $all
            return 0
            ;;
        --keep) keep=--keep ;;
        [0-9]*) is_count "$1" || usage_error "fuzz: '$1' is not a number of runs"; runs=$1 ;;
        *)
            printf '%s\n' "$all" | grep -qxF -e "$1" || usage_error "fuzz: no target '$1'; there are:" $all
            targets+=" $1"
            ;;
        esac
        shift
    done
    need_packages "fuzz" clang llvm gcc libc6-dev libibverbs-dev || return 1
    for target in ${targets:-$all}; do
        say "fuzz: $target, $runs executions"
        # shellcheck disable=SC2086
        sh "$fuzz_script" $keep "$target" "$runs" 2>&1 | tee -a "$h_tmp/fuzz.out"
        [ "${PIPESTATUS[0]}" = 0 ] || return 1
    done
    fuzz_coverage "$h_tmp/fuzz.out"
}
