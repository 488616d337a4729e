/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_auto.c - adapters that need no line of dat.conf.
 *
 * Covers dat_ports_list, dat_auto_write, dat_auto_write_old and what the
 * registry makes of them: lists, names of old, reasons. Machines are made up
 * (sysfs_tree.h); nothing is opened, which t_auto.sh does in the guest.
 * Threads: one test runs four at once.
 * Compiled for each version of DAT. Cases are by the specification of the names
 * in dat.conf(5).
 */
#include "dat_test_face.h"
#include "sysfs_tree.h"

#include <pthread.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dat/common/dat_auto.h"
#include "dat/common/dat_auto_ports.h"
#include "dat/common/dat_reg.h"
#include "dat/common/dat_static.h"

#define T(name) CASE_WITH(name, tree_make, tree_remove)

#define NOT_REGISTERED code(0x800a0064)
#define NO_RESOURCES   code(0x80030000)

/*
 * Machines.
 */

/* Two adapters of two ports, renamed by place, the second one's first down. */
static void infiniband(void)
{
	tree_device(&(struct tree_device){"ibp59s0", "1: CA", "0000:3b:00.0",
					  "mlx5_core"});
	tree_port("ibp59s0", 1, true, "InfiniBand");
	tree_port("ibp59s0", 2, true, "InfiniBand");
	tree_device(&(struct tree_device){"ibp216s0", "1: CA", "0000:d8:00.0",
					  "mlx5_core"});
	tree_port("ibp216s0", 1, false, "InfiniBand");
	tree_interface("ibs1", "0000:3b:00.0", 0, TYPE_INFINIBAND, "80:00");
	tree_interface("ibs1d1", "0000:3b:00.0", 1, TYPE_INFINIBAND, "80:01");
	tree_interface("ibs2", "0000:d8:00.0", 0, TYPE_INFINIBAND, "80:02");
}

static void roce(void)
{
	tree_device(&(struct tree_device){"mlx5_0", "1: CA", "0000:5e:00.0",
					  "mlx5_core"});
	tree_port("mlx5_0", 1, true, "Ethernet");
	tree_interface("ens3", "0000:5e:00.0", 0, TYPE_ETHERNET, "02:00");
	tree_gid("mlx5_0", 1, 0, "ens3");
	tree_gid("mlx5_0", 1, 1, "ens3");
	tree_gid("mlx5_0", 1, 2, "ens3.7");
	tree_gid("mlx5_0", 1, 3, NULL);
}

static void iwarp(void)
{
	tree_device(&(struct tree_device){"siw0", "4: RNIC", NULL, NULL});
	tree_port("siw0", 1, true, "Ethernet");
	tree_file("class/infiniband/siw0/ports/1/gids/0",
		  "5254:0012:3456:0000:0000:0000:0000:0000");
	tree_interface("lo", NULL, 0, "772", "00:00:00:00:00:00");
	tree_interface("eth1", NULL, 0, TYPE_ETHERNET, "52:54:00:12:34:56");
}

static void soft_roce(void)
{
	tree_device(&(struct tree_device){"rxe0", "1: CA", NULL, NULL});
	tree_port("rxe0", 1, true, "Ethernet");
	tree_interface("eth1", NULL, 0, TYPE_ETHERNET, "52:54:00:12:34:56");
	tree_gid("rxe0", 1, 0, "eth1");
}

static void amazon(void)
{
	tree_device(&(struct tree_device){"rdmap0s6", "7: unspecified",
					  "0000:00:06.0", "efa"});
	tree_port("rdmap0s6", 1, true, "Unspecified");
}

/*
 * Ports.
 */

static struct dat_ports listed(void)
{
	struct dat_ports ports;

	assert_int_equal(dat_ports_list(tree, &ports), 0);
	return ports;
}

T(ports__none)
{
	struct dat_ports ports = listed();

	assert_int_equal(ports.n, 0);
	dat_ports_free(&ports);
	tree_file("class/net/eth0/address", "02:00");
	ports = listed();
	assert_int_equal(ports.n, 0);
	dat_ports_free(&ports);
}

