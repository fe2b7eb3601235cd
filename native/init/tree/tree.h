/* What the tools share: one request, one way to fail, one way to print an entry.
 *
 * Records are lines of words; every name is base64, "-" where there is none:
 *   TYPE MODE(octal) SIZE MTIME_NS NAME TARGET      with TYPE f, d, l or o
 * A failure is one line on stderr, `ERRNO TEXT`, and an exit code of its own. */
#ifndef ATOLL_TREE_H
#define ATOLL_TREE_H

#include <sys/stat.h>
#include <sys/types.h>

enum { OK = 0, USAGE = 64, REFUSED_BY_KERNEL = 65, OVER_LIMIT = 66, UNSAFE = 67, PARTIAL = 68 };

struct request {
	int root, recursive, parents, overwrite, text, exact, all, count;
	long limit, max_files, mode, seconds, reach;
	long long max_bytes;
	const char *after, *paths[2];
};

int failed(const char *what);                /* prints errno and what; REFUSED_BY_KERNEL */
int denied(int code, const char *why);       /* prints a sentence; returns the code */
int open_parent(int root, const char *path, const char **name);
void print_base64(const char *text);
void print_base64_of(const char *data, size_t length);
void print_entry(const char *name, const struct stat *stat, const char *target);
int print_place(int root, const char *path); /* the entry at path */

struct names {
	char **all;
	size_t count, room;
};
int read_names(int directory, struct names *out);
void keep_smallest(struct names *names, size_t limit); /* sorted by bytes */
void free_names(struct names *names);
int enter(int directory, const char *name, struct stat *was); /* closes the old one */
int leave(int directory, const struct stat *was);

int do_list(struct request *), do_stat(struct request *), do_mkdir(struct request *);
int do_move(struct request *), do_commit(struct request *), do_remove(struct request *);
int do_tar(struct request *), do_untar(struct request *), do_watch(struct request *);
int do_dial(struct request *), do_total(struct request *), do_search(struct request *);
int do_listening(struct request *), do_socket(struct request *), do_port(struct request *);
int make_parents(int root, const char *path);

#endif
