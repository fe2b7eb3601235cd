/* What the files of the link's far end share. docs/program/link.md describes the protocol, and
 * src/atoll/inside/link is the same program in Python: one suite tests both. */
#ifndef ATOLL_LINK_H
#define ATOLL_LINK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NEVER ((double)INFINITY)

/* What the near end's bytes are worth. BROKEN cuts the connection; GARBLED also makes whoever
 * comes next another near end, as the stream makes no sense any more. */
enum verdict { FINE, BROKEN, GARBLED };

enum kind {
	PACKET = 1, DATA, CREDIT, END_OF_FILE, CLOSE, SIZE, SIGNAL, MODES, MEMORY, HANGUP,
	READ, WRITE, STAT, ANSWER, ACCEPT, ADOPT, END, ENDED
};

enum passed {
	PASSED_NULL, PASSED_INPUT, PASSED_OUTPUT, PASSED_SOCKET, PASSED_MEMORY, PASSED_SLAVE,
	PASSED_MASTER, PASSED_FILE, PASSED_LISTENER
};

enum {
	MAX_FRAME = 72 * 1024, MAX_DATA = 32 * 1024, MAX_FILE = 32 * 1024, FRAME_HEAD = 8,
	WINDOW = 64 * 1024, MAX_RECORD = 64 * 1024, READ_BYTES = 64 * 1024,
	MAX_CHANNELS = 1024, IPV6_BIT = 1 << 16
};
#define FAR_CHANNELS 0x80000000u /* the first channel that this side numbers */

/* bytes.c: a queue of bytes; and little-endian numbers in memory */
struct bytes {
	uint8_t *data;
	size_t start, end, room;
};
static inline size_t count_of(const struct bytes *one) { return one->end - one->start; }
static inline const uint8_t *first_of(const struct bytes *one) { return one->data + one->start; }
void append(struct bytes *to, const void *data, size_t count);
void drop(struct bytes *from, size_t count);
void drop_all(struct bytes *from);
void *allocate(size_t count); /* zeroed; ends the program where there is no memory */
void put16(uint8_t *at, uint16_t value);
void put32(uint8_t *at, uint32_t value);
void put64(uint8_t *at, uint64_t value);
uint16_t get16(const uint8_t *at);
uint32_t get32(const uint8_t *at);
uint64_t get64(const uint8_t *at);

/* sha256.c */
struct part {
	const void *data;
	size_t count;
};
void hmac_sha256(const uint8_t key[32], const struct part *parts, size_t count, uint8_t out[32]);
bool same(const uint8_t *one, const uint8_t *other, size_t count); /* in constant time */

/* stream.c: a numbered byte stream that survives cuts */
struct stream {
	struct bytes unacknowledged, control;
	uint64_t acknowledged, sent, received, announced;
	bool connected;
	uint8_t head[12]; /* of a record that is coming: its head, and the payload of a control record */
	size_t have;
	uint32_t left; /* bytes of a DATA record that are still to come */
};
typedef enum verdict (*taker)(const uint8_t *data, size_t count);
size_t stream_room(const struct stream *stream);
uint64_t stream_written(const struct stream *stream);
void stream_acknowledge(struct stream *stream);
void stream_drain(struct stream *stream, struct bytes *out); /* at most one record of data */
enum verdict stream_feed(struct stream *stream, const uint8_t *data, size_t count, taker take);
void stream_cut(struct stream *stream);
enum verdict stream_resume(struct stream *stream, uint64_t received);
void stream_restart(struct stream *stream);

/* near.c: the near end as this side sees it */
enum continuation { FRESH, RESUMED, TAKEN_OVER };
void near_begin(const uint8_t *ready, size_t count); /* the frame that names the doors */
struct stream *near_stream(void);
bool near_seen(void);
bool near_takes_data(void);
bool near_takes_packet(void);
bool near_is_idle(void);
enum continuation near_continuation(uint64_t incarnation);
uint64_t near_received(enum continuation how);
enum verdict near_accept(uint64_t incarnation, enum continuation how, uint64_t received);
void near_forget(void);
enum verdict near_feed(const uint8_t *data, size_t count);
void send_frame(enum kind kind, uint32_t channel, const void *payload, size_t count);
void send_two(enum kind kind, uint32_t channel, struct part first, struct part second);
void send_packet(const void *packet, size_t count);
double near_due(void);
void near_act(void);

/* loop.c: what is polled, and the time of this turn */
typedef void (*ready_call)(void *of, short seen);
extern double now;
void tell_time(void);
void watch(int fd, short events, ready_call call, void *of);
void wait_and_call(double due);

/* channels.c: descriptors that the near end has a number for */
struct terminal;
struct request;
struct channel {
	struct channel *next;
	uint32_t number, tag;
	enum passed kind;
	int fd; /* -1: closed, and freed at the end of this turn */
	int64_t credit, allowance, owed;
	struct bytes waiting; /* what the program did not take yet */
	bool reads, writes, finishing, deaf, undrained;
	struct terminal *terminal;
	struct request *requests; /* of a file, that wait for room in the stream */
};
extern struct channel *channels;
struct channel *channel_add(uint32_t number, enum passed kind, int fd);
struct channel *channel_of(uint32_t number);
size_t channels_room(void);
void channel_close(struct channel *channel);
void channel_read(struct channel *channel);
void channel_write(struct channel *channel);
enum verdict channel_take(struct channel *channel, const uint8_t *data, size_t count);
enum verdict channel_credit(struct channel *channel, uint32_t count);
void channel_finish(struct channel *channel);
void channels_watch(void);
void channels_pay(void);
void channels_sweep(void);

