/*
 * load_script.c - reads scripts of the load generator; the language is described in the header.
 */
#include "load_script.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load_fail.h"
#include "load_script_internal.h"

enum {
    FIELDS_MAX = 8, /* of a line */
};

static const char *const GIVEN_NAMES[NUMBERS_GIVEN] = {
    [NUMBER_CYCLE] = "number", [NUMBER_RUN] = "run",       [NUMBER_CONNECTION] = "connection",
    [NUMBER_TURN] = "turn",    [NUMBER_RANDOM] = "random",
};

/* --- names, numbers, forms --- */

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

/* --- lines --- */

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
