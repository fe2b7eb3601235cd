/* What the files of the init share: the protocol's numbers, and one line per noun.
 * The protocol itself is described in src/atoll/wire/init.py. */
#ifndef ATOLL_INIT_H
#define ATOLL_INIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VERSION = 1, MAX_PACKET = 65536, MAX_FDS = 32, MAX_DOORS = 8, MAX_SLOTS = 4096 };
enum { EXEC = 1, PTY = 2, SIGNAL = 3, OPEN = 4, LEFT = 5, GROWTH = 6 };
enum { READY = 64, STARTED = 65, FAILED = 66, EXITED = 67, FDS = 68, DONE = 69, KIN = 70 };
enum { STEP_CHDIR = 1, STEP_EXEC = 2, STEP_OTHER = 3, STEP_DOOR = 4 };
enum { FLAG_TTY = 1, FLAG_MEMFD = 2, FLAG_LEAD = 4 };

struct header {
	uint32_t op, tag;
	int32_t a, b;
};

struct packet {
	struct header head;
	size_t length; /* of the payload */
	const char *payload;
	int fds[MAX_FDS];
	int count;
	int cut; /* longer than the buffer, or more descriptors than we take */
};

/* One exec. The table is shared memory: the warden notes its leader in it. A helper that
 * kills a tree has a slot of its own with tag 0. */
struct slot {
	uint32_t tag;
	volatile pid_t warden;
	volatile pid_t leader; /* 0 before it runs, ENDED from just before it is reaped */
	volatile int waits; /* the leader is init's own and waits for its one job (lead.c) */
};

enum { ENDED = -1 };

struct world {
	int control;
	int root;  /* O_PATH of the workspace */
	long nproc; /* RLIMIT_NPROC of commands, or -1 */
	long files; /* hard RLIMIT_NOFILE of commands, or 0 for init's own */
	struct slot *slots;
};

/* packet.c */
int receive(int fd, struct packet *in); /* 1 a packet, 0 the end, -1 try again */
void reply(int fd, uint32_t op, uint32_t tag, int a, int b);
void reply_with(int fd, struct header head, const void *payload, size_t length, const int *fds,
                int count);
void drop_fds(struct packet *in);
void close_from(unsigned first, unsigned last);

/* door.c: listeners of one port on both loopbacks; how many, or -1 with errno */
int open_door(int port, int *fds);

/* lead.c: becomes the leader of a session whose one job is the child it forks; returns
 * in that child, or -1 */
int lead(void);

/* exec.c */
void start_exec(struct world *world, struct packet *in);

/* kin.c: processes by descent */
typedef int (*spares)(const struct world *world, pid_t pid);
int signal_kin(const struct world *world, pid_t ancestor, int number, spares spared);
int kill_kin(const struct world *world, pid_t ancestor, struct slot *slot);
int list_kin(pid_t ancestor, pid_t *found, int most); /* how many descendants were found */
pid_t foreground_group(pid_t pid);

/* left.c: reports the processes whose program has ended; `tag` names the request */
void report_left(const struct world *world, uint32_t tag);

/* supervise.c: bounds what whatever is started from here on may have at once; -1 with errno */
struct counted {
	int netlink, datagrams, objects, filters;
};

int supervise(const struct counted *most);

/* slab.c: ends, as pid 1, programs that hold too much of what only counting bounds. How many timers,
 * events and polls are open. And whose processes are init's own, and left out of both */
void watch_slab(void) __attribute__((noreturn));
long count_objects(void);
void spare_slots(const struct slot *slots);

/* growth.c: takes the page by which somebody outside tells that the kernel's memory grew; and that
 * somebody, who returns an exit status when nobody is left to tell it to */
void share_growth(struct packet *in);
int tell_growth(pid_t parent);

/* pty.c, serve.c */
void open_pty(struct world *world, struct packet *in);
void serve(struct world *world) __attribute__((noreturn));

/* place.c: openat2 with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS; `mode` counts with O_CREAT */
int open_beneath(int root, const char *path, int flags, int mode);
int open_without_links(const char *path, int flags); /* none anywhere on the way */

/* ask.c: a person's word on one command, then that command; or sudo's, run from outside */
int ask(int argc, char **argv);

/* dial.c: a connection to a port of this loopback, or -1 with errno; and standard input and output
 * by a connection, both ways; -1 when that ended first */
int reach_port(int port);
int carry(int fd);

/* mcp.c: the tools of the door, for agents and scripts */
int mcp(int argc, char **argv);

/* enter.c: one command in a sandbox, from outside */
int enter_sandbox(int argc, char **argv);

/* tree.c and its siblings: the modes that work on files */
int tool(int argc, char **argv);

/* sftp/: a server of files on standard input and output; `root`, if any, is its first */
int sftp(const char *root, int argc, char **argv);

#endif
