/*
 * sddl.c - see sddl.h.  Reading text, writing text, and the names both use; the bytes are in
 * security_descriptor.c.
 */
#include "service/file/sddl.h"

#include <inttypes.h>
#include <stdint.h>

#include "base/encoding.h"
#include "base/strbuf.h"
#include "service/file/sddl_internal.h"
#include "service/limits.h"

/* --- names --- */

struct name {
    const char *text;
    uint32_t value;
};

/* Types of entries ([MS-DTYP] 2.4.4.1). */
static const struct name TYPES[] = {
    { "A", ACE_ALLOW },          { "D", ACE_DENY },          { "AU", ACE_AUDIT },
    { "AL", ACE_ALARM },         { "OA", ACE_OBJECT_ALLOW }, { "OD", ACE_OBJECT_DENY },
    { "OU", ACE_OBJECT_AUDIT },  { "OL", ACE_OBJECT_ALARM }, { "ML", ACE_LABEL },
    { "SP", ACE_SCOPED_POLICY }, { "TL", ACE_TRUST_LABEL },
};

/* Every bit has a name. */
static const struct name FLAGS[] = {
    { "OI", ACE_OBJECT_INHERIT }, { "CI", ACE_CONTAINER_INHERIT }, { "NP", ACE_NO_PROPAGATE },
    { "IO", ACE_INHERIT_ONLY },   { "ID", ACE_INHERITED },         { "CR", ACE_CRITICAL },
    { "SA", ACE_AUDIT_SUCCESS },  { "FA", ACE_AUDIT_FAILURE },
};

/* Rights of one bit, in the order they are written in. */
static const struct name RIGHTS[] = {
    { "CC", 0x1 },        { "DC", 0x2 },        { "LC", 0x4 },        { "SW", 0x8 },
    { "RP", 0x10 },       { "WP", 0x20 },       { "DT", 0x40 },       { "LO", 0x80 },
    { "CR", 0x100 },      { "SD", 0x10000 },    { "RC", 0x20000 },    { "WD", 0x40000 },
    { "WO", 0x80000 },    { "GA", 0x10000000 }, { "GX", 0x20000000 }, { "GW", 0x40000000 },
    { "GR", 0x80000000 },
};

/* Rights of files, which are written so when they are all there is. */
static const struct name FILE_RIGHTS[] = {
    { "FA", 0x1f01ff }, { "FR", 0x120089 }, { "FW", 0x120116 }, { "FX", 0x1200a0 }
};

/* Rights that are only read: those of registry keys. */
static const struct name KEY_RIGHTS[] = {
    { "KA", 0xf003f }, { "KR", 0x20019 }, { "KW", 0x20006 }, { "KX", 0x20019 }
};

/* What a label forbids to what lies below it. */
static const struct name LABEL_RIGHTS[] = { { "NW", 0x1 }, { "NR", 0x2 }, { "NX", 0x4 } };

