/*
 * load.c - a load generator for what wrk cannot express.
 *
 * Many connections go through the cycle of requests of a script (load_script.h), one request at a
 * time each: later ones may use what earlier ones were answered, as the deletion of a message
 * uses its pop receipt.  Every answer is checked; the first wrong one ends the run.
 *
 *   load --port PORT [--connections 32] [--threads 2] [--seconds N] [--cycles N] [--first N]
 *        [--rate N] [--save FILE] SCRIPT
 *
 * Without a rate a connection begins its next cycle when the last one is answered.  With --rate
 * the connections together begin N cycles a second, each at times of its own that are fixed before
 * the first.  A cycle that has to wait for the one before it counts from the time it was due, so
 * that a server that stops for a while is seen by all that would have asked it meanwhile; one that
 * this program begins late by itself counts from when it began.
 *
 * It ends after the cycles or the seconds, whichever comes first; a cycle once begun is finished.
 * Cycles are numbered from --first over all connections.  The requests a script has `once` are
 * made before the clock starts.  With --save, what the cycles kept of their answers is written to
 * a file that `lines` of another script can read.  The result is one line of JSON about the cycles;
 * `next` is the number after the last.
 *
 * Threads: each has its own epoll, its own connections and its own numbers, which are added up
 * after all have ended.  They share the script, which is constant, and the number of the next
 * cycle, which is atomic.  A connection costs two system calls per request, so that the generator
 * takes little from the server beside which it runs.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "durations.h"
#include "load_script.h"

enum {
    CONNECTIONS_MAX = 1024,
    THREADS_MAX = 16,
    EVENTS_MAX = 64,
    RECEIVE_BYTES = 64 * 1024,
    ANSWER_BYTES_MAX = 64 * 1024 * 1024,
    ANSWER_SEC_MAX = 120, /* no answer on any connection for so long is a failure */
};

struct settings {
    uint16_t port;
    unsigned connections;
    unsigned threads;
    uint64_t time_ns; /* 0: until the cycles are done */
    uint64_t cycles;  /* 0: until the time is over */
    uint64_t first;
    uint64_t interval_ns; /* between two cycles of a connection; 0: none waits */
    const char *script;
    const char *save; /* NULL: nothing is written */
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

    struct text received;
    size_t head_len; /* with its empty line; 0 until it is whole */
    size_t body_len; /* of a body whose length the head tells */
    bool chunked;
    size_t chunk_at; /* where the next chunk's size stands */
};

struct thread {
    /* set before the thread starts, then constant */
    const struct settings *settings;
    const struct script *script;
    pthread_barrier_t *prepared;
    atomic_uint_least64_t *next_cycle;
    struct connection *connections;
    unsigned connection_count;

    /* owner thread only, until it has ended */
    int epoll_fd;
    bool measures; /* whether the requests made once are done */
    unsigned busy; /* connections with a request under way, or with cycles to come */
    uint64_t began_at_ns;
    uint64_t ended_at_ns;
    uint64_t received_bytes;
    struct durations cycles;
    struct text saved;
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
    connection->received.len = 0;
    connection->head_len = 0;
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

/* The value of a line of the head, or NULL. */
static const char *header_find(const struct connection *connection, const char *name)
{
    const size_t name_len = strlen(name);
    const char *end = connection->received.data + connection->head_len;
    const char *line = connection->received.data;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        line++;
        if ((size_t)(end - line) > name_len && strncasecmp(line, name, name_len) == 0 &&
            line[name_len] == ':')
            return line + name_len + 1 + strspn(line + name_len + 1, " ");
    }
    return NULL;
}

static unsigned status_of(const struct connection *connection)
{
    return (unsigned)strtoul(connection->received.data + strlen("HTTP/1.1 "), NULL, 10);
}

