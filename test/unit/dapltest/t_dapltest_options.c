/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapltest_options.c - tests of the command line of dapltest.
 *
 * Calls covered: dpt_parse, dpt_parse_ops, dpt_parse_perf_op,
 * dpt_script_words.
 * Rule: letters, defaults and words of the historic tool.
 */
#include "test/dapltest/options.h"
#include "test/dtest/common/dt_report.h"
#include "test/unit/cmdline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the last command line came to, which it points into. */
static struct {
	int rc;
	struct dpt_opts o;
} p;

static int forget(void **state)
{
	if (p.rc < 0)
		dpt_opts_fini(&p.o);
	memset(&p, 0, sizeof(p));
	return cmdline_forget(NULL);
}

static void parse(const char *line)
{
	forget(NULL);
	p.rc = cmdline_parse("dapltest", dpt_parse, line, &p.o);
}

CASE(parse__alone_is_a_server)
{
	parse("");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.test, DPT_SERVER);
	assert_string_equal(p.o.device, "ofa-v2-ib0");
	assert_int_equal(p.o.port, 62000);
	assert_int_equal(p.o.qos, DAT_QOS_BEST_EFFORT);
	assert_int_equal(p.o.timeout_s, 30);
	assert_null(p.o.json_path);
}

CASE(parse__test_is_named_by_its_first_letter)
{
	static const struct {
		const char *line;
		enum dpt_test test;
	} rows[] = {
		{"-T S", DPT_SERVER},
		{"-TS", DPT_SERVER},
		{"-T Server -D x", DPT_SERVER},
		{"-T Q -s h", DPT_QUIT},
		{"-TQ -s h", DPT_QUIT},
		{"-T L", DPT_LIMIT},
		{"-T F -f pz", DPT_FUNCTION},
		{"-T P -s h RW", DPT_PERFORMANCE},
		{"-T Transaction -s h client SR server SR", DPT_TRANSACTION},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i].line);
		if (p.rc != -1 || p.o.test != rows[i].test)
			fail_msg("'%s': rc %d test %d: %s", rows[i].line, p.rc,
				 p.o.test, cmdline.err);
	}
}

CASE(parse__transaction_defaults)
{
	parse("-T T -s h client SR server SR");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.host, "h");
	assert_int_equal(p.o.iterations, 1000);
	assert_int_equal(p.o.threads, 1);
	assert_int_equal(p.o.width, 1);
	assert_false(p.o.validate);
	assert_false(p.o.poll);
	assert_false(p.o.rsp);
	assert_int_equal(p.o.op_count, 2);
	assert_false(p.o.ops[0].server);
	assert_int_equal(p.o.ops[0].type, DPT_OP_SEND);
	assert_int_equal(p.o.ops[0].seg_size, 4096);
	assert_int_equal(p.o.ops[0].segs, 1);
	assert_true(p.o.ops[1].server);
}

CASE(parse__transaction_all_letters)
{
	parse("-T T -s h -Dx -n 47000 -d -d -R BE -i 7 -t 2 -w 3 -V -P -r "
	      "client RW 4096 1 server RR 1024 2 client SR 1024 3 -f "
	      "server SR 256 -f");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.device, "x");
	assert_int_equal(p.o.port, 47000);
	assert_int_equal(p.o.debug, 2);
	assert_int_equal(p.o.iterations, 7);
	assert_int_equal(p.o.threads, 2);
	assert_int_equal(p.o.width, 3);
	assert_true(p.o.validate);
	assert_true(p.o.poll);
	assert_true(p.o.rsp);
	assert_int_equal(p.o.op_count, 4 + DPT_VERIFY_OPS);
	assert_int_equal(p.o.ops[1].type, DPT_OP_READ);
	assert_true(p.o.ops[1].server);
	assert_int_equal(p.o.ops[1].seg_size, 1024);
	assert_int_equal(p.o.ops[1].segs, 2);
	assert_true(p.o.ops[2].deferred);
	assert_int_equal(p.o.ops[3].seg_size, 256);
	assert_int_equal(p.o.ops[3].segs, 1);
	assert_true(p.o.ops[3].deferred);
	/* What -V adds: server, client, server. */
	assert_true(p.o.ops[4].server);
	assert_false(p.o.ops[5].server);
	assert_true(p.o.ops[6].server);
	assert_int_equal(p.o.ops[6].seg_size, 4096);
}

