# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# test.sh: `./run test`: runs the stages below one after the other, collects
# every single case, and ends with one table and one verdict.
# It contains no test. Sourced by ./run; a stage runs in the background under
# a time limit while this process counts what its log already shows.
# Records: one file per stage, lines as tap.awk writes them.
# A stage that dies, is late or breaks off counts as a failure.

# name|limit|usual|left out|title: seconds, and those that a slow machine of two
# processors takes. Order is the order of running, what tells most for its time
# first. Left out with that option; "whole": in a whole run, where another stage does
# the same and more.
test_stages="native|1500|400|whole|unit and ABI tests, gcc
dist|2400|540|quick|make distcheck, which runs the unit and ABI tests, gcc
tidy|1500|180||the source itself: format, layers, analysers
vmself|1200|200|no-vm|the guest harness itself
interop|3700|1200|no-vm|real devices: soft-RoCE and soft-iWARP
nodes|3300|900|no-vm|two hosts: the tools, and faults between them
tsan|1500|200||many threads, thread sanitizer
walk|900|130||random walks, held against a model
path|900|90||what a call of the data path costs, against its budget
helgrind|900|90||many threads, valgrind's helgrind
sched|900|120||threads that meet, under a seeded scheduler
fuzz|1800|150||parsers and connection protocol, fuzzed
regress|1500|120|no-vm|the tools over each provider
clang|1500|90||everything built by clang, ABI tests
package|1500|250|quick|Debian packages of this system, installed and purged
san|2400|700||unit tests, address and undefined-behaviour sanitizers"

test_packages="clang clang-format git liblsan0 llvm shellcheck valgrind xz-utils"

test_usage()
{
    cat <<'E'
usage: ./run test [--quick] [--no-vm] [--kernel WHICH] [--only PATTERN] [--list]

  --quick         100,000 fuzz executions of each target in place of
                  1,000,000, the unit tests without distcheck, no packages
  --no-vm         nothing that needs the guest
  --kernel WHICH  the guests' kernel: stock, or backports (see ./run vm --help)
  --minutes M     a stage that would not end within M minutes, as fast as this
                  machine has shown to be, is left out: one skipped case
  --only PATTERN  only stages whose name matches the shell pattern
  --list          the stages

The last line is 'N passed, N failed, N skipped'. The exit status is 0 only if
nothing failed and something passed.
E
}

rec()
{
    printf '%s\t%s\t%s\n' "$1" "$2" "${3-}" >>"$test_rec"
}

# Automake's TAP driver prints one line for each case: "PASS: program N name".
test_read_check()
{
    awk '
        /^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): / {
            kind = $1; line = $0
            sub(/^[A-Z]+: */, "", line)
            gsub(/\t/, " ", line)
            reason = ""
            at = match(line, /# *SKIP/)
            if (at) { reason = substr(line, at + RLENGTH); line = substr(line, 1, at - 1) }
            sub(/^ +/, "", reason); sub(/ +$/, "", line)
            if (kind == "SKIP:" && reason == "")
                reason = "no reason given"
            k = kind ~ /^(PASS|XFAIL)/ ? "P" : kind == "SKIP:" ? "S" : "F"
            if (k == "F" && kind != "FAIL:") { sub(/:$/, "", kind); reason = kind (reason == "" ? "" : ": " reason) }
            printf "%s\t%s\t%s\n", k, line, reason
        }' "$1"
}

# test_check DIR LABEL CONFIGURE-ARGUMENT...: build, make check, records.
# With test_only: only these test programs are built. With test_run: all, but only
# these are run.
test_check()
{
    local dir=$1 label=$2 rc n console=$h_tmp/check.out

    shift 2
    if ! build_tree "$dir" "$label" "$@"; then
        rec F "$label: build" "see the log"
        return
    fi
    find "$dir" -name '*.trs' -delete
    # Synchronised: two programs that print at once would garble a line.
    make -C "$dir" -k -j"$build_jobs" --output-sync=target check \
        ${test_run:+TESTS="$test_run"} \
        ${test_only:+TESTS="$test_only" check_PROGRAMS="$test_only"} 2>&1 | tee "$console"
    rc=${PIPESTATUS[0]}
    test_read_check "$console" >>"$test_rec"
    # A result that a program left but that was not printed must not be lost.
    n=$(find "$dir" -name '*.trs' -exec cat {} + | grep -c '^:test-result:')
    [ "$n" = "$(wc -l <"$test_rec")" ] ||
        rec F "$label: make check" "$n results in files, $(wc -l <"$test_rec") printed"
    [ $rc = 0 ] || cat "$dir/test-suite.log"
    if [ $rc != 0 ] && [ "$(test_count F)" = 0 ]; then
        rec F "$label: make check" "exit code $rc without a failed case: something did not build"
    fi
}

