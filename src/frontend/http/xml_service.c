#include "frontend/http/xml_service.h"

#include "base/encoding.h"
#include "frontend/http/http_version.h"
#include "frontend/http/xml_write.h"
#include "service/limits.h"

/* --- reading --- */

/* Reads one value after the other and remembers the first fault. */
struct reading {
    const char *reason; /* NULL: no fault so far */
};

static void fail(struct reading *reading, const char *reason)
{
    if (reading->reason == NULL)
        reading->reason = reason;
}

static bool read_bool(struct reading *reading, const struct xml_node *node, const char *name)
{
    const struct slice text = xml_child_text(node, name);
    if (slice_equal_nocase(text, slice_of("true")))
        return true;
    if (!slice_equal_nocase(text, slice_of("false")))
        fail(reading, "A required element is missing or is neither true nor false.");
    return false;
}

static bool read_optional_bool(struct reading *reading, const struct xml_node *node,
                               const char *name)
{
    return xml_find(node, name) != NULL && read_bool(reading, node, name);
}

static struct retention_policy read_retention(struct reading *reading, const struct xml_node *node)
{
    struct retention_policy policy = { 0 };
    if (node == NULL) {
        fail(reading, "A retention policy is missing.");
        return policy;
    }
    policy.enabled = read_bool(reading, node, "Enabled");
    const struct slice days = xml_child_text(node, "Days");
    if (!policy.enabled)
        return policy;
    if (decimal_parse_u64(days, &policy.days) != OK || policy.days < 1 ||
        policy.days > RETENTION_DAYS_MAX)
        fail(reading, "Retention days must be greater than 0 and less than or equal to 365 days.");
    return policy;
}

static void read_version(struct reading *reading, const struct xml_node *node)
{
    if (!slice_is(xml_child_text(node, "Version"), "1.0"))
        fail(reading, "The version of the analytics settings must be 1.0.");
}

static struct logging_properties read_logging(struct reading *reading, const struct xml_node *node)
{
    read_version(reading, node);
    return (struct logging_properties){
        .read = read_bool(reading, node, "Read"),
        .write = read_bool(reading, node, "Write"),
        .delete = read_bool(reading, node, "Delete"),
        .retention = read_retention(reading, xml_find(node, "RetentionPolicy")),
    };
}

static struct metrics_properties read_metrics(struct reading *reading, const struct xml_node *node)
{
    read_version(reading, node);
    struct metrics_properties metrics = {
        .enabled = read_bool(reading, node, "Enabled"),
        .retention = read_retention(reading, xml_find(node, "RetentionPolicy")),
    };
    if (metrics.enabled)
        metrics.include_apis = read_bool(reading, node, "IncludeAPIs");
    return metrics;
}

/* One of the lists of a CORS rule: it is sent in headers, so it is what a header can hold. */
static struct slice read_list(struct reading *reading, const struct xml_node *node,
                              const char *name)
{
    if (xml_find(node, name) == NULL)
        fail(reading, "A CORS rule is not complete.");
    const struct slice list = xml_child_text(node, name);
    for (size_t i = 0; i < list.len; i++)
        if (list.data[i] < ' ' || list.data[i] > '~')
            fail(reading, "A CORS rule has a character that a header cannot have.");
    return list;
}

static struct cors_rule read_rule(struct reading *reading, const struct xml_node *node)
{
    struct cors_rule rule = {
        .origins = read_list(reading, node, "AllowedOrigins"),
        .methods = read_list(reading, node, "AllowedMethods"),
        .allowed_headers = read_list(reading, node, "AllowedHeaders"),
        .exposed_headers = read_list(reading, node, "ExposedHeaders"),
    };
    if (rule.origins.len == 0 || rule.methods.len == 0)
        fail(reading, "A CORS rule must name origins and methods.");
    if (decimal_parse_u64(xml_child_text(node, "MaxAgeInSeconds"), &rule.max_age_sec) != OK ||
        rule.max_age_sec > INT32_MAX)
        fail(reading, "The maximum age of a CORS rule must be a number of seconds.");
    return rule;
}

static struct cors_rules read_cors(struct reading *reading, const struct xml_node *node)
{
    struct cors_rules rules = { 0 };
    size_t bytes = 0;
    for (const struct xml_node *child = node->first_child; child != NULL; child = child->next) {
        if (!slice_is(child->name, "CorsRule") || rules.count == CORS_RULES_MAX) {
            fail(reading, "There may be at most five CORS rules, and nothing else.");
            break;
        }
        const struct cors_rule rule = read_rule(reading, child);
        bytes += rule.origins.len + rule.methods.len + rule.allowed_headers.len +
                 rule.exposed_headers.len;
        rules.rules[rules.count++] = rule;
    }
    if (bytes > LIMIT_CORS_BYTES_MAX)
        fail(reading, "The CORS rules are longer than 2 KiB.");
    return rules;
}

