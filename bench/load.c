/*
 * load.c - a load generator for what wrk cannot express.
 *
 * Many connections go through the cycle of requests of a script (load_script.h), one request at a
 * time each: later ones may use what earlier ones were answered, as the deletion of a message
 * uses its pop receipt.  Every answer is checked; the first wrong one ends the run.
 *
 *   load --port PORT [--connections 32] [--threads 2] [--seconds N] [--cycles N] [--first N]
 *        [--rate N] [--save FILE] SCRIPT
 *
 * Without a rate a connection begins its next cycle when the last one is answered.  With --rate
 * the connections together begin N cycles a second, each at times of its own that are fixed before
 * the first.  A cycle that has to wait for the one before it counts from the time it was due, so
 * that a server that stops for a while is seen by all that would have asked it meanwhile; one that
 * this program begins late by itself counts from when it began.
 *
 * It ends after the cycles or the seconds, whichever comes first; a cycle once begun is finished.
 * Cycles are numbered from --first over all connections.  The requests a script has `once` are
 * made before the clock starts.  With --save, what the cycles kept of their answers is written to
 * a file that `lines` of another script can read.  The result is one line of JSON about the cycles;
 * `next` is the number after the last.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durations.h"
#include "load_fail.h"
#include "load_script.h"
#include "load_thread.h"

enum {
    CONNECTIONS_MAX = 1024,
    THREADS_MAX = 16,
};

/* --- results --- */

static void print_result(struct thread *threads, const struct settings *settings, uint64_t next)
{
    struct thread *all = &threads[0];
    for (unsigned i = 1; i < settings->threads; i++) {
        durations_move(&all->cycles, &threads[i].cycles);
        all->received_bytes += threads[i].received_bytes;
        if (threads[i].began_at_ns < all->began_at_ns)
            all->began_at_ns = threads[i].began_at_ns;
        if (threads[i].ended_at_ns > all->ended_at_ns)
            all->ended_at_ns = threads[i].ended_at_ns;
    }
    struct durations *cycles = &all->cycles;
    if (cycles->count == 0)
        load_fail("no cycle was begun in time");
    durations_sort(cycles);
    printf("{\"requests\":%zu,\"duration_us\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"p50_us\":%" PRIu32
           ",\"p99_us\":%" PRIu32 ",\"next\":%" PRIu64 "}\n",
           cycles->count, (all->ended_at_ns - all->began_at_ns) / 1000, all->received_bytes,
           cycles->us[cycles->count / 2], cycles->us[cycles->count * 99 / 100], next);
}

static void write_saved(const struct thread *threads, const struct settings *settings)
{
    FILE *file = fopen(settings->save, "w");
    if (file == NULL)
        load_fail("%s: %s", settings->save, strerror(errno));
    for (unsigned i = 0; i < settings->threads; i++) {
        if (threads[i].saved.len > 0)
            fwrite(threads[i].saved.data, 1, threads[i].saved.len, file);
    }
    if (ferror(file) != 0 || fclose(file) != 0)
        load_fail("%s: %s", settings->save, strerror(errno));
}

/* --- the whole --- */

static void measure(const struct settings *settings)
{
    struct thread threads[THREADS_MAX] = { 0 };
    pthread_t ids[THREADS_MAX];
    pthread_barrier_t prepared;
    pthread_barrier_init(&prepared, NULL, settings->threads);
    atomic_uint_least64_t next_cycle;
    atomic_init(&next_cycle, settings->first);
    const struct script *script = script_read(settings->script);

    threads_share(threads, settings, connections_open(settings));
    for (unsigned i = 0; i < settings->threads; i++) {
        threads[i].settings = settings;
        threads[i].script = script;
        threads[i].prepared = &prepared;
        threads[i].next_cycle = &next_cycle;
        if (pthread_create(&ids[i], NULL, thread_run, &threads[i]) != 0)
            load_fail("no thread");
    }
    for (unsigned i = 0; i < settings->threads; i++)
        pthread_join(ids[i], NULL);
    if (settings->save != NULL)
        write_saved(threads, settings);
    print_result(threads, settings, atomic_load(&next_cycle));
    pthread_barrier_destroy(&prepared);
}

static uint64_t number_of(const char *text, uint64_t max)
{
    char *end = NULL;
    const uint64_t number = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number > max)
        load_fail("%s: expected a number up to %" PRIu64, text, max);
    return number;
}

static double seconds_of(const char *text)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(seconds >= 0 && seconds <= 3600))
        load_fail("%s: expected seconds, up to an hour", text);
    return seconds;
}

int main(int argc, char **argv)
{
    struct settings settings = { .connections = 32, .threads = 2 };
    uint64_t rate = 0;
    static const struct option options[] = {
        { "port", required_argument, NULL, 'p' },
        { "connections", required_argument, NULL, 'c' },
        { "threads", required_argument, NULL, 't' },
        { "seconds", required_argument, NULL, 's' },
        { "cycles", required_argument, NULL, 'n' },
        { "first", required_argument, NULL, 'f' },
        { "rate", required_argument, NULL, 'r' },
        { "save", required_argument, NULL, 'o' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'p')
            settings.port = (uint16_t)number_of(optarg, UINT16_MAX);
        else if (option == 'c')
            settings.connections = (unsigned)number_of(optarg, CONNECTIONS_MAX);
        else if (option == 't')
            settings.threads = (unsigned)number_of(optarg, THREADS_MAX);
        else if (option == 's')
            settings.time_ns = (uint64_t)(seconds_of(optarg) * 1e9);
        else if (option == 'n')
            settings.cycles = number_of(optarg, UINT64_MAX / 2);
        else if (option == 'f')
            settings.first = number_of(optarg, UINT64_MAX / 2);
        else if (option == 'r')
            rate = number_of(optarg, 1000 * 1000);
        else if (option == 'o')
            settings.save = optarg;
        else
            return 2;
    }
    if (settings.threads > settings.connections)
        settings.threads = settings.connections;
    if (optind + 1 != argc || settings.port == 0 || settings.threads == 0 ||
        (settings.time_ns == 0 && settings.cycles == 0))
        load_fail("usage: load --port PORT [--connections N] [--threads N] [--seconds N] "
                  "[--cycles N] [--first N] [--rate N] [--save FILE] SCRIPT");
    if (rate > 0)
        settings.interval_ns = UINT64_C(1000000000) * settings.connections / rate;
    settings.script = argv[optind];
    measure(&settings);
    return 0;
}
