/*
 * test_tag_index.c - tags of stored blobs: setting them, conditions on them, and searches against a
 * scan of all blobs.
 */
#include "base/log.h"
#include "service/blob/tag_index.h"
#include "service/sweeper.h"
#include "service_fixture.h"
#include "test_random.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct metadata tags_of(struct service_fixture *fixture, const char *text)
{
    struct metadata tags;
    assert_int_equal(tags_parse(&fixture->arena, slice_of(text), &tags), OK);
    return tags;
}

static const struct tag_predicate *predicate_of(struct service_fixture *fixture, const char *text,
                                                enum tag_grammar grammar)
{
    const struct tag_predicate *predicate = NULL;
    assert_int_equal(tag_predicate_parse(&fixture->arena, slice_of(text), grammar, &predicate), OK);
    return predicate;
}

static void put_tagged(struct service_fixture *fixture, const char *container, const char *name,
                       const char *tags)
{
    struct blob_change change = { .tags = tags_of(fixture, tags) };
    assert_int_equal(blob_put_into(fixture, container, name, slice_of("x"), &change), OK);
}

struct results {
    struct strbuf text;
    size_t count;
};

static bool note_result(void *arg, struct slice container, struct slice name,
                        const struct blob *blob)
{
    struct results *results = arg;
    (void)blob;
    strbuf_add(&results->text, container);
    strbuf_add_byte(&results->text, '/');
    strbuf_add(&results->text, name);
    strbuf_add_byte(&results->text, ' ');
    results->count++;
    return true;
}

/* All pages of a search, one after the other. */
static struct slice find_all(struct service_fixture *fixture, const char *container,
                             const char *where, size_t page_len)
{
    struct results results = { 0 };
    strbuf_init(&results.text, &fixture->arena);
    struct tag_search search = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .container = slice_of(container),
        .predicate = predicate_of(fixture, where, TAG_SEARCH),
        .results_max = page_len,
        .emit = note_result,
        .arg = &results,
    };
    do {
        const size_t before = results.count;
        struct tag_position next;
        assert_int_equal(tag_search_run(&fixture->service, &fixture->arena, &search, &next), OK);
        assert_true(results.count - before <= page_len);
        search.from = next;
    } while (search.from.container.len > 0);
    strbuf_add_byte(&results.text, '\0');
    return slice_make(results.text.data, results.text.len - 1);
}

static void blobs_are_found_by_their_tags(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    container_make(fixture, "cup");
    container_make(fixture, "empty");
    put_tagged(fixture, "box", "a", "color=blue&size=1");
    put_tagged(fixture, "box", "b", "color=red&size=2");
    put_tagged(fixture, "box", "c", "color=blue&size=3");
    put_tagged(fixture, "cup", "a", "color=blue&size=2");
    put_tagged(fixture, "cup", "z", "size=9");
    for (size_t page_len = 1; page_len < 4; page_len++) {
        assert_string_equal(find_all(fixture, "box", "color='blue'", page_len).data,
                            "box/a box/c ");
        assert_string_equal(find_all(fixture, "", "color='blue'", page_len).data,
                            "box/a box/c cup/a ");
        assert_string_equal(find_all(fixture, "", "size>'1' AND color='blue'", page_len).data,
                            "box/c cup/a ");
        /* A page that begins inside one container goes on at the beginning of the next. */
        assert_string_equal(find_all(fixture, "", "size>='1'", page_len).data,
                            "box/a box/b box/c cup/a cup/z ");
        assert_string_equal(find_all(fixture, "", "size>='2'", page_len).data,
                            "box/b box/c cup/a cup/z ");
        assert_string_equal(find_all(fixture, "", "size<'3'", page_len).data, "box/a box/b cup/a ");
        assert_string_equal(find_all(fixture, "", "size<='3' AND size>'1'", page_len).data,
                            "box/b box/c cup/a ");
        assert_string_equal(find_all(fixture, "", "@container='cup' AND size<='3'", page_len).data,
                            "cup/a ");
        assert_string_equal(find_all(fixture, "", "@container>'box' AND size>='2'", page_len).data,
                            "cup/a cup/z ");
        assert_string_equal(find_all(fixture, "", "@container='none' AND size<='3'", page_len).data,
                            "");
        assert_string_equal(find_all(fixture, "", "none='1'", page_len).data, "");
    }
}

static void every_change_of_tags_is_seen_by_searches(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct slice before = fixture_dump(fixture);
    put_tagged(fixture, "box", "blob", "a=1&b=2");
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    const int64_t etag = blob.etag;

    struct blob_change set = { .tags = tags_of(fixture, "a=1&b=3&c=4") };
    assert_int_equal(blob_await(fixture, "blob", blob_set_tags, &set), OK);
    assert_string_equal(find_all(fixture, "box", "b='2'", 10).data, "");
    assert_string_equal(find_all(fixture, "box", "b='3'", 10).data, "box/blob ");
    assert_string_equal(find_all(fixture, "box", "a='1' AND c='4'", 10).data, "box/blob ");
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.tags.count, 3);
    assert_int_equal(blob.etag, etag);

    blob_put_text(fixture, "blob", "without tags");
    assert_string_equal(find_all(fixture, "box", "a='1'", 10).data, "");
    put_tagged(fixture, "box", "blob", "a=1");
    struct blob_change gone = { 0 };
    assert_int_equal(blob_await(fixture, "blob", blob_delete, &gone), OK);
    assert_string_equal(find_all(fixture, "box", "a='1'", 10).data, "");
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(blob_await(fixture, "blob", blob_set_tags, &set), ERR_BLOB_NOT_FOUND);
}

