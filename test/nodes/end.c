/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * end.c - one end of connections, for scripts that make faults between two: its
 * commands are lines of standard input, and what happens is a line of standard
 * output, at once. An end that listens goes on without commands.
 *
 * Judges nothing: the script does. Knows the public API only.
 * The main thread takes commands, the other one events; an endpoint belongs to
 * the event thread from its first event on, and `lock` keeps the table.
 */
#include <dat2/udat.h>
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* There if LeakSanitizer is loaded before the program (LD_PRELOAD). */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static const char usage[] =
	"usage: end [-s BYTES] NAME [QUALIFIER [hold]]\n"
	"NAME: an adapter. With QUALIFIER it listens there, accepts everything\n"
	"and sends back what it gets, and rejects what it has no room for; with\n"
	"hold it leaves requests unanswered. Messages have 64 bytes, or so many,\n"
	"4096 at most.\n"
	"Commands, SLOT is 0 to 63:\n"
	"  connect SLOT ADDRESS QUALIFIER MS   ADDRESS: as the other printed it\n"
	"  accept SLOT                         the request that was held last; an\n"
	"                                      error of the call counts as an event\n"
	"  send SLOT                           a message; the answer is an event\n"
	"  talk SLOT                           100 messages, each after an answer\n"
	"  disconnect SLOT, free SLOT          gracefully\n"
	"  files                               how many descriptors are open\n"
	"  async                               asynchronous events, and then a line\n"
	"                                      of how many there were\n"
	"  quit                                free and close all, orderly\n";

#define SLOTS	    64
#define MESSAGES    8
#define MESSAGE_MAX 4096
#define TALK	    100

struct slot {
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	uint32_t sent;
	uint32_t got;
	uint32_t owed; /* answers to what came before ESTABLISHED */
	uint32_t talk; /* messages that are still to be sent */
	bool listened;
	bool up;
	/* Received ones, then sent ones; each has message_size. */
	unsigned char data[2 * MESSAGES * MESSAGE_MAX];
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE evd, async;
static DAT_PSP_HANDLE psp;
static struct slot slots[SLOTS];
static size_t message_size = 64;
static bool hold;
static DAT_CR_HANDLE held;
static int descriptors; /* open at first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* One write: what both threads say stays apart. */
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(3);
}

static const char *name_of(DAT_RETURN ret)
{
	const char *major = "?", *minor;

	dat_strerror(ret, &major, &minor);
	return major;
}

/* A failed call is a line of its own; true if it worked. */
static bool worked(const char *call, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return true;
	say("failed %s %s: %s", call, name_of(ret), dat_error_detail());
	return false;
}

static void must(const char *call, DAT_RETURN ret)
{
	if (!worked(call, ret))
		exit(1);
}

static unsigned char *bytes_of(struct slot *s, int message)
{
	return s->data + (size_t)message * message_size;
}

static DAT_LMR_TRIPLET segment(struct slot *s, int message)
{
	DAT_LMR_TRIPLET t = {
		.lmr_context = s->context,
		.virtual_address = (uintptr_t)bytes_of(s, message),
		.segment_length = message_size,
	};

	return t;
}

static bool receive(struct slot *s, int message)
{
	DAT_LMR_TRIPLET t = segment(s, message);
	DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)message};

	return worked("post_recv",
		      dat_ep_post_recv(s->ep, 1, &t, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG));
}

static bool send_one(struct slot *s)
{
	int message = MESSAGES + (int)(s->sent % MESSAGES);
	DAT_LMR_TRIPLET t = segment(s, message);
	DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)message};

	memset(bytes_of(s, message), (int)(s->sent & 0xff), message_size);
	s->sent++;
	return worked("post_send",
		      dat_ep_post_send(s->ep, 1, &t, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG));
}

/* An endpoint with receives posted, in a slot that is free. */
static bool make(struct slot *s)
{
	DAT_REGION_DESCRIPTION region = {.for_va = s->data};
	DAT_RMR_CONTEXT remote;
	DAT_VLEN size;
	DAT_VADDR at;

	if (!worked("lmr_create",
		    dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region,
				   2 * MESSAGES * message_size, pz,
				   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				   &s->lmr, &s->context, &remote, &size, &at)))
		return false;
	if (!worked("ep_create",
		    dat_ep_create(ia, pz, evd, evd, evd, NULL, &s->ep)))
		return false;
	s->sent = 0;
	s->got = 0;
	s->owed = 0;
	s->talk = 0;
	s->up = false;
	for (int i = 0; i < MESSAGES; i++) {
		if (!receive(s, i))
			return false;
	}
	return true;
}

static void free_slot(struct slot *s)
{
	DAT_EP_HANDLE ep = s->ep;

	s->ep = DAT_HANDLE_NULL;
	if (ep && !worked("ep_free", dat_ep_free(ep)))
		return;
	/* There may be no endpoint for it: one was refused. */
	if (!s->lmr || !worked("lmr_free", dat_lmr_free(s->lmr)))
		return;
	s->lmr = DAT_HANDLE_NULL;
	say("%d freed", (int)(s - slots));
}

