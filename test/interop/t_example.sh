#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_example.sh: doc/examples/pingpong.c between two processes, on each adapter
# that is named by an IP address. The client is given what the server prints.

# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/lib.sh"

example=$BUILD/doc/examples/.libs/pingpong
[ -x "$example" ] || example=$BUILD/doc/examples/pingpong
IT_READY='another host: pingpong'

pair()
{
    local log=$it_logs/$IT_PROVIDER name="$1: both ends of the example" address

    [ "$it_old" != local ] || return
    use_stack ours ours
    it_why=
    if start_server "$log.server" "${it_env[@]}" "$example" "$IT_PROVIDER"; then
        address=$(sed -n 's/.*pingpong .* //p' "$log.server")
        if [ "$address" != "$IT_ADDR" ]; then
            it_why="the server is at $address, not $IT_ADDR"
        elif ! run_client "$log.client" "${it_env[@]}" "$example" "$IT_PROVIDER" "$address"; then
            it_why="client: $(tail -n 1 "$log.client")"
        elif ! grep -q '^1000 rounds' "$log.client"; then
            it_why="client: it counted no rounds"
        fi
        [ -z "$it_why" ] || kill "$server_pid" 2>/dev/null
        wait "$server_pid" || it_why=${it_why:-"server: exit code $?"}
    fi
    if [ -z "$it_why" ]; then
        ok "$name"
    else
        not_ok "$name"
        echo "# $it_why"
    fi
}

each_adapter pair
done_testing
