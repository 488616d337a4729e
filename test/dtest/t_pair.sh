#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_pair.sh: dtest, dtest1, dtestcm, dtestsrq and dtestx, server and client, on the
# fake device: by each provider and kind of adapter, and what they say when the sides
# disagree. dtest1 goes by the providers of DAT 1.2: cma1, scm1, ucm1.
# The libraries are those that were built, not installed ones. TAP.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/dtest/await.sh
. "$top_srcdir/test/dtest/await.sh"
cma=$top_builddir/dapl/openib_cma/.libs/libdaplofa.so.2
scm=$top_builddir/dapl/openib_scm/.libs/libdaploscm.so.2
ucm=$top_builddir/dapl/openib_ucm/.libs/libdaploucm.so.2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

if [ ! -e "$cma" ]; then
    echo "1..0 # SKIP the providers were built without shared libraries"
    exit 0
fi
libs1=$top_builddir/dapl/compat12/.libs
while read -r name lib params; do
    printf '%s u2.0 threadsafe default %s dapl.2.0 "%s" ""\n' \
        "$name" "$lib" "$params"
    printf '%s u1.2 nonthreadsafe default %s dapl.1.2 "%s" ""\n' \
        "${name}1" "$libs1/libdapl$name.so.1" "$params"
done >"$tmp/dat.conf" <<E
cma $cma 10.0.0.1 0
scm $scm fake0 1
ucm $ucm fake0 1
E
# The fake device is in no sysfs.
export DAT_OVERRIDE="$tmp/dat.conf" DAT_AUTO=0
# A machine may have no network.
export DAPL_SCM_NETDEV=lo
n=0

# pair TOOL PROVIDER-KIND CODES SERVER-OPTION... -- CLIENT-OPTION...
# CODES: both exit statuses; a line of the log has to match $says, if set.
pair()
{
    tool=$1 run=$2 codes=$3
    shift 3
    n=$((n + 1))
    # shellcheck disable=SC2068
    timeout 120 "$top_builddir/test/dtest/pair_$tool" "${run#*-}" \
        -P "${run%-*}" $@ -h "${at:-127.0.0.1}" >"$tmp/log" 2>&1 </dev/null
    if grep -q "^pair: $codes\$" "$tmp/log" && grep -q -- "${says:-}" "$tmp/log"; then
        echo "ok $n - $run: $tool $*"
    else
        echo "not ok $n - $run: $tool $*"
        tail -n 30 "$tmp/log" | sed 's/^/# /'
    fi
}

# The client learns provider and address from the server; that of UCM on RoCE
# has no LID.
for run in cma-ib cma-roce cma-iwarp cma-siw scm-ib scm-roce ucm-ib ucm-roce; do
    pair dtest $run "0 0" -b 64 -B 20 -- -b 64 -B 20
    pair dtestcm $run "0 0" -c 30 -b 7 -- -c 30 -b 7
    pair dtestsrq $run "0 0" -c 4 -B 4 -- -c 4 -B 4
done
# What is counted, by either version of DAT; 100 messages and what goes before.
for form in '^{"counters":"scm".*"ep":{.*"recv":10[0-9],.*"connect":{"n":1,' \
    '^  ep  post_recv  *10[0-9]$'; do
    case $form in *counters*) DAPL_COUNTERS=json ;; *) DAPL_COUNTERS=table ;; esac
    export DAPL_COUNTERS
    says=$form pair dtest scm-ib "0 0" -b 64 -B 20 -- -b 64 -B 20
    says=$(echo "$form" | sed 's/"scm"/"scm1"/') pair dtest1 scm1-ib "0 0" -b 64 -B 20 -- -b 64 -B 20
done
unset DAPL_COUNTERS
# Both sides have tested what there is; on iWARP that is nothing.
for run in cma-ib cma-roce scm-ib scm-roce ucm-ib ucm-roce; do
    says='FETCH_ADD test - PASSED' pair dtestx $run "0 0" --
    says='RDMA_WRITE_WITH_IMMEDIATE_DATA test - PASSED' pair dtestx $run "0 0" -b 4000 -- -b 4000
done
says='cmp_and_swap .*SKIPPED' pair dtestx cma-irdma "0 0" -v --
says='has no InfiniBand extensions' pair dtestx cma-iwarp "4 -1" --
says='DAT_IB_CMP_AND_SWAP=TRUE' pair dtestx scm-ib "0 -1" -q --
says='EP counter  2: [1-9]' pair dtestx cma-ib "0 0" -- -p
says='"test":"fetch_and_add".*"result":"PASSED"' pair dtestx ucm-ib "0 0" -- --json
for run in scm-ib ucm-roce ucm-mlx5; do
    says='IB extension test - UD test PASSED' pair dtestx $run "0 0" -u -- -u
