/* The far end of the link: `serve` starts a sandbox's init and its link, `attach` joins one,
 * `armour` runs a command over text. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { USAGE = 64, GRACE_SECONDS = 600 };

struct options {
	const char *socket, *device;
	double grace;
	bool daemon;
	char **command;
};

static volatile sig_atomic_t asked;

static void on_term(int number)
{
	(void)number;
	asked = 1;
}

static int usage(void)
{
	fprintf(stderr,
	        "usage: link serve --socket PATH | --device PATH [--grace SECONDS] [--daemon] -- ARGV\n"
	        "       link attach --socket PATH\n"
	        "       link armour\n");
	return USAGE;
}

static bool read_options(char **words, struct options *found)
{
	char *end = "";

	while (*words) {
		const char *word = *words++;
		if (strcmp(word, "--daemon") == 0) {
			found->daemon = true;
		} else if (strcmp(word, "--") == 0) {
			found->command = words;
			break;
		} else if (!*words) {
			return false;
		} else if (strcmp(word, "--socket") == 0) {
			found->socket = *words++;
		} else if (strcmp(word, "--device") == 0) {
			found->device = *words++;
		} else if (strcmp(word, "--grace") == 0) {
			found->grace = strtod(*words++, &end);
		} else {
			return false;
		}
	}
	return !*end && found->grace >= 0;
}

static int refused(const char *why)
{
	printf("%s\n", why);
	fflush(stdout);
	return 1;
}

static bool read_key(uint8_t *key)
{
	size_t have = 0;

	while (have < KEY_BYTES) {
		ssize_t got = read(0, key + have, KEY_BYTES - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

/* A listener at `path`, in place of one that nobody serves; -1 with the reason in `why`. */
static int listen_at(const char *path, char *why, size_t room)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool stale;
	mode_t before;

	snprintf(why, room, "%.200s: %s", path, strerror(ENAMETOOLONG));
	if (strlen(path) >= sizeof at.sun_path || fd < 0 || other < 0)
		return -1;
	strcpy(at.sun_path, path);
	if (connect(other, (struct sockaddr *)&at, sizeof at) == 0) {
		snprintf(why, room, "%.200s is served by another link", path);
		return -1;
	}
	stale = errno == ECONNREFUSED;
	close(other);
	if (stale)
		unlink(path);
	before = umask(0177);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 16) < 0) {
		snprintf(why, room, "%.200s: %s", path, strerror(errno));
		return -1;
	}
	umask(before);
	return fd;
}

/* As many descriptors as are allowed: a thousand channels need them. Not for init. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static void block_term(void)
{
	struct sigaction action = {.sa_handler = on_term};
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int be_far_end(const struct options *options, uint8_t *key)
{
	char why[300];
	const char *failed;
	int fd = -1, null;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	tell_time();
	if (options->socket && (fd = listen_at(options->socket, why, sizeof why)) < 0)
		return refused(why);
	block_term();
	failed = far_begin(options->command, options->grace);
	if (failed) {
		if (options->socket)
			unlink(options->socket);
		return refused(failed);
	}
	raise_files();
	tell_time();
	connections_begin(key);
	explicit_bzero(key, KEY_BYTES);
	if (options->socket)
		connections_listen(fd);
	else
		connections_use_device(options->device);
	printf("ready\n");
	fflush(stdout);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (options->daemon)
		dup2(null, 1);
	do {
		tell_time();
		if (asked)
			far_hurry();
	} while (far_turn());
	if (options->socket)
		unlink(options->socket);
	return 0;
}

/* Tells what the child in the background said: that it is ready, or why it is not. */
static int tell(int news, pid_t child)
{
	char line[400];
	size_t have = 0;
	ssize_t got;

	while ((got = read(news, line + have, sizeof line - 1 - have)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		have += got > 0 ? (size_t)got : 0;
		if (have == sizeof line - 1)
			break;
	}
	line[have] = 0;
	if (strcmp(line, "ready\n") == 0) {
		printf("ready %d\n", (int)child);
		return 0;
	}
	fputs(have ? line : "the link ended before it was ready\n", stdout);
	return 1;
}

static int in_background(const struct options *options, uint8_t *key)
{
	int news[2], null;
	pid_t child;

	if (pipe2(news, O_CLOEXEC) < 0 || (child = fork()) < 0)
		return refused(strerror(errno));
	if (child) {
		close(news[1]);
		explicit_bzero(key, KEY_BYTES);
		return tell(news[0], child);
	}
	setsid();
	signal(SIGHUP, SIG_IGN);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(news[1], 1);
	dup2(null, 0);
	dup2(null, 2);
	close(news[0]);
	close(news[1]);
	return be_far_end(options, key);
}

static int serve(const struct options *options)
{
	uint8_t key[KEY_BYTES];

	if (!read_key(key))
		return refused("no key of 32 bytes came on standard input");
	signal(SIGPIPE, SIG_IGN);
	return options->daemon ? in_background(options, key) : be_far_end(options, key);
}

int main(int count, char **words)
{
	struct options options = {.grace = GRACE_SECONDS};

	if (count < 2 || !read_options(words + 2, &options))
		return usage();
	if (strcmp(words[1], "serve") == 0 && options.command && *options.command &&
	    !options.socket != !options.device)
		return serve(&options);
	if (strcmp(words[1], "attach") == 0 && options.socket && !options.command)
		return attach(options.socket);
	if (strcmp(words[1], "armour") == 0 && count == 2)
		return armour();
	return usage();
}
