#include "service/blob/history.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/blob/tag_index.h"
#include "service/row.h"
#include "service/service_properties.h"

static const int64_t TICKS_PER_DAY = INT64_C(24) * 60 * 60 * CLOCK_TICKS_PER_SEC;

enum err history_find_protection(struct service *service, struct arena *arena, struct slice account,
                                 struct blob_protection *protection)
{
    struct service_properties properties;
    const enum err err = service_properties_get(service, arena, account, 'b', &properties);
    if (err != OK)
        return err;
    const struct retention_policy *policy = &properties.delete_retention;
    const uint64_t days = policy->days < RETENTION_DAYS_MAX ? policy->days : RETENTION_DAYS_MAX;
    *protection = (struct blob_protection){
        .retention_ticks = policy->enabled ? (int64_t)days * TICKS_PER_DAY : 0,
        .keeps_versions = service->blob_versioning,
        .allows_permanent_delete = properties.allow_permanent_delete,
    };
    return OK;
}

bool history_is_expired(const struct blob *blob, int64_t now)
{
    return blob->deleted_at != 0 && blob->expires_at <= now;
}

/* --- rows --- */

static struct slice expiry_row(struct arena *arena)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, 1);
    return strbuf_slice(&row);
}

/* Nothing is leased that nobody can write to. */
static void put_history(struct change *change, struct slice key, const struct blob *blob)
{
    struct arena *arena = change_arena(change);
    struct blob kept = *blob;
    kept.lease = (struct lease){ 0 };
    change_put(change, key, blob_encode(arena, &kept));
    if (kept.expires_at == 0)
        return;
    change_put(change, expiry_key(arena, kept.expires_at, key), expiry_row(arena));
    change_mark(change);
}

/* Remove the rows of a record, which goes elsewhere. */
static void take_history(struct change *change, struct slice key, const struct blob *blob)
{
    change_delete(change, key);
    if (blob->expires_at != 0)
        change_delete(change, expiry_key(change_arena(change), blob->expires_at, key));
}

static enum err drop_history(struct change *change, struct slice key, const struct blob *blob)
{
    take_history(change, key, blob);
    return content_drop(change, &blob->content);
}

static enum err get_history(struct change *change, struct slice key, struct blob *blob)
{
    struct slice row;
    const enum err err = change_get(change, key, &row);
    return err == OK ? blob_decode(change_arena(change), row, blob) : err;
}

static void set_deleted(const struct change *change, const struct blob_protection *protection,
                        struct blob *blob)
{
    const int64_t now = change_now(change);
    blob->deleted_at = now;
    blob->expires_at = CLOCK_TICKS_MAX - now > protection->retention_ticks
                           ? now + protection->retention_ticks
                           : CLOCK_TICKS_MAX;
}

/* --- finding versions --- */

enum err history_find(struct change *change, struct blob_name *name, struct blob *blob)
{
    enum err err;
    if (name->version != 0) {
        err = blob_decide_get(change, name->blob, blob);
        if (err != OK && err != ERR_BLOB_NOT_FOUND)
            return err;
        if (err == OK && blob->version_id == name->version) {
            name->version = 0;
            return OK;
        }
    }
    err = blob_decide_get_record(change, name, blob);
    return err == OK && blob->deleted_at != 0 ? ERR_BLOB_NOT_FOUND : err;
}

