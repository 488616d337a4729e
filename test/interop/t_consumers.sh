# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_consumers.sh: programs that do what those that use DAT do, on the guest's
# devices: ranks of DAT 1.2, of 2.0, and of both, by each provider, with our
# libraries as they are installed. It contains no case: see test/consumers/.
# A row that broke off is one failed case, since it says nothing of the rest.
# Input, besides that of lib.sh: BUILD, where test/consumers was built.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

# row's name|library of 1.2|library of 2.0|ia_params|option|variable with its address
rows="cma|libdaplcma.so.1|libdaplofa.so.2|eth0 0||DAPL_VM_RXE_ADDR
scm|libdaplscm.so.1|libdaploscm.so.2|rxe0 1||DAPL_VM_RXE_ADDR
ucm|libdaplucm.so.1|libdaploucm.so.2|rxe0 1||DAPL_VM_RXE_ADDR
siw|libdaplcma.so.1|libdaplofa.so.2|eth1 0|-i|DAPL_VM_SIW_ADDR"
run_limit=280

modules=$BUILD/test/consumers/.libs
runner=$BUILD/test/consumers/consumers

# Ranks of one version, and both ways between the two. Where 16 ask one another at
# once, an answer may take the 10 s after which soft iWARP gives up: there are 8.
settings="ends:2:12 ends:2:21 intelmpi:2:1 intelmpi:4:12 mvapich2:2:1 mvapich2:4:21
    mvapich2_death:2:12 mvapich2_demand:2:2 netpipe:2:1 netpipe:2:21 netpipe_memory:2:12
    openmpi:2:2 openmpi:4:1 openmpi:16:12 photon:2:1 photon:4:21 pscom:2:2 pscom:4:12
    reopen:1:1 srdma:2:2 srdma:4:12"
crowd=mvapich2_demand:16:21
crowd_siw=mvapich2_demand:8:21

# run_row NAME OPTION: siw's rows one by one, so that one can be run again.
run_row()
{
    local setting with=(env LD_LIBRARY_PATH="$STAGE/lib" DAT_OVERRIDE="$it_logs/dat.conf.$1"
        "$runner" -P "$1" -m "$modules" -t 120)

    # shellcheck disable=SC2086
    if [ "$1" != siw ]; then
        run_tap "$1" $run_limit "${with[@]}" $2 $settings $crowd
        return
    fi
    for setting in $settings $crowd_siw; do
        run_tap_siw "$1-${setting//:/-}" $run_limit "${with[@]}" "$2" "$setting"
    done
}

while IFS='|' read -r name lib1 lib2 params option var <&3; do
    # What comes first cannot be opened: programs pass over it.
    while read -r adapter version libs; do
        printf '%s u%s nonthreadsafe default %s/lib/%s dapl.%s "%s" ""\n' \
            "$adapter" "$version" "$STAGE" "$libs" "$version" "$params"
    done >"$it_logs/dat.conf.$name" <<E
nobody 1.2 nowhere.so.1
nobody 2.0 nowhere.so.2
$name 1.2 $lib1
$name 2.0 $lib2
E
    if [ -n "${!var}" ]; then
        run_row "$name" "$option"
    else
        skip "$name: the whole run" "$DAPL_VM_NO_SIW"
    fi
done 3<<<"$rows"
done_testing
