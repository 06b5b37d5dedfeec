/*
 * log_scan.c - reading a log file of RocksDB record by record.
 *
 * Behind a bad place the length of a record means nothing, so the next one is looked for at every
 * byte: what counts there is whether there are records that can only have been written later.
 */
#include "partition/rocksdb/log_scan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/slice.h"
#include "partition/heap.h"
#include "partition/system_row.h"

enum {
    BLOCK_BYTES = 32 * 1024,
    HEAD_BYTES = 7,
    LENGTH_BITS = 16,
    SECTOR_BYTES = 512,
    BATCH_HEAD_BYTES = 12, /* sequence number, count */
};

enum part_type {
    PART_WHOLE = 1,
    PART_FIRST = 2,
    PART_MIDDLE = 3,
    PART_LAST = 4,
};

/* The kinds of entries in a write batch that a store with one column family has. */
enum batch_tag {
    BATCH_DELETE = 0,
    BATCH_PUT = 1,
    BATCH_LOG_DATA = 3,
    BATCH_SINGLE_DELETE = 7,
    BATCH_NOOP = 13,
    BATCH_DELETE_RANGE = 15,
};

struct scanner {
    struct log_scan *scan;
    log_scan_fn *fn; /* or NULL */
    void *arg;
    uint8_t *block;
    size_t block_len;
    uint64_t block_at; /* its offset in the file */
    uint8_t *record;   /* the parts so far */
    size_t record_len;
    size_t record_capacity;
    bool in_record;
    bool after_durable; /* the last record was that of a durable group */
};

/* --- write batches --- */

static bool take_bytes(struct slice *from, struct slice *taken)
{
    uint64_t len = 0;
    size_t at = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (at == from->len || shift > 28)
            return false;
        const uint8_t byte = (uint8_t)from->data[at++];
        len |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    if (len > from->len - at)
        return false;
    *taken = slice_make(from->data + at, (size_t)len);
    *from = slice_from(*from, at + (size_t)len);
    return true;
}

/* Every group of a committer, and no other, has a row of ticks; its key begins with the empty name
   of the partition. */
static bool is_tick(struct slice key)
{
    return key.len > 1 && key.data[0] == '\0' && key.data[1] == (char)SYSTEM_TICK;
}

static bool batch_is_durable(struct slice batch)
{
    if (batch.len < BATCH_HEAD_BYTES)
        return false;
    struct slice rest = slice_from(batch, BATCH_HEAD_BYTES);
    while (rest.len > 0) {
        const enum batch_tag tag = (enum batch_tag)(uint8_t)rest.data[0];
        rest = slice_from(rest, 1);
        struct slice key = { 0 };
        struct slice value;
        if (tag == BATCH_NOOP)
            continue;
        const bool has_value = tag == BATCH_PUT || tag == BATCH_DELETE_RANGE;
        const bool is_known =
            has_value || tag == BATCH_DELETE || tag == BATCH_SINGLE_DELETE || tag == BATCH_LOG_DATA;
        if (!is_known || !take_bytes(&rest, &key) || (has_value && !take_bytes(&rest, &value)))
            return false;
        if (tag == BATCH_PUT && is_tick(key))
            return true;
    }
    return false;
}

/* --- records --- */

static void record_add(struct scanner *scanner, struct slice bytes)
{
    const size_t len = scanner->record_len + bytes.len;
    if (len > scanner->record_capacity) {
        scanner->record_capacity = 2 * len;
        scanner->record = heap_resize(scanner->record, scanner->record_capacity, 1);
    }
    if (bytes.len > 0)
        memcpy(scanner->record + scanner->record_len, bytes.data, bytes.len);
    scanner->record_len = len;
}

static void record_end(struct scanner *scanner, uint64_t end)
{
    struct log_scan *scan = scanner->scan;
    scanner->in_record = false;
    const struct slice record = slice_make((const char *)scanner->record, scanner->record_len);
    scanner->after_durable = batch_is_durable(record);
    if (scan->is_bad)
        return;
    scan->whole_bytes = end;
    if (scanner->fn != NULL)
        scanner->fn(scanner->arg, record);
}

/* Whether no byte of some sector from `at` on got to the disk. */
static bool has_lost_sector(const struct scanner *scanner, size_t at)
{
    while (at < scanner->block_len) {
        size_t end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        end = end < scanner->block_len ? end : scanner->block_len;
        size_t zeroes = 0;
        while (at + zeroes < end && scanner->block[at + zeroes] == 0)
            zeroes++;
        if (at + zeroes == end)
            return true;
        at = end;
    }
    return false;
}

static void mark_bad(struct scanner *scanner, bool looks_torn)
{
    scanner->in_record = false;
    if (scanner->scan->is_bad)
        return;
    scanner->scan->is_bad = true;
    scanner->scan->looks_torn = looks_torn;
    scanner->after_durable = false;
}

