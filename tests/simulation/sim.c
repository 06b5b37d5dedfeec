#include "sim.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/io.h"
#include "base/log.h"
#include "service/sweeper.h"

/* 2026-11-15T00:00:00Z */
#define SIM_T0 INT64_C(639302976000000000)

enum {
    FIBER_STACK_BYTES = 512 * 1024,
    GROUP_MAX = 8,       /* updates in one step, mostly */
    AUDIT_STEPS = 2500,  /* from one audit to the next, about */
    CHECK_STEPS = 15000, /* from one check of the whole store to the next, about */
    LINES_PRINTED = 40,
    EXTENT_BYTES = 192 * 1024,
    DEDICATED_BYTES = 60 * 1024,
};

/* --- chance --- */

/* splitmix64 */
static uint64_t mix(uint64_t *state)
{
    uint64_t mixed = (*state += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t sim_next(struct sim *sim)
{
    return mix(&sim->random);
}

uint32_t sim_below(struct sim *sim, uint32_t bound)
{
    return (uint32_t)(sim_next(sim) % bound);
}

bool sim_chance(struct sim *sim, uint32_t percent)
{
    return sim_below(sim, 100) < percent;
}

struct uuid sim_uuid(struct sim *sim)
{
    const uint64_t halves[2] = { sim_next(sim), sim_next(sim) };
    struct uuid id;
    memcpy(&id, halves, sizeof(id));
    return id;
}

void sim_bytes(uint64_t seed, void *bytes, size_t length_bytes)
{
    char *at = bytes;
    while (length_bytes > 0) {
        const uint64_t word = mix(&seed);
        const size_t some = length_bytes < sizeof(word) ? length_bytes : sizeof(word);
        memcpy(at, &word, some);
        at += some;
        length_bytes -= some;
    }
}

void sim_digest(struct sim *sim, uint64_t number)
{
    sim->digest = (sim->digest ^ number) * UINT64_C(0x100000001b3);
    sim->digest ^= sim->digest >> 29;
}

/* --- what was, for people --- */

struct sim_memory {
    uint64_t count;
    struct {
        uint64_t step;
        char words[SIM_WORDS_BYTES + 40];
    } lines[SIM_MEMORY_LINES];
};

void sim_note(struct sim *sim, const char *format, ...)
{
    const size_t index = (size_t)(sim->memory->count++ % SIM_MEMORY_LINES);
    sim->memory->lines[index].step = sim->step;
    va_list args;
    va_start(args, format);
    vsnprintf(sim->memory->lines[index].words, sizeof(sim->memory->lines[index].words), format,
              args);
    va_end(args);
}

/* The last lines that are about the object, oldest first. */
static void print_memory(const struct sim *sim, const char *object)
{
    const struct sim_memory *memory = sim->memory;
    const uint64_t kept = memory->count < SIM_MEMORY_LINES ? memory->count : SIM_MEMORY_LINES;
    uint64_t wanted[LINES_PRINTED];
    size_t count = 0;
    for (uint64_t i = 0; i < kept && count < LINES_PRINTED; i++) {
        const uint64_t number = memory->count - 1 - i;
        if (strstr(memory->lines[number % SIM_MEMORY_LINES].words, object) != NULL)
            wanted[count++] = number;
    }
    for (size_t i = count; i-- > 0;) {
        const size_t index = (size_t)(wanted[i] % SIM_MEMORY_LINES);
        fprintf(stderr, "  step %" PRIu64 ": %s\n", memory->lines[index].step,
                memory->lines[index].words);
    }
}

void sim_fail(struct sim *sim, const char *object, const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr,
            "DIFFERENCE: world %s, seed %" PRIu64 ", step %" PRIu64 ", %s: ", sim->world->name,
            sim->seed, sim->step, object);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nwhat happened to it last:\n");
    print_memory(sim, object);
    fprintf(stderr, "again: simulate --world %s --seed %" PRIu64 " --steps %" PRIu64 "\n",
            sim->world->name, sim->seed, sim->step + 1);
    exit(EXIT_FAILURE);
}

void sim_expect(struct operation *operation, const char *object, enum err expected)
{
    if (operation->err != expected)
        sim_fail(operation->sim, object, "%s: the service says \"%s\", the model \"%s\"",
                 operation->words, error_text(operation->err), error_text(expected));
}

void sim_expect_read(struct sim *sim, const char *object, const char *words, enum err got,
                     enum err expected)
{
    sim_digest(sim, (uint64_t)got);
    if (got != expected)
        sim_fail(sim, object, "%s: the service says \"%s\", the model \"%s\"", words,
                 error_text(got), error_text(expected));
}

/* --- operations --- */

int64_t sim_now(struct sim *sim)
{
    return clock_now(&sim->clock);
}

int64_t sim_now_ms(struct sim *sim)
{
    return sim_now(sim) / CLOCK_TICKS_PER_MS;
}

void sim_describe(struct operation *operation, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(operation->words, sizeof(operation->words), format, args);
    va_end(args);
}

/* The only thing a `done` does: what others of the same group have changed is not in the model
   yet. */
static void sim_done(void *arg, enum err err)
{
    struct operation *operation = arg;
    struct sim *sim = operation->sim;
    if (operation->is_done)
        sim_fail(sim, operation->words, "%s is done twice", operation->words);
    operation->is_done = true;
    operation->err = err;
    /* What is refused after an update has come to something else is refused without a decision. */
    const struct partition_update *update = &operation->base->update;
    operation->tick = update->err == err ? update->tick : 0;
    operation->next = NULL;
    if (sim->done_last == NULL)
        sim->done_first = operation;
    else
        sim->done_last->next = operation;
    sim->done_last = operation;
}

void sim_bind(struct operation *operation, struct service_change *base)
{
    base->arena = &operation->arena;
    base->done = sim_done;
    base->arg = operation;
    operation->base = base;
}

static void forget_operation(struct operation *operation)
{
    arena_clear(&operation->arena);
    operation->in_use = false;
    operation->sim->under_way--;
}

static void finish(struct sim *sim, struct operation *operation)
{
    sim_note(sim, "%s -> %s (at %" PRId64 ")", operation->words, error_text(operation->err),
             operation->tick == 0 ? 0 : operation->tick - SIM_T0);
    if (operation->tick != 0)
        sim->last_tick = operation->tick;
    sim_digest(sim, (uint64_t)operation->err);
    sim_digest(sim, (uint64_t)operation->tick);
    sim->world->finish(sim, operation);
    sim->finished_count++;
    sim->refused_count += operation->err != OK;
    forget_operation(operation);
}

/* The operations that are done, first those that an update has decided, in the order of the
   decisions: what was refused without one has seen all of them. */
static void finish_some(struct sim *sim)
{
    struct operation *first = sim->done_first;
    sim->done_first = NULL;
    sim->done_last = NULL;
    for (int pass = 0; pass < 2; pass++) {
        struct operation *next;
        for (struct operation *operation = first; operation != NULL; operation = next) {
            next = operation->next;
            const bool decided = operation->tick > sim->last_tick;
            if (operation->in_use && decided == (pass == 0))
                finish(sim, operation);
        }
    }
}

/* To finish one may be what another has waited for. */
static void finish_all(struct sim *sim)
{
    while (sim->done_first != NULL)
        finish_some(sim);
}

static void start_one(struct sim *sim)
{
    struct operation *operation = sim->operations;
    while (operation->in_use)
        operation++;
    operation->in_use = true;
    operation->is_done = false;
    operation->base = NULL;
    operation->request = NULL;
    operation->target = NULL;
    operation->second = NULL;
    operation->words[0] = '\0';
    sim->under_way++;
    sim->world->start(sim, operation);
    if (operation->base == NULL) {
        /* The disk failed, or there was nothing to do. */
        forget_operation(operation);
        return;
    }
    if (!operation->is_done)
        sim_note(sim, "%s begins", operation->words);
    finish_all(sim);
}

bool sim_payload(struct operation *operation, uint64_t seed, size_t length_bytes,
                 struct payload_writer **writer)
{
    struct sim *sim = operation->sim;
    char *bytes = arena_bytes(&operation->arena, length_bytes);
    sim_bytes(seed, bytes, length_bytes);
    if (sim->fault != OK)
        io_memory_fail_at(sim->io, 1 + sim_below(sim, 4), sim->fault);
    enum err err = payload_writer_new(&sim->service, &operation->arena, length_bytes, writer);
    const size_t half = length_bytes / 2;
    if (err == OK)
        err = payload_writer_append(*writer, slice_make(bytes, half));
    if (err == OK)
        err = payload_writer_append(*writer, slice_make(bytes + half, length_bytes - half));
    if (err == OK)
        err = payload_writer_finish(*writer);
    if (sim->fault != OK)
        io_memory_fail_at(sim->io, 0, ERR_IO);
    if (err == OK)
        return true;
    if (err != sim->fault)
        sim_fail(sim, operation->words, "a payload was refused: %s", error_text(err));
    sim->fault = OK;
    sim->fault_count++;
    return false;
}

/* --- the sweeper, which is a thread in the server and a fiber here --- */

struct sim_fiber {
    ucontext_t here;
    ucontext_t main;
    bool is_running; /* a pass is under way */
    bool is_inside;  /* it has the processor */
    char *stack;
};

/* Called by whoever waits for an update. */
static void yield(void *arg)
{
    struct sim *sim = arg;
    if (!sim->sweeper->is_inside) {
        partition_step(sim->service.store, 1);
        return;
    }
    sim->sweeper->is_inside = false;
    swapcontext(&sim->sweeper->here, &sim->sweeper->main);
}

static void sweep(struct sim *sim)
{
    enum err err = sweeper_pass(&sim->service, slice_of(SIM_ACCOUNT));
    if (err == OK)
        err = sweeper_pass_marked(&sim->service);
    if (err != OK)
        sim_fail(sim, "sweeper", "a pass failed: %s", error_text(err));
}

static struct sim *fiber_sim;

static void fiber_main(void)
{
    sweep(fiber_sim);
    fiber_sim->sweeper->is_running = false;
    fiber_sim->sweeper->is_inside = false;
}

/* Begin a pass or go on with it, until it waits again. */
static void sweeper_step(struct sim *sim)
{
    struct sim_fiber *fiber = sim->sweeper;
    if (!fiber->is_running) {
        getcontext(&fiber->here);
        fiber->here.uc_stack.ss_sp = fiber->stack;
        fiber->here.uc_stack.ss_size = FIBER_STACK_BYTES;
        fiber->here.uc_link = &fiber->main;
        makecontext(&fiber->here, fiber_main, 0);
        fiber->is_running = true;
    }
    fiber_sim = sim;
    fiber->is_inside = true;
    swapcontext(&fiber->main, &fiber->here);
}

/* --- steps --- */

/* Time in milliseconds is to be the same for all of a group: what a lease is at its tick then is a
   question with one answer for reads, too. */
static void keep_millisecond(struct sim *sim)
{
    const int64_t now = clock_now(&sim->clock);
    const int64_t behind = now - atomic_load(&sim->clock.shift);
    if (now % CLOCK_TICKS_PER_MS > CLOCK_TICKS_PER_MS / 2)
        clock_shift(&sim->clock, behind + CLOCK_TICKS_PER_MS - now % CLOCK_TICKS_PER_MS);
}

static void step_updates(struct sim *sim, size_t count)
{
    keep_millisecond(sim);
    partition_step(sim->service.store, count);
    finish_all(sim);
}

static void step_stream(struct sim *sim)
{
    stream_step(sim->stream);
    finish_all(sim);
}

static void step_clock(struct sim *sim)
{
    static const int64_t spans_ms[] = { 1,     10,    500,   999,   1000, 1001, 5000,  14999,
                                        15000, 30000, 60000, 61000, -1,   -700, -20000 };
    /* Often the last jump is taken back: what was decided by the time in between is wrong then. */
    if (sim->jump_ms > 0 && sim_chance(sim, 40))
        sim->jump_ms = -sim->jump_ms;
    else
        sim->jump_ms = spans_ms[sim_below(sim, sizeof(spans_ms) / sizeof(spans_ms[0]))];
    clock_shift(&sim->clock, sim->jump_ms * CLOCK_TICKS_PER_MS);
    if (sim->world->clock_moved != NULL)
        sim->world->clock_moved(sim);
    finish_all(sim);
}

/* The sweeper looks at a clock that is set back before its update is decided. */
static void step_sweeper_ahead(struct sim *sim)
{
    const int64_t ahead = (int64_t)(1 + sim_below(sim, 60)) * CLOCK_TICKS_PER_SEC;
    clock_shift(&sim->clock, ahead);
    sweeper_step(sim);
    clock_shift(&sim->clock, -ahead);
    finish_all(sim);
}

static void step_fault(struct sim *sim)
{
    sim->fault = sim_chance(sim, 50) ? ERR_NO_SPACE : ERR_IO;
}

/* Everything that is under way comes to its end. */
static void drain(struct sim *sim)
{
    for (unsigned turns = 0; sim->under_way > 0 || sim->sweeper->is_running; turns++) {
        if (turns > 100000)
            sim_fail(sim, "", "%zu operations never end", sim->under_way);
        step_stream(sim);
        step_updates(sim, SIZE_MAX);
        if (sim->sweeper->is_running)
            sweeper_step(sim);
        finish_all(sim);
    }
}

/* --- the store as a whole --- */

static void note_finding(void *arg, const char *words)
{
    sim_fail(arg, "", "fsck: %s", words);
}

static struct fsck_summary check_store(struct sim *sim)
{
    struct fsck_summary summary;
    const struct fsck_request request = { .store = sim->service.store,
                                          .finding = note_finding,
                                          .arg = sim };
    fsck_run(&request, &summary);
    sim_digest(sim, summary.live_bytes);
    sim->check_count++;
    return summary;
}

struct power_cut {
    struct sim *sim;
    struct stream *stream;
};

static void check_survivor(void *arg, const struct stream_range *range, uint64_t owner)
{
    const struct power_cut *cut = arg;
    const enum err err = stream_check(cut->stream, range);
    if (err != OK)
        sim_fail(cut->sim, "", "after a power cut the payload of %" PRIu64 " is gone: %s", owner,
                 error_text(err));
}

/* Whatever rows name is on the disk that a power cut at this moment would leave. */
static void check_power_cut(struct sim *sim)
{
    struct power_cut cut = { .sim = sim };
    struct io *io = io_memory_survivor(sim->io, sim_next(sim));
    const struct stream_options options = { .extent_bytes = EXTENT_BYTES,
                                            .dedicated_bytes = DEDICATED_BYTES,
                                            .by_step = true,
                                            .read_only = true };
    enum err err = stream_open_with(io, &sim->clock, &options, &cut.stream);
    if (err == OK)
        err = partition_each_owner(sim->service.store, check_survivor, &cut);
    if (err != OK)
        sim_fail(sim, "", "after a power cut: %s", error_text(err));
    stream_close(cut.stream);
    io_free(io);
    sim->cut_count++;
}

static void reclaim_all(struct sim *sim)
{
    while (partition_reclaim(sim->service.store) > 0) {
        /* What the last pass has let go of may allow for more. */
    }
}

/* Nothing is under way: the whole store holds together, and what nobody needs is gone. */
static void check_all(struct sim *sim)
{
    drain(sim);
    sim->world->audit(sim);
    check_store(sim);
    sweep(sim);
    sweep(sim);
    reclaim_all(sim);
    const struct fsck_summary summary = check_store(sim);
    SIM_CHECK(sim, "", summary.deleted_container_count == 0);
    SIM_CHECK(sim, "", summary.deleted_queue_count == 0);
    SIM_CHECK(sim, "", summary.deleted_table_count == 0);
    SIM_CHECK(sim, "", summary.deleted_share_count == 0);
    SIM_CHECK(sim, "", summary.dropped_count == 0);
    SIM_CHECK(sim, "", summary.unfinished_count == 0);
    sim->world->settled(sim, &summary);
    sim->world->audit(sim);
    check_power_cut(sim);
}

/* More than a week goes by, and everything has noticed. */
static void pass_week(struct sim *sim)
{
    drain(sim);
    clock_shift(&sim->clock, INT64_C(8) * 24 * 3600 * CLOCK_TICKS_PER_SEC);
    if (sim->world->clock_moved != NULL)
        sim->world->clock_moved(sim);
    finish_all(sim);
    sweep(sim);
    if (sim->world->week_passed != NULL)
        sim->world->week_passed(sim);
    sim->week_at = sim_now(sim);
}

/* --- a run --- */

static void take_step(struct sim *sim)
{
    const uint32_t choice = sim_below(sim, 1000);
    if (choice < 420) {
        if (sim->under_way < SIM_OPERATIONS)
            start_one(sim);
    } else if (choice < 700) {
        step_updates(sim, 1 + sim_below(sim, GROUP_MAX));
    } else if (choice < 760) {
        step_stream(sim);
    } else if (choice < 900) {
        sim->world->read(sim);
        sim->read_count++;
    } else if (choice < 925) {
        step_clock(sim);
    } else if (choice < 965) {
        sweeper_step(sim);
        finish_all(sim);
    } else if (choice < 985) {
        step_sweeper_ahead(sim);
    } else if (choice < 995) {
        partition_reclaim(sim->service.store);
    } else {
        step_fault(sim);
    }
    if (sim_below(sim, AUDIT_STEPS) == 0)
        sim->world->audit(sim);
    if (sim_below(sim, CHECK_STEPS) == 0)
        check_all(sim);
    if (sim_below(sim, CHECK_STEPS) == 0)
        check_power_cut(sim);
    if (sim_now(sim) - sim->week_at > INT64_C(4) * 24 * 3600 * CLOCK_TICKS_PER_SEC ||
        sim_below(sim, 20000) == 0)
        pass_week(sim);
}

static void sim_open(struct sim *sim, const struct sim_options *options)
{
    *sim = (struct sim){ .seed = options->seed,
                         .random = options->seed,
                         .digest = UINT64_C(0xcbf29ce484222325),
                         .world = options->world };
    sim->memory = calloc(1, sizeof(*sim->memory));
    sim->sweeper = calloc(1, sizeof(*sim->sweeper));
    assert(sim->memory != NULL && sim->sweeper != NULL);
    sim->sweeper->stack = malloc(FIBER_STACK_BYTES);
    assert(sim->sweeper->stack != NULL);
    for (size_t i = 0; i < SIM_OPERATIONS; i++)
        sim->operations[i].sim = sim;
    clock_init_manual(&sim->clock, SIM_T0);
    sim->week_at = SIM_T0;
    sim->io = io_memory_new();
    const struct stream_options stream = { .extent_bytes = EXTENT_BYTES,
                                           .dedicated_bytes = DEDICATED_BYTES,
                                           .by_step = true };
    if (stream_open_with(sim->io, &sim->clock, &stream, &sim->stream) != OK)
        sim_fail(sim, "", "the stream does not open");
    const struct partition_options store = { .clock = &sim->clock,
                                             .stream = sim->stream,
                                             .by_step = true,
                                             .yield = yield,
                                             .yield_arg = sim,
                                             .contrary_seed = sim_next(sim) | 1 };
    sim->service.store = partition_open_memory(&store);
    sim->service.clock = &sim->clock;
    sim->service.stream = sim->stream;
    sim->service.inline_payload_bytes = SIM_INLINE_BYTES;
    sim->world->open(sim);
}

static void sim_close(struct sim *sim)
{
    sim->world->close(sim);
    for (size_t i = 0; i < SIM_OPERATIONS; i++)
        arena_release(&sim->operations[i].arena);
    partition_close(sim->service.store);
    stream_close(sim->stream);
    io_free(sim->io);
    free(sim->sweeper->stack);
    free(sim->sweeper);
    free(sim->memory);
}

void sim_run(const struct sim_options *options, struct sim *totals)
{
    struct sim *sim = malloc(sizeof(*sim));
    assert(sim != NULL);
    sim_open(sim, options);
    for (; sim->step < options->steps; sim->step++)
        take_step(sim);
    check_all(sim);
    totals->digest = sim->digest;
    totals->finished_count += sim->finished_count;
    totals->refused_count += sim->refused_count;
    totals->read_count += sim->read_count;
    totals->fault_count += sim->fault_count;
    totals->check_count += sim->check_count;
    totals->cut_count += sim->cut_count;
    sim_close(sim);
    free(sim);
}
