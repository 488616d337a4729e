#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dapltest_fake.sh: dapltest and dapltest1, server and client, on the fake
# device as each kind of adapter. TAP. The libraries are those that were built.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/dtest/await.sh
. "$top_srcdir/test/dtest/await.sh"
prog2=$top_builddir/test/dapltest/dapltest_fake
prog1=$top_builddir/test/dapltest/dapltest1_fake
prog=$prog2
lib=$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$lib" ]; then
    echo "1..0 # SKIP the CMA provider was built without shared libraries"
    exit 0
fi
printf 'fake u2.0 threadsafe default %s dapl.2.0 "10.0.0.1 0" ""\n' \
    "$lib" >"$tmp/dat.conf"
DAT_OVERRIDE=$tmp/dat.conf
export DAT_OVERRIDE
# A machine may have no network.
DAPL_SCM_NETDEV=lo
export DAPL_SCM_NETDEV

n=0
# expect STATUS TEXT KIND WORD...: the exit status, and a text in the output.
expect()
{
    want=$1
    text=$2
    shift 2
    n=$((n + 1))
    timeout -k 5 120 "$prog" "$@" >"$tmp/out" 2>&1 </dev/null
    rc=$?
    if [ $rc = "$want" ] && grep -q -e "$text" "$tmp/out"; then
        echo "ok $n - $*"
    else
        echo "not ok $n - $*"
        echo "# exit code $rc, wanted $want and '$text'"
        tail -n 12 "$tmp/out" | sed 's/^/# /'
    fi
}

# Without -D: the first that opens, where the default does not.
sed 's/^fake/other/' "$tmp/dat.conf" >"$tmp/other.conf"
DAT_OVERRIDE=$tmp/other.conf
expect 0 "fake does not open; taking other, the first" ib -T L -m 3 limit_pz
DAT_OVERRIDE=$tmp/dat.conf

for kind in ib roce iwarp; do
    two=2
    [ $kind != iwarp ] || two=1 # segments of a read
    wqe="Total WQE"
    to="-s 10.0.0.1"
    expect 0 "$wqe" $kind -T T $to -i 200 client SR 256 server SR 256
    expect 0 "$wqe" $kind -T T $to -i 50 -t 3 -w 4 -P client SR 256 server RW 4096 server SR 256
    expect 0 "$wqe" $kind -T T $to -i 100 -V client RW 1000 3 server RW 9 2 client RR 777 $two server RR 64 1
    expect 0 "$wqe" $kind -T T $to -i 100 -t 2 -w 2 client RW 4096 1 server RW 2048 4 \
        server RR 1024 $two client RR 2048 $two client SR 1024 3 -f server SR 256 3 -f
    expect 0 "$wqe" $kind -T T $to -i 20 -r -w 3 client SR 65536 server SR 65536
    expect 0 "$wqe" $kind -T T $to -i 20 -V --no-check client RW 64
    expect 0 "$wqe" $kind -T T $to -i 20 -V --no-rmr client RW 64 server RR 64
    expect 0 "$wqe" $kind -T T $to -i 20 client SR -f client SR -f server SR server SR -f server SR -f
    if [ $kind = iwarp ]; then
        expect 2 "the adapter has no datagram endpoints" $kind -T T $to -u client SR 8 server SR 8
    else
        expect 0 "$wqe" $kind -T T $to -u -i 200 client SR 256 server SR 256
        expect 0 "$wqe" $kind -T T $to -u -i 50 -t 3 -w 4 -P client SR 256 3 server SR 8 client SR 1
        expect 0 "$wqe" $kind -T T $to -u -i 50 -w 2 --no-rmr server SR 999 server SR 8 client SR 64
        expect 0 "$wqe" $kind -T T $to -u -i 20 --no-check client SR 8 -f client SR 8 -f server SR 8 -f \
            server SR 8 -f
        # Of the two the other one hears nothing.
        TAMPER=7 expect 3 "wrong data" $kind -T T $to -u --timeout 1 -i 20 client SR 999 server SR 999
        TAMPER=8 expect 1 "wrong data" $kind -T T $to -u --timeout 1 -i 20 client SR 999 server SR 999
        expect 4 "no longer than the MTU" $kind -T T $to -u client SR 100000 server SR 8
        HISTORIC=1 expect 5 "it is an older dapltest" $kind -T T $to -u --timeout 2 client SR 8 server SR 8
    fi
    expect 0 "^raw: RW, 300" $kind -T P $to -i 300 -p 16 RW 4096 2
    expect 0 "^raw: RR, 300" $kind -T P $to -i 300 -m p RR 100 $two
    # Historic versions say -1.
    expect 0 "minimum  *: [0-9]" $kind -T P $to -i 20 RW 64 8
    expect 0 "the server ends" $kind -T Q $to
    expect 1 "BE only" $kind -T T $to -R HT client SR server SR
    expect 2 "takes at most" $kind -T T $to client SR 8 1000 server SR
    # Its exit status tells of one who never came; the good ones are served.
    HOSTILE=1 expect 1 "3 tests served, 1 failed; 3 clients left early" $kind -T T $to -i 20 client SR server SR
    # One wrong byte, in messages of either side, reads and writes.
    for k in 1 2 7 8; do
        TAMPER=$k expect 1 "wrong data" $kind -T T $to -i 20 client SR 999 server SR 999
    done
    for k in 1 2 3 6; do
        TAMPER=$k expect 1 "wrong data" $kind -T T $to -i 5 -V client RW 999 server RR 999
        TAMPER=$k expect 1 "wrong data" $kind -T T $to -i 5 -V server RW 999 client RR 999
    done
    TAMPER=2 expect 1 "wrong data" $kind -T P $to -i 30 RW 4096 1
    TAMPER=3 expect 1 "wrong data" $kind -T P $to -i 30 RW 4096 1
    TAMPER=1 expect 1 "wrong data" $kind -T P $to -i 30 RR 4096 1
    for f in hwconn endpoint pz mem connmgt queryinfo; do
        expect 0 "PASSED" $kind -T F -f $f
    done
    expect 2 "no such feature" $kind -T F -f nothing
    expect 2 "case0 to case4" $kind -T F -f mem case5
    expect 0 "LMRs created: 30" $kind -T L -w 3 -m 30
    expect 2 "is no limit" $kind -T L limit_nothing
