# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_auto.sh: adapters that need no line of dat.conf, on the guest's devices, with
# our libraries as they are installed: which are offered, and that each opens and
# carries data; the same from a prefix that the loader knows nothing of.
# Input: that of lib.sh, and BUILD, for the program that lists.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

lister=$BUILD/test/interop/names
none=$it_logs/empty.conf
: >"$none"

# Neither the loader's path nor a file helps.
run_bare()
{
    env -u LD_LIBRARY_PATH -u DAT_AUTO DAT_OVERRIDE="$none" "$@"
}

# names WHICH: what libdat2 (2) or libdat (1) of the installation offers.
names()
{
    run_bare "$lister$1" "$STAGE/lib" | tr '\n' ' '
}

expected2="ofa-v2-rxe0-1s ofa-v2-rxe0-1u ofa-v2-eth0 "
expected1="OpenIB-rxe0-1 OpenIB-rxe0-1u OpenIB-eth0 "
if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    expected2+="ofa-v2-eth1 "
    expected1+="OpenIB-eth1 "
fi

offers()
{
    local got

    got=$(names "$1")
    echo "offered: $got"
    echo "expected: $2"
    [ "$got" = "$2" ]
}

check "DAT 2.0: what is offered" offers "" "$expected2"
check "DAT 1.2: what is offered" offers 1 "$expected1"

# From any folder: the providers are beside the library.
cp -a "$STAGE/lib" "$it_logs/elsewhere"
# shellcheck disable=SC2086
check "DAT 2.0: each opens" run_bare "$lister" "$it_logs/elsewhere" $expected2
# shellcheck disable=SC2086
check "DAT 1.2: each opens" run_bare "${lister}1" "$it_logs/elsewhere" $expected1
check "DAT 2.0: names of old" run_bare "$lister" "$STAGE/lib" \
    ofa-v2-rxe0-1 ofa-v2-rxe0-1m ofa-v2-scm-roe-rxe0-1 ofa-v2-cma-roe-eth0
rm -rf "$it_logs/elsewhere"

# Lines for what is not here, with and without a port, and of what is no more.
absent=$it_logs/absent.conf
for what in 'scm mlx5_9 1' 'scm mlx5_9' 'ucm mlx5_9' 'mcm mlx5_9 1' 'mcm mlx5_9'; do
    echo "absent-${what// /-} u2.0 threadsafe default libdaplo${what%% *}.so.2 dapl.2.0 \"${what#* }\" \"\""
done >"$absent"
absent_offers()
{
    none=$absent offers "" "$expected2"
}
check "lines for what is not here are not offered" absent_offers

unknown_auto()
{
    local n

    n=$(DAT_AUTO=yes DAT_DBG_TYPE=1 DAT_OVERRIDE=$none "$lister" "$STAGE/lib" |
        tee "$it_logs/auto" | grep -c "DAT_AUTO: 'yes' is not a number")
    cat "$it_logs/auto"
    [ "$n" = 1 ] && grep -q '^ofa-v2-rxe0-1s$' "$it_logs/auto"
}
check "DAT_AUTO=yes: one warning, and what is found" unknown_auto

nobody_offers()
{
    [ -z "$(DAT_AUTO=0 DAT_OVERRIDE=$none "$lister" "$STAGE/lib")" ]
}
check "DAT_AUTO=0: nothing" nobody_offers

# Data: both ends by a name that no file has.
dat_conf()
{
    it_conf=$none
}
for IT_PROVIDER in ofa-v2-eth0 ofa-v2-rxe0-1s ofa-v2-rxe0-1u; do
    dtest_pair "without a line, $IT_PROVIDER" "$all_ours" "$all_ours" -b 64 -B 50
done
done_testing
