/* What is polled in this turn, and whom its events call. */
#define _GNU_SOURCE
#include "link.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct called {
	ready_call call;
	void *of;
};

double now;
static struct pollfd *polled;
static struct called *called;
static size_t count, room;

void tell_time(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	now = (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

void watch(int fd, short events, ready_call call, void *of)
{
	if (count == room) {
		room = room ? 2 * room : 16;
		polled = realloc(polled, room * sizeof *polled);
		called = realloc(called, room * sizeof *called);
		if (!polled || !called)
			_exit(71);
	}
	polled[count] = (struct pollfd){.fd = fd, .events = events};
	called[count++] = (struct called){call, of};
}

/* TERM is blocked but here, so it is never lost between a look and the wait. */
void wait_and_call(double due)
{
	struct timespec wait, *most = NULL;
	sigset_t none;
	size_t i;
	int got;

	tell_time();
	if (due < NEVER) {
		double seconds = due > now ? due - now : 0;
		wait.tv_sec = (time_t)seconds;
		wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
		most = &wait;
	}
	sigemptyset(&none);
	got = ppoll(polled, count, most, &none);
	tell_time();
	for (i = 0; got > 0 && i < count; i++)
		if (polled[i].revents)
			called[i].call(called[i].of, polled[i].revents);
	count = 0;
}