done

# The peer left when it had the message, and siw was still at it (LOCAL_EP); what the
# transport says (TRANSPORT) is another matter.
LAST=3 expect 0 "$wqe" siw -T T $to -i 20 client SR server SR
LAST=8 expect 1 "the end of .*DAT_DTO_ERR_TRANSPORT" siw -T T $to -i 20 client SR server SR

# What is left behind a warm-up, of all threads and of both phases.
expect 0 " 8192 *180 .*transaction" ib -T T $to -i 100 --warmup 10 -t 2 client SR server SR
expect 0 " 64 *90 .*latency" ib -T P $to -i 100 --warmup 10 RW 64
expect 0 " 64 *90 .*throughput" ib -T P $to -i 100 --warmup 10 -p 4 RR 64
expect 4 "--cpu 1023: .*nproc" ib -T F --cpu 1023 -f pz
expect 0 PASSED ib -T F --cpu 0 -f pz

# interrupted TEXT WORD...: SIGINT when the text is there; nothing may be left
# on the device.
interrupted()
{
    text=$1
    shift
    n=$((n + 1))
    interrupt_at "$text" "$tmp/out" "$prog" ib "$@"
    rc=$?
    if [ $rc = 130 ] && grep -q "ERR: .*interrupted" "$tmp/out" && ! grep -q "^# live" "$tmp/out"; then
        echo "ok $n - interrupted: $*"
    else
        echo "not ok $n - interrupted: $*"
        echo "# exit code $rc"
        tail -n 12 "$tmp/out" | sed 's/^/# /'
    fi
}

interrupted "Data: every transfer" -T T $to -i 10000000 -t 3 -w 3 client SR server SR
interrupted "Data: every transfer" -T T $to -i 10000000 -P -V client RW server SR
interrupted "Service Point Ready" -T P $to -i 10000000 RW
interrupted "Service Point Ready" -T P $to -i 10000000 -m p RR
interrupted "Limit test: limit_ia" -T L -m 1000000

