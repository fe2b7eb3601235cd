/* The leader of an agent's session: no shell, so it never takes the terminal.
 *
 * It puts the agent into the foreground as its one job and waits. An agent that is stopped from
 * outside (SIGSTOP) leaves the terminal quiet; one that the terminal itself stopped (it read or
 * wrote while a child of its own held the foreground, or somebody pressed ^Z) gets the terminal
 * back and goes on, since there is no prompt here at which anybody could say `fg`. It ends as
 * its job ended: by the same code, or by the same signal. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t job;

/* A terminal that hangs up tells only the leader of its session (tty_ioctl(4), vhangup). */
static void hung_up(int number)
{
	if (job > 0) {
		kill(-job, number);
		kill(-job, SIGCONT);
	}
}

static void settle(void)
{
	struct sigaction hangup = {.sa_handler = hung_up, .sa_flags = SA_RESTART};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigaction(SIGHUP, &hangup, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void end_like(int status) __attribute__((noreturn));
static void end_like(int status)
{
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

static void wait_for_job(void) __attribute__((noreturn));
static void wait_for_job(void)
{
	int status;

	for (;;) {
		if (waitpid(job, &status, WUNTRACED) < 0) {
			if (errno != EINTR)
				_exit(125);
		} else if (!WIFSTOPPED(status)) {
			end_like(status);
		} else if (WSTOPSIG(status) != SIGSTOP) {
			tcsetpgrp(0, job);
			kill(-job, SIGCONT);
		}
	}
}

int lead(void)
{
	pid_t child;

	settle();
	child = fork();
	if (child < 0)
		return -1;
	/* Both sides do it: whichever comes first, the job has its group and the terminal. */
	if (child == 0) {
		setpgid(0, 0);
		return tcsetpgrp(0, getpid());
	}
	job = child;
	setpgid(child, child);
	close_from(3, ~0U);
	wait_for_job();
}
