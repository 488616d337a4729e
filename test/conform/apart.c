/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart.c - how two processes make a case's steps together; see apart.h.
 *
 * Each thread of a case has a TCP stream of its own, by the order in which they
 * are made. Before a call, who does not make it says that he is there: what the
 * case does to a buffer by itself is done then. A step is one message from who
 * has made it. On the case's own stream the buffers follow, from each process
 * that of its side.
 * Objects are told apart by their handles, which are addresses: those of two
 * processes differ, as systems place them at random.
 * Threads: as in apart.h; the table of objects has a lock.
 */
#include "test/conform/apart_step.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS	   3	   /* a case has two at most; one to spare */
#define VERDICT	   THREADS /* the stream of side a's parent */
#define STREAMS	   (THREADS + 1)
#define OBJECTS	   4096
#define IA_NUMBERS 1000 /* less than these are numbers */
#define CALL_S	   20	/* for the other side to be ready */
#define HELLO_S	   5	/* for who has called to say for what */
/* Where nothing else is: buffer of a, that of b behind it. */
#define MEMORY 0x600000000000
#define GAP    0x10000000

#define NO_CODE (-2) /* that no process has */

struct verdict {
	int code;
	char note[APART_NOTE];
};

struct hello {
	char name[APART_NAME];
	int stream;
};

struct head {
	char call[40];
	uint32_t ret;
	uint32_t size;
};

static bool is_b;
static struct conf *conf; /* of the case that runs, or NULL */
static int stream[STREAMS] = {-1, -1, -1, -1};
static int threads;	 /* that the case has made */
static __thread int own; /* its stream */
static int listener = -1;

static struct {
	pthread_mutex_t lock;
	int n;
	struct {
		DAT_HANDLE handle;
		bool mine;
	} at[OBJECTS];
} objects = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define FAIL(...) conf_fail(__FILE__, __LINE__, __VA_ARGS__)

bool apart_is(void)
{
	return true;
}

/* ---------------------------------------------------------- streams */

/* Cases of two sides have no signals that could cut these short. */
static bool try_get(int fd, void *bytes, size_t size)
{
	return !size || recv(fd, bytes, size, MSG_WAITALL) == (ssize_t)size;
}

static bool try_put(int fd, const void *bytes, size_t size)
{
	return !size || send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void hang_up(int i)
{
	if (stream[i] >= 0)
		close(stream[i]);
	stream[i] = -1;
}

void apart_leave(void)
{
	for (int i = 0; i < THREADS; i++)
		hang_up(i);
}

void apart_verdict(int code, const char *note)
{
	struct verdict v = {.code = code};

	snprintf(v.note, sizeof(v.note), "%s", note);
	/* Who is not there any more needs none. */
	try_put(stream[VERDICT], &v, sizeof(v));
	hang_up(VERDICT);
}

/* Side b's: side a's process ends, and has to with CODE. */
static void judge(int code)
{
	struct verdict v;

	apart_leave();
	if (!try_get(stream[VERDICT], &v, sizeof(v)))
		FAIL("side a: no word of its end");
	v.note[sizeof(v.note) - 1] = '\0';
	if (v.code != code)
		FAIL("side a: exit code %d: %.300s", v.code, v.note);
}

static _Noreturn void gone(void)
{
	if (is_b)
		judge(NO_CODE);
	FAIL("side b has ended");
}

static void put(int fd, const void *bytes, size_t size)
{
	if (!try_put(fd, bytes, size))
		gone();
}

static void get(int fd, void *bytes, size_t size)
{
	if (!try_get(fd, bytes, size))
		gone();
}

static void at_once(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* Who served before may not have gone yet. */
static bool listens(void)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct sockaddr_in6 any = {.sin6_family = AF_INET6,
				   .sin6_port = htons(APART_PORT)};
	int tries = CALL_S * 20;

	if (listener >= 0)
		return true;
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	while (bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	       listen(listener, 16 * STREAMS)) {
		if (errno != EADDRINUSE || !--tries) {
			perror("conform: to listen for the other side");
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

/* The next stream of the case that is called for, or -1. */
static int answer(struct hello *ret_hello)
{
	struct timeval limit = {.tv_sec = HELLO_S};
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (fd >= 0 && try_get(fd, ret_hello, sizeof(*ret_hello)) &&
	    ret_hello->stream >= 0 && ret_hello->stream < STREAMS) {
		limit.tv_sec = 0;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		at_once(fd);
		return fd;
	}
	close(fd);
	return -1;
}

bool apart_serve(char name[APART_NAME])
{
	struct hello hello;
	int fd;

	if (!listens())
		return false;
	while (stream[STREAMS - 1] < 0) {
		fd = answer(&hello);
		if (fd < 0)
			continue;
		/* A case that broke off while it called is forgotten. */
		if (!hello.stream)
			apart_leave();
		hang_up(hello.stream);
		stream[hello.stream] = fd;
		memcpy(name, hello.name, APART_NAME);
		name[APART_NAME - 1] = '\0';
	}
	return true;
}

static int dial(const char *host)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *to;
	char port[8];
	int fd, tries = CALL_S * 20;

	snprintf(port, sizeof(port), "%d", APART_PORT);
	if (getaddrinfo(host, port, &hints, &to))
		FAIL("who is %s?", host);
	for (;;) {
		fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, to->ai_addr, to->ai_addrlen))
			break;
		close(fd);
		if (!--tries)
			FAIL("%s does not serve: %s", host, strerror(errno));
		nanosleep(&pause, NULL);
	}
	freeaddrinfo(to);
	at_once(fd);
	return fd;
}

void apart_call(const char *host, const char *name)
{
	struct hello hello = {.stream = 0};

	is_b = true;
	snprintf(hello.name, sizeof(hello.name), "%s", name);
	for (; hello.stream < STREAMS; hello.stream++) {
		stream[hello.stream] = dial(host);
		put(stream[hello.stream], &hello, sizeof(hello));
	}
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);

struct start {
	void *(*run)(void *);
	void *arg;
	int stream;
};

static void *started(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	own = s.stream;
	return s.run(s.arg);
}

/* The case's: both processes make them in the same order. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg)
{
	struct start *s = malloc(sizeof(*s));

	if (!s)
		return ENOMEM;
	/* One after the other may have the last. */
	*s = (struct start){run, arg,
			    ++threads < THREADS ? threads : THREADS - 1};
	return __real_pthread_create(thread, attr, started, s);
}

