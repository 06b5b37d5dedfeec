/*
 * test_mutex.c - the order of locks is kept or the process ends; waiting lets go of the lock.
 *
 * What must panic does so in a child, whose exit says whether it did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

/* Three ranks, outermost first; which ones they are does not matter. */
static const enum lock_rank outer_rank = LOCK_HTTP_SERVER;
static const enum lock_rank middle_rank = LOCK_PARTITION_COMMITTER;
static const enum lock_rank inner_rank = LOCK_BASE_DISK;

struct locks {
    struct mutex outer;
    struct mutex middle;
    struct mutex inner;
    struct mutex other_middle;
    struct condvar changed;
};

static void locks_init(struct locks *locks)
{
    mutex_init(&locks->outer, outer_rank);
    mutex_init(&locks->middle, middle_rank);
    mutex_init(&locks->inner, inner_rank);
    mutex_init(&locks->other_middle, middle_rank);
    condvar_init(&locks->changed);
}

static void locks_release(struct locks *locks)
{
    mutex_release(&locks->outer);
    mutex_release(&locks->middle);
    mutex_release(&locks->inner);
    mutex_release(&locks->other_middle);
    condvar_release(&locks->changed);
}

/* Run in a child, and return what it wrote to standard error; it ended by a panic or not. */
static bool panics(void (*run)(struct locks *), const char *expected)
{
    static char text[4096];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct locks locks;
        signal(SIGABRT, SIG_DFL);
        alarm(30); /* for a wait that should not have begun */
        (void)dup2(ends[1], STDERR_FILENO);
        locks_init(&locks);
        run(&locks);
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0;)
        len += (size_t)got;
    text[len] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, expected) != NULL;
}

static void locks_are_taken_from_the_outermost_in(void **state)
{
    (void)state;
    struct locks locks;
    locks_init(&locks);
    for (int i = 0; i < 3; i++) {
        mutex_lock(&locks.outer);
        mutex_lock(&locks.middle);
        mutex_lock(&locks.inner);
        mutex_unlock(&locks.inner);
        mutex_unlock(&locks.middle);
        mutex_unlock(&locks.outer);
    }
    mutex_lock(&locks.inner);
    mutex_unlock(&locks.inner);
    locks_release(&locks);
}

static void locks_are_let_go_of_in_any_order(void **state)
{
    (void)state;
    struct locks locks;
    locks_init(&locks);
    mutex_lock(&locks.outer);
    mutex_lock(&locks.middle);
    mutex_unlock(&locks.outer);
    mutex_lock(&locks.inner);
    mutex_unlock(&locks.middle);
    mutex_unlock(&locks.inner);
    mutex_lock(&locks.outer);
    mutex_unlock(&locks.outer);
    locks_release(&locks);
}

static void take_outer_under_inner(struct locks *locks)
{
    mutex_lock(&locks->inner);
    mutex_lock(&locks->outer);
}

/* The one between them is let go of: the inner one still forbids the outer. */
static void take_outer_after_middle(struct locks *locks)
{
    mutex_lock(&locks->middle);
    mutex_lock(&locks->inner);
    mutex_unlock(&locks->middle);
    mutex_lock(&locks->outer);
}

static void taking_an_outer_lock_under_an_inner_one_is_a_panic_that_names_both(void **state)
{
    (void)state;
    assert_true(panics(take_outer_under_inner, "HTTP_SERVER is taken under BASE_DISK"));
    assert_true(panics(take_outer_after_middle, "HTTP_SERVER is taken under BASE_DISK"));
}

static void take_two_of_a_rank(struct locks *locks)
{
    mutex_lock(&locks->middle);
    mutex_lock(&locks->other_middle);
}

static void take_one_twice(struct locks *locks)
{
    mutex_lock(&locks->middle);
    mutex_lock(&locks->middle);
}

static void two_locks_of_one_rank_are_never_held_together(void **state)
{
    (void)state;
    assert_true(panics(take_two_of_a_rank, "PARTITION_COMMITTER is taken under"));
    assert_true(panics(take_one_twice, "PARTITION_COMMITTER is taken under"));
}

static void unlock_what_is_free(struct locks *locks)
{
    mutex_lock(&locks->middle);
    mutex_unlock(&locks->inner);
}

static void unlocking_what_is_not_held_is_a_panic(void **state)
{
    (void)state;
    assert_true(panics(unlock_what_is_free, "BASE_DISK is unlocked by a thread without it"));
}

