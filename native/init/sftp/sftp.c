/* An SFTP server on standard input and output, for one client, in one thread:
 *
 *   init [--root DIR] sftp [--read-only] [--root PATH]…
 *
 * It works on what lies beneath its roots, with the sandbox's own rights. Relative paths begin in
 * the first one. Folders on the way to the roots show only what leads there. */
#define _GNU_SOURCE
#include "sftp.h"
#include "init.h"
#include "tree.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_only;

int is_read_only(void)
{
	return read_only;
}

static const struct {
	int type, changes;
	int (*answer)(struct message *);
} requests[] = {{3, 0, answer_open},      {4, 0, answer_close},     {5, 0, answer_read},
                {6, 1, answer_write},     {7, 0, answer_lstat},     {8, 0, answer_fstat},
                {9, 1, answer_setstat},   {10, 1, answer_fsetstat}, {11, 0, answer_opendir},
                {12, 0, answer_readdir},  {13, 1, answer_remove},   {14, 1, answer_mkdir},
                {15, 1, answer_rmdir},    {16, 0, answer_realpath}, {17, 0, answer_stat},
                {18, 1, answer_rename},   {19, 0, answer_readlink}, {20, 1, answer_symlink},
                {200, 0, answer_extended}};

static int answer_request(int type, struct message *message)
{
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		if (requests[i].type != type)
			continue;
		if (requests[i].changes && read_only) {
			errno = READ_ONLY;
			return -1;
		}
		return requests[i].answer(message);
	}
	errno = UNKNOWN;
	return -1;
}

/* One message; an exit code other than OK when nothing sensible can follow it. */
static int take_turn(struct message *message)
{
	static int greeted;
	int type = *message->at++, done;

	if (type == INIT) {
		greeted = 1;
		answer_version();
		return OK;
	}
	if (!greeted)
		return denied(UNSAFE, "a request came before the version");
	message->id = take_number(message);
	if (message->cut)
		return denied(UNSAFE, "a request has no number");
	errno = 0;
	done = answer_request(type, message);
	if (done < 0)
		answer_failure(message->id, errno);
	else if (done != ANSWERED)
		answer_ok(message->id);
	return OK;
}

static void settle(void)
{
	struct rlimit files;

	umask(022);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int read_options(const char *root, int argc, char **argv)
{
	int given = root ? 1 : 0;

	if (root && add_root(root) < 0)
		return denied(USAGE, "a root is an absolute path");
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--read-only"))
			read_only = 1;
		else if (strcmp(argv[i], "--root") != 0 || i + 1 == argc)
			return denied(USAGE, "unknown option");
		else if (add_root(argv[++i]) < 0)
			return denied(USAGE, "a root is an absolute path, and at most 128 may be given");
		else
			given = 1;
	}
	if (!given)
		add_root("/workspace");
	return OK;
}

int sftp(const char *root, int argc, char **argv)
{
	int code = read_options(root, argc, argv), got = 0;
	struct message message;

	if (code != OK)
		return code;
	settle();
	if (open_first_root() < 0 || open_wire() < 0)
		return failed("sftp");
	while (code == OK && (got = next_message(&message)) > 0)
		code = take_turn(&message);
	if (got < 0)
		code = denied(UNSAFE, "a message is empty, or longer than 257 KiB");
	flush_answers();
	return code;
}