/* ------------------------------------------------------------ steps */

static struct conf_side *side(bool mine)
{
	return mine == is_b ? &conf->b : &conf->a;
}

/*
 * What is in both buffers. Who has the call speaks first, so that what the
 * other one sends is no older than the call's return.
 */
static void exchange(bool first)
{
	uint8_t *here = side(true)->buf, *there = side(false)->buf;

	if (first && here)
		put(stream[0], here, CONF_MEM);
	if (there)
		get(stream[0], there, CONF_MEM);
	if (!first && here)
		put(stream[0], here, CONF_MEM);
}

static void say(const char *what, const void *bytes, size_t size,
		DAT_RETURN ret)
{
	struct head head = {.ret = ret, .size = (uint32_t)size};

	snprintf(head.call, sizeof(head.call), "%s", what);
	put(stream[own], &head, sizeof(head));
	put(stream[own], bytes, size);
}

/* BYTES may be NULL; then they are in memory that stays. */
static void *hear(const char *what, void *bytes, size_t size, DAT_RETURN *ret)
{
	struct head head;

	get(stream[own], &head, sizeof(head));
	head.call[sizeof(head.call) - 1] = '\0';
	if (strcmp(head.call, what) != 0)
		FAIL("%s here, %s at the other side", what, head.call);
	if (!bytes) {
		size = head.size;
		bytes = size ? malloc(size) : NULL;
	}
	if (size != head.size)
		FAIL("%s: %zu bytes here, %u at the other side", what, size,
		     head.size);
	get(stream[own], bytes, size);
	*ret = head.ret;
	return bytes;
}

DAT_RETURN apart_step(const char *call, bool mine, DAT_RETURN ret,
		      const struct apart_part *parts, int n)
{
	uint8_t bytes[8192];
	size_t size = 0;

	for (int i = 0; i < n; i++)
		size += parts[i].at ? parts[i].size : 0;
	if (size > sizeof(bytes))
		FAIL("%s writes too much", call);
	size = 0;
	for (int i = 0; i < n; i++) {
		if (!parts[i].at)
			continue;
		memcpy(bytes + size, parts[i].at, parts[i].size);
		size += parts[i].size;
	}
	if (mine)
		say(call, bytes, size, ret);
	else
		hear(call, bytes, size, &ret);
	size = 0;
	for (int i = 0; !mine && i < n; i++) {
		if (!parts[i].at)
			continue;
		memcpy(parts[i].at, bytes + size, parts[i].size);
		size += parts[i].size;
	}
	if (!own)
		exchange(mine);
	return ret;
}

