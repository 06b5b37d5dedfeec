/*
 * test_inspect.c - checking a store: partitions and marks are found, a store that was used holds
 * together, and each thing that is broken on purpose is found, and nothing else.
 *
 * Payloads are so large that four fill an extent.  Rows are broken through the engine while the
 * store is closed; then it is opened to be looked at only.
 */
#include "reclaim_fixture.h"

#include "base/log.h"
#include "partition/engine.h"
#include "partition/rocksdb/engine_rocksdb.h"
#include "partition/system_row.h"

enum {
    FINDINGS_MAX = 16,
    FINDING_BYTES = 300,
};

struct findings {
    size_t count;
    char words[FINDINGS_MAX][FINDING_BYTES];
    struct stream_range ranges[FINDINGS_MAX];
    struct partition_census census;
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- helpers --- */

static void note(void *arg, const struct stream_range *range, const char *words)
{
    struct findings *findings = arg;
    assert_true(findings->count < FINDINGS_MAX);
    snprintf(findings->words[findings->count], FINDING_BYTES, "%s", words);
    if (range != NULL)
        findings->ranges[findings->count] = *range;
    findings->count++;
}

/* Close everything and open it to be looked at only. */
static void look_only(struct reclaim_fixture *mine)
{
    const struct stream_options options = { .extent_bytes = 4 * PAYLOAD_ALLOCATED,
                                            .dedicated_bytes = 1024 * 1024,
                                            .read_only = true };
    store_fixture_close(mine->fixture);
    stream_close(mine->stream);
    assert_int_equal(stream_open_with(mine->io, &mine->fixture->clock, &options, &mine->stream),
                     OK);
    mine->fixture->options.stream = mine->stream;
    mine->fixture->options.read_only = true;
    store_fixture_open(mine->fixture);
}

static struct findings check(struct reclaim_fixture *mine)
{
    struct findings findings = { 0 };
    struct partition_check request = { .report = note, .arg = &findings };
    assert_int_equal(partition_check(mine->fixture->store, &request), OK);
    findings.census = request.census;
    return findings;
}

static void assert_clean(struct reclaim_fixture *mine)
{
    const struct findings findings = check(mine);
    if (findings.count > 0)
        fail_msg("%s", findings.words[0]);
}

/* There is one finding, and it says this. */
static void assert_finding(struct reclaim_fixture *mine, const char *words)
{
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 1);
    if (strstr(findings.words[0], words) == NULL)
        fail_msg("%s", findings.words[0]);
}

static void put_row(struct reclaim_fixture *mine, struct slice key, struct slice value)
{
    struct engine *engine;
    store_fixture_close(mine->fixture);
    assert_int_equal(engine_rocksdb_open(mine->fixture->path, 0, &engine), OK);
    struct engine_group *group = engine_group_new(engine);
    const struct engine_key row = { .key = key };
    if (value.len > 0)
        engine_group_put(group, &row, value);
    else
        engine_group_delete(group, &row);
    assert_int_equal(engine_group_commit(group, ENGINE_DURABLE), OK);
    engine_group_free(group);
    engine_close(engine);
    mine->fixture->options.read_only = true;
    store_fixture_open(mine->fixture);
}

/* Change the row of an extent, or remove it: length 0. */
static void put_extent_row(struct reclaim_fixture *mine, uint64_t extent_id, uint64_t length,
                           uint64_t live_bytes)
{
    const struct system_key key = system_key_extent(extent_id);
    uint8_t value[16];
    for (unsigned i = 0; i < 8; i++) {
        value[i] = (uint8_t)(length >> (56 - 8 * i));
        value[8 + i] = (uint8_t)(live_bytes >> (56 - 8 * i));
    }
    put_row(mine, slice_make(key.bytes, key.len), slice_make(value, length == 0 ? 0 : 16));
}

static struct io_file *open_extent(struct reclaim_fixture *mine, uint64_t extent_id)
{
    char path[64];
    struct io_file *file;
    snprintf(path, sizeof(path), "extents/%016llx.ext", (unsigned long long)extent_id);
    assert_int_equal(io_file_open(mine->io, path, IO_OPEN_EXISTING, &file), OK);
    return file;
}

