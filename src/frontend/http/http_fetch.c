#include "frontend/http/http_fetch.h"

#include <assert.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/mutex.h"

enum {
    ACTIVE_MAX = 64, /* transfers at a time; a waiting one has at most one buffer of bytes */
    CONNECT_SEC = 15,
    /* A source that sends less than this for so long is given up. */
    SLOW_BYTES_PER_SEC = 16,
    SLOW_SEC = 60,
    FIELDS_MAX = 256,
    PIECE_BYTES = 256 * 1024, /* of a local source */
    POLL_MS = 1000,
};

struct http_fetcher {
    /* set at start, then constant */
    CURLM *multi;
    pthread_t thread;

    /* under lock */
    struct mutex lock;
    struct condvar changed;
    struct http_fetch *queue; /* newly started, oldest first */
    struct http_fetch *queue_last;
    bool has_resumed; /* some fetch was resumed */
    bool stop;
    bool is_joined;
    size_t held;

    /* the thread's */
    struct http_fetch *active[ACTIVE_MAX];
    size_t active_count;
    char *piece;
};

enum err http_fetch_status_error(unsigned status)
{
    switch (status) {
    case 200:
    case 206:
        return OK;
    case 304:
        return ERR_COPY_SOURCE_NOT_MODIFIED;
    case 401:
        return ERR_COPY_SOURCE_UNAUTHORIZED;
    case 403:
        return ERR_COPY_SOURCE_FORBIDDEN;
    case 404:
        return ERR_COPY_SOURCE_NOT_FOUND;
    case 409:
        return ERR_COPY_SOURCE_CONFLICT;
    case 412:
        return ERR_COPY_SOURCE_CONDITION;
    case 416:
        return ERR_INVALID_RANGE;
    default:
        return ERR_COPY_SOURCE_UNREACHABLE;
    }
}

/* --- states --- */

static void set_state(struct http_fetch *fetch, enum fetch_state state)
{
    struct http_fetcher *fetcher = fetch->fetcher;
    mutex_lock(&fetcher->lock);
    fetch->state = state;
    mutex_unlock(&fetcher->lock);
}

/* The caller wants to wait.  False if it was resumed in the meantime. */
static bool begin_waiting(struct http_fetch *fetch)
{
    struct http_fetcher *fetcher = fetch->fetcher;
    mutex_lock(&fetcher->lock);
    const bool resumed = fetch->state == FETCH_RESUMED;
    fetch->state = resumed ? FETCH_ACTIVE : FETCH_WAITING;
    mutex_unlock(&fetcher->lock);
    return !resumed;
}

/* Whether a fetch that waited has been resumed. */
static bool take_resumption(struct http_fetch *fetch)
{
    struct http_fetcher *fetcher = fetch->fetcher;
    mutex_lock(&fetcher->lock);
    const bool resumed = fetch->state == FETCH_RESUMED;
    if (resumed)
        fetch->state = FETCH_ACTIVE;
    mutex_unlock(&fetcher->lock);
    return resumed;
}

void http_fetch_resume(struct http_fetch *fetch)
{
    struct http_fetcher *fetcher = fetch->fetcher;
    mutex_lock(&fetcher->lock);
    fetch->state = FETCH_RESUMED;
    fetcher->has_resumed = true;
    mutex_unlock(&fetcher->lock);
    curl_multi_wakeup(fetcher->multi);
}

/* Tell the caller what is known of the answer, if that has not been done. */
static enum http_fetch_next tell_begun(struct http_fetch *fetch)
{
    fetch->has_begun = true;
    fetch->answer.headers = fetch->fields;
    fetch->answer.header_count = fetch->field_count;
    enum http_fetch_next next = fetch->begun(fetch->arg, fetch);
    if (next == HTTP_FETCH_WAIT && !begin_waiting(fetch))
        next = HTTP_FETCH_GO;
    return next;
}

/* --- HTTP --- */

static bool is_waiting(struct http_fetch *fetch)
{
    mutex_lock(&fetch->fetcher->lock);
    const bool waiting = fetch->state == FETCH_WAITING;
    mutex_unlock(&fetch->fetcher->lock);
    return waiting;
}