DAT_RETURN apart_step_made(const char *call, bool mine, DAT_RETURN ret,
			   DAT_HANDLE *handle)
{
	struct apart_part part = {handle, sizeof(*handle)};
	DAT_HANDLE was = handle ? *handle : DAT_HANDLE_NULL;

	ret = apart_step(call, mine, ret, &part, 1);
	if (!handle)
		return ret;
	if (ret == DAT_SUCCESS)
		apart_made(*handle, mine);
	else if (!mine) /* it may be an address of the other process */
		*handle = was;
	return ret;
}

void *apart_library(const char *call)
{
	void *fn = dlsym(RTLD_NEXT, call);

	if (!fn)
		FAIL("no %s", call);
	return fn;
}

void apart_pointed(bool mine, void **pointer, size_t size)
{
	DAT_RETURN ret;

	if (mine)
		say("what it points to", *pointer, *pointer ? size : 0, 0);
	else
		*pointer = hear("what it points to", NULL, 0, &ret);
}

uint64_t apart_agreed(DAT_HANDLE handle, uint64_t value)
{
	struct apart_part part = {&value, sizeof(value)};

	if (conf)
		apart_step("a value", apart_turn("a value", handle), 0, &part,
			   1);
	return value;
}

/* ---------------------------------------------------------- objects */

/* MINE, as soon as both have come to it. */
static bool turn(const char *call, bool mine)
{
	DAT_RETURN ret;

	if (mine)
		hear(call, NULL, 0, &ret);
	else
		say(call, NULL, 0, 0);
	return mine;
}

bool apart_turn(const char *call, DAT_HANDLE handle)
{
	bool mine = is_b;

	pthread_mutex_lock(&objects.lock);
	for (int i = 0; i < objects.n; i++)
		if (objects.at[i].handle == handle)
			mine = objects.at[i].mine;
	pthread_mutex_unlock(&objects.lock);
	return turn(call, mine);
}

void apart_made(DAT_HANDLE handle, bool mine)
{
	int i;

	pthread_mutex_lock(&objects.lock);
	for (i = 0; i < objects.n && objects.at[i].handle != handle; i++)
		;
	if (i == OBJECTS)
		FAIL("too many objects");
	if (i == objects.n)
		objects.n++;
	else if (objects.at[i].mine != mine)
		FAIL("%p is of both sides", (void *)handle);
	objects.at[i].handle = handle;
	objects.at[i].mine = mine;
	pthread_mutex_unlock(&objects.lock);
}

bool apart_turn_to_open(const char *call, const DAT_EVD_HANDLE *async_evd)
{
	return turn(call, (async_evd == &conf->b.async_evd) == is_b);
}

DAT_IA_HANDLE apart_ia_shown(DAT_IA_HANDLE ia, bool mine)
{
	uintptr_t number = (uintptr_t)ia;

	if (!number || number >= IA_NUMBERS || mine == is_b)
		return ia;
	return (DAT_IA_HANDLE)(number + IA_NUMBERS);
}

DAT_IA_HANDLE apart_ia(DAT_IA_HANDLE ia)
{
	uintptr_t number = (uintptr_t)ia;

	if (number <= IA_NUMBERS || number >= 2 * IA_NUMBERS)
		return ia;
	return (DAT_IA_HANDLE)(number - IA_NUMBERS);
}

/* ------------------------------------------------------------ cases */

void apart_begin(struct conf *c)
{
	struct apart_part part = {&c->qual, sizeof(c->qual)};

	/* The parent's. */
	if (!is_b) {
		hang_up(VERDICT);
		close(listener);
	}
	conf = c;
	apart_step("the qualifiers", turn("the qualifiers", !is_b), 0, &part,
		   1);
}

void apart_end(int code)
{
	DAT_RETURN ret;

	if (!conf)
		return;
	conf = NULL;
	if (code == EXIT_SUCCESS && is_b)
		hear("the end", NULL, 0, &ret);
	else if (code == EXIT_SUCCESS)
		say("the end", NULL, 0, 0);
	if (is_b)
		judge(code);
}

uint8_t *apart_memory(const struct conf *c, const struct conf_side *s)
{
	uintptr_t at = MEMORY + (s == &c->b ? GAP : 0);
	void *memory =
		mmap((void *)at, CONF_MEM, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void apart_memory_free(uint8_t *memory)
{
	if (memory)
		munmap(memory, CONF_MEM);
}
