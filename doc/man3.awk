# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# man3.awk - pages of section 3 out of the comments of the public headers.
#
# usage: awk -v version=1.2|2.0 -v section=3|3dat1 -v date=DATE -v dir=DIR
#            -f man3.awk HEADER...
#
# HEADER: what plain.awk made for that version, dat_error.h first. Each comment
# that begins with "name - title", or "name, name - title", becomes a page, with
# the declarations that follow it as the synopsis. dat.h says how a comment is
# written ("How the calls are described"). A code that dat_error.h does not have
# is an error, and so is a comment without title, "Returns:" or declaration: no
# page is better than a wrong one.
# Input is trusted: it is this project's.

BEGIN {
	keys = "(Returns|Blocks|Threads|Cancellation|Events|Rule)"
	key_list = keys "(, " keys ")*: ?"
	head["Blocks"] = "Blocking"
	head["Threads"] = "Threads"
	head["Cancellation"] = "Cancellation points"
	say["Blocks", "no"] = "Waits for no other party and no device"
	say["Blocks", "may"] = "May wait"
	say["Threads", "safe"] = "Any number of threads may call it at once"
	say["Threads", "serialise"] = "No two calls at once on one object, unless the provider's \\fIis_thread_safe\\fP is true"
}

function fault(text) {
	print "man3.awk: " FILENAME ": " names[1] ": " text >"/dev/stderr"
	bad = 1
}

