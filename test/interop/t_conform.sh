# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform.sh: the conformance suite on the guest's devices, with our libdat2
# and our providers as they are installed. Another provider is another row.
# It contains no case: see test/conform/. A run is cut off after run_limit; one
# that broke off is one failed case, since it says nothing of the rest.
# Input, besides that of lib.sh: BUILD, where test/conform/conform was built.
# Leaves one TAP file per row in VM_OUT, for test/conform/matrix.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

# row's name|library|ia_params|variable with its address
rows="rxe|libdaplofa.so.2|eth0 0|DAPL_VM_RXE_ADDR
siw|libdaplofa.so.2|eth1 0|DAPL_VM_SIW_ADDR
scm|libdaploscm.so.2|rxe0 1|DAPL_VM_RXE_ADDR
ucm|libdaploucm.so.2|rxe0 1|DAPL_VM_RXE_ADDR"
run_limit=240
# Most cases wait for the device, not for a processor.
jobs=8

conform=$BUILD/test/conform/.libs/conform
[ -x "$conform" ] || conform=$BUILD/test/conform/conform

run_row()
{
    local name=$1 tap=$it_logs/$1.tap rc

    LD_LIBRARY_PATH=$STAGE/lib DAT_OVERRIDE=$it_logs/dat.conf \
        timeout -k 5 $run_limit "$conform" -P "$name" -j $jobs -t 40 \
        2>"$it_logs/$name.log" | tee "$tap" |
        awk -v n="$it_n" -v label="$name" -f "$(dirname "$0")/../conform/number.awk"
    rc=${PIPESTATUS[0]}
    it_n=$((it_n + $(grep -cE '^(not )?ok ' "$tap")))
    grep -q '^1\.\.' "$tap" && return
    not_ok "$name: the whole run"
    if [ $rc = 124 ]; then
        echo "# no end after $run_limit s"
    else
        echo "# exit code $rc"
    fi
    tail -n 5 "$it_logs/$name.log" | diag
}

while IFS='|' read -r name lib params var; do
    printf '%s u2.0 threadsafe default %s/lib/%s dapl.2.0 "%s" ""\n' \
        "$name" "$STAGE" "$lib" "$params"
done <<<"$rows" >"$it_logs/dat.conf"

while IFS='|' read -r name lib params var <&3; do
    if [ -n "${!var}" ]; then
        run_row "$name"
    else
        skip "$name: the whole run" "$DAPL_VM_NO_SIW"
    fi
done 3<<<"$rows"
done_testing
