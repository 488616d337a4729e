/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_registry.c - providers that are registered and providers in use.
 *
 * Does not read files or symbols (dat_static.c, dat_load.c), does not choose
 * (dat_match.c), does not open adapters (dat_ia.c).
 * Threads: dat_registry_lock guards both lists and is never held while
 * foreign code runs: loader, init, fini. The thread that runs those marks the
 * provider busy, others wait on busy_changed. Ownership: a dat_use lives from
 * the first acquire, or wait for one, to the last release; a registration from
 * add to remove, or until its plug-in goes. Rule: uDAPL 1.2 specification,
 * registry; dat.conf(5).
 */
#include "dat_reg_int.h"

#include "dat_auto.h"
#include "dat_detail.h"
#include "dat_handle.h"
#include "dat_load.h"
#include "dat_log.h"
#include "dat_static.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum use_state {
	USE_IDLE,  /* nothing loaded */
	USE_BUSY,  /* a thread loads or unloads */
	USE_READY, /* registered, and open at least once */
};

/* A provider in use, or about to be. */
struct dat_use {
	struct dat_use *next;
	DAT_PROVIDER_INFO key;
	unsigned pins;	/* threads and openings that point here */
	unsigned opens; /* openings */
	enum use_state state;
	struct dat_plugin plugin; /* empty if the program registered it */
	size_t nth; /* the plug-in's record, from 1: they move; 0: none */
};

pthread_mutex_t dat_registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t busy_changed = PTHREAD_COND_INITIALIZER;
struct registration *dat_registrations;
static struct dat_use *uses; /* dat_registry_lock */
static bool torn_down;	     /* dat_registry_lock */
static bool forked;	     /* set while there is one thread */

/* The provider whose library, init or fini this thread is running. */
static __thread struct dat_use *inside;

static struct registration **
find_registration_locked(const DAT_PROVIDER_INFO *key)
{
	struct registration **link = &dat_registrations;

	while (*link && !dat_key_same(&(*link)->info, key))
		link = &(*link)->next;
	return link;
}

static void unlink_registration_locked(struct registration **link)
{
	struct registration *reg = *link;

	*link = reg->next;
	free(reg);
}

static struct dat_use *find_use_locked(const DAT_PROVIDER_INFO *key)
{
	struct dat_use *use = uses;

	while (use && !dat_key_same(&use->key, key))
		use = use->next;
	return use;
}

static bool is_open_locked(const DAT_PROVIDER_INFO *key)
{
	struct dat_use *use = find_use_locked(key);

	return use && use->opens > 0;
}

/*
 * Loading. The calls without _locked run while the provider is busy.
 */

/* Who does the work of a provider that is no more, or NULL. */
static const char *stand_in(const char *lib_path)
{
	static const char ucm[] = "libdaploucm.so.2";
	const char *slash = strrchr(lib_path, '/');
	const char *own;

	/* its peers on the wire were UCM's */
	if (strncmp(slash ? slash + 1 : lib_path, "libdaplomcm.", 12) != 0)
		return NULL;
	own = dat_auto_library_for(DAT_VERSION_MAJOR, ucm);
	return own ? own : ucm;
}

static bool load_record(const struct dat_conf_record *record,
			struct dat_plugin *plugin, struct dat_text *why)
{
	const char *other = stand_in(record->lib_path);

	if (!dat_plugin_load(record->lib_path, plugin, why)) {
		dat_text_add(why, "%s", record->lib_path);
		return true;
	}
	if (!other)
		return false;
	dat_text_add(why, "; ");
	if (dat_plugin_load(other, plugin, why))
		return false;
	dat_log(DAT_LOG_PROVIDER, "\"%s\": %s stands in for %s", record->name,
		other, record->lib_path);
	dat_text_add(why, "%s", other);
	return true;
}

/* Why it did not register, should it not have. */
static void add_not_registered(const struct dat_use *use, struct dat_text *why)
{
	const char *detail = dat_error_detail();

	if (dat_plugin_is_of_others(&use->plugin))
		dat_text_add(
			why,
			", link the program with -rdynamic: it contains " DAT_FACE_LIBRARY
			", and the provider registers with another");
	else
		dat_text_add(why, " did not register \"%s\"%s%s",
			     use->key.ia_name, *detail ? ": " : "", detail);
}

/* A copy of the next line for KEY: they move when some are added. */
static bool next_record(const DAT_PROVIDER_INFO *key, size_t *nth,
			struct dat_conf_record *ret_record)
{
	const struct dat_conf *conf = dat_static_conf();
	bool found = false;

