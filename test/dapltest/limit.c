/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * limit.c - the limit test: as many objects of a kind as there can be, and
 * back.
 *
 * Does not need a peer. Threads: one.
 * Ownership: a set owns the objects that a kind builds on; what is counted
 * lives from its making to the end of its test.
 * Rule: objects build on each other in the order of enum level. A limit that
 * the adapter or the system sets is no failure, whatever its height; another
 * error is, and so is an object that cannot be had again after all were given
 * back.
 */
#include "test/dapltest/dapltest.h"

#include "test/dtest/common/dt_watch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUAL_FIRST 43806u /* as the historic tool's, in 16 bits */
#define QUAL_LAST  61000u
#define EVD_LENGTH 10
#define LMR_SIZE   4096u
#define NO_MORE	   ((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES))

/* How much of the chain of objects a set has. */
enum level {
	NOTHING,
	IA,
	PZ,
	CNO,
	EVD,
	EP,
	LMR,
};

struct set {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd; /* DTO, CR and RMR binds */
	DAT_EVD_HANDLE conn_evd;
	DAT_EP_HANDLE ep;
	struct dpt_region mem;
};

/* One of the objects that are counted. */
struct object {
	struct set *set;
	DAT_HANDLE handle;
	DAT_HANDLE helper; /* the endpoint of an RSP */
	struct dpt_region mem;
};

struct limit {
	struct dpt *d;
	struct set *sets;
	uint32_t width;
	uint32_t qual;
	struct object *objects;
	uint32_t count, room;
	struct dt_samples samples; /* of making one */
};

struct kind {
	const char *word;
	const char *label; /* of the result line */
	enum level level;
	DAT_RETURN (*make)(struct limit *l, struct object *o);
	DAT_RETURN (*release)(struct object *o);
	bool optional; /* a provider may lack it */
	bool per_set;  /* -m counts for each set */
};

static DAT_RETURN make_ia(struct limit *l, struct object *o)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)(uintptr_t)l->d->o->device, EVD_LENGTH,
			   &async, &o->handle);
}

