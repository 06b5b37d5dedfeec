/*
 * log.c - lines of diagnostics.
 *
 * Every byte of a message that is not printable ASCII is written as an escape (\n, \x1b, and
 * \\ for the backslash itself), so that text a client chose can neither begin a line of its
 * own nor steer a terminal.
 */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/date.h"

enum {
    MESSAGE_BYTES_MAX = 2048,
    LINE_BYTES_MAX = 4096, /* below PIPE_BUF or at it: a pipe, too, takes a line whole */
    ISO_MS_LEN = 23,       /* 2026-11-15T03:24:00.123 */
};

/* Set from main before threads start, then constant. */
static enum log_level level_max = LOG_INFO;
static int log_descriptor = STDERR_FILENO;

void log_set_level(enum log_level level)
{
    level_max = level;
}

bool log_enabled(enum log_level level)
{
    return level <= level_max;
}

enum err log_open(const char *path)
{
    const int descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (descriptor < 0)
        return ERR_IO;
    if (log_descriptor != STDERR_FILENO)
        close(log_descriptor);
    log_descriptor = descriptor;
    return OK;
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_ERROR:
        return "error";
    case LOG_WARN:
        return "warn";
    case LOG_INFO:
        return "info";
    case LOG_DEBUG:
        return "debug";
    }
    return "unknown";
}

/* A line being put together; what does not fit is left out. */
struct line {
    size_t len;
    char text[LINE_BYTES_MAX];
};

static void line_add(struct line *line, const char *text, size_t len)
{
    /* One byte is kept for the newline. */
    const size_t room = sizeof(line->text) - 1 - line->len;
    if (len > room)
        return;
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void line_add_text(struct line *line, const char *text)
{
    line_add(line, text, strlen(text));
}

static void line_add_escaped(struct line *line, const char *message)
{
    static const char digits[] = "0123456789abcdef";
    for (const char *at = message; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '\n') {
            line_add(line, "\\n", 2);
        } else if (byte == '\\') {
            line_add(line, "\\\\", 2);
        } else if (byte < 0x20 || byte > 0x7e) {
            const char escape[4] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };
            line_add(line, escape, sizeof(escape));
        } else {
            line_add(line, at, 1);
        }
    }
}

static void line_add_time(struct line *line)
{
    struct clock clock;
    char now[DATE_ISO_LEN + 1];
    clock_init(&clock);
    date_format_iso(clock_now(&clock), now);
    line_add(line, now, ISO_MS_LEN);
    line_add(line, "Z", 1);
}

/* One write for the whole line.  A log that cannot be written has nowhere to report it. */
static void line_write(struct line *line)
{
    line->text[line->len++] = '\n';
    ssize_t written;
    do {
        written = write(log_descriptor, line->text, line->len);
    } while (written < 0 && errno == EINTR);
}

static void __attribute__((format(printf, 3, 0)))
log_write_args(enum log_level level, const char *area, const char *format, va_list args)
{
    if (!log_enabled(level))
        return;
    /* Callers log between a failed call and its errno. */
    const int saved_errno = errno;
    char message[MESSAGE_BYTES_MAX];
    const int printed = vsnprintf(message, sizeof(message), format, args);
    assert(printed >= 0);

    struct line line;
    line.len = 0;
    line_add_time(&line);
    line_add(&line, " ", 1);
    line_add_text(&line, level_name(level));
    line_add(&line, " ", 1);
    line_add_text(&line, area);
    line_add(&line, ": ", 2);
    line_add_escaped(&line, message);
    if ((size_t)printed >= sizeof(message))
        line_add_text(&line, "...");
    line_write(&line);
    errno = saved_errno;
}

void log_write(enum log_level level, const char *area, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_write_args(level, area, format, args);
    va_end(args);
}

void log_corrupt(const char *file, int line, const char *format, ...)
{
    char message[MESSAGE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    log_write(LOG_ERROR, "corrupt", "%s:%d: %s", file, line, message);
}

void panic(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_write_args(LOG_ERROR, "panic", format, args);
    va_end(args);
    abort();
}
