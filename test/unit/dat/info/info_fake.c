/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_fake.c - dat_info on the fake device.
 *
 *   info_fake KIND OPTION...
 *
 * KIND is a kind of device that the fake knows (see
 * test/unit/fake/fake_kinds.c). With HANG=CALL in the environment that call of
 * libibverbs never returns; with SPOIL=write, send or read one byte of what
 * that moves is changed on its way. Rule: test/unit/fake/fake_verbs.h.
 */
#undef main /* what the tool's own file is compiled with */

#include "test/device.h"
#include "test/unit/fake/fake_verbs.h"

#include <dat2/udat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPOILT 100 /* which byte */

int tool_main(int argc, char **argv);

/* At its source, just before it is moved. */
static void spoil(const char *op, DAT_VADDR address)
{
	const char *which = getenv("SPOIL");

	if (which && !strcmp(which, op))
		((char *)(uintptr_t)address)[SPOILT] ^= 1;
}

DAT_RETURN __real_dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n,
				   DAT_LMR_TRIPLET *from, DAT_DTO_COOKIE cookie,
				   DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n,
				   DAT_LMR_TRIPLET *from, DAT_DTO_COOKIE cookie,
				   DAT_COMPLETION_FLAGS flags)
{
	spoil("send", from->virtual_address);
	return __real_dat_ep_post_send(ep, n, from, cookie, flags);
}

DAT_RETURN __real_dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n,
					 DAT_LMR_TRIPLET *from,
					 DAT_DTO_COOKIE cookie,
					 const DAT_RMR_TRIPLET *to,
					 DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n,
					 DAT_LMR_TRIPLET *from,
					 DAT_DTO_COOKIE cookie,
					 const DAT_RMR_TRIPLET *to,
					 DAT_COMPLETION_FLAGS flags)
{
	spoil("write", from->virtual_address);
	return __real_dat_ep_post_rdma_write(ep, n, from, cookie, to, flags);
}

DAT_RETURN __real_dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n,
					DAT_LMR_TRIPLET *to,
					DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *from,
					DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n,
					DAT_LMR_TRIPLET *to,
					DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *from,
					DAT_COMPLETION_FLAGS flags)
{
	spoil("read", from->virtual_address);
	return __real_dat_ep_post_rdma_read(ep, n, to, cookie, from, flags);
}

int main(int argc, char **argv)
{
	int rc;

	if (argc < 2 || !device_make(argv[1])) {
		fprintf(stderr, "usage: info_fake KIND OPTION...\n");
		return 2;
	}
	fv_hang(getenv("HANG"));
	rc = tool_main(argc - 1, argv + 1);
	if (!fv_live())
		return rc;
	fprintf(stderr, "%u objects left\n", fv_live());
	return 99;
}
