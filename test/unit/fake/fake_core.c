/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_core.c: the ground of the fake: lock, object list, failure injection,
 * trace, pollable queues. It knows nothing of verbs' meaning.
 * Threads: one mutex; fv__call*() take it, fv__leave() gives it back. The only
 * waits are fv__queue_get() on a blocking descriptor, fv__wait_acked(),
 * fv__lookup(), and those that fv_hang() asks for.
 * Ownership: the object list owns everything a caller created; fv_reset()
 * frees what is left.
 * Rule: a destroy call waits for un-acked events (ibv_get_cq_event(3),
 * rdma_get_cm_event(3)); a fake that hung there would hide the cause.
 */
#include "fake_int.h"
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NUM 0x11

pthread_mutex_t fv__lock = PTHREAD_MUTEX_INITIALIZER;
struct fv_link fv__stalled = {&fv__stalled, &fv__stalled};
bool fv__paused;

static struct fv_link objects = {&objects, &objects};
static pthread_cond_t acked_cond = PTHREAD_COND_INITIALIZER;
static uint32_t next_num = FIRST_NUM;
static uint32_t lowest_qp = FIRST_NUM; /* below it, all numbers are taken */
static unsigned int patience_ms = 2000;
static const char *_Atomic hanging; /* name of a call that never returns */
static struct {
	const char *_Atomic call;
	void (*fn)(void *arg);
	void *arg;
} meanwhile;

static struct {
	unsigned int at; /* 0: disarmed */
	unsigned int count;
	int err;
	bool sticky, hit;
	char call[48]; /* empty: any call */
} failure;

static struct {
	bool on;
	char *text;
	size_t len, size;
} trace;

static const char *const kind_name[FV_OBJ_N] = {
	[FV_OBJ_LIST] = "device list",
	[FV_OBJ_CTX] = "context",
	[FV_OBJ_PD] = "pd",
	[FV_OBJ_MR] = "mr",
	[FV_OBJ_MW] = "mw",
	[FV_OBJ_AH] = "ah",
	[FV_OBJ_CHAN] = "comp channel",
	[FV_OBJ_CQ] = "cq",
	[FV_OBJ_SRQ] = "srq",
	[FV_OBJ_QP] = "qp",
	[FV_OBJ_CM_CHAN] = "cm channel",
	[FV_OBJ_CM_ID] = "cm id",
	[FV_OBJ_CM_EVENT] = "cm event",
	[FV_OBJ_ADDRINFO] = "addrinfo",
};

static __thread int cancel_state; /* of a thread that is in here */

void fv__enter(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	pthread_mutex_lock(&fv__lock);
	cancel_state = was;
}

void fv__leave(void)
{
	pthread_mutex_unlock(&fv__lock);
	pthread_setcancelstate(cancel_state, NULL);
}

int fv__done(int ret)
{
	fv__leave();
	return ret;
}

void *fv__refuse(int err)
{
	fv__leave();
	errno = err;
	return NULL;
}

/* All but posts, which are only where the device's driver is such. */
static void enter_kernel(const char *call)
{
	if (strncmp(call, "ibv_post_", strlen("ibv_post_")))
		pthread_testcancel();
}

void fv__die(const char *fmt, ...)
{
	va_list ap;

	fputs("fake: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(stderr);
	abort();
}

void *fv__zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		fv__die("out of memory");
	return p;
}

uint32_t fv__pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

void fv__trace(const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	if (!trace.on)
		return;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (trace.len + (size_t)n + 1 > trace.size) {
		trace.size = (trace.size + (size_t)n + 1) * 2;
		trace.text = realloc(trace.text, trace.size);
		if (!trace.text)
			fv__die("out of memory");
	}
	memcpy(trace.text + trace.len, line, (size_t)n);
	trace.len += (size_t)n;
	trace.text[trace.len] = '\0';
}

static int injected(const char *name)
{
	if (failure.call[0] && strcmp(failure.call, name))
		return 0;
	failure.count++;
	if (!failure.at || failure.count < failure.at)
		return 0;
	if (failure.count > failure.at && !failure.sticky)
		return 0;
	failure.hit = true;
	return failure.err;
}