static DAT_RETURN release_ia(struct object *o)
{
	return dat_ia_close(o->handle, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN make_pz(struct limit *l, struct object *o)
{
	return dat_pz_create(o->set->ia, &o->handle);
}

static DAT_RETURN release_pz(struct object *o)
{
	return dat_pz_free(o->handle);
}

static DAT_RETURN make_cno(struct limit *l, struct object *o)
{
	return dat_cno_create(o->set->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
			      &o->handle);
}

static DAT_RETURN release_cno(struct object *o)
{
	return dat_cno_free(o->handle);
}

static DAT_RETURN make_evd(struct limit *l, struct object *o)
{
	return dat_evd_create(o->set->ia, EVD_LENGTH, o->set->cno,
			      DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
				      DAT_EVD_CR_FLAG,
			      &o->handle);
}

static DAT_RETURN release_evd(struct object *o)
{
	return dat_evd_free(o->handle);
}

static DAT_RETURN create_ep(struct set *s, DAT_EP_HANDLE *ret_ep)
{
	return dat_ep_create(s->ia, s->pz, s->evd, s->evd, s->conn_evd, NULL,
			     ret_ep);
}

static DAT_RETURN make_ep(struct limit *l, struct object *o)
{
	return create_ep(o->set, &o->handle);
}

static DAT_RETURN release_ep(struct object *o)
{
	return dat_ep_free(o->handle);
}

/* A qualifier that somebody else has is no limit. */
static DAT_RETURN make_point(struct limit *l, struct object *o)
{
	DAT_RETURN ret = NO_MORE;

	while (l->qual < QUAL_LAST) {
		DAT_CONN_QUAL qual = l->qual++;

		ret = o->helper ? dat_rsp_create(o->set->ia, qual, o->helper,
						 o->set->evd, &o->handle)
				: dat_psp_create(o->set->ia, qual, o->set->evd,
						 DAT_PSP_CONSUMER_FLAG,
						 &o->handle);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	return ret;
}

static DAT_RETURN make_psp(struct limit *l, struct object *o)
{
	return make_point(l, o);
}

static DAT_RETURN release_psp(struct object *o)
{
	return dat_psp_free(o->handle);
}

static DAT_RETURN make_rsp(struct limit *l, struct object *o)
{
	DAT_RETURN ret = create_ep(o->set, &o->helper);

	if (ret != DAT_SUCCESS)
		return ret;
	ret = make_point(l, o);
	if (ret != DAT_SUCCESS)
		dat_ep_free(o->helper);
	return ret;
}

static DAT_RETURN release_rsp(struct object *o)
{
	DAT_RETURN ret = dat_rsp_free(o->handle);

	return ret == DAT_SUCCESS ? dat_ep_free(o->helper) : ret;
}

static DAT_RETURN register_region(struct set *s, struct dpt_region *mem,
				  size_t length)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN reg_length;
	DAT_VADDR reg_address;
	DAT_RETURN ret;
	void *base;

	if (posix_memalign(&base, LMR_SIZE, length))
		return NO_MORE;
	desc.for_va = base;
	ret = face_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, desc, length, s->pz,
			      DAT_MEM_PRIV_ALL_FLAG, &mem->lmr,
			      &mem->lmr_context, &mem->rmr_context, &reg_length,
			      &reg_address);
	if (ret != DAT_SUCCESS) {
		free(base);
		return ret;
	}
	mem->base = base;
	mem->length = length;
	return ret;
}

static DAT_RETURN unregister_region(struct dpt_region *mem)
{
	DAT_RETURN ret = dat_lmr_free(mem->lmr);

	free(mem->base);
	memset(mem, 0, sizeof(*mem));
	return ret;
}

static DAT_RETURN make_lmr(struct limit *l, struct object *o)
{
	return register_region(o->set, &o->mem, LMR_SIZE);
}

static DAT_RETURN release_lmr(struct object *o)
{
	return unregister_region(&o->mem);
}

static DAT_RETURN make_rpost(struct limit *l, struct object *o)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (DAT_VADDR)(uintptr_t)o->set->mem.base,
		.segment_length = LMR_SIZE,
		.lmr_context = o->set->mem.lmr_context,
	};
	DAT_DTO_COOKIE cookie = {.as_64 = l->count};

	return dat_ep_post_recv(o->set->ep, 1, &iov, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

/* A receive cannot be taken back; it goes with its endpoint. */
static DAT_RETURN release_rpost(struct object *o)
{
	DAT_RETURN ret = dat_ep_free(o->set->ep);

	o->set->ep = DAT_HANDLE_NULL;
	return ret == DAT_SUCCESS ? create_ep(o->set, &o->set->ep) : ret;
}

/* In the order of running, which is historic. */
static const struct kind kinds[] = {
	{"limit_ia", "IAs opened", NOTHING, make_ia, release_ia, false, false},
	{"limit_pz", "PZs created", IA, make_pz, release_pz, false, false},
	{"limit_cno", "CNOs created", PZ, make_cno, release_cno, true, false},
	{"limit_evd", "EVDs created", CNO, make_evd, release_evd, false, false},
	{"limit_ep", "EPs created", EVD, make_ep, release_ep, false, false},
	{"limit_rsp", "RSPs created", EVD, make_rsp, release_rsp, true, false},
	{"limit_psp", "PSPs created", EVD, make_psp, release_psp, false, false},
	{"limit_lmr", "LMRs created", EP, make_lmr, release_lmr, false, false},
	{"limit_rpost", "recv buffers posted", LMR, make_rpost, release_rpost,
	 false, true},
};

#define KIND_N	  (sizeof(kinds) / sizeof(kinds[0]))
#define SIZE_WORD "limit_size_lmr"

static int set_failed(struct limit *l, DAT_RETURN ret, const char *call)
{
	return dpt_failed(l->d, ret, call,
			  "the sets of objects need less with a smaller -w");
}

/* Creates one object of a set's chain; the call's name for errors. */
static DAT_RETURN extend_set(struct limit *l, struct set *s, enum level level,
			     const char **ret_call)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	switch (level) {
	case IA:
		*ret_call = "dat_ia_open";
		return dat_ia_open((DAT_NAME_PTR)(uintptr_t)l->d->o->device,
				   EVD_LENGTH, &async, &s->ia);
	case PZ:
		*ret_call = "dat_pz_create";
		return dat_pz_create(s->ia, &s->pz);
	case CNO:
		*ret_call = "dat_cno_create";
		ret = dat_cno_create(s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				     &s->cno);
		return DAT_GET_TYPE(ret) == DAT_NOT_IMPLEMENTED ? DAT_SUCCESS
								: ret;
	case EVD:
		*ret_call = "dat_evd_create";
		ret = dat_evd_create(s->ia, EVD_LENGTH, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
					     DAT_EVD_CR_FLAG,
				     &s->evd);
		return ret != DAT_SUCCESS
			       ? ret
			       : dat_evd_create(
					 s->ia, EVD_LENGTH, DAT_HANDLE_NULL,
					 DAT_EVD_CONNECTION_FLAG, &s->conn_evd);
	case EP:
		*ret_call = "dat_ep_create";
		return create_ep(s, &s->ep);
	case LMR:
		*ret_call = "dat_lmr_create";
		return register_region(s, &s->mem, LMR_SIZE);
	default:
		return DAT_SUCCESS;
	}
}

