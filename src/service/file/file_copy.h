/*
 * file_copy.h - a file made from another one.
 *
 * A source in this server is copied at once, whatever share it is in: the copy gets a list of its
 * own that names the same ranges of extents (blob/clone.h).  It is the state that the source had at
 * one instant, after the table of opens has let the copy in as a reader of the source.  A long list
 * is written in steps before the destination is made.
 *
 *
 *   source    looked up, opened in the table, found in a long view
 *   steps     of a long list, into the destination's partition
 *   create    node_create, with the content of the copy
 *   abandon   when that is refused: the steps go to the sweeper
 *
 * A source elsewhere arrives as a payload that the front end fetches in the background, as for
 * blobs (service/blob/copy.h):
 *
 *   file_copy_begin       -> pending   the destination is an empty file
 *   pending -> pending    file_copy_step with bytes copied so far
 *   pending -> success    file_copy_step with the payload
 *   pending -> failed     file_copy_step with a description; file_copy_recover after a restart
 *   pending -> aborted    file_copy_abort, by a client; the file stays empty
 *
 * A pending copy has a row of its own ('q' id) in a marked partition; it knows its file by the id,
 * so directories above it can be renamed.  Nobody else writes, renames or deletes the file over
 * REST; its lease can be acted on.  To the table of opens a pending copy is nothing: it begins as
 * the making of a file and ends as another, each admitted like Create File, so an SMB client that
 * has the file open and does not share it makes the copy fail.  When an SMB client deletes the
 * file, the copy is gone with it.
 */
#ifndef SERVICE_FILE_FILE_COPY_H
#define SERVICE_FILE_FILE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/blob/clone.h"
#include "service/blob/copy.h"
#include "service/file/node.h"
#include "service/service.h"

struct file_copy {
    struct service_change base;

    /* filled by the caller: the destination, as for node_create.  Its base is for the service.
       Empty metadata: that of the source. */
    struct node_change change;
    struct uuid id;
    struct slice url; /* of the source, as it is to be shown */

    /* file_copy: which of these are those of the source, and not as change.smb says */
    bool keeps_attributes;
    bool keeps_created_at;
    bool keeps_written_at;
    bool keeps_changed_at;
    bool keeps_permission;
    bool sets_archive; /* the attribute, whatever the others are */

    /* file_copy: where from */
    struct node_name source;

    /* file_copy_begin: how long the source is */
    uint64_t total_bytes;

    /* for the service */
    struct node_access source_access;
    struct slice partition; /* of the destination */
    struct node source_node;
    struct slice source_permission; /* if it is kept, and of another share */
    struct clone clone;
    struct partition_update update;
    enum err outcome;
};

/*
 * Copy a file of this server; the result is change.node.  The errors of node_create, and
 *   ERR_COPY_SOURCE_NOT_FOUND   the file, or its share
 *   those of open_table_begin, of the source
 */
void file_copy(struct service *service, struct file_copy *copy);

/* --- a source elsewhere --- */

/* Make the destination an empty file with a pending copy; the result is change.node.  Properties
   and metadata are in `change`.  The errors of node_create. */
void file_copy_begin(struct service *service, struct file_copy *copy);

enum {
    FILE_COPY_PARTITION_BYTES = 16, /* no shorter than the name of a share's partition */
};

struct file_copy_step {
    struct copy_step step; /* first; its partition is filled by file_copy_step_init */

    /* filled by file_copy_step_init */
    char partition[FILE_COPY_PARTITION_BYTES];
    uint64_t share; /* the incarnation */
    uint64_t file_id;
    uint64_t quota_bytes;
    bool keeps_written_at; /* they were given, and are not when the bytes have arrived */
    bool keeps_changed_at;

    /* for the service */
    struct node_access access;
};

/* The first step of a copy that has begun.  Keeps nothing of `copy`. */
void file_copy_step_init(struct file_copy_step *step, const struct file_copy *copy);

/*
 * The copy has come so far; see copy_step.  With a payload, besides
 *   those of open_table_begin   SMB clients are in the way
 *   ERR_SHARE_SIZE_LIMIT
 * after which it is to be ended with a description.
 */
void file_copy_step(struct service *service, struct copy_step *step);

struct file_copy_abort {
    struct node_change change; /* first: the destination */
    struct uuid id;            /* of the copy */
};

/*
 * End a pending copy; the destination stays as an empty file.  The errors of a change but
 * ERR_READ_ONLY_ATTRIBUTE, and
 *   ERR_NO_PENDING_COPY, ERR_COPY_ID_MISMATCH
 */
void file_copy_abort(struct service *service, struct file_copy_abort *abort);

/* In a decision after a start: the copy to this file, if one was pending, has failed. */
MUST_CHECK enum err file_copy_recover(struct change *change, uint64_t file_id);

#endif
