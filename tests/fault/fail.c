/*
 * fail.c - put in front of the C library by LD_PRELOAD: a disk that fails, or is full, and memory
 * that runs out, when a test says so.
 *
 * Calls are counted by class.  Those of files count when the file is in the directory under test;
 * those of memory when the program itself makes them, and not one of its libraries.  The test and
 * this share a small file of numbers, so that a server under load can be told to begin at any
 * moment, and the test sees how far it came.
 *
 *   ZAFFRE_FAIL_DIRECTORY   the data directory, as an absolute path without links
 *   ZAFFRE_FAIL_CONTROL     the file of numbers, 8 bytes each, little-endian:
 *
 *     0  classes    which calls count: the sum of enum class; 0: none fails
 *     1  error      the errno that a failing call gets
 *     2  nth        the first to fail, 1 being the next; 0: none, they are counted
 *     3  repeat     how many fail from then on
 *     4  seen       how many have been counted            (written here)
 *     5  failed     how many have failed                  (written here)
 *     6  free       bytes that are left in the directory; NO_BUDGET: as many as there are
 *                                                         (written here, too)
 *     7  scope      1: only meta/, 2: only extents/; 0: every file
 *
 * A write that fails has written the first half of its bytes.  The budget of bytes is what statvfs
 * says is free, too; it shrinks by the blocks that files grow by and grows when they shrink or go.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum class {
    CLASS_WRITE = 1 << 0,
    CLASS_SYNC = 1 << 1, /* fsync and fdatasync; sync_file_range promises nothing */
    CLASS_OPEN = 1 << 2,
    CLASS_RENAME = 1 << 3,
    CLASS_UNLINK = 1 << 4,
    CLASS_READ = 1 << 5,
    CLASS_RESIZE = 1 << 6, /* truncate, punch, allocate */
    CLASS_MEMORY = 1 << 7,
};

struct control {
    _Atomic uint64_t classes;
    _Atomic uint64_t error;
    _Atomic uint64_t nth;
    _Atomic uint64_t repeat;
    _Atomic uint64_t seen;
    _Atomic uint64_t failed;
    _Atomic uint64_t free;
    _Atomic uint64_t scope;
};

#define NO_BUDGET UINT64_MAX

enum {
    BLOCK_BYTES = 512, /* the unit of st_blocks */
};

/* Set before main, then constant. */
static struct control *control;
static char directory[PATH_MAX];
static size_t directory_len;
static uintptr_t program_begin;
static uintptr_t program_end;

/* One at a time changes the budget. */
static pthread_mutex_t budget_lock = PTHREAD_MUTEX_INITIALIZER;

/* The C library's own, which need no looking up. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

/* --- at the start --- */

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
            program_begin = info->dlpi_addr + header->p_vaddr;
            program_end = program_begin + header->p_memsz;
        }
    }
    return 1;
}

static void __attribute__((constructor)) begin(void)
{
    const char *path = getenv("ZAFFRE_FAIL_CONTROL");
    const char *watched = getenv("ZAFFRE_FAIL_DIRECTORY");
    if (path == NULL || watched == NULL)
        return;
    dl_iterate_phdr(find_program, NULL);
    directory_len = strlen(watched);
    if (directory_len >= sizeof(directory))
        return;
    memcpy(directory, watched, directory_len + 1);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *shared = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED)
        control = shared;
}

/* --- what fails --- */

/* Count a call of this class, and say whether it is to fail. */
static bool fails(enum class class)
{
    if (control == NULL || (atomic_load(&control->classes) & class) == 0)
        return false;
    const uint64_t number = atomic_fetch_add(&control->seen, 1) + 1;
    const uint64_t nth = atomic_load(&control->nth);
    if (nth == 0 || number < nth || number - nth >= atomic_load(&control->repeat))
        return false;
    atomic_fetch_add(&control->failed, 1);
    errno = (int)atomic_load(&control->error);
    return true;
}

