# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_regress.sh: the quick lines of `./run regress` with their server on another host,
# over each provider and device: what only works where both ends have one kernel,
# one clock and one list of devices shows here.
# REGRESS, a shell pattern of PROVIDER.LINE, picks some, '*' all; without it those
# are left out that take long, and those of tools that t_tools.sh has.

h_top=$(cd "$(dirname "$0")/../.." && pwd -P)
# shellcheck source=test/interop/lib.sh
. "$h_top/test/interop/lib.sh"
# shellcheck source=test/harness/regress-row.sh
. "$h_top/test/harness/regress-row.sh"
# shellcheck source=test/harness/demo.sh
. "$h_top/test/harness/demo.sh"
# shellcheck source=test/harness/regress.sh
. "$h_top/test/harness/regress.sh"

shopt -s extglob
: "${REGRESS:=*.quick.@(odd|rsp|deferred|many|perf*|Q|T-u|dtestx*|1-[TPQ])}"

# run_line LINE WORDS
run_line()
{
    local verdict why what="$name to another host: $1" start=$SECONDS

    # shellcheck disable=SC2254
    case $name.$1 in $REGRESS) ;; *) return ;; esac
    judge "$@"
    case $verdict in
    PASSED) ok "$what" ;;
    SKIPPED) skip "$what" "$why" ;;
    *)
        not_ok "$what"
        echo "# $why"
        tail -n 4 "$it_logs/$name.$1" | diag
        ;;
    esac
    [ $((SECONDS - start)) -lt 10 ] || echo "# $what: $((SECONDS - start)) s"
}

REGRESS_ITERATIONS=10 REGRESS_LIMIT=60 regress_filter='quick.*'
regress_lines >"$it_logs/lines"
each_run run_line "$it_logs/lines" "$(regress_rows)"
done_testing