/* Look for the end of the head, and how long the body is. */
static bool head_read(struct connection *connection)
{
    const char *data = connection->received.data;
    const char *end = memmem(data, connection->received.len, "\r\n\r\n", 4);
    if (end == NULL)
        return false;
    if (strncmp(data, "HTTP/1.1 ", 9) != 0)
        load_fail("not an answer: %.40s", data);
    connection->head_len = (size_t)(end + 4 - data);
    connection->body_len = 0;
    connection->chunk_at = connection->head_len;

    const char *length = header_find(connection, "Content-Length");
    const char *encoding = header_find(connection, "Transfer-Encoding");
    connection->chunked = encoding != NULL && strncasecmp(encoding, "chunked", 7) == 0;
    if (connection->request.is_head)
        return true;
    if (length != NULL)
        connection->body_len = strtoul(length, NULL, 10);
    else if (!connection->chunked && status_of(connection) != 204)
        load_fail("an answer without a length:\n%.*s", (int)connection->head_len, data);
    return true;
}

/* Take the frames out of a chunked body, so far as it is there; whether it is whole. */
static bool chunks_read(struct connection *connection)
{
    struct text *received = &connection->received;
    for (;;) {
        char *size = received->data + connection->chunk_at;
        const char *line_end = memmem(size, received->len - connection->chunk_at, "\r\n", 2);
        if (line_end == NULL)
            return false;
        const size_t frame_len = (size_t)(line_end + 2 - size);
        const size_t chunk_len = strtoul(size, NULL, 16);
        if (received->len - connection->chunk_at < frame_len + chunk_len + 2)
            return false;
        if (chunk_len == 0) {
            connection->body_len = connection->chunk_at - connection->head_len;
            return true;
        }
        /* Over the frame go the chunk and all that follows, without the chunk's line end. */
        const size_t rest = connection->chunk_at + frame_len + chunk_len + 2;
        memmove(size, size + frame_len, chunk_len);
        memmove(size + chunk_len, received->data + rest, received->len - rest);
        received->len -= frame_len + 2;
        received->data[received->len] = '\0';
        connection->chunk_at += chunk_len;
    }
}

static bool answer_is_whole(struct connection *connection)
{
    if (connection->head_len == 0 && !head_read(connection))
        return false;
    if (connection->chunked)
        return chunks_read(connection);
    return connection->received.len >= connection->head_len + connection->body_len;
}

static void connection_answered(struct thread *thread, struct connection *connection)
{
    const struct answer answer = {
        .status = status_of(connection),
        .head = connection->received.data,
        .head_len = connection->head_len,
        .body = connection->received.data + connection->head_len,
        .body_len = connection->body_len,
    };
    script_answer(thread->script, connection->step, &connection->values, &answer);
    if (connection->sent < connection->request.head.len + connection->request.body_len)
        load_fail("answered with %u before the body was sent", answer.status);
    connection_next(thread, connection);
}