done
says='IB extension test - UD test PASSED' pair dtestx ucm-ib "0 0" -U 30 -m -b 600 -- -U 30 -m -b 600
for run in scm-ib scm-roce ucm-ib ucm-roce; do
    says=' 30 *7 .*ud_connect' pair dtestcm $run "0 0" -u -c 30 -b 7 -- -u -c 30 -b 7
    says='DAPL UD SRQ Test Complete' pair dtestsrq $run "0 0" -u -c 4 -B 4 -- -u -c 4 -B 4
    says='DAPL UD none SRQ Test Complete' pair dtestsrq $run "0 0" -u -S 0 -b 64 -c 3 -B 5 -- -u -S 0 -c 3 -B 5 --poll
    pair dtestsrq $run "0 0" -u -S 0 -c 1 -t 0 -- -u -S 0 -c 1 -t 0
done
says='25 of 100 requests were turned down'
pair dtestcm ucm-ib "0 0" -u -c 100 -m -b 4 -w --reject 25 -- -u -c 100 -m -b 4 -w --reject 25
says='"test":"ud_connect".*"burst":20,.*"result":"PASSED"'
pair dtestcm scm-ib "0 0" -u -c 20 --ramp 1,5,20 -- -u -c 20 --ramp 1,5,20 --window --json
says='Fewer than 3 receives left: event came'
pair dtestsrq scm-ib "0 0" -u -c 2 -B 4 --lowwater 3 --resize 40 -- -u -c 2 -B 4
says='datagrams of this adapter are at most'
pair dtestsrq ucm-ib "2 -1" -u -b 5000 --
says='runs with another -u'
pair dtestcm scm-ib "5 5" -c 3 -u -- -c 3
pair dtestsrq scm-ib "5 5" -- -u
for tool in dtestcm dtestsrq dtestx; do
    says='has no datagram endpoints' pair $tool cma-iwarp "4 -1" -u --
done
says=
pair dtestx scm-ib "5 5" -u --
pair dtestx scm-ib "5 5" -U 3 -- -U 4
for run in cma1-ib cma1-roce cma1-iwarp cma1-siw scm1-ib scm1-roce ucm1-ib ucm1-roce; do
    pair dtest1 $run "0 0" --
    pair dtest1 $run "0 0" -c -b 5000 --verify full -- -c -b 5000 --verify full
done
says='RDMA read: .* 100 bursts' pair dtest cma-ib "0 0" -b 64 --reads 3 -- -b 64 --reads 100 -t
pair dtest1 cma1-ib "0 0" -p -w -- -p -w
pair dtest1 cma1-ib "0 0" -D -a -B 5 -- -D -a -B 5
pair dtest1 cma1-siw "0 0" --perf read_bw -B 100 -- --perf read_bw -B 100
# Without the rendezvous, the server's adapter is where -h says.
at=10.0.0.1
pair dtest cma-ib "0 0" -b 64 -B 20 -- -b 64 -B 20 --direct -P cma
pair dtest1 cma1-roce "0 0" -p -- -p --direct -P cma1
at=
# Who names no adapter gets the default if that opens, else the first that does.
printf 'broken u2.0 threadsafe default %s dapl.2.0 "nowhere 0" ""\n' "$cma" >"$tmp/first.conf"
cat "$tmp/dat.conf" >>"$tmp/first.conf"
# unnamed TEXT TOOL CONF LINE: LINE, if any, is added to CONF.
unnamed()
{
    n=$((n + 1))
    case $2 in
    dtestcm) few="-c 20 -b 5" ;;
    dtestsrq) few="-c 2 -B 4" ;;
    *) few="-B 20" ;;
    esac
    { cat "$tmp/$3"; echo "${4-}"; } >"$tmp/unnamed.conf"
    DAT_OVERRIDE="$tmp/unnamed.conf" timeout 120 "$top_builddir/test/dtest/pair_$2" ib \
        $few -- $few -h 127.0.0.1 >"$tmp/log" 2>&1 </dev/null
    if grep -q "^pair: 0 0\$" "$tmp/log" && grep -q -- "$1" "$tmp/log"; then
        echo "ok $n - $2 without a name: $1"
    else
        echo "not ok $n - $2 without a name: $1"
        tail -n 30 "$tmp/log" | sed 's/^/# /'
    fi
}
for tool in dtest dtestcm dtestsrq; do
    unnamed "does not open; taking cma, the first" $tool first.conf
