/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_world.c - two instances of a provider with a recorder; see the header.
 * Contains no test. The provider registry is the objects' and is stubbed here
 * and in the tests.
 */
#include "test/unit/cm_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "dapl/common/plugin/dapl_register.h"

#define SEEN_MAX 16384

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static struct seen seen[SEEN_MAX];
static int seen_n;

static void record(const struct seen *s)
{
	pthread_mutex_lock(&mutex);
	if (seen_n < SEEN_MAX) {
		seen[seen_n] = *s;
		seen[seen_n].nth = seen_n;
		seen_n++;
	}
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void keep(struct seen *s, const void *pdata, size_t size)
{
	s->size = size;
	if (size)
		memcpy(s->pdata, pdata,
		       size < sizeof(s->pdata) ? size : sizeof(s->pdata));
}

static void up_request(struct dapl_sp *sp, struct dapl_cm_conn *conn,
		       const struct dapl_cm_request *req)
{
	struct seen s = {.kind = SEEN_REQUEST, .who = sp, .conn = conn};

	memcpy(&s.peer, req->peer_addr,
	       req->peer_addr->sa_family == AF_INET6
		       ? sizeof(struct sockaddr_in6)
		       : sizeof(struct sockaddr_in));
	s.peer_port = req->peer_port;
	keep(&s, req->pdata, req->pdata_size);
	if (sp->refuse)
		world_release(conn);
	if (sp->once) {
		sp->once = false;
		world_provider.ops->unlisten(sp->listener);
	}
	record(&s);
}

static void up_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		     enum dapl_cm_event event, const void *pdata, size_t size)
{
	struct seen s = {
		.kind = SEEN_EVENT, .who = ep, .conn = conn, .event = event};
	void (*and_then)(void) = ep->and_then;

	keep(&s, pdata, size);
	s.in_err = ep->qp && fv_qp_state(ep->qp) == IBV_QPS_ERR;
	if (ep->hang_up && event == DAPL_CM_ESTABLISHED)
		world_provider.ops->disconnect(conn);
	if (ep->drop) {
		ep->drop = false;
		world_release(conn);
	}
	record(&s);
	/* EP may be no more. */
	if (and_then)
		and_then();
}

static void up_gone(struct dapl_ep *ep)
{
	struct seen s = {.kind = SEEN_GONE, .who = ep};
	void (*and_then)(void) = ep->and_then;

	__atomic_sub_fetch(&ep->refs, 1, __ATOMIC_ACQ_REL);
	record(&s);
	/* EP may be no more. */
	if (and_then)
		and_then();
}

static void up_unlistened(struct dapl_sp *sp)
{
	struct seen s = {.kind = SEEN_UNLISTENED, .who = sp};

	record(&s);
}

/*
 * Moves of queue pairs: made at once, and their end told by the loop, as by the
 * objects; a release that comes before waits for it.
 */
struct move {
	struct dapl_work work;
	struct dapl_list link;
	struct dapl_ep *ep;
	struct dapl_cm_conn *conn;
	dapl_cm_moved_fn *moved;
	int ret;
	bool released;
};

static struct dapl_list moves = {&moves, &moves}; /* mutex */

static struct move *move_of(const struct dapl_cm_conn *conn)
{
	struct move *m;

	dapl_list_for_each(m, &moves, link)
		if (m->conn == conn)
			return m;
	return NULL;
}

static void move_over(struct dapl_work *work)
{
	struct move *m = dapl_container_of(work, struct move, work);
	bool released;

	pthread_mutex_lock(&mutex);
	dapl_list_del(&m->link);
	released = m->released;
	pthread_mutex_unlock(&mutex);
	m->moved(m->conn, m->ret);
	if (released)
		world_provider.ops->release(m->conn);
	free(m);
}

static int make_step(struct dapl_ep *ep, const struct vb_qp_step *step)
{
	struct ibv_qp_attr attr = step->attr;

	if (ep->fail_modify && --ep->fail_modify == 0)
		return ep->fail_with ? ep->fail_with : -EIO;
	return vb_qp_modify(ep->qp, &attr, step->mask);
}