# What passed when it was run once more has passed.
test_count()
{
    awk -F '\t' -v k="$1" '$1 == k || (k == "P" && $1 == "A") { n++ } END { print n + 0 }' "$test_rec"
}

stage_native()
{
    test_check "$h_top/build-gcc" gcc CC=gcc CXX=g++ --enable-werror
}

stage_tidy()
{
    if ! build_tree "$tidy_build" gcc CC=gcc CXX=g++ --enable-werror; then
        rec F "tidy: build" "see the log"
        return
    fi
    tidy_run '*' rec
}

# That the tests pass is shown by gcc, and with its sanitizers; warnings do not need
# the optimiser.
stage_clang()
{
    local test_run="test/abi/t_headers.sh test/abi/t_abi.sh test/abi/t_abi_1.sh"

    have clang || { rec S "clang: all" "clang is not installed"; return; }
    test_check "$h_top/build-clang" clang CC=clang CXX=clang++ CFLAGS="-O0 -g0" --enable-werror
}

# Half the time to compile, of what takes longest. Instrumented code looks wrong to the
# compiler where it is not: warnings are for the other stages.
san_options=("CC=gcc" "CXX=g++" "CFLAGS=-O1 -g1" --disable-werror)

stage_san()
{
    local -x CONFORM_FEW=yes WALK_SEEDS=2

    test_check "$h_top/build-san" sanitizers "${san_options[@]}" --enable-sanitizers
}

# Only what has threads: the rest was checked by the stages before.
stage_tsan()
{
    local name test_only=""

    for name in plugin/t_stress plugin/t_stress_objs event/t_evd event/t_evd_wait event/t_cno \
        objects/t_srq objects/t_ep connect/t_ep_conn transfer/t_ep_post openib_cma/t_cma_conn \
        openib_ucm/t_ucm_conn openib_ucm/t_ucm_qp \
        openib_scm/t_scm_conn openib_scm/t_scm_peer openib_scm/t_scm_stress \
        dat/t_dat_auto dat/t_dat_registry dat/t_dat_handle; do
        test_only+=" test/unit/$name"
    done
    test_check "$h_top/build-tsan" tsan "${san_options[@]}" --enable-sanitizers=thread
}

stage_helgrind()
{
    local dir=$h_top/build-helgrind rc

    have valgrind || { rec S "helgrind: t_stress" "valgrind is not installed"; return; }
    if ! build_tree "$dir" helgrind CC=gcc CXX=g++ CPPFLAGS=-DDAPL_PTHREAD_LOCKS \
        CFLAGS="-g -O1 -fno-inline" ||
        ! make -C "$dir" -j"$build_jobs" test/unit/plugin/t_stress \
            test/unit/plugin/t_stress_objs; then
        rec F "helgrind: build" "see the log"
        return
    fi
    sh "$h_top/test/unit/helgrind.sh" "$dir" | tee "$h_tmp/helgrind.tap"
    rc=${PIPESTATUS[0]}
    awk -v src=t_stress -v rc="$rc" -f "$h_top/test/harness/tap.awk" "$h_tmp/helgrind.tap" >>"$test_rec"
}

stage_sched()
{
    local program rc

    if ! sched_build; then
        rec F "sched: build" "see the log"
        return
    fi
    for program in sched sched1; do
        "$sched_dir/test/sched/$program" --seeds 50 | tee "$h_tmp/$program.tap"
        rc=${PIPESTATUS[0]}
        awk -v src="$program" -v rc="$rc" -f "$h_top/test/harness/tap.awk" "$h_tmp/$program.tap" >>"$test_rec"
    done
}

