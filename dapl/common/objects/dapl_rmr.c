/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_rmr.c - dat_rmr_*: memory windows.
 *
 * The key of a window changes with each bind and is known when the bind is
 * posted. What a completion needs beyond a slot is kept in a small record that
 * the slot's cookie points to; so each bind is signalled, and a suppressed one
 * makes no event. While a window is bound its LMR counts it as a user, until
 * the bind that ends this has succeeded: one that was flushed ended nothing.
 * A window of type 2 must be invalidated before it is bound again; peers may
 * do that too, so such windows are found by key, in a table of the IA. That may
 * happen under a bind: live_key is atomic, and names a key before the device
 * can know it. Rules: uDAPL 1.2 dat_rmr_*; the EP scope is a DAT 2.0 addition.
 */
#include "dapl/common/objects/dapl_rmr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/objects/dapl_lmr.h"
#include "dapl/common/objects/dapl_pz.h"
#include "dapl/common/transfer/dapl_completion.h"
#include "dapl/common/transfer/dapl_ep_post.h"

struct dapl_rmr {
	struct dapl_obj obj;
	struct dapl_lock lock;	/* role LEAF: what follows, up to param */
	struct dapl_lmr *lmr;	/* used: to be bound to, or NULL */
	struct dapl_list binds; /* struct bind_record */
	DAT_RMR_PARAM param;
	struct ibv_mw *mw;
	struct dapl_pz *pz;

	/* Type 2. */
	struct dapl_window window;
	struct dapl_qp *ep; /* referenced: it was bound through it, or NULL */
	uint64_t qp_id;	    /* of its queue pairs, through that one */
};

/* Of a posted bind, until it completes, or longer. */
struct bind_record {
	struct dapl_bind bind; /* must stay first */
	struct dapl_list link; /* rmr->binds */
	struct dapl_rmr *rmr;  /* referenced until it completes */
	struct dapl_lmr *old;  /* used: bound to before, or NULL; rmr->lock */
	DAT_RMR_COOKIE cookie;
	DAT_RMR_CONTEXT closes; /* of type 2: that an unbind ends, or 0 */
	bool suppressed;	/* no event for success */
	bool failed;		/* kept for what it holds in use; rmr->lock */
};

static struct dapl_rmr *dapl_rmr_from(DAT_RMR_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_RMR);
}

/* ------------------------------------ binds under way */

static bool bind_done(struct dapl_bind *bind, DAT_DTO_COMPLETION_STATUS status,
		      DAT_RMR_BIND_COMPLETION_EVENT_DATA *data);

/* A bind of RMR to LMR, which it uses up, or an unbind. NULL: no memory. */
static struct bind_record *bind_begin(struct dapl_rmr *rmr,
				      struct dapl_lmr *lmr,
				      DAT_RMR_COOKIE cookie, bool suppressed)
{
	struct bind_record *record = calloc(1, sizeof(*record));

	if (!record)
		return NULL;
	dapl_obj_get(&rmr->obj);
	record->bind.done = bind_done;
	record->rmr = rmr;
	record->cookie = cookie;
	record->suppressed = suppressed;
	dapl_lock(&rmr->lock);
	record->old = rmr->lmr;
	rmr->lmr = lmr;
	dapl_list_add_tail(&rmr->binds, &record->link);
	dapl_unlock(&rmr->lock);
	return record;
}

/* It was not posted. Another thread may have bound the window since. */
static void bind_cancel(struct bind_record *record, struct dapl_lmr *lmr)
{
	struct dapl_rmr *rmr = record->rmr;

	dapl_lock(&rmr->lock);
	dapl_list_del(&record->link);
	if (rmr->lmr == lmr) {
		rmr->lmr = record->old;
		record->old = lmr;
	}
	dapl_unlock(&rmr->lock);
	dapl_obj_unuse(record->old ? &record->old->obj : NULL);
	free(record);
	dapl_obj_put(&rmr->obj);
}

static void let_go_locked(struct bind_record *record)
{
	dapl_lock_assert_held(&record->rmr->lock);
	dapl_list_del(&record->link);
	dapl_obj_unuse(record->old ? &record->old->obj : NULL);
	record->old = NULL;
}

/* What binds held in use that failed is free when a later one succeeds. */
static void let_failed_go_locked(struct dapl_rmr *rmr)
{
	struct bind_record *record, *tmp;

	dapl_lock_assert_held(&rmr->lock);
	dapl_list_for_each_safe(record, tmp, &rmr->binds, link) {
		if (!record->failed)
			continue;
		let_go_locked(record);
		free(record);
	}
}

