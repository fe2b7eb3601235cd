/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104). */
#define _GNU_SOURCE
#include "link.h"
#include <string.h>

enum { BLOCK = 64, HASH = 32 };

static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

struct hash {
	uint32_t state[8];
	uint8_t block[BLOCK];
	uint64_t count;
};

static uint32_t right(uint32_t value, int by)
{
	return value >> by | value << (32 - by);
}

static void compress(struct hash *hash)
{
	uint32_t w[64], s[8];
	int i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)hash->block[4 * i] << 24 | (uint32_t)hash->block[4 * i + 1] << 16 |
		       (uint32_t)hash->block[4 * i + 2] << 8 | hash->block[4 * i + 3];
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(s, hash->state, sizeof s);
	for (i = 0; i < 64; i++) {
		uint32_t one = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25)) +
		               ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
		uint32_t two = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) +
		               ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += one;
		s[0] = one + two;
	}
	for (i = 0; i < 8; i++)
		hash->state[i] += s[i];
}

static void begin(struct hash *hash)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	memcpy(hash->state, first, sizeof first);
	hash->count = 0;
}

static void feed(struct hash *hash, const void *data, size_t count)
{
	const uint8_t *at = data;

	while (count--) {
		hash->block[hash->count++ % BLOCK] = *at++;
		if (hash->count % BLOCK == 0)
			compress(hash);
	}
}

static void finish(struct hash *hash, uint8_t out[HASH])
{
	uint64_t bits = hash->count * 8;
	uint8_t length[8];
	int i;

	feed(hash, "\x80", 1);
	while (hash->count % BLOCK != BLOCK - sizeof length)
		feed(hash, "", 1);
	for (i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	feed(hash, length, sizeof length);
	for (i = 0; i < HASH; i++)
		out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void begin_keyed(struct hash *hash, const uint8_t key[32], uint8_t mask)
{
	uint8_t pad[BLOCK];
	int i;

	for (i = 0; i < BLOCK; i++)
		pad[i] = (uint8_t)((i < 32 ? key[i] : 0) ^ mask);
	begin(hash);
	feed(hash, pad, sizeof pad);
	explicit_bzero(pad, sizeof pad);
}

void hmac_sha256(const uint8_t key[32], const struct part *parts, size_t count, uint8_t out[32])
{
	struct hash hash;
	uint8_t inner[HASH];
	size_t i;

	begin_keyed(&hash, key, 0x36);
	for (i = 0; i < count; i++)
		feed(&hash, parts[i].data, parts[i].count);
	finish(&hash, inner);
	begin_keyed(&hash, key, 0x5c);
	feed(&hash, inner, sizeof inner);
	finish(&hash, out);
	explicit_bzero(&hash, sizeof hash);
}

bool same(const uint8_t *one, const uint8_t *other, size_t count)
{
	uint8_t different = 0;

	while (count--)
		different |= (uint8_t)(*one++ ^ *other++);
	return !different;
}
