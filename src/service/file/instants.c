#include "service/file/instants.h"

#include <string.h>

#include "service/file/file_name.h"
#include "service/file/share.h"

static void add(struct arena *arena, struct instants *instants, int64_t taken)
{
    if (instants->count == instants->capacity) {
        instants->capacity = instants->capacity == 0 ? 16 : instants->capacity * 2;
        int64_t *grown = arena_alloc(arena, instants->capacity * sizeof(*grown));
        if (instants->count > 0)
            memcpy(grown, instants->items, instants->count * sizeof(*grown));
        instants->items = grown;
    }
    instants->items[instants->count++] = taken;
}

static enum err read_all(struct cursor *cursor, struct arena *arena, struct instants *instants)
{
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        struct slice row;
        struct instant instant;
        int64_t taken;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = instant_key_parse(key, &taken);
        if (err == OK)
            err = instant_decode(row, &instant);
        if (err != OK)
            break;
        add(arena, instants, taken);
        instants->unconfirmed_count += !instant.is_confirmed;
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err instants_read_change(struct change *change, struct instants *instants)
{
    *instants = (struct instants){ 0 };
    return read_all(change_scan(change, instant_prefix(), (struct slice){ 0 }),
                    change_arena(change), instants);
}

enum err instants_read_view(struct partition_view *view, struct arena *arena,
                            struct instants *instants)
{
    *instants = (struct instants){ 0 };
    return read_all(partition_view_scan(view, instant_prefix(), (struct slice){ 0 }), arena,
                    instants);
}

bool instants_need(const struct instants *instants, int64_t since, int64_t until)
{
    size_t low = 0;
    size_t high = instants->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (instants->items[middle] <= since)
            low = middle + 1;
        else
            high = middle;
    }
    return low < instants->count && instants->items[low] < until;
}
