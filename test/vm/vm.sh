# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# vm.sh: `./run vm -- COMMAND`: runs one command in a guest that has real
# soft-RoCE (rxe0) and soft-iWARP (siw0) devices and sees the host's files.
# Does not build or test anything. Sourced by ./run; see doc/testing.md.
# Ownership: one job directory per run, with one of each guest (and its qemu)
# below; all end with the run.
# Channels: standard output and standard error by two virtio ports, the exit
# code by a file, the kernel's console by a serial line of its own, requests
# of vm-node by a third port.
# shellcheck disable=SC2054 # the commas are those of QEMU's options

# shellcheck source=test/vm/kernel.sh
. "$h_top/test/vm/kernel.sh"
# shellcheck source=test/vm/nodes.sh
. "$h_top/test/vm/nodes.sh"

vm_usage()
{
    cat <<'E'
usage: ./run vm [options] -- COMMAND [ARG...]

Runs COMMAND as root in a virtual machine whose root is this system's, read
only, with a RAM overlay for writes. The devices are rxe0 (RoCE, 10.0.2.15,
fd00:da1::15) and siw0 (iWARP, 10.0.3.15). The exit code is COMMAND's; 124 if
the time was up; 125 if the guest itself failed, 126 if QEMU crashed, which then
ends the other guests, too.

  --nodes N       N guests (2 to 4) on one Ethernet for each kind of device;
                  COMMAND runs in each, see below
  --kernel WHICH  stock (the release's), or backports (the newest one that the
                  release has been given)
  --mem MB        memory of a guest (2048)
  --cpus N        processors of a guest (2)
  --timeout SEC   limit for boot and COMMAND together (600)
  --out DIR       DIR of this system, writable as $VM_OUT in the guest
  --icount        virtual time: one processor, 4 ns per instruction; for
                  figures that do not depend on this machine's load
  --no-siw        no soft-iWARP device
  --keep-console  keep the kernel's messages even if all went well
  --host          no guest: run COMMAND here, on the RDMA devices that this
                  system has; only with DAPL_TEST_HOST=1 in the environment

With --nodes, a guest's number is $VM_NODE, from 0, of $VM_NODES. Node 1 has the
addresses that end in 16, and so on; their names are in /etc/hosts of all: node1
and node1-6 (IPv4 and IPv6, rxe0), node1-siw and node1-siw6. A line of output
begins with its node's name. $VM_OUT is shared by all. The exit code is that of
the first node whose own is not 0; a guest that was killed by 'vm-node kill' has
none. $VM_BOOT counts how often a node began, from 1: 'vm-node reboot' begins it,
and COMMAND, again. 'vm-node --help', in the guest, tells of barriers, commands
on another node, and faults of links and of guests.

Environment: DAPL_CACHE (cache directory; .cache), DAPL_ACCEL (kvm or tcg; by
default KVM is tried once and used if it works), DAPL_VM_KERNEL (as --kernel, for
all that boots a guest).
E
}

vm_run_host()
{
    local rc

    [ "${DAPL_TEST_HOST:-}" = 1 ] ||
        die "--host uses this system's own RDMA devices; set DAPL_TEST_HOST=1 if that is meant"
    if [ -z "$(ls -A /sys/class/infiniband 2>/dev/null)" ]; then
        die "this system has no RDMA device (as root: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IF)"
    fi
    VM_OUT=$vm_opt_out timeout -k 5 "$vm_opt_timeout" "$@"
    rc=$?
    [ $rc != 124 ] || say "vm: no end after $vm_opt_timeout s; stopped"
    return $rc
}

# vm_net_args JOB NODE: eth1 belongs to siw0, so that its TCP traffic and rxe0's
# UDP traffic do not meet. A guest of its own has a hub with nobody else. Several
# have one Ethernet more, of vm-node, which no fault of a link concerns.
vm_net_args()
{
    local card net cards="0 1"

    [ "$vm_opt_nodes" = 1 ] || cards="0 1 2"
    for card in $cards; do
        net=hubport,id=n$card,hubid=$card
        [ "$vm_opt_nodes" = 1 ] ||
            net="stream,id=n$card,server=off,addr.type=unix,addr.path=${1//,/,,}/switch/$2$card"
        vm_args+=(-netdev "$net"
            -device "virtio-net-pci,netdev=n$card,mac=52:54:00:da:0$((card + 1)):$((15 + $2)),romfile=")
    done
}

