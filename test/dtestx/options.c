/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dtestx, and what both sides must agree on.
 *
 * Does not open anything. Threads, ownership: see dt_opt.h.
 * Rule: letters and defaults are historic.
 */
#include "test/dtestx/dtestx.h"

#include <stddef.h>

#define AT(member) offsetof(struct dx_opts, member)

/* clang-format off */
static const struct dt_opt rows[] = {
	{'b', NULL, DT_OPT_COUNT, AT(size), 0, DX_RMR, 1u << 24, "N",
	 "bytes of a buffer (256)"},
	{'q', NULL, DT_OPT_FLAG, AT(query), 0, 0, 0, NULL,
	 "only show what the provider is and can do"},
	{'p', NULL, DT_OPT_FLAG, AT(counters), 0, 0, 0, NULL,
	 "show the provider's counters at the end"},
	{'c', NULL, DT_OPT_FLAG, AT(client), 0, 0, 0, NULL,
	 "client, which -h says as well"},
	{'u', NULL, DT_OPT_FLAG, AT(ud), 0, 0, 0, NULL,
	 "datagram (UD) endpoints in place of connected ones, 4"},
	{'U', NULL, DT_OPT_COUNT, AT(ud_endpoints), 0, 1, DX_UD_MAX, "N",
	 "the same, N of them"},
	{'m', NULL, DT_OPT_FLAG, AT(ud_pairs), 0, 0, 0, NULL,
	 "the same, each to one of the server's; else all to its first"},
};

static const struct dt_opt_spec spec = {
	.tool = "dtestx",
	.usage =
"usage: dtestx [-P PROVIDER] [option...]           one side: the server\n"
"       dtestx -h HOST [option...]                 other side: the client\n"
"       dtestx -q [-P PROVIDER]\n"
"\n"
"Tests the InfiniBand extensions over one connection: RDMA write with immediate\n"
"data, compare and swap, fetch and add. Both sides do all of them at the same\n"
"time, and check what they got. With -u datagram endpoints instead.\n",
	.notes =
"Both sides need the same -b, -u, -U and -m. Example, two terminals of one machine:\n"
"\n"
"  dtestx -P ofa-v2-eth0\n"
"  dtestx -h 192.168.1.10\n"
"\n"
"Exit status: 0 passed, 1 failed, 2 usage (244: unknown letter), 3 timed out,\n"
"4 no provider, device or resources, 5 the peer runs something else,\n"
"130 interrupted.\n",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.common = dt_run_rows,
	.common_count = DT_RUN_ROWS_ASKING,
};
/* clang-format on */

struct dt_oob_params dx_params(const struct dx_opts *o)
{
	struct dt_oob_params p = {
		.known = true,
		.mode = o->ud ? DX_MODE_UD : DX_MODE,
		.size = o->size,
		.flags = o->ud_pairs,
		.count = o->ud ? o->ud_endpoints : 0,
	};

	return p;
}

const char *dx_mismatch(const struct dx_opts *o,
			const struct dt_oob_params *theirs)
{
	if (!theirs->known)
		return NULL;
	if (theirs->mode != DX_MODE && theirs->mode != DX_MODE_UD)
		return "the server is another test tool";
	if ((theirs->mode == DX_MODE_UD) != o->ud)
		return "one side runs with -u, the other without";
	if (o->ud &&
	    (theirs->count != o->ud_endpoints || theirs->flags != o->ud_pairs))
		return "the server runs with another -U or -m";
	if (theirs->size != o->size)
		return "the server runs with another -b";
	return NULL;
}

int dx_parse(int argc, char **argv, FILE *out, FILE *err,
	     struct dx_opts *ret_opts)
{
	struct dx_opts o = {.size = DX_SIZE};
	int rc;

	dt_run_defaults(&o.run, DX_PROVIDER);
	o.run.port = DX_PORT;
	rc = dt_opt_parse(&spec, argc, argv, out, err, &o);
	o.ud |= o.ud_endpoints || o.ud_pairs;
	if (!o.ud_endpoints)
		o.ud_endpoints = DX_UD;
	if (rc < 0 && o.client && !o.run.host)
		rc = dt_opt_bad(&spec, err, "-c", "without -h",
				"where would the server be?");
	if (rc < 0)
		*ret_opts = o;
	return rc;
}
