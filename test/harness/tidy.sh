# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# tidy.sh: `./run tidy`, and a stage of `./run test`: what HACKING.md and
# doc/architecture.md say of the source itself, as far as a machine can tell.
# Each check is a function tidy_NAME that prints one line for each fault, which
# begins with what it is about and ": ". It changes nothing.
# tidy.known lists what is to stay, with its reason; a line there that nothing
# asks for is a fault, too.

tidy_packages="clang-format clang groff mandoc shellcheck git"

# Of which compiler's build the objects are looked at.
tidy_build=$h_top/build-gcc

# Titles since this commit follow the rule.
tidy_titles_since=dab649578ef95b2f9326f9c3edb69247ff13ba2c

# name|title. A check that cannot be made here prints "skip: why".
tidy_checks="format|sources are as clang-format writes them
includes|between folders, includes go down
calls|between folders, calls go down, and circles are small
names|the core names no provider
verbs|only the verbs layer calls libibverbs
state|what can change outside an adapter is in one place
length|functions are short
tests|every source has its unit test
titles|titles of commits
pages|manual pages are well-formed
shell|shellcheck
gcc|gcc's analyser
clang|clang's analyser"

tidy_usage()
{
    cat <<'E'
usage: ./run tidy [PATTERN]

Builds the tree and checks the source: format, includes and calls between
folders, names, length of functions, tests, titles of commits, and what
shellcheck and the analysers of gcc and clang find. PATTERN, a shell pattern,
picks checks by name.
E
}

# Files of the project that match the shell patterns.
tidy_files()
{
    local p

    if [ -e "$h_top/.git" ]; then
        git -C "$h_top" ls-files -- "$@"
        return
    fi
    for p; do
        (cd "$h_top" && find . -path "./$p" -not -path './build*' -not -path './.cache/*')
    done | sed 's,^\./,,'
}

# The connection managers, each of which is a folder dapl/openib_NAME.
tidy_cms()
{
    tidy_files 'dapl/openib_*.c' | sed -n 's,^dapl/openib_\([a-z]*\)/.*,\1,p' | sort -u
}

# The folders below dapl/, and what each may know beside itself.
tidy_layers()
{
    # Of plugin/ they know the header that registers them, dapl_register.h.
    tidy_cms | sed 's,.*,openib_& common/services common/verbs common/cm/base common/cm/dcm common/plugin,'
    cat <<'E'
common/services
common/verbs common/services
common/base common/services common/verbs
common/event common/services common/verbs common/base
common/transfer common/services common/verbs common/base common/event
common/connect common/services common/verbs common/base common/event common/transfer common/cm/base
common/objects common/services common/verbs common/base common/event common/transfer common/connect common/cm/base
common/ib_ext common/services common/verbs common/base common/event common/transfer common/connect common/objects
common/plugin common/services common/verbs common/base common/event common/transfer common/connect common/objects common/ib_ext common/cm/base
compat12 common/services common/verbs common/base common/event common/transfer common/connect common/objects common/plugin
common/cm/base common/services common/verbs
common/cm/dcm common/services common/verbs common/cm/base
E
}

