/* `init mcp`: the tools of Atoll, for whoever speaks by standard input and output.
 *
 *   init mcp [--flat]             lines of JSON-RPC both ways, as MCP's stdio transport has them
 *   init mcp call TOOL [JSON|-]   one call: what it answers, or why it failed
 *   init mcp list                 the tools, one a line
 *
 * All of the protocol is spoken by the door outside: here bytes are pumped. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DOOR = 8082, MOST_HEAD = 8192, MOST_ARGUMENTS = 2 << 20, CHUNK = 65536 };
enum { FAILED_CALL = 1, MISUSED = 64, NO_DOOR = 69 };

static int usage(void)
{
	fprintf(stderr, "usage: atoll-mcp [--flat]\n"
	                "       atoll-mcp call TOOL [JSON|-]\n"
	                "       atoll-mcp list\n");
	return MISUSED;
}

static int no_door(void)
{
	fprintf(stderr, "atoll-mcp: nobody answers at the door\n");
	return NO_DOOR;
}

static int put_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t put = write(fd, data, length);
		if (put < 0 && errno != EINTR)
			return -1;
		if (put > 0)
			data += put, length -= (size_t)put;
	}
	return 0;
}

/* The head of the answer up to its empty line, byte by byte: what follows is not ours to take.
 * The status, or -1. */
static int read_head(int fd, char head[MOST_HEAD + 1])
{
	size_t have = 0;
	int status;

	while (have < MOST_HEAD) {
		ssize_t got = read(fd, head + have, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		head[++have] = '\0';
		if (have >= 4 && !strcmp(head + have - 4, "\r\n\r\n"))
			return sscanf(head, "HTTP/1.1 %d ", &status) == 1 ? status : -1;
	}
	return -1;
}

/* The rest of an answer, for a connection that ends with it. */
static int pass_rest(int fd, int to)
{
	static char data[CHUNK];
	ssize_t got;

	while ((got = read(fd, data, sizeof data)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || put_all(to, data, (size_t)got) < 0)
			return -1;
	}
	return 0;
}

static int pump(const char *query)
{
	char head[MOST_HEAD + 1], request[256];
	int fd = reach_port(DOOR), status;

	snprintf(request, sizeof request,
	         "GET /mcp%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\n"
	         "Upgrade: atoll-mcp\r\n\r\n", query, DOOR);
	if (fd < 0 || put_all(fd, request, strlen(request)) < 0 || (status = read_head(fd, head)) < 0)
		return no_door();
	if (status != 101) {
		fprintf(stderr, "atoll-mcp: refused: ");
		fflush(stderr);
		shutdown(fd, SHUT_WR);
		pass_rest(fd, STDERR_FILENO);
		fprintf(stderr, "\n");
		return FAILED_CALL;
	}
	if (carry(fd) == 0)
		return 0;
	fprintf(stderr, "atoll-mcp: the door closed\n");
	return NO_DOOR;
}

/* Sends one request and prints its answer where the answer says. */
static int ask_door(const char *request, const char *tool, const char *json, size_t length)
{
	static const char mark[] = "\r\nAtoll-Exit: ";
	char head[MOST_HEAD + 1], *found;
	int fd = reach_port(DOOR), code = FAILED_CALL, status;

	if (fd < 0 || put_all(fd, request, strlen(request)) < 0 ||
	    (tool && (put_all(fd, tool, strlen(tool) + 1) < 0 || put_all(fd, json, length) < 0)) ||
	    (status = read_head(fd, head)) < 0)
		return no_door();
	found = status == 200 ? strstr(head, mark) : NULL;
	if (found)
		code = atoi(found + sizeof mark - 1);
	if (code != 0) {
		fprintf(stderr, "atoll-mcp: ");
		fflush(stderr);
	}
	if (pass_rest(fd, code == 0 ? STDOUT_FILENO : STDERR_FILENO) < 0)
		return no_door();
	if (!found)
		fprintf(stderr, "\n"); /* a refusal of the door, as it says that to anybody */
	return code;
}

/* All of standard input; -1 when it is longer than the door takes. */
static ssize_t read_input(char *data)
{
	size_t have = 0;

	while (have <= MOST_ARGUMENTS) {
		ssize_t got = read(STDIN_FILENO, data + have, MOST_ARGUMENTS + 1 - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : (ssize_t)have;
		have += (size_t)got;
	}
	return -1;
}

static int call(const char *tool, const char *json)
{
	static char input[MOST_ARGUMENTS + 1];
	char request[256];
	ssize_t length = (ssize_t)strlen(json);

	if (!strcmp(json, "-")) {
		length = read_input(input);
		json = input;
	}
	if (length < 0 || length > MOST_ARGUMENTS) {
		fprintf(stderr, "atoll-mcp: the arguments cannot be read, or are too long\n");
		return MISUSED;
	}
	snprintf(request, sizeof request,
	         "POST /mcp/call HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
	         "Content-Length: %zu\r\n\r\n", DOOR, strlen(tool) + 1 + (size_t)length);
	return ask_door(request, tool, json, (size_t)length);
}

static int list(void)
{
	char request[128];

	snprintf(request, sizeof request,
	         "GET /mcp/tools HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", DOOR);
	return ask_door(request, NULL, NULL, 0);
}

int mcp(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 0)
		return pump("");
	if (argc == 1 && !strcmp(argv[0], "--flat"))
		return pump("?names=flat");
	if (argc == 1 && !strcmp(argv[0], "list"))
		return list();
	if ((argc == 2 || argc == 3) && !strcmp(argv[0], "call"))
		return call(argv[1], argc == 3 ? argv[2] : "{}");
	return usage();
}
