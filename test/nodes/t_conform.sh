# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform.sh: the cases of the conformance suite that have two sides, with side
# a, which accepts, on the other host (test/conform/apart.h). It contains no case.
# By default they are some of those where it matters whose kernel it is: how
# connections begin and end, and what one side does in the other's memory. Of DAT
# 1.2, which is the same below, it is how they begin. APART, a pattern of cases, picks
# others of both; '*' takes all of them.
# Leaves a TAP file for each adapter, and that of side a's processes, in VM_OUT.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"

# adapter's name|library of 2.0|library of 1.2|ia_params|variable with its address
rows="rxe|libdaplofa.so.2|libdaplcma.so.1|eth0 0|DAPL_VM_RXE_ADDR
siw|libdaplofa.so.2|libdaplcma.so.1|eth1 0|DAPL_VM_SIW_ADDR
scm|libdaploscm.so.2|libdaplscm.so.1|rxe0 1|DAPL_VM_RXE_ADDR
ucm|libdaploucm.so.2|libdaplucm.so.1|rxe0 1|DAPL_VM_RXE_ADDR"
port=9999 # of apart.h
run_limit=1500
case ${APART:-} in
'')
    cases='@(cr_*|ep_connect|ep_disconnect|ep_post_rdma_*|psp_free)__!(in_[A-Z]*|not_in_[A-Z]*)'
    of_1_2='@(cr_*|ep_connect)__!(in_[A-Z]*|not_in_[A-Z]*)'
    run_limit=400
    ;;
*) cases=$APART of_1_2=$APART ;;
esac

serves()
{
    listening $port || ! kill -0 $served 2>/dev/null
}

is_over()
{
    ! listening $port
}

# suite LABEL PROGRAM ADAPTER PATTERN: what becomes of side a's process is part of a
# case.
suite()
{
    local prog=$BUILD/test/conform/.libs/$2 side served

    [ -x "$prog" ] || prog=$BUILD/test/conform/$2
    side=(env LD_LIBRARY_PATH="$STAGE/lib" DAT_OVERRIDE="$it_logs/dat.conf" "$prog" -P "$3" -t 40)
    "${it_there[@]}" "${side[@]}" --serve >"$it_logs/$1.served" 2>&1 </dev/null &
    served=$!
    # The other host may have to boot.
    if poll 70 serves && listening $port; then
        run_tap "$1" $run_limit "${side[@]}" -H "$DAPL_VM_RXE_ADDR" -f "$4"
    else
        not_ok "$1: side a is served"
        tail -n 5 "$it_logs/$1.served" | diag
    fi
    kill $served
    wait $served 2>/dev/null
    poll 20 is_over
}

# Whose a handle is shows by its address: programs of two guests must not have the same.
randomly=/proc/sys/kernel/randomize_va_space
before=$(cat $randomly)
echo 2 >$randomly
while IFS='|' read -r name lib2 lib1 params var; do
    printf "%s %s default $STAGE/lib/%s %s \"$params\" \"\"\n" \
        "$name" "u2.0 threadsafe" "$lib2" dapl.2.0 \
        "$name" "u1.2 nonthreadsafe" "$lib1" dapl.1.2
done <<<"$rows" >"$it_logs/dat.conf"
while IFS='|' read -r name lib2 lib1 params var <&3; do
    if [ -n "${!var}" ]; then
        suite "$name" conform_apart "$name" "$cases"
        suite "1.2-$name" conform1_apart "$name" "$of_1_2"
    else
        skip "$name: the whole run" "$DAPL_VM_NO_SIW"
        skip "1.2-$name: the whole run" "$DAPL_VM_NO_SIW"
    fi
done 3<<<"$rows"
echo "$before" >$randomly
done_testing
