/*
 * test_log_scan.c - what a power cut left of RocksDB's log is told from damage.
 *
 * Logs are made here, record by record, in the form that log_scan.h describes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "partition/rocksdb/log_scan.h"
#include "partition/rocksdb/rocks_internal.h"

enum {
    BLOCK = 32 * 1024,
    HEAD = 7,
    SECTOR = 512,
    IMAGE_MAX = 1024 * 1024,
    ROUNDS = 500,
};

enum group_kind { LAZY, DURABLE };

struct image {
    size_t len;
    uint8_t bytes[IMAGE_MAX];
};

static struct image image;

/* --- making logs --- */

static void add_part(unsigned type, const uint8_t *bytes, size_t len)
{
    uint8_t *head = image.bytes + image.len;
    assert_true(image.len + HEAD + len <= IMAGE_MAX);
    head[4] = (uint8_t)len;
    head[5] = (uint8_t)(len >> 8);
    head[6] = (uint8_t)type;
    if (len > 0)
        memcpy(head + HEAD, bytes, len);
    const uint32_t crc = digest_crc32c(0, slice_make((const char *)head + 6, 1 + len));
    put_le32(head, (crc >> 15 | crc << 17) + 0xa282ead8U);
    image.len += HEAD + len;
}

static void add_record(const uint8_t *bytes, size_t len)
{
    bool first = true;
    do {
        size_t left = BLOCK - image.len % BLOCK;
        if (left < HEAD) {
            memset(image.bytes + image.len, 0, left);
            image.len += left;
            left = BLOCK;
        }
        const size_t part = len < left - HEAD ? len : left - HEAD;
        const bool last = part == len;
        add_part(first ? (last ? 1 : 2) : (last ? 4 : 3), bytes, part);
        bytes += part;
        len -= part;
        first = false;
    } while (len > 0);
}

