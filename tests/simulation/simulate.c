/*
 * simulate.c - runs worlds of the simulation.
 *
 *   simulate [--world blobs|queues|tables|files] [--seed S] [--steps N] [--runs R] [--twice]
 *
 * Without a world all are run; without a seed one is taken from the clock and printed.  Run i of a
 * world has the seed S + i.  With --twice each run is made again and must come to the same digest.
 * The status is 0 if no run differs from its model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sim.h"

static const struct world *const WORLDS[] = { &WORLD_BLOBS, &WORLD_QUEUES, &WORLD_TABLES,
                                              &WORLD_FILES };

enum {
    WORLD_COUNT = sizeof(WORLDS) / sizeof(WORLDS[0]),
};

struct options {
    const char *world; /* NULL: all */
    uint64_t seed;
    uint64_t steps;
    uint64_t runs;
    bool twice;
};

static _Noreturn void usage(void)
{
    fprintf(stderr, "usage: simulate [--world blobs|queues|tables|files] [--seed S] [--steps N] "
                    "[--runs R] [--twice]\n");
    exit(2);
}

static uint64_t number(const char *text)
{
    char *end;
    if (text == NULL)
        usage();
    const uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end != '\0')
        usage();
    return value;
}

static struct options parse(int argc, char **argv)
{
    struct options options = { .seed = (uint64_t)clock_monotonic_us(), .steps = 20000, .runs = 1 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--world") == 0 && i + 1 < argc)
            options.world = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = number(argv[++i]);
        else if (strcmp(argv[i], "--steps") == 0)
            options.steps = number(argv[++i]);
        else if (strcmp(argv[i], "--runs") == 0)
            options.runs = number(argv[++i]);
        else if (strcmp(argv[i], "--twice") == 0)
            options.twice = true;
        else
            usage();
    }
    return options;
}

static void run_world(const struct options *options, const struct world *world)
{
    struct sim totals = { 0 };
    for (uint64_t i = 0; i < options->runs; i++) {
        const struct sim_options run = { .seed = options->seed + i,
                                         .steps = options->steps,
                                         .world = world };
        printf("world %s, seed %" PRIu64 ", %" PRIu64 " steps: ", world->name, run.seed, run.steps);
        fflush(stdout);
        sim_run(&run, &totals);
        const uint64_t digest = totals.digest;
        printf("digest %016" PRIx64 "\n", digest);
        struct sim again = { 0 };
        if (options->twice)
            sim_run(&run, &again);
        if (options->twice && again.digest != digest) {
            fprintf(stderr, "the same seed has come to the digest %016" PRIx64 "\n", again.digest);
            exit(EXIT_FAILURE);
        }
    }
    printf("world %s: %" PRIu64 " operations (%" PRIu64 " refused), %" PRIu64 " reads, %" PRIu64
           " faults, %" PRIu64 " power cuts, %" PRIu64 " checks of the store\n",
           world->name, totals.finished_count, totals.refused_count, totals.read_count,
           totals.fault_count, totals.cut_count, totals.check_count);
}

int main(int argc, char **argv)
{
    const struct options options = parse(argc, argv);
    bool found = false;
    if (log_open("/dev/null") != OK)
        return 2;
    for (size_t i = 0; i < WORLD_COUNT; i++) {
        if (options.world != NULL && strcmp(options.world, WORLDS[i]->name) != 0)
            continue;
        run_world(&options, WORLDS[i]);
        found = true;
    }
    if (!found)
        usage();
    return EXIT_SUCCESS;
}
