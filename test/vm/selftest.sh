#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# selftest.sh: the guest harness's own test, as TAP: what `./run vm` promises
# about output, exit codes, time limits, panics and devices.
# It tests no library of the project. Runs on the host and boots a guest for
# each case that needs one, so it takes about 10 s per boot without KVM.

top=$(cd "$(dirname "$0")/../.." && pwd -P)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dapl-selftest.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

check()
{
    local name=$1

    shift
    n=$((n + 1))
    if "$@"; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# out: /' "$tmp/out" | tail -n 15
        sed 's/^/# err: /' "$tmp/err" | tail -n 25
    fi
}

vm()
{
    (cd "$tmp/work dir" && TMPDIR=$tmp/tmpdir "$top/run" vm "$@" >"$tmp/out" 2>"$tmp/err")
    rc=$?
}

mkdir "$tmp/work dir" "$tmp/results" "$tmp/tmpdir"

vm --timeout 120 --out "$tmp/results" -- bash -c '
    pwd; printf "%s|" "$@"; echo; echo to-err >&2
    printf "no newline" >&2
    ulimit -l; getent hosts dapl-vm | head -n 1 | cut -d" " -f1
    echo written >"$VM_OUT/result"; echo lost >only-in-ram
    head -c 3000000 /dev/zero | tr "\0" x | sha256sum
    cat /sys/class/infiniband/rxe0/ports/1/state
    cat /sys/class/infiniband/siw0/ports/1/state
    ibv_devinfo -d rxe0 -v | grep -c "GID\["
    ping -c 1 -W 2 fd00:da1::15 >/dev/null && echo pinged6
    exit 7' sh 'a b' "it's" ''
check "exit code is the command's" [ "$rc" = 7 ]
check "working directory with a blank is kept" grep -qx "$tmp/work dir" "$tmp/out"
check "arguments arrive unchanged" grep -qxF "a b|it's||" "$tmp/out"
check "standard error is separate" grep -qx to-err "$tmp/err"
check "standard error does not appear in output" eval '! grep -q to-err "$tmp/out"'
check "last line without newline arrives" grep -q "no newline" "$tmp/err"
check "memory locking is unlimited" grep -qx unlimited "$tmp/out"
check "the host name resolves" grep -qE '^(10\.0\.2\.15|fd00:da1::15)$' "$tmp/out"
check "the output directory is shared" grep -qx written "$tmp/results/result"
check "other writes stay in the guest" [ ! -e "$tmp/work dir/only-in-ram" ]
check "rxe0 and siw0 are active" [ "$(grep -c '4: ACTIVE' "$tmp/out")" = \
    "$(grep -q '^SKIP siw' "$tmp/err" && echo 1 || echo 2)" ]
check "the kernel's messages are not in the output" eval '! grep -q "dapl guest:" "$tmp/out"'

vm --timeout 120 --no-siw -- bash -c 'head -c 2000000 /dev/zero | tr "\0" x; kill -9 $$'
check "death by signal 9 gives 137" [ "$rc" = 137 ]
check "two megabytes of output are complete" [ "$(wc -c <"$tmp/out")" = 2000000 ]

vm --timeout 120 --no-siw -- /nonexistent/program
check "a missing program gives 127" [ "$rc" = 127 ]

vm --timeout 45 --no-siw -- bash -c 'echo begun; exec sleep 1000'
check "a command without end gives 124" [ "$rc" = 124 ]
check "its output until then is there" grep -qx begun "$tmp/out"
check "the time limit is reported" grep -q "no end after 45 s" "$tmp/err"

vm --timeout 120 --no-siw -- bash -c 'echo before; echo c >/proc/sysrq-trigger; sleep 100'
check "a kernel panic gives 125" [ "$rc" = 125 ]
check "a kernel panic is reported as such" grep -q "kernel panicked" "$tmp/err"

