/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_addr.c - dapl_addr_netdev, dapl_addr_numeric, dapl_addr_netdevs_text,
 * dapl_addr_peer, dapl_addr_port.
 *
 * Pure functions: no device, no thread. Lists of interfaces are made up here.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/made_ifs.h"

static const struct made_if some[] = {
	{"bare0", NULL, 0},	   {"lo", "127.0.0.1", 0},
	{"ib0", NULL, 0},	   {"ib0", "fe80::1", 0},
	{"ib0", "2001:db8::1", 0}, {"ib0", "192.0.2.1", 0},
	{"ib0", "192.0.2.2", 0},   {"ib0:1", "192.0.2.3", 0},
	{"v6", "fe80::2", 0},	   {NULL, NULL, 0},
};

static void is_addr(const struct sockaddr_storage *addr, const char *text)
{
	char buf[64];

	dapl_addr_text((const struct sockaddr *)addr, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

CASE(netdev__order_of_addresses)
{
	struct ifaddrs *ifs = made_ifs(some);
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

CASE(netdev__missing_or_bare)
{
	struct ifaddrs *ifs = made_ifs(some);
	struct dapl_addrs a = {.n = -1};

	assert_int_equal(dapl_addr_netdev(ifs, "ib1", &a), -ENODEV);
	assert_int_equal(dapl_addr_netdev(NULL, "ib0", &a), -ENODEV);
	assert_int_equal(dapl_addr_netdev(ifs, "bare0", &a), -EADDRNOTAVAIL);
	assert_int_equal(a.n, -1);
}

CASE(netdev__more_addresses_than_room)
{
	struct made_if many[DAPL_ADDRS_MAX + 4] = {{NULL, NULL, 0}};
	struct dapl_addrs a;

	for (int i = 0; i < DAPL_ADDRS_MAX + 3; i++)
		many[i] = (struct made_if){"x", "192.0.2.9", 0};
	assert_int_equal(dapl_addr_netdev(made_ifs(many), "x", &a), 0);
	assert_int_equal(a.n, DAPL_ADDRS_MAX);
}

CASE(netdevs_text__lists_and_cuts)
{
	struct ifaddrs *ifs = made_ifs(some);
	char buf[512], small[12];

	dapl_addr_netdevs_text(ifs, buf, sizeof(buf));
	assert_string_equal(buf, "lo 127.0.0.1, ib0 fe80::1, ib0:1 192.0.2.3, "
				 "v6 fe80::2");
	dapl_addr_netdevs_text(ifs, small, sizeof(small));
	assert_string_equal(small, "lo 127.0.0.");
	dapl_addr_netdevs_text(NULL, buf, sizeof(buf));
	assert_string_equal(buf, "none");
}

/* Eight at most, and first those that are worth a try. */
CASE(netdevs_text__live_ones_first)
{
	static const struct made_if many[] = {
		{"lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK},
		{"down", "192.0.2.1", 0},
		{"up", "192.0.2.2", IFF_UP},
		{"a", "192.0.2.3", 0},
		{"b", "192.0.2.4", 0},
		{"c", "192.0.2.5", 0},
		{"d", "192.0.2.6", 0},
		{"e", "192.0.2.7", 0},
		{"f", "192.0.2.8", 0},
		{NULL, NULL, 0},
	};
	char buf[512];

	dapl_addr_netdevs_text(made_ifs(many), buf, sizeof(buf));
	assert_string_equal(buf, "up 192.0.2.2, lo 127.0.0.1, down 192.0.2.1, "
				 "a 192.0.2.3, b 192.0.2.4, c 192.0.2.5, "
				 "d 192.0.2.6, e 192.0.2.7");
}

CASE(numeric__forms)
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

CASE(numeric__not_an_address)
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

CASE(peer__address_and_port)
{
	struct sockaddr_storage a;

	assert_int_equal(peer("192.0.2.1", "192.0.2.2", 39532, &a), 0);
	is_addr(&a, "192.0.2.2");
	assert_int_equal(dapl_addr_port(&a), 39532);
	assert_int_equal(peer("2001:db8::1", "2001:db8::2", 5, &a), 0);
	is_addr(&a, "2001:db8::2");
	assert_int_equal(dapl_addr_port(&a), 5);
}

CASE(peer__link_local_gets_our_scope)
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

CASE(peer__family_left_out_is_ipv4)
{
	struct sockaddr_storage own, to, a;

	addr("192.0.2.1", &own);
	addr("192.0.2.2", &to);
	to.ss_family = AF_UNSPEC;
	assert_int_equal(dapl_addr_peer(&own, (struct sockaddr *)&to, 5, &a),
			 0);
	is_addr(&a, "192.0.2.2");
}

CASE(peer__unusable)
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

CASE(is_gid__the_one_of_the_address)
{
	uint8_t gid[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
	struct sockaddr_storage a;

	addr("192.0.2.1", &a);
	assert_true(dapl_addr_is_gid(&a, gid));
	gid[0] = 1;
	assert_false(dapl_addr_is_gid(&a, gid));
	gid[0] = 0;
	gid[15] = 2;
	assert_false(dapl_addr_is_gid(&a, gid));
	addr("::ffff:192.0.2.2", &a);
	assert_true(dapl_addr_is_gid(&a, gid));
	addr("2001:db8::1", &a);
	assert_false(dapl_addr_is_gid(&a, gid));
	a.ss_family = AF_UNSPEC;
	assert_false(dapl_addr_is_gid(&a, gid));
}

RUN_CASES(NULL, NULL)