done
unnamed "Running as server - cma1 " dtest1 first.conf
for tool in dtestcm dtestsrq; do
    unnamed "Running as server - ofa-v2-ib0 " $tool first.conf \
        "ofa-v2-ib0 u2.0 threadsafe default $cma dapl.2.0 \"10.0.0.1 0\" \"\""
done
says="Received RMR: .*, length 64"
pair dtest1 cma1-ib "0 0" -- -v
says="use cma1, scm1, ucm1: it is not in"
pair dtest1 cma1-ib "1 4" -- -P nobody
says=
pair dtest cma-ib "0 0" -w -b 64 -B 20 -- -w -b 64 -B 20
pair dtest cma-ib "0 0" -D -a -b 64 -B 5 -- -D -a -b 64 -B 5
for test in send_lat send_bw read_lat read_bw write_bw; do
    pair dtest cma-ib "0 0" --perf $test -b 64 -B 300 -- --perf $test -b 64 -B 300 --warmup 10
    pair dtest cma-siw "0 0" --perf $test -a -b 256 -B 20 -p -- --perf $test -a -b 256 -B 20 --depth 3
done
pair dtest cma-ib "0 0" --perf send_bw -b 16 -B 129 -- --perf send_bw -b 16 -B 129 -S 100 --depth 1
pair dtestcm cma-ib "0 0" -c 20 --ramp 1,5,20 -w -- -c 20 --ramp 1,5,20 -w --window
pair dtestcm cma-ib "0 0" -c 20 -m -b 4 -- -c 20 -m -b 4
pair dtestcm cma-ib "0 0" -c 8 --reject 25 -- -c 8 --reject 25 --hold 1
pair dtestsrq cma-ib "0 0" -S 0 -c 3 -B 5 -- -c 3 -B 5 --poll
pair dtestsrq cma-ib "0 0" -c 2 -B 4 --lowwater 3 --resize 40 -- -c 2 -B 4
pair dtestsrq cma-ib "0 0" -b 64 --last-receive need -- --last-receive need
# Historic versions divide by the number of writes.
says="itime=0.00 us, poll=0, 0 x 64"
pair dtest cma-ib "0 0" -b 64 -B 0 -- -b 64 -B 0
# What is left behind a warm-up: rounds, and whole batches of a stream.
says=" 64 *985 .*write_pingpong"
pair dtest cma-ib "0 0" -W -b 64 -- -W -b 64 --warmup 15
says=" 64 *980 .*write_stream"
pair dtest cma-ib "0 0" -b 64 -- -b 64 --warmup 15
says=" 64 *980 .*read_bw"
pair dtest cma-ib "0 0" --perf read_bw -b 64 -B 1000 -- --perf read_bw -b 64 -B 1000 --depth 4 -S 20 --warmup 17
says=" 15 *15 .*connect"
pair dtestcm cma-ib "0 0" -c 20 -b 15 -- -c 20 -b 15 --warmup 5
says=" 12 *24 .*messages"
pair dtestsrq cma-ib "0 0" -c 3 -b 12 -t 5 -- -c 3 -t 5 --warmup 1
says='"bw_peak_MBps":[0-9.]*,"bw_avg_MBps":[0-9.]*,"msg_rate'
pair dtest cma-ib "0 0" -b 64 -B 50 --json -- -b 64 -B 50
says="--cpu 1023: .*nproc"
pair dtest cma-ib "4 -1" --cpu 1023 --
pair dtestcm cma-ib "4 -1" --cpu 1023 --
pair dtestsrq cma-ib "4 -1" --cpu 1023 --
# Devices that no endpoint can be made on say so.
for kind in efa mana; do
    says="devices: fake0 (no RC)"
    pair dtest cma-$kind "4 -1" --
    says="fake0 makes no reliable connected (RC) queue pairs"
    pair dtest scm-$kind "4 -1" --
    pair dtest ucm-$kind "4 -1" --
done
says=
# Now and then the event is there at the first look.
n=$((n + 1))
verdict="not ok"
for try in 1 2 3 4 5 6; do
    timeout 60 "$top_builddir/test/dtest/pair_dtest" ib -P cma -b 64 -B 20 -- -b 64 -B 20 -t -p \
        -h 127.0.0.1 >"$tmp/log" 2>&1 </dev/null
    if grep -q "^pair: 0 0\$" "$tmp/log" && grep -q "connect: .*poll_cnt=[1-9]" "$tmp/log"; then
        verdict=ok
        break
    fi
