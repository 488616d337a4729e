/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_path.c - tests of the paths of SCM and UCM on the fake device.
 *
 * Calls covered: everything in dcm_path.h. Queue pairs are the test's own.
 * Rules: attributes of the historic providers, doc/dapl-env.7.
 */
#include "dapl/common/cm/dcm/dcm_path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"
#include "test/unit/case.h"
#include "test/unit/fake/fake_verbs.h"

#define MASK_RTR "mask 0x129181"
#define MASK_RTS "mask 0x12e01"

#define V1 IBV_GID_TYPE_ROCE_V1
#define V2 IBV_GID_TYPE_ROCE_V2

struct dapl_ep {
	struct ibv_qp *qp;
};

static const struct dcm_path_wish no_wish = {.gid_index = -1};
static struct dcm_path_params params;
static struct vb_dev dev;
static struct dapl_cm cm;
static struct dcm_path path;
static struct fv_port_cfg *port; /* of the device that is open */

/* -------------------------------------------------- stubs */

static bool no_memory;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

/* ----------------------------------------------- fixtures */

static int device(enum fv_kind kind)
{
	struct fv_device_cfg cfg;

	fv_reset();
	fv_device_cfg_init(&cfg, kind, "fake0", "10.0.0.1");
	cfg.port[0].attr.gid_tbl_len = FV_GIDS;
	fv_device_add(&cfg);
	if (vb_open("fake0", 1, &dev))
		return -1;
	port = &fv_device_cfg_get(dev.ctx->device)->port[0];
	dapl_params_read(&dcm_path_param_table, &params, NULL);
	memset(&cm, 0, sizeof(cm));
	cm.params = &params;
	cm.dev = &dev;
	cm.port = 1;
	return 0;
}

static int ib(void **state)
{
	return device(FV_IB);
}

static int roce(void **state)
{
	return device(FV_ROCE);
}

static int iwarp(void **state)
{
	return device(FV_IWARP);
}

/* Two queue pairs of the one port, in INIT. */
static struct {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct dapl_ep ep[2];
	struct dcm_path_ends ends[2];
	struct dapl_cm_depths depths;
} pair;

static void pair_close(void)
{
	for (int i = 0; i < 2; i++)
		vb_qp_destroy(pair.ep[i].qp);
	vb_cq_destroy(pair.cq);
	vb_pd_destroy(pair.pd);
	pair.pd = NULL;
}

static int teardown(void **state)
{
	if (pair.pd)
		pair_close();
	dcm_path_fini(&path);
	fv_fail_at(0, 0);
	vb_close(&dev);
	return fv_nothing_left(state);
}

#define ON_ROW(name, kind) CASE_ROW(name, "." #kind, kind, teardown, NULL)
#define ON(kind, name)	   CASE_OF(name, void *no_state, ON_ROW(name, kind))
#define ON_BOTH(name) \
	CASE_OF(name, void *no_state, ON_ROW(name, ib), ON_ROW(name, roce))

static void open_as(const struct dcm_path_wish *wish)
{
	dcm_path_fini(&path);
	assert_int_equal(dcm_path_init(&path, &cm, wish), 0);
}

static void open_path(void)
{
	open_as(&no_wish);
}

/* WHAT must be part of the reason. */
static void assert_no_path(const struct dcm_path_wish *wish, const char *what)
{
	int ret;

	dcm_path_fini(&path);
	dapl_fail_errno(0, "%s", "");
	ret = dcm_path_init(&path, &cm, wish);
	assert_int_equal(ret, -EADDRNOTAVAIL);
	assert_null(path.gid);
	if (!strstr(dapl__fail_text(), what))
		fail_msg("no \"%s\" in \"%s\"", what, dapl__fail_text());
}

static void gid_of(const char *text, uint8_t *ret_raw)
{
	assert_int_equal(inet_pton(AF_INET6, text, ret_raw), 1);
}

struct entry {
	int index;
	enum ibv_gid_type type;
	const char *gid; /* NULL ends a table */
};

static void fill_table(const struct entry *table)
{
	memset(port->gid, 0, sizeof(port->gid));
	for (; table->gid; table++) {
		gid_of(table->gid, port->gid[table->index].raw);
		port->gid_type[table->index] = table->type;
	}
}