static int make_sets(struct limit *l, enum level level)
{
	l->sets = calloc(l->width, sizeof(*l->sets));
	if (!l->sets)
		return dt_fail(&l->d->r, DT_ENVIRONMENT, "no memory");
	for (uint32_t i = 0; i < l->width; i++) {
		for (enum level at = IA; at <= level; at++) {
			const char *call = "";
			DAT_RETURN ret = extend_set(l, &l->sets[i], at, &call);

			if (ret != DAT_SUCCESS)
				return set_failed(l, ret, call);
		}
	}
	return 0;
}

static int free_set(struct dpt *d, struct set *s, int rc)
{
	if (s->mem.base)
		rc = dpt_freed(d, rc, unregister_region(&s->mem),
			       "dat_lmr_free");
	if (s->ep)
		rc = dpt_freed(d, rc, dat_ep_free(s->ep), "dat_ep_free");
	rc = dpt_evd_free(d, &s->conn_evd, rc);
	rc = dpt_evd_free(d, &s->evd, rc);
	if (s->cno)
		rc = dpt_freed(d, rc, dat_cno_free(s->cno), "dat_cno_free");
	rc = dpt_pz_free(d, &s->pz, rc);
	if (s->ia)
		rc = dpt_freed(
			d, rc,
			dat_ia_close(s->ia, rc ? DAT_CLOSE_ABRUPT_FLAG
					       : DAT_CLOSE_GRACEFUL_FLAG),
			"dat_ia_close");
	return rc;
}

static int free_sets(struct limit *l, int rc)
{
	for (uint32_t i = 0; l->sets && i < l->width; i++)
		rc = free_set(l->d, &l->sets[i], rc);
	free(l->sets);
	l->sets = NULL;
	return rc;
}

/* Errors that mean "no more of these". */
static bool is_limit(DAT_RETURN ret)
{
	unsigned int type = DAT_GET_TYPE(ret);

	return type == DAT_GET_TYPE(DAT_INSUFFICIENT_RESOURCES) ||
	       type == DAT_GET_TYPE(DAT_CONN_QUAL_UNAVAILABLE);
}

static int interrupted(struct limit *l)
{
	return dt_fail(&l->d->r, DT_INTERRUPTED, "interrupted");
}

/* Up to the limit, or to -m. *ret_last is what the last call said. */
static int go_up(struct limit *l, const struct kind *k, DAT_RETURN *ret_last)
{
	DAT_RETURN ret = DAT_SUCCESS;

	while (l->count < l->room) {
		struct object *o = &l->objects[l->count];
		uint64_t start = dt_now_ns();

		if (dt_stopped())
			return interrupted(l);
		o->set = &l->sets[l->count % l->width];
		dt_doing(k->word);
		ret = k->make(l, o);
		if (ret != DAT_SUCCESS)
			break;
		dt_samples_add(&l->samples, dt_now_ns() - start);
		l->count++;
		dt_progress(&l->d->r, "%s: %u", k->word, l->count);
	}
	*ret_last = ret;
	return 0;
}

