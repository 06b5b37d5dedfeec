/*
 * memory.h - how much memory there is for this process.
 *
 * That is the machine's, or less where a container or a service manager allows less: a cache sized
 * after the machine would end a small container on a large one.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

/*
 * `machine_bytes`, or the least limit of the control group that the process is in and of those
 * around it.  `root` is put before the paths of /proc and /sys: "" but in tests.
 */
uint64_t memory_limit_bytes(const char *root, uint64_t machine_bytes);

/* The size of the metadata cache for so much memory: an eighth of it, at least 64 MiB. */
uint64_t memory_cache_bytes(uint64_t limit_bytes);

#endif
