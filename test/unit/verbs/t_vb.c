/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_vb.c - tests of the verbs layer on the fake device.
 *
 * Calls covered: everything in vb.h.
 * Every teardown asserts that no verbs object is left. Each *_create and the
 * open are run with their n-th call failing, for n from 1 until none fails.
 */
#include "dapl/common/verbs/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/case.h"
#include "test/unit/dat/sysfs_tree.h"
#include "test/unit/fake/fake_verbs.h"

static struct vb_dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char memory[4096] __attribute__((aligned(4096)));

static int no_device(void **state)
{
	/* The machine's devices are not the fake's. */
	setenv("SYSFS_PATH", "/nonexistent", 1);
	fv_reset();
	return 0;
}

/* A device of the kind that the state is, with two ports, open on the first. */
static int setup(void **state)
{
	struct fv_device_cfg cfg;

	fv_reset();
	fv_device_cfg_init(&cfg, (enum fv_kind)(intptr_t)*state, "fake0",
			   "10.0.0.1");
	cfg.attr.phys_port_cnt = 2;
	cfg.max_inline = 100;
	cfg.attr.max_cqe = 1 << 16;
	fv_device_add(&cfg);
	return vb_open("fake0", 1, &dev) || vb_pd_create(&dev, &pd) ||
	       vb_cq_create(&dev, 16, NULL, NULL, &cq);
}

#define BARE(name) CASE_WITH(name, no_device, fv_nothing_left)

static struct ibv_device *first_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *first = list[0];

	ibv_free_device_list(list);
	return first;
}

static int teardown(void **state)
{
	vb_cq_destroy(cq);
	vb_pd_destroy(pd);
	vb_close(&dev);
	return fv_nothing_left(state);
}

