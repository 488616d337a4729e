/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_cm_event.h - what becomes of a connection; see dapl_cm.h. */
#ifndef DAPL_CM_EVENT_H
#define DAPL_CM_EVENT_H

/* Result of an attempt or end of a connection. */
enum dapl_cm_event {
	DAPL_CM_ESTABLISHED,
	DAPL_CM_PEER_REJECTED,	   /* the consumer there said no; has pdata */
	DAPL_CM_NON_PEER_REJECTED, /* nobody listens, or a provider said no */
	DAPL_CM_UNREACHABLE,	   /* no address, route or path */
	DAPL_CM_ACCEPT_FAILED, /* passive side: accepted, but it came to nothing
				*/
	DAPL_CM_DISCONNECTED,  /* by either side, orderly or not */
	DAPL_CM_BROKEN,	       /* local failure, device gone */
	DAPL_CM_EVENT_N
};

#endif
