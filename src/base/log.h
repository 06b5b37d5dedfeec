/*
 * log.h - diagnostics for the people who run the server.
 *
 * One line per event:  2026-11-15T03:24:00.123Z info listener: blob service on 127.0.0.1:10000
 * Lines are written with one write() each, so lines of several threads never mix.  Secrets
 * (keys, signatures, SAS tokens) are never passed to these functions.
 *
 * Any thread may log.  log_open and log_set_level are called from main before threads start.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/error.h"

enum log_level {
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG,
};

/* Lines less important than `level` are dropped.  LOG_INFO to begin with. */
void log_set_level(enum log_level level);

/* Append to `path` instead of standard error.  ERR_IO if it cannot be opened. */
MUST_CHECK enum err log_open(const char *path);

bool log_enabled(enum log_level level);

/* `area` is the module that speaks ("listener", "extent", "commit"). */
void log_write(enum log_level level, const char *area, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(area, ...) log_write(LOG_ERROR, area, __VA_ARGS__)
#define log_warn(area, ...)  log_write(LOG_WARN, area, __VA_ARGS__)
#define log_info(area, ...)  log_write(LOG_INFO, area, __VA_ARGS__)
#define log_debug(area, ...) log_write(LOG_DEBUG, area, __VA_ARGS__)

/*
 * Report stored bytes that fail their checksum or format, with the line of code that saw
 * it first.  Evaluates to ERR_CORRUPT, which no other code produces.
 */
void log_corrupt(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define CORRUPT(...) (log_corrupt(__FILE__, __LINE__, __VA_ARGS__), (enum err)ERR_CORRUPT)

/*
 * Durable state is unknown: say so and end the process at once.  Restarting recovers from
 * what is on disk; going on could acknowledge what is lost.
 */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
