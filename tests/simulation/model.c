#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

uint32_t model_size(struct sim *sim)
{
    const uint32_t choice = sim_below(sim, 100);
    if (choice < 55)
        return 1 + sim_below(sim, SIM_INLINE_BYTES - 1);
    if (choice < 65)
        return SIM_INLINE_BYTES + sim_below(sim, 2);
    return choice < 99 ? 101 + sim_below(sim, 1500) : 58000 + sim_below(sim, 9000);
}

/* --- leases --- */

struct uuid model_lease_id(unsigned number)
{
    struct uuid id;
    memset(&id, (int)(0x10 + number), sizeof(id));
    return id;
}

enum lease_state model_lease_state(const struct model_lease *lease, int64_t now_ms)
{
    if (lease->id == 0)
        return LEASE_AVAILABLE;
    const bool is_over = now_ms >= lease->ends_at_ms && lease->ends_at_ms != INT64_MAX;
    if (lease->is_broken)
        return is_over ? LEASE_BROKEN : LEASE_BREAKING;
    return is_over ? LEASE_EXPIRED : LEASE_LEASED;
}

bool model_lease_is_locked(const struct model_lease *lease, int64_t now_ms)
{
    const enum lease_state state = model_lease_state(lease, now_ms);
    return state == LEASE_LEASED || state == LEASE_BREAKING;
}

struct lease_request model_lease_request(struct sim *sim, unsigned *id, unsigned *proposed)
{
    static const int32_t durations[] = { 15, 15, 30, 60, LEASE_DURATION_SEC_INFINITE, 14, 61 };
    static const int32_t breaks[] = { 0, 1, 10, 60, LEASE_BREAK_SEC_DEFAULT, 61 };
    const uint32_t choice = sim_below(sim, 10);
    *id = 1 + sim_below(sim, MODEL_LEASE_IDS);
    *proposed = 1 + sim_below(sim, MODEL_LEASE_IDS);
    return (struct lease_request){
        .action = choice < 4   ? LEASE_ACTION_ACQUIRE
                  : choice < 6 ? LEASE_ACTION_RENEW
                  : choice < 7 ? LEASE_ACTION_CHANGE
                  : choice < 8 ? LEASE_ACTION_RELEASE
                               : LEASE_ACTION_BREAK,
        .id = model_lease_id(*id),
        .proposed_id = model_lease_id(*proposed),
        .duration_sec = durations[sim_below(sim, 7)],
        .break_sec = breaks[sim_below(sim, 6)],
    };
}

static void take(struct model_lease *lease, unsigned id, int32_t duration_sec, int64_t now_ms)
{
    *lease = (struct model_lease){
        .id = id,
        .duration_sec = duration_sec,
        .ends_at_ms = duration_sec == LEASE_DURATION_SEC_INFINITE
                          ? INT64_MAX
                          : now_ms + INT64_C(1000) * duration_sec,
    };
}

static enum err acquire(struct model_lease *lease, unsigned id, int32_t duration_sec,
                        int64_t now_ms)
{
    const enum lease_state state = model_lease_state(lease, now_ms);
    if (duration_sec != LEASE_DURATION_SEC_INFINITE && (duration_sec < 15 || duration_sec > 60))
        return ERR_OUT_OF_RANGE;
    if ((state == LEASE_LEASED || state == LEASE_BREAKING) && lease->id != id)
        return ERR_LEASE_ALREADY_PRESENT;
    if (state == LEASE_BREAKING)
        return ERR_LEASE_BREAKING_NO_ACQUIRE;
    take(lease, id, duration_sec, now_ms);
    return OK;
}

static enum err renew(struct model_lease *lease, unsigned id, int64_t now_ms)
{
    if (lease->id != id)
        return ERR_LEASE_ACTION_ID_MISMATCH;
    if (lease->is_broken)
        return ERR_LEASE_BROKEN_NO_RENEW;
    take(lease, id, lease->duration_sec, now_ms);
    return OK;
}

