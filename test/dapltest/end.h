/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * end.h - one end of a connection: an endpoint with queues of its own.
 *
 * Does not own what is sent and received. Threads: an end belongs to one thread
 * at a time. Ownership: dpt_end_close() releases whatever there is, at any
 * point. Rule: every wait has the limit of the run and notices that the peer
 * left or that somebody asked to stop. A completion counts only if it is the
 * one that was expected.
 */
#ifndef DAPLTEST_END_H
#define DAPLTEST_END_H

#include "test/dapltest/dapltest.h"
#if DAT_FACE == 2
#include "test/dtest/common/dt_ud.h"
#endif

/* What an end must be able to hold. */
struct dpt_end_needs {
	const char *name; /* for messages */
	uint32_t receives;
	uint32_t requests; /* binds too */
	uint32_t segs;	   /* of one request or receive */
	uint32_t bytes;
	uint64_t bulk;		/* bytes that may move while this side waits */
	enum dt_wait_mode mode; /* of completions */
	bool ud;		/* datagrams */
};

struct dpt_end {
	char name[40];
	DAT_EVD_HANDLE rcv_evd;
	DAT_EVD_HANDLE req_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE cr_evd; /* of its own service point, if any */
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	struct dt_waiter w;
	uint64_t limit_ns; /* of a wait for completions */
	bool requested;	   /* a client came to the service point */
	bool connected;
	bool ud;
	struct dpt_region grh; /* datagrams: what is in front of them */
#if DAT_FACE == 2
	struct dt_ud_peer peer; /* datagrams: where they go */
#endif
};

/* A request to post. remote is for RDMA. */
struct dpt_request {
	enum dpt_op_type type;
	const DAT_LMR_TRIPLET *iov;
	uint32_t segs;
	const DAT_RMR_TRIPLET *remote;
	uint64_t cookie;
};

int dpt_end_open(struct dpt *d, DAT_PZ_HANDLE pz,
		 const struct dpt_end_needs *needs, struct dpt_end *e);
int dpt_end_close(struct dpt *d, struct dpt_end *e, int rc);

/*
 * Listens on qual, with an RSP or a PSP. Returns 0, -EADDRINUSE (unreported),
 * or an exit status.
 */
int dpt_end_listen(struct dpt *d, struct dpt_end *e, uint32_t qual, bool rsp);
/* Accepts the next request of the end's own service point. */
int dpt_end_accept(struct dpt *d, struct dpt_end *e, const void *pdata,
		   int pdata_size);
/* Accepts a request that came elsewhere. */
int dpt_end_take(struct dpt *d, struct dpt_end *e, DAT_CR_HANDLE cr);
/* Returns 0, -ECONNREFUSED (the peer rejects, unreported), or a status. */
int dpt_end_connect(struct dpt *d, struct dpt_end *e, uint32_t qual,
		    const void *pdata, int pdata_size);
/*
 * Ends the connection. With peer_first the peer gets some time to do so, so
 * that its last requests complete.
 */
int dpt_end_part(struct dpt *d, struct dpt_end *e, DAT_CLOSE_FLAGS how,
		 bool peer_first);

DAT_LMR_TRIPLET dpt_segment(const struct dpt_region *region, size_t offset,
			    size_t length);
int dpt_end_post(struct dpt *d, struct dpt_end *e,
		 const struct dpt_request *req);
int dpt_end_post_recv(struct dpt *d, struct dpt_end *e,
		      const DAT_LMR_TRIPLET *iov, uint32_t segs,
		      uint64_t cookie);

/*
 * Makes an RMR and opens it onto the whole region, which takes a connection;
 * freeing it closes it again.
 */
int dpt_end_bind(struct dpt *d, struct dpt_end *e, DAT_PZ_HANDLE pz,
		 const struct dpt_region *region, DAT_MEM_PRIV_FLAGS privileges,
		 DAT_RMR_HANDLE *ret_rmr, DAT_RMR_CONTEXT *ret_context);

/*
 * Takes the next completion of evd, any that succeeded. what: for the error
 * text.
 */
int dpt_end_next(struct dpt *d, struct dpt_end *e, DAT_EVD_HANDLE evd,
		 const char *what, DAT_DTO_COMPLETION_EVENT_DATA *ret_dto);
/* The same, and it must have this cookie and length. */
int dpt_end_reap(struct dpt *d, struct dpt_end *e, DAT_EVD_HANDLE evd,
		 uint64_t cookie, uint64_t length, const char *what);

/* One message of one segment, sent and completed. */
int dpt_end_send(struct dpt *d, struct dpt_end *e,
		 const struct dpt_region *region, size_t offset, size_t length,
		 uint64_t cookie, const char *what);
/*
 * The last message of a conversation. A peer that has it may leave before
 * this side hears that it arrived; that is no failure.
 */
int dpt_end_send_last(struct dpt *d, struct dpt_end *e,
		      const struct dpt_region *region, size_t offset,
		      size_t length, uint64_t cookie, const char *what);

#endif /* DAPLTEST_END_H */
