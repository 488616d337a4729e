# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# tap.awk: one TAP stream in, one tab-separated record per case out:
# "P|F|S <tab> name <tab> reason". A stream that breaks off, has no plan or
# another number of cases than planned gives one more failed case.
# It trusts nothing: text that is not TAP is ignored. Variables: src (the
# stream's name), rc (its program's exit code).

function clean(s) {
	gsub(/[\t\r]/, " ", s)
	sub(/^ +/, "", s)
	sub(/ +$/, "", s)
	return s
}

function emit(kind, name, reason) {
	printf "%s\t%s: %s\t%s\n", kind, src, clean(name), clean(reason)
	if (kind == "F")
		bad++
}

/^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	have_plan = 1
	if (plan == 0)
		emit("S", "all", $0 ~ /#/ ? substr($0, index($0, "#") + 1) : "no reason given")
	next
}

/^Bail out!/ {
	emit("F", "bailed out", substr($0, 10))
	next
}

/^(not )?ok([ \t]|$)/ {
	seen++
	failed = $0 ~ /^not /
	line = $0
	sub(/^(not )?ok[ \t]*/, "", line)
	sub(/^[0-9]+[ \t]*/, "", line)
	sub(/^- */, "", line)
	reason = ""
	dir = toupper(line)
	at = match(dir, /# *(SKIP|TODO)/)
	if (at) {
		word = substr(dir, at)
		reason = substr(line, at + RLENGTH)
		line = substr(line, 1, at - 1)
		if (word ~ /^# *SKIP/) {
			emit("S", line, reason == "" ? "no reason given" : reason)
			next
		}
	}
	emit(failed ? "F" : "P", line, reason)
}

END {
	if (!have_plan)
		emit("F", "ended without a plan", "after " (seen + 0) " cases, exit code " rc)
	else if (plan != seen + 0)
		emit("F", "incomplete", (seen + 0) " of " plan " cases, exit code " rc)
	else if (rc != 0 && !bad)
		emit("F", "exit code", "exit code " rc)
}