static void live_key_set(struct dapl_rmr *rmr, DAT_RMR_CONTEXT key)
{
	__atomic_store_n(&rmr->window.live_key, key, __ATOMIC_RELEASE);
}

/* An unbind has failed: the window is open still, unless it was bound since. */
static void stays_open(struct dapl_rmr *rmr, DAT_RMR_CONTEXT key)
{
	DAT_RMR_CONTEXT closed = 0;

	__atomic_compare_exchange_n(&rmr->window.live_key, &closed, key, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* RECORD's bind is over. The EVD's lock may be held. */
static void bind_end(struct bind_record *record, bool ok)
{
	struct dapl_rmr *rmr = record->rmr;

	dapl_lock(&rmr->lock);
	if (!ok && record->closes)
		stays_open(rmr, record->closes);
	if (ok) {
		let_failed_go_locked(rmr);
	} else if (record->old && !rmr->lmr &&
		   record->link.next == &rmr->binds) {
		/* It was the last, an unbind: there is something to unbind. */
		rmr->lmr = record->old;
		record->old = NULL;
	} else if (record->old) {
		record->failed = true;
	}
	if (!record->failed) {
		let_go_locked(record);
		free(record);
	}
	dapl_unlock(&rmr->lock);
	dapl_obj_put(&rmr->obj);
}

static bool bind_done(struct dapl_bind *bind, DAT_DTO_COMPLETION_STATUS status,
		      DAT_RMR_BIND_COMPLETION_EVENT_DATA *data)
{
	struct bind_record *record = (struct bind_record *)bind;
	bool wanted = !record->suppressed || status != DAT_DTO_SUCCESS;

	if (data) {
		data->rmr_handle = (DAT_RMR_HANDLE)record->rmr;
		data->user_cookie = record->cookie;
		data->status = status == DAT_DTO_SUCCESS ||
					       status == DAT_DTO_ERR_FLUSHED
				       ? status
				       : DAT_RMR_OPERATION_FAILED;
	}
	bind_end(record, status == DAT_DTO_SUCCESS);
	return wanted;
}

/* ---------------------------------------------- life */

static void rmr_shutdown(struct dapl_obj *obj)
{
	struct dapl_rmr *rmr = (struct dapl_rmr *)obj;
	struct bind_record *record, *tmp;

	if (rmr->mw->type == IBV_MW_TYPE_2)
		dapl_windows_leave(&obj->ia->windows, &rmr->window);
	vb_mw_destroy(rmr->mw);
	/* Binds that are still to complete hold nothing in use any more. */
	dapl_lock(&rmr->lock);
	let_failed_go_locked(rmr);
	dapl_list_for_each_safe(record, tmp, &rmr->binds, link)
		let_go_locked(record);
	dapl_obj_unuse(rmr->lmr ? &rmr->lmr->obj : NULL);
	dapl_unlock(&rmr->lock);
	dapl_obj_unuse(&rmr->pz->obj);
	if (rmr->ep)
		dapl_obj_put(&rmr->ep->obj);
}

static void rmr_destroy(struct dapl_obj *obj)
{
	dapl_lock_fini(&((struct dapl_rmr *)obj)->lock);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops rmr_ops = {
	.type = DAT_HANDLE_TYPE_RMR,
	.made = DCNT_IA_RMR_CREATE,
	.ended = DCNT_IA_RMR_FREE,
	.size = sizeof(struct dapl_rmr),
	.shutdown = rmr_shutdown,
	.destroy = rmr_destroy,
};

static DAT_RETURN rmr_create(DAT_PZ_HANDLE pz_handle, bool for_ep,
			     DAT_RMR_HANDLE *ret_rmr)
{
	struct dapl_pz *pz = dapl_pz_from(pz_handle);
	struct dapl_rmr *rmr;
	int err;

	if (!pz)
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "no such PZ");
	if (!ret_rmr)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the handle");
	rmr = dapl_obj_new(pz->obj.ia, &rmr_ops);
	if (!rmr)
		return dapl_fail(DAPL_NO_MEM, "rmr: no memory");
	if (!dapl_obj_use(&pz->obj)) {
		dapl_obj_release(&rmr->obj);
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "the PZ was freed");
	}
	err = vb_mw_create(pz->pd, for_ep ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1,
			   &rmr->mw);
	if (err) {
		dapl_obj_unuse(&pz->obj);
		dapl_obj_release(&rmr->obj);
		return dapl_fail(err == -EOPNOTSUPP
					 ? DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0)
					 : DAPL_NO_RES(MEMORY_REGION),
				 "rmr: %s gave no memory window of type %d: %s",
				 pz->obj.ia->dev.name, for_ep ? 2 : 1,
				 strerror(-err));
	}
	if (for_ep && dapl_windows_enter(&pz->obj.ia->windows, &rmr->window,
					 rmr->mw->rkey)) {
		vb_mw_destroy(rmr->mw);
		dapl_obj_unuse(&pz->obj);
		dapl_obj_release(&rmr->obj);
		return dapl_fail(DAPL_NO_MEM, "rmr: no memory");
	}
	dapl_lock_init(&rmr->lock, DAPL_LOCK_LEAF);
	dapl_list_init(&rmr->binds);
	rmr->pz = pz;
	rmr->param.pz_handle = pz_handle;
	rmr->param.rmr_scope = for_ep ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ;
	dapl_obj_enlist(&rmr->obj);
	*ret_rmr = (DAT_RMR_HANDLE)rmr;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *ret_rmr)
{
	return rmr_create(pz, false, ret_rmr);
}

