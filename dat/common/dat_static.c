/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_static.c - finds, reads and explains dat.conf, and adds what is found.
 *
 * Does not match requests with records. A path is not trusted: anything but a
 * regular file of reasonable size is refused, and opening never blocks.
 * Threads: see dat_static.h.
 * Ownership: the records and the path of the file, until dat_static_fini().
 * Rule: DAT_OVERRIDE rules out every other file, even if it cannot be read;
 * programs were always told so.
 */
#include "dat_static.h"

#include "dat_auto.h"
#include "dat_auto_ports.h"
#include "dat_log.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef DAT_SYSCONFDIR
#define DAT_SYSCONFDIR "/etc"
#endif

/* Hints of one kind in one reason. */
#define MAX_HINTS 3

static struct dat_conf conf;
static struct dat_conf found; /* its strings are those of what was added */
static struct dat_ports ports;
static struct dat_text source; /* why a name is in no file */
static char file[PATH_MAX];    /* the one that was read */
static char sysfs[PATH_MAX];
static char hosts_file[PATH_MAX];
static bool automatic;
static bool looked;

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
	dat_log(DAT_LOG_STATIC, "%zu usable entries in %s", conf.n_records,
		file);
}

static void add_unreadable(const char *path, int err)
{
	if (err == ENOENT)
		dat_text_add(&source, "there is no %s", path);
	else
		dat_text_add(&source, "%s %s: %s",
			     err == EACCES ? "let this user read"
					   : "cannot read",
			     path, strerror(err));
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
		add_unreadable(path, errno);
		return false;
	}
	err = parse_fd(fd, path);
	close(fd);
	if (err)
		return false;
	/* a default file before this one; that is no fault */
	if (source.len)
		dat_log(DAT_LOG_STATIC, "%s", source.buf);
	source = (struct dat_text)DAT_TEXT_INIT;
	dat_text_add(&source, "it is not in %.600s", path);
	snprintf(file, sizeof(file), "%s", path);
	log_diags();
	return true;
}

static bool read_default_file(void)
{
	static const char *const paths[] = {
		"/etc/dat.conf",
		"/etc/rdma/dat.conf",
		DAT_SYSCONFDIR "/dat.conf",
	};
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if ((i == 0 || strcmp(paths[i], paths[0]) != 0) &&
		    read_file(paths[i]))
			return true;
	return false;
}

bool dat_static_automatic(const char *text, bool *ret_automatic)
{
	long long value;

	if (!dat_text_number(text, &value) || value < 0)
		return false;
	*ret_automatic = value != 0;
	return true;
}

void dat_static_init(const struct dat_static_options *options)
{
	const char *override = options->override;
	bool read;

	source = (struct dat_text)DAT_TEXT_INIT;
	file[0] = '\0';
	if (override && !*override) {
		dat_text_add(&source, "DAT_OVERRIDE is an empty path");
		read = false;
	} else if (override) {
		read = read_file(override);
	} else {
		read = read_default_file();
	}
	if (!read)
		dat_log(override ? DAT_LOG_ERROR : DAT_LOG_STATIC, "%s",
			source.buf);
	automatic = !conf.alone;
	if (options->automatic &&
	    !dat_static_automatic(options->automatic, &automatic))
		dat_log(DAT_LOG_ERROR,
			"DAT_AUTO: '%.64s' is not a number from 0; ignored",
			options->automatic);
	snprintf(sysfs, sizeof(sysfs), "%s",
		 options->sysfs ? options->sysfs : "/sys");
	snprintf(hosts_file, sizeof(hosts_file), "%s",
		 options->hosts ? options->hosts : "/etc/hosts");
	looked = false;
}

void dat_static_fini(void)
{
	dat_conf_free(&conf);
	dat_conf_free(&found);
	dat_ports_free(&ports);
}

/*
 * What is there without a line.
 */

static unsigned count_lines(const char *text, size_t len)
{
	unsigned n = 0;

	for (; len > 0; len--)
		n += *text++ == '\n';
	return n;
}

/* Lines of LIST: those that are offered come first, RET_OFFERED of them. */
static int write_all(const struct dat_ports *list, char **ret_text,
		     size_t *ret_len, unsigned *ret_offered)
{
	FILE *f = open_memstream(ret_text, ret_len);
	int err = -ENOMEM;

	if (!f)
		return err;
	dat_auto_write(list, f);
	if (!fflush(f)) {
		*ret_offered = count_lines(*ret_text, *ret_len);
		err = dat_auto_write_old(list, f);
	}
	return fclose(f) ? -ENOMEM : err;
}

