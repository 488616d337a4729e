/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_ud.c - requests and answers of datagram endpoints; see the header.
 *
 * Knows nothing of connections and their states. What comes from the network is
 * hostile until cma_ud_asked() or cma_ud_answered() has looked at it.
 */
#include "dapl/openib_cma/cma_ud.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/cm/base/dapl_addr.h"
#include "dapl/openib_cma/cma.h"

/*
 * The kernel asks up to 16 times, every 4.1 s. Those who may still ask again
 * are more than this only where very many ask at once; then the consumer hears
 * of one twice.
 */
#define GIVEN_US  (70 * 1000000ULL)
#define GIVEN_MAX 4096

/* In network order; what is not named is 0 and not looked at. */
struct request_block {
	uint8_t magic[4];
	uint32_t qpn;
	uint64_t attempt;
	uint8_t gid[16];
	uint32_t flow_label;
	uint16_t lid; /* InfiniBand */
	uint8_t sl;
	uint8_t rate; /* enum ibv_rate */
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t size; /* of the private data */
	uint8_t zero[5];
};

struct answer_block {
	uint8_t magic[4];
	uint8_t size;
	uint8_t zero[3];
};

_Static_assert(sizeof(struct request_block) == 48, "its layout");
_Static_assert(sizeof(struct answer_block) == 8, "its layout");
_Static_assert(sizeof(struct request_block) + CMA_PDATA_MAX <= CMA_UD_ROOM,
	       "its buffer");

/* The last byte is the version of what follows. */
static const uint8_t request_magic[4] = {'D', 'A', 'Q', 1};
static const uint8_t answer_magic[4] = {'D', 'A', 'A', 1};

/* What a consumer has answered. */
struct given {
	struct dapl_list link;
	uint64_t at_us;
	/* Whose it is. */
	uint64_t attempt;
	uint32_t peer_qpn;
	union ibv_gid gid;
	uint16_t lid;

	uint32_t qpn; /* 0: no */
	uint8_t size;
	/* The block, and private data. */
	uint8_t data[sizeof(struct answer_block) + CMA_PDATA_MAX];
};

void cma_ud_init(struct cma_ud *ud)
{
	dapl_list_init(&ud->given);
	ud->last = (uint64_t)dapl_cm_seed() << 32;
}

static bool is_own(const struct cma *cm, const struct ibv_gid_entry *entry)
{
	/* An address vector has 8 bits for the index. */
	if (entry->gid_index > UINT8_MAX)
		return false;
	if (!cm->base.dev->ethernet)
		return entry->gid_index == 0;
	return dapl_addr_is_gid(&cm->base.addr, entry->gid.raw);
}

/* RoCE v2, as the kernel prefers by default, unless there is only v1. */
void cma_ud_start(struct cma *cm)
{
	const struct vb_dev *dev = cm->base.dev;
	struct ibv_gid_entry *gid = NULL;
	struct cma_ud *ud = &cm->ud;
	int i, n;

	if (!dev->datagrams || !cm->base.ops->datagrams)
		return;
	n = vb_gid_table(dev, &gid);
	for (i = 0; i < n; i++) {
		if (!is_own(cm, &gid[i]))
			continue;
		ud->gid_index = (uint8_t)gid[i].gid_index;
		ud->listens = true;
		if (gid[i].gid_type == IBV_GID_TYPE_ROCE_V2)
			break;
	}
	free(gid);
	if (!ud->listens)
		dapl_log(DAPL_LOG_WARN,
			 "cm %p: %s port %u has no GID of this address, so "
			 "that datagram endpoints cannot be asked for",
			 (void *)cm, dev->name, dev->port);
}

static void drop(struct cma_ud *ud, struct given *g)
{
	dapl_list_del(&g->link);
	ud->n_given--;
	free(g);
}

void cma_ud_fini(struct cma_ud *ud)
{
	struct given *g, *tmp;

	dapl_list_for_each_safe(g, tmp, &ud->given, link)
		drop(ud, g);
}

size_t cma_ud_ask(struct cma *cm, const struct rdma_cm_id *id, uint32_t qpn,
		  const void *pdata, size_t size, uint8_t *buf)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;
	struct request_block b = {
		.qpn = htonl(qpn),
		.attempt = htobe64(
			__atomic_add_fetch(&cm->ud.last, 1, __ATOMIC_RELAXED)),
		.size = (uint8_t)size,
	};

	if (!path || id->route.num_paths < 1)
		return 0;
	memcpy(b.magic, request_magic, sizeof(b.magic));
	memcpy(b.gid, path->sgid.raw, sizeof(b.gid));
	if (!cm->base.dev->ethernet)
		b.lid = path->slid;
	b.flow_label = path->flow_label;
	b.sl = path->sl;
	b.rate = path->rate;
	b.hop_limit = path->hop_limit;
	b.traffic_class = path->traffic_class;
	memcpy(buf, &b, sizeof(b));
	if (size)
		memcpy(buf + sizeof(b), pdata, size);
	return sizeof(b) + size;
}

/* The way of B, backwards. */
static void way_back(const struct cma *cm, const struct request_block *b,
		     struct ibv_ah_attr *ret_av)
{
	const struct vb_dev *dev = cm->base.dev;

	memset(ret_av, 0, sizeof(*ret_av));
	ret_av->port_num = dev->port;
	ret_av->dlid = ntohs(b->lid);
	ret_av->sl = b->sl & 0xf;
	ret_av->static_rate = b->rate & 0x3f;
	/* As the kernel does for who asks. */
	if (!dev->ethernet && !b->hop_limit)
		return;
	ret_av->is_global = 1;
	memcpy(ret_av->grh.dgid.raw, b->gid, sizeof(b->gid));
	ret_av->grh.sgid_index = cm->ud.gid_index;
	ret_av->grh.flow_label = ntohl(b->flow_label) & 0xfffff;
	ret_av->grh.traffic_class = b->traffic_class;
	ret_av->grh.hop_limit = b->hop_limit;
}

