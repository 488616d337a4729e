/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * no_membarrier.c - runs a command to which membarrier(2) is refused, as
 * filters of containers do: no lock has a bias there (doc/locking.md).
 *
 *	no_membarrier COMMAND [ARGUMENT...]
 *
 * Exit status: the command's; 77 if the system lets nobody refuse a call.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CANNOT 77 /* a skipped test */

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {
		.len = sizeof(code) / sizeof(*code),
		.filter = code,
	};

	if (argc < 2) {
		fputs("usage: no_membarrier COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("no_membarrier: to refuse a system call");
		return CANNOT;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 2;
}