static void conditions_on_tags_are_met_or_nothing_happens(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_tagged(fixture, "box", "blob", "state=open");
    const struct condition open = { .if_tags =
                                        predicate_of(fixture, "state='open'", TAG_CONDITION) };
    const struct condition closed = { .if_tags =
                                          predicate_of(fixture, "state='closed'", TAG_CONDITION) };
    const struct slice before = fixture_dump(fixture);
    struct blob_change refused = { .condition = closed };
    assert_int_equal(blob_await(fixture, "blob", blob_set_metadata, &refused),
                     ERR_CONDITION_NOT_MET);
    assert_int_equal(blob_await(fixture, "blob", blob_set_properties, &refused),
                     ERR_CONDITION_NOT_MET);
    assert_int_equal(blob_await(fixture, "blob", blob_set_tags, &refused), ERR_CONDITION_NOT_MET);
    assert_int_equal(blob_await(fixture, "blob", blob_delete, &refused), ERR_CONDITION_NOT_MET);
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("y"), &refused),
                     ERR_CONDITION_NOT_MET);
    fixture_assert_unchanged(fixture, before);

    struct blob blob;
    struct blob_get_request get = { .name = blob_named("box", "blob"), .condition = closed };
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL),
                     ERR_CONDITION_NOT_MET);
    get.condition = open;
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL), OK);
    struct blob_change allowed = { .condition = open, .tags = tags_of(fixture, "state=closed") };
    assert_int_equal(blob_await(fixture, "blob", blob_set_tags, &allowed), OK);
    assert_int_equal(blob_await(fixture, "blob", blob_set_tags, &allowed), ERR_CONDITION_NOT_MET);
}

/* --- random tags against a scan of all --- */

enum {
    MODEL_BLOBS = 24,
};

static void random_tags(struct test_random *random, char text[64])
{
    text[0] = '\0';
    for (char name = 'a'; name < 'd'; name++) {
        if (random_below(random, 3) == 0)
            continue;
        const size_t len = strlen(text);
        snprintf(text + len, 64 - len, "%s%c=%zu", len > 0 ? "&" : "", name,
                 random_below(random, 4));
    }
}

static void random_where(struct test_random *random, char text[64])
{
    static const char *const signs[] = { "=", ">", ">=", "<", "<=" };
    text[0] = '\0';
    for (size_t left = 1 + random_below(random, 2); left > 0; left--) {
        const size_t len = strlen(text);
        snprintf(text + len, 64 - len, "%s%c%s'%zu'", len > 0 ? " AND " : "",
                 (char)('a' + random_below(random, 3)), signs[random_below(random, 5)],
                 random_below(random, 4));
    }
}

static void searches_find_what_a_scan_of_all_blobs_finds(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    char tags[MODEL_BLOBS][64] = { 0 };
    container_make(fixture, "box");
    for (int round = 0; round < 60; round++) {
        const size_t changed = random_below(&random, MODEL_BLOBS);
        char name[8];
        snprintf(name, sizeof(name), "%02zu", changed);
        random_tags(&random, tags[changed]);
        put_tagged(fixture, "box", name, tags[changed]);
        char where[64];
        random_where(&random, where);
        const struct slice found = find_all(fixture, "box", where, 1 + random_below(&random, 5));
        size_t wanted = 0;
        for (size_t i = 0; i < MODEL_BLOBS; i++) {
            const struct metadata set = tags_of(fixture, tags[i]);
            if (!tag_predicate_holds(predicate_of(fixture, where, TAG_SEARCH), slice_of("box"),
                                     &set))
                continue;
            snprintf(name, sizeof(name), "/%02zu ", i);
            assert_non_null(strstr(found.data, name));
            wanted++;
        }
        assert_int_equal(found.len, wanted * strlen("box/00 "));
        arena_clear(&fixture->arena);
    }
}

static void a_search_without_a_tag_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct results results = { 0 };
    strbuf_init(&results.text, &fixture->arena);
    struct tag_position next;
    struct tag_search search = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .predicate = predicate_of(fixture, "@container='box'", TAG_SEARCH),
        .results_max = 10,
        .emit = note_result,
        .arg = &results,
    };
    assert_int_equal(tag_search_run(&fixture->service, &fixture->arena, &search, &next),
                     ERR_MALFORMED);
    search.predicate = predicate_of(fixture, "a='1'", TAG_SEARCH);
    search.container = slice_of("none");
    assert_int_equal(tag_search_run(&fixture->service, &fixture->arena, &search, &next),
                     ERR_CONTAINER_NOT_FOUND);
    /* A place that is not among the rows of the search is no place to begin at. */
    put_tagged(fixture, "box", "blob", "a=1");
    search.container = slice_of("box");
    search.from.container = slice_of("box");
    search.from.key = slice_of("zzz");
    assert_int_equal(tag_search_run(&fixture->service, &fixture->arena, &search, &next), OK);
    assert_int_equal(results.count, 1);
}

static void the_index_of_a_deleted_container_is_reclaimed(void **state)
{
    struct service_fixture *fixture = *state;
    struct container container;
    const struct container_name name = container_named("box");
    container_make(fixture, "box");
    assert_int_equal(container_get(&fixture->service, &fixture->arena, &name, NULL, &container),
                     OK);
    put_tagged(fixture, "box", "blob", "a=1&b=2");
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    assert_int_equal(fixture_dump_partition(
                         fixture, blob_partition(&fixture->arena, container.incarnation), &out),
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(blobs_are_found_by_their_tags),
        ON_ALL_ENGINES(every_change_of_tags_is_seen_by_searches),
        ON_ALL_ENGINES(conditions_on_tags_are_met_or_nothing_happens),
        ON_ALL_ENGINES(searches_find_what_a_scan_of_all_blobs_finds),
        ON_MEMORY(a_search_without_a_tag_is_refused),
        ON_MEMORY(the_index_of_a_deleted_container_is_reclaimed),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
