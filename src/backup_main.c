#include "backup_main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/control.h"
#include "backup/control_client.h"
#include "backup/disk_file.h"
#include "backup/manifest.h"
#include "backup/store_copy.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/date.h"
#include "base/log.h"
#include "fsck_main.h"
#include "partition/partition.h"

enum backup_exit {
    EXIT_DONE = 0,
    EXIT_FINDINGS = 1,
    EXIT_NOT_DONE = 2,
};

static const char MANIFEST_NAME[] = "BACKUP";

static const char BACKUP_USAGE[] =
    "Usage: zaffre backup --to DIR [-l DIR]\n"
    "\n"
    "Copies the data to a new directory, as it is at one moment, while the server goes on.\n"
    "\n"
    "  -l, --location DIR   the data directory [.]\n"
    "      --to DIR         the backup; made by this command\n"
    "      --previous DIR   an earlier backup: what is the same in it is linked, not copied\n"
    "      --noCheck        do not read the backup again to check it\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status: 0 done, 1 done but the data has findings, 2 there is no backup.\n";

static const char RESTORE_USAGE[] =
    "Usage: zaffre restore --from DIR [-l DIR]\n"
    "\n"
    "Makes a data directory of a backup.\n"
    "\n"
    "      --from DIR       the backup\n"
    "  -l, --location DIR   the data directory to be; empty or not there [.]\n"
    "      --noCheck        do not read the result to check it\n"
    "      --evenDamaged    restore data that has findings, too\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status: 0 done, 1 done but the data has findings, 2 nothing was restored.\n";

/* --- the command line --- */

struct command {
    const char *location;
    const char *to;
    const char *previous;
    const char *from;
    bool no_check;
    bool even_damaged;
    bool wants_help;
};

struct option {
    const char *name;
    const char *letter;
    const char **text; /* or NULL */
    bool *flag;        /* or NULL */
};

/* Read the word at `*at` and the value that may follow; false when it is none of the options. */
static bool read_option(const struct option *options, char *argv[], int *at)
{
    const char *word = argv[*at];
    for (const struct option *option = options; option->name != NULL; option++) {
        const size_t len = strlen(option->name);
        const bool is_long = strncmp(word, option->name, len) == 0;
        const bool is_whole = (is_long && word[len] == '\0') ||
                              (option->letter != NULL && strcmp(word, option->letter) == 0);
        if (is_whole && option->flag != NULL) {
            *option->flag = true;
            return true;
        }
        if (is_whole && argv[*at + 1] != NULL && argv[*at + 1][0] != '\0') {
            *option->text = argv[++*at];
            return true;
        }
        if (is_long && option->text != NULL && word[len] == '=' && word[len + 1] != '\0') {
            *option->text = word + len + 1;
            return true;
        }
    }
    return false;
}

static bool parse(const struct option *options, char *argv[])
{
    for (int i = 2; argv[i] != NULL; i++) {
        if (!read_option(options, argv, &i))
            return false;
    }
    return true;
}

/* --- paths --- */

__attribute__((format(printf, 2, 3))) static bool path_make(char path[PATH_MAX], const char *format,
                                                            ...)
{
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(path, PATH_MAX, format, args);
    va_end(args);
    return len > 0 && len < PATH_MAX;
}

/* A directory's path without slashes at its end, so that a suffix makes a neighbour of it. */
static bool path_trim(const char *given, char path[PATH_MAX])
{
    size_t len = strlen(given);
    while (len > 1 && given[len - 1] == '/')
        len--;
    return path_make(path, "%.*s", (int)len, given);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    (void)remove(path);
    return 0;
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The first entry of a directory that `is_fine` does not know, in `name`.  ERR_NOT_FOUND when there
   is none. */
static enum err find_stranger(const char *path, bool (*is_fine)(const char *name),
                              char name[NAME_MAX + 1])
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return errno == ENOENT ? ERR_NOT_FOUND : disk_file_error("opening", path);
    enum err err = ERR_NOT_FOUND;
    const struct dirent *entry;
    while (err == ERR_NOT_FOUND && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            is_fine(entry->d_name))
            continue;
        snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
        err = OK;
    }
    closedir(directory);
    return err;
}

/* --- the manifest --- */

static enum err read_manifest_text(struct arena *arena, const char *path, struct slice *text)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return disk_file_error("opening", path);
    const enum err err =
        disk_file_read_small(&(struct disk_file){ directory, MANIFEST_NAME }, arena, text);
    close(directory);
    return err;
}

