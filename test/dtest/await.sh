# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# await.sh: for scripts that start a tool in the background and interrupt it.
# Sourced by t_pair.sh and t_dapltest_fake.sh. POSIX shell.

# interrupt_at TEXT LOG COMMAND...: SIGINT to the command when the text is in
# its output, or after half a minute. Returns its exit status.
interrupt_at()
{
    text=$1 log=$2 tries=0
    shift 2
    # What an earlier command left must not be taken for its output.
    : >"$log"
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    until grep -q -- "$text" "$log" || [ $tries = 600 ] || ! kill -0 $pid 2>/dev/null; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -INT $pid
    wait $pid
}
