# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# regress-row.sh: a line of `./run regress` over one provider, in the guest: with its
# server beside it, or on the other node if there are two. Sourced behind
# test/interop/lib.sh by regress-guest.sh and by test/nodes/t_regress.sh, which say
# what came of it.
# Input: STAGE; REGRESS_ITERATIONS; REGRESS_LIMIT, seconds that a client of dapltest
# may take.
# Servers of dapltest are started as lines need them, one for each port, and one
# that a line has asked to end must end; the other tools have one for each line.
# What the adapter cannot do is skipped, with the client's words.
# State, of each_run: name, lib, dev and addr of the provider, dapltest (its program)
# and default_port; of judge: verdict (PASSED, FAILED or SKIPPED) and why.

declare -A servers # pid by port
server_n=0

ready_or_ended()
{
    grep -q "Service Point Ready" "$1" 2>/dev/null || ! kill -0 "$2" 2>/dev/null
}

# told PORT: words that let a client find a server where addresses are no names.
told()
{
    [[ $lib != *ucm* ]] || echo "--oob-port $(($1 - 40000))"
}

# server PORT: there is one for this provider.
server()
{
    local log

    if [ -n "${servers[$1]-}" ] && kill -0 "${servers[$1]}" 2>/dev/null; then
        return 0
    fi
    # A log of its own: the line that says it is ready counts once.
    server_n=$((server_n + 1))
    log=$it_logs/$name.server.$server_n
    # shellcheck disable=SC2046
    "${it_there[@]}" "$dapltest" -T S -D "$name" -n "$1" $(told "$1") >"$log" 2>&1 </dev/null &
    servers[$1]=$!
    poll 20 ready_or_ended "$log" "${servers[$1]}"
    kill -0 "${servers[$1]}" 2>/dev/null
}

# The words of a line, with fewer iterations, in `words`; its port in `port`.
prepare()
{
    local i

    read -ra words <<<"$1"
    port=$default_port
    for i in "${!words[@]}"; do
        case ${words[i]} in
        "\$S") words[i]=$addr ;;
        "\$D") words[i]=$name ;;
        -n) port=${words[i + 1]} ;;
        -i)
            if [ "$REGRESS_ITERATIONS" -gt 0 ] &&
                [ "${words[i + 1]}" -gt "$REGRESS_ITERATIONS" ]; then
                words[i + 1]=$REGRESS_ITERATIONS
            fi
            ;;
        esac
    done
    # shellcheck disable=SC2207
    case ${words[1]} in
    [TPQ]*) words=("${words[@]:0:2}" $(told "$port") "${words[@]:2}") ;;
    esac
    # A line without -i means 1000.
    case "${words[1]} ${words[*]}" in
    *\ -i\ *) ;;
    [TP]*) [ "$REGRESS_ITERATIONS" = 0 ] || words=("${words[@]:0:2}" -i "$REGRESS_ITERATIONS" "${words[@]:2}") ;;
    esac
}

# complaint LOG: what the tool says is wrong.
complaint()
{
    grep -m 1 -E "ERR|^(dapltest|dtest)[a-z1]*:" "$1"
}

# failed WHY
failed()
{
    verdict=FAILED
    why=${1#*ERR: }
}

# unable RC SAYS: does a tool say that the adapter cannot do this? Then it is a
# skip, with those words.
unable()
{
    case "$1: $2" in
    "2: "*" the adapter "* | "1: "*"the device may not be able to"*) ;;
    "4: "*" has no datagram endpoints"* | "4: "*" has no InfiniBand extensions"*) ;;
    *) return 1 ;;
    esac
    verdict=SKIPPED
    why=${2#*ERR: }
}

ended()
{
    ! kill -0 "$1" 2>/dev/null
}

# server_ends: does the one of this port, by itself? Its exit code.
server_ends()
{
    local pid=${servers[$port]}

    unset "servers[$port]"
    poll 20 ended "$pid" || kill -KILL "$pid"
    wait "$pid"
}

