/*
 * history_fixture.h - the operations of tests on soft delete and versions, all on container "box",
 * and listings as text.
 *
 * A listing is written as one word for each entry, in order:
 *   a       the base blob           a*      a base blob that is a version
 *   a@1     its first snapshot      a#1     its first previous version
 * with "-" behind what is soft-deleted.  Snapshots and versions are numbered in the order in which
 * the listing shows them.
 */
#ifndef TESTS_UNIT_SERVICE_HISTORY_FIXTURE_H
#define TESTS_UNIT_SERVICE_HISTORY_FIXTURE_H

#include "base/log.h"
#include "service/blob/append.h"
#include "service/blob/copy.h"
#include "service/blob/fsck.h"
#include "service/blob/history.h"
#include "service/blob/page.h"
#include "service/blob/snapshot.h"
#include "service/blob/tag_index.h"
#include "service/blob/tier.h"
#include "service/service_properties.h"
#include "service/sweeper.h"
#include "service_fixture.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static const char LONG_TEXT[] __attribute__((unused)) =
    "a text of more than the hundred bytes that are kept inline, so that it is in an extent and "
    "its range has an owner who must let go of it in the end";

static inline int fixture_quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* 0 days switch soft delete off. */
static inline void set_policy(struct service_fixture *fixture, uint64_t days, bool permanent)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct service_properties_change change = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .letter = 'b',
        .parts = PROPERTIES_DELETE_RETENTION,
        .properties = { .delete_retention = { days > 0, days },
                        .allow_permanent_delete = permanent },
    };
    waiter_bind(&waiter, &change.base, &arena);
    service_properties_set(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static inline int64_t put_version(struct service_fixture *fixture, const char *name,
                                  const char *text)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", name, slice_of(text), &change), OK);
    return change.version_id;
}

