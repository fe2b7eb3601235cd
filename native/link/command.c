/* `armour` runs one command whose input and output are lines of text on a terminal. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { WORDS = 256 * 1024, WAITING = 64 * 1024, LOOK_MS = 20, NOT_FOUND = 127 };
static const double SILENT = 60;

static struct armour end = {.room = ARMOUR_WINDOW, .due = ARMOUR_WINDOW};
static struct bytes out, words, waiting;
static pid_t child;
static int to_child = -1, printed[2] = {-1, -1};
static bool input_ended;

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_when_fed(void)
{
	if (input_ended && !count_of(&waiting))
		close_one(&to_child);
}

static void be_command(char **argv, int in, int to_out, int to_err)
{
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(in, 0);
	dup2(to_out, 1);
	dup2(to_err, 2);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(NOT_FOUND);
}

/* Starts what `words` holds; false for no command, or where there is no room for a process. */
static bool begin(void)
{
	char *text = (char *)words.data + words.start, **argv;
	size_t count = count_of(&words), many = 0, i, at = 0;
	int in[2], to_out[2], to_err[2];

	if (!count || text[count - 1])
		return false;
	for (i = 0; i < count; i++)
		many += !text[i];
	argv = allocate((many + 1) * sizeof *argv);
	for (i = 0; i < many; i++) {
		argv[i] = text + at;
		at += strlen(text + at) + 1;
	}
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(to_out, O_CLOEXEC) < 0 || pipe2(to_err, O_CLOEXEC) < 0)
		return false;
	child = fork();
	if (child < 0)
		return false;
	if (!child)
		be_command(argv, in[0], to_out[1], to_err[1]);
	free(argv);
	close(in[0]);
	close(to_out[1]);
	close(to_err[1]);
	to_child = in[1];
	fcntl(to_child, F_SETFL, O_NONBLOCK);
	printed[0] = to_out[0];
	printed[1] = to_err[0];
	return true;
}

static bool took_frame(enum armoured kind, const uint8_t *payload, size_t count)
{
	if (kind == START) {
		append(&words, payload, count);
		if (child || count_of(&words) > WORDS)
			return false;
		return count ? true : begin();
	}
	if (!child || input_ended)
		return false;
	if (kind == INPUT_END)
		input_ended = true;
	else if (to_child < 0)
		armour_took(&end, &out, count);
	else
		append(&waiting, payload, count);
	close_when_fed();
	return true;
}

static void feed_child(void)
{
	ssize_t done = write(to_child, first_of(&waiting), count_of(&waiting));

	if (done < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (done < 0) {
		/* It reads no more: what is sent is taken and dropped. */
		done = (ssize_t)count_of(&waiting);
		close_one(&to_child);
	}
	drop(&waiting, (size_t)done);
	armour_took(&end, &out, (size_t)done);
	close_when_fed();
}

static void take_output(int which)
{
	static uint8_t data[ARMOUR_PAYLOAD];
	size_t most = end.room < ARMOUR_PAYLOAD ? (size_t)end.room : ARMOUR_PAYLOAD;
	ssize_t got;

	if (!most)
		return;
	got = read(printed[which], data, most);
	if (got > 0)
		armour_frame(&end, &out, which ? COMPLAINT : OUTPUT, data, (size_t)got);
	else if (got == 0 || errno != EINTR)
		close_one(&printed[which]);
}

static bool write_out(void)
{
	ssize_t done = write(1, first_of(&out), count_of(&out));

	if (done < 0)
		return errno == EAGAIN || errno == EINTR;
	drop(&out, (size_t)done);
	return true;
}

static bool take_lines(double *heard)
{
	static uint8_t data[READ_BYTES];
	ssize_t got = read(0, data, sizeof data);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	*heard = now;
	return got > 0 && armour_feed(&end, data, (size_t)got, took_frame);
}

/* One turn; false when nobody is there, or lines were changed. */
static bool turn(double *heard)
{
	struct pollfd polled[5] = {{.fd = 0, .events = POLLIN}, {.fd = -1}, {.fd = -1}, {.fd = -1},
	                           {.fd = -1}};
	bool reads = end.room > 0 && count_of(&out) < WAITING;
	bool is_silent = printed[0] < 0 && printed[1] < 0;
	int i;

	polled[1] = (struct pollfd){.fd = count_of(&out) ? 1 : -1, .events = POLLOUT};
	polled[2] = (struct pollfd){.fd = count_of(&waiting) ? to_child : -1, .events = POLLOUT};
	for (i = 0; i < 2; i++)
		polled[3 + i] = (struct pollfd){.fd = reads ? printed[i] : -1, .events = POLLIN};
	if (poll(polled, 5, child && is_silent ? LOOK_MS : (int)(SILENT * 1000)) < 0 && errno != EINTR)
		return false;
	tell_time();
	if (polled[0].revents && !take_lines(heard))
		return false;
	if (polled[1].revents && !write_out())
		return false;
	if (polled[2].revents && to_child >= 0)
		feed_child();
	for (i = 0; i < 2; i++)
		if (polled[3 + i].revents)
			take_output(i);
	return now - *heard < SILENT;
}

/* Whether the command has ended; its EXIT then waits to be written. */
static bool has_ended(void)
{
	int status;
	uint8_t code[4];

	if (!child || printed[0] >= 0 || printed[1] >= 0 || waitpid(child, &status, WNOHANG) != child)
		return false;
	put32(code, (uint32_t)(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status)));
	armour_frame(&end, &out, EXIT, code, sizeof code);
	return true;
}

static int serve_command(void)
{
	static const uint8_t version = 1;
	double heard;

	tell_time();
	heard = now;
	append(&out, "\n", 1);
	armour_frame(&end, &out, HELLO_LINE, &version, 1);
	while (!has_ended())
		if (!turn(&heard)) {
			if (child)
				kill(-child, SIGHUP);
			return 1;
		}
	fcntl(1, F_SETFL, fcntl(1, F_GETFL) & ~O_NONBLOCK);
	while (count_of(&out))
		if (!write_out())
			return 1;
	return 0;
}

int armour(void)
{
	struct termios before, raw;
	bool is_terminal = tcgetattr(0, &before) == 0;
	int code, i;

	signal(SIGPIPE, SIG_IGN);
	/* Whoever started us may ignore it; the command would inherit that, and outlive us. */
	signal(SIGHUP, SIG_DFL);
	if (is_terminal) {
		raw = before;
		cfmakeraw(&raw);
		tcsetattr(0, TCSANOW, &raw);
	}
	for (i = 0; i < 2; i++)
		fcntl(i, F_SETFL, fcntl(i, F_GETFL) | O_NONBLOCK);
	code = serve_command();
	for (i = 0; i < 2; i++)
		fcntl(i, F_SETFL, fcntl(i, F_GETFL) & ~O_NONBLOCK);
	if (is_terminal)
		tcsetattr(0, TCSADRAIN, &before);
	return code;
}
