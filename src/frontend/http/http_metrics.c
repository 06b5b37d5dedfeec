#include "frontend/http/http_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/metric.h"

enum {
    LABELS_LEN_MAX = 96,
};

/* One per row of the operation tables, and one per service for requests that named no operation. */
struct operation_metrics {
    char labels[LABELS_LEN_MAX];
    struct metric_counter *answered;
    struct metric_counter *client_errors;
    struct metric_counter *server_errors;
    struct metric_histogram *duration;
};

static struct operation_metrics *per_operation;
static struct metric_counter *in_flight;
static struct metric_counter *bytes_in_total;
static struct metric_counter *bytes_out_total;

static void write_labels(size_t index, char *labels)
{
    const bool known = index < http_operation_count();
    const enum http_service_id service =
        known ? http_operation_get(index)->service
              : (enum http_service_id)(index - http_operation_count());
    snprintf(labels, LABELS_LEN_MAX, "service=\"%s\",operation=\"%s\"",
             http_service_get(service)->name, known ? http_operation_get(index)->name : "None");
}

void http_metrics_init(void)
{
    const size_t count = http_operation_count() + HTTP_SERVICE_COUNT;
    per_operation = calloc(count, sizeof(*per_operation));
    if (per_operation == NULL)
        panic("no memory for metrics");
    for (size_t i = 0; i < count; i++)
        write_labels(i, per_operation[i].labels);
    /* Metrics of one name are registered together, as the text format wants them. */
    for (size_t i = 0; i < count; i++)
        per_operation[i].answered = metric_counter_new(
            "zaffre_requests_total", "Requests answered.", per_operation[i].labels);
    for (size_t i = 0; i < count; i++)
        per_operation[i].client_errors = metric_counter_new(
            "zaffre_client_errors_total", "Answers of status 4xx.", per_operation[i].labels);
    for (size_t i = 0; i < count; i++)
        per_operation[i].server_errors = metric_counter_new(
            "zaffre_server_errors_total", "Answers of status 5xx.", per_operation[i].labels);
    for (size_t i = 0; i < count; i++)
        per_operation[i].duration = metric_histogram_new(
            "zaffre_request_seconds", "From the first header to the end of the answer.",
            per_operation[i].labels);
    in_flight = metric_gauge_new("zaffre_requests_in_flight", "Requests under way.", NULL);
    bytes_in_total =
        metric_counter_new("zaffre_body_bytes_in_total", "Bytes of request bodies.", NULL);
    bytes_out_total =
        metric_counter_new("zaffre_body_bytes_out_total", "Bytes of response bodies.", NULL);
}

void http_metrics_release(void)
{
    free(per_operation);
    per_operation = NULL;
}

void http_metrics_in_flight(int delta)
{
    metric_add(in_flight, delta);
}

void http_metrics_answered(const struct http_service *service,
                           const struct http_operation *operation, unsigned status, int64_t span_us,
                           uint64_t bytes_in, uint64_t bytes_out)
{
    struct operation_metrics *metrics =
        &per_operation[operation == NULL ? http_operation_count() + service->id
                                         : http_operation_index(operation)];
    metric_add(metrics->answered, 1);
    if (status >= 500)
        metric_add(metrics->server_errors, 1);
    else if (status >= 400)
        metric_add(metrics->client_errors, 1);
    metric_observe_us(metrics->duration, span_us);
    metric_add(bytes_in_total, (int64_t)bytes_in);
    metric_add(bytes_out_total, (int64_t)bytes_out);
}