/* Accounts that are the same everywhere ([MS-DTYP] 2.4.2.4). */
static const struct {
    const char *text;
    uint8_t authority;
    uint8_t count;
    uint32_t parts[6];
} ACCOUNTS[] = {
    { "WD", 1, 1, { 0 } },
    { "CO", 3, 1, { 0 } },
    { "CG", 3, 1, { 1 } },
    { "OW", 3, 1, { 4 } },
    { "NU", 5, 1, { 2 } },
    { "IU", 5, 1, { 4 } },
    { "SU", 5, 1, { 6 } },
    { "AN", 5, 1, { 7 } },
    { "ED", 5, 1, { 9 } },
    { "PS", 5, 1, { 10 } },
    { "AU", 5, 1, { 11 } },
    { "RC", 5, 1, { 12 } },
    { "SY", 5, 1, { 18 } },
    { "LS", 5, 1, { 19 } },
    { "NS", 5, 1, { 20 } },
    { "WR", 5, 1, { 33 } },
    { "BA", 5, 2, { 32, 544 } },
    { "BU", 5, 2, { 32, 545 } },
    { "BG", 5, 2, { 32, 546 } },
    { "PU", 5, 2, { 32, 547 } },
    { "AO", 5, 2, { 32, 548 } },
    { "SO", 5, 2, { 32, 549 } },
    { "PO", 5, 2, { 32, 550 } },
    { "BO", 5, 2, { 32, 551 } },
    { "RE", 5, 2, { 32, 552 } },
    { "RU", 5, 2, { 32, 554 } },
    { "RD", 5, 2, { 32, 555 } },
    { "NO", 5, 2, { 32, 556 } },
    { "MU", 5, 2, { 32, 558 } },
    { "LU", 5, 2, { 32, 559 } },
    { "IS", 5, 2, { 32, 568 } },
    { "CY", 5, 2, { 32, 569 } },
    { "ER", 5, 2, { 32, 573 } },
    { "CD", 5, 2, { 32, 574 } },
    { "RA", 5, 2, { 32, 575 } },
    { "ES", 5, 2, { 32, 576 } },
    { "MS", 5, 2, { 32, 577 } },
    { "HA", 5, 2, { 32, 578 } },
    { "AA", 5, 2, { 32, 579 } },
    { "RM", 5, 2, { 32, 580 } },
    { "UD", 5, 6, { 84, 0, 0, 0, 0, 0 } },
    { "AC", 15, 2, { 2, 1 } },
    { "LW", 16, 1, { 4096 } },
    { "ME", 16, 1, { 8192 } },
    { "MP", 16, 1, { 8448 } },
    { "HI", 16, 1, { 12288 } },
    { "SI", 16, 1, { 16384 } },
    { "AS", 18, 1, { 1 } },
    { "SS", 18, 1, { 2 } },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- reading --- */

/* Cut off what the text begins with, whatever its case. */
static bool take(struct slice *text, const char *word)
{
    const size_t len = strlen(word);
    if (!slice_equal_nocase(slice_head(*text, len), slice_of(word)))
        return false;
    *text = slice_from(*text, len);
    return true;
}

/* Cut off the first of the names that it begins with. */
static bool take_name(struct slice *text, const struct name *names, size_t count, uint32_t *value)
{
    for (size_t i = 0; i < count; i++) {
        if (take(text, names[i].text)) {
            *value = names[i].value;
            return true;
        }
    }
    return false;
}

/* Cut off a number: decimal, or hexadecimal after 0x; at least one digit, at most `max`. */
static bool take_number(struct slice *text, uint64_t max, uint64_t *number)
{
    const unsigned base = take(text, "0x") ? 16 : 10;
    size_t digits = 0;
    *number = 0;
    for (; text->len > 0; *text = slice_from(*text, 1), digits++) {
        const int value = hex_digit_value(text->data[0]);
        if (value < 0 || (unsigned)value >= base)
            break;
        if (*number > (max - (unsigned)value) / base)
            return false;
        *number = *number * base + (unsigned)value;
    }
    return digits > 0;
}

/* "S-1-..." after the S. */
static bool take_sid_numbers(struct slice *text, struct sid *sid)
{
    uint64_t number;
    *sid = (struct sid){ 0 };
    if (!take(text, "-1-") || !take_number(text, SID_AUTHORITY_MAX, &sid->authority))
        return false;
    while (text->len > 0 && text->data[0] == '-') {
        *text = slice_from(*text, 1);
        if (sid->count == SID_PARTS_MAX || !take_number(text, UINT32_MAX, &number))
            return false;
        sid->parts[sid->count++] = (uint32_t)number;
    }
    return sid->count > 0;
}

static bool take_sid(struct slice *text, struct sid *sid)
{
    if (text->len >= 2 && text->data[1] == '-')
        return take(text, "S") && take_sid_numbers(text, sid);
    for (size_t i = 0; i < COUNT(ACCOUNTS); i++) {
        if (!take(text, ACCOUNTS[i].text))
            continue;
        *sid = (struct sid){ .authority = ACCOUNTS[i].authority, .count = ACCOUNTS[i].count };
        memcpy(sid->parts, ACCOUNTS[i].parts, sid->count * sizeof(sid->parts[0]));
        return true;
    }
    return false;
}

static bool parse_flags(struct slice text, uint8_t *flags)
{
    uint32_t flag;
    *flags = 0;
    while (text.len > 0) {
        if (!take_name(&text, FLAGS, COUNT(FLAGS), &flag))
            return false;
        *flags |= (uint8_t)flag;
    }
    return true;
}

static bool parse_rights(struct slice text, uint32_t *rights)
{
    uint64_t number;
    *rights = 0;
    if (text.len > 0 && text.data[0] >= '0' && text.data[0] <= '9') {
        const bool is_number = take_number(&text, UINT32_MAX, &number);
        *rights = (uint32_t)number;
        return is_number && text.len == 0;
    }
    while (text.len > 0) {
        uint32_t right;
        if (!take_name(&text, RIGHTS, COUNT(RIGHTS), &right) &&
            !take_name(&text, FILE_RIGHTS, COUNT(FILE_RIGHTS), &right) &&
            !take_name(&text, KEY_RIGHTS, COUNT(KEY_RIGHTS), &right) &&
            !take_name(&text, LABEL_RIGHTS, COUNT(LABEL_RIGHTS), &right))
            return false;
        *rights |= right;
    }
    return true;
}

/* A GUID's text has its first three groups as numbers, which are little-endian in bytes. */
static const uint8_t GUID_ORDER[GUID_BYTES] = {
    3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
};

static bool parse_guid(struct slice text, struct ace_guid *guid)
{
    *guid = (struct ace_guid){ 0 };
    if (text.len == 0)
        return true;
    guid->is_present = true;
    size_t at = 0;
    for (size_t i = 0; i < GUID_BYTES; i++) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && (at >= text.len || text.data[at++] != '-'))
            return false;
        const int high = at + 1 < text.len ? hex_digit_value(text.data[at]) : -1;
        const int low = high >= 0 ? hex_digit_value(text.data[at + 1]) : -1;
        if (low < 0)
            return false;
        guid->bytes[GUID_ORDER[i]] = (uint8_t)(high * 16 + low);
        at += 2;
    }
    return at == text.len;
}

