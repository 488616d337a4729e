/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * walk.c - one walk: makes calls, holds each against the model, and in the end
 * looks whether anything is left.
 *
 * It decides nothing of what is right. Threads: the walk's own has all calls.
 * Ownership: walk.h. Rule: doc/testing.md.
 */
#include "test/walk/walk.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/device.h"
#include "test/unit/fake/fake_verbs.h"

/*
 * Repetitions of one walk, to see memory grow: first so many that a library
 * which keeps freed objects for a while has as many as it keeps.
 */
#define RUNS_WARM  80
#define RUNS_AGAIN 24
#define FREED_MS   10000
/* What is known to fail is not waited for so long: it is tried often. */
#define AGAIN_US   1500000
#define LESS_CALLS 8 /* so many times fewer, in a walk that is repeated */

struct walk {
	struct model m;
	struct world w;
	struct gen g;
	struct trail *t;
	DAT_TIMEOUT patience_us;
	bool loud;
	FILE *to; /* the calls that were made, if they are recorded */
};

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ------------------------------------------------------------- steps */

/* For whoever is to judge a complaint that does not come again. */
static void remember(struct walk *k, const struct call *c,
		     const struct result *r)
{
	struct walk_step *s = &k->t->steps[k->t->at % WALK_STEPS];

	*s = (struct walk_step){.c = *c, .ret = r->ret, .made = r->made};
	if (r->ret != DAT_SUCCESS ||
	    (c->op != OP_EVD_WAIT && c->op != OP_EVD_DEQUEUE))
		return;
	s->event = r->ev.event_number;
	if (s->event >> 12 == 4)
		s->made = r->ev.event_data.connect_event_data.ep_handle;
}

static bool step(struct walk *k, const struct call *c, struct result *r)
{
	struct call made = *c;
	const char *fails;
	struct answers a;

	r->ret = DAT_ABORT;
	if (!model_can(&k->m, c))
		return true;
	model_ask(&k->m, c, &a);
	if (made.op == OP_EVD_WAIT && made.n[0] == PATIENCE_US && c->h[0] >= 0)
		made.n[0] = model_owes(&k->m, c->h[0]) ? k->patience_us : 0;
	if (k->loud)
		call_print(stderr, &k->w, c);
	fails = c->fails ? fault_call(&k->m, c, c->fails) : NULL;
	if (fails)
		fv_fail_call(fails, 1, ENOMEM);
	call_make(&k->w, &made, r);
	if (fails) {
		if (fv_fail_hit())
			fault_excuses(c, &a);
		fv_fail_at(0, 0);
	}
	if (k->to)
		call_write(k->to, c);
	if (k->loud)
		fprintf(stderr,
			"\t\t0x%08x %p, event 0x%x, if of a transfer status %d\n",
			r->ret, r->made, r->ev.event_number,
			(int)r->ev.event_data.dto_completion_event_data.status);
	remember(k, c, r);
	k->t->at++;
	return model_take(&k->m, &k->w, c, &a, r);
}

static void blank(struct call *c, int op, int id)
{
	memset(c, 0, sizeof(*c));
	c->op = (uint8_t)op;
	for (int i = 0; i < 6; i++)
		c->h[i] = OBJ_NULL;
	c->h[0] = (int16_t)id;
}

/* Takes all that is owed to an EVD, and all that has come. */
static bool drain(struct walk *k, int evd)
{
	bool closed = k->m.obj[evd].evd.unwaitable;
	struct result r;
	struct call c;

	if (closed) {
		blank(&c, OP_EVD_CLEAR_UNWAITABLE, evd);
		if (!step(k, &c, &r))
			return false;
	}
	do {
		blank(&c, OP_EVD_WAIT, evd);
		c.n[0] = model_owes(&k->m, evd) ? PATIENCE_US : 0;
		c.n[1] = 1;
		if (!step(k, &c, &r))
			return false;
	} while (r.ret == DAT_SUCCESS);
	if (closed) {
		blank(&c, OP_EVD_SET_UNWAITABLE, evd);
		return step(k, &c, &r);
	}
	return true;
}

/*
 * Everything owed has come, and nothing else. Requests stay for the calls that
 * answer them.
 */
