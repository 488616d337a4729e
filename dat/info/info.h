/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info.h - dat_info: which adapters there are, what they are, and why one does
 * not work.
 *
 * Names are found as libdat2 finds them, by its own code (libdatnames);
 * adapters are opened by the public calls only. Changes nothing on the machine.
 * Threads: one. Ownership: struct info owns the ports; records are the static
 * registry's.
 * Rule: dat_info(1), dat.conf(5).
 */
#ifndef DAT_INFO_H
#define DAT_INFO_H

#include "dat/common/dat_auto_ports.h"
#include "dat/common/dat_conf.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define INFO_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Exit status. */
enum {
	INFO_PASSED = 0,
	INFO_FAILED = 1,
	INFO_USAGE = 2,
	INFO_NO_ADAPTER = 4,
};

/* Less than this locked memory does not do for a test. */
#define INFO_MEMLOCK_LEAST (1u << 20)

/* Where things are; tests have a machine of their own. */
struct info_host {
	const char *sysfs; /* "/sys" */
	const char *dev;   /* "/dev/infiniband" */
	const char *proc;  /* "/proc" */
	const char *libs;  /* the folder of libdat2, with its slash */
	bool has_dat1;	   /* libdat.so.1 is installed, too */
};

struct info {
	struct info_host host;
	struct dat_ports ports;
	unsigned *mtus; /* of the ports, once asked for: info_mtu_of() */
	const struct dat_conf *conf;
	bool named; /* the file was named, and has to be there */
};

/*
 * Reads FILE, or what the library reads if it is NULL, and looks for ports. 0
 * or -ENOMEM.
 */
int info_begin(struct info *info, const struct info_host *host,
	       const char *file);
void info_end(struct info *info);

/*
 * What is told. Each line of text, or with JSON object, is one fact.
 */

enum info_result {
	INFO_OK,
	INFO_WARN,
	INFO_FAIL,
};

struct info_out {
	FILE *f;
	bool json;
	const char *name; /* of the adapter, in each object; NULL: no member */
	unsigned failed;  /* lines of this kind so far */
	unsigned warned;
};

/*
 * Text for a person, filled up to WIDTH. It comes from files and from the
 * environment; a terminal must not obey it.
 */
void info_put(FILE *f, const char *text, size_t width);

