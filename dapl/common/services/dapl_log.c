/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_log.c - log lines, reasons of failures, errno to DAT_RETURN.
 *
 * Does not buffer: a line is one write(), so that lines of threads and
 * processes do not mix and a crash loses none. Never opens or closes a
 * descriptor and does not call openlog(), which belongs to the program.
 * Threads: any. The settings are single words written at provider load and at
 * IA open; a line that runs beside that may see the old ones.
 * Rule: line format and class bits are those of the historic library. That it
 * is silent until asked is new: a library does not own its program's stdout.
 */
#include "config.h"

#include "dapl/common/services/dapl_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_probe.h"
#include "dapl/common/services/dapl_text.h"

#define TEXT_SIZE     1024
#define SLOW_STEP_US  500000
#define DEST_STDOUT   0x1
#define DEST_SYSLOG   0x2
#define DEST_STDERR   0x4
#define ENTRY(a)      (DAT_CLASS_ERROR | (DAT_RETURN)(a))
#define ENTRY2(a, b)  (DAT_CLASS_ERROR | (DAT_RETURN)(a) | (DAT_RETURN)(b))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

unsigned dapl__log_mask;

struct settings {
	unsigned dest, level, type;
};

#define FIELD(f) offsetof(struct settings, f)

/* clang-format off */
static const struct dapl_param rows[] = {
	{"DAPL_DBG_DEST", DAPL_PARAM_MASK, FIELD(dest), 0, 7, 1,
	 "where log lines go: 1 stdout, 2 syslog, 4 stderr"},
	{"DAPL_DBG_LEVEL", DAPL_PARAM_MASK, FIELD(level), 0, 0, 0,
	 "more bits for DAPL_DBG_TYPE"},
	{"DAPL_DBG_TYPE", DAPL_PARAM_MASK, FIELD(type), 0, 0, 0,
	 "which log lines; \"help\" lists the classes"},
};
/* clang-format on */

const struct dapl_param_table dapl_log_param_table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.size = sizeof(struct settings),
};

static const struct {
	unsigned bit;
	const char *help;
} classes[] = {
	{DAPL_LOG_ERR, "errors"},
	{DAPL_LOG_WARN, "warnings"},
	{DAPL_LOG_CM, "connection management"},
	{DAPL_LOG_EP, "endpoints"},
	{DAPL_LOG_UTIL, "utilities"},
	{DAPL_LOG_DTO_ERR, "data transfers that failed"},
	{DAPL_LOG_SRQ, "shared receive queues"},
	{DAPL_LOG_CM_EST, "one line for each established connection"},
	{DAPL_LOG_CM_WARN, "connection warnings"},
};

static const struct {
	int err;
	DAT_RETURN ret;
} errors[] = {
	{EACCES, ENTRY(DAT_PRIVILEGES_VIOLATION)},
	{EADDRINUSE, ENTRY(DAT_CONN_QUAL_IN_USE)},
	{EADDRNOTAVAIL,
	 ENTRY2(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE)},
	{EAFNOSUPPORT,
	 ENTRY2(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED)},
	/* A limit that the kernel has been given, as of a control group. */
	{EAGAIN, ENTRY(DAT_INSUFFICIENT_RESOURCES)},
	{EALREADY,
	 ENTRY2(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_ACTCONNPENDING)},
	{EBUSY, ENTRY(DAT_INVALID_STATE)},
	{ECONNABORTED, ENTRY(DAT_INVALID_STATE)},
	{ECONNREFUSED,
	 ENTRY2(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY)},
	{EFAULT, ENTRY(DAT_INVALID_PARAMETER)},
	{EHOSTUNREACH,
	 ENTRY2(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE)},
	{EINTR, ENTRY(DAT_INTERRUPTED_CALL)},
	{EINVAL, ENTRY(DAT_INVALID_PARAMETER)},
	{EISCONN, ENTRY2(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED)},
	{EMFILE, ENTRY(DAT_INSUFFICIENT_RESOURCES)},
	{EMSGSIZE, ENTRY(DAT_INVALID_PARAMETER)},
	{ENETUNREACH,
	 ENTRY2(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE)},
	{ENFILE, ENTRY(DAT_INSUFFICIENT_RESOURCES)},
	{ENOBUFS, ENTRY(DAT_INSUFFICIENT_RESOURCES)},
	{ENODEV, ENTRY2(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE)},
	{ENOENT, ENTRY2(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE)},
	{ENOMEM, ENTRY2(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)},
	{ENOSPC, ENTRY(DAT_INSUFFICIENT_RESOURCES)},
	{ENOSYS, ENTRY(DAT_MODEL_NOT_SUPPORTED)},
	{ENOTCONN, ENTRY2(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED)},
	{ENXIO, ENTRY2(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE)},
	{EOPNOTSUPP, ENTRY(DAT_MODEL_NOT_SUPPORTED)},
	{EOVERFLOW, ENTRY(DAT_LENGTH_ERROR)},
	{EPERM, ENTRY(DAT_PROTECTION_VIOLATION)},
	{ETIMEDOUT, ENTRY(DAT_TIMEOUT_EXPIRED)},
};

