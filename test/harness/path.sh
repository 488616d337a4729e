# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# path.sh: what a call of the data path costs: runs test/bench/path of a build
# directory, whose libraries are the ones that are measured. For `./run bench
# path` and stage `path` of `./run test`. Sourced by ./run.

path_provider=openib_cma/.libs/libdaplofa.so.2 # the data path of all is one
# A cache that does not depend on the machine's.
path_caches="--cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64"
path_rounds=4 # of a turn, in path.c
path_batch=256

# path_run DIR OUT COMMAND...: with the libraries of DIR.
path_run()
{
    local dir=$1 out=$2

    shift 2
    LD_LIBRARY_PATH=$dir/dat/.libs DAT_OVERRIDE=$out/dat.conf "$@"
}

# path_callgrind DIR OUT PREFIX ARGUMENT... -- VALGRIND-OPTION...: dumps
# OUT/PREFIX.1 and so on. path_before: words in front of the command.
path_callgrind()
{
    local dir=$1 out=$2 prefix=$3 arguments=()

    shift 3
    while [ "$1" != -- ]; do
        arguments+=("$1")
        shift
    done
    shift
    rm -f "$out/$prefix".*
    path_run "$dir" "$out" timeout 300 ${path_before:-} valgrind --tool=callgrind --collect-atstart=no \
        --compress-strings=no --compress-pos=no --callgrind-out-file="$out/$prefix" "$@" \
        "$dir/test/bench/.libs/path" "${arguments[@]}" >"$out/$prefix.log" 2>&1 ||
        { cat "$out/$prefix.log" >&2; return 1; }
}

# path_locked LIBRARY: its instructions that lock the bus.
path_locked()
{
    objdump -d --no-show-raw-insn "$1" |
        awk -v object="$(basename "$(readlink -f "$1")")" '
            $2 == "lock" || ($2 ~ /^xchg/ && /\(/) { sub(/:/, "", $1); print "locked", object, "0x" $1 }'
}

# path_prepare DIR OUT
path_prepare()
{
    mkdir -p "$2"
    echo "path u2.0 threadsafe default $1/dapl/$path_provider dapl.2.0 \"10.0.0.1 0\" \"\"" \
        >"$2/dat.conf"
    make -C "$1" test/bench/path test/no_membarrier >"$2/make.log" 2>&1 || { cat "$2/make.log" >&2; return 1; }
}

# path_counts DIR OUT: JSON of the calls on standard output; with times, if
# OUT/times is there.
path_counts()
{
    local dir=$1 out=$2 dumps

    DAPL_COUNTERS='' path_callgrind "$dir" "$out" calls count -- --dump-instr=yes || return 1
    DAPL_COUNTERS=json path_callgrind "$dir" "$out" counting count -- || return 1
    DAPL_COUNTERS='' path_before=$dir/test/no_membarrier path_callgrind "$dir" "$out" plain count -- || return 1
    {
        path_locked "$dir/dat/.libs/libdat2.so.2"
        path_locked "$dir/dapl/$path_provider"
        [ ! -e "$out/times" ] || sed 's/^/time\t/' "$out/times"
    } >"$out/facts"
    mapfile -t dumps < <(find "$out" -name 'calls.[0-9]*' -o -name 'counting.[0-9]*' \
        -o -name 'plain.[0-9]*' | sort -V)
    awk -v batch=$path_batch -f "$h_top/test/bench/path.awk" "$out/facts" "${dumps[@]}"
}

# path_pairs DIR OUT N: JSON of so many pairs.
path_pairs()
{
    # shellcheck disable=SC2086
    path_callgrind "$1" "$2" "pairs$3" pairs "$3" -- --instr-atstart=no $path_caches || return 1
    awk -v pairs="$3" -v rounds=$path_rounds -f "$h_top/test/bench/path.awk" "$2/pairs$3.1"
}

# path_check JSON: TAP of whether the counts are within the budgets.
path_check()
{
    awk -f "$h_top/test/bench/budget.awk" "$h_top/doc/architecture.md" "$1"
}
