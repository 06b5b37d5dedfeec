/*
 * arena.c - bump allocation out of a list of blocks.
 *
 *   blocks -> [ordinary, current] -> [own] -> [ordinary, used up] -> ...
 *              ^free     ^end
 *
 * An ordinary block is shared by many allocations.  The current one is at the head of the
 * list and `free`..`end` is what is left of it; both are NULL as long as the arena has no
 * ordinary block.  An allocation too big to share gets a block of its own, which is put
 * behind the head, so what is left of the current block stays in use.
 *
 * Ordinary blocks double from 4 KiB to 32 KiB: a small request costs one page, and a large
 * one few calls to malloc.  The current block is the largest of them and is the one that
 * arena_clear keeps.
 *
 * Under AddressSanitizer the bytes that are not handed out are poisoned, so that a use
 * after arena_clear is reported although the block itself is kept.
 */
#include "base/arena.h"

#include <assert.h>
#include <sanitizer/asan_interface.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum {
    BLOCK_BYTES_MIN = 4096, /* with the block's header, as all sizes of blocks */
    BLOCK_BYTES_MAX = 32768,
    ALIGN_BYTES = alignof(max_align_t),
};

struct arena_block {
    struct arena_block *next;
    size_t size_bytes;
    alignas(max_align_t) char data[];
};

static_assert(offsetof(struct arena_block, data) % ALIGN_BYTES == 0, "blocks begin aligned");
static_assert(BLOCK_BYTES_MIN % ALIGN_BYTES == 0, "blocks end aligned");

struct arena_cleanup {
    struct arena_cleanup *next;
    void (*fn)(void *arg);
    void *arg;
};

static struct arena_block *block_new(size_t size_bytes)
{
    struct arena_block *block = malloc(size_bytes);
    if (block == NULL)
        panic("no memory left for a block of %zu bytes", size_bytes);
    block->next = NULL;
    block->size_bytes = size_bytes;
    return block;
}

static char *block_end(struct arena_block *block)
{
    return (char *)block + block->size_bytes;
}

/* Make all of the block at the head of the list available. */
static void arena_rewind(struct arena *arena)
{
    arena->free = arena->blocks->data;
    arena->end = block_end(arena->blocks);
    ASAN_POISON_MEMORY_REGION(arena->free, (size_t)(arena->end - arena->free));
}

static void blocks_free(struct arena_block *block)
{
    while (block != NULL) {
        struct arena_block *const next = block->next;
        /* malloc's own bookkeeping may look at the bytes once they are its again. */
        ASAN_UNPOISON_MEMORY_REGION(block, block->size_bytes);
        free(block);
        block = next;
    }
}

static void arena_run_cleanups(struct arena *arena)
{
    while (arena->cleanups != NULL) {
        struct arena_cleanup *const cleanup = arena->cleanups;
        arena->cleanups = cleanup->next;
        cleanup->fn(cleanup->arg);
    }
}

void arena_clear(struct arena *arena)
{
    arena_run_cleanups(arena);
    if (arena->free == NULL) {
        blocks_free(arena->blocks);
        arena->blocks = NULL;
        return;
    }
    blocks_free(arena->blocks->next);
    arena->blocks->next = NULL;
    arena_rewind(arena);
}

void arena_release(struct arena *arena)
{
    arena_run_cleanups(arena);
    blocks_free(arena->blocks);
    *arena = (struct arena){ 0 };
}

/* A block for one allocation only, behind the current block if there is one. */
static char *arena_own_block(struct arena *arena, size_t size_bytes)
{
    struct arena_block *const block = block_new(sizeof(*block) + size_bytes);
    if (arena->free == NULL) {
        block->next = arena->blocks;
        arena->blocks = block;
    } else {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    }
    return block->data;
}

/* An allocation that the current block has no room for. */
static char *arena_bytes_slow(struct arena *arena, size_t size_bytes)
{
    assert(size_bytes <= PTRDIFF_MAX / 2);
    size_t block_bytes = BLOCK_BYTES_MIN;
    if (arena->free != NULL && arena->blocks->size_bytes < BLOCK_BYTES_MAX)
        block_bytes = arena->blocks->size_bytes * 2;
    else if (arena->free != NULL)
        block_bytes = BLOCK_BYTES_MAX;

    if (size_bytes > block_bytes / 2)
        return arena_own_block(arena, size_bytes);

    struct arena_block *const block = block_new(block_bytes);
    block->next = arena->blocks;
    arena->blocks = block;
    arena_rewind(arena);
    char *const bytes = arena->free;
    arena->free += size_bytes;
    ASAN_UNPOISON_MEMORY_REGION(bytes, size_bytes);
    return bytes;
}

char *arena_bytes(struct arena *arena, size_t size_bytes)
{
    char *const bytes = arena->free;
    if (bytes == NULL || size_bytes > (size_t)(arena->end - bytes))
        return arena_bytes_slow(arena, size_bytes);
    arena->free += size_bytes;
    ASAN_UNPOISON_MEMORY_REGION(bytes, size_bytes);
    return bytes;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    /* Blocks begin and end aligned, so the padding never passes the end. */
    if (arena->free != NULL)
        arena->free += -(uintptr_t)arena->free % ALIGN_BYTES;
    char *const bytes = arena_bytes(arena, size_bytes);
    assert((uintptr_t)bytes % ALIGN_BYTES == 0);
    memset(bytes, 0, size_bytes);
    return bytes;
}

struct slice arena_copy(struct arena *arena, struct slice bytes)
{
    assert(bytes.len < SIZE_MAX);
    char *const copy = arena_bytes(arena, bytes.len + 1);
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len] = '\0';
    return slice_make(copy, bytes.len);
}

struct slice arena_printf(struct arena *arena, const char *format, ...)
{
    /* Printed in place if it fits what is left of the block; usually it does. */
    const size_t room = arena->free == NULL ? 0 : (size_t)(arena->end - arena->free);
    ASAN_UNPOISON_MEMORY_REGION(arena->free, room);
    va_list args;
    va_start(args, format);
    const int printed = vsnprintf(arena->free, room, format, args);
    va_end(args);
    ASAN_POISON_MEMORY_REGION(arena->free, room);
    assert(printed >= 0);

    const size_t len = (size_t)printed;
    char *const text = arena_bytes(arena, len + 1);
    if (len >= room) {
        va_start(args, format);
        vsnprintf(text, len + 1, format, args);
        va_end(args);
    }
    return slice_make(text, len);
}

void arena_on_clear(struct arena *arena, void (*fn)(void *arg), void *arg)
{
    assert(fn != NULL);
    struct arena_cleanup *const cleanup = arena_alloc(arena, sizeof(*cleanup));
    cleanup->next = arena->cleanups;
    cleanup->fn = fn;
    cleanup->arg = arg;
    arena->cleanups = cleanup;
}

size_t arena_size_bytes(const struct arena *arena)
{
    size_t size_bytes = 0;
    for (const struct arena_block *block = arena->blocks; block != NULL; block = block->next)
        size_bytes += block->size_bytes;
    return size_bytes;
}
