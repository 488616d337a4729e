/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_lib.c - what belongs to no connection: what an adapter says of itself,
 * texts, the list of adapters, common service points.
 *
 * Nothing connects to a common service point here.
 * Threads, ownership: model.h. Rule: DAT, the calls' contracts in dat.h.
 */
#include "test/walk/model.h"

#include <string.h>

#include "test/walk/face.h"

/* Some of each range; the text is "name of the constant". */
#define NAME(x)       \
	{             \
		x, #x \
	}
static const struct {
	uint32_t value;
	const char *text;
} majors[] =
	{
		NAME(DAT_SUCCESS),
		NAME(DAT_ABORT),
		NAME(DAT_INSUFFICIENT_RESOURCES),
		NAME(DAT_INVALID_HANDLE),
		NAME(DAT_INVALID_PARAMETER),
		NAME(DAT_INVALID_STATE),
		NAME(DAT_QUEUE_EMPTY),
		NAME(DAT_CONN_QUAL_UNAVAILABLE),
#if DAT_FACE == 2
		NAME(DAT_COMM_NOT_SUPPORTED),
#endif
		NAME(DAT_NOT_IMPLEMENTED),
},
  minors[] = {
	  NAME(DAT_RESOURCE_MEMORY),
	  NAME(DAT_RESOURCE_SRQ),
	  NAME(DAT_INVALID_HANDLE_EP),
#if DAT_FACE == 2
	  NAME(DAT_INVALID_HANDLE_CSP),
#endif
	  NAME(DAT_INVALID_HANDLE10),
	  NAME(DAT_INVALID_ARG1),
	  NAME(DAT_INVALID_STATE_EP_EVD_RECV),
	  NAME(DAT_INVALID_STATE_SRQ_IN_USE),
	  NAME(DAT_PROTECTION_RDMA_WRITE),
	  NAME(DAT_THREAD_SAFETY_NOT_FOUND),
};
#define COUNT(x) (sizeof(x) / sizeof(*(x)))

