/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire.h - reads the golden bytes of this folder.
 *
 * A file holds bytes as two hexadecimal digits each, in lines that begin with
 * their offset and a colon; lines that begin with # are for people. Needs
 * $top_srcdir, as `make check` sets it. A file that cannot be read ends the
 * test.
 *
 * All was captured on little-endian machines. What a message has in its
 * sender's order, the families of the two addresses, is given in this
 * machine's.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void wire_bad(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	exit(1);
}

static inline size_t wire_line(const char *path, const char *line, size_t at,
			       uint8_t *buf, size_t max)
{
	unsigned offset, byte;
	int used;

	if (sscanf(line, "%x:%n", &offset, &used) != 1 || offset != at)
		wire_bad(path, "a line does not begin with its offset");
	for (line += used; sscanf(line, " %2x%n", &byte, &used) == 1;
	     line += used) {
		if (at >= max)
			wire_bad(path, "longer than the test expects");
		buf[at++] = (uint8_t)byte;
	}
	if (strspn(line, " \n") != strlen(line))
		wire_bad(path, "not hexadecimal");
	return at;
}

static inline void wire_own_order(uint8_t *buf, size_t n)
{
	static const size_t families[] = {36, 64};

	for (size_t i = 0; i < 2 && n > families[i] + 1; i++) {
		uint8_t *at = buf + families[i];
		uint16_t family = (uint16_t)(at[0] | at[1] << 8);

		memcpy(at, &family, sizeof(family));
	}
}

/* Reads NAME.hex to BUF of MAX bytes; returns how many there are. */
static inline size_t wire_load(const char *name, uint8_t *buf, size_t max)
{
	const char *top = getenv("top_srcdir");
	char path[4096], line[256];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/test/wire/%s.hex", top ? top : ".",
		 name);
	f = fopen(path, "r");
	if (!f)
		wire_bad(path, "cannot be opened");
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#')
			n = wire_line(path, line, n, buf, max);
	fclose(f);
	wire_own_order(buf, n);
	return n;
}

#endif
