# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# report.sh: doc/performance.md and its pictures, of the figures that the stages
# of `./run bench` left in $h_cache/log/bench-STAGE.json. No figure is written by
# hand; each section says when it was measured. Sourced by ./run.

report_dir=$h_top/doc/performance

# report_series: a table with a line for each stack, as gnuplot's data sets, of
# which each begins with its name.
report_series()
{
    awk -F '\t' '
        NR == 1 { for (i = 2; i <= NF; i++) x[i] = $i; next }
        { printf "%s\"%s\"\n", (NR > 2 ? "\n\n" : ""), $1
          for (i = 2; i <= NF; i++) if ($i != "-") print x[i], $i }'
}

# report_gnuplot NAME TITLE Y-LABEL: the commands that tell the rest are read.
report_gnuplot()
{
    {
        cat <<G
set terminal svg noenhanced size 760,440 background rgb "white"
set output "$report_dir/$1.svg"
set title "$2"
set ylabel "$3"
set key outside right
set grid ytics
G
        cat
    } | gnuplot
}

# report_lines NAME TITLE Y-LABEL X-LABEL COMMAND...: a picture of the table that
# the command prints, logarithmic both ways.
report_lines()
{
    local name=$1 title=$2 y=$3 x=$4 n

    shift 4
    "$@" | report_series >"$h_tmp/plot.dat"
    n=$(grep -c '^"' "$h_tmp/plot.dat")
    [ "$n" -gt 0 ] || return 0
    report_gnuplot "$name" "$title" "$y" <<G
set xlabel "$x"
set logscale xy
plot for [i=0:$((n - 1))] "$h_tmp/plot.dat" index i using 1:2 with linespoints title columnheader(1)
G
}

# report_bars NAME TITLE Y-LABEL LEAST COMMAND...: groups of bars, one for each line
# of the table that the command prints; the axis begins at LEAST.
report_bars()
{
    local name=$1 title=$2 y=$3 least=$4 columns

    shift 4
    "$@" >"$h_tmp/plot.dat"
    [ "$(wc -l <"$h_tmp/plot.dat")" -gt 1 ] || return 0
    columns=$(awk -F '\t' 'NR == 1 { print NF }' "$h_tmp/plot.dat")
    report_gnuplot "$name" "$title" "$y" <<G
set datafile separator "\t"
set datafile missing "-"
set style data histogram
set style fill solid 0.7 border
set yrange [$least:*]
set xtics rotate by -30
plot for [i=2:$columns] "$h_tmp/plot.dat" using i:xtic(1) title columnheader(i)
G
}

# Instructions of each call.
report_calls()
{
    jq -rs '(["call", "over verbs"], (.[] | select(.call) | [.call, .over]))
        | map(tostring) | @tsv' "$h_cache/log/bench-path.json"
}

# Medians of the bursts: a line for each stack, a column for each number.
report_connects()
{
    jq -rs 'map(select(.role == "client" and .window == 0)) as $rows
        | ([$rows[].endpoints] | unique) as $n
        | (["stack"] + [$n[] | "\(.) endpoints"]),
          ([$rows[].stack] | unique[] as $s
           | [$s] + [$n[] as $e
                     | [$rows[] | select(.stack == $s and .endpoints == $e) | .connects_per_s]
                     | sort | if length == 0 then "-" else .[(length - 1) / 2 | floor] end])
        | map(tostring) | @tsv' "$h_cache/log/bench-connect.json"
}

# Of a cell, gnuplot takes the median that it begins with.
report_ratios()
{
    measure_jq latency ratio_table | cut -f 1-4
}

# report_has STAGE
report_has()
{
    [ -s "$h_cache/log/bench-$1.json" ]
}

report_pictures()
{
    local bench_form=tsv

    rm -rf "$report_dir"
    mkdir -p "$report_dir" || return 1
    ! report_has path || report_bars path \
        "Instructions over a program of verbs, on a device that costs nothing" \
        "instructions a call" 0 report_calls
    ! report_has latency || {
        report_bars over-verbs "8 bytes, over verbs" "" 0.8 report_ratios
        report_lines latency-poll "Send, polling: half a round trip" us bytes \
            measure_jq latency 'latency_table("send"; "poll")'
        report_lines latency-wait "Send, waiting: half a round trip" us bytes \
            measure_jq latency 'latency_table("send"; "wait")'
    }
    ! report_has bandwidth || {
        report_lines bandwidth "RDMA write, 16 under way, polling" MB/s bytes \
            measure_jq bandwidth 'bandwidth_table("write"; "poll")'
        report_lines window "RDMA write of 8 bytes, polling" "messages a second" "under way" \
            measure_jq bandwidth window_table
    }
    ! report_has connect || report_bars connect "Connections, all at once" "connects a second" 0 \
        report_connects
    ! report_has scale || report_bars scale "64 processes, each connected with each other" \
        "a second" 0 measure_jq scale \
        'plain_table("scale"; [["connects", "connects_per_s"], ["messages", "msgs_per_s"]])'
    ! report_has memory || report_bars memory "Heap of the libraries, of an endpoint" bytes 0 \
        measure_jq memory \
        'plain_table("memory"; [["made", "endpoint_bytes"], ["connected", "connected_bytes"]])'
}

