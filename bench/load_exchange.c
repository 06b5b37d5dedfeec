/*
 * load_exchange.c - plays a script: makes its requests, and checks and keeps their answers.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "load_fail.h"
#include "load_script.h"
#include "load_script_internal.h"

/* --- requests --- */

static uint64_t operand_value(const struct operand *operand, struct values *values)
{
    if (!operand->is_name)
        return operand->number;
    if (operand->index == NUMBER_RANDOM)
        return random_next(&values->random_state);
    return values->numbers[operand->index];
}

static void kept_add(struct kept *kept, const char *text, size_t len)
{
    if (len >= KEPT_BYTES_MAX || kept->count == KEPT_COUNT_MAX)
        load_fail("too much to keep: %.*s", (int)len, text);
    memcpy(kept->text[kept->count], text, len);
    kept->text[kept->count++][len] = '\0';
}

static void keep_line(const struct script *script, struct values *values, uint64_t number)
{
    const char *field = script->lines[number % script->line_count];
    for (unsigned i = 0; i < script->line_field_count; i++) {
        struct kept *kept = &values->kept[script->line_kept[i]];
        const size_t len = strcspn(field, "\t");
        kept->count = 0;
        kept_add(kept, field, len);
        field += field[len] == '\0' ? len : len + 1;
    }
}

void script_begin_cycle(const struct script *script, struct values *values, uint64_t number)
{
    values->numbers[NUMBER_CYCLE] = number;
    values->numbers[NUMBER_RUN] = values->run;
    values->numbers[NUMBER_CONNECTION] = values->connection;
    values->random_state = number;
    if (script->lines != NULL)
        keep_line(script, values, number);
    for (unsigned i = 0; i < script->let_count; i++) {
        const struct let *let = &script->lets[i];
        uint64_t value = operand_value(&let->source, values) / let->divide;
        if (let->modulo != 0)
            value %= let->modulo;
        values->numbers[let->index] = value * let->times + operand_value(&let->plus, values);
    }
}

static void form_fill(const struct form *form, struct values *values, struct text *text)
{
    const uint64_t turn = values->numbers[NUMBER_TURN];
    for (size_t i = 0; i < form->count; i++) {
        const struct part *part = &form->parts[i];
        const struct kept *kept = &values->kept[part->kind == PART_NUMBER ? 0 : part->index];
        switch (part->kind) {
        case PART_LITERAL:
            text_add(text, part->text, part->len);
            break;
        case PART_NUMBER:
            text_add_number(text, operand_value(&(struct operand){ true, part->index, 0 }, values),
                            part->len);
            break;
        case PART_KEPT:
            text_add_string(text, kept->text[turn % KEPT_COUNT_MAX]);
            break;
        case PART_KEPT_URL:
            text_add_url(text, kept->text[turn % KEPT_COUNT_MAX]);
            break;
        case PART_NOISE:
            text_add_noise(text, &values->random_state, part->len);
            break;
        }
    }
}

static void make_body(const struct step *step, struct values *values, struct request *request)
{
    const uint64_t piece =
        values->numbers[NUMBER_CYCLE] * step->times + values->numbers[NUMBER_TURN];
    request->body = NULL;
    request->body_len = 0;
    switch (step->body_kind) {
    case BODY_NONE:
        break;
    case BODY_PIECES:
        request->body = step->pieces + piece % step->piece_count * step->piece_len;
        request->body_len = step->piece_len;
        break;
    case BODY_TEMPLATE:
        request->filled.len = 0;
        form_fill(&step->body, values, &request->filled);
        request->body = request->filled.data;
        request->body_len = request->filled.len;
        break;
    }
}

void script_request(const struct script *script, unsigned step_index, unsigned turn,
                    struct values *values, struct request *request)
{
    assert(step_index < script->step_count);
    const struct step *step = &script->steps[step_index];
    values->numbers[NUMBER_TURN] = turn;
    make_body(step, values, request);