static void check_order(const char *expected)
{
	struct dat_ports ports = listed();
	char text[512] = "";
	size_t i;

	for (i = 0; i < ports.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s/%u ", ports.ports[i].device, ports.ports[i].port);
	dat_ports_free(&ports);
	assert_string_equal(text, expected);
}

/* In use; InfiniBand, RoCE, iWARP; place on the bus; name; port. */
T(ports__order)
{
	iwarp();
	soft_roce();
	roce();
	infiniband();
	tree_device(&(struct tree_device){"rxe10", "1: CA", NULL, NULL});
	tree_port("rxe10", 1, true, "Ethernet");
	tree_device(&(struct tree_device){"rxe2", "1: CA", NULL, NULL});
	tree_port("rxe2", 1, true, "Ethernet");
	check_order("ibp59s0/1 ibp59s0/2 mlx5_0/1 rxe0/1 rxe2/1 rxe10/1 siw0/1 "
		    "ibp216s0/1 ");
}

static void check_interfaces(const char *device, unsigned number,
			     const char *expected)
{
	struct dat_ports ports = listed();
	char text[512] = "none";
	size_t i;
	size_t j;

	for (i = 0; i < ports.n; i++) {
		if (strcmp(ports.ports[i].device, device) != 0 ||
		    ports.ports[i].port != number)
			continue;
		text[0] = '\0';
		for (j = 0; j < ports.ports[i].n_ifs; j++)
			snprintf(text + strlen(text),
				 sizeof(text) - strlen(text), "%s ",
				 ports.ports[i].ifs[j]);
	}
	dat_ports_free(&ports);
	assert_string_equal(text, expected);
}

T(ports__interfaces)
{
	infiniband();
	roce();
	iwarp();
	check_interfaces("ibp59s0", 1, "ibs1 ");
	check_interfaces("ibp59s0", 2, "ibs1d1 ");
	check_interfaces("ibp216s0", 1, "ibs2 ");
	check_interfaces("mlx5_0", 1, "ens3 ens3.7 ");
	check_interfaces("siw0", 1, "eth1 ");
}

/* A port that is down has no GIDs; its interface is on the same function. */
T(ports__interface_of_a_port_without_gids)
{
	tree_device(&(struct tree_device){"mlx5_0", "1: CA", "0000:5e:00.0",
					  "mlx5_core"});
	tree_port("mlx5_0", 1, false, "Ethernet");
	tree_interface("ens3", "0000:5e:00.0", 0, TYPE_ETHERNET, "02:00");
	check_interfaces("mlx5_0", 1, "ens3 ");
}

/* Devices of loopback have no address of their own. */
T(ports__no_interface_by_an_address_of_zeros)
{
	tree_device(&(struct tree_device){"siw_lo", "4: RNIC", NULL, NULL});
	tree_port("siw_lo", 1, true, "Ethernet");
	tree_file("class/infiniband/siw_lo/ports/1/gids/0",
		  "0000:0000:0000:0000:0000:0000:0000:0000");
	tree_interface("lo", NULL, 0, "772", "00:00:00:00:00:00");
	check_interfaces("siw_lo", 1, "");
}

/* What nobody's kernel has: no harm, and nothing of it in a line. */
T(ports__odd_files)
{
	char many[32];

	tree_file("class/infiniband/a b/node_type", "1: CA");
	tree_file("class/infiniband/q\"uote/node_type", "1: CA");
	tree_file("class/infiniband/file_only", "1: CA");
	tree_file("class/infiniband/no_type/ports/1/state", "4: ACTIVE");
	tree_file("class/infiniband/odd0/node_type", "1: CA");
	tree_file("class/infiniband/odd0/ports/0/state", "4: ACTIVE");
	tree_file("class/infiniband/odd0/ports/256/state", "4: ACTIVE");
	tree_file("class/infiniband/odd0/ports/x/state", "4: ACTIVE");
	tree_file("class/infiniband/odd0/ports/-1/state", "4: ACTIVE");
	check_order("");
	tree_port("odd0", 3, true, "Ethernet");
	for (int i = 0; i < 40; i++) {
		snprintf(many, sizeof(many), "eth%d", i);
		tree_gid("odd0", 3, i, many);
	}
	tree_gid("odd0", 3, 40, "a-name-that-is-too-long-for-one");
	tree_gid("odd0", 3, 41, "");
	check_order("odd0/3 ");
	check_interfaces("odd0", 3,
			 "eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 eth8 eth9 "
			 "eth10 eth11 eth12 eth13 eth14 eth15 ");
}

/*
 * Lines.
 */

static char *written(int (*write)(const struct dat_ports *, FILE *))
{
	struct dat_ports ports = listed();
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(write(&ports, f), 0);
	assert_int_equal(fclose(f), 0);
	dat_ports_free(&ports);
	return text;
}

static int write_new(const struct dat_ports *ports, FILE *f)
{
	dat_auto_write(ports, f);
	return 0;
}

T(write__each_kind)
{
	char *text;

	infiniband();
	iwarp();
	amazon();
	text = written(write_new);
	assert_string_equal(
		text,
		"# ibp59s0 port 1: InfiniBand, active, ibs1\n"
		"ofa-v2-ibp59s0-1s u2.0 threadsafe default libdaploscm.so.2 "
		"dapl.2.0 \"ibp59s0 1\" \"\"\n"
		"ofa-v2-ibp59s0-1u u2.0 threadsafe default libdaploucm.so.2 "
		"dapl.2.0 \"ibp59s0 1\" \"\"\n"
		"OpenIB-ibp59s0-1 u1.2 nonthreadsafe default libdaplscm.so.1 "
		"dapl.1.2 \"ibp59s0 1\" \"\"\n"
		"OpenIB-ibp59s0-1u u1.2 nonthreadsafe default libdaplucm.so.1 "
		"dapl.1.2 \"ibp59s0 1\" \"\"\n"
		"ofa-v2-ibs1 u2.0 threadsafe default libdaplofa.so.2 dapl.2.0 "
		"\"ibs1 0\" \"\"\n"
		"OpenIB-ibs1 u1.2 nonthreadsafe default libdaplcma.so.1 "
		"dapl.1.2 \"ibs1 0\" \"\"\n"
		"# ibp59s0 port 2: InfiniBand, active, ibs1d1\n"
		"ofa-v2-ibp59s0-2s u2.0 threadsafe default libdaploscm.so.2 "
		"dapl.2.0 \"ibp59s0 2\" \"\"\n"
		"ofa-v2-ibp59s0-2u u2.0 threadsafe default libdaploucm.so.2 "
		"dapl.2.0 \"ibp59s0 2\" \"\"\n"
		"OpenIB-ibp59s0-2 u1.2 nonthreadsafe default libdaplscm.so.1 "
		"dapl.1.2 \"ibp59s0 2\" \"\"\n"
		"OpenIB-ibp59s0-2u u1.2 nonthreadsafe default libdaplucm.so.1 "
		"dapl.1.2 \"ibp59s0 2\" \"\"\n"
		"ofa-v2-ibs1d1 u2.0 threadsafe default libdaplofa.so.2 "
		"dapl.2.0 \"ibs1d1 0\" \"\"\n"
		"OpenIB-ibs1d1 u1.2 nonthreadsafe default libdaplcma.so.1 "
		"dapl.1.2 \"ibs1d1 0\" \"\"\n"
		"# siw0 port 1: iWARP, active, eth1\n"
		"ofa-v2-eth1 u2.0 threadsafe default libdaplofa.so.2 dapl.2.0 "
		"\"eth1 0\" \"\"\n"
		"OpenIB-eth1 u1.2 nonthreadsafe default libdaplcma.so.1 "
		"dapl.1.2 \"eth1 0\" \"\"\n"
		"# ibp216s0 port 1: InfiniBand, not active, ibs2\n"
		"ofa-v2-ibp216s0-1s u2.0 threadsafe default libdaploscm.so.2 "
		"dapl.2.0 \"ibp216s0 1\" \"\"\n"
		"ofa-v2-ibp216s0-1u u2.0 threadsafe default libdaploucm.so.2 "
		"dapl.2.0 \"ibp216s0 1\" \"\"\n"
		"OpenIB-ibp216s0-1 u1.2 nonthreadsafe default "
		"libdaplscm.so.1 dapl.1.2 \"ibp216s0 1\" \"\"\n"
		"OpenIB-ibp216s0-1u u1.2 nonthreadsafe default "
		"libdaplucm.so.1 dapl.1.2 \"ibp216s0 1\" \"\"\n"
		"ofa-v2-ibs2 u2.0 threadsafe default libdaplofa.so.2 dapl.2.0 "
		"\"ibs2 0\" \"\"\n"
		"OpenIB-ibs2 u1.2 nonthreadsafe default libdaplcma.so.1 "
		"dapl.1.2 \"ibs2 0\" \"\"\n"
		"# rdmap0s6 port 1: not used, Amazon EFA has no reliable "
		"connections\n");
	free(text);
}

/* Two devices on one interface: rdma_cm has one of them. */
T(write__shared_interface_once)
{
	char *text;
	char *at;

	soft_roce();
	iwarp();
	text = written(write_new);
	at = strstr(text, "ofa-v2-eth1 ");
	assert_non_null(at);
	assert_null(strstr(at + 1, "ofa-v2-eth1 "));
	free(text);
}

static void check_old(const char *name, const char *params)
{
	char *text = written(dat_auto_write_old);
	char start[128];
	char *line;

	snprintf(start, sizeof(start), "\n%s ", name);
	line = strncmp(text, start + 1, strlen(start + 1)) == 0
		       ? text
		       : strstr(text, start);
	if (!params) {
		assert_null(line);
	} else {
		assert_non_null(line);
		line[1 + strcspn(line + 1, "\n")] = '\0';
		snprintf(start, sizeof(start), " %s \"\"", params);
		if (!strstr(line, start))
			fail_msg("'%s' is not in '%s'", start, line);
	}
	free(text);
}

T(write_old__numbers_of_the_kernel)
{
	infiniband();
	check_old("ofa-v2-mlx5_0-1s",
		  "libdaploscm.so.2 dapl.2.0 \"ibp59s0 1\"");
	check_old("ofa-v2-mlx5_0-1", "libdaploscm.so.2 dapl.2.0 \"ibp59s0 1\"");
	check_old("ofa-v2-mlx5_0-2u",
		  "libdaploucm.so.2 dapl.2.0 \"ibp59s0 2\"");
	check_old("ofa-v2-mlx5_1-1s",
		  "libdaploscm.so.2 dapl.2.0 \"ibp216s0 1\"");
	check_old("ofa-v2-mlx5_1-1m",
		  "libdaplomcm.so.2 dapl.2.0 \"ibp216s0 1\"");
	check_old("ofa-v2-mcm-1", "libdaplomcm.so.2 dapl.2.0 \"ibp59s0 1\"");
	check_old("ofa-v2-mcm-3", NULL);
	check_old("ofa-v2-mlx5_1-2s", NULL);
	check_old("ofa-v2-mlx5_2-1s", NULL);
	check_old("OpenIB-mlx5_0-1", "libdaplscm.so.1 dapl.1.2 \"ibp59s0 1\"");
	check_old("OpenIB-mlx5_1-1u",
		  "libdaplucm.so.1 dapl.1.2 \"ibp216s0 1\"");
}

T(write_old__interfaces)
{
	infiniband();
	check_old("ofa-v2-ib0", "libdaplofa.so.2 dapl.2.0 \"ibs1 0\"");
	check_old("ofa-v2-ib1", "libdaplofa.so.2 dapl.2.0 \"ibs1d1 0\"");
	check_old("ofa-v2-ib2", "libdaplofa.so.2 dapl.2.0 \"ibs2 0\"");
	check_old("OpenIB-cma", "libdaplcma.so.1 dapl.1.2 \"ibs1 0\"");
	check_old("OpenIB-cma-1", "libdaplcma.so.1 dapl.1.2 \"ibs1d1 0\"");
	check_old("ofa-v2-iwarp", NULL);
	iwarp();
	check_old("ofa-v2-iwarp", "libdaplofa.so.2 dapl.2.0 \"eth1 0\"");
	roce();
	check_old("ofa-v2-cma-roe-ens3", "libdaplofa.so.2 dapl.2.0 \"ens3 0\"");
}

/* Devices of other drivers do not count. */
T(write_old__numbers_by_driver)
{
	tree_device(&(struct tree_device){"roceo1", "1: CA", "0000:01:00.0",
					  "bnxt_en"});
	tree_port("roceo1", 1, true, "Ethernet");
	tree_device(&(struct tree_device){"rocep2", "1: CA", "0000:02:00.0",
					  "mlx4_core"});
	tree_port("rocep2", 1, true, "Ethernet");
	tree_port("rocep2", 2, true, "Ethernet");
	tree_device(&(struct tree_device){"rocep3", "1: CA", "0000:03:00.0",
					  "mlx5_core"});
	tree_port("rocep3", 1, true, "Ethernet");
	tree_device(&(struct tree_device){"rocep4", "1: CA", "0000:04:00.0",
					  "mlx4_core"});
	tree_port("rocep4", 1, true, "Ethernet");
	check_old("ofa-v2-mlx4_0-2u", "libdaploucm.so.2 dapl.2.0 \"rocep2 2\"");
	check_old("ofa-v2-mlx4_1-1u", "libdaploucm.so.2 dapl.2.0 \"rocep4 1\"");
	check_old("ofa-v2-mlx5_0-1u", "libdaploucm.so.2 dapl.2.0 \"rocep3 1\"");
	check_old("ofa-v2-scm-roe-mlx4_0-1",
		  "libdaploscm.so.2 dapl.2.0 \"rocep2 1\"");
}

/* A function that was made later has the number of another's name. */
T(write_old__number_that_a_device_has)
{
	tree_device(&(struct tree_device){"mlx5_0", "1: CA", "0000:3b:00.0",
					  "mlx5_core"});
	tree_port("mlx5_0", 1, true, "InfiniBand");
	tree_device(&(struct tree_device){"mlx5_2", "1: CA", "0000:3b:00.1",
					  "mlx5_core"});
	tree_port("mlx5_2", 1, true, "InfiniBand");
	tree_port("mlx5_2", 2, true, "InfiniBand");
	tree_device(&(struct tree_device){"mlx5_1", "1: CA", "0000:d8:00.0",
					  "mlx5_core"});
	tree_port("mlx5_1", 1, true, "InfiniBand");
	check_old("ofa-v2-mlx5_1-1", "libdaploscm.so.2 dapl.2.0 \"mlx5_1 1\"");
	check_old("ofa-v2-mlx5_2-1", "libdaploscm.so.2 dapl.2.0 \"mlx5_2 1\"");
	check_old("ofa-v2-mlx5_2-1m", "libdaplomcm.so.2 dapl.2.0 \"mlx5_2 1\"");
	check_old("ofa-v2-mlx5_1-2", NULL);
}

T(write_old__each_interface)
{
	roce();
	check_old("ofa-v2-cma-roe-ens3", "libdaplofa.so.2 dapl.2.0 \"ens3 0\"");
	check_old("ofa-v2-cma-roe-ens3.7",
		  "libdaplofa.so.2 dapl.2.0 \"ens3.7 0\"");
	check_old("OpenIB-cma-roe-ens3.7",
		  "libdaplcma.so.1 dapl.1.2 \"ens3.7 0\"");
}

T(write_old__hardware_before_software)
{
	soft_roce();
	iwarp();
	infiniband();
	tree_device(&(struct tree_device){"iwp1", "4: RNIC", "0000:1a:00.0",
					  "irdma"});
	tree_port("iwp1", 1, false, "Ethernet");
	tree_interface("ens8", "0000:1a:00.0", 0, TYPE_ETHERNET, "02:08");
	check_old("ofa-v2-iwarp", "libdaplofa.so.2 dapl.2.0 \"ens8 0\"");
	check_old("ofa-v2-mcm-1", "libdaplomcm.so.2 dapl.2.0 \"ibp59s0 1\"");
}

/*
 * The registry.
 */

static void use(const char *text, const char *automatic)
{
	char path[64];
	char hosts[64];

	snprintf(path, sizeof(path), "%s/dat.conf", tree);
	snprintf(hosts, sizeof(hosts), "%s/hosts", tree);
	dat_registry_fini();
	if (text)
		tree_file("dat.conf", text);
	dat_registry_init(&(struct dat_static_options){.override = path,
						       .automatic = automatic,
						       .sysfs = tree,
						       .hosts = hosts});
}

static void check_list(const char *expected)
{
	DAT_PROVIDER_INFO infos[32];
	DAT_PROVIDER_INFO *list[32];
	DAT_COUNT n = 0;
	char text[36 * DAT_NAME_MAX_LENGTH] = "";

	for (int i = 0; i < 32; i++)
		list[i] = &infos[i];
	assert_int_equal(dat_registry_list_providers(32, &n, list),
			 DAT_SUCCESS);
	for (int i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s ", infos[i].ia_name);
	assert_string_equal(text, expected);
}

static void check_refused(const char *name, const char *part)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	assert_int_equal(dat_ia_openv((DAT_NAME_PTR)name, 8, &evd, &ia, MAJOR,
				      MINOR, DAT_FALSE),
			 NOT_REGISTERED);
	if (!strstr(dat_error_detail(), part))
		fail_msg("'%s' is not in '%s'", part, dat_error_detail());
}

/* A line for SCM of this version, NAME, DEVICE and port 1. */
#ifdef DAT_FACE_1
#define SCM(name, device)                                            \
	name " u1.2 nonthreadsafe default libdaplscm.so.1 dapl.1.2 " \
	     "\"" device " 1\" \"\"\n"
#define CMA(name, interface)                                         \
	name " u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 " \
	     "\"" interface " 0\" \"\"\n"
#define FOUND	"OpenIB-rxe0-1 OpenIB-rxe0-1u OpenIB-eth1 "
#define OLD	"OpenIB-scm-roe-rxe0-1"
#define LIB	"libdaplscm.so.1"
#define CMA_LIB "libdaplcma.so.1"
#else
#define SCM(name, device)                                             \
	name " u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 " \
	     "\"" device " 1\" \"\"\n"
#define CMA(name, interface)                                         \
	name " u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 " \
	     "\"" interface " 0\" \"\"\n"
#define FOUND	"ofa-v2-rxe0-1s ofa-v2-rxe0-1u ofa-v2-eth1 "
#define OLD	"ofa-v2-rxe0-1"
#define LIB	"libdaploscm.so.2"
#define CMA_LIB "libdaplofa.so.2"
#endif

T(list__without_a_file)
{
	soft_roce();
	use(NULL, NULL);
	check_list(FOUND);
}

T(list__lines_come_first)
{
	soft_roce();
	use(CMA("mine", "eth1") SCM("other", "rxe0"), NULL);
	check_list("mine other " FOUND);
}

/* The line decides, also over what is thread-safe. */
T(list__a_name_that_is_in_the_file)
{
	soft_roce();
	use(CMA("ofa-v2-eth1", "eth1") CMA("OpenIB-eth1", "eth1"), NULL);
#ifdef DAT_FACE_1
	check_list("ofa-v2-eth1 OpenIB-eth1 OpenIB-rxe0-1 OpenIB-rxe0-1u ");
#else
	check_list("ofa-v2-eth1 OpenIB-eth1 ofa-v2-rxe0-1s ofa-v2-rxe0-1u ");
#endif
}

T(list__lines_for_what_is_not_there)
{
	soft_roce();
	use(SCM("gone", "mlx4_0") SCM("here", "rxe0") CMA("no-if", "eth2")
		    CMA("address", "192.0.2.1") CMA("address6", "2001:db8::1")
			    SCM("other\" ", "x\\y"),
	    NULL);
	check_list("here address address6 " FOUND);
	/* it can be asked for, and says what is wrong */
	check_refused("gone", LIB);
}

#define LINE(name, library, params)                                    \
	name " " API " threadsafe default " library " d.1.0 \"" params \
	     "\" \"\"\n"

T(list__lines_without_a_port)
{
	soft_roce();
	use(LINE("gone", LIB, "mlx4_0") LINE("here", LIB, "rxe0")
		    LINE("odd", LIB, "mlx4_0 one") LINE("no-if", CMA_LIB, "ib9")
			    LINE("if", CMA_LIB, "eth1"),
	    NULL);
	check_list("here if " FOUND);
}

/* A name of a host may stand for an address of this one. */
T(list__lines_with_the_name_of_a_host)
{
	char host[64] = "";
	char text[512];

	soft_roce();
	tree_file("hosts", "127.0.0.1 localhost\n"
			   "192.0.2.1\tnode1.example node1-ib # rack2\n");
	use(CMA("a", "node1-ib") CMA("b", "Node1.Example") CMA("c", "node1")
		    CMA("d", "ib") CMA("e", "node1-ib2"),
	    NULL);
	check_list("a b " FOUND);
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	host[strcspn(host, ".")] = '\0';
	snprintf(text, sizeof(text),
		 CMA("a", "%s") CMA("b", "%s.example") CMA("c", "%sx"), host,
		 host, host);
	use(text, NULL);
	check_list("a b " FOUND);
}

/* Lines that can stand in for each other: one is enough. */
T(list__one_of_several_is_there)
{
	soft_roce();
	use(LINE("x", LIB, "mlx4_0 1") LINE("y", LIB, "mlx4_0 1")
		    LINE("x", CMA_LIB, "eth9 0") LINE("x", CMA_LIB, "eth1 0")
			    LINE("y", CMA_LIB, "eth9 0"),
	    NULL);
	check_list("x " FOUND);
	use(LINE("x", CMA_LIB, "eth1 0") LINE("x", LIB, "mlx4_0 1"), NULL);
	check_list("x " FOUND);
}

/* What a program has brought itself can be opened. */
T(list__own_in_place_of_what_is_not_there)
{
	DAT_PROVIDER_INFO info = {"gone", MAJOR, MINOR, DAT_FALSE};
	const DAT_PROVIDER own = {0};

	soft_roce();
	use(SCM("gone", "mlx4_0") SCM("here", "rxe0"), NULL);
	assert_int_equal(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
	check_list("here " FOUND "gone ");
	strcpy(info.ia_name, "here");
	assert_int_equal(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
	check_list("here " FOUND "gone ");
}

/* Without descriptors nobody can tell, and it is asked again. */
T(list__no_descriptors)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	struct rlimit before, none;
	DAT_COUNT n = 9;

	soft_roce();
	use(SCM("gone", "mlx4_0") SCM("here", "rxe0"), NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(dat_registry_list_providers(0, &n, NULL),
			 NO_RESOURCES);
	assert_int_equal(n, 0);
	assert_string_equal(dat_error_detail(),
			    "cannot look for RDMA devices: Too many open "
			    "files");
	assert_int_equal(
		dat_ia_openv("x", 8, &evd, &ia, MAJOR, MINOR, DAT_FALSE),
		NO_RESOURCES);
#ifndef DAT_FACE_1
	assert_int_equal(dat_registry_providers_related(
				 "here", "gone", &(DAT_HA_RELATIONSHIP){0}),
			 NO_RESOURCES);
#endif
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	check_list("here " FOUND);
	/* there it is of no use */
	use(SCM("gone", "mlx4_0"), "0");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	check_list("gone ");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* For them UCM stands in, which wants a device, too. */
T(list__lines_of_the_provider_that_is_no_more)
{
	soft_roce();
	use(LINE("gone", "libdaplomcm.so.2", "mlx4_0 1")
		    LINE("here", "/lib/libdaplomcm.so.2", "rxe0 1"),
	    NULL);
	check_list("here " FOUND);
}

T(list__nothing_found_is_added)
{
	soft_roce();
	use(SCM("gone", "mlx4_0"), "0");
	check_list("gone ");
	check_refused("x", "DAT_AUTO=0");
	use(" #DAT_AUTO=0\t\r\n" SCM("gone", "mlx4_0"), NULL);
	check_list("gone ");
	/* the environment decides over the file */
	use("#DAT_AUTO=0\n" SCM("gone", "mlx4_0"), "1");
	check_list(FOUND);
	/* only this line, whole */
	use("#DAT_AUTO=0 for now\n# DAT_AUTO=0\n#DAT_AUTO=00\n", NULL);
	check_list(FOUND);
}

T(list__what_the_variable_says)
{
	static const char *const plain[] = {"0", "0x0", "00", " 0 "};
	static const char *const found[] = {"1", "0x1", "2"};
	static const char *const neither[] = {"",   "yes", "no", "-1",
					      "0x", "0 1", "off"};
	size_t i;

	soft_roce();
	for (i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		use(SCM("gone", "mlx4_0"), plain[i]);
		check_list("gone ");
	}
	for (i = 0; i < sizeof(found) / sizeof(*found); i++) {
		use("#DAT_AUTO=0\n" SCM("gone", "mlx4_0"), found[i]);
		check_list(FOUND);
	}
	/* as if it were not set */
	for (i = 0; i < sizeof(neither) / sizeof(*neither); i++) {
		use("#DAT_AUTO=0\n" SCM("gone", "mlx4_0"), neither[i]);
		check_list("gone ");
		use(SCM("gone", "mlx4_0"), neither[i]);
		check_list(FOUND);
	}
}

/* The device is looked for, so the library is what fails here. */
T(open__a_name_of_old)
{
	soft_roce();
	use(NULL, NULL);
	check_refused(OLD, "cannot load " LIB);
	check_list(FOUND);
}

T(open__device_that_cannot)
{
	amazon();
	use("", NULL);
	check_list("");
	check_refused("ofa-v2-rdmap0s6-1s",
		      "use another device: rdmap0s6 is not used, Amazon EFA "
		      "has no reliable connections");
}

T(open__what_nobody_has)
{
	soft_roce();
	use("", NULL);
	check_refused("x", ": use ");
	tree_remove(NULL);
	tree_make(NULL);
	use("", NULL);
	check_refused("x", "load the driver of an RDMA device, or let this "
			   "container see it: ");
}

/* What is told of the file's first line, should its provider refuse. */
static void check_mistaken(const char *expected)
{
	struct dat_text text = DAT_TEXT_INIT;

	dat_static_look();
	dat_static_add_mistaken(&text, dat_static_conf()->records);
	assert_string_equal(text.buf, expected);
}

T(open__interface_in_place_of_a_device)
{
	soft_roce();
	use(SCM("x", "eth1"), NULL);
	check_mistaken("write \"rxe0 1\", the device that network interface "
		       "eth1 is of: ");
	use(SCM("x", "rxe0"), NULL);
	check_mistaken("");
	use(SCM("x", "eth0"), NULL);
	check_mistaken("");
}

T(open__device_in_place_of_an_interface)
{
	soft_roce();
	use(CMA("x", "rxe0"), NULL);
	check_mistaken("write \"eth1 0\", the network interface of device "
		       "rxe0: ");
	/* where nothing is found by itself, too */
	use(CMA("x", "rxe0"), "0");
	check_mistaken("write \"eth1 0\", the network interface of device "
		       "rxe0: ");
	use(CMA("x", "eth1"), NULL);
	check_mistaken("");
}

/* Has anybody read the list of devices since it was last asked? */
static bool looked_at_devices(int watch)
{
	char events[4096];

	return read(watch, events, sizeof(events)) > 0;
}

/* A machine has hundreds of files about them, which each rank of a job would
 * read. */
T(open__what_has_a_line_looks_at_no_device)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[64];

	soft_roce();
	snprintf(path, sizeof(path), "%s/class/infiniband", tree);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	use("x " API " threadsafe default /none.so dapl.2.0"
	    " \"eth1 0\" \"\"\n",
	    NULL);
	check_refused("x", "cannot load /none.so");
	assert_false(looked_at_devices(watch));
	check_refused("y", ": use ");
	assert_true(looked_at_devices(watch));
	/* The line is found where it is now. */
	check_refused("x", "cannot load /none.so");
	assert_false(looked_at_devices(watch));
	close(watch);
}

static void *open_two_lines(void *arg)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	pthread_barrier_wait(arg);
	if (dat_ia_openv("x", 8, &evd, &ia, MAJOR, MINOR, DAT_FALSE) !=
	    NOT_REGISTERED)
		return arg;
	return strstr(dat_error_detail(), " cannot load /none.so: ") &&
			       strstr(dat_error_detail(), ", line 2: ")
		       ? NULL
		       : arg;
}

static void *count_all(void *arg)
{
	DAT_PROVIDER_INFO infos[32];
	DAT_PROVIDER_INFO *list[32];
	DAT_COUNT n = 0;

	for (int i = 0; i < 32; i++)
		list[i] = &infos[i];
	pthread_barrier_wait(arg);
	if (dat_registry_list_providers(32, &n, list) != DAT_SUCCESS)
		return arg;
	return n == 4 && strcmp(infos[0].ia_name, "x") == 0 ? NULL : arg;
}

/* Records move when devices are looked at, under those who read theirs. */
T(open__while_others_look)
{
	void *(*const calls[])(void *) = {open_two_lines, count_all,
					  open_two_lines, count_all};
	pthread_barrier_t start;
	pthread_t threads[4];
	void *failed;

	soft_roce();
	pthread_barrier_init(&start, NULL, 4);
	for (int round = 0; round < 50; round++) {
		use("x " API " threadsafe default /none.so d.1.0 \"\" \"\"\n"
		    "x " API " threadsafe default /nor.so d.1.0 \"\" \"\"\n",
		    NULL);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							calls[i], &start),
					 0);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(pthread_join(threads[i], &failed), 0);
			assert_null(failed);
		}
	}
	pthread_barrier_destroy(&start);
}

T(open__what_works_is_told_first)
{
	infiniband();
	use(SCM("gone", "mlx4_0") SCM("down", "ibp216s0") SCM("up", "ibp59s0")
		    CMA("ipoib", "ibs1"),
	    "0");
	check_refused("x", ": use up, ipoib, gone, down: ");
}

T(open__provider_that_is_no_more)
{
	use("x " API " threadsafe default libdaplomcm.so.2 dapl.2.0 "
	    "\"mlx5_0 1\" \"\"\n",
	    NULL);
	check_refused("x",
		      "; install or correct the library: cannot load " OWN_UCM);
}

RUN_CASES(NULL, NULL)