#define ON_ROW(kind, name, label) \
	CASE_ROW(name, label, setup, teardown, (intptr_t)FV_##kind)
#define ON(kind, name) CASE_OF(name, void *no_state, ON_ROW(kind, name, ""))

/* Device. */

BARE(open__says_what_the_device_is)
{
	static const struct {
		enum fv_kind kind;
		bool ethernet, ib;
	} rows[] = {
		{FV_IB, false, true},
		{FV_ROCE, true, true},
		{FV_IWARP, true, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fv_reset();
		fv_devices_default(rows[i].kind, 2);
		assert_int_equal(vb_open("fake1", 1, &dev), 0);
		assert_string_equal(dev.name, "fake1");
		assert_int_equal(dev.port, 1);
		assert_int_equal(dev.ethernet, rows[i].ethernet);
		assert_int_equal(dev.cq_resize, rows[i].ib);
		assert_int_equal(dev.immediate, rows[i].ib);
		assert_int_equal(dev.atomics, rows[i].ib);
		assert_int_equal(dev.partitions, rows[i].ib);
		assert_int_equal(dev.read_writes, !rows[i].ib);
		assert_int_equal(dev.iw_cm, !rows[i].ib);
		assert_int_equal(!!(dev.qp_access & IBV_ACCESS_REMOTE_ATOMIC),
				 rows[i].ib);
		assert_int_equal(!!(dev.qp_access & IBV_ACCESS_MW_BIND),
				 rows[i].ib);
		assert_int_equal(dev.max_read_sge,
				 rows[i].ib ? dev.attr.max_sge : 1);
		assert_int_equal(dev.attr.max_qp, 1024);
		assert_int_equal(dev.port_attr.state, IBV_PORT_ACTIVE);
		assert_true(fcntl(dev.ctx->async_fd, F_GETFL) & O_NONBLOCK);
		vb_close(&dev);
		assert_null(dev.ctx);
	}
}

BARE(open__no_such_device)
{
	struct vb_dev d;

	memset(&d, 0x5a, sizeof(d));
	assert_int_equal(vb_open("fake0", 1, &d), -ENODEV);
	fv_devices_default(FV_IB, 1);
	assert_int_equal(vb_open("fake", 1, &d), -ENODEV);
	assert_int_equal(vb_open("", 1, &d), -ENODEV);
	assert_int_equal(d.port, 0x5a); /* not written */
}

BARE(open__no_verbs_in_the_kernel)
{
	struct vb_dev d;

	fv_fail_call("ibv_get_device_list", 1, ENOSYS);
	assert_int_equal(vb_open("fake0", 1, &d), -ENODEV);
	assert_true(fv_fail_hit());
	fv_fail_call("ibv_get_device_list", 1, EPERM);
	assert_int_equal(vb_open("fake0", 1, &d), -EPERM);
}

BARE(open__no_such_port)
{
	struct vb_dev d;

	fv_devices_default(FV_IB, 1);
	assert_int_equal(vb_open("fake0", 0, &d), -EINVAL);
	assert_int_equal(vb_open("fake0", 2, &d), -EINVAL);
	assert_int_equal(vb_open("fake0", 255, &d), -EINVAL);
}

static void refused(enum fv_kind kind)
{
	char names[64];
	struct vb_dev d;

	fv_reset();
	fv_devices_default(kind, 2);
	assert_int_equal(vb_open("fake1", 1, &d), -EOPNOTSUPP);
	assert_int_equal(fv_live(), 0);
	vb_device_names(names, sizeof(names));
	assert_string_equal(names, "fake0 (no RC) fake1 (no RC)");
}

BARE(open__device_without_connected_queue_pairs)
{
	refused(FV_EFA);
	refused(FV_MANA);
}

/* Of InfiniBand and RoCE, too. */
BARE(open__device_whose_queues_do_not_grow)
{
	static const enum fv_kind kinds[] = {FV_HNS, FV_QEDR};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		fv_reset();
		fv_devices_default(kinds[i], 1);
		assert_int_equal(vb_open("fake0", 1, &dev), 0);
		assert_false(dev.cq_resize);
		vb_close(&dev);
	}
}

BARE(open__device_that_only_promises_windows)
{
	static const struct {
		enum fv_kind kind;
		bool windows;
	} rows[] = {
		{FV_BNXT_RE, false},
		{FV_QEDR, false},
		{FV_IRDMA, true}, /* of type 1 */
		{FV_MLX5, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fv_reset();
		fv_devices_default(rows[i].kind, 1);
		assert_int_equal(vb_open("fake0", 1, &dev), 0);
		assert_int_equal(dev.attr.max_mw > 0, rows[i].windows);
		vb_close(&dev);
	}
}

/* Another time it may: only who asks for an endpoint is to hear of it. */
BARE(open__no_room_for_a_queue_pair)
{
	fv_devices_default(FV_IB, 1);
	fv_device_cfg_get(first_device())->attr.max_qp = 0;
	assert_int_equal(vb_open("fake0", 1, &dev), 0);
	assert_int_equal(dev.max_inline, 0);
	vb_close(&dev);
}

BARE(vb_open__nth_call_fails)
{
	int ret, refused = 0, without_inline = 0;

	fv_devices_default(FV_IB, 1);
	for (unsigned n = 1;; n++) {
		assert_true(n < 100);
		fv_fail_at(n, ENOMEM);
		ret = vb_open("fake0", 1, &dev);
		refused += ret == -ENOMEM;
		if (!ret) {
			without_inline += !dev.max_inline;
			vb_close(&dev);
		}
		assert_int_equal(fv_live(), 0);
		if (!fv_fail_hit())
			break;
	}
	assert_int_equal(ret, 0);
	/* list, open, device, port; then the probe: PD and CQ */
	assert_int_equal(refused, 4);
	assert_int_equal(without_inline, 2);
}

BARE(open__finds_the_inline_limit)
{
	static const uint32_t limit[] = {0,   15,   16,	  63,  64,
					 100, 1023, 1024, 4096};
	struct fv_device_cfg cfg;

	for (size_t i = 0; i < sizeof(limit) / sizeof(*limit); i++) {
		fv_reset();
		fv_device_cfg_init(&cfg, FV_IB, "fake0", "10.0.0.1");
		cfg.max_inline = limit[i];
		fv_device_add(&cfg);
		assert_int_equal(vb_open("fake0", 1, &dev), 0);
		assert_true(dev.max_inline <= limit[i]);
		if (limit[i] >= 1024)
			assert_true(dev.max_inline >= 1024);
		else if (limit[i] >= 16)
			assert_true(dev.max_inline > limit[i] / 2);
		vb_close(&dev);
	}
}

/* Devices that the kernel has, and the library of verbs has not, or not opens.
 */

static int node_error; /* errno of the node; 0: it opens */

/* Large files: open() is open64() to the linker. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	if (strcmp(path, "/dev/infiniband/uverbs3") != 0)
		return __real_open64(path, flags);
	if (!node_error)
		return __real_open64("/dev/null", flags);
	errno = node_error;
	return -1;
}

static int with_kernel(void **state)
{
	fv_reset();
	tree_make(state);
	setenv("SYSFS_PATH", tree, 1);
	tree_file("class/infiniband/rxe0/node_type", "1: CA");
	tree_file("class/infiniband_verbs/uverbs2/ibdev", "rxe1");
	tree_file("class/infiniband_verbs/uverbs3/ibdev", "rxe0");
	return 0;
}

static int without_kernel(void **state)
{
	unsetenv("SYSFS_PATH");
	tree_remove(state);
	return fv_nothing_left(state);
}

#define HIDDEN(name) CASE_WITH(name, with_kernel, without_kernel)

static void explains(const char *name, int node, int ret, const char *expected)
{
	char why[320];

	node_error = node;
	assert_int_equal(vb_explain(name, 1, -ENODEV, why, sizeof(why)), ret);
	assert_string_equal(why, expected);
}

HIDDEN(explain__node)
{
	explains("rxe0", ENOENT, -ENOENT,
		 "load ib_uverbs, or let this container see "
		 "/dev/infiniband/uverbs3: it is missing");
	explains("rxe0", EACCES, -EACCES,
		 "let this user read and write /dev/infiniband/uverbs3: "
		 "Permission denied");
	explains("rxe0", EPERM, -EPERM,
		 "let this user read and write /dev/infiniband/uverbs3: "
		 "Operation not permitted");
	explains("rxe0", ENXIO, -ENXIO,
		 "load ib_uverbs: /dev/infiniband/uverbs3 is there, but "
		 "nothing behind it: No such device or address");
	explains("rxe0", ENODEV, -ENXIO,
		 "load ib_uverbs: /dev/infiniband/uverbs3 is there, but "
		 "nothing behind it: No such device");
	explains("rxe0", 0, -ENODEV,
		 "install the driver of rxe0 for libibverbs: the kernel has "
		 "the device");
	unlink(tree_path("class/infiniband_verbs/uverbs3/ibdev"));
	explains("rxe0", 0, -ENXIO,
		 "load ib_uverbs: the kernel shows rxe0 to no program");
}

HIDDEN(explain__no_such_device)
{
	explains("mlx5_0", EACCES, -ENODEV,
		 "write another device: there is no mlx5_0");
	explains("../net", EACCES, -ENODEV,
		 "write another device: there is no ../net");
	explains("", 0, -ENODEV, "write another device: there is no ");
}

HIDDEN(explain__other_errors)
{
	char why[320];

	assert_int_equal(vb_explain("rxe0", 7, -EINVAL, why, sizeof(why)),
			 -EINVAL);
	assert_string_equal(why, "write another port: rxe0 has no port 7");
	assert_int_equal(vb_explain("rxe0", 1, -ENOMEM, why, sizeof(why)),
			 -ENOMEM);
	assert_string_equal(why, "rxe0: Cannot allocate memory");
}

HIDDEN(unusable__the_first_that_cannot_be_opened)
{
	char why[320];

	node_error = EACCES;
	assert_int_equal(vb_unusable(why, sizeof(why)), -EACCES);
	assert_non_null(strstr(why, "/dev/infiniband/uverbs3"));
	tree_remove(NULL);
	tree_make(NULL);
	setenv("SYSFS_PATH", tree, 1);
	assert_int_equal(vb_unusable(why, sizeof(why)), 0);
	fv_devices_default(FV_ROCE, 1);
	assert_int_equal(vb_unusable(why, sizeof(why)), 0);
}

/* Eight, those that work first, and why the others do not. */
HIDDEN(names__live_ones_first)
{
	struct fv_device_cfg cfg;
	char buf[256];

	node_error = EACCES;
	fv_device_cfg_init(&cfg, FV_IB, "down0", "10.0.0.1");
	cfg.port[0].attr.state = IBV_PORT_DOWN;
	fv_device_add(&cfg);
	fv_device_cfg_init(&cfg, FV_IB, "live0", "10.0.0.2");
	fv_device_add(&cfg);
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf, "live0 down0 (down) rxe0 (no permission)");
	node_error = ENOENT;
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf, "live0 down0 (down) rxe0 (no node)");
	node_error = 0;
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf, "live0 down0 (down) rxe0 (no driver)");
}

