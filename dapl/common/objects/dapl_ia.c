/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ia.c - opening and closing an interface adapter, and asynchronous
 * errors of its device.
 *
 * Open goes up in steps, each undone by its counterpart: service thread,
 * connection manager, device, async EVD. Close takes the objects down in an
 * order in which nothing is used by what still lives.
 * Asynchronous events are filtered: those of another port are not ours, and
 * what changes nothing for a consumer (LID, P_Key, SM, the last receive that
 * an endpoint took from its SRQ) is only logged.
 */
#include "dapl/common/objects/dapl_ia_calls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/common/base/dapl_process.h"
#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/connect/dapl_ep_ud.h"
#include "dapl/common/connect/dapl_sp.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/objects/dapl_ep_calls.h"
#include "dapl/common/objects/dapl_srq.h"
#include "dapl/common/services/dapl_files.h"

/* ------------------------------------ asynchronous errors */

static void tell_catastrophe(struct dapl_ia *ia)
{
	ia->device_gone = true;
	dapl_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
		      (DAT_HANDLE)dapl_obj_ia_handle(&ia->obj),
		      DAT_IA_CATASTROPHIC_ERROR);
}

/* Not every driver has verbs say so, and rdma_cm says it for each of its ids.
 */
static void device_gone(struct dapl_ia *ia)
{
	if (!ia->device_gone)
		tell_catastrophe(ia);
}

static const struct dapl_cm_up ia_upcalls = {
	.request = dapl_sp_cm_request,
	.event = dapl_ep_cm_event,
	.gone = dapl_ep_cm_gone,
	.unlistened = dapl_sp_cm_unlistened,
	.qp_move = dapl_ep_cm_qp_move,
	.ah_make = dapl_ep_ud_ah_make,
	.qp_error = dapl_ep_cm_qp_error,
	.qp_stop = dapl_ep_cm_qp_stop,
	.device_gone = device_gone,
};

/* Of something that only the connection manager knows, or goes by. */
static void cm_event(struct dapl_ia *ia, const struct ibv_async_event *event)
{
	if (ia->cm->ops->device_event)
		ia->cm->ops->device_event(ia->cm, event);
}

static void ia_async_event(struct dapl_ia *ia,
			   const struct ibv_async_event *event)
{
	struct dapl_evd *evd;
	struct dapl_ep *ep;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		evd = event->element.cq->cq_context;
		if (!evd)
			cm_event(ia, event);
		else if (dapl_evd_cq_gave_up(evd))
			dapl_ia_async(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW,
				      (DAT_HANDLE)evd, DAT_EVD_OVERFLOW_ERROR);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		ep = event->element.qp->qp_context;
		if (!ep)
			cm_event(ia, event);
		else
			dapl_ia_async(ia, DAT_ASYNC_ERROR_EP_BROKEN,
				      (DAT_HANDLE)ep, DAT_EP_TRANSFER_TO_ERROR);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		dapl_srq_async(event->element.srq->srq_context,
			       event->event_type);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		tell_catastrophe(ia);
		break;
	case IBV_EVENT_GID_CHANGE:
		if (event->element.port_num == ia->dev.port)
			cm_event(ia, event);
		break;
	case IBV_EVENT_PORT_ERR:
		if (event->element.port_num == ia->dev.port)
			dapl_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				      (DAT_HANDLE)dapl_obj_ia_handle(&ia->obj),
				      DAT_IA_OTHER_ERROR);
		break;
	default:
		break;
	}
}

static void async_count(struct dapl_ia *ia, const struct ibv_async_event *event)
{
	dapl_ia_count(ia, DCNT_IA_ASYNC_ERROR);
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		dapl_ia_count(ia, DCNT_IA_ASYNC_CQ_ERROR);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		dapl_ia_count(ia, DCNT_IA_ASYNC_QP_ERROR);
		break;
	default:
		break;
	}
}

