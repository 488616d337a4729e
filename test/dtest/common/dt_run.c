/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_run.c - the frame of a test tool: options, adapter, begin and end.
 *
 * Threads, ownership, rule: see dt_run.h.
 */
#include "test/dtest/common/dt_run.h"

#include "test/dtest/common/dt_num.h"
#include "test/dtest/common/dt_process.h"
#include "test/dtest/common/dt_time.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE	  4096
#define DRAIN_MAX 1000000

#define AT(member) offsetof(struct dt_run_opts, member)

/* clang-format off */
const struct dt_opt dt_run_rows[DT_RUN_ROWS] = {
	{'P', NULL, DT_OPT_TEXT, AT(provider), AT(provider_given),
	 1, DT_OOB_NAME - 1, "NAME",
	 "entry of dat.conf; a client may leave it out and\n"
	 "then uses the server's, a server takes the default\n"
	 "if that opens, else the first that does"},
	{0, "port", DT_OPT_PORT, AT(port), 0, 0, 0, "N",
	 "connection qualifier of the server (45248; dtestx 31112)"},
	{0, "oob-port", DT_OPT_PORT, AT(oob_port), 0, 0, 0, "N",
	 "TCP port of the rendezvous (15828)"},
	{0, "timeout", DT_OPT_COUNT, AT(timeout_s), AT(timeout_given),
	 1, 86400, "SEC", "limit of each wait (30)"},
	{0, "cpu", DT_OPT_CPU, AT(cpu), 0, 0, 0, "N", "run on processor N"},
	{'v', NULL, DT_OPT_MORE, AT(verbose), 0, 0, 0, NULL, "show each step"},
	{0, "quiet", DT_OPT_FLAG, AT(quiet), 0, 0, 0, NULL,
	 "table and verdict only"},
	{0, "json", DT_OPT_FILE, AT(json_path), 0, 0, 0, "FILE",
	 "results as JSON Lines; without FILE on standard output"},
	{0, "help", DT_OPT_HELP, 0, 0, 0, 0, NULL, "this text"},
	{0, "version", DT_OPT_VERSION, 0, 0, 0, 0, NULL, "the version"},
	{'h', NULL, DT_OPT_TEXT, AT(host), 0, 1, 255, "HOST",
	 "client of the server on HOST"},
	{'s', NULL, DT_OPT_SERVER, AT(host), 0, 0, 0, NULL,
	 "server (default)"},
	/* From here on not DT_RUN_ROWS_ASKING. */
	{'q', NULL, DT_OPT_COUNT, AT(qpn), 0, 1, 0xffffff, "QPN",
	 "client of the UCM server with this queue pair"},
	{'l', NULL, DT_OPT_COUNT, AT(lid), 0, 1, 0xffff, "LID",
	 "and this LID (otherwise the server tells)"},
};
/* clang-format on */

void dt_run_defaults(struct dt_run_opts *o, const char *provider)
{
	memset(o, 0, sizeof(*o));
	o->provider = provider;
	o->timeout_s = DT_RUN_TIMEOUT_S;
	o->oob_port = DT_OOB_PORT;
	o->port = DT_RUN_PORT;
	o->cpu = -1;
}

int dt_run_begin(struct dt_run *run, const char *tool,
		 const struct dt_run_opts *o)
{
	int rc;

	memset(run, 0, sizeof(*run));
	run->o = o;
	run->server = !o->host && !o->qpn;
	run->limit_ns = o->timeout_s * DT_NS_PER_S;
	run->oob_conn = run->oob_fds[0] = run->oob_fds[1] = -1;
	snprintf(run->provider, sizeof(run->provider), "%s", o->provider);
	rc = dt_report_open(&run->r, tool, o->json_path);
	if (rc)
		fprintf(stderr, "%s: --json=%s: %s\n", tool, o->json_path,
			strerror(-rc));
	if (rc)
		return DT_USAGE;
	run->r.quiet = o->quiet;
	run->r.verbose = (int)o->verbose;
	dt_report_role(&run->r, run->server ? "server" : "client");
	dt_report_provider(&run->r, run->provider, "");
	dt_catch_signals();
	dt_allow_files();
	rc = dt_watch_begin(&run->r, o->timeout_s);
	if (rc)
		return dt_report_close(&run->r, rc);
	rc = dt_pin(&run->r, o->cpu);
	return rc ? dt_run_end(run, rc) : 0;
}

