#include "service/scrub.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/mutex.h"
#include "service/blob/fsck.h"
#include "stream/stream.h"

enum {
    STEP_MS = 250, /* between two steps of the thread */
    FIRST_STEP_MS = 1000,
    PASS_SEC = 24 * 60 * 60,
    PIECE_BYTES = 256 * 1024, /* read at once; whole blocks */
    NAMES_PER_PASS = 10,      /* each looks through all metadata */
    WORDS_BYTES_MAX = 4096,
};

/*
 * Where a pass is:
 *
 *   AT_START -> AT_PAYLOADS   the place it begins at is chosen
 *   AT_PAYLOADS -> AT_ROWS    it has come round
 *   AT_ROWS -> AT_START       the last key
 */
enum phase {
    AT_START,
    AT_PAYLOADS,
    AT_ROWS,
};

struct scrub {
    /* set at the start, then constant */
    struct scrub_options options;
    struct metric_counter *bytes;
    struct metric_counter *passes;
    struct metric_counter *damaged;

    /* whoever makes steps */
    enum phase phase;
    uint64_t random;
    uint64_t begin_extent; /* where the pass began */
    bool has_wrapped;      /* it goes on from the first extent up to there */
    uint64_t extent_id;    /* the next place to look at */
    uint64_t offset;
    uint64_t done;            /* bytes of the payload there that were compared */
    struct arena row_arena;   /* of `next_row` */
    struct slice next_row;    /* where the rows go on */
    unsigned names_looked_up; /* in this pass */
    char piece[PIECE_BYTES];

    /* the thread's */
    uint64_t rate_bytes;
    bool has_thread;
    pthread_t thread;
    struct mutex lock;
    struct condvar changed;
    bool stops; /* under lock */
};

struct scrub *scrub_new(const struct scrub_options *options)
{
    struct scrub *scrub = calloc(1, sizeof(*scrub));
    if (scrub == NULL)
        panic("no memory for the scrubber");
    scrub->options = *options;
    scrub->random = options->seed;
    scrub->bytes = metric_counter_new("zaffre_scrub_bytes_total",
                                      "Stored bytes compared with their checksums.", NULL);
    scrub->passes =
        metric_counter_new("zaffre_scrub_passes_total", "Passes over all data that ended.", NULL);
    scrub->damaged = metric_counter_new("zaffre_scrub_damaged_total",
                                        "Payloads found not to be as they were written.", NULL);
    mutex_init(&scrub->lock, LOCK_SERVICE_SCRUB);
    condvar_init(&scrub->changed);
    return scrub;
}

uint64_t scrub_bytes(const struct scrub *scrub)
{
    return (uint64_t)metric_value(scrub->bytes);
}

uint64_t scrub_damaged(const struct scrub *scrub)
{
    return (uint64_t)metric_value(scrub->damaged);
}

/* --- findings --- */

static void report(struct scrub *scrub, const char *words)
{
    metric_add(scrub->damaged, 1);
    log_error("scrub", "%s", words);
    if (scrub->options.finding != NULL)
        scrub->options.finding(scrub->options.arg, words);
}

static void report_payload(struct scrub *scrub, const struct stream_range *range, enum err err)
{
    struct arena arena = { 0 };
    struct slice users = { 0 };
    if (scrub->names_looked_up < NAMES_PER_PASS) {
        scrub->names_looked_up++;
        users = fsck_users(scrub->options.store, &arena, range);
    }
    char words[WORDS_BYTES_MAX];
    snprintf(
        words, sizeof(words),
        "extent %016" PRIx64 ": the range of %" PRIu64 " bytes at %" PRIu64 " is damaged: %s%s%.*s",
        range->extent_id, range->length, range->offset, error_text(err),
        users.len > 0 ? "; it belongs to " : "", (int)users.len, users.len > 0 ? users.data : "");
    report(scrub, words);
    arena_release(&arena);
}

/* --- payloads --- */

