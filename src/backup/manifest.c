#include "backup/manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/strbuf.h"

static const char FIRST_LINE[] = "zaffre-backup 1";
static const char FIRST_WORD[] = "zaffre-backup";

enum {
    CRC_DIGITS = 8,
    FILES_FIRST = 64,
};

static const char *const KIND_WORDS[] = {
    [MANIFEST_META] = "meta",
    [MANIFEST_EXTENT] = "extent",
};

void manifest_add(struct manifest *manifest, const struct manifest_file *file)
{
    if (manifest->file_count == manifest->file_capacity) {
        const size_t capacity =
            manifest->file_capacity == 0 ? FILES_FIRST : manifest->file_capacity * 2;
        struct manifest_file *files = arena_alloc(manifest->arena, capacity * sizeof(*files));
        if (manifest->file_count > 0)
            memcpy(files, manifest->files, manifest->file_count * sizeof(*files));
        manifest->files = files;
        manifest->file_capacity = capacity;
    }
    struct manifest_file *added = &manifest->files[manifest->file_count++];
    *added = *file;
    added->name = arena_copy(manifest->arena, slice_of(file->name)).data;
}

static int compare_files(const void *a, const void *b)
{
    const struct manifest_file *left = a;
    const struct manifest_file *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return strcmp(left->name, right->name);
}

void manifest_sort(struct manifest *manifest)
{
    if (manifest->file_count > 1)
        qsort(manifest->files, manifest->file_count, sizeof(*manifest->files), compare_files);
}

const struct manifest_file *manifest_find(const struct manifest *manifest, enum manifest_kind kind,
                                          const char *name)
{
    if (manifest->file_count == 0)
        return NULL;
    const struct manifest_file wanted = { .kind = kind, .name = name };
    return bsearch(&wanted, manifest->files, manifest->file_count, sizeof(*manifest->files),
                   compare_files);
}

/* --- text --- */

struct slice manifest_encode(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    struct strbuf out;
    strbuf_init(&out, arena);
    strbuf_add(&out, arena_printf(arena, "%s\nversion %s\nmade %s\n", FIRST_LINE, manifest->version,
                                  manifest->made));
    if (manifest->finding_count == MANIFEST_UNCHECKED)
        strbuf_add_text(&out, "findings unchecked\n");
    else
        strbuf_add(&out, arena_printf(arena, "findings %" PRIu64 "\n", manifest->finding_count));
    for (size_t i = 0; i < manifest->file_count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        assert(i == 0 || compare_files(file - 1, file) < 0);
        strbuf_add(&out,
                   arena_printf(arena, "%s %s %" PRIu64 " %08" PRIx32 "\n", KIND_WORDS[file->kind],
                                file->name, file->size_bytes, file->crc));
    }
    const uint32_t crc = digest_crc32c(0, slice_make(out.data, out.len));
    strbuf_add(&out, arena_printf(arena, "end %08" PRIx32 "\n", crc));
    return slice_make(out.data, out.len);
}

/* What is left of a text. */
struct reader {
    struct arena *arena;
    struct slice rest;
};

/* The next line without its end; false when there is none. */
static bool read_line(struct reader *reader, struct slice *line)
{
    const size_t len = slice_find_byte(reader->rest, '\n');
    if (len == reader->rest.len)
        return false;
    *line = slice_head(reader->rest, len);
    reader->rest = slice_from(reader->rest, len + 1);
    return true;
}

/* The words up to the next space; what is left is in `line`. */
static struct slice read_word(struct slice *line)
{
    const size_t len = slice_find_byte(*line, ' ');
    const struct slice word = slice_head(*line, len);
    *line = slice_from(*line, len < line->len ? len + 1 : len);
    return word;
}

/* A line `name value`; the value as text, or NULL. */
static const char *read_value(struct reader *reader, const char *name)
{
    struct slice line;
    if (!read_line(reader, &line) || !slice_is(read_word(&line), name) || line.len == 0)
        return NULL;
    return arena_copy(reader->arena, line).data;
}