static size_t put_varint(uint8_t *at, size_t value)
{
    size_t len = 0;
    while (value >= 0x80) {
        at[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    at[len++] = (uint8_t)value;
    return len;
}

static size_t put_entry(uint8_t *at, const void *key, size_t key_len, size_t value_len)
{
    size_t len = 0;
    at[len++] = 1;
    len += put_varint(at + len, key_len);
    memcpy(at + len, key, key_len);
    len += key_len;
    len += put_varint(at + len, value_len);
    memset(at + len, 'v', value_len);
    return len + value_len;
}

/* A group with one row of that many bytes.  The end of the log after it. */
static size_t add_group(enum group_kind kind, size_t value_len)
{
    static uint8_t batch[IMAGE_MAX];
    size_t len = 12;
    memset(batch, 0x11, len);
    len += put_entry(batch + len, "\5quick", 6, value_len);
    if (kind == DURABLE)
        len += put_entry(batch + len, "\0T\0\0\0\1", 6, 8);
    add_record(batch, len);
    return image.len;
}

static void begin(void)
{
    memset(&image, 0, sizeof(image));
}

/* --- looking at them --- */

static struct log_scan scanned(void)
{
    char path[] = "/tmp/zaffre-log-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, image.bytes, image.len), (ssize_t)image.len);
    struct log_scan scan;
    assert_int_equal(log_scan_file(fd, path, &scan), OK);
    assert_int_equal(scan.size_bytes, image.len);
    close(fd);
    return scan;
}

static void assert_torn_after(size_t whole)
{
    const struct log_scan scan = scanned();
    assert_true(log_scan_is_torn(&scan));
    assert_int_equal(scan.whole_bytes, whole);
}

static void assert_damaged(void)
{
    const struct log_scan scan = scanned();
    assert_true(scan.is_bad);
    assert_false(log_scan_is_torn(&scan));
}

/* --- tests --- */

static void a_whole_log_has_nothing_bad(void **state)
{
    (void)state;
    begin();
    assert_false(scanned().is_bad);
    /* Among them those whose head is at the very end of a block, and fills it. */
    for (size_t len = 0; len < 300; len++)
        add_group(len % 3 == 0 ? LAZY : DURABLE, len * len % 5000);
    add_group(DURABLE, 200 * 1000);
    const struct log_scan scan = scanned();
    assert_false(scan.is_bad);
    assert_true(scan.was_synced);
    assert_int_equal(scan.whole_bytes, image.len);
}

static void a_log_cut_at_any_byte_is_whole_up_to_the_record_before(void **state)
{
    (void)state;
    begin();
    const size_t first = add_group(DURABLE, 300);
    const size_t second = add_group(DURABLE, 1200);
    for (size_t len = first; len < second; len++) {
        image.len = len;
        const struct log_scan scan = scanned();
        assert_int_equal(scan.whole_bytes, first);
        assert_int_equal(scan.is_bad, len > first);
        assert_int_equal(log_scan_is_torn(&scan), len > first);
    }
}

static void zeroes_behind_the_end_are_torn(void **state)
{
    (void)state;
    for (size_t zeroes = 8; zeroes < 4 * BLOCK; zeroes += 1777) {
        begin();
        add_group(DURABLE, 500);
        const size_t end = add_group(DURABLE, 700);
        image.len += zeroes;
        assert_torn_after(end);
    }
}

static void any_lost_sector_of_what_was_not_synced_is_torn(void **state)
{
    (void)state;
    for (size_t lost = 0; lost < 200; lost++) {
        begin();
        add_group(DURABLE, 500);
        const size_t synced = add_group(DURABLE, 900);
        add_group(LAZY, 100);
        add_group(LAZY, 40 * 1000);
        add_group(LAZY, 40 * 1000);
        add_group(DURABLE, 10 * 1000);
        const size_t at = (synced / SECTOR + lost) * SECTOR;
        if (at >= image.len)
            break;
        const size_t from = at < synced ? synced : at;
        memset(image.bytes + from, 0, at + SECTOR - from);
        const struct log_scan scan = scanned();
        assert_true(log_scan_is_torn(&scan));
        assert_true(scan.whole_bytes >= synced);
        assert_true(scan.whole_bytes <= at + SECTOR);
    }
}

static void a_lost_sector_before_a_sync_is_damage(void **state)
{
    (void)state;
    begin();
    const size_t first = add_group(DURABLE, 500);
    add_group(LAZY, 5000);
    add_group(DURABLE, 10);
    add_group(LAZY, 10);
    memset(image.bytes + (first / SECTOR + 2) * SECTOR, 0, SECTOR);
    assert_damaged();
}

/* Also in the last record: the disk does not change bits, it leaves out sectors. */
static void a_flipped_bit_is_damage(void **state)
{
    (void)state;
    begin();
    add_group(DURABLE, 500);
    add_group(LAZY, 3000);
    add_group(DURABLE, 40 * 1000);
    for (size_t at = 0; at < image.len; at += 97) {
        image.bytes[at] ^= 4;
        assert_damaged();
        image.bytes[at] ^= 4;
    }
}

/* A length that is too large is that of a record that goes on behind the end, or so it seems. */
static void a_flipped_bit_of_a_length_is_damage(void **state)
{
    (void)state;
    begin();
    const size_t last = add_group(DURABLE, 500);
    add_group(DURABLE, 700);
    for (unsigned bit = 0; bit < 16; bit++) {
        uint8_t *byte = &image.bytes[last + 4 + bit / 8];
        *byte = (uint8_t)(*byte ^ 1U << bit % 8);
        assert_damaged();
        assert_true(scanned().has_wrong_length);
        *byte = (uint8_t)(*byte ^ 1U << bit % 8);
    }
}

/* Logs of any shape, with a point up to which they were synced, and any sectors behind it lost. */
static void whatever_is_lost_behind_the_last_sync_nothing_before_it_is_given_up(void **state)
{
    (void)state;
    const unsigned seed = getenv("ZAFFRE_SEED") != NULL
                              ? (unsigned)strtoul(getenv("ZAFFRE_SEED"), NULL, 10)
                              : (unsigned)time(NULL);
    print_message("ZAFFRE_SEED=%u\n", seed);
    unsigned random = seed;
    for (int round = 0; round < ROUNDS; round++) {
        begin();
        size_t synced = 0;
        for (int i = rand_r(&random) % 12; i > 0; i--) {
            const bool durable = rand_r(&random) % 2 == 0;
            const size_t end =
                add_group(durable ? DURABLE : LAZY, (size_t)(rand_r(&random) % 20000));
            synced = durable ? end : synced;
        }
        for (int i = rand_r(&random) % 4; i > 0; i--)
            add_group(LAZY, (size_t)(rand_r(&random) % 20000));
        add_group(DURABLE, (size_t)(rand_r(&random) % 50000));
        for (size_t at = synced; at < image.len;) {
            const size_t next = (at / SECTOR + 1) * SECTOR;
            if (rand_r(&random) % 8 == 0)
                memset(image.bytes + at, 0, next - at);
            at = next;
        }
        if (rand_r(&random) % 3 == 0)
            image.len = synced + (size_t)rand_r(&random) % (image.len - synced);
        const struct log_scan scan = scanned();
        assert_true(!scan.is_bad || log_scan_is_torn(&scan));
        assert_true(scan.whole_bytes >= synced);
    }
}

/* --- directories --- */

static char directory[64];

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void store(const char *name)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(image.bytes, 1, image.len, file), image.len);
    fclose(file);
}

