/*
 * load_script.c - scripts of the load generator; the language is described in the header.
 *
 * Targets, headers and templates are cut into pieces when the script is read, so that making a
 * request is a row of copies.
 */
#include "load_script.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LETS_MAX = 16,
    NAME_BYTES_MAX = 32,
    FIELDS_MAX = 8,
};

/* Numbers every script has; those of its own come behind. */
enum { NUMBER_CYCLE, NUMBER_RUN, NUMBER_CONNECTION, NUMBER_TURN, NUMBER_RANDOM, NUMBERS_GIVEN };

static const char *const GIVEN_NAMES[NUMBERS_GIVEN] = {
    [NUMBER_CYCLE] = "number", [NUMBER_RUN] = "run",       [NUMBER_CONNECTION] = "connection",
    [NUMBER_TURN] = "turn",    [NUMBER_RANDOM] = "random",
};

enum part_kind { PART_LITERAL, PART_NUMBER, PART_KEPT, PART_KEPT_URL, PART_NOISE };

struct part {
    enum part_kind kind;
    const char *text; /* of a literal; borrowed from what was read */
    size_t len;       /* of a literal; the width of a number; the length of noise */
    unsigned index;   /* of a number or a kept text */
};

struct form {
    struct part *parts;
    size_t count;
};

/* A number, or the value of a number with a name. */
struct operand {
    bool is_name;
    unsigned index;
    uint64_t number;
};

struct let {
    unsigned index; /* of the number it sets */
    struct operand source;
    uint64_t divide;
    uint64_t modulo;
    uint64_t times;
    struct operand plus;
};

struct keep {
    unsigned index;
    const char *before;
    const char *after; /* NULL: the end of the line */
};

enum body_kind { BODY_NONE, BODY_PIECES, BODY_TEMPLATE };

struct step {
    char *method;
    struct form target;
    struct form headers;
    struct text header_text; /* what `headers` is cut from, once the step is complete */
    unsigned status;
    bool once;
    unsigned times;

    enum body_kind body_kind;
    struct form body;   /* of a template */
    const char *pieces; /* mapped */
    size_t piece_len;
    size_t piece_count;

    const char *contains; /* NULL: no demand */
    unsigned contains_count;
    struct keep keeps[KEPT_MAX];
    unsigned keep_count;
};

struct script {
    struct step steps[STEPS_MAX];
    unsigned step_count;
    struct let lets[LETS_MAX];
    unsigned let_count;
    char **lines; /* of the file that gives texts to the cycles; NULL without one */
    size_t line_count;
    unsigned line_kept[KEPT_MAX]; /* what the fields of a line are kept as */
    unsigned line_field_count;
    char number_names[NUMBERS_MAX][NAME_BYTES_MAX];
    unsigned number_count;
    char kept_names[KEPT_MAX][NAME_BYTES_MAX];
    unsigned kept_count;
};

void load_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr); /* for good: one message is enough, and it is whole */
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

/* --- texts --- */

void text_reserve(struct text *text, size_t extra)
{
    if (text->len + extra <= text->capacity)
        return;
    size_t capacity = text->capacity == 0 ? 1024 : text->capacity;
    while (capacity < text->len + extra)
        capacity *= 2;
    text->data = realloc(text->data, capacity);
    if (text->data == NULL)
        load_fail("no memory");
    text->capacity = capacity;
}

static void text_add(struct text *text, const char *data, size_t len)
{
    if (len == 0)
        return; /* an empty text has no memory to point into */
    text_reserve(text, len);
    memcpy(text->data + text->len, data, len);
    text->len += len;
}

static void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

static void text_add_number(struct text *text, uint64_t number, size_t width)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (sizeof digits - at < width && at > 0)
        digits[--at] = '0';
    text_add(text, digits + at, sizeof digits - at);
}

static void text_add_url(struct text *text, const char *string)
{
    static const char PLAIN[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char HEX[] = "0123456789ABCDEF";
    for (; *string != '\0'; string++) {
        if (strchr(PLAIN, *string) != NULL) {
            text_add(text, string, 1);
        } else {
            const unsigned byte = (unsigned char)*string;
            text_add(text, (const char[]){ '%', HEX[byte >> 4], HEX[byte & 15] }, 3);
        }
    }
}

/* SplitMix64; bench/steps.py has it too. */
static uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t bits = *state;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

static void text_add_noise(struct text *text, uint64_t *random_state, size_t len)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    text_reserve(text, len);
    uint64_t bits = 0;
    for (size_t i = 0; i < len; i++) {
        bits = i % 10 == 0 ? random_next(random_state) : bits >> 6;
        text->data[text->len++] = LETTERS[bits & 63];
    }
}

/* --- reading: names, numbers, forms --- */

static uint64_t number_of(const char *field)
{
    char *end = NULL;
    const uint64_t number = strtoull(field, &end, 10);
    if (*field == '\0' || *end != '\0')
        load_fail("script: '%s' is not a number", field);
    return number;
}