static int come_back(struct limit *l, const struct kind *k, int rc)
{
	uint32_t n = l->count;

	/* One call takes back all receives of a set. */
	if (k->per_set && n > l->width)
		n = l->width;
	while (n > 0) {
		dt_doing(k->word);
		rc = dpt_freed(l->d, rc, k->release(&l->objects[--n]), k->word);
	}
	l->count = 0;
	return rc;
}

/* After all were given back there must be one again. */
static int once_more(struct limit *l, const struct kind *k)
{
	struct object *o = &l->objects[0];
	DAT_RETURN ret;

	memset(o, 0, sizeof(*o));
	o->set = &l->sets[0];
	ret = k->make(l, o);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&l->d->r, DT_FAILED, ret, k->word,
				   "all were given back, yet there is none");
	return dpt_freed(l->d, 0, k->release(o), k->word);
}

static void put_line(struct dpt *d)
{
	dt_line(&d->r, "*******************************************************"
		       "***************\n");
}

static void report(struct limit *l, const struct kind *k, uint32_t n,
		   const char *result)
{
	struct dt_result res;

	dt_result_begin(&res, l->samples.count ? DT_LATENCY : DT_NO_FIGURES,
			k->word, "create");
	res.iterations = n;
	res.result = result;
	dt_stats_compute(&l->samples, 0, 1, &res.stats);
	dt_report_result(&l->d->r, &res);
}

static int judge(struct limit *l, const struct kind *k, DAT_RETURN last)
{
	const char *major = "", *minor = "";

	if (last == DAT_SUCCESS) {
		dt_line(&l->d->r, "%s: no limit up to -m %u\n", k->word,
			l->d->o->max);
		return 0;
	}
	dat_strerror(last, &major, &minor);
	dt_line(&l->d->r, "%s: #%u: %s %s\n", k->word, l->count + 1, major,
		minor);
	if (is_limit(last) && l->count)
		return 0;
	return dt_dat_fail(&l->d->r, DT_FAILED, last, k->word,
			   "that is no limit, but an error");
}

static void put_result(struct limit *l, const struct kind *k, uint32_t n)
{
	if (k->per_set)
		dt_line(&l->d->r,
			"LimitTest: %s per EP: %u\nLimitTest: total: %u\n",
			k->label, n / l->width, n);
	else
		dt_line(&l->d->r, "LimitTest: %s: %u\n", k->label, n);
}

static int run_kind(struct limit *l, const struct kind *k)
{
	DAT_RETURN last = DAT_SUCCESS;
	uint32_t n;
	int rc;

	rc = go_up(l, k, &last);
	n = l->count;
	if (!rc && k->optional && !n &&
	    DAT_GET_TYPE(last) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED)) {
		dt_report_skipped(&l->d->r, k->word, "create",
				  "this provider does not have it");
		return 0;
	}
	if (!rc)
		rc = judge(l, k, last);
	put_result(l, k, n);
	rc = come_back(l, k, rc);
	if (!rc)
		rc = once_more(l, k);
	report(l, k, n, rc ? "FAILED" : "PASSED");
	return rc;
}

static int limit_open(struct limit *l, struct dpt *d, enum level level,
		      uint32_t room)
{
	memset(l, 0, sizeof(*l));
	l->d = d;
	l->width = d->o->width;
	l->qual = QUAL_FIRST;
	l->room = room;
	l->objects = calloc(room, sizeof(*l->objects));
	if (!l->objects || dt_samples_init(&l->samples, room))
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "no memory for %u objects; use a smaller -m",
			       room);
	dt_doing("making the sets of objects");
	return make_sets(l, level);
}

static int limit_close(struct limit *l, int rc)
{
	dt_doing("releasing the sets of objects");
	rc = free_sets(l, rc);
	free(l->objects);
	dt_samples_fini(&l->samples);
	return rc;
}

static int test_kind(struct dpt *d, const struct kind *k)
{
	uint64_t room = d->o->max;
	struct limit l;
	int rc;

	if (k->per_set)
		room *= d->o->width;
	put_line(d);
	dt_line(&d->r, "Limit test: %s\nup to %llu, spread over %u sets\n",
		k->word, (unsigned long long)room, d->o->width);
	if (room > 100000000)
		return dt_fail(&d->r, DT_USAGE,
			       "-m times -w: more than 100000000");
	rc = limit_open(&l, d, k->level, (uint32_t)room);
	if (!rc)
		rc = run_kind(&l, k);
	rc = limit_close(&l, rc);
	put_line(d);
	return rc;
}

