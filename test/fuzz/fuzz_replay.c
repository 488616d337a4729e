/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fuzz_replay.c - a fuzz target without a fuzzing engine: each argument is a
 * file, each file one input.
 */
#include "test/fuzz/fuzz.h"

#include <string.h>

static int replay(const char *path)
{
	static uint8_t bytes[1 << 20];
	uint8_t *copy;
	size_t size;
	FILE *f;

	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return 1;
	}
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	/* exactly as large, so that reading past the end is noticed */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 1;
	memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (replay(argv[i]))
			return 1;
	printf("%d files replayed\n", argc - 1);
	return 0;
}
