#include "service/blob/tier.h"

#include "base/clock.h"
#include "service/blob/blob_decide.h"
#include "service/blob/history.h"
#include "service/blob/tag.h"

struct tier {
    struct slice word;
    struct slice pending; /* the archive status of a blob on its way to it */
};

static const struct tier tiers[] = {
    { SLICE_LITERAL("Hot"), SLICE_LITERAL("rehydrate-pending-to-hot") },
    { SLICE_LITERAL("Cool"), SLICE_LITERAL("rehydrate-pending-to-cool") },
    { SLICE_LITERAL("Cold"), SLICE_LITERAL("rehydrate-pending-to-cold") },
    { SLICE_LITERAL("Archive"), { 0 } },
};

enum {
    TIER_COUNT = sizeof(tiers) / sizeof(tiers[0]),
};

static const struct tier *find_tier(struct slice text)
{
    for (size_t i = 0; i < TIER_COUNT; i++)
        if (slice_equal_nocase(text, tiers[i].word))
            return &tiers[i];
    return NULL;
}

struct slice tier_word(struct slice text)
{
    const struct tier *tier = find_tier(text);
    return tier != NULL ? tier->word : (struct slice){ 0 };
}

struct slice tier_priority_word(struct slice text)
{
    static const struct slice words[] = { SLICE_LITERAL("High"), SLICE_LITERAL("Standard") };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (slice_equal_nocase(text, words[i]))
            return words[i];
    return (struct slice){ 0 };
}

void tier_settle(struct blob *blob, int64_t now)
{
    const int64_t over_at = blob->tier_changed_at + TIER_REHYDRATE_MS * CLOCK_TICKS_PER_MS;
    if (blob->archive_status.len == 0 || now < over_at)
        return;
    for (size_t i = 0; i < TIER_COUNT; i++)
        if (slice_equal(blob->archive_status, tiers[i].pending))
            blob->tier = tiers[i].word;
    blob->archive_status = (struct slice){ 0 };
    blob->rehydrate_priority = (struct slice){ 0 };
    blob->tier_changed_at = over_at;
}

enum err tier_check_online(const struct blob *blob)
{
    if (blob->archive_status.len > 0)
        return ERR_BLOB_REHYDRATING;
    return slice_is(blob->tier, "Archive") ? ERR_BLOB_ARCHIVED : OK;
}

enum err tier_set(struct blob *blob, struct slice tier, struct slice priority, int64_t now,
                  bool *is_pending)
{
    *is_pending = false;
    if (blob->type != BLOB_BLOCK)
        return ERR_TIER_NOT_FOR_TYPE;
    const struct tier *target = find_tier(tier);
    if (target == NULL)
        return ERR_INVALID_TIER;
    if (blob->archive_status.len > 0) {
        if (!slice_equal(blob->archive_status, target->pending))
            return ERR_BLOB_REHYDRATING;
        /* Asking again may hurry it. */
        if (priority.len > 0)
            blob->rehydrate_priority = priority;
        *is_pending = true;
        return OK;
    }
    if (slice_is(blob->tier, "Archive") && target->pending.len > 0) {
        blob->archive_status = target->pending;
        blob->rehydrate_priority = priority.len > 0 ? priority : slice_of("Standard");
        *is_pending = true;
    }
    if (!*is_pending)
        blob->tier = target->word;
    blob->tier_changed_at = now;
    return OK;
}

/* --- Set Blob Tier --- */

static enum err set_tier_decide(struct change *change, void *arg)
{
    struct blob_set_tier *request = arg;
    struct blob_name where = request->name;
    struct blob blob;
    enum err err = history_find(change, &where, &blob);
    if (err == OK)
        err = lease_check_read(&blob.lease, LEASE_OF_BLOB,
                               request->has_lease_id ? &request->lease_id : NULL,
                               change_now_ms(change));
    if (err == OK)
        err = tag_check(request->condition.if_tags, &blob.tags);
    if (err == OK)
        err = tier_set(&blob, request->tier, request->priority, change_now(change),
                       &request->is_pending);
    if (err == OK)
        blob_decide_put_record(change, &where, &blob);
    return err;
}

void blob_set_tier(struct service *service, struct blob_set_tier *change)
{
    blob_start(service, &change->base, &change->name.container, set_tier_decide);
}
