#include "backup/control_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backup/control.h"
#include "backup/disk_file.h"
#include "base/slice.h"

enum {
    ANSWER_BYTES_MAX = 16,
};

static enum err connect_in(const char *path, int *connection)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return disk_file_error("opening", path);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
             CONTROL_SOCKET);
    *connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    enum err err = OK;
    if (*connection < 0 ||
        connect(*connection, (const struct sockaddr *)&address, sizeof(address)) != 0)
        err = errno == ENOENT || errno == ECONNREFUSED ? ERR_NOT_FOUND
                                                       : disk_file_error("connecting to", path);
    close(directory);
    if (err != OK && *connection >= 0)
        close(*connection);
    return err;
}

/* Send a word and read the line that answers it; empty when the server has gone. */
static struct slice ask(int connection, const char *word, char answer[ANSWER_BYTES_MAX])
{
    /* The server may have answered "busy" and gone before the word arrives: its answer counts. */
    (void)send(connection, word, strlen(word), MSG_NOSIGNAL);
    size_t len = 0;
    while (len < ANSWER_BYTES_MAX && memchr(answer, '\n', len) == NULL) {
        const ssize_t n = recv(connection, answer + len, ANSWER_BYTES_MAX - len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return slice_make(answer, 0);
        len += (size_t)n;
    }
    return slice_make(answer, len);
}

enum err control_client_begin(const char *path, int *connection)
{
    enum err err = connect_in(path, connection);
    if (err != OK)
        return err;
    char buf[ANSWER_BYTES_MAX];
    const struct slice answer = ask(*connection, CONTROL_WORD_BACKUP, buf);
    if (slice_is(answer, CONTROL_WORD_READY))
        return OK;
    close(*connection);
    return slice_is(answer, CONTROL_WORD_BUSY) ? ERR_BUSY : ERR_IO;
}

enum err control_client_end(int connection)
{
    char buf[ANSWER_BYTES_MAX];
    const bool lasted = slice_is(ask(connection, CONTROL_WORD_DONE, buf), CONTROL_WORD_DONE);
    close(connection);
    return lasted ? OK : ERR_IO;
}
