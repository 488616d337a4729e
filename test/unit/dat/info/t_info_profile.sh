#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_info_profile.sh: dat_info --profile on each kind of the fake device tells what
# the kind is like, and of the kind that the fake makes of that profile it tells
# the same; profiles with mistakes are refused. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
fake=$top_builddir/test/unit/dat/info/info_fake
profiles=$top_srcdir/test/unit/fake
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0
kinds="ib roce iwarp siw rxe mlx5 mlx5-roce mlx4 irdma irdma-iwarp bnxt_re hns
erdma qedr cxgb4 efa mana"

# verdict NAME: of the status before; $tmp/out is shown if it is bad.
verdict()
{
    good=$?
    n=$((n + 1))
    if [ $good = 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$tmp/out"
        bad=1
    fi
}

# profile KIND FILE
profile()
{
    timeout 60 "$fake" "$1" --profile fake0 >"$2" 2>"$2.err"
}

for kind in $kinds; do
    profile "$kind" "$tmp/$kind" && profile "file:$tmp/$kind" "$tmp/$kind.again" &
done
wait
for kind in $kinds; do
    diff "$tmp/$kind" "$tmp/$kind.again" >"$tmp/out" 2>&1 && [ -s "$tmp/$kind" ]
    verdict "$kind: the same of its profile"
done

# tells KIND LINE: not by the same table both ways, but as its driver does
while read -r kind line; do
    grep "^$line\$" "$tmp/$kind" >"$tmp/out"
    verdict "$kind: $line"
done <<E
siw node_type 4
siw recv_needs_segment 1
siw queues_not_empty 1
siw negative_errors 1
siw err_is_final 1
siw err_send_stays 1
siw takes_cqes_along 0
siw max_inline 80
siw mw_1_error 95 # .*
siw resize_error 95 # .*
rxe gid 3 v2 ipv4
rxe mw_1_error 0
rxe mw_2_error 0
rxe srq_resize_error 0
rxe err_recv_stays 1
rxe err_is_final 0
rxe max_inline 512
mlx4 mw_1_error 12 # .*
mlx5 round_up 1
mlx5 takes_cqes_along 1
mlx5 srq_resize_error 22 # .*
mlx5 max_inline 828
irdma flushes_late 1
irdma srq_error 22 # .*
irdma mw_2_error 95 # .*
irdma ethernet_lid 1
erdma cqe_min 64
erdma err_refuses_posts 5 # .*
cxgb4 err_refuses_posts 22 # .*
cxgb4 resize_error -38 # .*
qedr dangling_cqes 1
hns dangling_cqes 0
efa rc_error 95 # .*
mana cq_error 22 # .*
E

# What was written on real devices.
for file in "$profiles"/*.profile; do
    profile "file:$file" "$tmp/real"
    diff "$file" "$tmp/real" >"$tmp/out" 2>&1
    verdict "${file##*/}: the same of the fake"
done

# refuses TEXT NAME SED-COMMAND: a profile that is changed so
refuses()
{
    sed "$3" "$tmp/rxe" >"$tmp/odd"
    ! profile "file:$tmp/odd" "$tmp/none" && grep -q "^$tmp/odd:$1" "$tmp/none.err"
    result=$?
    cp "$tmp/none.err" "$tmp/out"
    (exit $result)
    verdict "refused: $2"
}
refuses "1: does not begin with" "another version" '1s/1/2/'
refuses "3: unknown key" "an unknown key" '3s/^[a-z_]*/odd/'
refuses "3: not a number" "no number" '3s/[0-9]*$/x/'
refuses "4: a second time" "a key twice" '3p'
refuses "11: out of range" "what the fake cannot do" '11s/[0-9]*$/65/'
refuses "3: not a key and a value" "more than a value" '3s/$/ 1/'
refuses "[0-9]*: has no transport_type" "one that lacks a key" '3d'
refuses "[0-9]*: no type of a GID" "a GID of an unknown type" 's/ v1 / v3 /'
refuses "[0-9]*: no form of a GID" "a GID of an unknown form" 's/ipv4/ipv5/'
refuses "[0-9]*: no index of a GID" "a GID behind the table" 's/^gid 3/gid 260/'

echo "1..$n"
exit $bad
