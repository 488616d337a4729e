/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma.c - an instance of the CMA provider: finding its device, and its event
 * channel.
 *
 * Knows nothing of what connections do. It has no thread: the channel is
 * non-blocking and watched by the IA's loop. Each event is copied and
 * acknowledged before anything else happens, so that no call that an event
 * leads to can wait for its own acknowledgement.
 * An instance belongs to the IA that opened it.
 */
#include "dapl/openib_cma/cma.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/common/cm/base/dapl_cm_params.h"
#include "dapl/openib_cma/cma_addr.h"
#include "dapl/openib_cma/cma_conn.h"

/* A batch, so that one busy instance does not keep the loop to itself. */
#define EVENT_BATCH 64
/* How long a channel that fails is left alone. */
#define PAUSE_US 50000
/* rdma_cm says 16 times that a connection is over, with some 4 to 8 s between.
 */
#define GOODBYE_MS 150000

#define FIELD(f) offsetof(struct cma_params, f)

/* clang-format off */
static const struct dapl_param rows[] = {
	{"DAPL_CM_ACK_TIMER", DAPL_PARAM_INT, FIELD(ack_timer), 0, 31, -1,
	 "transport timeout, 4.096 us times 2 to this power"},
	{"DAPL_CM_ARP_RETRY_COUNT", DAPL_PARAM_INT, FIELD(arp_retry_count),
	 1, 1000, 15, "attempts to resolve an address"},
	{"DAPL_CM_ARP_TIMEOUT_MS", DAPL_PARAM_INT, FIELD(arp_timeout_ms),
	 1, 600000, 4000, "time for one of them, milliseconds"},
	{"DAPL_CM_KEEPALIVE_MS", DAPL_PARAM_INT, FIELD(keepalive_ms),
	 0, 3600000, -1,
	 "from one question whether a host is there to the next; 0: none"},
	{"DAPL_CM_ROUTE_RETRY_COUNT", DAPL_PARAM_INT,
	 FIELD(route_retry_count), 1, 1000, 15,
	 "attempts to resolve a route"},
	{"DAPL_CM_ROUTE_TIMEOUT_MS", DAPL_PARAM_INT, FIELD(route_timeout_ms),
	 1, 600000, 4000, "time for one of them, milliseconds"},
	{"DAPL_CM_TOS", DAPL_PARAM_INT, FIELD(tos), 0, 255, 0,
	 "type of service of connections; 0: the system's"},
};
/* clang-format on */

const struct dapl_param_table cma_param_table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.size = sizeof(struct cma_params),
};

int cma_id_create(struct cma *cm, void *context, bool ud,
		  struct rdma_cm_id **ret_id)
{
	if (rdma_create_id(cm->chan, ret_id, context,
			   ud ? RDMA_PS_UDP : RDMA_PS_TCP)) {
		int err = errno;

		return dapl_fail_errno(-err, "rdma_cm gives no id: %s",
				       strerror(err));
	}
	return 0;
}

void cma_id_destroy(struct rdma_cm_id *id)
{
	if (rdma_destroy_id(id))
		dapl_log(DAPL_LOG_ERR, "id %p: cannot be destroyed: %m",
			 (void *)id);
}

static void copy_event(const struct rdma_cm_event *raw,
		       struct cma_event *ret_ev)
{
	const struct rdma_conn_param *conn = &raw->param.conn;
	const struct rdma_ud_param *ud = &raw->param.ud;
	bool is_ud = raw->id->qp_type == IBV_QPT_UD;
	const void *pdata = is_ud ? ud->private_data : conn->private_data;
	uint8_t size = is_ud ? ud->private_data_len : conn->private_data_len;

