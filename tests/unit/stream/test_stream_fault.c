/*
 * test_stream_fault.c - the stream layer on a disk that fails and loses power.
 *
 *   failures     for n = 1, 2, 3...: the nth call to the disk fails; whatever the stream says was
 *                stored is there after reopening, and nothing leaks
 *   power cuts   for many seeds: whatever had its sync callback and was recorded as owned is
 *                intact after reopening and settling, and settling leaves nothing else
 *
 * A failed sync ends the process, so the failures are tried in child processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "stream/stream.h"
#include "stream_fixture.h"

enum {
    OWNED_MAX = 64,
};

/* Stands for the metadata: the ranges that are owned, in the order they were stored. */
struct metadata {
    struct stream_range ranges[OWNED_MAX];
    uint64_t seeds[OWNED_MAX];
    size_t count;
};

static void metadata_add(struct metadata *metadata, struct stream_range range, uint64_t seed)
{
    if (metadata->count == OWNED_MAX)
        abort();
    metadata->ranges[metadata->count] = range;
    metadata->seeds[metadata->count] = seed;
    metadata->count++;
}

static struct stream_range metadata_remove(struct metadata *metadata, size_t index)
{
    const struct stream_range range = metadata->ranges[index];
    metadata->count--;
    for (size_t i = index; i < metadata->count; i++) {
        metadata->ranges[i] = metadata->ranges[i + 1];
        metadata->seeds[i] = metadata->seeds[i + 1];
    }
    return range;
}

static uint64_t metadata_bytes(const struct metadata *metadata)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < metadata->count; i++)
        bytes += stream_allocated_bytes(metadata->ranges[i].length);
    return bytes;
}

/* What the partition layer's reclaimer does with an unsettled extent. */
struct settler {
    struct stream *stream;
    const struct metadata *metadata;
    enum err err;
};

static int compare_offsets(const void *a, const void *b)
{
    const struct stream_range *left = a;
    const struct stream_range *right = b;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

static void settle_extent(void *arg, uint64_t extent_id, uint64_t length)
{
    struct settler *settler = arg;
    struct stream_range live[OWNED_MAX];
    size_t count = 0;
    for (size_t i = 0; i < settler->metadata->count; i++) {
        if (settler->metadata->ranges[i].extent_id == extent_id)
            live[count++] = settler->metadata->ranges[i];
    }
    qsort(live, count, sizeof(live[0]), compare_offsets);
    const enum err err = stream_settle(settler->stream, extent_id, live, count, &length);
    if (err != OK)
        settler->err = err;
}

static enum err settle_all(struct stream *stream, const struct metadata *metadata)
{
    struct settler settler = { .stream = stream, .metadata = metadata };
    stream_barrier(stream);
    stream_each_unsettled(stream, settle_extent, &settler);
    return settler.err;
}

/* Open a disk anew and see that it holds what the metadata names, and after settling only that. */
static const char *check_disk(struct io *io, const struct metadata *metadata)
{
    const char *fault = NULL;
    struct clock clock;
    clock_init_manual(&clock, 1000000);
    struct stream *stream;
    if (stream_open_with(io, &clock, &fixture_options, &stream) != OK)
        return "the stream cannot be opened";
    for (int settled = 0; settled < 2; settled++) {
        for (size_t i = 0; i < metadata->count; i++) {
            if (fixture_check(stream, &metadata->ranges[i], metadata->seeds[i]) != OK)
                fault = settled ? "a payload is lost by settling" : "a payload is lost";
        }
        if (!settled && settle_all(stream, metadata) != OK)
            fault = "settling fails";
    }
    stream_close(stream);
    if (io_sync_dir(io, "extents") != OK)
        fault = "the directory cannot be synced";
    if (fault == NULL && io_memory_bytes(io) != metadata_bytes(metadata))
        fault = "settling leaves garbage";
    return fault;
}

/* --- failures --- */

/* Store and abandon payloads; errors are fine, what is acknowledged is recorded. */
static void exercise_writing(struct stream *stream, struct metadata *metadata)
{
    static const uint64_t lengths[] = { 100,    70000,  FIXTURE_DEDICATED_BYTES, 250000,
                                        290000, 290000, FIXTURE_DEDICATED_BYTES, 5000 };
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct stream_range range;
        if (fixture_store(stream, seed, lengths[seed], &range) == OK)
            metadata_add(metadata, range, seed);
        struct stream_writer *abandoned;
        if (fixture_write(stream, seed, lengths[seed], 65536, &abandoned) == OK)
            stream_writer_abort(abandoned);
    }
}

