#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_dat_env.sh - the library and the environment, seen by an ordinary program.
#
# libdat2, unless the script that reads this one has set api to 1.2.
#
# Covers DAT_OVERRIDE, DAT_DBG_TYPE, DAT_DBG_DEST with sensible and with absurd
# values, silence by default, and ending with an adapter open. Does not look
# at files outside its own directory.
# Needs: top_builddir with the library, dat_probe and the stub provider built.

set -u
: "${top_builddir:?not set}"

case ${api:=2.0} in
1.2)
    suffix=1
    subtype=62
    ;;
*)
    suffix=
    subtype=64
    ;;
esac
probe=$top_builddir/test/unit/dat/dat_probe$suffix
stub=$top_builddir/test/unit/dat/.libs/libdatstub$suffix.so
dir=$(mktemp -d "${TMPDIR:-/tmp}/dapl-test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
unset DAT_OVERRIDE DAT_DBG_TYPE DAT_DBG_DEST DAT_AUTO DAPL_DBG_TYPE DAPL_DBG_DEST
# a machine without devices
SYSFS_PATH=$dir
export SYSFS_PATH
n=0

# ok NAME COMMAND...: one test, passed if COMMAND succeeds
ok()
{
    name=$1
    shift
    n=$((n + 1))
    if "$@"; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# out: /' "$dir/out"
        sed 's/^/# err: /' "$dir/err"
    fi
}

# run NAME [VARIABLE=VALUE...]: 20 seconds are for ever
run()
{
    adapter=$1
    shift
    timeout 20 env "$@" "$probe" "$adapter" >"$dir/out" 2>"$dir/err"
    status=$?
}

code()
{
    [ $status -eq 0 ] && [ "$(head -n 1 "$dir/err")" = "$*" ]
}

reason()
{
    grep -qF -- "$1" "$dir/err"
}

silent()
{
    [ $status -eq 0 ] && [ ! -s "$dir/out" ]
}

printed()
{
    grep -qF -- "$1" "$dir/out"
}

not_found="0x800a00$subtype DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED"
line="a u$api threadsafe default $stub stub.1.0 \"ok\" \"\""
printf '%s\nbroken\n' "$line" >"$dir/good"
printf '%s\r\n' "$line" >"$dir/crlf"
: >"$dir/empty"
mkfifo "$dir/fifo"
good=DAT_OVERRIDE=$dir/good

run a "$good"
ok 'override__opens' code '0x00000000 DAT_SUCCESS '
ok 'default__silent_after_success' silent

run b "$good"
ok 'default__silent_after_failure' silent
ok 'override__names_the_file' reason "in $dir/good, "
ok 'override__names_what_is_known' reason 'use a: it is not in'

for file in nonexistent empty fifo crlf .; do
    run a "DAT_OVERRIDE=$dir/$file"
    ok "override__$file" code "$not_found"
    ok "override__${file}_silent" silent
done

run a DAT_OVERRIDE=
ok 'override__empty_means_none' reason 'DAT_OVERRIDE is an empty path'

run a "DAT_OVERRIDE=/dev/zero"
ok 'override__device' reason '/dev/zero is not a regular file'

run a "DAT_OVERRIDE=/dev/full"
ok 'override__unreadable_device' reason '/dev/full is not a regular file'

long=$(printf '%5000s' '' | tr ' ' x)
run a "DAT_OVERRIDE=/$long"
ok 'override__path_too_long' reason 'cannot read /xxx'

run a "DAT_OVERRIDE=$dir/crlf"
ok 'override__crlf_is_explained' reason 'line ends with CR'

run b "$good" DAT_DBG_TYPE=1
ok 'dbg_type__errors' printed 'no adapter "b"'
ok 'dbg_type__broken_line' printed 'line 2, column 7: write u'

run a "$good" DAT_DBG_TYPE=0x3f
ok 'dbg_type__hexadecimal' printed '"a" is IA 1'
ok 'dbg_type__static' printed '1 usable entries'
ok 'dbg_type__dynamic' printed '"a" registered'
ok 'dbg_type__provider' printed "loaded $stub"

for value in '' 0 none ' ' 0x -0; do
    run b "$good" "DAT_DBG_TYPE=$value"
    ok "dbg_type__no_number '$value'" silent
done

for value in -1 99999999999999999999999 0xffffffffffffffff; do
    run b "$good" "DAT_DBG_TYPE=$value"
    ok "dbg_type__absurd $value" code "$not_found"
done

run b "$good" DAT_DBG_TYPE=1 DAT_DBG_DEST=2
ok 'dbg_dest__syslog' silent
run b "$good" DAT_DBG_TYPE=1 DAT_DBG_DEST=0
ok 'dbg_dest__nowhere' silent
run b "$good" DAT_DBG_TYPE=1 DAT_DBG_DEST=3
ok 'dbg_dest__both' printed 'no adapter "b"'
run b "$good" DAT_DBG_TYPE=1 DAT_DBG_DEST=4
ok 'dbg_dest__standard_error' reason 'libdat'
ok 'dbg_dest__standard_error_alone' silent
run b "$good" DAPL_DBG_TYPE=0xff
ok 'dbg_type__of_the_providers' printed 'no adapter "b"'
run a "$good" DAPL_DBG_TYPE=0xff
ok 'dbg_type__of_the_providers_errors_only' printed 'line 2, column 7'
run b "$good" DAPL_DBG_TYPE=1 DAT_DBG_TYPE=0
ok 'dbg_type__own_decides' silent
run b "$good" DAPL_DBG_TYPE=1 DAPL_DBG_DEST=4
ok 'dbg_dest__of_the_providers' reason 'libdat'
run b "$good" DAT_DBG_TYPE=1 DAT_DBG_DEST=xyz
ok 'dbg_dest__no_number' silent
run b "$good" DAT_DBG_TYPE=3x
ok 'dbg_type__half_a_number' silent

said_once()
{
    [ "$(grep -c "DAT_AUTO: '$1' is not" "$dir/out")" = "$2" ]
}
for value in yes ''; do
    run b "$good" DAT_DBG_TYPE=1 DAT_AUTO="$value"
    ok "auto__no_number '$value' is one warning" said_once "$value" 1
done
run b "$good" DAT_DBG_TYPE=0x3f DAT_AUTO=0x0
ok 'auto__number is none' said_once 0x0 0
run b "$good" DAT_AUTO=yes
ok 'auto__no_number is silent by default' silent

# A program that contains the library, as one that was linked statically.
if [ -z "$suffix" ]; then
    echo "a u2.0 threadsafe default ${stub%.so}_linked.so stub.1.0 \"ok\" \"\"" >"$dir/linked"
    probe=${probe}_own
    run a "DAT_OVERRIDE=$dir/linked"
    ok 'static__opens' code '0x00000000 DAT_SUCCESS '
    probe=${probe%_own}_hidden
    run a "DAT_OVERRIDE=$dir/linked"
    ok 'static__not_seen' code "$not_found"
    ok 'static__not_seen_is_explained' reason 'link the program with -rdynamic: '
fi

echo "1..$n"
