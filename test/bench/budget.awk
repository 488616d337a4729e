# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# budget.awk: TAP of whether the counts of path.awk are within the budgets: the
# last column of the table in doc/architecture.md, which is read first. A row
# that is not measured, or a call without a row, is a failure.

FNR == 1 { file++ }
file == 1 && /^## / { budgets = $2 == "Budgets" }
file == 1 && budgets && split($0, cell, /[ \t]*\|[ \t]*/) == 6 && cell[5] ~ /^[0-9]+$/ {
    most[cell[2]] = cell[5]
}
file == 2 && /"call":/ {
    call = over = $0
    sub(/.*"call":"/, "", call)
    sub(/".*/, "", call)
    sub(/.*"over":/, "", over)
    over = over + 0
    n++
    if (!(call in most))
        printf "not ok %d - path: %s: %d instructions over verbs, and no budget\n", n, call, over
    else
        printf "%sok %d - path: %s: %d instructions over verbs, at most %d\n",
            (over > most[call] + 0 ? "not " : ""), n, call, over, most[call]
    seen[call] = 1
}
END {
    for (call in most)
        if (!(call in seen))
            printf "not ok %d - path: %s: not measured\n", ++n, call
    print "1.." n + 0
}
