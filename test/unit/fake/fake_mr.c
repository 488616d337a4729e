/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_mr.c: protection domains, memory regions, memory windows, and the key
 * checks every data movement makes. No on-demand paging, no device memory.
 * Threads: verbs take the fake's lock; fv__ functions expect it held.
 * Ownership: a region stays while a window is bound to it (ibv_dereg_mr(3)).
 * Rules: InfiniBand vol. 1 ch. 10.6 (keys, windows type 1, 2A and 2B); a
 * region's iova may differ from its address, also be zero.
 */
#include "fake_int.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define FV_REMOTE                                           \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)

static void free_pd(struct fv_obj *obj)
{
	free(fv_container(obj, struct fv_pd, obj));
}

static void free_mr(struct fv_obj *obj)
{
	free(fv_container(obj, struct fv_mr, obj));
}

static void free_mw(struct fv_obj *obj)
{
	free(fv_container(obj, struct fv_mw, obj));
}

static struct fv_obj *pd_obj(struct ibv_pd *pd)
{
	return &fv_container(pd, struct fv_pd, pd)->obj;
}

static int count_on(enum fv_obj_kind kind, struct ibv_context *ctx)
{
	struct fv_obj *o;
	int n = 0;

	fv_for_each(o, kind)
	{
		struct ibv_context *c =
			kind == FV_OBJ_PD
				? fv_container(o, struct fv_pd, obj)->pd.context
			: kind == FV_OBJ_MR
				? fv_container(o, struct fv_mr, obj)->mr.context
				: fv_container(o, struct fv_mw, obj)
					  ->mw.context;
		n += c->device == ctx->device;
	}
	return n;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct fv_pd *p;

	if (fv__call("ibv_alloc_pd"))
		return NULL;
	if (count_on(FV_OBJ_PD, context) >=
	    fv__device(context)->cfg.attr.max_pd)
		return fv__refuse(ENOMEM);
	p = fv_new(struct fv_pd, FV_OBJ_PD, free_pd);
	p->pd.context = context;
	p->pd.handle = p->obj.num;
	fv__context(context)->obj.refs++;
	fv__leave();
	return &p->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct fv_obj *obj = pd_obj(pd);
	int err = 0;

	fv__call_sure("ibv_dealloc_pd");
	if (obj->refs) {
		err = EBUSY;
	} else {
		fv__context(pd->context)->obj.refs--;
		fv__drop(obj);
	}
	return fv__done(err);
}

/* The kernel pins the pages; here it is enough that the ends are mapped. */
static bool mapped(void *addr, size_t length)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)addr & ~(page - 1);
	uintptr_t last = ((uintptr_t)addr + length - 1) & ~(page - 1);
	unsigned char vec;

	return !mincore((void *)first, 1, &vec) &&
	       !mincore((void *)last, 1, &vec);
}

/* The kernel's own check, whatever the device: both at one place in a page. */
static bool same_offset(const void *addr, uint64_t iova)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return !(((uintptr_t)addr ^ iova) & (page - 1));
}

