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
             {"dial", 1, do_dial},     {"total", 1, do_total},   {"search", 2, do_search},
             {"listening", 0, do_listening}, {"socket", 1, do_socket}, {"port", 1, do_port}};

static int flag(struct request *it, const char *name)
{
	if (!strcmp(name, "-r"))
		return it->recursive = 1;
	if (!strcmp(name, "-p"))
		return it->parents = 1;
	if (!strcmp(name, "--overwrite"))
		return it->overwrite = 1;
	if (!strcmp(name, "--text"))
		return it->text = 1;
	if (!strcmp(name, "--exact"))
		return it->exact = 1;
	if (!strcmp(name, "--all"))
		return it->all = 1;
	return 0;
}

static int option(struct request *it, const char *name, const char *value)
{
	if (flag(it, name))
		return 1;
	if (!value)
		return -1;
	if (!strcmp(name, "--after"))
		return it->after = value, 2;
	if (!strcmp(name, "--limit"))
		return it->limit = atol(value), 2;
	if (!strcmp(name, "--mode"))
		return it->mode = strtol(value, NULL, 8) & 0777, 2;
	if (!strcmp(name, "--max-files"))
		return it->max_files = atol(value), 2;
	if (!strcmp(name, "--max-bytes"))
		return it->max_bytes = atoll(value), 2;
	if (!strcmp(name, "--seconds"))
		return it->seconds = atol(value), 2;
	if (!strcmp(name, "--reach"))
		return it->reach = atol(value), 2;
	return -1;
}

int tool(int argc, char **argv)
{
	struct request it = {.limit = 1000, .max_files = 1000000, .mode = -1,
	                     .max_bytes = 1LL << 40, .seconds = 60, .reach = 200};
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
