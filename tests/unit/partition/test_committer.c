/*
 * test_committer.c - groups that cannot be written, and groups that a test makes up.  The engine is
 * the memory engine with a disk that is full on demand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "partition/committer.h"
#include "partition/engine.h"
#include "partition/memory/engine_memory.h"

static struct engine_ops ops; /* the memory engine's, with another commit */
static const struct engine_ops *memory_ops;
static bool disk_is_full;

static enum err commit_unless_full(struct engine_group *group, enum engine_durability durability)
{
    if (!disk_is_full)
        return memory_ops->group_commit(group, durability);
    /* What engine.h asks for: the group is empty and its changes are not there. */
    const struct engine_key key = { .partition = slice_of("p"), .key = slice_of("key") };
    assert_int_equal(memory_ops->group_commit(group, durability), OK);
    memory_ops->group_delete(group, &key);
    assert_int_equal(memory_ops->group_commit(group, durability), OK);
    return ERR_NO_SPACE;
}

struct step {
    struct partition_update update;
    bool puts;
    bool must_see; /* what an earlier step of the group put */
    enum err says;
    enum err expected;
    unsigned *done_count;
};

static enum err decide(struct change *change, void *arg)
{
    const struct step *step = arg;
    struct slice value;
    const enum err err = change_get(change, slice_of("key"), &value);
    if (err != (step->must_see ? OK : ERR_NOT_FOUND))
        return ERR_CORRUPT;
    if (step->puts)
        change_put(change, slice_of("key"), slice_of("value"));
    return step->says;
}

static void check_done(void *arg, enum err err)
{
    struct step *step = arg;
    assert_int_equal(err, step->expected);
    ++*step->done_count;
}

static void submit(struct committer *committer, struct step *step)
{
    step->update = (struct partition_update){
        .partition = slice_of("p"), .decide = decide, .arg = step, .done = check_done
    };
    committer_submit(committer, &step->update);
}

/* Submits the group from a `done`, so that the committer finds all of it at once. */
struct starter {
    struct partition_update update;
    struct committer *committer;
    struct step *steps;
    size_t count;
};

static enum err decide_nothing(struct change *change, void *arg)
{
    (void)change;
    (void)arg;
    return OK;
}

static void submit_all(void *arg, enum err err)
{
    struct starter *starter = arg;
    assert_int_equal(err, OK);
    for (size_t i = 0; i < starter->count; i++)
        submit(starter->committer, &starter->steps[i]);
}

static void run_steps(struct engine *engine, struct clock *clock, struct step *steps, size_t count)
{
    const struct committer_options options = { .engine = engine,
                                               .clock = clock,
                                               .mode = COMMITTER_OWN_THREAD };
    struct committer *committer = committer_new(&options);
    unsigned done_count = 0;
    for (size_t i = 0; i < count; i++)
        steps[i].done_count = &done_count;
    struct starter starter = {
        .update = { .partition = slice_of("p"), .decide = decide_nothing, .done = submit_all },
        .committer = committer,
        .steps = steps,
        .count = count,
    };
    starter.update.arg = &starter;
    committer_submit(committer, &starter.update);
    committer_free(committer);
    assert_int_equal(done_count, count);
}

static void a_full_disk_fails_all_that_depends_on_what_was_not_written(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, 1000);
    struct engine *engine = engine_memory_new();
    memory_ops = engine->ops;
    ops = *memory_ops;
    ops.group_commit = commit_unless_full;
    engine->ops = &ops;

    disk_is_full = true;
    struct step refused[] = {
        { .says = ERR_CONDITION_NOT_MET, .expected = ERR_CONDITION_NOT_MET },
        { .says = OK, .expected = OK },
        { .puts = true, .says = OK, .expected = ERR_NO_SPACE },
        /* Decided from what the one before it put. */
        { .must_see = true, .says = ERR_EXISTS, .expected = ERR_NO_SPACE },
        { .must_see = true, .says = OK, .expected = ERR_NO_SPACE },
    };
    run_steps(engine, &clock, refused, sizeof(refused) / sizeof(refused[0]));

    disk_is_full = false;
    struct step accepted[] = {
        { .puts = true, .says = OK, .expected = OK },
        { .must_see = true, .says = ERR_EXISTS, .expected = ERR_EXISTS },
    };
    run_steps(engine, &clock, accepted, sizeof(accepted) / sizeof(accepted[0]));
    engine_close(engine);
}

static void an_update_waits_for_the_step_that_takes_it(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, 1000);
    struct engine *engine = engine_memory_new();
    const struct committer_options options = { .engine = engine,
                                               .clock = &clock,
                                               .mode = COMMITTER_BY_STEP };
    struct committer *committer = committer_new(&options);
    unsigned done_count = 0;
    struct step steps[] = {
        /* What is read, written and undone is as before for the next. */
        { .puts = true, .says = ERR_EXISTS, .expected = ERR_EXISTS },
        { .puts = true, .says = OK, .expected = OK },
        { .must_see = true, .says = OK, .expected = OK },
    };
    assert_int_equal(committer_step(committer, 10), 0);
    for (size_t i = 0; i < 3; i++) {
        steps[i].done_count = &done_count;
        submit(committer, &steps[i]);
    }
    assert_int_equal(done_count, 0);
    assert_int_equal(committer_step(committer, 1), 1);
    assert_int_equal(done_count, 1);
    assert_int_equal(committer_step(committer, 10), 2);
    assert_int_equal(done_count, 3);
    assert_int_equal(committer_step(committer, 10), 0);

    /* The queue was emptied and is filled again. */
    submit(committer, &steps[2]);
    assert_int_equal(committer_step(committer, 10), 1);
    assert_int_equal(done_count, 4);
    committer_free(committer);
    engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_fails_all_that_depends_on_what_was_not_written),
        cmocka_unit_test(an_update_waits_for_the_step_that_takes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