vm_share_args()
{
    # qemu wants a comma in a path doubled.
    vm_args+=(-fsdev "local,id=$1,path=${2//,/,,},security_model=none$3"
        -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

# vm_qemu_args JOB NODE ACCEL
vm_qemu_args()
{
    local job=$1/$2 accel=$3 cpus=$vm_opt_cpus maps=" norandmaps"

    # At another address each time a program is code that was never seen: to emulate
    # one that does nothing takes twice as long then.
    vm_args=(-nodefaults -no-user-config -display none -no-reboot -m "$vm_opt_mem")
    if [ "$vm_opt_icount" = yes ]; then
        cpus=1
        vm_args+=(-accel tcg,thread=single -cpu max -icount shift=2,sleep=off)
    elif [ "$accel" = kvm ]; then
        vm_args+=(-accel kvm -cpu host)
        maps=
    else
        vm_args+=(-accel tcg,thread=multi -cpu max)
    fi
    vm_args+=(-smp "$cpus"
        -kernel "$vm_dir/boot/vmlinuz-$vm_kver" -initrd "$vm_initrd"
        -append "console=ttyS0 quiet tsc=reliable panic=-1 oops=panic mitigations=off random.trust_cpu=on$maps"
        -chardev "file,id=con,path=${job//,/,,}/console" -serial chardev:con
        -device virtio-serial-pci
        -chardev "file,id=out,path=${job//,/,,}/out"
        -device virtserialport,chardev=out,name=dapl.out
        -chardev "file,id=err,path=${job//,/,,}/err"
        -device virtserialport,chardev=err,name=dapl.err
        -chardev "pipe,id=ctl,path=${job//,/,,}/ctl"
        -device virtserialport,chardev=ctl,name=dapl.ctl)
    vm_monitor_args "$job"
    vm_share_args host / ,readonly=on,multidevs=remap
    vm_share_args job "$job/share" ,multidevs=remap
    [ -z "$vm_opt_out" ] || vm_share_args out "$vm_opt_out" ,multidevs=remap
    vm_net_args "$1" "$2"
}

# vm_write_job SHARE NODE COMMAND...
vm_write_job()
{
    local share=$1 node=$2 out=no

    shift 2
    [ -z "$vm_opt_out" ] || out=yes
    cp "$h_top"/test/vm/{guest.sh,vm-node,vm-remote} "$share"
    {
        printf 'vm_kver=%q\nvm_modules_dir=%q\n' "$vm_kver" "$vm_dir/lib/modules/$vm_kver"
        printf 'vm_no_siw=%q\nvm_out=%q\nvm_cwd=%q\n' "$vm_no_siw" "$out" "$PWD"
        printf 'vm_node=%q\nvm_nodes=%q\nvm_boot=%q\n' "$node" "$vm_opt_nodes" "${vm_boots[$node]}"
        printf 'vm_argv=('
        printf ' %q' "$@"
        printf ')\n'
    } >"$share/env"
}

vm_keep_console()
{
    local to

    mkdir -p "$h_cache/log"
    to=$h_cache/log/console-$(date +%Y%m%d-%H%M%S)-$$-${1##*/}
    cp "$1/console" "$to" 2>/dev/null || return
    [ "$2" != show ] || { say "vm: the console's end:"; tail -n 20 "$to" | tr -d '\r' >&2; }
    say "vm: console log: $to"
    # shellcheck disable=SC2012
    (cd "$h_cache/log" && ls -t console-* | tail -n +11 | xargs -r rm -f)
}

# vm_is_crash RC: of QEMU, by SIGILL, SIGABRT, SIGBUS, SIGFPE or SIGSEGV
vm_is_crash()
{
    case $1 in
    132 | 134 | 135 | 136 | 139) return 0 ;;
    *) return 1 ;;
    esac
}

# vm_exit_code DIR RC: what the guest of this directory said, whose qemu said RC
vm_exit_code()
{
    local job=$1 qemu_rc=$2 rc vm=vm

    [ "$vm_opt_nodes" = 1 ] || vm="vm: node${job##*/}"

    rc=$(cat "$job/share/rc" 2>/dev/null)
    if [[ $rc =~ ^[0-9]{1,3}$ ]]; then
        if [ "$vm_opt_keep" = yes ]; then
            vm_keep_console "$job" keep
        elif [ "$rc" = 125 ]; then
            vm_keep_console "$job" show
        fi
        return "$rc"
    fi
    if [ "$qemu_rc" = 124 ] || [ "$qemu_rc" = 137 ]; then
        say "$vm: no end after $vm_opt_timeout s; stopped"
        vm_keep_console "$job" show
        return 124
    fi
    if grep -aq 'Kernel panic' "$job/console" 2>/dev/null; then
        say "$vm: the guest's kernel panicked"
    elif vm_is_crash "$qemu_rc"; then
        say "$vm: qemu crashed (signal $((qemu_rc - 128)))"
        cat "$job/qemu.log" >&2
    elif [ "$qemu_rc" != 0 ]; then
        say "$vm: qemu failed ($qemu_rc)"
        cat "$job/qemu.log" >&2
    else
        say "$vm: the guest ended without an exit code"
    fi
    vm_keep_console "$job" show
    ! vm_is_crash "$qemu_rc" || return 126
    return 125
}

# vm_copy NODE: its output, as lines of its own where there are several
vm_copy()
{
    if [ "$vm_opt_nodes" = 1 ]; then
        cat
    else
        stdbuf -oL sed "s/^/node$1: /"
    fi
}

# vm_node_start NODE: the first time or once more, after its end
vm_node_start()
{
    local node=$1 dir=$vm_job/$1 fo fe ro re vm_args

    rm -rf "$dir"
    mkdir -p "$dir/share"
    vm_boots[node]=$((${vm_boots[$node]:-0} + 1))
    vm_write_job "$dir/share" "$node" "${vm_command[@]}"
    mkfifo "$dir/out" "$dir/err" "$dir/ctl.in"
    ln -s ../requests "$dir/ctl.out"
    fo=${vm_answers[$node]}
    [ -z "$fo" ] || exec {fo}>&-
    exec {fo}<>"$dir/ctl.in"
    vm_answers[node]=$fo
    vm_monitor_open "$node" "$dir"
    vm_qemu_args "$vm_job" "$node" "$vm_accel"

    # Opened for both directions first, so that nobody waits for the other end.
    # Then only what runs the guest has what is written to, so that the copies
    # see the end.
    exec {fo}<>"$dir/out" {fe}<>"$dir/err"
    exec {ro}<"$dir/out" {re}<"$dir/err"
    vm_copy "$node" <&"$ro" {fo}>&- {fe}>&- {re}<&- {ro}<&- &
    vm_copies+=($!)
    {
        vm_copy "$node" >&2
        printf '%s\n' "$node ended ${vm_boots[$node]}" >&"$vm_requests"
    } <&"$re" {fo}>&- {fe}>&- {ro}<&- {re}<&- &
    vm_copies+=($!)
    timeout --foreground -k 5 $((vm_end > SECONDS ? vm_end - SECONDS : 1)) \
        qemu-system-x86_64 "${vm_args[@]}" \
        </dev/null >"$dir/qemu.log" 2>&1 {ro}<&- {re}<&- &
    vm_pids[node]=$!
    h_children+=($!)
    vm_gone[node]=
    vm_at[node]=
    exec {fo}>&- {fe}>&- {ro}<&- {re}<&-
}

vm_run_guest()
{
    local vm_job=$h_tmp/job.$BASHPID vm_command=("$@") vm_accel n code rc=0 fd
    local vm_end=$((SECONDS + vm_opt_timeout)) vm_requests vm_switch_pid vm_why='' vm_crashed=''
    local vm_codes=() vm_pids=() vm_copies=() vm_boots=() vm_gone=() vm_at=()
    local vm_answers=() vm_asks=() vm_tells=() vm_greeted=()

    vm_prepare
    if [ "$vm_opt_siw" = no ]; then
        vm_no_siw="switched off by --no-siw"
    elif [ -n "$vm_no_siw" ]; then
        say "SKIP siw: $vm_no_siw"
    fi
    vm_accel=${DAPL_ACCEL:-$(vm_probe_kvm)}
    mkdir -p "$vm_job"
    mkfifo "$vm_job/requests"
    exec {vm_requests}<>"$vm_job/requests"
    [ "$vm_opt_nodes" = 1 ] || vm_switch_start "$vm_job" || return 125
    for ((n = 0; n < vm_opt_nodes; n++)); do
        vm_node_start "$n"
    done
    vm_serve
    wait "${vm_copies[@]}"
    for ((n = 0; n < vm_opt_nodes; n++)); do
        [ "${vm_gone[$n]}" != killed ] || continue
        [ -z "$vm_crashed" ] || [ "$vm_crashed" = "$n" ] || continue
        vm_exit_code "$vm_job/$n" "${vm_codes[$n]}"
        code=$?
        [ $rc != 0 ] || rc=$code
    done
    [ "$vm_opt_nodes" = 1 ] || vm_switch_stop
    h_children=()
    for fd in "$vm_requests" "${vm_answers[@]}" "${vm_asks[@]}" "${vm_tells[@]}"; do
        exec {fd}>&-
    done
    rm -rf "$vm_job"
    return $rc
}

vm_defaults()
{
    vm_opt_nodes=1
    vm_opt_kernel=${DAPL_VM_KERNEL:-stock}
    vm_opt_mem=2048
    vm_opt_cpus=2
    vm_opt_timeout=600
    vm_opt_out=
    vm_opt_icount=no
    vm_opt_siw=yes
    vm_opt_keep=no
    vm_opt_host=no
}

vm_need_count()
{
    is_count "${2-}" || usage_error "$1 needs a number greater than 0, not '${2-}'"
}

vm_need_kernel()
{
    case $1 in
    stock | backports) ;;
    *) usage_error "--kernel is stock or backports, not '$1'" ;;
    esac
}