static void ia_async_ready(struct dapl_watch *w, uint32_t events)
{
	struct dapl_ia *ia = dapl_container_of(w, struct dapl_ia, async_watch);
	struct ibv_async_event event;

	while (!vb_async_get(&ia->dev, &event)) {
		dapl_log(DAPL_LOG_WARN, "ia %p: %s: %s", (void *)ia,
			 ia->dev.name, ibv_event_type_str(event.event_type));
		async_count(ia, &event);
		ia_async_event(ia, &event);
		vb_async_ack(&event);
	}
}

/* --------------------------------------------- async EVD */

/* Another IA's EVD for errors of the same adapter, referenced; or NULL. */
static struct dapl_evd *async_evd_elsewhere(const struct dapl_ia *ia)
{
	struct dapl_evd *evd = NULL;
	struct dapl_ia *other;

	dapl_lock(&dapl_process.lock);
	dapl_list_for_each(other, &dapl_process.adapters, all_link) {
		if (strcmp(other->dev.name, ia->dev.name))
			continue;
		evd = other->async_evd;
		dapl_obj_get(&evd->obj);
		break;
	}
	dapl_unlock(&dapl_process.lock);
	return evd;
}

static DAT_RETURN async_evd_open(struct dapl_ia *ia, DAT_COUNT qlen,
				 DAT_EVD_HANDLE handle)
{
	struct dapl_evd *evd = NULL;
	DAT_RETURN ret;

	if (handle == DAT_HANDLE_NULL) {
		ret = dapl_evd_new(ia, qlen, NULL, DAT_EVD_ASYNC_FLAG, &evd);
		if (ret != DAT_SUCCESS)
			return ret;
		ia->async_evd_own = true;
		dapl_obj_get(&evd->obj);
	} else if (handle == DAT_EVD_ASYNC_EXISTS) {
		evd = async_evd_elsewhere(ia);
	} else {
		evd = dapl_evd_from(handle);
		if (evd)
			dapl_obj_get(&evd->obj);
	}
	if (evd && dapl_evd_has(evd, DAT_EVD_ASYNC_FLAG) &&
	    !strcmp(evd->obj.ia->dev.name, ia->dev.name) &&
	    dapl_obj_use(&evd->obj)) {
		ia->async_evd = evd;
		return DAT_SUCCESS;
	}
	if (evd)
		dapl_obj_put(&evd->obj);
	return dapl_fail(DAPL_BAD_HANDLE(EVD_ASYNC),
			 "ia: no EVD for asynchronous errors of an open IA on "
			 "%s",
			 ia->dev.name);
}

/* The handle ends; the EVD itself serves until the device is closed. */
static void async_evd_retire(struct dapl_ia *ia)
{
	if (ia->async_evd_own && dapl_obj_retire(&ia->async_evd->obj, true))
		dapl_obj_put(&ia->async_evd->obj);
}

static void async_evd_close(struct dapl_ia *ia)
{
	struct dapl_evd *evd = ia->async_evd;

	if (!evd)
		return;
	ia->async_evd = NULL;
	dapl_obj_unuse(&evd->obj);
	if (ia->async_evd_own)
		dapl_obj_end(&evd->obj);
	else
		dapl_obj_put(&evd->obj);
}

/* --------------------------------------------------- open */

#define FIELD(f) offsetof(struct dapl_ia_params, f)