CASE(parse__validation_brings_the_sends_that_are_needed)
{
	parse("-T T -s h -V client RW 64");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.op_count, 4);
}

CASE(parse__performance)
{
	parse("-T P -s h RR");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.pipeline, DPT_PIPELINE_ALL);
	assert_false(p.o.poll);
	assert_int_equal(p.o.ops[0].type, DPT_OP_READ);
	assert_int_equal(p.o.ops[0].seg_size, 4096);
	parse("-T P -s h -i 9 -p 16 -m p RW 65536 2");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.iterations, 9);
	assert_int_equal(p.o.pipeline, 16);
	assert_true(p.o.poll);
	assert_int_equal(p.o.ops[0].seg_size, 65536);
	assert_int_equal(p.o.ops[0].segs, 2);
	parse("-T P -s h -p all -m b RW");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.pipeline, DPT_PIPELINE_ALL);
}

CASE(parse__limits_and_cases_are_words)
{
	parse("-T L -D x -w 8 -m 137 limit_ia limit_pz");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.width, 8);
	assert_int_equal(p.o.max, 137);
	assert_int_equal(p.o.word_count, 2);
	assert_string_equal(p.o.words[1], "limit_pz");
	parse("-T F -D x -f mem -i 5 -t 3 -v 100 case2");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.feature, "mem");
	assert_int_equal(p.o.word_count, 1);
	assert_string_equal(p.o.words[0], "case2");
}

CASE(dapltest_parse__long_options)
{
	parse("-T T -s h --timeout 5 --json --quiet --no-check --no-rmr "
	      "--cpu 3 --warmup 7 client SR server SR");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.timeout_s, 5);
	assert_string_equal(p.o.json_path, "");
	assert_true(p.o.quiet);
	assert_true(p.o.no_check);
	assert_true(p.o.no_rmr);
	assert_int_equal(p.o.cpu, 3);
	assert_int_equal(p.o.warmup, 7);
	parse("-T T -s h -u client SR server SR");
	assert_int_equal(p.rc, -1);
	assert_true(p.o.ud);
	parse("-T L --json=/x/y");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.json_path, "/x/y");
}

CASE(parse__what_is_wrong_is_said)
{
	static const struct {
		const char *line;
		const char *says;
	} rows[] = {
		{"-D x", "first word must be -T"},
		{"foo", "first word must be -T"},
		{"-T", "expected S, T, P, Q, L or F"},
		{"-T C", "expected S, T, P, Q, L or F"},
		{"-T t", "expected S, T, P, Q, L or F"},
		{"-T Q", "which server?"},
		{"-T P RW", "which server?"},
		{"-T F", "which feature?"},
		{"-T S -D", "needs a value"},
		{"-T S -D ''", "empty"},
		{"-T S -i 3", "not an option of this test"},
		{"-T S x", "not an option"},
		{"-T S -- x", "not an option"},
		{"-T S -", "not an option"},
		{"-T S -n 0", "from 1 to 65535"},
		{"-T S -n 65536", "from 1 to 65535"},
		{"-T S -R XX", "expected one of BE|HT|LL|EC|PM"},
		{"-T S --nope", "not an option of this test"},
		{"-T S --timeout", "needs a value"},
		{"-T S --timeout 0", "from 1 to 86400"},
		{"-T L -n 5", "not an option of this test"},
		{"-T L --warmup 5", "not an option of this test"},
		{"-T P -s h -i 5 --warmup 5 RW", "nothing would be left"},
		{"-T S --cpu 1024", "from 0 to 1023"},
		{"-T T -s h", "no operations"},
		{"-T T -s h -u client RW client SR server SR",
		 "datagrams have no RDMA: SR only"},
		{"-T T -s h -u -V client SR server SR", "it is for RDMA"},
		{"-T T -s h -u -r client SR server SR", "an RSP has one"},
		{"-T T -s h -u client SR", "a server SR are needed"},
		{"-T P -s h -u RW", "a performance test is of RDMA"},
		{"-T T -s h -Q client SR server SR",
		 "not an option of this test"},
		{"-T T -s h -i 0 client SR server SR", "out of range"},
		{"-T T -s h -i 1x client SR server SR", "not a number"},
		{"-T T -s h -i -1 client SR server SR", "not a number"},
		{"-T T -s h -t 0 client SR server SR", "out of range"},
		{"-T T -s h -t 100 -w 11 client SR server SR",
		 "more than 1000"},
		{"-T T -s h client SR", "a server SR are needed"},
		{"-T T -s h server SR", "a client SR and"},
		{"-T T -s h client RW server SR", "a client SR and"},
		{"-T T -s h client XX server SR", "expected SR, RR or RW"},
		{"-T T -s h client", "expected SR, RR or RW"},
		{"-T T -s h SR", "expected client or server"},
		{"-T T -s h client SR 0 server SR", "from 1 to"},
		{"-T T -s h client SR 4k server SR", "from 1 to"},
		{"-T T -s h client SR 64 0 server SR", "from 1 to"},
		{"-T T -s h client SR 64 1 1 server SR",
		 "expected client or server"},
		{"-T T -s h client SR 1073741824 2 server SR", "1 GiB"},
		{"-T T -s h client RW -f client SR server SR", "SR only"},
		{"-T T -s h client SR -f server SR", "needs a server's -f"},
		{"-T T -s h client SR server SR -f", "needs a client's -f"},
		{"-T T -s h server SR -f client SR -f", "needs a client's -f"},
		{"-T P -s h", "no operation"},
		{"-T P -s h SR 64 1", "RR or RW"},
		{"-T P -s h RW 64 1 2", "one operation only"},
		{"-T P -s h -p 0 RW", "out of range"},
		{"-T P -s h -m x RW", "expected one of b|p"},
		{"-f", "first word must be -T"},
		{"-f /nonexistent/script", "No such file"},
		{"-f a b", "first word must be -T"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i].line);
		if (p.rc != DT_USAGE || !strstr(cmdline.err, rows[i].says) ||
		    cmdline.out[0])
			fail_msg("'%s': rc %d, said: %s", rows[i].line, p.rc,
				 cmdline.err);
	}
}

