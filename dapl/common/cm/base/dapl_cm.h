/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm.h - THE contract between the DAT objects and a connection manager.
 *
 * A provider (a folder dapl/openib_NAME) fills a struct dapl_cm_ops; the
 * objects know it by nothing else. Traffic upwards goes through struct
 * dapl_cm_up, so that a test can pass a recorder. How one begins:
 * doc/connection-manager.md.
 *
 * Rules for every op, unless its comment says otherwise:
 *  - it does not block: no name service, no wait for the peer, nor for the
 *    kernel to find out whether there is one;
 *  - it is called with none of our locks held, from any thread, also from
 *    inside an upcall (on the service thread);
 *  - it returns 0 or a negative errno, and after a failure nothing has changed;
 *  - it leaves the reason of a failure, other than -ENOMEM, with
 *    dapl_fail_errno(); open() and start() of that, too.
 * Rules for every upcall:
 *  - made on the service thread of the loop in struct dapl_cm, or on the
 *    thread that is inside an op, with none of the provider's locks held;
 *  - the callee does not block and may call ops.
 * Those that move a queue pair (qp_*) say for themselves what differs.
 *
 * Who owns what: a struct dapl_cm_conn belongs to the provider. The objects
 * hold it from prepare()/request until they call release(), which they do
 * exactly once for each connection they got; afterwards they never touch it.
 * While a connection has an endpoint it keeps a reference on it (taken by the
 * objects when they call prepare() or accept()), given back by the upcall
 * gone(). A provider may use the endpoint's queue pair only through the upcalls
 * qp_move() and qp_error(), which do nothing once the connection is not the
 * endpoint's any more: by then the queue pair may be another one, though its
 * number be the same.
 *
 * Timeouts that the consumer asks for are kept by the objects, not by the
 * provider; a provider has only its own protocol's.
 */
#ifndef DAPL_CM_H
#define DAPL_CM_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dapl/common/cm/base/dapl_cm_event.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/services/dapl_param.h"
#include "dapl/common/verbs/vb.h"

struct dapl_cm_ops;
struct dapl_cm_up;
struct dapl_cm_conn;	 /* one connection: dapl_cm_base.h */
struct dapl_cm_listener; /* one service point: dapl_cm_base.h */
struct dapl_cm_hooks;
struct dapl_cm_sizes;
struct dapl_ep;
struct dapl_sp;
struct dapl_ia;

/* Private data never exceeds this in any provider (iWARP's limit). */
#define DAPL_CM_PDATA_MAX 512

/*
 * Base of a provider's instance for one IA; the provider embeds it first.
 * The fields of the first group are set by the objects before open(), those of
 * the second by open(), the device before start(); the last are none of theirs.
 */
struct dapl_cm {
	const struct dapl_cm_ops *ops;
	const struct dapl_cm_up *up;
	struct dapl_ia *ia; /* opaque to the provider; passed back */
	struct dapl_loop *loop;
	const void *params; /* filled by ops->params; NULL if that is */
	uint64_t *counts;   /* by DCNT_IA_* of dat_ib_extensions.h; or NULL */

	char dev_name[IBV_SYSFS_NAME_MAX]; /* verbs device to open */
	uint8_t port;
	struct sockaddr_storage addr; /* the IA address; may wait for start() */

	struct vb_dev *dev; /* valid from start() to stop() */

	/* Of every connection manager alike: dapl_cm_base.h. */
	const struct dapl_cm_hooks *hooks;
	const struct dapl_cm_sizes *sizes;
	struct dapl_lock lock;	/* role CONN */
	bool stopped;		/* lock */
	bool leaving;		/* lock; stop() has begun: nothing new */
	struct dapl_list nodes; /* lock; all of them */
	struct dapl_list todo;	/* lock; what WORK has to look at */
	struct dapl_list dead;	/* given up by stop() before their release */
	struct dapl_work work;
};

/* What a connection needs to know of the endpoint it will carry. */
struct dapl_cm_qp {
	uint32_t qp_num;
	bool has_srq;
	bool ud;
	uint8_t responder_resources; /* reads the peer may have outstanding here
				      */
	uint8_t initiator_depth;     /* reads we may have outstanding there */
};

struct dapl_cm_connect {
	struct dapl_cm_qp qp;
	const struct sockaddr *addr; /* of an IA; not yet checked */
	DAT_CONN_QUAL qual;
	const void *pdata; /* copied; may be NULL when the size is 0 */
	size_t pdata_size; /* checked against max_pdata() */
};

