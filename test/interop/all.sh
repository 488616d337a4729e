# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# all.sh [DIR]: runs every t_*.sh of DIR, or beside it, in the guest, each between
# a #begin and an #end line, so that ./run test can tell whose TAP it reads and
# whether it is complete. ONLY (a shell pattern, also an extended one) picks some.
# With several nodes it runs on the first; there the devices' addresses, which a
# client is told, are those of the second. Contains no test.

shopt -s extglob

if [ "${VM_NODES:-1}" != 1 ]; then
    [ "$VM_NODE" = 0 ] || exec vm-node barrier end
    export DAPL_VM_RXE_ADDR=10.0.2.16 DAPL_VM_RXE_ADDR6=fd00:da1::16
    [ -z "$DAPL_VM_SIW_ADDR" ] || export DAPL_VM_SIW_ADDR=10.0.3.16
fi
dir=$(cd "${1:-$(dirname "$0")}" && pwd -P)
# The answers last: for them devices and addresses are taken away, and some of
# what the kernel had made by itself, such as the first GID, does not come back.
last=$dir/t_answers.sh
scripts=()
for t in "$dir"/t_*.sh; do
    [ "$t" = "$last" ] || scripts+=("$t")
done
[ ! -e "$last" ] || scripts+=("$last")
for t in "${scripts[@]}"; do
    name=$(basename "$t" .sh)
    # shellcheck disable=SC2254
    case $name in ${ONLY:-*}) ;; *) continue ;; esac
    echo "#begin $name"
    begin=$SECONDS
    timeout -k 5 2400 bash "$t"
    rc=$?
    echo "# $name: $((SECONDS - begin)) s"
    echo "#end $name $rc"
done
[ "${VM_NODES:-1}" = 1 ] || vm-node barrier end
