/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_dat.c - DAT for the test tools: errors in words, and waits with an end.
 *
 * Does not create objects.
 * Threads, ownership: see dt_dat.h.
 * Rule: a wait is cut in slices, because not every library returns from
 * dat_evd_wait() when a signal comes or the peer leaves. Types of codes are
 * compared, not codes: some providers leave out the class bits.
 */
#include "test/dtest/common/dt_dat.h"

#include "test/dtest/common/dt_time.h"
#include "test/dtest/common/dt_watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_NS  (250 * DT_NS_PER_MS)
#define POLL_SPIN 1024
/* Dequeues before a thread that shares its processor lets others run. */
#define YIELD_SPIN 16
#define NAMES_MAX  256
#define NAMES_TOLD 8

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

const char *dt_dat_attr(const DAT_PROVIDER_ATTR *prov, const char *name)
{
	for (int i = 0; i < prov->num_provider_specific_attr; i++)
		if (!strcmp(prov->provider_specific_attr[i].name, name))
			return prov->provider_specific_attr[i].value;
	return NULL;
}

const char *dt_event_name(DAT_EVENT_NUMBER number)
{
	static const struct {
		unsigned int number;
		const char *name;
	} names[] = {
#define NAME(n) {n, #n}
		NAME(DAT_DTO_COMPLETION_EVENT),
		NAME(DAT_RMR_BIND_COMPLETION_EVENT),
		NAME(DAT_CONNECTION_REQUEST_EVENT),
		NAME(DAT_CONNECTION_EVENT_ESTABLISHED),
		NAME(DAT_CONNECTION_EVENT_PEER_REJECTED),
		NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
		NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
		NAME(DAT_CONNECTION_EVENT_DISCONNECTED),
		NAME(DAT_CONNECTION_EVENT_BROKEN),
		NAME(DAT_CONNECTION_EVENT_TIMED_OUT),
		NAME(DAT_CONNECTION_EVENT_UNREACHABLE),
		NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW),
		NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC),
		NAME(DAT_ASYNC_ERROR_EP_BROKEN),
		NAME(DAT_ASYNC_ERROR_TIMED_OUT),
		NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR),
		NAME(DAT_SOFTWARE_EVENT),
#if DAT_FACE == 2
		NAME(DAT_HA_DOWN_TO_1),
		NAME(DAT_HA_UP_TO_MULTI_PATH),
		NAME(DAT_EXTENSION_EVENT),
		NAME(DAT_IB_EXTENSION_RANGE_BASE),
		NAME(DAT_IW_EXTENSION_RANGE_BASE),
		NAME(DAT_IB_UD_CONNECTION_REQUEST_EVENT),
		NAME(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED),
		NAME(DAT_IB_UD_CONNECTION_REJECT_EVENT),
		NAME(DAT_IB_UD_CONNECTION_ERROR_EVENT),
#endif
#undef NAME
	};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (names[i].number == (unsigned int)number)
			return names[i].name;
	return "unknown event";
}

const char *dt_dto_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = {
#define NAME(n) [n] = #n
		NAME(DAT_DTO_SUCCESS),
		NAME(DAT_DTO_ERR_FLUSHED),
		NAME(DAT_DTO_ERR_LOCAL_LENGTH),
		NAME(DAT_DTO_ERR_LOCAL_EP),
		NAME(DAT_DTO_ERR_LOCAL_PROTECTION),
		NAME(DAT_DTO_ERR_BAD_RESPONSE),
		NAME(DAT_DTO_ERR_REMOTE_ACCESS),
		NAME(DAT_DTO_ERR_REMOTE_RESPONDER),
		NAME(DAT_DTO_ERR_TRANSPORT),
		NAME(DAT_DTO_ERR_RECEIVER_NOT_READY),
		NAME(DAT_DTO_ERR_PARTIAL_PACKET),
		NAME(DAT_RMR_OPERATION_FAILED),
#if DAT_FACE == 2
		NAME(DAT_DTO_ERR_LOCAL_MM_ERROR),
#endif
#undef NAME
	};

	return (unsigned int)status < COUNT_OF(names) ? names[status]
						      : "unknown status";
}

