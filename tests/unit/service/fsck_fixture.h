/*
 * fsck_fixture.h - checking a store in a test: what was found, and that nothing else was.
 */
#ifndef TESTS_UNIT_SERVICE_FSCK_FIXTURE_H
#define TESTS_UNIT_SERVICE_FSCK_FIXTURE_H

#include "base/log.h"
#include "service/blob/fsck.h"
#include "service_fixture.h"

enum {
    FINDINGS_MAX = 32,
};

/* What is damaged on purpose is logged too. */
static inline int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

struct findings {
    struct arena *arena;
    size_t count;
    const char *words[FINDINGS_MAX];
    struct fsck_summary summary;
};

static inline void note(void *arg, const char *words)
{
    struct findings *findings = arg;
    assert_true(findings->count < FINDINGS_MAX);
    findings->words[findings->count++] = arena_copy(findings->arena, slice_of(words)).data;
}

static inline struct findings check(struct service_fixture *fixture)
{
    struct findings findings = { .arena = &fixture->arena };
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = note,
                                          .arg = &findings };
    fsck_run(&request, &findings.summary);
    assert_int_equal(findings.summary.finding_count, findings.count);
    return findings;
}

static inline struct fsck_summary assert_clean(struct service_fixture *fixture)
{
    const struct findings findings = check(fixture);
    if (findings.count > 0)
        fail_msg("%s", findings.words[0]);
    return findings.summary;
}

/* There is one finding, and it says this. */
static inline void assert_finding(struct service_fixture *fixture, const char *words)
{
    const struct findings findings = check(fixture);
    if (findings.count == 0)
        fail_msg("not found: %s", words);
    for (size_t i = 0; i < findings.count; i++)
        if (strstr(findings.words[i], words) == NULL || findings.count > 1)
            fail_msg("%zu findings: %s", findings.count, findings.words[i]);
}

/* Check and repair once; returns how many repairs were made. */
static inline size_t repair_once(struct service_fixture *fixture)
{
    struct findings findings = { .arena = &fixture->arena };
    struct repair_list repairs = { .arena = &fixture->arena };
    const struct fsck_request request = {
        .store = fixture->service.store,
        .finding = note,
        .arg = &findings,
        .repairs = &repairs,
    };
    fsck_run(&request, &findings.summary);
    repair_list_settle(&repairs, findings.summary.finding_count);
    assert_int_equal(partition_repair(fixture->service.store, repairs.items, repairs.count), OK);
    return repairs.count;
}

/* Everything that is wrong can be set right. */
static inline void assert_repaired(struct service_fixture *fixture)
{
    unsigned rounds = 0;
    while (repair_once(fixture) > 0)
        assert_true(++rounds < 8);
    assert_clean(fixture);
}

/* Nothing is done about what is wrong. */
static inline void assert_left_alone(struct service_fixture *fixture)
{
    assert_int_equal(repair_once(fixture), 0);
    assert_true(check(fixture).count > 0);
}

#endif
