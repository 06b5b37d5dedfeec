/*
 * fsck_queue.c - see fsck_queue.h.  Messages are gathered from the 'v' rows, sorted by generation
 * and id, and compared with the 't' rows, which come in that order.
 */
#include "service/queue/fsck_queue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/queue/message_row.h"
#include "service/queue/queue.h"
#include "service/queue/queue_name.h"

enum {
    WORDS_BYTES_MAX = 512,
    ROWS_MIN = 64, /* of a growing array */
};

/* A queue, or one that was deleted. */
struct fsck_queue {
    uint64_t incarnation;
    struct slice name; /* account/queue */
    bool is_deleted;
};

/* A 'v' row. */
struct fsck_message {
    uint64_t generation;
    struct uuid id;
};

/* A partition while it is checked. */
struct walk {
    struct fsck_queues *queues;
    struct partition_view view;
    struct slice label; /* what messages to people call it */
    struct queue_head head;
    bool is_closed;
    bool needs_mark;
    uint64_t row_count;       /* but for the closing one */
    uint64_t current_count;   /* messages of the present generation */
    int64_t first_visible_at; /* of them; 0: there is none */
    int64_t first_expires;    /* of those that expire; 0: none does */
    bool head_is_damaged;
    unsigned head_fault_count; /* findings that a right head would end */
    size_t count;
    size_t capacity;
    struct fsck_message *messages;
    struct arena arena; /* of the present row */
};

