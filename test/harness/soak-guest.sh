# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# soak-guest.sh OPTION...: a guest's part of `./run soak`: a load of SOAK_RANKS
# ranks by each of SOAK_PROVIDERS, with SOAK_SEED; OPTIONs of test/load say how
# long, and what else. The exit code is 1 if one failed. STAGE and BUILD as for
# test/interop.

dir=$(cd "$(dirname "$0")/.." && pwd -P)
# shellcheck source=test/interop/lib.sh
. "$dir/interop/lib.sh"

bad=0
nodes=${VM_NODES:-1}
here=$((SOAK_RANKS / nodes))
place=()
if [ "$nodes" != 1 ]; then
    place=(--local "$here" --first $((VM_NODE * here)) --root node0:9000 --timeout 300)
    # Many ranks on a few emulated processors acknowledge late.
    export DAPL_ACK_TIMER=21 DAPL_CM_ACK_TIMER=21
fi
for p in $SOAK_PROVIDERS; do
    how=()
    if [ "$p" = cma-iw ]; then
        how=(--iwarp)
        if [ -z "$DAPL_VM_SIW_ADDR" ]; then
            echo "$p: skipped: $DAPL_VM_NO_SIW"
            continue
        fi
    fi
    echo "$p: $*, seed $SOAK_SEED"
    [ "$nodes" = 1 ] || vm-node barrier "$p" || exit 1
    sh "$dir/load/at-rest.sh" "$it_logs/base.$p" || exit 1
    use_stack ours ours
    "${it_env[@]}" "$BUILD/test/load/load" --provider "ofa-v2-$p" "${how[@]}" \
        --ranks "$SOAK_RANKS" "${place[@]}" --links 2 --listeners 4 --rest 8 \
        --connect mixed --spread 50 --seed "$SOAK_SEED" "$@" \
        --at-rest "sh $dir/load/at-rest.sh $it_logs/base.$p" || bad=1
    echo "$p: the kernel has, as before:"
    rdma resource show
done
exit $bad
