#include "service/file/permission.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "service/account_partition.h"
#include "service/file/file_name.h"
#include "service/file/sddl.h"
#include "service/row.h"

/* Tags of ROW_PERMISSION. */
enum {
    TAG_DESCRIPTOR = 1,
};

/* Administrators and the system everything, users read, who is signed in changes (Azure Files:
   configure directory and file level permissions). */
static const char DEFAULT_TEXT[] =
    "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)"
    "(A;OICI;0x1301bf;;;AU)(A;OICIIO;GA;;;CO)";

/* --- forms --- */

static enum err finish(struct arena *arena, struct security_descriptor *descriptor,
                       struct slice *permission)
{
    if (descriptor->owner.len == 0 || descriptor->group.len == 0 || !descriptor->dacl.is_present)
        return ERR_FILE_PERMISSION_INVALID;
    if (!descriptor->sacl.is_present)
        descriptor->sacl = (struct security_acl){ .is_present = true, .is_null = true };
    *permission = security_descriptor_encode(arena, descriptor);
    return OK;
}

enum err permission_from_text(struct arena *arena, struct slice text, struct slice *permission)
{
    struct security_descriptor descriptor;
    const enum err err = sddl_parse(arena, text, &descriptor);
    return err == OK ? finish(arena, &descriptor, permission) : err;
}

enum err permission_from_bytes(struct arena *arena, struct slice bytes, struct slice *permission)
{
    struct security_descriptor descriptor;
    const enum err err = security_descriptor_decode(bytes, &descriptor);
    return err == OK ? finish(arena, &descriptor, permission) : err;
}

enum err permission_to_text(struct arena *arena, struct slice permission, struct slice *text)
{
    struct security_descriptor descriptor;
    if (security_descriptor_decode(permission, &descriptor) != OK)
        return CORRUPT("%zu bytes are not a permission", permission.len);
    *text = sddl_format(arena, &descriptor);
    return OK;
}

struct slice permission_key(struct arena *arena, struct slice permission)
{
    struct digest_hmac_key secret;
    uint8_t digest[DIGEST_SHA256_BYTES];
    /* It is no secret: the digest tells contents apart, and is the same on every server. */
    digest_hmac_key_init(&secret, slice_of("file permission"));
    digest_hmac(&secret, permission, digest);
    return arena_printf(arena, "%" PRIu64 "*%" PRIu64, get_be64(digest), get_be64(digest + 8));
}

struct slice permission_default(struct arena *arena)
{
    struct slice permission;
    if (permission_from_text(arena, slice_of(DEFAULT_TEXT), &permission) != OK)
        panic("the default permission is not one");
    return permission;
}

/* --- rows --- */

struct slice permission_encode(struct arena *arena, struct slice permission)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_PERMISSION);
    row_add_bytes(&row, TAG_DESCRIPTOR, permission);
    return strbuf_slice(&row);
}

enum err permission_decode(struct slice key, struct slice row, struct slice *permission)
{
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    *permission = (struct slice){ 0 };
    enum err err = row_reader_init(&reader, row, ROW_PERMISSION);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        if (tag == TAG_DESCRIPTOR)
            *permission = value;
    }
    if (err != ERR_NOT_FOUND)
        return err;
    struct security_descriptor descriptor;
    struct arena arena = { 0 };
    const bool is_good = security_descriptor_decode(*permission, &descriptor) == OK &&
                         slice_equal(permission_key(&arena, *permission), key);
    arena_release(&arena);
    return is_good ? OK : CORRUPT("a permission is not what its key was made from");
}

enum err permission_put(struct change *change, struct slice permission, struct slice *key)
{
    struct arena *arena = change_arena(change);
    *key = permission_key(arena, permission);
    const struct slice row_key = permission_row_key(arena, *key);
    struct slice row;
    const enum err err = change_get(change, row_key, &row);
    if (err == ERR_NOT_FOUND)
        change_put(change, row_key, permission_encode(arena, permission));
    return err == ERR_NOT_FOUND ? OK : err;
}

static bool is_default_key(struct arena *arena, struct slice key)
{
    return slice_equal(key, permission_key(arena, permission_default(arena)));
}

enum err permission_check_key(struct change *change, struct slice key)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    if (key.len == 0 || key.len > PERMISSION_KEY_LEN_MAX)
        return ERR_FILE_PERMISSION_INVALID;
    const enum err err = change_get(change, permission_row_key(arena, key), &row);
    if (err != ERR_NOT_FOUND)
        return err;
    return is_default_key(arena, key) ? OK : ERR_FILE_PERMISSION_INVALID;
}

enum err permission_get(struct service *service, struct arena *arena, const struct share_name *name,
                        struct slice key, struct slice *permission)
{
    struct share share;
    struct slice row;
    enum err err = share_get(service, arena, name, NULL, &share);
    if (err != OK)
        return err;
    if (key.len == 0 || key.len > PERMISSION_KEY_LEN_MAX)
        return ERR_RESOURCE_NOT_FOUND;
    err = partition_get(service->store, arena, file_partition(arena, share.incarnation),
                        permission_row_key(arena, key), &row);
    if (err == OK)
        return permission_decode(key, row, permission);
    if (err == ERR_NOT_FOUND && is_default_key(arena, key)) {
        *permission = permission_default(arena);
        return OK;
    }
    return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

/* --- creating --- */

static enum err create_decide(struct change *change, void *arg)
{
    struct permission_change *request = arg;
    struct slice row;
    struct slice key;
    enum err err = change_get(change, closed_key(), &row);
    if (err != ERR_NOT_FOUND)
        return err == OK ? ERR_SHARE_NOT_FOUND : err;
    err = permission_put(change, request->permission, &key);
    if (err == OK)
        request->key = arena_copy(request->base.arena, key);
    return err;
}

void permission_create(struct service *service, struct permission_change *change)
{
    struct share share;
    const enum err err = share_get(service, change->base.arena, &change->name, NULL, &share);
    if (err != OK)
        service_refuse(&change->base, err);
    else
        service_update(service, &change->base,
                       file_partition(change->base.arena, share.incarnation), create_decide);
}