static inline enum err delete_named(struct service_fixture *fixture, struct blob_name name,
                                    struct blob_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = name;
    blob_delete(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline enum err delete_blob(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { .snapshots = BLOB_SNAPSHOTS_INCLUDE };
    return delete_named(fixture, blob_named("box", name), &change);
}

static inline enum err delete_for_good(struct service_fixture *fixture, struct blob_name name)
{
    struct blob_change change = { .is_permanent_delete = true };
    const enum err err = delete_named(fixture, name, &change);
    assert_false(change.was_kept);
    return err;
}

static inline struct blob_name snapshot_named(const char *name, int64_t snapshot)
{
    struct blob_name full = blob_named("box", name);
    full.snapshot = snapshot;
    return full;
}

static inline struct blob_name version_named(const char *name, int64_t version)
{
    struct blob_name full = blob_named("box", name);
    full.version = version;
    return full;
}

static inline enum err undelete(struct service_fixture *fixture, const char *name)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_undelete change = { .name = blob_named("box", name) };
    waiter_bind(&waiter, &change.base, &arena);
    blob_undelete(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline struct blob_snapshot snapshot_of(struct service_fixture *fixture, const char *name)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_snapshot change = { .name = blob_named("box", name) };
    waiter_bind(&waiter, &change.base, &arena);
    blob_snapshot(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    return change;
}

static inline enum err copy_over(struct service_fixture *fixture, struct blob_name from,
                                 const char *to, struct copy_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->blob.base, &arena);
    change->blob.name = blob_named("box", to);
    change->source = from;
    change->url = slice_of("http://source");
    copy_blob(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline enum err read_named(struct service_fixture *fixture, struct blob_name name,
                                  struct blob *blob, struct slice *bytes)
{
    const struct blob_get_request get = { .name = name, .want_payload = true };
    struct payload_reader payload;
    struct blob record;
    struct arena arena = { 0 };
    enum err err = blob_get(&fixture->service, &arena, &get, &record, &payload);
    if (err == OK)
        *bytes = fixture_payload_bytes(fixture, &payload);
    arena_release(&arena);
    const struct blob_get_request look = { .name = name };
    return err == OK ? blob_get(&fixture->service, &fixture->arena, &look, blob, NULL) : err;
}

static inline void assert_bytes(struct service_fixture *fixture, struct blob_name name,
                                const char *text)
{
    struct blob blob;
    struct slice bytes = { 0 };
    assert_int_equal(read_named(fixture, name, &blob, &bytes), OK);
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.len);
}

/* --- listings --- */

enum {
    SHOWN_SNAPSHOTS = 1,
    SHOWN_VERSIONS = 2,
    SHOWN_DELETED = 4,
    SHOWN_ALL = 7,
    ENTRIES_MAX = 500,
};

struct shown_entry {
    const char *name;
    int64_t snapshot;
    bool is_previous;
    struct blob blob;
};

struct shown {
    struct service_fixture *fixture;
    struct strbuf words;
    struct slice last;
    unsigned snapshots;
    unsigned versions;
    size_t count;
    struct shown_entry entries[ENTRIES_MAX];
};

static inline bool show_entry(void *arg, const struct blob_list_entry *entry)
{
    struct shown *shown = arg;
    const struct slice name = arena_copy(&shown->fixture->arena, entry->name);
    assert_non_null(entry->blob);
    if (!slice_equal(name, shown->last))
        shown->snapshots = shown->versions = 0;
    shown->last = name;
    strbuf_printf(&shown->words, "%s%.*s", shown->count > 0 ? " " : "", (int)name.len, name.data);
    if (entry->snapshot != 0)
        strbuf_printf(&shown->words, "@%u", ++shown->snapshots);
    else if (entry->is_previous)
        strbuf_printf(&shown->words, "#%u", ++shown->versions);
    else if (entry->blob->version_id != 0)
        strbuf_add_text(&shown->words, "*");
    if (entry->blob->deleted_at != 0)
        strbuf_add_text(&shown->words, "-");
    assert_true(shown->count < ENTRIES_MAX);
    shown->entries[shown->count++] = (struct shown_entry){
        .name = name.data,
        .snapshot = entry->snapshot,
        .is_previous = entry->is_previous,
        .blob = *entry->blob,
    };
    return true;
}

static inline struct shown *list_history(struct service_fixture *fixture, unsigned what,
                                         size_t page_len)
{
    struct shown *shown = arena_alloc(&fixture->arena, sizeof(*shown));
    *shown = (struct shown){ .fixture = fixture };
    strbuf_init(&shown->words, &fixture->arena);
    struct blob_list_request request = {
        .container = container_named("box"),
        .with_snapshots = (what & SHOWN_SNAPSHOTS) != 0,
        .with_versions = (what & SHOWN_VERSIONS) != 0,
        .with_deleted = (what & SHOWN_DELETED) != 0,
        .results_max = page_len,
        .emit = show_entry,
        .arg = shown,
    };
    do {
        struct blob_position next;
        const size_t before = shown->count;
        assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
        assert_true(next.name.len == 0 || shown->count > before);
        request.from = next;
    } while (request.from.name.len > 0);
    return shown;
}

/* The listing is this, in pages of any length. */
static inline void assert_listing(struct service_fixture *fixture, unsigned what, const char *words)
{
    for (size_t page_len = 1; page_len < 6; page_len++) {
        struct shown *shown = list_history(fixture, what, page_len);
        const struct slice text = arena_copy(&fixture->arena, strbuf_slice(&shown->words));
        assert_string_equal(text.data, words);
    }
}

/* --- the store --- */

static inline void fail_finding(void *arg, const char *words)
{
    (void)arg;
    fail_msg("%s", words);
}

static inline struct fsck_summary assert_store_is_sound(struct service_fixture *fixture)
{
    struct fsck_summary summary;
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = fail_finding };
    fsck_run(&request, &summary);
    return summary;
}

static inline size_t rows_in_box(struct service_fixture *fixture)
{
    const struct container_name name = container_named("box");
    struct slice partition;
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    return fixture_dump_partition(fixture, partition, &out);
}

static inline bool box_is_marked(struct service_fixture *fixture)
{
    const struct container_name name = container_named("box");
    struct slice partition;
    bool marked;
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    assert_int_equal(partition_is_marked(fixture->service.store, partition, &marked), OK);
    return marked;
}

#endif
