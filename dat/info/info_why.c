/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_why.c - one name, step by step from the file to a queue pair, up to the
 * first step that fails; and all that an open adapter says of itself.
 *
 * Steps before "library" look at the machine only, so that what is wrong there
 * is told with its remedy and not as what became of it later.
 * Threads, ownership: info.h. Rule: dat_info(1), --why.
 */
#include "dat/info/info.h"

#include "dat/common/dat_static.h"
#include "test/dtest/common/dt_json.h"

#include <dat2/udat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REGION	 (64u << 10)
#define MAX_TOLD 8

struct why {
	const struct info *info;
	struct info_out *o;
	const char *asked;
	struct info_name name;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
};

/* Each step: whether the next one makes sense. */

static bool step_file(struct why *w)
{
	/* names are found without it, too */
	info_check_file(w->info, w->o, INFO_WARN);
	return true;
}

static bool step_name(struct why *w)
{
	const struct dat_conf_record *r =
		info_find(w->info, w->asked, DAT_VERSION_MAJOR);
	struct dat_text hints = DAT_TEXT_INIT;

	if (!r)
		r = info_find(w->info, w->asked, 1);
	if (!r) {
		dat_static_add_hints(&hints, w->asked);
		/* each hint ends as if another one came */
		if (hints.len > 2)
			hints.buf[hints.len - 2] = '\0';
		info_say(w->o, INFO_FAIL, "name",
			 "dat_info lists the names there are",
			 "there is no %s%s%s", w->asked, hints.len ? "; " : "",
			 hints.buf);
		return false;
	}
	info_describe(w->info, r, &w->name);
	info_say(w->o, INFO_OK, "name", NULL, "%s: DAT %u.%u, %s, \"%s\"",
		 w->name.from, r->major, r->minor, r->lib_path, r->ia_params);
	return true;
}

/* They are in order: those that work come first. */
static void add_devices(const struct info *info, struct dat_text *text)
{
	size_t n = info->ports.n < MAX_TOLD ? info->ports.n : MAX_TOLD;

	for (size_t i = 0; i < n; i++)
		dat_text_add(text, "%s%s port %u", i ? ", " : "",
			     info->ports.ports[i].device,
			     info->ports.ports[i].port);
	if (n < info->ports.n)
		dat_text_add(text, " and %zu more", info->ports.n - n);
	if (!n)
		dat_text_add(text, "no RDMA device at all");
}

static bool step_device(struct why *w)
{
	const struct info_name *n = &w->name;
	struct dat_text there = DAT_TEXT_INIT;

	if (n->way == INFO_WAY_OTHER)
		return true;
	if (n->wrong) {
		info_say(w->o, INFO_FAIL, "device", info_params_remedy(n->way),
			 "ia_params is \"%s\", %s", n->record->ia_params,
			 n->wrong);
		return false;
	}
	if (n->port) {
		info_say(w->o, INFO_OK, "device", NULL, "%s port %u%s%s",
			 n->device, n->port_number,
			 n->interface[0] ? ", interface " : "", n->interface);
		return true;
	}
	add_devices(w->info, &there);
	info_say(w->o, INFO_FAIL, "device",
		 w->info->ports.n ? "take a name that dat_info lists"
				  : "load the device's driver; in a container, "
				    "pass the device in",
		 "nothing here is \"%s\"; there is %s", n->record->ia_params,
		 there.buf);
	return false;
}

static bool step_port(struct why *w)
{
	return !w->name.port ||
	       info_check_port(w->info, w->o, w->name.port, INFO_FAIL);
}

/* Who is told which interface's address to take. */
static bool netdev_is_good(struct why *w)
{
	const char *netdev = secure_getenv("DAPL_SCM_NETDEV");
	const char *fault = netdev ? info_netdev_fault(netdev) : NULL;

	if (fault)
		info_say(w->o, INFO_FAIL, "address", INFO_NETDEV_REMEDY,
			 "%s, which DAPL_SCM_NETDEV names, %s", netdev, fault);
	return !fault;
}

