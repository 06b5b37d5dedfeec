/*
 * bare_engine.c - the embedded engine's durable writes with no server around them.
 *
 * It does to RocksDB what Put Blob of a small new blob comes down to, and nothing else:
 *
 *   per update   reads of the blob's row and of that which says it has uncommitted blocks, both of
 *                which are not there; and two puts, of the blob's record and of its inline content
 *   per group    a put of the committer's tick, and one synced write of it all
 *
 * Keys and values are as long as the server's own (service/blob/blob_name.h draws the keys), and
 * in the same order: names of the run one after the other, contents by a growing number.  Payloads
 * are random bytes; being small they travel inside the group, so there is no extent to append to.
 *
 * All updates of a group are there when it begins, as with clients that cost nothing and ask again
 * at once, so the number it prints is what the server could reach if HTTP, authorization and the
 * clients were free.  It is not what a server with other rows, or with groups that overlap, could.
 *
 *   bare_engine --dir DIR [--outstanding 32] [--committers 1] [--seconds 5]
 *               [--payload-bytes 1024]
 *
 * The outstanding updates are shared equally among the committers.  The result is one line of
 * JSON.  A directory may be used again: each run writes names of its own.
 *
 * Threads: one per committer, with its own batch and its own numbers; they are added up after all
 * have ended.  Any failure ends the process: half a measurement is none.
 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#include <rocksdb/c.h>

enum {
    MIB = 1 << 20,
    COMMITTERS_MAX = 16,
    PAYLOAD_BYTES_MAX = MIB,
    RECORD_BYTES = 97, /* of a blob with a type, a length, an MD5 and a content type */
    NAME_BYTES_MAX = 64,
    PAYLOADS = 64,          /* different ones, so that neighbours do not compress each other */
    CACHE_BYTES = 64 * MIB, /* nothing is read from it but filters and indexes */
    GROUPS_MAX = 4 * 1000 * 1000, /* whose durations are kept, per committer */
};

/* The partition of the container's blobs: 'B' and the tick the container was made at. */
static const char PARTITION[] = "\x0b"
                                "B\x08\xdf\x42\xfd\xda\x94\x1a\x9b\0\0";

struct settings {
    const char *dir;
    unsigned outstanding;
    unsigned committers;
    unsigned seconds;
    size_t payload_bytes;
};

struct committer {
    /* set before the thread starts, then constant */
    const struct settings *settings;
    rocksdb_t *db;
    const char *payloads; /* PAYLOADS of them, one after the other */
    const char *record;   /* RECORD_BYTES */
    unsigned index;
    uint64_t run; /* makes the names of this run differ from those of others */
    uint64_t ends_at_ns;

    /* owner thread only, until it has ended */
    uint64_t updates;
    uint32_t *group_us;
    size_t group_count;
};

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bare_engine: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- one update, one group --- */

/* A key of the container's partition. */
struct key {
    size_t len;
    char bytes[sizeof(PARTITION) + NAME_BYTES_MAX];
};

static void key_add(struct key *key, const void *bytes, size_t len)
{
    assert(key->len + len <= sizeof(key->bytes));
    memcpy(key->bytes + key->len, bytes, len);
    key->len += len;
}

/* Numbers in keys sort as numbers do. */
static void key_add_number(struct key *key, uint64_t number)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(number >> (8 * (sizeof(bytes) - 1 - i)));
    key_add(key, bytes, sizeof(bytes));
}

/* The kind of the row, the name, and what sorts a blob behind its snapshots. */
static struct key blob_key(const struct committer *committer, char kind)
{
    char name[NAME_BYTES_MAX / 2];
    const int name_len = snprintf(name, sizeof name, "p%06" PRIx64 "-%u-%06" PRIu64,
                                  committer->run & 0xFFFFFF, committer->index, committer->updates);
    assert(name_len > 0);
    assert((size_t)name_len < sizeof name);
    struct key key = { 0 };
    key_add(&key, PARTITION, sizeof(PARTITION) - 1);
    key_add(&key, &kind, 1);
    key_add(&key, name, (size_t)name_len + 1);
    key_add_number(&key, UINT64_MAX);
    return key;
}

/* 'd' and a number that no other content has. */
static struct key content_key(const struct committer *committer)
{
    struct key key = { 0 };
    key_add(&key, PARTITION, sizeof(PARTITION) - 1);
    key_add(&key, "d", 1);
    key_add_number(&key, committer->run + committer->updates * COMMITTERS_MAX + committer->index);
    return key;
}