static enum err change(struct model_lease *lease, unsigned id, unsigned proposed, int64_t now_ms)
{
    const enum lease_state state = model_lease_state(lease, now_ms);
    if (state != LEASE_LEASED && state != LEASE_BREAKING)
        return ERR_LEASE_ACTION_NOT_PRESENT;
    if (state == LEASE_BREAKING)
        return lease->id == id ? ERR_LEASE_BREAKING_NO_CHANGE : ERR_LEASE_ACTION_ID_MISMATCH;
    if (lease->id != id && lease->id != proposed)
        return ERR_LEASE_ACTION_ID_MISMATCH;
    lease->id = proposed;
    return OK;
}

static enum err end(struct model_lease *lease, int32_t break_sec, int64_t now_ms,
                    int32_t *remaining_sec)
{
    if (break_sec != LEASE_BREAK_SEC_DEFAULT && (break_sec < 0 || break_sec > 60))
        return ERR_OUT_OF_RANGE;
    if (lease->id == 0)
        return ERR_LEASE_ACTION_NOT_PRESENT;
    int64_t ends_at_ms = now_ms;
    if (model_lease_is_locked(lease, now_ms)) {
        if (break_sec != LEASE_BREAK_SEC_DEFAULT)
            ends_at_ms += INT64_C(1000) * break_sec;
        else if (lease->ends_at_ms != INT64_MAX)
            ends_at_ms = lease->ends_at_ms;
        if (ends_at_ms > lease->ends_at_ms)
            ends_at_ms = lease->ends_at_ms;
    }
    lease->is_broken = true;
    lease->ends_at_ms = ends_at_ms;
    *remaining_sec = (int32_t)((ends_at_ms - now_ms + 999) / 1000);
    return OK;
}

enum err model_lease_act(struct model_lease *lease, const struct lease_request *request,
                         unsigned id, unsigned proposed, int64_t now_ms, int32_t *remaining_sec)
{
    *remaining_sec = 0;
    switch (request->action) {
    case LEASE_ACTION_ACQUIRE:
        return acquire(lease, proposed, request->duration_sec, now_ms);
    case LEASE_ACTION_RENEW:
        return renew(lease, id, now_ms);
    case LEASE_ACTION_CHANGE:
        return change(lease, id, proposed, now_ms);
    case LEASE_ACTION_RELEASE:
        if (lease->id != id)
            return ERR_LEASE_ACTION_ID_MISMATCH;
        *lease = (struct model_lease){ 0 };
        return OK;
    case LEASE_ACTION_BREAK:
        return end(lease, request->break_sec, now_ms, remaining_sec);
    }
    abort();
}

enum err model_lease_write(const struct model_lease *lease, enum lease_resource resource,
                           unsigned id, int64_t now_ms)
{
    const bool of_blob = resource == LEASE_OF_BLOB;
    const bool is_locked = model_lease_is_locked(lease, now_ms);
    if (id == 0)
        return is_locked ? ERR_LEASE_ID_MISSING : OK;
    if (is_locked && id != lease->id)
        return of_blob ? ERR_LEASE_ID_MISMATCH_BLOB : ERR_LEASE_ID_MISMATCH_CONTAINER;
    if (is_locked)
        return OK;
    if (id == lease->id)
        return ERR_LEASE_LOST;
    return of_blob ? ERR_LEASE_NOT_PRESENT_BLOB : ERR_LEASE_NOT_PRESENT_CONTAINER;
}

enum err model_lease_read(const struct model_lease *lease, enum lease_resource resource,
                          unsigned id, int64_t now_ms)
{
    return id == 0 ? OK : model_lease_write(lease, resource, id, now_ms);
}

void model_lease_written(struct model_lease *lease, int64_t now_ms)
{
    if (!model_lease_is_locked(lease, now_ms))
        *lease = (struct model_lease){ 0 };
}

bool model_lease_is_same(const struct model_lease *lease, const struct lease *got, int64_t now_ms)
{
    struct lease settled = *got;
    lease_settle(&settled, now_ms);
    const struct uuid id = model_lease_id(lease->id);
    const enum lease_state state = model_lease_state(lease, now_ms);
    if (settled.state != state)
        return false;
    if (state == LEASE_AVAILABLE)
        return true;
    if (!uuid_equal(&settled.id, &id))
        return false;
    return !lease_is_locked(&settled) || settled.ends_at_ms == lease->ends_at_ms;
}

/* --- conditions --- */