static bool step_address(struct why *w)
{
	const struct info_name *n = &w->name;
	char remedy[96];

	if (n->way == INFO_WAY_SCM)
		return netdev_is_good(w);
	if (n->way != INFO_WAY_CMA || !n->port)
		return true;
	if (n->address[0]) {
		info_say(w->o, INFO_OK, "address", NULL, "%s", n->address);
		return true;
	}
	snprintf(remedy, sizeof(remedy), "ip addr add ADDRESS/BITS dev %s",
		 n->interface);
	info_say(w->o, INFO_FAIL, "address", remedy,
		 "interface %s has no address", n->interface);
	return false;
}

static bool step_gid(struct why *w)
{
	return !w->name.port || info_check_gid(w->info, w->o, w->name.port,
					       &w->name.gid, &w->name.wish);
}

static bool step_nodes(struct why *w)
{
	if (!w->name.port)
		return true;
	if (!info_check_uverbs(w->info, w->o, w->name.device))
		return false;
	return w->name.way != INFO_WAY_CMA || info_check_rdma_cm(w->info, w->o);
}

static bool step_memlock(struct why *w)
{
	return info_check_memlock(w->info, w->o);
}

static bool failed(struct why *w, const char *what, const char *remedy)
{
	info_say(w->o, INFO_FAIL, what, remedy, "%s", dat_error_detail());
	return false;
}

/* The last step for a name of DAT 1.2, which another library opens. */
static bool step_open(struct why *w)
{
	const struct dat_conf_record *r = w->name.record;
	DAT_RETURN ret;

	if (r->major != DAT_VERSION_MAJOR) {
		info_say(w->o, INFO_OK, "open", NULL,
			 "not tried: this name is for programs of DAT 1.2; "
			 "dtest1 -P %s opens it",
			 r->name);
		return false;
	}
	ret = dat_ia_open((DAT_NAME_PTR)(uintptr_t)r->name, 8, &w->async,
			  &w->ia);
	if (ret != DAT_SUCCESS)
		w->ia = DAT_HANDLE_NULL;
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		return failed(w, "library",
			      r->line ? "install the library, or correct field "
					"5 of the line"
				      : "install the provider's library where "
					"libdat2 is");
	info_say(w->o, INFO_OK, "library", NULL, "%s", r->lib_path);
	if (ret != DAT_SUCCESS)
		return failed(w, "open", "DAPL_DBG_TYPE=3 tells more");
	info_say(w->o, INFO_OK, "open", NULL, "the adapter is open");
	return true;
}

static bool step_memory(struct why *w)
{
	static char region[REGION];
	DAT_REGION_DESCRIPTION desc = {.for_va = region};
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_VADDR address;

	if (dat_pz_create(w->ia, &w->pz) != DAT_SUCCESS) {
		w->pz = DAT_HANDLE_NULL;
		return failed(w, "memory", "DAPL_DBG_TYPE=3 tells more");
	}
	if (dat_lmr_create(w->ia, DAT_MEM_TYPE_VIRTUAL, desc, sizeof(region),
			   w->pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			   &w->lmr, &lmr_context, &rmr_context, &length,
			   &address) != DAT_SUCCESS) {
		w->lmr = DAT_HANDLE_NULL;
		return failed(w, "memory",
			      "ulimit -l unlimited; see dat_info --check");
	}
	info_say(w->o, INFO_OK, "memory", NULL, "%u KiB registered",
		 REGION >> 10);
	return true;
}

static bool step_queue_pair(struct why *w)
{
	if (dat_evd_create(w->ia, 16, DAT_HANDLE_NULL,
			   DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			   &w->evd) != DAT_SUCCESS) {
		w->evd = DAT_HANDLE_NULL;
		return failed(w, "queue pair", "DAPL_DBG_TYPE=3 tells more");
	}
	if (dat_ep_create(w->ia, w->pz, w->evd, w->evd, w->evd, NULL, &w->ep) !=
	    DAT_SUCCESS) {
		w->ep = DAT_HANDLE_NULL;
		return failed(w, "queue pair",
			      "other programs may have all of the device's "
			      "queue pairs (rdma resource)");
	}
	info_say(w->o, INFO_OK, "queue pair", NULL,
		 "made; dat_info --test %s moves data", w->asked);
	return true;
}