    request->is_head = strcmp(step->method, "HEAD") == 0;
    struct text *head = &request->head;
    head->len = 0;
    text_add_string(head, step->method);
    text_add_string(head, " ");
    form_fill(&step->target, values, head);
    text_add_string(head, " HTTP/1.1\r\n");
    form_fill(&step->headers, values, head);
    text_add_string(head, "Content-Length: ");
    text_add_number(head, request->body_len, 0);
    text_add_string(head, "\r\n\r\n");
}

/* --- answers --- */

static unsigned occurrences(const struct answer *answer, const char *text)
{
    const size_t len = strlen(text);
    const struct {
        const char *data;
        size_t len;
    } places[] = { { answer->head, answer->head_len }, { answer->body, answer->body_len } };
    unsigned count = 0;
    for (unsigned i = 0; i < 2; i++) {
        const char *at = places[i].data;
        const char *end = at + places[i].len;
        while ((at = memmem(at, (size_t)(end - at), text, len)) != NULL) {
            count++;
            at += len;
        }
    }
    return count;
}

/* As memmem, without regard to the case of letters. */
static const char *find_any_case(const char *at, const char *end, const char *text)
{
    const size_t len = strlen(text);
    for (; (size_t)(end - at) >= len; at++) {
        if (strncasecmp(at, text, len) == 0)
            return at;
    }
    return NULL;
}

/* Keep what one part of an answer, head or body, has. */
static void keep_from(const struct keep *keep, struct kept *kept, const char *at, size_t len)
{
    const char *end = at + len;
    const char *after = keep->after == NULL ? "\r" : keep->after;
    while ((at = find_any_case(at, end, keep->before)) != NULL) {
        at += strlen(keep->before);
        const char *stop = memmem(at, (size_t)(end - at), after, strlen(after));
        if (stop == NULL)
            load_fail("an answer breaks off after '%s'", keep->before);
        kept_add(kept, at, (size_t)(stop - at));
        at = stop;
    }
}

static void fail_answer(const struct step *step, const struct answer *answer, const char *why)
{
    load_fail("%s answered with %u (%s)\n%.*s\n%.*s", step->method, answer->status, why,
              (int)answer->head_len, answer->head,
              answer->body_len > 1000 ? 1000 : (int)answer->body_len, answer->body);
}

void script_answer(const struct script *script, unsigned step_index, struct values *values,
                   const struct answer *answer)
{
    assert(step_index < script->step_count);
    const struct step *step = &script->steps[step_index];
    char why[200];
    if (answer->status != step->status) {
        snprintf(why, sizeof why, "expected %u", step->status);
        fail_answer(step, answer, why);
    }
    if (step->contains != NULL) {
        const unsigned count = occurrences(answer, step->contains);
        if (count != step->contains_count) {
            snprintf(why, sizeof why, "'%s' %u times, expected %u", step->contains, count,
                     step->contains_count);
            fail_answer(step, answer, why);
        }
    }
    for (unsigned i = 0; i < step->keep_count; i++) {
        struct kept *kept = &values->kept[step->keeps[i].index];
        kept->count = 0;
        keep_from(&step->keeps[i], kept, answer->head, answer->head_len);
        keep_from(&step->keeps[i], kept, answer->body, answer->body_len);
        if (kept->count == 0) {
            snprintf(why, sizeof why, "'%s' is missing", step->keeps[i].before);
            fail_answer(step, answer, why);
        }
    }
}

void script_save(const struct script *script, const struct values *values, struct text *text)
{
    for (unsigned i = 0; script->kept_count > 0 && i < values->kept[0].count; i++) {
        for (unsigned name = 0; name < script->kept_count; name++) {
            text_add_string(text, name == 0 ? "" : "\t");
            text_add_string(text, values->kept[name].text[i]);
        }
        text_add_string(text, "\n");
    }
}
