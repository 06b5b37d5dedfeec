#include "service/file/file_name.h"

#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/account_partition.h"
#include "service/limits.h"

/* --- upper case --- */

/* Small letters from `first` to `last`, every `step`th: their capitals are `delta` away. */
struct upper_run {
    uint16_t first;
    uint16_t last;
    uint16_t step;
    int32_t delta;
};

/*
 * The simple upper-case mappings of the basic plane of Unicode 14 behind ASCII that have a way
 * back, and the final sigma; without Georgian and Cherokee, whose second case is younger than
 * NTFS.  It never changes: rows are stored under what it says.
 */
static const struct upper_run UPPER_RUNS[] = {
    { 0x00E0, 0x00F6, 1, -32 },    { 0x00F8, 0x00FE, 1, -32 },    { 0x00FF, 0x00FF, 1, 121 },
    { 0x0101, 0x012F, 2, -1 },     { 0x0133, 0x0137, 2, -1 },     { 0x013A, 0x0148, 2, -1 },
    { 0x014B, 0x0177, 2, -1 },     { 0x017A, 0x017E, 2, -1 },     { 0x0180, 0x0180, 1, 195 },
    { 0x0183, 0x0185, 2, -1 },     { 0x0188, 0x0188, 1, -1 },     { 0x018C, 0x018C, 1, -1 },
    { 0x0192, 0x0192, 1, -1 },     { 0x0195, 0x0195, 1, 97 },     { 0x0199, 0x0199, 1, -1 },
    { 0x019A, 0x019A, 1, 163 },    { 0x019E, 0x019E, 1, 130 },    { 0x01A1, 0x01A5, 2, -1 },
    { 0x01A8, 0x01A8, 1, -1 },     { 0x01AD, 0x01AD, 1, -1 },     { 0x01B0, 0x01B0, 1, -1 },
    { 0x01B4, 0x01B6, 2, -1 },     { 0x01B9, 0x01B9, 1, -1 },     { 0x01BD, 0x01BD, 1, -1 },
    { 0x01BF, 0x01BF, 1, 56 },     { 0x01C6, 0x01C6, 1, -2 },     { 0x01C9, 0x01C9, 1, -2 },
    { 0x01CC, 0x01CC, 1, -2 },     { 0x01CE, 0x01DC, 2, -1 },     { 0x01DD, 0x01DD, 1, -79 },
    { 0x01DF, 0x01EF, 2, -1 },     { 0x01F3, 0x01F3, 1, -2 },     { 0x01F5, 0x01F5, 1, -1 },
    { 0x01F9, 0x021F, 2, -1 },     { 0x0223, 0x0233, 2, -1 },     { 0x023C, 0x023C, 1, -1 },
    { 0x023F, 0x0240, 1, 10815 },  { 0x0242, 0x0242, 1, -1 },     { 0x0247, 0x024F, 2, -1 },
    { 0x0250, 0x0250, 1, 10783 },  { 0x0251, 0x0251, 1, 10780 },  { 0x0252, 0x0252, 1, 10782 },
    { 0x0253, 0x0253, 1, -210 },   { 0x0254, 0x0254, 1, -206 },   { 0x0256, 0x0257, 1, -205 },
    { 0x0259, 0x0259, 1, -202 },   { 0x025B, 0x025B, 1, -203 },   { 0x025C, 0x025C, 1, 42319 },
    { 0x0260, 0x0260, 1, -205 },   { 0x0261, 0x0261, 1, 42315 },  { 0x0263, 0x0263, 1, -207 },
    { 0x0265, 0x0265, 1, 42280 },  { 0x0266, 0x0266, 1, 42308 },  { 0x0268, 0x0268, 1, -209 },
    { 0x0269, 0x0269, 1, -211 },   { 0x026A, 0x026A, 1, 42308 },  { 0x026B, 0x026B, 1, 10743 },
    { 0x026C, 0x026C, 1, 42305 },  { 0x026F, 0x026F, 1, -211 },   { 0x0271, 0x0271, 1, 10749 },
    { 0x0272, 0x0272, 1, -213 },   { 0x0275, 0x0275, 1, -214 },   { 0x027D, 0x027D, 1, 10727 },
    { 0x0280, 0x0280, 1, -218 },   { 0x0282, 0x0282, 1, 42307 },  { 0x0283, 0x0283, 1, -218 },
    { 0x0287, 0x0287, 1, 42282 },  { 0x0288, 0x0288, 1, -218 },   { 0x0289, 0x0289, 1, -69 },
    { 0x028A, 0x028B, 1, -217 },   { 0x028C, 0x028C, 1, -71 },    { 0x0292, 0x0292, 1, -219 },
    { 0x029D, 0x029D, 1, 42261 },  { 0x029E, 0x029E, 1, 42258 },  { 0x0371, 0x0373, 2, -1 },
    { 0x0377, 0x0377, 1, -1 },     { 0x037B, 0x037D, 1, 130 },    { 0x03AC, 0x03AC, 1, -38 },
    { 0x03AD, 0x03AF, 1, -37 },    { 0x03B1, 0x03C1, 1, -32 },    { 0x03C2, 0x03C2, 1, -31 },
    { 0x03C3, 0x03CB, 1, -32 },    { 0x03CC, 0x03CC, 1, -64 },    { 0x03CD, 0x03CE, 1, -63 },
    { 0x03D7, 0x03D7, 1, -8 },     { 0x03D9, 0x03EF, 2, -1 },     { 0x03F2, 0x03F2, 1, 7 },
    { 0x03F3, 0x03F3, 1, -116 },   { 0x03F8, 0x03F8, 1, -1 },     { 0x03FB, 0x03FB, 1, -1 },
    { 0x0430, 0x044F, 1, -32 },    { 0x0450, 0x045F, 1, -80 },    { 0x0461, 0x0481, 2, -1 },
    { 0x048B, 0x04BF, 2, -1 },     { 0x04C2, 0x04CE, 2, -1 },     { 0x04CF, 0x04CF, 1, -15 },
    { 0x04D1, 0x052F, 2, -1 },     { 0x0561, 0x0586, 1, -48 },    { 0x1D79, 0x1D79, 1, 35332 },
    { 0x1D7D, 0x1D7D, 1, 3814 },   { 0x1D8E, 0x1D8E, 1, 35384 },  { 0x1E01, 0x1E95, 2, -1 },
    { 0x1EA1, 0x1EFF, 2, -1 },     { 0x1F00, 0x1F07, 1, 8 },      { 0x1F10, 0x1F15, 1, 8 },
    { 0x1F20, 0x1F27, 1, 8 },      { 0x1F30, 0x1F37, 1, 8 },      { 0x1F40, 0x1F45, 1, 8 },
    { 0x1F51, 0x1F57, 2, 8 },      { 0x1F60, 0x1F67, 1, 8 },      { 0x1F70, 0x1F71, 1, 74 },
    { 0x1F72, 0x1F75, 1, 86 },     { 0x1F76, 0x1F77, 1, 100 },    { 0x1F78, 0x1F79, 1, 128 },
    { 0x1F7A, 0x1F7B, 1, 112 },    { 0x1F7C, 0x1F7D, 1, 126 },    { 0x1F80, 0x1F87, 1, 8 },
    { 0x1F90, 0x1F97, 1, 8 },      { 0x1FA0, 0x1FA7, 1, 8 },      { 0x1FB0, 0x1FB1, 1, 8 },
    { 0x1FB3, 0x1FB3, 1, 9 },      { 0x1FC3, 0x1FC3, 1, 9 },      { 0x1FD0, 0x1FD1, 1, 8 },
    { 0x1FE0, 0x1FE1, 1, 8 },      { 0x1FE5, 0x1FE5, 1, 7 },      { 0x1FF3, 0x1FF3, 1, 9 },
    { 0x214E, 0x214E, 1, -28 },    { 0x2170, 0x217F, 1, -16 },    { 0x2184, 0x2184, 1, -1 },
    { 0x24D0, 0x24E9, 1, -26 },    { 0x2C30, 0x2C5F, 1, -48 },    { 0x2C61, 0x2C61, 1, -1 },
    { 0x2C65, 0x2C65, 1, -10795 }, { 0x2C66, 0x2C66, 1, -10792 }, { 0x2C68, 0x2C6C, 2, -1 },
    { 0x2C73, 0x2C73, 1, -1 },     { 0x2C76, 0x2C76, 1, -1 },     { 0x2C81, 0x2CE3, 2, -1 },
    { 0x2CEC, 0x2CEE, 2, -1 },     { 0x2CF3, 0x2CF3, 1, -1 },     { 0x2D00, 0x2D25, 1, -7264 },
    { 0x2D27, 0x2D27, 1, -7264 },  { 0x2D2D, 0x2D2D, 1, -7264 },  { 0xA641, 0xA66D, 2, -1 },
    { 0xA681, 0xA69B, 2, -1 },     { 0xA723, 0xA72F, 2, -1 },     { 0xA733, 0xA76F, 2, -1 },
    { 0xA77A, 0xA77C, 2, -1 },     { 0xA77F, 0xA787, 2, -1 },     { 0xA78C, 0xA78C, 1, -1 },
    { 0xA791, 0xA793, 2, -1 },     { 0xA794, 0xA794, 1, 48 },     { 0xA797, 0xA7A9, 2, -1 },
    { 0xA7B5, 0xA7C3, 2, -1 },     { 0xA7C8, 0xA7CA, 2, -1 },     { 0xA7D1, 0xA7D1, 1, -1 },
    { 0xA7D7, 0xA7D9, 2, -1 },     { 0xA7F6, 0xA7F6, 1, -1 },     { 0xAB53, 0xAB53, 1, -928 },
    { 0xFF41, 0xFF5A, 1, -32 },
};

