/*
 * test_metric.c - counting, and the Prometheus text format 0.0.4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/metric.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    metric_free_all();
    arena_release(&arena);
    return 0;
}

/* All metrics as a NUL-terminated text. */
static const char *printed(void)
{
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    metric_print_all(&buf);
    return arena_copy(&arena, strbuf_slice(&buf)).data;
}

static void nothing_registered_prints_nothing(void **state)
{
    (void)state;
    assert_string_equal(printed(), "");
}

static void a_counter_counts(void **state)
{
    (void)state;
    struct metric_counter *const counter = metric_counter_new("requests_total", "Requests.", NULL);
    assert_int_equal(metric_value(counter), 0);
    metric_add(counter, 1);
    metric_add(counter, 41);
    assert_int_equal(metric_value(counter), 42);
    assert_string_equal(printed(), "# HELP requests_total Requests.\n"
                                   "# TYPE requests_total counter\n"
                                   "requests_total 42\n");
}

static void a_gauge_goes_both_ways(void **state)
{
    (void)state;
    struct metric_counter *const gauge = metric_gauge_new("connections", "Open now.", NULL);
    metric_add(gauge, 3);
    metric_add(gauge, -5);
    assert_int_equal(metric_value(gauge), -2);
    assert_string_equal(printed(), "# HELP connections Open now.\n"
                                   "# TYPE connections gauge\n"
                                   "connections -2\n");
}

static void metrics_of_one_name_share_their_heading(void **state)
{
    (void)state;
    metric_add(metric_counter_new("r_total", "First help.", "service=\"blob\""), 1);
    metric_add(metric_counter_new("r_total", "Other help.", "service=\"queue\""), 2);
    metric_add(metric_gauge_new("g", "Gauge.", ""), 3);
    assert_string_equal(printed(), "# HELP r_total First help.\n"
                                   "# TYPE r_total counter\n"
                                   "r_total{service=\"blob\"} 1\n"
                                   "r_total{service=\"queue\"} 2\n"
                                   "# HELP g Gauge.\n"
                                   "# TYPE g gauge\n"
                                   "g 3\n");
}

static void a_histogram_is_cumulative_with_sum_and_count(void **state)
{
    (void)state;
    struct metric_histogram *const histogram =
        metric_histogram_new("op_seconds", "Time.", "op=\"Get\"");
    metric_observe_us(histogram, 0);
    metric_observe_us(histogram, 50);
    metric_observe_us(histogram, 51);
    metric_observe_us(histogram, 1000);
    metric_observe_us(histogram, 10000000);
    metric_observe_us(histogram, 10000001);
    assert_string_equal(printed(), "# HELP op_seconds Time.\n"
                                   "# TYPE op_seconds histogram\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.00005\"} 2\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.0001\"} 3\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.00025\"} 3\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.0005\"} 3\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.001\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.0025\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.005\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.01\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.025\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.05\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.1\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.25\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"0.5\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"1\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"2.5\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"5\"} 4\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"10\"} 5\n"
                                   "op_seconds_bucket{op=\"Get\",le=\"+Inf\"} 6\n"
                                   "op_seconds_sum{op=\"Get\"} 20.001102\n"
                                   "op_seconds_count{op=\"Get\"} 6\n");
}

static void a_histogram_without_labels_has_only_the_limit(void **state)
{
    (void)state;
    metric_observe_us(metric_histogram_new("h", "Time.", NULL), 5);
    const char *const text = printed();
    assert_non_null(strstr(text, "\nh_bucket{le=\"0.00005\"} 1\n"));
    assert_non_null(strstr(text, "\nh_bucket{le=\"+Inf\"} 1\n"));
    assert_non_null(strstr(text, "\nh_sum 0.000005\nh_count 1\n"));
}

/* The limits are read from the text, so the numbers and their names cannot drift apart. */
static void each_limit_belongs_to_its_own_bucket(void **state)
{
    (void)state;
    static const char *const limits[] = { "0.00005", "0.0001", "0.00025", "0.0005", "0.001",
                                          "0.0025",  "0.005",  "0.01",    "0.025",  "0.05",
                                          "0.1",     "0.25",   "0.5",     "1",      "2.5",
                                          "5",       "10" };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const int64_t limit_us = (int64_t)(strtod(limits[i], NULL) * 1e6 + 0.5);
        struct metric_histogram *const histogram = metric_histogram_new("h", "Time.", NULL);
        metric_observe_us(histogram, limit_us);
        metric_observe_us(histogram, limit_us + 1);
        char line[64];
        snprintf(line, sizeof(line), "h_bucket{le=\"%s\"} 1\n", limits[i]);
        assert_non_null(strstr(printed(), line));
        metric_free_all();
    }
}

static void forgotten_metrics_are_not_printed(void **state)
{
    (void)state;
    metric_add(metric_counter_new("old_total", "Old.", NULL), 1);
    metric_free_all();
    assert_string_equal(printed(), "");
    metric_add(metric_counter_new("new_total", "New.", NULL), 1);
    assert_null(strstr(printed(), "old_total"));
    assert_non_null(strstr(printed(), "new_total 1\n"));
}

struct shared {
    struct metric_counter *counter;
    struct metric_histogram *histogram;
};

static void *record_many(void *arg)
{
    const struct shared *const shared = arg;
    for (int i = 0; i < 10000; i++) {
        metric_add(shared->counter, 1);
        metric_observe_us(shared->histogram, i % 3 * 1000);
    }
    return NULL;
}

static void nothing_recorded_by_threads_is_lost(void **state)
{
    (void)state;
    struct shared shared = { .counter = metric_counter_new("c_total", "C.", NULL),
                             .histogram = metric_histogram_new("h", "H.", NULL) };
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, &shared), 0);
    /* Printing while others record is allowed. */
    printed();
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(metric_value(shared.counter), 40000);
    assert_non_null(strstr(printed(), "\nh_sum 39.996000\nh_count 40000\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_registered_prints_nothing, forget),
        cmocka_unit_test_teardown(a_counter_counts, forget),
        cmocka_unit_test_teardown(a_gauge_goes_both_ways, forget),
        cmocka_unit_test_teardown(metrics_of_one_name_share_their_heading, forget),
        cmocka_unit_test_teardown(a_histogram_is_cumulative_with_sum_and_count, forget),
        cmocka_unit_test_teardown(a_histogram_without_labels_has_only_the_limit, forget),
        cmocka_unit_test_teardown(each_limit_belongs_to_its_own_bucket, forget),
        cmocka_unit_test_teardown(forgotten_metrics_are_not_printed, forget),
        cmocka_unit_test_teardown(nothing_recorded_by_threads_is_lost, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
