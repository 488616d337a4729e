# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# differ.awk -v adapter=NAME [-v names=1] KNOWN OLD NEW: compares what the programs of
# this folder printed on two stacks. KNOWN has rows of adapter, what, old, new and why, between
# tabs; each of the first four is a regular expression for the whole text. A
# line that came several times in a part is compared with its like. Prints "not
# ok: ..." for each difference without a row and for each row without a
# difference, and then a summary. Lines without a tab are messages of a library.
# names: of codes, which the two versions of DAT number in their own ways, what
# they are called and the digit with the class are compared.

function matches(text, re)
{
    return text ~ ("^(" re ")$")
}

function is_known(what, a, b,    i, found)
{
    for (i = 1; i <= rows; i++)
        if (matches(what, row_what[i]) && matches(a, row_old[i]) && matches(b, row_new[i])) {
            used[i] = 1
            found = 1
        }
    return found
}

function differs(what, a, b)
{
    all++
    if (!is_known(what, a, b))
        printf "not ok: %s: old %s, new %s\n", what, a, b
}

FILENAME == ARGV[1] {
    if (/^#/ || $0 == "")
        next
    split($0, f, "\t")
    if (matches(adapter, f[1])) {
        row_what[++rows] = f[2]
        row_old[rows] = f[3]
        row_new[rows] = f[4]
        row_text[rows] = $0
    }
    next
}

tab = index($0, "\t") {
    what = substr($0, 1, tab - 1)
    value = substr($0, tab + 1)
    if (names && value ~ /^0x[0-9a-f]+ DAT_/)
        value = substr(value, 3, 1) " " substr(value, index(value, "DAT_"))
    if (what == "part") {
        part = value
        delete times
        next
    }
    key = part ": " what
    key = key (times[what]++ ? " (" times[what] ")" : "")
    if (FILENAME == ARGV[2])
        old[key] = value
    else
        new[key] = value
    if (!(key in seen)) {
        seen[key] = 1
        keys[++n_keys] = key
    }
}

END {
    for (i = 1; i <= n_keys; i++) {
        key = keys[i]
        a = key in old ? old[key] : "(nothing)"
        b = key in new ? new[key] : "(nothing)"
        if (a == b)
            same++
        else
            differs(key, a, b)
    }
    for (i = 1; i <= rows; i++)
        if (!used[i])
            printf "not ok: no run shows the row %s\n", row_text[i]
    printf "%d alike, %d differ as known\n", same, all
}