# The server of this port ends; the next line has a new one. On another node it is
# told there: with this end of it, it would be killed, later than this returns.
drop_server()
{
    [ -n "${servers[$port]-}" ] || return 0
    if [ ${#it_there[@]} = 0 ]; then
        kill -TERM "${servers[$port]}" 2>/dev/null
    else
        "${it_there[@]}" pkill -TERM -f -- "-T S .*-n $port( |\$)"
    fi
    server_ends
}

# run_dapltest LOG WORDS: verdict and why.
run_dapltest()
{
    local log=$1 rc says

    prepare "$2"
    if [[ ${words[1]} == [TPQ]* ]] && ! server "$port"; then
        failed "no server on port $port"
        return
    fi
    timeout -k 5 "${REGRESS_LIMIT:-1800}" "$dapltest" "${words[@]}" >"$log" 2>&1 </dev/null
    rc=$?
    says=$(complaint "$log")
    if unable $rc "$says"; then
        :
    elif [ $rc != 0 ]; then
        failed "exit code $rc: $says"
        # Its exit status will tell of this, which is not another line's fault.
        drop_server
    elif [[ ${words[1]} == Q* ]]; then
        server_ends
        rc=$?
        [ $rc = 0 ] || failed "the server's exit code is $rc"
    fi
}

port_is_free()
{
    ! listening "${IT_PORT:-15828}"
}

# run_pair LOG WORDS: the same for a tool whose server takes one client.
run_pair()
{
    local log=$1 tool rc says

    read -ra words <<<"$2"
    tool=$STAGE/bin/${words[0]}
    words=(-P "$name" "${words[@]:1}")
    if ! start_server "$log.server" "$tool" "${words[@]}"; then
        says=$(complaint "$log.server")
        unable "${it_why##* }" "$says" || failed "$it_why: $says"
        return
    fi
    run_client "$log" "$tool" "${words[@]}" -h "$addr"
    rc=$?
    if ! verdict client "$log" $rc; then
        failed "$it_why: $(complaint "$log")"
        kill "$server_pid" 2>/dev/null
        poll 20 port_is_free
    fi
    wait "$server_pid"
    rc=$?
    unable $rc "$(complaint "$log.server")" || [ "$verdict" = FAILED ] ||
        verdict server "$log.server" $rc || failed "$it_why: $(complaint "$log.server")"
    if [ "$verdict" = PASSED ] && says=$(grep -m 1 SKIPPED "$log"); then
        verdict=SKIPPED
        why=$says
    fi
}

# A run that fails while the kernel's siw reads nothing says nothing of us.
run_on_siw()
{
    over_siw run_words "$@"
    [ "$verdict" = FAILED ] && [ -n "$it_siw" ] || return 0
    verdict=SKIPPED
    why="$it_siw: $why"
}

run_words()
{
    case $2 in
    -T*) run_dapltest "$it_logs/$name.$1" "$2" ;;
    "dapltest1 "*) run_dapltest "$it_logs/$name.$1" "${2#dapltest1 }" ;;
    *) run_pair "$it_logs/$name.$1" "$2" ;;
    esac
}

# judge LINE WORDS: verdict and why.
judge()
{
    verdict=PASSED
    why=
    if [ ${#it_there[@]} != 0 ] && [[ ${2#dapltest1 } == "-T "[FL]* ]]; then
        verdict=SKIPPED
        why="it has no server, that could be on another host"
    elif [ -z "$addr" ]; then
        verdict=SKIPPED
        why="$dev: $DAPL_VM_NO_SIW"
    elif [ "$dev" = siw0 ]; then
        run_on_siw "$@"
    else
        run_words "$@"
    fi
}

# each_run COMMAND LINES ROWS: "COMMAND LINE WORDS" for each line of the file LINES
# over each of ROWS (see demo.sh) of its version of DAT.
each_run()
{
    local name lib dev params var addr line text kind version dapltest default_port port

    export LD_LIBRARY_PATH=$STAGE/lib DAT_OVERRIDE=$it_logs/dat.conf
    while IFS='|' read -r name lib dev params var; do
        kind="u2.0 threadsafe" version=dapl.2.0
        [[ $lib != *.so.1 ]] || kind="u1.2 nonthreadsafe" version=dapl.1.2
        printf '%s %s default %s %s "%s" ""\n' "$name" "$kind" "$STAGE/lib/$lib" $version "$params"
    done <<<"$3" >"$DAT_OVERRIDE"

    while IFS='|' read -r name lib dev params var <&3; do
        addr=${!var}
        servers=() dapltest=$STAGE/bin/dapltest default_port=62000
        [[ $lib != *.so.1 ]] || dapltest=${dapltest}1 default_port=45278
        while IFS=$'\t' read -r line text <&4; do
            case $text in
            "dtest1 "* | "dapltest1 "*) [[ $lib == *.so.1 ]] || continue ;;
            *) [[ $lib != *.so.1 ]] || continue ;;
            esac
            "$1" "$line" "$text"
        done 4<"$2"
        # The lines have their verdicts.
        for port in "${!servers[@]}"; do
            drop_server
        done
    done 3<<<"$3"
}
