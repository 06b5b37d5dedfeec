/*
 * sim.h - the service layer under a scheduler, a clock and a disk that a seed decides about.
 *
 * Many clients in one thread.  A client's operation is started, which looks up what it needs and
 * submits an update; the update waits until the scheduler runs it, alone or in a group, and then
 * its `done` is called.  In between other clients act, containers are deleted and made again, the
 * clock jumps, the sweeper and the reclaimer go on, and the disk fails.
 *
 *   start    world->start fills a request of its own and calls the service
 *   done     sim_done notes the outcome
 *   finish   world->finish makes the same change to its model, which must come to the same outcome;
 *            operations are finished in the order of their decisions
 *   read     world->read asks the service something and compares the answer with the model
 *   audit    world->audit lists everything and compares
 *
 * A world is one service (blobs, queues, tables, files) with its model.  What differs from the
 * model ends the program, with the seed, the step, and the last operations on the same object.
 */
#ifndef TESTS_SIMULATION_SIM_H
#define TESTS_SIMULATION_SIM_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/blob/fsck.h"
#include "service/payload.h"
#include "service/service.h"

#define SIM_ACCOUNT "devstoreaccount1"

enum {
    SIM_OPERATIONS = 14,     /* under way at most */
    SIM_INLINE_BYTES = 100,  /* small, so that both sides of the limit are cheap */
    SIM_WORDS_BYTES = 120,   /* of what an operation is, for people */
    SIM_MEMORY_LINES = 6000, /* of the past, to be printed when something differs */
};

struct sim;

/* An operation of a client. */
struct operation {
    /* for the simulation */
    struct sim *sim;
    struct operation *next;
    bool in_use;
    struct service_change *base; /* of the request: set by sim_bind */

    /* of the world */
    unsigned kind;
    void *request;
    void *target; /* what it looked up in the model when it was started, or NULL */
    void *second;
    char words[SIM_WORDS_BYTES]; /* begins with the name of the object */

    /* results */
    struct arena arena; /* gone when the operation is finished */
    bool is_done;
    enum err err;
    int64_t tick; /* of the decision; 0: there was none, it was refused before */
};

struct world {
    const char *name;
    void (*open)(struct sim *sim);
    void (*close)(struct sim *sim);
    void (*start)(struct sim *sim, struct operation *operation);
    void (*finish)(struct sim *sim, struct operation *operation);
    void (*read)(struct sim *sim);
    void (*audit)(struct sim *sim);
    /* Nothing is under way, all is swept and reclaimed, and this is what fsck has counted. */
    void (*settled)(struct sim *sim, const struct fsck_summary *summary);
    /* The clock has jumped by more than a week and all has been swept; may be NULL. */
    void (*week_passed)(struct sim *sim);
    /* The clock has moved; may be NULL. */
    void (*clock_moved)(struct sim *sim);
};

struct sim_fiber;
struct sim_memory;

struct sim {
    uint64_t seed;
    uint64_t step;
    uint64_t random;
    uint64_t digest; /* of all outcomes */
    struct clock clock;
    struct io *io;
    struct stream *stream;
    struct service service;
    const struct world *world;
    void *state; /* of the world */

    struct operation operations[SIM_OPERATIONS];
    size_t under_way;
    struct operation *done_first;
    struct operation *done_last;
    int64_t last_tick; /* of the last operation that was finished */
    int64_t week_at;   /* when the clock last jumped by a week */
    int64_t jump_ms;   /* the last jump of the clock */
    enum err fault;    /* the next payload meets this; OK: none */
    struct sim_fiber *sweeper;
    struct sim_memory *memory;

    /* counted for the report */
    uint64_t finished_count;
    uint64_t refused_count;
    uint64_t read_count;
    uint64_t fault_count;
    uint64_t check_count;
    uint64_t cut_count;
};

/* --- running --- */

struct sim_options {
    uint64_t seed;
    uint64_t steps;
    const struct world *world;
};

/* Ends the program when something differs.  What was done is added up in `totals`. */
void sim_run(const struct sim_options *options, struct sim *totals);

/* --- chance --- */

uint64_t sim_next(struct sim *sim);
/* 0 to bound - 1 */
uint32_t sim_below(struct sim *sim, uint32_t bound);
/* True `percent` times of a hundred. */
bool sim_chance(struct sim *sim, uint32_t percent);
struct uuid sim_uuid(struct sim *sim);

/* --- for worlds --- */

/* The request's common part: its arena, and who is told. */
void sim_bind(struct operation *operation, struct service_change *base);

/* What the operation is; begins with the name of the object it is about. */
void sim_describe(struct operation *operation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A payload of bytes that follow from `seed`, finished.  False: the disk failed, as it was to. */
bool sim_payload(struct operation *operation, uint64_t seed, size_t length_bytes,
                 struct payload_writer **writer);
/* These bytes. */
void sim_bytes(uint64_t seed, void *bytes, size_t length_bytes);

/* The time, as a read sees it. */
int64_t sim_now(struct sim *sim);
int64_t sim_now_ms(struct sim *sim);

/* Add a number to the digest. */
void sim_digest(struct sim *sim, uint64_t number);

/* A line for the memory of the simulation. */
void sim_note(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The service and the model differ about `object`. */
_Noreturn void sim_fail(struct sim *sim, const char *object, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define SIM_CHECK(sim, object, condition)                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            sim_fail(sim, object, "%s:%d: not so: %s", __FILE__, __LINE__, #condition);            \
    } while (0)

/* The operation must have come to this outcome. */
void sim_expect(struct operation *operation, const char *object, enum err expected);

/* The same for a read. */
void sim_expect_read(struct sim *sim, const char *object, const char *words, enum err got,
                     enum err expected);

extern const struct world WORLD_BLOBS;
extern const struct world WORLD_QUEUES;
extern const struct world WORLD_TABLES;
extern const struct world WORLD_FILES;

#endif