static void open_with(const struct entry *table)
{
	fill_table(table);
	open_path();
}

/* Index of our end for a peer with that GID (NULL: not known yet). */
static int own_index(const char *peer)
{
	struct dcm_path_ends ends;
	uint8_t raw[16];

	if (peer)
		gid_of(peer, raw);
	dcm_path_own(&path, 0x123, peer ? raw : NULL, &ends);
	assert_memory_equal(ends.own.gid, port->gid[ends.own_index].raw, 16);
	return ends.own_index;
}

/* ---------------------------------------------------- MTU */

ON(ib, mtu__limit_of_the_environment)
{
	static const struct {
		enum ibv_mtu active;
		int bytes;
		uint8_t mtu;
	} rows[] = {
		{IBV_MTU_4096, -1, IBV_MTU_4096},
		{IBV_MTU_256, -1, IBV_MTU_256},
		{IBV_MTU_4096, 256, IBV_MTU_256},
		{IBV_MTU_4096, 512, IBV_MTU_512},
		{IBV_MTU_4096, 4096, IBV_MTU_4096},
		{IBV_MTU_1024, 4096, IBV_MTU_1024},
		{IBV_MTU_4096, 777, IBV_MTU_1024},
		{IBV_MTU_4096, 1, IBV_MTU_1024},
		{IBV_MTU_4096, 128, IBV_MTU_1024},
		{IBV_MTU_4096, 8192, IBV_MTU_1024},
		{IBV_MTU_512, 777, IBV_MTU_512},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		dev.port_attr.active_mtu = rows[i].active;
		params.mtu = rows[i].bytes;
		open_path();
		assert_int_equal(path.mtu, rows[i].mtu);
	}
}

ON(ib, mtu__the_lesser_of_both)
{
	for (uint8_t own = IBV_MTU_256; own <= IBV_MTU_4096; own++) {
		dev.port_attr.active_mtu = own;
		open_path();
		for (int offer = 1; offer <= UINT8_MAX; offer++)
			assert_int_equal(dcm_path_mtu(&path, (uint8_t)offer),
					 offer < own ? offer : own);
	}
}

ON(ib, mtu__peer_that_does_not_say)
{
	dev.port_attr.active_mtu = IBV_MTU_4096;
	open_path();
	assert_int_equal(dcm_path_mtu(&path, 0), IBV_MTU_2048);
	params.mtu = 4096;
	open_path();
	assert_int_equal(dcm_path_mtu(&path, 0), IBV_MTU_4096);
	params.mtu = 512;
	open_path();
	assert_int_equal(dcm_path_mtu(&path, 0), IBV_MTU_512);
	params.mtu = -1;
	dev.port_attr.active_mtu = IBV_MTU_1024;
	open_path();
	assert_int_equal(dcm_path_mtu(&path, 0), IBV_MTU_1024);
}

/* ------------------------------------------ GIDs on RoCE */

