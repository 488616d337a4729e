# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# sched.sh: `./run sched`: builds the tree with a point at each atomic, and runs
# scenarios of threads that meet, with the options given; with --1.2 first, those
# of DAT 1.2. What is checked is in test/sched/; nothing is here.
# The build directory has only what the program needs.

# sched_build: the programs, $sched_dir/test/sched/sched and sched1.
sched_dir=$h_top/build-sched
sched_build()
{
    build_only "$sched_dir" "scheduler" \
        "CPPFLAGS=-include $h_top/test/sched/points.h" test/sched/sched test/sched/sched1 \
        -- CC=gcc CXX=g++ --enable-werror --enable-debug
}

cmd_sched()
{
    local program=sched

    if help_of sched "$@"; then
        echo "  --1.2              scenarios of DAT 1.2; the first option"
        return
    fi
    if [ "${1-}" = --1.2 ]; then
        program=sched1
        shift
    fi
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    sched_build || return 1
    "$sched_dir/test/sched/$program" "$@"
}