/* terminals.c */
struct terminal {
	int slave;
	pid_t pid;
	bool nameless, has_ended, echo_off;
	uint8_t end[64]; /* init's packet of its program's end */
	size_t end_count;
	double look_at, hung_until;
};
struct channel *terminal_add(uint32_t number, int master, int slave);
struct channel *terminal_of_program(uint32_t tag);
int terminal_program_side(struct channel *channel); /* -1 with errno */
void terminal_close(struct channel *channel);
void terminal_renew(struct channel *channel);
void terminal_adopted(struct channel *channel);
void terminal_read(struct channel *channel);
enum verdict terminal_take(struct channel *channel, const uint8_t *data, size_t count);
void terminal_resize(struct channel *channel, uint16_t cols, uint16_t rows);
void terminal_signal(struct channel *channel, uint32_t number);
void terminals_watch(void);
double terminals_due(void);
void terminals_act(void);

/* files.c */
enum verdict file_take(struct channel *channel, enum kind kind, const uint8_t *data, size_t count);
void file_close(struct channel *channel);
void files_act(void);

/* init.c: the command that is, or becomes, the sandbox's init */
enum { INIT_EXEC = 1, INIT_READY = 64, INIT_STARTED, INIT_FAILED, INIT_EXITED, INIT_FDS };
enum { INIT_VERSION = 1, INIT_OTHER = 3, INIT_DOOR = 4, INIT_HEAD = 16, MAX_PACKET = 64 * 1024 };
enum { MAX_FDS = 32, MAX_PASSED = 4 };
struct reply {
	uint32_t op, tag;
	int32_t a, b;
	size_t count; /* of the whole packet, which begins at `packet` */
	const uint8_t *packet;
	int fds[MAX_FDS], fd_count;
};
int init_start(char **command); /* -1 with errno */
const char *init_ready(struct reply *ready); /* NULL, or why it did not come up */
int init_fd(void); /* -1 once it is closed */
bool init_is_congested(void);
bool init_send(const void *packet, size_t count, const int *fds, int fd_count);
void init_flush(void);
int init_receive(struct reply *in); /* 1 a packet, 0 the end, -1 nothing now */
void init_close(void);
bool init_is_gone(void);
const char *init_how(void);
void init_watch(void);
void close_all(const int *fds, int count);

/* requests.c: packets both ways */
uint32_t next_number(void);
enum verdict request_packet(const uint8_t *payload, size_t count);
enum verdict request_memory(uint32_t number, const uint8_t *data, size_t count);
void request_drop_memory(uint32_t number);
void requests_renew(void);
void requests_watch(void);
void requests_act(void);
bool requests_ended(void);
void drain(struct channel *channel);

/* doors.c */
enum { MAX_DOORS = MAX_FDS };
int doors_open(const int *fds, int count); /* -1 with errno */
size_t doors_listed(uint8_t *at); /* five bytes a door, as READY lists them */
void doors_watch(void);
double doors_due(void);
void doors_act(void);

/* connections.c */
enum { KEY_BYTES = 32 };
void connections_begin(const uint8_t *key);
void connections_listen(int fd);
void connections_use_device(const char *path);
void connections_watch(void);
double connections_due(void);
void connections_act(void);
double connections_lost_at(void); /* NEVER while a proven one is there */

/* far.c: what each frame does, and the life of the sandbox from READY to its end */
const char *far_begin(char **command, double grace); /* NULL, or why not */
enum verdict far_frame(enum kind kind, uint32_t channel, const uint8_t *data, size_t count);
void far_takeover(void);
void far_hurry(void); /* a signal asks for the end */
bool far_turn(void); /* false at the end */

/* attach.c */
int attach(const char *path);

/* armour.c: bytes as lines of text; src/atoll/wire/link/armour.py has the layouts */
enum armoured {
	HELLO_LINE = 1, START, INPUT, INPUT_END, OUTPUT, COMPLAINT, ARMOUR_CREDIT, EXIT
};
enum { ARMOUR_PAYLOAD = 12 * 1024, ARMOUR_WINDOW = 256 * 1024 };
struct armour {
	struct bytes partial;
	uint32_t sent, received, owed;
	int64_t room, due; /* bytes that may be sent, and that may come */
};
void armour_frame(struct armour *end, struct bytes *out, enum armoured kind, const void *payload,
                  size_t count);
void armour_took(struct armour *end, struct bytes *out, size_t count);
typedef bool (*armour_taker)(enum armoured kind, const uint8_t *payload, size_t count);
bool armour_feed(struct armour *end, const uint8_t *data, size_t count, armour_taker take);

/* command.c: the command that runs in armour */
int armour(void);

#endif