static bool name_find(char (*names)[NAME_BYTES_MAX], unsigned count, const char *name,
                      unsigned *index)
{
    for (*index = 0; *index < count; ++*index) {
        if (strcmp(names[*index], name) == 0)
            return true;
    }
    return false;
}

/* The index of a name, which is added when it is new. */
static unsigned name_index(char (*names)[NAME_BYTES_MAX], unsigned max, unsigned *count,
                           const char *name)
{
    unsigned index = 0;
    if (name_find(names, *count, name, &index))
        return index;
    if (*count == max)
        load_fail("script: too many names");
    if (snprintf(names[index], NAME_BYTES_MAX, "%s", name) >= NAME_BYTES_MAX)
        load_fail("script: the name '%s' is too long", name);
    ++*count;
    return index;
}

static struct operand operand_of(struct script *script, const char *field)
{
    struct operand operand = { 0 };
    operand.is_name = name_find(script->number_names, script->number_count, field, &operand.index);
    if (!operand.is_name)
        operand.number = number_of(field);
    return operand;
}

static void form_add(struct form *form, struct part part)
{
    form->parts = realloc(form->parts, (form->count + 1) * sizeof *form->parts);
    if (form->parts == NULL)
        load_fail("no memory");
    form->parts[form->count++] = part;
}

/* What stands between the braces of a place. */
static struct part place_part(struct script *script, const char *place, size_t len)
{
    char name[2 * NAME_BYTES_MAX];
    if (len >= sizeof name)
        load_fail("script: the place @{%.*s} is too long", (int)len, place);
    memcpy(name, place, len);
    name[len] = '\0';
    char *option = strchr(name, ':');
    if (option != NULL)
        *option++ = '\0';

    struct part part = { 0 };
    if (strcmp(name, "noise") == 0 && option != NULL) {
        part.kind = PART_NOISE;
        part.len = number_of(option);
    } else if (name_find(script->number_names, script->number_count, name, &part.index)) {
        part.kind = PART_NUMBER;
        part.len = option == NULL ? 0 : number_of(option);
    } else if (name_find(script->kept_names, script->kept_count, name, &part.index)) {
        part.kind = option == NULL ? PART_KEPT : PART_KEPT_URL;
    } else {
        load_fail("script: nothing is named '%s'", name);
    }
    return part;
}

/* Cut a text, which must stay where it is, at its places. */
static struct form form_of(struct script *script, const char *text, size_t len)
{
    struct form form = { 0 };
    const char *end = text + len;
    while (text < end) {
        const char *place = memmem(text, (size_t)(end - text), "@{", 2);
        const char *literal_end = place == NULL ? end : place;
        if (literal_end > text)
            form_add(&form, (struct part){ .kind = PART_LITERAL,
                                           .text = text,
                                           .len = (size_t)(literal_end - text) });
        if (place == NULL)
            break;
        const char *close = memchr(place, '}', (size_t)(end - place));
        if (close == NULL)
            load_fail("script: a place without its end");
        form_add(&form, place_part(script, place + 2, (size_t)(close - place - 2)));
        text = close + 1;
    }
    return form;
}

static const char *file_map(const char *path, size_t *len)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || status.st_size == 0)
        load_fail("%s cannot be read", path);
    *len = (size_t)status.st_size;
    const char *data = mmap(NULL, *len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (data == MAP_FAILED)
        load_fail("%s cannot be mapped", path);
    close(fd);
    return data;
}

/* --- reading: lines --- */

struct line {
    char *fields[FIELDS_MAX];
    unsigned count; /* without the first, which says what it is */
};

static void demand_fields(const struct line *line, unsigned min, unsigned max)
{
    if (line->count < min || line->count > max)
        load_fail("script: '%s' has %u fields", line->fields[0], line->count);
}

static void read_let(struct script *script, const struct line *line)
{
    demand_fields(line, 6, 6);
    if (script->let_count == LETS_MAX)
        load_fail("script: too many lets");
    struct let *let = &script->lets[script->let_count++];
    let->source = operand_of(script, line->fields[2]);
    let->divide = number_of(line->fields[3]);
    let->modulo = number_of(line->fields[4]);
    let->times = number_of(line->fields[5]);
    let->plus = operand_of(script, line->fields[6]);
    if (let->divide == 0)
        load_fail("script: division by zero");
    let->index =
        name_index(script->number_names, NUMBERS_MAX, &script->number_count, line->fields[1]);
    if (let->index < NUMBERS_GIVEN)
        load_fail("script: '%s' is given", line->fields[1]);
}

static void lines_split(struct script *script, char *text)
{
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        if (*line == '\0')
            continue;
        script->lines = realloc(script->lines, (script->line_count + 1) * sizeof *script->lines);
        if (script->lines == NULL)
            load_fail("no memory");
        script->lines[script->line_count++] = line;
    }
}

static void read_lines(struct script *script, const struct line *line)
{
    demand_fields(line, 2, 1 + KEPT_MAX);
    size_t len = 0;
    const char *file = file_map(line->fields[1], &len);
    char *text = strndup(file, len); /* kept: the lines point into it */
    if (text == NULL)
        load_fail("no memory");
    lines_split(script, text);
    script->line_field_count = line->count - 1;
    for (unsigned i = 0; i < script->line_field_count; i++)
        script->line_kept[i] =
            name_index(script->kept_names, KEPT_MAX, &script->kept_count, line->fields[2 + i]);
}