static bool settle(struct walk *k)
{
	struct result r;
	struct call c;

	for (int id = 0; id < k->m.n_obj; id++) {
		const struct obj *o = &k->m.obj[id];

		if (o->live && o->kind == K_EVD &&
		    !(o->evd.flags & DAT_EVD_CR_FLAG) && !drain(k, id))
			return false;
	}
	for (int id = 0; id < k->m.n_obj; id++) {
		if (!k->m.obj[id].live || k->m.obj[id].kind != K_EP)
			continue;
		blank(&c, OP_EP_STATUS, id);
		if (!step(k, &c, &r))
			return false;
	}
	return true;
}

/* The device gives a request up that the peer has no receive for. */
static bool give_up(struct walk *k, const struct call *c)
{
	struct dto *d = fault_waits(&k->m, c->h[0]);
	struct ibv_qp *qp;

	if (!d)
		return true;
	if (k->loud)
		call_print(stderr, &k->w, c);
	qp = fv_qp_using(k->w.mem[d->lmr] + d->chunk * WALK_CHUNK);
	if (!qp)
		return model_wrong(&k->m, "%s %llu is not with the device",
				   call_name(d->op),
				   (unsigned long long)d->cookie);
	fault_happens(&k->m, c->h[0], conn_peer(&k->m, c->h[0]),
		      c->n[0] ? FAULT_LOST : FAULT_TIRED, d, NULL);
	fv_request_fails(qp, c->n[0] ? IBV_WC_RETRY_EXC_ERR
				     : IBV_WC_RNR_RETRY_EXC_ERR);
	return true;
}

static bool one(struct walk *k, const struct call *c)
{
	struct result r;
	bool ok;

	if (c->op == OP_SETTLE)
		return settle(k);
	if (c->op == OP_TROUBLE)
		return give_up(k, c);
	ok = step(k, c, &r);
	/* Numbers are for what was made. */
	if (c->out && k->m.obj[c->out].kind != K_NONE && c->out >= k->g.next)
		k->g.next = c->out + 2;
	if (c->op == OP_EP_CONNECT || c->op == OP_EP_DUP_CONNECT ||
	    c->op == OP_EP_COMMON_CONNECT)
		k->g.serial++;
	if (call_posts(c->op))
		k->m.cookies++;
	return ok;
}

static bool record(struct walk *k, const struct call *c)
{
	if (k->t->n < WALK_CALLS)
		k->t->calls[k->t->n++] = *c;
	return one(k, c);
}

/*
 * Recorded walks wait for all that is on its way before they go on, so that
 * time decides nothing.
 */
static bool hear(struct walk *k)
{
	const unsigned others = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
				DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;
	struct call c;

	for (int id = 0; id < k->m.n_obj; id++) {
		const struct obj *o = &k->m.obj[id];

		if (!o->live || o->kind != K_EVD || !(o->evd.flags & others) ||
		    !model_owes(&k->m, id))
			continue;
		blank(&c, OP_EVD_WAIT, id);
		c.n[0] = PATIENCE_US;
		c.n[1] = 1;
		if (o->evd.flags & DAT_EVD_CR_FLAG)
			c.out = (int16_t)k->g.next;
		if (!record(k, &c))
			return false;
		id = -1; /* one may bring another */
	}
	return true;
}

static bool full(const struct walk *k)
{
	return k->g.next >= WALK_OBJS - 4 || k->t->n >= WALK_CALLS - 300;
}

static bool wander(struct walk *k, int calls)
{
	bool graceful = gen_below(&k->g, 2) || k->to;
	struct call c;

	while (k->t->at < calls && !full(k)) {
		gen_next(&k->g, &k->m, &c);
		if (k->to && !record_may(&k->g, &k->m, &c))
			continue;
		if (!record(k, &c) || (k->to && !hear(k)))
			return false;
	}
	while (k->to && record_end(&k->m, &c))
		if (!record(k, &c) || !hear(k))
			return false;
	/* Each frees one object, if the order is right. */
	for (int i = 0; gen_end(&k->g, &k->m, graceful, &c); i++)
		if (i > WALK_OBJS)
			return model_wrong(&k->m, "the end has no end: %s",
					   call_name(c.op));
		else if (!record(k, &c))
			return false;
	return true;
}

static bool repeat(struct walk *k)
{
	struct call c;

	for (int i = 0; i < k->t->n; i++)
		if (!one(k, &k->t->calls[i]))
			return false;
	/* What a part of a walk leaves open. */
	while (gen_end(&k->g, &k->m, false, &c))
		if (!one(k, &c))
			return false;
	return true;
}

/* ------------------------------------------------------------ the end */

static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

struct left {
	int files, threads;
	size_t bytes;
};

