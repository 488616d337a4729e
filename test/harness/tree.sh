#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# tree.sh: processes that do not end. No group and no session has them all: a test
# makes some of its own.
#
# usage: tree.sh list|tell|kill PID
#   list  PID and all that descends from it, one a line
#   tell  what each of their threads does, as comments of TAP; where eu-stack is
#         installed, with its calls
#   kill  ends them: who was listed, even if another ends first
# Input: /proc. An orphan has no ancestor any more, and is not found.

list()
{
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v top="$1" '
        { pid = $1; sub(/^.*\) [A-Za-z] /, ""); of[pid] = $1 }
        END {
            for (pid in of) {
                for (p = pid; p in of && p != top && p > 1; p = of[p])
                    ;
                if (p == top)
                    print pid
            }
        }'
}

# Some end meanwhile, of their own.
tell()
{
    for pid in $(list "$1"); do
        [ -d "/proc/$pid" ] || continue
        printf '# process %s: %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
        for task in /proc/"$pid"/task/*; do
            printf '#   thread %s: %s, %s, in %s\n' "${task##*/}" "$(cat "$task/comm")" \
                "$(sed -n 's/^State:[[:space:]]*//p' "$task/status")" "$(cat "$task/wchan")"
        done
        ! command -v eu-stack >/dev/null ||
            timeout -k 1 20 eu-stack -p "$pid" 2>&1 | sed 's/^/#   /'
    done
}

# Stopped first, or a parent would begin others meanwhile.
end()
{
    pids=$(list "$1")
    # shellcheck disable=SC2086
    kill -STOP $pids
    pids="$pids $(list "$1")"
    # shellcheck disable=SC2086
    kill -KILL $pids
}

case $#,${1-} in
2,list) list "$2" ;;
2,tell) tell "$2" 2>/dev/null ;;
2,kill) end "$2" 2>/dev/null ;;
*)
    echo "usage: tree.sh list|tell|kill PID" >&2
    exit 2
    ;;
esac
