/*
 * metric.c - the list of metrics and its text form.
 *
 * Each metric has cache lines of its own, so that threads counting different things do not
 * slow each other down.  A histogram keeps plain counts per bucket; the cumulative form that
 * Prometheus wants is computed when it is printed, and its count is the sum of the buckets,
 * so the two always agree.
 */
#include "base/metric.h"

#include <assert.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum {
    CACHE_LINE_BYTES = 64,
    BUCKET_COUNT = 17,
};

/* Upper limits of the buckets; the text is the limit in seconds. */
static const struct {
    int64_t limit_us;
    const char *text;
} buckets[BUCKET_COUNT] = {
    { 50, "0.00005" },  { 100, "0.0001" },  { 250, "0.00025" }, { 500, "0.0005" },
    { 1000, "0.001" },  { 2500, "0.0025" }, { 5000, "0.005" },  { 10000, "0.01" },
    { 25000, "0.025" }, { 50000, "0.05" },  { 100000, "0.1" },  { 250000, "0.25" },
    { 500000, "0.5" },  { 1000000, "1" },   { 2500000, "2.5" }, { 5000000, "5" },
    { 10000000, "10" },
};

enum metric_type {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
};

/* What all metrics have; the first member of each.  Set when registered, then constant. */
struct metric {
    struct metric *next;
    enum metric_type type;
    const char *name;
    const char *help;
    const char *labels;
};

struct metric_counter {
    struct metric metric;
    alignas(CACHE_LINE_BYTES) _Atomic int64_t value;
};

struct metric_histogram {
    struct metric metric;
    alignas(CACHE_LINE_BYTES) _Atomic int64_t sum_us;
    _Atomic int64_t counts[BUCKET_COUNT + 1]; /* the last is for what exceeds every limit */
};

/* In the order of registration.  Changed by main before threads start and after they end. */
static struct metric *first_metric;
static struct metric *last_metric;

/* All zero bytes is a valid atomic zero on every platform we build for. */
static void *metric_new(size_t size_bytes, struct metric metric)
{
    assert(metric.name != NULL);
    assert(metric.help != NULL);
    struct metric *const added = aligned_alloc(CACHE_LINE_BYTES, size_bytes);
    if (added == NULL)
        panic("no memory left for metric %s", metric.name);
    memset(added, 0, size_bytes);
    *added = metric;
    if (last_metric == NULL)
        first_metric = added;
    else
        last_metric->next = added;
    last_metric = added;
    return added;
}

struct metric_counter *metric_counter_new(const char *name, const char *help, const char *labels)
{
    const struct metric metric = {
        .type = METRIC_COUNTER, .name = name, .help = help, .labels = labels
    };
    return metric_new(sizeof(struct metric_counter), metric);
}

struct metric_counter *metric_gauge_new(const char *name, const char *help, const char *labels)
{
    const struct metric metric = {
        .type = METRIC_GAUGE, .name = name, .help = help, .labels = labels
    };
    return metric_new(sizeof(struct metric_counter), metric);
}

struct metric_histogram *metric_histogram_new(const char *name, const char *help,
                                              const char *labels)
{
    const struct metric metric = {
        .type = METRIC_HISTOGRAM, .name = name, .help = help, .labels = labels
    };
    return metric_new(sizeof(struct metric_histogram), metric);
}

void metric_add(struct metric_counter *counter, int64_t amount)
{
    assert(amount >= 0 || counter->metric.type == METRIC_GAUGE);
    atomic_fetch_add_explicit(&counter->value, amount, memory_order_relaxed);
}

int64_t metric_value(const struct metric_counter *counter)
{
    return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

void metric_observe_us(struct metric_histogram *histogram, int64_t span_us)
{
    assert(span_us >= 0);
    size_t bucket = 0;
    while (bucket < BUCKET_COUNT && span_us > buckets[bucket].limit_us)
        bucket++;
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_us, span_us, memory_order_relaxed);
}

static const char *type_name(enum metric_type type)
{
    switch (type) {
    case METRIC_COUNTER:
        return "counter";
    case METRIC_GAUGE:
        return "gauge";
    case METRIC_HISTOGRAM:
        return "histogram";
    }
    return "untyped";
}

/* Name, suffix and labels of one sample; `limit` is a histogram bucket's, or NULL. */
static void print_sample_name(struct strbuf *out, const struct metric *metric, const char *suffix,
                              const char *limit)
{
    const bool labelled = metric->labels != NULL && metric->labels[0] != '\0';
    strbuf_add_text(out, metric->name);
    strbuf_add_text(out, suffix);
    if (!labelled && limit == NULL)
        return;
    strbuf_add_byte(out, '{');
    if (labelled)
        strbuf_add_text(out, metric->labels);
    if (labelled && limit != NULL)
        strbuf_add_byte(out, ',');
    if (limit != NULL)
        strbuf_printf(out, "le=\"%s\"", limit);
    strbuf_add_byte(out, '}');
}

static void print_histogram(struct strbuf *out, const struct metric_histogram *histogram)
{
    const struct metric *const metric = &histogram->metric;
    int64_t count = 0;
    for (size_t i = 0; i <= BUCKET_COUNT; i++) {
        count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        print_sample_name(out, metric, "_bucket", i < BUCKET_COUNT ? buckets[i].text : "+Inf");
        strbuf_printf(out, " %" PRId64 "\n", count);
    }
    const int64_t sum_us = atomic_load_explicit(&histogram->sum_us, memory_order_relaxed);
    print_sample_name(out, metric, "_sum", NULL);
    strbuf_printf(out, " %" PRId64 ".%06" PRId64 "\n", sum_us / 1000000, sum_us % 1000000);
    print_sample_name(out, metric, "_count", NULL);
    strbuf_printf(out, " %" PRId64 "\n", count);
}

void metric_print_all(struct strbuf *out)
{
    const char *name = "";
    for (const struct metric *metric = first_metric; metric != NULL; metric = metric->next) {
        if (strcmp(name, metric->name) != 0) {
            name = metric->name;
            strbuf_printf(out, "# HELP %s %s\n", name, metric->help);
            strbuf_printf(out, "# TYPE %s %s\n", name, type_name(metric->type));
        }
        if (metric->type == METRIC_HISTOGRAM) {
            print_histogram(out, (const struct metric_histogram *)metric);
        } else {
            print_sample_name(out, metric, "", NULL);
            strbuf_printf(out, " %" PRId64 "\n",
                          metric_value((const struct metric_counter *)metric));
        }
    }
}

void metric_free_all(void)
{
    while (first_metric != NULL) {
        struct metric *const metric = first_metric;
        first_metric = metric->next;
        free(metric);
    }
    last_metric = NULL;
}
