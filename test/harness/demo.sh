# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# demo.sh: `./run demo`: builds, boots the guest and measures a server and a
# client of dtest over each row of demo_rows; one table at the end. The exit
# status is 0 only if every row passed. Sourced by ./run on the host; the
# guest's part is demo-guest.sh, which reports in lines that begin with '@'.

# provider entry|library|device|ia_params|address variable
demo_rows="ofa-v2-cma-rxe0|libdaplofa.so.2|rxe0|eth0 0|DAPL_VM_RXE_ADDR
ofa-v2-cma-siw0|libdaplofa.so.2|siw0|eth1 0|DAPL_VM_SIW_ADDR
ofa-v2-rxe0-1s|libdaploscm.so.2|rxe0|rxe0 1|DAPL_VM_RXE_ADDR
ofa-v2-rxe0-1u|libdaploucm.so.2|rxe0|rxe0 1|DAPL_VM_RXE_ADDR"

demo_usage()
{
    cat <<'E'
usage: ./run demo

Builds the project, boots a guest with a soft-RoCE and a soft-iWARP device,
runs dtest between a server and a client over each provider (CMA on both
devices, SCM and UCM on soft-RoCE) and shows one table.
E
}

# Live output of the guest: progress here, everything into the log.
demo_follow()
{
    local line

    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in
        @*) progress "demo: ${line#@}" ;;
        esac
    done
}

# One JSON object per line, of every row; the column widths are fixed so that
# two runs can be laid side by side.
demo_table()
{
    jq -rn '
        def num: if type == "number" then . else "-" end;
        ["provider", "device", "test", "bytes", "iterations", "t_min us", "t_typical us",
         "t_avg us", "99 % us", "MB/s", "result"],
        (inputs | select(.test != "summary") | select(.role == null or .role == "client" ) |
         [.provider // "-", .device // "-", .test // "-", (.bytes | num), (.iterations | num),
          (.t_min_us | num), (.t_typical_us | num), (.t_avg_us | num),
          (.p99_us | num), (.bw_avg_MBps | num), .result // "-"])
        | map(tostring | gsub("[\t\n]"; " ")) | @tsv' "$@" |
        awk -F '\t' '
        { n = NF > n ? NF : n; for (i = 1; i <= NF; i++) { v = $i
            if (NR > 1 && i > 5 && i < 11 && v != "-") v = sprintf("%.2f", v)
            c[NR, i] = v
            if (length(v) > w[i]) w[i] = length(v) } }
        END { for (r = 1; r <= NR; r++) { s = ""
            for (i = 1; i <= n; i++) {
                left = i <= 3 || i == n
                s = s sprintf((left ? "%-" : "%") w[i] "s  ", c[r, i]) }
            sub(/ +$/, "", s); print s } }'
}

cmd_demo()
{
    local dir=$h_top/build out rc passed want

    case ${1-} in
    '') ;;
    -h | --help) demo_usage; return 0 ;;
    *) usage_error "demo: unknown option $1" ;;
    esac
    # shellcheck disable=SC2086
    need_packages "build and show the demo" $build_packages $vm_packages jq || return 1
    say "building"
    mkdir -p "$dir"
    build_tree "$dir" build && build_stage "$dir" "$dir/stage" || return 1
    out=$h_tmp/demo
    mkdir -p "$out"
    say "booting a guest with soft-RoCE and soft-iWARP (the first time fetches a kernel)"
    (
        vm_defaults
        vm_opt_timeout=300
        vm_opt_out=$out
        cd "$h_top" || exit 1
        vm_run_guest env STAGE="$dir/stage/usr/local" DEMO_ROWS="$demo_rows" \
            bash "$h_top/test/harness/demo-guest.sh"
    ) | demo_follow >"$out/log"
    rc=${PIPESTATUS[0]}
    h_wipe
    find "$out" -name '*.json' -size +0 | sort >"$out/list"
    if [ -s "$out/list" ]; then
        xargs jq -c . <"$out/list" >"$out/all" 2>/dev/null
        demo_table "$out/all"
    fi
    grep -a '^#' "$out/log" | sed 's/^# *//'
    want=$(grep -ac '^@.*: begin$' "$out/log")
    passed=$(grep -ac '^@.*: PASSED$' "$out/log")
    if [ $rc = 0 ] && [ "$want" -gt 0 ] && [ "$passed" = "$want" ]; then
        echo "demo: all $passed passed"
        return 0
    fi
    mkdir -p "$h_cache/log"
    rm -rf "$h_cache/log/demo"
    cp -r "$out" "$h_cache/log/demo"
    echo "demo: $passed of $want passed; logs: $h_cache/log/demo"
    return 1
}
