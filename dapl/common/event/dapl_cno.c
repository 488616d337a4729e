/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cno.c - dat_cno_*: waiting for any of several EVDs.
 *
 * See dapl_cno.h for the design. An EVD that epoll_wait() has named may be
 * freed by another thread before it is looked at. So EVDs enter and leave the
 * set under the CNO's lock, and it is read under it, without blocking: what it
 * names then is alive and gets a reference. Rules: uDAPL 1.2 specification,
 * dat_cno_*; dat_cno_fd_create and dat_cno_trigger are DAT 2.0 additions.
 */
#include "dapl/common/event/dapl_cno.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_files.h"
#include "dapl/common/services/dapl_sleep.h"

#define CNO_BATCH 16
/* Its own, and those of an EVD that triggers it. */
#define CNO_FILES 4

/* ------------------------------------------------ triggers */

/* The EVDs that have a trigger now, referenced; returns how many. */
static int cno_ready(struct dapl_cno *cno, struct dapl_evd *evds[CNO_BATCH])
{
	struct epoll_event ev[CNO_BATCH];
	int n, found = 0;

	dapl_lock(&cno->lock);
	n = epoll_wait(cno->epfd, ev, CNO_BATCH, 0);
	for (int i = 0; i < n; i++) {
		struct dapl_evd *evd = ev[i].data.ptr;

		if (!evd)
			continue; /* the poke */
		dapl_obj_get(&evd->obj);
		evds[found++] = evd;
	}
	dapl_unlock(&cno->lock);
	return found;
}

/* Takes one trigger if there is one: its EVD, referenced, or NULL. */
static struct dapl_evd *cno_take(struct dapl_cno *cno)
{
	struct dapl_evd *evds[CNO_BATCH], *taken = NULL;
	int n = cno_ready(cno, evds);

	for (int i = 0; i < n; i++) {
		if (!taken && dapl_evd_trigger_take(evds[i], cno))
			taken = evds[i];
		else
			dapl_obj_put(&evds[i]->obj);
	}
	return taken;
}

/* Wakes all that wait, since nothing wakes one of them. */
static void poke_write(struct dapl_cno *cno)
{
	uint64_t one = 1;

	if (dapl_fd_write(cno->poke_fd, &one, sizeof(one)) < 0)
		dapl_log(DAPL_LOG_ERR, "cno %p: eventfd: %m", (void *)cno);
}

/* They go on sleeping, unless there is a reason left to look for. */
static void poke_clear_locked(struct dapl_cno *cno)
{
	uint64_t count;

	dapl_lock_assert_held(&cno->lock);
	if (cno->dead || cno->leaving || cno->for_waiter)
		return;
	if (dapl_fd_read(cno->poke_fd, &count, sizeof(count)) < 0)
		dapl_log(DAPL_LOG_ERR, "cno %p: eventfd: %m", (void *)cno);
}

/* The agent and the watch for it change together. 0 or -errno. */
static int cno_agent_set_locked(struct dapl_cno *cno,
				DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dapl_loop *loop = cno->obj.ia->loop;
	bool set = agent.proxy_agent_func != NULL;
	int ret = 0;

	dapl_lock_assert_held(&cno->lock);
	if (cno->watch.fd >= 0)
		ret = dapl_loop_mod(loop, &cno->watch, set ? EPOLLIN : 0);
	else if (set)
		ret = dapl_loop_add(loop, &cno->watch, cno->epfd, EPOLLIN);
	if (ret)
		return ret;
	cno->agent = agent;
	if (cno->proxy_type != DAT_PROXY_TYPE_FD)
		cno->proxy_type =
			set ? DAT_PROXY_TYPE_AGENT : DAT_PROXY_TYPE_NONE;
	return 0;
}

static int cno_agent_set(struct dapl_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dapl_evd *evd = NULL;
	int ret;

	dapl_lock(&cno->lock);
	ret = cno_agent_set_locked(cno, agent);
	if (!ret) {
		/* The one before is not called any more. */
		evd = cno->for_agent;
		cno->for_agent = NULL;
	}
	dapl_unlock(&cno->lock);
	if (evd)
		dapl_obj_put(&evd->obj);
	return ret;
}

