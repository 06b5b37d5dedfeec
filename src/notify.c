#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

/* The address that NOTIFY_SOCKET names, or 0 if it names none; @ begins an abstract one. */
static socklen_t manager_address(struct sockaddr_un *address)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@'))
        return 0;
    const size_t len = strlen(path);
    if (len < 2 || len >= sizeof(address->sun_path))
        return 0;
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, path, len);
    if (path[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void notify_manager(const char *state)
{
    struct sockaddr_un address;
    const socklen_t len = manager_address(&address);
    if (len == 0)
        return;
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const ssize_t sent = descriptor < 0 ? -1
                                        : sendto(descriptor, state, strlen(state), MSG_NOSIGNAL,
                                                 (const struct sockaddr *)&address, len);
    if (sent < 0)
        log_warn("main", "the service manager cannot be told: %s", state);
    if (descriptor >= 0)
        close(descriptor);
}
