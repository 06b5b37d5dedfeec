/*
 * read_memo.h - what decisions have read lately, so that they do not ask the engine twice.
 *
 * Many decisions read the same rows: whether the container is still open, the record that another
 * function of the same decision has read before.  A committer is the only one that writes the
 * partitions it serves, so what it has read stays true until it writes the key itself: nothing has
 * to be looked up to know that.
 *
 * A key that a group writes is forgotten at once, and not remembered again before the next group:
 * until then it reads as the group has it, which may still be undone.
 *
 * Both that a row is there and that it is not are remembered.  Memory is bounded: a slot for each
 * hash, and only short rows.  One thread at a time.
 */
#ifndef PARTITION_READ_MEMO_H
#define PARTITION_READ_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/engine.h"

enum {
    READ_MEMO_SLOTS = 1024,
    READ_MEMO_ROW_BYTES_MAX = 512, /* key and value */
};

struct read_memo;

struct read_memo *read_memo_new(void);
void read_memo_free(struct read_memo *memo);

/* True: `*err` is OK and `*value` a copy in the arena, or `*err` is ERR_NOT_FOUND. */
bool read_memo_find(const struct read_memo *memo, struct arena *arena, const struct engine_key *key,
                    struct slice *value, enum err *err);

/* What the engine said: OK and the value, or ERR_NOT_FOUND; other errors are not remembered. */
void read_memo_keep(struct read_memo *memo, const struct engine_key *key, enum err err,
                    struct slice value);

/* The group writes the key. */
void read_memo_forget(struct read_memo *memo, const struct engine_key *key);

/* The group was committed or refused as a whole; the next one begins. */
void read_memo_next_group(struct read_memo *memo);

#endif