# Reads "from <tab> to <tab> text" of files below dapl/; prints the lines that
# go where the layers do not allow.
tidy_direction()
{
    tidy_layers >"$h_tmp/layers"
    awk '
        function folder(f) { sub(/^dapl\//, "", f); sub(/\/[^\/]*$/, "", f); return f }
        NR == FNR {
            n = split($0, w, " ")
            known[w[1]] = 1
            for (i = 1; i <= n; i++) may[w[1], w[i]] = 1
            next
        }
        {
            split($0, w, "\t")
            a = folder(w[1]); b = folder(w[2])
            if (!(a in known)) print w[1] ": folder " a " has no place in tidy_layers"
            else if (!((a, b) in may)) print w[1] " " w[2] ": " w[3]
        }' "$h_tmp/layers" - | sort -u
}

tidy_format()
{
    local major

    have clang-format || { echo "skip: clang-format is not installed"; return; }
    major=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
    [ "$major" = 14 ] || { echo "skip: versions differ in taste; this is $major, 14 decides"; return; }
    cd "$h_top" || return
    tidy_files '*.c' '*.h' | xargs -P "$build_jobs" -n 16 clang-format --dry-run 2>&1 |
        awk -F: '/warning: code should be clang-formatted/ { print $1 ": line " $2 }' | sort -u
}

tidy_includes()
{
    cd "$h_top" || return
    tidy_files 'dapl/*.c' 'dapl/*.h' | xargs grep -H '^#include "' |
        awk -F '[:"]' '$3 != "config.h" { print $1 "\t" $3 "\tis included" }' | tidy_direction
}

# "user <tab> definer <tab> symbol": sources of dapl/, by the objects' symbols.
tidy_symbols()
{
    local o src

    cd "$tidy_build" || return
    find dapl -name '*.o' -path '*/.libs/*' | sort | while read -r o; do
        src=$(printf '%s\n' "$o" | sed 's,\.libs/[^/]*_la-,,; s,\.o$,.c,')
        [ -e "$h_top/$src" ] || continue
        nm "$o" | awk -v s="$src" '{ print s "\t" $(NF - 1) "\t" $NF }'
    done >"$h_tmp/nm"
    awk -F '\t' '
        NR == FNR { if ($2 ~ /^[TDBRVWC]$/) def[$3] = $1; next }
        $2 == "U" && ($3 in def) && def[$3] != $1 { print $1 "\t" def[$3] "\tdefines " $3 }' \
        "$h_tmp/nm" "$h_tmp/nm"
}

# Sources that reach one another: more than six, or of several folders.
tidy_circles()
{
    awk -F '\t' '
        function folder(f) { sub(/\/[^\/]*$/, "", f); return f }
        function visit(v,    i, n, w, t, size, mixed, list) {
            num[v] = low[v] = ++count
            stack[++top] = v; on[v] = 1
            n = split(to[v], w, "\t")
            for (i = 1; i <= n; i++) {
                if (w[i] == "") continue
                if (!(w[i] in num)) { visit(w[i]); if (low[w[i]] < low[v]) low[v] = low[w[i]] }
                else if (on[w[i]] && num[w[i]] < low[v]) low[v] = num[w[i]]
            }
            if (low[v] != num[v]) return
            do {
                t = stack[top--]; on[t] = 0; size++
                list = list " " t
                if (folder(t) != folder(v)) mixed = 1
            } while (t != v)
            if (size > 6 || mixed)
                print "circle: " size " files reach one another:" list
        }
        !seen[$1, $2]++ { to[$1] = to[$1] "\t" $2; node[$1]; node[$2] }
        END { for (v in node) if (!(v in num)) visit(v) }'
}

tidy_calls()
{
    (tidy_symbols) >"$h_tmp/symbols"
    [ -s "$h_tmp/symbols" ] || { echo "objects: none below $tidy_build/dapl"; return; }
    tidy_direction <"$h_tmp/symbols"
    tidy_circles <"$h_tmp/symbols"
}

tidy_names()
{
    cd "$h_top" || return
    tidy_files 'dapl/common/*.c' 'dapl/common/*.h' |
        xargs grep -nEio "\\b($(tidy_cms | tr '\n' '|')rdmacm|librdmacm)(_|\\b)|libdaplo[a-z]*" |
        awk -F: '{ print $1 " " $3 ": line " $2 }'
}

# By the sources, as calls of the data path are inline and leave no symbol. What
# only makes a text or a key of its argument is anybody's.
tidy_verbs()
{
    cd "$h_top" || return
    tidy_files 'dapl/*.c' 'dapl/*.h' | grep -v '^dapl/common/verbs/' | xargs awk '
        BEGIN { pure = "^ibv_((event_type|node_type|port_state|wc_status)_str|inc_rkey)[(]$" }
        FNR == 1 { comment = 0 }
        {
            code = ""
            for (text = $0; ; comment = !comment) {
                i = index(text, comment ? "*/" : "/*")
                if (!comment) code = code (i ? substr(text, 1, i - 1) : text)
                if (!i) break
                text = substr(text, i + 2)
            }
            if (code ~ /context->ops/) print FILENAME ": looks for an operation of verbs itself"
            while (match(code, /ibv_[a-z0-9_]*[(]/)) {
                call = substr(code, RSTART, RLENGTH)
                code = substr(code, RSTART + RLENGTH)
                if (call !~ pure) print FILENAME ": calls " call ")"
            }
        }' | sort -u
}

# Data that is neither constant nor a thread's: dapl_process's, and logging's.
tidy_state()
{
    local o

    cd "$tidy_build" || return
    find dapl -name '*.o' -path '*/.libs/*' | grep -v '_la-dapl_\(process\|log\)\.o$' | sort | while read -r o; do
        objdump -t "$o" | awk -v o="$o" '$0 ~ / O (\.data|\.bss|\*COM\*)\t/ { print o ": keeps " $NF }'
    done | sed 's,\.libs/[^/]*_la-,,; s,\.o: ,.c: ,' | sort -u
}

# A function is what stands between braces in the first column.
tidy_length()
{
    cd "$h_top" || return
    tidy_files 'dat/*.[ch]' 'dapl/*.[ch]' 'test/*.[ch]' | xargs awk '
        FNR == 1 { start = 0 }
        /^[a-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
        /^\{/ { start = FNR }
        /^\}/ && start {
            lines = FNR - start + 1
            all++
            if (lines > 50) many++
            if (lines > 100) print FILENAME " " name ": has " lines " lines"
            start = 0
        }
        END { if (many * 20 > all) print "all: " many " of " all " functions have more than 50 lines" }'
}

# dapl/common/X/dapl_y_z.c has test/unit/X/t_y_z.c, or t_y.c, with dapl_ or
# without; and so on.
tidy_tests()
{
    local f base dir name found

    tidy_files 'dat/*.c' 'dapl/*.c' | while read -r f; do
        base=${f##*/}
        base=${base%.c}
        dir=${f%/*}
        dir=test/unit/${dir#dapl/}
        dir=${dir/\/common/}
        found=no
        for name in "$base" "${base#dapl_}" "${base%_*}" "$(printf '%s' "${base#dapl_}" | sed 's/_[^_]*$//')"; do
            [ ! -e "$h_top/$dir/t_$name.c" ] || found=yes
        done
        [ $found = yes ] || echo "$f: there is no $dir/t_${base#dapl_}.c"
    done
}

tidy_titles()
{
    { [ -e "$h_top/.git" ] && have git; } || { echo "skip: no git history here"; return; }
    git -C "$h_top" merge-base --is-ancestor "$tidy_titles_since" HEAD 2>/dev/null ||
        { echo "skip: $tidy_titles_since is not in this history"; return; }
    git -C "$h_top" log --no-merges --format='%h%x09%s' "$tidy_titles_since..HEAD" | awk -F '\t' '
        $2 !~ /^[a-z][a-z0-9_]*(, [a-z][a-z0-9_]*)?: [^ ]/ { print $1 ": no area: " $2 }
        length($2) > 60 { print $1 ": " length($2) " characters: " $2 }
        $2 ~ /\.$/ { print $1 ": ends with a full stop: " $2 }'
}

# The written ones and those that were made of the headers. Dates are left out on
# purpose. What a page that is another name refers to is where it is installed.
tidy_pages()
{
    local f

    have groff || { echo "skip: groff is not installed"; return; }
    cd "$h_top" || return
    { tidy_files 'doc/*.[1-9]'; find "$tidy_build/doc/man3" -type f; } | sort | while read -r f; do
        ! grep -q '^\.so ' "$f" || continue
        groff -t -man -ww -z -Tutf8 "$f" 2>&1 | sed "s,^troff: <[^>]*>,$f,"
        ! have mandoc || mandoc -T lint -W warning "$f" | grep -v ': missing date' | sed 's/^mandoc: //'
    done | sed "s,$h_top/,,; s/:\([0-9]*\):\([0-9]*:\)* /: line \1: /"
}

# Left out: SC2154, SC2034: a variable comes from another file, or goes there.
# SC1090, SC1091: which file that is. SC2016: text for another shell. SC2086:
# lists of words, which sh has no other way to keep. SC2015: A && B || C, where
# B cannot fail.
# Scripts that are sourced have no first line that names a shell: bash.
tidy_shell()
{
    local f except=SC2154,SC2034,SC1090,SC1091,SC2016,SC2086,SC2015

    have shellcheck || { echo "skip: shellcheck is not installed"; return; }
    cd "$h_top" || return
    tidy_files run .ci/run '*.sh' | while read -r f; do
        case $(head -n 1 "$f") in
        '#!'*) shellcheck -f gcc -e $except "$f" ;;
        *) shellcheck -s bash -f gcc -e $except "$f" ;;
        esac
    done | sed 's/:\([0-9]*\):[0-9]*: /: line \1: /'
}

# tidy_each_source COMMAND...: what COMMAND prints on every source of the
# libraries, as make compiles it and with what is known of other files.
tidy_each_source()
{
    local f out=$h_tmp/tidy.out

    cd "$h_top" || return
    rm -rf "$out"
    mkdir "$out" || return
    # Into a file each: several at a time would garble one another's lines.
    tidy_files 'dat/*.c' 'dapl/*.c' | while read -r f; do
        case $f in
        dat/*_1.c) printf '%s\n' "$out/${f//\//_} -DDAT_FACE_1 -I$tidy_build/dat/headers $f" ;;
        dat/* | */dapl_log.c) printf '%s\n' "$out/${f//\//_} $f" ;;
        *) printf '%s\n' "$out/${f//\//_} -include test/harness/analyse.h $f" ;;
        esac
    done | xargs -P "$build_jobs" -L 1 sh -c "out=\$1; shift; LC_ALL=C $* -std=gnu11 -D_GNU_SOURCE \
        -include '$tidy_build/config.h' -I'$tidy_build' -I. -Idat/include \"\$@\" >\$out 2>&1" sh
    cat "$out"/*
}

tidy_gcc()
{
    gcc -dumpversion | grep -qE '^(1[2-9]|[2-9][0-9])' || { echo "skip: gcc is older than 12"; return; }
    tidy_each_source gcc -O1 -fanalyzer -fdiagnostics-plain-output -o /dev/null -c |
        awk '/: In function / { fn = $0; sub(/.*In function ./, "", fn); sub(/.:$/, "", fn) }
            /: warning: .*\[-Wanalyzer|: (fatal )?error: / {
                f = $0; sub(/:.*/, "", f)
                opt = /error: / ? "error" : $0
                sub(/.*\[-W/, "", opt); sub(/\].*/, "", opt)
                text = $0; sub(/^[^:]*:/, "", text)
                print f " " fn " " opt ": line " text }' | sort -u
}

tidy_clang()
{
    have clang || { echo "skip: clang is not installed"; return; }
    tidy_each_source clang --analyze -Xclang -analyzer-output=text -o /dev/null |
        awk '/: warning: .*\[[A-Za-z.]*\]$|: (fatal )?error: / {
                f = $0; sub(/:.*/, "", f); sub(/^\.\//, "", f)
                opt = /error: / ? "error" : $0
                sub(/.*\[/, "", opt); sub(/\]$/, "", opt)
                text = $0; sub(/^[^:]*:/, "", text)
                print f " " opt ": line " text }' | sort -u
}

# Drops the faults that tidy.known has for CHECK, and adds what it has in vain.
# A key there is what stands before the first ": ".
tidy_unknown()
{
    awk -v check="$1" '
        FILENAME != "-" {
            split($0, w, "\t")
            if (w[1] == check) known[w[2]] = 1
            next
        }
        { key = $0; sub(/: .*/, "", key) }
        key in known { used[key] = 1; next }
        { print }
        END { for (k in known) if (!(k in used)) print k ": is in tidy.known and is not found any more" }' \
        "$h_top/test/harness/tidy.known" -
}

# tidy_run PATTERN FUNCTION: FUNCTION kind title reason, for each check.
tidy_run()
{
    local pattern=$1 fn=$2 name title found=$h_tmp/tidy.found

    while IFS='|' read -r name title <&3; do
        # shellcheck disable=SC2053
        [[ $name == $pattern ]] || continue
        progress "tidy: $name"
        (tidy_"$name") >"$found.all" 2>&1
        if grep -q '^skip: ' "$found.all"; then
            "$fn" S "tidy: $name: $title" "$(sed -n 's/^skip: //p' "$found.all")"
            continue
        fi
        tidy_unknown "$name" <"$found.all" >"$found"
        if [ -s "$found" ]; then
            sed "s/^/not ok - $name: /" "$found"
            "$fn" F "tidy: $name: $title" "$(wc -l <"$found") faults"
        else
            "$fn" P "tidy: $name: $title" ""
        fi
    done 3<<<"$tidy_checks"
}

tidy_print()
{
    local word=ok

    case $1 in
    F) word=FAULTS; tidy_rc=1 ;;
    S) word=skipped ;;
    esac
    h_wipe
    printf '%-8s%s%s\n' "$word" "${2#tidy: }" "${3:+ ($3)}"
}

cmd_tidy()
{
    case ${1-} in
    -h | --help) tidy_usage; return 0 ;;
    esac
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    # shellcheck disable=SC2086
    [ "$(id -u)" != 0 ] || need_packages "make every check" $tidy_packages || true
    build_tree "$tidy_build" gcc CC=gcc CXX=g++ --enable-werror || return 1
    tidy_rc=0
    tidy_run "${1:-*}" tidy_print
    return $tidy_rc
}
