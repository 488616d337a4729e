# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# package.sh: `./run package`: Debian packages and rpms of this tree, in
# build-package/, and the proof of them in chroots of Debian's releases.
# What is in a package is packaging/'s business; what must be true of an
# installation is test/package/install.sh's.
# Sourced by ./run. Chroots are in the run's temporary directory and end with it.
# Each step is a case; a release or an architecture whose step fails does without
# the rest, and the others go on. Records are those of tap.awk.

package_dir=$h_top/build-package
package_rec=
package_deb_needs="debhelper dpkg-dev fakeroot lintian"
package_rpm_needs="rpm rpmlint"
package_prove_needs="mmdebstrap debian-archive-keyring"

package_usage()
{
    cat <<'E'
usage: ./run package [--rpm | --prove [RELEASE...] | --cross [ARCHITECTURE...]]

  (nothing)   Debian packages for this system, and lintian
  --rpm       rpms by packaging/dapl.spec, rpmlint, and their upgrade; root
  --prove     in a chroot of each release of Debian (bullseye, bookworm, trixie):
              build, lintian, install, upgrade over 2.1.10.1, downgrade, purge,
              a build without librdmacm;
              then dtest of 2.1.10.1 over what is installed, in the guest
  --cross     build for arm64, i386, ppc64el and s390x, and run the unit tests
              under QEMU

Results are in build-package/. --prove and --cross must be root; they take the
mirror that this system's apt has. The last line is 'N passed, N failed, N skipped'.
E
}

# package_step NAME COMMAND...: its verdict as a case.
package_step()
{
    local name=$1

    shift
    if "$@"; then
        printf 'P\t%s\t\n' "$name" >>"$package_rec"
        echo "ok - $name"
    else
        printf 'F\t%s\tsee above\n' "$name" >>"$package_rec"
        echo "not ok - $name"
        return 1
    fi
}

# package_tap NAME COMMAND...: each case of its TAP.
package_tap()
{
    local rc name=$1

    shift
    "$@" | tee "$h_tmp/tap"
    rc=${PIPESTATUS[0]}
    awk -v src="$name" -v rc="$rc" -f "$h_top/test/harness/tap.awk" "$h_tmp/tap" >>"$package_rec"
}

package_verdict()
{
    h_wipe
    awk -F '\t' '
        { n[$1]++ }
        $1 == "F" { print "FAILED " $2 " (" $3 ")" }
        $1 == "S" { print "SKIPPED " $2 " (" $3 ")" }
        END {
            printf "\n%d passed, %d failed, %d skipped\n", n["P"], n["F"], n["S"]
            exit n["F"] || !n["P"]
        }' "$package_rec"
}

# The release as it is given away, and Debian's files beside it.
package_source()
{
    package_version=$(sed -n 's/^AC_INIT(\[dapl\], \[\(.*\)\])$/\1/p' "$h_top/configure.ac")
    build_configure "$package_dir/tree" package || return 1
    logged "$h_cache/log/package-dist.log" "package: make dist" \
        make -C "$package_dir/tree" -j"$build_jobs" dist || return 1
    package_tar=$package_dir/tree/dapl-$package_version.tar.gz
    package_debian=$package_dir/debian/dapl-$package_version
    rm -rf "$package_dir/debian"
    mkdir -p "$package_dir/debian"
    cp "$package_tar" "$package_dir/debian/dapl_$package_version.orig.tar.gz"
    tar -xf "$package_tar" -C "$package_dir/debian"
    cp -a "$h_top/packaging/debian" "$package_debian/debian"
}

