/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_profile.c: a kind of device from a file that `dat_info --profile` wrote.
 * A line is a key and its value, or a GID; what follows "#" is for people. All
 * keys have to be there, once. What a profile does not tell (reads, datagrams,
 * what needs a peer) is as the first kinds have it.
 * Threads: any; nothing is shared. Ownership: fills what is the caller's.
 * Rule: dat_info(1), profiles; dat/info/info_profile.c.
 */
#include "fake_int.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "dat_info-profile 1"

/* What is no member of the configuration. */
struct loaded {
	struct fv_device_cfg cfg;
	int link_layer, rc_error, cq_error, max_mtu, active_mtu, ethernet_lid;
	char missing[64];
};

struct key {
	const char *name;
	size_t offset, size;
	long long min, max;
};

#define ROW(n, member, least, most)                                       \
	{                                                                 \
		n, offsetof(struct loaded, member),                       \
			sizeof(((struct loaded *)0)->member), least, most \
	}
#define LIMIT(member) ROW(#member, cfg.attr.member, 0, INT32_MAX)
#define ERROR(member) ROW(#member, cfg.member, -4095, 4095)
#define WAY(member)   ROW(#member, cfg.member, 0, 1)

static const struct key keys[] = {
	ROW("node_type", cfg.node_type, -1, IBV_NODE_UNSPECIFIED),
	ROW("transport_type", cfg.transport_type, -1,
	    IBV_TRANSPORT_UNSPECIFIED),
	ROW("vendor_id", cfg.attr.vendor_id, 0, UINT32_MAX),
	ROW("vendor_part_id", cfg.attr.vendor_part_id, 0, UINT32_MAX),
	ROW("max_mr_size", cfg.attr.max_mr_size, 0, 0),
	ROW("device_cap_flags", cfg.attr.device_cap_flags, 0, UINT32_MAX),
	ROW("atomic_cap", cfg.attr.atomic_cap, 0, IBV_ATOMIC_GLOB),
	LIMIT(max_qp),
	LIMIT(max_qp_wr),
	ROW("max_sge", cfg.attr.max_sge, 0, FV_SGE),
	ROW("max_sge_rd", cfg.attr.max_sge_rd, 0, FV_SGE),
	LIMIT(max_cq),
	LIMIT(max_cqe),
	LIMIT(max_mr),
	LIMIT(max_pd),
	LIMIT(max_mw),
	LIMIT(max_ah),
	LIMIT(max_qp_rd_atom),
	LIMIT(max_res_rd_atom),
	LIMIT(max_qp_init_rd_atom),
	LIMIT(max_srq),
	LIMIT(max_srq_wr),
	LIMIT(max_srq_sge),
	ROW("link_layer", link_layer, 0, IBV_LINK_LAYER_ETHERNET),
	ROW("max_mtu", max_mtu, IBV_MTU_256, IBV_MTU_4096),
	ROW("active_mtu", active_mtu, IBV_MTU_256, IBV_MTU_4096),
	ROW("max_msg_sz", cfg.port[0].attr.max_msg_sz, 0, UINT32_MAX),
	ROW("ethernet_lid", ethernet_lid, 0, UINT16_MAX),
	ROW("mw_1_error", cfg.mw_errors[0], -4095, 4095),
	ROW("mw_2_error", cfg.mw_errors[1], -4095, 4095),
	ERROR(srq_error),
	ERROR(srq_resize_error),
	ERROR(srq_limit_error),
	ROW("cq_error", cq_error, -4095, 4095),
	ROW("cqe_min", cfg.cqe_min, 0, INT32_MAX),
	ERROR(resize_error),
	ROW("rc_error", rc_error, -4095, 4095),
	ROW("max_inline", cfg.max_inline, 0, UINT16_MAX),
	WAY(queues_not_empty),
	WAY(round_up),
	WAY(recv_needs_segment),
	WAY(negative_errors),
	WAY(flushes_late),
	ROW("err_refuses_posts", cfg.err_refuses_posts, 0, 4095),
	WAY(err_recv_stays),
	WAY(err_is_final),
	WAY(err_send_stays),
	WAY(takes_cqes_along),
	WAY(dangling_cqes),
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* The members are of the byte order of this host. */
static void store(const struct key *k, struct loaded *l, long long value)
{
	char *at = (char *)l + k->offset;
	bool flag = value;
	uint16_t half = (uint16_t)value;
	uint32_t word = (uint32_t)value;

	if (k->size == sizeof(flag))
		memcpy(at, &flag, sizeof(flag));
	else if (k->size == sizeof(half))
		memcpy(at, &half, sizeof(half));
	else if (k->size == sizeof(word))
		memcpy(at, &word, sizeof(word));
	else
		memcpy(at, &value, sizeof(value));
}

/* NULL, or what is wrong. */
static const char *set_key(struct loaded *l, bool *seen, const char *name,
			   const char *text)
{
	long long value;
	char *end;
	size_t i = 0;

	while (i < KEYS && strcmp(keys[i].name, name) != 0)
		i++;
	if (i == KEYS)
		return "unknown key";
	if (seen[i])
		return "a second time";
	seen[i] = true;
	errno = 0;
	/* the one that takes all of 64 bits has no sign */
	value = keys[i].size == sizeof(uint64_t)
			? (long long)strtoull(text, &end, 10)
			: strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return "not a number";
	if (keys[i].size != sizeof(uint64_t) &&
	    (value < keys[i].min || value > keys[i].max))
		return "out of range";
	store(&keys[i], l, value);
	return NULL;
}

/* An address of that form which is the fake's own. */
static bool own_gid(union ibv_gid *gid, const char *form, const char *addr,
		    const union ibv_gid *link_local)
{
	struct in_addr in;

	if (!strcmp(form, "ipv4") && inet_pton(AF_INET, addr, &in) == 1) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &in, 4);
		return true;
	}
	*gid = *link_local;
	if (!strcmp(form, "other"))
		gid->raw[0] = 0xfd;
	return !strcmp(form, "other") || !strcmp(form, "link-local");
}

