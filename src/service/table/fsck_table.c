#include "service/table/fsck_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "service/table/entity.h"
#include "service/table/table.h"
#include "service/table/table_name.h"

enum {
    WORDS_BYTES_MAX = 512,
    KEY_CHARS_MAX = 64, /* of a key in a finding */
    TABLES_MIN = 64,    /* of a growing array */
};

/* A table, or one that was deleted. */
struct fsck_table {
    uint64_t incarnation;
    struct slice name; /* account/table */
    bool is_deleted;
};

/* A partition while it is checked. */
struct walk {
    struct fsck_tables *tables;
    struct partition_view view;
    struct slice label; /* what messages to people call it */
    bool is_closed;
    uint64_t entity_count;
    struct arena arena; /* of the present row */
};

static void report(struct fsck_tables *tables, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(struct fsck_tables *tables, const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    tables->report(tables->arg, words);
}

/* --- the rows of accounts --- */

static void add_table(struct fsck_tables *tables, struct slice account, struct slice name,
                      uint64_t incarnation, bool is_deleted)
{
    if (tables->count == tables->capacity) {
        tables->capacity = tables->capacity == 0 ? TABLES_MIN : tables->capacity * 2;
        tables->tables = reallocarray(tables->tables, tables->capacity, sizeof(*tables->tables));
        if (tables->tables == NULL)
            panic("no memory left for %zu tables", tables->capacity);
    }
    tables->tables[tables->count++] = (struct fsck_table){
        .incarnation = incarnation,
        .name = arena_printf(&tables->arena, "%.*s/%.*s", (int)account.len, account.data,
                             (int)name.len, name.data),
        .is_deleted = is_deleted,
    };
}

void fsck_table_record(struct fsck_tables *tables, struct slice account, struct slice name,
                       struct slice key, struct slice row)
{
    struct arena arena = { 0 };
    struct table table;
    if (table_decode(row, &table) != OK) {
        report(tables, "%.*s/%.*s: the table's record is damaged", (int)account.len, account.data,
               (int)name.len, name.data);
    } else {
        if (!slice_equal(table_key(&arena, table.name), key))
            report(tables, "%.*s/%.*s: the table's record is of another name", (int)account.len,
                   account.data, (int)name.len, name.data);
        add_table(tables, account, name, table.incarnation, false);
        tables->table_count++;
    }
    arena_release(&arena);
}

void fsck_table_deleted(struct fsck_tables *tables, struct slice account, uint64_t incarnation)
{
    add_table(tables, account, slice_of("(deleted)"), incarnation, true);
    tables->deleted_count++;
}

static int compare_tables(const void *a, const void *b)
{
    const struct fsck_table *left = a;
    const struct fsck_table *right = b;
    return (left->incarnation > right->incarnation) - (left->incarnation < right->incarnation);
}

void fsck_table_sort(struct fsck_tables *tables)
{
    if (tables->count > 1)
        qsort(tables->tables, tables->count, sizeof(*tables->tables), compare_tables);
    for (size_t i = 1; i < tables->count; i++) {
        const struct fsck_table *one = &tables->tables[i - 1];
        const struct fsck_table *other = &tables->tables[i];
        if (one->incarnation == other->incarnation)
            report(tables, "%s and %s have the same entities", one->name.data, other->name.data);
    }
}

static const struct fsck_table *find_table(const struct fsck_tables *tables, uint64_t incarnation)
{
    const struct fsck_table key = { .incarnation = incarnation };
    return tables->count == 0
               ? NULL
               : bsearch(&key, tables->tables, tables->count, sizeof(key), compare_tables);
}

/* --- entities --- */

/* The beginning of a key, on one line. */
static const char *printable(struct arena *arena, struct slice key)
{
    struct strbuf text;
    strbuf_init(&text, arena);
    for (size_t i = 0; i < key.len && text.len < KEY_CHARS_MAX; i++) {
        const unsigned char byte = (unsigned char)key.data[i];
        if (byte < 0x20 || byte >= 0x7f || byte == '%')
            strbuf_printf(&text, "%%%02X", (unsigned)byte);
        else
            strbuf_add_byte(&text, (char)byte);
    }
    if (text.len >= KEY_CHARS_MAX)
        strbuf_add_text(&text, "...");
    return arena_copy(arena, strbuf_slice(&text)).data;
}

static void check_entity(struct walk *walk, struct slice key, struct slice row)
{
    struct entity entity;
    if (entity_key_split(key, &entity.partition_key, &entity.row_key) != OK ||
        entity_key_check(entity.partition_key) != OK || entity_key_check(entity.row_key) != OK) {
        report(walk->tables, "%s: the key of an entity is damaged: %s", walk->label.data,
               printable(&walk->arena, key));
        return;
    }
    walk->entity_count++;
    if (entity_decode(&walk->arena, row, &entity) != OK || entity_check(&entity) != OK)
        report(walk->tables, "%s: entity PartitionKey='%s', RowKey='%s' is damaged",
               walk->label.data, printable(&walk->arena, entity.partition_key),
               printable(&walk->arena, entity.row_key));
}

static void check_row(struct walk *walk, struct slice key, struct slice row)
{
    if (slice_starts_with(key, entity_prefix()))
        check_entity(walk, key, row);
    else if (!slice_equal(key, closed_key()))
        report(walk->tables, "%s: there is a row of unknown kind, with a key of %zu bytes",
               walk->label.data, key.len);
}

static void check_rows(struct walk *walk)
{
    struct slice key;
    struct slice row;
    walk->is_closed = partition_view_get(&walk->view, &walk->arena, closed_key(), &row) == OK;
    struct cursor *cursor =
        partition_view_scan(&walk->view, (struct slice){ 0 }, (struct slice){ 0 });
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        arena_clear(&walk->arena);
        check_row(walk, key, row);
    }
    if (err != ERR_NOT_FOUND)
        report(walk->tables, "%s: the entities cannot be read: %s", walk->label.data,
               error_text(err));
    cursor_free(cursor);
}

void fsck_table_partition(struct fsck_tables *tables, struct slice partition)
{
    const uint64_t incarnation = get_be64((const uint8_t *)partition.data + 1);
    const struct fsck_table *table = find_table(tables, incarnation);
    struct walk walk = { .tables = tables };
    struct arena label_arena = { 0 };
    walk.label =
        table != NULL ? table->name : arena_printf(&label_arena, "table %016" PRIx64, incarnation);
    partition_view_open(tables->store, partition, &walk.view);
    check_rows(&walk);
    if (table != NULL && !table->is_deleted) {
        tables->entity_count += walk.entity_count;
        if (walk.is_closed)
            report(tables, "%s: it is closed, as if it were deleted", walk.label.data);
    } else if (table == NULL && (!walk.is_closed || walk.entity_count > 0)) {
        report(tables, "%s: its entities are there, and nothing will remove them", walk.label.data);
    }
    partition_view_close(&walk.view);
    arena_release(&walk.arena);
    arena_release(&label_arena);
}

void fsck_table_release(struct fsck_tables *tables)
{
    free(tables->tables);
    arena_release(&tables->arena);
}
