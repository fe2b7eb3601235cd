/* `init ask KIND -- ARGV…`: asks the door outside for a word on exactly ARGV, and becomes it
 * when the word is yes. KIND is `operator`, `check` (asks only where a rule says so) or
 * `sudo`: that is run from outside, on our input and output, and we wait for its end. It runs
 * with the rights of whoever calls it: what it guards is not here. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DOOR = 3128, ANSWER = 8192, SOON_MS = 300, REFUSED = 1, NO_DOOR = 69, MISUSED = 64 };
enum { NOT_RUNNABLE = 126, NOT_FOUND = 127 }; /* as shells say it */

/* Where the shims lie: looked past, or a shim would find itself. */
static const char shims[] = "/opt/atoll/agents/.safety/bin";

static const char ended[] = "\r\nAtoll-Exit: ";
static int door; /* for the handler below */

/* What a person at the terminal sends is meant for the command. */
static void pass_on(int number)
{
	char byte = (char)number;
	int kept = errno;

	(void)!send(door, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	errno = kept;
}

static int send_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
		if (sent <= 0 && errno != EINTR)
			return -1;
		if (sent > 0)
			data += sent, length -= (size_t)sent;
	}
	return 0;
}

static int put(int fd, const char *kind, char **argv)
{
	char head[160], cwd[PATH_MAX];
	size_t length;
	int i;

	if (!getcwd(cwd, sizeof cwd))
		strcpy(cwd, "/");
	length = strlen(kind) + 1 + strlen(cwd) + 1;
	for (i = 0; argv[i]; i++)
		length += strlen(argv[i]) + 1;
	snprintf(head, sizeof head,
	         "POST /atoll/ask HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %zu\r\n\r\n",
	         DOOR, length);
	if (send_all(fd, head, strlen(head)) < 0 || send_all(fd, kind, strlen(kind) + 1) < 0 ||
	    send_all(fd, cwd, strlen(cwd) + 1) < 0)
		return -1;
	for (i = 0; argv[i]; i++)
		if (send_all(fd, argv[i], strlen(argv[i]) + 1) < 0)
			return -1;
	return 0;
}

static void stand_in(int fd)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = pass_on};

	door = fd;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaction(numbers[i], &action, NULL);
}

/* The answer's status, its text printed; -1 when there is none. For a command that was run
 * outside, `code` is how it ended. */
static int word(int fd, const char *kind, int *code)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char answer[ANSWER + 1];
	size_t have = 0;
	ssize_t got;
	char *text, *end;
	int status;

	if (*code < 0 && poll(&wait, 1, SOON_MS) == 0)
		fprintf(stderr, "atoll: waiting for a person to allow this, for ten minutes at most\n");
	while (have < ANSWER && (got = read(fd, answer + have, ANSWER - have)) != 0) {
		if (got < 0 && errno != EINTR)
			return -1;
		if (got > 0)
			have += (size_t)got;
	}
	answer[have] = '\0';
	if (sscanf(answer, "HTTP/1.1 %d ", &status) != 1 || !(text = strstr(answer, "\r\n\r\n")))
		return -1;
	end = strstr(answer, ended);
	if (*code >= 0 && status == 200 && (!end || sscanf(end + sizeof ended - 1, "%d", code) != 1))
		return -1;
	if (status != 200)
		fprintf(stderr, "atoll: %s: %s", strcmp(kind, "sudo") ? "not run" : "sudo", text + 4);
	return status;
}

/* Runs argv, found by PATH without the shims, as if they had never been there. */
static int become(char **argv)
{
	const char *path = getenv("PATH");
	char place[PATH_MAX];
	int denied = 0;

	if (strchr(argv[0], '/')) {
		execv(argv[0], argv);
		denied = errno != ENOENT;
	} else {
		for (path = path ? path : "/usr/bin:/bin"; path; path = strchr(path, ':')) {
			path += *path == ':';
			int length = (int)strcspn(path, ":");
			if (length == (int)strlen(shims) && !strncmp(path, shims, (size_t)length))
				continue;
			if (snprintf(place, sizeof place, "%.*s/%s", length ? length : 1, length ? path : ".",
			             argv[0]) >= (int)sizeof place)
				continue;
			execv(place, argv);
			denied |= errno != ENOENT && errno != ENOTDIR;
		}
	}
	fprintf(stderr, "atoll: %s: %s\n", argv[0], denied ? "cannot be run" : "not found");
	return denied ? NOT_RUNNABLE : NOT_FOUND;
}

int ask(int argc, char **argv)
{
	int fd, status, outside, code;
	char kind[32];

	if (argc < 3 || strcmp(argv[1], "--") != 0) {
		fprintf(stderr, "usage: operator-approve -- COMMAND [ARGUMENT]...\n");
		return MISUSED;
	}
	/* 0-2 must be taken, or the door would become one of the command's. */
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd < 3)
		;
	close(fd);
	outside = !strcmp(argv[0], "sudo");
	code = outside ? 0 : -1;
	snprintf(kind, sizeof kind, outside ? "%.16s %d" : "%.16s", argv[0], (int)getpid());
	fd = reach_port(DOOR);
	if (outside)
		stand_in(fd);
	if (fd < 0 || put(fd, kind, argv + 2) < 0 || (status = word(fd, argv[0], &code)) < 0) {
		fprintf(stderr, "atoll: nobody answers at the door; not run\n");
		return NO_DOOR;
	}
	close(fd);
	if (status != 200)
		return REFUSED;
	return outside ? code : become(argv + 2);
}
