# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_scm.sh: connections by sockets over soft-RoCE, old against new, as
# programs: dtest (data, 48 bytes of private data both ways, disconnect) in
# every mix of libdat2, provider and side. And that nothing of rdma_cm is
# needed. The other programs are in t_dtools.sh and t_dapltest.sh.
# There is no program that rejects: those bytes are compared in t_scm_peer.c.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

IT_PROVIDER=ofa-v2-scm

options="-b 64 -B 100
-b 64 -B 50 -p
-b 64 -B 100 -w
-W -b 64 -B 100
-b 4096 -B 50 -t"

# What is mixed inside one process has no effect on the wire.
one_option="-b 64 -B 50 -p"

# rows OPTIONS NAME SERVER CLIENT
rows()
{
    local o

    while read -r o; do
        # shellcheck disable=SC2086
        dtest_pair "$2" "$3" "$4" $o
    done <<<"$1"
}

# One option more for one pair of ours.
ours_with()
{
    local name=$1

    shift
    (
        # shellcheck disable=SC2163 # words are NAME=VALUE
        export "$@"
        dtest_pair "$name, all ours" "ours ours ours" "ours ours ours" -b 64 -B 20
    )
    it_n=$((it_n + 1))
}

no_rdmacm()
{
    ! LD_LIBRARY_PATH=$STAGE/lib ldd "$1" | grep librdmacm
}

plugin=$STAGE/lib/libdaploscm.so.2
check "lib/libdaploscm.so.2 is installed" test -e "$plugin"
check "it does not need librdmacm" no_rdmacm "$plugin"

#                    name                server: dtest libdat2 provider   client
rows "$one_option" "baseline, all Debian" "debian debian debian" "debian debian debian"
rows "$options" "all ours" "ours ours ours" "ours ours ours"
rows "$one_option" "old program, our libraries" "debian ours ours" "debian ours ours"
rows "$one_option" "our program and provider, old libdat2" "ours debian ours" "ours debian ours"
rows "$one_option" "old program and provider, our libdat2" "debian ours debian" "debian ours debian"
rows "$options" "wire: our server, old client" "ours ours ours" "debian debian debian"
rows "$options" "wire: old server, our client" "debian debian debian" "ours ours ours"

if [ -e /dev/infiniband/rdma_cm ]; then
    mv /dev/infiniband/rdma_cm /dev/infiniband/.rdma_cm
    ours_with "without the device of rdma_cm" IT_LIMIT=60
    mv /dev/infiniband/.rdma_cm /dev/infiniband/rdma_cm
else
    skip "without the device of rdma_cm, all ours" "there is none to take away"
fi
ours_with "address of lo" DAPL_SCM_NETDEV=lo IT_ADDR=127.0.0.1
ours_with "an IPv6 address" DAPL_SCM_NETDEV="$DAPL_VM_RXE_ADDR6" IT_ADDR="$DAPL_VM_RXE_ADDR6"
ours_with "range of ports" DAPL_SCM_PORT_RANGE=47000-47003
done_testing
