#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_conform_fake.sh: the conformance suite of both versions of DAT on the fake
# device, by each provider and on each transport. TAP. Input: see fake.sh.

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/conform/fake.sh
. "$top_srcdir/test/conform/fake.sh"

runs="cma-ib cma-roce cma-iwarp cma-siw scm-ib scm-roce ucm-ib ucm-roce"
[ "$CONFORM_FEW" != yes ] || runs="cma-ib cma-siw scm-roce ucm-ib"
for run in $runs; do
    begin "$run" conform_fake "$run"
    begin "1.2-$run" conform1_fake "$run"
    # shellcheck disable=SC2086
    wait $pids
    pids=
    shown "$run"
    shown "1.2-$run"
done
[ "$CONFORM_FEW" != yes ] || suites_end
# Adapters that dat_info --profile was run on.
for kind in rxe siw; do
    file=$top_srcdir/test/unit/fake/$kind.profile
    begin "profile-$kind" conform_fake "cma-file:$file"
    begin "1.2-profile-$kind" conform1_fake "cma-file:$file"
done
# shellcheck disable=SC2086
wait $pids
pids=
for kind in rxe siw; do
    shown "profile-$kind"
    shown "1.2-profile-$kind"
done
suites_end
