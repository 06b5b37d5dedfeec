/*
 * api_tag.c - Get and Set Blob Tags, Find Blobs by Tags.
 *
 * The marker of a search is the container's name, a NUL, and the place in its index.
 */
#include "frontend/http/api.h"

#include "frontend/http/api_common.h"
#include "frontend/http/xml_read.h"
#include "frontend/http/xml_write.h"
#include "service/blob/tag_index.h"
#include "service/limits.h"

void api_list_tags(struct strbuf *body, const struct metadata *tags)
{
    strbuf_add_text(body, tags->count > 0 ? "<Tags><TagSet>" : "<Tags><TagSet />");
    for (size_t i = 0; i < tags->count; i++) {
        strbuf_add_text(body, "<Tag>");
        xml_add_element(body, "Key", tags->pairs[i].name);
        xml_add_element(body, "Value", tags->pairs[i].value);
        strbuf_add_text(body, "</Tag>");
    }
    strbuf_add_text(body, tags->count > 0 ? "</TagSet></Tags>" : "</Tags>");
}

/* --- Get and Set Blob Tags --- */

enum err get_blob_tags_run(struct http_request *request)
{
    const struct blob_get_request get = {
        .name = api_blob_name(request),
        .condition = request->condition,
        .has_lease_id = request->has_lease_id,
        .lease_id = request->lease_id,
    };
    struct blob blob;
    const enum err err = blob_get(request->context->service, &request->arena, &get, &blob, NULL);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_begin_document(&body);
    api_list_tags(&body, &blob.tags);
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&body);
    return OK;
}

enum err set_blob_tags_prepare(struct http_request *request)
{
    struct blob_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    api_fill_blob_change(request, change);
    return OK;
}

/* <Tags><TagSet><Tag><Key>name</Key><Value>value</Value></Tag>... */
static enum err read_tags(struct http_request *request, struct metadata *tags)
{
    struct xml_node *root;
    struct xml_fault fault = { 0 };
    const enum err err =
        xml_parse(&request->arena, strbuf_slice(&request->document), &root, &fault);
    if (err != OK)
        return api_fault_xml(request, &fault);
    const struct xml_node *set = slice_is(root->name, "Tags") ? xml_find(root, "TagSet") : NULL;
    if (set == NULL)
        return ERR_INVALID_XML;
    for (const struct xml_node *node = set->first_child; node != NULL; node = node->next) {
        const struct xml_node *key = xml_find(node, "Key");
        const struct xml_node *value = xml_find(node, "Value");
        if (!slice_is(node->name, "Tag") || key == NULL || value == NULL)
            return ERR_INVALID_XML;
        if (tags->count == TAG_COUNT_MAX)
            return ERR_TAGS_TOO_LARGE;
        /* Spaces around a name or value are part of it. */
        metadata_append(tags, &request->arena, (struct metadata_pair){ key->text, value->text });
    }
    return tags_check(tags);
}

enum err set_blob_tags_run(struct http_request *request)
{
    struct blob_change *change = request->arguments;
    change->tags = (struct metadata){ 0 };
    const enum err err = read_tags(request, &change->tags);
    if (err != OK)
        return err;
    blob_set_tags(request->context->service, change);
    return OK;
}

void set_blob_tags_respond(struct http_request *request)
{
    request_respond(request, 204);
}

/* --- Find Blobs by Tags --- */

struct find_blobs {
    struct tag_search search;
    struct strbuf body;
};

static enum err read_place(struct http_request *request, struct tag_position *from)
{
    struct slice place;
    const enum err err = api_read_marker(request, &place);
    if (err != OK)
        return err;
    const size_t nul = slice_find_byte(place, '\0');
    from->container = slice_head(place, nul);
    from->key = slice_from(place, nul + 1);
    if (from->container.len > LIMIT_CONTAINER_NAME_MAX ||
        from->key.len > PARTITION_KEY_BYTES_MAX / 2)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    return OK;
}

enum err find_blobs_prepare(struct http_request *request)
{
    struct find_blobs *find = arena_alloc(&request->arena, sizeof(*find));
    request->arguments = find;
    struct tag_search *search = &find->search;
    search->account = slice_of(request->address.account->name);
    search->container = request->address.container;
    const struct slice where = http_message_parameter(&request->message, "where");
    if (where.len == 0) {
        request_add_detail(request, "QueryParameterName", slice_of("where"));
        return ERR_MISSING_QUERY_PARAMETER;
    }
    if (tag_predicate_parse(&request->arena, where, TAG_SEARCH, &search->predicate) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "where");
    const enum err err = read_place(request, &search->from);
    return err == OK ? api_results_max(request, &search->results_max) : err;
}

/* Of the blob's tags those that the search is about are shown. */
static struct metadata tags_in_search(struct arena *arena, const struct tag_predicate *predicate,
                                      const struct metadata *tags)
{
    struct metadata shown = { 0 };
    for (size_t i = 0; i < tags->count; i++) {
        bool named = false;
        for (size_t j = 0; j < tag_predicate_count(predicate); j++)
            named |= slice_equal(tag_predicate_get(predicate, j)->name, tags->pairs[i].name);
        if (named)
            metadata_append(&shown, arena, tags->pairs[i]);
    }
    return shown;
}

static bool emit_found(void *arg, struct slice container, struct slice name,
                       const struct blob *blob)
{
    struct find_blobs *find = arg;
    struct strbuf *body = &find->body;
    const struct metadata shown = tags_in_search(body->arena, find->search.predicate, &blob->tags);
    strbuf_add_text(body, "<Blob>");
    xml_add_name(body, "Name", name);
    xml_add_element(body, "ContainerName", container);
    api_list_tags(body, &shown);
    strbuf_add_text(body, "</Blob>");
    return body->len < LIMIT_LIST_BODY_BYTES;
}

static struct slice place_bytes(struct arena *arena, const struct tag_position *position)
{
    if (position->container.len == 0)
        return (struct slice){ 0 };
    struct strbuf bytes;
    strbuf_init(&bytes, arena);
    strbuf_add(&bytes, position->container);
    strbuf_add_byte(&bytes, '\0');
    strbuf_add(&bytes, position->key);
    return strbuf_slice(&bytes);
}

enum err find_blobs_run(struct http_request *request)
{
    struct find_blobs *find = request->arguments;
    struct strbuf *body = &find->body;
    struct tag_position next;
    strbuf_init(body, &request->arena);
    api_begin_search(request, body);
    strbuf_add_text(body, "<Blobs>");
    find->search.emit = emit_found;
    find->search.arg = find;
    const enum err err =
        tag_search_run(request->context->service, &request->arena, &find->search, &next);
    if (err == ERR_MALFORMED)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "where");
    if (err != OK)
        return err;
    strbuf_add_text(body, "</Blobs>");
    xml_add_element(body, "NextMarker",
                    api_make_marker(&request->arena, place_bytes(&request->arena, &next)));
    strbuf_add_text(body, "</EnumerationResults>");
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
    return OK;
}