const char *cma_ud_asked(const struct cma *cm, const struct sockaddr *addr,
			 const struct cma_event *ev,
			 struct cma_ud_peer *ret_peer,
			 const uint8_t **ret_pdata, size_t *ret_size)
{
	struct request_block b;

	if (ev->size < sizeof(b) ||
	    memcmp(ev->pdata, request_magic, sizeof(request_magic)) != 0)
		return "it does not say who asks";
	memcpy(&b, ev->pdata, sizeof(b));
	if (b.size > CMA_PDATA_MAX || b.size > ev->size - sizeof(b))
		return "more private data than fits";
	/* Nobody makes a search of ours for hosts that are not his. */
	if (cm->base.dev->ethernet &&
	    !dapl_addr_is_gid((const struct sockaddr_storage *)addr, b.gid))
		return "its GID is another's";
	way_back(cm, &b, &ret_peer->av);
	ret_peer->qpn = ntohl(b.qpn);
	ret_peer->attempt = be64toh(b.attempt);
	*ret_pdata = b.size ? ev->pdata + sizeof(b) : NULL;
	*ret_size = b.size;
	if (ret_peer->qpn < 2)
		return "its queue pair is the adapter's own";
	return dapl_cm_av_wrong(cm->base.dev, &ret_peer->av, ret_peer->qpn);
}

bool cma_ud_answered(const struct cma_event *ev, const uint8_t **ret_pdata,
		     size_t *ret_size)
{
	struct answer_block b;

	if (ev->size < sizeof(b) ||
	    memcmp(ev->pdata, answer_magic, sizeof(answer_magic)) != 0)
		return false;
	memcpy(&b, ev->pdata, sizeof(b));
	if (b.size > CMA_PDATA_MAX || b.size > ev->size - sizeof(b))
		return false;
	*ret_pdata = b.size ? ev->pdata + sizeof(b) : NULL;
	*ret_size = b.size;
	return true;
}

static int send_answer(struct rdma_cm_id *id, const struct given *g)
{
	struct rdma_conn_param param = {
		.private_data = g->data,
		.private_data_len = g->size,
		.qp_num = g->qpn,
	};
	int ret;

	if (g->qpn)
		ret = rdma_accept(id, &param);
	else
		ret = rdma_reject(id, g->data, g->size);
	return ret ? -errno : 0;
}

static void given_fill(struct given *g, const struct cma_ud_peer *peer,
		       uint32_t qpn, const void *pdata, size_t size)
{
	struct answer_block b = {.size = (uint8_t)size};

	memset(g, 0, sizeof(*g));
	g->at_us = dapl_now_us();
	g->attempt = peer->attempt;
	g->peer_qpn = peer->qpn;
	g->gid = peer->av.grh.dgid;
	g->lid = peer->av.dlid;
	g->qpn = qpn;
	g->size = (uint8_t)(sizeof(b) + size);
	memcpy(b.magic, answer_magic, sizeof(b.magic));
	memcpy(g->data, &b, sizeof(b));
	if (size)
		memcpy(g->data + sizeof(b), pdata, size);
}

static struct given *find_locked(const struct cma_ud *ud,
				 const struct cma_ud_peer *peer)
{
	struct given *g;

	dapl_list_for_each(g, &ud->given, link)
		if (g->attempt == peer->attempt && g->peer_qpn == peer->qpn &&
		    g->lid == peer->av.dlid &&
		    !memcmp(&g->gid, &peer->av.grh.dgid, sizeof(g->gid)))
			return g;
	return NULL;
}

static void keep(struct cma *cm, struct given *new)
{
	struct cma_ud *ud = &cm->ud;
	struct given *g, *tmp;

	dapl_lock(&cm->base.lock);
	dapl_list_for_each_safe(g, tmp, &ud->given, link) {
		if (ud->n_given < GIVEN_MAX &&
		    g->at_us + GIVEN_US >= new->at_us)
			break;
		drop(ud, g);
	}
	dapl_list_add_tail(&ud->given, &new->link);
	ud->n_given++;
	dapl_unlock(&cm->base.lock);
}

/* Kept first: a repeat may come as soon as it is sent. */
int cma_ud_answer(struct cma *cm, struct rdma_cm_id *id,
		  const struct cma_ud_peer *peer, uint32_t qpn,
		  const void *pdata, size_t size)
{
	struct given *kept = malloc(sizeof(*kept));
	struct given g;
	int ret;

	if (!kept)
		return -ENOMEM;
	given_fill(&g, peer, qpn, pdata, size);
	*kept = g;
	keep(cm, kept);
	ret = send_answer(id, &g);
	if (!ret)
		return 0;
	dapl_lock(&cm->base.lock);
	kept = find_locked(&cm->ud, peer);
	if (kept)
		drop(&cm->ud, kept);
	dapl_unlock(&cm->base.lock);
	return ret;
}

bool cma_ud_again(struct cma *cm, struct rdma_cm_id *id,
		  const struct cma_ud_peer *peer)
{
	const struct given *kept;
	struct given g;
	int ret;

	dapl_lock(&cm->base.lock);
	kept = find_locked(&cm->ud, peer);
	if (kept)
		g = *kept;
	dapl_unlock(&cm->base.lock);
	if (!kept)
		return false;
	ret = send_answer(id, &g);
	if (ret)
		dapl_log(DAPL_LOG_CM_WARN, "id %p: no answer once more: %s",
			 (void *)id, strerror(-ret));
	return true;
}
