/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_conf.c - the dat.conf parser.
 *
 * Does no I/O and looks at no environment. One pass over the bytes: a lexer
 * for fields, and a table with one check for each of the eight fields.
 * Threads: no shared state.
 * Ownership: all strings of a result live in one block. It is as long as the
 * input plus one byte: a field never needs more room, terminator included,
 * than the bytes it was read from.
 * Rule: dat.conf(5); the cases are listed in test/unit/dat/t_dat_conf.c.
 */
#include "dat_conf.h"

#include "dat_face.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field {
	const char *text;  /* terminated, unescaped */
	const char *start; /* in the input */
	const char *end;
};

enum token {
	TOKEN_FIELD,
	TOKEN_END_OF_LINE,
	TOKEN_UNCLOSED,
	TOKEN_NUL
};

struct parser {
	const char *p;
	const char *end;
	const char *line_start;
	unsigned line;
	char *out; /* next free byte of conf.strings */
	size_t max_records;
	size_t max_diags;
	struct dat_conf conf;
};

/* What a line said so far. */
struct line {
	struct dat_conf_record record;
	struct field field; /* the one being checked */
	const char *ignore; /* what a usable line would have had */
	struct field ignore_field;
	enum dat_conf_field ignore_index;
};

static bool at_end_of_line(const struct parser *ps)
{
	return ps->p == ps->end || *ps->p == '\n';
}

static void skip_line(struct parser *ps)
{
	while (!at_end_of_line(ps))
		ps->p++;
}

static void copy_word(struct parser *ps)
{
	while (!at_end_of_line(ps) && *ps->p != ' ' && *ps->p != '\t' &&
	       *ps->p != '"')
		*ps->out++ = *ps->p++;
}

/* False if the line ends before the quote does. */
static bool copy_quoted(struct parser *ps)
{
	ps->p++;
	while (!at_end_of_line(ps) && *ps->p != '"') {
		if (*ps->p == '\\') {
			ps->p++;
			if (at_end_of_line(ps))
				return false;
		}
		*ps->out++ = *ps->p++;
	}
	if (at_end_of_line(ps))
		return false;
	ps->p++;
	return true;
}

static enum token next_field(struct parser *ps, struct field *ret_field)
{
	bool closed = true;

	while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\t'))
		ps->p++;
	ret_field->start = ps->p;
	ret_field->end = ps->p;
	ret_field->text = "";
	if (!at_end_of_line(ps) && *ps->p == '#')
		skip_line(ps);
	if (at_end_of_line(ps))
		return TOKEN_END_OF_LINE;

