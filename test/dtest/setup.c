/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * setup.c - the DAT objects and buffers of dtest.
 *
 * Does not connect. Threads: one.
 * Ownership: all is in struct dtest, zero means "not there"; dtest_close()
 * releases in reverse whatever was made, so errors need no path of their own.
 * Rule: kinds and sizes as the historic tool has them where the peer could
 * notice; buffers only as large as what is in flight at once.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE	  4096
#define EVD_SPARE 8

#define ALL_PRIVILEGES DAT_MEM_PRIV_ALL_FLAG

/* Times a call; of several objects of a kind the first one counts. */
#define TIMED(d, slot, call)                                         \
	({                                                           \
		uint64_t start_ns = dt_now_ns();                     \
		DAT_RETURN timed_ret = (call);                       \
                                                                     \
		if (!(d)->time_ns[slot])                             \
			(d)->time_ns[slot] = dt_now_ns() - start_ns; \
		timed_ret;                                           \
	})

static int failed(struct dtest *d, DAT_RETURN ret, const char *call,
		  const char *remedy)
{
	return dt_dat_fail(&d->r, DT_ENVIRONMENT, ret, call, remedy);
}

static int open_ia(struct dtest *d)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char call[DT_OOB_NAME + 24];
	DAT_RETURN ret;
	int rc;

	ret = TIMED(d, DTEST_T_OPEN,
		    dat_ia_open(d->provider, 8, &async, &d->ia));
	if (ret == DAT_SUCCESS)
		return 0;
	d->ia = DAT_HANDLE_NULL;
	snprintf(call, sizeof(call), "dat_ia_open(%s)", d->provider);
	rc = failed(d, ret, call,
		    DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND
			    ? "choose another with -P, or see dat.conf(5)"
			    : "is its device there and its port up? "
			      "(rdma link)");
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		dt_list_providers(&d->r);
	return rc;
}

