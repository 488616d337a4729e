/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_env.c - environment variables: the table of all, what they are now, and
 * which of them nobody reads.
 *
 * Values are read by the libraries' own readers, so that what is said of them
 * is what becomes of them. Threads, ownership: info.h. Rule: dapl-env(7) and
 * libdat2(7). Unit tests compare the table with both pages and with the tables
 * that the providers read.
 */
#include "dat/info/info.h"

#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_text.h"
#include "dat/common/dat_log.h"
#include "dat/common/dat_static.h"
#include "test/dtest/common/dt_json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH 64
/* A name that differs in so many letters was meant. */
#define TYPING_ERRORS 2

/* clang-format off */
const struct info_var info_vars[] = {
	{"DAPL_ACK_RETRY", "number, 0 to 7", "7",
	 "transport retries before a connection breaks"},
	{"DAPL_ACK_TIMER", "number, 0 to 31", "20",
	 "transport timeout, 4.096 us times 2 to this power"},
	{"DAPL_CM_ACK_TIMER", "number, 0 to 31", NULL,
	 "transport timeout, 4.096 us times 2 to this power"},
	{"DAPL_CM_ARP_RETRY_COUNT", "number, 1 to 1000", "15",
	 "attempts to resolve an address"},
	{"DAPL_CM_ARP_TIMEOUT_MS", "number, 1 to 600000", "4000",
	 "time for one of them, milliseconds"},
	{"DAPL_CM_KEEPALIVE_MS", "number, 0 to 3600000", NULL,
	 "from one question whether a host is there to the next; 0: none"},
	{"DAPL_CM_ROUTE_RETRY_COUNT", "number, 1 to 1000", "15",
	 "attempts to resolve a route"},
	{"DAPL_CM_ROUTE_TIMEOUT_MS", "number, 1 to 600000", "4000",
	 "time for one of them, milliseconds"},
	{"DAPL_CM_TOS", "number, 0 to 255", "0",
	 "type of service of connections; 0: the system's"},
	{"DAPL_COUNTERS", "text, 0 to 16 characters", NULL,
	 "count, and print at dat_ia_close(): table, json; 0: not"},
	{"DAPL_DBG_DEST", "bit mask", "1",
	 "where log lines go: 1 stdout, 2 syslog, 4 stderr"},
	{"DAPL_DBG_LEVEL", "bit mask", "0",
	 "more bits for DAPL_DBG_TYPE"},
	{"DAPL_DBG_SYS_MEM", NULL, NULL,
	 "without effect: it never had any"},
	{"DAPL_DBG_TYPE", "bit mask", "0",
	 "which log lines; \"help\" lists the classes"},
	{"DAPL_GID_INDEX", "number, 0 to 255", NULL,
	 "entry of the port's GID table to use"},
	{"DAPL_GLOBAL_ROUTING", "number, 0 or more", "0",
	 "not 0: global route header on InfiniBand too"},
	{"DAPL_HOP_LIMIT", "number, 0 to 255", "64",
	 "hop limit of the global route header"},
	{"DAPL_IB_MTU", "number, 1 to 65535", NULL,
	 "upper limit of the path MTU, bytes"},
	{"DAPL_IB_PKEY", "number, 0 to 65535", "0",
	 "partition key to look for in the port's table"},
	{"DAPL_IB_SL", "number, 0 to 15", "0",
	 "service level"},
	{"DAPL_LOOPBACK", NULL, NULL,
	 "without effect: it never had any"},
	{"DAPL_MAX_CM_RESPONSE_TIME", NULL, NULL,
	 "without effect: it never had any"},
	{"DAPL_MAX_CM_RETRIES", NULL, NULL,
	 "without effect: it never had any"},
	{"DAPL_MAX_INLINE", "number, 0 to 65535", NULL,
	 "inline bytes to ask for; 0: none"},
	{"DAPL_NETWORK_NODES", NULL, NULL,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_PPN", NULL, NULL,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_PROCESS_NUM", NULL, NULL,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_TRESHOLD", NULL, NULL,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_RNR_RETRY", "number, 0 to 7", "7",
	 "retries while the peer has no receive posted; 7: endless"},
	{"DAPL_RNR_TIMER", "number, 0 to 31", "12",
	 "code of the pause the peer shall make before these"},
	{"DAPL_SCM_KEEPALIVE_MS", "number, 0 to 3600000", "60000",
	 "how long a host may be quiet before it is asked; 0: it is not"},
	{"DAPL_SCM_NETDEV", "text, 1 to 63 characters", NULL,
	 "network interface, or its address, that is the adapter's"},
	{"DAPL_SCM_PORT_RANGE", "ports, first-last", NULL,
	 "TCP ports that connections are made from, first-last"},
	{"DAPL_TCLASS", "number, 0 to 255", "0",
	 "traffic class of the global route header"},
	{"DAPL_UCM_ARRAY_BITS", "number, 1 to 18", "18",
	 "at most 2 to this power of connections"},
	{"DAPL_UCM_CQ_SIZE", "number, 16 to 1048576", NULL,
	 "entries of the CM's completion queues, if that is more"},
	{"DAPL_UCM_DREP_TIME", "number, 1 to 600000", NULL,
	 "fixed first wait for a DREP, milliseconds"},
	{"DAPL_UCM_DREQ_RETRY", "number, 0 to 100", "1",
	 "repeats of a DREQ before the consumer is told"},
	{"DAPL_UCM_ENTRY_BITS", NULL, NULL,
	 "without effect: tables grow by themselves"},
	{"DAPL_UCM_KEEPALIVE_MS", "number, 0 to 3600000", "0",
	 "from one question whether a peer is there to the next; 0: none"},
	{"DAPL_UCM_QP_SIZE", "number, 16 to 65536", NULL,
	 "depth of both queues of the CM's queue pair"},
	{"DAPL_UCM_REP_TIME", "number, 1 to 600000", NULL,
	 "fixed first wait for a REP, milliseconds"},
	{"DAPL_UCM_RETRY", "number, 1 to 32", NULL,
	 "tries of a REQ or REP before it is given up"},
	{"DAPL_UCM_RTU_TIME", "number, 1 to 600000", NULL,
	 "fixed first wait for an RTU, milliseconds"},
	{"DAPL_UCM_TIMER", NULL, NULL,
	 "without effect: each connection has its own timer"},
	{"DAPL_UCM_TX_BURST", "number, 1 to 1024", "50",
	 "a completion is asked for every so many CM sends"},
	{"DAPL_UCM_WAIT_TIME", "number, 1 to 3600000", "60000",
	 "how long an ended connection is remembered, ms"},
	{"DAPL_WR_MAX", "number, 1 or more", NULL,
	 "upper limit of transfers in flight for one endpoint"},
	{"DAT_AUTO", "number, 0 or more", NULL,
	 "0: only what dat.conf has; above: what is found as well"},
	{"DAT_DBG_DEST", "bit mask", "1",
	 "where messages of the registry go: 1 stdout, 2 syslog, 4 stderr"},
	{"DAT_DBG_TYPE", "bit mask", "0",
	 "which messages of the registry"},
	{"DAT_OVERRIDE", "text", NULL,
	 "the only dat.conf to read"},
	{"SYSFS_PATH", "text", "/sys",
	 "where the kernel's /sys is"},
};
/* clang-format on */

