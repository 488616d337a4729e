# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# documented.awk - the codes of bad arguments that the public headers document:
# a line "call code" for each INVALID_HANDLE and INVALID_PARAMETER in the
# "Returns:" part of the comment above a call, subtypes one by one. "as
# dat_x()" brings those of dat_x, which is described before or in a file before.
# A line that begins like a code and is none of these is an error.

function add(call, code) {
    if (!((call, code) in seen)) {
        seen[call, code] = 1
        codes[call] = codes[call] " " code
        print call, code
    }
}

function inherit(call, from,    part, n, i) {
    if (!(from in codes)) {
        print FILENAME ": " call ": as " from ", which is not known" >"/dev/stderr"
        bad = 1
    }
    n = split(codes[from], part, " ")
    for (i = 1; i <= n; i++)
        add(call, part[i])
}

# "ARG1 to ARG3" and "ARG2, ARG4": what follows the type and a slash
function subtypes(call, type, text,    sub_, first, n) {
    n = 0
    while (match(text, /^[A-Z][A-Z_0-9]*/)) {
        sub_ = substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        add(call, type "/" sub_)
        n++
        if (sub(/^, /, "", text))
            continue
        if (sub(/^ to ARG/, "", text)) {
            first = substr(sub_, 4) + 1
            for (; first < text + 0; first++)
                add(call, type "/ARG" first)
            text = "ARG" text
            continue
        }
        break
    }
    if (!n) {
        print FILENAME ": " call ": no subtype: " text >"/dev/stderr"
        bad = 1
    }
}

/^ \* dat_[a-z_]+( -|,)/ { call = $2; sub(/,$/, "", call); returns = 0 }
/^ \*\// { call = ""; returns = 0 }
call && /^ \* Returns:/ { returns = 1; sub(/ Returns:/, "") }
returns && /^ \* (Blocks|Threads|Events|Rule):/ { returns = 0 }
returns {
    line = $0
    while (match(line, /as dat_[a-z_]+\(\)/)) {
        inherit(call, substr(line, RSTART + 3, RLENGTH - 5))
        line = substr(line, RSTART + RLENGTH)
    }
}
returns && $2 ~ /^INVALID_(HANDLE|PARAMETER)/ {
    line = $0
    sub(/^ \* */, "", line)
    if (match(line, /^INVALID_(HANDLE|PARAMETER)\//))
        subtypes(call, substr(line, 1, RLENGTH - 1), substr(line, RLENGTH + 1))
    else
        add(call, $2)
}

END { exit bad }
