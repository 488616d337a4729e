/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_evd.c - cases of event queues, except waiting (c_evd_wait.c).
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_evd_*.
 */
#include "test/conform/conform.h"

#include <string.h>

static DAT_RETURN create(struct conf *c, DAT_COUNT qlen, unsigned flags,
			 DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(c->a.ia, qlen, DAT_HANDLE_NULL,
			      (DAT_EVD_FLAGS)flags, evd);
}

static DAT_EVD_HANDLE software(struct conf *c)
{
	return conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG);
}

static DAT_EVD_PARAM query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM p;

	EXPECT_OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p));
	return p;
}

CASE(evd_create__new_is_enabled_and_waitable, "4 dat_evd_create", NEED_IA)
{
	DAT_EVD_PARAM p = query(software(c));

	EXPECT(p.ia_handle == c->a.ia);
	EXPECT(p.evd_qlen >= CONF_QLEN);
	EXPECT_EQ(p.evd_state & 0xf,
		  DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	EXPECT(p.cno_handle == DAT_HANDLE_NULL);
	EXPECT_EQ(p.evd_flags, DAT_EVD_SOFTWARE_FLAG);
}

/* Alone, every stream but ASYNC may have a queue. */
static void evd_create__stream(struct conf *c)
{
	DAT_EVD_HANDLE evd;

	EXPECT_OK(create(c, 4, (unsigned)c->arg, &evd));
	EXPECT_EQ(query(evd).evd_flags, c->arg);
	EXPECT_OK(dat_evd_free(evd));
}

#define STREAM(x)                                                 \
	CASE_ARG("evd_create__stream_" #x, "16 streams", NEED_IA, \
		 evd_create__stream, DAT_EVD_##x##_FLAG)

STREAM(SOFTWARE);
STREAM(CR);
STREAM(DTO);
STREAM(CONNECTION);
STREAM(RMR_BIND);

/* What may be shared is what the provider says. */
CASE(evd_create__pairs_are_as_advertised, "16 streams", NEED_IA)
{
	static const unsigned flag[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
		DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};

	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++) {
			DAT_EVD_HANDLE evd;
			DAT_RETURN ret = create(c, 4, flag[i] | flag[j], &evd);

			if (c->prov_attr.evd_stream_merging_supported[i][j]) {
				EXPECT_OK(ret);
				EXPECT_OK(dat_evd_free(evd));
			} else {
				BAD_ARG(ret, 4);
			}
		}
}

CASE(evd_create__qlen_above_the_limit, "4 dat_evd_create", NEED_IA)
{
	DAT_EVD_HANDLE evd;

	EXPECT_ERR(create(c, 0x7fffffff, DAT_EVD_DTO_FLAG, &evd),
		   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
}

CASE(evd_post_se__carries_the_pointer, "4 dat_evd_post_se", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_EVENT ev;
	int x;

	EXPECT_OK(conf_post_se(evd, &x));
	ev = conf_event(evd, DAT_SOFTWARE_EVENT);
	EXPECT(ev.event_data.software_event_data.pointer == &x);
}

CASE(evd_post_se__order, "4 dat_evd_post_se", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_EVENT ev;
	char x[CONF_QLEN];

	for (int i = 0; i < CONF_QLEN; i++)
		EXPECT_OK(conf_post_se(evd, x + i));
	for (int i = 0; i < CONF_QLEN; i++) {
		EXPECT_OK(dat_evd_dequeue(evd, &ev));
		EXPECT(ev.event_data.software_event_data.pointer == x + i);
	}
	conf_no_event(evd);
}

CASE(evd_post_se__full, "4 dat_evd_post_se", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	int n = query(evd).evd_qlen;

	for (int i = 0; i < n; i++)
		EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_TYPE(conf_post_se(evd, NULL), DAT_QUEUE_FULL);
	conf_no_event(c->a.async_evd);
	for (int i = 0; i < n; i++)
		conf_event(evd, DAT_SOFTWARE_EVENT);
	conf_no_event(evd);
}

CASE(evd_dequeue__empty, "4 dat_evd_dequeue", NEED_IA)
{
	DAT_EVENT ev;

	EXPECT_TYPE(dat_evd_dequeue(software(c), &ev), DAT_QUEUE_EMPTY);
}

/* The whole value: an old program compares it. */
CASE(evd_dequeue__empty_dto_queue_has_no_class, "4 dat_evd_dequeue", NEED_IA)
{
	DAT_EVENT ev;

	EXPECT_EQ(dat_evd_dequeue(c->a.recv_evd, &ev), DAT_QUEUE_EMPTY);
}

CASE(evd_dequeue__disabled_and_unwaitable, "4 dat_evd_dequeue", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_EVENT ev;

	EXPECT_OK(dat_evd_disable(evd));
	EXPECT_OK(dat_evd_set_unwaitable(evd));
	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(dat_evd_dequeue(evd, &ev));
	EXPECT_EQ(ev.event_number, DAT_SOFTWARE_EVENT);
}

CASE(evd_resize__keeps_events, "4 dat_evd_resize", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_EVENT ev;
	char x[8];

	for (int i = 0; i < 8; i++)
		EXPECT_OK(conf_post_se(evd, x + i));
	EXPECT_OK(dat_evd_resize(evd, 4 * CONF_QLEN));
	EXPECT(query(evd).evd_qlen >= 4 * CONF_QLEN);
	for (int i = 8; i < 4 * CONF_QLEN; i++)
		EXPECT_OK(conf_post_se(evd, NULL));
	for (int i = 0; i < 8; i++) {
		EXPECT_OK(dat_evd_dequeue(evd, &ev));
		EXPECT(ev.event_data.software_event_data.pointer == x + i);
	}
}

CASE(evd_resize__dto_queue, "4 dat_evd_resize", NEED_IA)
{
	DAT_RETURN ret = dat_evd_resize(c->a.recv_evd, 2 * CONF_QLEN);

	if (DAT_GET_TYPE(ret) == DAT_NOT_IMPLEMENTED ||
	    DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		conf_skip("the device cannot resize");
	EXPECT_OK(ret);
	EXPECT(query(c->a.recv_evd).evd_qlen >= 2 * CONF_QLEN);
}

CASE(evd_resize__same_length, "4 dat_evd_resize", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);

	EXPECT_OK(dat_evd_resize(evd, query(evd).evd_qlen));
}

CASE(evd_resize__shrink, "4 dat_evd_resize", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);

	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(dat_evd_resize(evd, 2));
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_event(evd, DAT_SOFTWARE_EVENT);
	conf_event(evd, DAT_SOFTWARE_EVENT);
}

CASE(evd_resize__more_pending, "4 dat_evd_resize", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);

	for (int i = 0; i < 4; i++)
		EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_TYPE(dat_evd_resize(evd, 3), DAT_INVALID_STATE);
	for (int i = 0; i < 4; i++)
		conf_event(evd, DAT_SOFTWARE_EVENT);
}