static const char *set_gid(struct fv_port_cfg *p, const char *index,
			   const char *type, const char *form, const char *addr,
			   const union ibv_gid *link_local)
{
	char *end;
	unsigned long i = strtoul(index, &end, 10);

	if (end == index || *end || i >= FV_GIDS)
		return "no index of a GID";
	if (p->gid[i].raw[0] || p->gid[i].raw[10])
		return "a second time";
	if (!strcmp(type, "ib"))
		p->gid_type[i] = IBV_GID_TYPE_IB;
	else if (!strcmp(type, "v1"))
		p->gid_type[i] = IBV_GID_TYPE_ROCE_V1;
	else if (!strcmp(type, "v2"))
		p->gid_type[i] = IBV_GID_TYPE_ROCE_V2;
	else
		return "no type of a GID";
	if (!own_gid(&p->gid[i], form, addr, link_local))
		return "no form of a GID";
	if ((int)i >= p->attr.gid_tbl_len)
		p->attr.gid_tbl_len = (int)i + 1;
	return NULL;
}

/* The lines behind the first; NULL, or what is wrong with line *LINE. */
static const char *load(FILE *f, struct loaded *l, int *line)
{
	bool seen[KEYS] = {false};
	struct fv_port_cfg *p = &l->cfg.port[0];
	union ibv_gid link_local = p->gid[0];
	char text[256], w[5][64];
	const char *wrong = NULL;

	memset(p->gid, 0, sizeof(p->gid));
	p->attr.gid_tbl_len = 1;
	while (!wrong && fgets(text, sizeof(text), f)) {
		int n;

		++*line;
		if (!strchr(text, '\n'))
			return "is cut off";
		text[strcspn(text, "#\n")] = '\0';
		n = sscanf(text, "%63s %63s %63s %63s %63s", w[0], w[1], w[2],
			   w[3], w[4]);
		if (n == 4 && !strcmp(w[0], "gid"))
			wrong = set_gid(p, w[1], w[2], w[3], p->addr[0],
					&link_local);
		else if (n == 2)
			wrong = set_key(l, seen, w[0], w[1]);
		else if (n > 0)
			wrong = "not a key and a value";
	}
	for (size_t i = 0; !wrong && i < KEYS; i++)
		if (!seen[i]) {
			snprintf(l->missing, sizeof(l->missing), "has no %s",
				 keys[i].name);
			wrong = l->missing;
		}
	return wrong;
}

/* What follows from what was read. */
static void conclude(struct loaded *l)
{
	struct fv_device_cfg *c = &l->cfg;
	struct ibv_port_attr *p = &c->port[0].attr;

	p->link_layer = (uint8_t)l->link_layer;
	p->max_mtu = (enum ibv_mtu)l->max_mtu;
	p->active_mtu = (enum ibv_mtu)l->active_mtu;
	if (l->link_layer == IBV_LINK_LAYER_ETHERNET) {
		p->lid = (uint16_t)l->ethernet_lid;
		p->sm_lid = 0;
	}
	c->read_sink_rw = c->node_type == IBV_NODE_RNIC;
	c->no_rc = l->rc_error && !l->cq_error;
	c->cq_needs_allocator = l->cq_error;
	c->read_sge = c->attr.max_sge_rd;
}

bool fv_device_cfg_load(struct fv_device_cfg *cfg, const char *path,
			const char *name, const char *addr)
{
	struct loaded *l = fv__zalloc(sizeof(*l));
	const char *wrong = NULL;
	char text[64] = "";
	FILE *f = fopen(path, "r");
	int line = 1;

	if (!f)
		wrong = strerror(errno);
	else if (!fgets(text, sizeof(text), f) || strcmp(text, MAGIC "\n") != 0)
		wrong = "does not begin with " MAGIC;
	if (!wrong) {
		fv_device_cfg_init(&l->cfg, FV_IB, name, addr);
		wrong = load(f, l, &line);
	}
	if (!wrong) {
		conclude(l);
		*cfg = l->cfg;
	} else {
		fprintf(stderr, "%s:%d: %s\n", path, line, wrong);
	}
	if (f)
		fclose(f);
	free(l);
	return !wrong;
}
