/*
 * test_node_permission.c - the permissions of directories and files: given, inherited, kept.
 */
#include "node_fixture.h"
#include "service/file/permission.h"

/* Everybody may read, in all that is below too; and the owner of each may do everything. */
static const char GIVEN[] = "O:BAG:BAD:PAI(A;OICI;FR;;;WD)(A;OICIIO;GA;;;CO)";

static struct slice permission_of(struct service_fixture *fixture, const char *text)
{
    struct slice permission;
    assert_int_equal(permission_from_text(&fixture->arena, slice_of(text), &permission), OK);
    return permission;
}

static enum err make(struct service_fixture *fixture, const char *path, enum node_kind kind,
                     const char *text)
{
    struct node_change change = { .kind = kind };
    if (text != NULL)
        change.smb.permission = permission_of(fixture, text);
    return node_await(fixture, path, node_create, &change);
}

static struct slice key_of(struct service_fixture *fixture, const char *path, enum node_kind kind)
{
    struct node node;
    assert_int_equal(node_record(fixture, path, kind, 0, &node), OK);
    return node.permission_key;
}

/* The text of a permission that a node has a key of. */
static struct slice text_of(struct service_fixture *fixture, const char *path, enum node_kind kind)
{
    const struct node_name name = node_named(&fixture->arena, path, 0);
    struct slice permission;
    struct slice text;
    assert_int_equal(permission_get(&fixture->service, &fixture->arena, &name.share,
                                    key_of(fixture, path, kind), &permission),
                     OK);
    assert_int_equal(permission_to_text(&fixture->arena, permission, &text), OK);
    return text;
}

static void assert_text(struct service_fixture *fixture, const char *path, enum node_kind kind,
                        const char *expected)
{
    const struct slice text = text_of(fixture, path, kind);
    if (!slice_equal(text, slice_of(expected)))
        fail_msg("%s has %.*s", path, (int)text.len, text.data);
}

static size_t count_permissions(struct service_fixture *fixture)
{
    struct partition_view view;
    struct slice key;
    struct slice row;
    size_t count = 0;
    partition_view_open(fixture->service.store, share_partition(fixture), &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of("p"), (struct slice){ 0 });
    while (cursor_next(cursor, &key, &row) == OK)
        count++;
    cursor_free(cursor);
    partition_view_close(&view);
    return count;
}

static void assert_default_text(struct service_fixture *fixture, enum permission_of of,
                                const char *expected)
{
    struct slice text;
    assert_int_equal(permission_to_text(&fixture->arena, permission_default(of), &text), OK);
    if (!slice_equal(text, slice_of(expected)))
        fail_msg("%.*s", (int)text.len, text.data);
}

static void the_defaults_are_what_is_inherited_from_a_new_root(void **state)
{
    struct service_fixture *fixture = *state;
    assert_default_text(fixture, PERMISSION_OF_ROOT,
                        "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)"
                        "(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;OICIIO;GA;;;CO)"
                        "S:NO_ACCESS_CONTROL");
    assert_default_text(fixture, PERMISSION_OF_DIRECTORY,
                        "O:SYG:SYD:AI(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;ID;0x1200a9;;;BU)"
                        "(A;OICIIOID;GXGR;;;BU)(A;OICIID;0x1301bf;;;AU)(A;ID;FA;;;SY)"
                        "(A;OICIIOID;GA;;;CO)S:NO_ACCESS_CONTROL");
    assert_default_text(fixture, PERMISSION_OF_FILE,
                        "O:SYG:SYD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)"
                        "(A;ID;0x1301bf;;;AU)(A;ID;FA;;;SY)S:NO_ACCESS_CONTROL");
}

static void where_nobody_sets_a_permission_none_is_stored(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(make(fixture, "d", NODE_DIRECTORY, NULL), OK);
    assert_int_equal(make(fixture, "d/e", NODE_DIRECTORY, NULL), OK);
    assert_int_equal(make(fixture, "d/e/f", NODE_FILE, NULL), OK);
    assert_int_equal(make(fixture, "f", NODE_FILE, NULL), OK);
    assert_int_equal(key_of(fixture, "", NODE_DIRECTORY).len, 0);
    assert_int_equal(key_of(fixture, "d", NODE_DIRECTORY).len, 0);
    assert_int_equal(key_of(fixture, "d/e", NODE_DIRECTORY).len, 0);
    assert_int_equal(key_of(fixture, "d/e/f", NODE_FILE).len, 0);
    assert_int_equal(key_of(fixture, "f", NODE_FILE).len, 0);
    assert_int_equal(count_permissions(fixture), 0);
}

