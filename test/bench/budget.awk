# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# budget.awk: TAP of whether the counts of path.awk are within the budgets: the
# columns "alone", "over", "counting" and "no bias" of the table in
# doc/architecture.md, which is read first. With a bias no instruction may lock the
# bus, but of who sleeps. A row that is not measured, or a call without a row, is a
# failure.

function figure(name)
{
    return $0 ~ "\"" name "\":" ? substr($0, index($0, "\"" name "\":") + length(name) + 3) + 0 : -1
}

FNR == 1 { file++ }
file == 1 && /^## / { budgets = $2 == "Budgets" }
file == 1 && budgets && split($0, cell, /[ \t]*\|[ \t]*/) == 8 && cell[5] ~ /^[0-9]+$/ {
    most_alone[cell[2]] = cell[4] + 0
    most[cell[2]] = cell[5] + 0
    most_counting[cell[2]] = cell[6] + 0
    most_plain[cell[2]] = cell[7] + 0
}
file == 2 && /"call":/ {
    call = $0
    sub(/.*"call":"/, "", call)
    sub(/".*/, "", call)
    alone = figure("alone")
    over = figure("over")
    counting = figure("counting")
    plain = figure("plain")
    locked = figure("locked")
    n++
    if (!(call in most))
        printf "not ok %d - path: %s: %d instructions over verbs, and no budget\n", n, call, over
    else
        printf "%sok %d - path: %s: %d instructions over verbs, at most %d; alone %d, at most %d; %d more while counting, at most %d; without bias %d, at most %d; %s locked\n",
            (over > most[call] || alone > most_alone[call] || counting > most_counting[call] || plain > most_plain[call] ||
                (locked != 0 && call !~ /asleep/) ? "not " : ""), n, call, over, most[call], alone, most_alone[call],
            counting, most_counting[call], plain, most_plain[call], locked ? locked : "none"
    seen[call] = 1
}
END {
    for (call in most)
        if (!(call in seen))
            printf "not ok %d - path: %s: not measured\n", ++n, call
    print "1.." n + 0
}