cmd_vm()
{
    vm_defaults
    while [ $# -gt 0 ]; do
        case $1 in
        --nodes) vm_need_count "$1" "${2-}"; vm_opt_nodes=$2; shift ;;
        --kernel) vm_opt_kernel=${2-}; shift ;;
        --mem) vm_need_count "$1" "${2-}"; vm_opt_mem=$2; shift ;;
        --cpus) vm_need_count "$1" "${2-}"; vm_opt_cpus=$2; shift ;;
        --timeout) vm_need_count "$1" "${2-}"; vm_opt_timeout=$2; shift ;;
        --out)
            [ -d "${2-}" ] && [ -w "$2" ] || usage_error "--out needs a writable directory, not '${2-}'"
            vm_opt_out=$(cd "$2" && pwd -P)
            shift
            ;;
        --icount) vm_opt_icount=yes ;;
        --no-siw) vm_opt_siw=no ;;
        --keep-console) vm_opt_keep=yes ;;
        --host) vm_opt_host=yes ;;
        -h | --help) vm_usage; return 0 ;;
        --) shift; break ;;
        -*) usage_error "vm: unknown option $1 (see ./run vm --help)" ;;
        *) break ;;
        esac
        shift
    done
    [ $# -gt 0 ] || usage_error "vm: no command given (see ./run vm --help)"
    vm_need_kernel "$vm_opt_kernel"
    [ "$vm_opt_nodes" -le 4 ] || usage_error "vm: --nodes is at most 4"
    [ "$vm_opt_nodes" = 1 ] || [ "$vm_opt_host $vm_opt_icount" = "no no" ] ||
        usage_error "vm: --nodes is not for --host, which has no guest, nor --icount, of which each has a clock of its own"
    if [ "$vm_opt_host" = yes ]; then
        vm_run_host "$@"
    else
        vm_run_guest "$@"
    fi
}