/* An empty key means the same at every depth only because of this. */
static void the_defaults_are_what_their_own_entries_inherit(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    const enum permission_of parents[] = { PERMISSION_OF_ROOT, PERMISSION_OF_DIRECTORY };
    for (size_t i = 0; i < 2; i++) {
        struct node_change change = {
            .kind = NODE_DIRECTORY,
            .smb = { .has_permission_key = true,
                     .permission_key = permission_default_key(parents[i]) },
        };
        const char *const path = i == 0 ? "d" : "e";
        assert_int_equal(node_await(fixture, path, node_create, &change), OK);
        assert_true(
            slice_equal(key_of(fixture, path, NODE_DIRECTORY), permission_default_key(parents[i])));
        assert_int_equal(make(fixture, i == 0 ? "d/d" : "e/d", NODE_DIRECTORY, NULL), OK);
        assert_int_equal(make(fixture, i == 0 ? "d/f" : "e/f", NODE_FILE, NULL), OK);
        assert_int_equal(key_of(fixture, i == 0 ? "d/d" : "e/d", NODE_DIRECTORY).len, 0);
        assert_int_equal(key_of(fixture, i == 0 ? "d/f" : "e/f", NODE_FILE).len, 0);
    }
    assert_int_equal(count_permissions(fixture), 0);

    /* The default of a file passes nothing on. */
    struct node_change odd = {
        .kind = NODE_DIRECTORY,
        .smb = { .has_permission_key = true,
                 .permission_key = permission_default_key(PERMISSION_OF_FILE) },
    };
    assert_int_equal(node_await(fixture, "odd", node_create, &odd), OK);
    assert_int_equal(make(fixture, "odd/f", NODE_FILE, NULL), OK);
    assert_text(fixture, "odd/f", NODE_FILE,
                "O:SYG:SYD:(A;;FA;;;SY)(A;;0x1200a9;;;BA)S:NO_ACCESS_CONTROL");
}

static void what_is_made_in_a_directory_inherits_its_permission(void **state)
{
    static const char directory_text[] =
        "O:SYG:SYD:AI(A;OICIID;FR;;;WD)(A;ID;FA;;;SY)(A;OICIIOID;GA;;;CO)S:NO_ACCESS_CONTROL";
    static const char file_text[] = "O:SYG:SYD:AI(A;ID;FR;;;WD)(A;ID;FA;;;SY)S:NO_ACCESS_CONTROL";
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(make(fixture, "given", NODE_DIRECTORY, GIVEN), OK);
    assert_int_equal(make(fixture, "given/d", NODE_DIRECTORY, NULL), OK);
    assert_int_equal(make(fixture, "given/d/d", NODE_DIRECTORY, NULL), OK);
    assert_int_equal(make(fixture, "given/f", NODE_FILE, NULL), OK);
    assert_int_equal(make(fixture, "given/d/d/f", NODE_FILE, NULL), OK);
    assert_text(fixture, "given/d", NODE_DIRECTORY, directory_text);
    assert_text(fixture, "given/d/d", NODE_DIRECTORY, directory_text);
    assert_text(fixture, "given/f", NODE_FILE, file_text);
    assert_text(fixture, "given/d/d/f", NODE_FILE, file_text);
    assert_int_equal(count_permissions(fixture), 3);

    /* What is given is not inherited, and what is replaced inherits anew. */
    assert_int_equal(make(fixture, "given/f", NODE_FILE, "O:BAG:BAD:(A;;FA;;;BA)"), OK);
    assert_text(fixture, "given/f", NODE_FILE, "O:BAG:BAD:(A;;FA;;;BA)S:NO_ACCESS_CONTROL");
    assert_int_equal(make(fixture, "given/f", NODE_FILE, NULL), OK);
    assert_text(fixture, "given/f", NODE_FILE, file_text);
}

