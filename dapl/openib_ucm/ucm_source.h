/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_source.h - where a datagram came from, by its completion and the header
 * that the device has put before it.
 *
 * Pure; any bytes. What the sender's program wrote is not looked at: this is
 * what its words are compared with (dcm_engine.h).
 */
#ifndef UCM_SOURCE_H
#define UCM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "dapl/common/cm/dcm/dcm_engine.h"

/* Room for the header before each message. */
#define UCM_GRH 40

/*
 * GRH is the start of the receive buffer, of which the first byte was 0 when
 * it was posted: not all devices write there.
 */
void ucm_source(const struct ibv_wc *wc, const uint8_t grh[UCM_GRH],
		bool ethernet, struct dcm_source *ret_src);

#endif