# Faults of links are seen by ping, of guests by what runs there.
cat >"$tmp/nodes.sh" <<'E'
reaches() { busybox ping -c 1 -W "$2" "$1" >/dev/null && echo "$3: reached" || echo "$3: lost"; }
if [ "$VM_NODE" != 0 ]; then
    echo "boot $VM_BOOT"
    [ "$VM_NODE.$VM_BOOT" != 1.2 ] || { vm-node barrier again; exit 9; }
    exec vm-node barrier end
fi
for n in node1 node1-6 node1-siw node1-siw6; do reaches $n 5 "name $n"; done
word='a b' vm-node on 1 sh -c 'echo "there: $VM_NODE $word $PWD"; exit 3'
echo "on: $?"
vm-node on 1 head -c 300000 /dev/zero | wc -c | sed 's/^/bytes: /'
vm-node cut 1; reaches node1 1 cut
vm-node mend 1; reaches node1 5 mended
vm-node freeze 1; reaches node1 1 frozen
vm-node thaw 1; reaches node1 5 thawed
vm-node netem loss 100%; reaches node1 1 loss
vm-node netem; reaches node1 5 "no loss"
vm-node kill 2; reaches node2 1 killed
vm-node cut 2; echo "cut of the killed: $?"
vm-node reboot 1; vm-node on 1 true; vm-node barrier again
vm-node barrier end; echo "barrier without the ended: $?"
E
vm --nodes 3 --timeout 240 --mem 1024 -- bash "$tmp/nodes.sh"
check "nodes: the exit code of one is the run's" [ "$rc" = 9 ]
check "nodes: names of both devices and families" [ "$(grep -c 'name .*: reached' "$tmp/out")" = 4 ]
check "nodes: a command elsewhere has the environment and the directory" \
    grep -qxF "node0: there: 1 a b $tmp/work dir" "$tmp/out"
check "nodes: a command elsewhere has its exit code" grep -qx 'node0: on: 3' "$tmp/out"
check "nodes: a command elsewhere has its output" grep -qx 'node0: bytes: 300000' "$tmp/out"
for fault in cut frozen loss killed; do
    check "nodes: $fault" grep -qx "node0: $fault: lost" "$tmp/out"
done
for fault in mended thawed "no loss"; do
    check "nodes: $fault" grep -qx "node0: $fault: reached" "$tmp/out"
done
check "nodes: what cannot be done is said" grep -q 'vm-node cut 2: node2 has ended' "$tmp/err"
check "nodes: one that was rebooted begins again" grep -qx 'node1: boot 2' "$tmp/out"
check "nodes: who has ended is not waited for" grep -qx 'node0: barrier without the ended: 1' "$tmp/out"

# QEMU of node 1 crashes; node 0 would go on for long.
mkdir "$tmp/bin"
cat >"$tmp/bin/qemu-system-x86_64" <<E
#!/bin/sh
case "\$*" in *:00:da:01:16*) sleep 3; kill -SEGV \$\$ ;; esac
exec $(type -P qemu-system-x86_64) "\$@"
E
chmod +x "$tmp/bin/qemu-system-x86_64"
begun=$SECONDS
PATH=$tmp/bin:$PATH DAPL_ACCEL=tcg vm --nodes 2 --timeout 240 --mem 1024 -- sleep 200
check "a crash of QEMU gives 126" [ "$rc" = 126 ]
check "a crash of QEMU is reported as such" grep -q 'node1: qemu crashed (signal 11)' "$tmp/err"
check "a crash of QEMU ends the other guests" [ $((SECONDS - begun)) -lt 120 ]

vm --timeout 0 -- true
check "a bad option gives 2" [ "$rc" = 2 ]
vm
check "no command gives 2" [ "$rc" = 2 ]
vm --nodes 5 -- true
check "too many nodes give 2" [ "$rc" = 2 ]
(unset DAPL_TEST_HOST; cd "$tmp" && "$top/run" vm --host -- touch "$tmp/ran" >"$tmp/out" 2>"$tmp/err")
check "--host asks for consent" [ ! -e "$tmp/ran" ]
check "nothing is left in the temporary directory" [ -z "$(ls -A "$tmp/tmpdir")" ]
echo "1..$n"