/* The manifest of a backup that was completed. */
static enum err read_manifest(struct arena *arena, const char *path, struct manifest *manifest)
{
    enum partition_directory kind;
    enum err err = partition_directory_kind(path, &kind);
    if (err == ERR_NOT_FOUND || (err == OK && kind != PARTITION_DIRECTORY_BACKUP)) {
        fprintf(stderr, "zaffre: %s is no backup that was completed\n", path);
        return ERR_NOT_FOUND;
    }
    struct slice text = { 0 };
    if (err == OK)
        err = read_manifest_text(arena, path, &text);
    if (err == OK)
        err = manifest_decode(arena, text, manifest);
    if (err != OK)
        fprintf(stderr, "zaffre: the file %s of %s cannot be used: %s\n", MANIFEST_NAME, path,
                error_text(err));
    return err;
}

static enum err write_manifest(struct manifest *manifest, const char *path)
{
    struct clock clock;
    clock_init(&clock);
    char made[DATE_ISO_LEN + 1];
    date_format_iso(clock_now(&clock), made);
    manifest->made = made;
    manifest->version = ZAFFRE_VERSION;
    const struct slice text = manifest_encode(manifest);
    manifest->made = NULL;
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return disk_file_error("opening", path);
    const enum err err = disk_file_write_new(&(struct disk_file){ directory, MANIFEST_NAME }, text);
    close(directory);
    return err;
}

static void print_copied(const char *verb, const struct store_copy *copy)
{
    printf("%s: %" PRIu64 " bytes of metadata, %" PRIu64 " extents, %" PRIu64 " bytes copied", verb,
           copy->meta_bytes, copy->extent_count, copy->copied_bytes);
    if (copy->linked_bytes > 0)
        printf(", %" PRIu64 " bytes linked", copy->linked_bytes);
    putchar('\n');
    if (copy->missing_count + copy->unread_count > 0)
        printf("%s: %" PRIu64 " extents are missing, %" PRIu64 " could be read in part\n", verb,
               copy->missing_count, copy->unread_count);
}

/* Check what was copied, and leave no trace of it. */
static uint64_t check_copy(const struct store_copy *copy, bool no_check)
{
    if (no_check)
        return MANIFEST_UNCHECKED;
    const uint64_t finding_count = fsck_check_path(copy->to_path);
    store_copy_remove_messages(copy->to_path);
    return finding_count;
}

static enum backup_exit exit_of(uint64_t finding_count)
{
    return finding_count == 0 || finding_count == MANIFEST_UNCHECKED ? EXIT_DONE : EXIT_FINDINGS;
}

/* --- backup: where it is made --- */

/* A backup under way. */
struct making {
    const struct command *command;
    struct arena arena;
    char to[PATH_MAX];      /* the backup */
    char partial[PATH_MAX]; /* what it is until it is whole */
    int lock;               /* of `partial`: a descriptor, or -1 */
};

