/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tries.c - tables of tries and their objects, see tries.h.
 */
#include "test/differ/tries.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TABLE_SECONDS 60
#define TRY_SECONDS   5
#define EVENTS	      256 /* of all tries of a table: nobody reads them */

/* ------------------------------------------------------ one at a time */

/* Of the table that runs, seen by its child and by who starts the next. */
static struct {
	int done; /* tries that children have made, crashes too */
	int all;  /* of all tables */
	char name[128];
} * progress;
static int tries; /* of this child */

bool is_next(const char *name)
{
	if (tries++ < progress->done)
		return false;
	progress->done++;
	progress->all++;
	snprintf(progress->name, sizeof(progress->name), "%s", name);
	alarm(TRY_SECONDS);
	return true;
}

/* ----------------------------------------------------------- objects */

struct side mine, other;
DAT_EVD_HANDLE se_evd;
DAT_LMR_HANDLE lmr;
DAT_LMR_TRIPLET seg;
DAT_RMR_TRIPLET target;
DAT_IA_ATTR ia_attr;
DAT_PROVIDER_ATTR provider_attr;
char *mem;
DAT_HANDLE made;

void quietly(DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS) {
		answer("its objects", ret);
		exit(1);
	}
}

DAT_EVD_HANDLE new_evd(const struct side *s, unsigned flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	quietly(dat_evd_create(s->ia, EVENTS, DAT_HANDLE_NULL,
			       (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void open_side(struct side *s)
{
	quietly(dat_ia_open((char *)(uintptr_t)adapter, 8, &s->async_evd,
			    &s->ia));
	quietly(dat_pz_create(s->ia, &s->pz));
	quietly(dat_cno_create(s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &s->cno));
	s->cr_evd = new_evd(s, DAT_EVD_CR_FLAG);
	s->conn_evd = new_evd(s, DAT_EVD_CONNECTION_FLAG);
	s->dto_evd = new_evd(s, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
}

static void make_objects(void)
{
	DAT_REGION_DESCRIPTION desc;

	open_side(&mine);
	open_side(&other);
	se_evd = new_evd(&mine, DAT_EVD_SOFTWARE_FLAG);
	quietly(dat_ia_query(mine.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
			     DAT_PROVIDER_FIELD_ALL, &provider_attr));
	mem = aligned_alloc(4096, MEM_SIZE);
	if (!mem)
		exit(2);
	memset(mem, 0, MEM_SIZE);
	desc.for_va = mem;
	quietly(dat_lmr_create(mine.ia, DAT_MEM_TYPE_VIRTUAL, desc, MEM_SIZE,
			       mine.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			       &lmr, &seg.lmr_context, &target.rmr_context,
			       NULL, NULL));
	seg.virtual_address = target.virtual_address =
		(DAT_VADDR)(uintptr_t)mem;
	seg.segment_length = 64;
	target.segment_length = 64;
}

DAT_EP_HANDLE new_ep(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	quietly(dat_ep_create(mine.ia, mine.pz, mine.dto_evd, mine.dto_evd,
			      mine.conn_evd, NULL, &ep));
	return ep;
}

DAT_DTO_COOKIE cookie(void)
{
	return (DAT_DTO_COOKIE){.as_64 = 1};
}

DAT_CONN_QUAL next_qual(void)
{
	return qual + (DAT_CONN_QUAL)progress->all;
}

/* ------------------------------------------------------------ tables */

const char *varied(void *of, const struct field *f, int64_t value)
{
	static char name[96];

	memcpy((char *)of + f->at, &value, f->size);
	snprintf(name, sizeof(name), "%s %" PRId64, f->name, value);
	return name;
}

const char *numbered(const char *what, uint64_t n)
{
	static char name[96];

	snprintf(name, sizeof(name), "%s 0x%" PRIx64, what, n);
	return name;
}

DAT_EP_ATTR right_attr(void)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.max_message_size = attr.max_rdma_size = 4096;
	attr.max_recv_dtos = attr.max_request_dtos = 4;
	attr.max_recv_iov = attr.max_request_iov = 1;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = 1;
	return attr;
}

DAT_SRQ_HANDLE new_srq(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	quietly(dat_srq_create(mine.ia, mine.pz, &attr, &srq));
	return srq;
}

DAT_CR_HANDLE request_of(DAT_EP_HANDLE asker)
{
	DAT_PSP_HANDLE psp;
	DAT_COUNT more;
	DAT_EVENT ev;

	quietly(dat_psp_create(mine.ia, next_qual(), mine.cr_evd,
			       DAT_PSP_CONSUMER_FLAG, &psp));
	quietly(dat_ep_connect(asker, ia_attr.ia_address_ptr, next_qual(),
			       PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG));
	quietly(dat_evd_wait(mine.cr_evd, PATIENCE_US, 1, &ev, &more));
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

DAT_CR_HANDLE new_request(DAT_EP_HANDLE *asker)
{
	*asker = new_ep();
	return request_of(*asker);
}

DAT_RETURN receives(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
		    unsigned flags)
{
	return dat_ep_post_recv(ep, n, iov, cookie(),
				(DAT_COMPLETION_FLAGS)flags);
}

/* Ends of those before may come between. */
void wait_for_both(void)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	for (int up = 0; up < 2;) {
		quietly(dat_evd_wait(mine.conn_evd, PATIENCE_US, 1, &ev,
				     &more));
		up += ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	}
}

DAT_EP_HANDLE new_connected(void)
{
	DAT_EP_HANDLE a, b = new_ep();
	DAT_CR_HANDLE cr = new_request(&a);

	quietly(dat_cr_accept(cr, b, 0, NULL));
	wait_for_both();
	for (int i = 0; i < 8; i++)
		quietly(receives(b, 1, &seg, 0));
	return a;
}

DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	quietly(dat_evd_wait(evd, PATIENCE_US, 1, &ev, &more));
	return ev;
}

void end_connection(DAT_EP_HANDLE ep)
{
	DAT_EVENT ev;

	quietly(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	do {
		ev = next_event(mine.conn_evd);
	} while (ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED ||
		 ev.event_data.connect_event_data.ep_handle != ep);
}

DAT_EP_HANDLE disconnected(void)
{
	DAT_EP_HANDLE ep = new_connected();

	end_connection(ep);
	return ep;
}

DAT_EP_HANDLE with_srq(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	quietly(dat_ep_create_with_srq(mine.ia, mine.pz, mine.dto_evd,
				       mine.dto_evd, mine.conn_evd, new_srq(),
				       NULL, &ep));
	return ep;
}

DAT_EP_HANDLE with_receive(void)
{
	DAT_EP_HANDLE ep = new_ep();

	quietly(receives(ep, 1, &seg, 0));
	return ep;
}

static void run_table(void *arg)
{
	alarm(TABLE_SECONDS);
	make_objects();
	((const struct part *)arg)->run();
}

/* A library that ends a child has answered, too; the next one goes on. */
static void run_tables(const struct part *t)
{
	const char *how;
	int before;

	progress->done = 0;
	do {
		before = progress->done;
		strcpy(progress->name, "its objects");
		how = run_child(TABLE_SECONDS, run_table, (void *)(uintptr_t)t);
		if (how)
			say(progress->name, "%s", how);
	} while (how && progress->done > before);
}

int tries_main(int argc, char **argv, const struct part *tables, size_t n)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s ADAPTER QUALIFIER\n", argv[0]);
		return 2;
	}
	adapter = argv[1];
	qual = strtoull(argv[2], NULL, 0);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		say("part", "%s", tables[i].name);
		run_tables(&tables[i]);
	}
	return 0;
}
