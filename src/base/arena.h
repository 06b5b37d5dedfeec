/*
 * arena.h - memory by lifetime.
 *
 * An arena hands out memory that is freed all at once, when the request (or the update,
 * or the test) it belongs to is over.  Nothing from an arena is freed singly or outlives
 * it.  Clean-ups registered on it run when it is cleared, last one first, so pins and
 * buffers let go by themselves on every path.
 *
 * Small allocations cannot fail: the process aborts with a message when the machine has
 * no memory left.  Anything whose size a client chooses is checked against a limit in
 * service/limits.h before it is asked for here.
 *
 * One thread at a time uses an arena; handing a request to another thread hands over its
 * arena too.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/slice.h"

struct arena_block;
struct arena_cleanup;

/* All zero bytes is a valid empty arena.  The fields are for arena.c. */
struct arena {
    struct arena_block *blocks;
    struct arena_cleanup *cleanups;
    char *free;
    char *end;
};

/* Run the clean-ups and free everything but one block, which is kept for reuse. */
void arena_clear(struct arena *arena);

/* arena_clear, and free the last block too.  The arena is a valid empty one again. */
void arena_release(struct arena *arena);

/* `size_bytes` of zeroed memory, aligned for any type; never NULL, even for size 0. */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* The same without zeroing and without alignment: for bytes about to be filled. */
char *arena_bytes(struct arena *arena, size_t size_bytes);

/* A copy of `bytes` followed by a NUL (which is not counted in the slice). */
struct slice arena_copy(struct arena *arena, struct slice bytes);

/* printf into the arena; NUL-terminated, and the slice does not count the NUL. */
struct slice arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Call `fn(arg)` when the arena is cleared or released. */
void arena_on_clear(struct arena *arena, void (*fn)(void *arg), void *arg);

/* How much memory the arena holds, for tests and metrics. */
size_t arena_size_bytes(const struct arena *arena);

#endif
