# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# table.jq: what test/bench/guest.sh printed, as tables of tab-separated columns,
# the first line their heads. Input: all rows, slurped. A figure is the median of
# the rounds. Used with `include "table";`, then one of *_table.

def med: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
def digits($n): pow(10; $n) as $k | (. * $k | round) / $k;
# Three digits that mean something.
def short:
    if . == null then "-" elif . >= 100 then round elif . >= 10 then digits(1) elif . >= 1 then digits(2) else digits(3) end;
def tsv: map(tostring) | @tsv;

# Stacks with figures, in the order in which they came.
def stacks:
    reduce (.[] | select(.why | not)).stack as $s ([]; if index([$s]) then . else . + [$s] end);

# of(FIELD; ROW...): the median of the field in the rows that are selected.
def of(f; cond): [.[] | select(cond) | f | values] | med;

# One table for the FIELD: a line for each stack, a column for each size.
def by_size(f; $op; $mode; window):
    map(select(.op == $op and .mode == $mode and (.why | not) and window)) as $rows
    | ([$rows[].bytes] | unique) as $sizes
    | (["stack"] + $sizes),
      ($rows | stacks[] as $s
       | [$s] + [$sizes[] as $b | $rows | of(f; .stack == $s and .bytes == $b) | short])
    | tsv;

# A stack's figure over that of verbs in the same round: median, least and most.
def over_verbs($op; $mode; $stack):
    . as $all
    | [.[] | select(.stack == $stack and .op == $op and .mode == $mode and .bytes == 8 and .median_us)
       | .round as $r | .median_us as $us
       | $all[] | select(.stack == "verbs" and .op == $op and .mode == $mode and .bytes == 8
                         and .round == $r and .median_us) | $us / .median_us]
    | if length == 0 then "-"
      else "\(med | digits(3)) (\(min | digits(3)) to \(max | digits(3)))" end;

# Of a round trip in which the client waits.
def waiting(f; $stack):
    of(f; .stack == $stack and .op == "send" and .mode == "wait" and .bytes == 8 and .calls)
    | if . then digits(2) else "-" end;

def ratio_table:
    map(select(.stage == "latency")) as $rows
    | ["stack", "send, poll", "write, poll", "send, wait", "system calls", "sleeps", "calls a sleep"],
      ($rows | stacks[] as $s
       | [$s, ($rows | over_verbs("send"; "poll"; $s)), ($rows | over_verbs("write"; "poll"; $s)),
          ($rows | over_verbs("send"; "wait"; $s)), ($rows | waiting(.calls - .post_calls; $s)),
          ($rows | waiting(.sleeps; $s)),
          ($rows | waiting(if .sleeps > 0 then (.calls - .post_calls) / .sleeps else null end; $s))])
    | tsv;

def latency_table($op; $mode): map(select(.stage == "latency")) | by_size(.median_us; $op; $mode; true);

def bandwidth_table($op; $mode):
    map(select(.stage == "bandwidth")) | by_size(.MB_per_s; $op; $mode; .window == 16);

def window_table:
    map(select(.stage == "bandwidth" and .op == "write" and .mode == "poll" and .bytes == 8
               and (.why | not))) as $rows
    | ([$rows[].window] | unique) as $windows
    | (["stack"] + $windows),
      ($rows | stacks[] as $s
       | [$s] + [$windows[] as $w | $rows | of(.msgs_per_s; .stack == $s and .window == $w) | short])
    | tsv;

# FIELDS: pairs of a head and a member's name.
def plain_table($stage; $fields):
    map(select(.stage == $stage and (.why | not))) as $rows
    | (["stack"] + [$fields[][0]]),
      ($rows | stacks[] as $s
       | [$s] + [$fields[][1] as $f | $rows | of(.[$f]; .stack == $s) | short])
    | tsv;

def scale_table:
    plain_table("scale"; [["processes", "ranks"], ["connections", "connections"],
        ["connects/s", "connects_per_s"], ["messages/s", "msgs_per_s"], ["disconnect s", "disconnect_s"]]);

def memory_table:
    plain_table("memory"; [["adapter", "adapter_bytes"], ["first connection", "first_connection_bytes"],
        ["endpoint", "endpoint_bytes"], ["connected", "connected_bytes"],
        ["its room in EVDs", "event_room_bytes"], ["verbs below", "verbs_bytes"]]);

def idle_table:
    plain_table("idle"; [["connections", "connections"], ["threads", "threads"],
        ["wake-ups/s", "wakeups_per_s"]]);

# What has no figures, once.
def why_table:
    [.[] | select(.why) | [.stack, .stage, .op // "-", .mode // "-", .bytes // "-", .why]] | unique
    | (["stack", "stage", "operation", "mode", "bytes", "why"], .[]) | tsv;