static int64_t second_of(int64_t tick)
{
    return tick / CLOCK_TICKS_PER_SEC * CLOCK_TICKS_PER_SEC;
}

struct model_condition model_condition(struct sim *sim, int64_t etag)
{
    struct model_condition condition = { .kind = MODEL_ALWAYS };
    if (sim_chance(sim, 75))
        return condition;
    condition.kind = MODEL_MATCH + sim_below(sim, MODEL_UNMODIFIED_SINCE);
    const bool is_time =
        condition.kind == MODEL_MODIFIED_SINCE || condition.kind == MODEL_UNMODIFIED_SINCE;
    condition.value = etag == 0 || sim_chance(sim, 20) ? sim_now(sim) - sim_below(sim, 100) : etag;
    if (is_time)
        condition.value =
            second_of(condition.value) + ((int64_t)sim_below(sim, 3) - 1) * CLOCK_TICKS_PER_SEC;
    return condition;
}

struct condition model_condition_request(const struct model_condition *condition)
{
    struct condition request = { 0 };
    const struct condition_etags any = { .present = true, .any = true };
    const struct condition_etags one = {
        .present = true, .listed_count = 1, .count = 1, .etags = { condition->value }
    };
    switch (condition->kind) {
    case MODEL_ALWAYS:
        break;
    case MODEL_MATCH:
        request.if_match = one;
        break;
    case MODEL_MATCH_ANY:
        request.if_match = any;
        break;
    case MODEL_NONE_MATCH:
        request.if_none_match = one;
        break;
    case MODEL_NONE_MATCH_ANY:
        request.if_none_match = any;
        break;
    case MODEL_MODIFIED_SINCE:
        request.has_modified_since = true;
        request.modified_since = condition->value;
        break;
    case MODEL_UNMODIFIED_SINCE:
        request.has_unmodified_since = true;
        request.unmodified_since = condition->value;
        break;
    }
    return request;
}

bool model_condition_holds(const struct model_condition *condition, int64_t etag)
{
    const bool exists = etag != 0;
    switch (condition->kind) {
    case MODEL_ALWAYS:
        return true;
    case MODEL_MATCH:
        return exists && etag == condition->value;
    case MODEL_MATCH_ANY:
        return exists;
    case MODEL_NONE_MATCH:
        return !exists || etag != condition->value;
    case MODEL_NONE_MATCH_ANY:
        return !exists;
    case MODEL_MODIFIED_SINCE:
        return !exists || second_of(etag) > condition->value;
    case MODEL_UNMODIFIED_SINCE:
        return exists && second_of(etag) <= condition->value;
    }
    abort();
}

enum err model_condition_write(const struct model_condition *condition, int64_t etag)
{
    return model_condition_holds(condition, etag) ? OK : ERR_CONDITION_NOT_MET;
}

enum err model_condition_replace(const struct model_condition *condition, int64_t etag,
                                 bool holds_lease)
{
    if (condition->kind == MODEL_NONE_MATCH_ANY && etag != 0)
        return holds_lease ? OK : ERR_BLOB_EXISTS;
    return model_condition_write(condition, etag);
}

enum err model_condition_read(const struct model_condition *condition, int64_t etag)
{
    if (condition->kind == MODEL_NONE_MATCH_ANY)
        return ERR_UNSATISFIABLE_CONDITION;
    if (model_condition_holds(condition, etag))
        return OK;
    return condition->kind == MODEL_NONE_MATCH || condition->kind == MODEL_MODIFIED_SINCE
               ? ERR_NOT_MODIFIED
               : ERR_CONDITION_NOT_MET;
}

/* --- metadata --- */

struct metadata model_metadata(struct arena *arena, unsigned number)
{
    struct metadata metadata = { 0 };
    if (number != 0)
        metadata_append(&metadata, arena,
                        (struct metadata_pair){ .name = slice_of("n"),
                                                .value = arena_printf(arena, "%u", number) });
    return metadata;
}

bool model_metadata_is(const struct metadata *metadata, unsigned number)
{
    char text[16];
    if (number == 0)
        return metadata->count == 0;
    snprintf(text, sizeof(text), "%u", number);
    return metadata->count == 1 && slice_is(metadata->pairs[0].value, text);
}