static void note_status(struct http_fetch *fetch)
{
    long status = 0;
    curl_off_t length = -1;
    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(fetch->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    fetch->status = (unsigned)status;
    fetch->has_length = length >= 0;
    fetch->length_bytes = length >= 0 ? (uint64_t)length : 0;
}

static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
    struct http_fetch *fetch = arg;
    struct slice line = slice_make(data, size * count);
    while (line.len > 0 && (line.data[line.len - 1] == '\n' || line.data[line.len - 1] == '\r'))
        line.len--;
    const size_t colon = slice_find_byte(line, ':');
    /* The status line of an answer, maybe after a provisional one. */
    if (slice_starts_with(line, slice_of("HTTP/")))
        fetch->field_count = 0;
    else if (colon < line.len && fetch->field_count < FIELDS_MAX)
        fetch->fields[fetch->field_count++] = (struct http_field){
            .name = arena_copy(fetch->arena, slice_head(line, colon)),
            .value = arena_copy(fetch->arena, slice_trim(slice_from(line, colon + 1))),
        };
    return size * count;
}

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_fetch *fetch = arg;
    const size_t len = size * count;
    if (is_waiting(fetch))
        return CURL_WRITEFUNC_PAUSE;
    if (!fetch->has_begun) {
        note_status(fetch);
        const enum http_fetch_next next = tell_begun(fetch);
        if (next == HTTP_FETCH_WAIT)
            return CURL_WRITEFUNC_PAUSE;
        if (next == HTTP_FETCH_STOP)
            return CURL_WRITEFUNC_ERROR;
    }
    fetch->taken_bytes += len;
    if (fetch->taken_bytes > fetch->length_bytes)
        fetch->err = ERR_COPY_SOURCE_UNREACHABLE;
    else
        fetch->err = fetch->receive(fetch->arg, slice_make(data, len));
    return fetch->err == OK ? len : CURL_WRITEFUNC_ERROR;
}

static bool set_options(struct http_fetch *fetch, CURL *easy)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < fetch->header_count; i++) {
        struct curl_slist *longer = curl_slist_append(list, fetch->headers[i]);
        if (longer == NULL) {
            curl_slist_free_all(list);
            return false;
        }
        list = longer;
    }
    fetch->list = list;
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "Zaffre/" ZAFFRE_VERSION);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SEC);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES_PER_SEC);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SLOW_SEC);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    /* The two that make the fetch what was checked: they must not be ignored. */
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_URL, fetch->url) == CURLE_OK;
}

static enum err open_http(struct http_fetcher *fetcher, struct http_fetch *fetch)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        return ERR_COPY_SOURCE_UNREACHABLE;
    fetch->easy = easy;
    fetch->fields = arena_alloc(fetch->arena, FIELDS_MAX * sizeof(*fetch->fields));
    if (!set_options(fetch, easy) || curl_multi_add_handle(fetcher->multi, easy) != CURLM_OK)
        return ERR_COPY_SOURCE_UNREACHABLE;
    return OK;
}

static void close_http(struct http_fetcher *fetcher, struct http_fetch *fetch)
{
    if (fetch->easy == NULL)
        return;
    curl_multi_remove_handle(fetcher->multi, fetch->easy);
    curl_easy_cleanup(fetch->easy);
    curl_slist_free_all(fetch->list);
    fetch->easy = NULL;
    fetch->list = NULL;
}

/* --- the thread --- */

static void end_fetch(struct http_fetcher *fetcher, struct http_fetch *fetch, enum err err)
{
    for (size_t i = 0; i < fetcher->active_count; i++)
        if (fetcher->active[i] == fetch)
            fetcher->active[i] = fetcher->active[--fetcher->active_count];
    close_http(fetcher, fetch);
    fetch->done(fetch->arg, err);
}

/* All has arrived, or never will. */
static void over(struct http_fetcher *fetcher, struct http_fetch *fetch, enum err err)
{
    fetch->is_over = true;
    fetch->outcome = err;
    if (!is_waiting(fetch))
        end_fetch(fetcher, fetch, err);
}

static enum err outcome_of(struct http_fetch *fetch, CURLcode result)
{
    if (result == CURLE_WRITE_ERROR && fetch->err != OK)
        return fetch->err;
    if (result != CURLE_OK) {
        /* The URL may hold a signature, and is not logged. */
        log_info("fetch", "a copy source cannot be read: %s", curl_easy_strerror(result));
        return ERR_COPY_SOURCE_UNREACHABLE;
    }
    return fetch->taken_bytes == fetch->length_bytes ? OK : ERR_COPY_SOURCE_UNREACHABLE;
}