static enum err view_get(struct partition_view *view, struct arena *arena,
                         const struct blob_name *name, struct blob *blob)
{
    struct slice row;
    int64_t floor = 0;
    enum err err = name->snapshot != 0 ? snapshots_view_floor(view, arena, name->blob, &floor) : OK;
    if (err == OK && name->snapshot < floor)
        return ERR_BLOB_NOT_FOUND;
    if (err == OK)
        err = partition_view_get(view, arena, blob_record_key(arena, name), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_BLOB_NOT_FOUND;
    return err == OK ? blob_decode(arena, row, blob) : err;
}

enum err history_view_find(struct partition_view *view, struct arena *arena, struct blob_name *name,
                           struct blob *blob)
{
    enum err err;
    if (name->version != 0) {
        const struct blob_name base = { .blob = name->blob };
        err = view_get(view, arena, &base, blob);
        if (err != OK && err != ERR_BLOB_NOT_FOUND)
            return err;
        if (err == OK && blob->version_id == name->version) {
            name->version = 0;
            return OK;
        }
    }
    err = view_get(view, arena, name, blob);
    return err == OK && blob->deleted_at != 0 ? ERR_BLOB_NOT_FOUND : err;
}

/* --- replacing --- */

static bool becomes_version(const struct blob_protection *protection, const struct blob *old)
{
    return protection->keeps_versions || old->version_id != 0;
}

bool history_keeps(const struct blob_protection *protection, const struct blob *old)
{
    return becomes_version(protection, old) || protection->retention_ticks > 0;
}

int64_t history_version_id(const struct change *change, const struct blob_protection *protection)
{
    return protection->keeps_versions ? change_now(change) : 0;
}

/* A state from before versions were made has the id of its last change; what changes a version into
   something that is none has an ETag of its own, so no other version has that id. */
static void put_version(struct change *change, struct slice name, const struct blob *old)
{
    struct blob version = *old;
    if (version.version_id == 0)
        version.version_id = version.etag;
    put_history(
        change,
        history_key(change_arena(change), name, (uint64_t)version.version_id, HISTORY_VERSION),
        &version);
}

/* What is soft-deleted, moved to the tick at which it counts as a snapshot. */
static void put_deleted_at(struct change *change, struct slice name, uint64_t tick,
                           const struct blob *blob)
{
    put_history(change, history_key(change_arena(change), name, tick, HISTORY_DELETED), blob);
}

enum err history_replaced(struct change *change, const struct blob_protection *protection,
                          struct slice name, const struct blob *old, enum blob_type type)
{
    if (becomes_version(protection, old)) {
        if (old->type != type)
            return ERR_INVALID_BLOB_TYPE;
        put_version(change, name, old);
        return OK;
    }
    if (protection->retention_ticks == 0)
        return content_drop(change, &old->content);
    struct blob deleted = *old;
    set_deleted(change, protection, &deleted);
    put_deleted_at(change, name, (uint64_t)change_now(change), &deleted);
    return OK;
}

enum err history_fork(struct change *change, const struct blob_protection *protection,
                      struct slice name, struct blob *blob)
{
    if (!becomes_version(protection, blob))
        return OK;
    const enum err err = content_share(change, &blob->content);
    if (err != OK)
        return err;
    put_version(change, name, blob);
    blob->version_id = history_version_id(change, protection);
    return OK;
}

/* --- walking the history of a name --- */

/* A record, in an arena that is cleared for the next one. */
struct past {
    struct slice key;
    uint64_t tick;
    char kind;
    struct blob blob;
};

/* Called for each record; an error ends the walk. */
typedef enum err past_fn(struct change *change, struct arena *arena, const struct past *past,
                         void *arg);

static enum err each_past(struct change *change, struct slice name, past_fn *fn, void *arg)
{
    struct cursor *cursor =
        change_scan(change, history_prefix(change_arena(change), name), (struct slice){ 0 });
    struct arena arena = { 0 };
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        struct slice row;
        struct slice found;
        struct past past;
        arena_clear(&arena);
        err = cursor_next(cursor, &key, &row);
        if (err != OK)
            break;
        past.key = arena_copy(&arena, key);
        err = history_key_parse(past.key, &found, &past.tick, &past.kind);
        if (err == OK)
            err = blob_decode(&arena, arena_copy(&arena, row), &past.blob);
        if (err == OK)
            err = fn(change, &arena, &past, arg);
    }
    arena_release(&arena);
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err drop_deleted(struct change *change, struct arena *arena, const struct past *past,
                             void *arg)
{
    (void)arena;
    (void)arg;
    return past->blob.deleted_at != 0 ? drop_history(change, past->key, &past->blob) : OK;
}

/* All versions of a name are of one type, so the first one tells.  ERR_EXISTS ends the walk. */
static enum err check_version_type(struct change *change, struct arena *arena,
                                   const struct past *past, void *arg)
{
    (void)arena;
    const enum blob_type *type = arg;
    if (past->kind != HISTORY_VERSION || history_is_expired(&past->blob, change_now(change)))
        return OK;
    return past->blob.type == *type ? ERR_EXISTS : ERR_INVALID_BLOB_TYPE;
}

/* The place of a deleted base blob is taken or needed by another: it is a snapshot from now on. */
static enum err move_deleted_base(struct change *change, struct slice name, struct slice key,
                                  const struct blob *blob)
{
    if (history_is_expired(blob, change_now(change)))
        return drop_history(change, key, blob);
    take_history(change, key, blob);
    put_deleted_at(change, name, (uint64_t)blob->deleted_at, blob);
    return OK;
}

static struct slice deleted_base_key(struct change *change, struct slice name)
{
    return history_key(change_arena(change), name, HISTORY_BASE, HISTORY_DELETED);
}

enum err history_begin(struct change *change, const struct blob_protection *protection,
                       struct slice name, enum blob_type type)
{
    /* Without any protection there is nothing to read for it; what was kept before waits for
       Undelete Blob, and for its time. */
    if (!protection->keeps_versions && protection->retention_ticks == 0)
        return OK;
    const struct slice key = deleted_base_key(change, name);
    struct blob deleted;
    enum err err = get_history(change, key, &deleted);
    if (err == OK)
        err = deleted.type == type ? move_deleted_base(change, name, key, &deleted)
                                   : each_past(change, name, drop_deleted, NULL);
    if (err != OK && err != ERR_NOT_FOUND)
        return err;
    if (!protection->keeps_versions)
        return OK;
    err = each_past(change, name, check_version_type, &type);
    return err == ERR_EXISTS ? OK : err;
}

/* --- deleting --- */

/* Make room for a base blob that is deleted. */
static enum err vacate_deleted_base(struct change *change, struct slice name)
{
    const struct slice key = deleted_base_key(change, name);
    struct blob earlier;
    const enum err err = get_history(change, key, &earlier);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    return move_deleted_base(change, name, key, &earlier);
}

enum err history_deleted(struct change *change, const struct blob_protection *protection,
                         const struct blob_name *name, const struct blob *old, bool *kept)
{
    const bool is_base = name->snapshot == 0;
    *kept = true;
    if (is_base && becomes_version(protection, old)) {
        put_version(change, name->blob, old);
        return OK;
    }
    if (protection->retention_ticks == 0) {
        *kept = false;
        return content_drop(change, &old->content);
    }
    const enum err err = is_base ? vacate_deleted_base(change, name->blob) : OK;
    if (err != OK)
        return err;
    struct blob deleted = *old;
    set_deleted(change, protection, &deleted);
    put_deleted_at(change, name->blob, is_base ? HISTORY_BASE : (uint64_t)name->snapshot, &deleted);
    return OK;
}

enum err history_delete_version(struct change *change, const struct blob_protection *protection,
                                const struct blob_name *name, const struct blob *blob, bool *kept)
{
    const struct slice key = blob_record_key(change_arena(change), name);
    *kept = protection->retention_ticks > 0;
    if (!*kept)
        return drop_history(change, key, blob);
    struct blob deleted = *blob;
    set_deleted(change, protection, &deleted);
    put_history(change, key, &deleted);
    return OK;
}

/* What there is in the place of something soft-deleted that is not there. */
static enum err explain_not_deleted(struct change *change, const struct blob_name *name)
{
    struct blob_name where = *name;
    struct blob blob;
    const enum err err = history_find(change, &where, &blob);
    if (err != OK)
        return err;
    return name->version != 0 && where.version == 0 ? ERR_CURRENT_VERSION : ERR_NOT_SOFT_DELETED;
}

enum err history_delete_for_good(struct change *change, const struct blob_change *request)
{
    const struct blob_name *name = &request->name;
    if (!request->protection.allows_permanent_delete || (name->snapshot == 0 && name->version == 0))
        return ERR_PERMANENT_DELETE_REFUSED;
    const bool is_version = name->version != 0;
    const struct slice key = history_key(change_arena(change), name->blob,
                                         (uint64_t)(is_version ? name->version : name->snapshot),
                                         is_version ? HISTORY_VERSION : HISTORY_DELETED);
    struct blob blob;
    enum err err = get_history(change, key, &blob);
    if (err == ERR_NOT_FOUND ||
        (err == OK && (blob.deleted_at == 0 || history_is_expired(&blob, change_now(change)))))
        return explain_not_deleted(change, name);
    if (err == OK)
        err = blob_decide_check(change, request, &blob);
    return err == OK ? drop_history(change, key, &blob) : err;
}

enum err history_expire(struct change *change, struct slice expiry, bool is_closed)
{
    int64_t expires_at;
    struct slice key;
    struct blob blob;
    enum err err = expiry_key_parse(change_arena(change), expiry, &expires_at, &key);
    if (err != OK || (expires_at > change_now(change) && !is_closed))
        return err;
    change_delete(change, expiry);
    err = get_history(change, key, &blob);
    if (err == OK && blob.expires_at == expires_at)
        err = drop_history(change, key, &blob);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- Undelete Blob --- */

struct undeletion {
    struct slice name;
    bool has_base;     /* now */
    bool will_have_it; /* now, or when all is restored */
    bool has_version;
};

static enum err restore(struct change *change, struct arena *arena, const struct past *past,
                        void *arg)
{
    struct undeletion *undeletion = arg;
    if (history_is_expired(&past->blob, change_now(change)))
        return OK;
    undeletion->has_version |= past->kind == HISTORY_VERSION;
    if (past->blob.deleted_at == 0)
        return OK;
    struct blob blob = past->blob;
    blob.deleted_at = 0;
    blob.expires_at = 0;
    take_history(change, past->key, &past->blob);
    struct slice key = past->key;
    if (past->kind == HISTORY_DELETED && past->tick != HISTORY_BASE) {
        key = snapshot_key(arena, undeletion->name, (int64_t)past->tick);
        if (!undeletion->will_have_it)
            blob.version_id = (int64_t)past->tick;
    } else if (past->kind == HISTORY_DELETED && undeletion->has_base) {
        key = snapshot_key(arena, undeletion->name, past->blob.deleted_at);
    } else if (past->kind == HISTORY_DELETED) {
        key = blob_key(arena, undeletion->name);
        tag_index_update(change, undeletion->name, &(struct metadata){ 0 }, &blob.tags);
        undeletion->has_base = true;
    }
    change_put(change, key, blob_encode(arena, &blob));
    return OK;
}

static enum err undelete_decide(struct change *change, void *arg)
{
    const struct blob_undelete *request = arg;
    struct blob base;
    struct undeletion undeletion = { .name = request->name.blob };
    enum err err = blob_decide_get(change, undeletion.name, &base);
    undeletion.has_base = err == OK;
    undeletion.will_have_it = err == OK;
    if (err == ERR_BLOB_NOT_FOUND) {
        err = get_history(change, deleted_base_key(change, undeletion.name), &base);
        undeletion.will_have_it = err == OK && !history_is_expired(&base, change_now(change));
        if (err == ERR_NOT_FOUND)
            err = OK;
    }
    /* Snapshots would come back among those that are gone and still have records. */
    int64_t floor = 0;
    if (err == OK)
        err = snapshots_floor(change, undeletion.name, &floor);
    if (err == OK && floor != 0)
        err = ERR_BUSY;
    if (err == OK)
        err = each_past(change, undeletion.name, restore, &undeletion);
    if (err != OK)
        return err;
    /* Snapshots that have outlived their blob are not brought back. */
    return undeletion.has_base || undeletion.has_version ? OK : ERR_BLOB_NOT_FOUND;
}

void blob_undelete(struct service *service, struct blob_undelete *change)
{
    blob_start(service, &change->base, &change->name.container, undelete_decide);
}
