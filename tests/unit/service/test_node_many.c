/*
 * A directory that holds very much.
 */
#include "node_fixture.h"

enum {
    MANY = 100000,
    MANY_AT_ONCE = 500,
};

struct many_job {
    struct node_change change;
    struct arena arena;
    struct waiter waiter;
};

static void make_many(struct service_fixture *fixture)
{
    struct many_job *jobs = calloc(MANY_AT_ONCE, sizeof(*jobs));
    assert_non_null(jobs);
    for (int i = 0; i < MANY; i += MANY_AT_ONCE) {
        for (int j = 0; j < MANY_AT_ONCE; j++) {
            char path[32];
            struct many_job *job = &jobs[j];
            snprintf(path, sizeof(path), "dir/File%06d", (i + j) * 7 % MANY);
            job->change = (struct node_change){ .kind = NODE_FILE, .size_bytes = 1 };
            waiter_bind(&job->waiter, &job->change.base, &job->arena);
            job->change.name =
                node_named(&job->arena, arena_copy(&job->arena, slice_of(path)).data, 0);
            node_create(&fixture->service, &job->change);
        }
        for (int j = 0; j < MANY_AT_ONCE; j++) {
            assert_int_equal(waiter_wait(&jobs[j].waiter), OK);
            arena_release(&jobs[j].arena);
        }
    }
    free(jobs);
}

static bool expect_next(void *arg, const struct node *node)
{
    int *count = arg;
    char name[16];
    snprintf(name, sizeof(name), "File%06d", (*count)++);
    assert_true(slice_is(node->name, name));
    return true;
}

static void a_directory_of_100000_entries_is_listed_in_pages(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(directory_create(fixture, "dir"), OK);
    make_many(fixture);
    struct arena arena = { 0 };
    int count = 0;
    int pages = 0;
    struct slice from = { 0 };
    do {
        const struct node_list_request request = {
            .directory = node_named(&arena, "dir", 0),
            .from = from,
            .results_max = 5000,
            .emit = expect_next,
            .arg = &count,
        };
        struct node directory;
        assert_int_equal(node_list(&fixture->service, &arena, &request, &directory, &from), OK);
        pages++;
    } while (from.len > 0);
    assert_int_equal(count, MANY);
    assert_int_equal(pages, MANY / 5000);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ROCKSDB(a_directory_of_100000_entries_is_listed_in_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
