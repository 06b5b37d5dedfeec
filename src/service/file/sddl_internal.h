/*
 * sddl_internal.h - the parts of a security descriptor, as sddl.c writes them and
 * security_descriptor.c stores them.
 */
#ifndef SERVICE_FILE_SDDL_INTERNAL_H
#define SERVICE_FILE_SDDL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/strbuf.h"
#include "service/file/sddl.h"

enum {
    SID_PARTS_MAX = 15,
    GUID_BYTES = 16,
    /* A list's size has 16 bits, and its header takes eight bytes; a multiple of four. */
    ACL_ENTRIES_BYTES_MAX = 65532 - 8,
};

#define SID_AUTHORITY_MAX ((UINT64_C(1) << 48) - 1)

enum ace_type {
    ACE_ALLOW = 0x00,
    ACE_DENY = 0x01,
    ACE_AUDIT = 0x02,
    ACE_ALARM = 0x03,
    ACE_OBJECT_ALLOW = 0x05,
    ACE_OBJECT_DENY = 0x06,
    ACE_OBJECT_AUDIT = 0x07,
    ACE_OBJECT_ALARM = 0x08,
    ACE_LABEL = 0x11,
    ACE_SCOPED_POLICY = 0x13,
    ACE_TRUST_LABEL = 0x14,
};

/* Flags of an entry ([MS-DTYP] 2.4.4.1). */
enum ace_flag {
    ACE_OBJECT_INHERIT = 0x01,
    ACE_CONTAINER_INHERIT = 0x02,
    ACE_NO_PROPAGATE = 0x04,
    ACE_INHERIT_ONLY = 0x08,
    ACE_INHERITED = 0x10,
    ACE_CRITICAL = 0x20,
    ACE_AUDIT_SUCCESS = 0x40,
    ACE_AUDIT_FAILURE = 0x80,
};

/* Who: S-1-authority-part-part... */
struct sid {
    uint64_t authority; /* 48 bits */
    size_t count;       /* 1 to SID_PARTS_MAX */
    uint32_t parts[SID_PARTS_MAX];
};

struct ace_guid {
    bool is_present;
    uint8_t bytes[GUID_BYTES];
};

/* An entry of a list. */
struct ace {
    uint8_t type; /* of enum ace_type */
    uint8_t flags;
    uint32_t rights;
    struct ace_guid object; /* only of the types for objects */
    struct ace_guid inherited_object;
    struct sid sid;
};

/* Whether it can be stored: its type is one of those above, and has objects if it may. */
bool ace_is_valid(const struct ace *ace);

/* Append the bytes. */
void sid_encode(const struct sid *sid, struct strbuf *out);
void ace_encode(const struct ace *ace, struct strbuf *out);

/* Cut the first off the bytes; false if that is none, or more than there is. */
bool sid_take(struct slice *bytes, struct sid *sid);
bool ace_take(struct slice *bytes, struct ace *ace);

/* How many bytes the stored form takes. */
size_t security_descriptor_bytes(const struct security_descriptor *descriptor);

#endif