stage_fuzz()
{
    local runs=1000000 script=$h_top/test/fuzz/run-fuzz.sh target log rc

    [ "$test_quick" = no ] || runs=100000
    have clang || { rec S "fuzz: all targets" "clang is not installed"; return; }
    # A target has one thread.
    sh "$script" --list | xargs -P "$build_jobs" -I{} sh -c \
        'sh "$0" {} "$1" >"$2/fuzz-{}.out" 2>&1; echo $? >"$2/fuzz-{}.rc"' "$script" "$runs" "$h_tmp"
    for target in $(sh "$script" --list); do
        log=$h_tmp/fuzz-$target.out
        cat "$log"
        rc=$(cat "$h_tmp/fuzz-$target.rc")
        if [ "$rc" = 0 ] && grep -qE "Done $runs runs" "$log"; then
            rec P "fuzz: $target, $runs executions"
        else
            rec F "fuzz: $target, $runs executions" "exit code $rc"
        fi
    done
    fuzz_coverage "$h_tmp"/fuzz-*.out
}

# Some two million calls; a third when it is to be quick.
stage_walk()
{
    local dir=$h_top/build-gcc seeds=30 rc

    [ "$test_quick" = no ] || seeds=10
    # shellcheck disable=SC2086
    if ! build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror ||
        ! make -C "$dir" -j"$build_jobs" $walk_programs; then
        rec F "walk: build" "see the log"
        return
    fi
    walk_run "$dir" "$seeds" 500 1 "$walk_rows" | tee "$h_tmp/walk.tap"
    rc=${PIPESTATUS[0]}
    awk -v src=walk -v rc="$rc" -f "$h_top/test/harness/tap.awk" "$h_tmp/walk.tap" >>"$test_rec"
}

# Counts, which do not depend on what else the machine does.
stage_path()
{
    local dir=$h_top/build-gcc out=$h_tmp/path rc

    have valgrind || { rec S "path: all" "valgrind is not installed"; return; }
    if ! build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror ||
        ! path_prepare "$dir" "$out" || ! path_counts "$dir" "$out" >"$out/json"; then
        rec F "path: counts" "see the log"
        return
    fi
    path_check "$out/json" | tee "$h_tmp/path.tap"
    rc=${PIPESTATUS[0]}
    awk -v src=path -v rc="$rc" -f "$h_top/test/harness/tap.awk" "$h_tmp/path.tap" >>"$test_rec"
}

stage_dist()
{
    local dir=$h_top/build-gcc rc

    # VERBOSE: what a failed program printed is gone with its build directory.
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror &&
        make -C "$dir" -j"$build_jobs" --output-sync=target VERBOSE=1 \
            DISTCHECK_CONFIGURE_FLAGS="CC=gcc CXX=g++ CFLAGS='-O2 -g1' --enable-werror" distcheck 2>&1 |
        tee "$h_tmp/dist.out"
    rc=${PIPESTATUS[0]}
    test_read_check "$h_tmp/dist.out" | awk '!seen[$0]++' >>"$test_rec"
    if [ "$rc" = 0 ]; then
        rec P "distcheck: make distcheck"
    else
        rec F "distcheck: make distcheck" "exit code $rc"
    fi
    # A failed distcheck leaves a read-only tree.
    chmod -R u+w "$dir"/dapl-*/ 2>/dev/null
    rm -rf "$dir"/dapl-*/
}

# Those of other releases and architectures are ./run package's.
stage_package()
{
    package_rec=$test_rec
    [ "$(id -u)" = 0 ] || { rec S "package: all" "only root can install packages"; return; }
    # shellcheck disable=SC2086
    if ! have dpkg-query || ! need_packages "make Debian packages" $package_deb_needs; then
        rec S "package: all" "what makes Debian packages is not here"
        return
    fi
    package_deb || return
    package_own
    [ $? != 2 ] || rec S "package: installed" "$package_why"
}

stage_vmself()
{
    local rc

    bash "$h_top/test/vm/selftest.sh" | tee "$h_tmp/vmself.tap"
    rc=${PIPESTATUS[0]}
    awk -v src=vm -v rc="$rc" -f "$h_top/test/harness/tap.awk" "$h_tmp/vmself.tap" >>"$test_rec"
}

