/*
 * record.h - what the files of the recorder share: its log, and which files are in it.
 */
#ifndef TESTS_FAULT_RECORD_H
#define TESTS_FAULT_RECORD_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A function that takes the place of `symbol`.  The label keeps the headers, which may send open to
   open64, out of it. */
#define REPLACES(symbol)    __asm__(symbol) __attribute__((visibility("default")))
#define ALSO(symbol, other) __asm__(".globl " other "\n.set " other ", " symbol)

enum event_kind {
    EVENT_START = 1,
    EVENT_OPEN,
    EVENT_WRITE,
    EVENT_TRUNCATE,
    EVENT_ALLOCATE,
    EVENT_RENAME,
    EVENT_UNLINK,
    EVENT_LINK,
    EVENT_MKDIR,
    EVENT_RMDIR,
    EVENT_SYNC_BEGIN,
    EVENT_SYNC_END,
    EVENT_SOCKET,
};

/* Followed by the path, the other path, and the bytes. */
struct event {
    uint32_t magic;
    uint16_t kind;
    uint16_t path_len;
    uint32_t handle; /* of an open file; in the events of a sync, the sync's number too */
    uint32_t flags;  /* of open or fallocate */
    uint64_t offset;
    uint64_t size;
    uint32_t other_len;
    uint32_t data_len;
};

/* Held from a call until its event is in the log. */
extern pthread_mutex_t record_lock;

/* End the process, because of something that would escape the log. */
_Noreturn void record_refuse(const char *what);

/* Append an event; paths and bytes may be NULL.  The lock is held. */
void record_emit(struct event event, const char *path, const char *other, const void *data);

/* Whether anything is recorded in this process. */
bool record_is_on(void);

/* The path of an open file, which has no symbolic links; false if it is not under the root. */
bool record_path_of(int fd, char path[PATH_MAX]);

/* The path of a name that need not exist: that of its directory, and the name. */
bool record_resolve(int directory, const char *name, char path[PATH_MAX]);

/* The handle of a descriptor, 0 if it is not one of ours. */
uint32_t record_handle_of(int fd);

/* A file was opened.  A descriptor is another's copy, or is gone.  The lock is held. */
void record_remember(int fd, int flags, bool created);
void record_copy(int fd, int copy);
void record_forget(int fd);

#endif