BARE(names__eight_at_most)
{
	char buf[256];

	fv_devices_default(FV_IB, 10);
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf,
			    "fake0 fake1 fake2 fake3 fake4 fake5 fake6 fake7");
}

BARE(names__lists_whole_names)
{
	char buf[64] = "old";

	vb_device_names(buf, 0);
	assert_string_equal(buf, "old");
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf, "");
	fv_devices_default(FV_IB, 3);
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf, "fake0 fake1 fake2");
	vb_device_names(buf, 18);
	assert_string_equal(buf, "fake0 fake1 fake2");
	vb_device_names(buf, 17);
	assert_string_equal(buf, "fake0 fake1");
	vb_device_names(buf, 1);
	assert_string_equal(buf, "");
	fv_fail_call("ibv_get_device_list", 1, ENOSYS);
	vb_device_names(buf, sizeof(buf));
	assert_string_equal(buf, "");
}

ON(ROCE, gid__of_the_port)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(dev.ctx->device);
	union ibv_gid gid, before;

	assert_int_equal(vb_gid_get(&dev, 2, &gid), 0);
	assert_memory_equal(&gid, &cfg->port[0].gid[2], sizeof(gid));
	before = gid;
	assert_true(vb_gid_get(&dev, 1000, &gid) < 0);
	assert_memory_equal(&gid, &before, sizeof(gid));
}

