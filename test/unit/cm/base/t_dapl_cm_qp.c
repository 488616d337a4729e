/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_cm_qp.c - tests of depths of reads and of the steps of a queue pair.
 *
 * Calls covered: everything in dapl_cm_qp.h. That a device takes the steps is
 * t_dcm_path's.
 */
#include "dapl/common/cm/base/dapl_cm_qp.h"
#include "test/unit/case.h"

CASE(depths__of_endpoint_and_device)
{
	struct dapl_cm_qp qp = {.responder_resources = 4, .initiator_depth = 5};
	struct vb_dev dev = {
		.attr = {.max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16}};
	struct dapl_cm_depths d;

	d = dapl_cm_depths_own(&dev, &qp);
	assert_int_equal(d.responder_resources, 4);
	assert_int_equal(d.initiator_depth, 5);
	dev.attr.max_qp_rd_atom = 3;
	dev.attr.max_qp_init_rd_atom = 2;
	d = dapl_cm_depths_own(&dev, &qp);
	assert_int_equal(d.responder_resources, 3);
	assert_int_equal(d.initiator_depth, 2);
	qp.responder_resources = qp.initiator_depth = UINT8_MAX;
	dev.attr.max_qp_rd_atom = 1000;
	dev.attr.max_qp_init_rd_atom = -1;
	d = dapl_cm_depths_own(&dev, &qp);
	assert_int_equal(d.responder_resources, UINT8_MAX);
	assert_int_equal(d.initiator_depth, 0);
}

CASE(steps__as_the_way_says)
{
	const struct dapl_cm_way way = {
		.av = {.dlid = 7, .port_num = 2},
		.qpn = 0x123456,
		.mtu = IBV_MTU_2048,
		.ack_timer = 20,
		.ack_retry = 6,
		.rnr_timer = 12,
		.rnr_retry = 5,
	};
	struct vb_qp_step s[DAPL_CM_WAY_STEPS];
	struct vb_dev dev = {.attr = {.local_ca_ack_delay = 15}};

	dapl_cm_way_steps(&dev, &way, (struct dapl_cm_depths){3, 4}, s);
	assert_int_equal(s[0].attr.qp_state, IBV_QPS_RTR);
	assert_int_equal(s[0].attr.ah_attr.dlid, 7);
	assert_int_equal(s[0].attr.ah_attr.port_num, 2);
	assert_int_equal(s[0].attr.dest_qp_num, 0x123456);
	assert_int_equal(s[0].attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(s[0].attr.max_dest_rd_atomic, 3);
	assert_int_equal(s[0].attr.min_rnr_timer, 12);
	assert_int_equal(s[0].mask, 0x129181);
	assert_int_equal(s[1].attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(s[1].attr.timeout, 20);
	assert_int_equal(s[1].attr.retry_cnt, 6);
	assert_int_equal(s[1].attr.rnr_retry, 5);
	assert_int_equal(s[1].attr.max_rd_atomic, 4);
	assert_int_equal(s[1].mask, 0x12e01);
	/* Both directions begin with the same number. */
	assert_int_equal(s[0].attr.rq_psn, s[1].attr.sq_psn);
	/* No shorter than a peer like this device takes. */
	dev.attr.local_ca_ack_delay = 21;
	dapl_cm_way_steps(&dev, &way, (struct dapl_cm_depths){3, 4}, s);
	assert_int_equal(s[1].attr.timeout, 21);
}

static const char *wrong(bool ethernet, struct ibv_ah_attr av, uint32_t qpn)
{
	struct vb_dev dev = {.ethernet = ethernet};

	return dapl_cm_av_wrong(&dev, &av, qpn);
}

CASE(av_wrong__nowhere_to_send_to)
{
	const struct ibv_ah_attr none = {.is_global = 1};
	const struct ibv_ah_attr group = {.is_global = 1,
					  .grh.dgid.raw = {0xff, 2}};
	const struct ibv_ah_attr group_of_ipv4 = {
		.is_global = 1,
		.grh.dgid.raw = {[10] = 0xff, 0xff, 239, 1, 1, 1}};
	struct ibv_ah_attr gid = {.is_global = 1, .grh.dgid.raw = {0xfe, 0x80}};
	struct ibv_ah_attr lid = {.dlid = 0xbfff};

	assert_null(wrong(true, gid, 0xffffff));
	assert_non_null(wrong(true, gid, 0x1000000));
	assert_non_null(wrong(true, none, 1));
	assert_non_null(wrong(true, group, 1));
	assert_non_null(wrong(true, group_of_ipv4, 1));
	assert_null(wrong(false, lid, 1));
	lid.dlid = 0xc000;
	assert_non_null(wrong(false, lid, 1));
	lid.dlid = 0;
	assert_non_null(wrong(false, lid, 1));
	/* What stands there on Ethernet is not looked at. */
	gid.dlid = 0xc000;
	assert_null(wrong(true, gid, 1));
	assert_non_null(wrong(false, gid, 1));
}

RUN_CASES(NULL, NULL)