static void write_byte(struct reclaim_fixture *mine, uint64_t extent_id, uint64_t offset)
{
    struct io_file *file = open_extent(mine, extent_id);
    assert_int_equal(io_file_write(file, offset, slice_of("!")), OK);
    io_file_close(file);
}

/* A full extent with payloads of the owners 1 to 4, of which that of 2 is reclaimed; settled. */
static uint64_t settled_extent(struct reclaim_fixture *mine)
{
    struct stream_range ranges[4];
    for (unsigned i = 0; i < 4; i++)
        ranges[i] = payload(mine, (char)('a' + i), i + 1);
    payload(mine, 'e', 5); /* begins another */
    disown(mine, &ranges[1], 2);
    partition_reclaim(mine->fixture->store);
    restart(mine, 0);
    look_only(mine);
    return ranges[0].extent_id;
}

/* --- partitions --- */

struct names {
    char text[256];
    unsigned left; /* how many more are wanted */
};

static bool add_name(void *arg, struct slice partition)
{
    struct names *names = arg;
    const size_t len = strlen(names->text);
    snprintf(names->text + len, sizeof(names->text) - len, "%.*s ", (int)partition.len,
             partition.data);
    return --names->left > 0;
}

static void every_partition_with_a_key_is_listed_once(void **state)
{
    struct store_fixture *fixture = *state;
    const char *const partitions[] = { "b", "a", "long name", "aa", "ab", "\xff\xff", "b" };
    for (size_t i = 0; i < sizeof(partitions) / sizeof(partitions[0]); i++) {
        store_put(fixture->store, partitions[i], "k", "v");
        store_put(fixture->store, partitions[i], "\xff\xff", "v");
    }
    struct names names = { .left = 100 };
    assert_int_equal(partition_each(fixture->store, add_name, &names), OK);
    assert_string_equal(names.text, "a b aa ab \xff\xff long name ");

    names = (struct names){ .left = 2 };
    assert_int_equal(partition_each(fixture->store, add_name, &names), OK);
    assert_string_equal(names.text, "a b ");
}

static void an_empty_store_has_no_partition(void **state)
{
    struct store_fixture *fixture = *state;
    struct names names = { .left = 100 };
    assert_int_equal(partition_each(fixture->store, add_name, &names), OK);
    assert_string_equal(names.text, "");
}

static enum err decide_mark(struct change *change, void *arg)
{
    if (arg != NULL)
        change_mark(change);
    else
        change_unmark(change);
    return OK;
}

static void a_mark_is_seen(void **state)
{
    struct store_fixture *fixture = *state;
    bool marked = true;
    assert_int_equal(partition_is_marked(fixture->store, text("p"), &marked), OK);
    assert_false(marked);
    assert_int_equal(store_update(fixture->store, "p", decide_mark, fixture), OK);
    assert_int_equal(partition_is_marked(fixture->store, text("p"), &marked), OK);
    assert_true(marked);
    assert_int_equal(partition_is_marked(fixture->store, text("pp"), &marked), OK);
    assert_false(marked);
}

/* --- a store that is only looked at --- */

static void a_store_opened_to_be_looked_at_has_all_its_keys(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "k", "v");
    fixture->options.read_only = true;
    store_fixture_reopen(fixture, 0);
    assert_string_equal(store_get(fixture, "p", "k"), "v");
    struct partition_view view;
    partition_view_open_long(fixture->store, text("p"), &view);
    struct cursor *cursor = partition_view_scan(&view, text(""), text(""));
    assert_string_equal(cursor_text(&fixture->arena, cursor), "k=v");
    partition_view_close(&view);
    assert_int_equal(partition_reclaim(fixture->store), 0);
}