static void a_permission_is_kept_by_whoever_moves_or_is_below(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(make(fixture, "given", NODE_DIRECTORY, GIVEN), OK);
    assert_int_equal(make(fixture, "given/f", NODE_FILE, NULL), OK);
    assert_int_equal(make(fixture, "f", NODE_FILE, NULL), OK);
    const struct slice inherited = key_of(fixture, "given/f", NODE_FILE);
    struct node_change away = { .kind = NODE_FILE };
    assert_int_equal(node_move(fixture, "given/f", "moved", &away), OK);
    assert_true(slice_equal(key_of(fixture, "moved", NODE_FILE), inherited));
    struct node_change in = { .kind = NODE_FILE };
    assert_int_equal(node_move(fixture, "f", "given/f", &in), OK);
    assert_int_equal(key_of(fixture, "given/f", NODE_FILE).len, 0);

    /* A directory's permission is changed: what was in it stays as it is. */
    struct node_change change = { .kind = NODE_DIRECTORY,
                                  .keeps_properties = true,
                                  .smb.permission =
                                      permission_of(fixture, "O:SYG:SYD:(A;OICI;FW;;;WD)") };
    assert_int_equal(make(fixture, "given/old", NODE_FILE, NULL), OK);
    assert_int_equal(node_await(fixture, "given", node_set_properties, &change), OK);
    assert_int_equal(make(fixture, "given/new", NODE_FILE, NULL), OK);
    assert_true(slice_equal(key_of(fixture, "given/old", NODE_FILE), inherited));
    assert_text(fixture, "given/new", NODE_FILE, "O:SYG:SYD:AI(A;ID;FW;;;WD)S:NO_ACCESS_CONTROL");
}

static void the_permission_of_the_root_is_inherited_too(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(make(fixture, "before", NODE_DIRECTORY, NULL), OK);
    struct node_change change = { .kind = NODE_DIRECTORY,
                                  .keeps_properties = true,
                                  .smb.permission =
                                      permission_of(fixture, "O:SYG:SYD:(A;CI;FR;;;WD)") };
    assert_int_equal(node_await(fixture, "", node_set_properties, &change), OK);
    assert_int_equal(make(fixture, "after", NODE_DIRECTORY, NULL), OK);
    assert_text(fixture, "after", NODE_DIRECTORY,
                "O:SYG:SYD:AI(A;CIID;FR;;;WD)S:NO_ACCESS_CONTROL");
    assert_int_equal(make(fixture, "before/d", NODE_DIRECTORY, NULL), OK);
    assert_int_equal(key_of(fixture, "before/d", NODE_DIRECTORY).len, 0);
    assert_int_equal(make(fixture, "f", NODE_FILE, NULL), OK);
    assert_text(fixture, "f", NODE_FILE,
                "O:SYG:SYD:(A;;FA;;;SY)(A;;0x1200a9;;;BA)S:NO_ACCESS_CONTROL");
}

static void nothing_is_made_whose_permission_would_be_too_long(void **state)
{
    struct service_fixture *fixture = *state;
    struct strbuf text;
    strbuf_init(&text, &fixture->arena);
    strbuf_add_text(&text, "O:SYG:SYD:");
    for (size_t i = 0; i < 2000; i++)
        strbuf_add_text(&text, "(A;OICI;GA;;;WD)");
    strbuf_add_byte(&text, '\0');
    share_make(fixture, 1);
    assert_int_equal(make(fixture, "given", NODE_DIRECTORY, text.data), OK);
    assert_int_equal(make(fixture, "given/d", NODE_DIRECTORY, NULL), ERR_FILE_PERMISSION_INVALID);
    assert_int_equal(make(fixture, "given/f", NODE_FILE, NULL), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(the_defaults_are_what_is_inherited_from_a_new_root),
        ON_ALL_ENGINES(where_nobody_sets_a_permission_none_is_stored),
        ON_ALL_ENGINES(the_defaults_are_what_their_own_entries_inherit),
        ON_ALL_ENGINES(what_is_made_in_a_directory_inherits_its_permission),
        ON_ALL_ENGINES(a_permission_is_kept_by_whoever_moves_or_is_below),
        ON_ALL_ENGINES(the_permission_of_the_root_is_inherited_too),
        ON_MEMORY(nothing_is_made_whose_permission_would_be_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
