# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_blackbox.sh: old against new, as programs: dtest, libdat2 and the CMA
# provider of this project and of Debian (2.1.10.1) in every mix that users
# can meet, over soft-RoCE; our own stack over soft-iWARP; and dtest1 over each
# adapter of DAT 1.2, which Debian has nothing of.
# Nothing of either side's source is looked at; Debian on Debian comes first
# and shows that the frame and the device are sound.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

# Without -b each side would pin 824 MiB and move 8 GB.
options="-b 64 -B 100
-b 64 -B 50 -p
-b 64 -B 50 -c
-b 64 -B 100 -u
-b 64 -B 100 -w
-b 64 -B 100 -w -u
-W -b 64 -B 100
-D -a -b 1024 -B 20
-b 64 -B 50 -S 1
-b 4096 -B 50 -t"

# Which libdat2 does a program get? Otherwise a mix could be none.
loads()
{
    use_stack "$2" "$2"
    "${it_env[@]}" LD_TRACE_LOADED_OBJECTS=1 "${it_bin[$1]}/dtest" |
        grep "libdat2.so.2 => ${it_lib[$2]}/"
}

rows()
{
    local name=$1 server=$2 client=$3 o

    while read -r o; do
        # shellcheck disable=SC2086
        dtest_pair "$name" "$server" "$client" $o
    done <<<"$options"
}

for f in lib/libdat2.so.2 lib/libdaplofa.so.2 bin/dtest; do
    check "$f is installed" test -e "$STAGE/$f"
done

if [ -n "$DEBIAN_DAPL" ]; then
    check "our dtest takes Debian's libdat2 when told so" loads ours debian
    check "Debian's dtest takes our libdat2 when told so" loads debian ours
else
    skip "our dtest takes Debian's libdat2 when told so" "$DEBIAN_DAPL_REASON"
    skip "Debian's dtest takes our libdat2 when told so" "$DEBIAN_DAPL_REASON"
fi

#    name                                     server: dtest libdat2 provider   client
rows "baseline, all Debian" "debian debian debian" "debian debian debian"
rows "all ours" "ours ours ours" "ours ours ours"
rows "old program, our libraries" "debian ours ours" "debian ours ours"
rows "our program and provider, old libdat2" "ours debian ours" "ours debian ours"
rows "old program and provider, our libdat2" "debian ours debian" "debian ours debian"
rows "wire: old server, our client" "debian debian debian" "ours ours ours"
rows "wire: our server, old client" "ours ours ours" "debian debian debian"

if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    IT_PROVIDER=ofa-v2-cma-iw
    IT_ADDR=$DAPL_VM_SIW_ADDR
    rows "soft-iWARP, all ours" "ours ours ours" "ours ours ours"
else
    skip "soft-iWARP, all ours" "$DAPL_VM_NO_SIW"
fi

rows_1()
{
    local o

    while read -r o; do
        # shellcheck disable=SC2086
        tool_pair dtest1 verdict "$1" "$all_ours" "$all_ours" $o
    done <<<"-t
-p
-c -b 4096 -B 50 --verify full"
}

each_adapter_1 rows_1
done_testing
