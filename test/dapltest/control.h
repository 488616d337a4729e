/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control.h - the connection on which a client tells the server what to run.
 *
 * Does not know what the messages mean.
 * Threads: one at a time. Ownership: dpt_control_close() releases all of it.
 * Rule: messages are 8192 bytes, two from the client, one from the server,
 * which then disconnects; see proto.h.
 */
#ifndef DAPLTEST_CONTROL_H
#define DAPLTEST_CONTROL_H

#include "test/dapltest/end.h"
#include "test/dapltest/proto.h"

struct dpt_control {
	DAT_PZ_HANDLE pz;
	struct dpt_region mem; /* messages: two in, one out */
	struct dpt_end end;
	uint32_t received;
};

/* With receives posted, not connected. */
int dpt_control_open(struct dpt *d, struct dpt_control *c);
int dpt_control_close(struct dpt *d, struct dpt_control *c, int rc);

/* Room for the next message to send. */
uint8_t *dpt_control_out(struct dpt_control *c);
int dpt_control_send(struct dpt *d, struct dpt_control *c, const char *what);
/* Waits for a message; only full ones are handed out. */
int dpt_control_receive(struct dpt *d, struct dpt_control *c, const char *what,
			const uint8_t **ret_msg);

/*
 * Client: connects, says which test and with how many endpoints, sends the
 * command that put_command writes, and takes the answer. The connection stays
 * until dpt_control_close().
 */
struct dpt_command {
	enum dpt_test test;
	uint32_t eps;
	uint32_t features;
	void (*put)(const struct dpt *d, uint8_t *msg);
};

int dpt_control_ask(struct dpt *d, struct dpt_control *c,
		    const struct dpt_command *cmd,
		    struct dpt_server_info *ret_info);

#endif /* DAPLTEST_CONTROL_H */