static void release(struct why *w)
{
	if (w->ep != DAT_HANDLE_NULL)
		dat_ep_free(w->ep);
	if (w->evd != DAT_HANDLE_NULL)
		dat_evd_free(w->evd);
	if (w->lmr != DAT_HANDLE_NULL)
		dat_lmr_free(w->lmr);
	if (w->pz != DAT_HANDLE_NULL)
		dat_pz_free(w->pz);
	if (w->ia != DAT_HANDLE_NULL)
		dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
}

int info_why(const struct info *info, struct info_out *o, const char *name)
{
	static bool (*const steps[])(struct why *) = {
		step_file,    step_name,   step_device,	    step_port,
		step_address, step_gid,	   step_nodes,	    step_memlock,
		step_open,    step_memory, step_queue_pair,
	};
	struct why w = {.info = info, .o = o, .asked = name};

	o->name = name;
	for (size_t i = 0; i < INFO_COUNT(steps) && steps[i](&w); i++)
		;
	release(&w);
	/* a port that is unfit is only a warning where nobody asked for it */
	if (w.name.port && w.name.port->unfit)
		return INFO_FAILED;
	return o->failed ? INFO_FAILED : INFO_PASSED;
}

/*
 * Attributes.
 */

struct number {
	const char *name;
	size_t at;
	size_t size;
};

#define NUMBER(type, field)                                                  \
	{                                                                    \
#field, offsetof(type, field), sizeof(((type *)NULL)->field) \
	}
#define OF_IA(field)	   NUMBER(DAT_IA_ATTR, field)
#define OF_PROVIDER(field) NUMBER(DAT_PROVIDER_ATTR, field)

static const struct number ia_numbers[] = {
	OF_IA(hardware_version_major),
	OF_IA(hardware_version_minor),
	OF_IA(firmware_version_major),
	OF_IA(firmware_version_minor),
	OF_IA(max_eps),
	OF_IA(max_dto_per_ep),
	OF_IA(max_rdma_read_per_ep_in),
	OF_IA(max_rdma_read_per_ep_out),
	OF_IA(max_rdma_read_per_ep_in_guaranteed),
	OF_IA(max_rdma_read_per_ep_out_guaranteed),
	OF_IA(max_evds),
	OF_IA(max_evd_qlen),
	OF_IA(max_iov_segments_per_dto),
	OF_IA(max_lmrs),
	OF_IA(max_lmr_block_size),
	OF_IA(max_lmr_virtual_address),
	OF_IA(max_pzs),
	OF_IA(max_message_size),
	OF_IA(max_rdma_size),
	OF_IA(max_rmrs),
	OF_IA(max_rmr_target_address),
	OF_IA(max_srqs),
	OF_IA(max_ep_per_srq),
	OF_IA(max_recv_per_srq),
	OF_IA(max_iov_segments_per_rdma_read),
	OF_IA(max_iov_segments_per_rdma_write),
	OF_IA(max_rdma_read_in),
	OF_IA(max_rdma_read_out),
	OF_IA(zb_supported),
	OF_IA(extension_supported),
	OF_IA(extension_version),
};

static const struct number provider_numbers[] = {
	OF_PROVIDER(provider_version_major),
	OF_PROVIDER(provider_version_minor),
	OF_PROVIDER(dapl_version_major),
	OF_PROVIDER(dapl_version_minor),
	OF_PROVIDER(lmr_mem_types_supported),
	OF_PROVIDER(iov_ownership_on_return),
	OF_PROVIDER(dat_qos_supported),
	OF_PROVIDER(completion_flags_supported),
	OF_PROVIDER(is_thread_safe),
	OF_PROVIDER(max_private_data_size),
	OF_PROVIDER(supports_multipath),
	OF_PROVIDER(ep_creator),
	OF_PROVIDER(pz_support),
	OF_PROVIDER(optimal_buffer_alignment),
	OF_PROVIDER(srq_supported),
	OF_PROVIDER(srq_watermarks_supported),
	OF_PROVIDER(srq_ep_pz_difference_supported),
	OF_PROVIDER(srq_info_supported),
	OF_PROVIDER(ep_recv_info_supported),
	OF_PROVIDER(lmr_sync_req),
	OF_PROVIDER(dto_async_return_guaranteed),
	OF_PROVIDER(rdma_write_for_rdma_read_req),
	OF_PROVIDER(rdma_read_lmr_rmr_context_exposure),
	OF_PROVIDER(rmr_scope_supported),
	OF_PROVIDER(is_signal_safe),
};

