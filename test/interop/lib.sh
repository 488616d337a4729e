# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lib.sh: the frame for black-box tests in the guest: TAP, the four ways to
# combine our and Debian's libraries, and pairs of a server and a client.
# It looks at programs from outside only: output, exit codes, open ports.
# Sourced by t_*.sh; one pair at a time, since the tools' TCP port is fixed.
# Input: STAGE (our installation), BUILD (the build directory, for programs that
# are not installed), DEBIAN_DAPL (Debian's, or empty, then
# DEBIAN_DAPL_REASON says why), VM_OUT (where logs go).
# Everything that is waited for has a limit. Pairs are many, and in an emulated
# machine a grep takes as long as what it judges: what each does is done by the
# shell itself.

shopt -s extglob
it_n=0
it_logs=${VM_OUT:-/tmp}/$(basename "$0" .sh)
mkdir -p "$it_logs"
it_limit=${IT_LIMIT:-60}
it_why=
it_siw=
it_flushed=
it_our_line='^[^ ]*:CMA:' # of a library's log
# Servers run on the other node, if there is one.
it_there=()
[ "${VM_NODES:-1}" = 1 ] || it_there=(vm-node on 1)

ok()
{
    it_n=$((it_n + 1))
    echo "ok $it_n - $1"
}

not_ok()
{
    it_n=$((it_n + 1))
    echo "not ok $it_n - $1"
}

skip()
{
    it_n=$((it_n + 1))
    echo "ok $it_n - $1 # SKIP $2"
}

diag()
{
    sed 's/^/# /'
}

done_testing()
{
    echo "1..$it_n"
}

# check NAME COMMAND...: the command's verdict as a case.
check()
{
    local name=$1

    shift
    if "$@" >"$it_logs/check.log" 2>&1; then
        ok "$name"
    else
        not_ok "$name"
        tail -n 20 "$it_logs/check.log" | diag
    fi
}

# run_tap LABEL SECONDS COMMAND...: cases of a program that prints TAP; its output
# and what it says are kept as LABEL.tap and LABEL.log. One that broke off, or did not
# end by itself, says nothing of the rest: that is a failed case.
run_tap()
{
    local name=$1 limit=$2 tap=$it_logs/$1.tap rc

    shift 2
    timeout -k 5 "$limit" "$@" 2>"$it_logs/$name.log" | tee "$tap" |
        awk -v n="$it_n" -v label="$name" -f "$(dirname "$0")/../conform/number.awk"
    rc=${PIPESTATUS[0]}
    it_n=$((it_n + $(grep -cE '^(not )?ok ' "$tap")))
    ! grep -q '^1\.\.' "$tap" || [ "$rc" -ge 124 ] || return
    not_ok "$name: the whole run"
    if [ "$rc" = 124 ]; then
        echo "# no end after $limit s"
    else
        echo "# exit code $rc"
    fi
    tail -n 5 "$it_logs/$name.log" | diag
}

# Nobody writes to this one: to wait for it is a sleep without a process.
it_fifo=$(mktemp -u)
mkfifo "$it_fifo"
exec {it_never}<>"$it_fifo"
rm "$it_fifo"

# poll SECONDS COMMAND...: until it is true; there is no event to wait for.
poll()
{
    local end=$((SECONDS + $1 + 1))

    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        read -rt 0.05 -u "$it_never"
    done
    return 0
}

# The machine may stand still, as one does that is moved or starved: then time is up
# without anything having run. Each time that it lasted, in s, is a line.
it_still=$it_logs/still
: >"$it_still"
watch_clock()
{
    local last now

    read -r last _ </proc/uptime
    while [ -d "/proc/$$" ]; do
        read -rt 1 -u "$it_never"
        read -r now _ </proc/uptime
        [ $((${now%.*} - ${last%.*})) -le 5 ] || echo $((${now%.*} - ${last%.*})) >>"$it_still"
        last=$now
    done
}
watch_clock >/dev/null 2>&1 &

