# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# build.sh: configures and builds the tree in a directory of its own, and
# installs it into a staging directory for the programs that run in a guest.
# It decides nothing about what is built: configure and make do.
# Sourced by ./run. Build directories are left for the next run; autoreconf
# writes into the source tree, so one run at a time does it.

build_packages="autoconf automake libtool make gcc libc6-dev pkg-config
    libibverbs-dev librdmacm-dev libcmocka-dev systemtap-sdt-dev"

build_jobs=$(nproc 2>/dev/null || echo 1)

build_usage()
{
    cat <<'E'
usage: ./run build [DIR] [CONFIGURE-OPTION...]

Builds into DIR (build/ by default), outside the source tree. As root it
installs missing Debian packages; otherwise it says which ones to install.
Then: 'make -C DIR install' as root, or 'make -C DIR check'.
E
}

build_need_autoreconf()
{
    [ -x "$h_top/configure" ] && [ -e "$h_top/Makefile.in" ] || return 0
    [ -n "$(find "$h_top" -path "$h_top/.cache" -prune -o \
        \( -name configure.ac -o -name Makefile.am -o -name Makefile.inc \) \
        -newer "$h_top/Makefile.in" -print -quit)" ]
}

build_autoreconf()
{
    build_need_autoreconf || return 0
    logged "$h_cache/log/autoreconf.log" "generating configure" autoreconf -fi "$h_top"
}

# build_configure DIR LABEL [CONFIGURE-ARGUMENT...]
build_configure()
{
    local dir=$1 label=$2 args

    shift 2
    mkdir -p "$dir" "$h_cache/log" || return 1
    locked autoreconf build_autoreconf || return 1
    args="$*"
    if [ ! -e "$dir/Makefile" ] || [ "$(cat "$dir/.configured-with" 2>/dev/null)" != "$args" ] ||
        [ "$h_top/configure" -nt "$dir/config.status" ]; then
        rm -f "$dir/.configured-with"
        logged "$dir/configure.out" "$label: configure" \
            env -C "$dir" "$h_top/configure" -q "$@" || return 1
        printf '%s\n' "$args" >"$dir/.configured-with"
    fi
}

# build_tree DIR LABEL [CONFIGURE-ARGUMENT...]
build_tree()
{
    build_configure "$@" || return 1
    logged "$1/make.out" "$2: make" make -C "$1" -j"$build_jobs"
}

# build_only DIR LABEL MAKE-ARGUMENT... -- [CONFIGURE-ARGUMENT...]
build_only()
{
    local dir=$1 label=$2 make=()

    shift 2
    while [ "$1" != -- ]; do
        make+=("$1")
        shift
    done
    shift
    build_configure "$dir" "$label" "$@" || return 1
    logged "$dir/make.out" "$label: make" \
        make -C "$dir" -j"$build_jobs" "${make[@]}"
}

# build_stage DIR STAGE: what `make install` would install, below STAGE.
# (libtool refuses another libdir than the configured one.)
build_stage()
{
    rm -rf "$2"
    logged "$1/install.out" "installing into a staging directory" \
        make -C "$1" install DESTDIR="$2"
}

cmd_build()
{
    local dir=build

    case ${1-} in
    -h | --help) build_usage; return 0 ;;
    '' | -*) ;;
    *) dir=$1; shift ;;
    esac
    # shellcheck disable=SC2086
    need_packages "build" $build_packages || return 1
    case $dir in *[[:space:]]*) usage_error "build: DIR has a blank in it, which make cannot have" ;; esac
    mkdir -p "$dir" || return 1
    dir=$(cd "$dir" && pwd -P)
    [ "$dir" != "$h_top" ] || usage_error "build: DIR must not be the source tree"
    build_tree "$dir" build "$@" || return 1
    say "built in $dir"
}
