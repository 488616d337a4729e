#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_info.sh: dat_info as a program: on the fake device, which moves data, and on a
# machine without devices; its options against the manual page; and that what it
# says in JSON is JSON. TAP. t_info.c has the facts and reasons.
# Input: top_srcdir and top_builddir, as `make check` sets them.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
info=$top_builddir/dat/info/dat_info
fake=$top_builddir/test/unit/dat/info/info_fake
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
unset DAT_OVERRIDE DAT_AUTO DAPL_GID_INDEX
n=0

# verdict NAME: of the status before; $tmp/out is shown if it is bad.
verdict()
{
    good=$?
    n=$((n + 1))
    if [ $good = 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        tail -n 20 "$tmp/out" | sed 's/^/# /'
    fi
}

# says CODE TEXT COMMAND...
says()
{
    code=$1 text=$2
    shift 2
    timeout 60 "$@" >"$tmp/out" 2>&1 </dev/null
    rc=$?
    echo "exit code $rc, wanted $code and '$text'" >>"$tmp/out"
    [ $rc = "$code" ] && head -n -1 "$tmp/out" | grep -q -e "$text"
    program=${1##*/}
    shift
    verdict "$program $*"
}

# A machine with nothing, and a file of lines that only a program would read.
mkdir "$tmp/sys"
SYSFS_PATH=$tmp/sys
export SYSFS_PATH
: >"$tmp/empty.conf"
printf 'a"\\\\\\"b\001\377 u2.0 threadsafe default lib\\none.so d.1.0 "\344x 1" ""\n' >"$tmp/odd.conf"
printf 'odd u2.0 threadsafe default "%s" d.1.0 "x\ty" ""\n' 'lib\\ \"none.so' >>"$tmp/odd.conf"
printf 'bad \001\033[2J\n' >>"$tmp/odd.conf"

"$info" --help | sed -n 's/^  \(-[^ ].*\)/\1/p' | grep -oE -e '^-[a-zA-Z]|^(-[a-zA-Z], )?--[a-z-]+' |
    tr -d ',' | tr ' ' '\n' | sort -u >"$tmp/help"
# shellcheck disable=SC1003
tr -d '\\' <"$top_srcdir/doc/dat_info.1" |
    awk '/^\.SH/ { on = /OPTIONS/ } on && tag { print } { tag = /^\.TP/ }' |
    sed 's/fI[^f]*fP//g; s/f[RP]//g; s/"//g' | grep -oE -e '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u >"$tmp/page"
diff "$tmp/help" "$tmp/page" >"$tmp/out" && [ -s "$tmp/help" ]
verdict "--help and the manual page have the same options"

says 0 "^usage: dat_info" "$info" --help
says 0 "^dat_info (" "$info" --version
says 2 "unknown" "$info" --nonsense
says 2 "one thing at a time" "$info" --check --digest
says 2 "one thing at a time" "$info" --why a --test b
says 2 "one thing at a time" "$info" --why a --profile b
says 1 "device none0 cannot be used: No such device" "$fake" ib --profile none0
says 2 "goes with the list" "$info" --all --check
says 2 "not an option" "$info" ofa-v2-ib0

DAT_OVERRIDE=$tmp/empty.conf
export DAT_OVERRIDE
says 4 "There is no name" "$info"
says 4 " 0 names, first none" "$info" --digest
says 4 "there is no RDMA device" "$info" --generate
says 1 "FAIL  devices: there is no RDMA device" "$info" --check
says 1 "FAIL  name: there is no nobody" "$info" --why nobody
says 4 "FAIL  nobody: " "$info" -v nobody
says 4 "dat_ia_open(nobody)" "$info" --test nobody
says 0 "ok    dat.conf: 0 good lines" "$info" --lint
says 4 "there is no /nonexistent" "$info" --lint=/nonexistent
says 1 "WARN  file: there is no /nonexistent" env DAT_OVERRIDE=/nonexistent "$info" --why nobody
says 1 "FAIL  name: there is no nobody" env DAT_OVERRIDE=/nonexistent "$info" --why nobody
"$info" --digest >/dev/full 2>"$tmp/out"
[ $? = 1 ] && grep -q "cannot write" "$tmp/out"
verdict "a full device is told of"
"$info" --generate >"$tmp/out" 2>/dev/null
[ ! -s "$tmp/out" ]
verdict "nothing to generate leaves nothing in the file"
says 0 "^DAPL_ACK_RETRY=5\$" env DAPL_ACK_RETRY=5 "$info" -e
says 1 "is not a number from 0 to 7" env DAPL_ACK_RETRY=50 "$info" -e
library="FAIL  library: .*cannot load"
# Who may lock next to nothing, and is not root, gets no further than that.
# shellcheck disable=SC3045
case $(ulimit -l) in
? | ?? | ???) library="$library\|FAIL  memlock here" ;;
esac
says 1 "$library" env DAT_OVERRIDE="$tmp/odd.conf" "$info" --why odd
says 1 "odd.conf:3: column " "$info" --lint="$tmp/odd.conf"

# Nothing of what a file or a variable has reaches a terminal as it is.
DAT_OVERRIDE=$tmp/odd.conf
export DAT_OVERRIDE
esc=$(printf '\033[2J')
for option in --all --digest --lint --check "--why odd" -e; do
    # shellcheck disable=SC2086
    DAPL_ACK_RETRY=$esc "$info" $option >"$tmp/out" 2>&1
    [ -s "$tmp/out" ] && ! LC_ALL=C grep -q '[[:cntrl:]]' "$tmp/out"
    verdict "$option: no control characters"
done
DAT_OVERRIDE=$tmp/empty.conf

# is_json NAME COMMAND...: every line is an object.
is_json()
{
    name=$1
    shift
    if ! command -v jq >/dev/null; then
        n=$((n + 1))
        echo "ok $n - JSON: $name # SKIP jq is not installed"
        return
    fi
    timeout 60 "$@" 2>"$tmp/err" >"$tmp/json"
    jq -es 'length > 0 and all(.[]; type == "object")' "$tmp/json" >"$tmp/out" 2>&1 &&
        [ "$(jq -s length "$tmp/json")" = "$(wc -l <"$tmp/json")" ]
    verdict "JSON: $name"
}
odd="env DAT_OVERRIDE=$tmp/odd.conf"
is_json list $odd "$info" --json
is_json "list of nothing" "$info" --json
is_json all $odd "$info" --json -a
is_json "beside logs" $odd DAT_DBG_TYPE=0xffff DAT_DBG_DEST=4 "$info" --json -a
is_json lint $odd "$info" --json --lint
is_json why $odd "$info" --json --why odd
is_json check $odd DAPL_NONSENSE='"\x' "$info" --json --check
is_json env $odd DAPL_ACK_RETRY='"\x' "$info" --json -e
is_json digest "$info" --json --digest
is_json test "$info" --json --test nobody
is_json attributes "$info" --json -v nobody

# named NAME COMMAND...: and every object names the adapter it is about
named()
{
    name=$1
    shift
    if ! command -v jq >/dev/null; then
        n=$((n + 1))
        echo "ok $n - JSON names $name: $* # SKIP jq is not installed"
        return
    fi
    timeout 60 "$@" 2>"$tmp/err" >"$tmp/json"
    jq -es --arg name "$name" 'length > 0 and all(.[]; .name == $name)' "$tmp/json" >"$tmp/out" 2>&1
    verdict "JSON names $name: $*"
}
named nobody "$info" --json --why nobody
named nobody "$info" --json --test nobody
named nobody "$info" --json -v nobody
says 4 "dat_info --why goes step by step" "$info" --test nobody

# What is logged does not stand in the output, unless somebody wants it there.
logs="DAT_DBG_TYPE=0xff DAPL_DBG_TYPE=0xffff"
# shellcheck disable=SC2086
is_json "logs of the file" env DAT_OVERRIDE="$tmp/odd.conf" $logs "$info" --json -a
grep -q '^libdat2: dat.conf: line 3' "$tmp/err"
verdict "logs are on standard error"
timeout 60 env DAT_OVERRIDE="$tmp/odd.conf" DAT_DBG_TYPE=0xff DAT_DBG_DEST=1 "$info" -a >"$tmp/out" 2>"$tmp/err"
grep -q '^libdat2: dat.conf: line 3' "$tmp/out" && ! grep -q libdat2 "$tmp/err"
verdict "logs are where DAT_DBG_DEST says"

# One that cannot be read is told of beside the list, and in the exit status.
for option in "" --digest "--json --digest"; do
    # shellcheck disable=SC2086
    says 4 "^dat_info: there is no /nonexistent" env DAT_OVERRIDE=/nonexistent "$info" $option
done
# shellcheck disable=SC2086
is_json "digest without the file" env DAT_OVERRIDE=/nonexistent "$info" --json --digest
says 4 "^dat_info: DAPL_SCM_NETDEV: nope0 is neither" env DAPL_SCM_NETDEV=nope0 "$info"
says 1 "FAIL  DAPL_SCM_NETDEV: nope0 is neither" env DAPL_SCM_NETDEV=nope0 "$info" -e

# The providers and the fake device, which is in no sysfs.
libs=$top_builddir/dapl
if [ ! -e "$libs/openib_cma/.libs/libdaplofa.so.2" ]; then
    n=$((n + 1))
    echo "ok $n - adapters # SKIP the providers were built without shared libraries"
    echo "1..$n"
    exit 0
fi
while read -r name lib params; do
    printf '%s u2.0 threadsafe default %s dapl.2.0 "%s" ""\n' "$name" "$libs/$lib" "$params"
done >"$tmp/dat.conf" <<E2
broken openib_cma/.libs/libdaplofa.so.2 nowhere 0
cma openib_cma/.libs/libdaplofa.so.2 10.0.0.1 0
scm openib_scm/.libs/libdaploscm.so.2 fake0 1
ucm openib_ucm/.libs/libdaploucm.so.2 fake0 1
E2
export DAT_OVERRIDE="$tmp/dat.conf" DAT_AUTO=0 DAPL_SCM_NETDEV=lo
for run in cma-ib cma-roce cma-iwarp cma-siw scm-ib scm-roce ucm-ib ucm-roce; do
    says 0 "PASSED" "$fake" ${run#*-} --test ${run%-*}
done
says 0 "^ok    RDMA read: 8192 bytes are right" "$fake" ib --test cma
says 0 "takes cma, the first that opens" "$fake" ib
says 0 "^DAT_IB_DEVICE_NAME  *fake0" "$fake" ib -v ucm
says 0 "^max_lmrs " "$fake" ib -v ucm
is_json "attributes of an adapter" "$fake" ib --json -v scm
is_json "test of an adapter" "$fake" ib --json --test scm
for option in -a "--test scm" "-v scm"; do
    # shellcheck disable=SC2086
    is_json "$option beside logs of the providers" env $logs "$fake" ib --json $option
    grep -q ':[CS][CM][AM]:' "$tmp/err"
    verdict "$option: logs of the providers are on standard error"
done
named scm "$fake" ib --json --test scm
named scm "$fake" ib --json -v scm

# What a device breaks, or keeps for itself, is told, and in time.
says 3 "timed out" env HANG=ibv_post_send "$fake" ib --test cma --timeout 1
says 1 "RDMA write: byte 100 is 0x" env SPOIL=write "$fake" ib --test cma
says 1 "send: byte 100 is 0x" env SPOIL=send "$fake" ib --test cma
says 1 "RDMA read: byte 100 is 0x" env SPOIL=read "$fake" ib --test cma
echo "1..$n"