enum {
    ACE_FIELDS = 6,
};

/* Split at semicolons; false when that does not make as many fields. */
static bool split_fields(struct slice text, struct slice fields[ACE_FIELDS])
{
    for (size_t i = 0; i < ACE_FIELDS; i++) {
        const size_t len = slice_find_byte(text, ';');
        if ((len == text.len) != (i + 1 == ACE_FIELDS))
            return false;
        fields[i] = slice_head(text, len);
        text = slice_from(text, len + 1);
    }
    return true;
}

static bool parse_type(struct slice text, uint8_t *type)
{
    for (size_t i = 0; i < COUNT(TYPES); i++) {
        if (slice_equal_nocase(text, slice_of(TYPES[i].text))) {
            *type = (uint8_t)TYPES[i].value;
            return true;
        }
    }
    return false;
}

/* An entry without its parentheses. */
static bool parse_ace(struct slice text, struct ace *ace)
{
    struct slice fields[ACE_FIELDS];
    *ace = (struct ace){ 0 };
    return split_fields(text, fields) && parse_type(fields[0], &ace->type) &&
           parse_flags(fields[1], &ace->flags) && parse_rights(fields[2], &ace->rights) &&
           parse_guid(fields[3], &ace->object) && parse_guid(fields[4], &ace->inherited_object) &&
           take_sid(&fields[5], &ace->sid) && fields[5].len == 0 && ace_is_valid(ace);
}

/* What stands after "D:" or "S:". */
static bool parse_acl(struct arena *arena, struct slice *text, struct security_acl *acl)
{
    struct strbuf entries;
    strbuf_init(&entries, arena);
    if (acl->is_present)
        return false; /* it is there already */
    acl->is_present = true;
    for (;;) {
        if (take(text, "NO_ACCESS_CONTROL"))
            acl->is_null = true;
        else if (take(text, "AR"))
            acl->inherits_required = true;
        else if (take(text, "AI"))
            acl->is_inherited = true;
        else if (take(text, "P"))
            acl->is_protected = true;
        else
            break;
    }
    while (take(text, "(")) {
        struct ace ace;
        const size_t len = slice_find_byte(*text, ')');
        if (len == text->len || !parse_ace(slice_head(*text, len), &ace))
            return false;
        *text = slice_from(*text, len + 1);
        ace_encode(&ace, &entries);
        acl->count++;
        if (entries.len > ACL_ENTRIES_BYTES_MAX)
            return false;
    }
    acl->entries = strbuf_slice(&entries);
    return !(acl->is_null && acl->count > 0);
}

static bool parse_account(struct arena *arena, struct slice *text, struct slice *account)
{
    struct sid sid;
    struct strbuf bytes;
    if (account->len > 0 || !take_sid(text, &sid))
        return false;
    strbuf_init(&bytes, arena);
    sid_encode(&sid, &bytes);
    *account = strbuf_slice(&bytes);
    return true;
}

enum err sddl_parse(struct arena *arena, struct slice text, struct security_descriptor *descriptor)
{
    *descriptor = (struct security_descriptor){ 0 };
    if (text.len > LIMIT_PERMISSION_TEXT_BYTES)
        return ERR_FILE_PERMISSION_INVALID;
    bool is_good = text.len > 0;
    while (is_good && text.len > 0) {
        if (take(&text, "O:"))
            is_good = parse_account(arena, &text, &descriptor->owner);
        else if (take(&text, "G:"))
            is_good = parse_account(arena, &text, &descriptor->group);
        else if (take(&text, "D:"))
            is_good = parse_acl(arena, &text, &descriptor->dacl);
        else if (take(&text, "S:"))
            is_good = parse_acl(arena, &text, &descriptor->sacl);
        else
            is_good = false;
    }
    if (!is_good || security_descriptor_bytes(descriptor) > LIMIT_PERMISSION_BYTES)
        return ERR_FILE_PERMISSION_INVALID;
    return OK;
}

