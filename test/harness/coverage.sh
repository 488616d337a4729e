# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# coverage.sh: `./run coverage`: builds with gcov's counters, runs `make check`
# and lists the share of lines reached, one row per source file of the
# libraries and tools (not of the tests). No target is enforced here.

coverage_table()
{
    local dir=$1 f

    find "$dir" -name '*.gcda' -not -path '*/test/unit/*' -not -path '*/test/fuzz/*' |
        while read -r f; do
            # Out of libtool's object the same source can be counted twice.
            (cd "$dir" && gcov -n "$f" 2>/dev/null)
        done | awk -v top="$h_top/" '
        /^File / {
            file = substr($0, 7); sub(/\x27$/, "", file)
            sub("^\\.\\./", "", file)
            if (index(file, top) == 1) file = substr(file, length(top) + 1)
            next
        }
        /^Lines executed:/ && file ~ /^(dat|dapl|test\/dtest(cm|srq)?|test\/dapltest)\/.*\.c$/ {
            split($0, a, /[:%]| of /); pct = a[2] + 0; n = $NF + 0
            hit = pct * n / 100
            if (!(file in lines) || hit > hits[file]) { lines[file] = n; hits[file] = hit }
            file = ""
        }
        END {
            for (f in lines) {
                printf "%-48s %6d %6.1f %%\n", f, lines[f], 100 * hits[f] / lines[f] | "sort"
                tl += lines[f]; th += hits[f]
            }
            close("sort")
            if (!tl) { print "no counters were written"; exit 1 }
            printf "%-48s %6d %6.1f %%\n", "all", tl, 100 * th / tl
        }'
}

cmd_coverage()
{
    local dir=$h_top/build-cov rc=0

    case ${1-} in
    '') ;;
    -h | --help) echo "usage: ./run coverage"; return 0 ;;
    *) usage_error "coverage: unknown option $1" ;;
    esac
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    build_tree "$dir" coverage CC=gcc --enable-coverage || return 1
    find "$dir" -name '*.gcda' -delete
    logged "$dir/check.out" "coverage: make check" make -C "$dir" -k -j"$build_jobs" check || rc=1
    h_wipe
    printf '%-48s %6s %8s\n' file lines reached
    coverage_table "$dir" || return 1
    return $rc
}