/* Read, reclaim and settle; a payload may be unreadable for a moment but is never wrong. */
static bool exercise_the_rest(struct stream *stream, struct metadata *metadata)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const int result = fixture_check(stream, &metadata->ranges[i], metadata->seeds[i]);
        if (result != OK && result != ERR_IO)
            return false;
    }
    for (int i = 0; i < 2 && metadata->count > 1; i++) {
        const struct stream_range old = metadata_remove(metadata, 1);
        stream_barrier(stream);
        (void)stream_reclaim(stream, &old);
    }
    (void)!stream_reclaim_sync(stream);
    (void)!settle_all(stream, metadata);
    return true;
}

/* Exit codes of the child. */
enum {
    CHILD_FINE = 0,
    CHILD_NOT_REACHED = 100, /* fewer than n calls are made */
    CHILD_FAULT = 101,
};

static int child_run(uint64_t nth, enum err err)
{
    struct io *io = io_memory_new();
    struct metadata metadata = { 0 };
    struct clock clock;
    clock_init_manual(&clock, 1000);
    io_memory_fail_at(io, nth, err);
    bool right = true;
    struct stream *stream;
    if (stream_open_with(io, &clock, &fixture_options, &stream) == OK) {
        exercise_writing(stream, &metadata);
        stream_close(stream);
    }
    if (stream_open_with(io, &clock, &fixture_options, &stream) == OK) {
        right = exercise_the_rest(stream, &metadata);
        stream_close(stream);
    }
    const bool reached = io_memory_calls(io) >= nth;
    io_memory_fail_at(io, 0, err);
    const char *fault = right ? check_disk(io, &metadata) : "a payload is wrong";
    io_free(io);
    if (fault != NULL) {
        fprintf(stderr, "failure of call %u: %s\n", (unsigned)nth, fault);
        return CHILD_FAULT;
    }
    return reached ? CHILD_FINE : CHILD_NOT_REACHED;
}

/* Whether what the child wrote to its standard error has the words. */
static bool said(FILE *log, const char *words)
{
    char line[4096];
    rewind(log);
    bool found = false;
    while (fgets(line, sizeof(line), log) != NULL)
        found |= strstr(line, words) != NULL;
    return found;
}

static void print_log(FILE *log)
{
    char line[4096];
    rewind(log);
    while (fgets(line, sizeof(line), log) != NULL)
        fputs(line, stderr);
}

/* Run the child; true if it ended with the panic that a failed sync asks for. */
static bool run_child(uint64_t nth, enum err err, int *code)
{
    FILE *log = tmpfile();
    assert_non_null(log);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fileno(log), STDERR_FILENO);
        exit(child_run(nth, err));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    const bool panicked = WIFSIGNALED(status) && said(log, " panic: ");
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (!panicked && *code != CHILD_FINE && *code != CHILD_NOT_REACHED)
        print_log(log);
    fclose(log);
    return panicked;
}

static void whichever_call_fails_nothing_acknowledged_is_lost(void **state)
{
    (void)state;
    unsigned panic_count = 0;
    unsigned fine_count = 0;
    for (uint64_t nth = 1;; nth++) {
        int code;
        if (run_child(nth, nth % 2 == 0 ? ERR_IO : ERR_NO_SPACE, &code)) {
            panic_count++;
            continue;
        }
        if (code == CHILD_NOT_REACHED)
            break;
        assert_int_equal(code, CHILD_FINE);
        fine_count++;
    }
    /* A call for each stored payload, for the names of each new extent, and what reclaiming and
       settling sync: those and no other failures end the process. */
    assert_in_range(panic_count, 12, 20);
    assert_true(fine_count > 50);
}

/* --- power cuts --- */

static uint64_t next_choice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static uint64_t any_length(uint64_t *choices)
{
    static const uint64_t lengths[] = { 1, 4000, 4077, 30000, 65536, 100000, 299999, 300000 };
    return lengths[next_choice(choices) % 8];
}

/* A disk in use, and the metadata that goes with it. */
struct run {
    uint64_t seed;
    uint64_t choices;
    struct io *io;
    struct stream *stream;
    struct metadata metadata;
};

/* Cut the power on a copy of the disk, and look at what is left. */
static void cut(struct run *run)
{
    struct io *left = io_memory_survivor(run->io, next_choice(&run->choices));
    const char *fault = check_disk(left, &run->metadata);
    if (fault != NULL)
        print_error("seed %u: %s\n", (unsigned)run->seed, fault);
    assert_null(fault);
    io_free(left);
}

