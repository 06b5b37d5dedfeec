#include "fsck_main.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "partition/partition.h"
#include "service/blob/fsck.h"
#include "service/repair.h"
#include "stream/stream.h"

enum {
    REPAIR_PASSES_MAX = 8,
};

enum fsck_exit {
    EXIT_CLEAN = 0,
    EXIT_FINDINGS = 1,
    EXIT_UNCHECKED = 2,
};

static const char USAGE[] =
    "Usage: zaffre fsck [-l DIR] [--repair]\n"
    "\n"
    "Checks the data in a directory that no server is using; nothing is changed.\n"
    "\n"
    "  -l, --location DIR   the data directory [.]\n"
    "      --repair         derive again what is derived from the data: indexes, counts, owners\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status: 0 clean, or all was repaired; 1 there are findings; 2 nothing was checked.\n";

/* --- the command line --- */

struct command {
    const char *location;
    bool repair;
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
        else if (strcmp(word, "--repair") == 0)
            command->repair = true;
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

static void print_nothing(void *arg, const char *words)
{
    (void)arg;
    (void)words;
}

/* What is printed of a check. */
enum fsck_print {
    PRINT_ALL,
    PRINT_FINDINGS,
    PRINT_NOTHING,
};

/* Check the store at `path`, and gather repairs if there is a list for them. */
static uint64_t check_path(const char *path, enum fsck_print print, struct repair_list *repairs)
{
    struct opened opened = { 0 };
    struct fsck_summary summary = { .finding_count = 1 };
    const enum err err = open_all(&opened, path);
    if (err == OK) {
        const struct fsck_request request = {
            .store = opened.store,
            .finding = print == PRINT_NOTHING ? print_nothing : print_finding,
            .repairs = repairs,
        };
        fsck_run(&request, &summary);
        if (print == PRINT_ALL)
            print_summary(&summary);
    } else {
        printf("the store cannot be opened: %s\nfsck: 1 finding\n", error_text(err));
    }
    close_all(&opened);
    return summary.finding_count;
}

uint64_t fsck_check_path(const char *path)
{
    return check_path(path, PRINT_ALL, NULL);
}

/* --- repairing --- */

/* Write without opening the extents: nothing is settled or reclaimed behind a row that is wrong. */
static enum err make_repairs(const char *path, const struct repair_list *repairs)
{
    struct clock clock;
    clock_init(&clock);
    const struct partition_options options = { .clock = &clock };
    struct partition_store *store;
    enum err err = partition_open_rocksdb(path, &options, &store);
    if (err != OK)
        return err;
    err = partition_repair(store, repairs->items, repairs->count);
    partition_close(store);
    return err;
}

/* One check and the repairs it leads to.  Returns how many were made. */
static uint64_t repair_once(const char *path, enum fsck_print print, enum err *err)
{
    struct arena arena = { 0 };
    struct repair_list repairs = { .arena = &arena };
    const uint64_t finding_count = check_path(path, print, &repairs);
    const size_t left_out = repair_list_settle(&repairs, finding_count);
    if (left_out > 0 && print != PRINT_NOTHING)
        printf("fsck: %zu repairs are only right if everything can be read, and are not made\n",
               left_out);
    *err = repairs.count == 0 ? OK : make_repairs(path, &repairs);
    const uint64_t made = *err == OK ? repairs.count : 0;
    arena_release(&arena);
    return made;
}

/* What is set right may show what else is wrong, so this goes on until nothing changes. */
static uint64_t repair_path(const char *path)
{
    enum err err = OK;
    uint64_t total = 0;
    uint64_t made = 1;
    for (unsigned pass = 0; made > 0 && pass < REPAIR_PASSES_MAX; pass++) {
        made = repair_once(path, pass == 0 ? PRINT_FINDINGS : PRINT_NOTHING, &err);
        total += made;
    }
    if (err != OK)
        fprintf(stderr, "fsck: nothing could be written: %s\n", error_text(err));
    printf("fsck: %" PRIu64 " repairs were made\n", total);
    return fsck_check_path(path);
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

/* A backup is what it was when it was made, or it is none. */
static bool is_backup(const char *location)
{
    enum partition_directory kind;
    return partition_directory_kind(location, &kind) == OK && kind == PARTITION_DIRECTORY_BACKUP;
}

static enum fsck_exit check_location(const struct command *command)
{
    const char *location = command->location;
    if (command->repair && is_backup(location)) {
        fprintf(stderr, "fsck: %s is a backup; restore it and repair the result\n", location);
        return EXIT_UNCHECKED;
    }
    struct partition_lock *lock;
    const enum err locked = partition_lock_directory(location, &lock);
    if (locked != OK) {
        explain_unchecked(location, locked);
        return EXIT_UNCHECKED;
    }
    const uint64_t finding_count =
        command->repair ? repair_path(location) : fsck_check_path(location);
    partition_lock_free(lock);
    return finding_count == 0 ? EXIT_CLEAN : EXIT_FINDINGS;
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
    return (int)check_location(&command);
}
