#include "service/file/security_inherit.h"

#include <assert.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "service/file/sddl_internal.h"
#include "service/limits.h"

enum {
    FLAGS_OF_INHERITANCE = ACE_OBJECT_INHERIT | ACE_CONTAINER_INHERIT | ACE_NO_PROPAGATE |
                           ACE_INHERIT_ONLY | ACE_INHERITED,

    /* [MS-DTYP] 2.4.2.4 */
    AUTHORITY_CREATOR = 3,
    CREATOR_OWNER = 0,
    CREATOR_GROUP = 1,
};

/* Lists in a descriptor that is not too long are not too long either. */
static_assert(LIMIT_PERMISSION_BYTES - 28 <= ACL_ENTRIES_BYTES_MAX,
              "a descriptor has 20 bytes before its lists, and a list 8 before its entries");

/* Generic rights, and what they are of files ([MS-SMB2] 2.2.13.1). */
static const struct {
    uint32_t generic;
    uint32_t rights;
} GENERIC_RIGHTS[] = {
    { 0x10000000, 0x1f01ff }, /* all */
    { 0x20000000, 0x1200a0 }, /* execute */
    { 0x40000000, 0x120116 }, /* write */
    { 0x80000000, 0x120089 }, /* read */
};

/* The list that is being made. */
struct inheritance {
    enum security_child kind;
    struct sid owner;
    struct sid group;
    struct strbuf entries;
    size_t count;
};

static void add(struct inheritance *list, const struct ace *ace)
{
    ace_encode(ace, &list->entries);
    list->count++;
}

/* --- what an effective entry says --- */

static bool map_rights(struct ace *ace)
{
    uint32_t mapped = ace->rights;
    for (size_t i = 0; i < sizeof(GENERIC_RIGHTS) / sizeof(GENERIC_RIGHTS[0]); i++) {
        if ((mapped & GENERIC_RIGHTS[i].generic) != 0)
            mapped = (mapped & ~GENERIC_RIGHTS[i].generic) | GENERIC_RIGHTS[i].rights;
    }
    const bool is_mapped = mapped != ace->rights;
    ace->rights = mapped;
    return is_mapped;
}

static bool map_account(const struct inheritance *list, struct ace *ace)
{
    const struct sid *sid = &ace->sid;
    if (sid->authority != AUTHORITY_CREATOR || sid->count != 1 || sid->parts[0] > CREATOR_GROUP)
        return false;
    ace->sid = sid->parts[0] == CREATOR_OWNER ? list->owner : list->group;
    return true;
}

/* Make an entry mean this child.  Whether it meant something else. */
static bool make_specific(const struct inheritance *list, struct ace *ace)
{
    const bool has_rights = map_rights(ace);
    const bool has_account = map_account(list, ace);
    return has_rights || has_account;
}

/* --- one entry --- */

static bool is_effective(const struct inheritance *list, const struct ace *ace)
{
    const unsigned needed =
        list->kind == SECURITY_CHILD_FILE ? ACE_OBJECT_INHERIT : ACE_CONTAINER_INHERIT;
    return (ace->flags & needed) != 0 && !ace->inherited_object.is_present;
}

static bool is_inheritable(const struct inheritance *list, const struct ace *ace)
{
    return list->kind == SECURITY_CHILD_DIRECTORY && (ace->flags & ACE_NO_PROPAGATE) == 0 &&
           (ace->flags & (ACE_OBJECT_INHERIT | ACE_CONTAINER_INHERIT)) != 0;
}

static void inherit_ace(struct inheritance *list, const struct ace *parent)
{
    const uint8_t others = (uint8_t)(parent->flags & ~(unsigned)FLAGS_OF_INHERITANCE);
    const uint8_t passed =
        (uint8_t)(parent->flags & (unsigned)(ACE_OBJECT_INHERIT | ACE_CONTAINER_INHERIT));
    const bool inheritable = is_inheritable(list, parent);
    struct ace effective = *parent;
    effective.flags = (uint8_t)(others | ACE_INHERITED);
    bool needs_own = inheritable;
    if (is_effective(list, parent)) {
        const bool was_specific = !make_specific(list, &effective);
        if (inheritable && was_specific) {
            effective.flags |= passed;
            needs_own = false;
        }
        add(list, &effective);
    }
    if (needs_own) {
        struct ace passed_on = *parent;
        passed_on.flags = (uint8_t)(others | passed | ACE_INHERITED | ACE_INHERIT_ONLY);
        add(list, &passed_on);
    }
}

/* --- lists --- */

static struct security_acl inherit_list(struct arena *arena, struct inheritance list,
                                        const struct security_acl *parent)
{
    struct slice rest = parent->entries;
    struct ace ace;
    strbuf_init(&list.entries, arena);
    while (rest.len > 0 && ace_take(&rest, &ace))
        inherit_ace(&list, &ace);
    return (struct security_acl){
        .is_present = list.count > 0,
        .is_inherited = list.count > 0,
        .count = list.count,
        .entries = strbuf_slice(&list.entries),
    };
}

enum err security_inherit(struct arena *arena, const struct security_descriptor *parent,
                          const struct security_descriptor *creator, enum security_child kind,
                          struct security_descriptor *child)
{
    struct inheritance list = { .kind = kind };
    struct slice owner = creator->owner;
    struct slice group = creator->group;
    const bool has_accounts = sid_take(&owner, &list.owner) && sid_take(&group, &list.group);
    assert(has_accounts && creator->dacl.is_present);
    *child = (struct security_descriptor){
        .owner = creator->owner,
        .group = creator->group,
        .dacl = inherit_list(arena, list, &parent->dacl),
        .sacl = inherit_list(arena, list, &parent->sacl),
    };
    if (!child->dacl.is_present)
        child->dacl = creator->dacl;
    return security_descriptor_bytes(child) <= LIMIT_PERMISSION_BYTES ? OK
                                                                      : ERR_FILE_PERMISSION_INVALID;
}