static void ask_list(struct model *m, const struct call *c, struct answers *a)
{
	int most = (int32_t)c->n[0];

	if (most < 0 ||
	    (m->providers && most < m->providers && (!most || !WALK_LIST_PART)))
		BAD_ARG(1);
	else if (!m->providers && (!most || !WALK_LIST_PART))
		maybe(a, DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (c->no_out)
		BAD_ARG(2);
}

/* A provider has common service points, or it has not. */
void lib_ask_common(const struct model *m, struct answers *a)
{
	if (m->no_csps)
		refuse(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
	else if (!m->csps)
		maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
}

#if DAT_FACE == 2
static void ask_csp_create(struct model *m, const struct call *c,
			   struct answers *a)
{
	const struct obj *ia = obj_of(m, c->h[0], K_IA);
	const struct obj *evd = obj_of(m, c->h[1], K_EVD);

	if (!ia)
		BAD_HANDLE(IA);
	if (!evd || evd->ia != c->h[0] || !(evd->evd.flags & DAT_EVD_CR_FLAG))
		BAD_HANDLE(EVD_CR);
	if (!c->n[1])
		BAD_ARG(2);
	else if (c->n[1] != SOCK_STREAM)
		refuse(a, DAT_COMM_NOT_SUPPORTED, ANY_SUB);
	if (c->h[2] < 0)
		BAD_ARG(3);
	if (c->no_out)
		BAD_ARG(5);
	for (int i = 0; ia && c->h[2] >= 0 && i < m->n_obj; i++)
		if (obj_of(m, i, K_CSP) && m->obj[i].sp.qual == c->n[0] &&
		    !memcmp(&m->obj[m->obj[i].ia].address, &ia->address,
			    sizeof(ia->address)))
			refuse(a, DAT_PORT_IN_USE, ANY_SUB);
	lib_ask_common(m, a);
}

static void ask_csp(struct model *m, const struct call *c, struct answers *a)
{
	if (c->op == OP_CSP_CREATE) {
		ask_csp_create(m, c, a);
		return;
	}
	if (!obj_of(m, c->h[0], K_CSP))
		BAD_HANDLE(CSP);
	if (c->op == OP_CSP_QUERY)
		ask_query(a, c, DAT_CSP_FIELD_ALL);
}

static void take_csp(struct model *m, const struct call *c,
		     const struct result *r)
{
	struct obj *o;

	if (c->op == OP_CSP_FREE) {
		object_dies(m, c->h[0]);
		return;
	}
	if (c->op == OP_CSP_CREATE) {
		m->csps = true;
		new_object(m, c->out, K_CSP, c->h[0], r->made);
		o = &m->obj[c->out];
		o->sp.qual = c->n[0];
		o->uses[USE_EVD] = c->h[1];
		conn_meet_late(m, c->out);
		return;
	}
	o = &m->obj[c->h[0]];
	if (c->n[0] == DAT_CSP_FIELD_ALL &&
	    (r->csp_param.ia_handle != m->obj[o->ia].handle ||
	     r->csp_param.evd_handle != m->obj[o->uses[USE_EVD]].handle ||
	     r->csp_param.comm->type != SOCK_STREAM))
		model_wrong(m, "the common service point is another");
}

#endif

void lib_ask(struct model *m, const struct call *c, struct answers *a)
{
	uint32_t type = DAT_GET_TYPE(c->n[0]);

	switch (c->op) {
#if DAT_FACE == 2
	case OP_CSP_CREATE:
	case OP_CSP_QUERY:
	case OP_CSP_FREE:
		ask_csp(m, c, a);
		break;
#endif
	case OP_STRERROR:
		/* between the last one and the extensions */
		if ((type > WALK_TYPE_LAST && type < WALK_TYPE_NEXT) ||
		    DAT_GET_SUBTYPE(c->n[0]) > DAT_THREAD_SAFETY_NOT_FOUND)
			refuse(a, DAT_INVALID_PARAMETER, ANY_SUB);
		break;
	case OP_LIST_PROVIDERS:
		ask_list(m, c, a);
		break;
	}
}

void lib_refused(struct model *m, const struct call *c, const struct result *r)
{
	if ((c->op == OP_CSP_CREATE || c->op == OP_EP_COMMON_CONNECT) &&
	    DAT_GET_TYPE(r->ret) == DAT_MODEL_NOT_SUPPORTED)
		m->no_csps = true;
	/* "all there are when too many" */
	if (c->op != OP_LIST_PROVIDERS || c->no_out || (int32_t)c->n[0] < 0)
		return;
	if (m->providers && r->more != m->providers)
		model_wrong(m, "%d adapters, before there were %d", r->more,
			    m->providers);
	if (r->more <= (int32_t)c->n[0])
		model_wrong(m, "%d adapters, %d of them too many", r->more,
			    (int)c->n[0]);
	m->providers = r->more;
}

/* What does not change, pointers left out. */
static DAT_IA_ATTR constant(const DAT_IA_ATTR *a)
{
	DAT_IA_ATTR b = *a;

	b.ia_address_ptr = NULL;
	b.transport_attr = b.vendor_attr = NULL;
	return b;
}

static void take_ia_query(struct model *m, const struct world *w,
			  const struct call *c, const struct result *r)
{
	const struct obj *async = &m->obj[m->obj[c->h[0]].uses[USE_EVD]];
	DAT_IA_ATTR was = constant(&w->ia_attr), is = constant(&r->attr.ia);

	if (r->evd != async->handle)
		model_wrong(m, "asynchronous EVD %p, open made %p", r->evd,
			    async->handle);
	if (c->n[0] == DAT_IA_FIELD_ALL && memcmp(&was, &is, sizeof(is)) != 0)
		model_wrong(m, "the adapter's attributes are others");
	if (c->n[0] == DAT_IA_FIELD_ALL &&
	    memcmp(r->attr.ia.ia_address_ptr, &m->obj[c->h[0]].address,
		   sizeof(DAT_SOCK_ADDR6)) != 0)
		model_wrong(m, "the adapter's address is another");
	if (c->n[1] == DAT_PROVIDER_FIELD_ALL &&
	    (strcmp(r->attr.prov.provider_name, w->prov_attr.provider_name) !=
		     0 ||
	     r->attr.prov.max_private_data_size !=
		     w->prov_attr.max_private_data_size))
		model_wrong(m, "the provider's attributes are others");
}

static void take_text(struct model *m, const struct call *c,
		      const struct result *r)
{
	for (size_t i = 0; i < COUNT(majors); i++)
		if (DAT_GET_TYPE(c->n[0]) == DAT_GET_TYPE(majors[i].value) &&
		    strcmp(r->major, majors[i].text) != 0)
			model_wrong(m, "\"%s\" for %s", r->major,
				    majors[i].text);
	for (size_t i = 0; !c->no_out && i < COUNT(minors); i++)
		if (DAT_GET_SUBTYPE(c->n[0]) == minors[i].value &&
		    strcmp(r->minor, minors[i].text) != 0)
			model_wrong(m, "\"%s\" for %s", r->minor,
				    minors[i].text);
	if (!c->no_out && !DAT_GET_SUBTYPE(c->n[0]) && *r->minor)
		model_wrong(m, "\"%s\" where there is no subtype", r->minor);
}

static void take_list(struct model *m, const struct call *c,
		      const struct result *r)
{
	int most = (int32_t)c->n[0];
	int there = WALK_LIST_PART && most < m->providers ? most : m->providers;

	if (m->providers && r->more != there)
		model_wrong(m, "%d adapters, before there were %d", r->more,
			    m->providers);
	if (r->more < most || !WALK_LIST_PART)
		m->providers = r->more;
}

void lib_take(struct model *m, const struct world *w, const struct call *c,
	      const struct result *r)
{
	switch (c->op) {
	case OP_IA_QUERY:
		take_ia_query(m, w, c, r);
		break;
	case OP_STRERROR:
		take_text(m, c, r);
		break;
	case OP_LIST_PROVIDERS:
		take_list(m, c, r);
		break;
#if DAT_FACE == 2
	default:
		take_csp(m, c, r);
#endif
	}
}
