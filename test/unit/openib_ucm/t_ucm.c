/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ucm.c - the UCM provider as a plugin: entry points, the text of ia_params,
 * what opening an IA refuses, and what the environment asks of the protocol.
 *
 * Connections as such are in t_ucm_conn.c.
 * Rules: dat.conf(5), dapl-env(7); codes are those of the historic provider.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/openib_ucm/ucm.h"
#include "test/unit/kit.h"

#define EV(x)	     DAT_CONNECTION_EVENT_##x
#define MS	     1000ull
#define BAD_ADDRESS  (DAT_CLASS_ERROR | DAT_INVALID_ADDRESS)
#define NO_PROVIDER  (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND)
#define IS_MALFORMED (BAD_ADDRESS | DAT_INVALID_ADDRESS_MALFORMED)

/* ------------------------------------------------------- ia_params */

CASE(parse__good)
{
	static const struct {
		const char *text, *name;
		int port, gid;
	} good[] = {
		{"mlx4_0 1", "mlx4_0", 1, -1},
		{"mlx4_0 0x2", "mlx4_0", 2, -1},
		{"\tmlx4_0 \t 1 ", "mlx4_0", 1, -1},
		{"rxe0 1 gid=0", "rxe0", 1, 0},
		{"rxe0 1 gid=255", "rxe0", 1, 255},
		{"rxe0 255", "rxe0", 255, -1},
		{"rxe0 0", "rxe0", 0, -1},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct dcm_path_wish wish;
		struct dapl_cm cm;

		assert_int_equal(dcm_device_parse(good[i].text, &cm, &wish), 0);
		assert_string_equal(cm.dev_name, good[i].name);
		assert_int_equal(cm.port, good[i].port);
		assert_int_equal(wish.gid_index, good[i].gid);
	}
}

CASE(parse__bad)
{
	static const char *const bad[] = {
		NULL,
		"",
		" ",
		"rxe0",
		"rxe0 ",
		"rxe0 one",
		"rxe0 -1",
		"rxe0 256",
		"rxe0 1x",
		"rxe0 1 gid",
		"rxe0 1 gid=",
		"rxe0 1 2",
		"rxe0 1 gid=x",
		"rxe0 1 gid=256",
		"rxe0 1 gid=1 gid=2",
		"rxe0 1 GID=1",
		"a-name-that-is-longer-than-the-64-characters-that-sysfs-allows-"
		"for-it 1",
		"rxe0 11111111111111111111111111111111111111111111111111111111",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct dcm_path_wish wish;
		struct dapl_cm cm = {.port = 77};

		assert_int_equal(dcm_device_parse(bad[i], &cm, &wish), -EINVAL);
		assert_non_null(strstr(dapl__fail_text(), "write \""));
		assert_int_equal(cm.port, 77);
	}
}

/* ------------------------------------------------------------ opening */

static int no_device(void **state)
{
	fv_reset();
	memset(&world_registry, 0, sizeof(world_registry));
	setenv("DAPL_UCM_QP_SIZE", "16", 1);
	return 0;
}

static void add_device(enum fv_kind kind, enum ibv_port_state port_state)
{
	struct fv_device_cfg cfg;

	fv_device_cfg_init(&cfg, kind, "fake0", "10.0.0.1");
	cfg.port[0].attr.state = port_state;
	fv_device_add(&cfg);
}

static int nothing_left(void **state)
{
	unsetenv("DAPL_UCM_QP_SIZE");
	return fv_nothing_left(state);
}

#define BARE(name) CASE_WITH(name, no_device, nothing_left)

static DAT_RETURN try_open(DAT_IA_HANDLE *ret_ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return V(ia_open)(WORLD_IA_NAME, 8, &evd, ret_ia);
}

/* Opening with TEXT fails with CODE and a sentence that has WHY in it. */
static void open_refuses(const char *text, DAT_RETURN code, const char *why)
{
	DAT_IA_HANDLE ia;

	dat_provider_init(&world_info, text);
	assert_refused(try_open(&ia), code);
	if (!strstr(dapl__fail_text(), why))
		fail_msg("\"%s\" does not say \"%s\"", dapl__fail_text(), why);
	dat_provider_fini(&world_info);
}

BARE(entry__full_table)
{
	assert_string_equal(ucm_ops.name, "UCM");
	/* It asserts that every op is there. */
	dat_provider_init(&world_info, "fake0 1");
	assert_int_equal(world_registry.added, 1);
	dat_provider_fini(&world_info);
	assert_int_equal(world_registry.removed, 1);
}

BARE(open__malformed)
{
	add_device(FV_IB, IBV_PORT_ACTIVE);
	open_refuses("", IS_MALFORMED, "empty");
	open_refuses("fake0", IS_MALFORMED, "port number is missing");
	open_refuses("fake0 1 2", IS_MALFORMED, "gid=");
}

BARE(open__no_such_device_or_port)
{
	open_refuses("fake0 1", dapl_err_dat(-ENODEV), "no RDMA device");
	add_device(FV_IB, IBV_PORT_ACTIVE);
	open_refuses("mlx4_0 1", NO_PROVIDER, "fake0");
	open_refuses("fake0 2", BAD_ADDRESS, "port 2");
	open_refuses("fake0 0", BAD_ADDRESS, "port 0");
	open_refuses("fake0 1 gid=7", BAD_ADDRESS, "index 7");
}

BARE(open__port_is_down)
{
	add_device(FV_IB, IBV_PORT_DOWN);
	open_refuses("fake0 1", BAD_ADDRESS, "bring ");
}

