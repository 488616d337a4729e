# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_load.sh: many ranks, many connections and many listeners on the guest's
# devices, by each provider, with our libraries as they are installed; and some
# cycles after which the kernel has nothing left of ours. What is checked is in
# test/load. `./run soak` is the long form.
# Input, besides that of lib.sh: BUILD, where test/load was built.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

load=$BUILD/test/load/load

# run NAME OPTION...
run()
{
    local name="$IT_PROVIDER: $*" log=$it_logs/load.log how=()

    [ "$IT_PROVIDER" != ofa-v2-cma-iw ] || how=(--iwarp)
    use_stack ours ours
    if timeout -k 5 170 "${it_env[@]}" "$load" --provider "$IT_PROVIDER" --timeout 50 \
        "${how[@]}" "$@" >"$log" 2>&1; then
        ok "$name"
        tail -n 1 "$log" | diag
    else
        not_ok "$name"
        tail -n 20 "$log" | diag
    fi
}

run_all()
{
    run --ranks 16 --connect burst --rounds 2
    run --ranks 8 --connect demand --links 2 --rounds 2
    run --ranks 1 --links 500 --listeners 256 --rounds 1 --size 1024
    run --ranks 3 --cycles 8 --rest 2 --connect mixed \
        --at-rest "sh $(dirname "$0")/../load/at-rest.sh $it_logs/base"
}

rm -f "$it_logs/base"
sh "$(dirname "$0")/../load/at-rest.sh" "$it_logs/base"
each_adapter run_all
done_testing
