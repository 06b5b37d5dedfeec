#include "service/service_properties.h"

#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "service/blob/blob_name.h"
#include "service/blob/container.h"
#include "service/row.h"

/* Tags of the row; never reused for anything else. */
enum {
    TAG_FLAGS = 1, /* bits of enum flag */
    TAG_LOGGING_DAYS = 2,
    TAG_HOUR_DAYS = 3,
    TAG_MINUTE_DAYS = 4,
    TAG_DELETE_DAYS = 5,
    TAG_DEFAULT_VERSION = 6,
    TAG_INDEX_DOCUMENT = 7,
    TAG_ERROR_DOCUMENT = 8,
    TAG_DEFAULT_INDEX_PATH = 9,
    TAG_CORS_RULE = 10,
};

/* Tags inside a CORS rule. */
enum {
    RULE_ORIGINS = 1,
    RULE_METHODS = 2,
    RULE_ALLOWED = 3,
    RULE_EXPOSED = 4,
    RULE_MAX_AGE = 5,
};

enum flag {
    FLAG_LOG_READ = 1 << 0,
    FLAG_LOG_WRITE = 1 << 1,
    FLAG_LOG_DELETE = 1 << 2,
    FLAG_LOG_RETENTION = 1 << 3,
    FLAG_HOUR = 1 << 4,
    FLAG_HOUR_APIS = 1 << 5,
    FLAG_HOUR_RETENTION = 1 << 6,
    FLAG_MINUTE = 1 << 7,
    FLAG_MINUTE_APIS = 1 << 8,
    FLAG_MINUTE_RETENTION = 1 << 9,
    FLAG_DELETE_RETENTION = 1 << 10,
    FLAG_PERMANENT_DELETE = 1 << 11,
    FLAG_WEBSITE = 1 << 12,
    FLAG_SMB_MULTICHANNEL = 1 << 13,
};

/* Every boolean of the settings and its bit. */
struct flag_place {
    unsigned bit;
    bool *value;
};

enum {
    FLAG_COUNT = 14,
};

static void find_flags(struct service_properties *p, struct flag_place places[FLAG_COUNT])
{
    const struct flag_place found[FLAG_COUNT] = {
        { FLAG_LOG_READ, &p->logging.read },
        { FLAG_LOG_WRITE, &p->logging.write },
        { FLAG_LOG_DELETE, &p->logging.delete },
        { FLAG_LOG_RETENTION, &p->logging.retention.enabled },
        { FLAG_HOUR, &p->hour_metrics.enabled },
        { FLAG_HOUR_APIS, &p->hour_metrics.include_apis },
        { FLAG_HOUR_RETENTION, &p->hour_metrics.retention.enabled },
        { FLAG_MINUTE, &p->minute_metrics.enabled },
        { FLAG_MINUTE_APIS, &p->minute_metrics.include_apis },
        { FLAG_MINUTE_RETENTION, &p->minute_metrics.retention.enabled },
        { FLAG_DELETE_RETENTION, &p->delete_retention.enabled },
        { FLAG_PERMANENT_DELETE, &p->allow_permanent_delete },
        { FLAG_WEBSITE, &p->website.enabled },
        { FLAG_SMB_MULTICHANNEL, &p->smb_multichannel },
    };
    memcpy(places, found, sizeof(found));
}

static void encode_rule(const struct cors_rule *rule, struct strbuf *row)
{
    struct strbuf field;
    strbuf_init(&field, row->arena);
    row_add_bytes(&field, RULE_ORIGINS, rule->origins);
    row_add_bytes(&field, RULE_METHODS, rule->methods);
    row_add_bytes(&field, RULE_ALLOWED, rule->allowed_headers);
    row_add_bytes(&field, RULE_EXPOSED, rule->exposed_headers);
    row_add_number(&field, RULE_MAX_AGE, rule->max_age_sec);
    row_add_bytes(row, TAG_CORS_RULE, strbuf_slice(&field));
}

struct slice service_properties_encode(struct arena *arena,
                                       const struct service_properties *properties)
{
    struct service_properties copy = *properties;
    struct flag_place places[FLAG_COUNT];
    uint64_t flags = 0;
    find_flags(&copy, places);
    for (size_t i = 0; i < FLAG_COUNT; i++)
        flags |= *places[i].value ? places[i].bit : 0;

    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_SERVICE);
    row_add_number(&row, TAG_FLAGS, flags);
    row_add_number(&row, TAG_LOGGING_DAYS, properties->logging.retention.days);
    row_add_number(&row, TAG_HOUR_DAYS, properties->hour_metrics.retention.days);
    row_add_number(&row, TAG_MINUTE_DAYS, properties->minute_metrics.retention.days);
    row_add_number(&row, TAG_DELETE_DAYS, properties->delete_retention.days);
    row_add_bytes(&row, TAG_DEFAULT_VERSION, properties->default_version);
    row_add_bytes(&row, TAG_INDEX_DOCUMENT, properties->website.index_document);
    row_add_bytes(&row, TAG_ERROR_DOCUMENT, properties->website.error_document);
    row_add_bytes(&row, TAG_DEFAULT_INDEX_PATH, properties->website.default_index_path);
    for (size_t i = 0; i < properties->cors.count; i++)
        encode_rule(&properties->cors.rules[i], &row);
    return strbuf_slice(&row);
}

