/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_addr.c - dapl_addr_netdev, dapl_addr_numeric, dapl_addr_netdevs_text,
 * dapl_addr_peer, dapl_addr_port.
 *
 * Pure functions: no device, no thread. Lists of interfaces are made up here.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dapl/common/cm/base/dapl_addr.h"

/* A made-up list of interfaces. */
struct entry {
	struct ifaddrs ifa;
	struct sockaddr_storage addr;
};

static struct ifaddrs *make(struct entry *e, int n, const char *const (*def)[2])
{
	for (int i = 0; i < n; i++) {
		memset(&e[i], 0, sizeof(e[i]));
		e[i].ifa.ifa_name = (char *)def[i][0];
		e[i].ifa.ifa_next = i + 1 < n ? &e[i + 1].ifa : NULL;
		if (!def[i][1])
			continue;
		assert_int_equal(dapl_addr_numeric(def[i][1], &e[i].addr), 0);
		e[i].ifa.ifa_addr = (struct sockaddr *)&e[i].addr;
	}
	return &e[0].ifa;
}

static const char *const some[][2] = {
	{"bare0", NULL},      {"lo", "127.0.0.1"},    {"ib0", NULL},
	{"ib0", "fe80::1"},   {"ib0", "2001:db8::1"}, {"ib0", "192.0.2.1"},
	{"ib0", "192.0.2.2"}, {"ib0:1", "192.0.2.3"}, {"v6", "fe80::2"},
};
#define SOME 9

