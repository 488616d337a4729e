/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control.c - the connection on which a client tells the server what to run.
 *
 * Does not know what the messages mean. Threads, ownership: see control.h.
 * Rule: a server that is busy with another client may reject; a client then
 * tries again, eight times at most, a second apart, as ever.
 */
#include "test/dapltest/control.h"

#include <errno.h>
#include <string.h>

#define RECEIVES 2u
#define TRIES	 8

/* Where messages to send are; cookies are the numbers of places. */
#define PLACE_OUT RECEIVES

static size_t place(uint32_t index)
{
	return (size_t)index * DPT_MSG_SIZE;
}

static int post_receive(struct dpt *d, struct dpt_control *c, uint32_t index)
{
	DAT_LMR_TRIPLET iov = dpt_segment(&c->mem, place(index), DPT_MSG_SIZE);

	return dpt_end_post_recv(d, &c->end, &iov, 1, index);
}

int dpt_control_open(struct dpt *d, struct dpt_control *c)
{
	const struct dpt_end_needs needs = {
		.name = "the control connection",
		.receives = RECEIVES,
		.requests = RECEIVES,
		.segs = 1,
		.bytes = DPT_MSG_SIZE,
		.mode = DT_WAIT_EVENT,
	};
	int rc;

	memset(c, 0, sizeof(*c));
	rc = dpt_pz_make(d, &c->pz);
	if (!rc)
		rc = dpt_region_make(d, c->pz, place(RECEIVES + 1), &c->mem);
	if (!rc)
		rc = dpt_end_open(d, c->pz, &needs, &c->end);
	for (uint32_t i = 0; !rc && i < RECEIVES; i++)
		rc = post_receive(d, c, i);
	return rc;
}

int dpt_control_close(struct dpt *d, struct dpt_control *c, int rc)
{
	rc = dpt_end_close(d, &c->end, rc);
	rc = dpt_region_free(d, &c->mem, rc);
	return dpt_pz_free(d, &c->pz, rc);
}

uint8_t *dpt_control_out(struct dpt_control *c)
{
	return c->mem.base + place(PLACE_OUT);
}

int dpt_control_send(struct dpt *d, struct dpt_control *c, const char *what)
{
	return dpt_end_send(d, &c->end, &c->mem, place(PLACE_OUT), DPT_MSG_SIZE,
			    PLACE_OUT, what);
}

int dpt_control_receive(struct dpt *d, struct dpt_control *c, const char *what,
			const uint8_t **ret_msg)
{
	uint32_t index = c->received % RECEIVES;
	int rc;

	rc = dpt_end_reap(d, &c->end, c->end.rcv_evd, index, DPT_MSG_SIZE,
			  what);
	if (rc)
		return rc;
	c->received++;
	*ret_msg = c->mem.base + place(index);
	return 0;
}

static int connect_once(struct dpt *d, struct dpt_control *c)
{
	int rc = dpt_control_open(d, c);

	if (!rc)
		rc = dpt_end_connect(d, &c->end, d->o->port, NULL, 0);
	return rc;
}

static int connect_patiently(struct dpt *d, struct dpt_control *c)
{
	for (int i = 0; i < TRIES; i++) {
		int rc = connect_once(d, c);

		if (rc != -ECONNREFUSED)
			return rc;
		rc = dpt_control_close(d, c, 0);
		if (rc)
			return rc;
		dt_trace(&d->r, "%d: the server rejects; trying again\n",
			 d->r.pid);
		if (!dt_pause(DT_NS_PER_S))
			return dt_fail(&d->r, DT_INTERRUPTED, "interrupted");
	}
	return dt_fail(&d->r, DT_MISMATCH,
		       "%s rejected %d connections on port %u; what runs "
		       "there is no dapltest, or is busy",
		       d->o->host, TRIES, d->o->port);
}

static int send_command(struct dpt *d, struct dpt_control *c,
			const struct dpt_command *cmd)
{
	struct dpt_client_info info = {
		.test = cmd->test,
		.eps = cmd->eps,
		.ext = {.present = true, .features = cmd->features},
	};
	int rc;

	dpt_put_client_info(dpt_control_out(c), &info);
	rc = dpt_control_send(d, c, "the client's information");
	if (rc)
		return rc;
	cmd->put(d, dpt_control_out(c));
	return dpt_control_send(d, c, "the command");
}

static int take_answer(struct dpt *d, struct dpt_control *c,
		       struct dpt_server_info *ret_info)
{
	const uint8_t *msg;
	const char *wrong;
	int rc = dpt_control_receive(d, c, "the server's answer", &msg);

	if (rc)
		return rc;
	wrong = dpt_get_server_info(msg, ret_info);
	if (wrong)
		return dt_fail(&d->r, DT_MISMATCH, "the server's answer: %s",
			       wrong);
	if (ret_info->ext.reason[0])
		return dt_fail(&d->r, DT_MISMATCH, "the server refuses: %s",
			       ret_info->ext.reason);
	return 0;
}

int dpt_control_ask(struct dpt *d, struct dpt_control *c,
		    const struct dpt_command *cmd,
		    struct dpt_server_info *ret_info)
{
	int rc = connect_patiently(d, c);

	if (!rc)
		rc = send_command(d, c, cmd);
	if (!rc)
		rc = take_answer(d, c, ret_info);
	if (!rc)
		dt_trace(&d->r,
			 "%d: the server's data connections begin at "
			 "qualifier %u%s\n",
			 d->r.pid, ret_info->qual,
			 ret_info->ext.present ? "" : " (a historic server)");
	return rc;
}
