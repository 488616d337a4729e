/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cma_addr.c - cma_target_parse, cma_qual_port, cma_addr_host, cma_addr_peer.
 *
 * Pure functions: no device, no thread. Lists of interfaces are made up here;
 * only the resolver's idea of "localhost" is the machine's own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "dapl/openib_cma/cma_addr.h"
#include "test/unit/made_ifs.h"

static void parse_ok(const char *text, const char *name, unsigned port)
{
	struct cma_target t;
	const char *why;

	assert_int_equal(cma_target_parse(text, &t, &why), 0);
	assert_string_equal(t.name, name);
	assert_int_equal(t.port, port);
}

static void parse_bad(const char *text, const char *expected)
{
	struct cma_target t = {.name = "untouched"};
	const char *why = NULL;

	assert_int_equal(cma_target_parse(text, &t, &why), -EINVAL);
	assert_string_equal(t.name, "untouched");
	assert_non_null(strstr(why, expected));
}

CASE(target_parse__two_words)
{
	parse_ok("ib0 0", "ib0", 0);
	parse_ok("  eth2\t 0x1 ", "eth2", 1);
	parse_ok("fe80::1%eth0 2", "fe80::1%eth0", 2);
	parse_ok("mic0:ib 1", "mic0:ib", 1);
	parse_ok("eth0 255", "eth0", 255);
}

CASE(target_parse__malformed)
{
	char text[400];

	parse_bad(NULL, "empty");
	parse_bad("", "empty");
	parse_bad("   ", "empty");
	parse_bad("ib0", "missing");
	parse_bad("ib0 ", "missing");
	parse_bad("ib0 x", "not a port");
	parse_bad("ib0 1x", "not a port");
	parse_bad("ib0 -1", "not a port");
	parse_bad("ib0 256", "not a port");
	parse_bad("ib0 99999999999999999999999", "not a port");
	parse_bad("ib0 0 1", "words after");
	parse_bad("ib0 0 gid=3", "options");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	parse_bad(text, "too long");
	memcpy(text + 300, " 0", 3);
	parse_bad(text, "too long");
}

CASE(cma_qual_port__rule)
{
	static const struct {
		DAT_CONN_QUAL qual;
		unsigned port;
	} rows[] = {
		{1, 1},
		{45248, 45248},
		{64536, 64536},
		{65535, 65535},
		{65536, 35068},
		{70000, 39532},
		{UINT64_MAX, UINT64_MAX % 32001 + 33534},
		{1ULL << 32, (1ULL << 32) % 32001 + 33534},
	};
	uint16_t port = 7;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(cma_qual_port(rows[i].qual, &port), 0);
		assert_int_equal(port, rows[i].port);
	}
	port = 7;
	assert_int_equal(cma_qual_port(0, &port), -EINVAL);
	assert_int_equal(port, 7);
}

CASE(host__only_addresses_of_this_host)
{
	static const struct made_if lo[] = {
		{"lo", "127.0.0.1", 0}, {"lo", "::1", 0}, {NULL, NULL, 0}};
	struct dapl_addrs a = {.n = -1};

	assert_int_equal(cma_addr_host(NULL, "localhost", &a), -EADDRNOTAVAIL);
	assert_int_equal(a.n, -1);
	assert_int_equal(cma_addr_host(made_ifs(lo), "localhost", &a), 0);
	assert_true(a.n >= 1);
	assert_int_equal(cma_addr_host(made_ifs(lo), "", &a), -ENOENT);
}

CASE(peer__port_of_the_qualifier)
{
	struct sockaddr_storage own, to, a = {.ss_family = 99};

	assert_int_equal(dapl_addr_numeric("192.0.2.1", &own), 0);
	assert_int_equal(dapl_addr_numeric("192.0.2.2", &to), 0);
	assert_int_equal(cma_addr_peer(&own, (struct sockaddr *)&to, 0, &a),
			 -EINVAL);
	assert_int_equal(a.ss_family, 99);
	assert_int_equal(cma_addr_peer(&own, (struct sockaddr *)&to, 70000, &a),
			 0);
	assert_int_equal(dapl_addr_port(&a), 39532);
}

RUN_CASES(NULL, NULL)
