#include "backup/control.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backup/disk_file.h"
#include "base/clock.h"
#include "base/log.h"

enum {
    BACKLOG = 8,
    WORD_BYTES_MAX = 16,
};

/*
 * A client, in order:
 *
 *   CLIENT_NONE -> CLIENT_CONNECTED   accept
 *   CLIENT_CONNECTED -> CLIENT_HOLDS  "backup"
 *   any -> CLIENT_NONE                "done", the end of the connection, a word that is none
 */
enum client_state {
    CLIENT_NONE,
    CLIENT_CONNECTED,
    CLIENT_HOLDS,
};

struct control {
    /* set at start, then constant */
    char *path;
    struct partition_store *store;
    int directory;
    int listener;
    int wake; /* eventfd: readable when the thread is to stop */
    pthread_t thread;

    /* the thread's */
    enum client_state state;
    int client;
    char word[WORD_BYTES_MAX]; /* what has come of one */
    size_t word_len;
    int64_t began_us;
};

/* --- the checkpoint --- */

static void remove_files(int parent, const char *name)
{
    const int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = directory < 0 ? NULL : fdopendir(directory);
    if (files == NULL) {
        if (directory >= 0)
            close(directory);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(files)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(directory, entry->d_name, 0);
    }
    closedir(files);
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0)
        log_warn("backup", "%s cannot be removed: %s", name, strerror(errno));
}

