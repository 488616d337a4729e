# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# documented.awk - the types of return codes that the public headers document,
# of both versions of DAT together: for each call a row {"dat_x", {types...}}, as
# s_walk.c includes them. "as dat_x()" and "as there (dat_x)" bring those of
# dat_x, which is described before or in a file before. dat_error.h comes first:
# it has the names that are types.

function add(type) {
    if (!((call, type) in seen)) {
        seen[call, type] = 1
        types[call] = types[call] " " type
    }
}

function inherit(from,    part, n, i) {
    if (!(from in types)) {
        print FILENAME ": " call ": as " from ", which is not known" >"/dev/stderr"
        bad = 1
    }
    n = split(types[from], part, " ")
    for (i = 1; i <= n; i++)
        add(part[i])
}

# The capitals that a line begins with: types, each with its subtypes.
function codes(line,    part, n, i) {
    sub(/^ \* */, "", line)
    match(line, /^[A-Z0-9_\/*, ]*/)
    n = split(substr(line, 1, RLENGTH), part, /[, ]+/)
    for (i = 1; i <= n; i++) {
        sub(/\/.*/, "", part[i])
        if (part[i] in is_type)
            add(part[i])
    }
}

/^\tDAT_[A-Z_]+ = 0x0[0-9a-f]+0000,/ { is_type[substr($1, 5)] = 1 }
/^ \* dat_[a-z_]+( -|,)/ { call = $2; sub(/,$/, "", call); returns = 0 }
/^ \*\// { call = ""; returns = 0 }
call && /^ \* Returns:/ { returns = 1; sub(/Returns:/, ""); order[++calls] = call }
returns && /^ \* (Blocks|Threads|Events|Rule):/ { returns = 0 }
returns {
    line = $0
    while (match(line, /as (there )?\(?dat_[a-z_]+/)) {
        from = substr(line, RSTART, RLENGTH)
        sub(/.*[ (]/, "", from)
        inherit(from)
        line = substr(line, RSTART + RLENGTH)
    }
    codes($0)
}

END {
    for (i = 1; i <= calls; i++) {
        n = split(types[order[i]], part, " ")
        printf "{\"%s\", {", order[i]
        for (j = 1; j <= n; j++)
            printf "DAT_%s, ", part[j]
        print "0}},"
    }
    exit bad
}