static int up_qp_move(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      const struct vb_qp_step *steps, int n,
		      dapl_cm_moved_fn *moved)
{
	struct move *m;

	if (!ep->qp)
		return -ENOTCONN;
	m = calloc(1, sizeof(*m));
	assert_non_null(m);
	m->ep = ep;
	m->conn = conn;
	m->moved = moved;
	for (int i = 0; i < n && !m->ret; i++)
		m->ret = make_step(ep, &steps[i]);
	dapl_work_init(&m->work, move_over);
	pthread_mutex_lock(&mutex);
	dapl_list_add_tail(&moves, &m->link);
	pthread_mutex_unlock(&mutex);
	dapl_loop_defer(ep->side->loop, &m->work);
	return 0;
}

static void up_qp_error(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	if (ep->qp)
		vb_qp_error(ep->qp);
}

static void up_qp_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	struct move *m;

	pthread_mutex_lock(&mutex);
	m = move_of(conn);
	if (m)
		dapl_list_del(&m->link);
	pthread_mutex_unlock(&mutex);
	if (!m)
		return;
	dapl_work_cancel(ep->side->loop, &m->work);
	free(m);
}

static void up_device_gone(struct dapl_ia *ia)
{
	(void)ia;
}

static const struct dapl_cm_up recorder = {
	.request = up_request,
	.event = up_event,
	.gone = up_gone,
	.unlistened = up_unlistened,
	.qp_move = up_qp_move,
	.qp_error = up_qp_error,
	.qp_stop = up_qp_stop,
	.device_gone = up_device_gone,
};

void world_release(struct dapl_cm_conn *conn)
{
	struct move *m;

	pthread_mutex_lock(&mutex);
	m = move_of(conn);
	if (m)
		m->released = true;
	pthread_mutex_unlock(&mutex);
	if (!m)
		world_provider.ops->release(conn);
}

/* For the tests that do not look at the registry. */
__attribute__((weak)) void dapl_provider_register(const struct dapl_cm_ops *ops,
						  const DAT_PROVIDER_INFO *info,
						  const char *ia_params)
{
}

__attribute__((weak)) void
dapl_provider_unregister(const struct dapl_cm_ops *ops,
			 const DAT_PROVIDER_INFO *info)
{
}

void side_params(struct side *s)
{
	assert_true(world_provider.ops->params->size <= sizeof(s->params));
	setenv("DAPL_CM_ARP_TIMEOUT_MS", "100", 1);
	setenv("DAPL_CM_ARP_RETRY_COUNT", "3", 1);
	setenv("DAPL_CM_ROUTE_TIMEOUT_MS", "100", 1);
	setenv("DAPL_CM_ROUTE_RETRY_COUNT", "3", 1);
	setenv("DAPL_SCM_NETDEV", "lo", 1);
	dapl_params_read(world_provider.ops->params, s->params, NULL);
}

int side_try_open(struct side *s, const char *ia_params)
{
	struct dapl_cm base = {.ops = world_provider.ops,
			       .up = &recorder,
			       .params = s->params};
	int ret;

	assert_int_equal(dapl_loop_open("test", &s->loop), 0);
	base.loop = s->loop;
	ret = world_provider.ops->open(ia_params, &base, &s->cm);
	if (ret)
		goto err_loop;
	ret = vb_open(s->cm->dev_name, s->cm->port, &s->dev);
	if (ret)
		goto err_cm;
	s->cm->dev = &s->dev;
	ret = world_provider.ops->start(s->cm);
	if (!ret)
		return 0;
	vb_close(&s->dev);
err_cm:
	world_provider.ops->close(s->cm);
err_loop:
	dapl_loop_close(s->loop);
	return ret;
}

void side_open(struct side *s, const char *ia_params)
{
	side_params(s);
	assert_int_equal(side_try_open(s, ia_params), 0);
	assert_int_equal(vb_pd_create(&s->dev, &s->pd), 0);
	assert_int_equal(vb_cq_create(&s->dev, 64, NULL, NULL, &s->cq), 0);
}