/* The name of a blob of the website, or nothing. */
static struct slice read_document_name(struct reading *reading, const struct xml_node *node,
                                       const char *name)
{
    const struct slice text = xml_child_text(node, name);
    if (text.len > LIMIT_BLOB_NAME_BYTES_MAX)
        fail(reading, "The name of a document is too long.");
    return text;
}

static struct website_properties read_website(struct reading *reading, const struct xml_node *node)
{
    return (struct website_properties){
        .enabled = read_bool(reading, node, "Enabled"),
        .index_document = read_document_name(reading, node, "IndexDocument"),
        .error_document = read_document_name(reading, node, "ErrorDocument404Path"),
        .default_index_path = read_document_name(reading, node, "DefaultIndexDocumentPath"),
    };
}

/* <ProtocolSettings><SMB><Multichannel><Enabled>; any part may be left out. */
static bool read_multichannel(struct reading *reading, const struct xml_node *node)
{
    const struct xml_node *smb = xml_find(node, "SMB");
    const struct xml_node *multichannel = smb == NULL ? NULL : xml_find(smb, "Multichannel");
    return multichannel != NULL && read_bool(reading, multichannel, "Enabled");
}

static unsigned read_part(struct reading *reading, const struct xml_node *node,
                          struct service_properties *properties)
{
    if (slice_is(node->name, "Logging")) {
        properties->logging = read_logging(reading, node);
        return PROPERTIES_LOGGING;
    }
    if (slice_is(node->name, "HourMetrics") || slice_is(node->name, "Metrics")) {
        properties->hour_metrics = read_metrics(reading, node);
        return PROPERTIES_HOUR_METRICS;
    }
    if (slice_is(node->name, "MinuteMetrics")) {
        properties->minute_metrics = read_metrics(reading, node);
        return PROPERTIES_MINUTE_METRICS;
    }
    if (slice_is(node->name, "Cors")) {
        properties->cors = read_cors(reading, node);
        return PROPERTIES_CORS;
    }
    if (slice_is(node->name, "DeleteRetentionPolicy")) {
        properties->delete_retention = read_retention(reading, node);
        properties->allow_permanent_delete =
            read_optional_bool(reading, node, "AllowPermanentDelete");
        return PROPERTIES_DELETE_RETENTION;
    }
    if (slice_is(node->name, "ShareDeleteRetentionPolicy")) {
        properties->delete_retention = read_retention(reading, node);
        return PROPERTIES_SHARE_RETENTION;
    }
    if (slice_is(node->name, "ProtocolSettings")) {
        properties->smb_multichannel = read_multichannel(reading, node);
        return PROPERTIES_SMB;
    }
    if (slice_is(node->name, "StaticWebsite")) {
        properties->website = read_website(reading, node);
        return PROPERTIES_WEBSITE;
    }
    if (slice_is(node->name, "DefaultServiceVersion")) {
        int version;
        properties->default_version = xml_text(node);
        if (properties->default_version.len > 0 &&
            http_version_parse(properties->default_version, &version) != OK)
            fail(reading, "The default version is not a version.");
        return PROPERTIES_DEFAULT_VERSION;
    }
    fail(reading, "There is an element that is no part of the service's properties.");
    return 0;
}

enum err xml_service_read(struct arena *arena, struct slice document, unsigned allowed,
                          struct service_properties *properties, unsigned *parts,
                          struct xml_fault *fault)
{
    struct reading reading = { 0 };
    struct xml_node *root;
    *properties = (struct service_properties){ 0 };
    *parts = 0;
    const enum err err = xml_parse(arena, document, &root, fault);
    if (err != OK)
        return err;
    if (!slice_is(root->name, "StorageServiceProperties"))
        fail(&reading, "The document does not hold properties of a service.");
    for (const struct xml_node *child = root->first_child; child != NULL && reading.reason == NULL;
         child = child->next)
        *parts |= read_part(&reading, child, properties);
    if ((*parts & ~allowed) != 0)
        fail(&reading, "There is an element that is no part of the service's properties.");
    if (reading.reason == NULL)
        return OK;
    *fault = (struct xml_fault){ .reason = reading.reason };
    return ERR_INVALID_XML;
}

/* --- writing --- */

static void write_bool(struct strbuf *out, const char *name, bool value)
{
    xml_add_element(out, name, slice_of(value ? "true" : "false"));
}

static void write_number(struct strbuf *out, const char *name, uint64_t value)
{
    strbuf_printf(out, "<%s>%llu</%s>", name, (unsigned long long)value, name);
}

