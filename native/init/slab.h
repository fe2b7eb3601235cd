/* What the counting of kernel memory shares: slab.c, unaccepted.c, growth.c. */
#ifndef ATOLL_SLAB_H
#define ATOLL_SLAB_H

#include <stddef.h>
#include <sys/types.h>

/* The kernel's memory by so much more is a reason to count. */
enum { GROWN_KIB = 4096 };
enum { MOST_HOLDERS = 16384, MOST_LISTENERS = 16384 };
/* A name of 4,096 bytes, each of which may be spelled in four. */
enum { MOST_TEXT = 20480 };

struct holder {
	pid_t pid;
	long count;
};

/* Who holds how much of one thing. */
struct holders {
	long total;
	int known; /* of `all`; what more processes hold is in `total` alone */
	struct holder all[MOST_HOLDERS];
};

/* A listening socket, with the connections that nobody accepted. */
struct listener {
	unsigned long inode, name; /* a number made of the path of a unix socket */
	long queue;
};

struct listeners {
	long total;
	int known; /* of `all`; what more listeners have is in `total` alone */
	struct listener all[MOST_LISTENERS];
};

struct room {
	struct holders holders;
	struct listeners listeners;
	int many_files;
};

/* A file of /proc, line by line. */
struct lines {
	int fd;
	size_t length, at;
	char text[MOST_TEXT];
};

/* slab.c */
long milliseconds(void);
int open_lines(struct lines *from, const char *path);
char *next_line(struct lines *from); /* cut where it is longer; NULL at the end */
long number_of(const char *path, const char *word); /* after a word at the beginning; or -1 */
void add_holder(struct holders *to, pid_t pid, long count);
int end_holders(struct holders *who, long most);
void each_process(struct room *room, void (*visit)(struct room *room, const char *pid));

/* growth.c: waits for at most so long; whether memory grew since the last call, -1 at once where
 * nobody tells */
int await_growth(long ms);
void rest_untold(long ms); /* or until somebody is there to tell */
void rest(long ms);

/* unaccepted.c: ends who has too many connections that nobody accepts; how many were ended, or are
 * just ending */
int end_unaccepted(struct room *room);
long count_sockets(void);

#endif