DAT_RETURN dapl_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *ret_rmr)
{
	return rmr_create(pz, true, ret_rmr);
}

DAT_RETURN dapl_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask,
			  DAT_RMR_PARAM *ret_param)
{
	struct dapl_rmr *rmr = dapl_rmr_from(handle);

	if (!rmr)
		return dapl_fail(DAPL_BAD_HANDLE(RMR), "no such RMR");
	if (mask & ~(unsigned)DAT_RMR_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	dapl_lock(&rmr->lock);
	*ret_param = rmr->param;
	dapl_unlock(&rmr->lock);
	ret_param->ia_handle = dapl_obj_ia_handle(&rmr->obj);
	return DAT_SUCCESS;
}

/* ---------------------------------------------------- bind */

static int window_access(DAT_MEM_PRIV_FLAGS priv)
{
	return (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG ? IBV_ACCESS_REMOTE_READ
						     : 0) |
	       (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? IBV_ACCESS_REMOTE_WRITE
						      : 0);
}

static DAT_RETURN check_bind(const struct dapl_rmr *rmr,
			     const struct dapl_lmr *lmr,
			     const DAT_LMR_TRIPLET *t, DAT_MEM_PRIV_FLAGS priv,
			     DAT_VA_TYPE va_type)
{
	DAT_VADDR start;

	if (lmr->pz != rmr->pz)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "rmr %p: RMR and LMR have different PZs",
				 (const void *)rmr);
	start = lmr->param.registered_address;
	if (t->virtual_address < start ||
	    t->virtual_address - start > lmr->param.registered_size ||
	    t->segment_length >
		    lmr->param.registered_size - (t->virtual_address - start))
		return dapl_fail(DAPL_BAD_ARG(3),
				 "rmr %p: the segment lies outside the LMR",
				 (const void *)rmr);
	if (priv & ~(unsigned)(DAT_MEM_PRIV_REMOTE_READ_FLAG |
			       DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
			       DAT_MEM_PRIV_LOCAL_READ_FLAG |
			       DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return dapl_fail(DAPL_BAD_ARG(4), "unknown privileges 0x%x",
				 (unsigned)priv);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return dapl_fail(DAPL_BAD_ARG(5), "unknown kind of address %d",
				 (int)va_type);
	if (va_type == DAT_VA_TYPE_ZB && rmr->mw->type == IBV_MW_TYPE_1)
		return dapl_fail(DAPL_BAD_ARG(5),
				 "rmr %p: only windows of "
				 "dat_rmr_create_for_ep() count from 0",
				 (const void *)rmr);
	if ((priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) &&
	    !(lmr->param.mem_priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return dapl_fail(DAPL_ERR(DAT_PRIVILEGES_VIOLATION,
					  DAT_PRIVILEGES_WRITE),
				 "rmr %p: the LMR cannot be written",
				 (const void *)rmr);
	return DAT_SUCCESS;
}

/* What a query shows: the bind that was posted last. */
static void rmr_bound(struct dapl_rmr *rmr, const DAT_LMR_TRIPLET *triplet,
		      DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type,
		      DAT_RMR_CONTEXT key)
{
	dapl_lock(&rmr->lock);
	rmr->param.lmr_triplet = *triplet;
	rmr->param.mem_priv = priv;
	rmr->param.va_type = va_type;
	rmr->param.rmr_context = key;
	dapl_unlock(&rmr->lock);
}

static void fill_bind(struct ibv_mw_bind_info *info, struct dapl_lmr *lmr,
		      const DAT_LMR_TRIPLET *t, DAT_MEM_PRIV_FLAGS priv,
		      DAT_VA_TYPE va_type)
{
	info->mr = lmr->mr;
	info->addr = t->virtual_address;
	info->length = t->segment_length;
	info->mw_access_flags = (unsigned)window_access(priv);
	if (va_type == DAT_VA_TYPE_ZB)
		info->mw_access_flags |= IBV_ACCESS_ZERO_BASED;
}

/* Takes the key of a bound window of type 2 back, as a request of our own. */
static DAT_RETURN post_invalidate(struct dapl_rmr *rmr, struct dapl_qp *ep)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV};
	DAT_DTO_COOKIE none = {.as_64 = 0};
	DAT_RETURN ret;

	wr.invalidate_rkey = rmr->mw->rkey;
	ret = dapl_qp_post_request(ep, &wr, DAPL_OP_MARKER, 0, none,
				   DAT_COMPLETION_SUPPRESS_FLAG);
	if (ret == DAT_SUCCESS)
		live_key_set(rmr, 0);
	return ret;
}

/* An unbind of what is not bound: the consumer awaits its completion. */
static DAT_RETURN post_nothing(struct dapl_rmr *rmr, struct dapl_qp *ep,
			       DAT_DTO_COOKIE record,
			       DAT_COMPLETION_FLAGS flags,
			       DAT_RMR_CONTEXT *ret_key)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};

	*ret_key = rmr->mw->rkey;
	return dapl_qp_post_request(ep, &wr, DAT_DTO_BIND_MW, 0, record, flags);
}