# Calls below the library that never return: the watchdog ends the program.
hung="does not return, at or after"
HANG=ibv_create_cq expect 3 "$hung" ib -T L --timeout 1 limit_evd
HANG=ibv_destroy_cq expect 3 "$hung" ib -T F -f endpoint --timeout 1
HANG=rdma_disconnect expect 3 "$hung" ib -T T $to --timeout 8 -i 3 client SR server SR

# Where names do not lead to the adapter, the server tells its address, at a
# port that is the run's own.
told="-s 127.0.0.1 --oob-port 1"
for lib in openib_cma/.libs/libdaplofa openib_scm/.libs/libdaploscm openib_ucm/.libs/libdaploucm; do
    params="fake0 1"
    case $lib in *ofa) params="10.0.0.1 0" ;; esac
    printf 'fake u2.0 threadsafe default %s dapl.2.0 "%s" ""\n' \
        "$top_builddir/dapl/$lib.so.2" "$params" >"$tmp/dat.conf"
    expect 0 "$wqe" ib -T T $told -i 50 -t 2 -w 2 -V client RW 500 server RR 500
    expect 0 "^raw: RR, 100" ib -T P $told -i 100 RR 100
done

HISTORIC=1 expect 0 "$wqe" ib -T T $told -i 50 -t 2 -w 2 -V client RW 500 server RR 500

# Those of DAT 1.2.
prog=$prog1
for run in cma-ib cma-roce cma-iwarp cma-siw scm-ib ucm-roce; do
    lib=${run%-*} kind=${run#*-} params="fake0 1" two=2
    [ $lib != cma ] || params="10.0.0.1 0"
    case $kind in iwarp | siw) two=1 ;; esac
    printf 'fake u1.2 nonthreadsafe default %s dapl.1.2 "%s" ""\n' \
        "$top_builddir/dapl/compat12/.libs/libdapl$lib.so.1" "$params" >"$tmp/dat.conf"
    expect 0 "$wqe" $kind -T T $told -i 50 -t 2 -w 2 client RW 4096 1 server RW 2048 4 \
        server RR 1024 $two client RR 2048 $two client SR 1024 3 -f server SR 256 3 -f
    expect 0 "$wqe" $kind -T T $told -i 50 -V -P -r client RW 500 3 server RR 64
    expect 0 "^raw: RW, 100" $kind -T P $told -i 100 -p 16 RW 4096 2
    expect 0 "^raw: RR, 100" $kind -T P $told -i 100 -m p RR 100 $two
    TAMPER=2 expect 1 "wrong data" $kind -T T $told -i 20 client SR 999 server SR 999
    for f in hwconn endpoint pz mem connmgt queryinfo; do
        expect 0 "PASSED" $kind -T F -f $f
    done
    expect 0 "LMRs created: 30" $kind -T L -w 3 -m 30
    expect 0 "the server ends" $kind -T Q $told
    # As with programs of others: no synchronisation at the end.
    HISTORIC=1 expect 0 "$wqe" $kind -T T $told -i 50 -t 2 -w 2 client RW 4096 1 server RR 1024 1 \
        client SR 1024 3 -f server SR 256 3 -f
    HISTORIC=1 expect 0 "$wqe" $kind -T T $told -i 50 -V -P client RW 500 3 server RR 64 1
    HISTORIC=1 expect 0 "$wqe" $kind -T T $told -i 5 server SR client SR client RW 65536
    HISTORIC=1 TAMPER=7 expect 1 "wrong data" $kind -T T $told -i 50 -V client SR 64 server SR 64
done
prog=$prog2
printf 'fake u2.0 threadsafe default %s dapl.2.0 "10.0.0.1 0" ""\n' \
    "$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2" >"$tmp/dat.conf"

# More queues than this limit on open files allows, which the tool raises.
# shellcheck disable=SC3045
ulimit -S -n 48
expect 0 "$wqe" ib -T T $told -i 3 -t 5 -w 8 client SR server SR
expect 0 "EVDs created: 100" ib -T L -m 100 limit_evd

echo "1..$n"
