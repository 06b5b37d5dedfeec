/*
 * engine_memory.h - the engine that keeps everything in memory: the twin for tests, and the store
 * of in-memory runs.  Nothing outlives the process; "durable" means visible.
 *
 * Threads: the root is swapped under a mutex that is held for a pointer's worth of time by
 * readers, and for applying a group's changes by committers.
 */
#ifndef PARTITION_MEMORY_ENGINE_MEMORY_H
#define PARTITION_MEMORY_ENGINE_MEMORY_H

#include "partition/engine.h"

struct engine *engine_memory_new(void);

#endif
