# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_faults.sh: what a consumer hears when something goes wrong between two hosts,
# over each adapter: once, within a time that the manual states, and afterwards
# all can be freed, a new connection works, and nothing has stayed behind.
# One end is here and takes commands, the other on the second node and answers
# (end.c). FAULTS, a shell pattern of ADAPTER.FAULT.WHEN, picks some, rare ones too.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"

shopt -s extglob
end=$BUILD/test/nodes/.libs/end
qual=45000
far=
log=
# Hosts are asked more often than by default, and retries take less, so that
# vanishing is soon seen.
export DAPL_CM_KEEPALIVE_MS=6000 DAPL_UCM_KEEPALIVE_MS=6000 DAPL_ACK_TIMER=18
# The logs' file system has no pipes.
pipe=/run/end.pipe
never=/run/end.never
mkfifo "$pipe" "$never"

# heard SECONDS PATTERN [TIMES]: does the end here print a line like it, so often?
heard()
{
    poll "$1" printed "$2" "${3:-1}"
}

printed()
{
    [ "$(grep -cE "$1" "$log.here")" -ge "$2" ]
}

tell()
{
    echo "$*" >&"$to"
}

far_ready()
{
    grep -q '^address' "$log.far" || ! kill -0 "$far" 2>/dev/null
}

# far_begin [hold]: the other end; with hold it answers no request
far_begin()
{
    use_stack ours ours
    : >"$log.far"
    vm-node on 1 "${it_env[@]}" "$end" "$IT_PROVIDER" "$qual" "$@" >"$log.far" 2>&1 &
    far=$!
    poll 70 far_ready
    far_address=$(sed -n 's/^address //p' "$log.far")
    [ -n "$far_address" ] || { it_why="the other end did not begin"; return 1; }
}

far_end()
{
    [ -n "$far" ] || return 0
    kill "$far" 2>/dev/null
    wait "$far" 2>/dev/null
    far=
}

here_begin()
{
    use_stack ours ours
    exec {to}<>"$pipe"
    "${it_env[@]}" "$end" "$IT_PROVIDER" >"$log.here" 2>&1 <"$pipe" {to}>&- &
    here=$!
    heard 20 '^address' || { it_why="the end here did not begin"; return 1; }
}

# connection SLOT: established, and it carries a message and its answer
connection()
{
    local up answers

    up=$(grep -c "^$1 event ESTABLISHED" "$log.here")
    answers=$(grep -c "^$1 answer" "$log.here")
    tell "connect $1 $far_address $qual ${2:-15000}"
    heard $((${2:-15000} / 1000 + 5)) "^$1 event ESTABLISHED" $((up + 1)) || { it_why="no connection"; return 1; }
    tell "send $1"
    heard 20 "^$1 answer" $((answers + 1)) || { it_why="no answer"; return 1; }
}

# What of this process the kernel has, and how many descriptors are open.
resources()
{
    local n

    n=$(grep -c '^files' "$log.here")
    tell files
    heard 10 '^files' $((n + 1)) || return 1
    grep '^files' "$log.here" | tail -n 1
    for n in qp cq pd mr cm_id; do
        echo "$n $(rdma resource show $n | grep -c "pid $here ")"
    done
}

same_resources()
{
    [ "$(resources | tr '\n' ' ')" = "$before" ]
}

# ------------------------------------------------------------------- faults

far_ip() { awk '$2 == "node1" { print $1; exit }' /etc/hosts; }

fault_exit() { vm-node on 1 pkill -TERM -x end; }
fault_death() { vm-node on 1 pkill -KILL -x end; }
fault_power() { vm-node reboot 1; }
fault_frozen() { vm-node freeze 1; }
fault_cut() { vm-node cut 1; }
fault_blip() { vm-node cut 1; }
fault_loss() { vm-node netem loss 20%; }
# Late, some later than what follows them, some twice.
fault_disorder() { vm-node netem delay 30ms 20ms reorder 25% duplicate 10%; }
fault_clock() { date -s '+1 hour' >/dev/null; vm-node on 1 date -s '-1 hour' >/dev/null; }
fault_down() { vm-node on 1 ip link set "$card" down; }
# What is sent there goes to a host that is not.
fault_arp() { ip neigh replace "$(far_ip)" lladdr 02:00:00:00:00:99 nud permanent dev "$card"; }
fault_mtu() { vm-node on 1 ip link set "$card" mtu 900; }

mend_exit() { :; }
mend_death() { :; }
# What ran there is gone, and says nothing of it.
mend_power()
{
    far_end
    vm-node on 1 true
}
mend_frozen() { vm-node thaw 1; }
mend_cut() { vm-node mend 1; }
mend_blip() { vm-node mend 1; }
mend_loss() { vm-node netem; }
mend_disorder() { vm-node netem; }
mend_clock() { date -s '-1 hour' >/dev/null; vm-node on 1 date -s '+1 hour' >/dev/null; }
mend_down() { vm-node on 1 ip link set "$card" up; }
mend_arp() { ip neigh del "$(far_ip)" dev "$card"; }
mend_mtu() { vm-node on 1 ip link set "$card" mtu 1500; }

