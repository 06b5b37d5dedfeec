/*
 * main.c - reads the settings, opens the layers from the bottom up, serves until it is told to
 * stop, and closes them in reverse.  `zaffre fsck`, `zaffre backup` and `zaffre restore` are other
 * programs (fsck_main.c, backup_main.c).
 *
 * Exit status: 0 after a clean stop, 1 when something could not be opened, 2 for a wrong command
 * line.  The first SIGTERM or SIGINT lets requests under way finish; a second one ends the process
 * at once, which loses nothing that was acknowledged.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/control.h"
#include "backup_main.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/space.h"
#include "config.h"
#include "frontend/http/http_fetch.h"
#include "frontend/http/http_listener.h"
#include "frontend/http/http_metrics.h"
#include "frontend/http/http_server.h"
#include "frontend/http/tls_files.h"
#include "fsck_main.h"
#include "memory.h"
#include "notify.h"
#include "partition/partition.h"
#include "privileges.h"
#include "service/account.h"
#include "service/blob/copy.h"
#include "service/file/open_table.h"
#include "service/file/open_timer.h"
#include "service/limits.h"
#include "service/scrub.h"
#include "service/service.h"
#include "service/sweeper.h"
#include "stream/stream.h"

/* Everything that is open, in the order it was opened. */
struct program {
    struct arena arena; /* settings, certificates: until the end */
    struct config config;
    struct account_list *accounts;
    struct privileges privileges;
    struct tls_files tls;
    /* Bound; each is its server's from when that is made.  The last is the admin endpoint's. */
    struct http_listener *listeners[HTTP_SERVICE_COUNT + 1];
    struct partition_lock *lock;
    struct io *io;
    struct space space; /* of io, when it is a disk */
    struct clock clock;
    struct stream *stream;
    struct partition_store *store;
    struct control *control; /* NULL in memory, and where there can be no socket */
    struct scrub *scrub;     /* NULL in memory, and when it is not wanted */
    struct open_table *opens;
    struct open_timer *open_timer;
    struct service service;
    struct http_fetcher *fetcher;
    struct http_context http[HTTP_SERVICE_COUNT];
    struct http_server *servers[HTTP_SERVICE_COUNT];
    struct http_server *admin_server;
};

/* --- before anything is opened --- */

static enum err open_log(const struct config *config)
{
    if (config->debug_path != NULL) {
        log_set_level(LOG_DEBUG);
        return log_open(config->debug_path);
    }
    log_set_level(config->silent ? LOG_WARN : LOG_INFO);
    return OK;
}

/* Ten thousand connections need as many descriptors. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn("main", "the limit of open files stays low; many connections may be refused");
}

static enum err read_accounts(struct program *program)
{
    const char *fault = NULL;
    const enum err err = account_list_new(getenv("AZURITE_ACCOUNTS"), &program->accounts, &fault);
    if (err != OK)
        log_error("main", "AZURITE_ACCOUNTS: %s", fault);
    return err;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)address;
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
    return false;
}

static bool is_loopback_host(const char *host)
{
    struct addrinfo *addresses = NULL;
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    if (getaddrinfo(host, NULL, &hints, &addresses) != 0)
        return false;
    bool loopback = addresses != NULL;
    for (const struct addrinfo *at = addresses; at != NULL; at = at->ai_next)
        loopback = loopback && is_loopback(at->ai_addr);
    freeaddrinfo(addresses);
    return loopback;
}

/* Where a service listens. */
struct listener_config {
    const char *title;
    const char *host;
    uint16_t port;
    uint32_t idle_sec;
};

static struct listener_config listener_config(const struct config *config, enum http_service_id id)
{
    const struct listener_config listeners[HTTP_SERVICE_COUNT] = {
        [HTTP_SERVICE_OF_BLOBS] = { "Blob", config->blob_host, config->blob_port,
                                    config->blob_keep_alive_sec },
        [HTTP_SERVICE_OF_QUEUES] = { "Queue", config->queue_host, config->queue_port,
                                     config->queue_keep_alive_sec },
        [HTTP_SERVICE_OF_TABLES] = { "Table", config->table_host, config->table_port,
                                     config->table_keep_alive_sec },
        [HTTP_SERVICE_OF_FILES] = { "File", config->file_host, config->file_port,
                                    config->file_keep_alive_sec },
    };
    return listeners[id];
}

