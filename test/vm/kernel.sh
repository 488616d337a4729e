# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# kernel.sh: the guest's kernel, its modules and its initramfs, kept in the
# cache. Nothing is installed: Debian's kernel packages are unpacked only.
# rdma_siw is not built by Debian; it is built here from Debian's own source.
# Sourced by vm.sh; all of it runs under the lock "vm".
# Result: vm_dir, vm_kver, vm_initrd, and vm_no_siw (a reason, or empty).

vm_modules="crc32_generic crc32c_generic virtio_pci virtio_net virtio_console
    9pnet_virtio 9p overlay libcrc32c veth dummy ib_uverbs rdma_ucm ib_umad
    rdma_rxe"

# What tests may load later, and what it depends on; not the hardware drivers.
vm_module_dirs="crypto lib net arch/x86/crypto fs/9p fs/netfs fs/fscache
    fs/overlayfs fs/configfs fs/nls drivers/infiniband drivers/virtio drivers/char
    drivers/net/*.ko* drivers/net/core drivers/dma-buf drivers/nvdimm
    drivers/firmware"

# vm_backports: from here on apt knows the archive of backports alone, that of the
# mirror which this system has.
vm_backports()
{
    local dir=$h_cache/backports uri suite

    # shellcheck disable=SC2016 # they are apt's
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        'Origin: Debian' 'Component: main' 2>/dev/null | head -n 1)
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    [ -n "$uri" ] && [ -n "$suite" ] || die "apt of this system has no mirror of Debian"
    mkdir -p "$dir"/{lists,cache/archives}/partial
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite-backports main" \
        >"$dir/sources"
    cat >"$dir/apt.conf" <<E
Dir::Etc::sourcelist "$dir/sources";
Dir::Etc::sourceparts "-";
Dir::State::lists "$dir/lists";
Dir::Cache "$dir/cache";
E
    export APT_CONFIG=$dir/apt.conf
    vm_root=$dir
    # Lists that were read before are those of the release.
    h_refreshed=
    [ -n "$(find "$dir/lists" -name '*Packages*' -mtime -1)" ] || apt_refresh ||
        die "the package list of $suite-backports cannot be had"
}

# The kernel version that the distribution's meta package names today; without
# package lists, the newest one that the cache holds.
vm_pick_version()
{
    local v

    v=$(apt-cache depends linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: linux-image-\([0-9].*-amd64\)$/\1/p' | head -n 1)
    if [ -z "$v" ]; then
        v=$(cd "$vm_root" && printf '%s\n' vm-*/ready 2>/dev/null |
            sed -n 's,^vm-\([0-9].*\)/ready$,\1,p' | sort -V | tail -n 1)
    fi
    if [ -z "$v" ] && apt_refresh; then
        v=$(apt-cache depends linux-image-amd64 2>/dev/null |
            sed -n 's/^ *Depends: linux-image-\([0-9].*-amd64\)$/\1/p' | head -n 1)
    fi
    [[ $v =~ ^[0-9][0-9a-z.+~-]*$ ]] || return 1
    printf '%s\n' "$v"
}

vm_unpack_kernel()
{
    local v=$1 to=$2 deb p pat=()

    progress "fetching linux-image-$v"
    apt_fetch "$h_tmp/debs" "linux-image-$v" || return 1
    deb=$(echo "$h_tmp"/debs/linux-image-*.deb)
    for p in $vm_module_dirs; do
        pat+=("./lib/modules/$v/kernel/$p")
    done
    progress "unpacking $(basename "$deb")"
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$to" --wildcards \
        "./boot/vmlinuz-*" "./lib/modules/$v/modules.*" "${pat[@]}" 2>"$h_tmp/tar.log"
    # A directory that a kernel does not have is no error, a missing kernel is.
    [ -s "$to/boot/vmlinuz-$v" ] && [ -d "$to/lib/modules/$v/kernel/net" ] ||
        { cat "$h_tmp/tar.log" >&2; return 1; }
    dpkg-deb -f "$deb" Version >"$to/version"
    rm -f "$deb"
}

