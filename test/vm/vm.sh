# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# vm.sh: `./run vm -- COMMAND`: runs one command in a guest that has real
# soft-RoCE (rxe0) and soft-iWARP (siw0) devices and sees the host's files.
# Does not build or test anything. Sourced by ./run; see doc/testing.md.
# Ownership: one job directory and one qemu per run; both end with the run.
# Channels: standard output and standard error by two virtio ports, the exit
# code by a file, the kernel's console by a serial line of its own.
# shellcheck disable=SC2054 # the commas are those of QEMU's options

# shellcheck source=test/vm/kernel.sh
. "$h_top/test/vm/kernel.sh"

vm_usage()
{
    cat <<'E'
usage: ./run vm [options] -- COMMAND [ARG...]

Runs COMMAND as root in a virtual machine whose root is this system's, read
only, with a RAM overlay for writes. The devices are rxe0 (RoCE, 10.0.2.15,
fd00:da1::15) and siw0 (iWARP, 10.0.3.15). The exit code is COMMAND's; 124 if
the time was up; 125 if the guest itself failed.

  --mem MB        memory of the guest (2048)
  --cpus N        processors (2)
  --timeout SEC   limit for boot and COMMAND together (600)
  --out DIR       DIR of this system, writable as $VM_OUT in the guest
  --icount        virtual time: one processor, 4 ns per instruction; for
                  figures that do not depend on this machine's load
  --no-siw        no soft-iWARP device
  --keep-console  keep the kernel's messages even if all went well
  --host          no guest: run COMMAND here, on the RDMA devices that this
                  system has; only with DAPL_TEST_HOST=1 in the environment

Environment: DAPL_CACHE (cache directory; .cache), DAPL_ACCEL (kvm or tcg; by
default KVM is tried once and used if it works).
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

# One line per network card. eth1 belongs to siw0, so that its TCP traffic
# and rxe0's UDP traffic do not meet. A second guest would plug in here.
vm_net_args()
{
    vm_args+=(-netdev hubport,id=n0,hubid=0
        -device virtio-net-pci,netdev=n0,mac=52:54:00:da:01:15,romfile=
        -netdev hubport,id=n1,hubid=1
        -device virtio-net-pci,netdev=n1,mac=52:54:00:da:02:15,romfile=)
}

vm_share_args()
{
    # qemu wants a comma in a path doubled.
    vm_args+=(-fsdev "local,id=$1,path=${2//,/,,},security_model=none$3"
        -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

vm_qemu_args()
{
    local job=$1 accel=$2 cpus=$vm_opt_cpus

    vm_args=(-nodefaults -no-user-config -display none -no-reboot -m "$vm_opt_mem")
    if [ "$vm_opt_icount" = yes ]; then
        cpus=1
        vm_args+=(-accel tcg,thread=single -cpu max -icount shift=2,sleep=off)
    elif [ "$accel" = kvm ]; then
        vm_args+=(-accel kvm -cpu host)
    else
        vm_args+=(-accel tcg,thread=multi -cpu max)
    fi
    vm_args+=(-smp "$cpus"
        -kernel "$vm_dir/boot/vmlinuz-$vm_kver" -initrd "$vm_initrd"
        -append "console=ttyS0 quiet tsc=reliable panic=-1 oops=panic mitigations=off random.trust_cpu=on"
        -chardev "file,id=con,path=${job//,/,,}/console" -serial chardev:con
        -device virtio-serial-pci
        -chardev "file,id=out,path=${job//,/,,}/out"
        -device virtserialport,chardev=out,name=dapl.out
        -chardev "file,id=err,path=${job//,/,,}/err"
        -device virtserialport,chardev=err,name=dapl.err)
    vm_share_args host / ,readonly=on,multidevs=remap
    vm_share_args job "$job/share" ,multidevs=remap
    [ -z "$vm_opt_out" ] || vm_share_args out "$vm_opt_out" ,multidevs=remap
    vm_net_args
}

vm_write_job()
{
    local share=$1 out=no

    shift
    [ -z "$vm_opt_out" ] || out=yes
    cp "$h_top/test/vm/guest.sh" "$share/guest.sh"
    {
        printf 'vm_kver=%q\nvm_modules_dir=%q\n' "$vm_kver" "$vm_dir/lib/modules/$vm_kver"
        printf 'vm_no_siw=%q\nvm_out=%q\nvm_cwd=%q\n' "$vm_no_siw" "$out" "$PWD"
        printf 'vm_argv=('
        printf ' %q' "$@"
        printf ')\n'
    } >"$share/env"
}

vm_keep_console()
{
    local to

    mkdir -p "$h_cache/log"
    to=$h_cache/log/console-$(date +%Y%m%d-%H%M%S)-$$
    cp "$1/console" "$to" 2>/dev/null || return
    [ "$2" != show ] || { say "vm: the console's end:"; tail -n 20 "$to" | tr -d '\r' >&2; }
    say "vm: console log: $to"
    # shellcheck disable=SC2012
    (cd "$h_cache/log" && ls -t console-* | tail -n +11 | xargs -r rm -f)
}

vm_exit_code()
{
    local job=$1 qemu_rc=$2 rc

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
        say "vm: no end after $vm_opt_timeout s; stopped"
        vm_keep_console "$job" show
        return 124
    fi
    if grep -aq 'Kernel panic' "$job/console" 2>/dev/null; then
        say "vm: the guest's kernel panicked"
    elif [ "$qemu_rc" != 0 ]; then
        say "vm: qemu failed ($qemu_rc)"
        cat "$job/qemu.log" >&2
    else
        say "vm: the guest ended without an exit code"
    fi
    vm_keep_console "$job" show
    return 125
}

vm_run_guest()
{
    local job=$h_tmp/job.$BASHPID accel rc co ce fo fe ro re pid

    vm_prepare
    if [ "$vm_opt_siw" = no ]; then
        vm_no_siw="switched off by --no-siw"
    elif [ -n "$vm_no_siw" ]; then
        say "SKIP siw: $vm_no_siw"
    fi
    accel=${DAPL_ACCEL:-$(vm_probe_kvm)}
    mkdir -p "$job/share"
    vm_write_job "$job/share" "$@"
    vm_qemu_args "$job" "$accel"

    # Opened for both directions first, so that nobody waits for the other
    # end; closed here when qemu is gone, so that the copies see the end.
    mkfifo "$job/out" "$job/err"
    exec {fo}<>"$job/out" {fe}<>"$job/err"
    exec {ro}<"$job/out" {re}<"$job/err"
    cat <&"$ro" {fo}>&- {fe}>&- {re}<&- {ro}<&- &
    co=$!
    cat <&"$re" {fo}>&- {fe}>&- {ro}<&- {re}<&- >&2 &
    ce=$!
    timeout --foreground -k 5 "$vm_opt_timeout" qemu-system-x86_64 "${vm_args[@]}" \
        </dev/null >"$job/qemu.log" 2>&1 {fo}>&- {fe}>&- {ro}<&- {re}<&- &
    pid=$!
    h_children+=("$pid")
    wait "$pid"
    rc=$?
    h_children=()
    exec {fo}>&- {fe}>&- {ro}<&- {re}<&-
    wait "$co" "$ce"
    vm_exit_code "$job" "$rc"
    rc=$?
    rm -rf "$job"
    return $rc
}

vm_defaults()
{
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

cmd_vm()
{
    vm_defaults
    while [ $# -gt 0 ]; do
        case $1 in
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
    if [ "$vm_opt_host" = yes ]; then
        vm_run_host "$@"
    else
        vm_run_guest "$@"
    fi
}