/* A trigger that the agent was called for; or NULL. */
static struct dapl_evd *cno_take_handed(struct dapl_cno *cno)
{
	struct dapl_evd *evd;

	dapl_lock(&cno->lock);
	evd = cno->for_waiter;
	cno->for_waiter = NULL;
	if (evd)
		poke_clear_locked(cno);
	dapl_unlock(&cno->lock);
	return evd;
}

/* A waiter has taken the trigger of EVD. */
static void cno_tell_agent(struct dapl_cno *cno, struct dapl_evd *evd)
{
	dapl_lock(&cno->lock);
	if (cno->agent.proxy_agent_func && !cno->for_agent) {
		dapl_obj_get(&evd->obj);
		cno->for_agent = evd;
		cno->owed = cno->agent;
		cno_agent_set_locked(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
		dapl_loop_defer(cno->obj.ia->loop, &cno->work);
	}
	dapl_unlock(&cno->lock);
}

/* The service thread. */
static void cno_agent_told(struct dapl_work *work)
{
	struct dapl_cno *cno = dapl_container_of(work, struct dapl_cno, work);
	DAT_OS_WAIT_PROXY_AGENT agent;
	struct dapl_evd *evd;

	dapl_lock(&cno->lock);
	agent = cno->owed;
	evd = cno->for_agent;
	cno->for_agent = NULL;
	dapl_unlock(&cno->lock);
	if (!evd)
		return;
	agent.proxy_agent_func(agent.instance_data, (DAT_EVD_HANDLE)evd);
	dapl_obj_put(&evd->obj);
}

/* The service thread: the set is readable and there may be an agent. */
static void cno_agent_run(struct dapl_watch *w, uint32_t events)
{
	struct dapl_cno *cno = dapl_container_of(w, struct dapl_cno, watch);
	DAT_OS_WAIT_PROXY_AGENT agent;
	struct dapl_evd *evd;
	bool set;

	dapl_lock(&cno->lock);
	/* What was handed to a waiter is taken first; it is awake. */
	set = cno->agent.proxy_agent_func && !cno->for_waiter;
	dapl_unlock(&cno->lock);
	evd = set ? cno_take(cno) : NULL;
	if (!evd)
		return;
	/* One call per setting; the consumer may have changed it by now. */
	dapl_lock(&cno->lock);
	agent = cno->agent;
	if (agent.proxy_agent_func) {
		cno_agent_set_locked(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
		if (cno->waiters > cno->leaving) {
			dapl_obj_get(&evd->obj);
			cno->for_waiter = evd;
			poke_write(cno);
		}
	}
	dapl_unlock(&cno->lock);
	if (agent.proxy_agent_func)
		agent.proxy_agent_func(agent.instance_data,
				       (DAT_EVD_HANDLE)evd);
	else
		dapl_evd_trigger_back(evd, cno);
	dapl_obj_put(&evd->obj);
}

/* ---------------------------------------------------- life */

static int cno_open_fds(struct dapl_cno *cno)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};

	dapl_files_reserve(CNO_FILES);
	cno->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (cno->epfd < 0)
		return -errno;
	cno->poke_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cno->poke_fd < 0)
		goto err_close_epfd;
	if (epoll_ctl(cno->epfd, EPOLL_CTL_ADD, cno->poke_fd, &ev))
		goto err_close_poke_fd;
	return 0;

err_close_poke_fd:
	close(cno->poke_fd);
err_close_epfd:
	close(cno->epfd);
	return -errno;
}

/* Releases the threads that wait now, and no later one. */
static void cno_poke_locked(struct dapl_cno *cno)
{
	dapl_lock_assert_held(&cno->lock);
	cno->pokes++;
	cno->leaving = cno->waiters;
	poke_write(cno);
}