const size_t info_var_count = INFO_COUNT(info_vars);

/* What the libraries' readers say of a value that they do not take. */
static char refused[512];

static void refuse(const char *why)
{
	snprintf(refused, sizeof(refused), "%s", why);
}

/* The row that the providers read the variable by, as VAR tells of it. */
static struct dapl_param row_of(const struct info_var *var)
{
	struct dapl_param row = {.name = var->name, .max = INT_MAX, .def = -1};

	for (size_t i = 0; i < dapl_log_param_table.count; i++)
		if (!strcmp(dapl_log_param_table.rows[i].name, var->name))
			row = dapl_log_param_table.rows[i];
	row.offset = 0;
	if (row.type == DAPL_PARAM_MASK)
		return row;
	if (!strcmp(var->values, "ports, first-last"))
		row.type = DAPL_PARAM_PORTS;
	else if (sscanf(var->values, "text, %d to %d", &row.min, &row.max) == 2)
		row.type = DAPL_PARAM_STR;
	else
		sscanf(var->values, "number, %d to %d", &row.min, &row.max);
	if (var->def)
		row.def = atoi(var->def);
	return row;
}

static bool is_good_dapl(const struct info_var *var, const char *text)
{
	struct dapl_param row = row_of(var);
	union {
		const char *text;
		int number;
		unsigned mask;
		struct dapl_ports ports;
	} value;

	/* the log's own word */
	if (!strcmp(var->name, "DAPL_DBG_TYPE") && !strcmp(text, "help"))
		return true;
	return dapl__param_set(&row, text, &value, refuse);
}

/* Of the registry. */
static bool is_good_dat(const struct info_var *var, const char *text)
{
	long long number;
	bool automatic;

	if (!strcmp(var->values, "text"))
		return true;
	if (!strcmp(var->name, "DAT_AUTO")) {
		if (dat_static_automatic(text, &automatic))
			return true;
		snprintf(refused, sizeof(refused),
			 "'%s' is not a number from 0; ignored", text);
		return false;
	}
	if (!dat_text_number(text, &number)) {
		snprintf(refused, sizeof(refused),
			 "'%s' is not a number; using 0", text);
		return false;
	}
	if (strcmp(var->name, "DAT_DBG_DEST") != 0 || number == -1 ||
	    !(number & ~(long long)DAT_LOG_DESTS))
		return true;
	snprintf(refused, sizeof(refused),
		 "'%s' has bits that mean nothing: %#llx; ignored", text,
		 (unsigned long long)number &
			 ~(unsigned long long)DAT_LOG_DESTS);
	return false;
}

