# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_faults.sh: what a consumer hears when something goes wrong between two hosts,
# over each adapter: once, within a time that the manual states, and afterwards
# all can be freed, a new connection works, and nothing has stayed behind: no
# descriptor, object of the kernel, or memory that nobody can free any more.
# One end is here and takes commands, the other on the second node and answers
# (end.c). FAULTS, a shell pattern of ADAPTER.FAULT.WHEN, picks some, rare ones too;
# of those LANE=I/N takes each Nth, from the Ith, so that others take the rest.

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
# Later than the transport finds out, and than a call gives up (15 s): one thing is
# heard at a time.
export DAPL_SCM_KEEPALIVE_MS=20000
# An end asks it for leaks when it has closed everything.
export LSAN_OPTIONS=leak_check_at_exit=0
leak_finder=liblsan.so.0
# The logs' file system has no pipes.
pipe=/run/end.pipe
mkfifo "$pipe"

# heard SECONDS PATTERN [TIMES]: does the end here print a line like it, so often?
heard()
{
    poll "$1" printed "$2" "${3:-1}"
}

printed()
{
    says "$1" "$log.here" "$2"
}

tell()
{
    echo "$*" >&"$to"
}

far_ready()
{
    says '^address' "$log.far" || ! kill -0 "$far" 2>/dev/null
}

tell_far()
{
    vm-node on 1 bash -c 'echo "$*" >'$pipe _ "$@"
}

# What may lock any amount of memory knows no limit of it.
# far_begin [hold]: the other end; with hold it answers no request
far_begin()
{
    use_stack ours ours
    : >"$log.far"
    vm-node on 1 setpriv --bounding-set=-ipc_lock "${it_env[@]}" \
        bash -c '[ -p '$pipe' ] || mkfifo '$pipe'; exec "$@" <>'$pipe \
        _ env LD_PRELOAD=$leak_finder "$end" -s "$size" "$IT_PROVIDER" "$qual" "$@" \
        >"$log.far" 2>&1 &
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
    # With what the library does about connections, for which known() waits.
    setpriv --bounding-set=-ipc_lock "${it_env[@]}" DAPL_DBG_TYPE=0x1000b LD_PRELOAD=$leak_finder \
        "$end" -s "$size" "$IT_PROVIDER" "$qual" hold \
        >"$log.here" 2>&1 <"$pipe" {to}>&- &
    here=$!
    heard 20 '^address' || { it_why="the end here did not begin"; return 1; }
    here_address=$(sed -n 's/^address //p' "$log.here")
}

# closed LOG: that end has closed its adapter, and all that came with it. librdmacm
# itself keeps the device open, by two descriptors, until the process ends.
closed()
{
    local kept=0

    [[ $IT_PROVIDER != *-cma* ]] || kept=2
    poll 20 says '^closed' "$1" &&
        grep -q "^closed, $kept descriptors more than before, no leak" "$1" ||
        { it_why="${1##*.}: $(grep '^closed' "$1" || echo "not closed")"; return 1; }
}

