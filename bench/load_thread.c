#include "load_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "load_fail.h"
#include "load_reply.h"

enum {
    EVENTS_MAX = 64,
    RECEIVE_BYTES = 64 * 1024,
    ANSWER_BYTES_MAX = 64 * 1024 * 1024,
    ANSWER_SEC_MAX = 120, /* no answer on any connection for so long is a failure */
};

struct connection {
    int fd;
    bool waits_to_send; /* the socket was full; epoll tells when it is not */
    struct values values;
    unsigned step;
    unsigned turn; /* of a request made several times */
    uint64_t cycle_began_at_ns;
    uint64_t due_at_ns; /* with a rate: when the next cycle is to begin */
    bool waits_to_begin;

    struct request request;
    size_t sent; /* of head and body together */
    struct reply reply;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- sending --- */

static void watch(struct thread *thread, struct connection *connection, int operation)
{
    struct epoll_event event = {
        .events = connection->waits_to_send ? EPOLLIN | EPOLLOUT : EPOLLIN,
        .data.ptr = connection,
    };
    if (epoll_ctl(thread->epoll_fd, operation, connection->fd, &event) < 0)
        load_fail("epoll_ctl: %s", strerror(errno));
}

static ssize_t send_some(struct connection *connection)
{
    const struct request *request = &connection->request;
    struct iovec pieces[2];
    int count = 0;
    if (connection->sent < request->head.len)
        pieces[count++] = (struct iovec){ request->head.data + connection->sent,
                                          request->head.len - connection->sent };
    const size_t body_sent =
        connection->sent < request->head.len ? 0 : connection->sent - request->head.len;
    if (body_sent < request->body_len)
        /* Through an integer: iovec has no const, and sendmsg does not write. */
        pieces[count++] = (struct iovec){ (void *)((uintptr_t)request->body + body_sent),
                                          request->body_len - body_sent };
    const struct msghdr message = { .msg_iov = pieces, .msg_iovlen = (size_t)count };
    return sendmsg(connection->fd, &message, MSG_NOSIGNAL);
}

static void connection_send(struct thread *thread, struct connection *connection)
{
    const size_t whole = connection->request.head.len + connection->request.body_len;
    bool full = false;
    while (connection->sent < whole && !full) {
        const ssize_t count = send_some(connection);
        if (count >= 0)
            connection->sent += (size_t)count;
        else if (errno == EAGAIN)
            full = true;
        else if (errno != EINTR)
            load_fail("send: %s", strerror(errno));
    }
    if (full != connection->waits_to_send) {
        connection->waits_to_send = full;
        watch(thread, connection, EPOLL_CTL_MOD);
    }
}

static void connection_request(struct thread *thread, struct connection *connection)
{
    script_request(thread->script, connection->step, connection->turn, &connection->values,
                   &connection->request);
    connection->sent = 0;
    reply_begin(&connection->reply, connection->request.is_head);
    connection_send(thread, connection);
}

/* --- the cycle --- */

/* Go to the next request of this phase; false when there is none left in the cycle. */
static bool connection_advance(const struct thread *thread, struct connection *connection)
{
    while (connection->step < script_step_count(thread->script)) {
        if (script_step_is_once(thread->script, connection->step) != thread->measures)
            return true;
        connection->step++;
    }
    return false;
}

/* Take the number of a new cycle, unless the run is over. */
static bool cycle_take(struct thread *thread, uint64_t *number)
{
    const struct settings *settings = thread->settings;
    if (settings->time_ns != 0 && now_ns() - thread->began_at_ns >= settings->time_ns)
        return false;
    /* Relaxed: only that each number is taken once matters. */
    *number = atomic_fetch_add_explicit(thread->next_cycle, 1, memory_order_relaxed);
    if (settings->cycles == 0 || *number < settings->first + settings->cycles)
        return true;
    atomic_fetch_sub_explicit(thread->next_cycle, 1, memory_order_relaxed);
    return false;
}

static void connection_begin_cycle(struct thread *thread, struct connection *connection,
                                   uint64_t began_at_ns)
{
    uint64_t number = 0;
    if (thread->measures && !cycle_take(thread, &number)) {
        thread->busy--;
        return;
    }
    script_begin_cycle(thread->script, &connection->values, number);
    connection->step = 0;
    connection->turn = 0;
    if (!connection_advance(thread, connection)) {
        if (thread->measures)
            load_fail("script: every request is made once");
        thread->busy--;
        return;
    }
    connection->cycle_began_at_ns = began_at_ns;
    connection_request(thread, connection);
}

/* Begin the next cycle, or with a rate wait until it is due. */
static void connection_go_on(struct thread *thread, struct connection *connection)
{
    const uint64_t now = now_ns();
    if (!thread->measures || thread->settings->interval_ns == 0) {
        connection_begin_cycle(thread, connection, now);
        return;
    }
    connection->waits_to_begin = connection->due_at_ns > now;
    if (!connection->waits_to_begin) {
        const uint64_t due_at_ns = connection->due_at_ns;
        connection->due_at_ns += thread->settings->interval_ns;
        connection_begin_cycle(thread, connection, due_at_ns);
    }
}

/* Begin the cycles that have become due.  Returns when the next one is, or 0. */
static uint64_t begin_due_cycles(struct thread *thread)
{
    uint64_t next_at_ns = 0;
    for (unsigned i = 0; i < thread->connection_count; i++) {
        struct connection *connection = &thread->connections[i];
        const uint64_t now = now_ns();
        if (connection->waits_to_begin && connection->due_at_ns <= now) {
            connection->waits_to_begin = false;
            connection->due_at_ns += thread->settings->interval_ns;
            connection_begin_cycle(thread, connection, now);
        }
        if (connection->waits_to_begin && (next_at_ns == 0 || connection->due_at_ns < next_at_ns))
            next_at_ns = connection->due_at_ns;
    }
    return next_at_ns;
}

/* A request is answered: make the next one. */
static void connection_next(struct thread *thread, struct connection *connection)
{
    if (++connection->turn == script_step_times(thread->script, connection->step)) {
        connection->turn = 0;
        connection->step++;
    }
    if (connection_advance(thread, connection)) {
        connection_request(thread, connection);
    } else if (thread->measures) {
        durations_add(&thread->cycles, now_ns() - connection->cycle_began_at_ns);
        if (thread->settings->save != NULL)
            script_save(thread->script, &connection->values, &thread->saved);
        connection_go_on(thread, connection);
    } else {
        thread->busy--;
    }
}

/* --- receiving --- */

static void connection_answered(struct thread *thread, struct connection *connection)
{
    const struct reply *reply = &connection->reply;
    const struct answer answer = {
        .status = reply_status(reply),
        .head = reply->bytes.data,
        .head_len = reply->head_len,
        .body = reply->bytes.data + reply->head_len,
        .body_len = reply->body_len,
    };
    script_answer(thread->script, connection->step, &connection->values, &answer);
    if (connection->sent < connection->request.head.len + connection->request.body_len)
        load_fail("answered with %u before the body was sent", answer.status);
    connection_next(thread, connection);
}

static void connection_receive(struct thread *thread, struct connection *connection)
{
    struct text *received = &connection->reply.bytes;
    if (received->len > ANSWER_BYTES_MAX)
        load_fail("an answer of more than %d bytes", ANSWER_BYTES_MAX);
    text_reserve(received, RECEIVE_BYTES + 1);
    const ssize_t count = recv(connection->fd, received->data + received->len,
                               received->capacity - received->len - 1, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0)
        load_fail("the connection was closed: %s", count < 0 ? strerror(errno) : "end of file");
    thread->received_bytes += (uint64_t)count;
    received->len += (size_t)count;
    received->data[received->len] = '\0'; /* so that searches for numbers and lines end */
    if (reply_is_whole(&connection->reply))
        connection_answered(thread, connection);
}

/* --- threads --- */

/* Wait for answers, or until the instant `until_ns`, which may be 0. */
static int thread_wait(const struct thread *thread, struct epoll_event *events, uint64_t until_ns)
{
    struct timespec timeout = { .tv_sec = ANSWER_SEC_MAX };
    if (until_ns != 0) {
        const uint64_t now = now_ns();
        const uint64_t wait_ns = until_ns > now ? until_ns - now : 0;
        timeout = (struct timespec){ .tv_sec = (time_t)(wait_ns / 1000000000u),
                                     .tv_nsec = (long)(wait_ns % 1000000000u) };
    }
    const int count = epoll_pwait2(thread->epoll_fd, events, EVENTS_MAX, &timeout, NULL);
    if (count == 0 && until_ns == 0)
        load_fail("no answer in %d s", ANSWER_SEC_MAX);
    if (count < 0 && errno != EINTR)
        load_fail("epoll_pwait2: %s", strerror(errno));
    return count;
}

static void thread_phase(struct thread *thread)
{
    thread->began_at_ns = now_ns();
    thread->busy = thread->connection_count;
    for (unsigned i = 0; i < thread->connection_count; i++) {
        struct connection *connection = &thread->connections[i];
        /* The first cycles are spread over the time between two. */
        connection->due_at_ns = thread->began_at_ns + thread->settings->interval_ns *
                                                          connection->values.connection /
                                                          thread->settings->connections;
        connection_go_on(thread, connection);
    }

    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        const uint64_t next_at_ns = begin_due_cycles(thread);
        if (thread->busy == 0)
            break;
        const int count = thread_wait(thread, events, next_at_ns);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT) != 0)
                connection_send(thread, connection);
            if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0)
                connection_receive(thread, connection);
        }
    }
    thread->ended_at_ns = now_ns();
}