# The guest prints "#begin NAME", that script's TAP and "#end NAME RC".
test_split_interop()
{
    local out=$1 dir=$h_tmp/interop f name rc

    rm -rf "$dir"
    mkdir -p "$dir"
    awk -v d="$dir" '
        /^#begin [A-Za-z0-9_.-]+$/ { name = $2; f = d "/" name ".tap"; printf "" >f; next }
        /^#end [A-Za-z0-9_.-]+ [0-9]+$/ { print $3 >(d "/" $2 ".rc"); f = ""; next }
        f != "" { print >f }' "$out"
    for f in "$dir"/*.tap; do
        [ -e "$f" ] || continue
        name=$(basename "$f" .tap)
        rc=$(cat "$dir/$name.rc" 2>/dev/null)
        awk -v src="$name" -v rc="${rc:-unknown}" -f "$h_top/test/harness/tap.awk" "$f" >>"$test_rec"
        [ -n "$rc" ] || rec F "$name: ended with the guest"
    done
}

# interop_guest LOGS NODES FOLDER PATTERN [VARIABLE=VALUE]: the scripts of that name
# in test/FOLDER, in so many guests of their own
interop_guest()
(
    vm_defaults
    vm_opt_timeout=3600
    vm_opt_out=$1
    vm_opt_nodes=$2
    cd "$h_top" || exit 1
    vm_run_guest env STAGE="$dir/stage/usr/local" BUILD="$dir" DEBIAN_DAPL="$interop_debian" \
        DEBIAN_DAPL_REASON="$interop_reason" ONLY="$4" FAULTS="${FAULTS:-}" \
        REGRESS="${REGRESS:-}" APART="${APART:-}" "${@:5}" \
        bash "$h_top/test/interop/all.sh" "$h_top/test/$3"
)

# interop_ready STAGE: our installation, Debian's packages, and a folder for logs
interop_ready()
{
    . "$h_top/test/interop/fetch.sh"
    if ! build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror ||
        ! build_stage "$dir" "$dir/stage"; then
        rec F "$1: build" "see the log"
        return 1
    fi
    interop_fetch
    rm -rf "$logs"
    mkdir -p "$logs"
}

# lane_guests N NODES FOLDER PATTERN [VARIABLE=VALUE]: their output is in $h_tmp/laneN.out.
# Of several guests the first tells what came of it. Where QEMU crashed, nothing was
# found out: once more, then.
lane_guests()
{
    local n=$1 nodes=$2 folder=$3 i rc

    shift 3
    for i in 1 2; do
        rm -rf "${logs:?}/$n"
        mkdir -p "$logs/$n"
        interop_guest "$logs/$n" "$nodes" "$folder" "$@" | sed -u 's/^node0: //' | tee "$h_tmp/lane$n.out"
        rc=${PIPESTATUS[0]}
        [ "$rc.$i" = 126.1 ] || return "$rc"
        say "$folder: lane $n once more, for its QEMU crashed"
    done
}

# interop_lanes NODES FOLDER "PATTERN [VARIABLE=VALUE]"...: each in guests of its own,
# at the same time: much of what they do is to wait.
interop_lanes()
{
    local nodes=$1 folder=$2 lanes=("${@:3}") n words pids=()

    for n in "${!lanes[@]}"; do
        read -ra words <<<"${lanes[$n]}"
        lane_guests "$n" "$nodes" "$folder" "${words[@]}" &
        pids+=($!)
    done
    for n in "${!lanes[@]}"; do
        : >"$h_tmp/lane$n.rec"
        wait "${pids[$n]}" || rec F "$folder: the guests of lane $n" "exit code $?"
        test_rec=$h_tmp/lane$n.rec test_split_interop "$h_tmp/lane$n.out"
    done
    lanes_again
    for n in "${!lanes[@]}"; do
        cat "$h_tmp/lane$n.rec" >>"$test_rec"
    done
}

# One or two cases of thousands may fail because the host took an emulated processor
# away at the wrong moment. Their scripts run once more, with nothing beside them. What
# passes then is recorded as such, and the report tells of it; what fails again has
# failed, and so has whatever fails then only.
lanes_again()
{
    local n words scripts failed

    failed=$(for n in "${!lanes[@]}"; do cat "$h_tmp/lane$n.rec"; done | cat - "$test_rec" | grep -c '^F')
    [ "$failed" -ge 1 ] && [ "$failed" -le 2 ] || return
    for n in "${!lanes[@]}"; do
        scripts=$(awk -F '\t' '$1 == "F" { sub(/: .*/, "", $2); print $2 }' "$h_tmp/lane$n.rec" | sort -u | paste -sd '|')
        [ -n "$scripts" ] || continue
        read -ra words <<<"${lanes[$n]}"
        echo "$folder: once more: $scripts ${words[*]:1}"
        : >"$h_tmp/again.rec"
        lane_guests "$n-again" "$nodes" "$folder" "@($scripts)" "${words[@]:1}" ||
            test_rec=$h_tmp/again.rec rec F "$folder: the guests of lane $n" "exit code $?"
        test_rec=$h_tmp/again.rec test_split_interop "$h_tmp/lane$n-again.out"
        awk -F '\t' -v OFS='\t' '
            FILENAME == ARGV[1] { if (!($2 in second) || $1 == "F") second[$2] = $1; next }
            { first[$2] }
            second[$2] == "F" { $1 = "F" }
            $1 == "F" && second[$2] == "P" { $1 = "A" }
            { print }
            END {
                for (name in second)
                    if (second[name] == "F" && !(name in first))
                        print "F", name, "when run once more"
            }
        ' "$h_tmp/again.rec" "$h_tmp/lane$n.rec" >"$h_tmp/both.rec"
        mv "$h_tmp/both.rec" "$h_tmp/lane$n.rec"
    done
}

