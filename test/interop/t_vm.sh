# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_vm.sh: the guest's devices, without any of our code: rxe0 and siw0 are
# active and carry data. When this fails, other results here mean nothing.
# Needs perftest and rdmacm-utils; skips what is absent.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

active()
{
    grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

cm_listens()
{
    rdma resource show cm_id 2>/dev/null | grep -q LISTEN
}

cm_listens_or_gone()
{
    cm_listens || ! kill -0 "$1" 2>/dev/null
}

# rping_case NAME ADDRESS
rping_case()
{
    local log=$it_logs/rping.$2 pid rc

    if ! command -v rping >/dev/null; then
        skip "$1" "rping (rdmacm-utils) is not installed"
        return
    fi
    timeout -k 2 30 rping -s -a "$2" -C 20 -v >"$log.server" 2>&1 &
    pid=$!
    poll 10 cm_listens_or_gone $pid
    timeout -k 2 30 rping -c -a "$2" -C 20 -v >"$log.client" 2>&1
    rc=$?
    wait $pid
    if [ $rc = 0 ] && [ "$(grep -c '^ping data' "$log.client")" = 20 ]; then
        ok "$1"
    else
        not_ok "$1"
        echo "# exit code $rc"
        tail -n 5 "$log.server" "$log.client" | diag
    fi
}

# lat_case NAME ADDRESS OPTION...
lat_case()
{
    local name=$1 addr=$2 log=$it_logs/lat.$2 rc

    shift 2
    if ! command -v ib_write_lat >/dev/null; then
        skip "$name" "ib_write_lat (perftest) is not installed"
        return
    fi
    IT_PORT=18515
    if ! start_server "$log.server" ib_write_lat "$@" -n 500 -F; then
        not_ok "$name"
        echo "# $it_why"
        return
    fi
    run_client "$log.client" ib_write_lat "$@" -n 500 -F "$addr"
    rc=$?
    [ $rc = 0 ] || kill "$server_pid" 2>/dev/null
    wait "$server_pid"
    if [ $rc = 0 ] && grep -qE '^ *2 +500 ' "$log.client"; then
        ok "$name"
        grep -E '^ *2 +500 ' "$log.client" | diag
    else
        not_ok "$name"
        echo "# exit code $rc"
        tail -n 5 "$log.server" "$log.client" | diag
    fi
    unset IT_PORT
}

check "rxe0 is active" active rxe0
check "rdma_cm has its device node" test -c /dev/infiniband/rdma_cm
rping_case "rxe0: rping by IPv4" "$DAPL_VM_RXE_ADDR"
rping_case "rxe0: rping by IPv6" "$DAPL_VM_RXE_ADDR6"
lat_case "rxe0: ib_write_lat" "$DAPL_VM_RXE_ADDR" -d rxe0 -x 1
if [ -n "$DAPL_VM_SIW_ADDR" ]; then
    check "siw0 is active" active siw0
    rping_case "siw0: rping" "$DAPL_VM_SIW_ADDR"
    lat_case "siw0: ib_write_lat" "$DAPL_VM_SIW_ADDR" -d siw0 -R
else
    for c in "siw0 is active" "siw0: rping" "siw0: ib_write_lat"; do
        skip "$c" "$DAPL_VM_NO_SIW"
    done
fi
done_testing