ON(roce, gid__best_first)
{
	static const struct {
		struct entry table[5];
		int best;
	} rows[] = {
		{{{0, V1, "fe80::1"},
		  {1, V2, "fe80::1"},
		  {2, V1, "::ffff:10.0.0.1"},
		  {3, V2, "::ffff:10.0.0.1"}},
		 3},
		{{{0, V2, "fe80::1"},
		  {1, V2, "fd00::1"},
		  {2, V2, "2001:db8::1"},
		  {5, V2, "::ffff:10.0.0.1"}},
		 5},
		{{{0, V2, "fe80::1"},
		  {1, V1, "::ffff:10.0.0.1"},
		  {2, V2, "fd00::1"},
		  {3, V2, "2001:db8::1"}},
		 2},
		{{{0, V1, "fe80::1"}, {1, V2, "fe80::1"}}, 1},
		{{{2, V1, "fe80::1"}, {4, V1, "::ffff:10.0.0.1"}}, 2},
		{{{7, V2, "::ffff:10.0.0.7"}, {6, V2, "::ffff:10.0.0.6"}}, 6},
		/* not link-local, though it begins alike */
		{{{0, V2, "fe80::1"}, {1, V2, "fec0::1"}}, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		open_with(rows[i].table);
		assert_int_equal(own_index(NULL), rows[i].best);
	}
}

ON(roce, gid__address_of_the_adapter_first)
{
	static const struct entry table[] = {
		{0, V2, "::ffff:10.0.0.1"},
		{1, V1, "::ffff:10.9.0.1"},
		{2, V2, "::ffff:10.9.0.1"},
		{3, V2, "fd00::1"},
		{0, V1, NULL},
	};
	struct sockaddr_in *in = (struct sockaddr_in *)&cm.addr;

	fill_table(table);
	in->sin_family = AF_INET;
	inet_pton(AF_INET, "10.9.0.1", &in->sin_addr);
	open_path();
	assert_int_equal(own_index(NULL), 2);
	/* of another network card */
	inet_pton(AF_INET, "192.0.2.1", &in->sin_addr);
	open_path();
	assert_int_equal(own_index(NULL), 0);
	/* the same bytes, where UCM has a queue pair number */
	inet_pton(AF_INET, "10.9.0.1", &in->sin_addr);
	in->sin_family = AF_INET6;
	open_path();
	assert_int_equal(own_index(NULL), 0);
}

ON(roce, gid__none)
{
	memset(port->gid, 0, sizeof(port->gid));
	assert_no_path(&no_wish, "has no GID");
}

ON(roce, gid__wish)
{
	struct dcm_path_wish wish = {.gid_index = 1};

	params.gid_index = 2;
	open_path();
	assert_int_equal(own_index(NULL), 2);
	open_as(&wish);
	assert_int_equal(own_index(NULL), 1);
	/* It holds for whatever peer. */
	assert_int_equal(own_index("::ffff:10.0.0.2"), 1);
}

ON(roce, gid__wish_not_there)
{
	struct dcm_path_wish wish = {.gid_index = 4}; /* null */

	assert_no_path(&wish, "index 4, which ia_params asks");
	wish.gid_index = FV_GIDS;
	assert_no_path(&wish, "index 260, which ia_params asks");
	params.gid_index = 5;
	assert_no_path(&no_wish, "index 5, which DAPL_GID_INDEX asks");
	wish.gid_index = 3;
	assert_int_equal(dcm_path_init(&path, &cm, &wish), 0);
}

/* Devices have longer tables than queue pairs can name entries of. */
ON(roce, gid__index_beyond_8_bits)
{
	static const struct entry table[] = {{255, V2, "fe80::1"},
					     {256, V2, "::ffff:10.0.0.1"},
					     {0, V1, NULL}};
	struct dcm_path_wish wish = {.gid_index = 256};

	open_with(table);
	assert_int_equal(own_index(NULL), 255);
	assert_int_equal(own_index("::ffff:10.0.0.2"), 255);
	assert_no_path(&wish, "index 256, which ia_params asks");
}

/* An address was taken away and has come back, behind others. */
ON(roce, renew__finds_them_where_they_are)
{
	static const struct entry before[] = {
		{0, IBV_GID_TYPE_ROCE_V2, "fe80::1"},
		{1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1"},
		{0, IBV_GID_TYPE_ROCE_V2, NULL},
	};
	static const struct entry after[] = {
		{0, IBV_GID_TYPE_ROCE_V2, "fe80::1"},
		{1, IBV_GID_TYPE_ROCE_V2, "2001:db8::1"},
		{3, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1"},
		{0, IBV_GID_TYPE_ROCE_V2, NULL},
	};
	static const struct entry nothing[] = {{0, 0, NULL}};

	open_with(before);
	assert_int_equal(own_index(NULL), 1);
	fill_table(after);
	dcm_path_renew(&path);
	assert_int_equal(own_index(NULL), 3);
	assert_int_equal(own_index("::ffff:10.0.0.2"), 3);
	assert_int_equal(own_index("2001:db8::2"), 1);
	/* It will come back. */
	fill_table(nothing);
	dcm_path_renew(&path);
	fill_table(after);
	assert_int_equal(own_index(NULL), 3);
	fill_table(before);
	dcm_path_renew(&path);
	assert_int_equal(own_index(NULL), 1);
	fv_fail_at(1, ENOMEM);
	dcm_path_renew(&path);
	assert_int_equal(own_index(NULL), 1);
}

ON(roce, own__of_the_peers_kind)
{
	static const struct entry table[] = {
		{0, V1, "fe80::1"},
		{1, V2, "fe80::1"},
		{2, V1, "::ffff:10.0.0.1"},
		{3, V2, "::ffff:10.0.0.1"},
		{4, V1, "fd00::1"},
		{5, V2, "fd00::1"},
		{0, V1, NULL},
	};

	open_with(table);
	assert_int_equal(own_index("::ffff:172.16.0.1"), 3);
	assert_int_equal(own_index("fd99::2"), 5);
	assert_int_equal(own_index("2001:db8::2"), 5);
	assert_int_equal(own_index("::"), 5);
	/* The peer knows no other than index 0. */
	assert_int_equal(own_index("fe80::2"), 0);
}

ON(roce, own__nearest_network)
{
	static const struct entry table[] = {
		{0, V2, "fe80::1"},
		{1, V2, "::ffff:10.0.0.1"},
		{2, V2, "::ffff:10.1.0.1"},
		{3, V1, "::ffff:10.1.0.1"},
		{4, V2, "2001:db8:1::1"},
		{5, V2, "2001:db8:2::1"},
		{0, V1, NULL},
	};

	open_with(table);
	assert_int_equal(own_index(NULL), 1);
	assert_int_equal(own_index("::ffff:10.0.0.9"), 1);
	assert_int_equal(own_index("::ffff:10.1.0.9"), 2);
	assert_int_equal(own_index("::ffff:10.1.0.1"), 2);
	assert_int_equal(own_index("::ffff:192.168.0.9"), 1);
	assert_int_equal(own_index("2001:db8:2::9"), 5);
	assert_int_equal(own_index("2001:db8:1::9"), 4);
}

ON(roce, own__link_local_only)
{
	static const struct entry table[] = {
		{0, V1, "fe80::1"}, {1, V2, "fe80::1"}, {0, V1, NULL}};

	open_with(table);
	/* Two new peers without addresses agree on RoCE v2. */
	assert_int_equal(own_index("fe80::2"), 1);
	assert_int_equal(own_index("::ffff:10.0.0.2"), 1);
}

/* ------------------------------------- a peer that may be an old one */

static const struct entry two_kinds[] = {
	{0, V1, "fe80::1"},
	{1, V2, "fe80::1"},
	{2, V1, "::ffff:10.0.0.1"},
	{3, V2, "::ffff:10.0.0.1"},
	{0, V1, NULL},
};

ON(roce, offer__best_beside_index_0)
{
	static const struct dcm_block none;
	struct dcm_path_ends ends;
	struct dcm_block block;
	struct dcm_ib alt;
	uint8_t raw[16];

	open_with(two_kinds);
	dcm_path_offer(&path, 0x123, &ends, &block);
	assert_int_equal(ends.own_index, 0);
	assert_int_equal(ends.own.family, 0);
	dcm_block_get_ib(&block, &alt);
	assert_int_equal(alt.family, AF_INET6);
	assert_int_equal(alt.qpn, 0x123);
	assert_int_equal(alt.qp_type, DCM_QP_RC);
	assert_memory_equal(alt.gid, port->gid[3].raw, 16);
	/* The peer's answer tells which it took. */
	gid_of("fe80::2", raw);
	dcm_path_offered(&path, 0x123, raw, &ends);
	assert_int_equal(ends.own_index, 0);
	gid_of("::ffff:10.0.0.2", raw);
	dcm_path_offered(&path, 0x123, raw, &ends);
	assert_int_equal(ends.own_index, 3);
	/* Who asks for an index has chosen. */
	open_as(&(struct dcm_path_wish){.gid_index = 1});
	dcm_path_offer(&path, 0x123, &ends, &block);
	assert_int_equal(ends.own_index, 1);
	assert_memory_equal(&block, &none, sizeof(none));
}

ON(roce, offer__one_kind_only)
{
	static const struct dcm_block none;
	static const struct entry table[] = {
		{0, V1, "fe80::1"},
		{1, V2, "fe80::1"},
		{0, V1, NULL},
	};
	struct dcm_path_ends ends;
	struct dcm_block block;
	uint8_t raw[16];

	open_with(table);
	dcm_path_offer(&path, 0x123, &ends, &block);
	assert_int_equal(ends.own_index, 0);
	assert_memory_equal(&block, &none, sizeof(none));
	gid_of("::ffff:10.0.0.2", raw);
	dcm_path_offered(&path, 0x123, raw, &ends);
	assert_int_equal(ends.own_index, 0);
}

/* Our index, and that the peer's end is the one with GID. */
static int meet(const struct dcm_ib *saddr, const struct dcm_ib *alt,
		const char *gid)
{
	struct dcm_path_ends ends;
	struct dcm_block block;
	uint8_t raw[16];

	dcm_block_set_ib(&block, alt);
	dcm_path_meet(&path, 0x123, saddr, &block, &ends);
	gid_of(gid, raw);
	assert_memory_equal(ends.peer.gid, raw, 16);
	assert_int_equal(ends.peer.qpn, saddr->qpn);
	assert_memory_equal(ends.own.gid, port->gid[ends.own_index].raw, 16);
	return ends.own_index;
}

ON(roce, meet__takes_the_offer)
{
	struct dcm_ib saddr = {.qpn = 7, .qp_type = DCM_QP_RC};
	struct dcm_ib alt = saddr, bad;

	open_with(two_kinds);
	gid_of("fe80::2", saddr.gid);
	gid_of("::ffff:10.0.0.2", alt.gid);
	alt.family = AF_INET6;
	assert_int_equal(meet(&saddr, &alt, "::ffff:10.0.0.2"), 3);
	/* What is not marked as one, old peers left there. */
	bad = alt;
	bad.family = 0;
	assert_int_equal(meet(&saddr, &bad, "fe80::2"), 0);
	bad = alt;
	bad.qpn++;
	assert_int_equal(meet(&saddr, &bad, "fe80::2"), 0);
	bad = alt;
	bad.qp_type = DCM_QP_UD;
	assert_int_equal(meet(&saddr, &bad, "fe80::2"), 0);
	/* A kind that this side has not got. */
	gid_of("fd00::2", alt.gid);
	assert_int_equal(meet(&saddr, &alt, "fe80::2"), 0);
}

ON(ib, own__what_the_message_says)
{
	struct dcm_path_ends ends;

	memset(&ends, 0x5a, sizeof(ends));
	dev.port_attr.lid = 0x1234;
	params.sl = 3;
	open_path();
	dcm_path_own(&path, 0xabcdef, NULL, &ends);
	assert_int_equal(ends.own.family, 0);
	assert_int_equal(ends.own.lid, 0x1234);
	assert_int_equal(ends.own.qpn, 0xabcdef);
	assert_int_equal(ends.own.sl, 3);
	assert_int_equal(ends.own.qp_type, DCM_QP_RC);
}

/* -------------------------------- GIDs on other devices */

ON(ib, gid__infiniband_takes_index_0)
{
	struct dcm_path_wish wish = {.gid_index = 1};

	fill_table((const struct entry[]){{0, IBV_GID_TYPE_IB, "fe80::1"},
					  {1, IBV_GID_TYPE_IB, "fec0::1"},
					  {0, V1, NULL}});
	open_path();
	assert_int_equal(own_index(NULL), 0);
	assert_int_equal(own_index("fec0::2"), 0);
	open_as(&wish);
	assert_int_equal(own_index("fe80::2"), 1);
	wish.gid_index = 2;
	assert_no_path(&wish, "index 2, which ia_params asks");
	memset(&port->gid[0], 0, sizeof(port->gid[0]));
	assert_no_path(&no_wish, "index 0, which InfiniBand asks");
}

ON(iwarp, init__refuses_iwarp)
{
	assert_no_path(&no_wish, "iWARP");
}

ON_BOTH(init__nth_call_fails)
{
	for (unsigned n = 1;; n++) {
		assert_in_range(n, 1, 10);
		fv_fail_at(n, EIO);
		if (dcm_path_init(&path, &cm, &no_wish) == 0)
			break;
		assert_true(fv_fail_hit());
		assert_non_null(strstr(dapl__fail_text(), "cannot read"));
		assert_null(path.gid);
		assert_int_equal(path.n, 0);
	}
	assert_false(fv_fail_hit());
	fv_fail_at(0, 0);
	dcm_path_fini(&path);
	no_memory = true;
	assert_int_equal(dcm_path_init(&path, &cm, &no_wish), -ENOMEM);
	no_memory = false;
	assert_null(path.gid);
}

/* ------------------------------------------------- depths */

ON(ib, depths__lowered_to_the_peers)
{
	struct dapl_cm_depths d = {.responder_resources = 8,
				   .initiator_depth = 8};

	dcm_path_agree(&d, 6, 1); /* that version had no such field */
	assert_int_equal(d.initiator_depth, 8);
	dcm_path_agree(&d, 7, UINT8_MAX);
	assert_int_equal(d.initiator_depth, 8);
	dcm_path_agree(&d, 7, 3);
	assert_int_equal(d.initiator_depth, 3);
	dcm_path_agree(&d, 9, 0);
	assert_int_equal(d.initiator_depth, 0);
	assert_int_equal(d.responder_resources, 8);
}

/* --------------------------------------------- queue pair */

static void pair_open(void)
{
	struct vb_qp_cfg cfg = {.type = IBV_QPT_RC,
				.max_send_wr = 2,
				.max_recv_wr = 2,
				.max_send_sge = 1,
				.max_recv_sge = 1};
	uint32_t granted;

	open_path();
	assert_int_equal(vb_pd_create(&dev, &pair.pd), 0);
	assert_int_equal(vb_cq_create(&dev, 16, NULL, NULL, &pair.cq), 0);
	cfg.send_cq = cfg.recv_cq = pair.cq;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			vb_qp_create(pair.pd, &cfg, &pair.ep[i].qp, &granted),
			0);
		assert_int_equal(vb_qp_init(&dev, pair.ep[i].qp, 0, 0), 0);
		dcm_path_own(&path, pair.ep[i].qp->qp_num, NULL, &pair.ends[i]);
	}
	for (int i = 0; i < 2; i++) {
		pair.ends[i].peer = pair.ends[!i].own;
		pair.ends[i].mtu = path.mtu;
	}
	pair.depths = (struct dapl_cm_depths){.responder_resources = 4,
					      .initiator_depth = 3};
}

static int connect_end(int i)
{
	struct vb_qp_step step[DAPL_CM_WAY_STEPS];
	int ret = dcm_path_steps(&path, &pair.ends[i], &pair.depths, step);

	for (int k = 0; k < DAPL_CM_WAY_STEPS && !ret; k++)
		ret = vb_qp_modify(pair.ep[i].qp, &step[k].attr, step[k].mask);
	return ret;
}

static struct ibv_qp_attr attr_of(const struct dapl_ep *ep)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr;
}