/* Some payloads are stored, some abandoned on the way, some replaced; the power goes anywhere. */
static void step(struct run *run, uint64_t payload_seed)
{
    const uint64_t length = any_length(&run->choices);
    struct stream_writer *writer;
    assert_int_equal(fixture_write(run->stream, payload_seed, length, 50000, &writer), OK);
    if (next_choice(&run->choices) % 4 == 0)
        cut(run);
    if (next_choice(&run->choices) % 4 == 0) {
        stream_writer_abort(writer);
        return;
    }
    fixture_sync(writer);
    metadata_add(&run->metadata, stream_writer_range(writer), payload_seed);
    cut(run);
    stream_writer_commit(writer);
    if (next_choice(&run->choices) % 3 == 0) {
        const size_t index = next_choice(&run->choices) % run->metadata.count;
        const struct stream_range old = metadata_remove(&run->metadata, index);
        stream_barrier(run->stream);
        assert_true(stream_reclaim(run->stream, &old));
        cut(run);
    }
    if (next_choice(&run->choices) % 5 == 0) {
        assert_int_equal(settle_all(run->stream, &run->metadata), OK);
        cut(run);
    }
}

static void what_was_synced_and_owned_survives_a_power_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct run run = { .seed = seed, .choices = seed };
        struct clock clock;
        clock_init_manual(&clock, 1000);
        run.io = io_memory_new();
        assert_int_equal(stream_open_with(run.io, &clock, &fixture_options, &run.stream), OK);
        cut(&run);
        for (uint64_t i = 0; i < 15; i++)
            step(&run, seed * 1000 + i);
        stream_close(run.stream);
        cut(&run);
        io_free(run.io);
    }
}

/* What of the space that was given back a power cut restores. */
struct restored {
    struct io *io;
    struct clock clock;
    struct stream *stream;
    struct metadata metadata; /* four ranges of one extent that takes no more */
};

static void restored_begin(struct restored *restored)
{
    *restored = (struct restored){ .io = io_memory_new() };
    clock_init_manual(&restored->clock, 1000);
    for (int reopened = 0; reopened < 2; reopened++) {
        assert_int_equal(
            stream_open_with(restored->io, &restored->clock, &fixture_options, &restored->stream),
            OK);
        for (uint64_t i = 0; !reopened && i < 4; i++) {
            struct stream_range range;
            assert_int_equal(fixture_store(restored->stream, i, 50000, &range), OK);
            metadata_add(&restored->metadata, range, i);
        }
        if (!reopened)
            stream_close(restored->stream);
    }
}

static uint64_t restored_end(struct restored *restored, uint64_t seed)
{
    struct io *left = io_memory_survivor(restored->io, seed);
    const uint64_t bytes = io_memory_bytes(left) - metadata_bytes(&restored->metadata);
    io_free(left);
    stream_close(restored->stream);
    io_free(restored->io);
    return bytes;
}

static uint64_t restored_after_reclaiming(uint64_t seed, bool synced)
{
    struct restored restored;
    restored_begin(&restored);
    struct stream_range dedicated;
    assert_int_equal(fixture_store(restored.stream, 9, FIXTURE_DEDICATED_BYTES, &dedicated), OK);
    const struct stream_range old = metadata_remove(&restored.metadata, 1);
    stream_barrier(restored.stream);
    assert_true(stream_reclaim(restored.stream, &old));
    assert_true(stream_reclaim(restored.stream, &dedicated));
    if (synced)
        assert_int_equal(stream_reclaim_sync(restored.stream), OK);
    return restored_end(&restored, seed);
}

static void gaps_and_tail_stay_given_back_once_an_extent_is_settled(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct restored restored;
        restored_begin(&restored);
        metadata_remove(&restored.metadata, 3);
        metadata_remove(&restored.metadata, 1);
        assert_int_equal(settle_all(restored.stream, &restored.metadata), OK);
        assert_int_equal(restored_end(&restored, seed), 0);
    }
}

static void reclaimed_space_stays_reclaimed_once_it_is_synced(void **state)
{
    (void)state;
    uint64_t back_without = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        back_without += restored_after_reclaiming(seed, false);
        assert_int_equal(restored_after_reclaiming(seed, true), 0);
    }
    assert_true(back_without > 0); /* or the simulated disk is too kind to prove anything */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_call_fails_nothing_acknowledged_is_lost),
        cmocka_unit_test(what_was_synced_and_owned_survives_a_power_cut),
        cmocka_unit_test(gaps_and_tail_stay_given_back_once_an_extent_is_settled),
        cmocka_unit_test(reclaimed_space_stays_reclaimed_once_it_is_synced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
