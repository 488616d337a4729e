# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# regress.sh: `./run regress`: the command lines of test/regress/ over each
# provider, in one boot of the guest; a counter while they run, one table by
# provider, and a result file in the form of JUnit for other programs. The exit
# status is 0 only if nothing failed and something passed. Sourced by ./run on
# the host, behind demo.sh for its rows; the guest's part is regress-guest.sh,
# which reports in lines that begin with '@'.

regress_usage()
{
    cat <<'E'
usage: ./run regress [--provider PATTERN] [--filter PATTERN] [--iterations N]
                     [--out FILE] [--list]

Runs the command lines of the tools that their users have always run, and many
more, over soft-RoCE and soft-iWARP in a guest.

  --provider PATTERN  only entries of dat.conf that match the shell pattern,
                      or cma, scm or ucm
  --filter PATTERN    only lines whose name matches ('quick.*': a few minutes)
  --iterations N      at most N in each line of dapltest (20); 0: as written,
                      which takes hours without KVM
  --out FILE          where the results go (.cache/log/regress.xml)
  --list              names and words of the lines
E
}

# The form of the files is described in dapltest.tsv.
regress_expand()
{
    awk -F '\t' '
        function expand(name, text,    n, i, at, len, alt) {
            if (!match(text, /[{][^{}]*[}]/)) {
                gsub(/  +/, " ", text)
                print name "\t" text
                return
            }
            at = RSTART; len = RLENGTH
            n = split(substr(text, at + 1, len - 2), alt, "|")
            for (i = 1; i <= n; i++)
                expand(name "." i, substr(text, 1, at - 1) alt[i] substr(text, at + len))
        }
        !/^#/ { expand($1, $2) }' "$h_top"/test/regress/*.tsv
}

# Names and words of all lines that were asked for.
regress_lines()
{
    local name words

    regress_expand |
        while IFS=$'\t' read -r name words; do
            # shellcheck disable=SC2053
            [[ $name != $regress_filter ]] || printf '%s\t%s\n' "$name" "$words"
        done
}

# The adapters: those of the demo, and the same for the tools of DAT 1.2.
regress_rows()
{
    printf '%s\n' "$demo_rows"
    sed 's/^ofa-v2-/OpenIB-/; s/libdaplofa\.so\.2/libdaplcma.so.1/
        s/libdaplo\([su]cm\)\.so\.2/libdapl\1.so.1/' <<<"$demo_rows"
}

# Rows of providers that were asked for: by name, or as cma, scm or ucm.
regress_providers()
{
    local row kind

    while read -r row; do
        case $row in
        *"|libdaplofa."* | *"|libdaplcma."*) kind=cma ;;
        *scm.so.*) kind=scm ;;
        *) kind=ucm ;;
        esac
        # shellcheck disable=SC2053
        if [[ ${row%%|*} == $regress_provider || $kind == $regress_provider ]]; then
            printf '%s\n' "$row"
        fi
    done <<<"$(regress_rows)"
}

# The guest's output: "@provider<tab>name<tab>verdict<tab>seconds<tab>why".
regress_follow()
{
    local want=$1 line n=0 bad=0

    while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line == @* ]] || continue
        n=$((n + 1))
        [[ $line != *$'\t'FAILED$'\t'* ]] || bad=$((bad + 1))
        progress "regress: $n of $want, $bad failed: ${line%%$'\t'[PFS]*}"
        if [ "$h_tty" = no ] && [ $((n % 20)) = 0 ]; then
            say "  regress: $n of $want, $bad failed"
        fi
    done
}

# One test suite for each provider.
regress_junit()
{
    awk -F '\t' '
        function esc(s) {
            gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s)
            gsub(/>/, "\\&gt;", s); gsub(/"/, "\\&quot;", s)
            gsub(/[^ -~]/, ".", s)
            return s
        }
        {
            p = substr($1, 2)
            if (!(p in n)) order[++suites] = p
            n[p]++; time[p] += $4
            c = sprintf("    <testcase classname=\"%s\" name=\"%s\" time=\"%s\"", esc(p), esc($2), $4)
            if ($3 == "FAILED") { bad[p]++; c = c "><failure message=\"" esc($5) "\"/></testcase>" }
            else if ($3 == "SKIPPED") { skip[p]++; c = c "><skipped message=\"" esc($5) "\"/></testcase>" }
            else c = c "/>"
            text[p] = text[p] c "\n"
        }
        END {
            print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"
            for (i = 1; i <= suites; i++) {
                p = order[i]
                printf "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" skipped=\"%d\" time=\"%.1f\">\n%s  </testsuite>\n",
                    esc(p), n[p], bad[p], skip[p], time[p], text[p]
            }
            print "</testsuites>"
        }'
}