static enum err decode_rule(struct slice value, struct cors_rules *rules)
{
    if (rules->count == CORS_RULES_MAX)
        return CORRUPT("there are more than %d CORS rules", CORS_RULES_MAX);
    struct cors_rule *rule = &rules->rules[rules->count++];
    struct slice *const texts[] = {
        [RULE_ORIGINS] = &rule->origins,
        [RULE_METHODS] = &rule->methods,
        [RULE_ALLOWED] = &rule->allowed_headers,
        [RULE_EXPOSED] = &rule->exposed_headers,
    };
    struct row_reader reader = { .rest = value };
    for (;;) {
        uint64_t tag;
        struct slice field;
        enum err err = row_next(&reader, &tag, &field);
        if (err == ERR_NOT_FOUND)
            return OK;
        if (err == OK && tag >= RULE_ORIGINS && tag <= RULE_EXPOSED)
            *texts[tag] = field;
        else if (err == OK && tag == RULE_MAX_AGE)
            err = row_number(field, &rule->max_age_sec);
        if (err != OK)
            return err;
    }
}

static enum err decode_flags(struct slice value, struct service_properties *properties)
{
    uint64_t flags;
    const enum err err = row_number(value, &flags);
    if (err != OK)
        return err;
    struct flag_place places[FLAG_COUNT];
    find_flags(properties, places);
    for (size_t i = 0; i < FLAG_COUNT; i++)
        *places[i].value = (flags & places[i].bit) != 0;
    return OK;
}

static enum err decode_field(struct service_properties *properties, uint64_t tag,
                             struct slice value)
{
    switch (tag) {
    case TAG_FLAGS:
        return decode_flags(value, properties);
    case TAG_LOGGING_DAYS:
        return row_number(value, &properties->logging.retention.days);
    case TAG_HOUR_DAYS:
        return row_number(value, &properties->hour_metrics.retention.days);
    case TAG_MINUTE_DAYS:
        return row_number(value, &properties->minute_metrics.retention.days);
    case TAG_DELETE_DAYS:
        return row_number(value, &properties->delete_retention.days);
    case TAG_DEFAULT_VERSION:
        properties->default_version = value;
        return OK;
    case TAG_INDEX_DOCUMENT:
        properties->website.index_document = value;
        return OK;
    case TAG_ERROR_DOCUMENT:
        properties->website.error_document = value;
        return OK;
    case TAG_DEFAULT_INDEX_PATH:
        properties->website.default_index_path = value;
        return OK;
    case TAG_CORS_RULE:
        return decode_rule(value, &properties->cors);
    default:
        return OK;
    }
}

enum err service_properties_decode(struct slice row, struct service_properties *properties)
{
    *properties = (struct service_properties){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_SERVICE);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_field(properties, tag, value);
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err service_properties_get(struct service *service, struct arena *arena, struct slice account,
                                char letter, struct service_properties *properties)
{
    struct slice row;
    *properties = (struct service_properties){ 0 };
    const enum err err =
        partition_get_often(service->store, arena, account_partition(arena, account),
                            service_properties_key(arena, letter), &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    return err == OK ? service_properties_decode(row, properties) : err;
}

/* The files of a website are in container $web, which switching the website on makes. */
static enum err make_web_container(struct change *change)
{
    struct arena *arena = change_arena(change);
    const struct slice key = container_key(arena, slice_of("$web"));
    struct slice row;
    const enum err err = change_get(change, key, &row);
    if (err != ERR_NOT_FOUND)
        return err;
    const struct container container = {
        .incarnation = (uint64_t)change_now(change),
        .etag = change_now(change),
    };
    change_put(change, key, container_encode(arena, &container));
    return OK;
}

static enum err set_decide(struct change *change, void *arg)
{
    struct service_properties_change *request = arg;
    const struct service_properties *given = &request->properties;
    struct arena *arena = change_arena(change);
    const struct slice key = service_properties_key(arena, request->letter);
    struct service_properties stored = { 0 };
    struct slice row;
    enum err err = change_get(change, key, &row);
    if (err == OK)
        err = service_properties_decode(row, &stored);
    if (err != OK && err != ERR_NOT_FOUND)
        return err;
    if ((request->parts & PROPERTIES_LOGGING) != 0)
        stored.logging = given->logging;
    if ((request->parts & PROPERTIES_HOUR_METRICS) != 0)
        stored.hour_metrics = given->hour_metrics;
    if ((request->parts & PROPERTIES_MINUTE_METRICS) != 0)
        stored.minute_metrics = given->minute_metrics;
    if ((request->parts & PROPERTIES_CORS) != 0)
        stored.cors = given->cors;
    if ((request->parts & PROPERTIES_DEFAULT_VERSION) != 0)
        stored.default_version = given->default_version;
    if ((request->parts & PROPERTIES_DELETE_RETENTION) != 0) {
        stored.delete_retention = given->delete_retention;
        stored.allow_permanent_delete = given->allow_permanent_delete;
    }
    if ((request->parts & PROPERTIES_WEBSITE) != 0)
        stored.website = given->website;
    if ((request->parts & PROPERTIES_SHARE_RETENTION) != 0)
        stored.delete_retention = given->delete_retention;
    if ((request->parts & PROPERTIES_SMB) != 0)
        stored.smb_multichannel = given->smb_multichannel;
    change_put(change, key, service_properties_encode(arena, &stored));
    const bool has_website = (request->parts & PROPERTIES_WEBSITE) != 0 && given->website.enabled;
    return has_website && request->letter == 'b' ? make_web_container(change) : OK;
}

void service_properties_set(struct service *service, struct service_properties_change *change)
{
    service_update(service, &change->base, account_partition(change->base.arena, change->account),
                   set_decide);
}