stage_interop()
{
    local dir=$h_top/build-gcc logs=$h_cache/log/interop

    interop_ready interop || return
    # Lanes that take about as long as one another.
    if [ -n "${INTEROP:-}" ]; then
        interop_lanes 1 interop "$INTEROP"
    else
        interop_lanes 1 interop 't_@(adapters|conform)' 't_@(blackbox|dapltest|dtools)' \
            '!(t_@(adapters|conform|blackbox|dapltest|dtools))'
    fi
}

stage_nodes()
{
    local dir=$h_top/build-gcc logs=$h_cache/log/nodes

    interop_ready nodes || return
    if [ -n "${NODES:-}" ]; then
        interop_lanes 2 nodes "$NODES"
    else
        interop_lanes 2 nodes '!(t_faults)' 't_faults LANE=0/2' 't_faults LANE=1/2'
    fi
}

# The quick lines of `./run regress`.
stage_regress()
{
    local dir=$h_top/build-gcc rc

    . "$h_top/test/harness/demo.sh"
    . "$h_top/test/harness/regress.sh"
    if ! build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror ||
        ! build_stage "$dir" "$dir/stage"; then
        rec F "regress: build" "see the log"
        return
    fi
    regress_provider='*' regress_filter='quick.*' regress_iterations=10
    regress_select
    regress_guest "$dir/stage/usr/local" "$h_cache/log/regress" 800 2048
    rc=$?
    awk -F '\t' '{ printf "%s\t%s: %s\t%s\n", substr($3, 1, 1), substr($1, 2), $2, $5 }' \
        "$h_cache/log/regress/results" >>"$test_rec"
    [ "$(wc -l <"$test_rec")" = "$regress_want" ] ||
        rec F "regress: the lines" "$(wc -l <"$test_rec") of $regress_want were run"
    [ $rc = 0 ] || rec F "regress: the guest" "exit code $rc"
}

