#include "partition/change.h"

#include <assert.h>

#include "base/log.h"
#include "partition/partition.h"
#include "partition/system_row.h"

/* Whether this thread is inside a decision, of any store. */
static _Thread_local bool deciding;

void change_assert_outside(void)
{
    if (deciding)
        panic("a decision reaches outside its partition");
}

enum err change_run(struct change *change, struct slice partition, int64_t now, change_fn *decide,
                    void *arg)
{
    assert(!deciding);
    engine_group_save(change->group);
    change->owned_count_kept = change->owned.count;
    change->freed_count_kept = change->freed.count;
    change->partition = partition;
    change->now = now;
    deciding = true;
    const enum err err = decide(change, arg);
    deciding = false;
    arena_clear(&change->arena);
    return err;
}

void change_keep(struct change *change)
{
    change->owned_count_kept = change->owned.count;
    change->freed_count_kept = change->freed.count;
}

void change_undo(struct change *change)
{
    engine_group_rollback(change->group);
    change->owned.count = change->owned_count_kept;
    change->freed.count = change->freed_count_kept;
}

int64_t change_now(const struct change *change)
{
    return change->now;
}

struct arena *change_arena(struct change *change)
{
    return &change->arena;
}

static struct engine_key key_in(const struct change *change, struct slice key)
{
    assert(deciding);
    return (struct engine_key){ .partition = change->partition, .key = key };
}

enum err change_get(struct change *change, struct slice key, struct slice *value)
{
    const struct engine_key row = key_in(change, key);
    enum err err;
    if (read_memo_find(change->memo, &change->arena, &row, value, &err))
        return err;
    err = engine_group_get(change->group, &change->arena, &row, value);
    read_memo_keep(change->memo, &row, err, err == OK ? *value : (struct slice){ 0 });
    return err;
}

void change_put(struct change *change, struct slice key, struct slice value)
{
    const struct engine_key row = key_in(change, key);
    read_memo_forget(change->memo, &row);
    engine_group_put(change->group, &row, value);
}

void change_delete(struct change *change, struct slice key)
{
    const struct engine_key row = key_in(change, key);
    read_memo_forget(change->memo, &row);
    engine_group_delete(change->group, &row);
}

struct cursor *change_scan_until(struct change *change, struct slice prefix, struct slice from,
                                 struct slice until)
{
    assert(deciding);
    const struct engine_scan scan = {
        .partition = change->partition,
        .prefix = prefix,
        .from = slice_compare(from, prefix) > 0 ? from : prefix,
        .until = until,
    };
    return engine_group_scan(change->group, &scan);
}

struct cursor *change_scan(struct change *change, struct slice prefix, struct slice from)
{
    return change_scan_until(change, prefix, from, (struct slice){ 0 });
}

void change_own(struct change *change, const struct stream_range *range, uint64_t owner)
{
    assert(deciding);
    assert(change->may_own);
    assert(range->length > 0);
    const struct system_key key = system_key_owner(range, owner);
    system_put_number(change->group, &key, range->length);
    range_list_add(&change->owned, range);
}

void change_disown(struct change *change, const struct stream_range *range, uint64_t owner)
{
    assert(deciding);
    assert(change->may_own);
    assert(range->length > 0);
    const struct system_key owner_key = system_key_owner(range, owner);
    system_delete(change->group, &owner_key);
    const struct system_freed freed = {
        .range = *range,
        .tick = change->now,
        .partition_hash = system_partition_hash(change->partition),
    };
    system_put_freed(change->group, &freed);
    range_list_add(&change->freed, range);
}

void change_mark(struct change *change)
{
    assert(deciding);
    system_put_mark(change->group, change->partition);
}

void change_unmark(struct change *change)
{
    assert(deciding);
    system_delete_mark(change->group, change->partition);
}