static void a_store_that_is_not_there_is_not_made(void **state)
{
    struct store_fixture *fixture = *state;
    struct partition_store *store;
    char path[128];
    snprintf(path, sizeof(path), "%s/nothing", fixture->path);
    const struct partition_options options = { .clock = &fixture->clock, .read_only = true };
    assert_int_not_equal(partition_open_rocksdb(path, &options, &store), OK);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void looking_neither_settles_nor_reclaims(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range kept = payload(mine, 'a', 1);
    const struct stream_range freed = payload(mine, 'b', 2);
    disown(mine, &freed, 2);
    look_only(mine);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_clean(mine);
    assert_int_equal(first_byte(mine, &freed), 'b');
    uint64_t size_bytes;
    assert_int_equal(stream_extent_size(mine->stream, kept.extent_id, &size_bytes), OK);
    assert_int_equal(size_bytes, 2 * PAYLOAD_ALLOCATED);
}

/* --- no faults --- */

static void a_store_that_was_used_holds_together(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range first = payload(mine, 'a', 1);
    own(mine, &first, 100); /* a second owner */
    for (unsigned i = 2; i < 10; i++)
        payload(mine, 'a', i);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 0);
    assert_int_equal(findings.census.extent_count, 3);
    assert_int_equal(findings.census.live_bytes, 9 * PAYLOAD_LEN);
    assert_int_equal(findings.census.reclaimable_bytes, 0);
}

static void an_empty_store_holds_together(void **state)
{
    struct reclaim_fixture *mine = *state;
    look_only(mine);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 0);
    assert_int_equal(findings.census.extent_count, 0);
}

static void a_settled_extent_with_a_hole_holds_together(void **state)
{
    struct reclaim_fixture *mine = *state;
    settled_extent(mine);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 0);
    assert_int_equal(findings.census.live_bytes, 4 * PAYLOAD_LEN);
    assert_int_equal(findings.census.reclaimable_bytes, 0);
}

static void what_was_let_go_is_counted_and_no_fault(void **state)
{
    struct reclaim_fixture *mine = *state;
    payload(mine, 'a', 1);
    const struct stream_range freed = payload(mine, 'b', 2);
    disown(mine, &freed, 2);
    look_only(mine);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 0);
    assert_int_equal(findings.census.live_bytes, PAYLOAD_LEN);
    assert_int_equal(findings.census.reclaimable_bytes, PAYLOAD_ALLOCATED);
}

static void what_a_crash_left_in_an_unsettled_extent_is_no_fault(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    look_only(mine);
    write_byte(mine, range.extent_id, 4 * PAYLOAD_ALLOCATED - 1);
    look_only(mine); /* the file is larger now */
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 0);
    assert_int_equal(findings.census.reclaimable_bytes, 3 * PAYLOAD_ALLOCATED);
}

static void an_extent_that_was_removed_but_not_forgotten_is_no_fault(void **state)
{
    struct reclaim_fixture *mine = *state;
    put_extent_row(mine, 12345, 4096, 0);
    assert_clean(mine);
}

/* --- faults --- */

static void a_flipped_bit_is_found_in_payload_and_in_checksums(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range first = payload(mine, 'a', 1);
    const struct stream_range second = payload(mine, 'b', 2);
    look_only(mine);
    write_byte(mine, first.extent_id, first.offset + PAYLOAD_LEN - 1);
    assert_finding(mine, "is damaged");
    write_byte(mine, first.extent_id, second.offset + PAYLOAD_LEN);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.ranges[1].offset, second.offset);
}

static void a_missing_extent_is_found_with_each_of_its_ranges(void **state)
{
    struct reclaim_fixture *mine = *state;
    char path[64];
    const struct stream_range range = payload(mine, 'a', 1);
    payload(mine, 'b', 2);
    snprintf(path, sizeof(path), "extents/%016llx.ext", (unsigned long long)range.extent_id);
    look_only(mine);
    assert_int_equal(io_unlink(mine->io, path), OK);
    look_only(mine);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 2);
    assert_non_null(strstr(findings.words[0], "is missing"));
    assert_int_equal(findings.census.extent_count, 0);
}

static void an_extent_that_is_too_short_is_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    look_only(mine);
    struct io_file *file = open_extent(mine, range.extent_id);
    assert_int_equal(io_file_truncate(file, 4096), OK);
    io_file_close(file);
    look_only(mine);
    assert_finding(mine, "ends before the range");
}