here_end()
{
    tell quit
    closed "$log.here" || return 1
    wait "$here"
    exec {to}>&-
    here='' to=''
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

freed()
{
    tell "free $1"
    heard 10 "^$1 freed" "${2:-1}" || { it_why="$1 is not freed"; return 1; }
}

# What of the device's the kernel has, and how many descriptors this end has open.
resources()
{
    local n

    n=$(grep -c '^files' "$log.here")
    tell files
    heard 10 '^files' $((n + 1)) || return 1
    grep '^files' "$log.here" | tail -n 1
    rdma resource show "$device" 2>/dev/null | sed 's/^[0-9]*: [a-z0-9]*: //'
}

same_resources()
{
    [ "$(resources | tr '\n' ' ')" = "$before" ]
}

without_ids()
{
    sed 's/cm_id [0-9]* //'
}

# Without an address nobody can be told that a connection is over, and CMA does not
# give that up for 150 s, which is too long for each run: an id of rdma_cm stays.
same_objects()
{
    if [ -n "$FAULTS" ] || [ "$IT_PROVIDER" != ofa-v2-cma ]; then
        same_resources
    else
        [ "$(resources | tr '\n' ' ' | without_ids)" = "$(without_ids <<<"$before")" ]
    fi
}

# The same of the other end.
resources_far()
{
    vm-node on 1 bash -c "ls /proc/\$(pgrep -x end)/fd | wc -l; rdma resource show $device" |
        sed 's/^[0-9]*: [a-z0-9]*: //'
}

same_resources_far()
{
    [ "$(resources_far | tr '\n' ' ')" = "$before_far" ]
}

# ------------------------------------------------------------------- faults

ip_of() { awk -v name="$1" '$2 == name { print $1; exit }' /etc/hosts; }
far_ip() { ip_of "node1$siw"; }
here_ip() { ip_of "node0$siw"; }
far_limit() { vm-node on 1 bash -c "prlimit --pid \$(pgrep -x end) $1"; }

# here_kb FIELD, far_kb FIELD: of /proc/PID/status
here_kb() { awk -v f="$1:" '$1 == f { print $2 }' "/proc/$here/status"; }
far_kb()
{
    vm-node on 1 bash -c 'cat /proc/$(pgrep -x end)/status' |
        awk -v f="$1:" '$1 == f { print $2 }'
}

fault_exit() { vm-node on 1 pkill -TERM -x end; }
fault_death() { vm-node on 1 pkill -KILL -x end; }
fault_power() { vm-node reboot 1; }
# It is back when the fault is mended. What asks hosts, not processes, knows none that
# was away for a moment from one that was always there.
fault_off() { vm-node cut 1 && vm-node reboot 1; }
fault_frozen() { vm-node freeze 1; }
fault_cut() { vm-node cut 1; }
fault_blip() { vm-node cut 1; }
fault_loss() { vm-node netem loss 20%; }
fault_loss1() { vm-node netem loss 1%; }
fault_loss5() { vm-node netem loss 5%; }
# Late, some later than what follows them, some twice.
fault_disorder() { vm-node netem delay 30ms 20ms reorder 25% duplicate 10%; }
fault_clock() { date -s '+1 hour' >/dev/null; vm-node on 1 date -s '-1 hour' >/dev/null; }
# A card that is down loses what comes, but that of a virtual machine keeps it, and hands
# it out before the interface counts as up: soft-RoCE, which cannot answer yet, ends the
# answer with a local error. So the switch loses it.
fault_down() { vm-node cut 1 && vm-node on 1 ip link set "$card" down; }
# What is sent there goes to a host that is not.
fault_arp() { ip neigh replace "$(far_ip)" lladdr 02:00:00:00:00:99 nud permanent dev "$card"; }
# What the peer sends is too long for its own interface then.
fault_mtu_large() { fault_mtu; }
fault_mtu() { vm-node on 1 ip link set "$card" mtu 900; }
# Linux 6.1 renames none that is up.
rename_far() { vm-node on 1 sh -c "ip link set $1 down && ip link set $1 name $2 && ip link set $2 up"; }
fault_rename() { rename_far "$card" "${card}new"; }
fault_address()
{
    vm-node on 1 sh -c "ip addr del $(far_ip)/24 dev $card && ip addr add $(far_ip)6/24 dev $card"
}
# By itself, TCP would try for a quarter of an hour.
fault_moved()
{
    [ -z "$siw" ] || echo 5 >/proc/sys/net/ipv4/tcp_retries2
    ip addr del "$(here_ip)/24" dev "$card" && ip addr add "$(here_ip)6/24" dev "$card"
}
# A third host with the address of the second one; it says so when it comes.
fault_twin()
{
    vm-node on 1 sh -ec "ip netns add twin
        ip link add link $card name twin type macvlan mode bridge
        ip link set twin netns twin
        ip -n twin addr add $(far_ip)/24 dev twin
        ip netns exec twin sh -c 'echo 1 >/proc/sys/net/ipv4/conf/twin/arp_notify'
        ip -n twin link set twin up"
}
fault_v6()
{
    ip -4 addr flush dev "$card" && vm-node on 1 ip -4 addr flush dev "$card"
}
# Room for some more.
fault_memlock()
{
    local limit=$((($(here_kb VmPin) + 32) * 1024))

    prlimit --pid "$here" --memlock=$limit
}
fault_memlock_far() { far_limit "--memlock=$((($(far_kb VmPin) + 32) * 1024))"; }
fault_memory()
{
    local limit=$((($(here_kb VmSize) + 1024) * 1024))

    prlimit --pid "$here" --as=$limit
}
fault_memory_far() { far_limit "--as=$((($(far_kb VmSize) + 1024) * 1024))"; }
fault_files()
{
    local limit=$(($(resources | sed -n 's/^files //p') + 4))

    prlimit --pid "$here" --nofile=$limit
}
fault_files_far()
{
    far_limit "--nofile=\$((\$(ls /proc/\$(pgrep -x end)/fd | wc -l) + 4))"
}
# Memory regions and queue pairs count alike: the last is a queue pair.
# limit_pairs PID DEVICE
limit_pairs()
{
    [ -e /run/cgroup/cgroup.procs ] || {
        mkdir -p /run/cgroup && mount -t cgroup2 none /run/cgroup || return 1
    }
    echo +rdma >/run/cgroup/cgroup.subtree_control && mkdir -p /run/cgroup/end &&
        echo "$1" >/run/cgroup/end/cgroup.procs &&
        echo "$2 hca_object=9" >/run/cgroup/end/rdma.max
}
fault_pairs() { limit_pairs "$here" "$device"; }
fault_pairs_far()
{
    vm-node on 1 bash -c "$(declare -f limit_pairs); limit_pairs \$(pgrep -x end) $device"
}
# It ends when nobody has the device open any more. The kernel has begun when it no
# longer lets go of who asked for it.
fault_removed()
{
    rdma link del "$device" &
    removing=$!
    poll 10 grep -q '^State:.D' "/proc/$removing/status"
}

mend_exit() { :; }
mend_death() { :; }
# What ran there is gone, and says nothing of it.
mend_power()
{
    far_end
    vm-node on 1 true
}
mend_off() { vm-node mend 1 && mend_power; }
mend_frozen() { vm-node thaw 1; }
mend_cut() { vm-node mend 1; }
mend_blip() { vm-node mend 1; }
mend_loss() { vm-node netem; }
mend_loss1() { vm-node netem; }
mend_loss5() { vm-node netem; }
mend_disorder() { vm-node netem; }
mend_clock() { date -s '-1 hour' >/dev/null; vm-node on 1 date -s '+1 hour' >/dev/null; }
mend_down() { vm-node on 1 ip link set "$card" up && vm-node mend 1; }
mend_arp() { ip neigh del "$(far_ip)" dev "$card"; }
# Its routes remember.
mend_mtu_large() { mend_mtu && vm-node on 1 ip route flush cache; }
# With less than 1,280 bytes an interface has no address of IPv6.
mend_mtu()
{
    vm-node on 1 sh -c "ip link set $card mtu 1500 && ip addr replace $(ip_of "node1-${siw#-}6")/64 dev $card nodad"
}
mend_rename() { rename_far "${card}new" "$card"; }
mend_address()
{
    vm-node on 1 sh -c "ip addr del $(far_ip)6/24 dev $card; ip addr add $(far_ip)/24 dev $card"
}
mend_moved()
{
    echo 15 >/proc/sys/net/ipv4/tcp_retries2
    ip addr del "$(here_ip)6/24" dev "$card"
    ip addr add "$(here_ip)/24" dev "$card"
}
mend_twin()
{
    vm-node on 1 ip netns del twin
    ip neigh del "$(far_ip)" dev "$card"
}
mend_v6()
{
    ip addr add "$(here_ip)/24" dev "$card"
    vm-node on 1 ip addr add "$(far_ip)/24" dev "$card"
}
mend_memlock() { prlimit --pid "$here" --memlock=unlimited; }
mend_memlock_far() { far_limit --memlock=unlimited; }
mend_memory() { prlimit --pid "$here" --as=unlimited; }
mend_memory_far() { far_limit --as=unlimited; }
mend_files() { prlimit --pid "$here" --nofile=1024; }
mend_files_far() { far_limit --nofile=1024; }
mend_pairs() { echo "$device hca_object=max" >/run/cgroup/end/rdma.max; }
mend_pairs_far() { vm-node on 1 bash -c "echo $device hca_object=max >/run/cgroup/end/rdma.max"; }
mend_removed()
{
    local d major minor

    rdma link add "$device" type "${device%0}" netdev "$card" || return 1
    for d in /sys/class/infiniband_verbs/uverbs*; do
        IFS=: read -r major minor <"$d/dev"
        rm -f "/dev/infiniband/${d##*/}"
        mknod -m 666 "/dev/infiniband/${d##*/}" c "$major" "$minor"
    done
}

# survives: nothing is heard, and the message that was sent meanwhile is answered
survives()
{
    local answers=2

    # Nothing passes until these are over: they last for two seconds.
    case $fault in blip | down)
        read -rt 2 -u "$it_never"
        ! printed '^0 answer' 2 || { it_why="the fault was none: an answer came through"; return 1; }
        "mend_$fault"
        ;;
    esac
    [ "$when" != idle ] || tell "send 0"
    heard 60 '^0 answer' 2 || { it_why="no answer to what was sent"; return 1; }
    case $fault in
    loss?) tell "talk 0" && answers=102 ;;&
    loss*) loses || return 1 ;;
    # What waits for a while does so by a clock that nobody sets.
    clock) connection 1 && freed 1 || return 1 ;;
    esac
    no_event
}