	pthread_mutex_lock(&dat_registry_lock);
	for (; !found && *nth < conf->n_records; (*nth)++) {
		found = dat_key_is_record(&conf->records[*nth], key);
		if (found)
			*ret_record = conf->records[*nth];
	}
	pthread_mutex_unlock(&dat_registry_lock);
	return found;
}

/* True once the library of one of the lines for this provider is loaded. */
static bool load_library(struct dat_use *use, struct dat_text *why,
			 struct dat_conf_record *ret_record)
{
	size_t nth = 0;

	while (next_record(&use->key, &nth, ret_record)) {
		dat_text_add(why, "%s", why->len ? "; " : "");
		dat_static_add_line(why, ret_record->line);
		if (load_record(ret_record, &use->plugin, why)) {
			use->nth = nth;
			return true;
		}
	}
	return false;
}

static void load(struct dat_use *use, struct dat_text *why)
{
	struct dat_use *outer = inside;
	struct dat_conf_record record;

	inside = use;
	dats_set_error_detail(NULL);
	if (load_library(use, why, &record)) {
		dat_log(DAT_LOG_PROVIDER, "\"%s\": init with \"%s\"",
			use->key.ia_name, record.ia_params);
		use->plugin.init(&use->key, record.ia_params);
		add_not_registered(use, why);
	}
	inside = outer;
}

/*
 * Takes out what the plug-in leaves behind, because its code goes away. False
 * if some of it is open, so that the code has to stay.
 */
static bool purge_locked(const struct dat_use *use)
{
	struct registration **link = &dat_registrations;
	bool unloadable = true;

	while (*link) {
		struct registration *reg = *link;

		if (reg->plugin_of != use) {
			link = &reg->next;
		} else if (is_open_locked(&reg->info)) {
			reg->plugin_of = NULL;
			unloadable = false;
			link = &reg->next;
		} else {
			dat_log(DAT_LOG_DYNAMIC, "\"%s\" was left behind",
				reg->info.ia_name);
			unlink_registration_locked(link);
		}
	}
	return unloadable;
}

static void unload(struct dat_use *use)
{
	struct dat_use *outer = inside;
	bool unloadable;

	pthread_mutex_lock(&dat_registry_lock);
	unloadable = purge_locked(use);
	pthread_mutex_unlock(&dat_registry_lock);
	inside = use;
	if (unloadable)
		dat_plugin_unload(&use->plugin);
	inside = outer;
	use->plugin = (struct dat_plugin){0};
}

static void set_state_locked(struct dat_use *use, enum use_state state)
{
	use->state = state;
	pthread_cond_broadcast(&busy_changed);
}

/* The lock is released meanwhile. */
static void start_locked(struct dat_use *use, struct dat_text *why)
{
	use->state = USE_BUSY;
	pthread_mutex_unlock(&dat_registry_lock);
	load(use, why);
	pthread_mutex_lock(&dat_registry_lock);
	if (*find_registration_locked(&use->key)) {
		set_state_locked(use, USE_READY);
		return;
	}
	pthread_mutex_unlock(&dat_registry_lock);
	unload(use);
	pthread_mutex_lock(&dat_registry_lock);
	set_state_locked(use, USE_IDLE);
}

/* The lock is released meanwhile. */
static void stop_locked(struct dat_use *use)
{
	struct dat_use *outer = inside;

	use->state = USE_BUSY;
	pthread_mutex_unlock(&dat_registry_lock);
	if (use->plugin.dl) {
		dat_log(DAT_LOG_PROVIDER, "\"%s\": fini", use->key.ia_name);
		inside = use;
		use->plugin.fini(&use->key);
		inside = outer;
		unload(use);
	}
	pthread_mutex_lock(&dat_registry_lock);
	set_state_locked(use, USE_IDLE);
}

static struct dat_use *pin_locked(const DAT_PROVIDER_INFO *key)
{
	struct dat_use *use = find_use_locked(key);

	if (!use) {
		use = calloc(1, sizeof(*use));
		if (!use)
			return NULL;
		use->key = *key;
		use->next = uses;
		uses = use;
	}
	use->pins++;
	return use;
}

static void unpin_locked(struct dat_use *use)
{
	struct dat_use **link = &uses;

	if (--use->pins > 0)
		return;
	while (*link != use)
		link = &(*link)->next;
	*link = use->next;
	free(use);
}

static DAT_RETURN acquire_key_locked(const DAT_PROVIDER_INFO *key,
				     struct dat_use **ret_use,
				     struct dat_entries *ret_entries)
{
	struct dat_text why = DAT_TEXT_INIT;
	struct dat_use *use = pin_locked(key);

