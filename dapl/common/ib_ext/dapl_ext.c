/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ext.c - dat_extension_op(): RDMA write with immediate data, the atomic
 * operations, datagrams, counters, and IAs for queries only.
 *
 * libdat2 passes the variable arguments on as they are; each operation takes
 * its own off the list, in the order of the macros in dat_ib_extensions.h.
 */
#include "dapl/common/ib_ext/dapl_ext.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep_ud.h"
#include "dapl/common/objects/dapl_ia_calls.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/transfer/dapl_ep_post.h"
#include "dapl/common/transfer/dapl_ib_op.h"

static DAT_RETURN lacks(const struct dapl_qp *qp, const struct dapl_ib_op *op)
{
	return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
			 "ep %p: %s has no %s", (const void *)qp,
			 qp->obj.ia->dev.name, op->what);
}

static DAT_RETURN write_immed(DAT_HANDLE handle, va_list args)
{
	DAT_COUNT segments = va_arg(args, DAT_COUNT);
	DAT_LMR_TRIPLET *iov = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_UINT32 imm = va_arg(args, DAT_UINT32);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);
	const struct dapl_ib_op *op = &dapl_ib_ops[DAPL_IB_WRITE_IMMED];
	struct dapl_qp *qp = handle;

	if (dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) &&
	    !dapl_ib_op_on(op, &qp->obj.ia->dev))
		return lacks(qp, op);
	return dapl_ep_post_write_immed(handle, segments, iov, cookie, remote,
					imm, flags);
}

/* One 8-byte operand here, one there. */
static DAT_RETURN post_atomic(DAT_HANDLE handle, struct ibv_send_wr *wr,
			      enum dapl_ib_op_id id, DAT_LMR_TRIPLET *local,
			      const DAT_RMR_TRIPLET *remote,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	const struct dapl_ib_op *op = &dapl_ib_ops[id];
	struct dapl_qp *qp = handle;

	if (!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) || qp->ud)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (!local || !remote)
		return dapl_fail(local ? DAPL_BAD_ARG(6) : DAPL_BAD_ARG(4),
				 "ep %p: an atomic needs both buffers",
				 (void *)qp);
	if (!dapl_ib_op_on(op, &qp->obj.ia->dev))
		return lacks(qp, op);
	wr->opcode = op->opcode;
	wr->sg_list = (struct ibv_sge *)local;
	wr->num_sge = 1;
	wr->wr.atomic.remote_addr = remote->virtual_address;
	wr->wr.atomic.rkey = remote->rmr_context;
	return dapl_qp_post_request(qp, wr, op->dto, local->segment_length,
				    cookie, flags);
}

static DAT_RETURN fetch_and_add(DAT_HANDLE handle, va_list args)
{
	struct ibv_send_wr wr = {0};
	DAT_LMR_TRIPLET *local;
	DAT_RMR_TRIPLET *remote;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;

	wr.wr.atomic.compare_add = va_arg(args, DAT_UINT64);
	local = va_arg(args, DAT_LMR_TRIPLET *);
	cookie = va_arg(args, DAT_DTO_COOKIE);
	remote = va_arg(args, DAT_RMR_TRIPLET *);
	flags = va_arg(args, DAT_COMPLETION_FLAGS);
	return post_atomic(handle, &wr, DAPL_IB_FETCH_ADD, local, remote,
			   cookie, flags);
}

static DAT_RETURN cmp_and_swap(DAT_HANDLE handle, va_list args)
{
	struct ibv_send_wr wr = {0};
	DAT_LMR_TRIPLET *local;
	DAT_RMR_TRIPLET *remote;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;

	wr.wr.atomic.compare_add = va_arg(args, DAT_UINT64);
	wr.wr.atomic.swap = va_arg(args, DAT_UINT64);
	local = va_arg(args, DAT_LMR_TRIPLET *);
	cookie = va_arg(args, DAT_DTO_COOKIE);
	remote = va_arg(args, DAT_RMR_TRIPLET *);
	flags = va_arg(args, DAT_COMPLETION_FLAGS);
	return post_atomic(handle, &wr, DAPL_IB_CMP_SWAP, local, remote, cookie,
			   flags);
}

static DAT_RETURN send_ud(DAT_HANDLE handle, va_list args)
{
	DAT_COUNT segments = va_arg(args, DAT_COUNT);
	DAT_LMR_TRIPLET *iov = va_arg(args, DAT_LMR_TRIPLET *);
	const DAT_IB_ADDR_HANDLE *to = va_arg(args, DAT_IB_ADDR_HANDLE *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dapl_ep_post_send_ud(handle, segments, iov, to, cookie, flags);
}

static DAT_RETURN ud_cm_free(DAT_HANDLE handle, va_list args)
{
	return dapl_ep_ud_cm_free(handle, va_arg(args, DAT_CONTEXT));
}

static DAT_RETURN ud_ah_free(DAT_HANDLE handle, va_list args)
{
	return dapl_ep_ud_ah_free(handle, va_arg(args, DAT_IB_ADDR_HANDLE *));
}

/* libdat2 has taken the name off the list, and gives it as handle. */
static DAT_RETURN open_query(DAT_HANDLE name, va_list args)
{
	DAT_HANDLE *ret_ia = va_arg(args, DAT_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *attr = va_arg(args, DAT_PROVIDER_ATTR *);

	return dapl_ia_open_query(name, ret_ia, ia_mask, ia_attr, mask, attr);
}

static DAT_RETURN close_query(DAT_HANDLE ia, va_list args)
{
	return dapl_ia_close_query(ia);
}

/* What leads to system calls runs with cancellation off (dapl_cancel.h). */
static const struct {
	int op;
	DAT_RETURN (*fn)(DAT_HANDLE handle, va_list args);
	bool shielded;
} operations[] = {
	{DAT_IB_FETCH_AND_ADD_OP, fetch_and_add, false},
	{DAT_IB_CMP_AND_SWAP_OP, cmp_and_swap, false},
	{DAT_IB_RDMA_WRITE_IMMED_OP, write_immed, false},
	{DAT_IB_UD_SEND_OP, send_ud, false},
	{DAT_IB_UD_CM_FREE_OP, ud_cm_free, false},
	{DAT_IB_UD_AH_FREE_OP, ud_ah_free, false},
	{DAT_IB_QUERY_COUNTERS_OP, dapl_ext_query_counters, true},
	{DAT_IB_PRINT_COUNTERS_OP, dapl_ext_print_counters, true},
	{DAT_IB_START_COUNTERS_OP, dapl_ext_start_counters, true},
	{DAT_IB_STOP_COUNTERS_OP, dapl_ext_stop_counters, true},
	{DAT_IB_OPEN_QUERY_OP, open_query, true},
	{DAT_IB_CLOSE_QUERY_OP, close_query, true},
};

DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DAT_RETURN ret;
	int cancel;

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]);
	     i++) {
		if (operations[i].op != (int)op)
			continue;
		if (!operations[i].shielded)
			return operations[i].fn(handle, args);
		cancel = dapl_cancel_off();
		ret = operations[i].fn(handle, args);
		dapl_cancel_restore(cancel);
		return ret;
	}
	return dapl_fail(DAPL_ERR(DAT_NOT_IMPLEMENTED, 0),
			 "the provider has no extension operation %d", (int)op);
}