/* REMEDY may be NULL. */
void info_say(struct info_out *o, enum info_result result, const char *what,
	      const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/*
 * Facts (info_facts.c).
 */

enum info_way {
	INFO_WAY_CMA,
	INFO_WAY_SCM,
	INFO_WAY_UCM,
	INFO_WAY_OTHER, /* a provider that is not ours */
};

struct info_gid {
	char text[INET6_ADDRSTRLEN];
	const char *kind; /* NULL: the port has none that can be used */
	int index;
};

/* The GID that connections are to start from. */
struct info_wish {
	int index;    /* -1: the provider chooses */
	bool of_line; /* who asks for it; else DAPL_GID_INDEX */
};

/* A name, as far as it can be told without opening anything. */
struct info_name {
	const struct dat_conf_record *record;
	const struct dat_port *port; /* NULL: no such device or interface */
	enum info_way way;
	char device[DAT_DEVICE_NAME];
	unsigned port_number; /* 0: not known */
	char interface[IF_NAMESIZE];
	char address[INET6_ADDRSTRLEN];
	struct info_gid gid;
	struct info_wish wish;
	const char *wrong; /* with ia_params; NULL: nothing */
	unsigned mtu;	   /* bytes; 0: not known */
	char from[24];
};

extern const char *const info_way_names[];

void info_describe(const struct info *info,
		   const struct dat_conf_record *record,
		   struct info_name *ret_name);

/*
 * The first record of the name for that version, or NULL: what a program gets
 * where lines of one name do not differ in their threading.
 */
const struct dat_conf_record *info_find(const struct info *info,
					const char *name, unsigned major);

/* "active", "down", "absent"; "-" where nobody can tell. */
const char *info_state(const struct info_name *name);

/* How ia_params are written for such a provider. */
const char *info_params_remedy(enum info_way way);

/* ADDR as text; "" if it is NULL or of another family. */
void info_show_address(const struct sockaddr *addr, char buf[INET6_ADDRSTRLEN]);

/* The first address of an interface, IPv4 if it has one; "" if it has none. */
void info_address_of(const char *interface, char buf[INET6_ADDRSTRLEN]);

/* The interface that has the address; "" if none has. */
void info_interface_of(const char *address, char buf[IF_NAMESIZE]);

/*
 * What is wrong with an interface, or address, for DAPL_SCM_NETDEV here, to
 * follow its name; NULL: nothing.
 */
#define INFO_NETDEV_REMEDY \
	"set DAPL_SCM_NETDEV to an interface or address of this host, or unset it"
const char *info_netdev_fault(const char *netdev);

/* What DAPL_GID_INDEX asks for, where nothing goes before it; or -1. */
int info_gid_index(void);

/* Of PORT; the best for ADDRESS, which may be "", or that with INDEX >= 0. */
void info_gid_of(const struct info *info, const struct dat_port *port,
		 int index, const char *address, struct info_gid *ret_gid);

/* The indexes that are in use, as "0, 1, 3"; cut to SIZE. */
void info_gids_used(const struct info *info, const struct dat_port *port,
		    char *buf, size_t size);

/* Of PORT, which is INFO's, in bytes; 0: not known. */
unsigned info_mtu_of(const struct info *info, const struct dat_port *port);

/*
 * Verbs (info_verbs.c).
 */

/*
 * 0, -ENODEV if libibverbs does not know the device, or why it cannot be
 * opened. RET_MTU, in bytes, may be NULL: then it is not opened.
 */
int info_verbs_port(const char *device, unsigned port, unsigned *ret_mtu);

/*
 * The machine (info_node.c).
 */

/* The number of the device's uverbs node, or -1. */
int info_uverbs(const struct info *info, const char *device);

/* The rows for a device's node, and for rdma_cm's. False: it FAILed. */
bool info_check_uverbs(const struct info *info, struct info_out *o,
		       const char *device);
bool info_check_rdma_cm(const struct info *info, struct info_out *o);

/* A limit as it is told, and what is to be thought of it. */
bool info_check_memlock(const struct info *info, struct info_out *o);
void info_check_services(const struct info *info, struct info_out *o);

/* The interface of PORT, or a word for it where that is not known. */
const char *info_interface_name(const struct dat_port *port);

/* Port, GID, address. False: it is of no use. IF_DOWN: what it is then. */
bool info_check_port(const struct info *info, struct info_out *o,
		     const struct dat_port *port, enum info_result if_down);
bool info_check_gid(const struct info *info, struct info_out *o,
		    const struct dat_port *port, const struct info_gid *gid,
		    const struct info_wish *wish);

/* The dat.conf. False: none was read; IF_NAMED is what that is if it was named.
 */
bool info_check_file(const struct info *info, struct info_out *o,
		     enum info_result if_named);

/*
 * Environment variables (info_env.c).
 */

struct info_var {
	const char *name;
	const char *values; /* as in dapl-env(7); NULL: without effect */
	const char *def;    /* NULL: not set */
	const char *effect;
};

extern const struct info_var info_vars[];
extern const size_t info_var_count;

/* Rows for what is wrong in ENVIRON. */
void info_check_env(struct info_out *o, char *const *environment);

/*
 * What the program does. All return the exit status.
 */

struct info_opts {
	bool all;
	bool check;
	bool digest;
	bool generate;
	bool env;
	bool json;
	const char *lint; /* "": the file that is in effect */
	const char *why;
	const char *test;
	const char *attributes;
	const char *profile;
	uint32_t timeout_s;
};

/* Of a verbs device, written to F. */
int info_profile(FILE *f, const char *device);
int info_list(const struct info *info, struct info_out *o, bool all);
int info_digest(const struct info *info, struct info_out *o);
int info_generate(const struct info *info, struct info_out *o);
/* (info_lint.c) */
int info_lint(const struct info *info, struct info_out *o);
int info_check(const struct info *info, struct info_out *o);
int info_why(const struct info *info, struct info_out *o, const char *name);
int info_env(struct info_out *o);
int info_attributes(struct info_out *o, const char *name);
int info_test(const struct info_opts *opts);

#endif