static void read_request(struct script *script, const struct line *line)
{
    demand_fields(line, 3, 3);
    if (script->step_count == STEPS_MAX)
        load_fail("script: too many requests");
    struct step *step = &script->steps[script->step_count++];
    step->method = line->fields[1];
    step->target = form_of(script, line->fields[2], strlen(line->fields[2]));
    step->status = (unsigned)number_of(line->fields[3]);
    step->times = 1;
}

static void read_pieces(struct step *step, const struct line *line)
{
    demand_fields(line, 2, 2);
    size_t len = 0;
    step->body_kind = BODY_PIECES;
    step->pieces = file_map(line->fields[1], &len);
    step->piece_len = number_of(line->fields[2]);
    if (step->piece_len == 0 || len < step->piece_len)
        load_fail("script: %s holds no piece of %zu bytes", line->fields[1], step->piece_len);
    step->piece_count = len / step->piece_len;
}

static void read_template(struct script *script, struct step *step, const struct line *line)
{
    demand_fields(line, 1, 1);
    size_t len = 0;
    const char *text = file_map(line->fields[1], &len);
    step->body_kind = BODY_TEMPLATE;
    step->body = form_of(script, text, len);
}

static void read_keep(struct script *script, struct step *step, const struct line *line)
{
    demand_fields(line, 2, 3);
    if (step->keep_count == KEPT_MAX)
        load_fail("script: too many keeps");
    step->keeps[step->keep_count++] = (struct keep){
        .index = name_index(script->kept_names, KEPT_MAX, &script->kept_count, line->fields[1]),
        .before = line->fields[2],
        .after = line->count == 3 ? line->fields[3] : NULL,
    };
}

/* A line that belongs to the request above it. */
static void read_detail(struct script *script, const struct line *line)
{
    const char *kind = line->fields[0];
    if (script->step_count == 0)
        load_fail("script: '%s' before the first request", kind);
    struct step *step = &script->steps[script->step_count - 1];

    if (strcmp(kind, "once") == 0) {
        step->once = true;
    } else if (strcmp(kind, "times") == 0) {
        demand_fields(line, 1, 1);
        step->times = (unsigned)number_of(line->fields[1]);
    } else if (strcmp(kind, "header") == 0) {
        demand_fields(line, 1, 1);
        text_add_string(&step->header_text, line->fields[1]);
        text_add_string(&step->header_text, "\r\n");
    } else if (strcmp(kind, "pieces") == 0) {
        read_pieces(step, line);
    } else if (strcmp(kind, "template") == 0) {
        read_template(script, step, line);
    } else if (strcmp(kind, "contains") == 0) {
        demand_fields(line, 2, 2);
        step->contains_count = (unsigned)number_of(line->fields[1]);
        step->contains = line->fields[2];
    } else if (strcmp(kind, "keep") == 0) {
        read_keep(script, step, line);
    } else {
        load_fail("script: '%s' is not known", kind);
    }
}

static void read_line(struct script *script, char *text)
{
    struct line line = { .fields = { text } };
    for (char *tab = strchr(text, '\t'); tab != NULL; tab = strchr(tab, '\t')) {
        *tab++ = '\0';
        if (++line.count == FIELDS_MAX)
            load_fail("script: too many fields");
        line.fields[line.count] = tab;
    }
    if (strcmp(text, "let") == 0)
        read_let(script, &line);
    else if (strcmp(text, "lines") == 0)
        read_lines(script, &line);
    else if (strcmp(text, "request") == 0)
        read_request(script, &line);
    else
        read_detail(script, &line);
}

const struct script *script_read(const char *path)
{
    size_t len = 0;
    const char *file = file_map(path, &len);
    char *text = strndup(file, len); /* kept: what is read points into it */
    struct script *script = calloc(1, sizeof *script);
    if (text == NULL || script == NULL)
        load_fail("no memory");
    for (unsigned i = 0; i < NUMBERS_GIVEN; i++)
        name_index(script->number_names, NUMBERS_MAX, &script->number_count, GIVEN_NAMES[i]);

    for (char *rest = text; *rest != '\0';) {
        char *line = rest;
        rest = strchrnul(line, '\n');
        if (*rest != '\0')
            *rest++ = '\0';
        if (*line != '\0')
            read_line(script, line);
    }
    for (unsigned i = 0; i < script->step_count; i++) {
        struct step *step = &script->steps[i];
        step->headers = form_of(script, step->header_text.data, step->header_text.len);
    }
    if (script->step_count == 0)
        load_fail("script: no request");
    return script;
}

unsigned script_step_count(const struct script *script)
{
    return script->step_count;
}

bool script_step_is_once(const struct script *script, unsigned step)
{
    return script->steps[step].once;
}

unsigned script_step_times(const struct script *script, unsigned step)
{
    return script->steps[step].times;
}

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