void fv_hang(const char *call)
{
	hanging = call;
}

void fv_meanwhile(const char *call, void (*fn)(void *arg), void *arg)
{
	meanwhile.fn = fn;
	meanwhile.arg = arg;
	meanwhile.call = call;
}

static void let_happen(const char *name)
{
	const char *call = meanwhile.call;

	if (!call || strcmp(call, name))
		return;
	meanwhile.call = NULL;
	meanwhile.fn(meanwhile.arg);
}

static void hang(const char *name)
{
	const char *call = hanging;

	while (call && !strcmp(call, name))
		pause();
}

int fv__call(const char *name)
{
	int err;

	hang(name);
	let_happen(name);
	enter_kernel(name);
	fv__enter();
	err = injected(name);
	if (!err) {
		fv__trace("%s", name);
		fv__restless();
		return 0;
	}
	fv__trace("%s failed %d", name, err);
	fv__leave();
	errno = err;
	return err;
}

void fv__call_sure(const char *name)
{
	hang(name);
	enter_kernel(name);
	fv__enter();
	fv__trace("%s", name);
}

static void arm(const char *call, unsigned int n, int err, bool sticky)
{
	fv__enter();
	memset(&failure, 0, sizeof(failure));
	failure.at = n;
	failure.err = err;
	failure.sticky = sticky;
	if (call)
		snprintf(failure.call, sizeof(failure.call), "%s", call);
	fv__leave();
}

void fv_fail_at(unsigned int n, int err)
{
	arm(NULL, n, err, false);
}

void fv_fail_from(unsigned int n, int err)
{
	arm(NULL, n, err, true);
}

void fv_fail_call(const char *call, unsigned int n, int err)
{
	arm(call, n, err, false);
}

unsigned int fv_fail_count(void)
{
	unsigned int n;

	fv__enter();
	n = failure.count;
	fv__leave();
	return n;
}

bool fv_fail_hit(void)
{
	bool hit;

	fv__enter();
	hit = failure.hit;
	fv__leave();
	return hit;
}

void fv_trace(bool on)
{
	fv__enter();
	trace.on = on;
	trace.len = 0;
	if (trace.text)
		trace.text[0] = '\0';
	fv__leave();
}

const char *fv_trace_get(void)
{
	const char *t;

	fv__enter();
	t = trace.text ? trace.text : "";
	fv__leave();
	return t;
}

/*
 * A queue pair gets the lowest number that is free, as from siw: one that was
 * made anew often has the number of the former. 0 and 1 are special.
 */
static uint32_t new_num(enum fv_obj_kind kind)
{
	if (kind != FV_OBJ_QP)
		return next_num++;
	while (fv__find(kind, lowest_qp))
		lowest_qp++;
	return lowest_qp;
}

void *fv__new(size_t size, size_t obj_offset, enum fv_obj_kind kind,
	      void (*free_obj)(struct fv_obj *obj))
{
	char *p = fv__zalloc(size);
	struct fv_obj *obj = (struct fv_obj *)(void *)(p + obj_offset);

	obj->kind = kind;
	obj->num = new_num(kind);
	obj->free = free_obj;
	fv_link_add(&objects, &obj->link);
	return p;
}

void fv__drop(struct fv_obj *obj)
{
	fv_link_del(&obj->link);
	if (obj->kind == FV_OBJ_QP && obj->num < lowest_qp)
		lowest_qp = obj->num;
	obj->free(obj);
}

struct fv_obj *fv__next(enum fv_obj_kind kind, struct fv_obj *after)
{
	struct fv_link *l = after ? after->link.next : objects.next;

	for (; l != &objects; l = l->next) {
		struct fv_obj *obj = fv_container(l, struct fv_obj, link);

		if (obj->kind == kind)
			return obj;
	}
	return NULL;
}

struct fv_obj *fv__find(enum fv_obj_kind kind, uint32_t num)
{
	struct fv_obj *obj;

	fv_for_each(obj, kind) if (obj->num == num) return obj;
	return NULL;
}

