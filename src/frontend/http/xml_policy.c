#include "frontend/http/xml_policy.h"

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/xml_write.h"

/* An optional instant; 0 when the element is absent or empty. */
static enum err read_instant(const struct xml_node *node, const char *name, int64_t *ticks)
{
    const struct slice text = xml_child_text(node, name);
    *ticks = 0;
    if (text.len == 0)
        return OK;
    return date_parse_iso(text, ticks) == OK ? OK : ERR_INVALID_XML_VALUE;
}

static bool is_permission(struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 'a' || text.data[i] > 'z')
            return false;
    return true;
}

/* Characters of UTF-8, which the parser has found well-formed: bytes that do not continue one. */
static size_t count_characters(struct slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

/* Fills the next of `policies`, which has room. */
static enum err read_policy(const struct xml_node *identifier, struct access_policies *policies)
{
    struct access_policy *policy = &policies->policies[policies->count];
    policy->id = xml_child_text(identifier, "Id");
    if (policy->id.len == 0 || count_characters(policy->id) > ACCESS_POLICY_ID_LEN_MAX ||
        access_policies_find(policies, policy->id) != NULL)
        return ERR_INVALID_XML_VALUE;
    policies->count++;
    const struct xml_node *access = xml_find(identifier, "AccessPolicy");
    if (access == NULL)
        return OK;
    enum err err = read_instant(access, "Start", &policy->start);
    if (err == OK)
        err = read_instant(access, "Expiry", &policy->expiry);
    policy->permission = xml_child_text(access, "Permission");
    return err == OK && !is_permission(policy->permission) ? ERR_INVALID_XML_VALUE : err;
}

static enum err refuse(struct xml_fault *fault, const char *reason)
{
    *fault = (struct xml_fault){ .reason = reason };
    return ERR_INVALID_XML;
}

enum err xml_policy_read(struct arena *arena, struct slice document,
                         struct access_policies *policies, struct xml_fault *fault)
{
    *policies = (struct access_policies){ 0 };
    if (document.len == 0)
        return OK;
    struct xml_node *root;
    enum err err = xml_parse(arena, document, &root, fault);
    if (err != OK)
        return err;
    if (!slice_is(root->name, "SignedIdentifiers"))
        return refuse(fault, "The document is not a list of signed identifiers.");
    for (const struct xml_node *child = root->first_child; child != NULL && err == OK;
         child = child->next) {
        if (!slice_is(child->name, "SignedIdentifier"))
            return refuse(fault, "There is an element that is no signed identifier.");
        if (policies->count == ACCESS_POLICIES_MAX)
            return refuse(fault, "There are more than five signed identifiers.");
        err = read_policy(child, policies);
    }
    return err;
}

static void write_instant(struct strbuf *out, const char *name, int64_t ticks)
{
    char text[DATE_ISO_LEN + 1];
    if (ticks == 0)
        return;
    date_format_iso(ticks, text);
    xml_add_element(out, name, slice_of(text));
}

void xml_policy_write(struct strbuf *out, const struct access_policies *policies)
{
    xml_begin_document(out);
    if (policies->count == 0) {
        strbuf_add_text(out, "<SignedIdentifiers />");
        return;
    }
    strbuf_add_text(out, "<SignedIdentifiers>");
    for (size_t i = 0; i < policies->count; i++) {
        const struct access_policy *policy = &policies->policies[i];
        strbuf_add_text(out, "<SignedIdentifier>");
        xml_add_element(out, "Id", policy->id);
        strbuf_add_text(out, "<AccessPolicy>");
        write_instant(out, "Start", policy->start);
        write_instant(out, "Expiry", policy->expiry);
        if (policy->permission.len > 0)
            xml_add_element(out, "Permission", policy->permission);
        strbuf_add_text(out, "</AccessPolicy></SignedIdentifier>");
    }
    strbuf_add_text(out, "</SignedIdentifiers>");
}