static uint32_t upper_of(uint32_t point)
{
    if (point < 0x80)
        return point >= 'a' && point <= 'z' ? point - ('a' - 'A') : point;
    size_t low = 0;
    size_t high = sizeof(UPPER_RUNS) / sizeof(UPPER_RUNS[0]);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct upper_run *run = &UPPER_RUNS[middle];
        if (point > run->last)
            low = middle + 1;
        else if (point < run->first)
            high = middle;
        else if ((point - run->first) % run->step == 0)
            return (uint32_t)((int32_t)point + run->delta);
        else
            return point;
    }
    return point;
}

/* The first character of well-formed UTF-8, which is not empty, and how many bytes it takes. */
static uint32_t utf8_first(struct slice text, size_t *len)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    if (bytes[0] < 0x80) {
        *len = 1;
        return bytes[0];
    }
    *len = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    uint32_t point = bytes[0] & (0x7fU >> *len);
    for (size_t i = 1; i < *len; i++)
        point = point << 6 | (bytes[i] & 0x3fU);
    return point;
}

/* Of a character of the basic plane; how many bytes were written. */
static size_t utf8_put(char *to, uint32_t point)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xc0 | point >> 6);
        to[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | point >> 12);
    to[1] = (char)(0x80 | (point >> 6 & 0x3f));
    to[2] = (char)(0x80 | (point & 0x3f));
    return 3;
}