static struct slot *slot_of(DAT_EP_HANDLE ep)
{
	for (struct slot *s = slots; s < slots + SLOTS; s++) {
		if (s->ep == ep)
			return s;
	}
	return NULL;
}

static void accept_one(const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	struct slot *s = slot_of(DAT_HANDLE_NULL);

	if (hold) {
		held = cr->cr_handle;
		say("request");
		return;
	}
	s = s ? s : slots;
	s->listened = true;
	if (make(s) &&
	    worked("cr_accept", dat_cr_accept(cr->cr_handle, s->ep, 0, NULL)))
		return;
	worked("cr_reject", dat_cr_reject(cr->cr_handle, 0, NULL));
	free_slot(s);
}

static void accept_held(struct slot *s)
{
	DAT_RETURN ret;

	s->listened = false;
	if (!make(s)) {
		free_slot(s);
		return;
	}
	ret = dat_cr_accept(held, s->ep, 0, NULL);
	if (ret != DAT_SUCCESS)
		say("%d event %s", (int)(s - slots), name_of(ret));
}

static void connection_event(struct slot *s, const char *name, bool over)
{
	say("%d event %s", (int)(s - slots), name);
	s->up = !over;
	for (; s->up && s->owed; s->owed--)
		send_one(s);
	if (over && s->listened)
		free_slot(s);
}

static void transfer_event(struct slot *s,
			   const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int message = (int)dto->user_cookie.as_64;
	const unsigned char *data = bytes_of(s, message);

	if (dto->status != DAT_DTO_SUCCESS) {
		say("%d transfer %d", (int)(s - slots), (int)dto->status);
		return;
	}
	if (message >= MESSAGES)
		return;
	for (size_t i = 0; i < message_size; i++) {
		if (data[i] != (s->got & 0xff)) {
			say("%d wrong data", (int)(s - slots));
			break;
		}
	}
	s->got++;
	if (!s->listened)
		say("%d answer", (int)(s - slots));
	if (!receive(s, message))
		return;
	if (!s->listened) {
		if (s->talk && --s->talk)
			send_one(s);
		return;
	}
	/* A message may come before the word that there is a connection. */
	if (s->up)
		send_one(s);
	else
		s->owed++;
}

static const struct {
	DAT_EVENT_NUMBER number;
	bool over;
	const char *name;
} connection_events[] = {
	{DAT_CONNECTION_EVENT_ESTABLISHED, false, "ESTABLISHED"},
	{DAT_CONNECTION_EVENT_PEER_REJECTED, true, "PEER_REJECTED"},
	{DAT_CONNECTION_EVENT_NON_PEER_REJECTED, true, "NON_PEER_REJECTED"},
	{DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, true,
	 "ACCEPT_COMPLETION_ERROR"},
	{DAT_CONNECTION_EVENT_DISCONNECTED, true, "DISCONNECTED"},
	{DAT_CONNECTION_EVENT_BROKEN, true, "BROKEN"},
	{DAT_CONNECTION_EVENT_TIMED_OUT, true, "TIMED_OUT"},
	{DAT_CONNECTION_EVENT_UNREACHABLE, true, "UNREACHABLE"},
};

/* Returns false for the event that ends the thread. */
static bool handle(const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *c = &ev->event_data.connect_event_data;
	struct slot *s;

	if (ev->event_number == DAT_SOFTWARE_EVENT)
		return false;
	if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		accept_one(&ev->event_data.cr_arrival_event_data);
		return true;
	}
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT) {
		s = slot_of(ev->event_data.dto_completion_event_data.ep_handle);
		if (s)
			transfer_event(
				s, &ev->event_data.dto_completion_event_data);
		return true;
	}
	s = slot_of(c->ep_handle);
	for (size_t i = 0;
	     s && i < sizeof(connection_events) / sizeof(connection_events[0]);
	     i++) {
		if (connection_events[i].number == ev->event_number) {
			connection_event(s, connection_events[i].name,
					 connection_events[i].over);
			return true;
		}
	}
	say("event 0x%x of %s", (unsigned int)ev->event_number,
	    s ? "an endpoint" : "nobody");
	return true;
}