/* The device forgets a binding with the queue pair that it came through. */
static bool is_live(struct dapl_rmr *rmr)
{
	/* The key last: it may go while the queue pair is looked at. */
	return rmr->ep && dapl_qp_id(rmr->ep) == rmr->qp_id &&
	       __atomic_load_n(&rmr->window.live_key, __ATOMIC_ACQUIRE);
}

static void bound_through(struct dapl_rmr *rmr, struct dapl_qp *ep,
			  uint64_t qp_id)
{
	struct dapl_qp *old = rmr->ep;

	dapl_obj_get(&ep->obj);
	rmr->ep = ep;
	rmr->qp_id = qp_id;
	if (old)
		dapl_obj_put(&old->obj);
}

/*
 * A bind, or without INFO an unbind. A new bind of a bound window takes two
 * places in the queue. The device forgot a binding through a queue pair that
 * is no more.
 */
static DAT_RETURN post_type2(struct dapl_rmr *rmr, struct dapl_qp *ep,
			     const struct ibv_mw_bind_info *info,
			     DAT_DTO_COOKIE record, DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *ret_key)
{
	uint64_t qp_id = dapl_qp_id(ep);
	bool live = is_live(rmr);
	struct ibv_send_wr wr;
	DAT_RETURN ret;

	memset(&wr, 0, sizeof(wr));
	if (live && info) {
		/* Refused later, the bind would have closed the window. */
		if (!dapl_qp_has_room(ep, 2))
			return dapl_fail(DAPL_NO_MEM,
					 "ep %p: a new bind takes two places",
					 (void *)ep);
		ret = post_invalidate(rmr, ep);
		if (ret != DAT_SUCCESS)
			return ret;
	}
	if (info) {
		wr.opcode = IBV_WR_BIND_MW;
		wr.bind_mw.mw = rmr->mw;
		wr.bind_mw.rkey = ibv_inc_rkey(rmr->mw->rkey);
		wr.bind_mw.bind_info = *info;
		/* A peer may be done with the key before the post returns. */
		live_key_set(rmr, wr.bind_mw.rkey);
	} else if (live) {
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = rmr->mw->rkey;
		/* It may be flushed before the post returns. */
		live_key_set(rmr, 0);
	} else {
		return post_nothing(rmr, ep, record, flags, ret_key);
	}
	ret = dapl_qp_post_request(ep, &wr, DAT_DTO_BIND_MW, 0, record, flags);
	if (ret == DAT_SUCCESS && info) {
		rmr->mw->rkey = wr.bind_mw.rkey;
		bound_through(rmr, ep, qp_id);
	} else if (ret != DAT_SUCCESS) {
		live_key_set(rmr, info ? 0 : rmr->mw->rkey);
	}
	*ret_key = rmr->mw->rkey;
	return ret;
}