void side_close(struct side *s)
{
	world_provider.ops->stop(s->cm);
	vb_cq_destroy(s->cq);
	vb_pd_destroy(s->pd);
	world_provider.ops->close(s->cm);
	vb_close(&s->dev);
	dapl_loop_close(s->loop);
}

void world_open(struct world *w, enum fv_kind kind)
{
	struct fv_device_cfg cfg;

	fv_reset();
	fv_device_cfg_init(&cfg, kind, "fake0", "10.0.0.1");
	fv_device_add(&cfg);
	fv_device_cfg_init(&cfg, kind, "fake1", "10.0.0.2");
	fv_device_add(&cfg);
	seen_n = 0;
	side_open(&w->a, world_provider.params_a);
	side_open(&w->b, world_provider.params_b);
}

static const char *const kind_names[] = {"request", "event", "gone",
					 "unlistened"};

static void all_taken(void)
{
	for (int i = 0; i < seen_n; i++)
		if (!seen[i].taken)
			fail_msg("unexpected upcall: %s %d",
				 kind_names[seen[i].kind], seen[i].event);
}

void world_close(struct world *w)
{
	side_close(&w->a);
	side_close(&w->b);
	all_taken();
	if (fv_live()) {
		fv_live_dump(stderr);
		fail_msg("%u objects left", fv_live());
	}
}

struct dapl_ep *ep_new(struct side *s)
{
	struct dapl_ep *ep = calloc(1, sizeof(*ep));
	struct vb_qp_cfg cfg = {.type = IBV_QPT_RC,
				.send_cq = s->cq,
				.recv_cq = s->cq,
				.max_send_wr = 4,
				.max_recv_wr = 4,
				.max_send_sge = 1,
				.max_recv_sge = 1};
	uint32_t inl;

	assert_non_null(ep);
	ep->side = s;
	assert_int_equal(vb_qp_create(s->pd, &cfg, &ep->qp, &inl), 0);
	assert_int_equal(
		vb_qp_init(&s->dev, ep->qp, 0,
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
		0);
	ep->cfg = (struct dapl_cm_qp){.qp_num = ep->qp->qp_num,
				      .responder_resources = 4,
				      .initiator_depth = 4};
	return ep;
}

void ep_del(struct dapl_ep *ep)
{
	assert_int_equal(__atomic_load_n(&ep->refs, __ATOMIC_ACQUIRE), 0);
	if (ep->qp)
		vb_qp_destroy(ep->qp);
	free(ep);
}

enum ibv_qp_state ep_state(struct dapl_ep *ep)
{
	return fv_qp_state(ep->qp);
}

static struct seen *find(enum seen_kind kind, const void *who)
{
	for (int i = 0; i < seen_n; i++)
		if (!seen[i].taken && seen[i].kind == kind &&
		    seen[i].who == who)
			return &seen[i];
	return NULL;
}

struct seen take(enum seen_kind kind, const void *who)
{
	struct timespec until;
	struct seen copy = {.kind = kind}, *s;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WORLD_PATIENCE_MS / 1000;
	pthread_mutex_lock(&mutex);
	while (!(s = find(kind, who)) && !err)
		err = pthread_cond_timedwait(&cond, &mutex, &until);
	if (s) {
		s->taken = true;
		copy = *s;
	}
	pthread_mutex_unlock(&mutex);
	if (!s)
		fail_msg("no %s came", kind_names[kind]);
	return copy;
}

void take_event(const struct dapl_ep *ep, enum dapl_cm_event event)
{
	struct seen s = take(SEEN_EVENT, ep);

	assert_int_equal(s.event, event);
}

int pending(enum seen_kind kind, const void *who)
{
	int n = 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < seen_n; i++)
		n += !seen[i].taken && seen[i].kind == kind &&
		     seen[i].who == who;
	pthread_mutex_unlock(&mutex);
	return n;
}

