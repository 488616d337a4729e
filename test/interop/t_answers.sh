# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_answers.sh: what dat_ia_open() says where something is wrong with a machine:
# each row of answers.tsv makes a fault, opens an adapter and holds every word
# against the row. A row is a shell of its own, and puts right what it broke;
# mounts are this script's own.
# Input: that of lib.sh, and BUILD, for the program that opens.
#
# Columns, between tabs: case, what to break (bash), what to run (bash), and all
# that this prints, lines joined by " | ", with @LIB@ for the libraries' folder.
# $dir is the row's folder, with an empty file none, which is the row's dat.conf
# unless it says otherwise. ANSWERS=FILE writes what was printed there.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

if [ "${1:-}" != apart ]; then
    exec unshare -m bash "$0" apart
fi
here=$(cd "$(dirname "$0")" && pwd -P)
dir=/run/answers
nodes=/dev/infiniband

# ---------------------------------------------------------- what to run

opens()
{
    timeout 60 "$BUILD/test/interop/names" "$STAGE/lib" "$@"
}

# The same by DAT 1.2.
opens1()
{
    timeout 60 "$BUILD/test/interop/names1" "$STAGE/lib" "$@"
}

# The same for a user who may do nothing special.
user_opens()
{
    timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all \
        "$BUILD/test/interop/names" "$STAGE/lib" "$@"
}

# ---------------------------------------------------------- what to break

# line TEXT...: a dat.conf of these lines
line()
{
    printf '%s\n' "$@" >$dir/dat.conf
    export DAT_OVERRIDE=$dir/dat.conf
}

# of LIBRARY PARAMS [NAME]: a dat.conf with a good line but for these
of()
{
    line "${3:-a} u2.0 threadsafe default $1 dapl.2.0 \"$2\" \"\""
}

# all: adapters cma, scm and ucm of the port that is rxe0's
all()
{
    line 'cma u2.0 threadsafe default libdaplofa.so.2 dapl.2.0 "eth0 1" ""' \
        'scm u2.0 threadsafe default libdaploscm.so.2 dapl.2.0 "rxe0 1" ""' \
        'ucm u2.0 threadsafe default libdaploucm.so.2 dapl.2.0 "rxe0 1" ""'
}

# over WHAT PATH
over()
{
    mount --bind "$1" "$2" && mounts+=("$2")
}

no_sysfs()
{
    mount -t tmpfs none /sys && mounts+=(/sys)
}

# The nodes of devices but for those named, to be changed at will.
hide()
{
    local n

    mkdir $dir/nodes
    cp -a $nodes/. $dir/nodes
    for n; do rm -r "${dir:?}/nodes/$n"; done
    over $dir/nodes $nodes
}

# The node of rxe0
uverbs()
{
    local f

    for f in /sys/class/infiniband_verbs/*/ibdev; do
        [ "$(cat "$f")" != rxe0 ] || basename "$(dirname "$f")"
    done
}

# forbid NODE: nobody but root may use it
forbid()
{
    hide
    chmod 600 "$nodes/$1"
}

# dead NODE: one that no driver answers
dead()
{
    hide "$1"
    mknod -m 666 "$nodes/$1" c 10 250
}

# An empty folder over PATH
empty()
{
    mkdir -p $dir/empty
    over $dir/empty "$1"
}

down()
{
    broken=yes
    ip link set "$1" down
}

bare()
{
    broken=yes
    ip addr flush dev "$1"
}

no_rxe()
{
    broken=yes
    rdma link del rxe0
}

no_device()
{
    no_rxe
    rdma link del siw0
}

no_ucm()
{
    broken=yes
    modprobe -r rdma_ucm
    # who opens the node would have it loaded
    echo /bin/false >/proc/sys/kernel/modprobe
}

# What guest.sh made.
# shellcheck disable=SC2317
restore()
{
    local m

    for m in "${mounts[@]}"; do umount "$m"; done
    [ $broken = yes ] || return
    echo /sbin/modprobe >/proc/sys/kernel/modprobe
    modprobe rdma_ucm
    ip link set eth0 up
    ip addr replace 10.0.2.15/24 dev eth0
    ip -6 addr replace fd00:da1::15/64 dev eth0 nodad
    [ -e /sys/class/infiniband/rxe0 ] || rdma link add rxe0 type rxe netdev eth0
    [ -e /sys/class/infiniband/siw0 ] || rdma link add siw0 type siw netdev eth1
    poll 15 as_it_was || echo "the machine is not as it was"
}

as_it_was()
{
    local d

    for d in /sys/class/infiniband_verbs/uverbs* /sys/class/misc/rdma_cm; do
        [ -e "$nodes/${d##*/}" ] || return 1
    done
    grep -qs ACTIVE /sys/class/infiniband/rxe0/ports/1/state &&
        grep -qs ACTIVE /sys/class/infiniband/siw0/ports/1/state &&
        gid ffff:0a00 && gid fd00:0da1
}

gid()
{
    cat /sys/class/infiniband/rxe0/ports/1/gids/[0-7] 2>/dev/null | grep -q "$1"
}

# ---------------------------------------------------------- rows

# Breaks $1, runs $2.
row()
{
    mounts=() broken=no

    trap restore EXIT
    mkdir -p $dir
    : >$dir/none
    export DAT_OVERRIDE=$dir/none
    eval "$1"
    eval "$2"
}

# Host, process, time and addresses are different each time.
plain()
{
    sed "s,$STAGE/lib,@LIB@,g"';
        s,^[^ :]*:\([A-Z]*\):[0-9a-f]*:[0-9a-f]*: [0-9]* us([^)]*): ,\1: ,
        s,0x[0-9a-f]\{6\,\},0x,g' | awk '{ printf "%s%s", (NR > 1 ? " | " : ""), $0 } END { print "" }'
}

if [ -z "$DAPL_VM_SIW_ADDR" ]; then
    skip "all answers" "$DAPL_VM_NO_SIW"
    done_testing
    exit
fi
unset LD_LIBRARY_PATH DAT_AUTO "${!DAPL_VM@}"
while IFS=$'\t' read -r name break run sentence <&5; do
    case $name in '' | '#'*) continue ;; esac
    rm -rf $dir
    got=$( (row "$break" "$run") 2>&1 </dev/null | plain)
    [ -z "${ANSWERS:-}" ] || printf '%s\t%s\t%s\t%s\n' "$name" "$break" "$run" "$got" >>"$ANSWERS"
    if [ "$got" = "$sentence" ]; then
        ok "$name"
    else
        not_ok "$name"
        printf 'said: %s\nnot:  %s\n' "$got" "$sentence" | diag
    fi
done 5<"$here/answers.tsv"
rm -rf $dir
done_testing
