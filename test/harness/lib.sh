# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lib.sh: messages, the cache directory, temporary files and packages, for
# ./run and everything it sources. Bash only.
# It does not know what a build, a test or a guest is.
# One process; concurrent runs meet only in the cache, guarded by flock.
# Temporary files belong to the run and go with it (h_cleanup).

# The machine's settings must not change what is parsed.
export LC_ALL=C

h_tty=no
[ -t 2 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${CI:-}" ] && h_tty=yes

h_cache=${DAPL_CACHE:-$h_top/.cache}
h_tmp=
h_line=

h_wipe()
{
    [ -z "$h_line" ] || printf '\r\033[K' >&2
    h_line=
}

say()
{
    h_wipe
    printf '%s\n' "$*" >&2
}

# A line that the next one replaces; nothing where there is no terminal.
progress()
{
    [ "$h_tty" = yes ] || return 0
    printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "$*" >&2
    h_line=y
}

die()
{
    say "run: $*"
    exit 1
}

usage_error()
{
    say "run: $*"
    say "Try './run help'."
    exit 2
}

is_count()
{
    [[ $1 =~ ^[0-9]{1,9}$ ]] && [ "$((10#$1))" -gt 0 ]
}

have()
{
    command -v "$1" >/dev/null 2>&1
}

# help_of COMMAND ARGUMENT...: the help of a program of test/, if an argument asks
# for it: out of its source, for the program may not have been built.
help_of()
{
    local cmd=$1 arg

    shift
    for arg; do
        case $arg in -h | --help) break ;; esac
    done
    case ${arg-} in -h | --help) ;; *) return 1 ;; esac
    awk '/"usage: / { on = 1 }
        on {
            last = /"[;,]$/
            sub(/^[^"]*"/, ""); sub(/"[;,]?$/, "")
            sub(/^usage: /, "usage: ./run "); gsub(/\\n/, "\n"); gsub(/\\"/, "\"")
            printf "%s", $0
            if (last) exit
        }' "$h_top/test/$cmd/main.c"
}

# Pids that this run started and that must not outlive it.
h_children=()

h_cleanup()
{
    local p

    h_wipe
    for p in "${h_children[@]}"; do
        kill -TERM -- "$p" 2>/dev/null
    done
    [ -z "$h_tmp" ] || rm -rf "$h_tmp"
    h_tmp=
}

h_setup()
{
    # make has no way to write such a name.
    case $h_top in
    *[[:space:]]*) die "there is a blank in the path of this folder, which make cannot have: $h_top" ;;
    esac
    mkdir -p "$h_cache" || die "cannot create the cache directory $h_cache"
    h_cache=$(cd "$h_cache" && pwd -P)
    h_tmp=$(mktemp -d "${TMPDIR:-/tmp}/dapl-run.XXXXXX") ||
        die "cannot create a temporary directory"
    trap h_cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

# locked NAME COMMAND...: one run at a time does COMMAND, others wait.
locked()
{
    local name=$1 fd rc

    shift
    exec {fd}>"$h_cache/$name.lock" || die "cannot write to $h_cache"
    if ! flock -n "$fd"; then
        say "waiting for another run ($name)"
        flock -w 1800 "$fd" || die "another run holds $h_cache/$name.lock"
    fi
    "$@" {fd}>&-
    rc=$?
    exec {fd}>&-
    return $rc
}

# Run a command with its output in a log; show the log's end if it fails.
logged()
{
    local log=$1 what=$2

    shift 2
    progress "$what"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        say "FAILED: $what"
        tail -n 30 "$log" >&2
        say "full log: $log"
        return 1
    fi
}

h_missing()
{
    local p

    for p; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
            printf '%s ' "$p"
    done
}

apt_refresh()
{
    [ "$(id -u)" = 0 ] || return 1
    [ -z "${h_refreshed:-}" ] || return 0
    h_refreshed=y
    logged "$h_tmp/apt-update.log" "refreshing the package lists" apt-get -q update
}

apt_install()
{
    logged "$h_tmp/apt-install.log" "installing $*" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qy -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

# need_elsewhere PURPOSE PACKAGE...: on a system without dpkg, what is missing, in
# the words of its package manager. Nothing is installed, and nothing given up: the
# names are Debian's, translated, and who comes from elsewhere may have the files.
need_elsewhere()
{
    local purpose=$1 tool column query list

    shift
    for tool in dnf:2:'rpm -q' zypper:3:'rpm -q' pacman:4:'pacman -Q' ''; do
        have "${tool%%:*}" && break
    done
    [ -n "$tool" ] || { say "To $purpose, these packages of Debian, or like them, are needed: $*"; return 0; }
    query=${tool#*:}
    column=${query%%:*} query=${query#*:}
    list=$(printf '%s\n' "$@" | awk -F '\t' -v c="$column" '
        NR == FNR { name[$1] = $c; next }
        { n = $1 in name ? name[$1] : $1 }
        !seen[n]++ { print n }' "$h_top/test/harness/packages.tsv" - |
        while read -r p; do $query "$p" >/dev/null 2>&1 || printf '%s ' "$p"; done)
    [ -n "$list" ] || return 0
    say "To $purpose, these packages seem to be missing; as root:"
    case ${tool%%:*} in
    pacman) say "    pacman -S ${list% }" ;;
    *) say "    ${tool%%:*} install ${list% }" ;;
    esac
}

# need_packages PURPOSE PACKAGE...: install what is missing, or say exactly
# what to install.
need_packages()
{
    local purpose=$1 list

    have dpkg-query || { need_elsewhere "$@"; return; }
    shift
    list=$(h_missing "$@")
    [ -n "$list" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        say "To $purpose, these packages are needed; as root:"
        say "    apt-get install ${list% }"
        return 1
    fi
    say "installing: ${list% }"
    # shellcheck disable=SC2086
    if ! apt-cache show $list >/dev/null 2>&1; then
        apt_refresh || return 1
    fi
    # shellcheck disable=SC2086
    apt_install $list 2>/dev/null || { apt_refresh && apt_install $list; }
}

# apt_fetch DIR PACKAGE[=VERSION]...: download, never install.
apt_fetch()
{
    local dir=$1 opt=() log=$h_tmp/apt-fetch.log

    shift
    have apt-get || { say "apt-get is not here; it is needed to fetch: $*"; return 1; }
    # As root apt would switch to a user who cannot write to our directory.
    [ "$(id -u)" != 0 ] || opt=(-o APT::Sandbox::User=root)
    mkdir -p "$dir"
    (cd "$dir" && apt-get -q "${opt[@]}" download "$@") >"$log" 2>&1 </dev/null && return 0
    # Lists older than the archive name files that are gone by now.
    apt_refresh || { tail -n 5 "$log" >&2; return 1; }
    (cd "$dir" && apt-get -q "${opt[@]}" download "$@") >"$log" 2>&1 </dev/null && return 0
    tail -n 5 "$log" >&2
    return 1
}
