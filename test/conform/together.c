/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * together.c - both sides of a case in one process: nothing to be agreed on.
 */
#include "test/conform/apart.h"

#include <stdlib.h>

bool apart_is(void)
{
	return false;
}

bool apart_serve(char name[APART_NAME])
{
	(void)name;
	return false;
}

void apart_leave(void)
{
}

void apart_verdict(int code, const char *note)
{
	(void)code;
	(void)note;
}

void apart_call(const char *host, const char *name)
{
	(void)host;
	(void)name;
}

void apart_begin(struct conf *c)
{
	(void)c;
}

void apart_end(int code)
{
	(void)code;
}

uint8_t *apart_memory(const struct conf *c, const struct conf_side *s)
{
	(void)c;
	(void)s;
	return calloc(1, CONF_MEM);
}

void apart_memory_free(uint8_t *memory)
{
	free(memory);
}

uint64_t apart_agreed(DAT_HANDLE handle, uint64_t value)
{
	(void)handle;
	return value;
}
