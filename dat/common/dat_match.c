/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_match.c - which entry serves a request, and if none does, why not.
 *
 * Changes nothing and loads nothing.
 * Threads: the caller holds dat_registry_lock where the name says so.
 * Ownership: none.
 * Rule: dat.conf(5), lookup. Name, major, minor and thread safety are compared
 * in this order, so that the caller learns which one was wrong. Nothing of
 * another version of DAT is served, even to who asks for it: its table is not
 * the one that this library's calls go through.
 */
#include "dat_reg_int.h"

#include "dat_detail.h"
#include "dat_static.h"
#include <string.h>

/* Names in a reason for which there is none. */
#define MAX_KNOWN 8

bool dat_key_same(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       !a->is_thread_safe == !b->is_thread_safe &&
	       strcmp(a->ia_name, b->ia_name) == 0;
}

void dat_key_of_record(const struct dat_conf_record *record,
		       DAT_PROVIDER_INFO *ret_key)
{
	memset(ret_key, 0, sizeof(*ret_key));
	memcpy(ret_key->ia_name, record->name, strlen(record->name));
	ret_key->dapl_version_major = record->major;
	ret_key->dapl_version_minor = record->minor;
	ret_key->is_thread_safe = record->thread_safe ? DAT_TRUE : DAT_FALSE;
}

bool dat_key_is_record(const struct dat_conf_record *record,
		       const DAT_PROVIDER_INFO *key)
{
	return record->major == key->dapl_version_major &&
	       record->minor == key->dapl_version_minor &&
	       record->thread_safe == (key->is_thread_safe != DAT_FALSE) &&
	       strcmp(record->name, key->ia_name) == 0;
}

static const struct dat_conf_record *record_of(const DAT_PROVIDER_INFO *key)
{
	const struct dat_conf *conf = dat_static_conf();
	size_t i;

	for (i = 0; i < conf->n_records; i++)
		if (dat_key_is_record(&conf->records[i], key))
			return &conf->records[i];
	return NULL;
}

bool dat_key_is_listed(const DAT_PROVIDER_INFO *key)
{
	const struct dat_conf_record *record = record_of(key);

	return record && !record->unlisted;
}

static void consider(struct match *match, const struct dat_request *request,
		     const DAT_PROVIDER_INFO *key)
{
	enum match_level level;
	bool exact = false;

	if (strcmp(request->name, key->ia_name) != 0) {
		return;
	} else if (request->major != key->dapl_version_major ||
		   request->major != DAT_VERSION_MAJOR) {
		level = MATCH_NAME;
	} else if (request->minor > key->dapl_version_minor) {
		level = MATCH_MAJOR;
	} else if (request->thread_safe && !key->is_thread_safe) {
		level = MATCH_MINOR;
	} else {
		level = MATCH_ALL;
		exact = request->minor == key->dapl_version_minor &&
			request->thread_safe == (key->is_thread_safe != 0);
	}
	if (level < match->level)
		return;
	if (level == match->level && (match->exact || !exact))
		return;
	match->level = level;
	match->exact = exact;
	match->key = *key;
}

void dat_match_locked(const struct dat_request *request, struct match *match)
{
	const struct dat_conf *conf = dat_static_conf();
	const struct registration *reg;
	DAT_PROVIDER_INFO key;
	size_t i;

	match->level = MATCH_NOTHING;
	match->exact = false;
	for (i = 0; i < conf->n_records; i++) {
		/* cheaper than making a key of half a million of them */
		if (strcmp(conf->records[i].name, request->name) != 0)
			continue;
		dat_key_of_record(&conf->records[i], &key);
		consider(match, request, &key);
	}
	for (reg = dat_registrations; reg; reg = reg->next)
		consider(match, request, &reg->info);
}

/* A list of names, in the making. */
struct known {
	struct dat_text *text;
	const char *lead; /* before the first */
	size_t room;	  /* that it leaves */
	size_t count;
	size_t shown;
};

static void add_known(struct known *list, const char *name)
{
	size_t needed = strlen(name) + list->room;

	if (list->count < MAX_KNOWN && dat_text_room(list->text) > needed) {
		dat_text_add(list->text, "%s%s",
			     list->count ? ", " : list->lead, name);
		list->shown++;
	}
	list->count++;
}

