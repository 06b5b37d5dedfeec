/*
 * engine_cost.h - counting what the durable engine passes by, for tests of cost.
 *
 * RocksDB keeps removed keys for a while, and counts in each thread how many it passes by.  The
 * store is opened again without committers, so that updates run in the test's own thread.
 */
#ifndef TESTS_UNIT_SERVICE_ENGINE_COST_H
#define TESTS_UNIT_SERVICE_ENGINE_COST_H

#include <rocksdb/c.h>

#include "base/log.h"
#include "service_fixture.h"

static inline int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static inline void open_in_caller(struct service_fixture *fixture)
{
    const struct partition_options options = { .clock = &fixture->clock,
                                               .stream = fixture->stream };
    partition_close(fixture->service.store);
    assert_int_equal(partition_open_rocksdb(fixture->path, &options, &fixture->service.store), OK);
}

static inline rocksdb_perfcontext_t *begin_count(void)
{
    rocksdb_set_perf_level(rocksdb_enable_count);
    rocksdb_perfcontext_t *context = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(context);
    return context;
}

/* Keys that were passed by since, removed ones among them. */
static inline uint64_t end_count(rocksdb_perfcontext_t *context)
{
    const uint64_t count =
        rocksdb_perfcontext_metric(context, rocksdb_internal_delete_skipped_count) +
        rocksdb_perfcontext_metric(context, rocksdb_internal_key_skipped_count);
    rocksdb_perfcontext_destroy(context);
    return count;
}

#endif
