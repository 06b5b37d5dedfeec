/*
 * share_row.c - the stored forms of shares, snapshots and instants (share.h).
 */
#include "base/log.h"
#include "service/file/share.h"
#include "service/lease_row.h"
#include "service/limits.h"
#include "service/row.h"

/* Tags of ROW_SHARE; never reused for anything else. */
enum {
    TAG_INCARNATION = 1,
    TAG_ETAG = 2,
    TAG_CREATED_AT = 3,
    TAG_METADATA = 4,
    TAG_LEASE = 5, /* and the three after it */
    TAG_LEASE_LAST = TAG_LEASE + LEASE_ROW_TAGS - 1,
    TAG_POLICY = 9,
    TAG_QUOTA = 10,
    TAG_ACCESS_TIER = 11,
    TAG_TIER_CHANGED_AT = 12,
    TAG_ROOT_SQUASH = 13,
    TAG_SNAPSHOT = 14,
    TAG_DELETED_AT = 15,
    TAG_EXPIRES_AT = 16,
};

struct slice share_encode(struct arena *arena, const struct share *share)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_SHARE);
    row_add_number(&row, TAG_INCARNATION, share->incarnation);
    row_add_number(&row, TAG_ETAG, (uint64_t)share->etag);
    row_add_number(&row, TAG_CREATED_AT, (uint64_t)share->created_at);
    metadata_encode(&share->metadata, &row, TAG_METADATA);
    lease_row_encode(&share->lease, &row, TAG_LEASE);
    access_policies_encode(&share->policies, &row, TAG_POLICY);
    row_add_number(&row, TAG_QUOTA, share->quota_gib);
    row_add_bytes(&row, TAG_ACCESS_TIER, share->access_tier);
    row_add_number(&row, TAG_TIER_CHANGED_AT, (uint64_t)share->tier_changed_at);
    row_add_bytes(&row, TAG_ROOT_SQUASH, share->root_squash);
    row_add_number(&row, TAG_SNAPSHOT, (uint64_t)share->snapshot);
    row_add_number(&row, TAG_DELETED_AT, (uint64_t)share->deleted_at);
    row_add_number(&row, TAG_EXPIRES_AT, (uint64_t)share->expires_at);
    return strbuf_slice(&row);
}

/* The instant a tag names, or NULL when the tag is no instant's. */
static int64_t *instant_of_tag(struct share *share, uint64_t tag)
{
    switch (tag) {
    case TAG_ETAG:
        return &share->etag;
    case TAG_CREATED_AT:
        return &share->created_at;
    case TAG_TIER_CHANGED_AT:
        return &share->tier_changed_at;
    case TAG_SNAPSHOT:
        return &share->snapshot;
    case TAG_DELETED_AT:
        return &share->deleted_at;
    case TAG_EXPIRES_AT:
        return &share->expires_at;
    default:
        return NULL;
    }
}

static enum err decode_metadata(struct arena *arena, struct share *share, struct slice value)
{
    struct metadata_pair pair;
    const enum err err = metadata_decode_pair(value, &pair);
    if (err == OK)
        metadata_append(&share->metadata, arena, pair);
    return err;
}

static enum err decode_field(struct arena *arena, struct share *share, uint64_t tag,
                             struct slice value)
{
    int64_t *instant = instant_of_tag(share, tag);
    if (instant != NULL)
        return row_instant(value, instant);
    if (tag >= TAG_LEASE && tag <= TAG_LEASE_LAST)
        return lease_row_decode(&share->lease, tag - TAG_LEASE, value);
    switch (tag) {
    case TAG_INCARNATION:
        return row_number(value, &share->incarnation);
    case TAG_METADATA:
        return decode_metadata(arena, share, value);
    case TAG_POLICY:
        return access_policies_decode(&share->policies, value);
    case TAG_QUOTA:
        return row_number(value, &share->quota_gib);
    case TAG_ACCESS_TIER:
        share->access_tier = value;
        return OK;
    case TAG_ROOT_SQUASH:
        share->root_squash = value;
        return OK;
    default:
        return OK; /* of a later version */
    }
}

static bool holds_together(const struct share *share)
{
    if (share->incarnation == 0 || share->incarnation > (uint64_t)CLOCK_TICKS_MAX)
        return false;
    if (share->quota_gib == 0 || share->quota_gib > LIMIT_SHARE_QUOTA_GIB_MAX)
        return false;
    if ((share->deleted_at == 0) != (share->expires_at == 0) ||
        (share->deleted_at != 0 && share->snapshot != 0))
        return false;
    return share->etag > 0 && share->created_at > 0 && lease_is_valid(&share->lease);
}

enum err share_decode(struct arena *arena, struct slice row, struct share *share)
{
    *share = (struct share){ 0 };
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    enum err err = row_reader_init(&reader, row, ROW_SHARE);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK)
        err = decode_field(arena, share, tag, value);
    if (err != ERR_NOT_FOUND)
        return err;
    return holds_together(share) ? OK : CORRUPT("a share's row does not hold together");
}

/* --- instants --- */

/* Tags of ROW_INSTANT. */
enum {
    INSTANT_ACCOUNT = 1,
    INSTANT_CONFIRMED = 2,
};

struct slice instant_encode(struct arena *arena, const struct instant *instant)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_INSTANT);
    row_add_bytes(&row, INSTANT_ACCOUNT, instant->account);
    row_add_number(&row, INSTANT_CONFIRMED, instant->is_confirmed);
    return strbuf_slice(&row);
}

enum err instant_decode(struct slice row, struct instant *instant)
{
    *instant = (struct instant){ 0 };
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    uint64_t confirmed = 0;
    enum err err = row_reader_init(&reader, row, ROW_INSTANT);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        if (tag == INSTANT_ACCOUNT)
            instant->account = value;
        else if (tag == INSTANT_CONFIRMED)
            err = row_number(value, &confirmed);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    instant->is_confirmed = confirmed != 0;
    return instant->account.len > 0 ? OK : CORRUPT("an instant is of no account");
}
