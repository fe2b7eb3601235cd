/* What the files of the SFTP server share: version 3 of the protocol, its bounds, one line per noun.
 *
 * A request is answered by one function. It returns 0 for the status `ok`, ANSWERED when it has
 * written an answer itself, and -1 with errno for any failure: the kernel's, or one of ours. */
#ifndef ATOLL_SFTP_H
#define ATOLL_SFTP_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { MAX_DATA = 256 * 1024, MAX_MESSAGE = MAX_DATA + 1024 };
enum { MAX_PATH = 4096, PLACE_ROOM = 2 * MAX_PATH, MAX_HANDLES = 256, MAX_ROOTS = 128 };
#define MAX_FILE_BYTES (1LL << 40)

enum { INIT = 1, VERSION_3 = 2, STATUS = 101, HANDLE = 102, DATA = 103, NAME = 104, ATTRS = 105,
       EXTENDED_REPLY = 201 };
enum { FX_OK, FX_EOF, FX_NO_SUCH_FILE, FX_PERMISSION_DENIED, FX_FAILURE, FX_BAD_MESSAGE,
       FX_OP_UNSUPPORTED = 8 };
enum { ANSWERED = 1 };

/* Failures that no kernel knows, as values of errno. */
enum { OUTSIDE = 5000, NOT_A_FILE, TOO_LARGE, NO_HANDLE, HANDLES_FULL, READ_ONLY, GARBLED, UNKNOWN,
       AT_END };

/* wire.c: a message that came, its fields in turn; `cut` once one of them was not whole */
struct message {
	const uint8_t *at, *end;
	uint32_t id;
	int cut;
};

int open_wire(void);                         /* -1 without memory */
int next_message(struct message *into);      /* 1, 0 at the end, -1 longer than allowed */
uint32_t take_number(struct message *from);
uint64_t take_long(struct message *from);
const char *take_text(struct message *from, size_t *length);
int take_path(struct message *from, char path[MAX_PATH]);
int is_whole(const struct message *message); /* else errno is GARBLED */

void begin_answer(int type, uint32_t id);
void put_number(uint32_t value);
void put_long(uint64_t value);
void put_text(const char *text, size_t length);
void put_word(const char *text);
uint8_t *begin_data(uint32_t id);            /* room for MAX_DATA bytes */
void end_data(size_t length);
size_t mark_number(void);                    /* a number that is known later */
void set_number(size_t mark, uint32_t value);
size_t answer_length(void);
void end_answer(void);
void drop_answer(void);
void answer_failure(uint32_t id, int number);
void answer_ok(uint32_t id);
int flush_answers(void);                     /* -1 once nobody reads them any more */

/* places.c: a path as the client sees it, and the folder it lies beneath */
struct place {
	char path[PLACE_ROOM]; /* absolute; without links, "." and ".." being looked at */
	int root;              /* or -1 */
	const char *beneath;   /* of the root's folder; "." for that itself */
	int leads;             /* it lies above a root, and shows only what leads there */
};

int add_root(const char *path);
int find_place(const char *path, struct place *out);
int take_place(struct message *from, struct place *out);
int open_place(const struct place *place, int flags, int mode);
int close_after(int fd, int done);           /* returns `done`, and keeps errno */
int open_folder_of(const struct place *place, const char **name);
int open_first_root(void);
const char *first_root(void);
int next_part(const char *path, int from, char name[256]);
int resolve_place(struct place *place); /* follows links, as far as they stay beneath */

/* handles.c */
struct handle {
	int used, appends;
	uint32_t serial;
	int fd;         /* of a file, or of `entries`; -1 for a folder that leads to roots */
	DIR *entries;
	char *leading;  /* the path of that folder */
	int next;       /* of its parts */
	int64_t most;   /* bytes that the file may have */
};

struct handle *spare_handle(void);           /* NULL when all are in use */
void answer_handle(uint32_t id, struct handle *handle);
struct handle *take_handle(struct message *from);
struct handle *take_file(struct message *from);
int close_handle(struct handle *handle);

/* attributes.c */
enum { HAS_SIZE = 1, HAS_OWNER = 2, HAS_MODE = 4, HAS_TIMES = 8, HAS_MORE = (int)0x80000000 };
struct attributes {
	uint32_t flags, uid, gid, mode, atime, mtime;
	uint64_t size;
};

void take_attributes(struct message *from, struct attributes *out);
void put_attributes(const struct stat *stat);
void describe_leading(struct stat *out);
int64_t most_bytes(int fd);
int set_attributes(int fd, const struct attributes *wanted);

/* files.c: a regular file; no pipe is waited for, and nothing else is opened */
int open_file(const struct place *place, int flags, int mode);

/* sftp.c */
int is_read_only(void);

/* The answers. */
int answer_open(struct message *), answer_close(struct message *), answer_read(struct message *);
int answer_write(struct message *), answer_fsync(struct message *);
int answer_copy(struct message *);
int answer_stat(struct message *), answer_lstat(struct message *), answer_fstat(struct message *);
int answer_setstat(struct message *), answer_lsetstat(struct message *);
int answer_fsetstat(struct message *);
int answer_opendir(struct message *), answer_readdir(struct message *);
int answer_remove(struct message *), answer_mkdir(struct message *), answer_rmdir(struct message *);
int answer_rename(struct message *), answer_replace(struct message *);
int answer_symlink(struct message *), answer_hardlink(struct message *);
int answer_readlink(struct message *), answer_realpath(struct message *);
int answer_expand(struct message *), answer_home(struct message *);
int answer_extended(struct message *);
void answer_version(void);

#endif
