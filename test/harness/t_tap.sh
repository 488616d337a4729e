# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# t_tap.sh: tap.awk, which decides what ./run test counts: each row is a TAP
# stream, its program's exit code and the kinds of record that must come out.
# POSIX sh, no files, no guest.

here=${top_srcdir:-.}/test/harness
n=0

# row NAME RC EXPECTED STREAM (with \n)
row()
{
    n=$((n + 1))
    got=$(printf '%b' "$4" | awk -v src=x -v rc="$2" -f "$here/tap.awk" | cut -f1 | tr -d '\n')
    if [ "$got" = "$3" ]; then
        echo "ok $n - tap__$1"
    else
        echo "not ok $n - tap__$1"
        echo "# wanted $3, got $got"
    fi
}

row all_pass 0 PP '1..2\nok 1 - a\nok 2 - b\n'
row plan_last 0 PF 'ok 1 - a\nnot ok 2 - b\n1..2\n'
row skip_with_reason 0 PS 'ok 1 - a\nok 2 - b # SKIP no device\n1..2\n'
row skip_lower_case 0 S 'ok 1 - b # skip no device\n1..1\n'
row all_skipped 0 S '1..0 # SKIP no device\n'
row empty_stream 0 F ''
row no_plan 0 PF 'ok 1 - a\n'
row fewer_than_planned 0 PF '1..2\nok 1 - a\n'
row more_than_planned 0 PPF '1..1\nok 1 - a\nok 2 - b\n'
row bail_out 1 FF '1..2\nBail out! disk is full\n'
row pass_but_exit_code 139 PF '1..1\nok 1 - a\n'
row fail_and_exit_code 1 F '1..1\nnot ok 1 - a\n'
row no_exit_code_known unknown PF '1..1\nok 1 - a\n'
row other_text_ignored 0 P 'okay\nnotice\n1..1\nok 1 - a\n# ok 2\n'
row name_with_hash 0 P '1..1\nok 1 - a #1\n'
row carriage_return 0 P '1..1\r\nok 1 - a\r\n'
row failed_skip_is_a_skip 0 S '1..1\nnot ok 1 - a # SKIP no device\n'
echo "1..$n"
