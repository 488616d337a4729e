# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# path.awk: what `path` was counted and timed to do, as JSON, one object per
# line. Input files, in any order:
#   lines "locked OBJECT ADDRESS"      instructions that lock the bus
#   lines "time<TAB>CALL<TAB>DAT<TAB>VERBS"   nanoseconds
#   dumps of callgrind, with --compress-strings=no --compress-pos=no; of a run
#   that counts (DAPL_COUNTERS) if they are named "counting", of one whose locks
#   have no bias if they are named "plain"
# Variables: batch, calls in a dump; rounds, turns in a dump of pairs; pairs, how
# many.
#
# alone: instructions of libdat2, the provider and the C library below them, less
# those of the C library below verbs, which are the device's; over: with those of the
# program, less those of the program that does it by verbs. The device's (null_*) are
# in neither. counting: how many more they are while they count. plain: alone, where no
# lock has a bias.

function group(ob, fn)
{
    if (ob ~ /^libda(t2|pl)/)
        return "ours"
    if (ob != "path")
        return "libc"
    return fn ~ /^null_/ ? "device" : "program"
}

function base(path)
{
    sub(/.*\//, "", path)
    return path
}

function text(name)
{
    return "\"" name "\""
}

$1 == "locked" { locked[$2, $3] = 1; next }
/^time\t/ { split($0, t, "\t"); ns[t[2]] = t[3]; ns_verbs[t[2]] = t[4]; next }

/^# callgrind format/ { label = ""; ob = fn = "" }
/^desc: Trigger: Client Request: / {
    label = substr($0, length("desc: Trigger: Client Request: ") + 1)
    side = label
    sub(/.*\|/, "", side)
    sub(/\|.*/, "", label)
    if (base(FILENAME) ~ /^(counting|plain)/)
        side = side == "dat" ? substr(base(FILENAME), 1, index(base(FILENAME), ".") - 1) : "none"
    if (label != "pairs" && side == "dat")
        names[++n] = label
    next
}
/^positions:/ { positions = NF - 1; by_address = $2 == "instr"; next }
/^events:/ { delete column; for (i = 2; i <= NF; i++) column[$i] = i - 1 + positions; next }
/^ob=/ { ob = base(substr($0, 4)); next }
/^fn=/ { fn = substr($0, 4); next }
/^calls=/ { inclusive = 1; next }
/^[0-9]/ && label != "" {
    if (inclusive) {
        inclusive = 0
        next
    }
    g = group(ob, fn)
    cost[label, side, g] += $column["Ir"]
    if (g == "ours" && side == "dat" && by_address && (ob, $1) in locked)
        locks[label] += $column["Ir"]
    if (g == "ours" && "D1mr" in column)
        misses += $column["D1mr"] + $column["D1mw"]
}

END {
    for (i = 1; i <= n; i++) {
        c = names[i]
        below = cost[c, "verbs", "libc"]
        alone = cost[c, "dat", "ours"] + cost[c, "dat", "libc"] - below
        over = alone + cost[c, "dat", "program"] - cost[c, "verbs", "program"]
        counting = cost[c, "counting", "ours"] + cost[c, "counting", "libc"] - below - alone
        plain = cost[c, "plain", "ours"] + cost[c, "plain", "libc"] - below
        printf "{\"call\":%s,\"alone\":%.0f,\"over\":%.0f,\"counting\":%.0f,\"plain\":%.0f,\"locked\":%.1f",
            text(c), alone / batch, over / batch, counting / batch, plain / batch, locks[c] / batch
        if (c in ns)
            printf ",\"ns\":%s,\"ns_verbs\":%s", ns[c], ns_verbs[c]
        print "}"
    }
    if (pairs)
        printf "{\"pairs\":%d,\"d1_misses\":%.1f}\n", pairs, misses / (rounds * pairs)
}
