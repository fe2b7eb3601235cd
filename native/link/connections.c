/* Connections of near ends, or of strangers: their handshake, and the bytes of the proven one. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

enum { MAX_UNPROVEN = 4, MAX_ALL = MAX_UNPROVEN + 1 };
enum { HELLO_BYTES = 32, CHALLENGE_BYTES = 56, PROOF_BYTES = 32, ANSWER_BYTES = 8 + PROOF_BYTES };
enum { LINK_VERSION = 1, NONCE_BYTES = 16 };
#define UNPROVEN_SECONDS 10.0
#define SILENT_SECONDS 60.0 /* a near end sends something every 30 s */
#define REOPEN_SECONDS 0.2

enum phase { CLOSED, HELLO, ANSWERS, PROVEN };

struct connection {
	enum phase phase;
	int fd;
	double until;
	struct bytes came, out;
	uint8_t hello[HELLO_BYTES], challenge[CHALLENGE_BYTES];
};

static struct connection all[MAX_ALL];
static struct connection *proven;
static uint8_t key[KEY_BYTES];
static uint64_t life;
static int listener = -1;
static const char *device;
static double reopen_at = NEVER, lost_at;

void connections_begin(const uint8_t *given)
{
	mlock(key, sizeof key); /* where that is allowed */
	memcpy(key, given, sizeof key);
	if (getrandom(&life, sizeof life, 0) != sizeof life)
		_exit(71);
	lost_at = now;
}

void connections_listen(int fd)
{
	fcntl(fd, F_SETFL, O_NONBLOCK);
	listener = fd;
}

void connections_use_device(const char *path)
{
	device = path;
	reopen_at = 0;
}

double connections_lost_at(void)
{
	return lost_at;
}

static void shut(struct connection *one)
{
	if (one->phase == CLOSED)
		return;
	close(one->fd);
	one->phase = CLOSED;
	drop_all(&one->came);
	drop_all(&one->out);
	if (one == proven) {
		proven = NULL;
		lost_at = now;
		stream_cut(near_stream());
	}
	if (device)
		reopen_at = now + REOPEN_SECONDS;
}

static struct connection *place(void)
{
	int i;

	for (i = 0; i < MAX_ALL; i++)
		if (all[i].phase == CLOSED)
			return &all[i];
	return NULL;
}

static void begin(int fd, double until)
{
	struct connection *one = place();

	if (!one) {
		close(fd);
		return;
	}
	one->phase = HELLO;
	one->fd = fd;
	one->until = until;
}

static void take_in(void *of, short seen)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)of;
	(void)seen;
	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
	    (peer.uid != 0 && peer.uid != geteuid()))
		close(fd);
	else
		begin(fd, now + UNPROVEN_SECONDS);
}

static void open_device(void)
{
	struct termios modes;
	int fd = open(device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		reopen_at = now + REOPEN_SECONDS;
		return;
	}
	if (tcgetattr(fd, &modes) == 0) {
		cfmakeraw(&modes);
		tcsetattr(fd, TCSANOW, &modes);
	}
	begin(fd, NEVER);
}

/* False when the connection is broken. */
static bool flush(struct connection *one)
{
	ssize_t done;

	if (!count_of(&one->out))
		return true;
	done = write(one->fd, first_of(&one->out), count_of(&one->out));
	if (done < 0)
		return errno == EAGAIN || errno == EINTR;
	drop(&one->out, (size_t)done);
	return true;
}

/* Drops what comes before a hello: a serial port may still hold bytes of the last connection. */
static void skip_noise(struct bytes *came)
{
	while (count_of(came)) {
		size_t have = count_of(came) < 4 ? count_of(came) : 4;
		if (memcmp(first_of(came), "ATLK", have) == 0)
			return;
		drop(came, 1);
	}
}

static void prove(const char *side, const struct connection *one, struct part last, uint8_t *out)
{
	struct part said[] = {{side, strlen(side)},
	                      {one->hello, sizeof one->hello},
	                      {one->challenge, sizeof one->challenge},
	                      last};
	hmac_sha256(key, said, 4, out);
}

static enum verdict challenge(struct connection *one)
{
	enum continuation how;
	uint8_t proof[PROOF_BYTES], *at = one->challenge;

