/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_alive.h - processes at the other end of datagrams that vanish: with their
 * host, or by a death that told nobody.
 *
 * Each is asked once for all its connections (dapl_cm_alive.h), by a message of
 * one of these; what they are is in dcm_msg.h. An end that accepted can ask any
 * peer, the other one only a peer that has asked it. Whatever a peer says of a
 * connection is as good as an answer. Streams have keep-alives of their own.
 *
 * Service thread; stop() on that of dapl_cm_stop().
 */
#ifndef DCM_ALIVE_H
#define DCM_ALIVE_H

#include "dapl/common/cm/dcm/dcm.h"

/* The rules are there. */
void dcm_alive_init(struct dcm *dcm);
void dcm_alive_stop(struct dcm *dcm);

/* CONN is established, or is not any more; leaving twice does nothing. */
void dcm_alive_join(struct dcm_cm_conn *conn);
void dcm_alive_leave(struct dcm_cm_conn *conn);

/* MSG came for CONN. */
void dcm_alive_heard(struct dcm_cm_conn *conn, const struct dcm_msg *msg);
/* Whether an answer of CONN's peer is waited for. */
bool dcm_alive_asked(const struct dcm_cm_conn *conn);

#endif
