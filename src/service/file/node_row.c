/*
 * node_row.c - the stored form of a directory's or file's record (node.h); see service/row.h for
 * the framing.  Kind, id and the instants of validity come first, so that a walk along a path reads
 * no further (node_internal.h).
 */
#include <string.h>

#include "base/log.h"
#include "service/blob/blob_part_row.h"
#include "service/file/file_lease.h"
#include "service/file/node_internal.h"
#include "service/lease_row.h"
#include "service/row.h"

/* Tags of a node's row; never reused for anything else. */
enum node_tag {
    TAG_KIND = 1, /* plus one, so that it is always there, and the first */
    TAG_ID = 2,
    TAG_SINCE = 3,
    TAG_UNTIL = 4,
    TAG_PARENT_ID = 5,
    TAG_NAME = 6,
    TAG_ETAG = 7,
    TAG_ATTRIBUTES = 8,
    TAG_CREATED_AT = 9,
    TAG_WRITTEN_AT = 10,
    TAG_CHANGED_AT = 11,
    TAG_ACCESSED_AT = 12,
    TAG_PERMISSION_KEY = 13,
    TAG_METADATA = 14,
    TAG_LEASE = 15, /* and the three after it */
    TAG_LEASE_LAST = TAG_LEASE + LEASE_ROW_TAGS - 1,
    TAG_CONTENT_ID = 19, /* of content in segments; a file without is empty */
    TAG_CONTENT_LENGTH = 20,
    TAG_CONTENT_SHARED = 21,
    TAG_USED_BYTES = 22,
    TAG_PROPERTIES = 23, /* and the five after it */
    TAG_PROPERTIES_LAST = TAG_PROPERTIES + PROPERTIES_ROW_TAGS - 1,
    TAG_COPY = 29, /* and the seven after it */
    TAG_COPY_LAST = TAG_COPY + COPY_ROW_TAGS - 1,
    TAG_LAST = TAG_COPY_LAST,
};

struct slice node_encode(struct arena *arena, const struct node *node)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    strbuf_reserve(&row, 160 + node->name.len);
    row_begin(&row, ROW_NODE);
    row_add_number(&row, TAG_KIND, (uint64_t)node->kind + 1);
    row_add_number(&row, TAG_ID, node->id);
    row_add_number(&row, TAG_SINCE, (uint64_t)node->since);
    row_add_number(&row, TAG_UNTIL, (uint64_t)node->until);
    row_add_number(&row, TAG_PARENT_ID, node->parent_id);
    row_add_bytes(&row, TAG_NAME, node->name);
    row_add_number(&row, TAG_ETAG, (uint64_t)node->etag);
    row_add_number(&row, TAG_ATTRIBUTES, node->attributes);
    row_add_number(&row, TAG_CREATED_AT, (uint64_t)node->created_at);
    row_add_number(&row, TAG_WRITTEN_AT, (uint64_t)node->written_at);
    row_add_number(&row, TAG_CHANGED_AT, (uint64_t)node->changed_at);
    row_add_number(&row, TAG_ACCESSED_AT, (uint64_t)node->accessed_at);
    row_add_bytes(&row, TAG_PERMISSION_KEY, node->permission_key);
    metadata_encode(&node->metadata, &row, TAG_METADATA);
    lease_row_encode(&node->lease, &row, TAG_LEASE);
    if (node->content.place != CONTENT_EMPTY) {
        row_add_number(&row, TAG_CONTENT_ID, node->content.id);
        row_add_number(&row, TAG_CONTENT_LENGTH, node->content.length_bytes);
        row_add_number(&row, TAG_CONTENT_SHARED, node->content.shared);
        row_add_number(&row, TAG_USED_BYTES, node->used_bytes);
    }
    properties_row_encode(&node->properties, &row, TAG_PROPERTIES);
    copy_row_encode(&node->copy, &row, TAG_COPY);
    return strbuf_slice(&row);
}

/* --- decoding --- */

/* The slice a tag names, or NULL when the tag is no slice's. */
static struct slice *slice_of_tag(struct node *node, uint64_t tag)
{
    switch (tag) {
    case TAG_NAME:
        return &node->name;
    case TAG_PERMISSION_KEY:
        return &node->permission_key;
    default:
        return NULL;
    }
}

/* The 64-bit number a tag names, or NULL when the tag is no such number's. */
static uint64_t *number_of_tag(struct node *node, uint64_t tag)
{
    switch (tag) {
    case TAG_ID:
        return &node->id;
    case TAG_PARENT_ID:
        return &node->parent_id;
    case TAG_CONTENT_ID:
        return &node->content.id;
    case TAG_CONTENT_LENGTH:
        return &node->content.length_bytes;
    case TAG_USED_BYTES:
        return &node->used_bytes;
    default:
        return NULL;
    }
}

/* The instant a tag names, or NULL when the tag is no instant's. */
static int64_t *instant_of_tag(struct node *node, uint64_t tag)
{
    switch (tag) {
    case TAG_SINCE:
        return &node->since;
    case TAG_UNTIL:
        return &node->until;
    case TAG_ETAG:
        return &node->etag;
    case TAG_CREATED_AT:
        return &node->created_at;
    case TAG_WRITTEN_AT:
        return &node->written_at;
    case TAG_CHANGED_AT:
        return &node->changed_at;
    case TAG_ACCESSED_AT:
        return &node->accessed_at;
    default:
        return NULL;
    }
}