no_event()
{
    ! grep -E '^0 event' "$log.here" | grep -qv ESTABLISHED || { it_why="an event"; return 1; }
}

# loses: messages are sent, one after the other, until one was lost
loses()
{
    local i

    for i in {1..50}; do
        heard 120 '^0 answer' "$answers" || { it_why="no answer to all that was sent"; return 1; }
        ! tc -s qdisc show dev "$card" | grep -q 'dropped [1-9]' || return 0
        tell "send 0"
        answers=$((answers + 1))
    done
    it_why="nothing was lost"
    return 1
}

# ends: one event, of those that are expected, within the bound
ends()
{
    heard "$bound" "^0 event ($expected)" || { it_why="no event within $bound s"; return 1; }
}

# far_hears: one that was there all along hears of the end, too, once it can. Of iWARP's
# stream that a third host has reset it does when it sends.
far_hears()
{
    case $IT_PROVIDER.$fault in
    *-iw.twin) return 0 ;;
    *.frozen | *.cut | *.arp | *.twin) ;;
    *) return 0 ;;
    esac
    poll 60 says '^0 event (DISCONNECTED|BROKEN)' "$log.far" $((ended_far + 1)) ||
        { it_why="the other end was not told"; return 1; }
}

# once: no event but the one that was expected, and all can be freed
once()
{
    local n

    n=$(grep -E '^0 event' "$log.here" | grep -vc ESTABLISHED)
    [ "$expected" = - ] || [ "$n" = 1 ] || { it_why="$n events"; return 1; }
    freed 0
}