int dt_run_end(struct dt_run *run, int rc)
{
	dt_watch_end(&run->r);
	return dt_report_close(&run->r, rc);
}

int dt_run_failed(struct dt_run *run, DAT_RETURN ret, const char *call,
		  const char *remedy)
{
	return dt_dat_fail(&run->r, DT_ENVIRONMENT, ret, call, remedy);
}

int dt_run_freed(struct dt_run *run, int rc, DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS || rc)
		return rc;
	return dt_dat_fail(&run->r, DT_FAILED, ret, call, NULL);
}

int dt_run_not_opened(struct dt_run *run, DAT_RETURN ret, const char *name)
{
	char call[DT_OOB_NAME + 24];

	snprintf(call, sizeof(call), "%s(%s)", name, run->provider);
	return dt_dat_not_opened(&run->r, ret, call, run->o->remedy);
}

static int open_ia(struct dt_run *run, uint32_t async_length)
{
	DAT_RETURN ret;

	ret = DT_RUN_TIMED(run, DT_RUN_OPEN,
			   dat_ia_open(run->provider, (DAT_COUNT)async_length,
				       &run->async_evd, &run->ia));
	if (ret == DAT_SUCCESS)
		return 0;
	run->ia = run->async_evd = DAT_HANDLE_NULL;
	return dt_run_not_opened(run, ret, "dat_ia_open");
}

const char *dt_run_attr(const struct dt_run *run, const char *name)
{
	return dt_dat_attr(&run->prov, name);
}

bool dt_run_attr_true(const struct dt_run *run, const char *name)
{
	const char *value = dt_run_attr(run, name);

	return value && !strcmp(value, "TRUE");
}

static void keep_address(struct dt_run *run, const struct sockaddr *addr)
{
	if (!addr)
		return;
	if (addr->sa_family == AF_INET)
		memcpy(&run->local, addr, sizeof(struct sockaddr_in));
	else if (addr->sa_family == AF_INET6)
		memcpy(&run->local, addr, sizeof(struct sockaddr_in6));
}

static int query_ia(struct dt_run *run)
{
	const char *device, *mtu;
	uint64_t value;
	DAT_RETURN ret;

	/* Old providers leave out members. */
	memset(&run->attr, 0, sizeof(run->attr));
	memset(&run->prov, 0, sizeof(run->prov));
	ret = dat_ia_query(run->ia, NULL, DAT_IA_FIELD_ALL, &run->attr,
			   DAT_PROVIDER_FIELD_ALL, &run->prov);
	if (ret != DAT_SUCCESS)
		return dt_run_failed(run, ret, "dat_ia_query", NULL);
	keep_address(run, run->attr.ia_address_ptr);
	device = dt_run_attr(run, "DAT_IB_DEVICE_NAME");
	mtu = dt_run_attr(run, "DAT_IB_TRANSPORT_MTU");
	if (mtu && !dt_parse_count(mtu, 1, UINT32_MAX, &value))
		run->mtu = (uint32_t)value;
	run->attr.adapter_name[sizeof(run->attr.adapter_name) - 1] = 0;
	dt_report_provider(&run->r, run->provider,
			   device ? device : run->attr.adapter_name);
	return 0;
}

static int make_pz(struct dt_run *run)
{
	DAT_RETURN ret = DT_RUN_TIMED(run, DT_RUN_PZ_CREATE,
				      dat_pz_create(run->ia, &run->pz));

	if (ret == DAT_SUCCESS)
		return 0;
	run->pz = DAT_HANDLE_NULL;
	return dt_run_failed(run, ret, "dat_pz_create", NULL);
}

int dt_run_open(struct dt_run *run, uint32_t async_length)
{
	int rc;

	/* a client that asked a server has that one's */
	if (!run->o->provider_given && !run->o->qpn && run->oob_conn < 0)
		dt_default_adapter(&run->r, run->provider,
				   sizeof(run->provider));
	dt_say(&run->r, "%d Running as %s - %s v%s\n", run->r.pid, run->r.role,
	       run->provider, DT_FACED("1.2", "2"));
	rc = open_ia(run, async_length);
	if (!rc)
		rc = query_ia(run);
	if (!rc)
		rc = make_pz(run);
	return rc;
}