void *thread_run(void *arg)
{
    struct thread *thread = arg;
    thread->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (thread->epoll_fd < 0)
        load_fail("epoll_create1: %s", strerror(errno));
    for (unsigned i = 0; i < thread->connection_count; i++)
        watch(thread, &thread->connections[i], EPOLL_CTL_ADD);

    thread_phase(thread);
    pthread_barrier_wait(thread->prepared);
    thread->measures = true;
    thread->received_bytes = 0;
    thread_phase(thread);
    close(thread->epoll_fd);
    return NULL;
}

/* --- making them --- */

static int connect_to(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        load_fail("port %u: %s", (unsigned)port, strerror(errno));
    /* Blocking until here, so that all are connected before the first request. */
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        load_fail("fcntl: %s", strerror(errno));
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

struct connection *connections_open(const struct settings *settings)
{
    struct connection *connections = calloc(settings->connections, sizeof *connections);
    if (connections == NULL)
        load_fail("no memory for the connections");
    for (unsigned i = 0; i < settings->connections; i++) {
        connections[i].fd = connect_to(settings->port);
        connections[i].values.run = settings->first;
        connections[i].values.connection = i;
    }
    return connections;
}

void threads_share(struct thread *threads, const struct settings *settings,
                   struct connection *connections)
{
    unsigned given = 0;
    for (unsigned i = 0; i < settings->threads; i++) {
        const unsigned share = (settings->connections - given) / (settings->threads - i);
        threads[i].connections = connections + given;
        threads[i].connection_count = share;
        given += share;
    }
}
