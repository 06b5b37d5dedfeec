/*
 * config.c - reads settings in two passes: the command line, then the config file for what the
 * command line left open.  Both come down to one name and one text, which setting_set() reads by
 * the kind of the setting.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/slice.h"

enum {
    COUNT_MAX = 1000000,
    MEBIBYTES_MAX = 1 << 30, /* a petabyte; in bytes still far from 64 bits */
    HELP_COLUMN = 35,        /* where help texts begin */
};

enum setting_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_PORT,
    KIND_COUNT,
    KIND_MEBIBYTES,
};

/* The index of each setting in SETTINGS. */
enum setting_id {
#define GROUP(title)
#define SETTING(field, name, letter, kind, initial, placeholder, help) SETTING_##field,
#include "settings.def"
#undef SETTING
#undef GROUP
    SETTING_COUNT,
};

struct setting {
    const char *name;
    char letter; /* 0: none */
    enum setting_kind kind;
    const char *initial;
    const char *placeholder; /* NULL for flags */
    const char *help;
    size_t offset; /* of the field in struct config */
};

static const struct setting SETTINGS[SETTING_COUNT] = {
#define GROUP(title)
#define SETTING(field, name, letter, kind, initial, placeholder, help)                             \
    [SETTING_##field] = {                                                                          \
        (name),                                                                                    \
        (letter),                                                                                  \
        KIND_##kind,                                                                               \
        (initial),                                                                                 \
        (placeholder),                                                                             \
        (help),                                                                                    \
        offsetof(struct config, field),                                                            \
    },
#include "settings.def"
#undef SETTING
#undef GROUP
};

/* Who gave a setting its value. */
enum source {
    SOURCE_INITIAL,
    SOURCE_FILE,
    SOURCE_COMMAND_LINE,
};

struct parser {
    struct config config;
    struct arena *arena;
    FILE *err;
    enum source sources[SETTING_COUNT];
};

__attribute__((format(printf, 2, 3))) static enum config_status fail(struct parser *parser,
                                                                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("zaffre: ", parser->err);
    vfprintf(parser->err, format, args);
    fputc('\n', parser->err);
    va_end(args);
    return CONFIG_INVALID;
}

static size_t setting_index(const struct setting *setting)
{
    return (size_t)(setting - SETTINGS);
}

static const struct setting *setting_find(struct slice name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (slice_is(name, SETTINGS[i].name))
            return &SETTINGS[i];
    }
    return NULL;
}

static const struct setting *setting_find_letter(struct slice letter)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (letter.len == 1 && letter.data[0] == SETTINGS[i].letter)
            return &SETTINGS[i];
    }
    return NULL;
}

/* --- values --- */

static bool read_flag(const char *text, bool *flag)
{
    *flag = strcmp(text, "true") == 0;
    return *flag || strcmp(text, "false") == 0;
}

static bool read_number(const char *text, uint64_t max, uint64_t *number)
{
    return decimal_parse_u64(slice_of(text), number) == OK && *number <= max;
}

/* Decimal digits with an optional fraction; strtod alone would take signs, hex and names too. */
static bool read_mebibytes(const char *text, uint64_t *bytes)
{
    if (text[strspn(text, "0123456789.")] != '\0')
        return false;
    char *end;
    const double mebibytes = strtod(text, &end);
    if (end == text || *end != '\0' || mebibytes > MEBIBYTES_MAX)
        return false;
    *bytes = (uint64_t)(mebibytes * 1024 * 1024);
    return true;
}

/* Read `text` into the setting's field.  Returns what the text should have been, or NULL. */
static const char *setting_set(const struct setting *setting, const char *text,
                               struct config *config)
{
    void *const field = (char *)config + setting->offset;
    uint64_t number;
    switch (setting->kind) {
    case KIND_FLAG:
        return read_flag(text, field) ? NULL : "true or false";
    case KIND_TEXT:
        *(const char **)field = text;
        return NULL;
    case KIND_PORT:
        if (!read_number(text, UINT16_MAX, &number))
            return "a port number (0 to 65535)";
        *(uint16_t *)field = (uint16_t)number;
        return NULL;
    case KIND_COUNT:
        if (!read_number(text, COUNT_MAX, &number))
            return "a whole number (0 to 1000000)";
        *(uint32_t *)field = (uint32_t)number;
        return NULL;
    case KIND_MEBIBYTES:
        return read_mebibytes(text, field) ? NULL : "a number of MiB";
    }
    assert(false);
    return NULL;
}