int dt_run_make_evd(struct dt_run *run, uint32_t length, DAT_CNO_HANDLE cno,
		    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *ret_evd)
{
	DAT_RETURN ret = DT_RUN_TIMED(run, DT_RUN_EVD_CREATE,
				      dat_evd_create(run->ia, (DAT_COUNT)length,
						     cno, flags, ret_evd));

	if (ret == DAT_SUCCESS)
		return 0;
	*ret_evd = DAT_HANDLE_NULL;
	return dt_run_failed(run, ret, "dat_evd_create",
			     "the adapter may not have queues that long");
}

int dt_run_free_evd(struct dt_run *run, DAT_EVD_HANDLE *evd, int rc)
{
	DAT_EVENT event;

	if (*evd == DAT_HANDLE_NULL)
		return rc;
	/* What was flushed; bounded, since nothing new can come. */
	for (int i = 0; i < DRAIN_MAX; i++)
		if (dat_evd_dequeue(*evd, &event) != DAT_SUCCESS)
			break;
	rc = dt_run_freed(
		run, rc, DT_RUN_TIMED(run, DT_RUN_EVD_FREE, dat_evd_free(*evd)),
		"dat_evd_free");
	*evd = DAT_HANDLE_NULL;
	return rc;
}

int dt_run_make_region(struct dt_run *run, struct dt_region *reg, size_t length,
		       DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN reg_length;
	DAT_VADDR reg_address;
	DAT_RETURN ret;
	void *base;

	if (posix_memalign(&base, PAGE, length))
		return dt_fail(&run->r, DT_ENVIRONMENT,
			       "no memory for %zu bytes; use a smaller -b",
			       length);
	memset(base, 0, length);
	reg->base = base;
	reg->length = length;
	desc.for_va = base;
	ret = DT_RUN_TIMED_AS(run, DT_RUN_LMR_CREATE, "dat_lmr_create",
			      face_lmr_create(run->ia, DAT_MEM_TYPE_VIRTUAL,
					      desc, length, run->pz, privileges,
					      &reg->lmr, &reg->lmr_context,
					      &reg->rmr_context, &reg_length,
					      &reg_address));
	if (ret == DAT_SUCCESS)
		return 0;
	reg->lmr = DAT_HANDLE_NULL;
	return dt_run_failed(run, ret, "dat_lmr_create",
			     "locked memory may be limited (ulimit -l)");
}

int dt_run_free_region(struct dt_run *run, struct dt_region *reg, int rc)
{
	if (reg->lmr != DAT_HANDLE_NULL)
		rc = dt_run_freed(run, rc,
				  DT_RUN_TIMED(run, DT_RUN_LMR_FREE,
					       dat_lmr_free(reg->lmr)),
				  "dat_lmr_free");
	free(reg->base);
	memset(reg, 0, sizeof(*reg));
	return rc;
}

static void close_sockets(struct dt_run *run)
{
	for (int i = 0; i < DT_OOB_SOCKETS; i++)
		if (run->oob_fds[i] >= 0)
			close(run->oob_fds[i]);
	if (run->oob_conn >= 0)
		close(run->oob_conn);
	run->oob_conn = run->oob_fds[0] = run->oob_fds[1] = -1;
}

int dt_run_close(struct dt_run *run, int rc)
{
	if (run->pz != DAT_HANDLE_NULL)
		rc = dt_run_freed(
			run, rc,
			DT_RUN_TIMED(run, DT_RUN_PZ_FREE, dat_pz_free(run->pz)),
			"dat_pz_free");
	run->pz = DAT_HANDLE_NULL;
	if (run->ia != DAT_HANDLE_NULL)
		rc = dt_run_freed(
			run, rc,
			DT_RUN_TIMED(run, DT_RUN_CLOSE,
				     dat_ia_close(run->ia, DAT_CLOSE_DEFAULT)),
			"dat_ia_close");
	run->ia = run->async_evd = DAT_HANDLE_NULL;
	/* A server that still waits for this client need not any more. */
	if (rc && !run->server && run->oob_conn >= 0)
		dt_oob_decline(run->oob_conn, DT_OOB_GAVE_UP);
	close_sockets(run);
	return rc;
}