static bool is_name_of_ours(const char *name)
{
    static const char *const names[] = {
        "LOCK", "FORMAT", "FORMAT.new", "BACKUP", "meta", "extents"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Lock the partial backup: somebody else may be making it. */
static enum err lock_partial(struct making *making)
{
    char path[PATH_MAX];
    if (!path_make(path, "%s/LOCK", making->partial))
        return ERR_IO;
    making->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (making->lock < 0)
        return disk_file_error("making", path);
    if (flock(making->lock, LOCK_EX | LOCK_NB) == 0)
        return OK;
    fprintf(stderr, "backup: %s is being written by another backup\n", making->partial);
    return ERR_BUSY;
}

/* What a backup that was interrupted has left is in the way, and nothing else is touched. */
static enum err clear_partial(struct making *making)
{
    char name[NAME_MAX + 1];
    const enum err found = find_stranger(making->partial, is_name_of_ours, name);
    if (found == OK) {
        fprintf(stderr, "backup: %s has something in it that is no backup: %s\n", making->partial,
                name);
        return ERR_EXISTS;
    }
    if (found != ERR_NOT_FOUND)
        return found;
    const enum err err = lock_partial(making);
    if (err != OK)
        return err;
    remove_tree(making->partial);
    close(making->lock);
    making->lock = -1;
    return OK;
}

static enum err make_partial(struct making *making)
{
    struct stat stat;
    if (lstat(making->to, &stat) == 0) {
        fprintf(stderr, "backup: %s is there already\n", making->to);
        return ERR_EXISTS;
    }
    if (lstat(making->partial, &stat) == 0) {
        const enum err cleared = clear_partial(making);
        if (cleared != OK)
            return cleared;
    }
    if (mkdir(making->partial, 0700) != 0) {
        fprintf(stderr, "backup: %s cannot be made: %s\n", making->partial, strerror(errno));
        return ERR_IO;
    }
    return lock_partial(making);
}

/* --- backup: what is copied --- */

/* Copy from a server that is running. */
static enum err copy_online(const struct command *command, struct store_copy *copy)
{
    int connection;
    enum err err = control_client_begin(command->location, &connection);
    if (err == ERR_NOT_FOUND)
        fprintf(stderr, "backup: %s is in use, and its server has no socket %s there\n",
                command->location, CONTROL_SOCKET);
    else if (err == ERR_BUSY)
        fprintf(stderr, "backup: another backup of %s is under way\n", command->location);
    else if (err != OK)
        fprintf(stderr, "backup: the server cannot make a checkpoint; its log says why\n");
    if (err != OK)
        return err;
    char meta[PATH_MAX];
    if (!path_make(meta, "%s/%s/meta", command->location, CONTROL_CHECKPOINT))
        err = ERR_IO;
    copy->meta_path = meta;
    if (err == OK)
        err = store_copy_run(copy);
    copy->meta_path = NULL;
    if (control_client_end(connection) != OK && err == OK) {
        fprintf(stderr, "backup: the server ended before the copy was complete\n");
        err = ERR_SHUTTING_DOWN;
    }
    return err;
}

/* Copy what nobody uses; the lock keeps it so. */
static enum err copy_offline(const struct command *command, struct store_copy *copy)
{
    char meta[PATH_MAX];
    if (!path_make(meta, "%s/meta", command->location))
        return ERR_IO;
    copy->meta_path = meta;
    const enum err err = store_copy_run(copy);
    copy->meta_path = NULL;
    return err;
}

static enum err copy_source(const struct command *command, struct store_copy *copy)
{
    struct partition_lock *lock;
    const enum err locked = partition_lock_directory(command->location, &lock);
    if (locked == ERR_LOCKED)
        return copy_online(command, copy);
    if (locked != OK) {
        fprintf(stderr, "backup: there is no data of zaffre in %s that can be read: %s\n",
                command->location, error_text(locked));
        return locked;
    }
    const enum err err = copy_offline(command, copy);
    partition_lock_free(lock);
    return err;
}

/* The last step, after which it is a backup. */
static enum err complete(const struct making *making)
{
    char path[PATH_MAX];
    if (!path_make(path, "%s/LOCK", making->partial))
        return ERR_IO;
    if (unlink(path) != 0)
        return disk_file_error("removing", path);
    /* FORMAT comes last, and its directory is synced with it. */
    const enum err err = partition_mark_directory(making->partial, PARTITION_DIRECTORY_BACKUP);
    if (err != OK)
        return err;
    if (rename(making->partial, making->to) != 0)
        return disk_file_error("renaming", making->partial);
    if (!path_make(path, "%s/..", making->to))
        return ERR_IO;
    return disk_file_sync_directory(path);
}

static enum backup_exit fill_partial(struct making *making, const struct manifest *earlier)
{
    const struct command *command = making->command;
    struct store_copy copy = {
        .from_path = command->location,
        .to_path = making->partial,
        .earlier_path = command->previous,
        .earlier = command->previous != NULL ? earlier : NULL,
        .manifest = { .arena = &making->arena },
    };
    enum err err = copy_source(command, &copy);
    if (err == OK) {
        print_copied("backup", &copy);
        copy.manifest.finding_count = check_copy(&copy, command->no_check);
        err = write_manifest(&copy.manifest, making->partial);
    }
    if (err == OK)
        err = complete(making);
    if (err != OK) {
        fprintf(stderr, "backup: there is no backup: %s\n", error_text(err));
        remove_tree(making->partial);
        return EXIT_NOT_DONE;
    }
    printf("backup: %s is complete\n", making->to);
    return exit_of(copy.manifest.finding_count);
}

static enum backup_exit make_backup(const struct command *command)
{
    struct making making = { .command = command, .lock = -1 };
    struct manifest earlier = { 0 };
    enum backup_exit status = EXIT_NOT_DONE;
    if (!path_trim(command->to, making.to) || !path_make(making.partial, "%s.partial", making.to))
        fprintf(stderr, "backup: the path %s is too long\n", command->to);
    else if ((command->previous == NULL ||
              read_manifest(&making.arena, command->previous, &earlier) == OK) &&
             make_partial(&making) == OK)
        status = fill_partial(&making, &earlier);
    if (making.lock >= 0)
        close(making.lock);
    arena_release(&making.arena);
    return status;
}

int backup_main(int argc, char *argv[])
{
    (void)argc;
    struct command command = { .location = "." };
    const struct option options[] = {
        { "--location", "-l", &command.location, NULL },
        { "--to", NULL, &command.to, NULL },
        { "--previous", NULL, &command.previous, NULL },
        { "--noCheck", NULL, NULL, &command.no_check },
        { "--help", "-h", NULL, &command.wants_help },
        { 0 },
    };
    if (!parse(options, argv) || (command.to == NULL && !command.wants_help)) {
        fputs(BACKUP_USAGE, stderr);
        return EXIT_NOT_DONE;
    }
    if (command.wants_help) {
        fputs(BACKUP_USAGE, stdout);
        return EXIT_DONE;
    }
    log_set_level(LOG_WARN);
    return (int)make_backup(&command);
}

/* --- restore --- */

static bool is_lost_and_found(const char *name)
{
    /* The root of a file system made for the purpose is as good as empty. */
    return strcmp(name, "lost+found") == 0;
}

/* Make the directory, or see that it is empty. */
static enum err prepare_target(const char *path)
{
    if (mkdir(path, 0700) == 0) {
        char parent[PATH_MAX];
        return path_make(parent, "%s/..", path) ? disk_file_sync_directory(parent) : ERR_IO;
    }
    if (errno != EEXIST) {
        fprintf(stderr, "restore: %s cannot be made: %s\n", path, strerror(errno));
        return ERR_IO;
    }
    char name[NAME_MAX + 1];
    const enum err found = find_stranger(path, is_lost_and_found, name);
    if (found == OK) {
        fprintf(stderr, "restore: %s is not empty: there is %s\n", path, name);
        return ERR_EXISTS;
    }
    return found == ERR_NOT_FOUND ? OK : found;
}

static void remove_restored(const char *path)
{
    static const char *const names[] = { "meta", "extents", "FORMAT", "FORMAT.new" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char part[PATH_MAX];
        if (path_make(part, "%s/%s", path, names[i]))
            remove_tree(part);
    }
}

/* Whether the copy is what the backup was when it was made. */
static enum err compare(const struct manifest *backup, const struct manifest *copy)
{
    const char *name = manifest_difference(backup, copy, MANIFEST_META);
    if (name == NULL)
        name = manifest_difference(backup, copy, MANIFEST_EXTENT);
    if (name == NULL)
        return OK;
    fprintf(stderr, "restore: the backup is damaged: %s is not as it was written, or missing\n",
            name);
    return ERR_CORRUPT;
}

static enum err check_restored(const struct command *command, const struct manifest *backup,
                               const struct store_copy *copy, uint64_t *finding_count)
{
    enum err err = compare(backup, &copy->manifest);
    if (err != OK && !command->even_damaged)
        return err;
    *finding_count = check_copy(copy, command->no_check);
    if (err != OK && *finding_count == MANIFEST_UNCHECKED)
        *finding_count = 0;
    *finding_count += err != OK;
    if (exit_of(*finding_count) == EXIT_FINDINGS && !command->even_damaged) {
        fprintf(stderr, "restore: the data in the backup has findings; --evenDamaged restores it "
                        "nevertheless\n");
        return ERR_CORRUPT;
    }
    return OK;
}

static enum backup_exit restore_to(const struct command *command, struct arena *arena,
                                   const struct manifest *backup)
{
    char meta[PATH_MAX];
    if (!path_make(meta, "%s/meta", command->from))
        return EXIT_NOT_DONE;
    struct store_copy copy = {
        .meta_path = meta,
        .from_path = command->from,
        .to_path = command->location,
        .manifest = { .arena = arena },
    };
    uint64_t finding_count = 0;
    enum err err = store_copy_run(&copy);
    if (err == OK) {
        print_copied("restore", &copy);
        err = check_restored(command, backup, &copy, &finding_count);
    }
    /* From here on it is a data directory. */
    if (err == OK)
        err = partition_mark_directory(command->location, PARTITION_DIRECTORY_STORE);
    if (err != OK) {
        fprintf(stderr, "restore: nothing was restored: %s\n", error_text(err));
        remove_restored(command->location);
        return EXIT_NOT_DONE;
    }
    printf("restore: %s is as it was at %s\n", command->location, backup->made);
    return exit_of(finding_count);
}

static enum backup_exit restore(const struct command *command)
{
    struct arena arena = { 0 };
    struct manifest backup;
    enum backup_exit status = EXIT_NOT_DONE;
    if (read_manifest(&arena, command->from, &backup) == OK &&
        prepare_target(command->location) == OK)
        status = restore_to(command, &arena, &backup);
    arena_release(&arena);
    return status;
}

int restore_main(int argc, char *argv[])
{
    (void)argc;
    struct command command = { .location = "." };
    const struct option options[] = {
        { "--location", "-l", &command.location, NULL },
        { "--from", NULL, &command.from, NULL },
        { "--noCheck", NULL, NULL, &command.no_check },
        { "--evenDamaged", NULL, NULL, &command.even_damaged },
        { "--help", "-h", NULL, &command.wants_help },
        { 0 },
    };
    if (!parse(options, argv) || (command.from == NULL && !command.wants_help)) {
        fputs(RESTORE_USAGE, stderr);
        return EXIT_NOT_DONE;
    }
    if (command.wants_help) {
        fputs(RESTORE_USAGE, stdout);
        return EXIT_DONE;
    }
    log_set_level(LOG_WARN);
    return (int)restore(&command);
}