CASE(evd_resize__above_the_limit, "4 dat_evd_resize", NEED_IA)
{
	EXPECT_TYPE(dat_evd_resize(c->a.recv_evd, 0x7fffffff),
		    DAT_INSUFFICIENT_RESOURCES);
}

/* Each is idempotent and shows in the state. */
CASE(evd_enable__and_disable, "4 dat_evd_enable", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);

	for (int i = 0; i < 2; i++) {
		EXPECT_OK(dat_evd_disable(evd));
		EXPECT_EQ(query(evd).evd_state & 0x3, DAT_EVD_STATE_DISABLED);
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_OK(dat_evd_enable(evd));
		EXPECT_EQ(query(evd).evd_state & 0x3, DAT_EVD_STATE_ENABLED);
	}
}

CASE(evd_set_unwaitable__and_clear, "4 dat_evd_set_unwaitable", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);

	for (int i = 0; i < 2; i++) {
		EXPECT_OK(dat_evd_set_unwaitable(evd));
		EXPECT_EQ(query(evd).evd_state & 0xc, DAT_EVD_STATE_UNWAITABLE);
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_OK(dat_evd_clear_unwaitable(evd));
		EXPECT_EQ(query(evd).evd_state & 0xc, DAT_EVD_STATE_WAITABLE);
	}
}

CASE(evd_modify_cno__attaches_and_detaches, "4 dat_evd_modify_cno", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_CNO_HANDLE cno = conf_cno(&c->a);

	EXPECT_OK(dat_evd_modify_cno(evd, cno));
	EXPECT(query(evd).cno_handle == cno);
	BAD_STATE(dat_cno_free(cno), CNO_IN_USE);
	EXPECT_OK(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	EXPECT(query(evd).cno_handle == DAT_HANDLE_NULL);
	EXPECT_OK(dat_cno_free(cno));
}

CASE(evd_free__with_pending_events, "4 dat_evd_free", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);

	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(dat_evd_free(evd));
}

CASE(evd_free__async_evd_of_the_ia, "4 dat_evd_free", NEED_IA)
{
	BAD_STATE(dat_evd_free(c->a.async_evd), EVD_IN_USE);
}

CASE(evd_free__ep_uses_it, "4 dat_evd_free", NEED_EPS)
{
	BAD_STATE(dat_evd_free(c->a.recv_evd), EVD_IN_USE);
	BAD_STATE(dat_evd_free(c->a.req_evd), EVD_IN_USE);
	BAD_STATE(dat_evd_free(c->a.conn_evd), EVD_IN_USE);
	EXPECT_OK(dat_ep_free(c->a.ep));
	EXPECT_OK(dat_evd_free(c->a.recv_evd));
	EXPECT_OK(dat_evd_free(c->a.req_evd));
	EXPECT_OK(dat_evd_free(c->a.conn_evd));
}

CASE(evd_free__psp_uses_it, "4 dat_evd_free", NEED_IA)
{
	DAT_PSP_HANDLE psp = conf_listen(c);

	BAD_STATE(dat_evd_free(c->a.cr_evd), EVD_IN_USE);
	EXPECT_OK(dat_psp_free(psp));
	EXPECT_OK(dat_evd_free(c->a.cr_evd));
}