static void write_retention(struct strbuf *out, const struct retention_policy *policy)
{
    strbuf_add_text(out, "<RetentionPolicy>");
    write_bool(out, "Enabled", policy->enabled);
    if (policy->enabled)
        write_number(out, "Days", policy->days);
    strbuf_add_text(out, "</RetentionPolicy>");
}

static void write_metrics(struct strbuf *out, const char *name,
                          const struct metrics_properties *metrics)
{
    strbuf_printf(out, "<%s><Version>1.0</Version>", name);
    write_bool(out, "Enabled", metrics->enabled);
    if (metrics->enabled)
        write_bool(out, "IncludeAPIs", metrics->include_apis);
    write_retention(out, &metrics->retention);
    strbuf_printf(out, "</%s>", name);
}

static void write_cors(struct strbuf *out, const struct cors_rules *cors)
{
    if (cors->count == 0) {
        strbuf_add_text(out, "<Cors />");
        return;
    }
    strbuf_add_text(out, "<Cors>");
    for (size_t i = 0; i < cors->count; i++) {
        const struct cors_rule *rule = &cors->rules[i];
        strbuf_add_text(out, "<CorsRule>");
        xml_add_element(out, "AllowedMethods", rule->methods);
        xml_add_element(out, "AllowedOrigins", rule->origins);
        xml_add_element(out, "AllowedHeaders", rule->allowed_headers);
        xml_add_element(out, "ExposedHeaders", rule->exposed_headers);
        write_number(out, "MaxAgeInSeconds", rule->max_age_sec);
        strbuf_add_text(out, "</CorsRule>");
    }
    strbuf_add_text(out, "</Cors>");
}

static void write_website(struct strbuf *out, const struct website_properties *website)
{
    strbuf_add_text(out, "<StaticWebsite>");
    write_bool(out, "Enabled", website->enabled);
    if (website->index_document.len > 0)
        xml_add_element(out, "IndexDocument", website->index_document);
    if (website->default_index_path.len > 0)
        xml_add_element(out, "DefaultIndexDocumentPath", website->default_index_path);
    if (website->error_document.len > 0)
        xml_add_element(out, "ErrorDocument404Path", website->error_document);
    strbuf_add_text(out, "</StaticWebsite>");
}

static void write_delete_retention(struct strbuf *out, const struct service_properties *properties)
{
    const struct retention_policy *deleted = &properties->delete_retention;
    strbuf_add_text(out, "<DeleteRetentionPolicy>");
    write_bool(out, "Enabled", deleted->enabled);
    if (deleted->enabled)
        write_number(out, "Days", deleted->days);
    write_bool(out, "AllowPermanentDelete", properties->allow_permanent_delete);
    strbuf_add_text(out, "</DeleteRetentionPolicy>");
}

static void write_logging(struct strbuf *out, const struct logging_properties *logging)
{
    strbuf_add_text(out, "<Logging><Version>1.0</Version>");
    write_bool(out, "Read", logging->read);
    write_bool(out, "Write", logging->write);
    write_bool(out, "Delete", logging->delete);
    write_retention(out, &logging->retention);
    strbuf_add_text(out, "</Logging>");
}

/* Azure has the retention of shares elsewhere: it is said only if there is one. */
static void write_of_files(struct strbuf *out, const struct service_properties *properties,
                           unsigned parts)
{
    if ((parts & PROPERTIES_SMB) != 0) {
        strbuf_add_text(out, "<ProtocolSettings><SMB><Multichannel>");
        write_bool(out, "Enabled", properties->smb_multichannel);
        strbuf_add_text(out, "</Multichannel></SMB></ProtocolSettings>");
    }
    if ((parts & PROPERTIES_SHARE_RETENTION) != 0 && properties->delete_retention.enabled) {
        strbuf_add_text(out, "<ShareDeleteRetentionPolicy><Enabled>true</Enabled>");
        write_number(out, "Days", properties->delete_retention.days);
        strbuf_add_text(out, "</ShareDeleteRetentionPolicy>");
    }
}

void xml_service_write(struct strbuf *out, const struct service_properties *properties,
                       unsigned parts)
{
    xml_begin_document(out);
    strbuf_add_text(out, "<StorageServiceProperties>");
    if ((parts & PROPERTIES_LOGGING) != 0)
        write_logging(out, &properties->logging);
    write_metrics(out, "HourMetrics", &properties->hour_metrics);
    write_metrics(out, "MinuteMetrics", &properties->minute_metrics);
    write_cors(out, &properties->cors);
    if ((parts & PROPERTIES_DELETE_RETENTION) != 0)
        write_delete_retention(out, properties);
    if ((parts & PROPERTIES_WEBSITE) != 0)
        write_website(out, &properties->website);
    write_of_files(out, properties, parts);
    if (properties->default_version.len > 0)
        xml_add_element(out, "DefaultServiceVersion", properties->default_version);
    strbuf_add_text(out, "</StorageServiceProperties>");
}