/* Of the first end, as it is connected. */
static struct ibv_qp_attr connected_attr(void)
{
	pair_open();
	assert_int_equal(connect_end(0), 0);
	return attr_of(&pair.ep[0]);
}

/* An empty message from the one to the other. */
static void transfer(int from)
{
	struct ibv_recv_wr recv = {.wr_id = 7}, *bad_recv;
	struct ibv_send_wr send = {.wr_id = 8,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;
	struct ibv_wc wc[2];

	assert_int_equal(ibv_post_recv(pair.ep[!from].qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(pair.ep[from].qp, &send, &bad_send), 0);
	assert_int_equal(ibv_poll_cq(pair.cq, 2, wc), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[0].wr_id + wc[1].wr_id, 15);
}

static void connect_and_transfer(void)
{
	pair_open();
	assert_int_equal(connect_end(1), 0);
	assert_int_equal(connect_end(0), 0);
	transfer(0);
	transfer(1);
	pair_close();
}

ON_BOTH(connect__data_goes_both_ways)
{
	connect_and_transfer();
	params.global_routing = 1; /* no difference on Ethernet */
	connect_and_transfer();
}

ON(ib, connect__lid_route_without_grh)
{
	struct ibv_qp_attr attr;
	dev.port_attr.lid = 0x77;
	attr = connected_attr();
	assert_int_equal(attr.ah_attr.is_global, 0);
	assert_int_equal(attr.ah_attr.dlid, 0x77);
	assert_int_equal(attr.ah_attr.port_num, 1);
}

ON(ib, connect__grh_on_infiniband_by_request)
{
	struct ibv_qp_attr attr;
	params.global_routing = 1;
	attr = connected_attr();
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.dlid, port->attr.lid);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 0);
	assert_memory_equal(&attr.ah_attr.grh.dgid, &port->gid[0], 16);
}