# says PATTERN FILE [TIMES]: has it a line that matches, or so many? As grep -E.
says()
{
    local lines line n=${3:-1}

    [ -e "$2" ] && mapfile -t lines <"$2" || return 1
    for line in "${lines[@]}"; do
        [[ ! $line =~ $1 ]] || n=$((n - 1))
    done
    [ $n -le 0 ]
}

# Is the port (decimal) in LISTEN state, in either family?
listening()
{
    local state="^ *[0-9]+: [0-9A-F]+:" f

    printf -v state '%s%04X [0-9A-F:]+ 0A ' "$state" "$1"
    if [ ${#it_there[@]} -gt 0 ]; then
        "${it_there[@]}" grep -qsE "$state" /proc/net/tcp /proc/net/tcp6
        return
    fi
    for f in /proc/net/tcp /proc/net/tcp6; do
        ! says "$state" $f || return 0
    done
    return 1
}

# Whose libraries, and where
declare -A it_lib=([ours]=$STAGE/lib [debian]=$DEBIAN_DAPL/lib/x86_64-linux-gnu)
declare -A it_bin=([ours]=$STAGE/bin [debian]=$DEBIAN_DAPL/bin)
declare -A it_confs=()

# dat_conf DAT PROVIDER: a configuration file for this pair of libraries, in
# it_conf. Debian's registry takes only exact thread safety.
dat_conf()
{
    local name lib params word version

    it_conf=$it_logs/dat.conf.$1.$2
    [ -z "${it_confs[$1.$2]+written}" ] || return 0
    it_confs[$1.$2]=
    while read -r name lib params; do
        word=nonthreadsafe version=2.0
        case $1.$lib in
        *.so.1) version=1.2 ;;
        ours.*) word=threadsafe ;;
        esac
        printf '%s u%s %s default %s/%s dapl.%s "%s" ""\n' \
            "$name" $version $word "${it_lib[$2]}" "$lib" $version "$params"
    done >"$it_conf" <<E
ofa-v2-cma libdaplofa.so.2 eth0 0
ofa-v2-cma-iw libdaplofa.so.2 eth1 0
ofa-v2-scm libdaploscm.so.2 rxe0 1
ofa-v2-ucm libdaploucm.so.2 rxe0 1
ofa-v2-ucm-gid0 libdaploucm.so.2 rxe0 1 gid=0
OpenIB-cma libdaplcma.so.1 eth0 0
OpenIB-cma-iw libdaplcma.so.1 eth1 0
OpenIB-scm libdaplscm.so.1 rxe0 1
OpenIB-ucm libdaplucm.so.1 rxe0 1
E
}

# use_stack DAT PROVIDER: words for the front of a command, in it_env.
use_stack()
{
    dat_conf "$1" "$2"
    it_env=(env DAT_OVERRIDE="$it_conf" LD_LIBRARY_PATH="${it_lib[$1]}")
}

# Who runs: program, libdat2 and provider.
# shellcheck disable=SC2034
{
    all_ours="ours ours ours"
    all_debian="debian debian debian"
    old_program="debian ours ours"
}

# lacks_debian WORD...: do they want Debian's, and it is not there?
lacks_debian()
{
    [[ "$*" == *debian* ]] && [ -z "$DEBIAN_DAPL" ]
}

# each_adapter COMMAND: "COMMAND WHAT" for each adapter, with IT_PROVIDER (its
# name in dat.conf), IT_ADDR, and it_old: what old programs meet there.
#   peers  old libraries too: what both say on the wire can be tried
#   ours   our libraries alone
#   local  our libraries alone, and no way to name a peer: see t_ucm.sh
each_adapter()
{
    each_row_of "$1" 4<<E
ofa-v2-cma|$DAPL_VM_RXE_ADDR|peers|soft-RoCE
ofa-v2-cma-iw|$DAPL_VM_SIW_ADDR|ours|soft-iWARP
ofa-v2-scm|$DAPL_VM_RXE_ADDR|peers|soft-RoCE, SCM
ofa-v2-ucm|$DAPL_VM_RXE_ADDR|local|soft-RoCE, UCM
E
}