/* Whether TEXT is one of VAR's values, as the libraries read it. */
static bool is_good(const struct info_var *var, const char *text)
{
	return strncmp(var->name, "DAPL_", 5) ? is_good_dat(var, text)
					      : is_good_dapl(var, text);
}

static void put_var(struct info_out *o, const struct info_var *var)
{
	const char *value = getenv(var->name);
	const char *def = var->def ? var->def : "not set";
	struct dt_json j;

	if (o->json) {
		dt_json_begin(&j, o->f);
		dt_json_text(&j, "variable", var->name);
		dt_json_text(&j, "values", var->values);
		dt_json_text(&j, "default", var->def);
		dt_json_text(&j, "effect", var->effect);
		if (value)
			dt_json_text(&j, "value", value);
		dt_json_end(&j);
		return;
	}
	fputs(var->name, o->f);
	if (value) {
		fputc('=', o->f);
		info_put(o->f, value, 0);
	}
	fprintf(o->f, "\n    %s\n", var->effect);
	if (var->values)
		fprintf(o->f, "    %s; default %s\n", var->values, def);
}

int info_env(struct info_out *o)
{
	extern char **environ;

	for (size_t i = 0; i < info_var_count; i++)
		put_var(o, &info_vars[i]);
	info_check_env(o, environ);
	return o->failed ? INFO_FAILED : INFO_PASSED;
}

/* How many letters have to be changed, put in or taken out. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LENGTH + 1], len = strlen(b), corner, old;

	if (len > NAME_MAX_LENGTH || strlen(a) > NAME_MAX_LENGTH)
		return SIZE_MAX;
	for (size_t k = 0; k <= len; k++)
		row[k] = k;
	for (size_t i = 0; a[i]; i++) {
		corner = row[0]++;
		for (size_t k = 0; k < len; k++) {
			old = row[k + 1];
			if (a[i] != b[k] && corner > row[k])
				corner = row[k];
			if (a[i] != b[k] && corner > old)
				corner = old;
			row[k + 1] = corner + (a[i] != b[k]);
			corner = old;
		}
	}
	return row[len];
}

static const struct info_var *nearest(const char *name)
{
	size_t best = TYPING_ERRORS + 1;
	const struct info_var *var = NULL;

	for (size_t i = 0; i < info_var_count; i++) {
		size_t d = distance(name, info_vars[i].name);

		if (d >= best)
			continue;
		best = d;
		var = &info_vars[i];
	}
	return var;
}

/* The number is good, but is taken for another. */
static bool is_odd_mtu(const struct info_var *var, const char *value)
{
	long bytes = strtol(value, NULL, 0);

	return !strcmp(var->name, "DAPL_IB_MTU") && bytes != 256 &&
	       bytes != 512 && bytes != 1024 && bytes != 2048 && bytes != 4096;
}

static void check_known(struct info_out *o, const struct info_var *var,
			const char *value)
{
	const char *fault = NULL;
	size_t name = strlen(var->name);

	if (!strcmp(var->name, "DAPL_SCM_NETDEV"))
		fault = info_netdev_fault(value);
	if (!var->values)
		info_say(o, INFO_WARN, var->name, "unset it", "%s",
			 var->effect);
	else if (!is_good(var, value))
		info_say(o, INFO_FAIL, var->name, "correct or unset it",
			 "%s (%s)",
			 /* the providers begin with the name */
			 strncmp(refused, var->name, name)
				 ? refused
				 : refused + name + strlen(": "),
			 var->values);
	else if (fault)
		info_say(o, INFO_FAIL, var->name, INFO_NETDEV_REMEDY, "%s %s",
			 value, fault);
	else if (is_odd_mtu(var, value))
		info_say(o, INFO_WARN, var->name, "correct it",
			 "\"%s\" counts as 1024: it is not 256, 512, 1024, "
			 "2048 or 4096",
			 value);
	else
		info_say(o, INFO_OK, var->name, NULL, "\"%s\": %s", value,
			 var->effect);
}

static void check_unknown(struct info_out *o, const char *name)
{
	const struct info_var *var = nearest(name);
	char remedy[2 * NAME_MAX_LENGTH];

	snprintf(remedy, sizeof(remedy), "did you mean %s?",
		 var ? var->name : "");
	info_say(o, INFO_WARN, name,
		 var ? remedy : "unset it; dat_info -e lists those there are",
		 "nothing reads a variable of this name");
}

void info_check_env(struct info_out *o, char *const *environment)
{
	for (; *environment; environment++) {
		const char *equal = strchr(*environment, '=');
		char name[NAME_MAX_LENGTH + 1];
		size_t i = 0;

		if (!equal || (strncmp(*environment, "DAPL_", 5) &&
			       strncmp(*environment, "DAT_", 4)))
			continue;
		snprintf(name, sizeof(name), "%.*s",
			 (int)(equal - *environment), *environment);
		while (i < info_var_count && strcmp(info_vars[i].name, name))
			i++;
		if (i < info_var_count)
			check_known(o, &info_vars[i], equal + 1);
		else
			check_unknown(o, name);
	}
}
