# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# all.sh: runs every t_*.sh beside it, in the guest, each between a #begin and
# an #end line, so that ./run test can tell whose TAP it reads and whether it
# is complete. ONLY (a shell pattern) picks some. Contains no test.

dir=$(cd "$(dirname "$0")" && pwd -P)
for t in "$dir"/t_*.sh; do
    name=$(basename "$t" .sh)
    # shellcheck disable=SC2254
    case $name in ${ONLY:-*}) ;; *) continue ;; esac
    echo "#begin $name"
    timeout -k 5 2400 bash "$t"
    echo "#end $name $?"
done