# survives: nothing is heard, and the message that was sent meanwhile is answered
survives()
{
    # Nothing passes until these are over: they last for two seconds.
    case $fault in blip | down)
        read -r -t 2 <>"$never"
        ! printed '^0 answer' 2 || { it_why="the fault was none: an answer came through"; return 1; }
        "mend_$fault"
        ;;
    esac
    [ "$when" != idle ] || tell "send 0"
    heard 60 '^0 answer' 2 || { it_why="no answer to what was sent"; return 1; }
    ! grep -E '^0 event' "$log.here" | grep -qv ESTABLISHED || { it_why="an event"; return 1; }
}

# ends: one event, of those that are expected, within the bound
ends()
{
    heard "$bound" "^0 event ($expected)" || { it_why="no event within $bound s"; return 1; }
}

# far_hears: one that was there all along hears of the end, too, once it can
far_hears()
{
    case $fault in frozen | cut | arp) ;; *) return 0 ;; esac
    poll 60 grep -qE '^0 event (DISCONNECTED|BROKEN)' "$log.far" ||
        { it_why="the other end was not told"; return 1; }
}

after()
{
    local n

    n=$(grep -E '^0 event' "$log.here" | grep -vc ESTABLISHED)
    [ "$expected" = - ] || [ "$n" = 1 ] || { it_why="$n events"; return 1; }
    tell "free 0"
    heard 10 '^0 freed' || { it_why="not freed"; return 1; }
    kill -0 "$far" 2>/dev/null || { far_end; far_begin || return 1; }
    connection 1 || { it_why="afterwards: $it_why"; return 1; }
    tell "free 1"
    heard 10 '^1 freed' || { it_why="the new one is not freed"; return 1; }
    poll 10 same_resources || {
        it_why="left behind: $(resources | tr '\n' ' '), before: $before"
        return 1
    }
    ! grep -E '^failed|wrong data' "$log.here" || { it_why="a call failed"; return 1; }
}

# connects: five connections come up, and carry data, one by one
connects()
{
    local slot

    for slot in 0 1 2 3 4; do
        connection "$slot" 60000 || return 1
    done
    for slot in 0 1 2 3 4; do
        tell "free $slot"
        heard 10 "^$slot freed" || { it_why="not freed"; return 1; }
    done
}

# asks: the other end has a request, which it does not answer
asks()
{
    far_end
    far_begin hold || return 1
    tell "connect 0 $far_address $qual 15000"
    poll 20 grep -q '^request' "$log.far" || { it_why="no request"; return 1; }
}

run_fault()
{
    local began

    far_begin && here_begin || return 1
    # What comes with the first one stays.
    connection 63 && tell "free 63" && heard 10 '^63 freed' || return 1
    before=$(resources | tr '\n' ' ')
    if [ "$when" = connecting ]; then
        "fault_$fault"
        connects || { "mend_$fault"; return 1; }
        "mend_$fault"
        poll 10 same_resources || { it_why="left behind: $(resources | tr '\n' ' ')"; return 1; }
        return
    fi
    case $when in
    asking) asks || return 1 ;;
    *) connection 0 || return 1 ;;
    esac
    began=$SECONDS
    "fault_$fault"
    [ "$when" != traffic ] || tell "send 0"
    if [ "$expected" = - ]; then
        survives || { "mend_$fault"; return 1; }
        "mend_$fault"
    else
        ends || { "mend_$fault"; return 1; }
        echo "# $name: $(grep -E '^0 event' "$log.here" | tail -n 1), after $((SECONDS - began)) s"
        "mend_$fault"
        far_hears || return 1
    fi
    after
}

fault_case()
{
    local here='' to='' before name="$1, $when: $fault"

    log=$it_logs/$(tr -cs 'A-Za-z0-9' - <<<"$IT_PROVIDER-$fault-$when")
    it_why=
    if run_fault; then
        tell quit
        if heard 20 '^closed'; then
            ok "$name"
        else
            not_ok "$name: closing"
        fi
    else
        not_ok "$name"
        echo "# $it_why"
        sed 's/^/# here: /' "$log.here" | tail -n 12
        sed 's/^/# far: /' "$log.far" | tail -n 6
        vm-node thaw 1 2>/dev/null
        vm-node mend 1 2>/dev/null
        vm-node netem
    fi
    [ -z "$to" ] || exec {to}>&-
    [ -z "$here" ] || { kill "$here" 2>/dev/null; wait "$here" 2>/dev/null; }
    far_end
}

faults="${FAULT_ROWS:-$(cat "$(dirname "$0")/faults.tsv")}"

while IFS='|' read -r -u 5 IT_PROVIDER card fault when expected bound rare; do
    case $IT_PROVIDER in '' | '#'*) continue ;; esac
    [ -z "$rare" ] || [ -n "$FAULTS" ] || continue
    expected=${expected//\//|}
    # shellcheck disable=SC2254
    case $IT_PROVIDER.$fault.$when in ${FAULTS:-*}) ;; *) continue ;; esac
    if [ "$IT_PROVIDER" = ofa-v2-cma-iw ] && [ -z "$DAPL_VM_SIW_ADDR" ]; then
        skip "$IT_PROVIDER, $when: $fault" "$DAPL_VM_NO_SIW"
        continue
    fi
    fault_case "$IT_PROVIDER"
done 5<<<"$faults"
done_testing