static void set_initial_values(struct config *config)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (SETTINGS[i].initial == NULL)
            continue;
        const char *wanted = setting_set(&SETTINGS[i], SETTINGS[i].initial, config);
        assert(wanted == NULL);
    }
}

/* `label` is the setting as the user wrote it, for the message. */
static enum config_status give(struct parser *parser, const struct setting *setting,
                               const char *label, const char *text, enum source source)
{
    if (text[0] == '\0')
        return fail(parser, "%s needs a value", label);
    const char *wanted = setting_set(setting, text, &parser->config);
    if (wanted != NULL)
        return fail(parser, "%s: \"%s\" is not %s", label, text, wanted);
    parser->sources[setting_index(setting)] = source;
    return CONFIG_RUN;
}

/* --- command line --- */

/* A value of its own, not the next flag. */
static bool is_value(const char *argument)
{
    return argument != NULL && (argument[0] != '-' || argument[1] == '\0');
}

/* Read the argument at `*at` and the value that may follow it; `*at` moves past both. */
static enum config_status read_argument(struct parser *parser, char *const **at)
{
    const char *argument = *(*at)++;
    if (is_value(argument))
        return fail(parser, "unexpected argument \"%s\"; see zaffre --help", argument);

    const struct slice whole = slice_of(argument);
    const struct slice label = slice_head(whole, slice_find_byte(whole, '='));
    const struct setting *setting = label.data[1] == '-'
                                        ? setting_find(slice_from(label, 2))
                                        : setting_find_letter(slice_from(label, 1));
    const char *label_text = arena_copy(parser->arena, label).data;
    if (setting == NULL)
        return fail(parser, "unknown flag %s; see zaffre --help", label_text);

    const char *text = NULL;
    if (label.len < whole.len)
        text = argument + label.len + 1;
    else if (setting->kind == KIND_FLAG)
        text = "true";
    else if (is_value(**at))
        text = *(*at)++;
    else
        text = "";
    return give(parser, setting, label_text, text, SOURCE_COMMAND_LINE);
}

/* --- config file --- */

static enum config_status read_line(struct parser *parser, struct slice line, const char *where)
{
    line = slice_trim(line);
    if (line.len == 0 || line.data[0] == '#')
        return CONFIG_RUN;

    const size_t equals = slice_find_byte(line, '=');
    if (equals == line.len)
        return fail(parser, "%s: expected name = value", where);
    const struct slice name = arena_copy(parser->arena, slice_trim(slice_head(line, equals)));
    const struct slice text = arena_copy(parser->arena, slice_trim(slice_from(line, equals + 1)));

    const struct setting *setting = setting_find(name);
    if (setting == NULL)
        return fail(parser, "%s: unknown setting %s", where, name.data);
    const size_t index = setting_index(setting);
    if (index == SETTING_config_path || index == SETTING_help || index == SETTING_version)
        return fail(parser, "%s: %s is for the command line only", where, name.data);
    if (parser->sources[index] == SOURCE_COMMAND_LINE)
        return CONFIG_RUN;
    const char *label = arena_printf(parser->arena, "%s: %s", where, name.data).data;
    return give(parser, setting, label, text.data, SOURCE_FILE);
}

static enum config_status read_lines(struct parser *parser, const char *path, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    enum config_status status = CONFIG_RUN;
    for (int number = 1; status == CONFIG_RUN && (len = getline(&line, &capacity, file)) >= 0;
         number++) {
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            len--;
        const char *where = arena_printf(parser->arena, "%s:%d", path, number).data;
        status = read_line(parser, slice_make(line, (size_t)len), where);
    }
    free(line);
    if (status == CONFIG_RUN && ferror(file))
        return fail(parser, "--config: cannot read %s: %s", path, strerror(errno));
    return status;
}

static enum config_status read_file(struct parser *parser, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return fail(parser, "--config: cannot open %s: %s", path, strerror(errno));
    const enum config_status status = read_lines(parser, path, file);
    fclose(file);
    return status;
}