/* Everybody knows that key: it is no protection where others can reach the listener. */
static enum err check_well_known_key(const struct program *program)
{
    const struct config *config = &program->config;
    if (!account_list_has_well_known_key(program->accounts) || config->allow_well_known_key)
        return OK;
    for (size_t i = 0; i < HTTP_SERVICE_COUNT; i++) {
        const enum http_service_id id = (enum http_service_id)i;
        const char *host = listener_config(config, id).host;
        if (is_loopback_host(host))
            continue;
        log_error("main",
                  "--%sHost %s can be reached from other machines, and the well-known account key "
                  "is public; set AZURITE_ACCOUNTS to accounts of your own, or pass "
                  "--allowWellKnownKey",
                  http_service_get(id)->name, host);
        return ERR_INVALID_INPUT;
    }
    return OK;
}

/* --- what may need root: ports, certificate, key --- */

static enum err bind_listeners(struct program *program)
{
    const struct config *config = &program->config;
    enum err err = http_listener_open(config->admin_host, config->admin_port,
                                      &program->listeners[HTTP_SERVICE_COUNT]);
    for (size_t i = 0; err == OK && i < HTTP_SERVICE_COUNT; i++) {
        const struct listener_config listener = listener_config(config, (enum http_service_id)i);
        err = http_listener_open(listener.host, listener.port, &program->listeners[i]);
    }
    return err;
}

static enum err take_privileged(struct program *program)
{
    const struct config *config = &program->config;
    enum err err = privileges_find(&program->arena, config->user, &program->privileges);
    if (err == OK && config->cert_path != NULL)
        err = tls_files_load(&program->arena, config->cert_path, config->key_path,
                             config->cert_password, &program->tls);
    if (err == OK)
        err = bind_listeners(program);
    if (err == OK && !config->in_memory)
        err = privileges_give_directory(&program->privileges, config->location);
    return err == OK ? privileges_drop(&program->privileges) : err;
}

/* A server takes its listener over. */
static struct http_listener *take_listener(struct program *program, size_t index)
{
    struct http_listener *listener = program->listeners[index];
    program->listeners[index] = NULL;
    return listener;
}

/* --- opening, from the bottom up --- */

static void explain_location(const char *location, enum err err)
{
    if (err == ERR_LOCKED)
        log_error("main", "%s is in use by another zaffre", location);
    else if (err == ERR_FORMAT_UNKNOWN)
        log_error("main",
                  "%s holds data that this version does not know; it was left untouched. Choose an "
                  "empty directory with --location, or the version that wrote it",
                  location);
    else
        log_error("main", "%s cannot be opened: %s", location, error_text(err));
}

/* Metadata that is not in the cache is read from files and unpacked, at several times the cost. */
static uint64_t cache_bytes(const struct config *config)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    if (config->cache_bytes > 0 || pages <= 0 || page_bytes <= 0)
        return config->cache_bytes;
    return memory_cache_bytes(memory_limit_bytes("", (uint64_t)pages * (uint64_t)page_bytes));
}

static enum err open_disk(struct program *program)
{
    const char *location = program->config.location;
    enum err err = partition_prepare_directory(location, &program->lock);
    if (err == OK)
        err = io_linux_new(location, &program->io);
    if (err == OK) {
        space_init(&program->space, program->io, program->config.disk_reserve_bytes);
        const struct stream_options stream_options = {
            .extent_bytes = STREAM_EXTENT_BYTES,
            .dedicated_bytes = STREAM_DEDICATED_BYTES,
            .space = &program->space,
        };
        err = stream_open_with(program->io, &program->clock, &stream_options, &program->stream);
    }
    const struct partition_options options = {
        .clock = &program->clock,
        .stream = program->stream,
        .committers = program->config.committers,
        .cache_bytes = cache_bytes(&program->config),
    };
    if (err == OK)
        err = partition_open_rocksdb(location, &options, &program->store);
    if (err != OK)
        explain_location(location, err);
    /* Without it there are no backups while this server runs; it has been logged. */
    else if (control_new(location, program->store, &program->control) != OK)
        program->control = NULL;
    return err;
}

