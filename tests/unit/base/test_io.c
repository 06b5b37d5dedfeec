/*
 * test_io.c - the promises of base/io.h, kept by the real disk and by the simulated one alike;
 * then those of the simulated one alone: power cuts, failures on demand, memory given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/log.h"

/* A disk and how to get rid of it. */
struct disk {
    struct io *io;
    char path[64]; /* empty: in memory */
};

static int open_memory(void **state)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    disk->io = io_memory_new();
    *state = disk;
    return 0;
}

static int open_untracked(void **state)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    disk->io = io_memory_new_untracked(0);
    *state = disk;
    return 0;
}

static int open_linux(void **state)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    snprintf(disk->path, sizeof(disk->path), "/tmp/zaffre_test_io_XXXXXX");
    if (mkdtemp(disk->path) == NULL)
        return -1;
    char nested[96];
    snprintf(nested, sizeof(nested), "%s/made/with parents", disk->path);
    if (io_linux_new(nested, &disk->io) != OK)
        return -1;
    *state = disk;
    return 0;
}

static int close_disk(void **state)
{
    struct disk *disk = *state;
    io_free(disk->io);
    if (disk->path[0] != '\0') {
        char command[96];
        snprintf(command, sizeof(command), "rm -r '%s'", disk->path);
        if (system(command) != 0) /* NOLINT(cert-env33-c): the path is our own */
            return -1;
    }
    free(disk);
    return 0;
}

static struct io *io_of(void **state)
{
    return ((struct disk *)*state)->io;
}

static struct io_file *must_create(struct io *io, const char *path)
{
    struct io_file *file = NULL;
    assert_int_equal(io_file_open(io, path, IO_OPEN_CREATE, &file), OK);
    return file;
}

static struct io_file *must_open(struct io *io, const char *path)
{
    struct io_file *file = NULL;
    assert_int_equal(io_file_open(io, path, IO_OPEN_EXISTING, &file), OK);
    return file;
}

static void must_write(struct io_file *file, uint64_t offset, const char *text)
{
    assert_int_equal(io_file_write(file, offset, slice_of(text)), OK);
}

static uint64_t size_of(struct io_file *file)
{
    uint64_t size_bytes = 0;
    assert_int_equal(io_file_size(file, &size_bytes), OK);
    return size_bytes;
}

/* The byte at `offset`, which is within the file. */
static char byte_at(struct io_file *file, uint64_t offset)
{
    char byte = 'x';
    size_t got = 0;
    assert_int_equal(io_file_read(file, offset, &byte, 1, &got), OK);
    assert_int_equal(got, 1);
    return byte;
}

/* --- every disk --- */

static void what_is_written_is_read_back(void **state)
{
    struct io *io = io_of(state);
    enum { LEN = 300000 };
    char *bytes = malloc(LEN);
    char *back = malloc(LEN);
    for (size_t i = 0; i < LEN; i++)
        bytes[i] = (char)(i * 7 + i / 256);

    struct io_file *file = must_create(io, "file");
    assert_int_equal(io_file_write(file, 12345, slice_make(bytes, LEN)), OK);
    assert_int_equal(size_of(file), 12345 + LEN);
    assert_int_equal(io_file_sync(file), OK);
    io_file_write_behind(file, 0, 4096);
    io_file_close(file);

    file = must_open(io, "file");
    size_t got = 0;
    assert_int_equal(io_file_read(file, 12345, back, LEN, &got), OK);
    assert_int_equal(got, LEN);
    assert_memory_equal(bytes, back, LEN);
    io_file_close(file);
    free(back);
    free(bytes);
}

static void bytes_never_written_read_as_zeroes_and_reads_end_with_the_file(void **state)
{
    struct io_file *file = must_create(io_of(state), "file");
    must_write(file, 100000, "end");
    char buf[10];
    memset(buf, 'x', sizeof(buf));
    size_t got = 0;
    assert_int_equal(io_file_read(file, 99998, buf, sizeof(buf), &got), OK);
    assert_int_equal(got, 5);
    assert_memory_equal(buf, "\0\0end", 5);
    assert_int_equal(io_file_read(file, 100003, buf, sizeof(buf), &got), OK);
    assert_int_equal(got, 0);
    assert_int_equal(io_file_read(file, 200000, buf, sizeof(buf), &got), OK);
    assert_int_equal(got, 0);
    io_file_close(file);
}