# each_adapter_1 COMMAND: the same of DAT 1.2, of which there is nothing old.
each_adapter_1()
{
    each_row_of "$1" 4<<E
OpenIB-cma|$DAPL_VM_RXE_ADDR|ours|DAT 1.2, soft-RoCE
OpenIB-cma-iw|$DAPL_VM_SIW_ADDR|ours|DAT 1.2, soft-iWARP
OpenIB-scm|$DAPL_VM_RXE_ADDR|ours|DAT 1.2, soft-RoCE, SCM
OpenIB-ucm|$DAPL_VM_RXE_ADDR|local|DAT 1.2, soft-RoCE, UCM
E
}

# each_row_of COMMAND: rows of adapters on descriptor 4, which COMMAND keeps.
each_row_of()
{
    local what IT_PROVIDER IT_ADDR it_old

    while IFS='|' read -r IT_PROVIDER IT_ADDR it_old what <&4; do
        if [ -n "$IT_ADDR" ]; then
            "$1" "$what"
        else
            skip "$what: all" "$DAPL_VM_NO_SIW"
        fi
    done
}

# Has the server said so? It listens, or its log has a line with IT_READY.
is_ready()
{
    if [ -n "${IT_READY:-}" ]; then
        says "$IT_READY" "$1"
    else
        listening "${IT_PORT:-15828}"
    fi
}

ready_or_gone()
{
    is_ready "$1" || ! kill -0 "$2" 2>/dev/null
}

# start_server LOG COMMAND...: returns when it is ready; sets server_pid.
start_server()
{
    local log=$1

    shift
    timeout -k 2 "$it_limit" "${it_there[@]}" "$@" >"$log" 2>&1 </dev/null &
    server_pid=$!
    if ! poll 20 ready_or_gone "$log" "$server_pid"; then
        it_why="server did not listen within 20 s"
        kill "$server_pid" 2>/dev/null
        wait "$server_pid"
        return 1
    fi
    is_ready "$log" && return 0
    wait "$server_pid"
    it_why="server ended before it listened, exit code $?"
    return 1
}

# TCP connections of the kernel's own with bytes that it has not read.
unread()
{
    local owned

    owned=$(find /proc/[0-9]*/fd -lname 'socket:*' -printf '%l ' 2>/dev/null)
    awk -v owned="$owned" '$4 == "01" && $5 !~ /:00000000$/ && !index(owned, "[" $10 "]") {
        print $2, $3, $5 }' /proc/net/tcp | sort
}

# Prints connections in which nothing was read for five seconds.
watch_unread()
{
    local before='' now

    while sleep 5; do
        now=$(unread)
        printf '%s\n' "$before" "$now" | sort | uniq -d | grep .
        before=$now
    done
}

# over_siw COMMAND...: it_siw says so if the kernel left a message unread. Soft-iWARP
# (siw_accept() of Linux 6.1) sends its reply first and listens to the socket then:
# what comes between waits there until more comes, which may be never. It accepts
# where the server is.
over_siw()
{
    local stalls=$it_logs/stalls watcher rc

    "${it_there[@]}" bash -c "$(declare -f unread watch_unread); watch_unread" >"$stalls" 2>/dev/null &
    watcher=$!
    "$@"
    rc=$?
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    it_siw=
    [ ! -s "$stalls" ] ||
        it_siw="the kernel's siw left $(head -n 1 "$stalls" | sed 's/.*://') bytes (hex) of a connection unread"
    return $rc
}