/* Not linked against: libraries without it must be able to load the tool. */
static const char *error_detail(void)
{
	const char *(*detail)(void);
	void *sym = dlsym(RTLD_DEFAULT, "dat_error_detail");
	const char *text;

	if (!sym)
		return "";
	memcpy(&detail, &sym, sizeof(detail));
	text = detail();
	return text ? text : "";
}

int dt_dat_fail(struct dt_report *r, enum dt_exit code, DAT_RETURN ret,
		const char *call, const char *remedy)
{
	const char *detail = error_detail();
	const char *major = NULL, *minor = NULL;

	dat_strerror(ret, &major, &minor);
	return dt_fail(r, code, "%s: %s%s%s%s%s%s%s", call,
		       major ? major : "unknown code",
		       minor && minor[0] ? " " : "", minor ? minor : "",
		       detail[0] ? ": " : "", detail, remedy ? "; " : "",
		       remedy ? remedy : "");
}

/* All there are, up to NAMES_MAX: freed by the caller. NULL: no memory. */
static DAT_PROVIDER_INFO *list_providers(DAT_COUNT *ret_n)
{
	DAT_PROVIDER_INFO *info = calloc(NAMES_MAX, sizeof(*info));
	DAT_PROVIDER_INFO *list[NAMES_MAX];

	*ret_n = 0;
	for (int i = 0; info && i < NAMES_MAX; i++)
		list[i] = &info[i];
	if (info &&
	    dat_registry_list_providers(NAMES_MAX, ret_n, list) != DAT_SUCCESS)
		*ret_n = -1;
	if (*ret_n > NAMES_MAX)
		*ret_n = NAMES_MAX;
	return info;
}

/* What the library has told already: ours names some itself. */
static void list_names(struct dt_report *r)
{
	DAT_COUNT n;
	DAT_PROVIDER_INFO *info = list_providers(&n);

	if (info && n >= 0) {
		fprintf(stderr, "%d: names there are:%s", r->pid,
			n > 0 ? "" : " none");
		for (int i = 0; i < n && i < NAMES_TOLD; i++)
			fprintf(stderr, " %.*s", DAT_NAME_MAX_LENGTH,
				info[i].ia_name);
		if (n > NAMES_TOLD)
			fprintf(stderr, " and %d more", n - NAMES_TOLD);
		fputc('\n', stderr);
	}
	free(info);
}

int dt_dat_not_opened(struct dt_report *r, DAT_RETURN ret, const char *call,
		      const char *remedy)
{
	bool unknown = DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND;
	bool told = *error_detail() != '\0';
	int rc;

	if (!remedy && !told)
		remedy = unknown ? "choose another name, or see dat.conf(5)"
				 : "is its device there and its port up? "
				   "(rdma link)";
	rc = dt_dat_fail(r, DT_ENVIRONMENT, ret, call, told ? NULL : remedy);
	if (unknown && !told)
		list_names(r);
	return rc;
}

static bool opens(char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	dt_doing("dat_ia_open");
	if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS)
		return false;
	dt_doing("dat_ia_close");
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return true;
}

void dt_default_adapter(struct dt_report *r, char *name, size_t size)
{
	DAT_PROVIDER_INFO *info = NULL;
	DAT_COUNT n = 0, i = 0;

	if (!opens(name))
		info = list_providers(&n);
	while (i < n &&
	       (strlen(info[i].ia_name) >= size || !opens(info[i].ia_name)))
		i++;
	if (i < n)
		dt_say(r,
		       "%d %s does not open; taking %s, the first that "
		       "does\n",
		       r->pid, name, info[i].ia_name);
	/* else it is this one of which it is worth to know why */
	if (i == n)
		i = 0;
	if (i < n && strlen(info[i].ia_name) < size)
		snprintf(name, size, "%s", info[i].ia_name);
	free(info);
}

static bool is_empty(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY;
}

/* Whether the peer left. The event is kept for whoever waits for it. */
static bool peer_left(struct dt_waiter *w, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (w->gone)
		return true;
	if (w->conn_evd == DAT_HANDLE_NULL || w->conn_evd == evd)
		return false;
	if (dat_evd_dequeue(w->conn_evd, &event) != DAT_SUCCESS)
		return false;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		w->gone = event.event_number;
	return w->gone != 0;
}