	memset(ret_ev, 0, offsetof(struct cma_event, pdata));
	ret_ev->type = raw->event;
	ret_ev->status = raw->status;
	if (is_ud) {
		ret_ev->qpn = ud->qp_num;
		ret_ev->av = ud->ah_attr;
	} else {
		ret_ev->responder_resources = conn->responder_resources;
		ret_ev->initiator_depth = conn->initiator_depth;
	}
	ret_ev->size = pdata ? size : 0;
	if (ret_ev->size)
		memcpy(ret_ev->pdata, pdata, ret_ev->size);
}

static void dispatch(struct cma *cm, struct rdma_cm_event *raw)
{
	struct cma_event ev;
	struct rdma_cm_id *id = raw->id;
	struct dapl_cm_node *node;

	copy_event(raw, &ev);
	if (ev.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		node = raw->listen_id->context;
		rdma_ack_cm_event(raw);
		cma_listener_request((struct cma_listener *)node, id, &ev);
		return;
	}
	node = id->context;
	rdma_ack_cm_event(raw);
	if (ev.type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		cm->base.up->device_gone(cm->base.ia);
	if (node->is_listener)
		/* Its id may be gone by now; nothing but a removal is sent. */
		dapl_log(DAPL_LOG_ERR, "listener %p: %s", (void *)node,
			 rdma_event_str(ev.type));
	else
		cma_conn_event((struct cma_conn *)node, &ev);
}

/*
 * A channel whose events cannot be read stays readable, and would keep the loop
 * busy for as long as, say, memory is short.
 */
static void pause_channel(struct cma *cm)
{
	dapl_log(DAPL_LOG_ERR, "cm %p: no event: %m", (void *)cm);
	if (!dapl_timer_arm(cm->base.loop, &cm->pause,
			    dapl_now_us() + PAUSE_US))
		dapl_loop_del(cm->base.loop, &cm->watch);
}

static void resume_channel(struct dapl_timer *timer)
{
	struct cma *cm = dapl_container_of(timer, struct cma, pause);

	if (dapl_loop_add(cm->base.loop, &cm->watch, cm->chan->fd, EPOLLIN) &&
	    dapl_timer_arm(cm->base.loop, timer, dapl_now_us() + PAUSE_US))
		dapl_log(DAPL_LOG_ERR, "cm %p: hears nothing from now on",
			 (void *)cm);
}

static void on_channel(struct dapl_watch *watch, uint32_t epoll_events)
{
	struct cma *cm = dapl_container_of(watch, struct cma, watch);
	struct rdma_cm_event *raw;
	int i;

	(void)epoll_events;
	for (i = 0; i < EVENT_BATCH; i++) {
		if (rdma_get_cm_event(cm->chan, &raw)) {
			if (errno != EAGAIN && errno != EINTR)
				pause_channel(cm);
			return;
		}
		dispatch(cm, raw);
	}
}

static void stop_channel(struct dapl_cm *base)
{
	struct cma *cm = cma_from(base);
	struct dapl_loop *loop = base->loop;
	struct dapl_cm_node *node;

	dapl_loop_del(loop, &cm->watch);
	dapl_timer_cancel(loop, &cm->pause);
	/* The timer may just have put it back. */
	dapl_loop_del(loop, &cm->watch);
	cma_alive_stop(cm);
	/* What runs now may still end a connection, and what follows does not.
	 */
	dapl_loop_barrier(loop);
	dapl_list_for_each(node, &base->nodes, link)
		if (!node->is_listener)
			cma_conn_stop((struct dapl_cm_conn *)node);
}

static int start_channel(struct dapl_cm *base)
{
	struct cma *cm = cma_from(base);
	int fd = cm->chan->fd;
	int flags = fcntl(fd, F_GETFL);
	int ret;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
		return dapl_fail_errno(-errno, "cm %p: channel: %m",
				       (void *)cm);
	ret = dapl_loop_add(base->loop, &cm->watch, fd, EPOLLIN);
	if (ret)
		return dapl_fail_errno(ret, "cm %p: watch: %s", (void *)cm,
				       strerror(-ret));
	cma_ud_start(cm);
	cma_alive_start(cm);
	return 0;
}

static const struct dapl_cm_hooks hooks = {
	.start = start_channel,
	.quiesce = stop_channel,
	.conn_init = cma_conn_init,
	.conn_run = cma_conn_run,
	.conn_released = cma_conn_released,
	.conn_abandon = cma_conn_abandon,
	.listen = cma_listener_start,
	.unlisten = cma_listener_stop,
};

static const struct dapl_cm_sizes sizes = {
	.conn = sizeof(struct cma_conn),
	.listener = sizeof(struct cma_listener),
	.pdata = CMA_PDATA_MAX,
};

/*
 * Fills the instance from ADDR if that belongs to an RDMA device. -ENODEV: it
 * does not; -ENXIO: it does, and the library cannot open that.
 */
static int try_addr(struct cma *cm, const struct sockaddr_storage *addr)
{
	struct dapl_cm *base = &cm->base;
	struct sockaddr_storage own = *addr;
	struct rdma_cm_id *id;
	int ret;

	ret = cma_id_create(cm, NULL, false, &id);
	if (ret)
		return ret;
	if (rdma_bind_addr(id, (struct sockaddr *)&own)) {
		ret = -errno;
		/* The kernel bound it, then its device could not be opened. */
		if (ret == -ENODEV && rdma_get_local_addr(id)->sa_family)
			ret = -ENXIO;
	} else if (!id->verbs) {
		ret = -ENODEV; /* loopback and wildcard addresses */
	}
	if (!ret) {
		snprintf(base->dev_name, sizeof(base->dev_name), "%s",
			 id->verbs->device->name);
		base->port = id->port_num;
		base->addr = *addr;
	}
	cma_id_destroy(id);
	return ret;
}

static int no_device(const struct ifaddrs *ifs, const struct cma_target *t,
		     const struct sockaddr_storage *first, int err)
{
	char names[512], addr[64], why[320];
	int ret;

	dapl_addr_text((const struct sockaddr *)first, addr, sizeof(addr));
	ret = err == -ENXIO ? vb_unusable(why, sizeof(why)) : 0;
	if (ret)
		return dapl_fail_errno(ret,
				       "%s; it is the RDMA device of %s (%s)",
				       why, t->name, addr);
	if (err == -EADDRNOTAVAIL) {
		dapl_addr_netdevs_text(ifs, names, sizeof(names));
		return dapl_fail_errno(
			err,
			"write an address of this host: %s is none; interfaces: %s",
			addr, names);
	}
	if (err == -EAGAIN || err == -ENOMEM || err == -EMFILE)
		return dapl_fail_errno(
			err,
			"rdma_cm has nothing left for the RDMA device of %s (%s): %s",
			t->name, addr, strerror(-err));
	vb_device_names(names, sizeof(names));
	return dapl_fail_errno(
		-EADDRNOTAVAIL,
		"write the interface of an RDMA device: %s (%s) is of none; devices: %s",
		t->name, addr, names[0] ? names : "none");
}

static int choose(struct cma *cm, const struct ifaddrs *ifs,
		  const struct cma_target *t, const struct dapl_addrs *addrs)
{
	int i, ret = -ENODEV;

	for (i = 0; i < addrs->n && ret; i++)
		ret = try_addr(cm, &addrs->addr[i]);
	if (ret)
		return no_device(ifs, t, &addrs->addr[0], ret);
	/* Files that name another port have always worked: the address rules.
	 */
	if (t->port && t->port != cm->base.port)
		dapl_log(DAPL_LOG_WARN,
			 "cm %p: %s is on %s port %u, not on port %u",
			 (void *)cm, t->name, cm->base.dev_name, cm->base.port,
			 t->port);
	dapl_log(DAPL_LOG_CM, "cm %p: %s is %s port %u", (void *)cm, t->name,
		 cm->base.dev_name, cm->base.port);
	return 0;
}

static int no_such_name(const struct ifaddrs *ifs, const struct cma_target *t,
			int err)
{
	char names[512];

	dapl_addr_netdevs_text(ifs, names, sizeof(names));
	return dapl_fail_errno(
		-EADDRNOTAVAIL,
		"write an interface or address of this host: %s is none%s; interfaces: %s",
		t->name,
		err == -EADDRNOTAVAIL ? ", it resolves to other hosts" : "",
		names);
}

static int find(struct cma *cm, const struct ifaddrs *ifs,
		const struct cma_target *t)
{
	struct dapl_addrs addrs = {.n = 1};
	int ret = dapl_addr_netdev(ifs, t->name, &addrs);

	if (ret == -EADDRNOTAVAIL)
		return dapl_fail_errno(
			-EADDRNOTAVAIL,
			"give interface %s an address: it has none", t->name);
	if (ret && dapl_addr_numeric(t->name, &addrs.addr[0])) {
		ret = cma_addr_host(ifs, t->name, &addrs);
		if (ret)
			return no_such_name(ifs, t, ret);
	}
	return choose(cm, ifs, t, &addrs);
}

static int find_in_system(struct cma *cm, const struct cma_target *t)
{
	struct ifaddrs *ifs;
	int ret;

	if (getifaddrs(&ifs))
		return dapl_fail_errno(
			-errno, "%s: cannot list the interfaces: %m", t->name);
	ret = find(cm, ifs, t);
	freeifaddrs(ifs);
	return ret;
}

#define NODE "/dev/infiniband/rdma_cm"

/* Why there is no channel; the library's errors do not tell. */
static int no_channel(int err)
{
	char why[320];
	int ret;

	if (err != ENOENT && err != ENODEV && err != EACCES && err != EPERM &&
	    err != ENXIO)
		return dapl_fail_errno(-err, "rdma_cm cannot be used: %s",
				       strerror(err));
	vb_device_names(why, sizeof(why));
	if (!why[0])
		return dapl_fail_errno(
			-ENODEV,
			"load the driver of the RDMA device, or let this container see it: there is no RDMA device");
	ret = vb_node_check(NODE);
	if (ret)
		vb_node_text(NODE, ret, "rdma_ucm", why, sizeof(why));
	else
		ret = vb_unusable(why, sizeof(why));
	if (ret)
		return dapl_fail_errno(ret, "%s; rdma_cm needs it", why);
	return dapl_fail_errno(-err, "rdma_cm cannot be used: %s",
			       strerror(err));
}

int cma_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm)
{
	struct cma_target target;
	struct cma *cm;
	const char *why;
	int ret;

	if (cma_target_parse(ia_params, &target, &why))
		return dapl_cm_params_wrong(ia_params, why,
					    "\"<interface or address> 0\"");
	cm = calloc(1, sizeof(*cm));
	if (!cm)
		return dapl_fail_errno(-ENOMEM, "cma: no memory");
	dapl_cm_init(&cm->base, base, &hooks, &sizes);
	cma_ud_init(&cm->ud);
	cma_alive_init(cm);
	cm->watch.fn = on_channel;
	cm->watch.fd = -1;
	dapl_timer_init(&cm->pause, resume_channel);
	cm->goodbye_ms = GOODBYE_MS;
	cm->chan = rdma_create_event_channel();
	if (!cm->chan) {
		ret = no_channel(errno);
		goto err_free;
	}
	ret = find_in_system(cm, &target);
	if (ret)
		goto err_channel;
	*ret_cm = &cm->base;
	return 0;

err_channel:
	rdma_destroy_event_channel(cm->chan);
err_free:
	dapl_cm_fini(&cm->base);
	free(cm);
	return ret;
}

void cma_close(struct dapl_cm *base)
{
	struct cma *cm = cma_from(base);

	dapl_cm_fini(base);
	cma_ud_fini(&cm->ud);
	rdma_destroy_event_channel(cm->chan);
	free(cm);
}
