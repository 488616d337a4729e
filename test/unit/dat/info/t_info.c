/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_info.c - dat_info on machines that are made up.
 *
 * Covers what is told of names, ports, nodes, limits, files and variables. Made
 * up are sysfs, the nodes and /proc (sysfs_tree.h), network addresses, limits,
 * and what libibverbs knows. Nothing is opened but, in vain, by libdat2;
 * t_info.sh opens adapters. Cases are by dat_info(1).
 */
#include "test/unit/dat/sysfs_tree.h"

#include "dat/common/dat_static.h"
#include "dat/info/info.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <sys/resource.h>

#define T(name) CASE_WITH(name, make, remove_all)

/*
 * What the machine says.
 */

static int open_errno;	    /* of the nodes; 0: they are files */
static const char *address; /* of interface eth1; NULL: none */
static rlim_t memlock;
static bool has_driver;

/* Large files: open() is open64() to the linker, and so is getrlimit(). */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode)
{
	if (open_errno && strstr(path, "/dev/")) {
		errno = open_errno;
		return -1;
	}
	return __real_open64(path, flags, mode);
}

int __wrap_getrlimit64(int which, struct rlimit *limit);
int __wrap_getrlimit64(int which, struct rlimit *limit)
{
	assert_int_equal(which, RLIMIT_MEMLOCK);
	limit->rlim_cur = limit->rlim_max = memlock;
	return 0;
}

int __wrap_getifaddrs(struct ifaddrs **list);
int __wrap_getifaddrs(struct ifaddrs **list)
{
	static char name[] = "eth1";
	static struct sockaddr_in in;
	static struct ifaddrs one;

	in.sin_family = AF_INET;
	one.ifa_name = name;
	one.ifa_addr = NULL;
	if (address && inet_pton(AF_INET, address, &in.sin_addr) == 1)
		one.ifa_addr = (struct sockaddr *)&in;
	*list = &one;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list);
void __wrap_freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

int info_verbs_port(const char *device, unsigned port, unsigned *ret_mtu)
{
	(void)device;
	(void)port;
	if (!has_driver)
		return -ENODEV;
	if (ret_mtu)
		*ret_mtu = 1024;
	return 0;
}

static int make(void **state)
{
	open_errno = 0;
	address = "10.1.2.3";
	memlock = RLIM_INFINITY;
	has_driver = true;
	/* no file of this machine, and no variable, has a say */
	setenv("DAT_OVERRIDE", "", 1);
	unsetenv("DAT_AUTO");
	unsetenv("DAPL_GID_INDEX");
	unsetenv("DAPL_SCM_NETDEV");
	tree_make(state);
	tree_file("lib/libdaplofa.so.2", "");
	tree_file("lib/libdaploscm.so.2", "");
	tree_file("lib/libdaploucm.so.2", "");
	tree_file("lib/libdaplcma.so.1", "");
	return 0;
}

static int remove_all(void **state)
{
	return tree_remove(state);
}

/*
 * Machines.
 */

static void gid(const char *device, int index, const char *text,
		const char *type)
{
	char path[128];

	snprintf(path, sizeof(path), "class/infiniband/%s/ports/1/gids/%d",
		 device, index);
	tree_file(path, text);
	if (!type)
		return;
	snprintf(path, sizeof(path),
		 "class/infiniband/%s/ports/1/gid_attrs/types/%d", device,
		 index);
	tree_file(path, type);
}

static void node(const char *device, int number)
{
	char path[128];

	snprintf(path, sizeof(path), "class/infiniband_verbs/uverbs%d/ibdev",
		 number);
	tree_file(path, device);
	snprintf(path, sizeof(path), "dev/uverbs%d", number);
	tree_file(path, "");
}

static void rdma_cm(void)
{
	tree_file("class/misc/rdma_cm/dev", "10:58");
	tree_file("dev/rdma_cm", "");
}

/* Soft-RoCE on eth1, as in the guest, up and with an address. */
static void roce(bool active)
{
	tree_device(&(struct tree_device){"rxe0", "1: CA", NULL, NULL});
	tree_port("rxe0", 1, active, "Ethernet");
	tree_interface("eth1", NULL, 0, TYPE_ETHERNET, "52:54:00:12:34:56");
	tree_gid("rxe0", 1, 0, "eth1");
	node("rxe0", 0);
	rdma_cm();
}

