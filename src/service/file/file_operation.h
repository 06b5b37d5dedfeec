/*
 * file_operation.h - what each operation on a file asks of those who have it open.
 *
 * One row an operation, for REST and for what SMB clients do with a handle.  The table of opens
 * (open_table.h) admits an operation by its row:
 *
 *   mode     a REST operation is an open with this access and share mode, for as long as it lasts;
 *            an operation with an SMB handle was let in with the handle and has none
 *   handles  whether SMB handles may be open at all, whatever they share
 *   breaks   which oplocks it breaks, and waits for (oplock.h)
 *   use      what it does with a range of bytes that may be locked (byte_lock.h)
 *   changes  whether the read-only attribute forbids it
 *
 * The rows are those of "Manage file locks".  What that page leaves out: copies write like Create
 * File and read like Get File, Put Range From URL is Put Range, a directory is deleted like a file,
 * a rename is a deletion of the source that lets handles stay, and of the file it replaces one that
 * does not.  List Handles and Force Close Handles are not here: they ask nothing of anyone.
 *
 * To add an operation: an enumerator and a row.
 */
#ifndef SERVICE_FILE_FILE_OPERATION_H
#define SERVICE_FILE_FILE_OPERATION_H

#include <stdbool.h>

#include "service/file/byte_lock.h"
#include "service/file/oplock.h"
#include "service/file/share_mode.h"

enum file_operation {
    /* REST */
    FILE_OPERATION_LIST, /* of a directory */
    FILE_OPERATION_CREATE,
    FILE_OPERATION_GET,
    FILE_OPERATION_LIST_RANGES,
    FILE_OPERATION_GET_PROPERTIES, /* and Get File Metadata */
    FILE_OPERATION_SET_PROPERTIES,
    FILE_OPERATION_SET_METADATA,
    FILE_OPERATION_PUT_RANGE,
    FILE_OPERATION_COPY_FROM,
    FILE_OPERATION_COPY_TO,
    FILE_OPERATION_ABORT_COPY,
    FILE_OPERATION_RENAME,
    FILE_OPERATION_REPLACE, /* the file a rename is over */
    FILE_OPERATION_DELETE,
    FILE_OPERATION_ACQUIRE_LEASE,
    FILE_OPERATION_OTHER_LEASE_ACTION,

    /* with a handle of an SMB client */
    FILE_OPERATION_SMB_READ,
    FILE_OPERATION_SMB_WRITE,
    FILE_OPERATION_SMB_SET_SIZE,
    FILE_OPERATION_SMB_RENAME,
    FILE_OPERATION_SMB_SET_DELETE, /* once admitted, the file is delete-pending */

    FILE_OPERATION_COUNT,
};

enum file_operation_by {
    FILE_OPERATION_BY_REST,
    FILE_OPERATION_BY_HANDLE,
};

enum file_operation_handles {
    FILE_OPERATION_ANY_HANDLES,
    FILE_OPERATION_NO_HANDLES,
};

/* A value. */
struct file_operation_rule {
    enum file_operation_by by;
    struct share_mode mode;
    enum file_operation_handles handles;
    enum oplock_cause breaks;
    enum byte_use use;
    bool changes; /* but Set File Properties may clear the attribute: the caller sees to that */
};

const struct file_operation_rule *file_operation_rule(enum file_operation operation);

/* An open handle against an operation or another open. */
enum sharing {
    SHARING_COMPATIBLE,
    SHARING_MAY_CLOSE, /* in conflict, but the client may only be putting off closing it: break H */
    SHARING_VIOLATION,
};

/*
 * What stands between a handle and an open that wants `mode` and these `handles`.  `caching` is
 * what the handle's client holds (oplock.h), CACHING_NONE if the two are on the same side.
 */
enum sharing sharing_with_handle(struct share_mode handle, unsigned caching, struct share_mode mode,
                                 enum file_operation_handles handles);

#endif