static void report(struct fsck_queues *queues, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(struct fsck_queues *queues, const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    queues->report(queues->arg, words);
}

/* A finding that is the head's fault, with the words of `format`, the label and a message's id. */
static void report_head(struct walk *walk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report_head(struct walk *walk, const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    walk->head_fault_count++;
    walk->queues->report(walk->queues->arg, words);
}

/* One more item of an array that grows. */
static void *grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity == 0 ? ROWS_MIN : *capacity * 2;
    void *grown = reallocarray(items, *capacity, item_bytes);
    if (grown == NULL)
        panic("no memory left for %zu rows", *capacity);
    return grown;
}

/* --- the rows of accounts --- */

static void add_queue(struct fsck_queues *queues, struct slice account, struct slice name,
                      uint64_t incarnation, bool is_deleted)
{
    queues->queues =
        grow(queues->queues, queues->count, &queues->capacity, sizeof(*queues->queues));
    queues->queues[queues->count++] = (struct fsck_queue){
        .incarnation = incarnation,
        .name = arena_printf(&queues->arena, "%.*s/%.*s", (int)account.len, account.data,
                             (int)name.len, name.data),
        .is_deleted = is_deleted,
    };
}

void fsck_queue_record(struct fsck_queues *queues, struct slice account, struct slice name,
                       struct slice key, struct slice row)
{
    struct arena arena = { 0 };
    struct queue queue;
    if (queue_name_check(slice_from(key, 1)) != OK)
        report(queues, "%.*s: the name of queue \"%.*s\" is damaged", (int)account.len,
               account.data, (int)name.len, name.data);
    if (queue_decode(&arena, row, &queue) != OK) {
        report(queues, "%.*s/%.*s: the queue's record is damaged", (int)account.len, account.data,
               (int)name.len, name.data);
    } else {
        add_queue(queues, account, name, queue.incarnation, false);
        queues->queue_count++;
    }
    arena_release(&arena);
}

void fsck_queue_deleted(struct fsck_queues *queues, struct slice account, uint64_t incarnation)
{
    add_queue(queues, account, slice_of("(deleted)"), incarnation, true);
    queues->deleted_count++;
}

static int compare_queues(const void *a, const void *b)
{
    const struct fsck_queue *left = a;
    const struct fsck_queue *right = b;
    return (left->incarnation > right->incarnation) - (left->incarnation < right->incarnation);
}

void fsck_queue_sort(struct fsck_queues *queues)
{
    if (queues->count > 1)
        qsort(queues->queues, queues->count, sizeof(*queues->queues), compare_queues);
    for (size_t i = 1; i < queues->count; i++) {
        const struct fsck_queue *one = &queues->queues[i - 1];
        const struct fsck_queue *other = &queues->queues[i];
        if (one->incarnation == other->incarnation)
            report(queues, "%s and %s have the same messages", one->name.data, other->name.data);
    }
}

static const struct fsck_queue *find_queue(const struct fsck_queues *queues, uint64_t incarnation)
{
    const struct fsck_queue key = { .incarnation = incarnation };
    return queues->count == 0
               ? NULL
               : bsearch(&key, queues->queues, queues->count, sizeof(key), compare_queues);
}

/* --- messages --- */

static void add_message(struct walk *walk, uint64_t generation, const struct uuid *id)
{
    walk->messages = grow(walk->messages, walk->count, &walk->capacity, sizeof(*walk->messages));
    walk->messages[walk->count++] = (struct fsck_message){ .generation = generation, .id = *id };
}

/* Rows of a generation that is to come, or of one that was swept. */
static void check_generation(struct walk *walk, uint64_t generation)
{
    if (generation > walk->head.generation)
        report(walk->queues, "%s: there is a message of generation %" PRIu64 ", which is to come",
               walk->label.data, generation);
    else if (generation < walk->head.swept)
        report(walk->queues,
               "%s: there is a message of generation %" PRIu64 ", which nothing will remove",
               walk->label.data, generation);
}

static void check_message(struct walk *walk, struct slice key, struct slice row)
{
    struct message message;
    uint64_t generation;
    if (message_decode(key, row, &generation, &message) != OK) {
        report(walk->queues, "%s: a message is damaged", walk->label.data);
        return;
    }
    add_message(walk, generation, &message.id);
    if (generation != walk->head.generation) {
        check_generation(walk, generation);
        return;
    }
    walk->current_count++;
    char id[UUID_TEXT_LEN + 1];
    uuid_format(&message.id, id);
    if (walk->first_visible_at == 0 || message.visible_at < walk->first_visible_at)
        walk->first_visible_at = message.visible_at;
    if (message.visible_at < walk->head.head)
        report_head(walk, "%s: message %s lies before the head and is never found",
                    walk->label.data, id);
    if (message.expires == 0)
        return;
    walk->needs_mark = true;
    if (walk->first_expires == 0 || message.expires < walk->first_expires)
        walk->first_expires = message.expires;
    if (walk->head.expiry_floor == 0 || message.expires < walk->head.expiry_floor)
        report_head(walk, "%s: message %s expires before the queue's expiry floor",
                    walk->label.data, id);
}

static void check_head(struct walk *walk, struct slice row)
{
    walk->head_is_damaged = queue_head_decode(row, &walk->head) != OK;
    if (walk->head_is_damaged)
        report(walk->queues, "%s: the queue's head is damaged", walk->label.data);
}

static int compare_messages(const void *a, const void *b)
{
    const struct fsck_message *left = a;
    const struct fsck_message *right = b;
    if (left->generation != right->generation)
        return left->generation < right->generation ? -1 : 1;
    return memcmp(&left->id, &right->id, sizeof(left->id));
}

static void report_message(struct walk *walk, const struct uuid *message, const char *words)
{
    char id[UUID_TEXT_LEN + 1];
    uuid_format(message, id);
    report(walk->queues, "%s: message %s %s", walk->label.data, id, words);
}

/* The messages before the one at `key`, from `*next` on, have no text.  A closed queue is being
   emptied, and there they may. */
static void skip_messages(struct walk *walk, size_t *next, const struct fsck_message *key)
{
    while (*next < walk->count &&
           (key == NULL || compare_messages(&walk->messages[*next], key) < 0)) {
        if (!walk->is_closed && walk->messages[*next].generation >= walk->head.generation)
            report_message(walk, &walk->messages[*next].id, "has no text");
        (*next)++;
    }
}

static void check_text(struct walk *walk, size_t *next, struct slice key, struct slice row)
{
    struct fsck_message of;
    struct slice text;
    if (message_text_key_decode(key, &of.generation, &of.id) != OK) {
        report(walk->queues, "%s: a key of a message's text is damaged", walk->label.data);
        return;
    }
    if (message_text_decode(row, &text) != OK)
        report_message(walk, &of.id, "has a damaged text");
    skip_messages(walk, next, &of);
    if (*next < walk->count && compare_messages(&walk->messages[*next], &of) == 0)
        (*next)++;
    else if (!walk->is_closed && of.generation >= walk->head.generation) {
        report_message(walk, &of.id, "is not there, but its text is");
        repair_add(walk->queues->repairs, &(struct partition_repair){
                                              .kind = PARTITION_REPAIR_DELETE,
                                              .needs_all = true,
                                              .partition = walk->view.partition,
                                              .key = key,
                                          });
    }
}

/* --- a partition --- */

/* All rows with the letter, one after the other. */
static struct cursor *scan(struct walk *walk, const char *letter)
{
    return partition_view_scan(&walk->view, slice_of(letter), (struct slice){ 0 });
}

static void check_end(struct walk *walk, enum err err)
{
    if (err != ERR_NOT_FOUND)
        report(walk->queues, "%s: the messages cannot be read: %s", walk->label.data,
               error_text(err));
}

static void check_texts(struct walk *walk)
{
    if (walk->count > 1)
        qsort(walk->messages, walk->count, sizeof(*walk->messages), compare_messages);
    for (size_t i = 1; i < walk->count; i++)
        if (compare_messages(&walk->messages[i - 1], &walk->messages[i]) == 0)
            report_message(walk, &walk->messages[i].id, "is there twice");
    struct cursor *cursor = scan(walk, "t");
    struct slice key;
    struct slice row;
    size_t next = 0;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK)
        check_text(walk, &next, key, row);
    skip_messages(walk, &next, NULL);
    check_end(walk, err);
    cursor_free(cursor);
}