static void names_are_told_apart_by_error(void **state)
{
    struct io *io = io_of(state);
    struct io_file *file = NULL;
    assert_int_equal(io_file_open(io, "none", IO_OPEN_EXISTING, &file), ERR_NOT_FOUND);
    assert_int_equal(io_file_open(io, "no/file", IO_OPEN_CREATE, &file), ERR_NOT_FOUND);
    assert_int_equal(io_unlink(io, "none"), ERR_NOT_FOUND);
    assert_int_equal(io_rename(io, "none", "other"), ERR_NOT_FOUND);
    assert_int_equal(io_sync_dir(io, "none"), ERR_NOT_FOUND);
    assert_int_equal(io_mkdir(io, "dir"), OK);
    assert_int_equal(io_mkdir(io, "dir"), ERR_EXISTS);
    assert_int_equal(io_sync_dir(io, "."), OK);
    io_file_close(must_create(io, "dir/file"));
    assert_int_equal(io_file_open(io, "dir/file", IO_OPEN_CREATE, &file), ERR_EXISTS);
    assert_int_equal(io_sync_dir(io, "dir"), OK);
}

struct seen {
    unsigned count;
    bool other;
};

static void see_a_or_b(void *arg, const char *name)
{
    struct seen *seen = arg;
    seen->count++;
    if (strcmp(name, "a") != 0 && strcmp(name, "b") != 0)
        seen->other = true;
}

static void a_listing_has_the_names_of_one_directory(void **state)
{
    struct io *io = io_of(state);
    assert_int_equal(io_mkdir(io, "dir"), OK);
    io_file_close(must_create(io, "outside"));
    io_file_close(must_create(io, "dir/a"));
    io_file_close(must_create(io, "dir/b"));
    io_file_close(must_create(io, "dir/c"));
    assert_int_equal(io_unlink(io, "dir/c"), OK);
    struct seen seen = { 0 };
    assert_int_equal(io_list(io, "dir", see_a_or_b, &seen), OK);
    assert_int_equal(seen.count, 2);
    assert_false(seen.other);
    assert_int_equal(io_list(io, "none", see_a_or_b, &seen), ERR_NOT_FOUND);
}

static void a_rename_replaces_its_target(void **state)
{
    struct io *io = io_of(state);
    struct io_file *file = must_create(io, "old");
    must_write(file, 0, "old");
    io_file_close(file);
    file = must_create(io, "new");
    must_write(file, 0, "new!");
    io_file_close(file);
    assert_int_equal(io_rename(io, "new", "old"), OK);
    assert_int_equal(io_file_open(io, "new", IO_OPEN_EXISTING, &file), ERR_NOT_FOUND);
    file = must_open(io, "old");
    assert_int_equal(size_of(file), 4);
    assert_int_equal(byte_at(file, 0), 'n');
    io_file_close(file);
}

static void an_unlinked_file_can_be_used_until_it_is_closed(void **state)
{
    struct io *io = io_of(state);
    struct io_file *file = must_create(io, "file");
    must_write(file, 0, "still here");
    assert_int_equal(io_unlink(io, "file"), OK);
    assert_int_equal(byte_at(file, 6), 'h');
    io_file_close(must_create(io, "file"));
    io_file_close(file);
    file = must_open(io, "file");
    assert_int_equal(size_of(file), 0);
    io_file_close(file);
}

static void a_punched_range_reads_as_zeroes_and_its_neighbours_stay(void **state)
{
    struct io_file *file = must_create(io_of(state), "file");
    char bytes[5 * 4096];
    memset(bytes, 'a', sizeof(bytes));
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, sizeof(bytes))), OK);
    assert_int_equal(io_file_punch(file, 4096, UINT64_C(2) * 4096), OK);
    assert_int_equal(byte_at(file, 4095), 'a');
    assert_int_equal(byte_at(file, 4096), 0);
    assert_int_equal(byte_at(file, 3 * 4096 - 1), 0);
    assert_int_equal(byte_at(file, 3 * 4096), 'a');
    assert_int_equal(io_file_punch(file, UINT64_C(4) * 4096, UINT64_C(100) * 4096), OK);
    assert_int_equal(byte_at(file, 4 * 4096), 0);
    assert_int_equal(size_of(file), sizeof(bytes));
    must_write(file, 4096 + 10, "again");
    assert_int_equal(byte_at(file, 4096 + 9), 0);
    assert_int_equal(byte_at(file, 4096 + 10), 'a');
    io_file_close(file);
}

