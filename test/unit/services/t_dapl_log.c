/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_log.c - tests of log lines, failure texts and error translation.
 *
 * Calls covered: dapl__log_setup, dapl_log, dapl_fail, dapl__fail_text,
 * dapl_err_dat.
 * stdout and stderr are turned into files while a test looks at them. syslog()
 * is wrapped by the linker. The program itself exports a function of the name
 * dats_set_error_detail, as libdat2 does.
 */
#include "dapl/common/services/dapl_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/case.h"

void dats_set_error_detail(const char *text);
void __wrap_syslog(int level, const char *fmt, ...);
/* What the linker sees when the C library is fortified. */
void __wrap___syslog_chk(int level, int flag, const char *fmt, ...);

static char detail[2048];
static char syslog_text[4096];
static int syslog_count;

__attribute__((visibility("default"))) void
dats_set_error_detail(const char *text)
{
	snprintf(detail, sizeof(detail), "%s", text);
}

void __wrap_syslog(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(syslog_text, sizeof(syslog_text), fmt, ap);
	va_end(ap);
	syslog_count++;
}

void __wrap___syslog_chk(int level, int flag, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(syslog_text, sizeof(syslog_text), fmt, ap);
	va_end(ap);
	syslog_count++;
}

struct capture {
	int fd; /* 1 or 2 */
	int saved;
	FILE *file;
};

static void capture_start(struct capture *c, int fd)
{
	fflush(stdout);
	c->fd = fd;
	c->saved = dup(fd);
	c->file = tmpfile();
	assert_non_null(c->file);
	assert_true(dup2(fileno(c->file), fd) == fd);
}

/* No asserts before the descriptor is back: their text would be lost. */
static void capture_end(struct capture *c, char *text, size_t size)
{
	ssize_t n;

	dup2(c->saved, c->fd);
	close(c->saved);
	n = pread(fileno(c->file), text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	fclose(c->file);
}

static int clean(void **state)
{
	unsetenv("DAPL_DBG_TYPE");
	unsetenv("DAPL_DBG_LEVEL");
	unsetenv("DAPL_DBG_DEST");
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
	syslog_count = 0;
	dapl__log_setup("TEST");
	return 0;
}

#define T(name) CASE_WITH(name, clean, NULL)

static void set(const char *type, const char *level, const char *dest)
{
	if (type)
		setenv("DAPL_DBG_TYPE", type, 1);
	if (level)
		setenv("DAPL_DBG_LEVEL", level, 1);
	if (dest)
		setenv("DAPL_DBG_DEST", dest, 1);
	dapl__log_setup("TEST");
}

static bool matches(const char *text, const char *pattern)
{
	regex_t re;
	bool yes;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	yes = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return yes;
}

T(setup__silent_by_default)
{
	struct capture out, err;
	char o[256], e[256];

	capture_start(&out, 1);
	capture_start(&err, 2);
	dapl_log(~0u, "must not be seen");
	dapl_fail(DAT_ABORT, "nor this");
	capture_end(&err, e, sizeof(e));
	capture_end(&out, o, sizeof(o));
	assert_string_equal(o, "");
	assert_string_equal(e, "");
	assert_int_equal(dapl__log_mask, 0);
}

T(setup__type_and_level_are_ored)
{
	set("0x3", "8", NULL);
	assert_int_equal(dapl__log_mask, 0xb);
}

T(setup__all_bits)
{
	set("-1", NULL, NULL);
	assert_true(dapl__log_mask == ~0u);
	set("0xffffffff", NULL, NULL);
	assert_true(dapl__log_mask == ~0u);
}

T(setup__bad_values_are_not_guessed_at)
{
	static const char *const bad[] = {"",
					  "x",
					  "1x",
					  "0x",
					  "0x1ffffffff",
					  "-2",
					  "99999999999999999999",
					  "1 2"};
	struct capture out;
	char o[4096];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		set(bad[i], NULL, NULL);
		assert_int_equal(dapl__log_mask, 0);
	}
	/* The warning comes when warnings are on by another way. */
	setenv("DAPL_DBG_LEVEL", "2", 1);
	capture_start(&out, 1);
	dapl__log_setup("TEST");
	capture_end(&out, o, sizeof(o));
	assert_non_null(strstr(o, "DAPL_DBG_TYPE: '1 2' is not a number"));
}

