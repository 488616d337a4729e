/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_lookup.c: the kernel's search for a peer's hardware address, which
 * ibv_create_ah() and a move to RTR wait for on RoCE.
 * A hook says what comes of it; a search that hangs stays until the test ends
 * it, so that what is true meanwhile is no matter of time.
 * Threads: the hook runs under the fake's lock, which is free while a search
 * hangs.
 * Rule: ib_resolve_eth_dmac() of Linux: about a second, then ETIMEDOUT.
 */
#include "fake_int.h"

static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static fv_lookup_fn hook;
static void *hook_arg;
static unsigned int hanging;
static unsigned int ends; /* so far */
static int result;	  /* of the last of them */

int fv__lookup(struct ibv_context *ctx, enum fv_lookup why,
	       const struct ibv_ah_attr *av)
{
	const struct fv_port_cfg *p = fv__port(ctx, av->port_num);
	unsigned int before = ends;
	int what;

	if (!hook || !p || fv__is_iwarp(ctx) ||
	    p->attr.link_layer != IBV_LINK_LAYER_ETHERNET)
		return 0;
	what = hook(why, &av->grh.dgid, hook_arg);
	if (what != FV_LOOKUP_HANGS)
		return what;
	hanging++;
	while (ends == before)
		pthread_cond_wait(&ended, &fv__lock);
	hanging--;
	return result;
}

void fv_hook_lookup(fv_lookup_fn fn, void *arg)
{
	fv__enter();
	hook = fn;
	hook_arg = arg;
	fv__leave();
}

unsigned int fv_lookups_hanging(void)
{
	unsigned int n;

	fv__enter();
	n = hanging;
	fv__leave();
	return n;
}

static void end_all(int err)
{
	ends++;
	result = err;
	pthread_cond_broadcast(&ended);
}

void fv_lookups_end(int err)
{
	fv__enter();
	end_all(err);
	fv__leave();
}

void fv__lookup_reset(void)
{
	hook = NULL;
	end_all(ETIMEDOUT);
}