/* clang-format off */
static const struct dapl_param rows[] = {
	{"DAPL_COUNTERS", DAPL_PARAM_STR, FIELD(counters), 0, 16, 0,
	 "count, and print at dat_ia_close(): table, json; 0: not"},
	{"DAPL_DBG_SYS_MEM", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: it never had any"},
	{"DAPL_IB_PKEY", DAPL_PARAM_INT, FIELD(pkey), 0, 65535, 0,
	 "partition key to look for in the port's table"},
	{"DAPL_LOOPBACK", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: it never had any"},
	{"DAPL_MAX_CM_RESPONSE_TIME", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: it never had any"},
	{"DAPL_MAX_CM_RETRIES", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: it never had any"},
	{"DAPL_MAX_INLINE", DAPL_PARAM_INT, FIELD(max_inline), 0, 65535, -1,
	 "inline bytes to ask for; 0: none"},
	{"DAPL_NETWORK_NODES", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_PPN", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_PROCESS_NUM", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_TRESHOLD", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_WR_MAX", DAPL_PARAM_INT, FIELD(wr_max), 1, INT_MAX, -1,
	 "upper limit of transfers in flight for one endpoint"},
};
/* clang-format on */

const struct dapl_param_table dapl_ia_param_table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.size = sizeof(struct dapl_ia_params),
};

static void ia_destroy(struct dapl_obj *obj)
{
	struct dapl_ia *ia = (struct dapl_ia *)obj;

	free(ia->cm_params);
	dapl_wakeups_fini(&ia->wakeups);
	dapl_windows_fini(&ia->windows);
	dapl_lock_fini(&ia->lock);
	dapl_obj_release(obj);
}

/* No shutdown: closing is more than that, see ia_end(). */
static const struct dapl_obj_ops ia_ops = {
	.type = DAT_HANDLE_TYPE_IA,
	.size = sizeof(struct dapl_ia),
	.destroy = ia_destroy,
};

/* 0 or -ENOMEM. */
static int params_read(struct dapl_ia *ia)
{
	const struct dapl_param_table *table = ia->prov->ops->params;

	dapl_params_read(&dapl_ia_param_table, &ia->params, dapl__log_warn);
	if (!table)
		return 0;
	ia->cm_params = calloc(1, table->size);
	if (!ia->cm_params)
		return -ENOMEM;
	dapl_params_read(table, ia->cm_params, dapl__log_warn);
	return 0;
}

static struct dapl_ia *ia_alloc(struct dapl_provider *prov)
{
	struct dapl_ia *ia;

	ia = dapl_obj_new(NULL, &ia_ops);
	if (!ia)
		return NULL;
	ia->obj.provider = &prov->vector;
	ia->obj.ia = ia;
	ia->prov = prov;
	ia->provide_ep = dapl_ep_provide;
	dapl_lock_init(&ia->lock, DAPL_LOCK_IA);
	dapl_windows_init(&ia->windows);
	dapl_wakeups_init(&ia->wakeups);
	ia->spins = dapl_evd_may_spin();
	for (int i = 0; i < DAPL_OBJ_TYPES; i++)
		dapl_list_init(&ia->objs[i]);
	ia->async_watch.fd = -1;
	ia->async_watch.fn = ia_async_ready;
	if (params_read(ia)) {
		ia_destroy(&ia->obj);
		return NULL;
	}
	return ia;
}

static DAT_RETURN open_error(const struct dapl_cm *cm, int err)
{
	char names[256], why[320];
	DAT_RETURN ret;

	vb_device_names(names, sizeof(names));
	if (!names[0])
		return dapl_fail(dapl_err_dat(err),
				 "load the driver of the RDMA device, or let "
				 "this container see it: there is no RDMA "
				 "device");
	err = vb_explain(cm->dev_name, cm->port, err, why, sizeof(why));
	ret = dapl_err_dat(err);
	/* What dat.conf says of device and port, and nothing is like it. */
	if (err == -ENODEV)
		ret = DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND;
	else if (err == -EINVAL || err == -EOPNOTSUPP)
		ret = DAT_CLASS_ERROR | DAT_INVALID_ADDRESS;
	return dapl_fail(ret, "%s; devices here: %s", why, names);
}

/* What is down carries nothing, whoever manages its connections. */
static DAT_RETURN port_check(const struct vb_dev *dev)
{
	if (vb_port_is_active(dev))
		return DAT_SUCCESS;
	return dapl_fail(DAT_CLASS_ERROR | DAT_INVALID_ADDRESS,
			 "bring %s of %s port %u up: the port is %s",
			 dev->ethernet || dev->iw_cm
				 ? "the network interface"
				 : "cable, switch and subnet manager",
			 dev->name, dev->port,
			 ibv_port_state_str(dev->port_attr.state));
}

/*
 * The partition of every queue pair. Where rdma_cm moves them it sets its own,
 * which comes from the network interface.
 */
static void partition_set(struct dapl_ia *ia)
{
	struct vb_dev *dev = &ia->dev;
	uint16_t pkey = (uint16_t)ia->params.pkey;

	if (pkey && dev->partitions &&
	    vb_pkey_find(dev, pkey, &dev->pkey_index))
		dapl_log(DAPL_LOG_WARN,
			 "DAPL_IB_PKEY: 0x%04x is not in the table of %s port "
			 "%u; using its first entry",
			 pkey, dev->name, dev->port);
}

static DAT_RETURN device_open(struct dapl_ia *ia)
{
	int ret;

	ret = vb_open(ia->cm->dev_name, ia->cm->port, &ia->dev);
	if (ret)
		return open_error(ia->cm, ret);
	if (port_check(&ia->dev) != DAT_SUCCESS) {
		vb_close(&ia->dev);
		return DAT_CLASS_ERROR | DAT_INVALID_ADDRESS;
	}
	partition_set(ia);
	ia->max_inline = (uint32_t)(ia->params.max_inline >= 0
					    ? ia->params.max_inline
					    : ia->cm->ops->default_inline);
	/* Of its own queues a connection manager hears once it has started. */
	ret = dapl_loop_add(ia->loop, &ia->async_watch, ia->dev.ctx->async_fd,
			    0);
	if (ret) {
		vb_close(&ia->dev);
		return dapl_fail(dapl_err_dat(ret),
				 "cannot watch %s for errors: %s",
				 ia->cm->dev_name, strerror(-ret));
	}
	ia->cm->dev = &ia->dev;
	return DAT_SUCCESS;
}

static void device_close(struct dapl_ia *ia)
{
	if (ia->async_watch.fd >= 0)
		dapl_loop_del(ia->loop, &ia->async_watch);
	if (ia->null_cq)
		vb_cq_destroy(ia->null_cq);
	vb_close(&ia->dev);
}

/* Of open() or start(); its reason is told. */
static DAT_RETURN cm_error(int err, bool opening)
{
	if (err == -EADDRNOTAVAIL)
		return DAT_CLASS_ERROR | DAT_INVALID_ADDRESS;
	if (err == -EINVAL && opening)
		return DAPL_ERR(DAT_INVALID_ADDRESS,
				DAT_INVALID_ADDRESS_MALFORMED);
	return dapl_err_dat(err);
}

static DAT_RETURN cm_open(struct dapl_ia *ia)
{
	const struct dapl_cm base = {
		.ops = ia->prov->ops,
		.up = &ia_upcalls,
		.ia = ia,
		.loop = ia->loop,
		.params = ia->cm_params,
		.counts = ia->counters.n,
	};

	return cm_error(base.ops->open(ia->prov->ia_params, &base, &ia->cm),
			true);
}

static DAT_RETURN ia_start(struct dapl_ia *ia, DAT_COUNT qlen,
			   DAT_EVD_HANDLE async_evd)
{
	const struct dapl_cm_ops *ops = ia->prov->ops;
	DAT_RETURN ret;
	int err;

	dapl_lock_prepare();
	err = dapl_loop_open(ops->name, &ia->loop);
	if (err)
		return dapl_fail(dapl_err_dat(err),
				 "raise the limits of threads (ulimit -u, the "
				 "container's pids) and of memory: no service "
				 "thread: %s",
				 strerror(-err));
	ret = cm_open(ia);
	if (ret != DAT_SUCCESS)
		goto err_close_loop;
	ret = device_open(ia);
	if (ret != DAT_SUCCESS)
		goto err_close_cm;
	if (!ia->query_only)
		ret = async_evd_open(ia, qlen, async_evd);
	if (ret != DAT_SUCCESS)
		goto err_close_device;
	ret = cm_error(ops->start(ia->cm), false);
	if (ret != DAT_SUCCESS)
		goto err_close_async_evd;
	ia->addr = ia->cm->addr;
	err = dapl_loop_mod(ia->loop, &ia->async_watch, EPOLLIN);
	if (err)
		dapl_log(DAPL_LOG_ERR, "ia %p: hears no errors of %s: %s",
			 (void *)ia, ia->dev.name, strerror(-err));
	return DAT_SUCCESS;

err_close_async_evd:
	async_evd_retire(ia);
	async_evd_close(ia);
err_close_device:
	device_close(ia);
err_close_cm:
	ops->close(ia->cm);
err_close_loop:
	dapl_loop_close(ia->loop);
	return ret;
}

/*
 * What an adapter takes at most, those included that are open for a moment
 * only: the service thread's, the device's, the connection manager's.
 */
#define IA_FILES 12

/*
 * Libraries that find no descriptor left report all kinds of things, as that
 * there is no device; nothing of that is told.
 */
static DAT_RETURN no_files_left(void)
{
	return dapl_fail(DAPL_ERR(DAT_INSUFFICIENT_RESOURCES, 0),
			 "raise the limit of file descriptors (ulimit -n): an "
			 "adapter takes up to %d, and the process has no more "
			 "left",
			 IA_FILES);
}

/* QLEN and ASYNC_EVD mean nothing where the IA is for queries only. */
static DAT_RETURN ia_open(const char *name, bool query_only, DAT_COUNT qlen,
			  DAT_EVD_HANDLE async_evd, struct dapl_ia **ret_ia)
{
	struct dapl_provider *prov;
	struct dapl_ia *ia;
	DAT_RETURN ret;
	bool files;

	if (dapl_obj_forked())
		return dapl_fail(DAPL_BAD_STATE(IA_IN_USE), "forked");
	prov = dapl_provider_find(name);
	if (!prov)
		return dapl_fail(DAPL_ERR(DAT_PROVIDER_NOT_FOUND,
					  DAT_NAME_NOT_REGISTERED),
				 "the provider does not know the name %s",
				 name ? name : "(null)");
	dapl__log_setup(prov->ops->name);
	ia = ia_alloc(prov);
	if (!ia)
		return dapl_fail(DAPL_NO_MEM, "ia: no memory");
	ia->query_only = query_only;
	files = dapl_files_reserve(IA_FILES);
	ret = ia_start(ia, qlen, async_evd);
	if (ret != DAT_SUCCESS) {
		dapl_obj_put(&ia->obj);
		return files ? ret : no_files_left();
	}
	dapl_ia_named_attrs(ia);
	dapl_counters_open(ia);
	__atomic_store_n(&ia->obj.magic, DAPL_MAGIC(DAT_HANDLE_TYPE_IA),
			 __ATOMIC_RELEASE);
	dapl_log(DAPL_LOG_UTIL, "ia %p: %s on %s port %u%s", (void *)ia,
		 prov->info.ia_name, ia->dev.name, ia->dev.port,
		 query_only ? ", for queries" : "");
	*ret_ia = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ret_ia)
{
	struct dapl_ia *ia;
	DAT_RETURN ret;

	if (!async_evd)
		return dapl_fail(DAPL_BAD_ARG(3),
				 "no place for the async EVD handle");
	if (*async_evd == DAT_HANDLE_NULL && qlen <= 0)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "the async EVD needs a length above 0, not %d",
				 qlen);
	if (!ret_ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA),
				 "no place for the handle");
	ret = ia_open(name, false, qlen, *async_evd, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	dapl_lock(&dapl_process.lock);
	dapl_list_add_tail(&dapl_process.adapters, &ia->all_link);
	dapl_unlock(&dapl_process.lock);
	*async_evd = (DAT_EVD_HANDLE)ia->async_evd;
	*ret_ia = (DAT_IA_HANDLE)ia;
	return DAT_SUCCESS;
}

/* -------------------------------------------------- close */

static void ia_end_all(struct dapl_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dapl_obj *obj;

	while ((obj = dapl_obj_retire_any(ia, type)))
		dapl_obj_end(obj);
}

/* Everything the consumer left open, users before what they use. */
static void ia_free_objects(struct dapl_ia *ia)
{
	static const DAT_HANDLE_TYPE users[] = {
		DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_PSP,
		DAT_HANDLE_TYPE_CSP, DAT_HANDLE_TYPE_CR,  DAT_HANDLE_TYPE_EP,
		DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_PZ,
	};

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		ia_end_all(ia, users[i]);
	dapl_loop_del(ia->loop, &ia->async_watch);
	ia->prov->ops->stop(ia->cm);
	/* Requests that came while the listeners were going. */
	ia_end_all(ia, DAT_HANDLE_TYPE_CR);
	ia_end_all(ia, DAT_HANDLE_TYPE_EVD);
}

/* Whether the consumer made OBJ, or was given it for good. */
static bool is_consumers(const struct dapl_ia *ia, const struct dapl_obj *obj)
{
	const struct dapl_ep *ep;

	switch (obj->ops->type) {
	case DAT_HANDLE_TYPE_CR:
		return false;
	case DAT_HANDLE_TYPE_EP:
		ep = (const struct dapl_ep *)obj;
		return __atomic_load_n(&ep->qp.state, __ATOMIC_ACQUIRE) !=
		       DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	default:
		return obj != (const struct dapl_obj *)ia->async_evd ||
		       !ia->async_evd_own;
	}
}

/*
 * True when the consumer has freed everything but open's async EVD. Requests,
 * and the endpoints that they brought, do not count: they come by themselves,
 * and one whose event went with its EVD nobody could answer. They are refused.
 */
static bool ia_empty(struct dapl_ia *ia)
{
	struct dapl_obj *obj;
	bool empty = true;

	dapl_lock(&ia->lock);
	for (int i = 0; i < DAPL_OBJ_TYPES && empty; i++)
		dapl_list_for_each(obj, &ia->objs[i], link)
			empty &= !is_consumers(ia, obj);
	dapl_unlock(&ia->lock);
	return empty;
}

/* Of two threads that close, one does. */
static bool ia_claim(struct dapl_ia *ia)
{
	uint32_t magic = DAPL_MAGIC(DAT_HANDLE_TYPE_IA);

	return __atomic_compare_exchange_n(&ia->obj.magic, &magic, 0, 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void ia_end(struct dapl_ia *ia)
{
	async_evd_retire(ia);
	ia_free_objects(ia);
	ia->prov->ops->close(ia->cm);
	async_evd_close(ia);
	/* The asynchronous EVD may have notified one, too. */
	ia_end_all(ia, DAT_HANDLE_TYPE_CNO);
	dapl_counters_close(ia);
	device_close(ia);
	dapl_loop_close(ia->loop);
	dapl_obj_put(&ia->obj);
}

DAT_RETURN dapl_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dapl_ia *ia = dapl_ia_from(handle);

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown flag %d",
				 (int)flags);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && !ia_empty(ia))
		return dapl_fail(DAPL_BAD_STATE(IA_IN_USE),
				 "ia %p: objects of it are still open",
				 (void *)ia);
	if (!ia_claim(ia))
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	dapl_lock(&dapl_process.lock);
	dapl_list_del(&ia->all_link);
	dapl_unlock(&dapl_process.lock);
	ia_end(ia);
	return DAT_SUCCESS;
}

/* -------------------------------------------- queries only */

DAT_RETURN dapl_ia_open_query(const char *name, DAT_HANDLE *ret_ia,
			      DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			      DAT_PROVIDER_ATTR_MASK prov_mask,
			      DAT_PROVIDER_ATTR *prov_attr)
{
	struct dapl_ia *ia;
	DAT_RETURN ret;

	if (!ret_ia)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the handle");
	if (!ia_attr && !prov_attr)
		return dapl_fail(DAPL_BAD_ARG(5),
				 "no place for attributes of either kind");
	ret = ia_open(name, true, 0, DAT_HANDLE_NULL, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dapl_ia_tell(ia, ia_mask, ia_attr, prov_mask, prov_attr);
	if (ret != DAT_SUCCESS) {
		ia_claim(ia);
		ia_end(ia);
		return ret;
	}
	*ret_ia = (DAT_HANDLE)ia;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ia_close_query(DAT_HANDLE handle)
{
	struct dapl_ia *ia = dapl_obj_from(handle, DAT_HANDLE_TYPE_IA);

	if (!ia || !ia->query_only || !ia_claim(ia))
		return dapl_fail(DAPL_BAD_HANDLE(IA),
				 "%p is not from dat_ib_open_query()", handle);
	ia_end(ia);
	return DAT_SUCCESS;
}
