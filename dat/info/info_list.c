/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_list.c - the names there are: as a table, a digest, or a dat.conf.
 *
 * Threads, ownership: info.h. Rule: dat.conf(5); DAT 2.0 and 1.2 are lists of
 * their own, in the order in which programs see them.
 */
#include "dat/info/info.h"

#include "dat/common/dat_auto.h"
#include "dat/common/dat_static.h"
#include "test/dtest/common/dt_json.h"

#include <dat2/udat.h>
#include <stdlib.h>
#include <string.h>

enum {
	COL_NAME,
	COL_API,
	COL_PROVIDER,
	COL_DEVICE,
	COL_PORT,
	COL_INTERFACE,
	COL_STATE,
	COL_ADDRESS,
	COL_MTU,
	COL_GID,
	COL_KIND,
	COL_FROM,
	COL_N,
};

/* As JSON calls them. */
static const char *const columns[COL_N] = {
	"name",	 "api",	    "provider", "device", "port",     "interface",
	"state", "address", "mtu",	"gid",	  "gid_kind", "from"};

struct row {
	char buf[3][16];
	const char *cell[COL_N]; /* "" is empty */
	struct info_name name;
};

/* What is found for programs of DAT 1.2 is nothing where they do not run. */
static bool is_listed(const struct info *info,
		      const struct dat_conf_record *record, bool all)
{
	if (!record->line && record->major == 1 && !info->host.has_dat1)
		return false;
	return !record->duplicate && (all || !record->unlisted);
}

static void fill_row(const struct info *info,
		     const struct dat_conf_record *record, struct row *row)
{
	struct info_name *name = &row->name;

	memset(row, 0, sizeof(*row));
	info_describe(info, record, name);
	snprintf(row->buf[0], sizeof(row->buf[0]), "%u.%u", record->major,
		 record->minor);
	if (name->port_number)
		snprintf(row->buf[1], sizeof(row->buf[1]), "%u",
			 name->port_number);
	if (name->mtu)
		snprintf(row->buf[2], sizeof(row->buf[2]), "%u", name->mtu);
	row->cell[COL_NAME] = record->name;
	row->cell[COL_API] = row->buf[0];
	row->cell[COL_PROVIDER] = name->way == INFO_WAY_OTHER
					  ? record->lib_path
					  : info_way_names[name->way];
	row->cell[COL_DEVICE] = name->device;
	row->cell[COL_PORT] = row->buf[1];
	row->cell[COL_INTERFACE] = name->interface;
	row->cell[COL_STATE] = info_state(name);
	row->cell[COL_ADDRESS] = name->address;
	row->cell[COL_MTU] = row->buf[2];
	row->cell[COL_GID] = name->gid.text;
	row->cell[COL_KIND] = name->gid.kind ? name->gid.kind : "";
	row->cell[COL_FROM] = name->from;
}

/* All that are listed; their number in RET_N. NULL: none, or no memory. */
static struct row *make_rows(const struct info *info, bool all, size_t *ret_n)
{
	const struct dat_conf *conf = info->conf;
	struct row *rows;
	size_t n = 0;

	for (size_t i = 0; i < conf->n_records; i++)
		n += is_listed(info, &conf->records[i], all);
	*ret_n = 0;
	rows = n ? calloc(n, sizeof(*rows)) : NULL;
	for (size_t i = 0; rows && i < conf->n_records; i++)
		if (is_listed(info, &conf->records[i], all))
			fill_row(info, &conf->records[i], &rows[(*ret_n)++]);
	return rows;
}

static void put_json(struct info_out *o, const struct row *row)
{
	struct dt_json j;

	dt_json_begin(&j, o->f);
	for (size_t c = 0; c < COL_N; c++) {
		if (c == COL_PORT)
			dt_json_count(&j, columns[c], row->name.port_number);
		else if (c == COL_MTU)
			dt_json_count(&j, columns[c], row->name.mtu);
		else
			dt_json_text(&j, columns[c], row->cell[c]);
	}
	dt_json_text(&j, "library", row->name.record->lib_path);
	dt_json_text(&j, "ia_params", row->name.record->ia_params);
	dt_json_end(&j);
}

static void put_cells(FILE *f, const char *const *cells, const size_t *widths)
{
	for (size_t c = 0; c < COL_N; c++) {
		fputs(c ? "  " : "", f);
		info_put(f, cells[c][0] ? cells[c] : "-",
			 c + 1 < COL_N ? widths[c] : 0);
	}
	fputc('\n', f);
}

static void put_table(struct info_out *o, const struct row *rows, size_t n)
{
	size_t widths[COL_N];

	for (size_t c = 0; c < COL_N; c++) {
		widths[c] = strlen(columns[c]);
		for (size_t i = 0; i < n; i++)
			if (strlen(rows[i].cell[c]) > widths[c])
				widths[c] = strlen(rows[i].cell[c]);
	}
	put_cells(o->f, columns, widths);
	for (size_t i = 0; i < n; i++)
		put_cells(o->f, rows[i].cell, widths);
}

