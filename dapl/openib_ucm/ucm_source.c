/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_source.c - where a datagram came from; see the header.
 *
 * InfiniBand: a LID, and a GID if there is a GRH. RoCE: a GID in a GRH or an
 * IPv6 header, which are alike, or an IPv4 header in the last 20 bytes of the
 * room, the rest of which is left alone or filled with zeros (IBA annex 17).
 * There the LID of a completion means nothing.
 */
#include "dapl/openib_ucm/ucm_source.h"

#include <string.h>

#define AT_SGID 8
#define AT_IPV4 20
#define AT_SRC	12 /* of an IPv4 header */

static void mapped(const uint8_t *ipv4, uint8_t *ret_gid)
{
	memset(ret_gid, 0, 10);
	memset(ret_gid + 10, 0xff, 2);
	memcpy(ret_gid + 12, ipv4, 4);
}

void ucm_source(const struct ibv_wc *wc, const uint8_t grh[UCM_GRH],
		bool ethernet, struct dcm_source *ret_src)
{
	const uint8_t *ipv4 = grh + AT_IPV4;

	memset(ret_src, 0, sizeof(*ret_src));
	ret_src->qpn = wc->src_qp;
	if (!ethernet)
		ret_src->lid = wc->slid;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return;
	if (grh[0] >> 4 == 6) {
		ret_src->has_gid = true;
		memcpy(ret_src->gid, grh + AT_SGID, sizeof(ret_src->gid));
	} else if (ethernet && ipv4[0] >> 4 == 4) {
		ret_src->has_gid = true;
		mapped(ipv4 + AT_SRC, ret_src->gid);
	}
}