ON(roce, connect__default_attributes)
{
	struct ibv_qp_attr attr;
	pair_open();
	fv_trace(true);
	assert_int_equal(connect_end(0), 0);
	assert_non_null(strstr(fv_trace_get(), MASK_RTR));
	assert_non_null(strstr(fv_trace_get(), MASK_RTS));
	fv_trace(false);
	attr = attr_of(&pair.ep[0]);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, pair.ep[1].qp->qp_num);
	assert_int_equal(attr.rq_psn, 1);
	assert_int_equal(attr.sq_psn, 1);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	assert_int_equal(attr.max_rd_atomic, 3);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_int_equal(attr.timeout, 20);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.sl, 0);
	assert_int_equal(attr.ah_attr.src_path_bits, 0);
	assert_int_equal(attr.ah_attr.static_rate, 0);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 3);
	assert_memory_equal(&attr.ah_attr.grh.dgid, &port->gid[3], 16);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 64);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 0);
	assert_int_equal(attr.ah_attr.grh.flow_label, 0);
}

ON(roce, connect__attributes_of_the_environment)
{
	struct ibv_qp_attr attr;
	params.sl = 5;
	params.tclass = 0xa0;
	params.hop_limit = 2;
	params.rnr_timer = 31;
	params.ack_timer = 18;
	params.ack_retry = 1;
	params.rnr_retry = 0;
	attr = connected_attr();
	assert_int_equal(attr.ah_attr.sl, 5);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 0xa0);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 2);
	assert_int_equal(attr.min_rnr_timer, 31);
	assert_int_equal(attr.timeout, 18);
	assert_int_equal(attr.retry_cnt, 1);
	assert_int_equal(attr.rnr_retry, 0);
}