static void expect_absent(const struct committer *committer, rocksdb_readoptions_t *options,
                          const struct key *key)
{
    char *error = NULL;
    rocksdb_pinnableslice_t *value =
        rocksdb_get_pinned(committer->db, options, key->bytes, key->len, &error);
    if (error != NULL)
        fail("get: %s", error);
    if (value != NULL)
        fail("a new name exists already");
}

static void update_one(struct committer *committer, rocksdb_readoptions_t *options,
                       rocksdb_writebatch_t *batch)
{
    const struct key record = blob_key(committer, 'b');
    const struct key blocks = blob_key(committer, 'w');
    const struct key content = content_key(committer);
    expect_absent(committer, options, &record);
    expect_absent(committer, options, &blocks);

    const size_t payload_bytes = committer->settings->payload_bytes;
    const char *payload = committer->payloads + committer->updates % PAYLOADS * payload_bytes;
    rocksdb_writebatch_put(batch, content.bytes, content.len, payload, payload_bytes);
    rocksdb_writebatch_put(batch, record.bytes, record.len, committer->record, RECORD_BYTES);
    committer->updates++;
}

/* What a committer writes beside the updates: how far its clock has come. */
static void put_tick(struct committer *committer, rocksdb_writebatch_t *batch)
{
    const char key[] = { 0, 'T', 0, 0, 0, (char)committer->index };
    const uint64_t tick = committer->run + committer->updates;
    rocksdb_writebatch_put(batch, key, sizeof key, (const char *)&tick, sizeof tick);
}

static void *committer_run(void *arg)
{
    struct committer *committer = arg;
    const struct settings *settings = committer->settings;
    rocksdb_set_perf_level(rocksdb_disable); /* of this thread: the engine has it so, too */
    rocksdb_readoptions_t *read_options = rocksdb_readoptions_create();
    rocksdb_writeoptions_t *write_options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(write_options, 1);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();

    uint64_t begins_at_ns = now_ns();
    while (begins_at_ns < committer->ends_at_ns) {
        for (unsigned i = 0; i < settings->outstanding / settings->committers; i++)
            update_one(committer, read_options, batch);
        put_tick(committer, batch);
        char *error = NULL;
        rocksdb_write(committer->db, write_options, batch, &error);
        if (error != NULL)
            fail("write: %s", error);
        rocksdb_writebatch_clear(batch);

        const uint64_t ended_at_ns = now_ns();
        if (committer->group_count < GROUPS_MAX)
            committer->group_us[committer->group_count++] =
                (uint32_t)((ended_at_ns - begins_at_ns) / 1000);
        begins_at_ns = ended_at_ns;
    }
    rocksdb_writebatch_destroy(batch);
    rocksdb_writeoptions_destroy(write_options);
    rocksdb_readoptions_destroy(read_options);
    return NULL;
}

/* --- the store --- */

static void set_table_options(rocksdb_options_t *options)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(CACHE_BYTES);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_cache_destroy(cache); /* the table options hold their own reference */
    rocksdb_block_based_options_set_block_size(table, 8 * 1024);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_data_block_index_type(
        table, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_block_based_options_set_data_block_hash_ratio(table, 0.75);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
}

/* The settings of partition/rocksdb/engine_rocksdb.c. */
static rocksdb_options_t *options_new(void)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_paranoid_checks(options, 1);
    rocksdb_options_set_max_total_wal_size(options, 128 * MIB);
    rocksdb_options_set_write_buffer_size(options, 32 * MIB);
    rocksdb_options_set_max_write_buffer_number(options, 3);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.02);
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_min_level_to_compress(options, 1);
    rocksdb_options_set_enable_blob_files(options, 1);
    rocksdb_options_set_min_blob_size(options, 2048);
    rocksdb_options_set_blob_compression_type(options, rocksdb_lz4_compression);
    rocksdb_options_set_bytes_per_sync(options, MIB);
    rocksdb_options_set_max_open_files(options, 512);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_stats_persist_period_sec(options, 0);
    set_table_options(options);
    return options;
}

static rocksdb_t *store_open(const char *dir)
{
    rocksdb_options_t *options = options_new();
    char *error = NULL;
    rocksdb_t *db = rocksdb_open(options, dir, &error);
    if (error != NULL)
        fail("open %s: %s", dir, error);
    rocksdb_options_destroy(options);
    return db;
}

static char *payloads_new(size_t payload_bytes)
{
    const size_t size_bytes = PAYLOADS * payload_bytes + RECORD_BYTES;
    char *payloads = malloc(size_bytes);
    if (payloads == NULL)
        fail("no memory for payloads");
    for (size_t filled = 0; filled < size_bytes;) {
        const ssize_t count = getrandom(payloads + filled, size_bytes - filled, 0);
        if (count < 0)
            fail("getrandom: %s", strerror(errno));
        filled += (size_t)count;
    }
    return payloads;
}