struct slice file_name_upper(struct arena *arena, struct slice name)
{
    /* Two bytes can become three. */
    char *upper = arena_bytes(arena, name.len + name.len / 2);
    size_t upper_len = 0;
    size_t len;
    for (size_t i = 0; i < name.len; i += len) {
        const uint32_t point = utf8_first(slice_from(name, i), &len);
        const uint32_t mapped = upper_of(point);
        if (mapped != point) {
            upper_len += utf8_put(upper + upper_len, mapped);
        } else {
            memcpy(upper + upper_len, name.data + i, len);
            upper_len += len;
        }
    }
    return slice_make(upper, upper_len);
}

/* --- naming rules --- */

enum err share_name_check(struct slice name)
{
    return resource_name_check(name);
}

/* The names of DOS devices, and those that mean a directory. */
static bool is_reserved(struct slice name)
{
    static const char *const names[] = { ".", "..", "CON", "PRN", "AUX", "NUL", "CLOCK$" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_equal_nocase(name, slice_of(names[i])))
            return true;
    }
    const struct slice stem = slice_head(name, 3);
    return name.len == 4 && name.data[3] >= '1' && name.data[3] <= '9' &&
           (slice_equal_nocase(stem, slice_of("COM")) || slice_equal_nocase(stem, slice_of("LPT")));
}

static bool is_allowed(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7f && point < 0xa0))
        return false;
    if (point < 0x80)
        return strchr("\"\\/:|<>*?", (int)point) == NULL;
    /* The first private character, and what is no character in any plane. */
    return point != 0xe000 && (point & 0xfffe) != 0xfffe && !(point >= 0xfdd0 && point <= 0xfdef);
}

enum err file_name_check(struct slice name)
{
    if (!utf8_is_valid(name))
        return ERR_FILE_NAME_INVALID;
    size_t units = 0;
    size_t len;
    for (size_t i = 0; i < name.len; i += len) {
        const uint32_t point = utf8_first(slice_from(name, i), &len);
        if (!is_allowed(point))
            return ERR_FILE_NAME_INVALID;
        units += point > 0xffff ? 2 : 1;
    }
    if (units == 0 || units > LIMIT_FILE_NAME_UNITS_MAX)
        return ERR_RESOURCE_NAME_LENGTH;
    return is_reserved(name) ? ERR_FILE_NAME_INVALID : OK;
}

/* --- paths --- */

static bool is_separator(char byte)
{
    return byte == '/' || byte == '\\';
}

/* Without the separators at its end. */
static struct slice trim_path(struct slice path)
{
    while (path.len > 0 && is_separator(path.data[path.len - 1]))
        path.len--;
    return path;
}