static void bytes_that_belong_to_nothing_are_found_in_a_settled_extent(void **state)
{
    struct reclaim_fixture *mine = *state;
    const uint64_t extent_id = settled_extent(mine);
    write_byte(mine, extent_id, PAYLOAD_ALLOCATED + 5000);
    assert_finding(mine, "has bytes at 13192 that belong to nothing");
}

static void a_wrong_row_of_an_extent_is_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    const uint64_t extent_id = settled_extent(mine);
    put_extent_row(mine, extent_id, 4 * PAYLOAD_ALLOCATED, 2 * PAYLOAD_ALLOCATED);
    assert_finding(mine, "has 24576 live bytes, and its row says 16384");
    put_extent_row(mine, extent_id, 5 * PAYLOAD_ALLOCATED, 3 * PAYLOAD_ALLOCATED);
    assert_finding(mine, "has 32768 bytes, and its row says 40960");
    const struct system_key key = system_key_extent(extent_id);
    put_row(mine, slice_make(key.bytes, key.len), text("short"));
    assert_finding(mine, "the row of extent");
    put_extent_row(mine, extent_id, 4 * PAYLOAD_ALLOCATED, 3 * PAYLOAD_ALLOCATED);
    assert_clean(mine);
}

static void add_repair(void *arg, uint64_t extent_id)
{
    struct partition_repair *repair = arg;
    *repair = (struct partition_repair){ .kind = PARTITION_REPAIR_UNSETTLE,
                                         .range.extent_id = extent_id };
}

static void ignore(void *arg, const struct stream_range *range, const char *words)
{
    (void)arg;
    (void)range;
    (void)words;
}

static void what_is_known_of_an_extent_is_found_out_again(void **state)
{
    struct reclaim_fixture *mine = *state;
    const uint64_t extent_id = settled_extent(mine);
    const uint64_t wrong[][2] = { { 4 * PAYLOAD_ALLOCATED, 1 }, { 4096, 3 * PAYLOAD_ALLOCATED } };
    for (size_t i = 0; i < 3; i++) {
        if (i < 2)
            put_extent_row(mine, extent_id, wrong[i][0], wrong[i][1]);
        else
            write_byte(mine, extent_id, PAYLOAD_ALLOCATED + 5000);
        struct partition_repair repair = { 0 };
        struct partition_check request = { .report = ignore,
                                           .unsettle = add_repair,
                                           .arg = &repair };
        assert_int_equal(partition_check(mine->fixture->store, &request), OK);
        assert_int_equal(repair.range.extent_id, extent_id);

        store_fixture_close(mine->fixture);
        mine->fixture->options.read_only = false;
        mine->fixture->options.stream = NULL;
        store_fixture_open(mine->fixture);
        assert_int_equal(partition_repair(mine->fixture->store, &repair, 1), OK);
        mine->fixture->options.stream = mine->stream;
        look_only(mine);
        assert_clean(mine);
        mine->fixture->options.read_only = false;
        restart(mine, 0); /* settles it */
        look_only(mine);
        assert_clean(mine);
        assert_int_equal(check(mine).census.reclaimable_bytes, 0);
    }
}

static void a_row_of_an_extent_that_nothing_lowers_is_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    put_extent_row(mine, 12345, 4096, 4096);
    assert_finding(mine, "has 0 live bytes, and its row says 4096");
}

static void ranges_that_overlap_are_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct stream_range range = payload(mine, 'a', 1);
    range.offset += 4096;
    range.length = 100;
    own(mine, &range, 2);
    const struct findings findings = check(mine);
    assert_int_equal(findings.count, 2); /* and it is not a payload */
    assert_non_null(strstr(findings.words[0], "begins within the one before"));
    assert_non_null(strstr(findings.words[1], "is damaged"));
}

static void owners_that_disagree_about_the_length_are_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct stream_range range = payload(mine, 'a', 1);
    range.length--;
    own(mine, &range, 2);
    assert_finding(mine, "is owned with 5000 and with 4999 bytes");
}

