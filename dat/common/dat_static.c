/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_static.c - finds, reads and explains dat.conf.
 *
 * Does not match requests with records. A path is not trusted: anything but a
 * regular file of reasonable size is refused, and opening never blocks.
 * Threads: see dat_static.h.
 * Ownership: the records and the path of the file, until dat_static_fini().
 * Rule: DAT_OVERRIDE rules out every other file, even if it cannot be read;
 * programs were always told so.
 */
#include "dat_static.h"

#include "dat_log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef DAT_SYSCONFDIR
#define DAT_SYSCONFDIR "/etc"
#endif

#define FALLBACK_DIR "/etc"

/* Hints of one kind in one reason. */
#define MAX_HINTS 3

static struct dat_conf conf;
static struct dat_text source; /* "in PATH", or the reasons for no file */

/* Bytes read, or a negative errno. RET_BYTES is the caller's to free. */
static ssize_t read_all(int fd, size_t expected, char **ret_bytes)
{
	size_t max = expected + 1;
	size_t len = 0;
	char *bytes = malloc(max);
	ssize_t n = 1;

	if (!bytes)
		return -ENOMEM;
	/* one byte more than fstat() said; a file that grows meanwhile is cut
	 */
	while (len < max && n > 0) {
		n = read(fd, bytes + len, max - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	if (n < 0) {
		n = -errno;
		free(bytes);
		return n;
	}
	*ret_bytes = bytes;
	return (ssize_t)(len < expected ? len : expected);
}

static int parse_fd(int fd, const char *path)
{
	struct stat st;
	char *bytes = NULL;
	ssize_t len;
	int err;

	if (fstat(fd, &st)) {
		err = -errno;
		dat_text_add(&source, "cannot read %s: %s", path,
			     strerror(-err));
		return err;
	}
	if (!S_ISREG(st.st_mode)) {
		dat_text_add(&source, "%s is not a regular file", path);
		return -EINVAL;
	}
	if (st.st_size > DAT_CONF_MAX_BYTES) {
		dat_text_add(&source, "%s is larger than %u MiB", path,
			     DAT_CONF_MAX_BYTES >> 20);
		return -EFBIG;
	}
	len = read_all(fd, (size_t)st.st_size, &bytes);
	if (len < 0) {
		dat_text_add(&source, "cannot read %s: %s", path,
			     strerror((int)-len));
		return (int)len;
	}
	err = dat_conf_parse(bytes, (size_t)len, &conf);
	free(bytes);
	if (err)
		dat_text_add(&source, "no memory to read %s", path);
	return err;
}

static void log_diags(void)
{
	char text[512];
	size_t i;

	for (i = 0; i < conf.n_diags; i++) {
		dat_conf_diag_text(&conf.diags[i], text, sizeof(text));
		dat_log(conf.diags[i].ignored ? DAT_LOG_STATIC : DAT_LOG_ERROR,
			"dat.conf: %s", text);
	}
	if (conf.n_diags_lost)
		dat_log(DAT_LOG_ERROR, "dat.conf: %zu more lines not used",
			conf.n_diags_lost);
	dat_log(DAT_LOG_STATIC, "%zu usable entries %s", conf.n_records,
		source.buf);
}

/* False after adding the reason to the source text. */
static bool read_file(const char *path)
{
	int fd;
	int err;

	if (source.len)
		dat_text_add(&source, ", ");
	/* a FIFO without writer must not stop the program */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		dat_text_add(&source, "cannot read %s: %s", path,
			     strerror(errno));
		return false;
	}
	err = parse_fd(fd, path);
	close(fd);
	if (err)
		return false;
	if (source.len)
		dat_log(DAT_LOG_ERROR, "%s", source.buf);
	source = (struct dat_text)DAT_TEXT_INIT;
	dat_text_add(&source, "in %.700s", path);
	log_diags();
	return true;
}

void dat_static_init(const char *override)
{
	bool found;

	source = (struct dat_text)DAT_TEXT_INIT;
	if (override && !*override) {
		dat_text_add(&source, "DAT_OVERRIDE is an empty path");
		found = false;
	} else if (override) {
		found = read_file(override);
	} else {
		found = read_file(DAT_SYSCONFDIR "/dat.conf") ||
			(strcmp(DAT_SYSCONFDIR, FALLBACK_DIR) != 0 &&
			 read_file(FALLBACK_DIR "/dat.conf"));
	}
	if (!found)
		dat_log(DAT_LOG_ERROR, "%s", source.buf);
}

void dat_static_fini(void)
{
	dat_conf_free(&conf);
}

const struct dat_conf *dat_static_conf(void)
{
	return &conf;
}

void dat_static_add_source(struct dat_text *text)
{
	dat_text_add(text, "%s", source.buf);
}

/* What editors and people put around a name without noticing. */
static const char *trim(const char *name, size_t *ret_len)
{
	size_t len;

	if (strncmp(name, "\xef\xbb\xbf", 3) == 0)
		name += 3;
	name += strspn(name, " \t\"");
	len = strlen(name);
	while (len > 0 && strchr(" \t\r\",", name[len - 1]))
		len--;
	*ret_len = len;
	return name;
}

static bool is_similar(const char *a, const char *b)
{
	size_t len_a;
	size_t len_b;

	a = trim(a, &len_a);
	b = trim(b, &len_b);
	return len_a == len_b && len_a > 0 && strncasecmp(a, b, len_a) == 0;
}

static void add_similar_names(struct dat_text *text, const char *name)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < conf.n_records && n < MAX_HINTS; i++) {
		const struct dat_conf_record *record = &conf.records[i];

		if (!is_similar(record->name, name) ||
		    strcmp(record->name, name) == 0)
			continue;
		dat_text_add(text, "; line %u has \"%s\"%s", record->line,
			     record->name,
			     record->name[0] == '\xef'
				     ? " behind a byte order mark"
				     : "");
		n++;
	}
}

void dat_static_add_hints(struct dat_text *text, const char *name)
{
	char line[320];
	unsigned n = 0;
	size_t i;

	for (i = 0; i < conf.n_diags && n < MAX_HINTS; i++) {
		if (!is_similar(conf.diags[i].name, name))
			continue;
		dat_conf_diag_text(&conf.diags[i], line, sizeof(line));
		dat_text_add(text, "; %s", line);
		n++;
	}
	add_similar_names(text, name);
}
