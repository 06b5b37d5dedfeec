/*
 * security_descriptor.c - the bytes of security descriptors (sddl.h).
 *
 * A SID:  revision 1 (1), number of parts (1), authority (6, big-endian), parts (4 each)
 * A list: revision 2, or 4 if it has entries for objects (1), 0 (1), size (2), entries (2), 0 (2)
 * An entry: type (1), flags (1), size (2), rights (4), for objects which GUIDs it has (4) and those
 * (16 each), the SID
 */
#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "service/file/sddl.h"
#include "service/file/sddl_internal.h"
#include "service/limits.h"

enum {
    HEADER_BYTES = 20,
    ACL_HEADER_BYTES = 8,
    ACE_HEADER_BYTES = 8, /* with the rights */
    SID_HEADER_BYTES = 8,

    /* control flags */
    DACL_PRESENT = 0x0004,
    SACL_PRESENT = 0x0010,
    DACL_INHERITS_REQUIRED = 0x0100,
    SACL_INHERITS_REQUIRED = 0x0200,
    DACL_INHERITED = 0x0400,
    SACL_INHERITED = 0x0800,
    DACL_PROTECTED = 0x1000,
    SACL_PROTECTED = 0x2000,
    SELF_RELATIVE = 0x8000,

    /* of an entry for objects */
    OBJECT_PRESENT = 0x1,
    INHERITED_OBJECT_PRESENT = 0x2,
};

static unsigned read_le16(const char *at)
{
    return (uint8_t)at[0] | (unsigned)(uint8_t)at[1] << 8;
}

static uint32_t read_le32(const char *at)
{
    return get_le32((const uint8_t *)at);
}

static void add_le16(struct strbuf *out, unsigned value)
{
    strbuf_add_byte(out, (char)(value & 0xff));
    strbuf_add_byte(out, (char)(value >> 8 & 0xff));
}

static void add_le32(struct strbuf *out, uint32_t value)
{
    add_le16(out, value & 0xffff);
    add_le16(out, value >> 16);
}

/* --- accounts --- */

void sid_encode(const struct sid *sid, struct strbuf *out)
{
    assert(sid->count > 0 && sid->count <= SID_PARTS_MAX && sid->authority <= SID_AUTHORITY_MAX);
    strbuf_add_byte(out, 1);
    strbuf_add_byte(out, (char)sid->count);
    for (int shift = 40; shift >= 0; shift -= 8)
        strbuf_add_byte(out, (char)(sid->authority >> shift & 0xff));
    for (size_t i = 0; i < sid->count; i++)
        add_le32(out, sid->parts[i]);
}

bool sid_take(struct slice *bytes, struct sid *sid)
{
    *sid = (struct sid){ 0 };
    if (bytes->len < SID_HEADER_BYTES || bytes->data[0] != 1)
        return false;
    sid->count = (uint8_t)bytes->data[1];
    const size_t len = SID_HEADER_BYTES + 4 * sid->count;
    if (sid->count == 0 || sid->count > SID_PARTS_MAX || bytes->len < len)
        return false;
    for (size_t i = 2; i < SID_HEADER_BYTES; i++)
        sid->authority = sid->authority << 8 | (uint8_t)bytes->data[i];
    for (size_t i = 0; i < sid->count; i++)
        sid->parts[i] = read_le32(bytes->data + SID_HEADER_BYTES + 4 * i);
    *bytes = slice_from(*bytes, len);
    return true;
}

/* --- entries --- */

static bool is_for_objects(uint8_t type)
{
    return type >= ACE_OBJECT_ALLOW && type <= ACE_OBJECT_ALARM;
}

static bool is_known(uint8_t type)
{
    return type <= ACE_ALARM || is_for_objects(type) || type == ACE_LABEL ||
           type == ACE_SCOPED_POLICY || type == ACE_TRUST_LABEL;
}

bool ace_is_valid(const struct ace *ace)
{
    return is_known(ace->type) && (is_for_objects(ace->type) ||
                                   (!ace->object.is_present && !ace->inherited_object.is_present));
}

static void add_guid(struct strbuf *out, const struct ace_guid *guid)
{
    if (guid->is_present)
        strbuf_add(out, slice_make(guid->bytes, GUID_BYTES));
}

