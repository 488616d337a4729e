/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_main.c - dat_info: the command line.
 *
 * Threads, ownership: info.h. Rule: dat_info(1); one thing at a time.
 */
#include "dat/info/info.h"

#include "dat/common/dat_library.h"
#include "dat/common/dat_log.h"
#include "test/dtest/common/dt_opt.h"
#include "test/dtest/common/dt_run.h"

#include <dat2/udat.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct info_opts, member)

/* clang-format off */
static const struct dt_opt rows[] = {
	{'a', "all", DT_OPT_FLAG, AT(all), 0, 0, 0, NULL,
	 "list names of old and lines for what is not here, too"},
	{0, "why", DT_OPT_TEXT, AT(why), 0, 1, DAT_NAME_MAX_LENGTH - 1, "NAME",
	 "each step from dat.conf to a queue pair, and the\n"
	 "remedy for the first that fails"},
	{0, "test", DT_OPT_TEXT, AT(test), 0, 1, DT_OOB_NAME - 1, "NAME",
	 "send, write and read through the adapter to itself,\n"
	 "and compare the data"},
	{'v', "attributes", DT_OPT_TEXT, AT(attributes), 0, 1,
	 DAT_NAME_MAX_LENGTH - 1, "NAME",
	 "open the adapter and show all that it says of itself"},
	{0, "check", DT_OPT_FLAG, AT(check), 0, 0, 0, NULL,
	 "is the machine fit? Modules, permissions, limits,\n"
	 "ports, GIDs, MTU, dat.conf, variables"},
	{'e', "env", DT_OPT_FLAG, AT(env), 0, 0, 0, NULL,
	 "environment variables: default, effect, value"},
	{0, "generate", DT_OPT_FLAG, AT(generate), 0, 0, 0, NULL,
	 "write a dat.conf of what the machine has"},
	{0, "profile", DT_OPT_TEXT, AT(profile), 0, 1, DAT_DEVICE_NAME - 1,
	 "DEVICE",
	 "try what a verbs device grants, refuses and does, and\n"
	 "write it for the fake device of the tests"},
	{0, "lint", DT_OPT_FILE, AT(lint), 0, 0, 0, "FILE",
	 "what is wrong in FILE, or in the dat.conf in effect"},
	{0, "digest", DT_OPT_FLAG, AT(digest), 0, 0, 0, NULL,
	 "one line, equal on machines with the same list"},
	{0, "json", DT_OPT_FLAG, AT(json), 0, 0, 0, NULL,
	 "JSON Lines instead of text"},
	{0, "timeout", DT_OPT_COUNT, AT(timeout_s), 0, 1, 86400, "SEC",
	 "limit of each wait of --test (30)"},
	{0, "help", DT_OPT_HELP, 0, 0, 0, 0, NULL, "this text"},
	{0, "version", DT_OPT_VERSION, 0, 0, 0, 0, NULL, "the version"},
};
/* clang-format on */

static const struct dt_opt_spec spec = {
	.tool = "dat_info",
	.usage =
		"usage: dat_info [-a] [--json]\n"
		"       dat_info --why NAME | --test NAME | -v NAME [--json]\n"
		"       dat_info --check | -e | --lint[=FILE] | --digest "
		"[--json]\n"
		"       dat_info --generate >/etc/dat.conf\n"
		"       dat_info --profile DEVICE >FILE\n"
		"\n"
		"Lists the names by which DAT programs open RDMA adapters, and "
		"finds out why one\n"
		"does not work.\n",
	.notes = "Exit status: 0 good, 1 something failed, 2 usage, 3 timed "
		 "out, 4 there is no\n"
		 "adapter that opens, or no such file.\n",
	.rows = rows,
	.row_count = INFO_COUNT(rows),
	.unknown = "unknown, or short for several",
};

static int check_opts(const struct info_opts *o)
{
	int n = o->check + o->digest + o->generate + o->env +
		(o->lint != NULL) + (o->why != NULL) + (o->test != NULL) +
		(o->attributes != NULL) + (o->profile != NULL);

	if (n > 1)
		return dt_opt_bad(&spec, stderr, "options", "",
				  "one thing at a time");
	if (n && o->all)
		return dt_opt_bad(&spec, stderr, "-a", "",
				  "goes with the list only");
	return 0;
}

static int look(const struct info_opts *opts, struct info_out *o)
{
	char libs[PATH_MAX], file1[PATH_MAX];
	struct info_host host = {
		.sysfs = secure_getenv("SYSFS_PATH"),
		.dev = "/dev/infiniband",
		.proc = "/proc",
		.libs = libs,
	};
	const char *file = opts->lint && opts->lint[0] ? opts->lint : NULL;
	struct info info;
	int rc;

	/* what the program has of its address may be a step to it only */
	dat_library_folder(dlsym(RTLD_DEFAULT, "dat_registry_list_providers"),
			   libs, sizeof(libs));
	host.has_dat1 = strchr(dat_library_file("libdat.so.1", libs, file1,
						sizeof(file1)),
			       '/') != NULL;
	if (!host.sysfs)
		host.sysfs = "/sys";
	if (info_begin(&info, &host, file)) {
		fprintf(stderr, "dat_info: no memory\n");
		return INFO_FAILED;
	}
	rc = opts->lint	      ? info_lint(&info, o)
	     : opts->why      ? info_why(&info, o, opts->why)
	     : opts->check    ? info_check(&info, o)
	     : opts->digest   ? info_digest(&info, o)
	     : opts->generate ? info_generate(&info, o)
			      : info_list(&info, o, opts->all);
	info_end(&info);
	return rc;
}

/* Of libdat2, which looks for it when it is loaded. */
const unsigned dats_log_dest = DAT_LOG_STDERR;

/* Of providers that will be loaded; who names a place gets that. */
static void log_to_stderr(void)
{
	if (!getenv("DAPL_DBG_DEST") && !getenv("DAT_DBG_DEST"))
		setenv("DAPL_DBG_DEST", "4", 1);
}

int main(int argc, char **argv)
{
	struct info_opts opts = {.timeout_s = DT_RUN_TIMEOUT_S};
	struct info_out o = {.f = stdout};
	int rc = dt_opt_parse(&spec, argc, argv, stdout, stderr, &opts);

	if (rc < 0)
		rc = check_opts(&opts) ? INFO_USAGE : -1;
	if (rc >= 0)
		return fflush(stdout) ? INFO_FAILED : rc;
	o.json = opts.json;
	/* these two tell of the environment as it is, and load none */
	if (!opts.env && !opts.check)
		log_to_stderr();
	rc = opts.test	       ? info_test(&opts)
	     : opts.attributes ? info_attributes(&o, opts.attributes)
	     : opts.env	       ? info_env(&o)
	     : opts.profile    ? info_profile(stdout, opts.profile)
			       : look(&opts, &o);
	if (!fflush(stdout) && !ferror(stdout))
		return rc;
	fprintf(stderr, "dat_info: cannot write: %s\n", strerror(errno));
	return INFO_FAILED;
}
