# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# dapltest.sh: servers and clients of dapltest, ours and the old program, and what
# they are asked to do; the server is on the other node if there is one. Sourced
# behind test/interop/lib.sh.
# The old program's exit status tells only of crashes, so its output decides.

says_or_gone()
{
    says "$1" "$2" || ! kill -0 "$3" 2>/dev/null
}

tool=dapltest
told= # words that let a client ask where the server is

# launch "PROGRAM LIBDAT2 PROVIDER" OPTION...: a server, ready; server_pid and
# server_log.
launch()
{
    local s

    launched=("$@")
    read -ra s <<<"$1"
    shift
    use_stack "${s[1]}" "${s[2]}"
    server_log=$it_logs/server.$it_n
    rm -f "$server_log" # another one may have been ready
    timeout -k 2 170 "${it_there[@]}" "${it_env[@]}" "${it_bin[${s[0]}]}/$tool" \
        -T S -D "$IT_PROVIDER" $told "$@" >"$server_log" 2>&1 </dev/null &
    server_pid=$!
    poll 20 says_or_gone "Service Point Ready" "$server_log" "$server_pid"
    says "Service Point Ready" "$server_log"
}

# Of a server whose client was not served nobody knows what it waits for. On another
# node it is ended there: with this end of it, it would be killed later than that.
another_server()
{
    [ ${#it_there[@]} = 0 ] || "${it_there[@]}" pkill -KILL -f -- "[-]T S -D $IT_PROVIDER"
    kill "$server_pid" 2>/dev/null
    wait "$server_pid"
    launch "${launched[@]}"
}

# Lines of the old program that mean no good. It always looks up a name, and
# describes cases by the errors that they are about.
complaints()
{
    grep -vE "$it_our_line|^getaddrinfo|Description|^[A-Za-z ]*:? *Verify" "$1" |
        grep -m 1 -iE "fail|error|cannot|warning|timed out"
}

complains()
{
    complaints "$1" >/dev/null
}

# passed WHOSE LOG RC WHAT-IT-PRINTS: what a client made of it.
passed()
{
    if [ "$3" -ge 124 ]; then
        it_why="exit code $3, a crash or no end"
    elif [ "$1" = ours ] && { [ "$3" != 0 ] || ! says "Complete. PASSED" "$2"; }; then
        it_why="exit code $3"
    elif [ "$1" = debian ] && complains "$2"; then
        it_why=$(complaints "$2")
    elif [ -n "$4" ] && ! says "$4" "$2"; then
        it_why="'$4' was not printed"
    else
        return 0
    fi
    return 1
}

# client "PROGRAM LIBDAT2 PROVIDER" NAME WHAT-IT-PRINTS WORD...: one case.
client()
{
    local c name=$2 what=$3 log rc again=("$@")

    read -ra c <<<"$1"
    shift 3
    no_excuse
    use_stack "${c[1]}" "${c[2]}"
    log=$it_logs/client.$it_n
    run_client "$log" "${it_env[@]}" "${it_bin[${c[0]}]}/$tool" "$@"
    rc=$?
    if passed "${c[0]}" "$log" $rc "$what"; then
        ok "$name: ${*:2}"
    elif no_way_to_peer "$log"; then
        skip "$name: ${*:2}" "$it_why"
    elif once_more "$name: ${*:2}"; then
        another_server
        it_tries=$((${it_tries:-0} + 1)) client "${again[@]}"
    else
        not_ok "$name: ${*:2}"
        echo "# $it_why; client.$((it_n - 1)), its last lines:"
        tail -n 5 "$log" | diag
    fi
}

# The server has been asked to end: does it, and what does it say of itself?
server_ends()
{
    local rc

    if ! poll 20 says_or_gone 'Exiting\.' "$server_log" "$server_pid"; then
        kill "$server_pid" 2>/dev/null
        wait "$server_pid"
        not_ok "$1: the server ends"
        tail -n 5 "$server_log" | diag
        return
    fi
    wait "$server_pid"
    rc=$?
    if [ "$2" = any ] || [ "$rc" = "$2" ]; then
        ok "$1: the server ends"
    else
        not_ok "$1: the server ends"
        echo "# exit code $rc, wanted $2"
        grep -E "ERR|FAILED" "$server_log" | head -n 5 | diag
    fi
}

# Reads have one segment only, all that soft-iWARP takes.
t_rows="-i 100 client SR 256 server SR 256
-i 50 -P client SR 256 server RW 4096 server SR 256
-i 50 -V client SR 256 server RR 4096 1 server SR 256
-i 30 -t 2 -w 4 client RW 4096 1 server RW 2048 4 server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
-i 30 -t 2 -w 2 -V -P client RW 4096 1 server RW 2048 4 client SR 1024 4 server SR 4096 2 client SR 1024 3 -f server SR 2048 1 -f
-i 20 -r client SR 65536 server SR 65536
-i 10 client RW 1048576 client SR 8 server SR 8"
# With two kinds of program or library.
t_mixed=$(sed -n '1p;4,6p' <<<"$t_rows")
# The old program does not ask for segments; old libraries had 4 for it.
t_old="$t_mixed
-i 10 client SR 256 5 server SR 256 5"

p_rows="-i 100 -p 16 -m b RW 4096 2
-i 100 -m p RR 4096 1"
p_old="$p_rows
-i 100 RW 64 8"

# each_row TEST NAME CLIENT WHAT-IT-PRINTS ROWS
each_row()
{
    local words

    while read -r words; do
        # shellcheck disable=SC2086
        client "$3" "$2" "$4" -T "$1" -s "$IT_ADDR" -D "$IT_PROVIDER" $told $words
    done <<<"$5"
}

# started NAME SERVER: launches it; if that fails, it is a failed case.
started()
{
    launch "$2" && return
    not_ok "$1: the server starts"
    tail -n 5 "$server_log" | diag
    return 1
}

# dapltest_rows NAME SERVER CLIENT T-ROWS P-ROWS: against one server, which has to end.
dapltest_rows()
{
    local name=$1 server=$2 client=$3 rc=any

    if lacks_debian "$server" "$client"; then
        skip "$name" "$DEBIAN_DAPL_REASON"
        return
    fi
    started "$name" "$server" || return
    each_row T "$name" "$client" "Total WQE +:" "$4"
    [ -z "$5" ] || each_row P "$name" "$client" "^raw: R" "$5"
    [ "$server" != "$old_program" ] || leave_behind "$client"
    # shellcheck disable=SC2086
    client "$client" "$name" "" -T Q -s "$IT_ADDR" -D "$IT_PROVIDER" $told
    [[ $server != ours* ]] || rc=0
    server_ends "$name" $rc
}

# Tests without data or iterations, which the old program takes for successes.
# With old libraries the server could not end after them.
leave_behind()
{
    local c words

    read -ra c <<<"$1"
    for words in "-i 10 client SR 0 server SR 0" "-i 0 client SR 64 server SR 64"; do
        use_stack "${c[1]}" "${c[2]}"
        # shellcheck disable=SC2086
        run_client "$it_logs/left" "${it_env[@]}" "${it_bin[${c[0]}]}/dapltest" \
            -T T -s "$IT_ADDR" -D "$IT_PROVIDER" $words
        [ -z "$it_siw" ] || another_server
    done
}
