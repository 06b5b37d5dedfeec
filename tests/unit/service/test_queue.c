/*
 * test_queue.c - queues: creating, metadata, policies, deleting, listing.
 */
#include "service/queue/queue.h"

#include "base/log.h"
#include "queue_fixture.h"
#include "service/row.h"
#include "service/sweeper.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct metadata_pair pair(const char *name, const char *value)
{
    return (struct metadata_pair){ slice_of(name), slice_of(value) };
}

static enum err create_with(struct service_fixture *fixture, struct metadata_pair *pairs,
                            size_t count, bool *existed)
{
    struct queue_change change = { .metadata = { pairs, count } };
    const enum err err = queue_await(fixture, "work", queue_create, &change);
    *existed = change.existed;
    return err;
}

static struct queue read_queue(struct service_fixture *fixture, const char *name)
{
    const struct queue_name full = queue_named(name);
    struct queue queue;
    assert_int_equal(queue_get(&fixture->service, &fixture->arena, &full, &queue), OK);
    return queue;
}

static enum err find_queue(struct service_fixture *fixture, const char *name)
{
    const struct queue_name full = queue_named(name);
    struct queue queue;
    return queue_get(&fixture->service, &fixture->arena, &full, &queue);
}

static void a_queue_is_created_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pairs[] = { pair("Color", "blue"), pair("size", "9") };
    bool existed;
    assert_int_equal(find_queue(fixture, "work"), ERR_QUEUE_NOT_FOUND);
    assert_int_equal(create_with(fixture, pairs, 2, &existed), OK);
    assert_false(existed);
    const struct queue queue = read_queue(fixture, "work");
    assert_int_equal(queue.metadata.count, 2);
    assert_true(slice_is(queue.metadata.pairs[0].name, "Color"));
    assert_int_equal(queue_count(fixture, "work"), 0);
}

static void creating_it_again_with_the_same_metadata_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pairs[] = { pair("Color", "blue"), pair("size", "9") };
    struct metadata_pair other_case[] = { pair("SIZE", "9"), pair("color", "blue") };
    bool existed;
    assert_int_equal(create_with(fixture, pairs, 2, &existed), OK);
    const uint64_t incarnation = read_queue(fixture, "work").incarnation;
    assert_int_equal(create_with(fixture, other_case, 2, &existed), OK);
    assert_true(existed);
    const struct queue queue = read_queue(fixture, "work");
    assert_int_equal(queue.incarnation, incarnation);
    assert_true(slice_is(queue.metadata.pairs[0].name, "Color"));
}

static void creating_it_again_with_other_metadata_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pairs[] = { pair("color", "blue"), pair("size", "9") };
    struct metadata_pair other_value[] = { pair("color", "Blue"), pair("size", "9") };
    struct metadata_pair other_name[] = { pair("colour", "blue"), pair("size", "9") };
    bool existed;
    assert_int_equal(create_with(fixture, pairs, 2, &existed), OK);
    assert_int_equal(create_with(fixture, NULL, 0, &existed), ERR_QUEUE_EXISTS);
    assert_int_equal(create_with(fixture, pairs, 1, &existed), ERR_QUEUE_EXISTS);
    assert_int_equal(create_with(fixture, other_value, 2, &existed), ERR_QUEUE_EXISTS);
    assert_int_equal(create_with(fixture, other_name, 2, &existed), ERR_QUEUE_EXISTS);
}

static void metadata_is_replaced_as_a_whole(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pairs[] = { pair("color", "blue"), pair("size", "9") };
    bool existed;
    assert_int_equal(create_with(fixture, pairs, 2, &existed), OK);
    struct metadata_pair only[] = { pair("a", "b") };
    struct queue_change change = { .metadata = { only, 1 } };
    assert_int_equal(queue_await(fixture, "work", queue_set_metadata, &change), OK);
    const struct queue queue = read_queue(fixture, "work");
    assert_int_equal(queue.metadata.count, 1);
    assert_true(slice_is(queue.metadata.pairs[0].value, "b"));
    assert_int_equal(queue_await(fixture, "nowhere", queue_set_metadata, &change),
                     ERR_QUEUE_NOT_FOUND);
}

static void policies_are_kept_beside_metadata(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pairs[] = { pair("color", "blue") };
    bool existed;
    assert_int_equal(create_with(fixture, pairs, 1, &existed), OK);
    struct queue_change change = {
        .policies = { .count = 1,
                      .policies[0] = { .id = slice_of("one"),
                                       .expiry = FIXTURE_T0,
                                       .permission = slice_of("raup") } },
    };
    assert_int_equal(queue_await(fixture, "work", queue_set_acl, &change), OK);
    struct queue queue = read_queue(fixture, "work");
    assert_int_equal(queue.metadata.count, 1);
    assert_int_equal(queue.policies.count, 1);
    assert_true(slice_is(queue.policies.policies[0].permission, "raup"));
    change.policies.count = 0;
    assert_int_equal(queue_await(fixture, "work", queue_set_acl, &change), OK);
    queue = read_queue(fixture, "work");
    assert_int_equal(queue.policies.count, 0);
    assert_int_equal(queue_await(fixture, "nowhere", queue_set_acl, &change), ERR_QUEUE_NOT_FOUND);
}

