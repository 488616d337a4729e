/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client.c - the client of dtestcm: connects, holds, disconnects.
 *
 * Threads: one. Ownership: see dtestcm.h.
 * Rule: connections begin in the order of their endpoints, and end in it
 * when all are there.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestcm/dtestcm.h"

#include <errno.h>

static int connect_one(struct dtcm *c, uint32_t index)
{
	uint64_t limit = DT_RUN_CONNECT_S * DT_NS_PER_S;
	struct dtcm_conn *conn = &c->conns[index];
	uint16_t port = c->run.o->port;
	uint8_t pdata[DT_PDATA];
	DAT_RETURN ret;

	if (c->run.limit_ns < limit)
		limit = c->run.limit_ns;
	if (c->o->many_ports)
		port = (uint16_t)(port + index % c->burst);
	dt_pdata_fill(pdata, DT_PDATA_CLIENT);
	conn->mark = dt_now_ns();
	dtcm_set(c, conn, DTCM_ASKED);
	ret = dat_ep_connect(conn->ep, (DAT_IA_ADDRESS_PTR)&c->run.remote, port,
			     (DAT_TIMEOUT)(limit / DT_NS_PER_US), DT_PDATA,
			     pdata, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&c->run.r, DT_FAILED, ret, "dat_ep_connect",
				   NULL);
	return 0;
}

/* How many more may begin. */
static uint32_t room_of_burst(const struct dtcm *c, uint32_t asked)
{
	/* Until the burst is complete, then not before all of it is there. */
	if (asked % c->burst)
		return c->burst - asked % c->burst;
	return c->states[DTCM_ASKED] ? 0 : c->burst;
}

static uint32_t room_of_window(const struct dtcm *c, uint32_t asked)
{
	(void)asked;
	return c->burst - c->states[DTCM_ASKED];
}

/* Ways to keep several connections under way. */
static const struct {
	const char *name;
	uint32_t (*room)(const struct dtcm *c, uint32_t asked);
} schedules[] = {
	{"in bursts of", room_of_burst},
	{"in a window of", room_of_window},
};

static int connect_some(struct dtcm *c, uint32_t *asked)
{
	int rc = 0;

	while (!rc && *asked < c->o->count &&
	       schedules[c->o->window].room(c, *asked)) {
		rc = connect_one(c, (*asked)++);
		if (!rc)
			rc = dtcm_take(c);
	}
	return rc;
}

static int connect_all(struct dtcm *c)
{
	uint64_t start = dt_now_ns();
	uint32_t asked = 0;
	int rc = 0;

	dt_samples_clear(&c->connects);
	dt_samples_clear(&c->leaves);
	while (!rc && dtcm_settled(c) < c->o->count) {
		rc = connect_some(c, &asked);
		if (!rc && c->states[DTCM_ASKED])
			rc = dtcm_wait(c, c->run.limit_ns, "connections");
	}
	c->connect_ns = dt_now_ns() - start;
	return rc;
}

/* With --reject the server turns down a known share, no more, no less. */
static int check_rejects(struct dtcm *c)
{
	uint32_t want = 0;

	for (uint32_t i = 0; i < c->o->count; i++)
		want += dtcm_rejects(c->o->reject, i);
	if (c->states[DTCM_REJECTED] == want)
		return 0;
	return dt_fail(&c->run.r, DT_FAILED,
		       "%u connections were rejected, expected %u",
		       c->states[DTCM_REJECTED], want);
}

/* Nothing may happen until the time is over. */
static int hold(struct dtcm *c)
{
	uint64_t end = dt_deadline(c->o->hold_s * DT_NS_PER_S);
	int rc = 0;

	while (!rc && dt_left_ns(end)) {
		uint64_t left = dt_left_ns(end);

		dt_progress(&c->run.r, "holding %u connections, %llu s left",
			    c->states[DTCM_UP],
			    (unsigned long long)(left / DT_NS_PER_S));
		if (!dt_pause(left < DT_NS_PER_S ? left : DT_NS_PER_S))
			return dt_wait_fail(&c->run.r, &c->run.w, -EINTR,
					    "the time of --hold");
		rc = dtcm_take(c);
	}
	return rc;
}

static int disconnect_all(struct dtcm *c)
{
	uint64_t start = dt_now_ns();
	int rc = 0;

	for (uint32_t i = 0; !rc && i < c->o->count; i++) {
		struct dtcm_conn *conn = &c->conns[i];
		DAT_RETURN ret;

		if (conn->state != DTCM_UP)
			continue;
		conn->mark = dt_now_ns();
		dtcm_set(c, conn, DTCM_LEAVING);
		ret = dat_ep_disconnect(conn->ep, DAT_CLOSE_DEFAULT);
		if (ret != DAT_SUCCESS)
			return dt_dat_fail(&c->run.r, DT_FAILED, ret,
					   "dat_ep_disconnect", NULL);
		rc = dtcm_take(c);
	}
	if (!rc)
		rc = dtcm_wait_down(c, c->run.limit_ns);
	c->leave_ns = dt_now_ns() - start;
	return rc;
}

int dtcm_call(struct dtcm *c)
{
	int rc;

	dt_say(&c->run.r, "%d Server address: %s port %u\n", c->run.r.pid,
	       dt_address_show((struct sockaddr *)&c->run.remote).s,
	       c->run.o->port);
	dt_say(&c->run.r, "%d Client makes %u connections %s %u\n",
	       c->run.r.pid, c->o->count, schedules[c->o->window].name,
	       c->burst);
	rc = connect_all(c);
	if (!rc)
		rc = check_rejects(c);
	if (rc)
		return rc;
	c->kb_after = dtcm_private_kb();
	dt_say(&c->run.r, "%d %u connections are up\n", c->run.r.pid,
	       c->states[DTCM_UP]);
	if (c->o->ud)
		return dtcm_forget(c);
	rc = hold(c);
	return rc ? rc : disconnect_all(c);
}