/* The first that opens, as an MPI looks for it. */
static const char *first_that_opens(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct dat_conf_record *r = rows[i].name.record;
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		if (r->major != DAT_VERSION_MAJOR || r->unlisted ||
		    dat_ia_open((DAT_NAME_PTR)(uintptr_t)r->name, 8, &async,
				&ia) != DAT_SUCCESS)
			continue;
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		return r->name;
	}
	return NULL;
}

static void put_default(struct info_out *o, const char *name)
{
	struct dt_json j;

	if (o->json) {
		dt_json_begin(&j, o->f);
		dt_json_text(&j, "default", name);
		dt_json_end(&j);
	} else if (name) {
		fputs("\nAn MPI that is given no name takes ", o->f);
		info_put(o->f, name, 0);
		fputs(", the first that opens.\n", o->f);
	} else {
		fprintf(o->f, "\nAn MPI that is given no name finds none: no "
			      "name of DAT 2.0 opens. See dat_info --check, or "
			      "--why NAME.\n");
	}
}

static void put_unfit(const struct info *info, struct info_out *o)
{
	struct dt_json j;

	for (size_t i = 0; i < info->ports.n; i++) {
		const struct dat_port *port = &info->ports.ports[i];

		if (!port->unfit)
			continue;
		if (!o->json) {
			fprintf(o->f, "%s port %u: not used, %s\n",
				port->device, port->port, port->unfit);
			continue;
		}
		dt_json_begin(&j, o->f);
		dt_json_text(&j, "device", port->device);
		dt_json_count(&j, "port", port->port);
		dt_json_text(&j, "unfit", port->unfit);
		dt_json_end(&j);
	}
}

/*
 * What the list cannot show, on standard error. False: the file that is to be
 * read cannot be.
 */
static bool note_faults(const struct info *info)
{
	const char *netdev = secure_getenv("DAPL_SCM_NETDEV");
	const char *fault = netdev ? info_netdev_fault(netdev) : NULL;
	bool unread = info->named && !dat_static_file();

	if (unread) {
		fputs("dat_info: ", stderr);
		info_put(stderr, dat_static_no_file(), 0);
		fputc('\n', stderr);
	}
	if (fault) {
		fputs("dat_info: DAPL_SCM_NETDEV: ", stderr);
		info_put(stderr, netdev, 0);
		fprintf(stderr, " %s\n", fault);
	}
	return !unread;
}

int info_list(const struct info *info, struct info_out *o, bool all)
{
	size_t n;
	struct row *rows = make_rows(info, all, &n);
	const char *name = first_that_opens(rows, n);
	bool good = note_faults(info);

	for (size_t i = 0; o->json && i < n; i++)
		put_json(o, &rows[i]);
	if (!o->json && n)
		put_table(o, rows, n);
	else if (!o->json)
		fprintf(o->f,
			"There is no name: %s, and no line in a "
			"dat.conf.\n",
			info->ports.n ? "none is found (DAT_AUTO)"
				      : "no RDMA device");
	put_unfit(info, o);
	put_default(o, name);
	free(rows);
	return good && name ? INFO_PASSED : INFO_NO_ADAPTER;
}

/*
 * A line for comparing nodes: FNV-1a of what is listed, in order.
 */

static void hash(uint64_t *state, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	do {
		*state = (*state ^ *p) * UINT64_C(0x100000001b3);
	} while (*p++);
}

int info_digest(const struct info *info, struct info_out *o)
{
	uint64_t state = UINT64_C(0xcbf29ce484222325);
	const char *first = NULL;
	char text[24];
	struct dt_json j;
	size_t n = 0;

	for (size_t i = 0; i < info->conf->n_records; i++) {
		const struct dat_conf_record *r = &info->conf->records[i];

		if (!is_listed(info, r, false))
			continue;
		snprintf(text, sizeof(text), "%u.%u", r->major, r->minor);
		hash(&state, r->name);
		hash(&state, text);
		hash(&state, r->lib_path);
		hash(&state, r->ia_params);
		if (!first && r->major == DAT_VERSION_MAJOR)
			first = r->name;
		n++;
	}
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)state);
	if (o->json) {
		dt_json_begin(&j, o->f);
		dt_json_text(&j, "digest", text);
		dt_json_count(&j, "names", n);
		dt_json_text(&j, "first", first);
		dt_json_end(&j);
	} else {
		fprintf(o->f, "%s %zu names, first ", text, n);
		info_put(o->f, first ? first : "none", 0);
		fputc('\n', o->f);
	}
	return note_faults(info) && n ? INFO_PASSED : INFO_NO_ADAPTER;
}

int info_generate(const struct info *info, struct info_out *o)
{
	if (!info->ports.n) {
		/* not into the file that is written */
		fprintf(stderr, "dat_info: there is no RDMA device to write "
				"lines for; --check tells more\n");
		return INFO_NO_ADAPTER;
	}
	fprintf(o->f,
		"# Written by dat_info --generate: what this machine has, in "
		"the order in which\n"
		"# it is offered. Remove lines, or move them; the first that "
		"works is what an\n"
		"# MPI takes. To have nothing but these lines, write " DAT_CONF_ALONE
		"\n"
		"# at the beginning of a line.\n");
	dat_auto_write(&info->ports, o->f);
	return INFO_PASSED;
}