/* xorshift64*: where a pass begins is no secret. */
static uint64_t next_random(struct scrub *scrub)
{
    uint64_t x = scrub->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    scrub->random = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* The first place of a pass: extents have the instants of their making for ids, and begin anywhere
   between the first and now. */
static void choose_beginning(struct scrub *scrub)
{
    struct stream_range first;
    struct stream_range last;
    scrub->begin_extent = 0;
    if (scrub->random != 0 && partition_first_payload(scrub->options.store, &first) == OK &&
        partition_last_payload(scrub->options.store, &last) == OK)
        scrub->begin_extent =
            first.extent_id + next_random(scrub) % (last.extent_id - first.extent_id + 1);
    scrub->extent_id = scrub->begin_extent;
    scrub->offset = 0;
    scrub->done = 0;
    scrub->has_wrapped = false;
    scrub->names_looked_up = 0;
    scrub->phase = AT_PAYLOADS;
}

/* The payload is done with, whatever came of it. */
static void pass_by(struct scrub *scrub, const struct stream_range *range)
{
    scrub->extent_id = range->extent_id;
    scrub->offset = range->offset + 1;
    scrub->done = 0;
}

/* Compare up to `bytes` of a pinned payload from where it was left.  Returns how many were. */
static uint64_t read_payload(struct scrub *scrub, const struct stream_range *range,
                             struct stream_pin *pin, uint64_t bytes)
{
    uint64_t count = 0;
    enum err err = OK;
    while (err == OK && scrub->done < range->length && count < bytes) {
        const uint64_t left = range->length - scrub->done;
        const size_t len = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        err = stream_read(pin, scrub->done, scrub->piece, len);
        /* What is wrong once may have been wrong in memory. */
        if (err != OK)
            err = stream_read(pin, scrub->done, scrub->piece, len);
        scrub->done += len;
        count += len;
    }
    metric_add(scrub->bytes, (int64_t)count);
    if (err != OK)
        report_payload(scrub, range, err);
    if (err != OK || scrub->done >= range->length)
        pass_by(scrub, range);
    return count;
}

/* The extents are at their end: go on from the first, or to the rows. */
static void turn(struct scrub *scrub)
{
    if (scrub->has_wrapped || scrub->begin_extent == 0) {
        scrub->phase = AT_ROWS;
        return;
    }
    scrub->has_wrapped = true;
    scrub->extent_id = 0;
    scrub->offset = 0;
    scrub->done = 0;
}

static uint64_t step_payloads(struct scrub *scrub, uint64_t bytes)
{
    struct stream_range range;
    struct stream_pin *pin = NULL;
    const struct stream_range from = { .extent_id = scrub->extent_id, .offset = scrub->offset };
    const enum err err = partition_pin_next(scrub->options.store, &from, &range, &pin);
    const bool is_round =
        err != ERR_NOT_FOUND && scrub->has_wrapped && range.extent_id >= scrub->begin_extent;
    uint64_t count = 0;
    if (err == ERR_NOT_FOUND || is_round) {
        turn(scrub);
    } else {
        /* The payload that was being read may have gone meanwhile. */
        if (range.extent_id != scrub->extent_id || range.offset != scrub->offset)
            scrub->done = 0;
        scrub->extent_id = range.extent_id;
        scrub->offset = range.offset;
        if (err == OK) {
            count = read_payload(scrub, &range, pin, bytes);
        } else {
            report_payload(scrub, &range, err);
            pass_by(scrub, &range);
        }
        if (count < STREAM_BLOCK_BYTES)
            count = STREAM_BLOCK_BYTES; /* finding it costs as much */
    }
    if (pin != NULL)
        stream_unpin(pin);
    return count;
}

/* --- rows --- */

static uint64_t step_rows(struct scrub *scrub, uint64_t bytes)
{
    struct arena arena = { 0 };
    struct slice next = { 0 };
    uint64_t count = 0;
    const enum err err =
        partition_verify_rows(scrub->options.store, &arena, scrub->next_row, bytes, &next, &count);
    if (err != OK) {
        char words[WORDS_BYTES_MAX];
        snprintf(words, sizeof(words), "the metadata cannot be read: %s", error_text(err));
        report(scrub, words);
    }
    metric_add(scrub->bytes, (int64_t)count);
    arena_release(&scrub->row_arena);
    scrub->row_arena = arena;
    scrub->next_row = err == OK ? next : (struct slice){ 0 };
    if (scrub->next_row.len == 0) {
        scrub->phase = AT_START;
        metric_add(scrub->passes, 1);
    }
    return count;
}

enum scrub_state scrub_step(struct scrub *scrub, uint64_t bytes)
{
    if (scrub->phase == AT_START)
        choose_beginning(scrub);
    for (uint64_t count = 0; count < bytes && scrub->phase != AT_START;)
        count += scrub->phase == AT_PAYLOADS ? step_payloads(scrub, bytes - count)
                                             : step_rows(scrub, bytes - count);
    return scrub->phase == AT_START ? SCRUB_PASS_ENDED : SCRUB_UNDER_WAY;
}

/* --- the thread --- */

/* Wait; true when the thread is to end. */
static bool pause_ms(struct scrub *scrub, int64_t ms)
{
    const int64_t until_us = clock_monotonic_us() + ms * 1000;
    mutex_lock(&scrub->lock);
    bool early = true;
    while (!scrub->stops && early)
        early = condvar_wait_until(&scrub->changed, &scrub->lock, until_us);
    const bool stops = scrub->stops;
    mutex_unlock(&scrub->lock);
    return stops;
}

static void *scrub_main(void *arg)
{
    struct scrub *scrub = arg;
    const uint64_t step_bytes = scrub->rate_bytes * STEP_MS / 1000 + 1;
    int64_t began_us = clock_monotonic_us();
    int64_t wait_ms = FIRST_STEP_MS;
    while (!pause_ms(scrub, wait_ms)) {
        wait_ms = STEP_MS;
        if (scrub_step(scrub, step_bytes) == SCRUB_UNDER_WAY)
            continue;
        const int64_t next_us = began_us + INT64_C(1000000) * PASS_SEC;
        const int64_t now_us = clock_monotonic_us();
        if (next_us > now_us)
            wait_ms = (next_us - now_us) / 1000;
        began_us = now_us + wait_ms * 1000;
    }
    return NULL;
}

enum err scrub_start(struct scrub *scrub, uint64_t rate_bytes)
{
    assert(!scrub->has_thread);
    assert(rate_bytes > 0);
    scrub->rate_bytes = rate_bytes;
    if (pthread_create(&scrub->thread, NULL, scrub_main, scrub) != 0) {
        log_error("scrub", "the scrubber's thread cannot be started");
        return ERR_IO;
    }
    pthread_setname_np(scrub->thread, "scrub");
    scrub->has_thread = true;
    return OK;
}

void scrub_free(struct scrub *scrub)
{
    if (scrub == NULL)
        return;
    if (scrub->has_thread) {
        mutex_lock(&scrub->lock);
        scrub->stops = true;
        condvar_signal(&scrub->changed);
        mutex_unlock(&scrub->lock);
        pthread_join(scrub->thread, NULL);
    }
    arena_release(&scrub->row_arena);
    condvar_release(&scrub->changed);
    mutex_release(&scrub->lock);
    free(scrub);
}