/* --- rules between settings --- */

static bool is_given(const struct parser *parser, enum setting_id id)
{
    return parser->sources[id] != SOURCE_INITIAL;
}

static enum config_status check(struct parser *parser)
{
    const struct config *config = &parser->config;
    /* The two rules on memory are azurite's: data never goes silently where it was not asked to. */
    if (config->in_memory && is_given(parser, SETTING_location))
        return fail(parser, "--inMemoryPersistence and --location exclude each other");
    if (!config->in_memory && is_given(parser, SETTING_extent_memory_limit_bytes))
        return fail(parser, "--extentMemoryLimit needs --inMemoryPersistence");
    if (config->cert_path != NULL && config->key_path == NULL && config->cert_password == NULL)
        return fail(parser, "--cert needs --key (PEM) or --pwd (.pfx)");
    /* Without a certificate the server would speak plain HTTP to a user who asked for TLS. */
    if (config->cert_path == NULL && config->key_path != NULL)
        return fail(parser, "--key needs --cert");
    if (config->cert_path == NULL && config->cert_password != NULL)
        return fail(parser, "--pwd needs --cert");
    if (config->oauth != NULL && strcmp(config->oauth, "basic") != 0)
        return fail(parser, "--oauth: \"%s\" is not a level (basic)", config->oauth);
    if (config->committers == 0)
        return fail(parser, "--committers: there has to be at least one");
    return CONFIG_RUN;
}

/* --- help --- */

static void print_setting(FILE *out, const struct setting *setting)
{
    int column =
        setting->letter != 0 ? fprintf(out, "  -%c, ", setting->letter) : fprintf(out, "      ");
    column += fprintf(out, "--%s", setting->name);
    if (setting->placeholder != NULL)
        column += fprintf(out, " %s", setting->placeholder);
    assert(column < HELP_COLUMN);

    fprintf(out, "%*s", HELP_COLUMN - column, "");
    for (const char *at = setting->help; *at != '\0'; at++) {
        fputc(*at, out);
        if (*at == '\n')
            fprintf(out, "%*s", HELP_COLUMN, "");
    }
    if (setting->initial != NULL)
        fprintf(out, " (default %s)", setting->initial);
    fputc('\n', out);
}

static void print_help(FILE *out)
{
    fputs("Usage: zaffre [flags]\n"
          "       zaffre fsck [--location DIR]   check the data in DIR\n"
          "       zaffre backup --to DIR         copy the data while the server runs\n"
          "       zaffre restore --from DIR      make a data directory of a backup\n"
          "\n"
          "The Azure Storage services on your own machine, durable.  Takes azurite's flags.\n",
          out);
#define GROUP(title) fputs("\n" title "\n", out);
#define SETTING(field, name, letter, kind, initial, placeholder, help)                             \
    print_setting(out, &SETTINGS[SETTING_##field]);
#include "settings.def"
#undef SETTING
#undef GROUP
    fputs("\n"
          "AZURITE_ACCOUNTS in the environment names the accounts: name:key1[:key2];...\n"
          "Without it there is devstoreaccount1 with its well-known key.\n",
          out);
}

enum config_status config_parse(struct config *config, struct arena *arena, int argc,
                                char *const argv[], FILE *out, FILE *err)
{
    assert(argc >= 1);
    assert(argv[argc] == NULL);
    struct parser parser = { .arena = arena, .err = err };
    set_initial_values(&parser.config);

    enum config_status status = CONFIG_RUN;
    for (char *const *at = argv + 1; status == CONFIG_RUN && *at != NULL;)
        status = read_argument(&parser, &at);
    if (status != CONFIG_RUN)
        return status;

    if (parser.config.help) {
        print_help(out);
        return CONFIG_DONE;
    }
    if (parser.config.version) {
        fprintf(out, "zaffre %s\n", ZAFFRE_VERSION);
        return CONFIG_DONE;
    }
    if (parser.config.config_path != NULL)
        status = read_file(&parser, parser.config.config_path);
    if (status == CONFIG_RUN)
        status = check(&parser);
    if (status == CONFIG_RUN)
        *config = parser.config;
    return status;
}