# Prints a reason when it fails; the guest then has no soft-iWARP device.
vm_build_siw()
{
    local v=$1 to=$2 w=$h_tmp/siw ver series hdr dep src cc

    ver=$(cat "$to/version")
    # shellcheck disable=SC2001 # bash has no groups in its patterns
    series=$(echo "$v" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
    mkdir -p "$w/h" "$w/s"
    dep=$(apt-cache depends "linux-headers-$v=$ver" 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-[a-z0-9.+-]*\)$/\1/p')
    [ -n "$dep" ] || { echo "linux-headers-$v=$ver is not in the package lists"; return 1; }
    progress "fetching the source of rdma_siw (linux-source-$series)"
    # shellcheck disable=SC2086
    apt_fetch "$w/d" "linux-headers-$v=$ver" "linux-source-$series=$ver" $dep 2>"$w/fetch.log" ||
        { echo "kernel headers or source cannot be fetched ($(tail -n 1 "$w/fetch.log"))"; return 1; }
    for src in "$w"/d/linux-*.deb; do
        case $src in
        */linux-source-*) ;;
        *) dpkg-deb -x "$src" "$w/h" || { echo "cannot unpack ${src##*/}"; return 1; } ;;
        esac
    done
    progress "unpacking drivers/infiniband/sw/siw"
    dpkg-deb --fsys-tarfile "$w/d/linux-source-${series}_"*.deb |
        tar -xO "./usr/src/linux-source-$series.tar.xz" |
        tar -xJ -C "$w/s" --strip-components=1 --wildcards \
            '*/drivers/infiniband/sw/siw/*' || { echo "no siw source in linux-source-$series"; return 1; }
    hdr=$w/h/usr/src/linux-headers-$v
    # The headers name their other half by its installed path.
    sed -i "s,^include /usr/src/,include $w/h/usr/src/," "$hdr/Makefile"
    cc=$(sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$hdr/.kernelvariables")
    have "${cc:-gcc}" || cc=gcc
    progress "building rdma_siw for $v"
    make -C "$hdr" M="$w/s/drivers/infiniband/sw/siw" CC="${cc:-gcc}" CONFIG_RDMA_SIW=m \
        CONFIG_DEBUG_INFO_BTF_MODULES= \
        modules >"$h_cache/log/siw-build.log" 2>&1 </dev/null ||
        { echo "rdma_siw did not build, see $h_cache/log/siw-build.log"; return 1; }
    mkdir -p "$to/lib/modules/$v/updates"
    cp "$w/s/drivers/infiniband/sw/siw/siw.ko" "$to/lib/modules/$v/updates/" ||
        { echo "rdma_siw was not produced"; return 1; }
    rm -rf "$w" "$h_cache/log/siw-build.log"
}

# An initramfs out of busybox, init and the modules in the order of loading.
# Not compressed: the emulated processor would be slower than the copy.
vm_make_initrd()
{
    local dir=$1 v=$2 out=$3 d=$h_tmp/initrd m name list=$vm_modules

    [ -n "$vm_no_siw" ] || list="$list siw"
    rm -rf "$d"
    mkdir -p "$d"/{bin,proc,sys,dev,mnt,rw,newroot,mods}
    cp "$(command -v busybox)" "$d/bin/busybox" || return 1
    install -m 755 "$h_top/test/vm/init" "$d/init"
    for m in $list; do
        modprobe -d "$dir" -S "$v" --show-depends "$m" ||
            echo "FAIL $m"
    done 2>"$h_tmp/modprobe.log" |
        awk '$1 == "FAIL" { exit 1 } $1 == "insmod" && !seen[$2]++ { print $2 }' >"$d/paths" ||
        { cat "$h_tmp/modprobe.log" >&2; return 1; }
    while read -r m; do
        name=$(basename "$m" .xz)
        case $m in
        *.xz) xz -dc "$m" ;;
        *) cat "$m" ;;
        esac >"$d/mods/$name" && echo "$name" >>"$d/modlist" || return 1
    done <"$d/paths"
    rm "$d/paths"
    (cd "$d" && find . | cpio -o -H newc --quiet) >"$out.new" && mv "$out.new" "$out"
}

