# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_info.sh: dat_info as it is installed, on the guest's devices: the list and what
# it says of each, every step to a queue pair, data through each adapter, and what
# it says when a device node, a port or an address is taken away.
# Input: that of lib.sh.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

none=$it_logs/empty.conf
: >"$none"
export DAT_OVERRIDE="$none"
unset DAT_AUTO LD_LIBRARY_PATH
export LD_LIBRARY_PATH="$STAGE/lib"
names="ofa-v2-rxe0-1s ofa-v2-rxe0-1u ofa-v2-eth0"
if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    names+=" ofa-v2-eth1"
fi

# says CODE TEXT OPTION...
says()
{
    local code=$1 text=$2 rc

    shift 2
    timeout 120 "$STAGE/bin/dat_info" "$@" >"$it_logs/out" 2>&1
    rc=$?
    cat "$it_logs/out"
    echo "exit code $rc, wanted $code and '$text'"
    [ $rc = "$code" ] && grep -q -e "$text" "$it_logs/out"
}

check "list: RoCE by CMA" says 0 \
    "^ofa-v2-eth0  *2.0  *CMA  *rxe0  *1  *eth0  *active  *$DAPL_VM_RXE_ADDR  *[0-9]*  *::ffff:$DAPL_VM_RXE_ADDR  *RoCE v2, IPv4  *found"
check "list: which an MPI takes" says 0 "takes ofa-v2-rxe0-1s, the first"
cat "$it_logs/out" >"$it_logs/list.txt"
if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    check "list: iWARP" says 0 "^ofa-v2-eth1 .* siw0 .*$DAPL_VM_SIW_ADDR .*iWARP"
else
    skip "list: iWARP" "$DAPL_VM_NO_SIW"
fi
mtu=$(ibv_devinfo -d rxe0 2>/dev/null | awk '/active_mtu/ { print $2 }')
check "list: the MTU is that of ibv_devinfo" says 0 "\"name\":\"ofa-v2-eth0\".*\"mtu\":${mtu:-none}" --json
check "digest" says 0 "^[0-9a-f]\{16\} [0-9]* names, first ofa-v2-rxe0-1s" --digest

for name in $names; do
    check "why $name: a queue pair is made" says 0 "^ok    queue pair" --why "$name"
    check "test $name: data are right" says 0 "RDMA read: 8192 bytes are right" --test "$name"
    check "attributes of $name" says 0 "^max_eps " -v "$name"
done
check "check: nothing fails" says 0 "^0 failed" --check
cp "$it_logs/out" "$it_logs/check.txt"

# The fake's kinds that were made of these devices are still like them.
like_its_file()
{
    timeout 120 "$STAGE/bin/dat_info" --profile "$1" | diff "$(dirname "$0")/../unit/fake/$2.profile" -
}
for kind in rxe siw; do
    if [ $kind = siw ] && [ -z "$DAPL_VM_SIW_ADDR" ]; then
        skip "profile of siw0" "$DAPL_VM_NO_SIW"
    elif [[ $(uname -r) == 6.1.* ]]; then
        check "profile of ${kind}0" like_its_file "${kind}0" "$kind"
    else
        skip "profile of ${kind}0" "its file is of Linux 6.1"
    fi
done

# What is generated opens as what was found does.
"$STAGE/bin/dat_info" --generate >"$it_logs/generated.conf"
check "generate: no mistake in it" says 0 "^ok    dat.conf: " "--lint=$it_logs/generated.conf"
DAT_OVERRIDE=$it_logs/generated.conf
DAT_AUTO=0
export DAT_AUTO
check "generate: its names open" says 0 "^ok    name: line .*" --why ofa-v2-eth0
DAT_OVERRIDE=$none
unset DAT_AUTO

# Each mistake with its place, found by the loader's own search.
bad=$it_logs/bad.conf
cat >"$bad" <<'E'
a u2.0 threadsafe default libdaplnone.so.2 dapl.2.0 "eth0 0" ""
b u2.0 threadsafe_x default libdaplofa.so.2 dapl.2.0 "eth0 0" ""
c u2.0 threadsafe default libdaploscm.so.2 dapl.2.0 "rxe0 1 gid=256" ""
d u2.0 threadsafe default libdaploucm.so.2 dapl.2.0 "rxe0 256" ""
e u2.0 threadsafe default libdaploucm.so.2 dapl.2.0 "rxe0 1 gid=200" ""
E
check "lint: a library that is nowhere" says 1 \
    "^FAIL  $bad:1: a: cannot load libdaplnone.so.2: " "--lint=$bad"
