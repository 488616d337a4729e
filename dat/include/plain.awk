# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# plain.awk - the header of one version of DAT out of the source for both.
#
# usage: awk -v version=1.2|2.0 -f plain.awk dat2/NAME.h
#
# The headers in dat2/ are written once, for 2.0; what 1.2 has in its place or
# does not have stands between #ifdef or #ifndef DAT_1_2, #else and #endif, in
# comments too. A compiler that is shown the source takes it for 2.0. What
# programs include comes through here and has none of these lines left, so that
# it reads as if it had been written for its version alone.
#
# For 1.2 the names of files and guards become those of 1.2, and lengths have 64
# bits. The comma after the last enumerator goes: C89 has none there.

function emit(line) {
	if (version == "1.2") {
		gsub(/<dat2\//, "<dat/", line)
		gsub(/DAT2_/, "DAT1_", line)
		gsub(/libdat2\.so\.2/, "libdat.so.1", line)
		gsub(/libdat2/, "libdat", line)
		gsub(/DAT_SEG_LENGTH/, "DAT_VLEN", line)
	}
	# what was left out may leave two empty lines
	if (line == "" && last == "")
		return
	if (line ~ /^};/ && last ~ /^\t[A-Z][A-Z0-9_]*( = [^,]*)?,/)
		sub(/,/, "", last)
	if (have)
		print last
	last = line
	have = 1
}

/^#[ \t]*if/ {
	depth++
	if ($2 == "DAT_1_2") {
		mark[depth] = 1
		hide[depth] = ($1 == "#ifdef") != (version == "1.2")
		hidden += hide[depth]
		next
	}
}
/^#[ \t]*el/ && mark[depth] {
	hidden += 1 - 2 * hide[depth]
	hide[depth] = !hide[depth]
	next
}
/^#[ \t]*endif/ {
	marked = mark[depth]
	hidden -= hide[depth]
	mark[depth] = hide[depth] = 0
	depth--
	if (marked)
		next
}
!hidden { emit($0) }
END {
	if (have)
		print last
	if (depth || hidden) {
		print "plain.awk: " FILENAME ": #if without #endif" >"/dev/stderr"
		exit 1
	}
}
