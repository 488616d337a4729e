# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform.sh: the conformance suite of both versions of DAT on the guest's
# devices, with our libraries and our providers as they are installed. Another
# provider is another row. It contains no case: see test/conform/. A run is cut
# off after run_limit; one that broke off is one failed case, since it says
# nothing of the rest.
# Refused arguments are the same code for both versions: unless CONFORM_ALL is
# set they are tried with one, which halves the time of the other.
# Input, besides that of lib.sh: BUILD, where test/conform/conform was built.
# Leaves one TAP file per run in VM_OUT, for test/conform/matrix.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

# adapter's name|library of 2.0|library of 1.2|ia_params|variable with its address
rows="rxe|libdaplofa.so.2|libdaplcma.so.1|eth0 0|DAPL_VM_RXE_ADDR
siw|libdaplofa.so.2|libdaplcma.so.1|eth1 0|DAPL_VM_SIW_ADDR
scm|libdaploscm.so.2|libdaplscm.so.1|rxe0 1|DAPL_VM_RXE_ADDR
ucm|libdaploucm.so.2|libdaplucm.so.1|rxe0 1|DAPL_VM_RXE_ADDR"
run_limit=600
# Most cases wait for the device, not for a processor.
jobs=8
of_1_2='!(*__arg[0-9]*)'
[ -z "${CONFORM_ALL-}" ] || of_1_2='*'

# run_suite LABEL PROGRAM ADAPTER PATTERN
run_suite()
{
    local prog=$BUILD/test/conform/.libs/$2

    [ -x "$prog" ] || prog=$BUILD/test/conform/$2
    run_tap "$1" $run_limit \
        env LD_LIBRARY_PATH="$STAGE/lib" DAT_OVERRIDE="$it_logs/dat.conf" \
        "$prog" -P "$3" -j $jobs -t 40 -f "$4"
}

# Each version finds its own under the same name.
while IFS='|' read -r name lib2 lib1 params var; do
    printf "%s %s default $STAGE/lib/%s %s \"$params\" \"\"\n" \
        "$name" "u2.0 threadsafe" "$lib2" dapl.2.0 \
        "$name" "u1.2 nonthreadsafe" "$lib1" dapl.1.2
done <<<"$rows" >"$it_logs/dat.conf"

while IFS='|' read -r name lib2 lib1 params var <&3; do
    if [ -n "${!var}" ]; then
        run_suite "$name" conform "$name" '*'
        run_suite "1.2-$name" conform1 "$name" "$of_1_2"
    else
        skip "$name: the whole run" "$DAPL_VM_NO_SIW"
        skip "1.2-$name: the whole run" "$DAPL_VM_NO_SIW"
    fi
done 3<<<"$rows"
done_testing
