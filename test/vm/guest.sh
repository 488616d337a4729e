# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# guest.sh: the guest's first process after the initramfs. Makes the network
# and the soft RDMA devices, runs the job's command, leaves its exit code in
# the share and stops the machine. Knows nothing of what the command does.
# Everything under / is a RAM overlay over the host's root; /run/dapl is the
# job's directory on the host (env, rc), $VM_OUT the caller's, if one is given.
# Contract with vm.sh: no file rc = the guest died; rc = 125 + text in err.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C TERM=dumb
job=/run/dapl
err=/dev/virtio-ports/dapl.err

finish()
{
    printf '%s\n' "$1" >$job/rc.new
    mv $job/rc.new $job/rc
    sync
    # The quickest end: the machine resets, and -no-reboot makes qemu leave.
    echo 1 >/proc/sys/kernel/sysrq
    echo b >/proc/sysrq-trigger
    while :; do sleep 60; done
}

setup_failed()
{
    echo "vm: $*"
    echo "vm: $*" >$err
    finish 125
}

# wait_for WHAT COMMAND...: poll a state, 15 s at most.
wait_for()
{
    local what=$1 n=0

    shift
    until "$@"; do
        n=$((n + 1))
        [ $n -lt 300 ] || setup_failed "$what did not happen within its time"
        read -r -t 0.05 <>"$tick"
    done
}

# shellcheck disable=SC2317
is_active()
{
    grep -qs ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# shellcheck disable=SC2317
no_tentative()
{
    [ -z "$(ip -6 addr show tentative)" ]
}

has_gids()
{
    # IPv4-mapped and global IPv6 addresses arrive in the table by themselves.
    local t

    t=$(cat "/sys/class/infiniband/$1"/ports/1/gids/{0,1,2,3} 2>/dev/null)
    [[ $t == *ffff:0a00:* && $t == *"$2"* ]]
}

# shellcheck disable=SC1091
. $job/env
exec >/dev/console 2>&1 </dev/null
tick=/run/dapl-tick
mkfifo $tick

# udev does not run here, so the ports get their names by hand.
mkdir -p /dev/virtio-ports
for p in /sys/class/virtio-ports/*; do
    [ ! -r "$p/name" ] || ln -sf "../${p##*/}" "/dev/virtio-ports/$(cat "$p/name")"
done

# Addresses of a node end alike; the first one has those of a guest alone.
here=$((15 + vm_node))
name=dapl-vm
[ "$vm_nodes" = 1 ] || name=node$vm_node
hostname $name 2>/dev/null || echo $name >/proc/sys/kernel/hostname
{
    cat <<E
127.0.0.1 localhost
::1 localhost ip6-localhost
10.0.2.$here dapl-vm
fd00:da1::$here dapl-vm dapl-vm6
10.0.3.$here dapl-siw
E
    for ((n = 0; n < vm_nodes; n++)); do
        cat <<E
10.0.2.$((15 + n)) node$n
fd00:da1::$((15 + n)) node$n-6
10.0.3.$((15 + n)) node$n-siw
fd00:da2::$((15 + n)) node$n-siw6
E
    done
} >/etc/hosts
install -m 755 $job/vm-node $job/vm-remote /usr/local/bin
# No name service is reachable; asking for one would only take time.
echo 'hosts: files' >/etc/nsswitch.conf
# Each program that opens a device loads every driver that is named there: most of
# what a short one does, where instructions are emulated.
for d in /etc/libibverbs.d/*.driver; do
    case $d in
    */rxe.driver | */siw.driver) ;;
    *) rm -f "$d" ;;
    esac
done
mkdir -p /lib/modules
[ -e "/lib/modules/$vm_kver" ] || ln -s "$vm_modules_dir" "/lib/modules/$vm_kver"
ulimit -l unlimited
ulimit -c 0

# Whoever takes any free port takes none of those that the tools listen on.
# Debian's CMA provider takes one for each endpoint, of a server too.
echo 50000 60999 >/proc/sys/net/ipv4/ip_local_port_range

ip link set lo up
for i in /proc/sys/net/ipv6/conf/*; do
    echo 0 >"$i/accept_dad"
    echo 0 >"$i/accept_ra"
    # A test that takes an interface down and up finds the address again.
    echo 1 >"$i/keep_addr_on_down"
done
ip addr add 10.0.2.$here/24 dev eth0
ip addr add 10.0.3.$here/24 dev eth1
ip link set eth0 up || setup_failed "eth0 is missing"
ip link set eth1 up || setup_failed "eth1 is missing"
ip -6 addr add fd00:da1::$here/64 dev eth0 nodad
ip -6 addr add fd00:da2::$here/64 dev eth1 nodad
wait_for "the IPv6 addresses becoming usable" no_tentative

rdma link add rxe0 type rxe netdev eth0 || setup_failed "rxe0 cannot be made"
wait_for "rxe0 becoming ACTIVE" is_active rxe0
wait_for "the addresses of eth0 appearing on rxe0" has_gids rxe0 fd00:0da1
export DAPL_VM=1 DAPL_VM_RXE_ADDR=10.0.2.$here DAPL_VM_RXE_ADDR6=fd00:da1::$here
export DAPL_VM_SIW_ADDR='' DAPL_VM_NO_SIW="$vm_no_siw"
if [ -z "$vm_no_siw" ]; then
    rdma link add siw0 type siw netdev eth1 || setup_failed "siw0 cannot be made"
    wait_for "siw0 becoming ACTIVE" is_active siw0
    DAPL_VM_SIW_ADDR=10.0.3.$here
fi
# udev is absent: devtmpfs names the nodes, which libibverbs looks for below
# /dev/infiniband.
mkdir -p /dev/infiniband
for d in /sys/class/infiniband_verbs/uverbs* /sys/class/infiniband_mad/umad* \
    /sys/class/misc/rdma_cm; do
    [ -r "$d/dev" ] && [ ! -e "/dev/infiniband/${d##*/}" ] || continue
    IFS=: read -r maj min <"$d/dev"
    mknod -m 666 "/dev/infiniband/${d##*/}" c "$maj" "$min"
done
[ -e /dev/infiniband/rdma_cm ] || setup_failed "rdma_cm has no device node"

export VM_NODE="$vm_node" VM_NODES="$vm_nodes" VM_BOOT="$vm_boot" VM_OUT=''
if [ "$vm_out" = yes ]; then
    VM_OUT=/run/vm-out
    mkdir -p $VM_OUT
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none out $VM_OUT ||
        setup_failed "the output directory cannot be mounted"
fi
if [ "$vm_nodes" != 1 ]; then
    ip addr add 10.0.4.$here/24 dev eth2
    ip link set eth2 up || setup_failed "eth2 is missing"
    vm-node serve &
fi
echo "dapl guest: up after $(cut -d' ' -f1 /proc/uptime) s"

# A port takes one opener only; through pipes the command may hand its
# standard output on and open it again.
mkfifo /run/dapl-out /run/dapl-err
cat /run/dapl-out >/dev/virtio-ports/dapl.out &
c1=$!
cat /run/dapl-err >$err &
c2=$!
(
    cd "$vm_cwd" || exit 125
    exec "${vm_argv[@]}"
) >/run/dapl-out 2>/run/dapl-err
rc=$?
# A process that the command left behind can hold the pipes open.
(
    read -r -t 3 <>$tick
    kill $c1 $c2 2>/dev/null
) &
wait $c1 $c2
finish $rc