/* Half of what is free: the limit of the machine is not to be found. */
static uint64_t largest_sensible(const struct dpt *d)
{
	uint64_t half = (uint64_t)sysconf(_SC_AVPHYS_PAGES) *
			(uint64_t)sysconf(_SC_PAGESIZE) / 2;
	uint64_t most = d->attr.max_lmr_block_size;

	return most && most < half ? most : half;
}

static int grow_lmr(struct limit *l)
{
	uint64_t size = LMR_SIZE, most = largest_sensible(l->d), good = 0;
	DAT_RETURN ret = DAT_SUCCESS;

	for (; size <= most; size *= 2) {
		struct dpt_region mem;

		if (dt_stopped())
			return interrupted(l);
		dt_doing(SIZE_WORD);
		dt_progress(&l->d->r, SIZE_WORD ": 0x%llx",
			    (unsigned long long)size);
		ret = register_region(&l->sets[0], &mem, size);
		if (ret != DAT_SUCCESS)
			break;
		good = size;
		ret = unregister_region(&mem);
		if (ret != DAT_SUCCESS)
			return dpt_freed(l->d, 0, ret, "dat_lmr_free");
	}
	dt_line(&l->d->r, "LimitTest: Largest LMR was 0x%llx bytes\n",
		(unsigned long long)good);
	if (ret == DAT_SUCCESS)
		dt_line(&l->d->r,
			"OK, stopping at half of the free memory, or the "
			"adapter's largest LMR\n");
	else
		dt_line(&l->d->r, "LimitTest: 0x%llx bytes failed\n",
			(unsigned long long)size);
	if (!good || (ret != DAT_SUCCESS && !is_limit(ret)))
		return dt_dat_fail(&l->d->r, DT_FAILED, ret, SIZE_WORD,
				   "that is no limit, but an error");
	return 0;
}

static int test_size(struct dpt *d)
{
	static const struct kind size = {.word = SIZE_WORD};
	struct limit l;
	int rc;

	put_line(d);
	dt_line(&d->r, "Limit test: " SIZE_WORD "\nsizes from %u, doubled\n",
		LMR_SIZE);
	rc = limit_open(&l, d, PZ, 1);
	if (!rc)
		rc = grow_lmr(&l);
	report(&l, &size, !rc, rc ? "FAILED" : "PASSED");
	rc = limit_close(&l, rc);
	put_line(d);
	return rc;
}

/* None named: all. */
static bool is_wanted(const struct dpt *d, const char *word)
{
	for (int i = 0; i < d->o->word_count; i++)
		if (!strcmp(d->o->words[i], word))
			return true;
	return !d->o->word_count;
}

static int check_words(struct dpt *d)
{
	for (int i = 0; i < d->o->word_count; i++) {
		bool known = !strcmp(d->o->words[i], SIZE_WORD);

		for (size_t k = 0; k < KIND_N; k++)
			known |= !strcmp(d->o->words[i], kinds[k].word);
		if (!known)
			return dt_fail(&d->r, DT_USAGE,
				       "'%s' is no limit; '" DPT_TOOL " -T L "
				       "--help' names them",
				       d->o->words[i]);
	}
	return 0;
}

/* The attributes of the adapter; the tests open it themselves. */
static int learn_attributes(struct dpt *d)
{
	int rc = dpt_open(d);

	return dpt_close(d, rc);
}

int dpt_limits(struct dpt *d)
{
	int rc = check_words(d), first = 0;

	if (!rc)
		rc = learn_attributes(d);
	if (rc)
		return rc;
	for (size_t k = 0; k < KIND_N && rc != DT_INTERRUPTED; k++) {
		if (!is_wanted(d, kinds[k].word))
			continue;
		rc = test_kind(d, &kinds[k]);
		first = first ? first : rc;
	}
	if (is_wanted(d, SIZE_WORD) && rc != DT_INTERRUPTED) {
		rc = test_size(d);
		first = first ? first : rc;
	}
	return first;
}
