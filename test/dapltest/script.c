/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * script.c - a command line of dapltest that is kept in a file (-f FILE).
 *
 * Does not know options. Threads: one. Ownership: see options.h.
 * Rule: all lines of the file make one command line; the historic limits of
 * line and word lengths are gone.
 */
#include "test/dapltest/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS	  " \t\r\n"
#define WORDS_MAX 10000

struct words {
	char **argv;
	int count;
	int room; /* with the NULL at the end */
};

static int add_word(struct words *w, char *text)
{
	if (w->count >= WORDS_MAX)
		return -E2BIG;
	if (w->count + 1 >= w->room) {
		int room = w->room ? 2 * w->room : 64;
		char **argv = realloc(w->argv, (size_t)room * sizeof(*argv));

		if (!argv)
			return -ENOMEM;
		w->argv = argv;
		w->room = room;
	}
	w->argv[w->count++] = text;
	w->argv[w->count] = NULL;
	return 0;
}

static int add_line(struct words *w, char *line)
{
	char *save = NULL;
	int rc = 0;

	for (char *word = strtok_r(line, BLANKS, &save);
	     !rc && word && word[0] != '#';
	     word = strtok_r(NULL, BLANKS, &save)) {
		char *copy = strdup(word);

		rc = copy ? add_word(w, copy) : -ENOMEM;
		if (rc)
			free(copy);
	}
	return rc;
}

void dpt_script_free(char **argv)
{
	for (char **word = argv ? argv + 1 : NULL; word && *word; word++)
		free(*word);
	free(argv);
}

int dpt_script_words(FILE *in, char *name, char ***ret_argv)
{
	struct words w = {.argv = NULL};
	char *line = NULL;
	size_t room = 0;
	int rc = add_word(&w, name);

	while (!rc && getline(&line, &room, in) >= 0)
		rc = add_line(&w, line);
	if (!rc && ferror(in))
		rc = -EIO;
	free(line);
	if (rc) {
		dpt_script_free(w.argv);
		return rc;
	}
	*ret_argv = w.argv;
	return w.count;
}
