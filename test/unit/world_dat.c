/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world_dat.c - the world of the real objects over the provider that is linked;
 * see world_make.h.
 */
#include <stdlib.h>
#include <string.h>

#include "dapl/common/connect/dapl_ep.h"
#include "test/unit/world_make.h"

static struct sockaddr_storage first_addr; /* no family: no IA yet */

void world_make_vector(void)
{
	memset(&first_addr, 0, sizeof(first_addr));
	/* Where the provider uses sockets, they stay on this host. */
	setenv("DAPL_SCM_NETDEV", "lo", 1);
	dat_provider_init(&world_info, world_provider.params_a);
}

void world_drop_vector(void)
{
	dat_provider_fini(&world_info);
}

static void learn_addr(DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr;

	assert_dat_ok(V(ia_query)(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
				  0, NULL));
	memcpy(&first_addr, attr.ia_address_ptr,
	       attr.ia_address_ptr->sa_family == AF_INET6
		       ? sizeof(struct sockaddr_in6)
		       : sizeof(struct sockaddr_in));
}

DAT_IA_HANDLE world_ia_open(DAT_EVD_HANDLE *ret_async_evd)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;

	assert_dat_ok(V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia));
	world_know_ia(ia);
	if (!first_addr.ss_family)
		learn_addr(ia);
	if (ret_async_evd)
		*ret_async_evd = evd;
	return ia;
}

void world_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	assert_dat_ok(V(ia_close)(ia, flags));
	world_forget_ia(ia);
}

DAT_PZ_HANDLE world_pz(DAT_IA_HANDLE ia)
{
	DAT_PZ_HANDLE pz = NULL;

	assert_dat_ok(V(pz_create)(ia, &pz));
	return pz;
}

DAT_LMR_HANDLE world_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *buf,
			 size_t size, DAT_LMR_CONTEXT *ret_lkey,
			 DAT_RMR_CONTEXT *ret_rkey)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = buf};
	DAT_LMR_HANDLE lmr = NULL;

	assert_dat_ok(V(lmr_create)(ia, DAT_MEM_TYPE_VIRTUAL, desc, size, pz,
				    WORLD_PRIV_ALL, DAT_VA_TYPE_VA, &lmr,
				    ret_lkey, ret_rkey, NULL, NULL));
	return lmr;
}

struct ibv_qp *world_qp(DAT_EP_HANDLE ep)
{
	return ((struct dapl_ep *)ep)->qp.ibv;
}

DAT_IA_ADDRESS_PTR world_addr(void)
{
	return (DAT_IA_ADDRESS_PTR)&first_addr;
}

DAT_RETURN world_ask(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr,
		     DAT_CONN_QUAL qual)
{
	return V(ep_connect)(ep, addr, qual, WORLD_PATIENCE_US, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE world_request(DAT_EVD_HANDLE cr_evd)
{
	DAT_EVENT ev = expect_event(cr_evd, DAT_CONNECTION_REQUEST_EVENT);

	return ev.event_data.cr_arrival_event_data.cr_handle;
}

void world_connect_pair(struct world *w, DAT_EP_HANDLE server,
			DAT_EP_HANDLE client)
{
	DAT_PSP_HANDLE psp = NULL;
	DAT_EVENT ev;

	assert_dat_ok(V(psp_create)(w->server.ia, WORLD_QUAL, w->server.cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	assert_dat_ok(world_ask(client, world_addr(), WORLD_QUAL));
	assert_dat_ok(
		V(cr_accept)(world_request(w->server.cr_evd), server, 0, NULL));
	ev = expect_event(w->client.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ptr_equal(ev.event_data.connect_event_data.ep_handle, client);
	ev = expect_event(w->server.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ptr_equal(ev.event_data.connect_event_data.ep_handle, server);
	assert_dat_ok(V(psp_free)(psp));
}
