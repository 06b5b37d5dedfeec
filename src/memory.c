/*
 * memory.c - the limits of control groups, both of version 2 (one tree, memory.max) and of version
 * 1 (a tree for memory, memory.limit_in_bytes). /proc/self/cgroup has a line for each tree:
 *
 *     0::/system.slice/zaffre.service        version 2
 *     7:memory:/docker/0123abcd              version 1
 *
 * In a container the path may be that of the world outside, while the tree that can be seen begins
 * at the container's own group: paths that are not there are passed over, and the root is looked at
 * too.
 */
#include "memory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"
#include "base/slice.h"

enum {
    CACHE_SHARE = 8,
    LINE_MAX_BYTES = 4096,
};

static const uint64_t CACHE_BYTES_MIN = UINT64_C(64) * 1024 * 1024;

/* The digits at the beginning of `text`; UINT64_MAX when there are none, as in "max". */
static uint64_t leading_number(const char *text)
{
    uint64_t number;
    const struct slice digits = slice_make(text, strspn(text, "0123456789"));
    return decimal_parse_u64(digits, &number) == OK ? number : UINT64_MAX;
}

/* The number that a file begins with; UINT64_MAX when there is none. */
static uint64_t number_in_file(const char *path)
{
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return UINT64_MAX;
    const uint64_t number =
        fgets(line, sizeof(line), file) != NULL ? leading_number(line) : UINT64_MAX;
    fclose(file);
    return number;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The least limit on the way from group `path`, which this cuts to pieces, to the root of a
   tree. */
static uint64_t limit_of_tree(const char *root, const char *tree, char *path, const char *name)
{
    uint64_t limit_bytes = UINT64_MAX;
    for (;;) {
        char file[PATH_MAX];
        const int len = snprintf(file, sizeof(file), "%s%s%s/%s", root, tree, path, name);
        if (len > 0 && (size_t)len < sizeof(file))
            limit_bytes = least(limit_bytes, number_in_file(file));
        char *last = strrchr(path, '/');
        if (last == NULL)
            return limit_bytes;
        *last = '\0';
    }
}

/* The limit that a line of /proc/self/cgroup leads to. */
static uint64_t limit_of_line(const char *root, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL)
        return UINT64_MAX;
    *path++ = '\0';
    controllers++;
    if (controllers[0] == '\0')
        return limit_of_tree(root, "/sys/fs/cgroup", path, "memory.max");
    if (strcmp(controllers, "memory") == 0)
        return limit_of_tree(root, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
    return UINT64_MAX;
}

uint64_t memory_limit_bytes(const char *root, uint64_t machine_bytes)
{
    char text[LINE_MAX_BYTES];
    const int len = snprintf(text, sizeof(text), "%s/proc/self/cgroup", root);
    FILE *file = len > 0 && (size_t)len < sizeof(text) ? fopen(text, "re") : NULL;
    uint64_t limit_bytes = machine_bytes;
    if (file == NULL)
        return limit_bytes;
    while (fgets(text, sizeof(text), file) != NULL)
        limit_bytes = least(limit_bytes, limit_of_line(root, text));
    fclose(file);
    return limit_bytes;
}

uint64_t memory_cache_bytes(uint64_t limit_bytes)
{
    const uint64_t share_bytes = limit_bytes / CACHE_SHARE;
    return share_bytes < CACHE_BYTES_MIN ? CACHE_BYTES_MIN : share_bytes;
}