static bool is_offered(const struct dat_conf_record *record)
{
	return record->major == DAT_VERSION_MAJOR && !record->duplicate &&
	       !record->unlisted;
}

static void add_known_records(struct known *list, bool live)
{
	const struct dat_conf *conf = dat_static_conf();
	size_t i;

	for (i = 0; i < conf->n_records; i++)
		if (is_offered(&conf->records[i]) &&
		    dat_static_is_live(&conf->records[i]) == live)
			add_known(list, conf->records[i].name);
}

/* False, and nothing added, if there is none. */
static bool add_known_names_locked(struct dat_text *text, const char *lead,
				   size_t room)
{
	struct known list = {.text = text, .lead = lead, .room = room};
	const struct registration *reg;

	add_known_records(&list, true);
	add_known_records(&list, false);
	for (reg = dat_registrations; reg; reg = reg->next)
		if (!dat_key_is_listed(&reg->info))
			add_known(&list, reg->info.ia_name);
	if (list.shown && list.shown < list.count)
		dat_text_add(text, " or %zu more", list.count - list.shown);
	return list.shown > 0;
}

/* Where the name is nearly right it is told what is, else what there is. */
static DAT_RETURN fail_name_locked(const struct dat_request *request)
{
	const size_t for_count = 24;
	const size_t for_source = strlen(dat_static_no_file()) + 48;
	struct dat_text text = DAT_TEXT_INIT;
	bool hinted;

	dat_text_add(&text, "no adapter \"%s\": ", request->name);
	hinted = dat_static_add_hints(&text, request->name);
	if (hinted) {
		dat_static_add_source(&text);
		add_known_names_locked(&text, "; there is ", for_count);
	} else {
		if (add_known_names_locked(&text, "use ",
					   for_count + for_source))
			dat_text_add(&text, ": ");
		else
			dat_static_add_remedy(&text);
		dat_static_add_source(&text);
	}
	return dat_fail(DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED, "%s",
			text.buf);
}

/* What serves the name, though not this program. */
static void add_adapter(struct dat_text *text, const DAT_PROVIDER_INFO *key)
{
	const struct dat_conf_record *record = record_of(key);

	dat_text_add(text, "adapter \"%s\": ", key->ia_name);
	if (record)
		dat_static_add_line(text, record->line);
}

static DAT_RETURN fail_version(const struct dat_request *request,
			       const DAT_PROVIDER_INFO *key, DAT_RETURN ret,
			       const char *or_later)
{
	struct dat_text text = DAT_TEXT_INIT;

	add_adapter(&text, key);
	return dat_fail(ret,
			"%sadd a line with u%u.%u: this one is of API version "
			"%u.%u, the program asks for %u.%u%s",
			text.buf, request->major, request->minor,
			key->dapl_version_major, key->dapl_version_minor,
			request->major, request->minor, or_later);
}

static DAT_RETURN fail_thread_safety(const DAT_PROVIDER_INFO *key)
{
	struct dat_text text = DAT_TEXT_INIT;

	add_adapter(&text, key);
	return dat_fail(DAT_PROVIDER_NOT_FOUND | DAT_THREAD_SAFETY_NOT_FOUND,
			"%swrite threadsafe, if its provider is: it is marked "
			"nonthreadsafe, the program asks for a threadsafe one",
			text.buf);
}

DAT_RETURN dat_match_fail_locked(const struct dat_request *request,
				 const struct match *match)
{
	switch (match->level) {
	case MATCH_NAME:
		if (request->major != DAT_VERSION_MAJOR)
			return dat_fail(
				DAT_PROVIDER_NOT_FOUND | DAT_MAJOR_NOT_FOUND,
				"adapter \"%s\": the program asks " DAT_FACE_LIBRARY
				" for version %u.%u, which has the calls of "
				"%u.x only",
				request->name, request->major, request->minor,
				DAT_VERSION_MAJOR);
		return fail_version(
			request, &match->key,
			DAT_PROVIDER_NOT_FOUND | DAT_MAJOR_NOT_FOUND, "");
	case MATCH_MAJOR:
		return fail_version(request, &match->key,
				    DAT_PROVIDER_NOT_FOUND |
					    DAT_MINOR_NOT_FOUND,
				    " or later");
	case MATCH_MINOR:
		return fail_thread_safety(&match->key);
	default:
		return fail_name_locked(request);
	}
}