static const char *named_attr(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	for (int i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			return attr->provider_specific_attr[i].value;
	return NULL;
}

static bool is_true(const char *value)
{
	return value && !strcmp(value, "TRUE");
}

/* The largest message the adapter takes is smaller than -b, or the like. */
static int check_limits(struct dtest *d, const DAT_IA_ATTR *ia)
{
	uint32_t size = d->o->size;

	if ((ia->max_rdma_size && size > ia->max_rdma_size) ||
	    (ia->max_message_size && size > ia->max_message_size))
		return dt_fail(&d->r, DT_USAGE,
			       "-b %u: this adapter takes at most %u bytes of "
			       "RDMA and %u of a message",
			       size, ia->max_rdma_size, ia->max_message_size);
	if (ia->max_dto_per_ep > 0 &&
	    d->o->signal + DTEST_SQ_SPARE > (uint32_t)ia->max_dto_per_ep)
		return dt_fail(&d->r, DT_USAGE,
			       "-S %u: this adapter queues at most %d requests",
			       d->o->signal, ia->max_dto_per_ep);
	return 0;
}

static void keep_address(struct dtest *d, const struct sockaddr *addr)
{
	if (!addr)
		return;
	if (addr->sa_family == AF_INET)
		memcpy(&d->local, addr, sizeof(struct sockaddr_in));
	else if (addr->sa_family == AF_INET6)
		memcpy(&d->local, addr, sizeof(struct sockaddr_in6));
}

static int query_ia(struct dtest *d)
{
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR ia;
	DAT_RETURN ret;
	const char *immed, *device;

	/* Old providers leave out members. */
	memset(&ia, 0, sizeof(ia));
	memset(&prov, 0, sizeof(prov));
	ret = dat_ia_query(d->ia, NULL, DAT_IA_FIELD_ALL, &ia,
			   DAT_PROVIDER_FIELD_ALL, &prov);
	if (ret != DAT_SUCCESS)
		return failed(d, ret, "dat_ia_query", NULL);
	keep_address(d, ia.ia_address_ptr);
	d->read_ok = is_true(named_attr(&prov, "DAT_IB_RDMA_READ"));
	immed = named_attr(&prov, DAT_IB_ATTR_IMMED_DATA);
	d->immed_ok = ia.extension_supported == DAT_EXTENSION_IB &&
		      (!immed || is_true(immed));
	device = named_attr(&prov, "DAT_IB_DEVICE_NAME");
	ia.adapter_name[sizeof(ia.adapter_name) - 1] = 0;
	dt_report_provider(&d->r, d->provider,
			   device ? device : ia.adapter_name);
	return check_limits(d, &ia);
}

static int make_region(struct dtest *d, struct dtest_region *reg, size_t length,
		       DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN reg_length;
	DAT_VADDR reg_address;
	DAT_RETURN ret;
	void *base;

	if (posix_memalign(&base, PAGE, length))
		return dt_fail(&d->r, DT_ENVIRONMENT,
			       "no memory for %zu bytes; use a smaller -b",
			       length);
	memset(base, 0, length);
	reg->base = base;
	reg->length = length;
	desc.for_va = base;
	ret = TIMED(d, DTEST_T_LMR_CREATE,
		    dat_lmr_create(d->ia, DAT_MEM_TYPE_VIRTUAL, desc, length,
				   d->pz, privileges, DAT_VA_TYPE_VA, &reg->lmr,
				   &reg->lmr_context, &reg->rmr_context,
				   &reg_length, &reg_address));
	if (ret == DAT_SUCCESS)
		return 0;
	reg->lmr = DAT_HANDLE_NULL;
	return failed(d, ret, "dat_lmr_create",
		      "locked memory may be limited (ulimit -l)");
}

static int make_data_regions(struct dtest *d)
{
	uint32_t slots = d->o->mode == DTEST_ALL ? DTEST_SLOTS : 1;
	size_t size = d->o->size, r = size * slots, s = size;
	int rc;

	rc = make_region(d, &d->rbuf, r < PAGE ? PAGE : r, ALL_PRIVILEGES);
	if (!rc)
		rc = make_region(d, &d->sbuf, s < PAGE ? PAGE : s,
				 ALL_PRIVILEGES);
	if (!rc)
		dtest_fill_write(d);
	return rc;
}

static uint32_t recv_depth(const struct dtest *d)
{
	return DTEST_TOKENS + (d->o->mode == DTEST_ALL ? DTEST_SLOTS : 1);
}

static uint32_t send_depth(const struct dtest *d)
{
	uint32_t batch = d->o->mode == DTEST_ALL ? DTEST_PINGS : d->o->signal;

	return batch + DTEST_SQ_SPARE;
}

static int make_evd(struct dtest *d, uint32_t length, DAT_CNO_HANDLE cno,
		    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *ret_evd)
{
	DAT_RETURN ret;

	ret = TIMED(
		d, DTEST_T_EVD_CREATE,
		dat_evd_create(d->ia, (DAT_COUNT)length, cno, flags, ret_evd));
	if (ret == DAT_SUCCESS)
		return 0;
	*ret_evd = DAT_HANDLE_NULL;
	return failed(d, ret, "dat_evd_create", NULL);
}

static int make_cno(struct dtest *d)
{
	DAT_RETURN ret;

	if (d->o->wait != DT_WAIT_CNO)
		return 0;
	ret = TIMED(
		d, DTEST_T_CNO_CREATE,
		dat_cno_create(d->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &d->cno));
	if (ret == DAT_SUCCESS)
		return 0;
	d->cno = DAT_HANDLE_NULL;
	return failed(d, ret, "dat_cno_create", NULL);
}

static int make_evds(struct dtest *d)
{
	int rc = make_cno(d);

	if (!rc)
		rc = make_evd(d, 10, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
			      &d->cr_evd);
	if (!rc)
		rc = make_evd(d, 10, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			      &d->conn_evd);
	if (!rc)
		rc = make_evd(d, send_depth(d) + EVD_SPARE, d->cno,
			      DAT_EVD_DTO_FLAG, &d->req_evd);
	if (!rc)
		rc = make_evd(d, recv_depth(d) + EVD_SPARE, d->cno,
			      DAT_EVD_DTO_FLAG, &d->rcv_evd);
	d->w.mode = d->o->wait;
	d->w.cno = d->cno;
	return rc;
}

static int make_ep(struct dtest *d)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = d->o->size > DTEST_MSG ? d->o->size : DTEST_MSG;
	attr.max_rdma_size = d->o->size;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = (DAT_COUNT)recv_depth(d);
	attr.max_request_dtos = (DAT_COUNT)send_depth(d);
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 1;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	ret = TIMED(d, DTEST_T_EP_CREATE,
		    dat_ep_create(d->ia, d->pz, d->rcv_evd, d->req_evd,
				  d->conn_evd, &attr, &d->ep));
	if (ret == DAT_SUCCESS)
		return 0;
	d->ep = DAT_HANDLE_NULL;
	return failed(d, ret, "dat_ep_create", NULL);
}