static bool read_crc(struct slice text, uint32_t *crc)
{
    if (text.len != CRC_DIGITS)
        return false;
    *crc = 0;
    for (size_t i = 0; i < text.len; i++) {
        const int digit = hex_digit_value(text.data[i]);
        if (digit < 0)
            return false;
        *crc = *crc << 4 | (uint32_t)digit;
    }
    return true;
}

/* Names become paths: they stay in their directory. */
static bool is_file_name(struct slice name)
{
    return name.len > 0 && name.data[0] != '.' && slice_find_byte(name, '/') == name.len &&
           slice_find_byte(name, '\0') == name.len;
}

static bool read_file(struct reader *reader, struct slice line, struct manifest_file *file)
{
    const struct slice kind = read_word(&line);
    const struct slice name = read_word(&line);
    const struct slice size = read_word(&line);
    if (slice_is(kind, KIND_WORDS[MANIFEST_META]))
        file->kind = MANIFEST_META;
    else if (slice_is(kind, KIND_WORDS[MANIFEST_EXTENT]))
        file->kind = MANIFEST_EXTENT;
    else
        return false;
    file->name = arena_copy(reader->arena, name).data;
    return is_file_name(name) && decimal_parse_u64(size, &file->size_bytes) == OK &&
           read_crc(line, &file->crc);
}

/* The lines of files, up to that of the end, which has to be the last and right. */
static bool read_files(struct reader *reader, struct slice text, struct manifest *manifest)
{
    for (;;) {
        const size_t begin = text.len - reader->rest.len;
        struct slice line;
        if (!read_line(reader, &line))
            return false;
        struct slice rest = line;
        if (slice_is(read_word(&rest), "end")) {
            uint32_t crc;
            return read_crc(rest, &crc) && crc == digest_crc32c(0, slice_head(text, begin)) &&
                   reader->rest.len == 0;
        }
        struct manifest_file file;
        if (!read_file(reader, line, &file))
            return false;
        const size_t count = manifest->file_count;
        if (count > 0 && compare_files(&manifest->files[count - 1], &file) >= 0)
            return false;
        manifest_add(manifest, &file);
    }
}

enum err manifest_decode(struct arena *arena, struct slice text, struct manifest *manifest)
{
    *manifest = (struct manifest){ .arena = arena };
    struct reader reader = { .arena = arena, .rest = text };
    struct slice line;
    if (!read_line(&reader, &line))
        return ERR_MALFORMED;
    if (!slice_is(line, FIRST_LINE))
        return slice_is(read_word(&line), FIRST_WORD) ? ERR_FORMAT_UNKNOWN : ERR_MALFORMED;
    manifest->version = read_value(&reader, "version");
    manifest->made = read_value(&reader, "made");
    const char *findings = read_value(&reader, "findings");
    if (manifest->version == NULL || manifest->made == NULL || findings == NULL)
        return ERR_MALFORMED;
    manifest->finding_count = MANIFEST_UNCHECKED;
    if (strcmp(findings, "unchecked") != 0 &&
        decimal_parse_u64(slice_of(findings), &manifest->finding_count) != OK)
        return ERR_MALFORMED;
    return read_files(&reader, text, manifest) ? OK : ERR_MALFORMED;
}

/* --- comparing --- */

/* The first file of a kind in `a` that is not the same in `b`, or NULL. */
static const char *find_missing(const struct manifest *a, const struct manifest *b,
                                enum manifest_kind kind)
{
    for (size_t i = 0; i < a->file_count; i++) {
        const struct manifest_file *file = &a->files[i];
        if (file->kind != kind)
            continue;
        const struct manifest_file *other = manifest_find(b, kind, file->name);
        if (other == NULL || other->size_bytes != file->size_bytes || other->crc != file->crc)
            return file->name;
    }
    return NULL;
}

const char *manifest_difference(const struct manifest *a, const struct manifest *b,
                                enum manifest_kind kind)
{
    const char *name = find_missing(a, b, kind);
    return name != NULL ? name : find_missing(b, a, kind);
}
