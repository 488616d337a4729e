/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cno.h - consumer notification object: an epoll set over the descriptors
 * of its EVDs.
 *
 * Waiting on a CNO is polling that set; its file descriptor for programs that
 * poll is the epoll descriptor itself. The trigger of an EVD stays in that
 * EVD's descriptors until somebody takes it, which is the latch of depth one
 * that the specification describes. A proxy agent is called on the service
 * thread, which watches the set only while an agent is there. Who takes a
 * trigger where there are both, a waiter and an agent, hands it on to the
 * other: either is to hear of it.
 */
#ifndef DAPL_CNO_H
#define DAPL_CNO_H

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_loop.h"

struct dapl_cno {
	struct dapl_obj obj;
	struct dapl_lock lock; /* role CNO */
	int epfd;	       /* constant */
	int poke_fd;	/* eventfd in the set; readable: look for a reason */
	int waiters;	/* lock */
	unsigned pokes; /* lock; each releases the waiters of its time */
	int leaving;	/* lock; those that have not gone; 0: not readable */
	bool dead;	/* lock */
	DAT_PROXY_TYPE proxy_type;     /* lock */
	DAT_OS_WAIT_PROXY_AGENT agent; /* lock; called once, then gone */
	struct dapl_watch watch;       /* on the set, while there is an agent */
	struct dapl_evd *for_waiter;   /* lock; what the agent was called for */
	struct dapl_evd *for_agent; /* lock; what a waiter has returned with */
	DAT_OS_WAIT_PROXY_AGENT
	owed;		       /* lock; the agent that is to hear of it */
	struct dapl_work work; /* which that is done by */
};

static inline struct dapl_cno *dapl_cno_from(DAT_CNO_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_CNO);
}

static inline struct dapl_obj *dapl_cno_obj(struct dapl_cno *cno)
{
	return &cno->obj;
}

/* An EVD has let go of CNO; the last one releases its waiters. */
void dapl_cno_unuse(struct dapl_cno *cno);

DAT_RETURN dapl_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
			   DAT_CNO_HANDLE *ret_cno);
DAT_RETURN dapl_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *ret_fd,
			      DAT_CNO_HANDLE *ret_cno);
DAT_RETURN dapl_cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE *ret_evd);
DAT_RETURN dapl_cno_modify_agent(DAT_CNO_HANDLE handle,
				 DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN dapl_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask,
			  DAT_CNO_PARAM *ret_param);
DAT_RETURN dapl_cno_free(DAT_CNO_HANDLE handle);
DAT_RETURN dapl_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout,
			 DAT_EVD_HANDLE *ret_evd);

#endif
