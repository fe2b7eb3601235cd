/* The tools by name. Options come first, then `--`, then the paths: a path may be named
 * anything at all. They run with the sandbox's own rights, their directory the root. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int paths;
	int (*run)(struct request *);
} tools[] = {{"list", 1, do_list},     {"stat", 1, do_stat},     {"mkdir", 1, do_mkdir},
             {"move", 2, do_move},     {"commit", 2, do_commit}, {"remove", 1, do_remove},
             {"tar", 1, do_tar},       {"untar", 1, do_untar},   {"watch", 1, do_watch},
             {"dial", 1, do_dial},     {"total", 1, do_total}};

static int option(struct request *it, const char *name, const char *value)
{
	if (!strcmp(name, "-r"))
		it->recursive = 1;
	else if (!strcmp(name, "-p"))
		it->parents = 1;
	else if (!strcmp(name, "--overwrite"))
		it->overwrite = 1;
	else if (!value)
		return -1;
	else if (!strcmp(name, "--after"))
		return it->after = value, 2;
	else if (!strcmp(name, "--limit"))
		return it->limit = atol(value), 2;
	else if (!strcmp(name, "--mode"))
		return it->mode = strtol(value, NULL, 8) & 0777, 2;
	else if (!strcmp(name, "--max-files"))
		return it->max_files = atol(value), 2;
	else if (!strcmp(name, "--max-bytes"))
		return it->max_bytes = atoll(value), 2;
	else
		return -1;
	return 1;
}

int tool(int argc, char **argv)
{
	struct request it = {.limit = 1000, .max_files = 1000000, .mode = -1,
	                     .max_bytes = 1LL << 40};
	int i = 1, taken, code;

	for (; i < argc && strcmp(argv[i], "--") != 0; i += taken)
		if ((taken = option(&it, argv[i], argv[i + 1])) < 0)
			return denied(USAGE, "unknown option");
	for (i++; i < argc && it.count < 2; i++)
		it.paths[it.count++] = *argv[i] ? argv[i] : ".";
	it.root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (it.root < 0)
		return failed("the workspace");
	signal(SIGPIPE, SIG_DFL);
	for (size_t each = 0; each < sizeof tools / sizeof *tools; each++) {
		if (strcmp(argv[0], tools[each].name) != 0)
			continue;
		if (it.count != tools[each].paths || i < argc)
			return denied(USAGE, "wrong number of paths");
		code = tools[each].run(&it);
		return fflush(stdout) == 0 ? code : failed("standard output");
	}
	return denied(USAGE, "unknown tool");
}