static void is_addr(const struct sockaddr_storage *addr, const char *text)
{
	char buf[64];

	dapl_addr_text((const struct sockaddr *)addr, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

static void netdev__order_of_addresses(void **state)
{
	struct entry e[SOME];
	struct ifaddrs *ifs = make(e, SOME, some);
	struct dapl_addrs a;

	assert_int_equal(dapl_addr_netdev(ifs, "ib0", &a), 0);
	assert_int_equal(a.n, 4);
	is_addr(&a.addr[0], "192.0.2.1");
	is_addr(&a.addr[1], "192.0.2.2");
	is_addr(&a.addr[2], "2001:db8::1");
	is_addr(&a.addr[3], "fe80::1");
	assert_int_equal(dapl_addr_netdev(ifs, "ib0:1", &a), 0);
	assert_int_equal(a.n, 1);
	is_addr(&a.addr[0], "192.0.2.3");
}

static void netdev__missing_or_bare(void **state)
{
	struct entry e[SOME];
	struct ifaddrs *ifs = make(e, SOME, some);
	struct dapl_addrs a = {.n = -1};

	assert_int_equal(dapl_addr_netdev(ifs, "ib1", &a), -ENODEV);
	assert_int_equal(dapl_addr_netdev(NULL, "ib0", &a), -ENODEV);
	assert_int_equal(dapl_addr_netdev(ifs, "bare0", &a), -EADDRNOTAVAIL);
	assert_int_equal(a.n, -1);
}

static void netdev__more_addresses_than_room(void **state)
{
	const char *many[DAPL_ADDRS_MAX + 3][2];
	struct entry e[DAPL_ADDRS_MAX + 3];
	struct dapl_addrs a;

	for (int i = 0; i < DAPL_ADDRS_MAX + 3; i++) {
		many[i][0] = "x";
		many[i][1] = "192.0.2.9";
	}
	assert_int_equal(
		dapl_addr_netdev(make(e, DAPL_ADDRS_MAX + 3, many), "x", &a),
		0);
	assert_int_equal(a.n, DAPL_ADDRS_MAX);
}

static void netdevs_text__lists_and_cuts(void **state)
{
	struct entry e[SOME];
	struct ifaddrs *ifs = make(e, SOME, some);
	char buf[512], small[12];

	dapl_addr_netdevs_text(ifs, buf, sizeof(buf));
	assert_string_equal(buf, "lo 127.0.0.1, ib0 fe80::1, ib0 2001:db8::1, "
				 "ib0 192.0.2.1, ib0 192.0.2.2, "
				 "ib0:1 192.0.2.3, v6 fe80::2");
	dapl_addr_netdevs_text(ifs, small, sizeof(small));
	assert_string_equal(small, "lo 127.0.0.");
	dapl_addr_netdevs_text(NULL, buf, sizeof(buf));
	assert_string_equal(buf, "none");
}

static void numeric__forms(void **state)
{
	struct sockaddr_storage a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;

	assert_int_equal(dapl_addr_numeric("192.0.2.1", &a), 0);
	assert_int_equal(a.ss_family, AF_INET);
	assert_int_equal(dapl_addr_numeric("2001:db8::5", &a), 0);
	assert_int_equal(a.ss_family, AF_INET6);
	assert_int_equal(v6->sin6_scope_id, 0);
	assert_int_equal(dapl_addr_numeric("fe80::1%7", &a), 0);
	assert_int_equal(v6->sin6_scope_id, 7);
	assert_int_equal(dapl_addr_numeric("fe80::1%lo", &a), 0);
	assert_int_equal(v6->sin6_scope_id, if_nametoindex("lo"));
}

static void numeric__not_an_address(void **state)
{
	static const char *const bad[] = {
		"",
		"1",
		"192.0.2",
		"192.0.2.256",
		"host",
		"fe80::1%",
		"fe80::1%nope",
		"fe80::1%0",
		"%lo",
		"fe80::1%7x",
		"192.0.2.1%lo",
		":::",
		"1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:0:1:2:3:4:5:6:7:8"};
	struct sockaddr_storage a = {.ss_family = 99};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(dapl_addr_numeric(bad[i], &a), -EINVAL);
	assert_int_equal(a.ss_family, 99);
}

static void addr(const char *text, struct sockaddr_storage *ret)
{
	assert_int_equal(dapl_addr_numeric(text, ret), 0);
}

static int peer(const char *own, const char *to, uint16_t port,
		struct sockaddr_storage *ret)
{
	struct sockaddr_storage o, t;

	addr(own, &o);
	addr(to, &t);
	return dapl_addr_peer(&o, (struct sockaddr *)&t, port, ret);
}

static void peer__address_and_port(void **state)
{
	struct sockaddr_storage a;

	assert_int_equal(peer("192.0.2.1", "192.0.2.2", 39532, &a), 0);
	is_addr(&a, "192.0.2.2");
	assert_int_equal(dapl_addr_port(&a), 39532);
	assert_int_equal(peer("2001:db8::1", "2001:db8::2", 5, &a), 0);
	is_addr(&a, "2001:db8::2");
	assert_int_equal(dapl_addr_port(&a), 5);
}

static void peer__link_local_gets_our_scope(void **state)
{
	struct sockaddr_storage a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;

	assert_int_equal(peer("fe80::1%3", "fe80::2", 5, &a), 0);
	assert_int_equal(v6->sin6_scope_id, 3);
	assert_int_equal(peer("fe80::1%3", "fe80::2%4", 5, &a), 0);
	assert_int_equal(v6->sin6_scope_id, 4);
	assert_int_equal(peer("fe80::1%3", "2001:db8::2", 5, &a), 0);
	assert_int_equal(v6->sin6_scope_id, 0);
}

static void peer__family_left_out_is_ipv4(void **state)
{
	struct sockaddr_storage own, to, a;

	addr("192.0.2.1", &own);
	addr("192.0.2.2", &to);
	to.ss_family = AF_UNSPEC;
	assert_int_equal(dapl_addr_peer(&own, (struct sockaddr *)&to, 5, &a),
			 0);
	is_addr(&a, "192.0.2.2");
}

static void peer__unusable(void **state)
{
	struct sockaddr_storage own, to, a = {.ss_family = 99};

	assert_int_equal(peer("192.0.2.1", "2001:db8::1", 5, &a),
			 -EAFNOSUPPORT);
	assert_int_equal(peer("2001:db8::1", "192.0.2.1", 5, &a),
			 -EAFNOSUPPORT);
	assert_int_equal(peer("192.0.2.1", "0.0.0.0", 5, &a), -EADDRNOTAVAIL);
	assert_int_equal(peer("192.0.2.1", "224.0.0.1", 5, &a), -EADDRNOTAVAIL);
	assert_int_equal(peer("192.0.2.1", "255.255.255.255", 5, &a),
			 -EADDRNOTAVAIL);
	assert_int_equal(peer("2001:db8::1", "::", 5, &a), -EADDRNOTAVAIL);
	assert_int_equal(peer("2001:db8::1", "ff02::1", 5, &a), -EADDRNOTAVAIL);
	addr("192.0.2.1", &own);
	addr("192.0.2.2", &to);
	to.ss_family = 77;
	assert_int_equal(dapl_addr_peer(&own, (struct sockaddr *)&to, 5, &a),
			 -EAFNOSUPPORT);
	assert_int_equal(a.ss_family, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netdev__order_of_addresses),
		cmocka_unit_test(netdev__missing_or_bare),
		cmocka_unit_test(netdev__more_addresses_than_room),
		cmocka_unit_test(netdevs_text__lists_and_cuts),
		cmocka_unit_test(numeric__forms),
		cmocka_unit_test(numeric__not_an_address),
		cmocka_unit_test(peer__address_and_port),
		cmocka_unit_test(peer__link_local_gets_our_scope),
		cmocka_unit_test(peer__family_left_out_is_ipv4),
		cmocka_unit_test(peer__unusable),
	};

	return cmocka_run_group_tests_name("t_dapl_addr", tests, NULL, NULL);
}