static size_t count_components(struct slice path)
{
    size_t count = path.len > 0;
    for (size_t i = 0; i < path.len; i++)
        count += is_separator(path.data[i]);
    return count;
}

/* The units of UTF-16 of a path that may not be well-formed: then more, or fewer by the faults. */
static size_t count_units(struct slice path)
{
    size_t units = 0;
    for (size_t i = 0; i < path.len; i++) {
        const uint8_t byte = (uint8_t)path.data[i];
        units += byte >= 0xf0 ? 2 : (byte & 0xc0) != 0x80;
    }
    return units;
}

/* Cut the first component off. */
static struct slice take_component(struct slice *path)
{
    size_t len = 0;
    while (len < path->len && !is_separator(path->data[len]))
        len++;
    const struct slice name = slice_head(*path, len);
    *path = slice_from(*path, len + 1);
    return name;
}

static struct slice remove_dots(struct slice name)
{
    while (name.len > 0 && name.data[name.len - 1] == '.')
        name.len--;
    return name;
}

enum err file_path_parse(struct arena *arena, struct slice path, enum file_trailing_dots dots,
                         struct file_path *parsed)
{
    path = trim_path(path);
    const size_t depth = count_components(path);
    if (count_units(path) > LIMIT_FILE_PATH_UNITS_MAX)
        return ERR_FILE_PATH_TOO_LONG;
    if (depth > LIMIT_FILE_PATH_DEPTH)
        return ERR_FILE_PATH_TOO_DEEP;
    struct slice *names = arena_alloc(arena, depth * sizeof(*names));
    struct slice *upper = arena_alloc(arena, depth * sizeof(*upper));
    for (size_t i = 0; i < depth; i++) {
        names[i] = take_component(&path);
        if (dots == FILE_DOTS_REMOVED && !slice_is(names[i], ".") && !slice_is(names[i], ".."))
            names[i] = remove_dots(names[i]);
        const enum err err = file_name_check(names[i]);
        if (err != OK)
            return err;
        upper[i] = file_name_upper(arena, names[i]);
    }
    *parsed = (struct file_path){ .depth = depth, .names = names, .upper = upper };
    return OK;
}

/* --- keys --- */

/* A letter, a number and bytes. */
static struct slice numbered_key(struct arena *arena, char letter, uint64_t number,
                                 struct slice bytes)
{
    char *key = arena_bytes(arena, 9 + bytes.len);
    key[0] = letter;
    put_be64((uint8_t *)key + 1, number);
    if (bytes.len > 0)
        memcpy(key + 9, bytes.data, bytes.len);
    return slice_make(key, 9 + bytes.len);
}

struct slice file_partition(struct arena *arena, uint64_t incarnation)
{
    return resource_partition(arena, 'F', incarnation);
}

bool is_file_partition(struct slice partition)
{
    return partition.len == 11 && partition.data[0] == 'F';
}

struct slice share_key(struct arena *arena, struct slice share)
{
    return resource_key(arena, RESOURCE_SHARE, share);
}

struct slice share_deleted_prefix(struct arena *arena, struct slice name_prefix)
{
    char *key = arena_bytes(arena, name_prefix.len + 1);
    key[0] = 'd';
    if (name_prefix.len > 0)
        memcpy(key + 1, name_prefix.data, name_prefix.len);
    return slice_make(key, name_prefix.len + 1);
}

struct slice share_deleted_key(struct arena *arena, struct slice share, uint64_t incarnation)
{
    char *key = arena_bytes(arena, share.len + 10);
    key[0] = 'd';
    if (share.len > 0)
        memcpy(key + 1, share.data, share.len);
    key[1 + share.len] = '\0';
    put_be64((uint8_t *)key + 2 + share.len, incarnation);
    return slice_make(key, share.len + 10);
}

struct slice share_snapshot_prefix(struct arena *arena, uint64_t incarnation)
{
    return numbered_key(arena, 'S', incarnation, (struct slice){ 0 });
}

struct slice share_snapshot_key(struct arena *arena, uint64_t incarnation, int64_t taken)
{
    char number[8];
    put_be64((uint8_t *)number, (uint64_t)taken);
    return numbered_key(arena, 'S', incarnation, slice_make(number, sizeof(number)));
}

struct slice node_key(struct arena *arena, uint64_t parent, struct slice upper)
{
    return numbered_key(arena, 'e', parent, upper);
}

struct slice node_prefix(struct arena *arena, uint64_t parent)
{
    return numbered_key(arena, 'e', parent, (struct slice){ 0 });
}