/* Texts are looked at by themselves (check_texts). */
static void check_row(struct walk *walk, struct slice key, struct slice row)
{
    walk->row_count++;
    const char letter = key.len == 0 ? '\0' : key.data[0];
    if (letter == 'v')
        check_message(walk, key, row);
    else if (letter != 't' && !slice_equal(key, queue_head_key()) &&
             !slice_equal(key, closed_key()))
        report(walk->queues, "%s: there is a row of unknown kind, with a key of %zu bytes",
               walk->label.data, key.len);
}

static void check_rows(struct walk *walk)
{
    struct slice row;
    walk->is_closed = partition_view_get(&walk->view, &walk->arena, closed_key(), &row) == OK;
    if (partition_view_get(&walk->view, &walk->arena, queue_head_key(), &row) == OK)
        check_head(walk, row);
    walk->needs_mark = walk->head.swept < walk->head.generation;
    struct cursor *cursor = scan(walk, "");
    struct slice key;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK)
        check_row(walk, key, row);
    check_end(walk, err);
    cursor_free(cursor);
    check_texts(walk);
}

/* What the rows say is the head's to say; each finding about it has this repair. */
static void repair_head(struct walk *walk, bool is_marked)
{
    if (walk->head_is_damaged)
        return; /* which generation is the present one, only it knew */
    struct queue_head head = walk->head;
    head.count = walk->current_count;
    head.is_marked = is_marked;
    if (walk->first_visible_at != 0 && walk->first_visible_at < head.head)
        head.head = walk->first_visible_at;
    if (walk->first_expires != 0 &&
        (head.expiry_floor == 0 || walk->first_expires < head.expiry_floor))
        head.expiry_floor = walk->first_expires;
    for (unsigned i = 0; i < walk->head_fault_count; i++)
        repair_add(walk->queues->repairs, &(struct partition_repair){
                                              .kind = PARTITION_REPAIR_PUT,
                                              .needs_all = true,
                                              .partition = walk->view.partition,
                                              .key = queue_head_key(),
                                              .value = queue_head_encode(&walk->arena, &head),
                                          });
}

static void check_mark(struct walk *walk)
{
    bool marked;
    if (partition_is_marked(walk->queues->store, walk->view.partition, &marked) != OK) {
        report(walk->queues, "%s: its mark cannot be read", walk->label.data);
        return;
    }
    if (walk->needs_mark && !marked) {
        report(walk->queues, "%s: the sweeper has work here, but no mark", walk->label.data);
        repair_add(walk->queues->repairs,
                   &(struct partition_repair){ .kind = PARTITION_REPAIR_MARK,
                                               .partition = walk->view.partition });
    } else if (walk->head.is_marked != marked) {
        report_head(walk, "%s: its head does not say whether it is marked", walk->label.data);
    }
    repair_head(walk, marked);
}

/* A queue that is there: the head says what the rows say. */
static void check_whole(struct walk *walk)
{
    if (walk->is_closed)
        report(walk->queues, "%s: it is closed, as if it were deleted", walk->label.data);
    if (walk->head.count != walk->current_count)
        report_head(walk, "%s: there are %" PRIu64 " messages, and its head says %" PRIu64,
                    walk->label.data, walk->current_count, walk->head.count);
    check_mark(walk);
    walk->queues->message_count += walk->current_count;
}

void fsck_queue_partition(struct fsck_queues *queues, struct slice partition)
{
    if (partition.len != 1 + 8 + 2) {
        report(queues, "the name of a partition of messages has %zu bytes", partition.len);
        return;
    }
    const uint64_t incarnation = get_be64((const uint8_t *)partition.data + 1);
    const struct fsck_queue *queue = find_queue(queues, incarnation);
    struct walk walk = { .queues = queues };
    struct arena label_arena = { 0 };
    walk.label =
        queue != NULL ? queue->name : arena_printf(&label_arena, "queue %016" PRIx64, incarnation);
    partition_view_open(queues->store, partition, &walk.view);
    check_rows(&walk);
    if (queue != NULL && !queue->is_deleted)
        check_whole(&walk);
    else if (queue == NULL && (!walk.is_closed || walk.row_count > 1))
        report(queues, "%s: its messages are there, and nothing will remove them", walk.label.data);
    partition_view_close(&walk.view);
    free(walk.messages);
    arena_release(&walk.arena);
    arena_release(&label_arena);
}

void fsck_queue_release(struct fsck_queues *queues)
{
    free(queues->queues);
    arena_release(&queues->arena);
}