ON(ROCE, gid_table__of_the_port_without_holes)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(dev.ctx->device);
	struct ibv_gid_entry *gids;

	memset(&cfg->port[0].gid[1], 0, sizeof(union ibv_gid));
	assert_int_equal(vb_gid_table(&dev, &gids), 3);
	for (int i = 0; i < 3; i++) {
		int index = i ? i + 1 : 0;

		assert_int_equal(gids[i].gid_index, index);
		assert_int_equal(gids[i].port_num, 1);
		assert_int_equal(gids[i].gid_type,
				 cfg->port[0].gid_type[index]);
		assert_memory_equal(&gids[i].gid, &cfg->port[0].gid[index],
				    sizeof(union ibv_gid));
	}
	free(gids);
}

ON(ROCE, gid_table__of_another_port)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(dev.ctx->device);
	struct vb_dev second = dev;
	struct ibv_gid_entry *gids;

	second.port = 2;
	assert_int_equal(vb_gid_table(&second, &gids), 2);
	assert_int_equal(gids[0].port_num, 2);
	assert_memory_equal(&gids[0].gid, &cfg->port[1].gid[0],
			    sizeof(union ibv_gid));
	free(gids);
}

ON(ROCE, gid_table__empty_or_unreadable)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(dev.ctx->device);
	struct ibv_gid_entry *gids = NULL;

	fv_fail_at(1, EIO);
	assert_int_equal(vb_gid_table(&dev, &gids), -EIO);
	assert_true(fv_fail_hit());
	memset(cfg->port[0].gid, 0, sizeof(cfg->port[0].gid));
	assert_int_equal(vb_gid_table(&dev, &gids), 0);
	assert_null(gids);
}