/* A part with a checksum that holds. */
static void take_part(struct scanner *scanner, enum part_type type, struct slice bytes,
                      uint64_t end)
{
    struct log_scan *scan = scanner->scan;
    scan->has_part_after_bad = scan->is_bad;
    scan->was_synced = scan->was_synced || scanner->after_durable;
    scan->was_synced_after_bad =
        scan->was_synced_after_bad || (scan->is_bad && scanner->after_durable);
    scanner->after_durable = false;

    const bool begins = type == PART_WHOLE || type == PART_FIRST;
    if (begins == scanner->in_record)
        mark_bad(scanner, false);
    if (!begins && !scanner->in_record)
        return;
    if (begins)
        scanner->record_len = 0;
    scanner->in_record = true;
    record_add(scanner, bytes);
    if (type == PART_WHOLE || type == PART_LAST)
        record_end(scanner, end);
}

static size_t part_length(const uint8_t *head)
{
    return (size_t)head[4] | (size_t)head[5] << 8;
}

/* The part at an offset of the block, which has room for a head, if it has `len` bytes. */
static bool find_part_of(const struct scanner *scanner, size_t at, size_t len, enum part_type *type,
                         struct slice *bytes)
{
    const uint8_t *head = scanner->block + at;
    if (head[6] < PART_WHOLE || head[6] > PART_LAST || len > scanner->block_len - at - HEAD_BYTES)
        return false;
    const uint32_t stored = get_le32(head) - 0xa282ead8U;
    const uint32_t crc = stored >> 17 | stored << 15;
    if (digest_crc32c(0, slice_make((const char *)head + 6, 1 + len)) != crc)
        return false;
    *type = (enum part_type)head[6];
    *bytes = slice_make((const char *)head + HEAD_BYTES, len);
    return true;
}

/* The part at an offset of the block, its head included; false if there is none. */
static bool find_part(const struct scanner *scanner, size_t at, enum part_type *type,
                      struct slice *bytes)
{
    return scanner->block_len - at >= HEAD_BYTES &&
           find_part_of(scanner, at, part_length(scanner->block + at), type, bytes);
}

/* Whether there would be one if a bit of its length were another. */
static bool has_wrong_length(const struct scanner *scanner, size_t at)
{
    if (scanner->block_len - at < HEAD_BYTES)
        return false;
    const size_t len = part_length(scanner->block + at);
    enum part_type type;
    struct slice bytes;
    for (unsigned bit = 0; bit < LENGTH_BITS; bit++)
        if (find_part_of(scanner, at, len ^ (size_t)1 << bit, &type, &bytes))
            return true;
    return false;
}

/* Whether the part that should be here goes on behind the end of the file. */
static bool is_cut_short(const struct scanner *scanner, size_t at)
{
    if (scanner->block_len == BLOCK_BYTES)
        return false;
    if (scanner->block_len - at < HEAD_BYTES)
        return true;
    return part_length(scanner->block + at) > scanner->block_len - at - HEAD_BYTES;
}

static void scan_block(struct scanner *scanner)
{
    size_t at = 0;
    while (at < scanner->block_len) {
        const bool is_rest =
            scanner->block_len == BLOCK_BYTES && scanner->block_len - at < HEAD_BYTES;
        if (is_rest)
            break;
        enum part_type type;
        struct slice bytes;
        if (find_part(scanner, at, &type, &bytes)) {
            at += HEAD_BYTES + bytes.len;
            take_part(scanner, type, bytes, scanner->block_at + at);
        } else {
            if (!scanner->scan->is_bad)
                scanner->scan->has_wrong_length = has_wrong_length(scanner, at);
            mark_bad(scanner, is_cut_short(scanner, at) || has_lost_sector(scanner, at));
            at++;
        }
    }
}

/* --- files --- */

/* Fill the block, as far as the file goes. */
static enum err read_block(struct scanner *scanner, int fd, const char *path)
{
    scanner->block_len = 0;
    while (scanner->block_len < BLOCK_BYTES) {
        const ssize_t got =
            pread(fd, scanner->block + scanner->block_len, BLOCK_BYTES - scanner->block_len,
                  (off_t)(scanner->block_at + scanner->block_len));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            log_error("store", "reading %s: %s", path, strerror(errno));
            return ERR_IO;
        }
        if (got == 0)
            break;
        scanner->block_len += (size_t)got;
    }
    return OK;
}

enum err log_scan_records(int fd, const char *path, log_scan_fn *fn, void *arg,
                          struct log_scan *scan)
{
    assert(fd >= 0);
    *scan = (struct log_scan){ 0 };
    struct scanner scanner = { .scan = scan, .fn = fn, .arg = arg, .block = heap_new(BLOCK_BYTES) };
    enum err err;
    do {
        err = read_block(&scanner, fd, path);
        if (err == OK)
            scan_block(&scanner);
        scanner.block_at += scanner.block_len;
    } while (err == OK && scanner.block_len == BLOCK_BYTES);
    scan->size_bytes = scanner.block_at;
    free(scanner.record);
    free(scanner.block);
    return err;
}

enum err log_scan_file(int fd, const char *path, struct log_scan *scan)
{
    return log_scan_records(fd, path, NULL, NULL, scan);
}