static void finish_http(struct http_fetcher *fetcher, struct http_fetch *fetch, CURLcode result)
{
    /* An answer without a body has not been told yet. */
    if (result == CURLE_OK && !fetch->has_begun) {
        note_status(fetch);
        if (tell_begun(fetch) == HTTP_FETCH_STOP) {
            over(fetcher, fetch, fetch->err);
            return;
        }
    }
    over(fetcher, fetch, outcome_of(fetch, result));
}

static void finish_transfers(struct http_fetcher *fetcher)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(fetcher->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        char *fetch = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &fetch);
        finish_http(fetcher, (struct http_fetch *)(void *)fetch, message->data.result);
    }
}

/* Read one piece of a local source.  The fetch may be over afterwards. */
static void step_local(struct http_fetcher *fetcher, struct http_fetch *fetch)
{
    if (!fetch->has_begun) {
        fetch->status = 200;
        fetch->has_length = true;
        fetch->length_bytes = fetch->reader_length;
        const enum http_fetch_next next = tell_begun(fetch);
        if (next == HTTP_FETCH_STOP)
            over(fetcher, fetch, fetch->err);
        if (next != HTTP_FETCH_GO)
            return;
    }
    const uint64_t left = fetch->reader_length - fetch->taken_bytes;
    const size_t len = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    enum err err =
        payload_read(fetch->reader, fetch->reader_offset + fetch->taken_bytes, fetcher->piece, len);
    if (err == OK && len > 0)
        err = fetch->receive(fetch->arg, slice_make(fetcher->piece, len));
    fetch->taken_bytes += len;
    if (err != OK || len == left)
        over(fetcher, fetch, err);
}

/* One round of the local sources.  Whether one of them can go on at once. */
static bool step_locals(struct http_fetcher *fetcher)
{
    bool busy = false;
    for (size_t i = fetcher->active_count; i > 0; i--) {
        struct http_fetch *fetch = fetcher->active[i - 1];
        if (fetch->url == NULL && !is_waiting(fetch)) {
            step_local(fetcher, fetch);
            busy = true;
        }
    }
    return busy;
}

static void activate(struct http_fetcher *fetcher, struct http_fetch *fetch)
{
    set_state(fetch, FETCH_ACTIVE);
    fetcher->active[fetcher->active_count++] = fetch;
    if (fetch->url == NULL)
        return;
    const enum err err = open_http(fetcher, fetch);
    if (err != OK)
        end_fetch(fetcher, fetch, err);
}

/* The next fetch whose turn it is, or NULL. */
static struct http_fetch *take_queued(struct http_fetcher *fetcher)
{
    mutex_lock(&fetcher->lock);
    struct http_fetch *fetch = fetcher->active_count < ACTIVE_MAX ? fetcher->queue : NULL;
    if (fetch != NULL)
        fetcher->queue = fetch->next;
    if (fetcher->queue == NULL)
        fetcher->queue_last = NULL;
    mutex_unlock(&fetcher->lock);
    return fetch;
}

static bool take_has_resumed(struct http_fetcher *fetcher)
{
    mutex_lock(&fetcher->lock);
    const bool resumed = fetcher->has_resumed;
    fetcher->has_resumed = false;
    mutex_unlock(&fetcher->lock);
    return resumed;
}

static void resume_fetches(struct http_fetcher *fetcher)
{
    if (!take_has_resumed(fetcher))
        return;
    for (size_t i = fetcher->active_count; i > 0; i--) {
        struct http_fetch *fetch = fetcher->active[i - 1];
        if (!take_resumption(fetch))
            continue;
        if (fetch->is_over)
            end_fetch(fetcher, fetch, fetch->outcome);
        else if (fetch->easy != NULL)
            curl_easy_pause(fetch->easy, CURLPAUSE_CONT);
    }
}

static bool is_stopping(struct http_fetcher *fetcher)
{
    mutex_lock(&fetcher->lock);
    const bool stop = fetcher->stop;
    mutex_unlock(&fetcher->lock);
    return stop;
}

/*
 * End everything.  A fetch that waits belongs to whoever will resume it, so that is awaited: a
 * commit, which comes.
 */