static void a_truncated_file_grows_again_with_zeroes(void **state)
{
    struct io_file *file = must_create(io_of(state), "file");
    char bytes[3 * 4096];
    memset(bytes, 'a', sizeof(bytes));
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, sizeof(bytes))), OK);
    assert_int_equal(io_file_truncate(file, 5000), OK);
    assert_int_equal(size_of(file), 5000);
    assert_int_equal(io_file_truncate(file, 10000), OK);
    assert_int_equal(size_of(file), 10000);
    assert_int_equal(byte_at(file, 4999), 'a');
    assert_int_equal(byte_at(file, 5000), 0);
    assert_int_equal(byte_at(file, 9999), 0);
    io_file_close(file);
}

/* --- the real disk --- */

static void a_real_file_has_a_descriptor_and_punching_frees_its_blocks(void **state)
{
    struct io_file *file = must_create(io_of(state), "file");
    enum { LEN = 1024 * 1024 };
    char *bytes = malloc(LEN);
    memset(bytes, 'a', LEN);
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, LEN)), OK);
    assert_int_equal(io_file_sync(file), OK);
    free(bytes);
    const int fd = io_file_descriptor(file);
    char byte = 'x';
    assert_int_equal(pread(fd, &byte, 1, LEN - 1), 1);
    assert_int_equal(byte, 'a');

    struct stat before;
    struct stat after;
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(io_file_punch(file, 0, LEN), OK);
    assert_int_equal(fstat(fd, &after), 0);
    assert_true(after.st_blocks < before.st_blocks);
    io_file_close(file);
}

static void a_real_directory_is_found_again(void **state)
{
    const struct disk *disk = *state;
    io_file_close(must_create(disk->io, "file"));
    char nested[96];
    snprintf(nested, sizeof(nested), "%s//made/with parents/", disk->path);
    struct io *again = NULL;
    assert_int_equal(io_linux_new(nested, &again), OK);
    io_file_close(must_open(again, "file"));
    io_free(again);
}

static void a_directory_that_cannot_be_made_is_an_error(void **state)
{
    const struct disk *disk = *state;
    io_file_close(must_create(disk->io, "file"));
    char nested[128];
    snprintf(nested, sizeof(nested), "%s/made/with parents/file/below", disk->path);
    struct io *none = NULL;
    assert_int_equal(io_linux_new(nested, &none), ERR_IO);
}

/* --- the simulated disk --- */

static void a_simulated_file_has_no_descriptor(void **state)
{
    struct io_file *file = must_create(io_of(state), "file");
    assert_int_equal(io_file_descriptor(file), -1);
    io_file_close(file);
}

static void punch_truncate_and_unlink_give_memory_back(void **state)
{
    struct io *io = io_of(state);
    struct io_file *file = must_create(io, "file");
    char bytes[10 * 4096];
    memset(bytes, 'a', sizeof(bytes));
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, sizeof(bytes))), OK);
    assert_int_equal(io_memory_bytes(io), 10 * 4096);
    assert_int_equal(io_file_punch(file, 4096, UINT64_C(5) * 4096), OK);
    assert_int_equal(io_memory_bytes(io), 5 * 4096);
    assert_int_equal(io_file_truncate(file, UINT64_C(8) * 4096), OK);
    assert_int_equal(io_memory_bytes(io), 3 * 4096);
    io_file_close(file);
    assert_int_equal(io_unlink(io, "file"), OK);
    assert_int_equal(io_memory_bytes(io), 0);
}

static void what_waits_for_a_sync_takes_memory_only_until_then(void **state)
{
    struct io *io = io_of(state);
    struct io_file *file = must_create(io, "file");
    char bytes[4 * 4096];
    memset(bytes, 'a', sizeof(bytes));
    for (int round = 0; round < 5; round++) {
        assert_int_equal(io_file_write(file, 0, slice_make(bytes, sizeof(bytes))), OK);
        assert_int_equal(io_file_write(file, 0, slice_make(bytes, sizeof(bytes))), OK);
        assert_true(io_memory_bytes(io) <= 2 * sizeof(bytes));
        assert_int_equal(io_file_sync(file), OK);
        assert_int_equal(io_memory_bytes(io), sizeof(bytes));
    }
    io_file_close(file);
}