static void *take_events(void *arg)
{
	bool more = true;
	DAT_EVENT ev;
	DAT_COUNT left;

	while (more) {
		must("evd_wait",
		     dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &left));
		pthread_mutex_lock(&lock);
		more = handle(&ev);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void connect_slot(struct slot *s, const char *hex, uint64_t qual,
			 unsigned int ms)
{
	union {
		DAT_SOCK_ADDR address;
		unsigned char bytes[sizeof(struct sockaddr_storage)];
	} to = {0};

	for (size_t i = 0; i < sizeof(to.bytes) && hex[2 * i] && hex[2 * i + 1];
	     i++)
		sscanf(hex + 2 * i, "%2hhx", &to.bytes[i]);
	s->listened = false;
	if (make(s) &&
	    worked("ep_connect",
		   dat_ep_connect(s->ep, &to.address, qual, ms * 1000u, 0, NULL,
				  DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG)))
		return;
	free_slot(s);
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	/* Without ".", ".." and the folder's own. */
	return n - 3;
}

static void say_async(void)
{
	DAT_EVENT ev;
	int n = 0;

	for (; dat_evd_dequeue(async, &ev) == DAT_SUCCESS; n++) {
		if (ev.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
			say("async IA_CATASTROPHIC");
		else
			say("async 0x%x", (unsigned int)ev.event_number);
	}
	say("async events: %d", n);
}

/* Returns false for the last one. */
static bool command(char *line)
{
	char verb[16] = "", hex[257] = "";
	unsigned int slot = 0, ms = 0;
	uint64_t qual = 0;
	int words = sscanf(line, "%15s %u %256s %" SCNu64 " %u", verb, &slot,
			   hex, &qual, &ms);
	struct slot *s = &slots[slot % SLOTS];

	if (words >= 1 && !strcmp(verb, "quit"))
		return false;
	if (words >= 1 && !strcmp(verb, "files"))
		say("files %d", open_files());
	else if (words >= 1 && !strcmp(verb, "async"))
		say_async();
	else if (words == 5 && !strcmp(verb, "connect"))
		connect_slot(s, hex, qual, ms);
	else if (words == 2 && !strcmp(verb, "accept") && held)
		accept_held(s);
	else if (words < 2 || !s->ep)
		say("failed: not understood, or no such connection: %s", line);
	else if (!strcmp(verb, "send"))
		send_one(s);
	else if (!strcmp(verb, "talk")) {
		s->talk = TALK;
		send_one(s);
	} else if (!strcmp(verb, "disconnect"))
		worked("ep_disconnect",
		       dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
	else if (!strcmp(verb, "free"))
		free_slot(s);
	return true;
}

static void open_all(char *name, const char *qual)
{
	char hex[2 * sizeof(struct sockaddr_storage) + 1] = "";
	DAT_IA_ATTR attr;

	must("ia_open", dat_ia_open(name, 8, &async, &ia));
	must("ia_query", dat_ia_query(ia, &async, DAT_IA_FIELD_IA_ADDRESS_PTR,
				      &attr, 0, NULL));
	must("pz_create", dat_pz_create(ia, &pz));
	must("evd_create",
	     dat_evd_create(ia, 2048, DAT_HANDLE_NULL,
			    DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG |
				    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &evd));
	if (qual)
		must("psp_create",
		     dat_psp_create(ia, strtoull(qual, NULL, 10), evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	/* UCM's is longer than IPv4's, and has more behind its family. */
	for (size_t i = 0; i < 28; i++)
		snprintf(hex + 2 * i, 3, "%02x",
			 ((const unsigned char *)attr.ia_address_ptr)[i]);
	say("address %s", hex);
}

/* After everything was freed; what is lost, it tells stderr. */
static const char *leaks(void)
{
	/* A pointer in these would count as a use. */
	ia = pz = evd = async = psp = held = DAT_HANDLE_NULL;
	if (!__lsan_do_recoverable_leak_check)
		return "leaks not looked for";
	return __lsan_do_recoverable_leak_check() ? "leaks" : "no leak";
}

static void close_all(void)
{
	if (psp)
		must("psp_free", dat_psp_free(psp));
	for (struct slot *s = slots; s < slots + SLOTS; s++)
		free_slot(s);
	must("evd_free", dat_evd_free(evd));
	must("pz_free", dat_pz_free(pz));
	must("ia_close", dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	say("closed, %d descriptors more than before, %s",
	    open_files() - descriptors, leaks());
}

int main(int argc, char **argv)
{
	DAT_EVENT end = {.event_number = DAT_SOFTWARE_EVENT};
	pthread_t events;
	bool more = true;
	char line[512];

	if (argc > 2 && !strcmp(argv[1], "-s")) {
		message_size = strtoul(argv[2], NULL, 10);
		argc -= 2;
		argv += 2;
	}
	if (!message_size || message_size > MESSAGE_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	hold = argc == 4 && !strcmp(argv[3], "hold");
	if (argc < 2 || argc > 3 + hold || argv[1][0] == '-') {
		fputs(usage, stderr);
		return 2;
	}
	descriptors = open_files();
	open_all(argv[1], argv[2]);
	if (pthread_create(&events, NULL, take_events, NULL))
		return 1;
	while (more && fgets(line, sizeof(line), stdin)) {
		pthread_mutex_lock(&lock);
		more = command(line);
		pthread_mutex_unlock(&lock);
	}
	if (more && psp)
		pthread_join(events, NULL);
	must("evd_post_se", dat_evd_post_se(evd, &end));
	pthread_join(events, NULL);
	close_all();
	return 0;
}