static void wait_under_the_outer(struct locks *locks)
{
    mutex_lock(&locks->outer);
    mutex_lock(&locks->inner);
    condvar_wait(&locks->changed, &locks->outer);
}

static void wait_without_a_lock(struct locks *locks)
{
    condvar_wait(&locks->changed, &locks->outer);
}

static void waiting_needs_the_innermost_lock(void **state)
{
    (void)state;
    assert_true(panics(wait_under_the_outer, "HTTP_SERVER is waited under"));
    assert_true(panics(wait_without_a_lock, "HTTP_SERVER is waited under"));
}

static void nothing_wrong(struct locks *locks)
{
    mutex_lock(&locks->outer);
    mutex_lock(&locks->inner);
}

static void a_child_that_keeps_the_order_does_not_panic(void **state)
{
    (void)state;
    assert_false(panics(nothing_wrong, ""));
}

/* --- threads --- */

struct meeting {
    struct locks locks;
    int turn; /* under locks.middle */
};

static void *take_turns(void *arg)
{
    struct meeting *meeting = arg;
    for (int i = 0; i < 1000; i++) {
        mutex_lock(&meeting->locks.middle);
        while (meeting->turn % 2 == 0)
            condvar_wait(&meeting->locks.changed, &meeting->locks.middle);
        meeting->turn++;
        condvar_signal(&meeting->locks.changed);
        mutex_unlock(&meeting->locks.middle);
    }
    return NULL;
}

/* Neither thread would get its turn if waiting kept the lock, and the count would be short if it
   came back without it. */
static void waiting_lets_go_of_the_lock_and_takes_it_again(void **state)
{
    (void)state;
    struct meeting meeting = { 0 };
    locks_init(&meeting.locks);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, take_turns, &meeting), 0);
    for (int i = 0; i < 1000; i++) {
        mutex_lock(&meeting.locks.middle);
        while (meeting.turn % 2 == 1)
            condvar_wait(&meeting.locks.changed, &meeting.locks.middle);
        meeting.turn++;
        condvar_signal(&meeting.locks.changed);
        mutex_unlock(&meeting.locks.middle);
    }
    pthread_join(other, NULL);
    assert_int_equal(meeting.turn, 2000);
    locks_release(&meeting.locks);
}

static void *take_outer_here(void *arg)
{
    struct meeting *meeting = arg;
    mutex_lock(&meeting->locks.outer);
    mutex_unlock(&meeting->locks.outer);
    return NULL;
}

static void the_order_is_each_threads_own(void **state)
{
    (void)state;
    struct meeting meeting = { 0 };
    locks_init(&meeting.locks);
    mutex_lock(&meeting.locks.inner);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, take_outer_here, &meeting), 0);
    pthread_join(other, NULL);
    mutex_unlock(&meeting.locks.inner);
    locks_release(&meeting.locks);
}

static void waiting_ends_when_its_time_has_come(void **state)
{
    (void)state;
    struct locks locks;
    locks_init(&locks);
    mutex_lock(&locks.outer);
    assert_false(condvar_wait_until(&locks.changed, &locks.outer, 0));
    const int64_t until_us = clock_monotonic_us() + 1500;
    while (condvar_wait_until(&locks.changed, &locks.outer, until_us))
        continue;
    assert_true(clock_monotonic_us() >= until_us);
    /* And it is held again. */
    mutex_unlock(&locks.outer);
    locks_release(&locks);
}

static struct mutex constant = MUTEX_INITIALIZER(LOCK_SERVICE_HASHERS);

static void a_constant_mutex_needs_no_init(void **state)
{
    (void)state;
    mutex_lock(&constant);
    mutex_unlock(&constant);
    assert_int_equal(constant.rank, LOCK_SERVICE_HASHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_are_taken_from_the_outermost_in),
        cmocka_unit_test(locks_are_let_go_of_in_any_order),
        cmocka_unit_test(taking_an_outer_lock_under_an_inner_one_is_a_panic_that_names_both),
        cmocka_unit_test(two_locks_of_one_rank_are_never_held_together),
        cmocka_unit_test(unlocking_what_is_not_held_is_a_panic),
        cmocka_unit_test(waiting_needs_the_innermost_lock),
        cmocka_unit_test(a_child_that_keeps_the_order_does_not_panic),
        cmocka_unit_test(waiting_lets_go_of_the_lock_and_takes_it_again),
        cmocka_unit_test(the_order_is_each_threads_own),
        cmocka_unit_test(waiting_ends_when_its_time_has_come),
        cmocka_unit_test(a_constant_mutex_needs_no_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
