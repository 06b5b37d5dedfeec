/*
 * test_service_properties.c - the settings of a service: stored whole, changed part by part.
 */
#include "service_fixture.h"

#include "base/log.h"
#include "service/row.h"
#include "service/service_properties.h"
#include "test_random.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- comparing --- */

static void assert_retention(const struct retention_policy *a, const struct retention_policy *b)
{
    assert_int_equal(a->enabled, b->enabled);
    assert_true(a->days == b->days);
}

static void assert_metrics(const struct metrics_properties *a, const struct metrics_properties *b)
{
    assert_int_equal(a->enabled, b->enabled);
    assert_int_equal(a->include_apis, b->include_apis);
    assert_retention(&a->retention, &b->retention);
}

static void assert_cors(const struct cors_rules *a, const struct cors_rules *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(slice_equal(a->rules[i].origins, b->rules[i].origins));
        assert_true(slice_equal(a->rules[i].methods, b->rules[i].methods));
        assert_true(slice_equal(a->rules[i].allowed_headers, b->rules[i].allowed_headers));
        assert_true(slice_equal(a->rules[i].exposed_headers, b->rules[i].exposed_headers));
        assert_true(a->rules[i].max_age_sec == b->rules[i].max_age_sec);
    }
}

static void assert_same(const struct service_properties *a, const struct service_properties *b)
{
    assert_int_equal(a->logging.read, b->logging.read);
    assert_int_equal(a->logging.write, b->logging.write);
    assert_int_equal(a->logging.delete, b->logging.delete);
    assert_retention(&a->logging.retention, &b->logging.retention);
    assert_metrics(&a->hour_metrics, &b->hour_metrics);
    assert_metrics(&a->minute_metrics, &b->minute_metrics);
    assert_cors(&a->cors, &b->cors);
    assert_true(slice_equal(a->default_version, b->default_version));
    assert_retention(&a->delete_retention, &b->delete_retention);
    assert_int_equal(a->allow_permanent_delete, b->allow_permanent_delete);
    assert_int_equal(a->website.enabled, b->website.enabled);
    assert_true(slice_equal(a->website.index_document, b->website.index_document));
    assert_true(slice_equal(a->website.error_document, b->website.error_document));
    assert_true(slice_equal(a->website.default_index_path, b->website.default_index_path));
}

/* --- making some --- */

static bool random_bool(struct test_random *random)
{
    return random_below(random, 2) == 1;
}

static struct retention_policy random_retention(struct test_random *random)
{
    return (struct retention_policy){ random_bool(random), random_number(random) };
}

static struct metrics_properties random_metrics(struct test_random *random)
{
    return (struct metrics_properties){ random_bool(random), random_bool(random),
                                        random_retention(random) };
}

static struct service_properties random_properties(struct test_random *random, struct arena *arena)
{
    struct service_properties p = {
        .logging = { random_bool(random), random_bool(random), random_bool(random),
                     random_retention(random) },
        .hour_metrics = random_metrics(random),
        .minute_metrics = random_metrics(random),
        .cors.count = random_below(random, CORS_RULES_MAX + 1),
        .default_version = random_bytes(random, arena, 10),
        .delete_retention = random_retention(random),
        .allow_permanent_delete = random_bool(random),
        .website = { random_bool(random), random_bytes(random, arena, 20),
                     random_bytes(random, arena, 20), random_bytes(random, arena, 20) },
    };
    for (size_t i = 0; i < p.cors.count; i++)
        p.cors.rules[i] = (struct cors_rule){
            .origins = random_bytes(random, arena, 40),
            .methods = random_bytes(random, arena, 10),
            .allowed_headers = random_bytes(random, arena, 200),
            .exposed_headers = random_bytes(random, arena, 40),
            .max_age_sec = random_number(random),
        };
    /* A rule of which nothing is said could not be told from none; the wire has no such rule. */
    for (size_t i = 0; i < p.cors.count; i++)
        p.cors.rules[i].max_age_sec |= 1;
    return p;
}

/* --- the stored form --- */

static void a_new_account_is_all_zero(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct service_properties none = { 0 };
    struct service_properties back;
    const struct slice row = service_properties_encode(&arena, &none);
    assert_int_equal(row.len, 2);
    assert_int_equal(service_properties_decode(row, &back), OK);
    assert_same(&back, &none);
    arena_release(&arena);
}

static void every_flag_is_stored_for_itself(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct service_properties p;
    bool *const flags[] = {
        &p.logging.read,
        &p.logging.write,
        &p.logging.delete,
        &p.logging.retention.enabled,
        &p.hour_metrics.enabled,
        &p.hour_metrics.include_apis,
        &p.hour_metrics.retention.enabled,
        &p.minute_metrics.enabled,
        &p.minute_metrics.include_apis,
        &p.minute_metrics.retention.enabled,
        &p.delete_retention.enabled,
        &p.allow_permanent_delete,
        &p.website.enabled,
    };
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct service_properties back;
        p = (struct service_properties){ 0 };
        *flags[i] = true;
        assert_int_equal(service_properties_decode(service_properties_encode(&arena, &p), &back),
                         OK);
        assert_same(&back, &p);
    }
    arena_release(&arena);
}

