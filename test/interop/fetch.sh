# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# fetch.sh: the historic uDAPL programs and libraries of Debian, unpacked into
# the cache to be run as black boxes in the guest. They are never installed,
# and nothing is ever built against them. Sourced on the host before a boot.
# Result: interop_debian (a directory, or empty) and interop_reason.

interop_fetch_locked()
{
    local new=$h_cache/.new-debian-dapl deb

    [ ! -e "$h_cache/debian-dapl/ready" ] || return 0
    rm -rf "$new" "$h_cache/debian-dapl"
    mkdir -p "$new"
    apt_fetch "$h_tmp/dapl-debs" libdapl2 dapl2-utils || return 1
    for deb in "$h_tmp"/dapl-debs/*.deb; do
        dpkg-deb -x "$deb" "$new" || return 1
    done
    : >"$new/ready"
    mv "$new" "$h_cache/debian-dapl"
}

interop_fetch()
{
    interop_debian=
    interop_reason=
    if locked debian-dapl interop_fetch_locked; then
        interop_debian=$h_cache/debian-dapl/usr
    else
        # shellcheck disable=SC2034
        interop_reason="Debian's libdapl2 and dapl2-utils cannot be fetched"
    fi
}
