/*
 * metric.h - counters, gauges and latency histograms, printed as Prometheus text.
 *
 * A metric is registered once, at start, and lives as long as the process.  Recording is a
 * relaxed atomic add: each number is exact, numbers read together may be a moment apart.
 * Any thread may record; registering is for main before threads start.
 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

#include <stdint.h>

#include "base/strbuf.h"

struct metric_counter;
struct metric_histogram;

/*
 * `name` and `help` follow Prometheus' rules; `labels` is NULL or ready text such as
 * service="blob",operation="GetBlob".  The strings are kept, not copied.  Metrics of one name
 * are registered one after the other and share the first one's help.
 */
struct metric_counter *metric_counter_new(const char *name, const char *help, const char *labels);
struct metric_counter *metric_gauge_new(const char *name, const char *help, const char *labels);
struct metric_histogram *metric_histogram_new(const char *name, const char *help,
                                              const char *labels);

void metric_add(struct metric_counter *counter, int64_t amount);
int64_t metric_value(const struct metric_counter *counter);

/* One observation of a span; buckets run from 50 us to 10 s. */
void metric_observe_us(struct metric_histogram *histogram, int64_t span_us);

/* Append every registered metric in the Prometheus text format, version 0.0.4. */
void metric_print_all(struct strbuf *out);

/* Forget every metric: for tests, and for main at exit. */
void metric_free_all(void);

#endif
