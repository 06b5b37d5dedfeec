#include "fsck_main.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "partition/partition.h"
#include "service/blob/fsck.h"
#include "stream/stream.h"

enum fsck_exit {
    EXIT_CLEAN = 0,
    EXIT_FINDINGS = 1,
    EXIT_UNCHECKED = 2,
};

static const char USAGE[] =
    "Usage: zaffre fsck [-l DIR]\n"
    "\n"
    "Checks the data in a directory that no server is using; nothing is changed.\n"
    "\n"
    "  -l, --location DIR   the data directory [.]\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status: 0 clean, 1 there are findings, 2 nothing was checked.\n";

/* --- the command line --- */

struct command {
    const char *location;
    bool wants_help;
};

/* The value behind `name=`, or NULL. */
static const char *value_in(const char *word, const char *name)
{
    const size_t len = strlen(name);
    return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

/* False when a word is not understood. */
static bool parse(int argc, char *argv[], struct command *command)
{
    *command = (struct command){ .location = "." };
    for (int i = 2; i < argc; i++) {
        const char *word = argv[i];
        const bool is_location = strcmp(word, "-l") == 0 || strcmp(word, "--location") == 0;
        const char *value = value_in(word, "--location");
        if (value == NULL)
            value = value_in(word, "-l");
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
            command->wants_help = true;
        else if (value != NULL && value[0] != '\0')
            command->location = value;
        else if (is_location && i + 1 < argc && argv[i + 1][0] != '\0')
            command->location = argv[++i];
        else
            return false;
    }
    return true;
}

/* --- the check --- */

/* What is open, in the order it was opened. */
struct opened {
    struct partition_lock *lock;
    struct io *io;
    struct clock clock;
    struct stream *stream;
    struct partition_store *store;
};

static enum err open_all(struct opened *opened, const char *location)
{
    const struct stream_options stream_options = {
        .extent_bytes = STREAM_EXTENT_BYTES,
        .dedicated_bytes = STREAM_DEDICATED_BYTES,
        .read_only = true,
    };
    clock_init(&opened->clock);
    enum err err = io_linux_new(location, &opened->io);
    if (err == OK)
        err = stream_open_with(opened->io, &opened->clock, &stream_options, &opened->stream);
    const struct partition_options options = {
        .clock = &opened->clock,
        .stream = opened->stream,
        .read_only = true,
    };
    return err == OK ? partition_open_rocksdb(location, &options, &opened->store) : err;
}

static void close_all(struct opened *opened)
{
    if (opened->store != NULL)
        partition_close(opened->store);
    if (opened->stream != NULL)
        stream_close(opened->stream);
    if (opened->io != NULL)
        io_free(opened->io);
    partition_lock_free(opened->lock);
}

static void print_finding(void *arg, const char *words)
{
    (void)arg;
    puts(words);
}

static void print_summary(const struct fsck_summary *summary)
{
    const uint64_t contents = summary->dropped_count + summary->unfinished_count;
    if (summary->deleted_queue_count > 0)
        printf("fsck: the server will reclaim: %" PRIu64 " queues\n", summary->deleted_queue_count);
    if (summary->deleted_table_count > 0)
        printf("fsck: the server will reclaim: %" PRIu64 " tables\n", summary->deleted_table_count);
    if (summary->deleted_share_count > 0)
        printf("fsck: the server will reclaim: %" PRIu64 " shares\n", summary->deleted_share_count);
    if (summary->deleted_container_count + contents + summary->reclaimable_bytes > 0)
        printf("fsck: the server will reclaim: %" PRIu64 " containers, %" PRIu64
               " contents, %" PRIu64 " bytes\n",
               summary->deleted_container_count, contents, summary->reclaimable_bytes);
    if (summary->kept_count > 0)
        printf("fsck: %" PRIu64 " versions and soft-deleted blobs\n", summary->kept_count);
    if (summary->queue_count > 0)
        printf("fsck: %" PRIu64 " queues, %" PRIu64 " messages\n", summary->queue_count,
               summary->message_count);
    if (summary->table_count > 0)
        printf("fsck: %" PRIu64 " tables, %" PRIu64 " entities\n", summary->table_count,
               summary->entity_count);
    if (summary->share_count + summary->kept_share_count > 0)
        printf("fsck: %" PRIu64 " shares, %" PRIu64 " snapshots, %" PRIu64
               " soft-deleted shares, %" PRIu64 " directories and files\n",
               summary->share_count, summary->share_snapshot_count, summary->kept_share_count,
               summary->node_count);
    printf("fsck: %" PRIu64 " containers, %" PRIu64 " blobs, %" PRIu64 " bytes in %" PRIu64
           " extents: ",
           summary->container_count, summary->blob_count, summary->live_bytes,
           summary->extent_count);
    if (summary->finding_count == 0)
        puts("clean");
    else
        printf("%" PRIu64 " findings\n", summary->finding_count);
}

static enum fsck_exit check_store(struct opened *opened)
{
    const struct fsck_request request = { .store = opened->store, .finding = print_finding };
    struct fsck_summary summary;
    fsck_run(&request, &summary);
    print_summary(&summary);
    return summary.finding_count == 0 ? EXIT_CLEAN : EXIT_FINDINGS;
}

static void explain_unchecked(const char *location, enum err err)
{
    if (err == ERR_LOCKED)
        fprintf(stderr, "fsck: %s is in use by a zaffre; stop it first\n", location);
    else if (err == ERR_NOT_FOUND)
        fprintf(stderr, "fsck: there is no data of zaffre in %s\n", location);
    else
        fprintf(stderr, "fsck: %s cannot be checked: %s\n", location, error_text(err));
}

static enum fsck_exit check_location(const char *location)
{
    struct opened opened = { 0 };
    const enum err locked = partition_lock_directory(location, &opened.lock);
    if (locked != OK) {
        explain_unchecked(location, locked);
        return EXIT_UNCHECKED;
    }
    enum fsck_exit status = EXIT_FINDINGS;
    const enum err err = open_all(&opened, location);
    if (err == OK)
        status = check_store(&opened);
    else
        printf("the store cannot be opened: %s\nfsck: 1 finding\n", error_text(err));
    close_all(&opened);
    return status;
}

int fsck_main(int argc, char *argv[])
{
    struct command command;
    if (!parse(argc, argv, &command)) {
        fputs(USAGE, stderr);
        return EXIT_UNCHECKED;
    }
    if (command.wants_help) {
        fputs(USAGE, stdout);
        return EXIT_CLEAN;
    }
    log_set_level(LOG_WARN);
    return (int)check_location(command.location);
}