ON(roce, connect__timeout_covers_the_ack_delay)
{
	dev.attr.local_ca_ack_delay = 15;
	params.ack_timer = 10;
	assert_int_equal(connected_attr().timeout, 15);
}

static void assert_peer_refused(void)
{
	fv_trace(true);
	assert_int_equal(connect_end(0), -EINVAL);
	assert_null(strstr(fv_trace_get(), "ibv_modify_qp"));
	fv_trace(false);
	assert_int_equal(fv_qp_state(pair.ep[0].qp), IBV_QPS_INIT);
}

ON(roce, connect__hostile_peer)
{
	pair_open();
	pair.ends[0].peer.qpn = 0x1000000;
	assert_peer_refused();
	pair.ends[0].peer.qpn = 5;
	memset(pair.ends[0].peer.gid, 0, 16);
	assert_peer_refused();
	gid_of("ff02::1", pair.ends[0].peer.gid);
	assert_peer_refused();
}

ON(ib, connect__hostile_peer_on_infiniband)
{
	pair_open();
	memset(pair.ends[0].peer.gid, 0, 16); /* not used */
	pair.ends[0].peer.lid = 0;
	assert_peer_refused();
	pair.ends[0].peer.lid = 0xc000;
	assert_peer_refused();
	pair.ends[0].peer.lid = 0xffff;
	assert_peer_refused();
	pair.ends[0].peer.lid = 1;
	assert_int_equal(connect_end(0), 0);
}

/* As kernels do: they look the peer up through IP. */
ON(roce, connect__ipv4_and_ipv6_do_not_mix)
{
	pair_open();
	gid_of("fe80::2", pair.ends[0].peer.gid);
	assert_int_equal(connect_end(0), -EINVAL);
	dcm_path_own(&path, pair.ep[0].qp->qp_num, pair.ends[0].peer.gid,
		     &pair.ends[0]);
	assert_int_equal(connect_end(0), 0);
}

ON_BOTH(connect__nth_call_fails)
{
	static const enum ibv_qp_state left[] = {IBV_QPS_INIT, IBV_QPS_RTR};
	open_path();
	for (unsigned n = 1;; n++) {
		assert_in_range(n, 1, 3);
		pair_open();
		fv_fail_at(n, ENOMEM);
		if (!connect_end(0))
			break;
		assert_true(fv_fail_hit());
		fv_fail_at(0, 0);
		assert_int_equal(fv_qp_state(pair.ep[0].qp), left[n - 1]);
		pair_close();
	}
	assert_false(fv_fail_hit());
}

RUN_CASES(NULL, NULL)
