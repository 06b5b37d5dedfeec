/*
 * condition.h - the conditional headers, evaluated in one place for every operation.
 *
 * The front end fills a `struct condition` from If-Match, If-None-Match, If-Modified-Since and
 * If-Unmodified-Since; the decision function of the operation checks it against the stored state,
 * inside the update, so that check and change are one step.
 *
 * T is Last-Modified cut to whole seconds.  If-Modified-Since holds iff T is later than its date,
 * If-Unmodified-Since iff T is not later.
 *
 * Reads take any combination and pass iff
 *     If-Match and If-Unmodified-Since and (If-None-Match or If-Modified-Since)
 * where an absent one is neutral.  Failing one of the first two is ERR_CONDITION_NOT_MET, else
 * failing the last two is ERR_NOT_MODIFIED.
 *
 * Writes take one condition, or If-None-Match with If-Modified-Since (only the first counts), or
 * If-Match with If-Unmodified-Since (only the first counts), and one ETag; anything else is
 * ERR_MULTIPLE_CONDITIONS.  Failing is always ERR_CONDITION_NOT_MET.
 *
 * Pure: no I/O, no clock, no allocation.
 */
#ifndef SERVICE_CONDITION_H
#define SERVICE_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

enum {
    CONDITION_ETAGS_MAX = 16, /* in one header; more is refused by condition_add_etags */
};

/* One If-Match or If-None-Match header. */
struct condition_etags {
    bool present;
    bool any; /* "*" */
    /* How many ETags the header listed.  Those not in our form match nothing and are counted
       here but not kept in `etags`. */
    size_t listed_count;
    size_t count;
    int64_t etags[CONDITION_ETAGS_MAX];
};

struct tag_predicate;

/* A value.  All zero bytes is "no condition". */
struct condition {
    struct condition_etags if_match;
    struct condition_etags if_none_match;
    bool has_modified_since;
    bool has_unmodified_since;
    int64_t modified_since;   /* ticks of a whole second */
    int64_t unmodified_since; /* ticks of a whole second */
    /* x-ms-if-tags, or NULL: of blobs, and checked after the others (service/blob/tag.h) */
    const struct tag_predicate *if_tags;
};

/* The stored state a condition is checked against. */
struct condition_state {
    bool exists;
    int64_t etag;          /* meaningful if it exists */
    int64_t last_modified; /* ticks; meaningful if it exists */
};

/*
 * Read the value of If-Match or If-None-Match: "*", or ETags with or without quotes separated
 * by commas.  ERR_OUT_OF_RANGE for more than CONDITION_ETAGS_MAX, ERR_MALFORMED for "*" among
 * others or an empty value.
 */
MUST_CHECK enum err condition_add_etags(struct condition_etags *etags, struct slice value);

bool condition_is_empty(const struct condition *condition);

/* The shape rules for writes, which need no stored state: OK or ERR_MULTIPLE_CONDITIONS. */
MUST_CHECK enum err condition_check_write_shape(const struct condition *condition);

/*
 * A read of an existing resource: OK, ERR_CONDITION_NOT_MET, ERR_NOT_MODIFIED, or
 * ERR_UNSATISFIABLE_CONDITION for If-None-Match: *.  (A missing resource is the caller's 404,
 * decided before.)
 */
MUST_CHECK enum err condition_check_read(const struct condition *condition,
                                         const struct condition_state *state);

/*
 * A write.  OK or ERR_CONDITION_NOT_MET; the shape has been checked.  For a missing resource
 * If-Match (also with "*") fails, and so does If-Unmodified-Since; If-None-Match and
 * If-Modified-Since hold.
 */
MUST_CHECK enum err condition_check_write(const struct condition *condition,
                                          const struct condition_state *state);

/*
 * A write that creates or replaces the whole resource (Put Blob and its kin).  As
 * condition_check_write, except that If-None-Match: * against an existing blob is
 * ERR_BLOB_EXISTS, unless `holds_lease`: a request that carries the blob's active lease id
 * overwrites it (recorded behaviour of the service).
 */
MUST_CHECK enum err condition_check_replace(const struct condition *condition,
                                            const struct condition_state *state, bool holds_lease);

#endif
