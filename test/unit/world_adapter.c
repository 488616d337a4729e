/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world_adapter.c - the world without objects and connections: an adapter that
 * is a device, a service thread and lists of objects; see world_make.h.
 *
 * A zone is a verbs protection domain here, a region a verbs memory region.
 * Nothing looks at the asynchronous events of the device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/event/dapl_evd.h"
#include "test/unit/world_make.h"

#define MAX 8

struct adapter {
	struct dapl_ia ia;
	struct ibv_pd *pd[MAX];
	struct ibv_mr *mr[MAX];
};

static DAT_PROVIDER vector;
static struct dapl_provider provider;

void world_make_vector(void)
{
	memset(&vector, 0, sizeof(vector));
	vector.get_handle_type_func = dapl_get_handle_type;
	vector.evd_create_func = dapl_evd_create;
	vector.evd_query_func = dapl_evd_query;
	vector.evd_modify_cno_func = dapl_evd_modify_cno;
	vector.evd_enable_func = dapl_evd_enable;
	vector.evd_disable_func = dapl_evd_disable;
	vector.evd_set_unwaitable_func = dapl_evd_set_unwaitable;
	vector.evd_clear_unwaitable_func = dapl_evd_clear_unwaitable;
	vector.evd_wait_func = dapl_evd_wait;
	vector.evd_resize_func = dapl_evd_resize;
	vector.evd_post_se_func = dapl_evd_post_se;
	vector.evd_dequeue_func = dapl_evd_dequeue;
	vector.evd_free_func = dapl_evd_free;
	vector.cno_create_func = dapl_cno_create;
	vector.cno_fd_create_func = dapl_cno_fd_create;
	vector.cno_modify_agent_func = dapl_cno_modify_agent;
	vector.cno_query_func = dapl_cno_query;
	vector.cno_trigger_func = dapl_cno_trigger;
	vector.cno_wait_func = dapl_cno_wait;
	vector.cno_free_func = dapl_cno_free;
	world_layer_calls(&vector);
	world_registry.vector = &vector;
}

void world_drop_vector(void)
{
	world_registry.vector = NULL;
}

static void destroy(struct dapl_obj *obj)
{
	struct dapl_ia *ia = (struct dapl_ia *)obj;

	dapl_wakeups_fini(&ia->wakeups);
	dapl_windows_fini(&ia->windows);
	dapl_lock_fini(&ia->lock);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops adapter_ops = {
	.type = DAT_HANDLE_TYPE_IA,
	.size = sizeof(struct adapter),
	.destroy = destroy,
};

DAT_IA_HANDLE world_ia_open(DAT_EVD_HANDLE *ret_async_evd)
{
	struct dapl_ia *ia = dapl_obj_new(NULL, &adapter_ops);

	assert_non_null(ia);
	ia->obj.provider = &vector;
	ia->obj.ia = ia;
	ia->prov = &provider;
	dapl_lock_init(&ia->lock, DAPL_LOCK_IA);
	dapl_windows_init(&ia->windows);
	dapl_wakeups_init(&ia->wakeups);
	for (int i = 0; i < DAPL_OBJ_TYPES; i++)
		dapl_list_init(&ia->objs[i]);
	assert_int_equal(dapl_loop_open("world", &ia->loop), 0);
	assert_int_equal(vb_open("fake0", 1, &ia->dev), 0);
	ia->max_inline = 64;
	ia->obj.magic = DAPL_MAGIC(DAT_HANDLE_TYPE_IA);
	assert_dat_ok(
		dapl_evd_new(ia, 8, NULL, DAT_EVD_ASYNC_FLAG, &ia->async_evd));
	assert_true(dapl_obj_use(&ia->async_evd->obj));
	world_know_ia((DAT_IA_HANDLE)ia);
	if (ret_async_evd)
		*ret_async_evd = (DAT_EVD_HANDLE)ia->async_evd;
	return (DAT_IA_HANDLE)ia;
}

static void end_all(struct dapl_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dapl_obj *obj;

	while (!dapl_list_empty(&ia->objs[type])) {
		obj = dapl_list_first(&ia->objs[type], struct dapl_obj, link);
		assert_true(dapl_obj_retire(obj, true));
		if (obj == &ia->async_evd->obj)
			continue;
		dapl_obj_end(obj);
	}
}

void world_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct adapter *a = (struct adapter *)handle;
	struct dapl_ia *ia = &a->ia;

	ia->obj.magic = 0;
	end_all(ia, DAT_HANDLE_TYPE_EP);
	for (int i = 0; i < MAX && a->mr[i]; i++)
		vb_mr_destroy(a->mr[i]);
	for (int i = 0; i < MAX && a->pd[i]; i++)
		vb_pd_destroy(a->pd[i]);
	end_all(ia, DAT_HANDLE_TYPE_EVD);
	end_all(ia, DAT_HANDLE_TYPE_CNO);
	dapl_obj_unuse(&ia->async_evd->obj);
	dapl_obj_end(&ia->async_evd->obj);
	if (ia->null_cq)
		vb_cq_destroy(ia->null_cq);
	vb_close(&ia->dev);
	dapl_loop_close(ia->loop);
	world_forget_ia(handle);
	dapl_obj_put(&ia->obj);
}

DAT_PZ_HANDLE world_pz(DAT_IA_HANDLE handle)
{
	struct adapter *a = (struct adapter *)handle;
	int i = 0;

	while (a->pd[i])
		i++;
	assert_in_range(i, 0, MAX - 1);
	assert_int_equal(vb_pd_create(&a->ia.dev, &a->pd[i]), 0);
	return (DAT_PZ_HANDLE)a->pd[i];
}

DAT_LMR_HANDLE world_lmr(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, void *buf,
			 size_t size, DAT_LMR_CONTEXT *ret_lkey,
			 DAT_RMR_CONTEXT *ret_rkey)
{
	struct adapter *a = (struct adapter *)handle;
	int i = 0;

	while (a->mr[i])
		i++;
	assert_in_range(i, 0, MAX - 1);
	assert_int_equal(vb_mr_create((struct ibv_pd *)pz, buf, size, false,
				      IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_WRITE |
					      IBV_ACCESS_REMOTE_READ,
				      &a->mr[i]),
			 0);
	*ret_lkey = a->mr[i]->lkey;
	*ret_rkey = a->mr[i]->rkey;
	return (DAT_LMR_HANDLE)a->mr[i];
}
