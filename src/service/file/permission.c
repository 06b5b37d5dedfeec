#include "service/file/permission.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "service/account_partition.h"
#include "service/file/file_name.h"
#include "service/file/sddl.h"
#include "service/file/security_inherit.h"
#include "service/row.h"

/* Tags of ROW_PERMISSION. */
enum {
    TAG_DESCRIPTOR = 1,
};

/* Who makes what is made over REST, and what it has if nothing is inherited: the system account,
   whose list lets administrators read. */
static const char CREATOR_TEXT[] = "O:SYG:SYD:(A;;FA;;;SY)(A;;0x1200a9;;;BA)";

/* Of the root directory: administrators and the system everything, users read, who is signed in
   changes (Azure Files: configure directory and file level permissions). */
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

/* --- the defaults --- */

static struct {
    struct arena arena;
    struct security_descriptor creator;
    struct slice permission[PERMISSION_OF_COUNT];
    struct slice key[PERMISSION_OF_COUNT];
} defaults;

static enum security_child child_of(enum permission_of of)
{
    return of == PERMISSION_OF_FILE ? SECURITY_CHILD_FILE : SECURITY_CHILD_DIRECTORY;
}

/* What is made in a directory with the permission `parent`. */
static enum err inherit(struct arena *arena, struct slice parent, enum permission_of of,
                        struct slice *permission)
{
    struct security_descriptor directory;
    struct security_descriptor child;
    if (security_descriptor_decode(parent, &directory) != OK)
        return CORRUPT("%zu bytes are not a permission", parent.len);
    const enum err err =
        security_inherit(arena, &directory, &defaults.creator, child_of(of), &child);
    return err == OK ? finish(arena, &child, permission) : err;
}

static void make_defaults(void)
{
    struct arena *arena = &defaults.arena;
    struct slice *permission = defaults.permission;
    const bool is_good = sddl_parse(arena, slice_of(CREATOR_TEXT), &defaults.creator) == OK &&
                         permission_from_text(arena, slice_of(DEFAULT_TEXT),
                                              &permission[PERMISSION_OF_ROOT]) == OK &&
                         inherit(arena, permission[PERMISSION_OF_ROOT], PERMISSION_OF_DIRECTORY,
                                 &permission[PERMISSION_OF_DIRECTORY]) == OK &&
                         inherit(arena, permission[PERMISSION_OF_ROOT], PERMISSION_OF_FILE,
                                 &permission[PERMISSION_OF_FILE]) == OK;
    if (!is_good)
        panic("the default permission is not one");
    for (size_t i = 0; i < PERMISSION_OF_COUNT; i++)
        defaults.key[i] = permission_key(arena, permission[i]);
}

static void need_defaults(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_defaults);
}

struct slice permission_default(enum permission_of of)
{
    assert(of < PERMISSION_OF_COUNT);
    need_defaults();
    return defaults.permission[of];
}

struct slice permission_default_key(enum permission_of of)
{
    assert(of < PERMISSION_OF_COUNT);
    need_defaults();
    return defaults.key[of];
}

/* The default permission that has the key. */
static bool find_default(struct slice key, struct slice *permission)
{
    need_defaults();
    for (size_t i = 0; i < PERMISSION_OF_COUNT; i++) {
        *permission = defaults.permission[i];
        if (slice_equal(key, defaults.key[i]))
            return true;
    }
    return false;
}

bool permission_key_is_default(struct slice key)
{
    struct slice permission;
    return find_default(key, &permission);
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

enum err permission_inherit(struct change *change, struct slice directory_key,
                            enum permission_of of, struct slice *key)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    struct slice permission;
    *key = (struct slice){ 0 };
    if (directory_key.len == 0)
        return OK;
    need_defaults();
    enum err err = change_get(change, permission_row_key(arena, directory_key), &row);
    if (err == OK)
        err = permission_decode(directory_key, row, &permission);
    else if (err == ERR_NOT_FOUND && find_default(directory_key, &permission))
        err = OK;
    else if (err == ERR_NOT_FOUND)
        err = CORRUPT("a directory has a permission that is not there");
    if (err == OK)
        err = inherit(arena, permission, of, &permission);
    if (err != OK || slice_equal(permission, permission_default(of)))
        return err;
    return permission_put(change, permission, key);
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
    return permission_key_is_default(key) ? OK : ERR_FILE_PERMISSION_INVALID;
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
    if (err == ERR_NOT_FOUND)
        return find_default(key, permission) ? OK : ERR_RESOURCE_NOT_FOUND;
    return err;
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
