#include "service/account_partition.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"

enum {
    TAG_KIND = 1, /* of a 'g' row */
    TAG_SHARE = 2,
};

enum err resource_name_check(struct slice name)
{
    if (name.len < LIMIT_CONTAINER_NAME_MIN || name.len > LIMIT_CONTAINER_NAME_MAX)
        return ERR_RESOURCE_NAME_LENGTH;
    for (size_t i = 0; i < name.len; i++) {
        const unsigned char byte = (unsigned char)name.data[i];
        if (islower(byte) || isdigit(byte))
            continue;
        const bool inside = i > 0 && i + 1 < name.len;
        if (byte != '-' || !inside || name.data[i - 1] == '-')
            return ERR_INVALID_RESOURCE_NAME;
    }
    return OK;
}

/* A letter followed by bytes. */
static struct slice letter_and(struct arena *arena, char letter, struct slice bytes)
{
    char *result = arena_bytes(arena, 1 + bytes.len);
    result[0] = letter;
    if (bytes.len > 0)
        memcpy(result + 1, bytes.data, bytes.len);
    return slice_make(result, 1 + bytes.len);
}

struct slice account_partition(struct arena *arena, struct slice account)
{
    return letter_and(arena, 'A', account);
}

bool is_account_partition(struct slice partition)
{
    return partition.len > 1 && partition.data[0] == 'A';
}

struct slice resource_key(struct arena *arena, enum resource_kind kind, struct slice name)
{
    static const char letters[] = {
        [RESOURCE_CONTAINER] = 'c',
        [RESOURCE_QUEUE] = 'q',
        [RESOURCE_TABLE] = 't',
        [RESOURCE_SHARE] = 's',
    };
    assert((size_t)kind < sizeof(letters));
    return letter_and(arena, letters[kind], name);
}

struct slice service_properties_key(struct arena *arena, char letter)
{
    return letter_and(arena, 'p', slice_make(&letter, 1));
}

struct slice resource_partition(struct arena *arena, char letter, uint64_t incarnation)
{
    char *bytes = arena_bytes(arena, 11);
    bytes[0] = letter;
    put_be64((uint8_t *)bytes + 1, incarnation);
    put_be16((uint8_t *)bytes + 9, 0);
    return slice_make(bytes, 11);
}

/* --- deleted resources --- */

struct slice garbage_prefix(void)
{
    return slice_of("g");
}

/* `share` is 0 unless it is a snapshot of it. */
static void put_garbage(struct change *change, uint64_t tick, enum resource_kind kind,
                        uint64_t share)
{
    char key[9] = { 'g' };
    put_be64((uint8_t *)key + 1, tick);
    struct strbuf row;
    strbuf_init(&row, change_arena(change));
    row_begin(&row, ROW_GARBAGE);
    row_add_number(&row, TAG_KIND, kind);
    row_add_number(&row, TAG_SHARE, share);
    change_put(change, slice_make(key, sizeof(key)), strbuf_slice(&row));
}

void garbage_put(struct change *change, enum resource_kind kind, uint64_t incarnation)
{
    put_garbage(change, incarnation, kind, 0);
}

void garbage_put_snapshot(struct change *change, uint64_t incarnation, int64_t taken)
{
    put_garbage(change, (uint64_t)taken, RESOURCE_SHARE_SNAPSHOT, incarnation);
}

enum err garbage_decode(struct slice key, struct slice row, struct garbage *garbage)
{
    if (key.len != 9 || key.data[0] != 'g')
        return CORRUPT("a key of %zu bytes is not of something deleted", key.len);
    uint64_t kind = RESOURCE_CONTAINER;
    uint64_t share = 0;
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_GARBAGE);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK && tag == TAG_KIND)
            err = row_number(value, &kind);
        else if (err == OK && tag == TAG_SHARE)
            err = row_number(value, &share);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (kind > RESOURCE_SHARE_SNAPSHOT || (kind == RESOURCE_SHARE_SNAPSHOT) != (share != 0))
        return CORRUPT("something deleted is of unknown kind");
    const uint64_t tick = get_be64((const uint8_t *)key.data + 1);
    if (share != 0 && (tick == 0 || tick > (uint64_t)CLOCK_TICKS_MAX))
        return CORRUPT("a snapshot was taken at tick %llu", (unsigned long long)tick);
    *garbage = (struct garbage){
        .kind = (enum resource_kind)kind,
        .incarnation = share != 0 ? share : tick,
        .taken = share != 0 ? (int64_t)tick : 0,
    };
    return OK;
}

struct slice closed_key(void)
{
    return slice_of("x");
}

void partition_set_closed(struct change *change)
{
    struct strbuf row;
    strbuf_init(&row, change_arena(change));
    row_begin(&row, ROW_CLOSED);
    change_put(change, closed_key(), strbuf_slice(&row));
}

/* --- listing --- */

enum err resource_list(struct service *service, struct arena *arena,
                       const struct resource_list_request *request, struct slice *next)
{
    struct partition_view view;
    partition_view_open(service->store, account_partition(arena, request->account), &view);
    struct cursor *cursor = partition_view_scan(
        &view, resource_key(arena, request->kind, request->prefix),
        request->from.len == 0 ? (struct slice){ 0 }
                               : resource_key(arena, request->kind, request->from));
    struct arena row_arena = { 0 };
    *next = (struct slice){ 0 };
    bool more = request->results_max > 0;
    enum err err = OK;
    for (size_t count = 0; err == OK; count++) {
        struct slice key;
        struct slice row;
        err = cursor_next(cursor, &key, &row);
        if (err != OK)
            break;
        const struct slice name = slice_from(key, 1);
        if (!more || count == request->results_max) {
            *next = arena_copy(arena, name);
            break;
        }
        arena_clear(&row_arena);
        err = request->emit(request->arg, &row_arena, name, row, &more);
    }
    arena_release(&row_arena);
    cursor_free(cursor);
    partition_view_close(&view);
    return err == ERR_NOT_FOUND ? OK : err;
}