/* Waiters return, and have left afterwards. */
static void cno_shutdown(struct dapl_obj *obj)
{
	struct dapl_cno *cno = (struct dapl_cno *)obj;
	int waiters;

	dapl_lock(&cno->lock);
	cno->dead = true;
	cno_poke_locked(cno);
	dapl_unlock(&cno->lock);
	pthread_mutex_lock(&dapl_process.left_mutex);
	for (;;) {
		dapl_lock(&cno->lock);
		waiters = cno->waiters;
		dapl_unlock(&cno->lock);
		if (!waiters)
			break;
		pthread_cond_wait(&dapl_process.left, &dapl_process.left_mutex);
	}
	pthread_mutex_unlock(&dapl_process.left_mutex);
	if (cno->watch.fd >= 0)
		dapl_loop_del(obj->ia->loop, &cno->watch);
	dapl_work_cancel(obj->ia->loop, &cno->work);
	if (cno->for_agent)
		dapl_obj_put(&cno->for_agent->obj);
}

static void cno_destroy(struct dapl_obj *obj)
{
	struct dapl_cno *cno = (struct dapl_cno *)obj;

	close(cno->poke_fd);
	close(cno->epfd);
	dapl_lock_fini(&cno->lock);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops cno_ops = {
	.type = DAT_HANDLE_TYPE_CNO,
	.size = sizeof(struct dapl_cno),
	.shutdown = cno_shutdown,
	.destroy = cno_destroy,
};

static DAT_RETURN cno_new(DAT_IA_HANDLE ia_handle, DAT_PROXY_TYPE type,
			  struct dapl_cno **ret_cno)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_cno *cno;
	int ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	cno = dapl_obj_new(ia, &cno_ops);
	if (!cno)
		return dapl_fail(DAPL_NO_MEM, "cno: no memory");
	ret = cno_open_fds(cno);
	if (ret) {
		dapl_obj_release(&cno->obj);
		return dapl_fail(DAPL_NO_MEM,
				 "cno: no file descriptor left (see ulimit "
				 "-n): error %d",
				 -ret);
	}
	dapl_lock_init(&cno->lock, DAPL_LOCK_CNO);
	cno->proxy_type = type;
	cno->watch.fd = -1;
	cno->watch.fn = cno_agent_run;
	dapl_work_init(&cno->work, cno_agent_told);
	*ret_cno = cno;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
			   DAT_CNO_HANDLE *ret_cno)
{
	struct dapl_cno *cno;
	DAT_RETURN ret;
	int err;

	if (!ret_cno)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the handle");
	ret = cno_new(ia, DAT_PROXY_TYPE_NONE, &cno);
	if (ret != DAT_SUCCESS)
		return ret;
	err = cno_agent_set(cno, agent);
	if (err) {
		dapl_obj_put(&cno->obj);
		return dapl_fail(dapl_err_dat(err),
				 "cno: cannot watch for the agent: error %d",
				 -err);
	}
	dapl_obj_enlist(&cno->obj);
	*ret_cno = (DAT_CNO_HANDLE)cno;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *ret_fd,
			      DAT_CNO_HANDLE *ret_cno)
{
	struct dapl_cno *cno;
	DAT_RETURN ret;

	if (!ret_fd)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "no place for the descriptor");
	if (!ret_cno)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the handle");
	ret = cno_new(ia, DAT_PROXY_TYPE_FD, &cno);
	if (ret != DAT_SUCCESS)
		return ret;
	dapl_obj_enlist(&cno->obj);
	*ret_fd = cno->epfd;
	*ret_cno = (DAT_CNO_HANDLE)cno;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_modify_agent(DAT_CNO_HANDLE handle,
				 DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dapl_cno *cno = dapl_cno_from(handle);
	int err;

	if (!cno)
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "no such CNO");
	err = cno_agent_set(cno, agent);
	if (err)
		return dapl_fail(dapl_err_dat(err),
				 "cno %p: cannot watch for the agent: error %d",
				 (void *)cno, -err);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask,
			  DAT_CNO_PARAM *ret_param)
{
	struct dapl_cno *cno = dapl_cno_from(handle);
	DAT_CNO_PARAM param = {0};

	if (!cno)
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "no such CNO");
	if ((unsigned)mask > DAT_CNO_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	param.ia_handle = dapl_obj_ia_handle(&cno->obj);
	dapl_lock(&cno->lock);
	param.proxy_type = cno->proxy_type;
	if (cno->proxy_type == DAT_PROXY_TYPE_FD)
		param.proxy.fd = cno->epfd;
	else if (cno->proxy_type == DAT_PROXY_TYPE_AGENT)
		param.proxy.agent = cno->agent;
	dapl_unlock(&cno->lock);
	*ret_param = param;
	return DAT_SUCCESS;
}

