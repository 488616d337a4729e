/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_20.c - cases of what DAT 1.2 has not: calls and arguments of 2.0.
 *
 * Does not look below the public interface. Not compiled for 1.2, whose own
 * are in c_12.c. Threads, ownership: conform.h.
 * Rule: DAT 2.0, its additions to the uDAPL 1.2 specification.
 */
#include "test/conform/conform.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static DAT_CNO_HANDLE fd_cno(struct conf *c, DAT_FD *fd)
{
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret = dat_cno_fd_create(c->a.ia, fd, &cno);

	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		conf_skip("the provider has no CNOs with a descriptor");
	EXPECT_OK(ret);
	return cno;
}

CASE(cno_fd_create__becomes_readable, "5 dat_cno_fd_create", NEED_IA)
{
	DAT_FD fd = -1;
	DAT_CNO_HANDLE cno = fd_cno(c, &fd);
	DAT_EVD_HANDLE got = DAT_HANDLE_NULL, evd;
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	EXPECT_OK(dat_evd_create(c->a.ia, CONF_QLEN, cno, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	EXPECT_EQ(poll(&pfd, 1, 0), 0);
	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_EQ(poll(&pfd, 1, CONF_PATIENCE / 1000), 1);
	EXPECT_OK(dat_cno_trigger(cno, &got));
	EXPECT(got == evd);
	EXPECT_EQ(poll(&pfd, 1, 0), 0);
}

CASE(cno_fd_create__query_names_the_type, "5 dat_cno_fd_create", NEED_IA)
{
	DAT_FD fd = -1;
	DAT_CNO_PARAM p;

	EXPECT_OK(dat_cno_query(fd_cno(c, &fd), DAT_CNO_FIELD_ALL, &p));
	EXPECT_EQ(p.proxy_type, DAT_PROXY_TYPE_FD);
	EXPECT_EQ(p.proxy.fd, fd);
}

CASE(cno_trigger__not_triggered, "5 dat_cno_trigger", NEED_IA)
{
	DAT_EVD_HANDLE evd;
	DAT_FD fd;

	EXPECT_TYPE(dat_cno_trigger(fd_cno(c, &fd), &evd), DAT_QUEUE_EMPTY);
}

CASE(ep_connect__multipath_required, "6 dat_ep_connect", NEED_EPS)
{
	EXPECT_TYPE(dat_ep_connect(c->b.ep, conf_address(c), c->qual,
				   CONF_PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_MULTIPATH_REQUIRED_FLAG),
		    DAT_MODEL_NOT_SUPPORTED);
}

static DAT_RETURN zero_based(struct conf *c, uint8_t *at, size_t length,
			     DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = at};

	return dat_lmr_create(c->a.ia, DAT_MEM_TYPE_VIRTUAL, desc, length,
			      c->a.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB,
			      lmr, NULL, NULL, NULL, NULL);
}

CASE(lmr_create__zero_based, "9 dat_lmr_create", NEED_IA)
{
	size_t length = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_LMR_HANDLE lmr;

	EXPECT(at != MAP_FAILED);
	if (!c->ia_attr.zb_supported) {
		EXPECT_TYPE(zero_based(c, at, length, &lmr),
			    DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	EXPECT_OK(zero_based(c, at, length, &lmr));
	EXPECT_OK(dat_lmr_free(lmr));
	/* doc/conformance.md: only what begins with a page */
	BAD_ARG(zero_based(c, at + 64, length - 64, &lmr), 3);
}

CASE(rmr_create_for_ep__works_or_says_no, "10 dat_rmr_create_for_ep",
     NEED_IA | NEED_RMR)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_PARAM p;
	DAT_RETURN ret = dat_rmr_create_for_ep(c->a.pz, &rmr);

	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		return;
	EXPECT_OK(ret);
	EXPECT_OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &p));
	EXPECT_EQ(p.rmr_scope, DAT_RMR_SCOPE_EP);
	EXPECT_OK(dat_rmr_free(rmr));
}

CASE(csp_create__works_or_says_no, "7 dat_csp_create", NEED_EPS)
{
	DAT_COMM comm = {AF_INET, SOCK_STREAM, IPPROTO_TCP};
	DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
	struct sockaddr_storage addr;
	DAT_CSP_PARAM p;
	DAT_RETURN ret;

	memcpy(&addr, conf_address(c), sizeof(struct sockaddr_in));
	((struct sockaddr_in *)(void *)&addr)->sin_port =
		htons((uint16_t)c->qual);
	ret = dat_csp_create(c->a.ia, &comm, (DAT_IA_ADDRESS_PTR)&addr,
			     c->a.cr_evd, &csp);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		return;
	EXPECT_OK(ret);
	EXPECT_OK(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT(p.evd_handle == c->a.cr_evd);
	EXPECT_OK(dat_csp_free(csp));
}

CASE(ep_post_send_with_invalidate__works_or_says_no,
     "6 dat_ep_post_send_with_invalidate", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 8);
	DAT_RETURN ret;

	conf_post_recv(&c->a, 0, 64, 1);
	ret = dat_ep_post_send_with_invalidate(c->b.ep, 1, &seg, conf_cookie(2),
					       DAT_COMPLETION_DEFAULT_FLAG,
					       DAT_FALSE, 0);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		return;
	EXPECT_OK(ret);
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
}

CASE(cr_reject__peer_hears_of_it, "7 dat_cr_reject", NEED_EPS)
{
	char data[12] = "not today";
	DAT_EVENT ev;

	EXPECT_OK(dat_cr_reject(conf_meet(c), sizeof(data), data));
	ev = conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	EXPECT(ev.event_data.connect_event_data.private_data_size >=
	       (int)sizeof(data));
	EXPECT(memcmp(ev.event_data.connect_event_data.private_data, data,
		      sizeof(data)) == 0);
	EXPECT_EQ(conf_ep_state(c->b.ep), DAT_EP_STATE_DISCONNECTED);
	conf_no_event(c->a.conn_evd);
	conf_no_event(c->b.conn_evd);
}
