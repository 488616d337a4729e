#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_devices.sh: the conformance suite on each kind of device that the fake knows
# as a driver's (test/unit/fake/fake_kinds.c), and what doc/devices.md says of
# it: a line that is not what was seen is a failed case. TAP. Input: see fake.sh.
#
#   t_devices.sh          each kind by CMA in 2.0, and some other ways
#   t_devices.sh --page   every kind, provider and version, and that page anew,
#                         to standard output, in place of TAP

[ "$CONFORM_FEW" != yes ] || { echo "1..0 # SKIP few kinds were asked for (CONFORM_FEW)"; exit 0; }
top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
# shellcheck source=test/conform/fake.sh
. "$top_srcdir/test/conform/fake.sh"

page=$top_srcdir/doc/devices.md
infiniband="mlx5 mlx4"
roce="mlx5-roce irdma bnxt_re hns qedr rxe"
iwarp="irdma-iwarp erdma cxgb4 siw"

# adapter KIND TRANSPORT: its line of the page
adapter()
{
    "$top_builddir/test/conform/conform_fake" -P cma -k "$1" --adapter |
        awk -v kind="$1" -v transport="$2" '
            { gsub(/ /, " | "); print "| " kind " | " transport " | " $0 " |" }'
}

# result KIND CM VERSION LABEL: the line of a run
result()
{
    awk -v name="| $1 | $2 | $3 |" '
        /^ok .* # SKIP/ { skipped++; next }
        /^ok / { ok++ }
        /^not ok / { failed++ }
        END { print name, ok + 0, "|", failed + 0, "|", skipped + 0, "|" }' "$tmp/$4"
}

# both KIND CM: the lines of both versions
both()
{
    begin "$2-$1" conform_fake "$2-$1"
    begin "1.2-$2-$1" conform1_fake "$2-$1"
    # shellcheck disable=SC2086
    wait $pids
    pids=
    shown "$2-$1" >"$tmp/tap"
    shown "1.2-$2-$1" >"$tmp/tap"
    result "$1" "$2" 2.0 "$2-$1"
    result "$1" "$2" 1.2 "1.2-$2-$1"
}

reasons()
{
    # shellcheck disable=SC2094
    for kind in $infiniband $roce $iwarp; do
        sed -n 's/^ok .* # SKIP //p' "$tmp/cma-$kind" | sed "s/^/$kind /"
    done | awk '
        { kind = $1; sub(/^[^ ]* /, ""); n[$0 " " kind]++
          if (!($0 in where)) order[++reasons] = $0
          if (n[$0 " " kind] == 1) where[$0] = where[$0] " " kind }
        END { for (i = 1; i <= reasons; i++) {
                  text = ""
                  count = split(where[order[i]], kinds, " ")
                  for (k = 1; k <= count; k++)
                      text = text (k > 1 ? ", " : "") kinds[k] ": " \
                          n[order[i] " " kinds[k]]
                  print "| " order[i] " | " text " |" } }'
}

write_page()
{
    # What is not made by a run stands above the first table.
    sed '/^| kind/,$d' "$page"
    echo "| kind | transport | segments | of a read | transfers of an EP | reads in |" \
        "reads out | EVD length | RMRs | SRQs |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for kind in $infiniband; do adapter "$kind" InfiniBand; done
    for kind in $roce; do adapter "$kind" RoCE; done
    for kind in $iwarp; do adapter "$kind" iWARP; done
    echo
    echo "## Results"
    echo
    echo "| kind | provider | DAT | passed | failed | skipped |"
    echo "|---|---|---|---|---|---|"
    for kind in $infiniband $roce; do
        for cm in cma scm ucm; do both "$kind" "$cm"; done
    done
    for kind in $iwarp; do both "$kind" cma; done
    echo
    echo "Skipped by CMA in 2.0:"
    echo
    echo "| reason | cases |"
    echo "|---|---|"
    reasons
}

# seen LINE: it is on the page. How many cases pass is not compared: there will
# be more of them.
seen()
{
    n=$((n + 1))
    pattern=$(echo "$1" | sed 's/^\(| [^|]* | [a-z]* | [12]\.[0-9] |\) [0-9]* /\1 [0-9]* /')
    if grep -qx -- "$pattern" "$page"; then
        echo "ok $n - devices.md: $1"
    else
        echo "not ok $n - devices.md: $1"
        bad=1
    fi
}

# checked VERSION-CM-KIND...: these runs, side by side, go as the page says
checked()
{
    for of in "$@"; do
        kind=${of#*-}
        case $of in
        1.2-*) begin "$of" conform1_fake "$kind" ;;
        *) begin "$of" conform_fake "$kind" ;;
        esac
    done
    # shellcheck disable=SC2086
    wait $pids
    pids=
    for of in "$@"; do
        cm=${of#*-} cm=${cm%%-*}
        shown "$of"
        seen "$(result "${of#*-"$cm"-}" "$cm" "${of%%-*}" "$of")"
    done
}

if [ "$1" = --page ]; then
    write_page
    exit $bad
fi

# A second in each call that may sleep: what takes so long begins first.
begin slow conform_fake cma-mlx5-roce+slow -j 32 -f 'ep_disconnect__*'
slow=$pids
pids=
for kind in $infiniband; do seen "$(adapter "$kind" InfiniBand)"; done
for kind in $roce; do seen "$(adapter "$kind" RoCE)"; done
for kind in $iwarp; do seen "$(adapter "$kind" iWARP)"; done
checked 2.0-cma-mlx5 2.0-cma-mlx4 2.0-cma-mlx5-roce
checked 2.0-cma-irdma 2.0-cma-bnxt_re 2.0-cma-hns
checked 2.0-cma-qedr 2.0-cma-rxe 2.0-cma-irdma-iwarp
checked 2.0-cma-erdma 2.0-cma-cxgb4 1.2-cma-erdma 2.0-ucm-hns
# Events that mean nothing at any moment, flushes later than anybody waits for.
begin restless conform_fake cma-mlx5+restless+late
begin restless-scm conform_fake scm-qedr+restless
begin restless-ucm conform1_fake ucm-mlx4+restless
# shellcheck disable=SC2086
wait $slow $pids
shown restless
shown restless-scm
shown restless-ucm
shown slow
suites_end