/* ------------------------------------------------- waiting */

struct cno_waiter {
	struct dapl_cno *cno;
	unsigned since; /* cno->pokes when the wait began */
	struct dapl_sleeper sleeper;
};

static void left_locked(const struct cno_waiter *me)
{
	struct dapl_cno *cno = me->cno;

	dapl_lock_assert_held(&cno->lock);
	cno->waiters--;
	/* All that had to see it have: the CNO may be used again. */
	if (cno->pokes != me->since && !--cno->leaving)
		poke_clear_locked(cno);
}

/* What was handed to nobody who still waits is the next one's. */
static struct dapl_evd *left_behind_locked(struct dapl_cno *cno)
{
	struct dapl_evd *evd = cno->for_waiter;

	dapl_lock_assert_held(&cno->lock);
	if (!evd || cno->waiters > cno->leaving)
		return NULL;
	cno->for_waiter = NULL;
	poke_clear_locked(cno);
	return evd;
}

/*
 * The wait has ended, or its thread, and with it its reference. ARG: the struct
 * cno_waiter.
 */
static void cno_left(void *arg)
{
	const struct cno_waiter *me = arg;
	struct dapl_cno *cno = me->cno;
	struct dapl_evd *evd;
	bool dead;

	dapl_lock(&cno->lock);
	left_locked(me);
	evd = left_behind_locked(cno);
	dead = cno->dead;
	dapl_unlock(&cno->lock);
	if (evd) {
		dapl_evd_trigger_back(evd, cno);
		dapl_obj_put(&evd->obj);
	}
	if (dead) {
		pthread_mutex_lock(&dapl_process.left_mutex);
		pthread_cond_broadcast(&dapl_process.left);
		pthread_mutex_unlock(&dapl_process.left_mutex);
	}
	dapl_obj_put(&cno->obj);
}

static DAT_RETURN cno_wait(const struct cno_waiter *me, DAT_TIMEOUT timeout,
			   DAT_EVD_HANDLE *ret_evd)
{
	struct dapl_cno *cno = me->cno;
	struct pollfd set = {.fd = cno->epfd, .events = POLLIN};
	uint64_t deadline = UINT64_MAX;
	struct dapl_evd *evd;
	bool released;
	int reason = 0;

	if (timeout != DAT_TIMEOUT_INFINITE)
		/* a microsecond has passed in part */
		deadline = dapl_now_us() + timeout + 1;
	for (;;) {
		evd = cno_take_handed(cno);
		if (!evd) {
			evd = cno_take(cno);
			if (evd)
				cno_tell_agent(cno, evd);
		}
		if (evd) {
			*ret_evd = (DAT_EVD_HANDLE)evd;
			dapl_obj_put(&evd->obj);
			return DAT_SUCCESS;
		}
		dapl_lock(&cno->lock);
		released = cno->dead || cno->pokes != me->since;
		dapl_unlock(&cno->lock);
		if (released)
			return DAT_SUCCESS; /* with a NULL EVD */
		if (reason)
			break;
		reason = dapl_sleep(&me->sleeper, &set, 1, deadline);
	}
	if (reason == -ETIMEDOUT)
		return DAT_QUEUE_EMPTY; /* bare, as ever */
	if (reason == -EINTR)
		return DAPL_ERR(DAT_INTERRUPTED_CALL, 0);
	return dapl_fail(dapl_err_dat(reason), "cno %p: cannot wait: %s",
			 (void *)cno, strerror(-reason));
}