/* --- results --- */

static int compare_us(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* A line `name: number` of a file under /proc/self, or 0 when there is none. */
static uint64_t proc_number(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    uint64_t number = 0;
    char line[128];
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0)
            number = strtoull(line + strlen(name), NULL, 10);
    }
    fclose(file);
    return number;
}

static double cpu_sec(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct span {
    double elapsed_sec;
    double cpu_sec;
};

static void print_result(struct committer *committers, unsigned count, struct span span)
{
    double updates = 0;
    double groups = 0;
    for (unsigned i = 0; i < count; i++) {
        updates += (double)committers[i].updates;
        groups += (double)committers[i].group_count;
    }
    /* The committers are alike; the first one's groups stand for all. */
    struct committer *first = &committers[0];
    if (first->group_count == 0)
        fail("no group ended in time");
    qsort(first->group_us, first->group_count, sizeof *first->group_us, compare_us);
    printf("{\"updates_per_sec\":%.1f,\"groups_per_sec\":%.1f,\"p50_us\":%" PRIu32
           ",\"p99_us\":%" PRIu32 ",\"cpu_us\":%.2f,\"rss_bytes\":%" PRIu64
           ",\"written_bytes\":%.1f}\n",
           updates / span.elapsed_sec, groups / span.elapsed_sec,
           first->group_us[first->group_count / 2], first->group_us[first->group_count * 99 / 100],
           span.cpu_sec * 1e6 / updates, proc_number("/proc/self/status", "VmRSS:") * 1024,
           (double)proc_number("/proc/self/io", "write_bytes:") / updates);
}

/* --- the whole --- */

static void measure(const struct settings *settings)
{
    rocksdb_t *db = store_open(settings->dir);
    char *payloads = payloads_new(settings->payload_bytes);
    struct committer committers[COMMITTERS_MAX] = { 0 };
    pthread_t threads[COMMITTERS_MAX];

    const double cpu_before_sec = cpu_sec();
    const uint64_t begins_at_ns = now_ns();
    for (unsigned i = 0; i < settings->committers; i++) {
        committers[i] = (struct committer){
            .settings = settings,
            .db = db,
            .payloads = payloads,
            .record = payloads + PAYLOADS * settings->payload_bytes,
            .index = i,
            .run = begins_at_ns,
            .ends_at_ns = begins_at_ns + settings->seconds * UINT64_C(1000000000),
            .group_us = malloc(GROUPS_MAX * sizeof(uint32_t)),
        };
        if (committers[i].group_us == NULL)
            fail("no memory for the durations");
        if (pthread_create(&threads[i], NULL, committer_run, &committers[i]) != 0)
            fail("no thread");
    }
    for (unsigned i = 0; i < settings->committers; i++)
        pthread_join(threads[i], NULL);
    const struct span span = { .elapsed_sec = (double)(now_ns() - begins_at_ns) / 1e9,
                               .cpu_sec = cpu_sec() - cpu_before_sec };

    print_result(committers, settings->committers, span);
    for (unsigned i = 0; i < settings->committers; i++)
        free(committers[i].group_us);
    free(payloads);
    rocksdb_close(db);
}

static unsigned long number_of(const char *text, unsigned long max)
{
    char *end = NULL;
    const unsigned long number = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number == 0 || number > max)
        fail("%s: expected a number from 1 to %lu", text, max);
    return number;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .outstanding = 32, .committers = 1, .seconds = 5, .payload_bytes = 1024
    };
    static const struct option options[] = {
        { "dir", required_argument, NULL, 'd' },
        { "outstanding", required_argument, NULL, 'o' },
        { "committers", required_argument, NULL, 'c' },
        { "seconds", required_argument, NULL, 's' },
        { "payload-bytes", required_argument, NULL, 'p' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'd')
            settings.dir = optarg;
        else if (option == 'o')
            settings.outstanding = (unsigned)number_of(optarg, 65536);
        else if (option == 'c')
            settings.committers = (unsigned)number_of(optarg, COMMITTERS_MAX);
        else if (option == 's')
            settings.seconds = (unsigned)number_of(optarg, 3600);
        else if (option == 'p')
            settings.payload_bytes = number_of(optarg, PAYLOAD_BYTES_MAX);
        else
            return 2;
    }
    if (settings.dir == NULL || optind != argc || settings.outstanding < settings.committers)
        fail("usage: bare_engine --dir DIR [--outstanding N] [--committers N] [--seconds N] "
             "[--payload-bytes N]");
    measure(&settings);
    return 0;
}