done
echo "$verdict $n - cma-ib: dtest -t -p polls for the connection"
[ "$verdict" = ok ] || sed 's/^/# '"$try"': /' "$tmp/log"
# A client that cannot even open its adapter: the server need not wait.
says="the client gave up before it connected"
pair dtest cma-ib "1 4" -- -P nobody
pair dtestcm cma-ib "1 4" -c 3 -- -c 3 -P nobody
pair dtestsrq cma-ib "1 4" -- -P nobody
pair dtestx cma-ib "1 4" -- -P nobody
says="runs another test"
pair dtest cma-ib "5 5" --perf send_bw -- --perf read_bw
says="runs with another -c"
pair dtestcm cma-ib "5 5" -c 3 -- -c 4
pair dtestsrq cma-ib "5 5" -c 3 -- -c 4
says="runs with another -b"
pair dtestx cma-ib "5 5" -b 64 -- -b 65
says="another --ramp"
pair dtestcm cma-ib "5 5" -c 3 -- -c 3 --ramp 1,2
says=

# interrupted TEXT TOOL SERVER-OPTION... -- CLIENT-OPTION...
# SIGINT when the text is there. Both sides stop, unless one hears first that
# the other did; neither leaves anything on the device.
interrupted()
{
    text=$1 tool=$2
    shift 2
    n=$((n + 1))
    # shellcheck disable=SC2068
    interrupt_at "$text" "$tmp/log" "$top_builddir/test/dtest/pair_$tool" ib -P cma $@ -h 127.0.0.1
    if grep -qE "^pair: (130 130|130 1|1 130)\$" "$tmp/log" && grep -q "ERR: interrupted" "$tmp/log"; then
        echo "ok $n - interrupted: $tool $*"
    else
        echo "not ok $n - interrupted: $tool $*"
        tail -n 30 "$tmp/log" | sed 's/^/# /'
    fi
}

most="-B 10000000"
interrupted "RDMA writes, then" dtest -b 64 $most -- -b 64 $most
interrupted "RDMA write ping-pong" dtest -W $most -- -W $most
interrupted "RDMA write ping-pong" dtest -D -b 64 $most -- -D -b 64 $most -p
for test in send_lat send_bw read_lat read_bw write_bw; do
    interrupted "the client measures" dtest --perf $test $most -- --perf $test $most
done
interrupted "connections are up" dtestcm -c 20 --hold 100 -- -c 20 --hold 100
interrupted "connections are up" dtestcm -c 20 --hold 100 -w -- -c 20 --hold 100
interrupted "waits for 100 conn" dtestcm -c 100 -d 10 -- -c 100
interrupted "ALL 20 CONNECTED" dtestsrq -c 20 -t 65535 -- -c 20 -t 65535
interrupted "ALL 20 CONNECTED" dtestsrq -c 20 -t 65535 -S 0 --poll -- -c 20 -t 65535

# Calls below the library that never return, side by side: the watchdog ends
# the tool, and the last line tells. What comes before the call has time enough.
hangs="dtest rdma_connect -b 64
dtest ibv_reg_mr -b 64
dtest ibv_post_send -b 64
dtestcm ibv_create_qp -c 3
dtestcm rdma_disconnect -c 3
dtestsrq ibv_create_srq -c 3
dtestx ibv_post_send -b 64"

# hang TOOL CALL OPTION VALUE
hang()
{
    HANG=$2 timeout 120 "$top_builddir/test/dtest/pair_$1" ib -P cma "$3" "$4" \
        --timeout 8 -- "$3" "$4" -h 127.0.0.1 --timeout 8 >"$tmp/$1.$2" 2>&1 </dev/null
    echo "exit code $?" >>"$tmp/$1.$2"
}

while read -r tool call option value; do
    hang "$tool" "$call" "$option" "$value" &
done <<E
$hangs
E
wait
while read -r tool call option value; do
    n=$((n + 1))
    log=$tmp/$tool.$call
    if grep -q "ERR: timed out in a call that does not return, at or after " "$log" &&
        tail -n 1 "$log" | grep -qx "exit code 3"; then
        echo "ok $n - $tool $option $value: $call hangs"
    else
        echo "not ok $n - $tool $option $value: $call hangs"
        tail "$log" | sed 's/^/# /'
    fi
done <<E
$hangs
E

# Last: each connection takes sockets, more of them than this limit lets open.
# The tools raise it.
# shellcheck disable=SC3045
ulimit -S -n 48
pair dtestcm scm-ib "0 0" -c 60 -- -c 60
echo "1..$n"
