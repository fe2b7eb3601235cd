/* The memory that every runtime begins with, kept in a file they can go back to.
 *
 * A forked Python writes into what it only reads: counts of references go up and down.
 * `shared_memory_lay` puts this process's writable memory under a private mapping of a file with
 * just that content; whoever is forked later gives up its own copy of a page that says the same
 * (`shared_memory_settle`), and sees the file's again. Without libc and without data of its own: it
 * replaces the memory that libc and Python live in while it runs. What may be replaced is for the
 * caller to know.
 *
 * Whose memory it is does not matter (Python's, libc's, an extension's own heap): a page is given
 * up by what it says in every word, compared where nobody can write meanwhile. The one exception
 * is a marked word, the count of an object that never ends, so that its memory is never used
 * for anything else; and even that word must still look like such a count.
 */

#include <stdint.h>

typedef uint64_t u64;

#define PAGE 4096UL
#define WORDS (PAGE / sizeof(u64))
#define BATCH 256UL
#define EIO 5
#define EVERY_SIGNAL (~0ULL)

/* Bits of a pinned count that no number of uses changes; of a pointer, a length, or the count of
 * a younger object they differ. */
#define USES 32

/* Linux: Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (1ULL << 63)
#define OF_A_FILE (1ULL << 61)
#define ONLY_OURS (1ULL << 56)

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 2
#define MAP_FIXED 16
#define MADV_DONTNEED 4
#define MADV_POPULATE_READ 22
#define SIG_SETMASK 2

/* A range of memory in bytes, whole pages, and its place in the file. */
struct range {
    u64 start, size, offset;
};

#if defined(__x86_64__)
enum { PREAD = 17, PWRITE = 18, MMAP = 9, MADVISE = 28, SIGPROCMASK = 14 };

static long call(long number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    long result;
    register u64 r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { PREAD = 67, PWRITE = 68, MMAP = 222, MADVISE = 233, SIGPROCMASK = 135 };

static long call(long number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    register u64 x8 __asm__("x8") = (u64)number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register u64 x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
    register u64 x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return (long)x0;
}
#else
#error "no system calls known for this architecture"
#endif

/* A signal's handler would write to memory that is just compared or copied: none runs between. */
static u64 hush(void)
{
    u64 all = EVERY_SIGNAL, before = 0;
    call(SIGPROCMASK, SIG_SETMASK, (u64)&all, (u64)&before, sizeof(u64), 0, 0);
    return before;
}

static void hear(u64 before)
{
    call(SIGPROCMASK, SIG_SETMASK, (u64)&before, 0, sizeof(u64), 0, 0);
}

/* Add `much` to the first word of each object: a reference count that never falls to nothing. */
void shared_memory_pin(u64 *const *objects, long count, u64 much)
{
    for (long i = 0; i < count; i++)
        *objects[i] += much;
}

/* One bit of `counts` for each word of the file; set those of these objects' first words. */
void shared_memory_mark(const struct range *ranges, long n, const u64 *objects, long count,
                        unsigned char *counts)
{
    for (long i = 0; i < count; i++)
        for (long k = 0; k < n; k++)
            if (objects[i] - ranges[k].start < ranges[k].size) {
                u64 word = (objects[i] - ranges[k].start + ranges[k].offset) / sizeof(u64);
                counts[word / 8] |= (unsigned char)(1 << word % 8);
            }
}

static long lay(struct range r, long file)
{
    for (u64 done = 0; done < r.size;) {
        long got = call(PWRITE, (u64)file, r.start + done, r.size - done, r.offset + done, 0, 0);
        if (got <= 0)
            return got ? got : -EIO;
        done += (u64)got;
    }
    long at = call(MMAP, r.start, r.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                   (u64)file, r.offset);
    if (at < 0 && at > -(long)PAGE)
        return at;
    /* Children inherit what is mapped, and need not look for it. */
    call(MADVISE, r.start, r.size, MADV_POPULATE_READ, 0, 0, 0);
    return 0;
}

/* Copy each range into the file and map that over it. 0 or a negative errno; what any page says
 * is the same in either case. No other thread may run. */
long shared_memory_lay(const struct range *ranges, long n, long file)
{
    u64 before = hush();
    long result = 0;
    for (long i = 0; i < n && !result; i++)
        result = lay(ranges[i], file);
    hear(before);
    return result;
}

static int same(const u64 *ours, const u64 *given, const unsigned char *counts)
{
    for (u64 word = 0; word < WORDS; word++) {
        u64 differs = ours[word] ^ given[word];
        if (differs && (!(counts[word / 8] >> word % 8 & 1) || differs >> USES))
            return 0;
    }
    return 1;
}

/* Whether the page went. The ranges were read some moments ago: if no file lies under this page
 * any more, it comes back empty, and what it said is written again. */
static int give_up(volatile u64 *ours, const u64 *given)
{
    u64 kept[WORDS];
    int gone = 1;
    for (u64 word = 0; word < WORDS; word++)
        kept[word] = ours[word];
    if (call(MADVISE, (u64)ours, PAGE, MADV_DONTNEED, 0, 0, 0))
        return 0;
    for (u64 word = 0; word < WORDS; word++)
        if (ours[word] != given[word])
            gone = 0;
    for (u64 word = 0; !gone && word < WORDS; word++)
        ours[word] = kept[word];
    return gone;
}

static long settle(struct range r, const unsigned char *given, const unsigned char *counts,
                   long pagemap)
{
    long gone = 0;
    u64 pages = r.size / PAGE, seen[BATCH];
    for (u64 first = 0; first < pages; first += BATCH) {
        u64 left = pages - first, n = left < BATCH ? left : BATCH;
        u64 wanted = n * sizeof(u64), from = (r.start / PAGE + first) * sizeof(u64);
        long got = call(PREAD, (u64)pagemap, (u64)seen, wanted, from, 0, 0);
        if (got != (long)wanted)
            return got < 0 ? got : -EIO;
        for (u64 k = 0; k < n; k++) {
            u64 at = (first + k) * PAGE, place = r.offset + at;
            if ((seen[k] & (PRESENT | ONLY_OURS | OF_A_FILE)) != (PRESENT | ONLY_OURS))
                continue;
            if (same((u64 *)(r.start + at), (u64 *)(given + place), counts + place / 64))
                gone += give_up((u64 *)(r.start + at), (u64 *)(given + place));
        }
    }
    return gone;
}

/* Give up every page of ours that differs from the file in marked counts at most. `given` is a
 * second, unwritten mapping of the file. The number of pages, or a negative errno. No other
 * thread may run: it could write between comparing and giving up. */
long shared_memory_settle(const struct range *ranges, long n, const unsigned char *given,
                          const unsigned char *counts, long pagemap)
{
    u64 before = hush();
    long gone = 0;
    for (long i = 0; i < n && gone >= 0; i++) {
        long more = settle(ranges[i], given, counts, pagemap);
        gone = more < 0 ? more : gone + more;
    }
    hear(before);
    return gone;
}
