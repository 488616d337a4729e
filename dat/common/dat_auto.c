/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_auto.c - names for RDMA ports.
 *
 * The lines are text, so that what is found by itself is what an administrator
 * can write down, change and read back.
 * Threads, ownership: dat_auto.h.
 * Rule: dat.conf(5); the names are those of the files that the OpenFabrics
 * packages installed.
 */
#include "dat_auto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef DAT_WITH_CMA
#define DAT_WITH_CMA true
#endif
#ifndef DAT_WITH_SCM
#define DAT_WITH_SCM true
#endif
#ifndef DAT_WITH_UCM
#define DAT_WITH_UCM true
#endif

enum way {
	WAY_CMA,
	WAY_SCM,
	WAY_UCM,
	WAY_MCM, /* for coprocessors; UCM, which stands in for it, says so */
};

/* Of programs of DAT 2.0 and 1.2, where it was built. */
static const struct {
	const char *lib[2];
	bool built;
} ways[] = {
	[WAY_CMA] = {{"libdaplofa.so.2", "libdaplcma.so.1"}, DAT_WITH_CMA},
	[WAY_SCM] = {{"libdaploscm.so.2", "libdaplscm.so.1"}, DAT_WITH_SCM},
	[WAY_UCM] = {{"libdaploucm.so.2", "libdaplucm.so.1"}, DAT_WITH_UCM},
	[WAY_MCM] = {{"libdaplomcm.so.2", ""}, DAT_WITH_UCM},
};

const char *dat_auto_library_for(unsigned major, const char *path)
{
	const int own = major == 1;
	const char *slash = strrchr(path, '/');
	size_t i;

	path = slash ? slash + 1 : path;
	for (i = WAY_CMA; i <= WAY_UCM; i++)
		if (strcmp(path, ways[i].lib[!own]) == 0)
			return ways[i].lib[own];
	return NULL;
}

bool dat_auto_wants_rdma_cm(void)
{
	return ways[WAY_CMA].built;
}

/* What the kernel calls the devices of a driver, but for their number. */
static const struct {
	const char *driver;
	const char *name;
} kernel_names[] = {
	{"mlx5_core", "mlx5_"}, {"mlx4_core", "mlx4_"}, {"ib_mthca", "mthca"},
	{"ib_qib", "qib"},	{"ib_ipath", "ipath"},	{"hfi1", "hfi1_"},
};

static void write_line(FILE *f, const char *name, enum way way, bool version_1,
		       const char *device, unsigned port)
{
	if (!ways[way].built)
		return;
	fprintf(f, "%s %s default %s %s \"%s %u\" \"\"\n", name,
		version_1 ? "u1.2 nonthreadsafe" : "u2.0 threadsafe",
		ways[way].lib[version_1], version_1 ? "dapl.1.2" : "dapl.2.0",
		device, port);
}

/* PREFIX, the device's NAME, the port and SUFFIX, for the port's device. */
static void write_port_line(FILE *f, const char *prefix, const char *name,
			    const char *suffix, enum way way, bool version_1,
			    const struct dat_port *port)
{
	char full[3 * DAT_DEVICE_NAME];

	snprintf(full, sizeof(full), "%s%s-%u%s", prefix, name, port->port,
		 suffix);
	write_line(f, full, way, version_1, port->device, port->port);
}

static void write_interface_line(FILE *f, const char *prefix, const char *name,
				 bool version_1, const char *interface)
{
	char full[3 * DAT_DEVICE_NAME];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	write_line(f, full, WAY_CMA, version_1, interface, 0);
}

static const char *fabric_name(const struct dat_port *port)
{
	static const char *const names[] = {
		[DAT_FABRIC_IB] = "InfiniBand",
		[DAT_FABRIC_ROCE] = "RoCE",
		[DAT_FABRIC_IWARP] = "iWARP",
	};

	return names[port->fabric];
}

static void write_comment(FILE *f, const struct dat_port *port)
{
	size_t i;

	fprintf(f, "# %s port %u: ", port->device, port->port);
	if (port->unfit) {
		fprintf(f, "not used, %s\n", port->unfit);
		return;
	}
	fprintf(f, "%s, %s", fabric_name(port),
		port->active ? "active" : "not active");
	for (i = 0; i < port->n_ifs; i++)
		fprintf(f, "%s %s", i ? "" : ",", port->ifs[i]);
	fprintf(f, "\n");
}

/* Whether a port before that of INDEX has the interface, too. */
static bool is_told(const struct dat_ports *ports, size_t index,
		    const char *interface)
{
	size_t i;
	size_t j;

	for (i = 0; i < index; i++)
		for (j = 0; !ports->ports[i].unfit && j < ports->ports[i].n_ifs;
		     j++)
			if (strcmp(ports->ports[i].ifs[j], interface) == 0)
				return true;
	return false;
}

void dat_auto_write(const struct dat_ports *ports, FILE *f)
{
	size_t i;
	size_t j;

	for (i = 0; i < ports->n; i++) {
		const struct dat_port *port = &ports->ports[i];
		const char *name = port->device;

		write_comment(f, port);
		if (port->unfit)
			continue;
		if (port->fabric != DAT_FABRIC_IWARP) {
			write_port_line(f, "ofa-v2-", name, "s", WAY_SCM, false,
					port);
			write_port_line(f, "ofa-v2-", name, "u", WAY_UCM, false,
					port);
			write_port_line(f, "OpenIB-", name, "", WAY_SCM, true,
					port);
			write_port_line(f, "OpenIB-", name, "u", WAY_UCM, true,
					port);
		}
		for (j = 0; j < port->n_ifs; j++) {
			if (is_told(ports, i, port->ifs[j]))
				continue;
			write_interface_line(f, "ofa-v2-", port->ifs[j], false,
					     port->ifs[j]);
			write_interface_line(f, "OpenIB-", port->ifs[j], true,
					     port->ifs[j]);
		}
	}
}