/* The directory, and in it that of the database, finished or not. */
static void remove_checkpoint(int data_directory)
{
    const int directory =
        openat(data_directory, CONTROL_CHECKPOINT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return;
    remove_files(directory, "meta");
    remove_files(directory, "meta.tmp");
    close(directory);
    if (unlinkat(data_directory, CONTROL_CHECKPOINT, AT_REMOVEDIR) != 0)
        log_warn("backup", "%s cannot be removed: %s", CONTROL_CHECKPOINT, strerror(errno));
}

static enum err make_checkpoint(struct control *control)
{
    char path[PATH_MAX];
    const int len = snprintf(path, sizeof(path), "%s/%s", control->path, CONTROL_CHECKPOINT);
    if (len < 0 || (size_t)len >= sizeof(path))
        return ERR_IO;
    if (mkdirat(control->directory, CONTROL_CHECKPOINT, 0700) != 0)
        return disk_file_error("making", CONTROL_CHECKPOINT);
    return partition_checkpoint(control->store, path);
}

static void let_go(struct control *control)
{
    assert(control->state == CLIENT_HOLDS);
    remove_checkpoint(control->directory);
    partition_free_space(control->store);
    control->state = CLIENT_CONNECTED;
}

/* --- the client --- */

static void say(const struct control *control, const char *word)
{
    /* A client that is gone is noticed by its end. */
    (void)send(control->client, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void drop_client(struct control *control)
{
    if (control->state == CLIENT_HOLDS) {
        let_go(control);
        log_warn("backup", "broken off");
    }
    close(control->client);
    control->client = -1;
    control->state = CLIENT_NONE;
    control->word_len = 0;
}

static void begin(struct control *control)
{
    control->began_us = clock_monotonic_us();
    /* First the hold: what the checkpoint names is then there until the end. */
    partition_hold_space(control->store);
    control->state = CLIENT_HOLDS;
    const enum err err = make_checkpoint(control);
    if (err == OK) {
        say(control, CONTROL_WORD_READY);
        return;
    }
    log_error("backup", "the checkpoint failed: %s", error_text(err));
    let_go(control);
    say(control, CONTROL_WORD_FAILED);
    drop_client(control);
}

static void end(struct control *control)
{
    say(control, CONTROL_WORD_DONE);
    let_go(control);
    log_info("backup", "done; space was held for %lld ms",
             (long long)((clock_monotonic_us() - control->began_us) / 1000));
    drop_client(control);
}

static void obey(struct control *control, struct slice word)
{
    if (control->state == CLIENT_CONNECTED && slice_is(word, CONTROL_WORD_BACKUP))
        begin(control);
    else if (control->state == CLIENT_HOLDS && slice_is(word, CONTROL_WORD_DONE))
        end(control);
    else
        drop_client(control);
}

static void hear_client(struct control *control)
{
    const ssize_t n = recv(control->client, control->word + control->word_len,
                           sizeof(control->word) - control->word_len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop_client(control);
        return;
    }
    control->word_len += (size_t)n;
    const struct slice heard = slice_make(control->word, control->word_len);
    if (slice_find_byte(heard, '\n') < heard.len) {
        control->word_len = 0;
        obey(control, heard);
    } else if (control->word_len == sizeof(control->word)) {
        drop_client(control);
    }
}

/* Whether the peer is somebody who could read the data directory anyway. */
static bool may_ask(int client)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void accept_client(struct control *control)
{
    const int client = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return;
    if (!may_ask(client)) {
        close(client);
    } else if (control->state != CLIENT_NONE) {
        (void)send(client, CONTROL_WORD_BUSY, strlen(CONTROL_WORD_BUSY),
                   MSG_NOSIGNAL | MSG_DONTWAIT);
        close(client);
    } else {
        control->client = client;
        control->state = CLIENT_CONNECTED;
    }
}

static void *control_main(void *arg)
{
    struct control *control = arg;
    for (;;) {
        struct pollfd polled[] = {
            { .fd = control->wake, .events = POLLIN },
            { .fd = control->listener, .events = POLLIN },
            { .fd = control->client, .events = POLLIN }, /* -1 is skipped */
        };
        if (poll(polled, sizeof(polled) / sizeof(polled[0]), -1) < 0)
            continue;
        if (polled[0].revents != 0)
            break;
        if (polled[2].revents != 0)
            hear_client(control);
        if (polled[1].revents != 0)
            accept_client(control);
    }
    if (control->state != CLIENT_NONE)
        drop_client(control);
    return NULL;
}

/* --- starting and stopping --- */

static bool listen_in(struct control *control)
{
    control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (control->listener < 0)
        return false;
    /* The path of the data directory may be longer than that of a socket may be. */
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", control->directory,
             CONTROL_SOCKET);
    (void)unlinkat(control->directory, CONTROL_SOCKET, 0);
    /* The mode of the file is made from that of the socket: it is never open to others. */
    return fchmod(control->listener, 0600) == 0 &&
           bind(control->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
           listen(control->listener, BACKLOG) == 0;
}

static void release(struct control *control)
{
    const int opened[] = { control->directory, control->listener, control->wake };
    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++) {
        if (opened[i] >= 0)
            close(opened[i]);
    }
    free(control->path);
    free(control);
}

enum err control_new(const char *path, struct partition_store *store, struct control **control)
{
    struct control *made = calloc(1, sizeof(*made));
    char *copy = strdup(path);
    if (made == NULL || copy == NULL)
        panic("out of memory");
    *made = (struct control){ .path = copy, .store = store, .listener = -1, .client = -1 };
    made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    made->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool started = made->directory >= 0 && made->wake >= 0;
    if (started) {
        remove_checkpoint(made->directory);
        started = listen_in(made);
    }
    if (started && pthread_create(&made->thread, NULL, control_main, made) != 0)
        started = false;
    if (!started) {
        log_warn("backup", "%s/%s: %s; backups need the server to be stopped", path, CONTROL_SOCKET,
                 strerror(errno));
        release(made);
        return ERR_IO;
    }
    pthread_setname_np(made->thread, "control");
    *control = made;
    return OK;
}

void control_free(struct control *control)
{
    if (control == NULL)
        return;
    const uint64_t one = 1;
    if (write(control->wake, &one, sizeof(one)) != (ssize_t)sizeof(one))
        panic("the control thread cannot be woken");
    pthread_join(control->thread, NULL);
    (void)unlinkat(control->directory, CONTROL_SOCKET, 0);
    release(control);
}