# again: once the connection is freed, another one works
again()
{
    once || return 1
    # It has another address now, or it is dead.
    case $fault in address | death) far_end ;; esac
    [ -n "$far" ] && kill -0 "$far" 2>/dev/null || { far_end; far_begin || return 1; }
    connection 1 || { it_why="afterwards: $it_why"; return 1; }
    freed 1
}

nothing_left()
{
    poll 10 same_resources && return
    it_why="left behind: $(resources | tr '\n' ' '), before: $before"
    return 1
}

after()
{
    nothing_left || return 1
    # That end may not have heard yet: to an address that has gone CMA's goodbye is
    # repeated for 150 s, and of a stream that was reset iWARP tells who sends.
    case $far.$IT_PROVIDER.$fault in
    *.moved | *-iw.twin) ;;
    "$far_before".*)
        poll 10 same_resources_far ||
            { it_why="left behind there: $(resources_far | tr '\n' ' '), before: $before_far"; return 1; }
        ;;
    esac
    [ "$when" = limit ] || ! grep -E '^failed|wrong data' "$log.here" || { it_why="a call failed"; return 1; }
    ! grep 'wrong data' "$log.far" || { it_why="wrong data there"; return 1; }
    # Nothing more came when the fault was over, either.
    [ "$expected" != - ] || [ "$when" = connecting ] || [ "$when" = opening ] || no_event
}

