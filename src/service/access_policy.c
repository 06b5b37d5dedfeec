#include "service/access_policy.h"

#include "base/log.h"
#include "service/row.h"

/* Tags inside a policy's field. */
enum {
    TAG_ID = 1,
    TAG_START = 2,
    TAG_EXPIRY = 3,
    TAG_PERMISSION = 4,
};

const struct access_policy *access_policies_find(const struct access_policies *policies,
                                                 struct slice id)
{
    for (size_t i = 0; i < policies->count; i++)
        if (slice_equal(policies->policies[i].id, id))
            return &policies->policies[i];
    return NULL;
}

void access_policies_encode(const struct access_policies *policies, struct strbuf *row,
                            uint64_t tag)
{
    for (size_t i = 0; i < policies->count; i++) {
        const struct access_policy *policy = &policies->policies[i];
        struct strbuf field;
        strbuf_init(&field, row->arena);
        row_add_bytes(&field, TAG_ID, policy->id);
        row_add_number(&field, TAG_START, (uint64_t)policy->start);
        row_add_number(&field, TAG_EXPIRY, (uint64_t)policy->expiry);
        row_add_bytes(&field, TAG_PERMISSION, policy->permission);
        row_add_bytes(row, tag, strbuf_slice(&field));
    }
}

static enum err decode_field(struct access_policy *policy, uint64_t tag, struct slice value)
{
    switch (tag) {
    case TAG_ID:
        policy->id = value;
        return OK;
    case TAG_START:
        return row_instant(value, &policy->start);
    case TAG_EXPIRY:
        return row_instant(value, &policy->expiry);
    case TAG_PERMISSION:
        policy->permission = value;
        return OK;
    default:
        return OK;
    }
}

enum err access_policies_decode(struct access_policies *policies, struct slice value)
{
    if (policies->count == ACCESS_POLICIES_MAX)
        return CORRUPT("there are more than %d stored access policies", ACCESS_POLICIES_MAX);
    struct access_policy policy = { 0 };
    struct row_reader reader = { .rest = value };
    enum err err = OK;
    while (err == OK) {
        uint64_t tag;
        struct slice field;
        err = row_next(&reader, &tag, &field);
        if (err == OK)
            err = decode_field(&policy, tag, field);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    policies->policies[policies->count++] = policy;
    return OK;
}