static struct left left_now(void)
{
	return (struct left){entries("/proc/self/fd"),
			     entries("/proc/self/task"), mallinfo2().uordblks};
}

/*
 * What the service thread is to free may wait for a processor, for as long as
 * the walk does not; and a thread that was joined is still the kernel's for a
 * moment (pthread_join() is woken before the task is taken from the list).
 */
static struct left left_soon(int threads, size_t bytes)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct left now = left_now();

	for (int ms = 0; ms < FREED_MS; ms++) {
		if (now.threads <= threads && now.bytes <= bytes)
			break;
		nanosleep(&pause, NULL);
		now = left_now();
	}
	return now;
}

static bool nothing_left(struct walk *k, const struct left *before)
{
	struct left after = left_soon(before->threads, SIZE_MAX);

	if (fv_live())
		return model_wrong(&k->m, "%u objects of the device are left",
				   fv_live());
	if (after.threads > before->threads)
		return model_wrong(&k->m, "%d threads are left",
				   after.threads - before->threads);
	if (after.files != before->files)
		return model_wrong(&k->m, "%d descriptors are left",
				   after.files - before->files);
	return true;
}

static void look_at_device(struct model *m)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const struct fv_device_cfg *cfg = fv_device_cfg_get(list[0]);

	m->flushes_late =
		cfg->flushes_late || cfg->err_recv_stays || cfg->err_send_stays;
	m->iwarp = list[0]->transport_type == IBV_TRANSPORT_IWARP;
	m->sink_rw = cfg->read_sink_rw;
	m->withholds = cfg->err_is_final;
	ibv_free_device_list(list);
}

static bool loses(uint64_t seed)
{
	return seed % 4 == 1;
}

static void begin(struct walk *k, const struct options *opt, uint64_t seed,
		  int slot)
{
	k->m.lie = opt->lie;
	model_init(&k->m);
	look_at_device(&k->m);
	k->m.cm_posts = !strcmp(opt->provider, "ucm");
	k->m.loses = k->m.cm_posts && loses(seed);
	k->w.adapter = opt->provider;
	k->w.qual = opt->qual + (DAT_CONN_QUAL)slot * 16;
	k->patience_us = seed ? PATIENCE_US : AGAIN_US;
	k->loud = opt->loud;
	k->g = (struct gen){.state = seed,
			    .next = 1,
			    .still = opt->still,
			    .sound = opt->record};
	/* Some are left to chance. What is recorded is older than this. */
	k->g.eager = !opt->still && !opt->record && seed % 4;
	k->g.windows = k->g.eager && seed % 8 == 5;
	k->g.spills = k->g.eager && seed % 8 == 3;
	k->g.common = DAT_FACE == 2 && k->g.eager && seed % 8 == 7;
}

/* Memory of regions is the walk's, not the library's. */
static void finish(struct walk *k)
{
	for (int i = 0; i < WALK_OBJS; i++) {
		free(k->w.mem[i]);
		k->w.mem[i] = NULL;
	}
}

static bool again(struct walk *k, const struct options *opt, int slot)
{
	begin(k, opt, 0, slot);
	if (!repeat(k))
		return false;
	finish(k);
	return true;
}

/*
 * Memory that grows with each repetition is lost. That of freed objects which
 * are kept grows with some, until there are as many as were ever alive.
 */
static bool grows(struct walk *k, const struct options *opt, int slot)
{
	size_t bytes[RUNS_AGAIN];

	for (int i = 0; i < RUNS_WARM; i++)
		if (!again(k, opt, slot))
			return false;
	for (int i = 0; i < RUNS_AGAIN; i++) {
		if (!again(k, opt, slot))
			return false;
		bytes[i] = left_now().bytes;
		if (i && bytes[i] <= bytes[i - 1])
			return true;
	}
	if (left_soon(INT_MAX, bytes[0]).bytes <= bytes[0])
		return true;
	return model_wrong(&k->m, "memory grows: from %zu to %zu bytes in %d",
			   bytes[0], bytes[RUNS_AGAIN - 1], RUNS_AGAIN);
}

/* The calls of a walk go out when it is over, those of half a one do not. */
static bool recorded(struct walk *k, const struct options *opt, uint64_t seed)
{
	char *text = NULL;
	size_t size;
	bool ok;

	k->to = open_memstream(&text, &size);
	if (!k->to)
		return model_wrong(&k->m, "no memory to record a walk");
	ok = wander(k, opt->calls);
	fclose(k->to);
	if (ok) {
		fprintf(opt->record, "walk %llu\n%s", (unsigned long long)seed,
			text);
		fflush(opt->record);
	}
	free(text);
	return ok;
}