static void connection_receive(struct thread *thread, struct connection *connection)
{
    struct text *received = &connection->received;
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
    if (answer_is_whole(connection))
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

static void *thread_run(void *arg)
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

/* --- results --- */

static void print_result(struct thread *threads, const struct settings *settings, uint64_t next)
{
    struct thread *all = &threads[0];
    for (unsigned i = 1; i < settings->threads; i++) {
        durations_move(&all->cycles, &threads[i].cycles);
        all->received_bytes += threads[i].received_bytes;
        if (threads[i].began_at_ns < all->began_at_ns)
            all->began_at_ns = threads[i].began_at_ns;
        if (threads[i].ended_at_ns > all->ended_at_ns)
            all->ended_at_ns = threads[i].ended_at_ns;
    }
    struct durations *cycles = &all->cycles;
    if (cycles->count == 0)
        load_fail("no cycle was begun in time");
    durations_sort(cycles);
    printf("{\"requests\":%zu,\"duration_us\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"p50_us\":%" PRIu32
           ",\"p99_us\":%" PRIu32 ",\"next\":%" PRIu64 "}\n",
           cycles->count, (all->ended_at_ns - all->began_at_ns) / 1000, all->received_bytes,
           cycles->us[cycles->count / 2], cycles->us[cycles->count * 99 / 100], next);
}

static void write_saved(const struct thread *threads, const struct settings *settings)
{
    FILE *file = fopen(settings->save, "w");
    if (file == NULL)
        load_fail("%s: %s", settings->save, strerror(errno));
    for (unsigned i = 0; i < settings->threads; i++) {
        if (threads[i].saved.len > 0)
            fwrite(threads[i].saved.data, 1, threads[i].saved.len, file);
    }
    if (ferror(file) != 0 || fclose(file) != 0)
        load_fail("%s: %s", settings->save, strerror(errno));
}

/* --- the whole --- */

static void measure(const struct settings *settings)
{
    struct thread threads[THREADS_MAX] = { 0 };
    pthread_t ids[THREADS_MAX];
    pthread_barrier_t prepared;
    pthread_barrier_init(&prepared, NULL, settings->threads);
    atomic_uint_least64_t next_cycle;
    atomic_init(&next_cycle, settings->first);
    const struct script *script = script_read(settings->script);

    struct connection *connections = calloc(settings->connections, sizeof *connections);
    if (connections == NULL)
        load_fail("no memory for the connections");
    for (unsigned i = 0; i < settings->connections; i++) {
        connections[i].fd = connect_to(settings->port);
        connections[i].values.run = settings->first;
        connections[i].values.connection = i;
    }
    unsigned given = 0;
    for (unsigned i = 0; i < settings->threads; i++) {
        const unsigned share = (settings->connections - given) / (settings->threads - i);
        threads[i] = (struct thread){
            .settings = settings,
            .script = script,
            .prepared = &prepared,
            .next_cycle = &next_cycle,
            .connections = connections + given,
            .connection_count = share,
        };
        given += share;
        if (pthread_create(&ids[i], NULL, thread_run, &threads[i]) != 0)
            load_fail("no thread");
    }
    for (unsigned i = 0; i < settings->threads; i++)
        pthread_join(ids[i], NULL);
    if (settings->save != NULL)
        write_saved(threads, settings);
    print_result(threads, settings, atomic_load(&next_cycle));
    pthread_barrier_destroy(&prepared);
}

static uint64_t number_of(const char *text, uint64_t max)
{
    char *end = NULL;
    const uint64_t number = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number > max)
        load_fail("%s: expected a number up to %" PRIu64, text, max);
    return number;
}

static double seconds_of(const char *text)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(seconds >= 0 && seconds <= 3600))
        load_fail("%s: expected seconds, up to an hour", text);
    return seconds;
}

int main(int argc, char **argv)
{
    struct settings settings = { .connections = 32, .threads = 2 };
    uint64_t rate = 0;
    static const struct option options[] = {
        { "port", required_argument, NULL, 'p' },
        { "connections", required_argument, NULL, 'c' },
        { "threads", required_argument, NULL, 't' },
        { "seconds", required_argument, NULL, 's' },
        { "cycles", required_argument, NULL, 'n' },
        { "first", required_argument, NULL, 'f' },
        { "rate", required_argument, NULL, 'r' },
        { "save", required_argument, NULL, 'o' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'p')
            settings.port = (uint16_t)number_of(optarg, UINT16_MAX);
        else if (option == 'c')
            settings.connections = (unsigned)number_of(optarg, CONNECTIONS_MAX);
        else if (option == 't')
            settings.threads = (unsigned)number_of(optarg, THREADS_MAX);
        else if (option == 's')
            settings.time_ns = (uint64_t)(seconds_of(optarg) * 1e9);
        else if (option == 'n')
            settings.cycles = number_of(optarg, UINT64_MAX / 2);
        else if (option == 'f')
            settings.first = number_of(optarg, UINT64_MAX / 2);
        else if (option == 'r')
            rate = number_of(optarg, 1000 * 1000);
        else if (option == 'o')
            settings.save = optarg;
        else
            return 2;
    }
    if (settings.threads > settings.connections)
        settings.threads = settings.connections;
    if (optind + 1 != argc || settings.port == 0 || settings.threads == 0 ||
        (settings.time_ns == 0 && settings.cycles == 0))
        load_fail("usage: load --port PORT [--connections N] [--threads N] [--seconds N] "
                  "[--cycles N] [--first N] [--rate N] [--save FILE] SCRIPT");
    if (rate > 0)
        settings.interval_ns = UINT64_C(1000000000) * settings.connections / rate;
    settings.script = argv[optind];
    measure(&settings);
    return 0;
}
