# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# all.sh: runs every t_*.sh beside it, in the guest, each between a #begin and
# an #end line, so that ./run test can tell whose TAP it reads and whether it
# is complete. ONLY (a shell pattern, also an extended one) picks some. Contains
# no test.

shopt -s extglob

dir=$(cd "$(dirname "$0")" && pwd -P)
# The answers last: for them devices and addresses are taken away, and some of
# what the kernel had made by itself, such as the first GID, does not come back.
last=$dir/t_answers.sh
scripts=()
for t in "$dir"/t_*.sh; do
    [ "$t" = "$last" ] || scripts+=("$t")
done
for t in "${scripts[@]}" "$last"; do
    name=$(basename "$t" .sh)
    # shellcheck disable=SC2254
    case $name in ${ONLY:-*}) ;; *) continue ;; esac
    echo "#begin $name"
    begin=$SECONDS
    timeout -k 5 2400 bash "$t"
    rc=$?
    echo "# $name: $((SECONDS - begin)) s"
    echo "#end $name $rc"
done
