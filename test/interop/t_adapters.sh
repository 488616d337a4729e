# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_adapters.sh: many adapters, in turn and at once, over each device and
# provider, where file descriptors are few and as usual (adapters.c).
# Input, besides that of lib.sh: BUILD, where test/interop/adapters was built.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

adapters=$BUILD/test/interop/.libs/adapters
[ -x "$adapters" ] || adapters=$BUILD/test/interop/adapters

# many WHAT LIMITS SOFT HARD
many()
{
    local log=$it_logs/$IT_PROVIDER.$3.$4

    use_stack ours ours
    if "${it_env[@]}" timeout -k 5 200 "$adapters" "$IT_PROVIDER" "$3" "$4" >"$log" 2>&1; then
        ok "$1: many adapters, $2 ($(sed -n 's/^\([0-9]* at once\).*/\1/p' "$log"))"
    else
        not_ok "$1: many adapters, $2"
        diag <"$log"
    fi
}

each_limit()
{
    many "$1" "usual limits" 0 0
    many "$1" "a hard limit of 50" 50 50
}

each_adapter each_limit
done_testing