BARE(ucm_open__iwarp)
{
	add_device(FV_IWARP, IBV_PORT_ACTIVE);
	open_refuses("fake0 1", BAD_ADDRESS, "libdaplofa");
}

BARE(ucm_open__nth_failure)
{
	DAT_IA_HANDLE ia;

	add_device(FV_ROCE, IBV_PORT_ACTIVE);
	dat_provider_init(&world_info, "fake0 1");
	assert_nth_failure(try_open(&ia), V(ia_close)(ia, DAT_CLOSE_DEFAULT));
	dat_provider_fini(&world_info);
}

/* ------------------------------------------------------- environment */

static struct dcm_rules rules_of(const char *text)
{
	struct ucm_params params;
	char name[64];
	int value;

	for (; sscanf(text, "%63[A-Z_]=%d", name, &value) == 2;) {
		char number[16], full[80];

		snprintf(full, sizeof(full), "DAPL_UCM_%s", name);
		snprintf(number, sizeof(number), "%d", value);
		setenv(full, number, 1);
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	dapl_params_read(&ucm_param_table, &params, NULL);
	unsetenv("DAPL_UCM_RETRY");
	unsetenv("DAPL_UCM_REP_TIME");
	unsetenv("DAPL_UCM_RTU_TIME");
	unsetenv("DAPL_UCM_DREP_TIME");
	unsetenv("DAPL_UCM_DREQ_RETRY");
	unsetenv("DAPL_UCM_WAIT_TIME");
	return ucm_rules(&params);
}

CASE(rules__defaults)
{
	struct dcm_rules r = rules_of("");

	assert_false(r.stream);
	assert_int_equal(r.rep_wait_us, 0);
	assert_int_equal(r.rtu_wait_us, 0);
	assert_int_equal(r.drep_wait_us, 0);
	assert_int_equal(r.rep_patience_us, 409600 * MS);
	assert_int_equal(r.rtu_patience_us, 60000 * MS);
	assert_int_equal(r.dreq_repeats, 1);
	assert_int_equal(r.timewait_us, 60000 * MS);
}

/* What somebody asks for is what he gets: the historic schedule. */
CASE(rules__asked_for)
{
	struct dcm_rules r = rules_of("RETRY=2");

	assert_int_equal(r.rep_patience_us, 1600 * MS);
	assert_int_equal(r.rtu_patience_us, 1600 * MS);
	assert_int_equal(r.rep_wait_us, 0);
	r = rules_of("REP_TIME=16000");
	assert_int_equal(r.rep_wait_us, 16000 * MS);
	assert_int_equal(r.rep_patience_us, 16000 * MS << 9);
	assert_int_equal(r.rtu_patience_us, 60000 * MS);
	r = rules_of("RTU_TIME=100 RETRY=3");
	assert_int_equal(r.rtu_wait_us, 100 * MS);
	assert_int_equal(r.rtu_patience_us, 400 * MS);
	assert_int_equal(r.rep_patience_us, 3200 * MS);
	r = rules_of("RETRY=32 REP_TIME=600000");
	assert_true(r.rep_patience_us == 600000 * MS << 31);
	r = rules_of("DREQ_RETRY=0 DREP_TIME=200 WAIT_TIME=1000");
	assert_int_equal(r.dreq_repeats, 0);
	assert_int_equal(r.drep_wait_us, 200 * MS);
	assert_int_equal(r.timewait_us, 1000 * MS);
}

static int requests;

static enum fv_verdict black_hole(struct fv_ud_packet *pkt, void *arg)
{
	__atomic_add_fetch(&requests, 1, __ATOMIC_ACQ_REL);
	return FV_DROP;
}

CASE(env__schedule_of_repeats)
{
	struct world w;
	uint64_t begin;

	setenv("DAPL_UCM_REP_TIME", "40", 1);
	setenv("DAPL_UCM_RETRY", "3", 1);
	world_open(&w, FV_IB);
	unsetenv("DAPL_UCM_REP_TIME");
	unsetenv("DAPL_UCM_RETRY");
	world_eps(&w);
	requests = 0;
	fv_hook_ud(black_hole, NULL);
	begin = world_now_us();
	assert_dat_ok(kit_connect(w.client.ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	kit_conn(&w.client, EV(UNREACHABLE));
	/*
	 * At 40 and 80 ms it is repeated, at 160 given up: less often where the
	 * service thread comes too late, never more.
	 */
	assert_in_range(world_now_us() - begin, 160000, 10000000);
	assert_in_range(requests, 1, 3);
	kit_state(w.client.ep, DAT_EP_STATE_DISCONNECTED);
	world_close(&w);
}

CASE(env__limit_on_connections)
{
	struct world w;

	setenv("DAPL_UCM_ARRAY_BITS", "1", 1);
	world_open(&w, FV_IB);
	unsetenv("DAPL_UCM_ARRAY_BITS");
	kit_listen(&w);
	for (int i = 0; i < 2; i++) {
		w.client.ep = world_ep(&w.client, NULL);
		w.server.ep = world_ep(&w.server, NULL);
		assert_dat_ok(V(cr_accept)(kit_meet(&w), w.server.ep, 0, NULL));
		kit_conn(&w.client, EV(ESTABLISHED));
		kit_conn(&w.server, EV(ESTABLISHED));
	}
	w.client.ep = world_ep(&w.client, NULL);
	assert_dat_ok(kit_connect(w.client.ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	kit_conn(&w.client, EV(BROKEN));
	world_close(&w);
}

RUN_CASES(NULL, NULL)