# Show what the running stage has reached, from its log.
test_watch()
{
    local pid=$1 name=$2 limit=$3 log=$4 start=$SECONDS n shown=0

    while kill -0 "$pid" 2>/dev/null; do
        if [ $((SECONDS - start)) -ge "$limit" ]; then
            rec F "$name: the stage" "not finished after $limit s"
            sh "$h_top/test/harness/tree.sh" tell "$pid" >>"$log"
            sh "$h_top/test/harness/tree.sh" kill "$pid"
            kill -KILL -- "-$pid" 2>/dev/null
            break
        fi
        n=$(grep -acE '^((not )?ok |PASS:|FAIL:|SKIP:|ERROR:)' "$log")
        progress "$name: $((SECONDS - start)) s, $n cases"
        if [ "$h_tty" = no ] && [ $((SECONDS - start - shown)) -ge 60 ]; then
            shown=$((SECONDS - start))
            say "  $name: $shown s, $n cases so far"
        fi
        sleep 0.5
    done
}

# test_row NAME SECONDS
test_row()
{
    test_table+=("$(printf '%-9s %7d %7d %8d %7d s' "$1" "$(test_count P)" \
        "$(test_count F)" "$(test_count S)" "$2")")
}

test_stage()
{
    local name=$1 limit=$2 title=$3 log=$test_logs/$1.log pid rc start=$SECONDS

    test_rec=$h_tmp/$name.rec
    : >"$test_rec"
    say "$name: $title"
    : >"$log"
    # A process group of its own, so that what has lost its parent ends with it, too.
    set -m
    (
        trap - EXIT INT TERM HUP
        h_tty=no
        stage_"$name"
        echo "done" >"$h_tmp/$name.done"
    ) >>"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    h_children=("-$pid")
    test_watch "$pid" "$name" "$limit" "$log"
    wait "$pid"
    rc=$?
    h_children=()
    [ -e "$h_tmp/$name.done" ] || rec F "$name: the stage" "died, exit code $rc"
    [ -s "$test_rec" ] || rec F "$name: the stage" "no case was run"
    test_row "$name" $((SECONDS - start))
    h_wipe
    say "  $(test_count P) passed, $(test_count F) failed, $(test_count S) skipped"
    # The report comes at the end, which a machine that is short of time never sees.
    awk -F '\t' '
        $1 == "F" && n++ < 20 { print "  FAILED: " $2 ($3 == "" ? "" : " (" $3 ")") }
        $1 == "A" { print "  passed only when run once more: " $2 }' "$test_rec"
}