/* --- writing --- */

static void format_sid(struct strbuf *out, const struct sid *sid)
{
    for (size_t i = 0; i < COUNT(ACCOUNTS); i++) {
        if (ACCOUNTS[i].authority == sid->authority && ACCOUNTS[i].count == sid->count &&
            memcmp(ACCOUNTS[i].parts, sid->parts, sid->count * sizeof(sid->parts[0])) == 0) {
            strbuf_add_text(out, ACCOUNTS[i].text);
            return;
        }
    }
    strbuf_printf(out, sid->authority > UINT32_MAX ? "S-1-0x%012" PRIx64 : "S-1-%" PRIu64,
                  sid->authority);
    for (size_t i = 0; i < sid->count; i++)
        strbuf_printf(out, "-%" PRIu32, sid->parts[i]);
}

static void format_names(struct strbuf *out, const struct name *names, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++) {
        if ((value & names[i].value) != 0)
            strbuf_add_text(out, names[i].text);
    }
}

static uint32_t all_of(const struct name *names, size_t count)
{
    uint32_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= names[i].value;
    return all;
}

static void format_rights(struct strbuf *out, const struct ace *ace)
{
    for (size_t i = 0; i < COUNT(FILE_RIGHTS); i++) {
        if (ace->rights == FILE_RIGHTS[i].value) {
            strbuf_add_text(out, FILE_RIGHTS[i].text);
            return;
        }
    }
    const bool is_label = ace->type == ACE_LABEL;
    const struct name *names = is_label ? LABEL_RIGHTS : RIGHTS;
    const size_t count = is_label ? COUNT(LABEL_RIGHTS) : COUNT(RIGHTS);
    if ((ace->rights & ~all_of(names, count)) == 0)
        format_names(out, names, count, ace->rights);
    else
        strbuf_printf(out, "0x%" PRIx32, ace->rights);
}

static void format_guid(struct strbuf *out, const struct ace_guid *guid)
{
    for (size_t i = 0; guid->is_present && i < GUID_BYTES; i++)
        strbuf_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                      (unsigned)guid->bytes[GUID_ORDER[i]]);
}

static void format_ace(struct strbuf *out, const struct ace *ace)
{
    strbuf_add_byte(out, '(');
    for (size_t i = 0; i < COUNT(TYPES); i++) {
        if (TYPES[i].value == ace->type)
            strbuf_add_text(out, TYPES[i].text);
    }
    strbuf_add_byte(out, ';');
    format_names(out, FLAGS, COUNT(FLAGS), ace->flags);
    strbuf_add_byte(out, ';');
    format_rights(out, ace);
    strbuf_add_byte(out, ';');
    format_guid(out, &ace->object);
    strbuf_add_byte(out, ';');
    format_guid(out, &ace->inherited_object);
    strbuf_add_byte(out, ';');
    format_sid(out, &ace->sid);
    strbuf_add_byte(out, ')');
}

static void format_acl(struct strbuf *out, const char *tag, const struct security_acl *acl)
{
    if (!acl->is_present)
        return;
    strbuf_add_text(out, tag);
    strbuf_add_text(out, acl->is_protected ? "P" : "");
    strbuf_add_text(out, acl->inherits_required ? "AR" : "");
    strbuf_add_text(out, acl->is_inherited ? "AI" : "");
    strbuf_add_text(out, acl->is_null ? "NO_ACCESS_CONTROL" : "");
    struct slice rest = acl->entries;
    struct ace ace;
    while (rest.len > 0 && ace_take(&rest, &ace))
        format_ace(out, &ace);
}

static void format_account(struct strbuf *out, const char *tag, struct slice account)
{
    struct sid sid;
    if (account.len == 0 || !sid_take(&account, &sid))
        return;
    strbuf_add_text(out, tag);
    format_sid(out, &sid);
}

struct slice sddl_format(struct arena *arena, const struct security_descriptor *descriptor)
{
    struct strbuf out;
    strbuf_init(&out, arena);
    format_account(&out, "O:", descriptor->owner);
    format_account(&out, "G:", descriptor->group);
    format_acl(&out, "D:", &descriptor->dacl);
    format_acl(&out, "S:", &descriptor->sacl);
    return strbuf_slice(&out);
}