/*
 * Names of old.
 */

static void write_old_port(FILE *f, const char *name,
			   const struct dat_port *port)
{
	write_port_line(f, "ofa-v2-", name, "", WAY_SCM, false, port);
	write_port_line(f, "ofa-v2-", name, "s", WAY_SCM, false, port);
	write_port_line(f, "ofa-v2-", name, "u", WAY_UCM, false, port);
	write_port_line(f, "ofa-v2-", name, "m", WAY_MCM, false, port);
	write_port_line(f, "ofa-v2-scm-roe-", name, "", WAY_SCM, false, port);
	write_port_line(f, "OpenIB-", name, "", WAY_SCM, true, port);
	write_port_line(f, "OpenIB-", name, "u", WAY_UCM, true, port);
	write_port_line(f, "OpenIB-scm-roe-", name, "", WAY_SCM, true, port);
}

static const char *kernel_name(const struct dat_port *port)
{
	size_t i;

	for (i = 0; i < sizeof(kernel_names) / sizeof(kernel_names[0]); i++)
		if (strcmp(kernel_names[i].driver, port->driver) == 0)
			return kernel_names[i].name;
	return NULL;
}

/* The kernel numbers devices as it meets them on the bus; others come after. */
static int order_of_place(const void *va, const void *vb)
{
	const struct dat_port *a = *(const struct dat_port *const *)va;
	const struct dat_port *b = *(const struct dat_port *const *)vb;
	int diff = strcmp(a->bus, b->bus);

	if (!a->bus[0] != !b->bus[0])
		return a->bus[0] ? -1 : 1;
	if (!diff)
		diff = dat_name_order(a->device, b->device);
	return diff ? diff : (a->port > b->port) - (a->port < b->port);
}

/* How many devices of the same driver come before that of INDEX. */
static unsigned number_of_device(const struct dat_port *const *ports,
				 size_t index)
{
	const char *driver = ports[index]->driver;
	const char *last = ports[index]->device;
	unsigned n = 0;

	while (index-- > 0) {
		if (strcmp(ports[index]->device, last) == 0)
			continue;
		last = ports[index]->device;
		n += strcmp(ports[index]->driver, driver) == 0;
	}
	return n;
}

/* Names as they were before udev; one that another device has is that one's. */
static void write_kernel_name(FILE *f, const struct dat_port *const *ports,
			      size_t n, size_t index)
{
	const char *kernel = kernel_name(ports[index]);
	char name[2 * DAT_DEVICE_NAME];
	size_t i;

	if (!kernel)
		return;
	snprintf(name, sizeof(name), "%s%u", kernel,
		 number_of_device(ports, index));
	for (i = 0; i < n; i++)
		if (strcmp(ports[i]->device, name) == 0)
			return;
	write_old_port(f, name, ports[index]);
}

static void write_old_interface(FILE *f, const struct dat_port *port,
				unsigned number)
{
	const char *interface = port->ifs[0];
	char name[32];
	size_t i;

	switch (port->fabric) {
	case DAT_FABRIC_IB:
		snprintf(name, sizeof(name), "ib%u", number);
		write_interface_line(f, "ofa-v2-", name, false, interface);
		snprintf(name, sizeof(name), "cma-%u", number);
		if (number == 0)
			name[strlen("cma")] = '\0';
		write_interface_line(f, "OpenIB-", name, true, interface);
		break;
	case DAT_FABRIC_ROCE:
		for (i = 0; i < port->n_ifs; i++) {
			write_interface_line(f, "ofa-v2-cma-roe-", port->ifs[i],
					     false, port->ifs[i]);
			write_interface_line(f, "OpenIB-cma-roe-", port->ifs[i],
					     true, port->ifs[i]);
		}
		break;
	case DAT_FABRIC_IWARP:
		if (number > 0)
			break;
		write_interface_line(f, "ofa-v2-", "iwarp", false, interface);
		write_interface_line(f, "OpenIB-", "iwarp", true, interface);
		break;
	}
}

int dat_auto_write_old(const struct dat_ports *ports, FILE *f)
{
	const struct dat_port **sorted;
	unsigned interfaces[DAT_FABRIC_IWARP + 1] = {0};
	const char *first = NULL; /* device */
	size_t i;

	if (ports->n == 0)
		return 0;
	sorted = malloc(ports->n * sizeof(const struct dat_port *));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < ports->n; i++)
		sorted[i] = &ports->ports[i];
	qsort(sorted, ports->n, sizeof(const struct dat_port *),
	      order_of_place);
	for (i = 0; i < ports->n; i++) {
		const struct dat_port *port = sorted[i];

		if (port->unfit)
			continue;
		if (port->fabric != DAT_FABRIC_IWARP) {
			write_old_port(f, port->device, port);
			write_kernel_name(f, sorted, ports->n, i);
			if (!first)
				first = port->device;
			if (strcmp(first, port->device) == 0)
				write_port_line(f, "ofa-v2-", "mcm", "",
						WAY_MCM, false, port);
		}
		if (port->n_ifs > 0)
			write_old_interface(f, port,
					    interfaces[port->fabric]++);
	}
	free(sorted);
	return 0;
}