/* With a reference, which ends here. CANCEL: what dapl_cancel_off() returned.
 */
static DAT_RETURN cno_wait_counted(struct dapl_cno *cno, DAT_TIMEOUT timeout,
				   int cancel, DAT_EVD_HANDLE *ret_evd)
{
	struct cno_waiter me = {.cno = cno};
	DAT_RETURN ret;
	bool dead;

	me.sleeper = (struct dapl_sleeper){cancel, cno_left, &me};
	dapl_lock(&cno->lock);
	dead = cno->dead;
	me.since = cno->pokes;
	if (!dead)
		cno->waiters++;
	dapl_unlock(&cno->lock);
	if (dead) {
		dapl_obj_put(&cno->obj);
		return dapl_fail(DAPL_BAD_STATE(CNO_DEAD),
				 "cno %p is being freed", (void *)cno);
	}
	ret = cno_wait(&me, timeout, ret_evd);
	cno_left(&me);
	return ret;
}

DAT_RETURN dapl_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout,
			 DAT_EVD_HANDLE *ret_evd)
{
	struct dapl_cno *cno;
	DAT_RETURN ret;
	int cancel;

	if (!dapl_cno_from(handle))
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "no such CNO");
	if (!ret_evd)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the EVD");
	*ret_evd = DAT_HANDLE_NULL;
	cancel = dapl_cancel_off();
	/* Another thread may free it. */
	cno = dapl_obj_hold(handle, DAT_HANDLE_TYPE_CNO);
	if (!cno) {
		dapl_cancel_restore(cancel);
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "no such CNO");
	}
	ret = cno_wait_counted(cno, timeout, cancel, ret_evd);
	dapl_cancel_restore(cancel);
	return ret;
}

DAT_RETURN dapl_cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE *ret_evd)
{
	struct dapl_cno *cno = dapl_cno_from(handle);
	struct dapl_evd *evd;

	if (!cno)
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "no such CNO");
	if (!ret_evd)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the EVD");
	*ret_evd = DAT_HANDLE_NULL;
	if (cno->proxy_type != DAT_PROXY_TYPE_FD)
		return dapl_fail(DAPL_BAD_HANDLE(CNO),
				 "cno %p has no descriptor", (void *)cno);
	evd = cno_take(cno);
	if (!evd)
		return DAPL_ERR(DAT_QUEUE_EMPTY, 0);
	*ret_evd = (DAT_EVD_HANDLE)evd;
	dapl_obj_put(&evd->obj);
	return DAT_SUCCESS;
}

/* ----------------------------------------------------- end */

void dapl_cno_unuse(struct dapl_cno *cno)
{
	/* Another thread may free it as soon as it has no user. */
	dapl_obj_get(&cno->obj);
	if (dapl_obj_unuse(&cno->obj)) {
		dapl_lock(&cno->lock);
		if (cno->waiters)
			cno_poke_locked(cno);
		dapl_unlock(&cno->lock);
	}
	dapl_obj_put(&cno->obj);
}

static DAT_RETURN cno_free(struct dapl_cno *cno)
{
	bool waiting;

	dapl_lock(&cno->lock);
	waiting = cno->waiters > 0;
	dapl_unlock(&cno->lock);
	if (waiting || !dapl_obj_retire(&cno->obj, false))
		return dapl_fail(DAPL_BAD_STATE(CNO_IN_USE), "cno %p: %s",
				 (void *)cno,
				 waiting ? "a thread waits on it"
					 : "EVDs still refer to it");
	dapl_obj_end(&cno->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_free(DAT_CNO_HANDLE handle)
{
	/* Another thread may free it too. */
	struct dapl_cno *cno = dapl_obj_hold(handle, DAT_HANDLE_TYPE_CNO);
	DAT_RETURN ret;

	if (!cno)
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "no such CNO");
	ret = cno_free(cno);
	dapl_obj_put(&cno->obj);
	return ret;
}