	if (!use)
		return dat_fail(DAT_INSUFFICIENT_RESOURCES |
					DAT_RESOURCE_MEMORY,
				"no memory to open \"%s\"", key->ia_name);
	while (use->state == USE_BUSY)
		pthread_cond_wait(&busy_changed, &dat_registry_lock);
	if (use->state == USE_IDLE) {
		if (*find_registration_locked(key))
			set_state_locked(use, USE_READY);
		else
			start_locked(use, &why);
	}
	if (use->state != USE_READY) {
		unpin_locked(use);
		return dat_fail(DAT_PROVIDER_NOT_FOUND |
					DAT_NAME_NOT_REGISTERED,
				"adapter \"%s\": %s", key->ia_name, why.buf);
	}
	use->opens++;
	*ret_entries = (*find_registration_locked(key))->entries;
	*ret_use = use;
	return DAT_SUCCESS;
}

static DAT_RETURN acquire_locked(const struct dat_request *request,
				 struct dat_use **ret_use,
				 struct dat_entries *ret_entries)
{
	struct match match;
	int err;

	if (torn_down)
		return dat_fail(DAT_INVALID_STATE,
				DAT_FACE_LIBRARY " is being unloaded");
	if (forked)
		return dat_forked_fail("dat_ia_open");
	/* two providers that open each other would wait for ever */
	if (inside)
		return dat_fail(DAT_INVALID_STATE,
				"the initialisation of provider \"%s\" tries "
				"to open an adapter",
				inside->key.ia_name);
	dat_match_locked(request, &match);
	/* To look at the devices takes longer than all the rest. */
	if (match.level != MATCH_ALL) {
		err = dat_static_look();
		if (err)
			return dat_look_fail(err);
		dat_match_locked(request, &match);
	}
	if (match.level != MATCH_ALL)
		return dat_match_fail_locked(request, &match);
	return acquire_key_locked(&match.key, ret_use, ret_entries);
}

DAT_RETURN dat_provider_acquire(const struct dat_request *request,
				struct dat_use **ret_use,
				struct dat_entries *ret_entries)
{
	DAT_RETURN ret;

	pthread_mutex_lock(&dat_registry_lock);
	ret = acquire_locked(request, ret_use, ret_entries);
	pthread_mutex_unlock(&dat_registry_lock);
	return ret;
}

void dat_provider_add_place(const struct dat_use *use, struct dat_text *text)
{
	struct dat_conf_record record;

	dat_text_add(text, "adapter \"%s\": ", use->key.ia_name);
	if (!use->nth)
		return;
	pthread_mutex_lock(&dat_registry_lock);
	(void)dat_static_look(); /* for a hint */
	record = dat_static_conf()->records[use->nth - 1];
	pthread_mutex_unlock(&dat_registry_lock);
	dat_static_add_line(text, record.line);
	dat_static_add_mistaken(text, &record);
}

void dat_provider_release(struct dat_use *use)
{
	pthread_mutex_lock(&dat_registry_lock);
	if (--use->opens == 0)
		stop_locked(use);
	unpin_locked(use);
	pthread_mutex_unlock(&dat_registry_lock);
}

/*
 * The public calls.
 */

static bool is_terminated(const DAT_PROVIDER_INFO *info)
{
	return memchr(info->ia_name, 0, sizeof(info->ia_name)) != NULL;
}

static DAT_RETURN check_registration(const char *call,
				     const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *info)
{
	if (!provider)
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG1,
				"%s: provider is NULL", call);
	if (!info || !is_terminated(info))
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG2,
				"%s: provider_info is NULL or its name has no "
				"end",
				call);
	return DAT_SUCCESS;
}

static DAT_RETURN add_locked(const DAT_PROVIDER *provider,
			     const DAT_PROVIDER_INFO *info)
{
	struct registration **link = find_registration_locked(info);
	struct registration *reg;

	if (torn_down)
		return dat_fail(DAT_INVALID_STATE,
				DAT_FACE_LIBRARY " is being unloaded");
	if (*link)
		return dat_fail(DAT_PROVIDER_ALREADY_REGISTERED,
				"\"%s\" is registered already", info->ia_name);
	reg = calloc(1, sizeof(*reg));
	if (!reg)
		return dat_fail(DAT_INSUFFICIENT_RESOURCES |
					DAT_RESOURCE_MEMORY,
				"no memory to register \"%s\"", info->ia_name);
	reg->info = *info;
	if (provider->device_name &&
	    strcmp(provider->device_name, info->ia_name) == 0)
		reg->entries.name = provider->device_name;
	reg->entries.ia_open = provider->ia_open_func;
	reg->entries.table = provider;
	reg->plugin_of = inside;
	*link = reg;
	dat_log(DAT_LOG_DYNAMIC, "\"%s\" registered", info->ia_name);
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret;

	ret = check_registration(__func__, provider, provider_info);
	if (ret)
		return ret;
	pthread_mutex_lock(&dat_registry_lock);
	ret = add_locked(provider, provider_info);
	pthread_mutex_unlock(&dat_registry_lock);
	return ret;
}

