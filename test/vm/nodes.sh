# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# nodes.sh: what several guests of one run have between them: a switch that
# joins their cards, and somebody who answers what vm-node asks for: barriers,
# and faults of links and of whole guests. Sourced by vm.sh.
# It starts no guest and looks at no command's result: vm.sh does.
# The switch is a QEMU without a machine, whose hubs are the Ethernets:
# sockets in the job's directory, and no packet leaves this system.
# One process does all: requests of all guests, and their ends, are lines of one
# pipe, "NODE VERB [ARGUMENT]"; an answer is "CODE [REASON]".
# State, local to vm_run_guest: vm_boots[NODE], vm_gone (ended or killed), vm_codes
# (QEMU's), vm_crashed (the node whose QEMU crashed first), vm_at (who waits at which
# barrier), vm_requests, vm_answers[NODE], vm_asks[WHO], vm_tells[WHO] (descriptors),
# vm_greeted[WHO], where WHO is a node or the switch.

vm_switch_index=9

# vm_monitor_args DIR: the monitor, with pipes that vm_monitor_open made
vm_monitor_args()
{
    vm_args+=(-chardev "pipe,id=qmp,path=${1//,/,,}/qmp" -mon "chardev=qmp,mode=control")
}

vm_monitor_close()
{
    local fd

    for fd in ${vm_asks[$1]} ${vm_tells[$1]}; do
        exec {fd}>&-
    done
    vm_asks[$1]=
    vm_tells[$1]=
}

# vm_monitor_open WHO DIR
vm_monitor_open()
{
    local to from

    vm_monitor_close "$1"
    mkfifo "$2/qmp.in" "$2/qmp.out"
    exec {to}<>"$2/qmp.in" {from}<>"$2/qmp.out"
    vm_asks[$1]=$to
    vm_tells[$1]=$from
    vm_greeted[$1]=no
}

vm_monitor_say()
{
    local line

    printf '{"execute":%s}\n' "$2" >&"${vm_asks[$1]}"
    # Events stand between; 30 s are for a busy machine.
    while read -r -t 30 line <&"${vm_tells[$1]}"; do
        case $line in
        '{"return"'*) return 0 ;;
        '{"error"'*) vm_why=$line; return 1 ;;
        esac
    done
    vm_why="QEMU's monitor does not answer"
    return 1
}

# vm_monitor WHO COMMAND: COMMAND is the end of a QMP request; vm_why if it fails
vm_monitor()
{
    if [ "${vm_greeted[$1]}" = no ]; then
        vm_monitor_say "$1" '"qmp_capabilities"' || return 1
        vm_greeted[$1]=yes
    fi
    vm_monitor_say "$1" "$2"
}

# vm_switch_start JOB: returns when guests can be plugged in
vm_switch_start()
{
    local dir=$1/switch n card vm_args

    mkdir "$dir"
    vm_monitor_open $vm_switch_index "$dir"
    vm_args=(-machine none -nodefaults -no-user-config -display none)
    vm_monitor_args "$dir"
    for ((n = 0; n < vm_opt_nodes; n++)); do
        for card in 0 1 2; do
            vm_args+=(-netdev "stream,id=s$n$card,server=on,addr.type=unix,addr.path=${dir//,/,,}/$n$card"
                -netdev "hubport,id=n$n$card,hubid=$card,netdev=s$n$card")
        done
    done
    qemu-system-x86_64 "${vm_args[@]}" </dev/null >"$dir/log" 2>&1 &
    vm_switch_pid=$!
    h_children+=("$vm_switch_pid")
    vm_monitor $vm_switch_index '"query-status"' && return
    say "vm: the switch between the guests failed: $vm_why"
    cat "$dir/log" >&2
    return 1
}

vm_switch_stop()
{
    kill "$vm_switch_pid" 2>/dev/null
    wait "$vm_switch_pid"
}