static void a_range_that_cannot_be_is_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct stream_range range = payload(mine, 'a', 1);
    range.offset = 5;
    own(mine, &range, 2);
    assert_finding(mine, "cannot have a range of 5000 bytes at 5");
}

static void damaged_rows_are_found(void **state)
{
    struct reclaim_fixture *mine = *state;
    static const char *const rows[][2] = {
        { "O1234567", "a system row 'O' has a key of 8 bytes" },
        { "O12345678abc", "has a damaged row 'O'" },
        { "F12345678abc", "has a damaged row 'F'" },
        { "M", "the mark of a partition is damaged" },
        { "?what", "unknown kind 0x3f" },
    };
    look_only(mine);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_row(mine, text(rows[i][0]), text("x"));
        assert_finding(mine, rows[i][1]);
        put_row(mine, text(rows[i][0]), (struct slice){ 0 });
    }
    assert_clean(mine);
}

/* --- owners --- */

static void add_owner(void *arg, const struct stream_range *range, uint64_t owner)
{
    struct names *names = arg;
    const size_t len = strlen(names->text);
    snprintf(names->text + len, sizeof(names->text) - len, "%llu:%llu ",
             (unsigned long long)range->offset, (unsigned long long)owner);
}

static void owners_are_listed_in_order(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range first = payload(mine, 'a', 7);
    payload(mine, 'b', 3);
    own(mine, &first, 300);
    own(mine, &first, 2);
    struct names names = { 0 };
    assert_int_equal(partition_each_owner(mine->fixture->store, add_owner, &names), OK);
    assert_string_equal(names.text, "0:2 0:7 0:300 8192:3 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH_ENGINES(every_partition_with_a_key_is_listed_once),
        ON_BOTH_ENGINES(an_empty_store_has_no_partition),
        ON_BOTH_ENGINES(a_mark_is_seen),
        ON_ROCKSDB(a_store_opened_to_be_looked_at_has_all_its_keys),
        ON_ROCKSDB(a_store_that_is_not_there_is_not_made),
        RECLAIM_ON_ROCKSDB(looking_neither_settles_nor_reclaims),
        RECLAIM_ON_BOTH(a_store_that_was_used_holds_together),
        RECLAIM_ON_ROCKSDB(an_empty_store_holds_together),
        RECLAIM_ON_ROCKSDB(a_settled_extent_with_a_hole_holds_together),
        RECLAIM_ON_ROCKSDB(what_was_let_go_is_counted_and_no_fault),
        RECLAIM_ON_ROCKSDB(what_a_crash_left_in_an_unsettled_extent_is_no_fault),
        RECLAIM_ON_ROCKSDB(an_extent_that_was_removed_but_not_forgotten_is_no_fault),
        RECLAIM_ON_ROCKSDB(a_flipped_bit_is_found_in_payload_and_in_checksums),
        RECLAIM_ON_ROCKSDB(a_missing_extent_is_found_with_each_of_its_ranges),
        RECLAIM_ON_ROCKSDB(an_extent_that_is_too_short_is_found),
        RECLAIM_ON_ROCKSDB(bytes_that_belong_to_nothing_are_found_in_a_settled_extent),
        RECLAIM_ON_ROCKSDB(a_wrong_row_of_an_extent_is_found),
        RECLAIM_ON_ROCKSDB(what_is_known_of_an_extent_is_found_out_again),
        RECLAIM_ON_ROCKSDB(a_row_of_an_extent_that_nothing_lowers_is_found),
        RECLAIM_ON_BOTH(ranges_that_overlap_are_found),
        RECLAIM_ON_BOTH(owners_that_disagree_about_the_length_are_found),
        RECLAIM_ON_BOTH(a_range_that_cannot_be_is_found),
        RECLAIM_ON_ROCKSDB(damaged_rows_are_found),
        RECLAIM_ON_BOTH(owners_are_listed_in_order),
    };
    return cmocka_run_group_tests_name("inspect", tests, quiet, NULL);
}
