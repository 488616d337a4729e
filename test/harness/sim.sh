# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# sim.sh: `./run sim`: builds the simulator of the connection protocol and runs
# it with the options given. What it checks is in test/sim/; nothing is here.

cmd_sim()
{
    local dir=$h_top/build-gcc

    help_of sim "$@" && return
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    build_tree "$dir" gcc CC=gcc CXX=g++ --enable-werror || return 1
    logged "$dir/make.out" "simulator: make" \
        make -C "$dir" -j"$build_jobs" test/sim/sim || return 1
    "$dir/test/sim/sim" "$@"
}
