/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_platform_specific.h - the base types of DAT on Linux.
 *
 * Does not describe other platforms and declares no calls.
 * Threads: types only. Ownership: none.
 * Rule: every width below is part of the binary interface of libdat2.so.2 and
 * is checked against the recorded facts by test/abi.
 */
#ifndef DAT2_PLATFORM_SPECIFIC_H
#define DAT2_PLATFORM_SPECIFIC_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Calls that cross a library border. The attribute matters to code that is
 * compiled with hidden visibility, such as the libraries themselves.
 */
#if defined(__GNUC__)
#define DAT_EXPORT extern __attribute__((visibility("default")))
#else
#define DAT_EXPORT extern
#endif

/* Calling convention and argument directions; older programs write them. */
#ifndef DAT_API
#define DAT_API
#endif
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
#ifndef DAT_1_2
typedef unsigned long DAT_UVERYLONG; /* as wide as a pointer */
#else
/* as wide as a pointer; not a type of C89 */
__extension__ typedef unsigned long long DAT_UVERYLONG;
#endif
typedef void *DAT_PVOID;
typedef int DAT_COUNT; /* of things, not of bytes */
typedef DAT_UINT64 DAT_PADDR;

#ifndef DAT_1_2
/* Socket-style name of a kind of communication, as in socket(2). */
struct dat_comm {
	int domain;   /* address family, DAT_AF_* */
	int type;     /* SOCK_* */
	int protocol; /* 0 or IPPROTO_* */
};
typedef struct dat_comm DAT_COMM;

typedef int DAT_FD; /* file descriptor */
#endif

typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

#define DAT_AF_INET  AF_INET
#define DAT_AF_INET6 AF_INET6

/* Buffers at multiples of this many bytes are moved fastest. */
#define DAT_OPTIMAL_ALIGNMENT 256

#ifndef DAT_1_2
/*
 * IA handles that programs see are small integers in a pointer's clothes;
 * these take them off and put them on.
 */
#define DAT_IA_HANDLE_TO_UL(handle) ((unsigned long)(handle))
#define DAT_UL_TO_IA_HANDLE(index)  ((DAT_IA_HANDLE)(index))
#endif

#endif /* DAT2_PLATFORM_SPECIFIC_H */