	memcpy(one->hello, first_of(&one->came), HELLO_BYTES);
	drop(&one->came, HELLO_BYTES);
	if (one->hello[4] != LINK_VERSION)
		return BROKEN;
	/* A proof is over the three zero bytes that belong there. */
	memset(one->hello + 5, 0, 3);
	how = near_continuation(get64(one->hello + 8));
	memset(at, 0, CHALLENGE_BYTES);
	memcpy(at, "atlk", 4);
	memcpy(at + 4, one->hello + 16, NONCE_BYTES);
	at[20] = LINK_VERSION;
	at[21] = (uint8_t)how;
	put64(at + 24, life);
	if (getrandom(at + 32, NONCE_BYTES, 0) != NONCE_BYTES)
		return BROKEN;
	put64(at + 48, near_received(how));
	prove("far", one, (struct part){NULL, 0}, proof);
	append(&one->out, one->challenge, CHALLENGE_BYTES);
	append(&one->out, proof, sizeof proof);
	one->phase = ANSWERS;
	one->until = now + UNPROVEN_SECONDS;
	return flush(one) ? FINE : BROKEN;
}

/* Checks the near end's proof and lets it take the place of the one before. */
static enum verdict admit(struct connection *one)
{
	const uint8_t *answer = first_of(&one->came);
	uint64_t incarnation = get64(one->hello + 8), received = get64(answer);
	enum continuation how;
	uint8_t proof[PROOF_BYTES];

	prove("near", one, (struct part){answer, 8}, proof);
	if (!same(proof, answer + 8, sizeof proof))
		return BROKEN;
	how = near_continuation(incarnation);
	if (proven)
		shut(proven);
	if (how != (enum continuation)one->challenge[21] ||
	    near_received(how) != get64(one->challenge + 48))
		return BROKEN; /* the stream went on meanwhile on the connection before */
	if (near_accept(incarnation, how, received) != FINE)
		return BROKEN;
	one->phase = PROVEN;
	proven = one;
	lost_at = NEVER;
	drop(&one->came, ANSWER_BYTES);
	return FINE;
}

static enum verdict handshake(struct connection *one)
{
	enum verdict verdict = FINE;

	if (one->phase == HELLO) {
		skip_noise(&one->came);
		if (count_of(&one->came) >= HELLO_BYTES)
			verdict = challenge(one);
	}
	if (verdict == FINE && one->phase == ANSWERS && count_of(&one->came) >= ANSWER_BYTES)
		verdict = admit(one);
	return verdict;
}

static enum verdict feed(struct connection *one, const uint8_t *data, size_t count)
{
	enum verdict verdict = FINE;
	struct bytes rest = {0};

	if (one->phase != PROVEN) {
		append(&one->came, data, count);
		verdict = handshake(one);
		if (verdict != FINE || one->phase != PROVEN)
			return verdict;
		rest = one->came; /* what followed the proof */
		memset(&one->came, 0, sizeof one->came);
		data = first_of(&rest);
		count = count_of(&rest);
	}
	one->until = now + SILENT_SECONDS;
	verdict = near_feed(data, count);
	drop_all(&rest);
	return verdict;
}

static void is_ready(void *of, short seen)
{
	static uint8_t data[READ_BYTES];
	struct connection *one = of;
	enum verdict verdict;
	ssize_t got;

	if (one->phase == CLOSED)
		return;
	if (seen & POLLOUT && !flush(one)) {
		shut(one);
		return;
	}
	if (!(seen & ~POLLOUT))
		return;
	got = read(one->fd, data, sizeof data);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	verdict = got > 0 ? feed(one, data, (size_t)got) : BROKEN;
	if (verdict == GARBLED)
		near_forget();
	if (verdict != FINE)
		shut(one);
}

/* Writes at once what the connection takes now. */
static void send_now(struct connection *one)
{
	while (!count_of(&one->out)) {
		stream_drain(near_stream(), &one->out);
		if (!count_of(&one->out))
			return;
		if (!flush(one)) {
			shut(one);
			return;
		}
	}
}

void connections_watch(void)
{
	int i, unproven = 0;

	if (proven)
		send_now(proven);
	for (i = 0; i < MAX_ALL; i++) {
		struct connection *one = &all[i];
		if (one->phase == CLOSED)
			continue;
		unproven += one != proven;
		watch(one->fd, count_of(&one->out) ? POLLIN | POLLOUT : POLLIN, is_ready, one);
	}
	if (listener >= 0 && unproven < MAX_UNPROVEN)
		watch(listener, POLLIN, take_in, NULL);
}

double connections_due(void)
{
	double due = reopen_at;
	int i;

	for (i = 0; i < MAX_ALL; i++)
		if (all[i].phase != CLOSED)
			due = fmin(due, all[i].until);
	return due;
}

void connections_act(void)
{
	int i;

	for (i = 0; i < MAX_ALL; i++)
		if (all[i].phase != CLOSED && now >= all[i].until)
			shut(&all[i]);
	if (now >= reopen_at) {
		reopen_at = NEVER;
		open_device();
	}
}