static size_t size_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(path_of(name), &status), 0);
    return (size_t)status.st_size;
}

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/zaffre-logs-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path_of("000009.log"));
    unlink(path_of("000010.log"));
    unlink(path_of("MANIFEST-000007"));
    return rmdir(directory);
}

/* A log that ends with zeroes; what is whole of it. */
static size_t store_torn(const char *name)
{
    begin();
    add_group(DURABLE, 100);
    const size_t whole = add_group(DURABLE, 100);
    image.len += 5000;
    store(name);
    return whole;
}

static bool is_torn(enum rocks_log_use use)
{
    bool torn;
    assert_int_equal(rocks__check_log(directory, use, &torn), OK);
    return torn;
}

static void a_torn_log_is_cut_and_then_whole(void **state)
{
    (void)state;
    assert_false(is_torn(ROCKS_LOG_CUT));
    const size_t whole = store_torn("000009.log");
    const size_t size = size_of("000009.log");
    assert_true(is_torn(ROCKS_LOG_LOOK));
    assert_int_equal(size_of("000009.log"), size);
    assert_true(is_torn(ROCKS_LOG_CUT));
    assert_int_equal(size_of("000009.log"), whole);
    assert_false(is_torn(ROCKS_LOG_CUT));
}

static void a_torn_log_with_an_empty_one_behind_is_cut(void **state)
{
    (void)state;
    const size_t whole = store_torn("000009.log");
    begin();
    store("000010.log");
    assert_true(is_torn(ROCKS_LOG_CUT));
    assert_int_equal(size_of("000009.log"), whole);
}

/* RocksDB does not need it any more, or will refuse it. */
static void a_bad_log_with_a_synced_one_behind_is_left(void **state)
{
    (void)state;
    store_torn("000009.log");
    const size_t size = size_of("000009.log");
    begin();
    add_group(DURABLE, 100);
    add_group(LAZY, 100);
    store("000010.log");
    assert_false(is_torn(ROCKS_LOG_CUT));
    assert_int_equal(size_of("000009.log"), size);
}

/* RocksDB would take these for torn. */
static void a_wrong_length_in_any_log_or_the_manifest_is_corrupt(void **state)
{
    (void)state;
    const char *const names[] = { "000009.log", "000010.log", "MANIFEST-000007" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        begin();
        add_group(DURABLE, 100);
        const size_t last = add_group(DURABLE, 100);
        add_group(LAZY, 100);
        store("000009.log");
        store("000010.log");
        store("MANIFEST-000007");
        assert_false(is_torn(ROCKS_LOG_LOOK));
        image.bytes[last + 5] ^= 8;
        store(names[i]);
        bool torn;
        assert_int_equal(rocks__check_log(directory, ROCKS_LOG_CUT, &torn), ERR_CORRUPT);
    }
}