/* Whether a path, absolute, is in the directory and in scope. */
static bool is_watched(const char *path)
{
    if (strncmp(path, directory, directory_len) != 0)
        return false;
    const char *rest = path + directory_len;
    if (*rest != '/' && *rest != '\0')
        return false;
    const uint64_t scope = atomic_load(&control->scope);
    return scope == 0 || (scope == 1 && strncmp(rest, "/meta", 5) == 0) ||
           (scope == 2 && strncmp(rest, "/extents", 8) == 0);
}

static bool is_watched_file(int file)
{
    if (control == NULL)
        return false;
    const int kept = errno;
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    const ssize_t len = readlink(link, path, sizeof(path) - 1);
    errno = kept;
    if (len <= 0)
        return false;
    path[len] = '\0';
    return is_watched(path);
}

/* The same for a path that may begin at the working directory or at the open directory `parent`. */
static bool is_watched_at(int parent, const char *path)
{
    if (control == NULL || path == NULL)
        return false;
    if (path[0] == '/')
        return is_watched(path);
    const int kept = errno;
    char link[64];
    char whole[2 * PATH_MAX];
    if (parent == AT_FDCWD)
        snprintf(link, sizeof(link), "/proc/self/cwd");
    else
        snprintf(link, sizeof(link), "/proc/self/fd/%d", parent);
    const ssize_t len = readlink(link, whole, PATH_MAX);
    errno = kept;
    if (len <= 0)
        return false;
    snprintf(whole + len, PATH_MAX, "/%s", path);
    return is_watched(whole);
}

/* --- the budget --- */

static bool has_budget(void)
{
    return control != NULL && atomic_load(&control->free) != NO_BUDGET;
}

static uint64_t allocated_bytes(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 ? (uint64_t)status.st_blocks * BLOCK_BYTES : 0;
}

/* Account for what a call changed.  Under budget_lock. */
static void budget_settle(uint64_t before, uint64_t after)
{
    const uint64_t left = atomic_load(&control->free);
    if (left == NO_BUDGET)
        return;
    if (after >= before)
        atomic_store(&control->free, left > after - before ? left - (after - before) : 0);
    else
        atomic_store(&control->free, left + (before - after));
}

/* Whether `len` more bytes at `offset` fit.  Under budget_lock. */
static bool budget_fits(int file, uint64_t offset, size_t len)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return true;
    const uint64_t end = offset + len;
    const uint64_t allocated = (uint64_t)status.st_blocks * BLOCK_BYTES;
    /* What was allocated ahead of the writing is there already. */
    const uint64_t size =
        (uint64_t)status.st_size > allocated ? (uint64_t)status.st_size : allocated;
    return end <= size || end - size <= atomic_load(&control->free);
}

/* --- writing --- */

static ssize_t real_write(int file, const void *bytes, size_t len, int64_t offset)
{
    return offset < 0 ? syscall(SYS_write, file, bytes, len)
                      : syscall(SYS_pwrite64, file, bytes, len, offset);
}

static ssize_t budget_write(int file, const void *bytes, size_t len, int64_t offset)
{
    pthread_mutex_lock(&budget_lock);
    const uint64_t at = offset >= 0 ? (uint64_t)offset : (uint64_t)lseek(file, 0, SEEK_CUR);
    ssize_t written = -1;
    if (budget_fits(file, at, len)) {
        const uint64_t before = allocated_bytes(file);
        written = real_write(file, bytes, len, offset);
        const int kept = errno;
        budget_settle(before, allocated_bytes(file));
        errno = kept;
    } else {
        errno = ENOSPC;
    }
    pthread_mutex_unlock(&budget_lock);
    return written;
}

static ssize_t watched_write(int file, const void *bytes, size_t len, int64_t offset)
{
    if (!is_watched_file(file))
        return real_write(file, bytes, len, offset);
    if (fails(CLASS_WRITE)) {
        const int error = errno;
        (void)!real_write(file, bytes, len / 2, offset);
        errno = error;
        return -1;
    }
    return has_budget() ? budget_write(file, bytes, len, offset)
                        : real_write(file, bytes, len, offset);
}

ssize_t write(int file, const void *bytes, size_t len)
{
    return watched_write(file, bytes, len, -1);
}