static enum err open_memory(struct program *program)
{
    program->io = io_memory_new_untracked(program->config.extent_memory_limit_bytes);
    const enum err err = stream_open(program->io, &program->clock, &program->stream);
    if (err != OK)
        return err;
    const struct partition_options options = {
        .clock = &program->clock,
        .stream = program->stream,
        .committers = program->config.committers,
    };
    program->store = partition_open_memory(&options);
    return OK;
}

static enum err open_service(struct program *program)
{
    program->opens = open_table_new(&program->clock);
    program->service = (struct service){
        .opens = program->opens,
        .store = program->store,
        .stream = program->stream,
        .clock = &program->clock,
        .space = program->config.in_memory ? NULL : &program->space,
        .inline_payload_bytes = program->config.inline_payload_bytes,
        .blob_versioning = program->config.blob_versioning,
    };
    enum err err = open_timer_new(program->opens, &program->open_timer);
    if (err == OK)
        err = copy_recover(&program->service);
    if (err != OK)
        return err;
    const size_t count = account_list_count(program->accounts);
    struct slice *names = arena_alloc(&program->arena, count * sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = slice_of(account_list_get(program->accounts, i)->name);
    return sweeper_new(&program->service, names, count, &program->service.sweeper);
}

static unsigned worker_count(const struct config *config)
{
    if (config->workers > 0)
        return config->workers;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

static enum err open_listener(struct program *program, enum http_service_id id)
{
    const struct config *config = &program->config;
    const struct listener_config listener = listener_config(config, id);
    program->http[id] = (struct http_context){
        .kind = http_service_get(id),
        .service = &program->service,
        .fetcher = program->fetcher,
        .accounts = program->accounts,
        .path_style_only = config->disable_product_style_url,
        .loose = config->loose,
    };
    const struct http_server_options options = {
        .listener = take_listener(program, id),
        .workers = worker_count(config),
        .idle_sec = listener.idle_sec,
        .certificate = program->tls.certificate,
        .key = program->tls.key,
        .key_password = program->tls.key_password,
    };
    return http_server_new(&program->http[id], &options, &program->servers[id]);
}

static enum err open_listeners(struct program *program)
{
    enum err err = http_fetcher_new(&program->fetcher);
    if (err != OK)
        return err;
    http_metrics_init();
    const struct http_server_options admin = {
        .listener = take_listener(program, HTTP_SERVICE_COUNT),
        .workers = 1,
        .idle_sec = LIMIT_CONNECTION_IDLE_SEC,
    };
    err = http_admin_new(&admin, &program->admin_server);
    for (size_t i = 0; err == OK && i < HTTP_SERVICE_COUNT; i++)
        err = open_listener(program, (enum http_service_id)i);
    return err;
}

/* Before the listeners: metrics are registered while nobody asks for them. */
static enum err open_scrub(struct program *program)
{
    if (program->config.in_memory || program->config.scrub_bytes == 0)
        return OK;
    const struct scrub_options options = {
        .store = program->store,
        .seed = (uint64_t)clock_tick(&program->clock),
    };
    program->scrub = scrub_new(&options);
    return scrub_start(program->scrub, program->config.scrub_bytes);
}

static enum err open_all(struct program *program)
{
    enum err err = read_accounts(program);
    if (err == OK)
        err = check_well_known_key(program);
    if (err == OK)
        err = take_privileged(program);
    if (err != OK)
        return err;
    clock_init(&program->clock);
    err = program->config.in_memory ? open_memory(program) : open_disk(program);
    if (err == OK)
        err = open_service(program);
    if (err == OK)
        err = open_scrub(program);
    if (err == OK)
        err = open_listeners(program);
    return err;
}

/* --- closing, from the top down; whatever was not opened is skipped --- */

static void close_listeners(struct program *program)
{
    /* Requests that wait for a copy source are answered that the server is stopping. */
    http_fetcher_stop(program->fetcher);
    struct http_server *servers[HTTP_SERVICE_COUNT + 1];
    memcpy(servers, program->servers, sizeof(program->servers));
    servers[HTTP_SERVICE_COUNT] = program->admin_server;
    /* The slow clients of all of them are waited for at the same time. */
    for (size_t i = 0; i <= HTTP_SERVICE_COUNT; i++)
        if (servers[i] != NULL)
            http_server_begin_stop(servers[i]);
    for (size_t i = 0; i <= HTTP_SERVICE_COUNT; i++) {
        if (servers[i] != NULL)
            http_server_stop(servers[i]);
        http_server_free(servers[i]);
    }
    for (size_t i = 0; i <= HTTP_SERVICE_COUNT; i++)
        http_listener_free(program->listeners[i]);
}

static void close_all(struct program *program)
{
    close_listeners(program);
    http_fetcher_free(program->fetcher);
    http_metrics_release();
    scrub_free(program->scrub);
    control_free(program->control);
    sweeper_free(program->service.sweeper);
    open_timer_free(program->open_timer);
    if (program->store != NULL)
        partition_close(program->store);
    open_table_free(program->opens);
    if (program->stream != NULL)
        stream_close(program->stream);
    if (program->io != NULL)
        io_free(program->io);
    partition_lock_free(program->lock);
    account_list_free(program->accounts);
    metric_free_all();
    arena_release(&program->arena);
}

/* --- serving --- */

/* Programs that start azurite wait for its words. */
static const char *name_to_print(const char *invoked)
{
    const char *slash = strrchr(invoked, '/');
    return strcmp(slash == NULL ? invoked : slash + 1, "azurite") == 0 ? "Azurite" : "Zaffre";
}

static void print_ready(const struct program *program, const char *invoked)
{
    const struct config *config = &program->config;
    for (size_t i = 0; i < HTTP_SERVICE_COUNT; i++) {
        const struct listener_config listener = listener_config(config, (enum http_service_id)i);
        printf("%s %s service is successfully listening at %s://%s:%u\n", name_to_print(invoked),
               listener.title, program->tls.certificate == NULL ? "http" : "https", listener.host,
               (unsigned)http_server_port(program->servers[i]));
    }
    printf("%s Admin endpoint is listening at http://%s:%u\n", name_to_print(invoked),
           config->admin_host, (unsigned)http_server_port(program->admin_server));
    fflush(stdout);
    if (config->oauth != NULL)
        log_warn("main", "--oauth: bearer tokens are refused by this version");
}

static void *wait_for_second_signal(void *arg)
{
    const sigset_t *signals = arg;
    int number;
    sigwait(signals, &number);
    log_warn("main", "stopped at once by a second signal");
    _exit(1);
}

static void wait_for_stop(const sigset_t *signals)
{
    static sigset_t again;
    int number = 0;
    sigwait(signals, &number);
    log_info("main", "%s: finishing requests under way", number == SIGTERM ? "SIGTERM" : "SIGINT");
    again = *signals;
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, wait_for_second_signal, &again) == 0)
        pthread_detach(watcher);
}

int main(int argc, char *argv[])
{
    /* What the server keeps is its users' and nobody else's, whatever mode a library asks for. */
    umask(077);
    if (argc > 1 && strcmp(argv[1], "fsck") == 0)
        return fsck_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "backup") == 0)
        return backup_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "restore") == 0)
        return restore_main(argc, argv);
    struct program program = { 0 };
    switch (config_parse(&program.config, &program.arena, argc, argv, stdout, stderr)) {
    case CONFIG_DONE:
        arena_release(&program.arena);
        return 0;
    case CONFIG_INVALID:
        arena_release(&program.arena);
        return 2;
    case CONFIG_RUN:
        break;
    }
    if (open_log(&program.config) != OK) {
        fprintf(stderr, "zaffre: --debug %s cannot be opened\n", program.config.debug_path);
        return 1;
    }
    raise_descriptor_limit();

    /* Blocked in every thread; waited for here. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    const enum err err = open_all(&program);
    if (err == OK) {
        print_ready(&program, argv[0]);
        notify_manager("READY=1");
        wait_for_stop(&signals);
        notify_manager("STOPPING=1");
    }
    close_all(&program);
    return err == OK ? 0 : 1;
}
