/*
 * condition.c - the conditional headers.
 *
 * Each header is one small predicate below; the three check functions say only how the predicates
 * combine and which error a failure is.
 */
#include "service/condition.h"

#include <assert.h>

#include "base/date.h"
#include "service/etag.h"

/* --- reading a header --- */

/* The length of the list's first item: up to a comma outside quotes. */
static size_t condition_item_len(struct slice list)
{
    bool in_quotes = false;
    for (size_t i = 0; i < list.len; i++) {
        if (list.data[i] == '"')
            in_quotes = !in_quotes;
        else if (list.data[i] == ',' && !in_quotes)
            return i;
    }
    return list.len;
}

static enum err condition_add_item(struct condition_etags *etags, struct slice item)
{
    if (etags->any)
        return ERR_MALFORMED;
    if (slice_is(item, "*")) {
        if (etags->listed_count > 0)
            return ERR_MALFORMED;
        etags->any = true;
        return OK;
    }
    if (etags->listed_count == CONDITION_ETAGS_MAX)
        return ERR_OUT_OF_RANGE;
    etags->listed_count++;
    int64_t etag = 0;
    if (etag_parse(item, &etag) == OK)
        etags->etags[etags->count++] = etag;
    return OK;
}

enum err condition_add_etags(struct condition_etags *etags, struct slice value)
{
    struct condition_etags result = *etags;
    bool found = false;
    for (struct slice rest = value; rest.len > 0;) {
        const size_t len = condition_item_len(rest);
        const struct slice item = slice_trim(slice_head(rest, len));
        rest = slice_from(rest, len + 1);
        /* HTTP lists may have empty elements, which mean nothing. */
        if (item.len == 0)
            continue;
        const enum err err = condition_add_item(&result, item);
        if (err != OK)
            return err;
        found = true;
    }
    if (!found)
        return ERR_MALFORMED;
    result.present = true;
    *etags = result;
    return OK;
}

bool condition_is_empty(const struct condition *condition)
{
    return !condition->if_match.present && !condition->if_none_match.present &&
           !condition->has_modified_since && !condition->has_unmodified_since &&
           condition->if_tags == NULL;
}

/* --- one header against the state; an absent header holds --- */

static bool condition_names(const struct condition_etags *etags, int64_t etag)
{
    for (size_t i = 0; i < etags->count; i++) {
        if (etags->etags[i] == etag)
            return true;
    }
    return false;
}

static bool condition_match_holds(const struct condition *condition,
                                  const struct condition_state *state)
{
    const struct condition_etags *etags = &condition->if_match;
    if (!etags->present)
        return true;
    return state->exists && (etags->any || condition_names(etags, state->etag));
}

static bool condition_none_match_holds(const struct condition *condition,
                                       const struct condition_state *state)
{
    const struct condition_etags *etags = &condition->if_none_match;
    if (!etags->present || !state->exists)
        return true;
    return !etags->any && !condition_names(etags, state->etag);
}

static bool condition_modified_since_holds(const struct condition *condition,
                                           const struct condition_state *state)
{
    if (!condition->has_modified_since || !state->exists)
        return true;
    return date_cut_to_second(state->last_modified) > condition->modified_since;
}

static bool condition_unmodified_since_holds(const struct condition *condition,
                                             const struct condition_state *state)
{
    if (!condition->has_unmodified_since)
        return true;
    return state->exists && date_cut_to_second(state->last_modified) <= condition->unmodified_since;
}

/* --- how they combine --- */

enum err condition_check_write_shape(const struct condition *condition)
{
    const bool match = condition->if_match.present;
    const bool none_match = condition->if_none_match.present;
    const bool modified = condition->has_modified_since;
    const bool unmodified = condition->has_unmodified_since;

    if (condition->if_match.listed_count > 1 || condition->if_none_match.listed_count > 1)
        return ERR_MULTIPLE_CONDITIONS;
    const int count = match + none_match + modified + unmodified;
    const bool allowed_pair = (match && unmodified) || (none_match && modified);
    if (count > 2 || (count == 2 && !allowed_pair))
        return ERR_MULTIPLE_CONDITIONS;
    return OK;
}

/*
 * If-None-Match: * asks to read what must not exist.  That is a fault of the request, so it is
 * answered before the other headers are looked at.
 */
enum err condition_check_read(const struct condition *condition,
                              const struct condition_state *state)
{
    assert(state->exists);
    if (condition->if_none_match.any)
        return ERR_UNSATISFIABLE_CONDITION;
    if (!condition_match_holds(condition, state) ||
        !condition_unmodified_since_holds(condition, state))
        return ERR_CONDITION_NOT_MET;

    /* With both headers one is enough; an absent one must not count as the one that holds. */
    const bool none_match_helps = condition->if_none_match.present;
    const bool modified_helps = condition->has_modified_since;
    if (!none_match_helps && !modified_helps)
        return OK;
    if (none_match_helps && condition_none_match_holds(condition, state))
        return OK;
    if (modified_helps && condition_modified_since_holds(condition, state))
        return OK;
    return ERR_NOT_MODIFIED;
}

enum err condition_check_write(const struct condition *condition,
                               const struct condition_state *state)
{
    assert(condition_check_write_shape(condition) == OK);
    bool holds = true;
    if (condition->if_match.present)
        holds = condition_match_holds(condition, state);
    else if (condition->if_none_match.present)
        holds = condition_none_match_holds(condition, state);
    else if (condition->has_modified_since)
        holds = condition_modified_since_holds(condition, state);
    else if (condition->has_unmodified_since)
        holds = condition_unmodified_since_holds(condition, state);
    return holds ? OK : ERR_CONDITION_NOT_MET;
}

enum err condition_check_replace(const struct condition *condition,
                                 const struct condition_state *state, bool holds_lease)
{
    if (condition->if_none_match.any && state->exists) {
        assert(condition_check_write_shape(condition) == OK);
        return holds_lease ? OK : ERR_BLOB_EXISTS;
    }
    return condition_check_write(condition, state);
}