# run_client LOG COMMAND...: over soft-iWARP also it_siw, if the kernel may be why it
# fails. siw also ends a message with an error of the queue pair that has arrived, if
# the peer disconnects while it is being sent; our library's log tells of those.
run_client()
{
    local log=$1 rc

    shift
    it_siw=
    if [[ ${IT_PROVIDER:-} != *-iw ]]; then
        timeout -k 2 "$it_limit" "$@" >"$log" 2>&1 </dev/null
        return
    fi
    over_siw env DAPL_DBG_TYPE=2 DAPL_DBG_DEST=1 timeout -k 2 "$it_limit" "$@" >"$log" 2>&1 </dev/null
    rc=$?
    ! grep -q "$it_our_line.*local work queue catastrophic error" "$log" ||
        it_siw="the kernel's siw ended a queue pair with an error"
    return $rc
}

# verdict SIDE LOG RC: exactly one PASSED, no error, exit code 0. The lines of
# dtestx for its parts do not count.
verdict()
{
    local n=0 bad='' lines line

    mapfile -t lines <"$2"
    for line in "${lines[@]}"; do
        case $line in
        *" test PASSED" | *" test - PASSED") ;;
        *PASSED*) n=$((n + 1)) ;;
        esac
        [[ -n $bad || $line != *ERR* ]] || bad=$line
    done
    if [ "$3" != 0 ]; then
        it_why="$1: exit code $3"
    elif [ $n != 1 ]; then
        it_why="$1: PASSED $n times"
    elif [ -n "$bad" ]; then
        it_why="$1: $bad"
    else
        return 0
    fi
    return 1
}

# Debian's dtestcm and dtestsrq have no PASSED; they say that they reached the
# end. Errors show in their texts only, not in the exit code.
verdict_tool()
{
    local bad='err|fail|invalid'

    if [ "$4" = ours ]; then
        verdict "$1" "$2" "$3"
        return
    fi
    if [ "$3" != 0 ]; then
        it_why="$1: exit code $3"
    # Debian's dtestcm takes disconnects in the order of its endpoints only,
    # and gives up otherwise; by then it has had all connections.
    elif grep -q "Error disconnect_eps" "$2" && grep -qE "ALL [0-9]+ CONNECTED" "$2"; then
        return 0
    elif grep -qiE "$bad" "$2"; then
        it_why="$1: $(grep -m 1 -iE "$bad" "$2")"
    elif ! grep -q "Test Complete" "$2"; then
        it_why="$1: not at its end"
    else
        return 0
    fi
    return 1
}

# no_way_to_peer LOG: is that why an old client failed? IT_NO_WAY has its words.
# Then it_why is the reason of a skip.
no_way_to_peer()
{
    [ -n "${IT_NO_WAY:-}" ] && grep -qE "$IT_NO_WAY" "$1" || return 1
    it_why="it has no words for a UCM peer on RoCE (queue pair and GID) and says:"
    it_why+=" $(grep -m 1 -E "$IT_NO_WAY" "$1" | tr -s ' ' | sed 's/^[0-9 ]*//')"
}

# A case begins, and nothing that excuses its failure has been seen.
no_excuse()
{
    it_siw=
    it_flushed=
    : >"$it_still"
}

# last_write_flushed PROGRAM LOG: the client has passed, and the server has not; was it
# for this? The client of dtest -W leaves when it sees the last write in its memory. The
# write's acknowledgement is dropped if its queue pair is in error before it is sent
# (rxe_xmit_packet()); then Debian's dtest takes the flush for a failure. Ours asks for no
# completion of that write.
last_write_flushed()
{
    [ "$1" = debian ] && says 'ERROR rdma_write: status=0x1 ' "$2" &&
        says 'Error do_rdma_write_ping_pong' "$2" || return
    it_flushed="Debian's dtest has had its last write flushed, as its peer saw that and left"
}

# once_more NAME: it failed; is it to be tried again, for what the kernel's siw did, for
# a race of Debian's dtest, or as the machine stood still? That is a matter of chance, and
# not one for three times.
once_more()
{
    [ "${it_tries:-0}" -lt 2 ] || return 1
    if [ -s "$it_still" ]; then
        echo "# the machine stood still for $(head -n 1 "$it_still") s: $1 once more"
    elif [ -n "$it_siw$it_flushed" ]; then
        echo "# ${it_siw:-$it_flushed}: $1 once more"
    else
        return 1
    fi
}