void peer_b(struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret_addr;

	memset(ret_addr, 0, sizeof(*ret_addr));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = inet_addr(world_provider.addr_b);
}

struct dapl_cm_conn *prepare(struct dapl_ep *ep)
{
	struct dapl_cm_conn *conn;

	assert_int_equal(world_provider.ops->prepare(ep->side->cm, ep, &conn),
			 0);
	ep->refs++;
	return conn;
}

struct dapl_cm_conn *begin(struct dapl_ep *ep, DAT_CONN_QUAL qual,
			   const void *pdata, size_t size)
{
	struct dapl_cm_conn *conn = prepare(ep);
	struct sockaddr_storage addr;
	struct dapl_cm_connect req = {.qp = ep->cfg,
				      .addr = (struct sockaddr *)&addr,
				      .qual = qual,
				      .pdata = pdata,
				      .pdata_size = size};

	peer_b(&addr);
	assert_int_equal(world_provider.ops->connect(conn, &req), 0);
	return conn;
}

void finish(struct dapl_cm_conn *conn, struct dapl_ep *ep)
{
	world_release(conn);
	take(SEEN_GONE, ep);
}

struct dapl_cm_listener *listen_on(struct dapl_sp *sp, DAT_CONN_QUAL qual)
{
	assert_int_equal(world_provider.ops->listen(sp->side->cm, qual, sp,
						    &sp->listener),
			 0);
	return sp->listener;
}

void unlisten(struct dapl_sp *sp, struct dapl_cm_listener *l)
{
	world_provider.ops->unlisten(l);
	take(SEEN_UNLISTENED, sp);
}

void pair_listen(struct world *w, struct pair *p, DAT_CONN_QUAL qual)
{
	memset(p, 0, sizeof(*p));
	p->sp.side = &w->b;
	p->qual = qual;
	listen_on(&p->sp, qual);
	p->ea = ep_new(&w->a);
	p->eb = ep_new(&w->b);
}

void pair_ask(struct pair *p, const void *pdata, size_t size)
{
	p->ca = begin(p->ea, p->qual, pdata, size);
	pair_requested(p);
}

void pair_requested(struct pair *p)
{
	p->request = take(SEEN_REQUEST, &p->sp);
	p->cb = p->request.conn;
}

void pair_meet(struct world *w, struct pair *p, DAT_CONN_QUAL qual)
{
	pair_listen(w, p, qual);
	pair_ask(p, NULL, 0);
}

void pair_accept(struct pair *p, const void *pdata, size_t size)
{
	assert_int_equal(world_provider.ops->accept(p->cb, &p->eb->cfg, p->eb,
						    pdata, size),
			 0);
	p->eb->refs++;
}

void pair_established(struct pair *p)
{
	take_event(p->ea, DAPL_CM_ESTABLISHED);
	take_event(p->eb, DAPL_CM_ESTABLISHED);
}

void pair_open(struct world *w, struct pair *p, DAT_CONN_QUAL qual)
{
	pair_meet(w, p, qual);
	pair_accept(p, NULL, 0);
	pair_established(p);
	unlisten(&p->sp, p->sp.listener);
}

void pair_end(struct pair *p)
{
	unlisten(&p->sp, p->sp.listener);
	pair_del(p);
}

void pair_over(struct pair *p)
{
	finish(p->ca, p->ea);
	finish(p->cb, p->eb);
	pair_end(p);
}

void pair_del(struct pair *p)
{
	ep_del(p->ea);
	ep_del(p->eb);
}

void part(struct dapl_cm_conn *first, struct dapl_ep *first_ep,
	  struct dapl_cm_conn *second, struct dapl_ep *second_ep)
{
	finish(first, first_ep);
	finish(second, second_ep);
	if (pending(SEEN_EVENT, second_ep))
		take_event(second_ep, DAPL_CM_DISCONNECTED);
}

void pair_close(struct pair *p)
{
	part(p->ca, p->ea, p->cb, p->eb);
	pair_del(p);
}