# connects: five connections come up, and carry data, one by one
connects()
{
    local slot

    for slot in 0 1 2 3 4; do
        connection "$slot" 60000 || return 1
    done
    for slot in 0 1 2 3 4; do
        freed "$slot" || return 1
    done
}

# asks: the other end has a request, which it does not answer
asks()
{
    far_end
    far_begin hold || return 1
    tell "connect 0 $far_address $qual 15000"
    poll 20 says '^request' "$log.far" || { it_why="no request"; return 1; }
}

# is_asked: the end here has one, from the other
is_asked()
{
    tell_far "connect 0 $here_address $qual 60000"
    heard 20 '^request' || { it_why="no request"; return 1; }
}

# taken: the end here has done all that it was told
taken()
{
    resources >/dev/null
}

far_taken()
{
    tell_far files
    poll 10 says '^files' "$log.far"
}

# known SLOT: the peer's host has answered a question, as it does right after it has a
# connection; who never did is not judged for its silence.
known()
{
    local n

    n=$(grep -c ': .* answers$' "$log.here")
    connection "$1" || return 1
    [[ $IT_PROVIDER == *-scm ]] || heard 10 ': .* answers$' $((n + 1)) ||
        { it_why="no answer to whether it is there"; return 1; }
}

# The fault comes when one end has taken a step of which the other cannot hear.
prepare()
{
    case $when in
    asking) asks ;;
    asked) is_asked ;;
    accepting) is_asked && vm-node cut 1 && tell "accept 0" && taken ;;
    accepted) asks && vm-node cut 1 && tell_far "accept 0" && far_taken ;;
    leaving) connection 0 && vm-node cut 1 && tell "disconnect 0" && taken ;;
    left) connection 0 && vm-node cut 1 && tell_far "disconnect 0" && far_taken ;;
    *) known 0 ;;
    esac || return 1
    ended_far=$(grep -cE '^0 event (DISCONNECTED|BROKEN)' "$log.far")
    return 0
}

# What follows when the fault is there.
follow()
{
    case $when in
    traffic) tell "send 0" ;;
    asked)
        # Its end may be known here by now, or not yet.
        [ "$fault" != death ] || wait "$far"
        tell "accept 0"
        ;;
    accepting | accepted | leaving) vm-node mend 1 ;;
    # Nothing tells of the end but what is sent.
    left) vm-node mend 1 && tell "send 0" ;;
    esac
}

answered()
{
    printed "^$1 event|^failed" 1
}

freed_far()
{
    [ "$(grep -c ' freed$' "$log.far")" -gt "$1" ]
}

# room SLOT: it is freed, and where the limit is
room()
{
    local n

    n=$(grep -c ' freed$' "$log.far")
    freed "$1" || return 1
    [[ $fault != *_far ]] || poll 10 freed_far "$n" || { it_why="nothing is freed there"; return 1; }
}