/* Posts BIND to LMR, which is used up even in failure, or an unbind. */
static DAT_RETURN post(struct dapl_rmr *rmr, struct dapl_qp *ep,
		       struct dapl_lmr *lmr, struct ibv_mw_bind *bind,
		       DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
		       DAT_RMR_CONTEXT *ret_key)
{
	bool suppressed = flags & DAT_COMPLETION_SUPPRESS_FLAG;
	struct bind_record *record = bind_begin(rmr, lmr, cookie, suppressed);
	DAT_DTO_COOKIE slot_cookie = {.as_ptr = &record->bind};
	DAT_RETURN ret;

	if (!record) {
		dapl_obj_unuse(lmr ? &lmr->obj : NULL);
		return dapl_fail(DAPL_NO_MEM, "rmr: no memory");
	}
	flags &= ~(unsigned)DAT_COMPLETION_SUPPRESS_FLAG;
	/* Drivers read the region of a type 1 window even to unbind it. */
	if (!lmr)
		bind->bind_info.mr = record->old ? record->old->mr : NULL;
	if (!lmr && is_live(rmr))
		record->closes = rmr->mw->rkey;
	if (rmr->mw->type == IBV_MW_TYPE_2)
		ret = post_type2(rmr, ep, lmr ? &bind->bind_info : NULL,
				 slot_cookie, flags, ret_key);
	else if (bind->bind_info.mr)
		ret = dapl_qp_post_bind(ep, rmr->mw, bind, slot_cookie, flags,
					ret_key);
	else
		ret = post_nothing(rmr, ep, slot_cookie, flags, ret_key);
	if (ret != DAT_SUCCESS)
		bind_cancel(record, lmr);
	return ret;
}

DAT_RETURN dapl_rmr_bind(DAT_RMR_HANDLE handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type,
			 DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags,
			 DAT_RMR_CONTEXT *ret_context)
{
	struct dapl_rmr *rmr = dapl_rmr_from(handle);
	struct dapl_lmr *lmr = dapl_lmr_from(lmr_handle);
	struct dapl_qp *ep = dapl_qp_from(ep_handle);
	struct ibv_mw_bind bind = {0};
	DAT_RMR_CONTEXT key = 0;
	DAT_RETURN ret;
	bool unbind;

	if (!rmr)
		return dapl_fail(DAPL_BAD_HANDLE(RMR), "no such RMR");
	if (!triplet)
		return dapl_fail(DAPL_BAD_ARG(3), "rmr: no segment");
	unbind = !triplet->segment_length;
	if (!unbind && !lmr)
		return dapl_fail(DAPL_BAD_HANDLE(LMR), "no such LMR");
	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (ep->pz != rmr->pz)
		return dapl_fail(DAPL_BAD_ARG(6),
				 "rmr %p: RMR and EP have different PZs",
				 (void *)rmr);
	if (rmr->ep && rmr->ep != ep && is_live(rmr))
		return dapl_fail(DAPL_BAD_ARG(6),
				 "rmr %p: it is bound through ep %p, and only "
				 "that can end it",
				 (void *)rmr, (void *)rmr->ep);
	if (!unbind) {
		ret = check_bind(rmr, lmr, triplet, priv, va_type);
		if (ret != DAT_SUCCESS)
			return ret;
		fill_bind(&bind.bind_info, lmr, triplet, priv, va_type);
	}
	if (!unbind && !dapl_obj_use(&lmr->obj))
		return dapl_fail(DAPL_BAD_HANDLE(LMR), "the LMR was freed");
	ret = post(rmr, ep, unbind ? NULL : lmr, &bind, cookie, flags, &key);
	if (ret != DAT_SUCCESS)
		return ret;
	rmr_bound(rmr, triplet, priv, va_type, key);
	if (ret_context)
		*ret_context = key;
	return DAT_SUCCESS;
}

/* ---------------------------------------------------- free */

DAT_RETURN dapl_rmr_free(DAT_RMR_HANDLE handle)
{
	struct dapl_rmr *rmr = dapl_rmr_from(handle);

	if (!rmr || !dapl_obj_retire(&rmr->obj, false))
		return dapl_fail(DAPL_BAD_HANDLE(RMR), "no such RMR");
	dapl_obj_end(&rmr->obj);
	return DAT_SUCCESS;
}
