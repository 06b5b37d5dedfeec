/*
 * test_table_threads.c - many at once: a reader never sees half of a group, increments under
 * conditions are never lost, and no two writes of an entity have one ETag.
 */
#include <stdatomic.h>

#include "base/log.h"
#include "service/limits.h"
#include "table_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- groups and readers --- */

enum {
    MEMBERS = 20, /* of a group */
    WRITERS = 3,
    READERS = 3,
    ROUNDS = 150,
};

struct shared {
    struct service_fixture *fixture;
    _Atomic bool stop;
    _Atomic int faults; /* cmocka asserts in the test's own thread only */
    _Atomic int seen;
};

/* All rows of the partition get the same number, or are deleted, or made again. */
static enum err write_group(struct service_fixture *fixture, enum entity_action action,
                            int32_t number)
{
    struct arena arena = { 0 };
    struct entity_operation operations[MEMBERS];
    struct edm_property property = { slice_of("Number"), edm_int32(number) };
    for (size_t i = 0; i < MEMBERS; i++)
        operations[i] = (struct entity_operation){
            .action = action,
            .condition = action == ENTITY_DELETE ? ENTITY_IF_EXISTS : ENTITY_IF_ANY,
            .partition_key = slice_of("p"),
            .row_key = arena_printf(&arena, "%02zu", i),
            .properties = { .count = 1, .items = &property },
        };
    struct entity_change change = { .operations = operations, .operation_count = MEMBERS };
    const enum err err = entity_await(fixture, &change);
    arena_release(&arena);
    return err;
}

static void *write_groups(void *arg)
{
    struct shared *shared = arg;
    for (int32_t round = 0; round < ROUNDS; round++) {
        enum err err =
            write_group(shared->fixture, round % 2 == 0 ? ENTITY_REPLACE : ENTITY_MERGE, round);
        if (err != OK)
            shared->faults++;
        if (round % 5 == 0) {
            err = write_group(shared->fixture, ENTITY_DELETE, 0);
            if (err != OK && err != ERR_RESOURCE_NOT_FOUND)
                shared->faults++;
        }
    }
    return NULL;
}

struct page {
    size_t count;
    int32_t number;
    int64_t timestamp;
    bool differs;
};

static bool look(void *arg, const struct entity *entity)
{
    struct page *page = arg;
    const struct edm_value *number = edm_properties_find(&entity->properties, slice_of("Number"));
    if (page->count++ == 0) {
        page->number = number->int32;
        page->timestamp = entity->timestamp;
    }
    page->differs |= number->int32 != page->number || entity->timestamp != page->timestamp;
    return true;
}

static void *read_groups(void *arg)
{
    struct shared *shared = arg;
    while (!shared->stop) {
        struct arena arena = { 0 };
        struct page page = { 0 };
        struct entity_position next;
        const struct entity_query_request request = {
            .table = table_named("things"),
            .results_max = LIMIT_QUERY_RESULTS_MAX,
            .looked_max = LIMIT_QUERY_LOOKED_MAX,
            .emit = look,
            .arg = &page,
        };
        const enum err err = entity_query(&shared->fixture->service, &arena, &request, &next);
        if (err != OK || next.present || page.differs || (page.count != 0 && page.count != MEMBERS))
            shared->faults++;
        shared->seen += page.count != 0;
        arena_release(&arena);
    }
    return NULL;
}

static void readers_never_see_half_of_a_group(void **state)
{
    struct shared shared = { .fixture = *state };
    table_make(*state, "things");
    pthread_t writers[WRITERS];
    pthread_t readers[READERS];
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_groups, &shared), 0);
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_groups, &shared), 0);
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    assert_int_equal(write_group(*state, ENTITY_REPLACE, 0), OK);
    while (shared.seen == 0 && shared.faults == 0)
        sched_yield();
    shared.stop = true;
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(shared.faults, 0);
}

/* --- conditions --- */

enum {
    COUNTERS = 4, /* threads */
    INCREMENTS = 60,
    ETAGS = COUNTERS * INCREMENTS,
};

struct counting {
    struct service_fixture *fixture;
    _Atomic int faults;
    _Atomic size_t etag_count;
    int64_t etags[ETAGS];
};

/* Read, add one, write if nobody else has; until it succeeds. */
static void increment(struct counting *counting)
{
    const struct table_name table = table_named("things");
    enum err err = ERR_UPDATE_CONDITION_NOT_MET;
    while (err == ERR_UPDATE_CONDITION_NOT_MET) {
        struct arena arena = { 0 };
        struct entity entity;
        err = entity_get(&counting->fixture->service, &arena, &table, slice_of("p"), slice_of("r"),
                         &entity);
        if (err != OK || entity.properties.count != 1) {
            arena_release(&arena);
            break;
        }
        entity.properties.items[0].value.int32++;
        const struct entity_operation update = {
            .action = ENTITY_REPLACE,
            .condition = ENTITY_IF_ETAG,
            .if_etag = entity.timestamp,
            .partition_key = slice_of("p"),
            .row_key = slice_of("r"),
            .properties = entity.properties,
        };
        int64_t etag;
        err = entity_await_one(counting->fixture, &update, &etag);
        if (err == OK)
            counting->etags[counting->etag_count++] = etag;
        arena_release(&arena);
    }
    if (err != OK)
        counting->faults++;
}

static void *count_up(void *arg)
{
    for (int i = 0; i < INCREMENTS; i++)
        increment(arg);
    return NULL;
}

static int compare_etags(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void no_increment_under_a_condition_is_lost_and_no_etag_given_twice(void **state)
{
    struct service_fixture *fixture = *state;
    static struct counting counting;
    memset(&counting, 0, sizeof(counting));
    counting.fixture = fixture;
    table_make(fixture, "things");
    entity_put(fixture, "p", "r", 0);
    pthread_t threads[COUNTERS];
    for (size_t i = 0; i < COUNTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &counting), 0);
    for (size_t i = 0; i < COUNTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counting.faults, 0);
    assert_int_equal(entity_number(fixture, "p", "r"), ETAGS);
    qsort(counting.etags, ETAGS, sizeof(counting.etags[0]), compare_etags);
    for (size_t i = 1; i < ETAGS; i++)
        assert_true(counting.etags[i - 1] < counting.etags[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREADS(readers_never_see_half_of_a_group),
        ON_ROCKSDB(readers_never_see_half_of_a_group),
        ON_THREADS(no_increment_under_a_condition_is_lost_and_no_etag_given_twice),
        ON_ROCKSDB(no_increment_under_a_condition_is_lost_and_no_etag_given_twice),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