# limits: one is refused when the limit is reached, those before it go on, and what
# is freed makes room for another
limits()
{
    local slot=0 refusal

    connection 0 && make_fault || return 1
    while [ -z "$refusal" ] && [ $slot -lt 60 ]; do
        slot=$((slot + 1))
        tell "connect $slot $far_address $qual 15000"
        poll 20 answered "$slot" || { it_why="neither a connection nor a refusal"; return 1; }
        refusal=$(grep -E "^$slot event|^failed" "$log.here" | grep -v ESTABLISHED | head -n 1)
    done
    [ -n "$refusal" ] || { it_why="never refused"; return 1; }
    echo "# $name: $((slot - 1)) more, then: $refusal"
    [[ $refusal =~ ^(failed [a-z_]+|[0-9]+ event)\ ($expected) ]] || { it_why="refused otherwise"; return 1; }
    ! [[ $refusal == [0-9]* ]] || freed "$slot" || return 1
    [ $slot -gt 1 ] || { it_why="no room for one"; return 1; }
    tell "send 0"
    heard 20 '^0 answer' 2 || { it_why="what there was does not go on"; return 1; }
    slot=$((slot - 1))
    room $slot && connection $slot || { it_why="with room again: $it_why"; return 1; }
    "mend_$fault"
    connection 62 || { it_why="without the limit: $it_why"; return 1; }
    for slot in $(seq 0 $slot) 62; do
        tell "free $slot"
    done
    after
}

gone()
{
    ! kill -0 "$1" 2>/dev/null
}

# What an adapter says to a connect after its address has gone; UCM takes another one.
moved_answer()
{
    case $IT_PROVIDER in
    *-cma*) echo '^1 event UNREACHABLE' ;;
    *-scm) echo '^failed ep_connect DAT_INVALID_ADDRESS' ;;
    *-ucm) echo '^1 event ESTABLISHED' ;;
    esac
}

catastrophe()
{
    tell async
    heard 10 '^async events: ' && printed '^async IA_CATASTROPHIC' 1
}

# Of a device that goes, the kernel tells who connects or listens by rdma_cm.
told_of_removal()
{
    local n=0 told

    [[ $IT_PROVIDER != *-cma* ]] || n=1
    if [ $n = 1 ]; then
        poll 10 catastrophe
    else
        catastrophe
    fi
    told=$(grep '^async [^e]' "$log.here" | tr '\n' ' ')
    [ "$(wc -w <<<"$told")" = $((2 * n)) ] || { it_why="asynchronous events, wanted $n: $told"; return 1; }
}

# renewed: the end here, which is of no more use, can free and close all; another one
# finds the device, or the new address
renewed()
{
    if [ "$fault" = moved ]; then
        tell "connect 1 $far_address $qual 15000"
        heard 20 "$(moved_answer)" || { it_why="another answer to a connect, or none"; return 1; }
        ! printed '^1 event' 1 || freed 1 || return 1
    fi
    once || return 1
    [ "$fault" != removed ] || told_of_removal || return 1
    if [ "$fault" = moved ]; then
        poll 170 same_objects || { it_why="left behind: $(resources | tr '\n' ' '), before: $before"; return 1; }
    elif [[ "$(resources | tr '\n' ' ')" != "${before%% pd*} "* ]]; then
        # A device that is going has no objects that could be counted.
        it_why="descriptors: $(resources | tr '\n' ' '), before: $before"
        return 1
    fi
    here_end || return 1
    if [ "$fault" = removed ]; then
        # The device goes when nobody has it open any more.
        poll 120 gone "$removing" && wait "$removing" && mend_removed || { it_why="the device does not go, or come"; return 1; }
    fi
    here_begin && connection 0 && freed 0
}

begin_all()
{
    far_begin && here_begin || return 1
    # What comes with the first one stays.
    connection 63 && freed 63 || return 1
    before=$(resources | tr '\n' ' ')
    before_far=$(resources_far | tr '\n' ' ')
    [[ $before$before_far == *" pd "[1-9]*" pd "[1-9]* ]] ||
        { it_why="the kernel's objects are not seen: $before, $before_far"; return 1; }
    far_before=$far
}

make_fault()
{
    "fault_$fault" && return
    "mend_$fault"
    it_why="the fault cannot be made"
    return 1
}

