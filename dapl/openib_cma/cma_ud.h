/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_ud.h - how datagram endpoints ask and answer one another over rdma_cm.
 *
 * rdma_cm's datagram service (RDMA_PS_UDP: InfiniBand's service ID resolution)
 * tells who asks the peer's queue pair and the way to it. Who is asked learns
 * nothing of that but private data; so private data begins with a block of
 * ours: in a request who asks and the way he found, which is gone backwards
 * here, in an answer how much follows. doc/cm-protocol.md has their layout.
 *
 * Whoever gets no answer asks again, and rdma_cm takes that for another request
 * once it has answered the first. So what a consumer answers is kept for as
 * long as somebody may ask again.
 */
#ifndef CMA_UD_H
#define CMA_UD_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "dapl/common/services/dapl_list.h"

struct cma;
struct cma_event;
struct vb_dev;

/* The most that begins with a block. */
#define CMA_UD_ROOM 128

/* The other end. */
struct cma_ud_peer {
	uint32_t qpn;
	struct ibv_ah_attr av;
	uint64_t attempt; /* the number that its repeats have, too; passive */
};

/* What an instance keeps of datagrams. */
struct cma_ud {
	uint8_t gid_index;	/* constant from start(): its own GID */
	bool listens;		/* constant from start(): there is such a GID */
	uint64_t last;		/* atomic; number of the last attempt */
	struct dapl_list given; /* answers, the oldest first; cm->lock */
	unsigned n_given;	/* cm->lock */
};

void cma_ud_init(struct cma_ud *ud);
/* For start(): finds the own GID, without which others ask in vain. */
void cma_ud_start(struct cma *cm);
void cma_ud_fini(struct cma_ud *ud);

/*
 * The request of queue pair QPN by the way that ID has found, with SIZE bytes
 * of private data, into BUF (CMA_UD_ROOM); returns its size, 0: there is no
 * such way.
 */
size_t cma_ud_ask(struct cma *cm, const struct rdma_cm_id *id, uint32_t qpn,
		  const void *pdata, size_t size, uint8_t *buf);
/*
 * Who asks by EV, from ADDR, and his private data, which is part of EV. NULL,
 * or what is wrong with it.
 */
const char *cma_ud_asked(const struct cma *cm, const struct sockaddr *addr,
			 const struct cma_event *ev,
			 struct cma_ud_peer *ret_peer,
			 const uint8_t **ret_pdata, size_t *ret_size);

/*
 * Answers PEER, who asks by ID: with queue pair QPN, or 0: no. 0 or -errno.
 * Any thread.
 */
int cma_ud_answer(struct cma *cm, struct rdma_cm_id *id,
		  const struct cma_ud_peer *peer, uint32_t qpn,
		  const void *pdata, size_t size);
/* Answers as before if this is a repeat, or returns false. */
bool cma_ud_again(struct cma *cm, struct rdma_cm_id *id,
		  const struct cma_ud_peer *peer);
/* Private data of an answer. False: it is no datagram endpoint's. */
bool cma_ud_answered(const struct cma_event *ev, const uint8_t **ret_pdata,
		     size_t *ret_size);

#endif