static void roce_gids(void)
{
	gid("rxe0", 0, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "IB/RoCE v1");
	gid("rxe0", 1, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2");
	gid("rxe0", 2, "0000:0000:0000:0000:0000:ffff:0a01:0203", "IB/RoCE v1");
	gid("rxe0", 3, "0000:0000:0000:0000:0000:ffff:0a01:0909", "RoCE v2");
	gid("rxe0", 4, "0000:0000:0000:0000:0000:ffff:0a01:0203", "RoCE v2");
	gid("rxe0", 5, "0000:0000:0000:0000:0000:0000:0000:0000", "RoCE v2");
}

static void iwarp(void)
{
	tree_device(&(struct tree_device){"siw0", "4: RNIC", NULL, NULL});
	tree_port("siw0", 1, true, "Ethernet");
	tree_interface("eth1", NULL, 0, TYPE_ETHERNET, "52:54:00:12:34:56");
	gid("siw0", 0, "5254:0012:3456:0000:0000:0000:0000:0000", NULL);
}

static void renamed_pair(void)
{
	tree_device(&(struct tree_device){"ibp59s0", "1: CA", "0000:3b:00.0",
					  "mlx5_core"});
	tree_port("ibp59s0", 1, true, "InfiniBand");
	gid("ibp59s0", 0, "fe80:0000:0000:0000:0002:c903:0000:0001", NULL);
	tree_device(&(struct tree_device){"ibp216s0", "1: CA", "0000:d8:00.0",
					  "mlx5_core"});
	tree_port("ibp216s0", 1, true, "InfiniBand");
	gid("ibp216s0", 0, "fe80:0000:0000:0000:0002:c903:0000:0002", NULL);
}

static void amazon(void)
{
	tree_device(&(struct tree_device){"rdmap0s6", "7: unspecified",
					  "0000:00:06.0", "efa"});
	tree_port("rdmap0s6", 1, true, "Unspecified");
}

/*
 * Looking at one.
 */

static char *said; /* by the last look */

enum look {
	LIST,
	LIST_ALL,
	DIGEST,
	GENERATE,
	LINT,
	CHECK,
	WHY,
};

static int look_at(enum look look, const char *name, const char *file,
		   bool json)
{
	char dev[64], proc[64], libs[64];
	struct info_host host = {tree, dev, proc, libs, true};
	struct info_out o = {.json = json};
	struct info info;
	size_t size;
	int rc = -1;

	free(said);
	o.f = open_memstream(&said, &size);
	assert_non_null(o.f);
	snprintf(dev, sizeof(dev), "%s/dev", tree);
	snprintf(proc, sizeof(proc), "%s/proc", tree);
	snprintf(libs, sizeof(libs), "%s/lib/", tree);
	assert_int_equal(info_begin(&info, &host, file), 0);
	switch (look) {
	case LIST:
	case LIST_ALL:
		rc = info_list(&info, &o, look == LIST_ALL);
		break;
	case DIGEST:
		rc = info_digest(&info, &o);
		break;
	case GENERATE:
		rc = info_generate(&info, &o);
		break;
	case LINT:
		rc = info_lint(&info, &o);
		break;
	case CHECK:
		rc = info_check(&info, &o);
		break;
	case WHY:
		rc = info_why(&info, &o, name);
		break;
	}
	info_end(&info);
	fclose(o.f);
	return rc;
}

/* What a dat.conf of this text makes of it. */
static int with_file(enum look look, const char *name, const char *text)
{
	char path[80];

	tree_file("dat.conf", text);
	snprintf(path, sizeof(path), "%s/dat.conf", tree);
	return look_at(look, name, path, false);
}

/* Without a file, as on most machines. */
static int look_alone(enum look look, const char *name)
{
	return with_file(look, name, "# empty");
}

static void has(const char *text)
{
	if (!strstr(said, text))
		fail_msg("no \"%s\" in:\n%s", text, said);
}

static void has_not(const char *text)
{
	if (strstr(said, text))
		fail_msg("\"%s\" in:\n%s", text, said);
}

/* NAME fails at the step WHAT, says TEXT and REMEDY, and goes no further. */
static void fails(const char *name, const char *what, const char *text,
		  const char *remedy)
{
	char begin[64];
	const char *at;

	assert_int_equal(look_alone(WHY, name), INFO_FAILED);
	snprintf(begin, sizeof(begin), "FAIL  %s: ", what);
	has(begin);
	at = strstr(said, begin);
	if (!strstr(at, text) || !strstr(at, remedy))
		fail_msg("no \"%s\" with \"%s\" in:\n%s", text, remedy, said);
	at = strstr(at, "remedy: ");
	assert_non_null(at);
	assert_string_equal(strchr(at, '\n'), "\n");
}

/* Member KEY of the first JSON line that has NAME; as text. */
static void is(const char *name, const char *key, const char *value)
{
	char line[1024], member[128];
	const char *at;

	assert_true(look_at(LIST, NULL, NULL, true) >= 0);
	snprintf(member, sizeof(member), "{\"name\":\"%s\"", name);
	has(member);
	at = strstr(said, member);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	snprintf(member, sizeof(member), "\"%s\":%s", key, value);
	if (!strstr(line, member))
		fail_msg("no %s in: %s", member, line);
}

/*
 * The list.
 */

T(list__no_device)
{
	assert_int_equal(look_alone(LIST, NULL), INFO_NO_ADAPTER);
	has("There is no name");
	has("finds none");
}

T(list__roce)
{
	roce(true);
	roce_gids();
	is("ofa-v2-rxe0-1s", "provider", "\"SCM\"");
	is("ofa-v2-rxe0-1s", "device", "\"rxe0\"");
	is("ofa-v2-rxe0-1s", "port", "1");
	is("ofa-v2-rxe0-1s", "interface", "\"eth1\"");
	is("ofa-v2-rxe0-1s", "state", "\"active\"");
	is("ofa-v2-rxe0-1s", "address", "\"10.1.2.3\"");
	is("ofa-v2-rxe0-1s", "mtu", "1024");
	is("ofa-v2-rxe0-1s", "gid", "\"::ffff:10.1.2.3\"");
	is("ofa-v2-rxe0-1s", "gid_kind", "\"RoCE v2, IPv4\"");
	is("ofa-v2-rxe0-1s", "from", "\"found\"");
	is("ofa-v2-eth1", "provider", "\"CMA\"");
	is("ofa-v2-eth1", "device", "\"rxe0\"");
	is("OpenIB-eth1", "api", "\"1.2\"");
	assert_int_equal(look_alone(LIST, NULL), INFO_NO_ADAPTER);
	has("name            api");
	has_not("older name");
}

T(list__gid_that_is_asked_for)
{
	roce(true);
	roce_gids();
	setenv("DAPL_GID_INDEX", "1", 1);
	is("ofa-v2-rxe0-1s", "gid_kind", "\"RoCE v2, link-local\"");
	/* the kernel chooses */
	is("ofa-v2-eth1", "gid_kind", "\"RoCE v2, IPv4\"");
}

T(list__netdev)
{
	roce(true);
	setenv("DAPL_SCM_NETDEV", "eth1", 1);
	is("ofa-v2-rxe0-1s", "address", "\"10.1.2.3\"");
	setenv("DAPL_SCM_NETDEV", "10.1.2.3", 1);
	is("ofa-v2-rxe0-1s", "address", "\"10.1.2.3\"");
	setenv("DAPL_SCM_NETDEV", "nope0", 1);
	is("ofa-v2-rxe0-1s", "address", "\"\"");
	is("ofa-v2-eth1", "address", "\"10.1.2.3\"");
}

T(list__file_that_cannot_be_read)
{
	roce(true);
	assert_int_equal(look_at(DIGEST, NULL, "/nonexistent/x", false),
			 INFO_NO_ADAPTER);
	has("names, first ofa-v2-rxe0-1s");
	assert_int_equal(look_at(LIST, NULL, "/nonexistent/x", false),
			 INFO_NO_ADAPTER);
	has("ofa-v2-rxe0-1s");
}

T(list__gids_that_are_left)
{
	roce(true);
	gid("rxe0", 0, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "IB/RoCE v1");
	is("ofa-v2-rxe0-1u", "gid_kind", "\"RoCE v1\"");
	gid("rxe0", 1, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2");
	is("ofa-v2-rxe0-1u", "gid_kind", "\"RoCE v2, link-local\"");
	gid("rxe0", 2, "fd00:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2");
	is("ofa-v2-rxe0-1u", "gid_kind", "\"RoCE v2, IPv6\"");
}

T(list__iwarp)
{
	iwarp();
	is("ofa-v2-eth1", "gid_kind", "\"iWARP\"");
	has_not("ofa-v2-siw0");
}

T(list__port_that_is_down)
{
	roce(false);
	is("ofa-v2-eth1", "state", "\"down\"");
}

T(list__two_renamed)
{
	const char *first;

	renamed_pair();
	is("ofa-v2-ibp59s0-1s", "gid_kind", "\"InfiniBand\"");
	look_alone(LIST, NULL);
	first = strstr(said, "ofa-v2-ibp59s0-1s");
	assert_non_null(first);
	assert_non_null(strstr(first, "ofa-v2-ibp216s0-1s"));
	has_not("mlx5_1");
	look_alone(LIST_ALL, NULL);
	has("ofa-v2-mlx5_1-1u");
	has("older name");
}

T(list__device_that_cannot)
{
	amazon();
	assert_int_equal(look_alone(LIST, NULL), INFO_NO_ADAPTER);
	has("rdmap0s6 port 1: not used, Amazon EFA has no reliable "
	    "connections");
}

T(list__lines_of_a_file)
{
	roce(true);
	with_file(
		LIST, NULL,
		"mine u2.0 threadsafe default libdaplofa.so.2 d.1.0 \"eth1 0\" "
		"\"\"\n"
		"away u2.0 threadsafe default libdaplofa.so.2 d.1.0 \"ib9 0\" "
		"\"\"\n"
		"their u2.0 threadsafe default libx.so d.1.0 \"a b\" \"\"");
	has("line 1");
	has("libx.so");
	has_not("away");
	with_file(
		LIST_ALL, NULL,
		"away u2.0 threadsafe default libdaplofa.so.2 d.1.0 \"ib9 0\" "
		"\"\"");
	has("absent");
}

/*
 * Digest, files.
 */

T(digest__equal_lists_have_equal_ones)
{
	char *first;

	renamed_pair();
	assert_int_equal(look_alone(DIGEST, NULL), INFO_PASSED);
	has(" 8 names, first ofa-v2-ibp59s0-1s\n");
	assert_string_equal(strchr(said, '\n'), "\n");
	first = strdup(said);
	tree_remove(NULL);
	tree_make(NULL);
	renamed_pair();
	look_alone(DIGEST, NULL);
	assert_string_equal(said, first);
	/* another order */
	tree_file("class/infiniband/ibp59s0/ports/1/state", "1: DOWN");
	look_alone(DIGEST, NULL);
	assert_string_not_equal(said, first);
	free(first);
}

T(generate__is_a_file_that_says_the_same)
{
	struct dat_conf conf;
	char *digest;

	roce(true);
	look_alone(DIGEST, NULL);
	digest = strdup(said);
	assert_int_equal(look_alone(GENERATE, NULL), INFO_PASSED);
	assert_int_equal(dat_conf_parse(said, strlen(said), &conf), 0);
	assert_int_equal(conf.n_diags, 0);
	assert_int_equal(conf.n_records, 6);
	assert_false(conf.alone);
	dat_conf_free(&conf);
	with_file(DIGEST, NULL, said);
	assert_string_equal(said, digest);
	free(digest);
}

T(generate__no_device)
{
	assert_int_equal(look_alone(GENERATE, NULL), INFO_NO_ADAPTER);
	assert_string_equal(said, "");
}

T(lint__good_and_bad)
{
	roce(true);
	assert_int_equal(
		with_file(LINT, NULL,
			  "a u2.0 threadsafe default libdaplofa.so.2 d.1.0 "
			  "\"eth1 0\" \"\""),
		INFO_PASSED);
	has("ok    dat.conf: 1 good lines");
	assert_int_equal(
		with_file(LINT, NULL,
			  "a u2.0 threadsave default libdaplofa.so.2 d.1.0 "
			  "\"eth1 0\" \"\""),
		INFO_FAILED);
	has("/dat.conf:1: column 8: write threadsafe or nonthreadsafe as "
	    "thread safety: found 'threadsave'");
}

/* FAIL or WARN of line LINE, with TEXT and, as the exit status, RC. */
static void lints(const char *line, int rc, const char *result,
		  const char *text)
{
	char text2[600], begin[120];
	const char *at;

	/* an empty line before it, and a good one behind */
	snprintf(text2, sizeof(text2),
		 "\n%s\nz u2.0 threadsafe default libdaplofa.so.2 d.1.0 "
		 "\"eth1 0\" \"\"\n",
		 line);
	assert_int_equal(with_file(LINT, NULL, text2), rc);
	snprintf(begin, sizeof(begin), "%-5s %s/dat.conf:2: ", result, tree);
	at = strstr(said, begin);
	if (!at || !strstr(at, text))
		fail_msg("no \"%s\" with \"%s\" in:\n%s", begin, text, said);
	has_not("dat.conf:3: ");
}

#define LINE(library, params) \
	"a u2.0 threadsafe default " library " d.1.0 \"" params "\" \"\""

T(lint__library)
{
	roce(true);
	lints(LINE("libdaplno.so.2", "x"), INFO_FAILED, "FAIL",
	      "a: cannot load libdaplno.so.2: cannot open shared object");
	lints(LINE("/nonexistent/libdaplofa.so.2", "eth1 0"), INFO_FAILED,
	      "FAIL", "/nonexistent/libdaplofa.so.2: No such file");
	lints(LINE("/dev/null", "x"), INFO_FAILED, "FAIL",
	      "/dev/null is not a regular file");
	lints(LINE("\"\"", "x"), INFO_FAILED, "FAIL", "has no name");
	lints(LINE("libdaplcma.so.1", "eth1 0"), INFO_FAILED, "FAIL",
	      "of this one it is libdaplofa.so.2");
	/* what the loader finds by itself, and what another stands in for */
	assert_int_equal(
		with_file(
			LINT, NULL,
			LINE("libc.so.6",
			     "x") "\n"
				  "b u2.0 threadsafe default libdaplomcm.so.2 "
				  "d.1.0 \"rxe0 1\" \"\"\n"),
		INFO_PASSED);
	has("2 good lines");
}

T(lint__words_that_go_on)
{
	roce(true);
	lints("a u2.0 threadsafe_not default libdaplofa.so.2 d.1.0 "
	      "\"eth1 0\" \"\"",
	      INFO_PASSED, "WARN", "field 3 goes on behind its word");
	lints("a u2.0 threadsafe defaults libdaplofa.so.2 d.1.0 "
	      "\"eth1 0\" \"\"",
	      INFO_PASSED, "WARN", "field 4 goes on behind its word");
}

T(lint__params)
{
	roce(true);
	roce_gids();
	lints(LINE("libdaploscm.so.2", "rxe0"), INFO_FAILED, "FAIL",
	      "the port number is missing");
	lints(LINE("libdaploscm.so.2", "rxe0 one"), INFO_FAILED, "FAIL",
	      "the second word is not a port number");
	lints(LINE("libdaploucm.so.2", "rxe0 256"), INFO_FAILED, "FAIL",
	      "the second word is not a port number");
	lints(LINE("libdaploucm.so.2", "rxe0 0"), INFO_FAILED, "FAIL",
	      "ports count from 1");
	lints(LINE("libdaploucm.so.2", "rxe0 2"), INFO_PASSED, "WARN",
	      "this machine has nothing behind \"rxe0 2\"");
	lints(LINE("libdaploscm.so.2", "rxe0 1 gid=x"), INFO_FAILED, "FAIL",
	      "the third word is not gid= and an index");
	lints(LINE("libdaploscm.so.2", "rxe0 1 gid=256"), INFO_FAILED, "FAIL",
	      "the third word is not gid= and an index");
	lints(LINE("libdaploscm.so.2", "rxe0 1 gid=9"), INFO_FAILED, "FAIL",
	      "no GID at index 9; in use are 0, 1, 2, 3, 4");
	/* the entry is there, and empty */
	lints(LINE("libdaploscm.so.2", "rxe0 1 gid=5"), INFO_PASSED, "WARN",
	      "no GID at index 5");
	lints(LINE("libdaplofa.so.2", "eth1 0 gid=1"), INFO_FAILED, "FAIL",
	      "no options are known");
	assert_int_equal(with_file(LINT, NULL,
				   LINE("libdaploscm.so.2", "rxe0 1 gid=0x1")),
			 INFO_PASSED);
	has("1 good lines");
	/* what the environment asks for is no mistake of the line */
	setenv("DAPL_GID_INDEX", "9", 1);
	assert_int_equal(
		with_file(LINT, NULL, LINE("libdaploscm.so.2", "rxe0 1")),
		INFO_PASSED);
	has("1 good lines");
}

T(lint__nul)
{
	static const char bad[] = "a u2.0 threadsafe default libdaplofa.so.2 "
				  "d.1.0 \"eth1\0 0\" \"\"\n";
	char path[80];
	FILE *f;

	roce(true);
	snprintf(path, sizeof(path), "%s/nul.conf", tree);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(bad, 1, sizeof(bad) - 1, f);
	fclose(f);
	assert_int_equal(look_at(LINT, NULL, path, false), INFO_FAILED);
	has("as ia_params: found a NUL byte");
	/* without which a directory cannot be emptied */
	unlink(path);
}

T(lint__doubts)
{
	roce(true);
	assert_int_equal(
		with_file(LINT, NULL,
			  "a u2.0 threadsafe default libdaplofa.so.2 d.1.0 "
			  "\"eth1 0\" \"\"\n"
			  "a u2.0 threadsafe default libdaploscm.so.2 d.1.0 "
			  "\"rxe0 1\" \"\"\n"
			  "b u2.0 threadsafe default libdaploscm.so.2 d.1.0 "
			  "\"mlx4_0 1\" \"\""),
		INFO_PASSED);
	has("/dat.conf:2: a: an earlier line");
	has("/dat.conf:3: b: this machine has nothing behind \"mlx4_0 1\"");
	has_not("dat.conf:1:");
}

T(lint__no_file)
{
	assert_int_equal(look_at(LINT, NULL, "/nonexistent/x", false),
			 INFO_NO_ADAPTER);
	has("FAIL  file: there is no /nonexistent/x");
}

/*
 * Why.
 */

T(why__up_to_the_library)
{
	roce(true);
	roce_gids();
	assert_int_equal(look_alone(WHY, "ofa-v2-eth1"), INFO_FAILED);
	has("ok    name: found: DAT 2.0, libdaplofa.so.2, \"eth1 0\"");
	has("ok    device: rxe0 port 1, interface eth1");
	has("ok    port 1 of rxe0: 4: ACTIVE");
	has("ok    address: 10.1.2.3");
	has("ok    GID of rxe0/1: index 4, ::ffff:10.1.2.3 (RoCE v2, IPv4)");
	has("ok    node of rxe0: ");
	has("ok    node of rdma_cm: ");
	has("ok    memlock here: no limit");
	/* the library of this program read another file */
	has("FAIL  library: ");
}

T(why__name_that_is_none)
{
	roce(true);
	fails("ofa-v2-nothing", "name", "there is no ofa-v2-nothing",
	      "dat_info lists");
	fails("OFA-v2-eth1", "name", "use \"ofa-v2-eth1\"", "dat_info");
}

T(why__device_that_cannot)
{
	amazon();
	fails("ofa-v2-rdmap0s6-1s", "name",
	      "Amazon EFA has no reliable connections", "dat_info lists");
	assert_int_equal(
		with_file(WHY, "a",
			  "a u2.0 threadsafe default libdaploscm.so.2 d.1.0 "
			  "\"rdmap0s6 1\" \"\""),
		INFO_FAILED);
	has("WARN  port 1 of rdmap0s6: not used: Amazon EFA");
}

T(why__device_that_is_away)
{
	const char *line = "a u2.0 threadsafe default libdaploscm.so.2 d.1.0 "
			   "\"mlx4_0 1\" \"\"";

	assert_int_equal(with_file(WHY, "a", line), INFO_FAILED);
	has("FAIL  device: nothing here is \"mlx4_0 1\"; there is no RDMA "
	    "device");
	roce(true);
	assert_int_equal(with_file(WHY, "a", line), INFO_FAILED);
	has("there is rxe0 port 1");
}

T(why__name_of_old)
{
	renamed_pair();
	look_alone(WHY, "ofa-v2-mlx5_1-1u");
	has("ok    name: older name: DAT 2.0, libdaploucm.so.2, \"ibp216s0 "
	    "1\"");
}

T(why__port_down)
{
	roce(false);
	fails("ofa-v2-eth1", "port 1 of rxe0", "not active: 1: DOWN",
	      "ip link set");
	renamed_pair();
	tree_file("class/infiniband/ibp59s0/ports/1/state", "2: INIT");
	fails("ofa-v2-ibp59s0-1s", "port 1 of ibp59s0", "not active: 2: INIT",
	      "opensm");
}

T(why__no_address)
{
	roce(true);
	roce_gids();
	address = NULL;
	fails("ofa-v2-eth1", "address", "interface eth1 has no address",
	      "ip addr add");
}

T(why__no_gid)
{
	roce(true);
	fails("ofa-v2-rxe0-1u", "GID of rxe0/1", "has no GID", "ip addr add");
	roce_gids();
	setenv("DAPL_GID_INDEX", "9", 1);
	fails("ofa-v2-rxe0-1u", "GID of rxe0/1",
	      "no GID at index 9, which DAPL_GID_INDEX asks for",
	      "correct or unset DAPL_GID_INDEX; in use are 0, 1, 2, 3, 4");
	/* the line goes before it */
	assert_int_equal(
		with_file(WHY, "a", LINE("libdaploucm.so.2", "rxe0 1 gid=8")),
		INFO_FAILED);
	has("no GID at index 8, which the line asks for");
	has("remedy: correct gid= in field 7 of the line");
	/* the kernel chooses */
	look_alone(WHY, "ofa-v2-eth1");
	has("ok    GID of rxe0/1: index 4");
}

T(why__params)
{
	roce(true);
	assert_int_equal(
		with_file(WHY, "a", LINE("libdaploscm.so.2", "rxe0 1 gid=x")),
		INFO_FAILED);
	has("FAIL  device: ia_params is \"rxe0 1 gid=x\", the third word");
	has("remedy: write \"<verbs device> <port>\"");
}

T(why__netdev)
{
	roce(true);
	roce_gids();
	setenv("DAPL_SCM_NETDEV", "nope0", 1);
	fails("ofa-v2-rxe0-1s", "address",
	      "nope0, which DAPL_SCM_NETDEV names, is neither an interface",
	      "set DAPL_SCM_NETDEV to");
	look_alone(WHY, "ofa-v2-rxe0-1u");
	has_not("nope0");
}

T(why__node_that_does_not_open)
{
	static const struct {
		int err;
		const char *remedy;
	} rows[] = {
		{EACCES, "GROUP=\"rdma\""},
		{ENOENT, "udevadm trigger"},
		{ENODEV, "load the driver again"},
		{ENXIO, "load the driver again"},
		{EPERM, "the container's device rules"},
	};

	roce(true);
	roce_gids();
	for (size_t i = 0; i < INFO_COUNT(rows); i++) {
		open_errno = rows[i].err;
		fails("ofa-v2-rxe0-1s", "node of rxe0", strerror(rows[i].err),
		      rows[i].remedy);
	}
}

T(why__modules)
{
	tree_device(&(struct tree_device){"rxe0", "1: CA", NULL, NULL});
	tree_port("rxe0", 1, true, "Ethernet");
	tree_interface("eth1", NULL, 0, TYPE_ETHERNET, "52:54:00:12:34:56");
	tree_gid("rxe0", 1, 0, "eth1");
	roce_gids();
	fails("ofa-v2-eth1", "node of rxe0", "ib_uverbs is not loaded",
	      "modprobe ib_uverbs");
	node("rxe0", 3);
	fails("ofa-v2-eth1", "node of rdma_cm", "rdma_ucm is not loaded",
	      "modprobe rdma_ucm");
	tree_file("class/misc/rdma_cm/dev", "10:58");
	fails("ofa-v2-eth1", "node of rdma_cm", "No such file",
	      "--device=/dev/infiniband");
	/* the others do without */
	look_alone(WHY, "ofa-v2-rxe0-1s");
	has_not("rdma_cm");
}

T(why__no_driver)
{
	roce(true);
	roce_gids();
	has_driver = false;
	fails("ofa-v2-eth1", "node of rxe0", "libibverbs has no driver",
	      "ibverbs-providers");
}

T(why__memlock)
{
	roce(true);
	roce_gids();
	memlock = 64 << 10;
	fails("ofa-v2-eth1", "memlock here", "64 KiB", "limits.d");
	memlock = 8 << 20;
	look_alone(WHY, "ofa-v2-eth1");
	has("WARN  memlock here: 8192 KiB");
	memlock = 64 << 10;
	tree_file("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000");
	look_alone(WHY, "ofa-v2-eth1");
	has("ok    memlock here: no limit");
}

T(why__name_of_1_2)
{
	roce(true);
	roce_gids();
	assert_int_equal(look_alone(WHY, "OpenIB-eth1"), INFO_PASSED);
	has("ok    open: not tried: this name is for programs of DAT 1.2");
}

T(why__file_that_is_not_there)
{
	setenv("DAT_OVERRIDE", "/nonexistent/x", 1);
	assert_int_equal(look_at(WHY, "a", NULL, false), INFO_FAILED);
	has("WARN  file: there is no /nonexistent/x");
	has("FAIL  name: there is no a");
}

/*
 * The whole machine.
 */

T(check__good)
{
	roce(true);
	roce_gids();
	assert_int_equal(look_alone(CHECK, NULL), INFO_PASSED);
	has("ok    devices: 1 ports");
	has("ok    GID of rxe0/1: index 4");
	has("WARN  MTU of rxe0/1: 1024");
	has("0 failed, ");
}

T(check__gid_that_is_asked_for)
{
	roce(true);
	roce_gids();
	setenv("DAPL_GID_INDEX", "3", 1);
	assert_int_equal(look_alone(CHECK, NULL), INFO_PASSED);
	has("ok    GID of rxe0/1: index 3, ::ffff:10.1.9.9");
	setenv("DAPL_GID_INDEX", "1", 1);
	look_alone(CHECK, NULL);
	has("WARN  GID of rxe0/1: index 1");
	has("remedy: ask for another index");
	setenv("DAPL_GID_INDEX", "9", 1);
	assert_int_equal(look_alone(CHECK, NULL), INFO_FAILED);
	has("FAIL  GID of rxe0/1: the port has no GID at index 9, which "
	    "DAPL_GID_INDEX asks for");
}

T(check__gid_of_infiniband)
{
	renamed_pair();
	gid("ibp59s0", 1, "fe80:0000:0000:0000:0002:c903:0000:0009", NULL);
	setenv("DAPL_GID_INDEX", "1", 1);
	look_alone(CHECK, NULL);
	has("GID of ibp59s0/1: index 1, fe80::2:c903:0:9");
	has("FAIL  GID of ibp216s0/1: the port has no GID at index 1");
}

T(check__nothing)
{
	assert_int_equal(look_alone(CHECK, NULL), INFO_FAILED);
	has("FAIL  devices: there is no RDMA device in ");
}

T(check__device_that_cannot)
{
	amazon();
	assert_int_equal(look_alone(CHECK, NULL), INFO_FAILED);
	has("FAIL  devices: no RDMA device here can do what DAT needs");
	has("WARN  port 1 of rdmap0s6: not used");
}

T(check__down_and_no_permission)
{
	roce(false);
	open_errno = EACCES;
	assert_int_equal(look_alone(CHECK, NULL), INFO_FAILED);
	has("FAIL  node of rxe0: ");
	has("FAIL  node of rdma_cm: ");
	has("FAIL  port 1 of rxe0: ");
	has("3 failed, ");
}

static void process(int pid, const char *name, const char *limit)
{
	char path[64], text[160];

	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	tree_file(path, name);
	snprintf(path, sizeof(path), "proc/%d/limits", pid);
	snprintf(text, sizeof(text),
		 "Limit                     Soft Limit   Hard Limit   Units\n"
		 "Max locked memory         %s   %s   bytes",
		 limit, limit);
	tree_file(path, text);
}

T(check__who_starts_jobs)
{
	roce(true);
	roce_gids();
	process(1, "systemd", "8388608");
	process(700, "slurmd", "unlimited");
	process(800, "sshd", "65536");
	process(900, "bash", "1");
	assert_int_equal(look_alone(CHECK, NULL), INFO_PASSED);
	has("WARN  memlock of systemd: what it starts can lock 8388608 bytes");
	has("DefaultLimitMEMLOCK");
	has("ok    memlock of slurmd: no limit");
	has("WARN  memlock of sshd: what it starts can lock 65536 bytes");
	has_not("bash");
}

/*
 * Variables.
 */

static int say_env(char *const *environment)
{
	struct info_out o = {.json = false};
	size_t size;

	free(said);
	o.f = open_memstream(&said, &size);
	assert_non_null(o.f);
	info_check_env(&o, environment);
	fclose(o.f);
	return (int)o.failed;
}

#define SAY_ENV(text) say_env((char *[]){(char[]){text}, NULL})

T(env__good_and_bad)
{
	assert_int_equal(SAY_ENV("PATH=/bin"), 0);
	assert_string_equal(said, "");
	assert_int_equal(SAY_ENV("DAPL_ACK_RETRY=7"), 0);
	has("ok    DAPL_ACK_RETRY: \"7\"");
	assert_int_equal(SAY_ENV("DAPL_ACK_RETRY=8"), 1);
	has("FAIL  DAPL_ACK_RETRY: '8' is not a number from 0 to 7; using 7");
	assert_int_equal(SAY_ENV("DAPL_ACK_RETRY=x"), 1);
	assert_int_equal(SAY_ENV("DAPL_ACK_RETRY="), 1);
	assert_int_equal(SAY_ENV("DAPL_WR_MAX=0x10"), 0);
	assert_int_equal(SAY_ENV("DAPL_WR_MAX=0"), 1);
	assert_int_equal(SAY_ENV("DAPL_DBG_TYPE=-1"), 0);
	assert_int_equal(SAY_ENV("DAPL_DBG_TYPE=help"), 0);
	assert_int_equal(SAY_ENV("DAPL_DBG_DEST=help"), 1);
	assert_int_equal(SAY_ENV("DAPL_SCM_PORT_RANGE=1"), 1);
	assert_int_equal(SAY_ENV("DAPL_SCM_PORT_RANGE=1-2"), 0);
	assert_int_equal(SAY_ENV("DAPL_UCM_TIMER=3"), 0);
	has("WARN  DAPL_UCM_TIMER: without effect");
}

T(env__what_the_libraries_do_not_take)
{
	static const struct {
		char text[64];
		const char *says;
	} bad[] = {
		{"DAPL_SCM_PORT_RANGE=5010-5000", "is not first-last; ignored"},
		{"DAPL_SCM_PORT_RANGE=abc", "is not first-last; ignored"},
		{"DAPL_SCM_PORT_RANGE=1-70000", "is not first-last; ignored"},
		{"DAPL_DBG_DEST=99", "bits that mean nothing: 0x60"},
		{"DAPL_DBG_TYPE=3x", "'3x' is not a number; using 0"},
		{"DAPL_WR_MAX=3000000000", "is not a number from 1 to"},
		{"DAPL_SCM_NETDEV=", "must have 1 to 63 characters"},
		{"DAPL_SCM_NETDEV=nope0", "nope0 is neither an interface nor"},
		{"DAT_DBG_DEST=99", "bits that mean nothing: 0x60"},
		{"DAT_DBG_DEST=x", "'x' is not a number; using 0"},
		{"DAT_DBG_TYPE=3x", "'3x' is not a number; using 0"},
		{"DAT_AUTO=yes", "'yes' is not a number from 0; ignored"},
		{"DAT_AUTO=", "'' is not a number from 0; ignored"},
		{"DAT_AUTO=-1", "'-1' is not a number from 0; ignored"},
	};
	static const char good[][40] = {
		"DAPL_ACK_RETRY= 7 ",	 "DAPL_DBG_DEST=-1",
		"DAPL_DBG_DEST=0x6",	 "DAPL_DBG_TYPE=0xffffffff",
		"DAPL_SCM_NETDEV=eth1",	 "DAPL_SCM_NETDEV=10.1.2.3",
		"DAPL_IB_MTU=4096",	 "DAT_DBG_DEST=6",
		"DAT_DBG_TYPE=0xffff",	 "DAT_AUTO=0x0",
		"DAPL_GID_INDEX=0x0000", "DAPL_SCM_PORT_RANGE=5000-5010",
	};

	for (size_t i = 0; i < INFO_COUNT(bad); i++) {
		char text[64];

		memcpy(text, bad[i].text, sizeof(text));
		assert_int_equal(say_env((char *[]){text, NULL}), 1);
		has(bad[i].says);
	}
	for (size_t i = 0; i < INFO_COUNT(good); i++) {
		char text[40];

		memcpy(text, good[i], sizeof(text));
		assert_int_equal(say_env((char *[]){text, NULL}), 0);
		has("ok    ");
	}
	assert_int_equal(SAY_ENV("DAPL_IB_MTU=1500"), 0);
	has("WARN  DAPL_IB_MTU: \"1500\" counts as 1024");
}

T(env__misspelt)
{
	assert_int_equal(SAY_ENV("DAPL_ACK_TIMR=3"), 0);
	has("WARN  DAPL_ACK_TIMR: nothing reads");
	has("did you mean DAPL_ACK_TIMER?");
	SAY_ENV("DAT_OVERIDE=/x");
	has("did you mean DAT_OVERRIDE?");
	SAY_ENV("DAPL_NETWORK_THRESHOLD=1");
	has("did you mean DAPL_NETWORK_TRESHOLD?");
	SAY_ENV("DAPL_SOMETHING_ELSE=1");
	has("nothing reads");
	has_not("did you mean");
	SAY_ENV("DAPL_LONG_1234567890123456789012345678901234567890123456789012"
		"345678901234567890=1");
	has("nothing reads");
}

static FILE *page(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/doc/%s", top ? top : ".", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s; is top_srcdir set?", path);
	return f;
}

T(env__the_page_of_the_providers)
{
	FILE *f = page("dapl-env.7");
	char want[256], line[1024];
	size_t next = 0;

	while (fgets(line, sizeof(line), f)) {
		const struct info_var *var = &info_vars[next];

		if (strncmp(line, ".BR DAPL_", 9) || !strstr(line, " \" ("))
			continue;
		assert_true(next++ < info_var_count);
		if (var->values)
			snprintf(want, sizeof(want),
				 ".BR %s \" (%s; default %s)\"\n", var->name,
				 var->values, var->def ? var->def : "not set");
		else
			snprintf(want, sizeof(want),
				 ".BR %s \" (without effect)\"\n", var->name);
		assert_string_equal(line, want);
	}
	fclose(f);
	/* the rest is the registry's */
	assert_true(next < info_var_count);
	assert_memory_not_equal(info_vars[next].name, "DAPL_", 5);
}

static size_t rows_named(const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < info_var_count; i++)
		n += !strcmp(info_vars[i].name, name);
	return n;
}

T(env__the_page_of_the_registry)
{
	FILE *f = page("libdat2.7");
	bool on = false, tag = false;
	size_t found = 0, rows = 0;
	char line[1024], name[80];

	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, ".SH", 3))
			on = !strcmp(line, ".SH ENVIRONMENT\n");
		if (on && tag && sscanf(line, ".B %79s", name) == 1) {
			assert_int_equal(rows_named(name), 1);
			found++;
		}
		tag = !strcmp(line, ".TP\n");
	}
	fclose(f);
	for (size_t i = 0; i < info_var_count; i++)
		rows += !!strncmp(info_vars[i].name, "DAPL_", 5);
	assert_int_equal(found, rows);
	assert_true(rows > 0);
}

RUN_CASES(NULL, NULL)
