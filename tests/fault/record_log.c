/*
 * record_log.c - the recorder's log, and its table of open files.
 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    EVENT_MAGIC = 0x5a465245,
    DESCRIPTORS_MAX = 1 << 16,
};

/* An open file or directory under the root. */
struct opened {
    _Atomic uint32_t handle; /* 0: not one of ours */
    dev_t device;
    ino_t inode;
};

pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened table[DESCRIPTORS_MAX];
static uint32_t handles;
static const char *root;
static size_t root_len;
static int log_fd = -1;
static uint64_t events_left = UINT64_MAX;
static atomic_bool told_to_die;

void record_refuse(const char *what)
{
    fprintf(stderr, "record: %s is not recorded\n", what);
    abort();
}

static void die(void)
{
    for (;;)
        syscall(SYS_kill, getpid(), SIGKILL);
}

static void on_signal(int number)
{
    (void)number;
    atomic_store(&told_to_die, true);
}

static void append(const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        const long n = syscall(SYS_write, log_fd, at, len);
        if (n < 0 && errno != EINTR)
            record_refuse("anything any more: the log cannot be written, and the rest");
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
}

/* The lock is held.  The first append holds all but the bytes; the size of the log is what readers
   go by, and an event whose bytes are not there yet is not there. */
void record_emit(struct event event, const char *path, const char *other, const void *data)
{
    char head[sizeof(event) + 2 * PATH_MAX];
    event.magic = EVENT_MAGIC;
    event.path_len = (uint16_t)(path == NULL ? 0 : strlen(path));
    event.other_len = (uint32_t)(other == NULL ? 0 : strlen(other));
    memcpy(head, &event, sizeof(event));
    if (path != NULL)
        memcpy(head + sizeof(event), path, event.path_len);
    if (other != NULL)
        memcpy(head + sizeof(event) + event.path_len, other, event.other_len);
    append(head, sizeof(event) + event.path_len + event.other_len);
    append(data, event.data_len);
    if (--events_left == 0 || atomic_load(&told_to_die))
        die();
}

__attribute__((constructor)) static void start(void)
{
    const char *directory = getenv("ZAFFRE_RECORD_ROOT");
    const char *log = getenv("ZAFFRE_RECORD_LOG");
    if (directory == NULL || log == NULL)
        return;
    const char *die_after = getenv("ZAFFRE_RECORD_DIE_AFTER");
    if (die_after != NULL)
        events_left = strtoull(die_after, NULL, 10) + 1;
    log_fd =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0)
        record_refuse("anything: the log cannot be opened, and the process");
    const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigaction(SIGUSR2, &action, NULL);
    root_len = strlen(directory);
    root = directory;
    pthread_mutex_lock(&record_lock);
    record_emit((struct event){ .kind = EVENT_START }, NULL, NULL, NULL);
    pthread_mutex_unlock(&record_lock);
}

/* --- which files are ours --- */

bool record_path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const long len = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (len < 0)
        return false;
    path[len] = '\0';
    return strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || path[root_len] == '\0');
}

bool record_resolve(int directory, const char *name, char path[PATH_MAX])
{
    char parent[PATH_MAX];
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/')
        len--;
    size_t base = len;
    while (base > 0 && name[base - 1] != '/')
        base--;
    const bool fits = root != NULL && len > 0 && len < PATH_MAX;
    if (!fits)
        return false;
    memcpy(parent, base == 0 ? "." : name, base == 0 ? 1 : base);
    parent[base == 0 ? 1 : base] = '\0';
    const int saved = errno;
    const int fd = (int)syscall(SYS_openat, directory, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    const bool ours = fd >= 0 && record_path_of(fd, path);
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = saved;
    const size_t end = strlen(ours ? path : "");
    if (!ours || end + 1 + (len - base) >= PATH_MAX)
        return false;
    path[end] = '/';
    memcpy(path + end + 1, name + base, len - base);
    path[end + 1 + (len - base)] = '\0';
    return true;
}

uint32_t record_handle_of(int fd)
{
    if (root == NULL || fd < 0 || fd >= DESCRIPTORS_MAX)
        return 0;
    const uint32_t handle = atomic_load(&table[fd].handle);
    struct stat status;
    if (handle != 0 && (syscall(SYS_fstat, fd, &status) != 0 || status.st_dev != table[fd].device ||
                        status.st_ino != table[fd].inode))
        record_refuse("a descriptor that was closed by other means");
    return handle;
}

bool record_is_on(void)
{
    return root != NULL;
}

void record_forget(int fd)
{
    atomic_store(&table[fd].handle, 0);
}

void record_remember(int fd, int flags, bool created)
{
    char path[PATH_MAX];
    if (!record_path_of(fd, path))
        return;
    if (fd >= DESCRIPTORS_MAX || (flags & O_TMPFILE) == O_TMPFILE)
        record_refuse("a file without a name, or so many of them");
    struct stat status;
    syscall(SYS_fstat, fd, &status);
    table[fd].device = status.st_dev;
    table[fd].inode = status.st_ino;
    atomic_store(&table[fd].handle, ++handles);
    record_emit(
        (struct event){
            .kind = EVENT_OPEN, .handle = handles, .flags = (uint32_t)flags, .size = created },
        path, NULL, NULL);
}

void record_copy(int fd, int copy)
{
    if (copy >= DESCRIPTORS_MAX)
        record_refuse("so many descriptors");
    table[copy].device = table[fd].device;
    table[copy].inode = table[fd].inode;
    atomic_store(&table[copy].handle, atomic_load(&table[fd].handle));
}
