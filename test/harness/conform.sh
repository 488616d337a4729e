# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# conform.sh: `./run conform`: the conformance suite on the fake device and on
# those of the guest, and its results as doc/conformance-results.md.
# It contains no case and makes no figure: test/conform/matrix writes the
# tables, and only when every run is complete. A failed case is in the table
# and makes the exit status 1.

conform_page=doc/conformance-results.md

conform_usage()
{
    cat <<E
usage: ./run conform

Runs the conformance suite, for DAT 2.0 and 1.2, on the fake device (as
InfiniBand, RoCE, iWARP and soft-iWARP adapter) and, in the guest, on soft-RoCE
and soft-iWARP, and writes the result of each case into $conform_page.
E
}

conform_head()
{
    cat <<E
# Results of the conformance suite

Made by \`./run conform\`; do not edit. What the cases are:
\`test/conform/README.md\`. Where old programs decide instead of the
specification: \`doc/conformance.md\`. The guest's kernel was Linux $1.

E
}

# conform_fake DIR OUT, conform_guest DIR OUT: leave one TAP file per run. Of
# failed cases only those files tell; a guest that failed is an exit code.
conform_fake()
{
    logged "$2/fake.log" "conform: building" make -C "$1" -j"$build_jobs" \
        test/conform/conform_fake test/conform/conform1_fake || return 1
    say "running on the fake device"
    top_srcdir=$h_top top_builddir=$1 CONFORM_OUT=$2 \
        sh "$h_top/test/conform/t_conform_fake.sh" >"$2/fake.log" 2>&1
}

conform_guest()
{
    local dir=$1 out=$2

    say "running on soft-RoCE and soft-iWARP, some minutes"
    (
        vm_defaults
        vm_opt_out=$out
        vm_opt_timeout=3000
        cd "$h_top" || exit 1
        # shellcheck disable=SC2016
        vm_run_guest env CONFORM_ALL=yes STAGE="$dir/stage/usr/local" BUILD="$dir" sh -c '
            uname -r >"$VM_OUT/kernel"
            exec bash test/interop/t_conform.sh'
    ) >"$out/guest.log"
}

# fake-KIND.tap makes a column "fake KIND", t_conform/NAME.tap a column NAME.
conform_table()
{
    local out=$1 f name columns=()

    for f in "$out"/fake-*.tap "$out"/t_conform/*.tap; do
        name=$(basename "$f" .tap)
        columns+=("${name/#fake-/fake }=$f")
    done
    conform_head "$(cat "$out/kernel")" >"$out/page" &&
        "$h_top/test/conform/matrix" "${columns[@]}" >>"$out/page" &&
        cp "$out/page" "$h_top/$conform_page"
}

cmd_conform()
{
    local dir=$h_top/build-gcc out=$h_cache/log/conform bad rc

    case ${1-} in
    '') ;;
    -h | --help) conform_usage; return 0 ;;
    *) usage_error "conform: unknown option $1" ;;
    esac
    # shellcheck disable=SC2086
    need_packages "build and run the suite" $build_packages python3 || return 1
    rm -rf "$out"
    mkdir -p "$out"
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror &&
        build_stage "$dir" "$dir/stage" || return 1
    conform_fake "$dir" "$out"
    conform_guest "$dir" "$out"
    rc=$?
    h_wipe
    if [ $rc != 0 ] || ! conform_table "$out"; then
        say "conform: not every run is complete, $conform_page is as it was; logs: $out"
        return 1
    fi
    bad=$(cat "$out"/*.tap "$out"/t_conform/*.tap | grep -c '^not ok')
    echo "conform: $bad failed; see $conform_page"
    [ "$bad" = 0 ]
}