struct slice node_past_name_prefix(struct arena *arena, uint64_t parent, struct slice upper)
{
    char *key = arena_bytes(arena, upper.len + 10);
    key[0] = 'E';
    put_be64((uint8_t *)key + 1, parent);
    if (upper.len > 0)
        memcpy(key + 9, upper.data, upper.len);
    key[9 + upper.len] = '\0';
    return slice_make(key, upper.len + 10);
}

struct slice node_past_key(struct arena *arena, uint64_t parent, struct slice upper, int64_t from)
{
    char *key = arena_bytes(arena, upper.len + 18);
    const struct slice prefix = node_past_name_prefix(arena, parent, upper);
    memcpy(key, prefix.data, prefix.len);
    put_be64((uint8_t *)key + prefix.len, (uint64_t)from);
    return slice_make(key, upper.len + 18);
}

struct slice node_past_prefix(struct arena *arena, uint64_t parent)
{
    return numbered_key(arena, 'E', parent, (struct slice){ 0 });
}

struct slice node_place_key(struct arena *arena, uint64_t id)
{
    return numbered_key(arena, 'o', id, (struct slice){ 0 });
}

struct slice share_state_key(void)
{
    return slice_of("h");
}

struct slice instant_key(struct arena *arena, int64_t taken)
{
    return numbered_key(arena, 'i', (uint64_t)taken, (struct slice){ 0 });
}

struct slice instant_prefix(void)
{
    return slice_of("i");
}

struct slice permission_row_key(struct arena *arena, struct slice permission_key)
{
    char *key = arena_bytes(arena, permission_key.len + 1);
    key[0] = 'p';
    if (permission_key.len > 0)
        memcpy(key + 1, permission_key.data, permission_key.len);
    return slice_make(key, permission_key.len + 1);
}

struct slice pending_file_key(struct arena *arena, uint64_t id)
{
    return numbered_key(arena, 'q', id, (struct slice){ 0 });
}

static enum err parse_instant(const char *at, int64_t *taken)
{
    const uint64_t tick = get_be64((const uint8_t *)at);
    if (tick == 0 || tick > (uint64_t)CLOCK_TICKS_MAX)
        return CORRUPT("an instant is tick %llu", (unsigned long long)tick);
    *taken = (int64_t)tick;
    return OK;
}

enum err share_deleted_key_parse(struct slice key, struct slice *share, uint64_t *incarnation)
{
    if (key.len < 10 || key.data[0] != 'd' || key.data[key.len - 9] != '\0')
        return CORRUPT("a key of %zu bytes is not of a deleted share", key.len);
    *share = slice_make(key.data + 1, key.len - 10);
    *incarnation = get_be64((const uint8_t *)key.data + key.len - 8);
    return OK;
}

enum err share_snapshot_key_parse(struct slice key, uint64_t *incarnation, int64_t *taken)
{
    if (key.len != 17 || key.data[0] != 'S')
        return CORRUPT("a key of %zu bytes is not of a share's snapshot", key.len);
    *incarnation = get_be64((const uint8_t *)key.data + 1);
    return parse_instant(key.data + 9, taken);
}

enum err instant_key_parse(struct slice key, int64_t *taken)
{
    if (key.len != 9 || key.data[0] != 'i')
        return CORRUPT("a key of %zu bytes is not of an instant", key.len);
    return parse_instant(key.data + 1, taken);
}

bool pending_file_key_id(struct slice key, uint64_t *id)
{
    if (key.len != 9 || key.data[0] != 'q')
        return false;
    *id = get_be64((const uint8_t *)key.data + 1);
    return *id != 0;
}

enum err node_key_parse(struct slice key, uint64_t *parent, struct slice *upper)
{
    if (key.len < 9 || key.data[0] != 'e')
        return CORRUPT("a key of %zu bytes is not of a directory's entry", key.len);
    *parent = get_be64((const uint8_t *)key.data + 1);
    *upper = slice_from(key, 9);
    return OK;
}

enum err node_past_key_parse(struct slice key, uint64_t *parent, struct slice *upper, int64_t *from)
{
    if (key.len < 18 || key.data[0] != 'E' || key.data[key.len - 9] != '\0')
        return CORRUPT("a key of %zu bytes is not of an entry's past", key.len);
    const uint64_t tick = get_be64((const uint8_t *)key.data + key.len - 8);
    if (tick == 0 || tick > (uint64_t)INT64_MAX)
        return CORRUPT("an entry was so from tick %llu on", (unsigned long long)tick);
    *parent = get_be64((const uint8_t *)key.data + 1);
    *upper = slice_make(key.data + 9, key.len - 18);
    *from = (int64_t)tick;
    return OK;
}