unsigned int fv_live(void)
{
	struct fv_link *l;
	unsigned int n = 0;

	fv__enter();
	for (l = objects.next; l != &objects; l = l->next)
		n += !fv_container(l, struct fv_obj, link)->hidden;
	fv__leave();
	return n;
}

void fv_live_dump(FILE *to)
{
	struct fv_link *l;

	fv__enter();
	for (l = objects.next; l != &objects; l = l->next) {
		struct fv_obj *obj = fv_container(l, struct fv_obj, link);

		if (obj->hidden)
			continue;
		fprintf(to, "# live: %s %u, refs %u, un-acked events %u\n",
			kind_name[obj->kind], obj->num, obj->refs, obj->events);
	}
	fv__leave();
}

void fv_pause(bool on)
{
	fv__enter();
	fv__paused = on;
	if (!on)
		fv__kick_all();
	fv__leave();
}

void fv_ack_patience(unsigned int ms)
{
	fv__enter();
	patience_ms = ms;
	fv__leave();
}

void fv__acked(void)
{
	pthread_cond_broadcast(&acked_cond);
}

void fv__wait_acked(unsigned int *count, const char *what)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += patience_ms / 1000;
	ts.tv_nsec += (long)(patience_ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	while (*count)
		if (pthread_cond_timedwait(&acked_cond, &fv__lock, &ts))
			break;
	if (*count)
		fv__die("%s with %u un-acked event(s): would block forever",
			what, *count);
}

int fv__queue_init(struct fv_queue *q)
{
	fv_link_init(&q->items);
	q->fd = eventfd(0, EFD_CLOEXEC);
	return q->fd < 0 ? errno : 0;
}

void fv__queue_fini(struct fv_queue *q)
{
	if (q->fd >= 0)
		close(q->fd);
	q->fd = -1;
}

/* A write per item, so that an edge-triggered watcher sees each of them. */
void fv__queue_push(struct fv_queue *q, struct fv_link *item)
{
	uint64_t one = 1;

	fv_link_add(&q->items, item);
	if (write(q->fd, &one, sizeof(one)) != sizeof(one))
		fv__die("eventfd write: %s", strerror(errno));
}

void fv__queue_del(struct fv_queue *q, struct fv_link *item)
{
	struct pollfd pfd = {.fd = q->fd, .events = POLLIN};
	uint64_t n;

	fv_link_del(item);
	if (!fv_link_empty(&q->items))
		return;
	/* a forked child shares the descriptor and may have drained it */
	if (poll(&pfd, 1, 0) == 1 && read(q->fd, &n, sizeof(n)) != sizeof(n))
		fv__die("eventfd read: %s", strerror(errno));
}

struct fv_link *fv__queue_get(struct fv_queue *q)
{
	struct pollfd pfd = {.fd = q->fd, .events = POLLIN};
	struct fv_link *item;
	int rc;

	while (fv_link_empty(&q->items)) {
		if (fcntl(q->fd, F_GETFL) & O_NONBLOCK) {
			errno = EAGAIN;
			return NULL;
		}
		fv__leave();
		rc = poll(&pfd, 1, -1);
		fv__enter();
		if (rc < 0)
			return NULL;
	}
	item = q->items.next;
	fv__queue_del(q, item);
	return item;
}

static void free_objects(void)
{
	int kind;

	/* later kinds stand on earlier ones */
	for (kind = FV_OBJ_N - 1; kind >= 0; kind--) {
		struct fv_obj *obj;

		while ((obj = fv__next((enum fv_obj_kind)kind, NULL)))
			fv__drop(obj);
	}
}

void fv_reset(void)
{
	fv__enter();
	fv__paused = false;
	fv__ud_reset();
	fv__lookup_reset();
	fv__event_reset();
	fv__cm_reset();
	free_objects();
	fv__devices_reset();
	memset(&failure, 0, sizeof(failure));
	free(trace.text);
	memset(&trace, 0, sizeof(trace));
	patience_ms = 2000;
	hanging = NULL;
	meanwhile.call = NULL;
	fv__leave();
}

int fv_nothing_left(void **state)
{
	unsigned int n = fv_live();

	if (n)
		fv_live_dump(stderr);
	fv_reset();
	return n ? -1 : 0;
}