# regress_report RESULTS WANT: the table, each failure, the verdict.
regress_report()
{
    awk -F '\t' -v want="$2" '
        { p = substr($1, 2); if (!(p in n)) order[++m] = p; n[p]++; k[p, $3]++; t[p] += $4
          total[$3]++ }
        $3 == "FAILED" { fails = fails "  " p " " $2 ": " $5 "\n" }
        $3 == "SKIPPED" { skips = skips "  " p " " $2 ": " $5 "\n" }
        END {
            printf "%-20s %7s %7s %8s %9s\n", "provider", "passed", "failed", "skipped", "time"
            for (i = 1; i <= m; i++) { p = order[i]
                printf "%-20s %7d %7d %8d %7d s\n", p, k[p, "PASSED"], k[p, "FAILED"], k[p, "SKIPPED"], t[p] }
            if (fails != "") printf "\nFAILED\n%s", fails
            if (skips != "") printf "\nskipped\n%s", skips
            if (NR != want) printf "\nonly %d of %d lines were run\n", NR, want
            printf "\n%d passed, %d failed, %d skipped\n", total["PASSED"], total["FAILED"], total["SKIPPED"]
            exit total["FAILED"] || !total["PASSED"] || NR != want
        }' "$1"
}

regress_options()
{
    while [ $# -gt 0 ]; do
        case $1 in
        --provider | --filter | --iterations | --out)
            [ -n "${2-}" ] || usage_error "$1 needs a value"
            ;;
        esac
        case $1 in
        --provider) regress_provider=$2; shift ;;
        --filter) regress_filter=$2; shift ;;
        --iterations)
            [[ $2 =~ ^[0-9]{1,9}$ ]] || usage_error "--iterations: '$2' is no number"
            regress_iterations=$((10#$2)); shift ;;
        --out) regress_out=$2; shift ;;
        --list) regress_list=yes ;;
        -h | --help) regress_usage; exit 0 ;;
        *) usage_error "regress: unknown option $1 (see ./run regress --help)" ;;
        esac
        shift
    done
}

# What --provider and --filter leave: $h_tmp/lines, $h_tmp/rows, regress_want.
# A line runs over the rows of its tool's version of DAT.
regress_select()
{
    local lines1 rows1

    regress_lines >"$h_tmp/lines"
    regress_providers >"$h_tmp/rows"
    lines1=$(grep -cE $'\t(dtest|dapltest)1 ' "$h_tmp/lines")
    rows1=$(grep -cE '\.so\.1\|' "$h_tmp/rows")
    regress_want=$((($(wc -l <"$h_tmp/lines") - lines1) * ($(wc -l <"$h_tmp/rows") - rows1) +
        lines1 * rows1))
}

# regress_guest STAGE LOGS SECONDS MB: all that was selected, with what is
# installed in STAGE, in a guest of that memory; results in LOGS/results. The
# guest's exit code.
regress_guest()
{
    local stage=$1 logs=$2 rc

    rm -rf "$logs"
    mkdir -p "$logs"
    cp "$h_tmp/lines" "$logs/lines"
    say "booting a guest for $regress_want runs"
    (
        vm_defaults
        vm_opt_timeout=$3
        vm_opt_mem=$4
        vm_opt_out=$logs
        cd "$h_top" || exit 1
        vm_run_guest env STAGE="$stage" REGRESS_ROWS="$(cat "$h_tmp/rows")" \
            REGRESS_ITERATIONS="$regress_iterations" \
            bash "$h_top/test/harness/regress-guest.sh"
    ) | regress_follow "$regress_want" >"$logs/output"
    rc=${PIPESTATUS[0]}
    h_wipe
    grep -a '^@' "$logs/output" >"$logs/results"
    return $rc
}

cmd_regress()
{
    local dir=$h_top/build logs=$h_cache/log/regress rc

    regress_provider='*' regress_filter='*' regress_iterations=20 regress_list=no
    regress_out=$h_cache/log/regress.xml
    regress_options "$@"
    regress_select
    [ -s "$h_tmp/lines" ] || usage_error "no line matches '$regress_filter'"
    if [ "$regress_list" = yes ]; then
        cat "$h_tmp/lines"
        return 0
    fi
    [ -s "$h_tmp/rows" ] || usage_error \
        "no provider matches '$regress_provider'; there are: $(regress_rows | cut -d'|' -f1 | tr '\n' ' ')"
    [ $regress_want -gt 0 ] || usage_error "none of these lines is for these providers"
    # shellcheck disable=SC2086
    need_packages "build and run the guest" $build_packages $vm_packages || return 1
    say "building"
    mkdir -p "$dir"
    build_tree "$dir" build && build_stage "$dir" "$dir/stage" || return 1
    # A line opens as many adapters as there can be.
    regress_guest "$dir/stage/usr/local" "$logs" 86400 4096
    rc=$?
    [ $rc = 0 ] || say "the guest ended with exit code $rc"
    regress_junit <"$logs/results" >"$regress_out" || die "cannot write $regress_out"
    say "results: $regress_out; logs: $logs"
    regress_report "$logs/results" "$regress_want" && [ $rc = 0 ]
}
