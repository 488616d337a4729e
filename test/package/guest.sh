# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# guest.sh: Debian's dtest of 2.1.10.1, and a program linked with its packages,
# over our packages as they are installed in chroots, on soft-RoCE. Bash; run in
# the guest, with the chroots, which install.sh left behind, as arguments.
# It has no dat.conf: names are those that devices have by themselves.
# shellcheck disable=SC2034 # variables of lib.sh

DEBIAN_DAPL=/proof/was/usr
# shellcheck source=test/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"

# In place of lib.sh's: all that runs is in the chroot.
use_stack()
{
    it_env=(chroot "$root")
}

tool_of()
{
    echo "$DEBIAN_DAPL/bin/$1"
}

prepare()
{
    mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
        mount --rbind /dev "$root/dev" &&
        dpkg-deb -x "$root"/proof/old/dapl2-utils_*.deb "$root/proof/was"
}

for root; do
    release=$(basename "$root")
    check "$release: the chroot" prepare
    for name in ofa-v2-eth0 ofa-v2-rxe0-1s ofa-v2-rxe0-1u; do
        check "$release: a program linked with 2.1.10.1 opens $name" \
            chroot "$root" /proof/linked $name
    done
    for IT_PROVIDER in ofa-v2-eth0 ofa-v2-rxe0-1s; do
        dtest_pair "$release: 2.1.10.1's over $IT_PROVIDER" "$old_program" "$old_program" -b 64 -B 50
    done
done
done_testing
