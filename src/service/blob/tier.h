/*
 * tier.h - access tiers of block blobs.
 *
 * Hot, Cool and Cold are words alone here: all content is equally near.  An archived blob keeps its
 * record readable and its bytes not, until it is moved to another tier.  That takes REHYDRATE_MS:
 * long enough for a client to see the blob being rehydrated, which is what programs must cope with,
 * and short enough to test with; the service takes hours.  Whether it is over is a function of the
 * record and the time, so there is nothing to do in the background: tier_settle brings a record up
 * to date wherever one is read.
 *
 *   (none), Hot, Cool, Cold --set--> Hot, Cool, Cold, Archive
 *   Archive --set Hot|Cool|Cold--> Archive, archive_status "rehydrate-pending-to-..."
 *                              --REHYDRATE_MS--> Hot|Cool|Cold
 *
 * Pure but for blob_set_tier.
 */
#ifndef SERVICE_BLOB_TIER_H
#define SERVICE_BLOB_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "service/blob/blob.h"
#include "service/service.h"

enum {
    TIER_REHYDRATE_MS = 1000,
};

/* The word as the service writes it, for a word in any case; empty if there is no such tier. */
struct slice tier_word(struct slice text);

/* The same for a rehydrate priority: High or Standard. */
struct slice tier_priority_word(struct slice text);

/* Bring a record up to date: a rehydration that is over is done. */
void tier_settle(struct blob *blob, int64_t now);

/* Whether the bytes may be used: OK, ERR_BLOB_ARCHIVED or ERR_BLOB_REHYDRATING. */
MUST_CHECK enum err tier_check_online(const struct blob *blob);

/*
 * Move a (settled) blob to a tier; `*is_pending` says that it is being rehydrated now.
 *   ERR_TIER_NOT_FOR_TYPE
 *   ERR_BLOB_REHYDRATING   to another tier than this one
 */
MUST_CHECK enum err tier_set(struct blob *blob, struct slice tier, struct slice priority,
                             int64_t now, bool *is_pending);

/* --- Set Blob Tier --- */

struct blob_set_tier {
    struct service_change base;
    struct blob_name name;
    struct condition condition; /* on tags alone */
    bool has_lease_id;
    struct uuid lease_id;
    struct slice tier;     /* of tier_word */
    struct slice priority; /* of tier_priority_word, or empty */
    bool is_pending;       /* result */
};

/*
 * Of a blob, a snapshot or a version.  The ETag does not change.
 *   ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND, the errors of lease_check_read and of tier_set
 *   ERR_CONDITION_NOT_MET
 */
void blob_set_tier(struct service *service, struct blob_set_tier *change);

#endif
