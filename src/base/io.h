/*
 * io.h - every file system call the stream layer makes, behind a small table, so that the
 * same code runs on the real disk and on a simulated one.
 *
 *   io_linux_new    the operating system            base/os/io_linux.c
 *   io_memory_new   files in memory that remember what has been synced, can lose the rest
 *                   in a simulated power cut, and can fail the Nth call   base/os/io_memory.c
 *
 * errno stops here: it becomes ERR_NOT_FOUND, ERR_EXISTS, ERR_NO_SPACE or ERR_IO, and what the
 * system said goes to the log.  All functions may be called from any thread; one file may be
 * read and written by several at once as long as writes do not overlap.
 *
 * Paths are relative to the directory the io was made for, which is itself "."; a path never
 * contains "..".
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

struct io;
struct io_file;

enum io_open_mode {
    IO_OPEN_EXISTING, /* ERR_NOT_FOUND if it is not there */
    IO_OPEN_CREATE,   /* ERR_EXISTS if it is */
};

/* Use directory `path`, which is made (with its parents) if it is missing. */
MUST_CHECK enum err io_linux_new(const char *path, struct io **io);

/* A simulated disk that remembers what has been synced, for tests. */
struct io *io_memory_new(void);

/*
 * The same without that memory: an ordinary place to keep files until the process ends.  Writes
 * beyond `bytes_max` of memory are ERR_NO_SPACE; 0 is no limit.
 */
struct io *io_memory_new_untracked(uint64_t bytes_max);

/* Closes nothing that is still open; every file is closed before. */
void io_free(struct io *io);

/* ERR_EXISTS if there is something of that name. */
MUST_CHECK enum err io_mkdir(struct io *io, const char *path);
MUST_CHECK enum err io_unlink(struct io *io, const char *path);
MUST_CHECK enum err io_rename(struct io *io, const char *from, const char *to);

/* Make the names in a directory durable. */
MUST_CHECK enum err io_sync_dir(struct io *io, const char *path);

/* How many bytes the file system can take, and how many it has in all.  UINT64_MAX: no end. */
MUST_CHECK enum err io_space(struct io *io, uint64_t *free_bytes, uint64_t *total_bytes);

/* Call `fn` for each file name in a directory, in no particular order. */
MUST_CHECK enum err io_list(struct io *io, const char *path,
                            void (*fn)(void *arg, const char *name), void *arg);

MUST_CHECK enum err io_file_open(struct io *io, const char *path, enum io_open_mode mode,
                                 struct io_file **file);
void io_file_close(struct io_file *file);

/* All the bytes or an error; the file grows as needed. */
MUST_CHECK enum err io_file_write(struct io_file *file, uint64_t offset, struct slice bytes);

/* Up to `len` bytes; fewer only at the end of the file. */
MUST_CHECK enum err io_file_read(struct io_file *file, uint64_t offset, void *buf, size_t len,
                                 size_t *got);

/* Make written bytes durable. */
MUST_CHECK enum err io_file_sync(struct io_file *file);

/* Start writing the range out without waiting: a hint, so that a later sync is short. */
void io_file_write_behind(struct io_file *file, uint64_t offset, uint64_t len);

/*
 * Give the range's space back; it reads as zeroes.  The file's size stays.  On a file system
 * without holes this does nothing.
 */
MUST_CHECK enum err io_file_punch(struct io_file *file, uint64_t offset, uint64_t len);

MUST_CHECK enum err io_file_truncate(struct io_file *file, uint64_t size_bytes);
MUST_CHECK enum err io_file_size(struct io_file *file, uint64_t *size_bytes);

/*
 * A number that is another one when the file has been written to meanwhile, by anybody (within what
 * the system's clock for files can tell apart).
 */
MUST_CHECK enum err io_file_stamp(struct io_file *file, uint64_t *stamp);

/* A descriptor for sendfile(), owned by the file; -1 when there is none. */
int io_file_descriptor(const struct io_file *file);

/* --- the simulated disk only --- */

/*
 * A power cut: every file keeps what was synced; of each write, hole and truncation since then it
 * keeps, at random by `seed`, all, none or a torn part.  Names made or removed since their
 * directory was synced may be as before.  Every io_file must have been closed.
 */
void io_memory_power_cut(struct io *io, uint64_t seed);

/*
 * What a power cut at this moment would leave, as a disk of its own; `io` goes on untouched,
 * open files and all.
 */
struct io *io_memory_survivor(struct io *io, uint64_t seed);

/* How many bytes of memory the contents of all files take. */
uint64_t io_memory_bytes(struct io *io);

/*
 * Make the `nth` call from now on that can fail (1 is the next) return `err`; 0 stops.  A write
 * that fails has written its first half.
 */
void io_memory_fail_at(struct io *io, uint64_t nth, enum err err);

/* How many calls that can fail have been made. */
uint64_t io_memory_calls(const struct io *io);

#endif