CASE(parse__no_more_than_100_operations)
{
	char line[4096] = "-T T -s h";

	for (int i = 0; i < 50; i++)
		strcat(line, " client SR server SR");
	parse(line);
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.op_count, 100);
	strcat(line, " client RW");
	parse(line);
	assert_int_equal(p.rc, DT_USAGE);
	/* -V has to find room for its own. */
	strcpy(line, "-T T -s h -V");
	for (int i = 0; i < 49; i++)
		strcat(line, " client SR server SR");
	parse(line);
	assert_int_equal(p.rc, DT_USAGE);
	assert_non_null(strstr(cmdline.err, "more than 97"));
}

CASE(dapltest_parse__help_and_version)
{
	static const char *const lines[] = {
		"--help",      "--version",   "-T S --help", "-T T --help",
		"-T P --help", "-T Q --help", "-T L --help", "-T F --help",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		parse(lines[i]);
		if (p.rc || !cmdline.out[0] || cmdline.err[0])
			fail_msg("'%s': rc %d", lines[i], p.rc);
	}
}

static int words(const char *text, char ***ret_argv)
{
	FILE *in = fmemopen((char *)text, strlen(text), "r");
	int n;

	assert_non_null(in);
	n = dpt_script_words(in, "dapltest", ret_argv);
	fclose(in);
	return n;
}

CASE(script__lines_make_one_command)
{
	char **argv;
	int n = words("# a comment\n-T T -s h\t-i 5\n\n client SR #x y\n"
		      "server SR",
		      &argv);

	assert_int_equal(n, 11);
	assert_string_equal(argv[0], "dapltest");
	assert_string_equal(argv[2], "T");
	assert_string_equal(argv[7], "client");
	assert_string_equal(argv[9], "server");
	assert_null(argv[11]);
	dpt_script_free(argv);
}

CASE(script__only_comments_is_no_command)
{
	char **argv;
	int n = words("#\n # x\n", &argv);

	assert_int_equal(n, 1);
	dpt_script_free(argv);
}

CASE(script__is_run_like_a_command_line)
{
	char path[] = "/tmp/t_dapltest.XXXXXX", line[64];
	static const char text[] = "-T L -m 5\nlimit_pz\n";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), "-f%s%s", i ? " " : "", path);
		parse(line);
		assert_int_equal(p.rc, -1);
		assert_int_equal(p.o.test, DPT_LIMIT);
		assert_int_equal(p.o.max, 5);
		assert_int_equal(p.o.word_count, 1);
	}
	unlink(path);
}

RUN_CASES(NULL, forget)
