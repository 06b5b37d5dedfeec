/*
 * manifest.h - the file BACKUP of a backup: what is in it, and how to know that it is still so.
 *
 * Text, one line each:
 *
 *   zaffre-backup 1
 *   version 0.1.0                          of the program that made it
 *   made 2026-11-15T03:24:00.1234567Z
 *   findings 0                             of the check that ended it, or "unchecked"
 *   meta <name> <bytes> <crc>              a file in meta/, and the CRC-32C of its bytes
 *   extent <name> <bytes> <crc>            a file in extents/, and the CRC-32C of what the rows say
 *                                          is in it (store_copy.h); its bytes have checksums of
 *                                          their own
 *   end <crc>                              the CRC-32C of all lines before
 *
 * Numbers are decimal, checksums eight hexadecimal digits.  The lines of files have an order: meta
 * before extent, and by name.  A log of the metadata that was cut short looks like one whose last
 * commits were never made: the checksums here are what tells.
 */
#ifndef BACKUP_MANIFEST_H
#define BACKUP_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

enum manifest_kind {
    MANIFEST_META,
    MANIFEST_EXTENT,
};

/* A value; the name is the arena's. */
struct manifest_file {
    enum manifest_kind kind;
    const char *name;
    uint64_t size_bytes;
    uint32_t crc;
};

#define MANIFEST_UNCHECKED UINT64_MAX

/* All zero bytes plus an arena is a valid empty manifest. */
struct manifest {
    struct arena *arena;
    const char *version;
    const char *made;
    uint64_t finding_count; /* or MANIFEST_UNCHECKED */
    struct manifest_file *files;
    size_t file_count;
    size_t file_capacity;
};

/* The name is copied. */
void manifest_add(struct manifest *manifest, const struct manifest_file *file);

/* Put the files in order: before the functions below. */
void manifest_sort(struct manifest *manifest);

/* The file of that kind and name, or NULL. */
const struct manifest_file *manifest_find(const struct manifest *manifest, enum manifest_kind kind,
                                          const char *name);

/* The text, in the manifest's arena. */
struct slice manifest_encode(const struct manifest *manifest);

/* ERR_MALFORMED for what is not such a text, whole and unchanged; ERR_FORMAT_UNKNOWN for one of
   another version. */
MUST_CHECK enum err manifest_decode(struct arena *arena, struct slice text,
                                    struct manifest *manifest);

/*
 * The name of the first file of one kind in which two manifests differ, or NULL.
 */
const char *manifest_difference(const struct manifest *a, const struct manifest *b,
                                enum manifest_kind kind);

#endif