ssize_t pwrite(int file, const void *bytes, size_t len, off_t offset)
{
    return watched_write(file, bytes, len, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t len, off64_t offset)
{
    return watched_write(file, bytes, len, offset);
}

/* --- reading --- */

ssize_t read(int file, void *buf, size_t len)
{
    if (is_watched_file(file) && fails(CLASS_READ))
        return -1;
    return syscall(SYS_read, file, buf, len);
}

ssize_t pread(int file, void *buf, size_t len, off_t offset)
{
    if (is_watched_file(file) && fails(CLASS_READ))
        return -1;
    return syscall(SYS_pread64, file, buf, len, offset);
}

ssize_t pread64(int file, void *buf, size_t len, off64_t offset)
{
    return pread(file, buf, len, offset);
}

/* --- syncing --- */

int fsync(int file)
{
    if (is_watched_file(file) && fails(CLASS_SYNC))
        return -1;
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    if (is_watched_file(file) && fails(CLASS_SYNC))
        return -1;
    return (int)syscall(SYS_fdatasync, file);
}

/* --- opening --- */

static int watched_open(int parent, const char *path, int flags, mode_t mode)
{
    const bool watched = is_watched_at(parent, path);
    if (watched && fails(CLASS_OPEN))
        return -1;
    if (watched && (flags & O_CREAT) != 0 && has_budget() && atomic_load(&control->free) == 0) {
        struct stat status;
        if (fstatat(parent, path, &status, 0) != 0) {
            errno = ENOSPC;
            return -1;
        }
    }
    return (int)syscall(SYS_openat, parent, path, flags, mode);
}

/* The mode is there only when a file may be made. */
#define OPEN_MODE(flags, mode)                                                                     \
    do {                                                                                           \
        if (((flags)&O_CREAT) != 0) {                                                              \
            va_list args;                                                                          \
            va_start(args, flags);                                                                 \
            (mode) = va_arg(args, mode_t);                                                         \
            va_end(args);                                                                          \
        }                                                                                          \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    OPEN_MODE(flags, mode);
    return watched_open(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    OPEN_MODE(flags, mode);
    return watched_open(AT_FDCWD, path, flags, mode);
}

int openat(int parent, const char *path, int flags, ...)
{
    mode_t mode = 0;
    OPEN_MODE(flags, mode);
    return watched_open(parent, path, flags, mode);
}

int openat64(int parent, const char *path, int flags, ...)
{
    mode_t mode = 0;
    OPEN_MODE(flags, mode);
    return watched_open(parent, path, flags, mode);
}

/* --- names --- */

int renameat(int from_parent, const char *from, int to_parent, const char *to)
{
    if (is_watched_at(from_parent, from) && fails(CLASS_RENAME))
        return -1;
    return (int)syscall(SYS_renameat, from_parent, from, to_parent, to);
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int parent, const char *path, int flags)
{
    const bool watched = is_watched_at(parent, path);
    if (watched && fails(CLASS_UNLINK))
        return -1;
    if (!watched || !has_budget())
        return (int)syscall(SYS_unlinkat, parent, path, flags);
    pthread_mutex_lock(&budget_lock);
    struct stat status;
    const bool counted = fstatat(parent, path, &status, 0) == 0 && status.st_nlink == 1;
    const int result = (int)syscall(SYS_unlinkat, parent, path, flags);
    const int kept = errno;
    if (result == 0 && counted)
        budget_settle((uint64_t)status.st_blocks * BLOCK_BYTES, 0);
    errno = kept;
    pthread_mutex_unlock(&budget_lock);
    return result;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

/* --- sizes --- */

static int budget_allocate(int file, int mode, off64_t offset, off64_t len)
{
    pthread_mutex_lock(&budget_lock);
    const bool grows = (mode & FALLOC_FL_PUNCH_HOLE) == 0;
    int result = -1;
    if (grows && !budget_fits(file, (uint64_t)offset, (size_t)len)) {
        errno = ENOSPC;
    } else {
        const uint64_t before = allocated_bytes(file);
        result = (int)syscall(SYS_fallocate, file, mode, offset, len);
        const int kept = errno;
        budget_settle(before, allocated_bytes(file));
        errno = kept;
    }
    pthread_mutex_unlock(&budget_lock);
    return result;
}

int fallocate64(int file, int mode, off64_t offset, off64_t len)
{
    const bool watched = is_watched_file(file);
    if (watched && fails(CLASS_RESIZE))
        return -1;
    return watched && has_budget() ? budget_allocate(file, mode, offset, len)
                                   : (int)syscall(SYS_fallocate, file, mode, offset, len);
}

int fallocate(int file, int mode, off_t offset, off_t len)
{
    return fallocate64(file, mode, offset, len);
}

int ftruncate64(int file, off64_t size)
{
    const bool watched = is_watched_file(file);
    if (watched && fails(CLASS_RESIZE))
        return -1;
    if (!watched || !has_budget())
        return (int)syscall(SYS_ftruncate, file, size);
    pthread_mutex_lock(&budget_lock);
    const uint64_t before = allocated_bytes(file);
    const int result = (int)syscall(SYS_ftruncate, file, size);
    const int kept = errno;
    budget_settle(before, allocated_bytes(file));
    errno = kept;
    pthread_mutex_unlock(&budget_lock);
    return result;
}

int ftruncate(int file, off_t size)
{
    return ftruncate64(file, size);
}

/* --- how much is free --- */

static int translate_statvfs(const char *path, int file, struct statvfs *result)
{
    struct stat status;
    const bool found = path != NULL ? stat(path, &status) == 0 : fstat(file, &status) == 0;
    if (!found)
        return -1;
    const uint64_t unit = 4096;
    *result = (struct statvfs){
        .f_bsize = unit,
        .f_frsize = unit,
        .f_blocks = (UINT64_C(1) << 40) / unit,
        .f_bfree = atomic_load(&control->free) / unit,
        .f_bavail = atomic_load(&control->free) / unit,
        .f_files = 1 << 20,
        .f_ffree = 1 << 20,
        .f_favail = 1 << 20,
        .f_namemax = 255,
    };
    return 0;
}

/* The C library's, by way of the other of the two: only one is replaced at a time. */
static int real_statvfs(int file, struct statvfs *result)
{
    struct {
        long type;
        long bsize;
        uint64_t blocks, bfree, bavail, files, ffree;
        int fsid[2];
        long namelen, frsize, flags;
        long spare[4];
    } raw;
    if (syscall(SYS_fstatfs, file, &raw) != 0)
        return -1;
    *result = (struct statvfs){
        .f_bsize = (unsigned long)raw.bsize,
        .f_frsize = (unsigned long)(raw.frsize != 0 ? raw.frsize : raw.bsize),
        .f_blocks = raw.blocks,
        .f_bfree = raw.bfree,
        .f_bavail = raw.bavail,
        .f_files = raw.files,
        .f_ffree = raw.ffree,
        .f_favail = raw.ffree,
        .f_namemax = (unsigned long)raw.namelen,
    };
    return 0;
}

int fstatvfs(int file, struct statvfs *result)
{
    if (has_budget() && is_watched_file(file))
        return translate_statvfs(NULL, file, result);
    return real_statvfs(file, result);
}

int statvfs(const char *path, struct statvfs *result)
{
    if (has_budget() && is_watched_at(AT_FDCWD, path))
        return translate_statvfs(path, -1, result);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return -1;
    const int status = real_statvfs(file, result);
    const int kept = errno;
    close(file);
    errno = kept;
    return status;
}

int fstatvfs64(int file, struct statvfs64 *result)
{
    static_assert(sizeof(struct statvfs) == sizeof(struct statvfs64), "one struct");
    return fstatvfs(file, (struct statvfs *)result);
}

int statvfs64(const char *path, struct statvfs64 *result)
{
    return statvfs(path, (struct statvfs *)result);
}

/* --- memory --- */

/* Whether the program, and no library, asks, and is to get nothing. */
static bool starves(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    return control != NULL && at >= program_begin && at < program_end && fails(CLASS_MEMORY);
}

void *malloc(size_t size)
{
    return starves(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return starves(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return starves(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    if (starves(__builtin_return_address(0)))
        return NULL;
    if (size != 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(memory, count * size);
}

char *strdup(const char *text)
{
    if (starves(__builtin_return_address(0)))
        return NULL;
    const size_t size = strlen(text) + 1;
    char *copy = __libc_malloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}
