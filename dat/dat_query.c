/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_query.c - adapters that an extension opens, to ask them something.
 *
 * Does not open adapters for use (common/dat_ia.c). The caller's va_list stands
 * behind the name when the provider gets it; a copy tells where the provider
 * will store the handle, which is the provider's own.
 * Threads: any; query_lock guards the list of query handles, a leaf.
 * Ownership: a query handle holds its provider.
 * Rule: dat_query.h; a provider's own return code always reaches the program
 * unchanged.
 */
#include "dat_query.h"

#include "common/dat_cancel.h"
#include "common/dat_detail.h"
#include "common/dat_ia.h"

#include <dat2/dat_registry.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct query {
	struct query *next;
	DAT_HANDLE raw;
	struct dat_use *use;
};

static pthread_mutex_t query_lock = PTHREAD_MUTEX_INITIALIZER;
static struct query *queries; /* query_lock */

static void put_query(struct query *query)
{
	pthread_mutex_lock(&query_lock);
	query->next = queries;
	queries = query;
	pthread_mutex_unlock(&query_lock);
}

static DAT_RETURN query_open_with(const struct dat_entries *entries,
				  DAT_EXTENDED_OP operation, DAT_NAME_PTR name,
				  struct query *query, va_list args)
{
	DAT_HANDLE *out;
	DAT_RETURN ret;
	va_list copy;

	if (!entries->table->handle_extendedop_func)
		return dat_fail(DAT_NOT_IMPLEMENTED,
				"the provider of \"%s\" has no extensions",
				name);
	va_copy(copy, args);
	out = va_arg(copy, DAT_HANDLE *);
	va_end(copy);
	dats_set_error_detail(NULL);
	ret = entries->table->handle_extendedop_func(
		(DAT_HANDLE)dat_ia_name(entries, name), operation, args);
	if (ret)
		return dat_ia_refused_open(query->use, ret);
	query->raw = out ? *out : DAT_HANDLE_NULL;
	if (!query->raw)
		return dat_fail(DAT_INTERNAL_ERROR,
				"the provider of \"%s\" gave no query handle",
				name);
	put_query(query);
	return DAT_SUCCESS;
}

DAT_RETURN dat_query_open(DAT_EXTENDED_OP operation, va_list args)
{
	struct dat_request request = {
		.major = DAT_VERSION_MAJOR,
		.minor = DAT_VERSION_MINOR,
	};
	struct dat_entries entries;
	struct query *query;
	DAT_NAME_PTR name;
	DAT_RETURN ret;
	DAT_NOT_CANCELLABLE;

	name = va_arg(args, DAT_NAME_PTR);
	/* the subtype says argument 3 although the type says handle: historic
	 */
	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return dat_fail(DAT_INVALID_HANDLE | DAT_INVALID_ARG3,
				"dat_ib_open_query: the name is NULL or longer "
				"than %d bytes",
				DAT_NAME_MAX_LENGTH - 1);
	request.name = name;
	query = calloc(1, sizeof(*query));
	if (!query)
		return dat_fail(DAT_INSUFFICIENT_RESOURCES |
					DAT_RESOURCE_MEMORY,
				"dat_ib_open_query: no memory");
	ret = dat_provider_acquire(&request, &query->use, &entries);
	if (ret)
		goto err_free;
	ret = query_open_with(&entries, operation, name, query, args);
	if (ret)
		goto err_release;
	return DAT_SUCCESS;

err_release:
	dat_provider_release(query->use);
err_free:
	free(query);
	return ret;
}

static struct query *take_query(DAT_HANDLE raw)
{
	struct query **link = &queries;
	struct query *query;

	pthread_mutex_lock(&query_lock);
	while (*link && (*link)->raw != raw)
		link = &(*link)->next;
	query = *link;
	if (query)
		*link = query->next;
	pthread_mutex_unlock(&query_lock);
	return query;
}

DAT_RETURN dat_query_close(DAT_HANDLE handle, DAT_EXTENDED_OP operation,
			   va_list args)
{
	struct query *query;
	DAT_RETURN ret;
	DAT_NOT_CANCELLABLE;

	if (dat_forked())
		return dat_forked_fail("dat_ib_close_query");
	query = take_query(handle);
	if (!query)
		return dat_fail(DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA,
				"dat_ib_close_query: %p is not open", handle);
	dats_set_error_detail(NULL);
	ret = DAT_HANDLE_TO_PROVIDER(handle)->handle_extendedop_func(
		handle, operation, args);
	if (ret) {
		put_query(query);
		return dat_ia_refused("dat_ib_close_query", ret);
	}
	dat_provider_release(query->use);
	free(query);
	return DAT_SUCCESS;
}
