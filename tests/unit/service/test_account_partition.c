/*
 * test_account_partition.c - the rows of an account: their keys, what was deleted, listing by name.
 */
#include "service/account_partition.h"

#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"
#include "service_fixture.h"

static struct arena arena;

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static void keys_are_as_the_header_draws_them(void **state)
{
    (void)state;
    const struct {
        struct slice made;
        struct slice drawn;
    } rows[] = {
        { account_partition(&arena, slice_of("acc")), SLICE_LITERAL("Aacc") },
        { resource_key(&arena, RESOURCE_CONTAINER, slice_of("box")), SLICE_LITERAL("cbox") },
        { resource_key(&arena, RESOURCE_QUEUE, slice_of("jobs")), SLICE_LITERAL("qjobs") },
        { resource_key(&arena, RESOURCE_TABLE, slice_of("people")), SLICE_LITERAL("tpeople") },
        { service_properties_key(&arena, 'q'), SLICE_LITERAL("pq") },
        { resource_partition(&arena, 'Q', 0x0102030405060708),
          SLICE_LITERAL("Q\1\2\3\4\5\6\7\x8\0\0") },
        { closed_key(), SLICE_LITERAL("x") },
        { garbage_prefix(), SLICE_LITERAL("g") },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(slice_equal(rows[i].made, rows[i].drawn));
    assert_true(is_account_partition(slice_of("Aacc")));
    assert_false(is_account_partition(slice_of("A")));
    assert_false(is_account_partition(slice_of("Bacc")));
    assert_false(is_account_partition((struct slice){ 0 }));
}

static struct slice garbage_row(uint64_t kind)
{
    struct strbuf row;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_GARBAGE);
    row_add_number(&row, 1, kind);
    return strbuf_slice(&row);
}

static void a_row_says_what_was_deleted(void **state)
{
    (void)state;
    static const enum resource_kind kinds[] = { RESOURCE_CONTAINER, RESOURCE_QUEUE, RESOURCE_TABLE,
                                                RESOURCE_SHARE };
    const struct slice key = SLICE_LITERAL("g\1\2\3\4\5\6\7\x8");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct garbage garbage;
        assert_int_equal(garbage_decode(key, garbage_row(kinds[i]), &garbage), OK);
        assert_int_equal(garbage.kind, kinds[i]);
        assert_int_equal(garbage.incarnation, 0x0102030405060708);
    }
}

static void a_damaged_row_is_refused(void **state)
{
    (void)state;
    const struct slice key = SLICE_LITERAL("g\1\2\3\4\5\6\7\x8");
    struct garbage garbage;
    assert_int_equal(garbage_decode(key, garbage_row(RESOURCE_SHARE_SNAPSHOT + 1), &garbage),
                     ERR_CORRUPT);
    assert_int_equal(garbage_decode(key, slice_of("?"), &garbage), ERR_CORRUPT);
    assert_int_equal(garbage_decode(key, (struct slice){ 0 }, &garbage), ERR_CORRUPT);
    static const char *const keys[] = { "g1234567", "g123456789", "c12345678", "" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_int_equal(garbage_decode(slice_of(keys[i]), garbage_row(0), &garbage), ERR_CORRUPT);
}

static void keys_of_the_longest_names_fit_the_partition_layer(void **state)
{
    (void)state;
    char name[LIMIT_ACCOUNT_NAME_MAX] = { 0 };
    const struct slice longest = slice_make(name, sizeof(name));
    assert_true(account_partition(&arena, longest).len <= PARTITION_ID_BYTES_MAX);
}

/* --- listing --- */

static enum err put_rows(struct change *change, void *arg)
{
    (void)arg;
    static const char *const keys[] = { "cbox", "pb", "qa", "qb1", "qb2", "qc", "tq" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        change_put(change, slice_of(keys[i]), slice_of(keys[i]));
    return OK;
}

static void finished(void *arg, enum err err)
{
    assert_int_equal(err, OK);
    *(bool *)arg = true;
}

struct gathered {
    struct strbuf names;
    const char *last; /* ends the page after this name */
    const char *bad;  /* fails at this name */
};

static enum err gather(void *arg, struct arena *row_arena, struct slice name, struct slice row,
                       bool *more)
{
    struct gathered *gathered = arg;
    (void)row_arena;
    assert_true(slice_equal(slice_from(row, 1), name));
    if (gathered->bad != NULL && slice_is(name, gathered->bad))
        return ERR_CORRUPT;
    strbuf_add(&gathered->names, name);
    strbuf_add_byte(&gathered->names, ' ');
    *more = gathered->last == NULL || !slice_is(name, gathered->last);
    return OK;
}

static enum err list(struct service_fixture *fixture, const struct resource_list_request *like,
                     struct gathered *gathered, struct slice *next)
{
    struct resource_list_request request = *like;
    request.account = slice_of("acc");
    request.kind = RESOURCE_QUEUE;
    request.emit = gather;
    request.arg = gathered;
    strbuf_init(&gathered->names, &fixture->arena);
    return resource_list(&fixture->service, &fixture->arena, &request, next);
}

static void resources_of_one_kind_are_listed_by_name_in_pages(void **state)
{
    struct service_fixture *fixture = *state;
    bool done = false;
    struct partition_update update = {
        .partition = slice_of("Aacc"), .decide = put_rows, .arg = &done, .done = finished
    };
    partition_update(fixture->service.store, &update);
    assert_true(done);

    const struct {
        struct resource_list_request request;
        const char *last;
        const char *names;
        const char *next;
    } cases[] = {
        { { .results_max = 10 }, NULL, "a b1 b2 c ", "" },
        { { .results_max = 2 }, NULL, "a b1 ", "b2" },
        { { .results_max = 2, .from = slice_of("b2") }, NULL, "b2 c ", "" },
        { { .results_max = 10, .prefix = slice_of("b") }, NULL, "b1 b2 ", "" },
        { { .results_max = 10, .prefix = slice_of("x") }, NULL, "", "" },
        { { .results_max = 10 }, "b1", "a b1 ", "b2" },
        { { .results_max = 10 }, "c", "a b1 b2 c ", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gathered gathered = { .last = cases[i].last };
        struct slice next;
        assert_int_equal(list(fixture, &cases[i].request, &gathered, &next), OK);
        assert_true(slice_is(strbuf_slice(&gathered.names), cases[i].names));
        assert_true(slice_is(next, cases[i].next));
    }
    struct gathered failing = { .bad = "b2" };
    struct slice next;
    const struct resource_list_request all = { .results_max = 10 };
    assert_int_equal(list(fixture, &all, &failing, &next), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(keys_are_as_the_header_draws_them, clear),
        cmocka_unit_test_teardown(a_row_says_what_was_deleted, clear),
        cmocka_unit_test_teardown(a_damaged_row_is_refused, clear),
        cmocka_unit_test_teardown(keys_of_the_longest_names_fit_the_partition_layer, clear),
        ON_MEMORY(resources_of_one_kind_are_listed_by_name_in_pages),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
