/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_addr.c - scm_qual_port, scm_addr_device,
 * scm_addr_any, scm_addr_named. Interfaces are made up, and sysfs is a
 * temporary directory.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dapl/openib_scm/scm_addr.h"
#include "test/unit/made_ifs.h"

CASE(scm_qual_port__rule)
{
	static const struct {
		DAT_CONN_QUAL qual;
		unsigned port;
	} rows[] = {
		{0, 1000},    {1, 1001},     {45248, 46248}, {64535, 65535},
		{65535, 999}, {65536, 1000}, {70000, 5464},  {1ULL << 32, 1000},
	};
	uint16_t port = 7;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(scm_qual_port(rows[i].qual, &port), 0);
		assert_int_equal(port, rows[i].port);
	}
	port = 7;
	assert_int_equal(scm_qual_port(64536, &port), -EINVAL);
	assert_int_equal(scm_qual_port(64536 + 65536, &port), -EINVAL);
	assert_int_equal(port, 7);
}

static void any_is(const struct made_if *def, const char *expected)
{
	struct sockaddr_storage addr;
	char text[64];

	assert_int_equal(scm_addr_any(made_ifs(def), &addr), 0);
	dapl_addr_text((struct sockaddr *)&addr, text, sizeof(text));
	assert_string_equal(text, expected);
}

#define LO (IFF_UP | IFF_LOOPBACK)

CASE(any__order)
{
	any_is((const struct made_if[]){{"lo", "127.0.0.1", LO},
					{"ib0", "192.0.2.1", IFF_UP},
					{"eth0", "2001:db8::1", IFF_UP},
					{"eth0", "192.0.2.2", IFF_UP},
					{"eth1", "192.0.2.3", IFF_UP},
					{NULL, NULL, 0}},
	       "192.0.2.2");
	any_is((const struct made_if[]){{"eth0", "192.0.2.2", 0},
					{"eth1", "2001:db8::1", IFF_UP},
					{"ib0", "192.0.2.1", IFF_UP},
					{NULL, NULL, 0}},
	       "192.0.2.1");
	any_is((const struct made_if[]){{"eth0", "fe80::1%1", IFF_UP},
					{"eth1", "2001:db8::1", IFF_UP},
					{NULL, NULL, 0}},
	       "2001:db8::1");
}

CASE(any__nothing_fits)
{
	const struct made_if def[] = {{"lo", "127.0.0.1", LO},
				      {"eth0", "192.0.2.2", 0},
				      {"eth1", NULL, IFF_UP},
				      {NULL, NULL, 0}};
	struct sockaddr_storage addr = {.ss_family = 99};

	assert_int_equal(scm_addr_any(made_ifs(def), &addr), -EADDRNOTAVAIL);
	assert_int_equal(scm_addr_any(NULL, &addr), -EADDRNOTAVAIL);
	assert_int_equal(addr.ss_family, 99);
}

static void named_is(const char *name, const char *expected)
{
	const struct made_if def[] = {
		{"eth0", "fe80::1%1", IFF_UP}, {"eth0", "192.0.2.1", IFF_UP},
		{"eth0", "192.0.2.2", IFF_UP}, {"eth0", "2001:db8::1", IFF_UP},
		{"eth1", NULL, IFF_UP},	       {NULL, NULL, 0}};
	struct sockaddr_storage addr;
	char text[64];

	assert_int_equal(scm_addr_named(made_ifs(def), name, &addr), 0);
	dapl_addr_text((struct sockaddr *)&addr, text, sizeof(text));
	assert_string_equal(text, expected);
	assert_int_equal(scm_addr_named(made_ifs(def), "eth1", &addr),
			 -EADDRNOTAVAIL);
	assert_int_equal(scm_addr_named(made_ifs(def), "eth2", &addr), -ENODEV);
	assert_int_equal(scm_addr_named(made_ifs(def), "192.0.2.3", &addr),
			 -ENODEV);
}

CASE(named__interface_or_address)
{
	char local[32];

	named_is("eth0", "192.0.2.1");
	named_is("192.0.2.2", "192.0.2.2");
	named_is("2001:db8:0::1", "2001:db8::1");
	snprintf(local, sizeof(local), "fe80::1%%%s", "lo");
	named_is("fe80::1", local);
}

/* ------------------------------------------------------------- sysfs */

static char root[] = "/tmp/t_scm_addr.XXXXXX";

static void ndev_path(char *path, size_t size, int index)
{
	static const char *const dirs[] = {
		"/class",
		"/class/infiniband",
		"/class/infiniband/rxe0",
		"/class/infiniband/rxe0/ports",
		"/class/infiniband/rxe0/ports/1",
		"/class/infiniband/rxe0/ports/1/gid_attrs",
		"/class/infiniband/rxe0/ports/1/gid_attrs/ndevs",
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, size, "%s%s", root, dirs[i]);
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
	snprintf(path + strlen(path), size - strlen(path), "/%d", index);
}

/* Entry INDEX of the table; without NAME it is not in use: cannot be read. */
static void ndev(int index, const char *name)
{
	char path[256];
	FILE *f;

	ndev_path(path, sizeof(path), index);
	if (!name) {
		assert_int_equal(mkdir(path, 0700), 0);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", name);
	fclose(f);
}

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

CASE_WITH(device__interface_of_the_port, make_root, remove_root)
{
	const struct made_if def[] = {
		{"eth0", "192.0.2.2", IFF_UP}, {"down0", "192.0.2.3", 0},
		{"bare0", NULL, IFF_UP},       {"eth1", "2001:db8::1", IFF_UP},
		{"eth1", "192.0.2.4", IFF_UP}, {NULL, NULL, 0}};
	struct sockaddr_storage addr = {.ss_family = 99};
	struct ifaddrs *ifs = made_ifs(def);
	char text[64];

	ndev(0, NULL);
	ndev(1, "down0");
	assert_int_equal(scm_addr_device(root, ifs, "rxe0", 1, &addr),
			 -ENETDOWN);
	ndev(2, "bare0");
	ndev(3, "gone0");
	assert_int_equal(scm_addr_device(root, ifs, "rxe0", 1, &addr), -ENODEV);
	ndev(4, "eth1");
	assert_int_equal(scm_addr_device(root, ifs, "rxe0", 2, &addr), -ENODEV);
	assert_int_equal(scm_addr_device(root, ifs, "rxe1", 1, &addr), -ENODEV);
	assert_int_equal(
		scm_addr_device(root, ifs, "../infiniband/rxe0", 1, &addr),
		-ENODEV);
	assert_int_equal(addr.ss_family, 99);
	assert_int_equal(scm_addr_device(root, ifs, "rxe0", 1, &addr), 0);
	dapl_addr_text((struct sockaddr *)&addr, text, sizeof(text));
	assert_string_equal(text, "192.0.2.4");
}

RUN_CASES(NULL, NULL)
