# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# soak-guest.sh: the guest's part of `./run soak`: SOAK_MINUTES of a load of
# SOAK_RANKS ranks by each of SOAK_PROVIDERS, with SOAK_SEED. The exit code is 1
# if one failed. STAGE and BUILD as for test/interop.

dir=$(cd "$(dirname "$0")/.." && pwd -P)
# shellcheck source=test/interop/lib.sh
. "$dir/interop/lib.sh"

bad=0
for p in $SOAK_PROVIDERS; do
    how=()
    if [ "$p" = cma-iw ]; then
        how=(--iwarp)
        if [ -z "$DAPL_VM_SIW_ADDR" ]; then
            echo "$p: skipped: $DAPL_VM_NO_SIW"
            continue
        fi
    fi
    echo "$p: $SOAK_MINUTES minutes, seed $SOAK_SEED"
    sh "$dir/load/at-rest.sh" "$it_logs/base.$p" || exit 1
    use_stack ours ours
    "${it_env[@]}" "$BUILD/test/load/load" --provider "ofa-v2-$p" "${how[@]}" \
        --ranks "$SOAK_RANKS" --links 2 --listeners 4 --minutes "$SOAK_MINUTES" --rest 8 \
        --connect mixed --spread 50 --seed "$SOAK_SEED" \
        --at-rest "sh $dir/load/at-rest.sh $it_logs/base.$p" || bad=1
    echo "$p: the kernel has, as before:"
    rdma resource show
done
exit $bad
