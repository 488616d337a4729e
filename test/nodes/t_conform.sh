# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform.sh: the cases of the conformance suite that have two sides, with side
# a, which accepts, on the other host (test/conform/apart.h). It contains no case.
# By default they are some of those where it matters whose kernel it is: how
# connections begin and end, and what one side does in the other's memory. APART,
# a pattern of cases, picks others; '*' takes all of them.
# Leaves a TAP file for each adapter, and that of side a's processes, in VM_OUT.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"

# adapter's name|library|ia_params|variable with its address
rows="rxe|libdaplofa.so.2|eth0 0|DAPL_VM_RXE_ADDR
siw|libdaplofa.so.2|eth1 0|DAPL_VM_SIW_ADDR
scm|libdaploscm.so.2|rxe0 1|DAPL_VM_RXE_ADDR
ucm|libdaploucm.so.2|rxe0 1|DAPL_VM_RXE_ADDR"
port=9999 # of apart.h
run_limit=1500
case ${APART:-} in
'')
    cases='@(cr_*|ep_connect|ep_disconnect|ep_post_rdma_*|psp_free)__!(in_[A-Z]*|not_in_[A-Z]*)'
    run_limit=400
    ;;
*) cases=$APART ;;
esac

serves()
{
    listening $port || ! kill -0 $served 2>/dev/null
}

is_over()
{
    ! listening $port
}

# suite LABEL: one adapter. What becomes of side a's process is part of a case.
suite()
{
    local prog=$BUILD/test/conform/.libs/conform_apart side served

    [ -x "$prog" ] || prog=$BUILD/test/conform/conform_apart
    side=(env LD_LIBRARY_PATH="$STAGE/lib" DAT_OVERRIDE="$it_logs/dat.conf" "$prog" -P "$1" -t 40)
    "${it_there[@]}" "${side[@]}" --serve >"$it_logs/$1.served" 2>&1 </dev/null &
    served=$!
    # The other host may have to boot.
    if poll 70 serves && listening $port; then
        run_tap "$1" $run_limit "${side[@]}" -H "$DAPL_VM_RXE_ADDR" -f "$cases"
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
while IFS='|' read -r name lib params var; do
    echo "$name u2.0 threadsafe default $STAGE/lib/$lib dapl.2.0 \"$params\" \"\""
done <<<"$rows" >"$it_logs/dat.conf"
while IFS='|' read -r name lib params var <&3; do
    if [ -n "${!var}" ]; then
        suite "$name"
    else
        skip "$name: the whole run" "$DAPL_VM_NO_SIW"
    fi
done 3<<<"$rows"
echo "$before" >$randomly
done_testing