ON(IB, pkey__found_by_its_value)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(dev.ctx->device);
	uint16_t index = 77;

	cfg->port[0].pkey[1] = 0x8001;
	cfg->port[0].pkey[2] = 0x8123;
	cfg->port[0].attr.pkey_tbl_len = 2;
	assert_int_equal(vb_pkey_find(&dev, 0x8123, &index), -ENOENT);
	assert_int_equal(vb_pkey_find(&dev, 0x0001, &index), -ENOENT);
	assert_int_equal(index, 77);
	assert_int_equal(vb_pkey_find(&dev, 0x8001, &index), 0);
	assert_int_equal(index, 1);
	fv_fail_at(1, EIO);
	assert_int_equal(vb_pkey_find(&dev, 0x8001, &index), -ENOENT);
}

ON(IB, async__event_or_eagain)
{
	struct ibv_async_event event;

	assert_int_equal(vb_async_get(&dev, &event), -EAGAIN);
	fv_inject_async(dev.ctx, IBV_EVENT_PORT_ERR, 1);
	assert_int_equal(vb_async_get(&dev, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(event.element.port_num, 1);
	vb_async_ack(&event);
	assert_int_equal(vb_async_get(&dev, &event), -EAGAIN);
}

/* Protection domain, channel, completion queue. */

ON(IB, create__nth_call_fails_pd_channel_cq_srq_mw)
{
	struct ibv_comp_channel *chan = (void *)memory;
	struct ibv_pd *pd2 = (void *)memory;
	struct ibv_cq *cq2 = (void *)memory;
	struct ibv_srq *srq = (void *)memory;
	struct ibv_mw *mw = (void *)memory;
	unsigned live = fv_live();

	fv_fail_at(1, ENOMEM);
	assert_int_equal(vb_pd_create(&dev, &pd2), -ENOMEM);
	fv_fail_at(1, EMFILE);
	assert_int_equal(vb_channel_create(&dev, &chan), -EMFILE);
	fv_fail_at(1, ENOSPC);
	assert_int_equal(vb_cq_create(&dev, 4, NULL, NULL, &cq2), -ENOSPC);
	fv_fail_at(1, ENOMEM);
	assert_int_equal(vb_srq_create(pd, 4, 1, NULL, &srq), -ENOMEM);
	fv_fail_at(1, ENOMEM);
	assert_int_equal(vb_mw_create(pd, IBV_MW_TYPE_1, &mw), -ENOMEM);
	/* A driver that leaves nonsense in errno has still failed. */
	fv_fail_at(1, -1);
	assert_int_equal(vb_pd_create(&dev, &pd2), -EIO);
	fv_fail_at(1, ENOSYS);
	assert_int_equal(vb_srq_create(pd, 4, 1, NULL, &srq), -EOPNOTSUPP);
	fv_fail_at(1, ENOSYS);
	assert_int_equal(vb_mw_create(pd, IBV_MW_TYPE_1, &mw), -EOPNOTSUPP);
	assert_int_equal(fv_live(), live);
	assert_ptr_equal(pd2, memory);
	assert_ptr_equal(chan, memory);
	assert_ptr_equal(cq2, memory);
	assert_ptr_equal(srq, memory);
	assert_ptr_equal(mw, memory);
}

ON(IB, channel__does_not_block)
{
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq2;
	void *context;

	assert_int_equal(vb_channel_create(&dev, &chan), 0);
	assert_true(fcntl(chan->fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(ibv_get_cq_event(chan, &cq2, &context), -1);
	assert_int_equal(errno, EAGAIN);
	vb_channel_destroy(chan);
}

/* --wrap: the device behind a channel is gone once all has been read. */
static bool lost;

int __real_ibv_get_cq_event(struct ibv_comp_channel *chan,
			    struct ibv_cq **ret_cq, void **context);
int __wrap_ibv_get_cq_event(struct ibv_comp_channel *chan,
			    struct ibv_cq **ret_cq, void **context);

int __wrap_ibv_get_cq_event(struct ibv_comp_channel *chan,
			    struct ibv_cq **ret_cq, void **context)
{
	int ret = __real_ibv_get_cq_event(chan, ret_cq, context);

	if (ret && lost)
		errno = EIO;
	return ret;
}

ON(IB, cq__notifications_are_counted)
{
	struct ibv_wc wc = {.wr_id = 1};
	struct ibv_comp_channel *chan;
	struct vb_cq_ops ops;
	struct ibv_cq *mine;

	assert_int_equal(vb_channel_create(&dev, &chan), 0);
	assert_int_equal(vb_cq_create(&dev, 4, chan, &wc, &mine), 0);
	assert_true(mine->cqe >= 4);
	assert_ptr_equal(mine->cq_context, &wc);
	ops = vb_cq_ops_of(mine);
	for (int gone = 0; gone < 2; gone++) {
		lost = gone;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(ops.arm(mine, 0), 0);
			fv_cq_push(mine, &wc, false);
		}
		/* What has come is told first. */
		assert_int_equal(vb_cq_events_take(mine, chan), 2);
		assert_int_equal(vb_cq_events_take(mine, chan),
				 gone ? -EIO : 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(ops.poll(mine, 1, &wc), 1);
		assert_int_equal(ops.poll(mine, 1, &wc), 0);
	}
	lost = false;
	vb_cq_destroy(mine);
	vb_channel_destroy(chan);
}

ON(IB, cq_resize__errors)
{
	static const struct {
		int err, ret;
	} rows[] = {{ENOSYS, -EOPNOTSUPP},
		    {EOPNOTSUPP, -EOPNOTSUPP},
		    {ENOMEM, -ENOMEM},
		    {EINVAL, -EINVAL}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fv_fail_at(1, rows[i].err);
		assert_int_equal(vb_cq_resize(cq, 64), rows[i].ret);
	}
	assert_int_equal(vb_cq_resize(cq, 64), 0);
	assert_true(cq->cqe >= 64);
	assert_true(vb_cq_resize(cq, 1 << 30) < 0);
}

/* Memory. */

ON(IB, mr__plain_and_zero_based)
{
	struct ibv_mr *mr, *zero;

	assert_int_equal(vb_mr_create(pd, memory, sizeof(memory), false,
				      IBV_ACCESS_LOCAL_WRITE, &mr),
			 0);
	assert_int_equal(
		vb_mr_create(pd, memory, sizeof(memory), true,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			     &zero),
		0);
	assert_int_not_equal(mr->lkey, zero->lkey);
	vb_mr_destroy(zero);
	vb_mr_destroy(mr);
}

ON(IB, mr__errors_write_nothing)
{
	struct ibv_mr *mr = (void *)memory;
	int err;

	for (err = 0; err < 2; err++) {
		fv_fail_at(1, ENOMEM);
		assert_int_equal(vb_mr_create(pd, memory, 8, err,
					      IBV_ACCESS_LOCAL_WRITE, &mr),
				 -ENOMEM);
	}
	assert_int_equal(vb_mr_create(pd, memory, 8, false,
				      IBV_ACCESS_REMOTE_WRITE, &mr),
			 -EINVAL);
	fv_fail_at(1, ENOSYS);
	assert_int_equal(vb_mr_create(pd, memory, 8, true, 0, &mr),
			 -EOPNOTSUPP);
	assert_ptr_equal(mr, memory);
}

ON(IB, mr__zero_based_within_a_page)
{
	struct ibv_mr *mr;

	assert_int_equal(vb_mr_create(pd, memory + 8, 8, true, 0, &mr),
			 -EINVAL);
}

/* Soft iWARP would take the request and keep the address. */
ON(SIW, open__siw_is_not_zero_based)
{
	assert_false(dev.zero_based);
}

ON(IWARP, mr__zero_based_on_other_iwarp)
{
	struct ibv_mr *mr;

	assert_true(dev.zero_based);
	assert_int_equal(vb_mr_create(pd, memory, 8, true, 0, &mr), 0);
	vb_mr_destroy(mr);
}

ON(IB, mw__both_types)
{
	struct ibv_mw *one, *two;

	assert_int_equal(vb_mw_create(pd, IBV_MW_TYPE_1, &one), 0);
	assert_int_equal(vb_mw_create(pd, IBV_MW_TYPE_2, &two), 0);
	vb_mw_destroy(two);
	vb_mw_destroy(one);
}

/* Shared receive queue. */

ON(IB, srq__create_resize_arm)
{
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;

	assert_int_equal(vb_srq_create(pd, 8, 2, &dev, &srq), 0);
	assert_ptr_equal(srq->srq_context, &dev);
	assert_int_equal(vb_srq_resize(srq, 32), 0);
	assert_int_equal(vb_srq_arm(srq, 3), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_true(attr.max_wr >= 32);
	assert_int_equal(attr.max_sge, 2);
	assert_int_equal(attr.srq_limit, 3);
	fv_fail_at(1, ENOSYS);
	assert_int_equal(vb_srq_resize(srq, 64), -EOPNOTSUPP);
	fv_fail_at(1, EINVAL);
	assert_int_equal(vb_srq_arm(srq, 1), -EINVAL);
	vb_srq_destroy(srq);
}

/* Queue pair. */

static struct vb_qp_cfg qp_cfg(uint32_t max_inline)
{
	struct vb_qp_cfg cfg = {
		.type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline = max_inline,
		.context = &dev,
	};

	return cfg;
}

ON(IB, qp__inline_wish_is_lowered)
{
	/* the device takes 100 at most */
	static const struct {
		uint32_t wish, least;
	} rows[] = {{0, 0},	{1, 1},	     {16, 16},	      {64, 64},
		    {100, 100}, {101, 64},   {200, 64},	      {1024, 64},
		    {5000, 64}, {65535, 64}, {UINT32_MAX, 64}};
	struct vb_qp_cfg cfg;
	struct ibv_qp *qp;
	uint32_t granted;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cfg = qp_cfg(rows[i].wish);
		assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
		assert_true(granted >= rows[i].least && granted <= 100);
		assert_ptr_equal(qp->qp_context, &dev);
		vb_qp_destroy(qp);
	}
}

/* What is on the stack must not reach the library, in no byte. */
static __attribute__((noinline)) void fill_stack(void)
{
	volatile unsigned char junk[16384];

	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = 0xff;
}

ON(IB, create__attributes_are_padded_with_zeros)
{
	struct vb_qp_cfg cfg = qp_cfg(100);
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint32_t granted;

	fv_device_cfg_get(first_device())->reads_padding = true;
	fill_stack();
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	vb_qp_destroy(qp);
	fill_stack();
	assert_int_equal(vb_srq_create(pd, 8, 1, NULL, &srq), 0);
	vb_srq_destroy(srq);
}

ON(IB, qp__other_refusals_are_reported)
{
	struct vb_qp_cfg cfg = qp_cfg(1024);
	struct ibv_qp *qp = (void *)memory;
	uint32_t granted = 77;

	cfg.max_send_wr = 1 << 30;
	assert_true(vb_qp_create(pd, &cfg, &qp, &granted) < 0);
	cfg = qp_cfg(1024);
	fv_fail_from(1, ENOMEM);
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), -ENOMEM);
	/* 1024, 512, ... 16, 0 */
	assert_int_equal(fv_fail_count(), 8);
	fv_fail_at(0, 0);
	assert_ptr_equal(qp, memory);
	assert_int_equal(granted, 77);
}

ON(IB, qp__nth_call_fails)
{
	struct vb_qp_cfg cfg = qp_cfg(0);
	unsigned live = fv_live();
	struct ibv_qp *qp;
	uint32_t granted;

	fv_fail_at(1, ENOMEM);
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), -ENOMEM);
	assert_int_equal(fv_live(), live);
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	fv_fail_at(1, EINVAL);
	assert_int_equal(vb_qp_init(&dev, qp, 0, 0), -EINVAL);
	assert_int_equal(fv_qp_state(qp), IBV_QPS_RESET);
	vb_qp_destroy(qp);
}