/* A request as the peer sent it. Pointers are valid during the upcall only. */
struct dapl_cm_request {
	const struct sockaddr *peer_addr;
	DAT_PORT_QUAL peer_port;
	const void *pdata;
	size_t pdata_size;
	bool pdata_truncated;
	bool ud; /* of a datagram endpoint, for another such */
};

/*
 * Moving EP's queue pair on behalf of CONN. On Ethernet the kernel looks for
 * the peer's hardware address inside such a change, and sleeps a second or more
 * where nobody answers; so it is a job (dapl_jobs.h), mostly a helper thread's.
 *
 * The move for CONN is over. RET: 0, -ENOTCONN when CONN is not the endpoint's
 * connection any more (its release follows), or the device's error; then the
 * queue pair may be in any of the states asked for. -ETIMEDOUT: no hardware
 * address was found this time, which another move may mend; so the provider
 * tries as often as it tries to find its peers. Service thread, no lock held.
 */
typedef void dapl_cm_moved_fn(struct dapl_cm_conn *conn, int ret);

struct dapl_cm_up {
	/*
	 * A peer asks SP for a connection. The callee takes over CONN and will
	 * accept(), reject() or just release() it, perhaps before returning.
	 */
	void (*request)(struct dapl_sp *sp, struct dapl_cm_conn *conn,
			const struct dapl_cm_request *req);
	/*
	 * EVENT of a connection that has an endpoint. Of the events other than
	 * ESTABLISHED at most one arrives, and nothing after it; between
	 * datagram endpoints ESTABLISHED is the last, too. PDATA (SIZE
	 * bytes, valid during the call) comes with ESTABLISHED on the active
	 * side and with PEER_REJECTED, else it is NULL and 0.
	 */
	void (*event)(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size);
	/*
	 * The provider has forgotten EP: its reference goes back. Exactly once
	 * for each prepare() or accept() that returned 0, after release() has
	 * been called (perhaps inside it), and the last thing heard of the
	 * connection.
	 */
	void (*gone)(struct dapl_ep *ep);
	/* The listener has forgotten SP: once for each listen(), after
	 * unlisten(). */
	void (*unlistened)(struct dapl_sp *sp);

	/* These: any thread. */

	/*
	 * Begins to take EP's queue pair through N STEPS; MOVED follows, never
	 * before the return, unless qp_stop() comes first. -ENOTCONN when CONN
	 * is not the endpoint's connection any more, that has no queue pair, or
	 * it is being moved already; -ENOMEM.
	 *
	 * While it goes on, it counts as an op that runs: release() does not
	 * come.
	 */
	int (*qp_move)(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct vb_qp_step *steps, int n,
		       dapl_cm_moved_fn *moved);
	/*
	 * The same for a datagram endpoint, whose queue pair stays as it is:
	 * begins to make the address handle of AV, to CONN's peer, whose queue
	 * pair is QPN.
	 */
	int (*ah_make)(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct ibv_ah_attr *av, uint32_t qpn,
		       dapl_cm_moved_fn *moved);
	/*
	 * EP's queue pair to ERR, from any state. If it is being moved, at the
	 * move's end: what the objects report waits for that. Nothing once CONN
	 * is not EP's. Does not block.
	 */
	void (*qp_error)(struct dapl_ep *ep, const struct dapl_cm_conn *conn);
	/*
	 * For stop(), which does so for every connection with an endpoint: no
	 * move or ah_make() for CONN is running after this, and MOVED will not
	 * come. Waits for the kernel if it has begun.
	 */
	void (*qp_stop)(struct dapl_ep *ep, const struct dapl_cm_conn *conn);
	/*
	 * The device is being removed, which may wait until nothing on it is
	 * open. Service thread; as often as the connection manager hears of it.
	 */
	void (*device_gone)(struct dapl_ia *ia);
};

struct dapl_cm_ops {
	const char *name;   /* DAT_IB_PROVIDER_NAME, and in log lines */
	int default_inline; /* bytes, unless DAPL_MAX_INLINE says otherwise */
	/* Addresses are no socket addresses, whatever their family says: there
	 * is no port in them. */
	bool addr_without_port;
	/* Datagram endpoints find one another by it. */
	bool datagrams;
	/* Peers may be older than the header of rejects: who refuses without
	 * one, for the consumer's reason, is taken for the consumer. */
	bool bare_rejects;
	/* dat_psp_create_any() picks from 1024 to this; none of these stands
	 * for a privileged port. */
	uint16_t any_qual_last;
	/* Its environment variables, read for each IA; or NULL. */
	const struct dapl_param_table *params;

