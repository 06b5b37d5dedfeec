/*
 * service_properties.h - the settings of an account's service: logging, metrics, CORS, retention,
 * static website, default version.
 *
 * One record for each account and service, a row of the account's partition.  The blob service has
 * all of it; queues, tables and files have parts.  What the settings say about CORS, the website,
 * the version and deleted blobs is acted on; logs and metrics of Azure's own kind are kept and
 * given back, and nothing is written to them (the admin endpoint has this server's metrics).
 *
 * Values that own nothing.
 */
#ifndef SERVICE_SERVICE_PROPERTIES_H
#define SERVICE_SERVICE_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/service.h"

enum {
    CORS_RULES_MAX = 5,
    RETENTION_DAYS_MAX = 365,
};

struct retention_policy {
    bool enabled;
    uint64_t days; /* 1 to 365 if enabled */
};

struct logging_properties {
    bool read;
    bool write;
    bool delete;
    struct retention_policy retention;
};

struct metrics_properties {
    bool enabled;
    bool include_apis; /* meaningful if enabled */
    struct retention_policy retention;
};

/* Lists are as the client gave them: separated by commas. */
struct cors_rule {
    struct slice origins;
    struct slice methods;
    struct slice allowed_headers;
    struct slice exposed_headers;
    uint64_t max_age_sec;
};

struct cors_rules {
    size_t count;
    struct cors_rule rules[CORS_RULES_MAX];
};

struct website_properties {
    bool enabled;
    struct slice index_document;
    struct slice error_document;
    struct slice default_index_path;
};

/* All zero bytes is how a new account is. */
struct service_properties {
    struct logging_properties logging;
    struct metrics_properties hour_metrics;
    struct metrics_properties minute_metrics;
    struct cors_rules cors;
    struct slice default_version;
    struct retention_policy delete_retention;
    bool allow_permanent_delete;
    bool smb_multichannel; /* files: kept and given back */
    struct website_properties website;
};

/* The parts a change replaces; the others stay. */
enum service_properties_part {
    PROPERTIES_LOGGING = 1 << 0,
    PROPERTIES_HOUR_METRICS = 1 << 1,
    PROPERTIES_MINUTE_METRICS = 1 << 2,
    PROPERTIES_CORS = 1 << 3,
    PROPERTIES_DEFAULT_VERSION = 1 << 4,
    PROPERTIES_DELETE_RETENTION = 1 << 5,
    PROPERTIES_WEBSITE = 1 << 6,
    PROPERTIES_SMB = 1 << 7,             /* of files */
    PROPERTIES_SHARE_RETENTION = 1 << 8, /* the same: delete_retention is that of shares */
};

/* The stored form; decoded slices point into the row.  ERR_CORRUPT. */
struct slice service_properties_encode(struct arena *arena,
                                       const struct service_properties *properties);
MUST_CHECK enum err service_properties_decode(struct slice row,
                                              struct service_properties *properties);

/* The present settings of `service` ('b' for blobs), in the arena. */
MUST_CHECK enum err service_properties_get(struct service *service, struct arena *arena,
                                           struct slice account, char letter,
                                           struct service_properties *properties);

struct service_properties_change {
    struct service_change base;
    struct slice account;
    char letter;
    unsigned parts; /* of enum service_properties_part */
    struct service_properties properties;
};

/* Replace the named parts.  Cannot be refused.  Switching on the website makes container $web,
   private like any other, if it is not there. */
void service_properties_set(struct service *service, struct service_properties_change *change);

#endif