static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static void (*set_detail)(const char *text); /* NULL: an older libdat2 */
static char host[HOST_NAME_MAX + 1];
static uint64_t start_us;

static const char *provider_name = "dapl";
static int dest_mask = DEST_STDOUT;
static uint64_t last_us; /* time of the last line */
static bool help_shown;
static bool unknown_told; /* what is set and no variable of ours */

static __thread char fail_text[TEXT_SIZE];
static const char *fail_reason; /* of all; set while there is one thread */

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Names and values from outside must not forge lines or drive a terminal. */
static void make_printable(char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c == 0x7f)
			*s = c == '\n' || c == '\t' ? ' ' : '?';
	}
}

/* ERR is what "%m" prints. */
static void format_text(char *buf, size_t size, int err, const char *fmt,
			va_list ap) __attribute__((format(printf, 4, 0)));

static void format_text(char *buf, size_t size, int err, const char *fmt,
			va_list ap)
{
	int n;

	errno = err;
	n = vsnprintf(buf, size, fmt, ap);
	if (n < 0)
		snprintf(buf, size, "(text could not be formatted)");
	else if ((size_t)n >= size)
		memcpy(buf + size - 4, "...", 4);
	make_printable(buf);
}

/*
 * Where the plugin registers: a process may have the registries of two versions
 * of DAT. Weak, as nobody else here needs one.
 */
extern DAT_RETURN dat_registry_add_provider(const struct dat_provider *,
					    const struct dat_provider_info *)
	__attribute__((weak));

/*
 * The plugin is linked with that library, which so outlives the reference given
 * back here. Debian's lack the function: then there is only the log.
 */
static void find_set_detail(void)
{
	void *lib = NULL, *sym = NULL;
	__typeof__(dat_registry_add_provider) *add = dat_registry_add_provider;
	Dl_info info;

	memcpy(&sym, &add, sizeof(sym));
	if (sym && dladdr(sym, &info) && info.dli_fname)
		lib = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	sym = NULL;
	if (lib) {
		sym = dlsym(lib, "dats_set_error_detail");
		dlclose(lib);
	} else /* the program itself */
		sym = dlsym(RTLD_DEFAULT, "dats_set_error_detail");
	/* ISO C has no cast from an object to a function pointer. */
	memcpy(&set_detail, &sym, sizeof(sym));
}

static void start(void)
{
	if (gethostname(host, sizeof(host)))
		host[0] = '\0';
	host[sizeof(host) - 1] = '\0';
	make_printable(host);
	start_us = now_us();
	__atomic_store_n(&last_us, start_us, __ATOMIC_RELAXED);
	find_set_detail();
}

static int syslog_level(unsigned cls)
{
	if (cls & (DAPL_LOG_ERR | DAPL_LOG_DTO_ERR))
		return LOG_ERR;
	if (cls & (DAPL_LOG_WARN | DAPL_LOG_CM_WARN))
		return LOG_WARNING;
	return LOG_INFO;
}

/* A log that cannot be written must not stop what it is about. */
static void put(int fd, const char *line, size_t len)
{
	ssize_t n = write(fd, line, len);

	(void)n;
}

static void emit(unsigned cls, const char *text)
{
	int dest = __atomic_load_n(&dest_mask, __ATOMIC_RELAXED);
	char line[TEXT_SIZE + HOST_NAME_MAX + 160];
	uint64_t now = now_us(), last, step;
	int n;

	last = __atomic_exchange_n(&last_us, now, __ATOMIC_RELAXED);
	step = now > last ? now - last : 0; /* another thread was faster */
	n = snprintf(
		line, sizeof(line), "%s:%s:%x:%x: %llu us(%llu us%s): %s\n",
		host, __atomic_load_n(&provider_name, __ATOMIC_RELAXED),
		(unsigned)getpid(), (unsigned)syscall(SYS_gettid),
		(unsigned long long)(now - start_us), (unsigned long long)step,
		step > SLOW_STEP_US ? "!!!" : "", text);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	if (dest & DEST_STDOUT)
		put(STDOUT_FILENO, line, (size_t)n);
	if (dest & DEST_STDERR)
		put(STDERR_FILENO, line, (size_t)n);
	if (dest & DEST_SYSLOG)
		syslog(syslog_level(cls), "%s", line);
}

void dapl__log(unsigned cls, const char *fmt, ...)
{
	int saved = errno, cancel = dapl_cancel_off();
	char text[TEXT_SIZE];
	va_list ap;

	pthread_once(&start_once, start);
	va_start(ap, fmt);
	format_text(text, sizeof(text), saved, fmt, ap);
	va_end(ap);
	emit(cls, text);
	dapl_cancel_restore(cancel);
	errno = saved;
}

