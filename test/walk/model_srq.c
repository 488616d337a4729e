/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_srq.c - shared receive queues, and how many receives an endpoint has
 * taken.
 *
 * What messages do with the buffers is in model_shared.c.
 * Threads, ownership: model.h. Rule: DAT, dat_srq_*, dat_ep_set_watermark,
 * dat_ep_recv_query.
 */
#include "test/walk/model.h"

bool srq_can(const struct model *m, const struct call *c)
{
	const struct obj *o = obj_of(m, c->h[0], K_SRQ);
	const struct obj *lmr;

	if (c->op != OP_SRQ_POST_RECV)
		return true;
	lmr = obj_of(m, c->h[1], K_LMR);
	if (!lmr)
		return false;
	return region_can(m, c->h[1], o ? o->uses[USE_PZ] : lmr->uses[USE_PZ],
			  o ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : 0) &&
	       (!o || o->srq.n < MAX_DTO);
}

static void ask_create(struct model *m, const struct call *c, struct answers *a)
{
	int64_t dtos = (int32_t)c->n[0], iov = (int32_t)c->n[1];

	if (!obj_of(m, c->h[0], K_IA))
		BAD_HANDLE(IA);
	if (!of_ia(m, c->h[1], K_PZ, c->h[0]))
		BAD_HANDLE(PZ);
	if (c->n[3] || dtos <= 0 || iov <= 0 || c->n[2])
		BAD_ARG(3);
	else if (dtos > m->ia_attr.max_recv_per_srq ||
		 iov > m->ia_attr.max_iov_segments_per_dto)
		refuse(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	if (c->no_out)
		BAD_ARG(4);
	if (!m->prov.srq_supported)
		refuse(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
}

static void ask_post(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_SRQ);

	if (o && ((int32_t)c->n[0] < 0 || (int32_t)c->n[0] > o->srq.iov))
		BAD_ARG(2);
	if (o && shared_least(m, c->h[0]) >= o->srq.depth)
		refuse(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	else if (o && o->srq.n >= o->srq.depth)
		maybe(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

static void ask_resize(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_SRQ);
	int n = (int32_t)c->n[0];

	if (n <= 0) {
		BAD_ARG(2);
		return;
	}
	if (n > m->ia_attr.max_recv_per_srq)
		refuse(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	if (o && n < shared_least(m, c->h[0]))
		refuse(a, DAT_INVALID_STATE, ANY_SUB);
	/* once buffers have run short the mark is off */
	else if (o && (n < o->srq.n || n < o->srq.low))
		maybe(a, DAT_INVALID_STATE, ANY_SUB);
	/* an "adapter that cannot enlarge the queue" */
	if (o && n > o->srq.asked)
		maybe(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}

static void ask_ep(struct model *m, const struct call *c, struct answers *a)
{
	int soft = (int32_t)c->n[0], hard = (int32_t)c->n[1];

	if (!obj_of(m, c->h[0], K_EP))
		BAD_HANDLE(EP);
	if (c->op == OP_EP_RECV_QUERY) {
		if (!m->prov.ep_recv_info_supported)
			maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
		return;
	}
	if (soft < DAT_WATERMARK_INFINITE)
		BAD_ARG(2);
	if (hard < DAT_WATERMARK_INFINITE)
		BAD_ARG(3);
	if (soft == DAT_WATERMARK_INFINITE && hard == DAT_WATERMARK_INFINITE)
		return;
	maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
	maybe(a, DAT_NOT_IMPLEMENTED, ANY_SUB);
}

void srq_ask(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_SRQ);
	int low = (int32_t)c->n[0];

	if (c->op == OP_EP_SET_WATERMARK || c->op == OP_EP_RECV_QUERY) {
		ask_ep(m, c, a);
		return;
	}
	if (c->op == OP_SRQ_CREATE) {
		ask_create(m, c, a);
		return;
	}
	if (!o)
		BAD_HANDLE(SRQ);
	switch (c->op) {
	case OP_SRQ_QUERY:
		ask_query(a, c, DAT_SRQ_FIELD_ALL);
		break;
	case OP_SRQ_POST_RECV:
		ask_post(m, c, a);
		break;
	case OP_SRQ_RESIZE:
		ask_resize(m, c, a);
		break;
	case OP_SRQ_SET_LW:
		if (low < 0 || (o && low > o->srq.depth))
			BAD_ARG(2);
		if (!m->prov.srq_watermarks_supported) {
			maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
			maybe(a, DAT_NOT_IMPLEMENTED, ANY_SUB);
		}
		break;
	case OP_SRQ_FREE:
		if (o && model_in_use(m, c->h[0]))
			BAD_STATE(SRQ_IN_USE);
		break;
	}
}

/* ------------------------------------------------------------ taking */

static void take_size(struct model *m, const struct call *c, struct obj *o,
		      const struct result *r)
{
	o->srq.asked = (int)c->n[0];
	o->srq.depth = r->srq_param.max_recv_dtos;
	if (o->srq.depth < o->srq.asked)
		model_wrong(m, "an SRQ for %d buffers, %d asked for",
			    o->srq.depth, o->srq.asked);
}

static bool unknown_or(int got, int n)
{
	return got == DAT_VALUE_UNKNOWN || got == n;
}

static bool known_as(int got, int least, int most)
{
	return got == DAT_VALUE_UNKNOWN || (got >= least && got <= most);
}

static void take_query(struct model *m, const struct call *c,
		       const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];
	const DAT_SRQ_PARAM *p = &r->srq_param;
	int least = shared_least(m, c->h[0]);

	if (c->n[0] != DAT_SRQ_FIELD_ALL)
		return;
	if (p->ia_handle != m->obj[o->ia].handle ||
	    p->pz_handle != m->obj[o->uses[USE_PZ]].handle ||
	    p->srq_state != DAT_SRQ_STATE_OPERATIONAL)
		model_wrong(m, "the SRQ's IA, zone or state is another");
	if (p->max_recv_dtos != o->srq.depth || p->max_recv_iov != o->srq.iov)
		model_wrong(m, "an SRQ for %d buffers of %d, was for %d of %d",
			    p->max_recv_dtos, p->max_recv_iov, o->srq.depth,
			    o->srq.iov);
	if (p->low_watermark != o->srq.low &&
	    !(o->srq.may_tell && !p->low_watermark))
		model_wrong(m, "the SRQ's mark is %d, %d was set",
			    p->low_watermark, o->srq.low);
	if (!known_as(p->outstanding_dto_count, least, o->srq.n) ||
	    !known_as(p->available_dto_count, least, o->srq.n))
		model_wrong(m,
			    "the SRQ has %d buffers, %d available: %d to %d "
			    "are posted",
			    p->outstanding_dto_count, p->available_dto_count,
			    least, o->srq.n);
}

static void take_post(struct model *m, const struct call *c)
{
	struct srq *s = &m->obj[c->h[0]].srq;

	s->q[s->n++] = (struct dto){
		.cookie = c->n[3],
		.op = c->op,
		.lmr = c->h[1],
		.remote = OBJ_NULL,
		.window = OBJ_NULL,
		.chunk = (uint8_t)(c->n[1] / WALK_CHUNK),
		.room = (uint32_t)(c->n[0] * c->n[2]),
	};
	m->obj[c->h[1]].lmr.busy[c->n[1] / WALK_CHUNK]++;
	shared_progress(m, c->h[0]);
}

static bool untouched(const struct ep *e)
{
	for (int i = 0; i < e->n[1]; i++)
		if (e->q[1][i].tried || e->q[1][i].may_flush)
			return false;
	return true;
}

static void take_recv_query(struct model *m, const struct call *c,
			    const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];

	/* Once connected they go. */
	if (o->uses[USE_SRQ] >= 0 ||
	    model_states(m, c->h[0]) != ST(UNCONNECTED) || !untouched(&o->ep))
		return;
	if (!unknown_or(r->held, o->ep.n[1]) ||
	    (!c->no_out && !unknown_or(r->span, o->ep.n[1])))
		model_wrong(m, "the EP holds %d receives over %d, posted %d",
			    r->held, r->span, o->ep.n[1]);
}

void srq_forget(struct model *m, int srq)
{
	struct srq *s = &m->obj[srq].srq;

	/* What has come into them is there yet. */
	for (int i = 0; i < s->n; i++) {
		if (s->q[i].lmr >= 0)
			m->obj[s->q[i].lmr].lmr.busy[s->q[i].chunk]--;
		s->q[i].lmr = OBJ_NULL;
	}
}

void srq_take(struct model *m, const struct call *c, const struct result *r)
{
	struct obj *o = &m->obj[c->h[0] < 0 ? 0 : c->h[0]];

	switch (c->op) {
	case OP_SRQ_CREATE:
		new_object(m, c->out, K_SRQ, c->h[0], r->made);
		o = &m->obj[c->out];
		o->uses[USE_PZ] = c->h[1];
		o->srq.iov = r->srq_param.max_recv_iov;
		take_size(m, c, o, r);
		if (o->srq.iov < (int)c->n[1])
			model_wrong(m, "an SRQ of %d segments, %d asked for",
				    o->srq.iov, (int)c->n[1]);
		break;
	case OP_SRQ_QUERY:
		take_query(m, c, r);
		break;
	case OP_SRQ_POST_RECV:
		take_post(m, c);
		break;
	case OP_SRQ_RESIZE:
		take_size(m, c, o, r);
		break;
	case OP_SRQ_SET_LW:
		o->srq.low = (int)c->n[0];
		o->srq.may_tell += o->srq.low > 0;
		break;
	case OP_SRQ_FREE:
		object_dies(m, c->h[0]);
		break;
	case OP_EP_RECV_QUERY:
		take_recv_query(m, c, r);
		break;
	}
}

/* ------------------------------------------------- too many events */

/* Completions have room that was promised, errors are dropped. */
bool spill_can(const struct model *m, int evd)
{
	const struct obj *o = obj_of(m, evd, K_EVD);
	const unsigned others =
		DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_ASYNC_FLAG;

	return o && o->evd.flags & DAT_EVD_CONNECTION_FLAG &&
	       !(o->evd.flags & others);
}

void spill_look(struct model *m)
{
	for (int i = 0; i < m->n_obj; i++) {
		struct evd *e = &m->obj[i].evd;

		if (!spill_can(m, i) || e->spilt ||
		    model_may_have(m, i) <= e->qlen)
			continue;
		e->spilt = true;
		e->may_spill++;
	}
}

void spill_taken(struct model *m, int evd, int more)
{
	struct evd *e = &m->obj[evd].evd;

	if (!spill_can(m, evd))
		return;
	if (more < 0) { /* whether that made room is not known */
		e->spilt = false;
		e->told = true;
		return;
	}
	/* Requests are never too many. */
	if (more >= e->qlen && !e->told && !(e->flags & DAT_EVD_CR_FLAG))
		e->owed = true;
	if (more < e->qlen)
		e->spilt = e->told = false;
}

bool spill_owes(const struct model *m, int async)
{
	for (int i = 0; i < m->n_obj && !m->obj[async].evd.too_many; i++)
		if (spill_can(m, i) && m->obj[i].evd.owed &&
		    m->obj[m->obj[i].ia].uses[USE_EVD] == async)
			return true;
	return false;
}

/* ASYNC was full itself: which overflows it has dropped nobody knows. */
static void spill_dropped(struct model *m, int async)
{
	for (int i = 0; i < m->n_obj; i++) {
		struct evd *e = &m->obj[i].evd;

		if (!spill_can(m, i) ||
		    m->obj[m->obj[i].ia].uses[USE_EVD] != async)
			continue;
		e->told = true;
		e->owed = false;
	}
}

/* ------------------------------------------------- asynchronous events */

static bool is_async(const struct model *m, int evd)
{
	return m->obj[m->obj[evd].ia].uses[USE_EVD] == evd;
}

static int errors(const struct model *m, int evd)
{
	int n = shared_may_tell(m, evd);

	for (int i = 0; is_async(m, evd) && i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if (o->ia != m->obj[evd].ia)
			continue;
		n += o->kind == K_SRQ ? o->srq.may_tell : 0;
		n += o->kind == K_EP ? o->ep.may_break : 0;
		n += o->kind == K_EVD ? o->evd.may_spill : 0;
	}
	return n;
}

static bool too_many(const struct model *m, int evd)
{
	return m->obj[evd].evd.too_many ||
	       errors(m, evd) > m->obj[evd].evd.asked;
}

void async_remember(struct model *m, int evd)
{
	m->obj[evd].evd.too_many = is_async(m, evd) && too_many(m, evd);
}

void async_empty(struct model *m, int evd)
{
	m->obj[evd].evd.too_many = false;
}

int async_may_have(const struct model *m, int evd)
{
	return errors(m, evd) + (is_async(m, evd) && too_many(m, evd));
}

/* What the event says of object O; false: nothing brings it. */
static bool tells(struct obj *o, DAT_EVENT_NUMBER number, DAT_COUNT reason)
{
	switch (o->kind) {
	case K_SRQ:
		if (!o->srq.may_tell || reason != DAT_SRQ_LOW_WATERMARK_EVENT)
			return false;
		/* it may have been set anew since */
		if (!--o->srq.may_tell)
			o->srq.low = 0;
		return true;
	case K_EP:
		if (!o->ep.may_break || number != DAT_ASYNC_ERROR_EP_BROKEN ||
		    reason != DAT_EP_TRANSFER_TO_ERROR)
			return false;
		o->ep.may_break--;
		return true;
	case K_EVD:
		if (!o->evd.may_spill ||
		    number != DAT_ASYNC_ERROR_EVD_OVERFLOW ||
		    reason != DAT_EVD_OVERFLOW_ERROR)
			return false;
		o->evd.may_spill--;
		o->evd.told = true;
		o->evd.owed = false;
		return true;
	default:
		return false;
	}
}

bool async_event(struct model *m, int evd, const DAT_EVENT *ev)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *d =
		&ev->event_data.asynch_error_event_data;
	int of = OBJ_NULL;

	/*
	 * "in place of the first error beyond that it reports itself": each
	 * time, and some may have been taken in between.
	 */
	async_remember(m, evd);
	if (m->obj[evd].evd.too_many &&
	    ev->event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW &&
	    d->dat_handle == m->obj[evd].handle) {
		spill_dropped(m, evd);
		return true;
	}
	if (shared_tells(m, evd, ev))
		return true;
	for (int i = 0; is_async(m, evd) && i < m->n_obj; i++) {
		if (m->obj[i].handle != d->dat_handle)
			continue;
		of = i;
		if (tells(&m->obj[i], ev->event_number, d->reason))
			return true;
	}
	return model_wrong(m,
			   "event 0x%x of object %d, reason %d: nothing brings "
			   "it",
			   ev->event_number, of, d->reason);
}
