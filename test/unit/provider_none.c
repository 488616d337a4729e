/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * provider_none.c - a provider without a connection manager: adapters open, and
 * nothing connects. What is tested with it needs none; see provider.h.
 */
#include <dat2/udat.h>

#include <dat2/dat_registry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/unit/provider.h"

static int none_open(const char *ia_params, const struct dapl_cm *base,
		     struct dapl_cm **ret_cm)
{
	struct dapl_cm *cm = malloc(sizeof(*cm));

	if (!cm)
		return -ENOMEM;
	*cm = *base;
	cm->port = 1;
	snprintf(cm->dev_name, sizeof(cm->dev_name), "%s", ia_params);
	cm->addr.ss_family = AF_INET;
	*ret_cm = cm;
	return 0;
}

static int none_start(struct dapl_cm *cm)
{
	return 0;
}

static void none_stop(struct dapl_cm *cm)
{
}

static void none_close(struct dapl_cm *cm)
{
	free(cm);
}

static size_t none_max_pdata(const struct dapl_cm *cm)
{
	return 0;
}

/* Listening and connecting are refused, so the others are never called. */
static int none_listen(struct dapl_cm *cm, DAT_CONN_QUAL qual,
		       struct dapl_sp *sp, struct dapl_cm_listener **ret_l)
{
	return -EOPNOTSUPP;
}

static int none_prepare(struct dapl_cm *cm, struct dapl_ep *ep,
			struct dapl_cm_conn **ret_conn)
{
	return -EOPNOTSUPP;
}

static void none_unlisten(struct dapl_cm_listener *l)
{
	abort();
}

static int none_connect(struct dapl_cm_conn *conn,
			const struct dapl_cm_connect *req)
{
	abort();
}

static int none_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
		       struct dapl_ep *ep, const void *pdata, size_t size)
{
	abort();
}

static int none_reject(struct dapl_cm_conn *conn, const void *pdata,
		       size_t size)
{
	abort();
}

static int none_disconnect(struct dapl_cm_conn *conn)
{
	abort();
}

static void none_release(struct dapl_cm_conn *conn)
{
	abort();
}

static int none_addrs(const struct dapl_cm_conn *conn,
		      struct sockaddr_storage *ret_peer,
		      DAT_PORT_QUAL *ret_peer_port, DAT_PORT_QUAL *ret_port)
{
	abort();
}

static const struct dapl_cm_ops none_ops = {
	.name = "none",
	.default_inline = 64,
	.open = none_open,
	.start = none_start,
	.stop = none_stop,
	.close = none_close,
	.max_pdata = none_max_pdata,
	.listen = none_listen,
	.unlisten = none_unlisten,
	.prepare = none_prepare,
	.connect = none_connect,
	.accept = none_accept,
	.reject = none_reject,
	.disconnect = none_disconnect,
	.release = none_release,
	.addrs = none_addrs,
};

static DAT_CONN_QUAL qual(void)
{
	return 5000;
}

const struct world_provider world_provider = {
	.ops = &none_ops,
	.params_a = "fake0",
	.params_b = "fake1",
	.addr_b = "",
	.qual = qual,
};

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	dapl_provider_register(&none_ops, info, instance_data);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	dapl_provider_unregister(&none_ops, info);
}