# vm_link NODE true|false CARD...: the node's system does not see it: packets
# vanish, as they do behind a switch of which a cable is pulled.
vm_link()
{
    local node=$1 up=$2 card

    shift 2
    for card; do
        vm_monitor $vm_switch_index \
            "\"set_link\",\"arguments\":{\"name\":\"n$node$card\",\"up\":$up}" || return 1
    done
}

vm_answer()
{
    [ -n "${vm_gone[$1]}" ] || printf '%s\n' "$2" >&"${vm_answers[$1]}"
}

# Who was killed by order is not waited for; who ended by itself will not come,
# which those who wait are told.
vm_barrier()
{
    local name=$1 n answer=0 missing=no waiting=()

    for ((n = 0; n < vm_opt_nodes; n++)); do
        if [ "${vm_at[$n]}" = "$name" ]; then
            waiting+=("$n")
        elif [ "${vm_gone[$n]}" = ended ]; then
            answer="1 node$n has ended"
        elif [ -z "${vm_gone[$n]}" ]; then
            missing=yes
        fi
    done
    [ "$missing $answer" != "yes 0" ] || return
    for n in "${waiting[@]}"; do
        vm_at[n]=
        vm_answer "$n" "$answer"
    done
}

vm_barriers()
{
    local name

    for name in "${vm_at[@]}"; do
        [ -z "$name" ] || vm_barrier "$name"
    done
}

# vm_fault VERB NODE
vm_fault()
{
    if ! [[ $2 =~ ^[0-9]$ ]] || [ "$2" -ge "$vm_opt_nodes" ]; then
        vm_why="there is no node '$2'"
        return 1
    elif [ -n "${vm_gone[$2]}" ]; then
        vm_why="node$2 has ended"
        return 1
    elif [ "$vm_opt_nodes" = 1 ]; then
        vm_why="there is one node only (--nodes)"
        return 1
    fi
    case $1 in
    cut) vm_link "$2" false 0 1 ;;
    mend) vm_link "$2" true 0 1 ;;
    # What it does not take any more would fill the switch, for all.
    freeze) vm_link "$2" false 0 1 2 && vm_monitor "$2" '"stop"' ;;
    thaw) vm_monitor "$2" '"cont"' && vm_link "$2" true 0 1 2 ;;
    kill)
        vm_gone[$2]=killed
        vm_at[$2]=
        vm_monitor "$2" '"quit"' && vm_barriers
        ;;
    reboot)
        vm_monitor "$2" '"quit"' || return 1
        wait "${vm_pids[$2]}"
        vm_node_start "$2"
        ;;
    esac
}

# vm_ended NODE: where QEMU crashed before the command's end, nothing that others wait
# for will come, nor is what they found worth anything
vm_ended()
{
    local n

    wait "${vm_pids[$1]}"
    vm_codes[$1]=$?
    [ -n "${vm_gone[$1]}" ] || vm_gone[$1]=ended
    vm_at[$1]=
    if [ "$vm_crashed${vm_gone[$1]}" = ended ] && vm_is_crash "${vm_codes[$1]}" &&
        [ ! -s "$vm_job/$1/share/rc" ]; then
        vm_crashed=$1
        for n in "${!vm_pids[@]}"; do
            [ -n "${vm_gone[$n]}" ] || kill "${vm_pids[$n]}" 2>/dev/null
        done
    fi
    vm_barriers
}

# vm_serve: answers until all guests have ended
vm_serve()
{
    local n verb arg left=$vm_opt_nodes

    while [ "$left" -gt 0 ] && read -r n verb arg <&"$vm_requests"; do
        case $verb in
        ended)
            [ "$arg" = "${vm_boots[$n]}" ] || continue
            left=$((left - 1))
            vm_ended "$n"
            ;;
        barrier)
            vm_at[n]=$arg
            vm_barrier "$arg"
            ;;
        cut | mend | freeze | thaw | kill | reboot)
            if vm_fault "$verb" "$arg"; then
                vm_answer "$n" 0
            else
                vm_answer "$n" "1 $vm_why"
            fi
            ;;
        *) vm_answer "$n" "2 unknown request" ;;
        esac
    done
}
