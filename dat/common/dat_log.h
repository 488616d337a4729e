/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_log.h - messages of the registry, for those who ask for them.
 *
 * Silent until dat_log_setup() is given a mask. Does not decide what a failing
 * call tells its caller; dat_detail.h does.
 * Threads: any, after dat_log_setup(), which runs before there are others.
 * Ownership: keeps nothing that is passed in. errno is preserved.
 * Rule: bits of DAT_DBG_TYPE and DAT_DBG_DEST in libdat2(7), whose values are
 * historic; that 0 is the default is not.
 */
#ifndef DAT_LOG_H
#define DAT_LOG_H

enum dat_log_class {
	DAT_LOG_ERROR = 0x1,
	DAT_LOG_GENERAL = 0x2,
	DAT_LOG_STATIC = 0x4,  /* reading dat.conf */
	DAT_LOG_DYNAMIC = 0x8, /* providers that come and go */
	DAT_LOG_PROVIDER = 0x10,
	DAT_LOG_CONSUMER = 0x20,
};

enum dat_log_dest {
	DAT_LOG_STDOUT = 0x1,
	DAT_LOG_SYSLOG = 0x2,
	DAT_LOG_STDERR = 0x4,
	DAT_LOG_DESTS = 0x7,
};

/*
 * Where to if nobody says where: a program's, whose standard output others
 * read (dat_info). Most have none.
 */
extern const unsigned dats_log_dest
	__attribute__((weak, visibility("default")));

extern unsigned dat_log_mask;

/* DEST is a mask of enum dat_log_dest. */
void dat_log_setup(unsigned mask, unsigned dest);

void dat_log_write(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), cold));

#define dat_log(cls, ...)                                      \
	do {                                                   \
		if (__builtin_expect(dat_log_mask & (cls), 0)) \
			dat_log_write(__VA_ARGS__);            \
	} while (0)

#endif