static bool walk(struct walk *k, const struct options *opt, uint64_t seed,
		 int slot)
{
	struct left before = left_now();
	bool ok;

	begin(k, opt, seed, slot);
	if (seed && opt->record)
		ok = recorded(k, opt, seed);
	else if (seed)
		ok = wander(k,
			    opt->again ? opt->calls / LESS_CALLS : opt->calls);
	else
		ok = repeat(k);
	if (ok)
		finish(k);
	return ok && nothing_left(k, &before) &&
	       (!opt->again || grows(k, opt, slot));
}

/* Loads the library and starts what stays for the life of a process. */
static void warm_up(const struct options *opt)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (!dat_ia_open((char *)(uintptr_t)opt->provider, 8, &evd, &ia))
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* One message in sixteen is lost, as many come twice: in walks that loses(). */
static enum fv_verdict lose(struct fv_ud_packet *pkt, void *arg)
{
	uint64_t *state = arg;

	(void)pkt;
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	switch (*state >> 60) {
	case 0:
		return FV_DROP;
	case 1:
		return FV_DUP;
	default:
		return FV_DELIVER;
	}
}

/* A network of datagrams that is not to be relied on, in some walks. */
static void spoil_network(uint64_t seed)
{
	static uint64_t state;

	state = seed;
	if (!loses(seed))
		return;
	setenv("DAPL_UCM_REP_TIME", "20", 1);
	setenv("DAPL_UCM_RTU_TIME", "20", 1);
	setenv("DAPL_UCM_DREP_TIME", "20", 1);
	setenv("DAPL_UCM_RETRY", "16", 1);
	fv_hook_ud(lose, &state);
}

static _Noreturn void child(const struct options *opt, struct trail *t,
			    uint64_t seed, int slot)
{
	static struct walk k;

	if (!device_make(opt->kind)) {
		fprintf(stderr, "walk: no device of kind %s\n", opt->kind);
		_exit(2);
	}
	k.t = t;
	if (!opt->record && !opt->again)
		spoil_network(seed);
	warm_up(opt);
	if (!walk(&k, opt, seed, slot)) {
		memcpy(t->wrong, k.m.wrong, sizeof(t->wrong));
		_exit(EXIT_FAILURE);
	}
	/* not _exit(): a leak checker runs then */
	exit(EXIT_SUCCESS);
}

/* --------------------------------------------------------- the parent */

pid_t walk_start(const struct options *opt, struct trail *t, uint64_t seed,
		 int slot)
{
	sigset_t set;
	pid_t pid;

	t->at = 0;
	t->wrong[0] = 0;
	if (seed)
		t->n = 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sigemptyset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		child(opt, t, seed, slot);
	}
	if (pid < 0) {
		perror("walk: fork");
		exit(2);
	}
	return pid;
}

static enum verdict judge(const struct trail *t, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return WALK_OK;
	return t->wrong[0] ? WALK_WRONG : WALK_CRASHED;
}

bool walk_poll(const struct options *opt, struct trail *t, pid_t pid, int *seen,
	       uint64_t *since_us, enum verdict *v)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) == pid) {
		*v = judge(t, status);
		if (*v == WALK_CRASHED)
			snprintf(t->wrong, sizeof(t->wrong),
				 WIFSIGNALED(status) ? "died of signal %d"
						     : "exit code %d",
				 WIFSIGNALED(status) ? WTERMSIG(status)
						     : WEXITSTATUS(status));
		return true;
	}
	if (t->at != *seen || !*since_us) {
		*seen = t->at;
		*since_us = now_us();
	}
	if (now_us() - *since_us < (uint64_t)opt->patience_s * 1000000)
		return false;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	snprintf(t->wrong, sizeof(t->wrong), "a call does not return");
	*v = WALK_HUNG;
	return true;
}

void walk_pause(void)
{
	static const struct timespec tick = {.tv_nsec = 200000000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &tick);
}

enum verdict walk_join(const struct options *opt, struct trail *t, pid_t pid)
{
	uint64_t since_us = 0;
	enum verdict v;
	int seen = -1;

	while (!walk_poll(opt, t, pid, &seen, &since_us, &v))
		walk_pause();
	return v;
}