/* The records of LIST. */
static int find(const struct dat_ports *list, struct dat_conf *ret_found)
{
	char *text = NULL;
	size_t len = 0;
	unsigned offered = 0;
	size_t i;
	int err = write_all(list, &text, &len, &offered);

	if (!err)
		err = dat_conf_parse(text, len, ret_found);
	free(text);
	if (err)
		return err;
	for (i = 0; i < ret_found->n_records; i++) {
		ret_found->records[i].unlisted =
			ret_found->records[i].line > offered;
		ret_found->records[i].line = 0;
	}
	return 0;
}

/* Whether it is one of ours, which are told from others by their names. */
static bool is_library(const char *path, const char *const *names)
{
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	for (; *names; names++)
		if (strncmp(path, *names, strlen(*names)) == 0)
			return true;
	return false;
}

static bool is_address(const char *text)
{
	struct in6_addr addr;

	/* a zone may follow */
	return inet_pton(AF_INET, text, &addr) == 1 || strchr(text, ':');
}

static bool wants_device(const struct dat_conf_record *record)
{
	static const char *const libraries[] = {"libdaploscm.", "libdaploucm.",
						"libdaplscm.",	"libdaplucm.",
						"libdaplomcm.", NULL};

	return is_library(record->lib_path, libraries);
}

static bool wants_interface(const struct dat_conf_record *record)
{
	static const char *const libraries[] = {"libdaplofa.", "libdaplcma.",
						NULL};

	return is_library(record->lib_path, libraries);
}