/* Receives for RMR message and tokens, before there is a connection. */
static int make_messages(struct dtest *d)
{
	int rc;

	rc = make_region(d, &d->smsg, DTEST_MSG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (!rc)
		rc = make_region(d, &d->rmsg, DTEST_TOKENS * DTEST_MSG,
				 DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	for (uint32_t i = 0; !rc && i < DTEST_TOKENS; i++)
		rc = dtest_post_recv(d, &d->rmsg, (size_t)i * DTEST_MSG,
				     DTEST_MSG, i);
	return rc;
}

static int make_objects(struct dtest *d)
{
	DAT_RETURN ret;
	int rc;

	ret = TIMED(d, DTEST_T_PZ_CREATE, dat_pz_create(d->ia, &d->pz));
	if (ret != DAT_SUCCESS) {
		d->pz = DAT_HANDLE_NULL;
		return failed(d, ret, "dat_pz_create", NULL);
	}
	rc = make_data_regions(d);
	if (!rc)
		rc = make_evds(d);
	if (!rc)
		rc = make_ep(d);
	if (!rc)
		rc = make_messages(d);
	return rc;
}

int dtest_open(struct dtest *d)
{
	int rc = 0;

	snprintf(d->provider, sizeof(d->provider), "%s", d->o->provider);
	if (!d->server)
		rc = dtest_find_server(d);
	if (rc)
		return rc;
	dt_say(&d->r, "%d Running as %s - %s v2\n", d->r.pid, d->r.role,
	       d->provider);
	rc = open_ia(d);
	if (!rc)
		rc = query_ia(d);
	if (!rc)
		rc = make_objects(d);
	return rc;
}

/* Errors at the end count only when nothing went wrong before. */
static int released(struct dtest *d, int rc, DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS || rc)
		return rc;
	return dt_dat_fail(&d->r, DT_FAILED, ret, call, NULL);
}

static int free_region(struct dtest *d, struct dtest_region *reg, int rc)
{
	if (reg->lmr != DAT_HANDLE_NULL)
		rc = released(
			d, rc,
			TIMED(d, DTEST_T_LMR_FREE, dat_lmr_free(reg->lmr)),
			"dat_lmr_free");
	free(reg->base);
	memset(reg, 0, sizeof(*reg));
	return rc;
}

static int free_evd(struct dtest *d, DAT_EVD_HANDLE *evd, int rc)
{
	DAT_EVENT event;

	if (*evd == DAT_HANDLE_NULL)
		return rc;
	/* Flushed receives; bounded, since nothing new can come. */
	for (int i = 0; i < 100000; i++)
		if (dat_evd_dequeue(*evd, &event) != DAT_SUCCESS)
			break;
	rc = released(d, rc, TIMED(d, DTEST_T_EVD_FREE, dat_evd_free(*evd)),
		      "dat_evd_free");
	*evd = DAT_HANDLE_NULL;
	return rc;
}

static int free_ends(struct dtest *d, int rc)
{
	if (d->psp != DAT_HANDLE_NULL)
		rc = released(d, rc, dat_psp_free(d->psp), "dat_psp_free");
	d->psp = DAT_HANDLE_NULL;
	if (d->ep != DAT_HANDLE_NULL)
		rc = released(d, rc,
			      TIMED(d, DTEST_T_EP_FREE, dat_ep_free(d->ep)),
			      "dat_ep_free");
	d->ep = DAT_HANDLE_NULL;
	rc = free_evd(d, &d->rcv_evd, rc);
	rc = free_evd(d, &d->req_evd, rc);
	rc = free_evd(d, &d->conn_evd, rc);
	rc = free_evd(d, &d->cr_evd, rc);
	if (d->cno != DAT_HANDLE_NULL)
		rc = released(d, rc,
			      TIMED(d, DTEST_T_CNO_FREE, dat_cno_free(d->cno)),
			      "dat_cno_free");
	d->cno = DAT_HANDLE_NULL;
	return rc;
}

static void close_sockets(struct dtest *d)
{
	for (int i = 0; i < DT_OOB_SOCKETS; i++)
		if (d->oob_fds[i] >= 0)
			close(d->oob_fds[i]);
	if (d->oob_conn >= 0)
		close(d->oob_conn);
	d->oob_conn = d->oob_fds[0] = d->oob_fds[1] = -1;
}

int dtest_close(struct dtest *d, int rc)
{
	dtest_hang_up(d);
	rc = free_ends(d, rc);
	rc = free_region(d, &d->rmsg, rc);
	rc = free_region(d, &d->smsg, rc);
	rc = free_region(d, &d->rbuf, rc);
	rc = free_region(d, &d->sbuf, rc);
	if (d->pz != DAT_HANDLE_NULL)
		rc = released(d, rc,
			      TIMED(d, DTEST_T_PZ_FREE, dat_pz_free(d->pz)),
			      "dat_pz_free");
	d->pz = DAT_HANDLE_NULL;
	if (d->ia != DAT_HANDLE_NULL)
		rc = released(d, rc,
			      TIMED(d, DTEST_T_CLOSE,
				    dat_ia_close(d->ia, DAT_CLOSE_DEFAULT)),
			      "dat_ia_close");
	d->ia = DAT_HANDLE_NULL;
	close_sockets(d);
	return rc;
}

static void print_reads(struct dtest *d)
{
	uint64_t total = 0;

	for (int i = 0; i < DTEST_READS; i++)
		total += d->read_ns[i];
	for (int i = 0; d->read_done && i < DTEST_READS; i++)
		dt_line(&d->r,
			"%d: RDMA read:   Total=%11.2f usec, %3d bursts, "
			"itime=%11.2f usec, pc=%" PRIu64 "\n",
			d->r.pid, dt_ns_to_us(total), DTEST_READS,
			dt_ns_to_us(d->read_ns[i]), d->read_polls);
}

void dtest_print_times(struct dtest *d)
{
	static const char *const names[DTEST_T_N] = {
		[DTEST_T_OPEN] = "open:",
		[DTEST_T_CLOSE] = "close:",
		[DTEST_T_PZ_CREATE] = "PZ create:",
		[DTEST_T_PZ_FREE] = "PZ free:",
		[DTEST_T_LMR_CREATE] = "LMR create:",
		[DTEST_T_LMR_FREE] = "LMR free:",
		[DTEST_T_EVD_CREATE] = "EVD create:",
		[DTEST_T_EVD_FREE] = "EVD free:",
		[DTEST_T_CNO_CREATE] = "CNO create:",
		[DTEST_T_CNO_FREE] = "CNO free:",
		[DTEST_T_EP_CREATE] = "EP create:",
		[DTEST_T_EP_FREE] = "EP free:",
		[DTEST_T_CONNECT] = "connect:",
	};
	uint64_t total = 0;

	print_reads(d);
	for (int i = 0; i < DTEST_T_N; i++) {
		bool cno = i == DTEST_T_CNO_CREATE || i == DTEST_T_CNO_FREE;

		total += d->time_ns[i];
		if ((cno && d->o->wait != DT_WAIT_CNO) ||
		    (i == DTEST_T_CONNECT && d->server))
			continue;
		dt_line(&d->r, "%d: %-11s%10.2f usec%s\n", d->r.pid, names[i],
			dt_ns_to_us(d->time_ns[i]),
			i == DTEST_T_CONNECT ? ", poll_cnt=0" : "");
	}
	dt_line(&d->r, "%d: %-11s%10.2f usec\n", d->r.pid,
		"TOTAL:", dt_ns_to_us(total));
}
