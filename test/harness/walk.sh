# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# walk.sh: `./run walk`: builds the random walks of both versions of DAT and
# runs them over each provider. What they check is in test/walk/; nothing is here.

# Every provider over every kind of device that it connects; and some of these that
# have more to say, or say it late.
walk_rows="cma-iwarp cma-irdma-iwarp cma-erdma cma-cxgb4 cma-siw
    cma-mlx5+restless scm-hns+restless ucm-mlx4+restless cma-siw+restless
    cma-irdma+late ucm-irdma+late scm-bnxt_re+restless+late"
for kind in ib roce mlx5 mlx4 mlx5-roce irdma bnxt_re hns qedr rxe; do
    walk_rows+=" cma-$kind scm-$kind ucm-$kind"
done

walk_usage()
{
    cat <<'U'
usage: ./run walk [--seeds N] [--calls M] [--seed S] [--rows 'CM-KIND ...']
                  [--dat VERSION] [--still]

  --seeds N   walks of each row and version, default 300
  --calls M   calls of each walk, default 500
  --seed S    the first seed, default 1
  --rows R    provider and kind of device, 'cma-ib scm-mlx5+restless' ...;
              default: each provider over each kind
  --dat V     2.0 or 1.2, default both
  --still     nobody connects
U
}

walk_programs="test/walk/walk test/walk/walk1"

# walk_run DIR SEEDS CALLS FIRST ROWS [STILL [PROGRAMS]]: TAP; STILL: nobody connects
walk_run()
{
    top_srcdir=$h_top top_builddir=$1 WALK_SEEDS=$2 WALK_CALLS=$3 WALK_FIRST=$4 \
        WALK_ROWS=$5 WALK_STILL=${6-} WALK_PROGRAMS=${7-} CC=gcc sh "$h_top/test/walk/t_walk.sh"
}

cmd_walk()
{
    local dir=$h_top/build-gcc seeds=300 calls=500 first=1 rows=$walk_rows programs="" still=""

    while [ $# -gt 0 ]; do
        case $1 in
        --seeds) seeds=${2-}; shift ;;
        --calls) calls=${2-}; shift ;;
        --seed) first=${2-}; shift ;;
        --rows) rows=${2-}; shift ;;
        --still) still=yes ;;
        --dat)
            case ${2-} in
            2.0) programs=walk ;;
            1.2) programs=walk1 ;;
            *) usage_error "walk: --dat is 2.0 or 1.2" ;;
            esac
            shift
            ;;
        -h | --help) walk_usage; return 0 ;;
        *) usage_error "walk: unknown option $1 (see ./run walk --help)" ;;
        esac
        shift
    done
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror || return 1
    # shellcheck disable=SC2086
    logged "$dir/make.out" "walks: make" \
        make -C "$dir" -j"$build_jobs" $walk_programs || return 1
    walk_run "$dir" "$seeds" "$calls" "$first" "$rows" "$still" "$programs"
}