# test_evidence LOG: what was printed with each failure, so that the output
# alone tells it: a machine that is thrown away takes its logs along. What passed
# is left out only: lanes print into one log, one between the lines of another.
test_evidence()
{
    awk '
        /^not ok|^Bail out!|==ERROR: |WARNING: ThreadSanitizer|^[^#]*:[0-9]+: error: |\*\*\* / { room = 12 }
        /^ok / { next }
        /^PASS: |^$|^make.* (Entering|Leaving) / { room = 0 }
        room > 0 && n++ < 60 { room--; print "  | " substr($0, 1, 200) }
        { last[NR % 20] = $0 }
        END {
            if (!n)
                for (i = NR < 20 ? 1 : NR - 19; i <= NR; i++)
                    print "  | " substr(last[i % 20], 1, 200)
        }' "$1"
}

# Skips of the same case for the same reason are one line with their stages.
test_skips()
{
    local f

    for f in "${test_done[@]}"; do
        awk -F '\t' -v OFS='\t' -v st="$f" '$1 == "S" { print st, $2 ": " $3 }' "$h_tmp/$f.rec"
    done | awk -F '\t' '
        !($2 in stages) { order[++n] = $2 }
        { stages[$2] = stages[$2] (stages[$2] == "" ? "" : ", ") $1 }
        END {
            for (i = 1; i <= n; i++) {
                if (stages[order[i]] != head)
                    printf "\nskipped in %s\n", head = stages[order[i]]
                printf "  %s\n", order[i]
            }
        }'
}

test_again()
{
    local f

    for f in "${test_done[@]}"; do
        grep -q '^A' "$h_tmp/$f.rec" || continue
        printf '\npassed only when run once more, in %s (%s)\n' "$f" "$test_logs/$f.log"
        test_evidence "$test_logs/$f.log"
        awk -F '\t' '$1 == "A" { printf "  %s%s\n", $2, $3 == "" ? "" : " (" $3 ")" }' "$h_tmp/$f.rec"
    done
}

# What decides comes last: who keeps the end of a long output has it.
test_report()
{
    local f p=0 n=0 s=0

    test_skips
    test_again
    for f in "${test_done[@]}"; do
        test_rec=$h_tmp/$f.rec
        p=$((p + $(test_count P)))
        n=$((n + $(test_count F)))
        s=$((s + $(test_count S)))
        [ "$(test_count F)" = 0 ] && continue
        printf '\nFAILED in %s (%s)\n' "$f" "$test_logs/$f.log"
        test_evidence "$test_logs/$f.log"
        awk -F '\t' '$1 == "F" { printf "  %s%s\n", $2, $3 == "" ? "" : " (" $3 ")" }' "$test_rec"
    done
    if [ -e "$h_tmp/fuzz.done" ]; then
        printf '\nwhat fuzzing reaches\n'
        fuzz_coverage "$test_logs/fuzz.log" | sed 's/^coverage: /  /'
    fi
    printf '\n%-9s %7s %7s %8s %9s\n' stage passed failed skipped time
    printf '%s\n' "${test_table[@]}"
    printf '\n%d passed, %d failed, %d skipped\n' "$p" "$n" "$s"
    [ "$n" = 0 ] && [ "$p" -gt 0 ]
}

# test_fits BUDGET USUAL: whether a stage ends in time, where the others took
# test_spent seconds for what usually takes test_usual
test_fits()
{
    local need=$2

    [ "$1" -gt 0 ] || return 0
    [ "$test_usual" = 0 ] || need=$(($2 * test_spent / test_usual))
    [ $((SECONDS + need)) -le "$1" ]
}

cmd_test()
{
    local only='*' novm=no list=no budget=0 name limit usual unless title start

    test_quick=no
    while [ $# -gt 0 ]; do
        case $1 in
        --quick) test_quick=yes ;;
        --no-vm) novm=yes ;;
        --kernel)
            vm_need_kernel "${2-}"
            export DAPL_VM_KERNEL=$2
            shift
            ;;
        --minutes)
            is_count "${2-}" || usage_error "--minutes needs a number"
            budget=$(($2 * 60))
            shift
            ;;
        --only) [ -n "${2-}" ] || usage_error "--only needs a pattern"; only=$2; shift ;;
        --list) list=yes ;;
        -h | --help) test_usage; return 0 ;;
        *) usage_error "test: unknown option $1 (see ./run test --help)" ;;
        esac
        shift
    done
    if [ "$list" = yes ]; then
        printf '%s\n' "$test_stages" | awk -F '|' '{ printf "%-9s %s\n", $1, $5 }'
        return 0
    fi
    # shellcheck disable=SC2086
    need_packages "build and test" $build_packages || return 1
    # What only some stages want is no reason to stop: they say what is missing.
    # shellcheck disable=SC2086
    [ "$(id -u)" != 0 ] || need_packages "run every stage" $test_packages g++ || true
    test_logs=$h_cache/log
    mkdir -p "$test_logs"
    test_table=()
    test_done=()
    test_spent=0 test_usual=0
    while IFS='|' read -r name limit usual unless title <&3; do
        # shellcheck disable=SC2053
        [[ $name == $only ]] || continue
        # Asked for by name it runs.
        [ "$unless $only $test_quick" != "whole * no" ] || continue
        if { [ "$unless" = quick ] && [ "$test_quick" = yes ]; } ||
            { [ "$unless" = no-vm ] && [ "$novm" = yes ]; }; then
            say "$name: left out (--$unless)"
            continue
        fi
        test_done+=("$name")
        if ! test_fits "$budget" "$usual"; then
            say "$name: left out: it would not end within $((budget / 60)) minutes"
            test_rec=$h_tmp/$name.rec
            rec S "$name: the stage" "it would not have ended within $((budget / 60)) minutes"
            test_row "$name" 0
            continue
        fi
        start=$SECONDS
        test_stage "$name" "$limit" "$title"
        test_spent=$((test_spent + SECONDS - start))
        test_usual=$((test_usual + usual))
    done 3<<<"$test_stages"
    [ ${#test_done[@]} -gt 0 ] || usage_error "no stage matches '$only' (see ./run test --list)"
    test_report
}