check "lint: a word that goes on" says 1 "^WARN  $bad:2: b: field 3 goes on" "--lint=$bad"
check "lint: an index that is none" says 1 "^FAIL  $bad:3: c: .* third word is not gid=" "--lint=$bad"
check "lint: a port that is none" says 1 "^FAIL  $bad:4: d: .* is not a port number" "--lint=$bad"
check "lint: a GID that is empty" says 1 "^WARN  $bad:5: e: .* no GID at index 200; in use are 0, " "--lint=$bad"

# What the environment asks for is looked at, and told as it will be taken.
export DAPL_GID_INDEX=1
check "check: the GID that is asked for" says 0 "GID of rxe0/1: index 1, " --check
export DAPL_GID_INDEX=200
check "check: a GID that is not there" says 1 \
    "^FAIL  GID of rxe0/1: the port has no GID at index 200, which DAPL_GID_INDEX" --check
check "why: a GID that is not there" says 1 "remedy: correct or unset DAPL_GID_INDEX; in use" \
    --why ofa-v2-rxe0-1s
unset DAPL_GID_INDEX
export DAPL_SCM_NETDEV=nope0
check "list: an interface that is not there" says 0 "^dat_info: DAPL_SCM_NETDEV: nope0 is neither"
check "why: an interface that is not there" says 1 "^FAIL  address: nope0, which" --why ofa-v2-rxe0-1s
unset DAPL_SCM_NETDEV
DAT_OVERRIDE=$it_logs/missing
check "list: a file that is not there" says 4 "^dat_info: there is no $it_logs/missing"
DAT_OVERRIDE=$none

clean()
{
    DAT_DBG_TYPE=0xff DAPL_DBG_TYPE=0xffff timeout 120 "$STAGE/bin/dat_info" --json \
        2>"$it_logs/err" >"$it_logs/json"
    grep -v '^{.*}$' "$it_logs/json" >"$it_logs/out"
    head -n 3 "$it_logs/out" "$it_logs/err"
    [ -s "$it_logs/json" ] && [ ! -s "$it_logs/out" ] &&
        grep -q '^libdat2: ' "$it_logs/err" && grep -q ':SCM:' "$it_logs/err"
}
check "logs are not in the output" clean

# Trouble, and its end.
node=$(find /dev/infiniband -name 'uverbs*' | while read -r f; do
    [ "$(cat "/sys/class/infiniband_verbs/${f##*/}/ibdev")" != rxe0 ] || echo "$f"
done)
mv "$node" "$node.away"
check "no node" says 1 "^FAIL  node of rxe0: cannot open $node: No such file" --why ofa-v2-eth0
mv "$node.away" "$node"

# nobody OPTION...: as a user who has no rights
nobody()
{
    timeout 120 setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$STAGE/bin/dat_info" "$@"
}
refused()
{
    chmod 600 "$node"
    nobody --why ofa-v2-eth0 >"$it_logs/out" 2>&1
    chmod 666 "$node"
    cat "$it_logs/out"
    grep -q "^FAIL  node of rxe0: .*Permission denied" "$it_logs/out" &&
        grep -q "remedy: .*GROUP" "$it_logs/out"
}
check "no permission" refused

limited()
{
    (
        ulimit -l 16
        nobody --why ofa-v2-rxe0-1s
    ) >"$it_logs/out" 2>&1
    cat "$it_logs/out"
    grep -q "^FAIL  memlock here: 16 KiB" "$it_logs/out"
}
check "too little locked memory" limited

down()
{
    ip link set dev eth0 down
    poll 10 grep -q DOWN /sys/class/infiniband/rxe0/ports/1/state
    says 1 "^FAIL  port 1 of rxe0: not active" --why ofa-v2-rxe0-1u
}
check "port down" down

# Tests that come later want the port and both of its addresses.
up()
{
    ip link set dev eth0 up
    poll 10 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state
    ip -6 addr show dev eth0 | grep -q "$DAPL_VM_RXE_ADDR6"
}
check "port up again, with its addresses" up
check "a name that is none" says 1 "^FAIL  name: there is no ofa-v2-nothing" --why ofa-v2-nothing
done_testing