# Words of the page in the fonts that pages have; the text of a header is plain.
function fonts(text,    out, word) {
	gsub(/\\/, "\\e", text)
	while (match(text, /[A-Za-z_][A-Za-z_0-9]*(\(\))?/)) {
		out = out substr(text, 1, RSTART - 1)
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (word ~ /^dats?_[a-z_0-9]+(\(\))?$/) {
			sub(/\(\)/, "", word)
			if (!(word in own) && text !~ /^\.h/) {
				refs[word]
				word = "\\fB" word "\\fP(" section ")"
			} else
				word = "\\fB" word "\\fP"
		} else if (word ~ /^DAT_[A-Z_0-9]+$/)
			word = "\\fB" word "\\fP"
		else if (word ~ /^[a-z][a-z0-9]*_[a-z_0-9]+$/)
			word = "\\fI" word "\\fP"
		out = out word
	}
	out = out text
	if (out ~ /^['.]/)
		out = "\\&" out
	return out
}

# The name that dat_error.h has for a subtype of a type.
function subtype(type, text,    i, n, form) {
	if (text ~ /\*$/)
		return "DAT_" type "_" text
	n = split("DAT_" type "_ DAT_ DAT_RESOURCE_ DAT_INVALID_", form, " ")
	for (i = 1; i <= n; i++)
		if ((form[i] text) in subtypes)
			return form[i] text
	fault("dat_error.h has no subtype " type "/" text)
	return text
}

# "INVALID_HANDLE/IA, PZ" as full names
function codes(text,    part, n, i, to, type, out, subs) {
	n = split(text, part, /, /)
	for (i = 1; i <= n; i++) {
		if (("DAT_" part[i]) in types || part[i] ~ /\//) {
			if (subs != "")
				out = out " (" subs ")"
			subs = ""
			type = part[i]
			sub(/\/.*/, "", type)
			if (!(("DAT_" type) in types))
				fault("dat_error.h has no type " type)
			out = out (out == "" ? "" : ", ") "DAT_" type
			if (!sub(/.*\//, "", part[i]))
				continue
		}
		to = ""
		if (match(part[i], / to /)) {
			to = " to " subtype(type, substr(part[i], RSTART + 4))
			part[i] = substr(part[i], 1, RSTART - 1)
		}
		subs = subs (subs == "" ? "" : ", ") subtype(type, part[i]) to
	}
	return out (subs == "" ? "" : " (" subs ")")
}

# "  name  text" of a list; what is indented more goes on with the one before.
function item(line, returns,    name) {
	if (line ~ /^    / && items) {
		sub(/^ +/, "", line)
		item_text[items] = item_text[items] (item_text[items] == "" ? "" : " ") line
		return
	}
	sub(/^ +/, "", line)
	if (returns && match(line, /^[A-Z][A-Z_0-9\/*]+((, | to )[A-Z][A-Z_0-9\/*]+)*,?/))
		name = substr(line, 1, RLENGTH)
	else if (match(line, /  /))
		name = substr(line, 1, RSTART - 1)
	else
		name = line
	line = substr(line, length(name) + 1)
	sub(/^ +/, "", line)
	if (items && item_name[items] ~ /,$/)
		name = item_name[items] " " name
	else
		items++
	item_name[items] = name
	item_text[items] = line
}

function print_items(returns,    i, name) {
	for (i = 1; i <= items; i++) {
		name = item_name[i]
		if (returns && name ~ /^[A-Z]/)
			name = codes(name)
		print ".TP" >file
		print (returns ? ".B " : ".I ") name >file
		print (item_text[i] == "" ? "\\&" : fonts(item_text[i])) >file
	}
	items = 0
}

function paragraph() {
	if (text != "")
		print ".PP\n" fonts(text) >file
	text = ""
}

# The argument list of a declaration in lines that a terminal shows whole.
function print_declaration(text,    n, part, i, line) {
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	n = split(text, part, /, /)
	line = part[1]
	for (i = 2; i <= n; i++) {
		line = line ","
		if (length(line) + length(part[i]) > 68) {
			print ".B \"" line "\"" >file
			line = "       "
		}
		line = line " " part[i]
	}
	print ".B \"" line "\"" >file
}

function print_synopsis(    i, all, name) {
	print ".SH SYNOPSIS\n.nf" >file
	print ".B #include <" include ">" >file
	for (i = 1; i <= declarations; i++) {
		all = declaration[i]
		for (name in define)
			sub(name, define[name], all)
		print ".PP" >file
		print_declaration(all)
	}
	print ".fi" >file
	if (!declarations && names[1] != "dat_ib_collective")
		fault("no declaration follows the comment")
}

# "name[, name] - title" up to the first empty line
function read_title(    i, j, n, t) {
	t = line[1]
	for (i = 2; i <= lines && line[i] != "" && line[i] !~ "^" key_list; i++)
		t = t " " line[i]
	match(t, / - /)
	n = split(substr(t, 1, RSTART - 1), names, /, /)
	title = substr(t, RSTART + 3)
	for (t in own)
		delete own[t]
	for (j = 1; j <= n; j++)
		own[names[j]]
	rest = ""
	if (match(title, /\. /)) {
		rest = substr(title, RSTART + 2)
		title = substr(title, 1, RSTART - 1)
	}
	sub(/\.$/, "", title)
	return i
}

# What follows the arguments: "Returns:" with its list, and the other keys.
function read_tail(i,    l, k, cur, any) {
	for (k in tail)
		delete tail[k]
	after = ""
	cur = ""
	for (; i <= lines; i++) {
		l = line[i]
		if (l ~ /^  / && cur ~ /Returns/ && (tail["Returns"] == "" || tail["Returns"] ~ /(:|and)$/)) {
			item(l, 1)
			continue
		}
		sub(/^ +/, "", l)
		while (match(l, key_list) && (RSTART == 1 || substr(l, RSTART - 2, 2) == ". ")) {
			add_tail(cur, substr(l, 1, RSTART - 1))
			cur = substr(l, RSTART, RLENGTH)
			sub(/: ?$/, "", cur)
			l = substr(l, RSTART + RLENGTH)
			any = any " " cur
		}
		add_tail(cur, l)
	}
	if (any !~ /Returns/)
		fault("does not say what it returns")
}

function add_tail(cur, text,    n, k, part) {
	sub(/ +$/, "", text)
	if (text == "")
		return
	if (cur == "Returns" && items) {
		after = after (after == "" ? "" : " ") text
		return
	}
	n = split(cur, part, /, /)
	for (k = 1; k <= n; k++)
		tail[part[k]] = tail[part[k]] (tail[part[k]] == "" ? "" : " ") text
}

function print_returns(    t) {
	print ".SH RETURN VALUE" >file
	t = tail["Returns"]
	if (items) {
		if (t == "")
			print "\\fBDAT_SUCCESS\\fP, or one of these codes. Names in parentheses are subtypes." >file
		else
			print fonts(sentence(t)) ":" >file
		print_items(1)
	} else
		print fonts(sentence(t)) >file
	text = after
	paragraph()
}

# A call, and uDAPL, is written as it is.
function sentence(t) {
	if (t ~ /^(uDAPL|dats?_)/)
		return t
	return toupper(substr(t, 1, 1)) substr(t, 2)
}

function print_notes(    n, i, key, first, t, order, any) {
	n = split("Blocks Threads Cancellation", order, " ")
	for (i = 1; i <= n; i++) {
		key = order[i]
		if ((t = tail[key]) == "")
			continue
		if (!any++)
			print ".SH NOTES" >file
		print ".TP\n.B " head[key] >file
		first = t
		sub(/[.,;].*/, "", first)
		if ((key, first) in say)
			print say[key, first] fonts(substr(t, length(first) + 1)) >file
		else
			print fonts(sentence(t)) >file
	}
}

function print_section(name, t) {
	if (t == "" || t == "none.")
		return
	print ".SH " name >file
	print fonts(sentence(t)) >file
}

function print_see_also(    list, n, i, j, r) {
	if (names[1] != "dat_error_detail")
		refs["dat_error_detail"]
	n = 0
	for (r in refs)
		list[++n] = r
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
			r = list[j]
			list[j] = list[j - 1]
			list[j - 1] = r
		}
	print ".SH SEE ALSO" >file
	for (i = 1; i <= n; i++)
		print ".BR " list[i] " (" section ")," >file
	print ".BR " library " (7)" >file
}

function page(    i, r) {
	for (r in refs)
		delete refs[r]
	items = 0
	text = ""
	i = read_title()
	file = dir "/" names[1] "." section
	print ".\\\" SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only" >file
	print ".\\\" Made from the comment in " include " by man3.awk." >file
	print ".TH " toupper(names[1]) " " section " " date " \"dapl\" \"DAT " version "\"" >file
	print ".nh\n.ad l\n.SH NAME" >file
	r = line[1]
	sub(/ - .*/, "", r)
	print r " \\- " title >file
	print_synopsis()
	print ".SH DESCRIPTION" >file
	print fonts(sentence(title) (title ~ /[?!]$/ ? "" : ".") (rest == "" ? "" : " " rest)) >file
	for (; i <= lines && line[i] !~ "^" key_list; i++) {
		if (line[i] ~ /^  /) {
			paragraph()
			item(line[i], 0)
		} else if (line[i] == "") {
			print_items(0)
			paragraph()
		} else
			text = text (text == "" ? "" : " ") line[i]
	}
	print_items(0)
	paragraph()
	read_tail(i)
	print_returns()
	print_section("EVENTS", tail["Events"])
	print_notes()
	print_section("STANDARDS", tail["Rule"])
	print_see_also()
	close(file)
	for (i = 2; i in names; i++) {
		file = dir "/" names[i] "." section
		print ".so man3/" names[1] "." section >file
		close(file)
	}
}

function finish() {
	if (lines)
		page()
	lines = declarations = 0
}

FNR == 1 {
	finish()
	n = split(FILENAME, path, "/")
	include = path[n - 1] "/" path[n]
	library = version == "1.2" ? "libdat" : "libdat2"
	# The library's own name of what programs include.
	if (path[n] == "dat.h")
		include = path[n - 1] "/udat.h"
}

# names of codes: two enumerations, and a macro in 1.2
FILENAME ~ /dat_error\.h$/ && /^enum / { minor = /subtype/ }
FILENAME ~ /dat_error\.h$/ && /^(\t|#define )DAT_/ {
	word = $1 == "#define" ? $2 : $1
	sub(/,$/, "", word)
	if (/^\t/ && minor)
		subtypes[word]
	else
		types[word]
}

/^#define DAT_[A-Z_]*_FUNC_NAME / { define[$2] = $3 }

/^\/\*/ { comment = 1; fresh = 1; next }
comment && /^ \*\// { comment = 0; next }
comment {
	sub(/^ \* ?/, "")
	if (fresh && $0 ~ /^(dats?|DAT)_[A-Za-z_0-9]+(, (dats?|DAT)_[A-Za-z_0-9]+)* - / && include !~ /_error/ ) {
		finish()
		line[lines = 1] = $0
		mine = 1
	} else if (fresh) {
		finish()
		mine = 0
	} else if (mine)
		line[++lines] = $0
	fresh = 0
	next
}

# declarations of the comment before
!lines { next }
/^DAT_EXPORT / || /^static inline / || /^#define (dat|DAT)_[A-Za-z_0-9]+\(/ ||
/^#define dat_[a-z_0-9]+ dat_/ {
	declaration[++declarations] = ""
	open = /^#/ ? 2 : 1
}
open {
	text_ = $0
	if (open == 2 && text_ ~ /^#define [a-z_]+ [a-z_]+$/) {
		declaration[declarations] = text_
		open = 0
		next
	}
	sub(/^DAT_EXPORT |^static inline /, "", text_)
	sub(/^#define /, "DAT_RETURN ", text_)
	sub(/\\$/, "", text_)
	declaration[declarations] = declaration[declarations] " " text_
	if (match(declaration[declarations], /\([^()]*(\([^()]*\)[^()]*)*\)/)) {
		declaration[declarations] = substr(declaration[declarations], 1, RSTART + RLENGTH - 1) ";"
		open = 0
	}
}

END {
	finish()
	exit bad
}