/* One slice of waiting. Returns 0 with an event, -EAGAIN without, or -EIO. */
static int wait_event(struct dt_waiter *w, DAT_EVD_HANDLE evd, uint64_t ns,
		      DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	ret = dat_evd_wait(evd, (DAT_TIMEOUT)(ns / DT_NS_PER_US), 1, event,
			   &more);
	if (ret == DAT_SUCCESS)
		return 0;
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ||
	    DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL || is_empty(ret))
		return -EAGAIN;
	w->ret = ret;
	return -EIO;
}

static int wait_poll(struct dt_waiter *w, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	int spins = w->yield ? YIELD_SPIN : POLL_SPIN;

	for (int i = 0; i < spins; i++) {
		DAT_RETURN ret = dat_evd_dequeue(evd, event);

		if (ret == DAT_SUCCESS)
			return 0;
		if (!is_empty(ret)) {
			w->ret = ret;
			return -EIO;
		}
		w->polls++;
	}
	if (w->yield)
		sched_yield();
	return -EAGAIN;
}

/*
 * The trigger of a CNO says "look at your queues", nothing more: the queue
 * comes first and the CNO only when that is empty.
 */
static int wait_cno(struct dt_waiter *w, DAT_EVD_HANDLE evd, uint64_t ns,
		    DAT_EVENT *event)
{
	DAT_EVD_HANDLE hint = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_evd_dequeue(evd, event);

	if (ret == DAT_SUCCESS)
		return 0;
	if (is_empty(ret)) {
		ret = dat_cno_wait(w->cno, (DAT_TIMEOUT)(ns / DT_NS_PER_US),
				   &hint);
		if (ret == DAT_SUCCESS || is_empty(ret) ||
		    DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ||
		    DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
			return -EAGAIN;
	}
	w->ret = ret;
	return -EIO;
}

static int wait_slice(struct dt_waiter *w, enum dt_wait_mode how,
		      DAT_EVD_HANDLE evd, uint64_t left, DAT_EVENT *event)
{
	uint64_t ns = left < SLICE_NS ? left : SLICE_NS;

	if (how == DT_WAIT_POLL)
		return wait_poll(w, evd, event);
	if (how == DT_WAIT_CNO)
		return wait_cno(w, evd, ns, event);
	return wait_event(w, evd, ns, event);
}

int dt_evd_next(struct dt_waiter *w, enum dt_wait_mode how, DAT_EVD_HANDLE evd,
		uint64_t limit_ns, DAT_EVENT *ret_event)
{
	uint64_t deadline = dt_deadline(limit_ns), left = limit_ns;

	for (;;) {
		int rc = wait_slice(w, how, evd, left, ret_event);

		dt_alive();
		if (rc != -EAGAIN)
			return rc;
		if (dt_stopped())
			return -EINTR;
		/* What arrived before the peer left still counts. */
		if (peer_left(w, evd))
			return dat_evd_dequeue(evd, ret_event) == DAT_SUCCESS
				       ? 0
				       : -ENOTCONN;
		left = dt_left_ns(deadline);
		if (!left)
			return -ETIMEDOUT;
	}
}

int dt_spin_check(struct dt_waiter *w, uint64_t deadline)
{
	dt_alive();
	if (dt_stopped())
		return -EINTR;
	if (peer_left(w, DAT_HANDLE_NULL))
		return -ENOTCONN;
	return dt_left_ns(deadline) ? 0 : -ETIMEDOUT;
}

int dt_wait_fail(struct dt_report *r, const struct dt_waiter *w, int rc,
		 const char *what)
{
	switch (rc) {
	case -ETIMEDOUT:
		return dt_fail(r, DT_TIMED_OUT,
			       "timed out waiting for %s; is the peer alive? "
			       "(--timeout SEC allows more)",
			       what);
	case -EINTR:
		return dt_fail(r, DT_INTERRUPTED,
			       "interrupted while waiting for %s", what);
	case -ENOTCONN:
		return dt_fail(r, DT_FAILED,
			       "the peer left (%s) while this side waited for "
			       "%s; see its messages",
			       dt_event_name(w->gone), what);
	default:
		return dt_dat_fail(r, DT_FAILED, w->ret, what, NULL);
	}
}
