/* Init's loop: requests from the control socket, ends of children, and the end of it all. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int strays; /* a warden was killed: its orphans are ours now, and have no tag */

static struct slot *slot_of(const struct world *world, uint32_t tag)
{
	for (int i = 0; i < MAX_SLOTS; i++)
		if (world->slots[i].warden && world->slots[i].tag == tag)
			return &world->slots[i];
	return NULL;
}

static int has_slot(const struct world *world, pid_t pid)
{
	for (int i = 0; i < MAX_SLOTS; i++)
		if (world->slots[i].warden == pid)
			return 1;
	return 0;
}

/* A warden that did not end by itself was killed from inside. Its command is ours to end:
 * otherwise a process could leave its tree by killing its own warden. */
static void reaped(struct world *world, pid_t pid, int status)
{
	for (int i = 0; i < MAX_SLOTS; i++) {
		struct slot *slot = &world->slots[i];
		uint64_t usage[3] = {0, 0, 0};
		struct header head = {EXITED, slot->tag, status, 0};

		if (slot->warden != pid)
			continue;
		if (WIFSIGNALED(status) && slot->tag) {
			strays = 1;
			reply_with(world->control, head, usage, sizeof usage, NULL, 0);
		}
		slot->leader = 0;
		slot->warden = 0;
		return;
	}
}

static void reap(struct world *world)
{
	siginfo_t seen = {0};
	int status;

	/* Looked at first, so that its slot is free before its pid can be used again. */
	while (waitid(P_ALL, 0, &seen, WEXITED | WNOHANG | WNOWAIT) == 0 && seen.si_pid > 0) {
		status = seen.si_code == CLD_EXITED ? seen.si_status << 8 : seen.si_status;
		reaped(world, seen.si_pid, status);
		waitpid(seen.si_pid, NULL, WNOHANG);
		seen.si_pid = 0;
	}
	if (strays && signal_kin(world, getpid(), SIGKILL, has_slot) == 0)
		strays = 0;
}

static void signal_leader(struct slot *slot, int number)
{
	pid_t leader = slot->leader, group;

	if (leader <= 0)
		return;
	group = foreground_group(leader);
	kill(-(group > 0 ? group : leader), number);
}

/* Forks a helper for work that may take long, so that init goes on. Returns 0 in the helper,
 * its pid in init, and -1 where init must do the work: no slot or no process is left. */
static pid_t fork_helper(struct world *world)
{
	struct slot *mine = NULL;
	pid_t helper = -1;

	for (int i = 0; i < MAX_SLOTS && !mine; i++)
		if (!world->slots[i].warden)
			mine = &world->slots[i];
	if (mine)
		helper = fork();
	if (helper > 0) {
		mine->tag = 0;
		mine->leader = 0;
		mine->warden = helper;
	}
	return helper;
}

static void kill_tree(struct world *world, struct slot *slot)
{
	uint32_t tag = slot->tag;
	/* Read before the fork: by the time the helper runs, init may have reaped this warden
	 * and given the slot to another command, whose tree would be killed instead. */
	pid_t warden = slot->warden, helper = fork_helper(world);

	if (helper > 0)
		return;
	reply(world->control, DONE, tag, kill_kin(world, warden, slot), 0);
	if (helper == 0)
		_exit(0);
}

static void list_left(struct world *world, uint32_t tag)
{
	pid_t helper = fork_helper(world);

	if (helper > 0)
		return;
	report_left(world, tag);
	if (helper == 0)
		_exit(0);
}

static void signal_exec(struct world *world, struct packet *in)
{
	struct slot *slot = in->head.tag ? slot_of(world, in->head.tag) : NULL;

	if (slot && in->head.b && in->head.a == SIGKILL) {
		kill_tree(world, slot);
		return;
	}
	if (slot && in->head.b)
		signal_kin(world, slot->warden, in->head.a, NULL);
	else if (slot)
		signal_leader(slot, in->head.a);
	reply(world->control, DONE, in->head.tag, 0, 0);
}

static void open_file(struct world *world, struct packet *in)
{
	struct header head = {FDS, in->head.tag, 1, 0};
	int fd = -1;

	if (!in->length || in->payload[in->length - 1])
		errno = EINVAL;
	else
		fd = open_beneath(world->root, in->payload,
		                  in->head.a | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, in->head.b);
	if (fd < 0) {
		reply(world->control, FAILED, in->head.tag, errno, STEP_OTHER);
		return;
	}
	reply_with(world->control, head, NULL, 0, &fd, 1);
	close(fd);
}

static void answer(struct world *world, struct packet *in)
{
	switch (in->head.op) {
	case EXEC:
		start_exec(world, in);
		break;
	case SIGNAL:
		signal_exec(world, in);
		break;
	case PTY:
		open_pty(world, in);
		break;
	case OPEN:
		if (in->cut)
			reply(world->control, FAILED, in->head.tag, EMSGSIZE, STEP_OTHER);
		else
			open_file(world, in);
		break;
	case LEFT:
		list_left(world, in->head.tag);
		break;
	case GROWTH:
		share_growth(in);
		break;
	default:
		reply(world->control, FAILED, in->head.tag, ENOSYS, STEP_OTHER);
	}
	drop_fds(in);
}

/* The runtime is gone, or wants us gone. As pid 1 our exit ends the namespace; as a plain
 * child we are the subreaper of all that is left. */
static void finish(struct world *world)
{
	if (getpid() == 1)
		kill(-1, SIGKILL);
	else
		kill_kin(world, getpid(), NULL);
	_exit(0);
}

void serve(struct world *world)
{
	struct pollfd wait = {.fd = world->control, .events = POLLIN};
	struct packet in;
	sigset_t awake;
	int got;

	sigprocmask(SIG_SETMASK, NULL, &awake);
	sigdelset(&awake, SIGCHLD);
	for (;;) {
		reap(world);
		if (ppoll(&wait, 1, NULL, &awake) < 0 && errno == EINTR)
			continue;
		while ((got = receive(world->control, &in)) > 0)
			answer(world, &in);
		if (got == 0)
			finish(world);
	}
}
