# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_hostile.sh: SCM and UCM on a hostile network, over soft-RoCE: an honest
# client is served while others forge, replay and mutate messages as fast as
# they can. The cases are test/hostile's; what it prints of times is not judged.
# Input, besides that of lib.sh: BUILD, where it was built; HOSTILE, options for
# it in place of those of a short run.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

prog=$BUILD/test/hostile/.libs/hostile
[ -x "$prog" ] || prog=$BUILD/test/hostile/hostile
run_limit=${HOSTILE_LIMIT:-240}

use_stack ours ours
for cm in scm ucm; do
    option=
    [ $cm = ucm ] || option=-s
    # shellcheck disable=SC2086
    run_tap $cm "$run_limit" "${it_env[@]}" "$prog" -P ofa-v2-$cm -d rxe0 $option \
        ${HOSTILE:--r 3 -t 3}
done
done_testing