# shellcheck disable=SC2086
package_deb()
{
    need_packages "make Debian packages" $build_packages $package_deb_needs || return 1
    package_step "the release" package_source || return 1
    package_step "Debian packages" logged "$h_cache/log/package-deb.log" "package: dpkg-buildpackage" \
        env -C "$package_debian" DEB_BUILD_OPTIONS="parallel=$build_jobs nocheck" \
        dpkg-buildpackage -us -uc || return 1
    package_step "lintian" logged "$h_cache/log/package-lintian.log" "package: lintian" \
        lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
        --tag-display-limit 0 "$package_dir"/debian/*.changes
}

# What the spec wants to be installed has other names here: --nodeps.
# shellcheck disable=SC2086
package_rpm()
{
    local top=$package_dir/rpm

    need_packages "make rpms" $build_packages $package_rpm_needs || return 1
    package_step "the release" package_source || return 1
    rm -rf "$top"
    package_step "rpms" logged "$h_cache/log/package-rpm.log" "package: rpmbuild" \
        rpmbuild -ta --nodeps --nocheck -D "_topdir $top" -D "_dbpath $top/db" \
        -D "_smp_mflags -j$build_jobs" "$package_tar" || return 1
    package_step "rpmlint" logged "$h_cache/log/package-rpmlint.log" "package: rpmlint" \
        rpmlint --strict -c "$h_top/packaging/rpmlint.toml" "$h_top/packaging/dapl.spec" "$top"/RPMS
    mkdir -p "$h_tmp/rpm"
    package_tap rpm sh "$h_top/test/package/rpm.sh" "$(dirname "$top"/RPMS/*/dapl-3*.rpm)" "$h_tmp/rpm"
}

# package_chroot RELEASE DIR OPTION...
package_chroot()
{
    local release=$1 dir=$2 mirror opt

    shift 2
    # shellcheck disable=SC2016 # apt's format
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        'Origin: Debian' | head -n 1)
    [ -n "$mirror" ] || { say "apt of this system has no mirror of Debian"; return 1; }
    opt=$(apt-config dump Acquire::Check-Valid-Until)
    logged "$h_cache/log/package-mmdebstrap.log" "$release: mmdebstrap" \
        mmdebstrap --variant=buildd ${opt:+--aptopt="${opt%;}"} "$@" "$release" "$dir" "$mirror"
}

# package_in DIR COMMAND...: with /proc and /dev, which end with the command.
package_in()
{
    # shellcheck disable=SC2016
    unshare --mount sh -c 'mount -t proc proc "$0/proc" &&
        mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' \
        "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "${@:2}"
}