static void a_deleted_queue_is_gone_with_its_messages(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    assert_int_equal(queue_remove(fixture, "work"), OK);
    assert_int_equal(queue_remove(fixture, "work"), ERR_QUEUE_NOT_FOUND);
    assert_int_equal(find_queue(fixture, "work"), ERR_QUEUE_NOT_FOUND);
    struct message_put put = put_of("two");
    assert_int_equal(put_await(fixture, &put), ERR_QUEUE_NOT_FOUND);
    struct message_get get = get_of(1, 30);
    assert_int_equal(get_await(fixture, &get), ERR_QUEUE_NOT_FOUND);
    assert_int_equal(clear_all(fixture), ERR_QUEUE_NOT_FOUND);

    queue_make(fixture, "work");
    assert_int_equal(queue_count(fixture, "work"), 0);
    get_nothing(fixture);
}

/* --- listing --- */

struct names {
    size_t count;
    char text[200];
    size_t stop_after; /* 0: never */
};

static bool note_name(void *arg, struct slice name, const struct queue *queue)
{
    struct names *names = arg;
    assert_true(queue->incarnation > 0);
    const size_t len = strlen(names->text);
    snprintf(names->text + len, sizeof(names->text) - len, "%.*s ", (int)name.len, name.data);
    names->count++;
    return names->count != names->stop_after;
}

static struct slice list(struct service_fixture *fixture, const char *prefix, const char *from,
                         size_t max, struct names *names)
{
    const struct queue_list_request request = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .prefix = slice_of(prefix),
        .from = slice_of(from),
        .results_max = max,
        .emit = note_name,
        .arg = names,
    };
    struct slice next;
    assert_int_equal(queue_list(&fixture->service, &fixture->arena, &request, &next), OK);
    return next;
}

static void queues_are_listed_in_pages_by_name(void **state)
{
    struct service_fixture *fixture = *state;
    static const char *const all[] = { "zebra", "ant", "bee", "ant-lion" };
    for (size_t i = 0; i < 4; i++)
        queue_make(fixture, all[i]);
    container_make(fixture, "ant");
    struct names names = { 0 };
    assert_int_equal(list(fixture, "", "", 100, &names).len, 0);
    assert_string_equal(names.text, "ant ant-lion bee zebra ");

    names = (struct names){ 0 };
    assert_true(slice_is(list(fixture, "", "", 3, &names), "zebra"));
    assert_string_equal(names.text, "ant ant-lion bee ");
    names = (struct names){ 0 };
    assert_int_equal(list(fixture, "", "zebra", 3, &names).len, 0);
    assert_string_equal(names.text, "zebra ");
    names = (struct names){ .stop_after = 1 };
    assert_true(slice_is(list(fixture, "ant", "", 3, &names), "ant-lion"));
    assert_string_equal(names.text, "ant ");
}

/* --- names and rows --- */

static void names_follow_the_rules(void **state)
{
    (void)state;
    assert_int_equal(queue_name_check(slice_of("abc")), OK);
    assert_int_equal(queue_name_check(slice_of("a-1-b")), OK);
    assert_int_equal(queue_name_check(slice_of("ab")), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(queue_name_check(slice_of("")), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(queue_name_check(slice_of("a--b")), ERR_INVALID_RESOURCE_NAME);
    assert_int_equal(queue_name_check(slice_of("-ab")), ERR_INVALID_RESOURCE_NAME);
    assert_int_equal(queue_name_check(slice_of("Abc")), ERR_INVALID_RESOURCE_NAME);
    assert_int_equal(queue_name_check(slice_of("$root")), ERR_INVALID_RESOURCE_NAME);
    char longest[64];
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(queue_name_check(slice_make(longest, 63)), OK);
    assert_int_equal(queue_name_check(slice_make(longest, 64)), ERR_RESOURCE_NAME_LENGTH);
}

static void a_damaged_record_is_corrupt_wherever_it_is_cut(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pairs[] = { pair("color", "blue") };
    const struct queue queue = {
        .incarnation = 4711,
        .metadata = { pairs, 1 },
        .policies = { .count = 1, .policies[0] = { .id = slice_of("one") } },
    };
    const struct slice row = queue_encode(&fixture->arena, &queue);
    struct queue decoded;
    assert_int_equal(queue_decode(&fixture->arena, row, &decoded), OK);
    assert_int_equal(decoded.incarnation, 4711);
    for (size_t len = 0; len < row.len; len++) {
        const enum err err = queue_decode(&fixture->arena, slice_head(row, len), &decoded);
        assert_true(err == OK || err == ERR_CORRUPT);
    }
    assert_int_equal(queue_decode(&fixture->arena, slice_of("nonsense"), &decoded), ERR_CORRUPT);
    struct strbuf empty;
    strbuf_init(&empty, &fixture->arena);
    row_begin(&empty, ROW_QUEUE);
    assert_int_equal(queue_decode(&fixture->arena, strbuf_slice(&empty), &decoded), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_queue_is_created_once),
        ON_ALL_ENGINES(creating_it_again_with_the_same_metadata_changes_nothing),
        ON_ALL_ENGINES(creating_it_again_with_other_metadata_is_refused),
        ON_ALL_ENGINES(metadata_is_replaced_as_a_whole),
        ON_ALL_ENGINES(policies_are_kept_beside_metadata),
        ON_ALL_ENGINES(a_deleted_queue_is_gone_with_its_messages),
        ON_ALL_ENGINES(queues_are_listed_in_pages_by_name),
        cmocka_unit_test(names_follow_the_rules),
        ON_MEMORY(a_damaged_record_is_corrupt_wherever_it_is_cut),
    };
    return cmocka_run_group_tests_name("queue", tests, quiet, NULL);
}