# run_tap_siw LABEL SECONDS COMMAND...: run_tap of a few cases over soft-iWARP; they are
# run again for what siw did to one that fails.
run_tap_siw()
{
    local said=$it_logs/$1.said n=$it_n it_tries=0

    while
        no_excuse
        over_siw run_tap "$@" >"$said"
        grep -q '^not ok' "$said" && once_more "$1"
    do
        it_tries=$((it_tries + 1)) it_n=$n
    done
    cat "$said"
}

# tool_pair TOOL VERDICT NAME SERVER CLIENT OPTION...: SERVER and CLIENT are
# three words each: program, libdat2 and provider, each ours or debian.
# "VERDICT SIDE LOG RC WHOSE" judges each side. IT_SERVER and IT_CLIENT are
# further options of that side alone.
tool_pair()
{
    local tool=$1 judge=$2 name=$3 s c log rc=0 src=0 good=yes again=("$@")
    local prov=${IT_PROVIDER:-ofa-v2-cma} addr=${IT_ADDR:-$DAPL_VM_RXE_ADDR}

    read -ra s <<<"$4"
    read -ra c <<<"$5"
    shift 5
    name="$name: $tool $*${IT_SERVER:+ [server: $IT_SERVER]}${IT_CLIENT:+ [client: $IT_CLIENT]}"
    log=$it_logs/${name//+([!A-Za-z0-9])/-}
    it_why=
    no_excuse
    if lacks_debian "${s[@]}" "${c[@]}"; then
        skip "$name" "$DEBIAN_DAPL_REASON"
        return
    fi
    use_stack "${s[1]}" "${s[2]}"
    # shellcheck disable=SC2086
    if start_server "$log.server" "${it_env[@]}" stdbuf -oL "${it_bin[${s[0]}]}/$tool" \
        -P "$prov" "$@" ${IT_SERVER:-}; then
        use_stack "${c[1]}" "${c[2]}"
        # shellcheck disable=SC2086
        run_client "$log.client" "${it_env[@]}" "${it_bin[${c[0]}]}/$tool" \
            -P "$prov" "$@" ${IT_CLIENT:-} -h "$addr"
        rc=$?
        "$judge" client "$log.client" $rc "${c[0]}" || good=no
        # A server whose client failed may wait for ever.
        [ $good = yes ] || kill "$server_pid" 2>/dev/null
        wait "$server_pid"
        src=$?
        if [ $good = yes ] && ! "$judge" server "$log.server" $src "${s[0]}"; then
            good=no
            last_write_flushed "${s[0]}" "$log.server"
        fi
    else
        good=no
        : >"$log.client"
    fi
    if [ $good = yes ]; then
        ok "$name"
        return
    elif no_way_to_peer "$log.client"; then
        skip "$name" "$it_why"
        return
    # Seen: Debian's dtest crashes in its last clean-up, now and then.
    elif [ "${s[*]} ${c[*]}" = "$all_debian $all_debian" ]; then
        skip "$name" "nothing of ours takes part, and yet: $it_why"
        return
    elif once_more "$name"; then
        it_tries=$((${it_tries:-0} + 1)) tool_pair "${again[@]}"
        return
    elif [ -z "${it_crashed:-}" ] && { [ "$rc ${c[*]}" = "139 $all_debian" ] ||
        [ "$src ${s[*]}" = "139 $all_debian" ]; }; then
        echo "# a process that has nothing of ours has crashed: $name once more"
        it_crashed=yes tool_pair "${again[@]}"
        return
    fi
    not_ok "$name"
    echo "# $it_why"
    echo "# the server's last lines ($(basename "$log").server):"
    tail -n 6 "$log.server" | diag
    echo "# the client's last lines:"
    tail -n 6 "$log.client" | diag
}

# dtest_pair NAME SERVER CLIENT OPTION...: the same with dtest.
dtest_pair()
{
    tool_pair dtest verdict "$@"
}
