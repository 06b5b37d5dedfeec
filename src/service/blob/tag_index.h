/*
 * tag_index.h - finding blobs by their tags.
 *
 * Every tag of a base blob, not of snapshots or previous versions, has a row in its partition,
 *
 *   't' tag name 00 value 00 blob name
 *
 * written and removed in the change that changes the tags, so the index is never behind.  A search
 * scans the rows of one comparison and checks the others against the records: equality if there is
 * one, so that the cost is that of the blobs with this tag and not that of the container.
 */
#ifndef SERVICE_BLOB_TAG_INDEX_H
#define SERVICE_BLOB_TAG_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/blob/tag.h"
#include "service/service.h"

enum {
    /* How much a page of a search looks at before it ends, with a marker to go on from: it bounds
       the time of a search that finds little. */
    TAG_SEARCH_ROWS_MAX = 10000,
    TAG_SEARCH_CONTAINERS_MAX = 1000,
};

/* In a decision: the blob's tags change.  Both sets are in order. */
void tag_index_update(struct change *change, struct slice blob, const struct metadata *old,
                      const struct metadata *tags);

/* The key of the row for a blob's tag, in the arena, and what such a key says.  ERR_CORRUPT. */
struct slice tag_index_key(struct arena *arena, const struct metadata_pair *tag, struct slice blob);
MUST_CHECK enum err tag_index_key_parse(struct slice key, struct metadata_pair *tag,
                                        struct slice *blob);

/* The row itself: there is nothing to say but that it is there. */
struct slice tag_index_row(struct arena *arena);

/*
 * Replace all tags, of a blob or of a version.  The ETag does not change.
 *   ERR_BLOB_NOT_FOUND and the errors of a write
 */
void blob_set_tags(struct service *service, struct blob_change *change);

/* A place in a search. */
struct tag_position {
    struct slice container; /* empty: the beginning, or the end */
    struct slice key;       /* of the index; empty: the container's first */
};

struct tag_search {
    struct slice account;
    struct slice container;                /* empty: all containers of the account */
    const struct tag_predicate *predicate; /* of the grammar TAG_SEARCH */
    struct tag_position from;
    size_t results_max;
    /* Called for each blob found; false ends the page after it.  All is valid during the call. */
    bool (*emit)(void *arg, struct slice container, struct slice name, const struct blob *blob);
    void *arg;
};

/*
 * One page, by container and in it by the order of the index.  `*next` is where the next page
 * begins, in the arena; its container is empty when there is none.  It is another than
 * search->from.
 *   ERR_CONTAINER_NOT_FOUND   the one container
 *   ERR_MALFORMED             the predicate is of no tag
 */
MUST_CHECK enum err tag_search_run(struct service *service, struct arena *arena,
                                   const struct tag_search *search, struct tag_position *next);

#endif
