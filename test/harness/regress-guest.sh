# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# regress-guest.sh: the guest's part of `./run regress`: each line of
# $VM_OUT/lines over each row of REGRESS_ROWS of its version of DAT (regress-row.sh).
# A line for the host of each:
# "@provider<tab>name<tab>PASSED, FAILED or SKIPPED<tab>seconds<tab>why".

harness=$(cd "$(dirname "$0")" && pwd -P)
it_dir=$(cd "$harness/../interop" && pwd -P)
# shellcheck source=test/interop/lib.sh
. "$it_dir/lib.sh"
# shellcheck source=test/harness/regress-row.sh
. "$harness/regress-row.sh"

# run_line LINE WORDS
run_line()
{
    local start=$SECONDS verdict why

    judge "$@"
    printf '@%s\t%s\t%s\t%s\t%s\n' "$name" "$1" "$verdict" $((SECONDS - start)) "${why//$'\t'/ }"
}

each_run run_line "$VM_OUT/lines" "$REGRESS_ROWS"