static void a_power_cut_keeps_what_was_synced(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct io *io = io_memory_new();
        struct io_file *file = must_create(io, "file");
        must_write(file, 5000, "safe");
        assert_int_equal(io_file_sync(file), OK);
        assert_int_equal(io_sync_dir(io, "."), OK);
        must_write(file, 9000, "not safe");
        io_file_close(file);
        io_memory_power_cut(io, seed);
        file = must_open(io, "file");
        assert_true(size_of(file) >= 5004);
        assert_int_equal(byte_at(file, 5000), 's');
        assert_int_equal(byte_at(file, 5003), 'e');
        io_file_close(file);
        io_free(io);
    }
}

/* A file of eight synced pages of 'a', rewritten as 'b' without a sync, after a power cut. */
static void cut_during_rewrite(uint64_t seed, unsigned *old_count, unsigned *new_count)
{
    enum { LEN = 8 * 4096 };
    char bytes[LEN];
    struct io *io = io_memory_new();
    struct io_file *file = must_create(io, "file");
    memset(bytes, 'a', LEN);
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, LEN)), OK);
    assert_int_equal(io_file_sync(file), OK);
    assert_int_equal(io_sync_dir(io, "."), OK);
    memset(bytes, 'b', LEN);
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, LEN)), OK);
    struct io *left = io_memory_survivor(io, seed);
    assert_int_equal(byte_at(file, 0), 'b'); /* the running disk is untouched */
    io_file_close(file);
    io_free(io);

    file = must_open(left, "file");
    size_t got = 0;
    assert_int_equal(io_file_read(file, 0, bytes, LEN, &got), OK);
    assert_int_equal(got, LEN);
    *old_count = 0;
    *new_count = 0;
    for (size_t i = 0; i < LEN; i++) {
        assert_true(bytes[i] == 'a' || bytes[i] == 'b');
        *(bytes[i] == 'a' ? old_count : new_count) += 1;
    }
    io_file_close(file);
    io_free(left);
}

static void a_power_cut_keeps_all_none_or_some_of_what_was_not_synced(void **state)
{
    (void)state;
    bool all = false;
    bool none = false;
    bool torn = false;
    for (uint64_t seed = 0; seed < 50; seed++) {
        unsigned old_count;
        unsigned new_count;
        cut_during_rewrite(seed, &old_count, &new_count);
        all |= old_count == 0;
        none |= new_count == 0;
        torn |= old_count % 4096 != 0;
    }
    assert_true(all);
    assert_true(none);
    assert_true(torn);
}

static void names_not_synced_may_or_may_not_survive_a_power_cut(void **state)
{
    (void)state;
    unsigned made_survives = 0;
    unsigned removed_survives = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct io *io = io_memory_new();
        io_file_close(must_create(io, "removed"));
        io_file_close(must_create(io, "stays"));
        assert_int_equal(io_sync_dir(io, "."), OK);
        io_file_close(must_create(io, "made"));
        assert_int_equal(io_unlink(io, "removed"), OK);
        io_memory_power_cut(io, seed);
        io_file_close(must_open(io, "stays"));
        struct io_file *file = NULL;
        if (io_file_open(io, "made", IO_OPEN_EXISTING, &file) == OK) {
            made_survives++;
            io_file_close(file);
        }
        if (io_file_open(io, "removed", IO_OPEN_EXISTING, &file) == OK) {
            removed_survives++;
            io_file_close(file);
        }
        io_free(io);
    }
    assert_in_range(made_survives, 1, 49);
    assert_in_range(removed_survives, 1, 49);
}

static void a_rename_survives_a_power_cut_whole_or_not_at_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct io *io = io_memory_new();
        io_file_close(must_create(io, "from"));
        assert_int_equal(io_sync_dir(io, "."), OK);
        assert_int_equal(io_rename(io, "from", "to"), OK);
        io_memory_power_cut(io, seed);
        struct io_file *from = NULL;
        struct io_file *to = NULL;
        const bool has_from = io_file_open(io, "from", IO_OPEN_EXISTING, &from) == OK;
        const bool has_to = io_file_open(io, "to", IO_OPEN_EXISTING, &to) == OK;
        assert_true(has_from != has_to);
        io_file_close(from);
        io_file_close(to);
        io_free(io);
    }
}

