/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ia.c - opening and closing adapters.
 *
 * Does not find or load providers (dat_registry.c), does not redirect calls on
 * what is open (dat_api.c).
 * Threads: any. Two threads that close one adapter: the second gets
 * INVALID_HANDLE. Ownership: an open adapter holds its provider.
 * Rule: uDAPL 1.2 specification, dat_ia_open and dat_ia_close; a provider's
 * own return code always reaches the program unchanged.
 */
#include "dat_ia.h"

#include "dat_cancel.h"
#include "dat_detail.h"
#include "dat_handle.h"
#include "dat_log.h"
#include <string.h>

static const char *minor_name(DAT_RETURN ret)
{
	const char *name;

	dat_strerror(ret, NULL, &name);
	return name;
}

static const char *major_name(DAT_RETURN ret)
{
	const char *name;

	dat_strerror(ret, &name, NULL);
	return name;
}

DAT_RETURN dat_ia_refused(const char *call, DAT_RETURN ret)
{
	if (*dat_error_detail())
		dat_log(DAT_LOG_ERROR, "%s", dat_error_detail());
	else
		dat_fail(0, "%s: the provider refused: 0x%08x %s %s", call, ret,
			 major_name(ret), minor_name(ret));
	return ret;
}

DAT_RETURN dat_ia_refused_open(const struct dat_use *use, DAT_RETURN ret)
{
	struct dat_text text = DAT_TEXT_INIT;

	dat_provider_add_place(use, &text);
	if (*dat_error_detail())
		dat_text_add(&text, "%s", dat_error_detail());
	else
		dat_text_add(&text, "its provider refused: 0x%08x %s %s", ret,
			     major_name(ret), minor_name(ret));
	dat_fail(0, "%s", text.buf);
	return ret;
}

DAT_NAME_PTR dat_ia_name(const struct dat_entries *entries, DAT_NAME_PTR asked)
{
	return entries->name ? (DAT_NAME_PTR)entries->name : asked;
}

static DAT_RETURN open_raw(const struct dat_use *use,
			   const struct dat_entries *entries,
			   const DAT_NAME_PTR name, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_raw)
{
	DAT_IA_HANDLE raw = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	if (!entries->ia_open)
		return dat_fail(DAT_NOT_IMPLEMENTED,
				"the provider of \"%s\" cannot open adapters",
				name);
	dats_set_error_detail(NULL);
	ret = entries->ia_open(dat_ia_name(entries, name), qlen, async_evd,
			       &raw);
	if (ret)
		return dat_ia_refused_open(use, ret);
	if (!raw)
		return dat_fail(DAT_INTERNAL_ERROR,
				"the provider of \"%s\" opened it and gave no "
				"handle",
				name);
	*ret_raw = raw;
	return DAT_SUCCESS;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dapl_major,
			DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety)
{
	struct dat_request request = {
		.name = name,
		.major = dapl_major,
		.minor = dapl_minor,
		.thread_safe = thread_safety != DAT_FALSE,
	};
	struct dat_entries entries;
	struct dat_use *use;
	DAT_IA_HANDLE raw = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;
	DAT_RETURN ret;
	DAT_NOT_CANCELLABLE;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG1,
				"dat_ia_open: the name is NULL or longer than "
				"%d bytes",
				DAT_NAME_MAX_LENGTH - 1);
	if (!ia_handle)
		return dat_fail(DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA,
				"dat_ia_open: ia_handle is NULL");

	ret = dat_provider_acquire(&request, &use, &entries);
	if (ret)
		return ret;
	handle = dat_handle_reserve();
	if (!handle) {
		ret = dat_fail(DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY,
			       "dat_ia_open: no handle left for \"%s\"", name);
		goto err_release_provider;
	}
	ret = open_raw(use, &entries, name, async_evd_qlen, async_evd_handle,
		       &raw);
	if (ret)
		goto err_release_handle;
	dat_handle_publish(handle, raw, use);
	dat_log(DAT_LOG_CONSUMER, "\"%s\" is IA %lu", name,
		(unsigned long)handle);
	*ia_handle = handle;
	return DAT_SUCCESS;

err_release_handle:
	dat_handle_release(handle);
err_release_provider:
	dat_provider_release(use);
	return ret;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	DAT_IA_HANDLE raw;
	DAT_RETURN ret;
	void *use;
	DAT_NOT_CANCELLABLE;

	if (dat_forked())
		return dat_forked_fail("dat_ia_close");
	if (!dat_handle_begin_close(ia_handle, &raw, &use))
		return dat_fail(DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA,
				"dat_ia_close: IA %p is not open", ia_handle);
	dats_set_error_detail(NULL);
	ret = DAT_HANDLE_TO_PROVIDER(raw)->ia_close_func(raw, ia_flags);
	if (ret) {
		dat_handle_keep(ia_handle);
		return dat_ia_refused("dat_ia_close", ret);
	}
	dat_handle_release(ia_handle);
	dat_provider_release(use);
	dat_log(DAT_LOG_CONSUMER, "IA %lu closed", (unsigned long)ia_handle);
	return DAT_SUCCESS;
}