	ret_field->text = ps->out;
	if (*ps->p == '"')
		closed = copy_quoted(ps);
	else
		copy_word(ps);
	if (!closed) {
		ret_field->text = "";
		ret_field->end = ps->p;
		return TOKEN_UNCLOSED;
	}
	*ps->out++ = '\0';
	ret_field->end = ps->p;
	/* whoever reads the field would see it end there */
	if (memchr(ret_field->start, '\0',
		   (size_t)(ret_field->end - ret_field->start))) {
		ret_field->text = "";
		return TOKEN_NUL;
	}
	return TOKEN_FIELD;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Skips digits; false if their value does not fit. No digits are 0. */
static bool parse_number(const char **text, uint32_t *ret_value)
{
	uint64_t value = 0;

	for (; **text >= '0' && **text <= '9'; ++*text) {
		value = value * 10 + (uint64_t)(**text - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret_value = (uint32_t)value;
	return true;
}

static void ignore(struct line *ln, enum dat_conf_field index,
		   const char *expected)
{
	if (ln->ignore)
		return;
	ln->ignore = expected;
	ln->ignore_field = ln->field;
	ln->ignore_index = index;
}

static bool check_name(struct line *ln)
{
	ln->record.name = ln->field.text;
	if (strlen(ln->field.text) >= DAT_NAME_MAX_LENGTH)
		ignore(ln, DAT_CONF_NAME, "a name of at most 255 bytes");
	return true;
}

static bool check_api(struct line *ln)
{
	const char *p = ln->field.text;

	if (*p != 'u' && *p != 'k')
		return false;
	if (*p == 'k')
		ignore(ln, DAT_CONF_API, "u for the user-space API");
	p++;
	if (!parse_number(&p, &ln->record.major) || *p++ != '.')
		return false;
	return parse_number(&p, &ln->record.minor) && *p == '\0';
}

/* As it always was: what follows the word is not looked at. */
static bool begins_with_word(struct line *ln, enum dat_conf_field index,
			     const char *word)
{
	if (!starts_with(ln->field.text, word))
		return false;
	if (ln->field.text[strlen(word)])
		ln->record.loose = index;
	return true;
}

static bool check_thread_safety(struct line *ln)
{
	ln->record.thread_safe =
		begins_with_word(ln, DAT_CONF_THREAD_SAFETY, "threadsafe");
	return ln->record.thread_safe ||
	       begins_with_word(ln, DAT_CONF_THREAD_SAFETY, "nonthreadsafe");
}

static bool check_default(struct line *ln)
{
	if (begins_with_word(ln, DAT_CONF_DEFAULT, "default"))
		return true;
	ignore(ln, DAT_CONF_DEFAULT, "default");
	return starts_with(ln->field.text, "nondefault");
}

static bool check_library(struct line *ln)
{
	ln->record.lib_path = ln->field.text;
	return true;
}

static bool check_provider_version(struct line *ln)
{
	const char *p = ln->field.text;
	size_t digits;
	int i;

	ln->record.provider_version = p;
	if (*p == '.')
		return false;
	p += strcspn(p, ".");
	for (i = 0; i < 2; i++) {
		if (*p++ != '.')
			return false;
		digits = strspn(p, "0123456789");
		if (digits == 0)
			return false;
		p += digits;
	}
	return *p == '\0';
}

static bool check_ia_params(struct line *ln)
{
	ln->record.ia_params = ln->field.text;
	return true;
}

static bool check_platform_params(struct line *ln)
{
	ln->record.platform_params = ln->field.text;
	return true;
}

static const struct {
	const char *name;
	const char *expected;
	bool (*check)(struct line *ln);
} fields[DAT_CONF_FIELD_N] = {
	[DAT_CONF_NAME] = {"IA name", "a name", check_name},
	[DAT_CONF_API] = {"api version", "u<major>.<minor>, such as u2.0",
			  check_api},
	[DAT_CONF_THREAD_SAFETY] = {"thread safety",
				    "threadsafe or nonthreadsafe",
				    check_thread_safety},
	[DAT_CONF_DEFAULT] = {"default section", "default or nondefault",
			      check_default},
	[DAT_CONF_LIBRARY] = {"library", "a library to load", check_library},
	[DAT_CONF_PROVIDER_VERSION] = {"provider version",
				       "<id>.<major>.<minor>, such as "
				       "dapl.2.0",
				       check_provider_version},
	[DAT_CONF_IA_PARAMS] = {"ia_params", "\"<device or interface> <port>\"",
				check_ia_params},
	[DAT_CONF_PLATFORM_PARAMS] = {"platform_params", "\"\"",
				      check_platform_params},
	[DAT_CONF_END] = {"", "eight fields and no more", NULL},
};

/* The input of a field, quoted, with unprintable bytes as \xNN, cut. */
static void describe(const struct field *field, char *buf, size_t size)
{
	const char *p = field->start;
	size_t len = 0;

	buf[len++] = '\'';
	/* the longest piece, dots, quote and terminator must still fit */
	while (p < field->end && len + 4 + 5 < size) {
		unsigned char c = (unsigned char)*p++;

		if (c >= ' ' && c < 0x7f)
			buf[len++] = (char)c;
		else
			len += (size_t)snprintf(buf + len, size - len,
						"\\x%02x", c);
	}
	snprintf(buf + len, size - len, "%s'", p < field->end ? "..." : "");
}

static struct dat_conf_diag *new_diag(struct parser *ps)
{
	struct dat_conf *conf = &ps->conf;
	struct dat_conf_diag *diags;
	size_t max;

	if (conf->n_diags == ps->max_diags) {
		max = ps->max_diags ? ps->max_diags * 2 : 8;
		diags = realloc(conf->diags, max * sizeof(*diags));
		if (!diags)
			return NULL;
		conf->diags = diags;
		ps->max_diags = max;
	}
	return &conf->diags[conf->n_diags++];
}

static int add_diag(struct parser *ps, const struct line *ln,
		    const struct field *field, enum dat_conf_field index,
		    enum token token)
{
	struct dat_conf_diag *diag;
	const char *name = ln->record.name;

	/* the name stays, the other strings of the line are not needed */
	ps->out = name ? (char *)name + strlen(name) + 1 : ps->out;
	if (ps->conf.n_diags == DAT_CONF_MAX_DIAGS) {
		ps->conf.n_diags_lost++;
		return 0;
	}
	diag = new_diag(ps);
	if (!diag)
		return -ENOMEM;
	*diag = (struct dat_conf_diag){
		.line = ps->line,
		.column = (unsigned)(field->start - ps->line_start) + 1,
		.field = index,
		.ignored = ln->ignore && field == &ln->ignore_field,
		.name = name ? name : "",
		.expected = fields[index].expected,
	};
	if (diag->ignored)
		diag->expected = ln->ignore;
	diag->crlf = !diag->ignored && field->end > field->start &&
		     field->end[-1] == '\r' &&
		     (field->end == ps->end || *field->end == '\n');
	if (token == TOKEN_END_OF_LINE)
		snprintf(diag->found, sizeof(diag->found), "the end");
	else if (token == TOKEN_UNCLOSED)
		snprintf(diag->found, sizeof(diag->found),
			 "a quote that is not closed");
	else if (token == TOKEN_NUL)
		snprintf(diag->found, sizeof(diag->found), "a NUL byte");
	else
		describe(field, diag->found, sizeof(diag->found));
	return 0;
}

static int add_record(struct parser *ps, const struct dat_conf_record *record)
{
	struct dat_conf *conf = &ps->conf;
	struct dat_conf_record *records;
	size_t max;

	if (conf->n_records == ps->max_records) {
		max = ps->max_records ? ps->max_records * 2 : 16;
		records = realloc(conf->records, max * sizeof(*records));
		if (!records)
			return -ENOMEM;
		conf->records = records;
		ps->max_records = max;
	}
	conf->records[conf->n_records] = *record;
	conf->records[conf->n_records++].line = ps->line;
	return 0;
}

/* Whether the line, without what surrounds it, is DAT_CONF_ALONE. */
static bool says_alone(const struct parser *ps)
{
	const char *p = ps->p;
	size_t len = strlen(DAT_CONF_ALONE);

	while (p < ps->end && (*p == ' ' || *p == '\t'))
		p++;
	if ((size_t)(ps->end - p) < len || memcmp(p, DAT_CONF_ALONE, len) != 0)
		return false;
	for (p += len; p < ps->end && *p != '\n'; p++)
		if (*p != ' ' && *p != '\t' && *p != '\r')
			return false;
	return true;
}

static int parse_line(struct parser *ps)
{
	struct line ln = {0};
	struct field last;
	enum token token;
	int i;

	for (i = 0; i < DAT_CONF_END; i++) {
		last = ln.field;
		token = next_field(ps, &ln.field);
		if (token == TOKEN_END_OF_LINE && i == 0)
			return 0;
		if (token == TOKEN_FIELD && fields[i].check(&ln))
			continue;
		/* that a field is missing is not the news after a CR */
		if (token == TOKEN_END_OF_LINE && last.end[-1] == '\r') {
			ln.field = last;
			token = TOKEN_FIELD;
		}
		return add_diag(ps, &ln, &ln.field, (enum dat_conf_field)i,
				token);
	}
	token = next_field(ps, &ln.field);
	if (token != TOKEN_END_OF_LINE)
		return add_diag(ps, &ln, &ln.field, DAT_CONF_END, token);
	if (ln.ignore)
		return add_diag(ps, &ln, &ln.ignore_field, ln.ignore_index,
				TOKEN_FIELD);
	return add_record(ps, &ln.record);
}

static int compare_keys(const struct dat_conf_record *a,
			const struct dat_conf_record *b)
{
	int diff = strcmp(a->name, b->name);

	if (diff)
		return diff;
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	if (a->minor != b->minor)
		return a->minor < b->minor ? -1 : 1;
	return (int)a->thread_safe - (int)b->thread_safe;
}

static int compare_sorted(const void *a, const void *b)
{
	const struct dat_conf_record *ra = *(struct dat_conf_record *const *)a;
	const struct dat_conf_record *rb = *(struct dat_conf_record *const *)b;
	int diff = compare_keys(ra, rb);

	if (diff)
		return diff;
	return (ra > rb) - (ra < rb);
}

/* Sorted, because a hostile file has half a million records. */
static int mark_duplicates(struct dat_conf *conf)
{
	struct dat_conf_record **sorted;
	size_t i;

	if (conf->n_records < 2)
		return 0;
	sorted = malloc(conf->n_records * sizeof(struct dat_conf_record *));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < conf->n_records; i++)
		sorted[i] = &conf->records[i];
	qsort(sorted, conf->n_records, sizeof(struct dat_conf_record *),
	      compare_sorted);
	for (i = 1; i < conf->n_records; i++) {
		if (compare_keys(sorted[i - 1], sorted[i]) != 0)
			continue;
		sorted[i]->duplicate = true;
		sorted[i]->first =
			sorted[i - 1]->duplicate
				? sorted[i - 1]->first
				: (size_t)(sorted[i - 1] - conf->records);
	}
	free(sorted);
	return 0;
}

int dat_conf_parse(const char *bytes, size_t len, struct dat_conf *ret_conf)
{
	struct parser ps = {
		.p = bytes,
		.end = bytes + len,
	};
	int err = 0;

	ps.conf.strings = malloc(len + 1);
	if (!ps.conf.strings)
		return -ENOMEM;
	ps.out = ps.conf.strings;
	/* some editors begin with the byte order mark of UTF-8 */
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		ps.p += 3;
	while (ps.p < ps.end && !err) {
		ps.line_start = ps.p;
		ps.line++;
		if (says_alone(&ps))
			ps.conf.alone = true;
		err = parse_line(&ps);
		skip_line(&ps);
		if (ps.p < ps.end)
			ps.p++;
	}
	if (!err)
		err = mark_duplicates(&ps.conf);
	if (err) {
		dat_conf_free(&ps.conf);
		return err;
	}
	*ret_conf = ps.conf;
	return 0;
}

static bool has_name(const struct dat_conf *conf, const char *name,
		     uint32_t major)
{
	size_t i;

	for (i = 0; i < conf->n_records; i++)
		if (conf->records[i].major == major &&
		    strcmp(conf->records[i].name, name) == 0)
			return true;
	return false;
}

int dat_conf_add(struct dat_conf *conf, const struct dat_conf *more)
{
	struct dat_conf_record *records;
	size_t i;

	if (more->n_records == 0)
		return 0;
	records = realloc(conf->records, (conf->n_records + more->n_records) *
						 sizeof(*records));
	if (!records)
		return -ENOMEM;
	conf->records = records;
	for (i = 0; i < more->n_records; i++)
		if (!has_name(conf, more->records[i].name,
			      more->records[i].major))
			records[conf->n_records++] = more->records[i];
	return 0;
}

void dat_conf_free(struct dat_conf *conf)
{
	free(conf->records);
	free(conf->diags);
	free(conf->strings);
	*conf = (struct dat_conf){0};
}

void dat_conf_diag_text(const struct dat_conf_diag *diag, char *buf,
			size_t size)
{
	if (diag->crlf)
		snprintf(buf, size,
			 "line %u, column %u: convert the file to Unix line "
			 "ends: the line ends with CR",
			 diag->line, diag->column);
	else
		snprintf(buf, size,
			 "line %u, column %u: write %s%s%s: found %s%s",
			 diag->line, diag->column, diag->expected,
			 diag->field == DAT_CONF_END ? "" : " as ",
			 fields[diag->field].name, diag->found,
			 diag->ignored ? ", which this library does not use"
				       : "");
}