report_picture()
{
    [ ! -e "$report_dir/$1.svg" ] || printf '\n![%s](performance/%s.svg)\n' "$2" "$1"
}

# report_after COMMAND...: behind an empty line.
report_after()
{
    echo
    "$@"
}

# report_section STAGE TITLE TEXT COMMAND...
report_section()
{
    local stage=$1 json=$h_cache/log/bench-$1.json

    printf '\n## %s\n\n%s\n' "$2" "$3"
    shift 3
    if report_has "$stage"; then
        # shellcheck disable=SC2016
        printf '\n`./run bench %s`, %s%s.\n' "$stage" "$(date -u -r "$json" '+%Y-%m-%d %H:%M UTC')" \
            "$(jq -rs 'map(.round // empty) | max // empty | "; rounds: \(.)"' "$json")"
        "$@"
    else
        printf '\nNot measured.\n'
    fi
}

report_head()
{
    cat <<T
# Performance

Made by \`./run bench --report\`; no figure is written by hand. Commit
$(git -C "$h_top" log -1 --format=%h 2>/dev/null), a host of $(nproc) processors with a load of $(cut -d ' ' -f 1 /proc/loadavg)
when this page was made.

Devices are soft-RoCE in an emulated machine with one processor, whose clock counts
instructions, 4 ns each. So how busy the host is has no say, and figures hardly differ
from run to run; but they are no hardware's: a send costs thousands of instructions of
a kernel here, and only what stands beside one another can be compared. Nanoseconds of
the data path are the host's, of that moment, and depend on its load. "historic" is the
last OpenFabrics release, as Debian packages it; its UCM does not run on RoCE. Rows
"perftest", "libfabric" and "ucx" are programs of those projects.
T
}

report_page()
{
    local bench_form=markdown

    report_head
    report_section path "The data path alone" \
        "What a call costs on a device that costs nothing: instructions of the libraries
alone, and over those of a program of verbs; of them such as lock the bus;
nanoseconds; and misses of a cache of 32 KiB for a message sent and received, by
pairs of endpoints in turn." \
        report_after bench_path_table "$h_cache/log/bench-path.json"
    report_picture path "instructions over verbs"
    report_section latency "Latency" \
        "Half a round trip over one connection between two processes. They share the
processor: who polls and finds nothing hands it over, of whatever stack. System
calls are those of the client in a round but for the post's, when it waits; sleeps
are how often it had to, in a round." \
        measure_show latency
    report_picture over-verbs "8 bytes, over verbs"
    report_picture latency-poll "latency, polling"
    report_picture latency-wait "latency, waiting"
    report_section bandwidth "Bandwidth and rate" "One connection, one direction." \
        measure_show bandwidth
    report_picture bandwidth "bandwidth"
    report_picture window "message rate"
    report_section connect "Connections" \
        "Between two processes. burst: all at once; serial: one after the other." \
        report_after bench_connect_table "$h_cache/log/bench-connect.json"
    report_picture connect "connects a second"
    report_section scale "Many processes" \
        "Each is connected with each other, and then sends one message to each in a round." \
        measure_show scale
    report_picture scale "64 processes"
    report_section memory "Memory" \
        "What the libraries asked the allocator for; what devices map is not among it." \
        measure_show memory
    report_picture memory "heap of an endpoint"
    report_section idle "At rest" \
        "Switches to a thread of the process, but for the main one, which sleeps." \
        measure_show idle
}

report_make()
{
    need_packages "draw the pictures" gnuplot-nox jq bsdextrautils || return 1
    report_pictures || return 1
    report_page >"$h_tmp/performance.md" || return 1
    cp "$h_tmp/performance.md" "$h_top/doc/performance.md"
    say "made doc/performance.md"
}