/* One of the two is enough, and the provider's own decides. */
T(setup__as_the_registry)
{
	struct capture err;
	char e[256];

	setenv("DAT_DBG_TYPE", "0x10", 1);
	setenv("DAT_DBG_DEST", "4", 1);
	dapl__log_setup("TEST");
	assert_int_equal(dapl__log_mask, DAPL_LOG_ERR | DAPL_LOG_WARN);
	capture_start(&err, 2);
	dapl_log(DAPL_LOG_WARN, "seen");
	capture_end(&err, e, sizeof(e));
	assert_non_null(strstr(e, "seen"));
	set("0", NULL, NULL);
	assert_int_equal(dapl__log_mask, 0);
	set(NULL, "8", NULL);
	unsetenv("DAPL_DBG_TYPE");
	dapl__log_setup("TEST");
	assert_int_equal(dapl__log_mask, DAPL_LOG_CM);
	clean(NULL);
	setenv("DAT_DBG_TYPE", "0", 1);
	dapl__log_setup("TEST");
	assert_int_equal(dapl__log_mask, 0);
	clean(NULL);
}

T(log__line_format)
{
	struct capture out;
	char o[1024], pattern[256];

	set("1", NULL, NULL);
	capture_start(&out, 1);
	dapl_log(DAPL_LOG_ERR, "ep %d: text", 7);
	capture_end(&out, o, sizeof(o));
	snprintf(pattern, sizeof(pattern),
		 "^[^:]*:TEST:%x:[0-9a-f]+: [0-9]+ us\\([0-9]+ us(!!!)?\\): "
		 "ep 7: text\n$",
		 (unsigned)getpid());
	if (!matches(o, pattern))
		fail_msg("'%s' is not like '%s'", o, pattern);
}

T(log__class_off)
{
	struct capture out;
	char o[64];

	set("0x8", NULL, NULL);
	capture_start(&out, 1);
	dapl_log(DAPL_LOG_ERR, "not this");
	capture_end(&out, o, sizeof(o));
	assert_string_equal(o, "");
}

T(log__destinations)
{
	static const struct {
		const char *dest;
		bool out, err;
		int syslog;
	} rows[] = {
		{"0", false, false, 0}, {"1", true, false, 0},
		{"2", false, false, 1}, {"3", true, false, 1},
		{"4", false, true, 0},	{"7", true, true, 1},
	};
	struct capture out, err;
	char o[512], e[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		set("1", NULL, rows[i].dest);
		syslog_count = 0;
		capture_start(&out, 1);
		capture_start(&err, 2);
		dapl_log(DAPL_LOG_ERR, "where");
		capture_end(&err, e, sizeof(e));
		capture_end(&out, o, sizeof(o));
		assert_int_equal(!!strstr(o, "where"), rows[i].out);
		assert_int_equal(!!strstr(e, "where"), rows[i].err);
		assert_int_equal(syslog_count, rows[i].syslog);
		if (rows[i].syslog)
			assert_non_null(strstr(syslog_text, ": where\n"));
	}
}

T(log__errno_is_printed_and_preserved)
{
	struct capture out;
	char o[512];

	set("1", NULL, NULL);
	capture_start(&out, 1);
	errno = ENOLCK;
	dapl_log(DAPL_LOG_ERR, "x: %m");
	assert_int_equal(errno, ENOLCK);
	capture_end(&out, o, sizeof(o));
	assert_non_null(strstr(o, strerror(ENOLCK)));
}

/* Nothing can be written to a descriptor that is open for reading. */
T(log__errno_survives_a_failed_write)
{
	int saved, fd, after_log, after_fail;

	fflush(stdout);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	saved = dup(1);
	assert_int_equal(dup2(fd, 1), 1);
	set("1", NULL, NULL);
	errno = ENOLCK;
	dapl_log(DAPL_LOG_ERR, "lost");
	after_log = errno;
	dapl_fail(DAT_ABORT, "lost too");
	after_fail = errno;
	dup2(saved, 1);
	close(saved);
	close(fd);
	assert_int_equal(after_log, ENOLCK);
	assert_int_equal(after_fail, ENOLCK);
}