static void the_nth_call_fails_and_no_other(void **state)
{
    struct io *io = io_of(state);
    struct io_file *file = must_create(io, "file");
    const uint64_t calls = io_memory_calls(io);
    io_memory_fail_at(io, 2, ERR_NO_SPACE);
    must_write(file, 0, "abcd");
    assert_int_equal(io_file_write(file, 0, slice_of("ABCD")), ERR_NO_SPACE);
    assert_int_equal(byte_at(file, 1), 'B'); /* half was written */
    assert_int_equal(byte_at(file, 2), 'c');
    assert_int_equal(io_memory_calls(io), calls + 4);
    io_memory_fail_at(io, 1, ERR_IO);
    io_memory_fail_at(io, 0, ERR_IO);
    assert_int_equal(io_file_sync(file), OK);
    io_file_close(file);
}

#define EVERY_DISK(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, open_memory, close_disk),                                \
        cmocka_unit_test_setup_teardown(test, open_untracked, close_disk),                         \
        cmocka_unit_test_setup_teardown(test, open_linux, close_disk)

static void memory_with_a_limit_is_full_when_it_is_reached(void **state)
{
    (void)state;
    static char bytes[256 * 1024];
    struct io *io = io_memory_new_untracked(1024 * 1024);
    struct io_file *file;
    assert_int_equal(io_file_open(io, "f", IO_OPEN_CREATE, &file), OK);
    uint64_t offset = 0;
    enum err err = OK;
    while (err == OK && offset < 2 * 1024 * 1024) {
        err = io_file_write(file, offset, slice_make(bytes, sizeof(bytes)));
        offset += err == OK ? sizeof(bytes) : 0;
    }
    assert_int_equal(err, ERR_NO_SPACE);
    assert_true(io_memory_bytes(io) <= 1024 * 1024);
    assert_int_equal(io_file_punch(file, 0, offset), OK);
    assert_int_equal(io_file_write(file, 0, slice_make(bytes, sizeof(bytes))), OK);
    io_file_close(file);
    io_free(io);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        EVERY_DISK(what_is_written_is_read_back),
        EVERY_DISK(bytes_never_written_read_as_zeroes_and_reads_end_with_the_file),
        EVERY_DISK(names_are_told_apart_by_error),
        EVERY_DISK(a_listing_has_the_names_of_one_directory),
        EVERY_DISK(a_rename_replaces_its_target),
        EVERY_DISK(an_unlinked_file_can_be_used_until_it_is_closed),
        EVERY_DISK(a_punched_range_reads_as_zeroes_and_its_neighbours_stay),
        EVERY_DISK(a_truncated_file_grows_again_with_zeroes),
        cmocka_unit_test_setup_teardown(a_real_file_has_a_descriptor_and_punching_frees_its_blocks,
                                        open_linux, close_disk),
        cmocka_unit_test_setup_teardown(a_real_directory_is_found_again, open_linux, close_disk),
        cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_made_is_an_error, open_linux,
                                        close_disk),
        cmocka_unit_test_setup_teardown(a_simulated_file_has_no_descriptor, open_memory,
                                        close_disk),
        cmocka_unit_test_setup_teardown(punch_truncate_and_unlink_give_memory_back, open_untracked,
                                        close_disk),
        cmocka_unit_test_setup_teardown(what_waits_for_a_sync_takes_memory_only_until_then,
                                        open_memory, close_disk),
        cmocka_unit_test(a_power_cut_keeps_what_was_synced),
        cmocka_unit_test(a_power_cut_keeps_all_none_or_some_of_what_was_not_synced),
        cmocka_unit_test(names_not_synced_may_or_may_not_survive_a_power_cut),
        cmocka_unit_test(a_rename_survives_a_power_cut_whole_or_not_at_all),
        cmocka_unit_test(memory_with_a_limit_is_full_when_it_is_reached),
        cmocka_unit_test_setup_teardown(the_nth_call_fails_and_no_other, open_memory, close_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