void ace_encode(const struct ace *ace, struct strbuf *out)
{
    assert(ace_is_valid(ace));
    const bool for_objects = is_for_objects(ace->type);
    size_t size = ACE_HEADER_BYTES + SID_HEADER_BYTES + 4 * ace->sid.count;
    if (for_objects)
        size += 4 + (size_t)GUID_BYTES *
                        ((size_t)ace->object.is_present + (size_t)ace->inherited_object.is_present);
    strbuf_add_byte(out, (char)ace->type);
    strbuf_add_byte(out, (char)ace->flags);
    add_le16(out, (unsigned)size);
    add_le32(out, ace->rights);
    if (for_objects) {
        add_le32(out, (ace->object.is_present ? OBJECT_PRESENT : 0U) |
                          (ace->inherited_object.is_present ? INHERITED_OBJECT_PRESENT : 0U));
        add_guid(out, &ace->object);
        add_guid(out, &ace->inherited_object);
    }
    sid_encode(&ace->sid, out);
}

static bool take_guid(struct slice *bytes, struct ace_guid *guid)
{
    if (bytes->len < GUID_BYTES)
        return false;
    guid->is_present = true;
    memcpy(guid->bytes, bytes->data, GUID_BYTES);
    *bytes = slice_from(*bytes, GUID_BYTES);
    return true;
}

static bool take_guids(struct slice *bytes, struct ace *ace)
{
    if (bytes->len < 4)
        return false;
    const uint32_t which = read_le32(bytes->data);
    *bytes = slice_from(*bytes, 4);
    if ((which & ~(uint32_t)(OBJECT_PRESENT | INHERITED_OBJECT_PRESENT)) != 0)
        return false;
    return ((which & OBJECT_PRESENT) == 0 || take_guid(bytes, &ace->object)) &&
           ((which & INHERITED_OBJECT_PRESENT) == 0 || take_guid(bytes, &ace->inherited_object));
}

bool ace_take(struct slice *bytes, struct ace *ace)
{
    *ace = (struct ace){ 0 };
    if (bytes->len < ACE_HEADER_BYTES)
        return false;
    const size_t size = read_le16(bytes->data + 2);
    if (size < ACE_HEADER_BYTES || size > bytes->len)
        return false;
    ace->type = (uint8_t)bytes->data[0];
    ace->flags = (uint8_t)bytes->data[1];
    ace->rights = read_le32(bytes->data + 4);
    struct slice rest = slice_make(bytes->data + ACE_HEADER_BYTES, size - ACE_HEADER_BYTES);
    *bytes = slice_from(*bytes, size);
    if (is_for_objects(ace->type) && !take_guids(&rest, ace))
        return false;
    return sid_take(&rest, &ace->sid) && rest.len == 0 && ace_is_valid(ace);
}

/* --- lists --- */

/* An entry for objects makes a list one of the second revision. */
static bool has_objects(struct slice entries)
{
    struct ace ace;
    bool found = false;
    while (entries.len > 0 && ace_take(&entries, &ace))
        found |= is_for_objects(ace.type);
    return found;
}

static size_t acl_bytes(const struct security_acl *acl)
{
    return acl->is_present && !acl->is_null ? ACL_HEADER_BYTES + acl->entries.len : 0;
}

static void add_acl(struct strbuf *out, const struct security_acl *acl)
{
    if (acl_bytes(acl) == 0)
        return;
    strbuf_add_byte(out, has_objects(acl->entries) ? 4 : 2);
    strbuf_add_byte(out, 0);
    add_le16(out, (unsigned)acl_bytes(acl));
    add_le16(out, (unsigned)acl->count);
    add_le16(out, 0);
    strbuf_add(out, acl->entries);
}

static bool decode_acl(struct slice bytes, struct security_acl *acl)
{
    if (bytes.len < ACL_HEADER_BYTES || (bytes.data[0] != 2 && bytes.data[0] != 4))
        return false;
    const size_t size = read_le16(bytes.data + 2);
    const size_t count = read_le16(bytes.data + 4);
    if (size < ACL_HEADER_BYTES || size > bytes.len)
        return false;
    const struct slice all = slice_make(bytes.data + ACL_HEADER_BYTES, size - ACL_HEADER_BYTES);
    struct slice rest = all;
    struct ace ace;
    for (size_t i = 0; i < count; i++) {
        if (!ace_take(&rest, &ace))
            return false;
    }
    /* What is behind the last entry is free space. */
    acl->count = count;
    acl->entries = slice_make(all.data, all.len - rest.len);
    return acl->entries.len <= ACL_ENTRIES_BYTES_MAX;
}

/* --- descriptors --- */

size_t security_descriptor_bytes(const struct security_descriptor *descriptor)
{
    return HEADER_BYTES + acl_bytes(&descriptor->sacl) + acl_bytes(&descriptor->dacl) +
           descriptor->owner.len + descriptor->group.len;
}