static void random_properties_come_back(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct test_random random = test_seed();
    for (int round = 0; round < 500; round++) {
        const struct service_properties p = random_properties(&random, &arena);
        struct service_properties back;
        assert_int_equal(service_properties_decode(service_properties_encode(&arena, &p), &back),
                         OK);
        assert_same(&back, &p);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

static void damaged_rows_give_properties_or_corruption(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct test_random random = test_seed();
    size_t corrupt_count = 0;
    for (int round = 0; round < 20000; round++) {
        const struct service_properties p = random_properties(&random, &arena);
        const struct slice row = service_properties_encode(&arena, &p);
        size_t len;
        char *bytes = random_damage(&random, row, &len);
        struct service_properties back;
        const enum err err = service_properties_decode(slice_make(bytes, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        assert_true(back.cors.count <= CORS_RULES_MAX);
        corrupt_count += err == ERR_CORRUPT;
        free(bytes);
        arena_clear(&arena);
    }
    assert_true(corrupt_count > 0);
    arena_release(&arena);
}

static void truncated_and_foreign_rows_are_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct service_properties back;
    const struct service_properties p = { .default_version = slice_of("2021-12-02") };
    const struct slice row = service_properties_encode(&arena, &p);
    for (size_t len = 0; len < row.len; len++) {
        if (len == 2)
            continue; /* no fields: the settings of a new account */
        assert_int_equal(service_properties_decode(slice_head(row, len), &back), ERR_CORRUPT);
    }
    struct strbuf other;
    strbuf_init(&other, &arena);
    row_begin(&other, ROW_BLOB);
    assert_int_equal(service_properties_decode(strbuf_slice(&other), &back), ERR_CORRUPT);
    arena_release(&arena);
}

static void a_sixth_rule_is_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct service_properties back;
    struct service_properties p = { .cors.count = CORS_RULES_MAX };
    for (size_t i = 0; i < CORS_RULES_MAX; i++)
        p.cors.rules[i].origins = slice_of("*");
    const struct slice row = service_properties_encode(&arena, &p);
    assert_int_equal(service_properties_decode(row, &back), OK);
    const size_t rule_len = (row.len - 2) / CORS_RULES_MAX;
    const struct slice six = arena_printf(&arena, "%.*s%.*s", (int)row.len, row.data, (int)rule_len,
                                          row.data + row.len - rule_len);
    assert_int_equal(service_properties_decode(six, &back), ERR_CORRUPT);
    arena_release(&arena);
}

/* --- the service --- */

static void set_for(struct service_fixture *fixture, const char *account, char letter,
                    unsigned parts, const struct service_properties *properties)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct service_properties_change change = {
        .account = slice_of(account), .letter = letter, .parts = parts, .properties = *properties
    };
    waiter_bind(&waiter, &change.base, &arena);
    service_properties_set(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void set(struct service_fixture *fixture, unsigned parts,
                const struct service_properties *properties)
{
    set_for(fixture, FIXTURE_ACCOUNT_NAME, 'b', parts, properties);
}

static struct service_properties get_for(struct service_fixture *fixture, const char *account,
                                         char letter)
{
    struct service_properties properties;
    assert_int_equal(service_properties_get(&fixture->service, &fixture->arena, slice_of(account),
                                            letter, &properties),
                     OK);
    return properties;
}

static void an_account_without_settings_has_the_first_ones(void **state)
{
    struct service_fixture *fixture = *state;
    const struct service_properties none = { 0 };
    const struct service_properties found = get_for(fixture, FIXTURE_ACCOUNT_NAME, 'b');
    assert_same(&found, &none);
}

/* What a change of `parts` makes of the model. */
static void apply(struct service_properties *model, unsigned parts,
                  const struct service_properties *given)
{
    struct service_properties next = *given;
    if ((parts & PROPERTIES_LOGGING) == 0)
        next.logging = model->logging;
    if ((parts & PROPERTIES_HOUR_METRICS) == 0)
        next.hour_metrics = model->hour_metrics;
    if ((parts & PROPERTIES_MINUTE_METRICS) == 0)
        next.minute_metrics = model->minute_metrics;
    if ((parts & PROPERTIES_CORS) == 0)
        next.cors = model->cors;
    if ((parts & PROPERTIES_DEFAULT_VERSION) == 0)
        next.default_version = model->default_version;
    if ((parts & PROPERTIES_DELETE_RETENTION) == 0) {
        next.delete_retention = model->delete_retention;
        next.allow_permanent_delete = model->allow_permanent_delete;
    }
    if ((parts & PROPERTIES_WEBSITE) == 0)
        next.website = model->website;
    *model = next;
}

static void a_change_replaces_its_parts_and_no_others(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    struct service_properties model = { 0 };
    for (int round = 0; round < 60; round++) {
        const struct service_properties given = random_properties(&random, &fixture->arena);
        const unsigned parts = (unsigned)random_below(&random, PROPERTIES_WEBSITE << 1);
        set(fixture, parts, &given);
        apply(&model, parts, &given);
        const struct service_properties found = get_for(fixture, FIXTURE_ACCOUNT_NAME, 'b');
        assert_same(&found, &model);
    }
}

static void no_rules_delete_the_rules(void **state)
{
    struct service_fixture *fixture = *state;
    const struct service_properties some = {
        .cors = { .count = 1,
                  .rules = { { .origins = slice_of("*"), .methods = slice_of("GET") } } },
        .default_version = slice_of("2021-12-02"),
    };
    const struct service_properties none = { 0 };
    set(fixture, PROPERTIES_CORS | PROPERTIES_DEFAULT_VERSION, &some);
    set(fixture, PROPERTIES_CORS, &none);
    const struct service_properties found = get_for(fixture, FIXTURE_ACCOUNT_NAME, 'b');
    assert_int_equal(found.cors.count, 0);
    assert_true(slice_is(found.default_version, "2021-12-02"));
}

static void accounts_and_services_have_settings_of_their_own(void **state)
{
    struct service_fixture *fixture = *state;
    const struct service_properties one = { .default_version = slice_of("2021-12-02") };
    const struct service_properties two = { .default_version = slice_of("2019-02-02") };
    set_for(fixture, "first", 'b', PROPERTIES_DEFAULT_VERSION, &one);
    set_for(fixture, "first", 'q', PROPERTIES_DEFAULT_VERSION, &two);
    set_for(fixture, "second", 'b', PROPERTIES_DEFAULT_VERSION, &two);
    assert_true(slice_is(get_for(fixture, "first", 'b').default_version, "2021-12-02"));
    assert_true(slice_is(get_for(fixture, "first", 'q').default_version, "2019-02-02"));
    assert_true(slice_is(get_for(fixture, "second", 'b').default_version, "2019-02-02"));
    assert_int_equal(get_for(fixture, "second", 'q').default_version.len, 0);
}

static enum err get_web(struct service_fixture *fixture, struct container *container)
{
    const struct container_name name = container_named("$web");
    return container_get(&fixture->service, &fixture->arena, &name, NULL, container);
}

static void a_website_has_a_container_from_the_start(void **state)
{
    struct service_fixture *fixture = *state;
    const struct service_properties off = { 0 };
    const struct service_properties on = { .website.enabled = true };
    struct container first;
    struct container second;
    set(fixture, PROPERTIES_WEBSITE, &off);
    set(fixture, PROPERTIES_CORS, &on);
    assert_int_equal(get_web(fixture, &first), ERR_CONTAINER_NOT_FOUND);
    set(fixture, PROPERTIES_WEBSITE, &on);
    assert_int_equal(get_web(fixture, &first), OK);
    assert_int_equal(first.public_access, PUBLIC_NOTHING);
    struct blob_change put = { 0 };
    assert_int_equal(blob_put_into(fixture, "$web", "index.html", slice_of("hi"), &put), OK);
    set(fixture, PROPERTIES_WEBSITE, &on);
    set(fixture, PROPERTIES_WEBSITE, &off);
    assert_int_equal(get_web(fixture, &second), OK);
    assert_true(first.incarnation == second.incarnation);
    assert_true(first.etag == second.etag);
    assert_int_equal(container_remove(fixture, "$web"), OK);
    set(fixture, PROPERTIES_WEBSITE, &on);
    assert_int_equal(get_web(fixture, &second), OK);
    assert_true(first.incarnation != second.incarnation);
}

static void settings_are_no_container(void **state)
{
    struct service_fixture *fixture = *state;
    const struct service_properties some = { .website.enabled = true };
    set(fixture, PROPERTIES_WEBSITE, &some);
    assert_int_equal(container_remove(fixture, "$web"), OK);
    struct container container;
    for (char letter = 'a'; letter <= 'z'; letter++) {
        const struct container_name name = { slice_of(FIXTURE_ACCOUNT_NAME),
                                             slice_make(&letter, 1) };
        assert_int_equal(container_get(&fixture->service, &fixture->arena, &name, NULL, &container),
                         ERR_CONTAINER_NOT_FOUND);
    }
    container_make(fixture, "box");
    assert_true(get_for(fixture, FIXTURE_ACCOUNT_NAME, 'b').website.enabled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_account_is_all_zero),
        cmocka_unit_test(every_flag_is_stored_for_itself),
        cmocka_unit_test(random_properties_come_back),
        cmocka_unit_test(damaged_rows_give_properties_or_corruption),
        cmocka_unit_test(truncated_and_foreign_rows_are_corrupt),
        cmocka_unit_test(a_sixth_rule_is_corrupt),
        ON_ALL_ENGINES(an_account_without_settings_has_the_first_ones),
        ON_ALL_ENGINES(a_change_replaces_its_parts_and_no_others),
        ON_ALL_ENGINES(no_rules_delete_the_rules),
        ON_ALL_ENGINES(accounts_and_services_have_settings_of_their_own),
        ON_ALL_ENGINES(a_website_has_a_container_from_the_start),
        ON_ALL_ENGINES(settings_are_no_container),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
