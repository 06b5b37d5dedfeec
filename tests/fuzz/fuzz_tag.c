/*
 * fuzz_tag.c - tags of blobs and predicates on them.
 *
 * Input: a line with tags as in x-ms-tags, and the text of a predicate.
 *
 *   - Tags that are accepted follow the rules, are in order, and are the same when written again.
 *   - A search is the conjunction of its comparisons.
 *   - A predicate in parentheses, or and-ed or or-ed with itself, says the same.
 *   - Whatever is a search without @container is a condition as well, and says the same.
 */
#include "base/encoding.h"
#include "fuzz.h"
#include "service/blob/tag.h"

static void check_tags(struct arena *arena, const struct metadata *tags)
{
    struct strbuf text;
    struct metadata again = { 0 };
    strbuf_init(&text, arena);
    assert(tags->count <= TAG_COUNT_MAX);
    for (size_t i = 0; i < tags->count; i++) {
        const struct metadata_pair *pair = &tags->pairs[i];
        assert(pair->name.len > 0 && pair->name.len <= TAG_NAME_BYTES_MAX);
        assert(pair->value.len <= TAG_VALUE_BYTES_MAX);
        assert(i == 0 || slice_compare(tags->pairs[i - 1].name, pair->name) < 0);
        const struct slice *found = tags_find(tags, pair->name);
        assert(found != NULL && slice_equal(*found, pair->value));
        if (i > 0)
            strbuf_add_byte(&text, '&');
        strbuf_add(&text, percent_encode_path(arena, pair->name));
        strbuf_add_byte(&text, '=');
        strbuf_add(&text, percent_encode_path(arena, pair->value));
    }
    assert(tags_parse(arena, strbuf_slice(&text), &again) == OK);
    assert(tags->count == again.count);
    for (size_t i = 0; i < tags->count; i++) {
        fuzz_assert_equal(again.pairs[i].name, tags->pairs[i].name);
        fuzz_assert_equal(again.pairs[i].value, tags->pairs[i].value);
    }
}

static bool compare(const struct tag_comparison *comparison, struct slice container,
                    const struct metadata *tags)
{
    const struct slice *value =
        slice_is(comparison->name, "@container") ? &container : tags_find(tags, comparison->name);
    const int order = value == NULL ? 0 : slice_compare(*value, comparison->value);
    if (value == NULL)
        return comparison->relation == TAG_DIFFERENT;
    switch (comparison->relation) {
    case TAG_EQUAL:
        return order == 0;
    case TAG_DIFFERENT:
        return order != 0;
    case TAG_GREATER:
        return order > 0;
    case TAG_GREATER_OR_EQUAL:
        return order >= 0;
    case TAG_LESS:
        return order < 0;
    case TAG_LESS_OR_EQUAL:
        return order <= 0;
    }
    return false;
}

static void check_search(struct arena *arena, struct slice text, const struct metadata *tags)
{
    const struct slice container = slice_of("box");
    const struct tag_predicate *search = NULL;
    const struct tag_predicate *condition = NULL;
    if (tag_predicate_parse(arena, text, TAG_SEARCH, &search) != OK)
        return;
    bool all = true;
    bool of_container = false;
    assert(tag_predicate_count(search) > 0);
    for (size_t i = 0; i < tag_predicate_count(search); i++) {
        const struct tag_comparison *comparison = tag_predicate_get(search, i);
        assert(comparison->relation != TAG_DIFFERENT);
        of_container = of_container || slice_is(comparison->name, "@container");
        all = all && compare(comparison, container, tags);
    }
    assert(all == tag_predicate_holds(search, container, tags));
    if (of_container)
        return;
    assert(tag_predicate_parse(arena, text, TAG_CONDITION, &condition) == OK);
    assert(all == (tag_check(condition, tags) == OK));
}

/* The predicate in another guise, if that is not too long or too deep. */
static void check_same(struct arena *arena, struct slice text, const char *format, bool holds,
                       const struct metadata *tags)
{
    struct strbuf out;
    const struct tag_predicate *other = NULL;
    strbuf_init(&out, arena);
    for (; *format != '\0'; format++)
        if (*format == '@')
            strbuf_add(&out, text);
        else
            strbuf_add_byte(&out, *format);
    if (tag_predicate_parse(arena, strbuf_slice(&out), TAG_CONDITION, &other) == OK)
        assert(tag_predicate_holds(other, (struct slice){ 0 }, tags) == holds);
}

static void check_condition(struct arena *arena, struct slice text, const struct metadata *tags)
{
    const struct tag_predicate *predicate = NULL;
    if (tag_predicate_parse(arena, text, TAG_CONDITION, &predicate) != OK)
        return;
    const bool holds = tag_predicate_holds(predicate, (struct slice){ 0 }, tags);
    assert(tag_predicate_count(predicate) <= TAG_COMPARISONS_MAX);
    assert(holds == (tag_check(predicate, tags) == OK));
    check_same(arena, text, "(@)", holds, tags);
    check_same(arena, text, "(@) AND (@)", holds, tags);
    check_same(arena, text, "@ OR @", holds, tags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    const struct slice header = fuzz_take_line(&input);
    const struct slice text = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    struct metadata tags = { 0 };
    if (tags_parse(&arena, header, &tags) == OK)
        check_tags(&arena, &tags);
    else
        tags = (struct metadata){ 0 };
    check_search(&arena, text, &tags);
    check_condition(&arena, text, &tags);
    arena_release(&arena);
    fuzz_copy_free(header);
    fuzz_copy_free(text);
    return 0;
}