static DAT_RETURN remove_locked(const DAT_PROVIDER *provider,
				const DAT_PROVIDER_INFO *info)
{
	struct registration **link;

	if (torn_down)
		return dat_fail(DAT_INVALID_STATE,
				DAT_FACE_LIBRARY " is being unloaded");
	link = find_registration_locked(info);
	if (!*link)
		return dat_fail(DAT_PROVIDER_NOT_FOUND |
					DAT_NAME_NOT_REGISTERED,
				"\"%s\" is not registered", info->ia_name);
	if ((*link)->entries.table != provider)
		return dat_fail(DAT_PROVIDER_NOT_FOUND |
					DAT_NAME_NOT_REGISTERED,
				"\"%s\" is registered, but by another provider",
				info->ia_name);
	if (is_open_locked(info))
		return dat_fail(DAT_PROVIDER_IN_USE,
				"an instance of \"%s\" is open", info->ia_name);
	unlink_registration_locked(link);
	dat_log(DAT_LOG_DYNAMIC, "\"%s\" removed", info->ia_name);
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret;

	ret = check_registration(__func__, provider, provider_info);
	if (ret)
		return ret;
	pthread_mutex_lock(&dat_registry_lock);
	ret = remove_locked(provider, provider_info);
	pthread_mutex_unlock(&dat_registry_lock);
	return ret;
}

/*
 * The library's own life.
 */

void dat_registry_init(const struct dat_static_options *options)
{
	dat_static_init(options);
	pthread_mutex_lock(&dat_registry_lock);
	torn_down = false;
	pthread_mutex_unlock(&dat_registry_lock);
}

void dat_registry_fini(void)
{
	pthread_mutex_lock(&dat_registry_lock);
	torn_down = true;
	/* a program that exits with adapters open may still be using them */
	if (!uses && dat_handle_fini()) {
		while (dat_registrations)
			unlink_registration_locked(&dat_registrations);
		dat_static_fini();
	}
	pthread_mutex_unlock(&dat_registry_lock);
}

/*
 * Fork. The lock is the forking thread's meanwhile, so the child finds lists
 * that are whole. Other threads do not exist there: what they were loading, or
 * had open, is out of reach for ever.
 */

static void before_fork(void)
{
	pthread_mutex_lock(&dat_registry_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&dat_registry_lock);
}

static void after_fork_in_child(void)
{
	if (uses)
		forked = true;
	pthread_mutex_unlock(&dat_registry_lock);
}

bool dat_forked(void)
{
	return forked;
}

DAT_RETURN dat_forked_fail(const char *call)
{
	return dat_fail(DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE,
			"%s: this process was forked from one that had "
			"adapters open; it may only exec or _exit",
			call);
}

/* Base 0, so that 0x10 works; something else than a number is 0 (historic). */
static unsigned env_mask(const char *name, unsigned unset)
{
	const char *text = secure_getenv(name);
	long long value = 0;

	if (!text)
		return unset;
	dat_text_number(text, &value);
	return (unsigned)value;
}

/*
 * At load and not at first use: programs may change directory or environment
 * in between, and were always promised that this does not matter.
 */
__attribute__((constructor)) static void library_loaded(void)
{
	/* who asks for the providers' messages wants to see why none is used */
	unsigned providers =
		env_mask("DAPL_DBG_TYPE", 0) | env_mask("DAPL_DBG_LEVEL", 0);

	unsigned dest = &dats_log_dest ? dats_log_dest : DAT_LOG_STDOUT;

	dat_log_setup(
		env_mask("DAT_DBG_TYPE", providers ? DAT_LOG_ERROR : 0),
		env_mask("DAT_DBG_DEST", env_mask("DAPL_DBG_DEST", dest)));
	dat_registry_init(&(struct dat_static_options){
		.override = secure_getenv("DAT_OVERRIDE"),
		.automatic = secure_getenv("DAT_AUTO"),
		.sysfs = secure_getenv("SYSFS_PATH"),
	});
	if (pthread_atfork(before_fork, after_fork, after_fork_in_child))
		dat_log(DAT_LOG_ERROR, "a child after fork() will not know "
				       "that it is one: no memory");
}

__attribute__((destructor)) static void library_unloaded(void)
{
	dat_registry_fini();
}