/* For people: as a whole on the terminal, not as log lines. */
static void show_help(void)
{
	char text[2048];
	size_t len = 0, i;

	if (__atomic_exchange_n(&help_shown, true, __ATOMIC_RELAXED))
		return;
	len += (size_t)snprintf(
		text, sizeof(text),
		"DAPL_DBG_TYPE is the sum of these; DAPL_DBG_DEST says where "
		"the lines go\n(1 stdout, 2 syslog, 4 stderr). All variables: "
		"dapl-env(7).\n");
	for (i = 0; i < ARRAY_SIZE(classes) && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"  %#9x  %s\n", classes[i].bit,
					classes[i].help);
	if (len >= sizeof(text))
		len = sizeof(text) - 1;
	put(dest_mask & DEST_STDERR ? STDERR_FILENO : STDOUT_FILENO, text, len);
}

void dapl__log_warn(const char *text)
{
	dapl_log(DAPL_LOG_WARN, "%s", text);
}

/*
 * What a row is when it is not set itself: who asks for the registry's messages
 * wants to hear of a provider's failures, in the same place.
 */
static const char *registry_says(const char *name)
{
	const char *text;
	long long mask = 0;

	if (!strcmp(name, "DAPL_DBG_DEST"))
		return dapl__env("DAT_DBG_DEST");
	if (strcmp(name, "DAPL_DBG_TYPE") != 0 || dapl__env("DAPL_DBG_LEVEL"))
		return NULL;
	text = dapl__env("DAT_DBG_TYPE");
	if (text)
		dapl_text_number(text, INT64_MIN, INT64_MAX, &mask);
	return mask ? "3" : NULL;
}

/* DAPL_DBG_TYPE may be a word. */
static bool is_help(const char *name, const char *text)
{
	return text && !strcmp(text, "help") && !strcmp(name, "DAPL_DBG_TYPE");
}

/* 0 to go on; 1: INFO is ARG's, a plugin. 2: of another one. */
static int which_plugin(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	if (strncmp(file, "libdapl", strlen("libdapl")) != 0)
		return 0;
	return strcmp(info->dlpi_name, arg) == 0 ? 1 : 2;
}

/*
 * Plugins share nothing, and each knows the variables of all: what is wrong
 * with those is told by the one that the process has loaded first.
 */
static bool is_first_plugin(void)
{
	char name[PATH_MAX];
	Dl_info info;

	if (!dladdr(&dapl__log_mask, &info) || !info.dli_fname)
		return true;
	snprintf(name, sizeof(name), "%s", info.dli_fname);
	return dl_iterate_phdr(which_plugin, name) != 2;
}

void dapl__log_setup(const char *provider)
{
	const char *text[ARRAY_SIZE(rows)];
	bool bad[ARRAY_SIZE(rows)], help = false;
	struct settings set;
	int saved = errno;
	size_t i;

	pthread_once(&start_once, start);
	__atomic_store_n(&provider_name, provider, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		text[i] = dapl__env(rows[i].name);
		if (!text[i])
			text[i] = registry_says(rows[i].name);
		bad[i] = !dapl__param_set(&rows[i], text[i], &set, NULL);
		if (is_help(rows[i].name, text[i])) {
			bad[i] = false;
			help = true;
		}
	}
	__atomic_store_n(&dest_mask, (int)set.dest, __ATOMIC_RELAXED);
	if (help)
		show_help();
	__atomic_store_n(&dapl__log_mask, set.level | set.type,
			 __ATOMIC_RELAXED);
	/* Not before it is known who wants to hear of it. */
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (bad[i])
			dapl__param_set(&rows[i], text[i], &set,
					dapl__log_warn);
	if (dapl__log_wants(DAPL_LOG_WARN) && is_first_plugin() &&
	    !__atomic_exchange_n(&unknown_told, true, __ATOMIC_RELAXED))
		dapl_params_unknown(dapl__log_warn);
	errno = saved;
}

void dapl__fail_always(const char *why)
{
	fail_reason = why;
}

static void keep_reason(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0)));

static void keep_reason(const char *fmt, va_list ap)
{
	int saved = errno, cancel = dapl_cancel_off();
	char text[TEXT_SIZE];

	pthread_once(&start_once, start);
	/* Not straight into fail_text: an argument may be the text before. */
	format_text(text, sizeof(text), saved, fmt, ap);
	if (fail_reason)
		snprintf(text, sizeof(text), "%s", fail_reason);
	memcpy(fail_text, text, strlen(text) + 1);
	if (set_detail)
		set_detail(text);
	dapl_log(DAPL_LOG_ERR, "%s", text);
	dapl_cancel_restore(cancel);
	errno = saved;
}

DAT_RETURN dapl_fail(DAT_RETURN ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep_reason(fmt, ap);
	va_end(ap);
	DAPL_PROBE2(error, ret, fail_text);
	return ret;
}

int dapl_fail_errno(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep_reason(fmt, ap);
	va_end(ap);
	DAPL_PROBE2(error, err, fail_text);
	return err;
}

const char *dapl__fail_text(void)
{
	return fail_text;
}

DAT_RETURN dapl_err_dat(int err)
{
	size_t i;

	if (!err)
		return DAT_SUCCESS;
	for (i = 0; i < ARRAY_SIZE(errors); i++)
		if (-errors[i].err == err)
			return errors[i].ret;
	return ENTRY(DAT_INTERNAL_ERROR);
}
