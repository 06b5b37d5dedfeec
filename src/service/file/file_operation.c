#include "service/file/file_operation.h"

#include <assert.h>
#include <stddef.h>

#define R FILE_ACCESS_READ
#define W FILE_ACCESS_WRITE
#define D FILE_ACCESS_DELETE

/* A REST operation lets everyone do everything meanwhile; acquiring a lease does not. */
#define REST(access_, handles_, breaks_, use_, changes_)                                           \
    {                                                                                              \
        .by = FILE_OPERATION_BY_REST, .mode = { .access = (access_), .share = FILE_ACCESS_ALL },   \
        .handles = FILE_OPERATION_##handles_##_HANDLES, .breaks = OPLOCK_BY_##breaks_,             \
        .use = BYTE_USE_##use_, .changes = (changes_)                                              \
    }
#define HANDLE(breaks_, use_, changes_)                                                            \
    {                                                                                              \
        .by = FILE_OPERATION_BY_HANDLE, .mode = { 0 }, .handles = FILE_OPERATION_ANY_HANDLES,      \
        .breaks = OPLOCK_BY_##breaks_, .use = BYTE_USE_##use_, .changes = (changes_)               \
    }

static const struct file_operation_rule RULES[FILE_OPERATION_COUNT] = {
    /*                                       access handles breaks range changes */
    [FILE_OPERATION_LIST] = REST(0, ANY, NOTHING, NONE, false),
    [FILE_OPERATION_CREATE] = REST(W | D, ANY, REPLACE, NONE, true),
    [FILE_OPERATION_GET] = REST(R, ANY, READ, READ, false),
    [FILE_OPERATION_LIST_RANGES] = REST(R, ANY, READ, NONE, false),
    [FILE_OPERATION_GET_PROPERTIES] = REST(0, ANY, READ, NONE, false),
    [FILE_OPERATION_SET_PROPERTIES] = REST(W, ANY, WRITE, NONE, true),
    [FILE_OPERATION_SET_METADATA] = REST(W, ANY, WRITE, NONE, true),
    [FILE_OPERATION_PUT_RANGE] = REST(W, ANY, WRITE, WRITE, true),
    [FILE_OPERATION_COPY_FROM] = REST(R, ANY, READ, READ, false),
    [FILE_OPERATION_COPY_TO] = REST(W | D, ANY, REPLACE, NONE, true),
    [FILE_OPERATION_ABORT_COPY] = REST(W, ANY, WRITE, NONE, false),
    [FILE_OPERATION_RENAME] = REST(D, ANY, RENAME, NONE, true),
    [FILE_OPERATION_REPLACE] = REST(D, NO, DELETE, NONE, true),
    [FILE_OPERATION_DELETE] = REST(D, NO, DELETE, NONE, true),
    /* It needs W and D, but is refused by a handle that does not share R too; and it lets others
       read only, as the lease does once it is there. */
    [FILE_OPERATION_ACQUIRE_LEASE] = { .by = FILE_OPERATION_BY_REST,
                                       .mode = { .access = R | W | D, .share = R },
                                       .handles = FILE_OPERATION_ANY_HANDLES,
                                       .breaks = OPLOCK_BY_READ,
                                       .use = BYTE_USE_NONE,
                                       .changes = false },
    [FILE_OPERATION_OTHER_LEASE_ACTION] = REST(0, ANY, NOTHING, NONE, false),
    [FILE_OPERATION_SMB_READ] = HANDLE(READ, READ, false),
    [FILE_OPERATION_SMB_WRITE] = HANDLE(WRITE, WRITE, false),
    [FILE_OPERATION_SMB_SET_SIZE] = HANDLE(WRITE, NONE, false),
    [FILE_OPERATION_SMB_RENAME] = HANDLE(RENAME, NONE, false),
    [FILE_OPERATION_SMB_SET_DELETE] = HANDLE(DELETE, NONE, true),
};

const struct file_operation_rule *file_operation_rule(enum file_operation operation)
{
    assert(operation < FILE_OPERATION_COUNT);
    return &RULES[operation];
}

enum sharing sharing_with_handle(struct share_mode handle, unsigned caching, struct share_mode mode,
                                 enum file_operation_handles handles)
{
    if (handles == FILE_OPERATION_ANY_HANDLES && !share_modes_conflict(handle, mode))
        return SHARING_COMPATIBLE;
    return (caching & CACHING_H) != 0 ? SHARING_MAY_CLOSE : SHARING_VIOLATION;
}