struct telling {
	struct info_out *o;
	struct dt_json j;
};

static void tell(struct telling *t, const char *key, const char *value)
{
	if (t->o->json) {
		dt_json_text(&t->j, key, value);
		return;
	}
	fprintf(t->o->f, "%-36s ", key);
	info_put(t->o->f, value ? value : "", 0);
	fputc('\n', t->o->f);
}

static uint64_t number_of(const void *attr, const struct number *number)
{
	const char *at = (const char *)attr + number->at;
	uint32_t small;
	uint64_t large;

	memcpy(&small, at, sizeof(small));
	if (number->size == sizeof(small))
		return small;
	memcpy(&large, at, sizeof(large));
	return large;
}

static void tell_numbers(struct telling *t, const void *attr,
			 const struct number *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = number_of(attr, &numbers[i]);

		if (t->o->json)
			dt_json_count(&t->j, numbers[i].name, value);
		else
			fprintf(t->o->f, "%-36s %llu\n", numbers[i].name,
				(unsigned long long)value);
	}
}

static void tell_named(struct telling *t, const DAT_NAMED_ATTR *attr,
		       DAT_COUNT n)
{
	for (DAT_COUNT i = 0; i < n; i++)
		tell(t, attr[i].name, attr[i].value);
}

static void tell_address(struct telling *t, const struct sockaddr *addr)
{
	char text[INET6_ADDRSTRLEN];

	info_show_address(addr, text);
	tell(t, "ia_address", text);
}

static void tell_ia(struct telling *t, const DAT_IA_ATTR *attr)
{
	tell(t, "adapter_name", attr->adapter_name);
	tell(t, "vendor_name", attr->vendor_name);
	tell_address(t, attr->ia_address_ptr);
	tell_numbers(t, attr, ia_numbers, INFO_COUNT(ia_numbers));
	tell_named(t, attr->transport_attr, attr->num_transport_attr);
	tell_named(t, attr->vendor_attr, attr->num_vendor_attr);
}

static void tell_provider(struct telling *t, const DAT_PROVIDER_ATTR *attr)
{
	tell(t, "provider_name", attr->provider_name);
	tell_numbers(t, attr, provider_numbers, INFO_COUNT(provider_numbers));
	tell_named(t, attr->provider_specific_attr,
		   attr->num_provider_specific_attr);
}

int info_attributes(struct info_out *o, const char *name)
{
	struct telling t = {.o = o};
	struct why w = {.o = o};
	DAT_PROVIDER_ATTR provider = {0};
	DAT_IA_ATTR ia = {0};

	o->name = name;
	if (dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &w.async, &w.ia) !=
	    DAT_SUCCESS) {
		info_say(o, INFO_FAIL, name,
			 "dat_info --why NAME goes step by step", "%s",
			 dat_error_detail());
		return INFO_NO_ADAPTER;
	}
	if (dat_ia_query(w.ia, NULL, DAT_IA_FIELD_ALL, &ia,
			 DAT_PROVIDER_FIELD_ALL, &provider) != DAT_SUCCESS) {
		failed(&w, name, NULL);
	} else {
		if (o->json)
			dt_json_begin(&t.j, o->f);
		tell(&t, "name", name);
		tell_ia(&t, &ia);
		tell_provider(&t, &provider);
		if (o->json)
			dt_json_end(&t.j);
	}
	release(&w);
	return o->failed ? INFO_FAILED : INFO_PASSED;
}
