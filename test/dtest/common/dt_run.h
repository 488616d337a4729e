/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_run.h - the frame of a test tool with a server and a client: options that
 * all have, the adapter, and how the two sides find each other.
 *
 * Does not connect endpoints and does not know what is tested.
 * Threads: one. Every wait has a limit, and the watchdog sees to the rest.
 * Ownership: struct dt_run owns what it opens; dt_run_close() releases what
 * there is, at any point.
 * Rule: each function returns 0 or an exit status, having reported it.
 */
#ifndef DTEST_DT_RUN_H
#define DTEST_DT_RUN_H

#include "test/dtest/common/dt_dat.h"
#include "test/dtest/common/dt_oob.h"
#include "test/dtest/common/dt_opt.h"
#include "test/dtest/common/dt_report.h"
#include "test/dtest/common/dt_time.h"
#include "test/dtest/common/dt_tool.h"
#include "test/dtest/common/dt_watch.h"

#include <stdbool.h>
#include <stdint.h>

#define DT_RUN_PORT	 45248
#define DT_RUN_TIMEOUT_S 30
/* As the historic clients ask for; the own limit may be shorter. */
#define DT_RUN_CONNECT_S 100

/* First member of each tool's options. */
struct dt_run_opts {
	const char *host; /* NULL: server, unless qpn is given */
	const char *provider;
	bool provider_given;
	bool timeout_given;
	bool quiet;
	uint32_t verbose;
	uint32_t timeout_s;
	uint16_t oob_port;
	uint16_t port;
	uint32_t qpn; /* of a UCM server whose address is known; 0: ask */
	uint32_t lid;
	int cpu;	       /* -1: any */
	const char *json_path; /* as dt_report_open() */
	const char *remedy;    /* if it does not open; NULL: the tools' own */
};

/* Their rows, for dt_opt_spec.common. */
#define DT_RUN_ROWS 14
/* Those of tools whose clients always ask the server for its address. */
#define DT_RUN_ROWS_ASKING 12
extern const struct dt_opt dt_run_rows[DT_RUN_ROWS];

/* What they are unless given. */
void dt_run_defaults(struct dt_run_opts *o, const char *provider);

/* Steps that are timed; the first call of a kind counts. */
enum dt_run_time {
	DT_RUN_OPEN,
	DT_RUN_CLOSE,
	DT_RUN_PZ_CREATE,
	DT_RUN_PZ_FREE,
	DT_RUN_LMR_CREATE,
	DT_RUN_LMR_FREE,
	DT_RUN_EVD_CREATE,
	DT_RUN_EVD_FREE,
	DT_RUN_CNO_CREATE,
	DT_RUN_CNO_FREE,
	DT_RUN_EP_CREATE,
	DT_RUN_EP_FREE,
	DT_RUN_CONNECT,
	DT_RUN_TIME_N,
};

struct dt_run {
	const struct dt_run_opts *o;
	struct dt_report r;
	struct dt_waiter w;
	uint64_t limit_ns;
	bool server;
	bool peer_is_ours; /* a tool of this project, as far as was told */
	char provider[DT_OOB_NAME];
	struct sockaddr_storage local;
	struct sockaddr_storage remote; /* client: the server's adapter */
	int oob_fds[DT_OOB_SOCKETS];
	int oob_conn;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
	uint32_t mtu; /* of the transport; 0: the provider does not say */
	uint64_t time_ns[DT_RUN_TIME_N];
};

/*
 * Opens the reporter, takes over the signals and pins the process. Unlike the
 * others it may leave nothing to close: then the exit status is final.
 */
int dt_run_begin(struct dt_run *run, const char *tool,
		 const struct dt_run_opts *o);
/* The verdict; returns the exit status of the process. */
int dt_run_end(struct dt_run *run, int rc);

/* Opens the adapter and a protection zone. */
int dt_run_open(struct dt_run *run, uint32_t async_length);
/* Releases what there is. Returns rc, or an exit status of its own. */
int dt_run_close(struct dt_run *run, int rc);

/* Times a call, which the watchdog knows; `what` is of enum dt_run_time. */
#define DT_RUN_TIMED(run, what, call) DT_RUN_TIMED_AS(run, what, #call, call)
/* The same where it has another name for users. */
#define DT_RUN_TIMED_AS(run, what, name, call)                         \
	({                                                             \
		uint64_t start_ns = (dt_doing(name), dt_now_ns());     \
		DAT_RETURN timed_ret = (call);                         \
                                                                       \
		if (!(run)->time_ns[what])                             \
			(run)->time_ns[what] = dt_now_ns() - start_ns; \
		timed_ret;                                             \
	})

/* Value of a named provider attribute, or NULL; whether it is "TRUE". */
const char *dt_run_attr(const struct dt_run *run, const char *name);
bool dt_run_attr_true(const struct dt_run *run, const char *name);

/* Freeing an EVD drains it, and one that is not there is fine. */
int dt_run_make_evd(struct dt_run *run, uint32_t length, DAT_CNO_HANDLE cno,
		    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *ret_evd);
int dt_run_free_evd(struct dt_run *run, DAT_EVD_HANDLE *evd, int rc);

/* Registered memory, zeroed; freeing one that is not there is fine. */
struct dt_region {
	uint8_t *base;
	size_t length;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

int dt_run_make_region(struct dt_run *run, struct dt_region *reg, size_t length,
		       DAT_MEM_PRIV_FLAGS privileges);
int dt_run_free_region(struct dt_run *run, struct dt_region *reg, int rc);

/* The adapter was refused by the call of that name, which takes its name. */
int dt_run_not_opened(struct dt_run *run, DAT_RETURN ret, const char *name);
/* A failing call of set-up, and one of tear-down (counts if rc is 0). */
int dt_run_failed(struct dt_run *run, DAT_RETURN ret, const char *call,
		  const char *remedy);
int dt_run_freed(struct dt_run *run, int rc, DAT_RETURN ret, const char *call);

#endif /* DTEST_DT_RUN_H */
