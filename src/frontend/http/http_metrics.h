/*
 * http_metrics.h - what is counted about requests: per operation how many, how many failed and how
 * long they took; bytes in and out; requests under way.  Printed by the admin endpoint.
 *
 * http_metrics_init is called once, before listeners start.
 */
#ifndef FRONTEND_HTTP_HTTP_METRICS_H
#define FRONTEND_HTTP_HTTP_METRICS_H

#include <stdint.h>

#include "frontend/http/http_route.h"

void http_metrics_init(void);

/* After listeners stopped; fine without http_metrics_init. */
void http_metrics_release(void);

/* A request began, or ended without an answer (`delta` -1). */
void http_metrics_in_flight(int delta);

/* A request was answered.  `operation` is NULL when it named none. */
void http_metrics_answered(const struct http_service *service,
                           const struct http_operation *operation, unsigned status, int64_t span_us,
                           uint64_t bytes_in, uint64_t bytes_out);

#endif