/* --- manifests --- */

/* A change of files that names log 9, one that does not, and what is whole of them once a sector of
   the second is lost. */
static size_t store_torn_manifest(void)
{
    static const uint8_t names_log[] = { 0x81, 0x40, 3, 'i', 'd', '!', 1, 1, 'c', 2, 9, 3, 12 };
    uint8_t other[1500];
    memset(other, 3, sizeof(other));
    begin();
    add_record(names_log, sizeof(names_log));
    const size_t whole = image.len;
    add_record(other, sizeof(other));
    memset(image.bytes + SECTOR, 0, SECTOR);
    store("MANIFEST-000005");
    FILE *current = fopen(path_of("CURRENT"), "w");
    assert_non_null(current);
    fputs("MANIFEST-000005\n", current);
    fclose(current);
    return whole;
}

static int teardown_manifest(void **state)
{
    unlink(path_of("CURRENT"));
    unlink(path_of("MANIFEST-000005"));
    return teardown(state);
}

static void store_empty_log(void)
{
    begin();
    store("000009.log");
}

static void a_torn_change_of_the_manifest_is_cut_off(void **state)
{
    (void)state;
    assert_int_equal(rocks__check_manifest(directory, ROCKS_LOG_CUT), OK);
    const size_t whole = store_torn_manifest();
    const size_t size = size_of("MANIFEST-000005");
    store_empty_log();
    assert_int_equal(rocks__check_manifest(directory, ROCKS_LOG_LOOK), OK);
    assert_int_equal(size_of("MANIFEST-000005"), size);
    assert_int_equal(rocks__check_manifest(directory, ROCKS_LOG_CUT), OK);
    assert_int_equal(size_of("MANIFEST-000005"), whole);
}

/* The log it names is gone, so the change behind it was synced. */
static void a_change_that_was_acted_on_is_not_cut_off(void **state)
{
    (void)state;
    store_torn_manifest();
    const size_t size = size_of("MANIFEST-000005");
    assert_int_equal(rocks__check_manifest(directory, ROCKS_LOG_CUT), OK);
    assert_int_equal(size_of("MANIFEST-000005"), size);
}

static void a_change_with_another_behind_is_not_cut_off(void **state)
{
    (void)state;
    store_torn_manifest();
    add_record((const uint8_t *)"\2\11", 2);
    store("MANIFEST-000005");
    const size_t size = size_of("MANIFEST-000005");
    store_empty_log();
    assert_int_equal(rocks__check_manifest(directory, ROCKS_LOG_CUT), OK);
    assert_int_equal(size_of("MANIFEST-000005"), size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_log_has_nothing_bad),
        cmocka_unit_test(a_log_cut_at_any_byte_is_whole_up_to_the_record_before),
        cmocka_unit_test(zeroes_behind_the_end_are_torn),
        cmocka_unit_test(any_lost_sector_of_what_was_not_synced_is_torn),
        cmocka_unit_test(a_lost_sector_before_a_sync_is_damage),
        cmocka_unit_test(a_flipped_bit_is_damage),
        cmocka_unit_test(a_flipped_bit_of_a_length_is_damage),
        cmocka_unit_test(whatever_is_lost_behind_the_last_sync_nothing_before_it_is_given_up),
        cmocka_unit_test_setup_teardown(a_torn_log_is_cut_and_then_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_torn_log_with_an_empty_one_behind_is_cut, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_bad_log_with_a_synced_one_behind_is_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_torn_change_of_the_manifest_is_cut_off, setup,
                                        teardown_manifest),
        cmocka_unit_test_setup_teardown(a_change_that_was_acted_on_is_not_cut_off, setup,
                                        teardown_manifest),
        cmocka_unit_test_setup_teardown(a_change_with_another_behind_is_not_cut_off, setup,
                                        teardown_manifest),
        cmocka_unit_test_setup_teardown(a_wrong_length_in_any_log_or_the_manifest_is_corrupt, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