static int check_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
		    unsigned int access)
{
	const struct ibv_device_attr *a = &fv__device(pd->context)->cfg.attr;
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | FV_REMOTE |
				   IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
				   IBV_ACCESS_HUGETLB |
				   IBV_ACCESS_OPTIONAL_RANGE;

	if (access & ~known)
		return EINVAL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (!length || length > a->max_mr_size ||
	    (uintptr_t)addr + length < (uintptr_t)addr ||
	    !same_offset(addr, iova))
		return EINVAL;
	if (count_on(FV_OBJ_MR, pd->context) >= a->max_mr)
		return ENOMEM;
	return mapped(addr, length) ? 0 : EFAULT;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	struct fv_mr *m;
	int err;

	if (fv__call("ibv_reg_mr"))
		return NULL;
	err = check_mr(pd, addr, length, iova, access);
	if (err)
		return fv__refuse(err);
	fv__block(pd->context);
	m = fv_new(struct fv_mr, FV_OBJ_MR, free_mr);
	m->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	m->access = access;
	m->mr.context = pd->context;
	m->mr.pd = pd;
	m->mr.addr = addr;
	m->mr.length = length;
	m->mr.handle = m->obj.num;
	m->mr.lkey = m->mr.rkey = m->obj.num << 8 | 0x5a;
	pd_obj(pd)->refs++;
	fv__leave();
	return &m->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr,
				(unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct fv_mr *m = fv_container(mr, struct fv_mr, mr);
	int err = 0;

	fv__call_sure("ibv_dereg_mr");
	fv__block(mr->context);
	if (m->windows) {
		err = EINVAL;
	} else {
		pd_obj(mr->pd)->refs--;
		fv__drop(&m->obj);
	}
	return fv__done(err);
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	(void)mr, (void)flags, (void)pd, (void)addr, (void)length, (void)access;
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

struct ibv_mw *fv__alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	const struct ibv_device_attr *a = &fv__device(pd->context)->cfg.attr;
	unsigned int cap = type == IBV_MW_TYPE_1
				   ? IBV_DEVICE_MEM_WINDOW
				   : IBV_DEVICE_MEM_WINDOW_TYPE_2A |
					     IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	unsigned int bit = type == IBV_MW_TYPE_1 ? FV_MW_1 : FV_MW_2;
	struct fv_mw *w;
	int refused;

	if (fv__call("ibv_alloc_mw"))
		return NULL;
	refused = fv__device(pd->context)->cfg.mw_errors[type == IBV_MW_TYPE_2];
	if (refused)
		return fv__refuse(refused);
	if (!(a->device_cap_flags & cap) ||
	    !(fv__device(pd->context)->cfg.mw_types & bit))
		return fv__refuse(EOPNOTSUPP);
	if (count_on(FV_OBJ_MW, pd->context) >= a->max_mw)
		return fv__refuse(ENOMEM);
	w = fv_new(struct fv_mw, FV_OBJ_MW, free_mw);
	w->mw.context = pd->context;
	w->mw.pd = pd;
	w->mw.type = type;
	w->mw.handle = w->obj.num;
	w->mw.rkey = w->key = w->obj.num << 8;
	pd_obj(pd)->refs++;
	fv__leave();
	return &w->mw;
}

static void unbind(struct fv_mw *w)
{
	if (w->mr)
		w->mr->windows--;
	w->mr = NULL;
	w->qp = NULL;
}

int fv__dealloc_mw(struct ibv_mw *mw)
{
	struct fv_mw *w = fv_container(mw, struct fv_mw, mw);

	fv__call_sure("ibv_dealloc_mw");
	unbind(w);
	pd_obj(mw->pd)->refs--;
	fv__drop(&w->obj);
	return fv__done(0);
}

/* A type 1 bind is a verb of its own; the device still sees a request. */
int fv__bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *b)
{
	struct ibv_send_wr wr = {.wr_id = b->wr_id,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = b->send_flags};
	struct ibv_send_wr *bad;
	int err;

	if (b->bind_info.mw_access_flags & ~(unsigned int)FV_REMOTE)
		return EINVAL;
	/* Drivers read the region even where a length of 0 unbinds. */
	if (!b->bind_info.mr)
		return EINVAL;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = b->bind_info;
	err = fv__post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

static bool inside(uint64_t addr, uint64_t len, uint64_t base, uint64_t size)
{
	return addr >= base && len <= size && addr - base <= size - len;
}

static bool bind_allowed(struct fv_qp *qp, const struct fv_mw *w,
			 const struct fv_mr *m, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *i = &wr->bind_mw.bind_info;

	if (w->mw.pd != qp->qp.pd || m->mr.pd != qp->qp.pd)
		return false;
	if (w->mw.type == IBV_MW_TYPE_2 &&
	    (w->mr || (wr->bind_mw.rkey & 0xff) == (w->key & 0xff)))
		return false;
	if (!(m->access & IBV_ACCESS_MW_BIND))
		return false;
	if ((i->mw_access_flags &
	     (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(m->access & IBV_ACCESS_LOCAL_WRITE))
		return false;
	return inside(i->addr, i->length, m->iova, m->mr.length);
}

bool fv__mw_bind(struct fv_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *i = &wr->bind_mw.bind_info;
	struct fv_mw *w = fv_container(wr->bind_mw.mw, struct fv_mw, mw);
	struct fv_mr *m = i->mr ? fv_container(i->mr, struct fv_mr, mr) : NULL;

	if (!i->length && w->mw.type == IBV_MW_TYPE_1) {
		unbind(w);
		w->key = wr->bind_mw.rkey;
		return true;
	}
	if (!m || !i->length || !bind_allowed(qp, w, m, wr))
		return false;
	unbind(w);
	w->key = (w->key & ~0xffU) | (wr->bind_mw.rkey & 0xff);
	w->mr = m;
	m->windows++;
	w->qp = w->mw.type == IBV_MW_TYPE_2 ? qp : NULL;
	w->addr = i->addr;
	w->length = i->length;
	w->access = i->mw_access_flags;
	return true;
}

static struct fv_mw *window(struct ibv_context *ctx, uint32_t rkey)
{
	struct fv_obj *o = fv__find(FV_OBJ_MW, rkey >> 8);
	struct fv_mw *w = o ? fv_container(o, struct fv_mw, obj) : NULL;

	return w && w->key == rkey && w->mw.context->device == ctx->device
		       ? w
		       : NULL;
}

bool fv__mw_invalidate(struct fv_qp *qp, uint32_t rkey)
{
	struct fv_mw *w = window(qp->qp.context, rkey);

	/* Windows of type 2B are one queue pair's. */
	if (!w || w->mw.type != IBV_MW_TYPE_2 || !w->mr || w->qp != qp)
		return false;
	unbind(w);
	return true;
}

static struct fv_mr *region(struct ibv_pd *pd, uint32_t key)
{
	struct fv_obj *o = fv__find(FV_OBJ_MR, key >> 8);
	struct fv_mr *m = o ? fv_container(o, struct fv_mr, obj) : NULL;

	return m && m->mr.lkey == key && m->mr.pd == pd ? m : NULL;
}

static void *translate(const struct fv_mr *m, uint64_t addr)
{
	return (char *)m->mr.addr + (addr - m->iova);
}

void *fv__local(struct ibv_pd *pd, const struct ibv_sge *sge,
		unsigned int access)
{
	struct fv_mr *m = region(pd, sge->lkey);

	if (!m || (m->access & access) != access ||
	    !inside(sge->addr, sge->length, m->iova, m->mr.length))
		return NULL;
	return translate(m, sge->addr);
}

void *fv__remote(struct fv_qp *qp, uint32_t rkey, uint64_t addr, uint64_t len,
		 unsigned int access)
{
	struct fv_mr *m;
	struct fv_mw *w;

	if ((qp->attr.qp_access_flags & access) != access)
		return NULL;
	m = region(qp->qp.pd, rkey);
	if (m)
		return (m->access & access) == access &&
				       inside(addr, len, m->iova, m->mr.length)
			       ? translate(m, addr)
			       : NULL;
	w = window(qp->qp.context, rkey);
	if (!w || !w->mr || w->mw.pd != qp->qp.pd || (w->qp && w->qp != qp))
		return NULL;
	if ((w->access & access) != access ||
	    !inside(addr, len, w->addr, w->length))
		return NULL;
	return translate(w->mr, addr);
}