static int post_one_recv(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = {.wr_id = 9}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

static void states_of(struct ibv_qp *qp)
{
	struct ibv_wc wc;

	assert_int_equal(fv_qp_state(qp), IBV_QPS_INIT);
	assert_int_equal(post_one_recv(qp), 0);
	assert_int_equal(vb_qp_error(qp), 0);
	assert_int_equal(fv_qp_state(qp), IBV_QPS_ERR);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(vb_qp_reset(qp), 0);
	assert_int_equal(fv_qp_state(qp), IBV_QPS_RESET);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

ON(IB, qp_init__rc)
{
	int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct vb_qp_cfg cfg = qp_cfg(0);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	uint32_t granted;

	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	assert_int_equal(vb_qp_init(&dev, qp, 0, access), 0);
	assert_int_equal(ibv_query_qp(qp, &attr,
				      IBV_QP_ACCESS_FLAGS | IBV_QP_PORT, &init),
			 0);
	assert_int_equal(attr.qp_access_flags, access);
	if (dev.partitions)
		assert_int_equal(attr.port_num, 1);
	assert_int_equal(init.sq_sig_all, 0);
	states_of(qp);
	/* and once more from RESET, as a reset endpoint does */
	assert_int_equal(vb_qp_init(&dev, qp, 0, access), 0);
	states_of(qp);
	vb_qp_destroy(qp);
}

CASE_AGAIN(qp_init__rc, ON_ROW(ROCE, qp_init__rc, "_on_roce"),
	   ON_ROW(IWARP, qp_init__rc, "_on_iwarp"))

ON(IB, qp_init__masks)
{
	struct vb_qp_cfg cfg = qp_cfg(0);
	struct ibv_qp *qp;
	uint32_t granted;
	char want[64];

	snprintf(want, sizeof(want), "mask 0x%x",
		 dev.partitions ? IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
					  IBV_QP_PKEY_INDEX | IBV_QP_PORT
				: IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	fv_trace(true);
	assert_int_equal(vb_qp_init(&dev, qp, 0, 0), 0);
	assert_non_null(strstr(fv_trace_get(), want));
	fv_trace(false);
	vb_qp_destroy(qp);
}

CASE_AGAIN(qp_init__masks, ON_ROW(IWARP, qp_init__masks, "_on_iwarp"))

ON(IB, qp_init__ud)
{
	struct vb_qp_cfg cfg = qp_cfg(0);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	uint32_t granted;

	cfg.type = IBV_QPT_UD;
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	assert_int_equal(vb_qp_init(&dev, qp, 0, IBV_ACCESS_REMOTE_WRITE), 0);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(attr.qkey, 0x78654321);
	states_of(qp);
	vb_qp_destroy(qp);
}

ON(IB, qp_init__bad_pkey)
{
	struct vb_qp_cfg cfg = qp_cfg(0);
	struct ibv_qp *qp;
	uint32_t granted;

	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	assert_int_equal(vb_qp_init(&dev, qp, 999, 0), -EINVAL);
	assert_int_equal(fv_qp_state(qp), IBV_QPS_RESET);
	vb_qp_destroy(qp);
}

ON(IB, qp__with_srq)
{
	struct vb_qp_cfg cfg = qp_cfg(0);
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint32_t granted;

	assert_int_equal(vb_srq_create(pd, 8, 1, NULL, &srq), 0);
	cfg.srq = srq;
	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	assert_ptr_equal(qp->srq, srq);
	vb_qp_destroy(qp);
	vb_srq_destroy(srq);
}

ON(IB, qp_modify__passes_the_error)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct vb_qp_cfg cfg = qp_cfg(0);
	struct ibv_qp *qp;
	uint32_t granted;

	assert_int_equal(vb_qp_create(pd, &cfg, &qp, &granted), 0);
	assert_int_equal(vb_qp_modify(qp, &attr, IBV_QP_STATE), -EINVAL);
	vb_qp_destroy(qp);
}

/* A mapping across the offset that siw's library takes for an error. */
ON(SIW, open__siw_pads_its_offsets)
{
	assert_non_null(dev.siw_pad);
	assert_true(dev.siw_pad->cqe * 32 > 0x90000);
}

ON(IWARP, open__no_padding_elsewhere)
{
	assert_null(dev.siw_pad);
}

RUN_CASES(NULL, NULL)