static void end_all(struct http_fetcher *fetcher)
{
    struct http_fetch *fetch;
    while (fetcher->active_count > 0) {
        resume_fetches(fetcher);
        for (size_t i = fetcher->active_count; i > 0; i--)
            if (!is_waiting(fetcher->active[i - 1]))
                end_fetch(fetcher, fetcher->active[i - 1], ERR_SHUTTING_DOWN);
        if (fetcher->active_count > 0)
            curl_multi_poll(fetcher->multi, NULL, 0, POLL_MS, NULL);
    }
    while ((fetch = take_queued(fetcher)) != NULL)
        fetch->done(fetch->arg, ERR_SHUTTING_DOWN);
}

static void *fetcher_run(void *arg)
{
    struct http_fetcher *fetcher = arg;
    while (!is_stopping(fetcher)) {
        struct http_fetch *fetch;
        while ((fetch = take_queued(fetcher)) != NULL)
            activate(fetcher, fetch);
        resume_fetches(fetcher);
        int running;
        curl_multi_perform(fetcher->multi, &running);
        finish_transfers(fetcher);
        const bool busy = step_locals(fetcher);
        curl_multi_poll(fetcher->multi, NULL, 0, busy ? 0 : POLL_MS, NULL);
    }
    end_all(fetcher);
    return NULL;
}

/* --- from other threads --- */

void http_fetch_start(struct http_fetcher *fetcher, struct http_fetch *fetch)
{
    fetch->fetcher = fetcher;
    fetch->state = FETCH_QUEUED;
    fetch->next = NULL;
    fetch->status = 0;
    fetch->field_count = 0;
    fetch->taken_bytes = 0;
    fetch->has_begun = fetch->is_over = false;
    fetch->err = fetch->outcome = OK;
    mutex_lock(&fetcher->lock);
    const bool stopped = fetcher->stop;
    if (!stopped) {
        if (fetcher->queue_last != NULL)
            fetcher->queue_last->next = fetch;
        else
            fetcher->queue = fetch;
        fetcher->queue_last = fetch;
    }
    mutex_unlock(&fetcher->lock);
    if (stopped)
        fetch->done(fetch->arg, ERR_SHUTTING_DOWN);
    else
        curl_multi_wakeup(fetcher->multi);
}

void http_fetcher_hold(struct http_fetcher *fetcher)
{
    mutex_lock(&fetcher->lock);
    fetcher->held++;
    mutex_unlock(&fetcher->lock);
}

void http_fetcher_let_go(struct http_fetcher *fetcher)
{
    mutex_lock(&fetcher->lock);
    assert(fetcher->held > 0);
    fetcher->held--;
    condvar_signal(&fetcher->changed);
    mutex_unlock(&fetcher->lock);
}

enum err http_fetcher_new(struct http_fetcher **result)
{
    struct http_fetcher *fetcher = calloc(1, sizeof(*fetcher));
    char *piece = malloc(PIECE_BYTES);
    if (fetcher == NULL || piece == NULL)
        panic("no memory for the fetcher");
    fetcher->piece = piece;
    mutex_init(&fetcher->lock, LOCK_HTTP_FETCHER);
    condvar_init(&fetcher->changed);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        fetcher->multi = curl_multi_init();
    if (fetcher->multi != NULL &&
        pthread_create(&fetcher->thread, NULL, fetcher_run, fetcher) == 0) {
        *result = fetcher;
        return OK;
    }
    log_error("fetch", "copying from other servers cannot be started");
    if (fetcher->multi != NULL)
        curl_multi_cleanup(fetcher->multi);
    free(piece);
    free(fetcher);
    return ERR_IO;
}

void http_fetcher_stop(struct http_fetcher *fetcher)
{
    if (fetcher == NULL)
        return;
    mutex_lock(&fetcher->lock);
    fetcher->stop = true;
    const bool join = !fetcher->is_joined;
    fetcher->is_joined = true;
    mutex_unlock(&fetcher->lock);
    curl_multi_wakeup(fetcher->multi);
    if (join)
        pthread_join(fetcher->thread, NULL);
}

void http_fetcher_free(struct http_fetcher *fetcher)
{
    if (fetcher == NULL)
        return;
    http_fetcher_stop(fetcher);
    mutex_lock(&fetcher->lock);
    while (fetcher->held > 0)
        condvar_wait(&fetcher->changed, &fetcher->lock);
    mutex_unlock(&fetcher->lock);
    curl_multi_cleanup(fetcher->multi);
    curl_global_cleanup();
    condvar_release(&fetcher->changed);
    mutex_release(&fetcher->lock);
    free(fetcher->piece);
    free(fetcher);
}
