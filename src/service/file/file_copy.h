/*
 * file_copy.h - a file made from another one.
 *
 * A source in this server is copied at once, whatever share it is in: the copy gets a list of its
 * own that names the same ranges of extents (blob/clone.h).  It is the state that the source had at
 * one instant, after the table of opens has let the copy in as a reader of the source.  A long list
 * is written in steps before the destination is made.
 *
 * A source elsewhere arrives as a payload that the front end has fetched.  Either way a copy is
 * finished when it is answered; none is ever pending.
 *
 *   source    looked up, opened in the table, found in a long view
 *   steps     of a long list, into the destination's partition
 *   create    node_create, with the content of the copy
 *   abandon   when that is refused: the steps go to the sweeper
 */
#ifndef SERVICE_FILE_FILE_COPY_H
#define SERVICE_FILE_FILE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/blob/clone.h"
#include "service/file/node.h"
#include "service/service.h"

struct file_copy {
    struct service_change base;

    /* filled by the caller: the destination, as for node_create.  Its base is for the service.
       Empty metadata: that of the source. */
    struct node_change change;
    struct uuid id;
    struct slice url; /* of the source, as it is to be shown */

    /* which of these are those of the source, and not as change.smb says */
    bool keeps_attributes;
    bool keeps_created_at;
    bool keeps_written_at;
    bool keeps_changed_at;
    bool keeps_permission;
    bool sets_archive; /* the attribute, whatever the others are */

    /* file_copy: where from */
    struct node_name source;

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

/* The same from change.payload, which is finished.  Properties and metadata are in `change`. */
void file_copy_put(struct service *service, struct file_copy *copy);

#endif