T(log__long_text_is_one_bounded_line)
{
	struct capture out;
	char o[8192], big[5000];

	memset(big, 'y', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	set("1", NULL, NULL);
	capture_start(&out, 1);
	dapl_log(DAPL_LOG_ERR, "%s", big);
	capture_end(&out, o, sizeof(o));
	assert_true(strlen(o) < 1400);
	assert_ptr_equal(strchr(o, '\n'), o + strlen(o) - 1);
	assert_string_equal(o + strlen(o) - 5, "y...\n");
}

T(log__control_characters_are_replaced)
{
	struct capture out;
	char o[512];

	set("1", NULL, NULL);
	capture_start(&out, 1);
	dapl_log(DAPL_LOG_ERR, "a\nforged\x1b[2J\x7f\tz");
	capture_end(&out, o, sizeof(o));
	assert_non_null(strstr(o, "a forged?[2J? z\n"));
}

static void *one_line(void *arg)
{
	for (int i = 0; i < 50; i++)
		dapl_log(DAPL_LOG_ERR, "%s",
			 "0123456789012345678901234567890123456789 end");
	return NULL;
}

T(log__lines_of_threads_do_not_mix)
{
	static char o[65536];
	struct capture out;
	int i, n = 0, whole = 0;
	pthread_t t[4];
	char *line, *save = NULL;

	set("1", NULL, NULL);
	capture_start(&out, 1);
	for (i = 0; i < 4; i++)
		n += !pthread_create(&t[i], NULL, one_line, NULL);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	capture_end(&out, o, sizeof(o));
	assert_int_equal(n, 4);
	for (line = strtok_r(o, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		whole += matches(line,
				 "^[^:]*:TEST:[0-9a-f]+:[0-9a-f]+: [0-9]+ us"
				 "\\([0-9]+ us(!!!)?\\): [0-9]{40} end$");
	assert_int_equal(whole, 200);
}

/* In a child: the table is shown once in the life of a process. */
T(setup__help_is_shown_once)
{
	struct capture out;
	char o[4096], *first;
	int status;
	pid_t pid;

	capture_start(&out, 1);
	pid = fork();
	if (!pid) {
		set("help", NULL, NULL);
		set("help", NULL, NULL);
		_exit(dapl__log_mask != 0);
	}
	waitpid(pid, &status, 0);
	capture_end(&out, o, sizeof(o));
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	first = strstr(o, "DAPL_DBG_TYPE");
	assert_non_null(first);
	assert_null(strstr(first + 1, "DAPL_DBG_TYPE"));
	assert_non_null(strstr(o, "  0x10000  connection warnings\n"));
	assert_non_null(strstr(o, "0x1  errors\n"));
}

T(fail__returns_stores_and_hands_over)
{
	DAT_RETURN ret = (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_STATE;

	errno = ENOTTY;
	assert_int_equal(dapl_fail_errno(-EBUSY, "cm %d", 4), -EBUSY);
	assert_string_equal(dapl__fail_text(), "cm 4");
	assert_int_equal(dapl_fail(ret, "evd %d: %m", 5), ret);
	assert_int_equal(errno, ENOTTY);
	assert_string_equal(dapl__fail_text(),
			    "evd 5: Inappropriate ioctl for device");
	assert_string_equal(detail, dapl__fail_text());
}

T(fail__may_quote_the_text_before)
{
	dapl_fail(DAT_ABORT, "inner");
	dapl_fail(DAT_ABORT, "outer: %s", dapl__fail_text());
	assert_string_equal(dapl__fail_text(), "outer: inner");
}

T(fail__is_logged_as_an_error)
{
	struct capture out;
	char o[512];

	set("1", NULL, NULL);
	capture_start(&out, 1);
	dapl_fail(DAT_ABORT, "why");
	capture_end(&out, o, sizeof(o));
	assert_non_null(strstr(o, "): why\n"));
}

T(fail__is_bounded)
{
	char big[4000];

	memset(big, 'z', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	dapl_fail(DAT_ABORT, "%s", big);
	assert_int_equal(strlen(dapl__fail_text()), 1023);
	assert_string_equal(dapl__fail_text() + 1020, "...");
}

static void *other_thread(void *arg)
{
	char *before = strdup(dapl__fail_text());

	dapl_fail(DAT_ABORT, "of the other thread");
	return before;
}

T(fail__text_is_per_thread)
{
	void *before;
	pthread_t t;

	dapl_fail(DAT_ABORT, "mine");
	assert_int_equal(pthread_create(&t, NULL, other_thread, NULL), 0);
	assert_int_equal(pthread_join(t, &before), 0);
	assert_string_equal(before, "");
	free(before);
	assert_string_equal(dapl__fail_text(), "mine");
}

T(err_dat__table)
{
	static const struct {
		int err;
		DAT_RETURN type, sub;
	} rows[] = {
		{EINVAL, DAT_INVALID_PARAMETER, 0},
		{EMSGSIZE, DAT_INVALID_PARAMETER, 0},
		{EFAULT, DAT_INVALID_PARAMETER, 0},
		{ENOMEM, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY},
		{EMFILE, DAT_INSUFFICIENT_RESOURCES, 0},
		{ENFILE, DAT_INSUFFICIENT_RESOURCES, 0},
		{ENOBUFS, DAT_INSUFFICIENT_RESOURCES, 0},
		{ENOSPC, DAT_INSUFFICIENT_RESOURCES, 0},
		{ENODEV, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE},
		{ENXIO, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE},
		{ENOENT, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE},
		{EAGAIN, DAT_INSUFFICIENT_RESOURCES, 0},
		{ETIMEDOUT, DAT_TIMEOUT_EXPIRED, 0},
		{EINTR, DAT_INTERRUPTED_CALL, 0},
		{EADDRINUSE, DAT_CONN_QUAL_IN_USE, 0},
		{EADDRNOTAVAIL, DAT_INVALID_ADDRESS,
		 DAT_INVALID_ADDRESS_UNREACHABLE},
		{ENETUNREACH, DAT_INVALID_ADDRESS,
		 DAT_INVALID_ADDRESS_UNREACHABLE},
		{EHOSTUNREACH, DAT_INVALID_ADDRESS,
		 DAT_INVALID_ADDRESS_UNREACHABLE},
		{EAFNOSUPPORT, DAT_INVALID_ADDRESS,
		 DAT_INVALID_ADDRESS_MALFORMED},
		{EACCES, DAT_PRIVILEGES_VIOLATION, 0},
		{EPERM, DAT_PROTECTION_VIOLATION, 0},
		{EOVERFLOW, DAT_LENGTH_ERROR, 0},
		{EBUSY, DAT_INVALID_STATE, 0},
		{ECONNABORTED, DAT_INVALID_STATE, 0},
		{EISCONN, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED},
		{ENOTCONN, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED},
		{ECONNREFUSED, DAT_INVALID_STATE,
		 DAT_INVALID_STATE_EP_NOTREADY},
		{EALREADY, DAT_INVALID_STATE,
		 DAT_INVALID_STATE_EP_ACTCONNPENDING},
		{EOPNOTSUPP, DAT_MODEL_NOT_SUPPORTED, 0},
		{ENOSYS, DAT_MODEL_NOT_SUPPORTED, 0},
		{EIO, DAT_INTERNAL_ERROR, 0},
		{4095, DAT_INTERNAL_ERROR, 0},
	};
	DAT_RETURN ret;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ret = dapl_err_dat(-rows[i].err);
		assert_int_equal(ret & DAT_CLASS_ERROR, DAT_CLASS_ERROR);
		assert_int_equal(DAT_GET_TYPE(ret), rows[i].type);
		assert_int_equal(DAT_GET_SUBTYPE(ret), rows[i].sub);
	}
}

/* A forgotten minus sign upstream, or nonsense, never turns into success. */
T(err_dat__every_other_value_is_an_error)
{
	int err;

	assert_int_equal(dapl_err_dat(0), DAT_SUCCESS);
	for (err = -4200; err <= 4200; err++)
		if (err)
			assert_true(dapl_err_dat(err) & DAT_CLASS_ERROR);
	assert_int_equal(dapl_err_dat(INT32_MIN),
			 (DAT_RETURN)DAT_CLASS_ERROR | DAT_INTERNAL_ERROR);
}

RUN_CASES(NULL, clean)