/* Numbers with a meaning of their own: enumerations, flags, attributes. */
static enum err decode_choice(struct node *node, uint64_t tag, uint64_t number)
{
    switch (tag) {
    case TAG_KIND:
        if (number == 0 || number > NODE_FILE + 1)
            return CORRUPT("a node is of kind %llu", (unsigned long long)number);
        node->kind = (enum node_kind)(number - 1);
        return OK;
    case TAG_ATTRIBUTES:
        if (number > UINT32_MAX)
            return CORRUPT("a node has attributes %llx", (unsigned long long)number);
        node->attributes = (unsigned)number;
        return OK;
    case TAG_CONTENT_SHARED:
        node->content.shared = number != 0;
        return OK;
    default:
        return OK;
    }
}

static enum err decode_number(struct node *node, uint64_t tag, struct slice value)
{
    uint64_t *plain = number_of_tag(node, tag);
    if (plain != NULL)
        return row_number(value, plain);
    int64_t *instant = instant_of_tag(node, tag);
    if (instant != NULL)
        return row_instant(value, instant);
    uint64_t number;
    const enum err err = row_number(value, &number);
    return err == OK ? decode_choice(node, tag, number) : err;
}

static enum err decode_field(struct arena *arena, struct node *node, uint64_t tag,
                             struct slice value)
{
    struct slice *text = slice_of_tag(node, tag);
    if (text != NULL) {
        *text = value;
        return OK;
    }
    if (tag == TAG_METADATA) {
        struct metadata_pair pair;
        const enum err err = metadata_decode_pair(value, &pair);
        if (err == OK)
            metadata_append(&node->metadata, arena, pair);
        return err;
    }
    if (tag >= TAG_LEASE && tag <= TAG_LEASE_LAST)
        return lease_row_decode(&node->lease, tag - TAG_LEASE, value);
    if (tag >= TAG_PROPERTIES && tag <= TAG_PROPERTIES_LAST)
        return properties_row_decode(&node->properties, tag - TAG_PROPERTIES, value);
    if (tag >= TAG_COPY && tag <= TAG_COPY_LAST)
        return copy_row_decode(&node->copy, tag - TAG_COPY, value);
    if (tag > TAG_LAST)
        return OK; /* of a later version */
    return decode_number(node, tag, value);
}

static bool holds_together(const struct node *node)
{
    const struct content *content = &node->content;
    if ((content->id != 0) != (content->length_bytes != 0))
        return false;
    if (node->used_bytes > content->length_bytes)
        return false;
    if (node->kind == NODE_DIRECTORY && (content->id != 0 || node->lease.state != LEASE_AVAILABLE))
        return false;
    /* Of all nodes the root alone has no name and no id, and it is in itself. */
    if ((node->id == NODE_ROOT_ID) != (node->name.len == 0) ||
        (node->id == NODE_ROOT_ID && (node->kind != NODE_DIRECTORY || node->parent_id != 0)))
        return false;
    if (node->until != 0 && node->until <= node->since)
        return false;
    return node->since > 0 && node->etag > 0 && node->created_at > 0 && node->written_at > 0 &&
           node->changed_at > 0 && node->accessed_at > 0 && file_lease_is_valid(&node->lease);
}

enum err node_decode(struct arena *arena, struct slice row, struct node *node)
{
    *node = (struct node){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_NODE);
    bool has_kind = false;
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        has_kind = has_kind || (err == OK && tag == TAG_KIND);
        if (err == OK)
            err = decode_field(arena, node, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (node->content.id != 0)
        node->content.place = CONTENT_SEGMENTS;
    return has_kind && holds_together(node) ? OK : CORRUPT("a node's row does not hold together");
}

enum err node_brief_decode(struct slice row, struct node_brief *brief)
{
    struct node node = { 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_NODE);
    bool has_kind = false;
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK && tag > TAG_UNTIL)
            err = ERR_NOT_FOUND;
        has_kind = has_kind || (err == OK && tag == TAG_KIND);
        if (err == OK)
            err = decode_number(&node, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (!has_kind || node.since == 0)
        return CORRUPT("a node's row does not hold together");
    *brief = (struct node_brief){
        .kind = node.kind,
        .id = node.id,
        .since = node.since,
        .until = node.until,
    };
    return OK;
}

enum err node_permission_decode(struct slice row, struct slice *key)
{
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_NODE);
    *key = (struct slice){ 0 };
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK && tag == TAG_PERMISSION_KEY)
            *key = value;
        if (err == OK && tag >= TAG_PERMISSION_KEY)
            return OK;
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- places --- */

/* Tags of ROW_NODE_PLACE. */
enum {
    PLACE_PARENT = 1,
    PLACE_NAME = 2,
};

struct slice node_place_encode(struct arena *arena, uint64_t parent, struct slice upper)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NODE_PLACE);
    row_add_number(&row, PLACE_PARENT, parent);
    row_add_bytes(&row, PLACE_NAME, upper);
    return strbuf_slice(&row);
}

enum err node_place_decode(struct slice row, uint64_t *parent, struct slice *upper)
{
    *parent = NODE_ROOT_ID;
    *upper = (struct slice){ 0 };
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    enum err err = row_reader_init(&reader, row, ROW_NODE_PLACE);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        if (tag == PLACE_PARENT)
            err = row_number(value, parent);
        else if (tag == PLACE_NAME)
            *upper = value;
    }
    if (err != ERR_NOT_FOUND)
        return err;
    return upper->len > 0 ? OK : CORRUPT("a node is in a place without a name");
}