	/*
	 * Makes an instance from the text of ia_params (hostile until parsed):
	 * finds device, port and address. May block for local look-ups (the
	 * kernel, /etc/hosts). BASE is copied into the instance.
	 * -EINVAL: the text is not understood; -EADDRNOTAVAIL: what it names is
	 * not here, or of no use; or another of this host.
	 */
	int (*open)(const char *ia_params, const struct dapl_cm *base,
		    struct dapl_cm **ret_cm);
	/*
	 * The device is open: begin to use it and the loop. -EADDRNOTAVAIL: it
	 * is of no use; or another of the device.
	 */
	int (*start)(struct dapl_cm *cm);
	/*
	 * Refuses new work, gives up every connection and listener, and waits
	 * until no upcall is running or will come, other than gone() and
	 * unlistened(), which are made before it returns. Blocks, bounded:
	 * peers that believe themselves connected are to hear of it.
	 */
	void (*stop)(struct dapl_cm *cm);
	/* Frees an instance that was stopped or never started. */
	void (*close)(struct dapl_cm *cm);
	/*
	 * The device says EVENT of a queue pair or completion queue that is
	 * none of the objects', or of the port's GIDs. Service thread, not
	 * before start() has returned and not once stop() is called. NULL: it
	 * goes by none of these.
	 */
	void (*device_event)(struct dapl_cm *cm,
			     const struct ibv_async_event *event);

	/* Largest private data of requests, accepts and rejects. */
	size_t (*max_pdata)(const struct dapl_cm *cm);

	/*
	 * Listens on QUAL. *RET_L is written before the first request() is
	 * made. How many requests may be unanswered is the provider's to say,
	 * by the memory they take; what is too much waits and is not refused.
	 * May block for the kernel. -EADDRINUSE: taken,
	 * -EINVAL: not a qualifier of this provider, -EACCES: privileged.
	 */
	int (*listen)(struct dapl_cm *cm, DAT_CONN_QUAL qual,
		      struct dapl_sp *sp, struct dapl_cm_listener **ret_l);
	/*
	 * No request() starts after the return; one may still be running. Peers
	 * whose requests were not reported hear what they would without a
	 * listener.
	 */
	void (*unlisten)(struct dapl_cm_listener *l);

	/*
	 * Makes the connection object of an attempt by EP and takes over one
	 * reference on EP; nothing happens on the wire yet. -ENOMEM.
	 */
	int (*prepare)(struct dapl_cm *cm, struct dapl_ep *ep,
		       struct dapl_cm_conn **ret_conn);
	/*
	 * Starts the attempt, once per prepared connection. The result comes as
	 * one event, perhaps before the return. release() follows a failure.
	 * -EAFNOSUPPORT, -EADDRNOTAVAIL, -EINVAL: the address or qualifier
	 * cannot be used; -EMFILE, -ENFILE, -ENOBUFS: this host lacks something
	 * for it, which is not the peer's refusal.
	 */
	int (*connect)(struct dapl_cm_conn *conn,
		       const struct dapl_cm_connect *req);
	/*
	 * Accepts a request with EP, which is of the kind that asks (datagrams
	 * or not), and takes over one reference on EP; the
	 * result (ESTABLISHED or ACCEPT_FAILED, also of a queue pair that
	 * cannot be moved) comes as an event, perhaps before the return. After
	 * a failure the reference stays with the caller, no
	 * event follows, and the request can still be accepted with another
	 * endpoint or rejected, unless the error is -ECONNABORTED: the peer has
	 * gone. It may go while this runs, which is then one of the two, the
	 * error or the event.
	 */
	int (*accept)(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
		      struct dapl_ep *ep, const void *pdata, size_t size);
	/*
	 * Answers no, with private data; 0 as well if the peer has gone: that
	 * is as good as refused. release() follows.
	 */
	int (*reject)(struct dapl_cm_conn *conn, const void *pdata,
		      size_t size);
	/*
	 * Ends an established connection; the DISCONNECTED event follows on
	 * both sides, here also if the peer never answers (bounded by the
	 * protocol's own timers). The queue pair is in ERR when it arrives. 0
	 * as well if it is being ended already, else -ENOTCONN.
	 */
	int (*disconnect)(struct dapl_cm_conn *conn);
	/*
	 * The objects are through with CONN, whatever its state: an attempt is
	 * abandoned, an unanswered request refused, an established connection
	 * torn down. No event follows; gone() does if it had an endpoint.
	 */
	void (*release)(struct dapl_cm_conn *conn);

	/* Addresses of an established connection. 0 or -ENOTCONN. */
	int (*addrs)(const struct dapl_cm_conn *conn,
		     struct sockaddr_storage *ret_peer,
		     DAT_PORT_QUAL *ret_peer_port,
		     DAT_PORT_QUAL *ret_local_port);
};

#endif