# connects_in_spite: while the fault lasts, all works; what is left then is not
# counted before it is over, as an end that was lost is told again until it is heard
connects_in_spite()
{
    local rc

    if [ "$when" = opening ]; then
        make_fault && begin_all
    else
        begin_all && make_fault
    fi && connects
    rc=$?
    "mend_$fault"
    [ $rc = 0 ] || return 1
    # Behind the family, a port and a flow; IPv4's, of UCM, are mapped.
    [ "$fault" != v6 ] || [[ $here_address == 0a00????????????!(00000000000000000000ffff*) ]] ||
        { it_why="not by IPv6"; return 1; }
    after
}

run_fault()
{
    local began rc

    case $when in opening | connecting)
        connects_in_spite
        return
        ;;
    esac
    begin_all || return 1
    if [ "$when" = limit ]; then
        limits
        return
    fi
    prepare || return 1
    began=$SECONDS
    make_fault || return 1
    follow
    if [ "$expected" = - ]; then
        survives
    else
        ends && echo "# $name: $(grep -E '^0 event' "$log.here" | tail -n 1), after $((SECONDS - began)) s"
    fi
    rc=$?
    case $rc.$fault in
    0.removed) renewed && after; return ;;
    0.moved) renewed; rc=$? ;;
    # With these, new ones come up although it stays.
    0.rename | 0.address) again; rc=$? ;;
    esac
    "mend_$fault"
    [ $rc = 0 ] || return 1
    case $fault in
    moved | rename | address) ;;
    *) [ "$expected" = - ] || far_hears && again || return 1 ;;
    esac
    after
}

# Those that were there in the end; of a killed one nothing is known.
both_closed()
{
    tell quit
    tell_far quit
    closed "$log.here" && closed "$log.far"
}

# try_fault: the row, from begin to end; why not, if it failed, is in $log.why
try_fault()
{
    local here='' to='' before before_far far_before ended_far removing here_address size=64 rc=1

    [ "$fault" != mtu_large ] || size=2048

    it_why=
    if ! run_fault || ! both_closed; then
        {
            echo "$it_why"
            sed 's/^/here: /' "$log.here" | tail -n 12
            sed 's/^/far: /' "$log.far" | tail -n 6
        } >"$log.why" 2>/dev/null
        vm-node thaw 1 2>/dev/null
        vm-node mend 1 2>/dev/null
        vm-node netem
    else
        rc=0
    fi
    [ -z "$to" ] || exec {to}>&-
    [ -z "$here" ] || { kill "$here" 2>/dev/null; wait "$here" 2>/dev/null; }
    far_end
    return $rc
}

fault_case()
{
    local name="$1, $when: $fault" device=rxe0 siw='' it_tries=0

    [ "$card" = eth0 ] || device=siw0 siw=-siw

    log=$it_logs/$(tr -cs 'A-Za-z0-9' - <<<"$IT_PROVIDER-$fault-$when")
    no_excuse
    until try_fault; do
        if ! once_more "$name"; then
            not_ok "$name"
            diag <"$log.why"
            return
        fi
        no_excuse
        it_tries=$((it_tries + 1))
    done
    ok "$name"
}

faults="${FAULT_ROWS:-$(cat "$(dirname "$0")/faults.tsv")}"
IFS=/ read -r lane lanes <<<"${LANE:-0/1}"
row=0

while IFS='|' read -r -u 5 IT_PROVIDER card fault when expected bound rare kernel; do
    case $IT_PROVIDER in '' | '#'*) continue ;; esac
    [ -z "$rare" ] || [ -n "$FAULTS" ] || continue
    # shellcheck disable=SC2254
    case $(uname -r) in ${kernel:-*}) ;; *) continue ;; esac
    expected=${expected//\//|}
    # shellcheck disable=SC2254
    case $IT_PROVIDER.$fault.$when in ${FAULTS:-*}) ;; *) continue ;; esac
    row=$((row + 1))
    [ $((row % lanes)) = "$lane" ] || continue
    if [ "$IT_PROVIDER" = ofa-v2-cma-iw ] && [ -z "$DAPL_VM_SIW_ADDR" ]; then
        skip "$IT_PROVIDER, $when: $fault" "$DAPL_VM_NO_SIW"
        continue
    fi
    fault_case "$IT_PROVIDER"
done 5<<<"$faults"
done_testing