vm_stamp()
{
    cat "$h_top/test/vm/init" "$h_top/test/vm/kernel.sh" "$(command -v busybox)" \
        "$vm_dir/siw-status" "$vm_dir/version" 2>&1 | sha256sum | cut -c1-16
}

vm_prepare_locked()
{
    local new=$h_tmp/vm-new why

    mkdir -p "$h_cache/log"
    # shellcheck disable=SC2046,SC2086,SC2116
    if [ "$(cat "$vm_dir/ready" 2>/dev/null)" != "$(echo $vm_module_dirs)" ]; then
        # Built beside its place: a broken-off run leaves nothing half done.
        new=$h_cache/.new-vm
        rm -rf "$new" "$vm_dir"
        mkdir -p "$new"
        vm_unpack_kernel "$vm_kver" "$new" || die "no kernel for the guest"
        why=$(vm_build_siw "$vm_kver" "$new") && why=
        printf %s "$why" >"$new/siw-status"
        depmod -b "$new" "$vm_kver" 2>"$h_tmp/depmod.log"
        # shellcheck disable=SC2086
        echo $vm_module_dirs >"$new/ready"
        mv "$new" "$vm_dir" || die "cannot write to $h_cache"
        h_wipe
    elif [ -s "$vm_dir/siw-status" ] && [ -n "$(find "$vm_dir/siw-status" -mmin +60)" ]; then
        # What kept siw away may be over: a mirror, a missing compiler.
        why=$(vm_build_siw "$vm_kver" "$vm_dir") && why=
        printf %s "$why" >"$vm_dir/siw-status"
        depmod -b "$vm_dir" "$vm_kver" 2>"$h_tmp/depmod.log"
    fi
    vm_no_siw=$(cat "$vm_dir/siw-status")
    vm_initrd=$vm_dir/initrd-$(vm_stamp)
    if [ ! -s "$vm_initrd" ]; then
        # Another run may be about to boot a young one.
        find "$vm_dir" -name 'initrd-*' -mmin +60 -delete
        vm_make_initrd "$vm_dir" "$vm_kver" "$vm_initrd" ||
            die "the guest's initramfs cannot be made"
    fi
}

vm_packages="qemu-system-x86 busybox-static kmod cpio xz-utils iproute2
    ibverbs-providers ibverbs-utils rdmacm-utils perftest
    gcc make libc6-dev libelf1 libssl3"

vm_prepare()
{
    # shellcheck disable=SC2086
    need_packages "boot the test guest" $vm_packages || exit 1
    [ "$(uname -m)" = x86_64 ] || die "the test guest exists for x86-64 only"
    vm_root=$h_cache
    [ "$vm_opt_kernel" = stock ] || locked backports vm_backports
    vm_kver=$(vm_pick_version) ||
        die "apt-cache names no linux-image-amd64; is this Debian, and are the package lists there?"
    vm_dir=$vm_root/vm-$vm_kver
    locked vm vm_prepare_locked
}

# KVM can be there and yet hang a kernel, so it is believed only after a boot.
# The answer holds for one boot of this host and one kernel.
vm_probe_kvm()
{
    local f key out

    if ! [ -w /dev/kvm ] || ! [ -r /dev/kvm ]; then
        echo tcg
        return
    fi
    key="$vm_kver $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
    f=$h_cache/accel
    if [ "$(sed -n 1p "$f" 2>/dev/null)" != "$key" ]; then
        progress "trying KVM"
        out=$(timeout -k 2 12 qemu-system-x86_64 -accel kvm -cpu host -m 512 -nodefaults \
            -no-user-config -display none -no-reboot -serial stdio \
            -kernel "$vm_dir/boot/vmlinuz-$vm_kver" -initrd "$vm_initrd" \
            -append "console=ttyS0 quiet panic=-1 dapl.probe" 2>&1 </dev/null)
        case $out in
        *"dapl probe: alive"*) out=kvm ;;
        *) out=tcg ;;
        esac
        printf '%s\n%s\n' "$key" "$out" >"$f.$$" && mv "$f.$$" "$f"
        h_wipe
    fi
    sed -n 2p "$f"
}
