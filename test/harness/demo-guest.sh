# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# demo-guest.sh: the guest's part of `./run demo`: for each row of DEMO_ROWS
# one dtest server and one client. Lines for the host: "@NAME: begin", then
# "@NAME: PASSED" or FAILED, "# text" for the user. No figure is made here:
# dtest's own JSON goes into $VM_OUT, the client's only.

it_dir=$(cd "$(dirname "$0")/../interop" && pwd -P)
# shellcheck source=test/interop/lib.sh
. "$it_dir/lib.sh"

demo_one()
{
    local name=$1 addr=$2 what=$3 log rc src

    shift 3
    log=$it_logs/$name-${what// /-}
    echo "@$name, $what: begin"
    if ! start_server "$log.server" "$STAGE/bin/dtest" -P "$name" "$@"; then
        echo "# $name: $it_why"
        tail -n 3 "$log.server" | diag
        echo "@$name, $what: FAILED"
        return
    fi
    run_client "$log.client" "$STAGE/bin/dtest" -P "$name" "$@" -h "$addr" --json="$log.json"
    rc=$?
    [ $rc = 0 ] || kill "$server_pid" 2>/dev/null
    wait "$server_pid"
    src=$?
    if [ $rc = 0 ] && [ $src = 0 ] && grep -q '"test": *"summary".*"PASSED"' "$log.json"; then
        echo "@$name, $what: PASSED"
    else
        echo "# $name, $what: client exit code $rc, server exit code $src"
        tail -n 3 "$log.client" | diag
        echo "@$name, $what: FAILED"
    fi
}

export LD_LIBRARY_PATH=$STAGE/lib DAT_OVERRIDE=$it_logs/dat.conf
while IFS='|' read -r name lib dev params var; do
    printf '%s u2.0 threadsafe default %s dapl.2.0 "%s" ""\n' "$name" "$STAGE/lib/$lib" "$params"
done <<<"$DEMO_ROWS" >"$DAT_OVERRIDE"

while IFS='|' read -r name lib dev params var <&3; do
    if [ -z "${!var}" ]; then
        echo "# $dev is left out: $DAPL_VM_NO_SIW"
        continue
    fi
    demo_one "$name" "${!var}" "64 bytes" -b 64 -B 500 --reads 200
    demo_one "$name" "${!var}" "4 KiB" -b 4096 -B 200 --reads 200
done 3<<<"$DEMO_ROWS"