# package_prove RELEASE: true if the chroot is fit for the guest.
package_prove()
{
    local release=$1 dir=$h_tmp/$1 proof=$h_tmp/$1/proof log=$h_cache/log/package-$1

    package_step "$release: chroot" package_chroot "$release" "$dir" \
        --include=debhelper,libcmocka-dev,libibverbs-dev,librdmacm-dev,lintian,pkg-config,systemtap-sdt-dev || return 1
    package_proof "$proof"
    # shellcheck disable=SC2016
    package_step "$release: packages" logged "$log-build.log" "$release: dpkg-buildpackage" \
        package_in "$dir" sh -e -c '
        cd /proof
        dpkg-source -x *.dsc tree
        cd tree
        DEB_BUILD_OPTIONS="nocheck parallel=$1" dpkg-buildpackage -b -us -uc
        cp ../*.deb ../new
        rm -f ../new/*-dbgsym_*' sh "$build_jobs" || return 1
    package_step "$release: lintian" logged "$log-lintian.log" "$release: lintian" \
        package_in "$dir" sh -c 'lintian --allow-root --fail-on error /proof/*.changes'
    package_tap "$release" package_in "$dir" sh /proof/install.sh /proof
    package_tap "$release" package_in "$dir" sh /proof/switches.sh /proof
}

# The files that install.sh and switches.sh want, in DIR.
package_proof()
{
    local proof=$1

    mkdir -p "$proof/old" "$proof/new"
    cp "$package_dir"/debian/*.dsc "$package_dir"/debian/*.tar.* "$proof"
    cp "$h_tmp"/old/*.deb "$proof/old"
    cp "$h_top"/test/package/old.c "$h_top"/test/package/install.sh \
        "$h_top"/test/package/switches.sh "$proof"
}

package_old()
{
    apt_fetch "$h_tmp/old" libdapl2 libdapl-dev dapl2-utils
}

# package_above DIR PROOF COMMAND...: on this system's root as it is, which what
# COMMAND writes does not reach: that is in memory, and ends with the command.
package_above()
{
    # shellcheck disable=SC2016
    unshare --mount sh -c '
        proof=$1
        shift
        mount -t tmpfs tmpfs "$0" && mkdir "$0/up" "$0/work" "$0/root" &&
            mount -t overlay -o "lowerdir=/,upperdir=$0/up,workdir=$0/work" overlay "$0/root" &&
            mkdir -p "$0/root/proof" && mount --bind "$proof" "$0/root/proof" &&
            mount -t proc proc "$0/root/proc" && mount --rbind /dev "$0/root/dev" &&
            exec chroot "$0/root" "$@"' \
        "$1" "$2" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "${@:3}"
}

# This system's release, without a chroot of its own. Returns 2, with package_why,
# if it cannot be had here.
package_own()
{
    local dir=$h_tmp/own proof=$h_tmp/proof

    mkdir -p "$dir"
    package_old || { package_why="Debian's 2.1.10.1 cannot be had"; return 2; }
    package_proof "$proof"
    cp "$package_dir"/debian/*.deb "$proof/new"
    rm -f "$proof"/new/*-dbgsym_*
    if ! package_above "$dir" "$proof" test -e /var/lib/dpkg/status 2>"$h_tmp/own.log"; then
        package_why="no overlay of this root: $(tail -n 1 "$h_tmp/own.log")"
        return 2
    fi
    package_tap installed package_above "$dir" "$proof" sh /proof/install.sh /proof
}

package_guest()
{
    vm_defaults
    vm_opt_timeout=$((300 * $# + 300))
    (cd "$h_top" && vm_run_guest bash "$h_top/test/package/guest.sh" "$@")
}

# One release after the other, then the guest.
package_prove_all()
{
    local release roots=()

    package_step "packages of 2.1.10.1" package_old || return 1
    for release; do
        echo "# $release"
        package_prove "$release" && roots+=("$h_tmp/$release")
    done
    [ ${#roots[@]} -gt 0 ] || return 1
    echo "# the guest"
    package_tap guest package_guest "${roots[@]}"
}

# All architectures in one chroot, whose compilers take each other's libraries.
package_cross_all()
{
    local arch gnu dir=$h_tmp/cross include=debhelper,pkg-config,qemu-user archs=amd64

    for arch; do
        gnu=$(dpkg-architecture -a "$arch" -q DEB_HOST_GNU_TYPE 2>/dev/null) ||
            usage_error "package: unknown architecture $arch"
        archs+=,$arch
        include+=,gcc-${gnu//_/-},libc6-dev:$arch,libcmocka-dev:$arch,libibverbs-dev:$arch,librdmacm-dev:$arch,systemtap-sdt-dev
    done
    package_step "cross: chroot" package_chroot bookworm "$dir" \
        --architectures="$archs" --include="$include" || return 1
    mkdir "$dir/proof"
    cp "$package_tar" "$h_top/test/package/cross.sh" "$dir/proof"
    for arch; do
        echo "# $arch"
        package_tap "$arch" package_in "$dir" sh /proof/cross.sh "$arch" "$build_jobs"
    done
}

# shellcheck disable=SC2086
package_roots()
{
    [ "$(id -u)" = 0 ] || { say "only root can make chroots"; return 1; }
    need_packages "make chroots" $package_prove_needs || return 1
}

cmd_package()
{
    local what=${1-}

    [ $# = 0 ] || shift
    mkdir -p "$h_cache/log"
    package_rec=$h_tmp/package.rec
    : >"$package_rec"
    case $what in
    '') package_deb && ls "$package_dir"/debian/*.deb ;;
    --rpm) package_rpm ;;
    --prove)
        [ $# -gt 0 ] || set -- bullseye bookworm trixie
        package_roots && package_deb && package_prove_all "$@"
        ;;
    --cross)
        [ $# -gt 0 ] || set -- arm64 i386 ppc64el s390x
        package_roots && package_step "the release" package_source && package_cross_all "$@"
        ;;
    -h | --help) package_usage; return 0 ;;
    *) usage_error "package: unknown option $what (see ./run package --help)" ;;
    esac
    package_verdict
}