static unsigned control_of(const struct security_descriptor *descriptor)
{
    const struct security_acl *dacl = &descriptor->dacl;
    const struct security_acl *sacl = &descriptor->sacl;
    return SELF_RELATIVE | (dacl->is_present ? DACL_PRESENT : 0U) |
           (sacl->is_present ? SACL_PRESENT : 0U) |
           (dacl->inherits_required ? DACL_INHERITS_REQUIRED : 0U) |
           (sacl->inherits_required ? SACL_INHERITS_REQUIRED : 0U) |
           (dacl->is_inherited ? DACL_INHERITED : 0U) | (sacl->is_inherited ? SACL_INHERITED : 0U) |
           (dacl->is_protected ? DACL_PROTECTED : 0U) | (sacl->is_protected ? SACL_PROTECTED : 0U);
}

/* The offset of the next part, which moves past it; 0 if it has no bytes. */
static void add_offset(struct strbuf *out, size_t *at, size_t len)
{
    add_le32(out, len == 0 ? 0 : (uint32_t)*at);
    *at += len;
}

struct slice security_descriptor_encode(struct arena *arena,
                                        const struct security_descriptor *descriptor)
{
    struct strbuf out;
    strbuf_init(&out, arena);
    strbuf_reserve(&out, security_descriptor_bytes(descriptor));
    size_t lists_at = HEADER_BYTES;
    size_t accounts_at = HEADER_BYTES + acl_bytes(&descriptor->sacl) + acl_bytes(&descriptor->dacl);
    strbuf_add_byte(&out, 1);
    strbuf_add_byte(&out, 0);
    add_le16(&out, control_of(descriptor));
    add_offset(&out, &accounts_at, descriptor->owner.len);
    add_offset(&out, &accounts_at, descriptor->group.len);
    add_offset(&out, &lists_at, acl_bytes(&descriptor->sacl));
    add_offset(&out, &lists_at, acl_bytes(&descriptor->dacl));
    add_acl(&out, &descriptor->sacl);
    add_acl(&out, &descriptor->dacl);
    strbuf_add(&out, descriptor->owner);
    strbuf_add(&out, descriptor->group);
    return strbuf_slice(&out);
}

/* The bytes from the offset on that is kept at `at`; empty when there are none. */
static struct slice part_at(struct slice bytes, size_t at)
{
    const uint32_t offset = read_le32(bytes.data + at);
    return offset < HEADER_BYTES ? (struct slice){ 0 } : slice_from(bytes, offset);
}

static bool decode_account(struct slice bytes, size_t at, struct slice *account)
{
    struct sid sid;
    const struct slice whole = part_at(bytes, at);
    struct slice rest = whole;
    if (read_le32(bytes.data + at) == 0)
        return true;
    if (!sid_take(&rest, &sid))
        return false;
    *account = slice_head(whole, whole.len - rest.len);
    return true;
}

static bool decode_list(struct slice bytes, size_t at, bool is_present, struct security_acl *acl)
{
    acl->is_present = is_present;
    const bool has_bytes = read_le32(bytes.data + at) != 0;
    acl->is_null = is_present && !has_bytes;
    return !is_present || !has_bytes || decode_acl(part_at(bytes, at), acl);
}

enum err security_descriptor_decode(struct slice bytes, struct security_descriptor *descriptor)
{
    *descriptor = (struct security_descriptor){ 0 };
    if (bytes.len < HEADER_BYTES || bytes.len > LIMIT_PERMISSION_BYTES || bytes.data[0] != 1)
        return ERR_FILE_PERMISSION_INVALID;
    const unsigned control = read_le16(bytes.data + 2);
    struct security_acl *dacl = &descriptor->dacl;
    struct security_acl *sacl = &descriptor->sacl;
    if ((control & SELF_RELATIVE) == 0 || !decode_account(bytes, 4, &descriptor->owner) ||
        !decode_account(bytes, 8, &descriptor->group) ||
        !decode_list(bytes, 12, (control & SACL_PRESENT) != 0, sacl) ||
        !decode_list(bytes, 16, (control & DACL_PRESENT) != 0, dacl))
        return ERR_FILE_PERMISSION_INVALID;
    /* Flags of a list that is not there mean nothing. */
    dacl->inherits_required = dacl->is_present && (control & DACL_INHERITS_REQUIRED) != 0;
    sacl->inherits_required = sacl->is_present && (control & SACL_INHERITS_REQUIRED) != 0;
    dacl->is_inherited = dacl->is_present && (control & DACL_INHERITED) != 0;
    sacl->is_inherited = sacl->is_present && (control & SACL_INHERITED) != 0;
    dacl->is_protected = dacl->is_present && (control & DACL_PROTECTED) != 0;
    sacl->is_protected = sacl->is_present && (control & SACL_PROTECTED) != 0;
    return security_descriptor_bytes(descriptor) <= LIMIT_PERMISSION_BYTES
               ? OK
               : ERR_FILE_PERMISSION_INVALID;
}