/* The text of the file of hosts; NULL: none. The caller frees it. */
static char *read_hosts(void)
{
	FILE *f = fopen(hosts_file, "re");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* What a host's name stands for may be an address of this one. */
static bool is_host_of(const char *hosts, const char *name)
{
	const char *at = hosts;
	const char *end;

	while (at && (at = strcasestr(at, name))) {
		end = at + strlen(name);
		if (at > hosts && strchr(" \t", at[-1]) &&
		    strchr(" \t\n#", *end))
			return true;
		at = end;
	}
	return false;
}

/* With a domain or without. */
static bool is_own_name(const char *name)
{
	char host[256];
	size_t len;

	if (gethostname(host, sizeof(host)))
		return false;
	host[sizeof(host) - 1] = '\0';
	len = strcspn(host, ".");
	return strncasecmp(host, name, len) == 0 &&
	       (name[len] == '\0' || name[len] == '.');
}

/* What the line is for has to be there: true unless it certainly is not. */
static bool is_present(const struct dat_conf_record *record, const char *hosts)
{
	char name[256];
	int port;
	int words = sscanf(record->ia_params, "%255s %i", name, &port);

	if (words < 1)
		return true;
	if (wants_device(record))
		return words == 2 ? dat_port_exists(sysfs, name, (unsigned)port)
				  : dat_device_exists(sysfs, name);
	if (!wants_interface(record))
		return true;
	if (dat_interface_exists(sysfs, name) || is_address(name))
		return true;
	return is_own_name(name) || is_host_of(hosts, name);
}

/* One of several that can stand in for each other is enough. */
static void hide_absent(void)
{
	char *hosts = read_hosts();
	struct dat_conf_record *record;
	size_t i;

	for (i = 0; i < conf.n_records; i++) {
		record = &conf.records[i];
		record->unlisted = !is_present(record, hosts);
		if (record->duplicate && !record->unlisted)
			conf.records[record->first].unlisted = false;
	}
	free(hosts);
}

static int look(void)
{
	struct dat_ports list;
	struct dat_conf more;
	int err = dat_ports_list(sysfs, &list);

	if (err)
		return err;
	if (automatic) {
		err = find(&list, &more);
		if (err) {
			dat_ports_free(&list);
			return err;
		}
		hide_absent();
		err = dat_conf_add(&conf, &more);
		if (err) {
			dat_conf_free(&more);
			dat_ports_free(&list);
			return err;
		}
		found = more;
	}
	ports = list;
	return 0;
}

int dat_static_look(void)
{
	int err;

	if (looked)
		return 0;
	err = look();
	if (err) {
		dat_log(DAT_LOG_ERROR, "cannot look for RDMA devices: %s",
			strerror(-err));
		/* what it says is of use only beside what is found */
		return automatic ? err : 0;
	}
	looked = true;
	dat_log(DAT_LOG_STATIC, "%zu RDMA ports in %s", ports.n, sysfs);
	return 0;
}

const struct dat_conf *dat_static_conf(void)
{
	return &conf;
}

const char *dat_static_file(void)
{
	return file[0] ? file : NULL;
}

const char *dat_static_no_file(void)
{
	return source.buf;
}

void dat_static_add_remedy(struct dat_text *text)
{
	if (!automatic)
		dat_text_add(text, "write a line for it, or let DAT_AUTO be: ");
	else if (ports.n == 0)
		dat_text_add(text, "load the driver of an RDMA device, or let "
				   "this container see it: ");
	else
		dat_text_add(text, "write a line for it: ");
}

void dat_static_add_source(struct dat_text *text)
{
	dat_text_add(text, "%s", source.buf);
	if (!automatic)
		dat_text_add(text, " (DAT_AUTO=0)");
	else if (ports.n == 0)
		dat_text_add(text, "%s there is no RDMA device",
			     *file ? ", and" : ";");
	else
		dat_text_add(text, "%s",
			     *file ? ", nor by itself"
				   : "; it is not there by itself");
}

void dat_static_add_line(struct dat_text *text, unsigned line)
{
	if (line)
		dat_text_add(text, "%.600s, line %u: ", file, line);
}

static bool has_interface(const struct dat_port *port, const char *name)
{
	size_t i;

	for (i = 0; i < port->n_ifs; i++)
		if (strcmp(port->ifs[i], name) == 0)
			return true;
	return false;
}

bool dat_static_is_live(const struct dat_conf_record *record)
{
	char name[256];
	int number;
	size_t i;

	if (sscanf(record->ia_params, "%255s %i", name, &number) != 2)
		return false;
	for (i = 0; i < ports.n; i++) {
		const struct dat_port *port = &ports.ports[i];

		if (!port->active || port->unfit)
			continue;
		if (wants_device(record) && number == (int)port->port &&
		    strcmp(name, port->device) == 0)
			return true;
		if (wants_interface(record) && has_interface(port, name))
			return true;
	}
	return false;
}

void dat_static_add_mistaken(struct dat_text *text,
			     const struct dat_conf_record *record)
{
	char name[256];
	size_t i;

	if (sscanf(record->ia_params, "%255s", name) != 1)
		return;
	for (i = 0; i < ports.n; i++) {
		const struct dat_port *port = &ports.ports[i];

		if (wants_device(record) && has_interface(port, name)) {
			dat_text_add(text,
				     "write \"%s %u\", the device that network "
				     "interface %s is of: ",
				     port->device, port->port, name);
			return;
		}
		if (wants_interface(record) && port->n_ifs > 0 &&
		    strcmp(port->device, name) == 0) {
			dat_text_add(text,
				     "write \"%s 0\", the network interface "
				     "of device %s: ",
				     port->ifs[0], name);
			return;
		}
	}
}

/* Devices that the name may be for, though none of them can do it. */
static void add_unfit(struct dat_text *text, const char *name)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < ports.n && n < MAX_HINTS; i++) {
		if (!ports.ports[i].unfit ||
		    !strstr(name, ports.ports[i].device))
			continue;
		dat_text_add(text, "use another device: %s is not used, %s; ",
			     ports.ports[i].device, ports.ports[i].unfit);
		n++;
	}
}

/* What editors and people put around a name without noticing. */
static const char *trim(const char *name, size_t *ret_len)
{
	size_t len;

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
		dat_text_add(text, "use \"%s\"", record->name);
		if (record->line)
			dat_text_add(text, ", %.600s, line %u", file,
				     record->line);
		dat_text_add(text, "; ");
		n++;
	}
}

bool dat_static_add_hints(struct dat_text *text, const char *name)
{
	size_t before = text->len;
	char line[320];
	unsigned n = 0;
	size_t i;

	for (i = 0; i < conf.n_diags && n < MAX_HINTS; i++) {
		if (!is_similar(conf.diags[i].name, name))
			continue;
		dat_conf_diag_text(&conf.diags[i], line, sizeof(line));
		dat_text_add(text, "%.600s, %s; ", file, line);
		n++;
	}
	add_similar_names(text, name);
	add_unfit(text, name);
	return text->len > before;
}
