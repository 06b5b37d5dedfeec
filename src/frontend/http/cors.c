#include "frontend/http/cors.h"

/* Take the next item off a list separated by commas; false at its end. */
static bool next_item(struct slice *list, struct slice *item)
{
    if (list->len == 0)
        return false;
    const size_t comma = slice_find_byte(*list, ',');
    *item = slice_trim(slice_head(*list, comma));
    *list = slice_from(*list, comma + 1);
    return true;
}

/* A star, the origin itself, or a pattern with a star after the scheme for what ends like it. */
static bool origin_matches(struct slice pattern, struct slice origin)
{
    if (slice_is(pattern, "*") || slice_equal(pattern, origin))
        return true;
    const size_t star = slice_find_byte(pattern, '*');
    if (star == pattern.len || !slice_starts_with(origin, slice_head(pattern, star)))
        return false;
    const struct slice ending = slice_from(pattern, star + 1);
    return ending.len > 0 && origin.len > star + ending.len &&
           slice_equal(slice_from(origin, origin.len - ending.len), ending);
}

/* In any case; a pattern may end in a star. */
static bool header_matches(struct slice pattern, struct slice header)
{
    if (pattern.len > 0 && pattern.data[pattern.len - 1] == '*') {
        const struct slice beginning = slice_head(pattern, pattern.len - 1);
        return slice_equal_nocase(slice_head(header, beginning.len), beginning);
    }
    return slice_equal_nocase(pattern, header);
}

static bool has_origin(struct slice origins, struct slice origin)
{
    struct slice pattern;
    while (next_item(&origins, &pattern))
        if (origin_matches(pattern, origin))
            return true;
    return false;
}

static bool has_method(struct slice methods, struct slice method)
{
    struct slice allowed;
    while (next_item(&methods, &allowed))
        if (slice_is(allowed, "*") || slice_equal_nocase(allowed, method))
            return true;
    return false;
}

static bool has_header(struct slice patterns, struct slice header)
{
    struct slice pattern;
    while (next_item(&patterns, &pattern))
        if (header_matches(pattern, header))
            return true;
    return false;
}

const struct cors_rule *cors_find(const struct cors_rules *rules, struct slice origin,
                                  struct slice method)
{
    for (size_t i = 0; i < rules->count; i++)
        if (has_origin(rules->rules[i].origins, origin) &&
            has_method(rules->rules[i].methods, method))
            return &rules->rules[i];
    return NULL;
}

bool cors_allows_headers(const struct cors_rule *rule, struct slice headers)
{
    struct slice header;
    while (next_item(&headers, &header))
        if (header.len > 0 && !has_header(rule->allowed_headers, header))
            return false;
    return true;
}

bool cors_allows_every_origin(const struct cors_rule *rule)
{
    struct slice origins = rule->origins;
    struct slice origin;
    while (next_item(&origins, &origin))
        if (slice_is(origin, "*"))
            return true;
    return false;
}

void cors_add_headers(struct http_response *response, const struct cors_rules *rules,
                      const struct cors_rule *rule, struct slice origin, bool is_read)
{
    if (rules->count == 0)
        return;
    if (rule == NULL) {
        if (is_read)
            http_response_add_text(response, "Vary", "Origin");
        return;
    }
    http_response_add(response, "Access-Control-Expose-Headers", rule->exposed_headers);
    if (cors_allows_every_origin(rule)) {
        http_response_add_text(response, "Access-Control-Allow-Origin", "*");
        return;
    }
    http_response_add(response, "Access-Control-Allow-Origin", origin);
    http_response_add_text(response, "Access-Control-Allow-Credentials", "true");
    if (is_read)
        http_response_add_text(response, "Vary", "Origin");
}
