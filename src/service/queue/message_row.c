#include "service/queue/message_row.h"

#include <string.h>

#include "base/log.h"
#include "service/queue/queue_name.h"
#include "service/row.h"

/* Tags of the rows; never reused for anything else. */
enum head_tag {
    TAG_GENERATION = 1,
    TAG_SWEPT = 2,
    TAG_HEAD = 3,
    TAG_COUNT = 4,
    TAG_EXPIRY_FLOOR = 5,
    TAG_RECENT_FLOOR = 6,
    TAG_MARKED = 7,
};

enum message_tag {
    TAG_EXPIRES = 1,
    TAG_DEQUEUE_COUNT = 2,
    TAG_NONCE = 3,
};

enum text_tag {
    TAG_TEXT = 1,
};

/* --- the head --- */

struct slice queue_head_encode(struct arena *arena, const struct queue_head *head)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_QUEUE_HEAD);
    row_add_number(&row, TAG_GENERATION, head->generation);
    row_add_number(&row, TAG_SWEPT, head->swept);
    row_add_number(&row, TAG_HEAD, (uint64_t)head->head);
    row_add_number(&row, TAG_COUNT, head->count);
    row_add_number(&row, TAG_EXPIRY_FLOOR, (uint64_t)head->expiry_floor);
    row_add_number(&row, TAG_RECENT_FLOOR, (uint64_t)head->recent_floor);
    row_add_number(&row, TAG_MARKED, head->is_marked);
    return strbuf_slice(&row);
}

static enum err decode_marked(struct queue_head *head, struct slice value)
{
    uint64_t number;
    const enum err err = row_number(value, &number);
    if (err != OK)
        return err;
    if (number > 1)
        return CORRUPT("a queue's mark is %llu", (unsigned long long)number);
    head->is_marked = number == 1;
    return OK;
}

static enum err decode_head_field(struct queue_head *head, uint64_t tag, struct slice value)
{
    switch (tag) {
    case TAG_GENERATION:
        return row_number(value, &head->generation);
    case TAG_SWEPT:
        return row_number(value, &head->swept);
    case TAG_HEAD:
        return row_instant(value, &head->head);
    case TAG_COUNT:
        return row_number(value, &head->count);
    case TAG_EXPIRY_FLOOR:
        return row_instant(value, &head->expiry_floor);
    case TAG_RECENT_FLOOR:
        return row_instant(value, &head->recent_floor);
    case TAG_MARKED:
        return decode_marked(head, value);
    default:
        return OK;
    }
}

enum err queue_head_decode(struct slice row, struct queue_head *head)
{
    *head = (struct queue_head){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_QUEUE_HEAD);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_head_field(head, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (head->swept > head->generation)
        return CORRUPT("a queue's head does not hold together");
    return OK;
}

enum err queue_head_read(struct service *service, struct arena *arena, struct slice partition,
                         struct queue_head *head)
{
    struct slice row;
    *head = (struct queue_head){ 0 };
    const enum err err = partition_get(service->store, arena, partition, queue_head_key(), &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    return err == OK ? queue_head_decode(row, head) : err;
}

enum err queue_head_get(struct change *change, struct queue_head *head)
{
    struct slice row;
    enum err err = change_get(change, closed_key(), &row);
    if (err == OK)
        return ERR_QUEUE_NOT_FOUND;
    if (err != ERR_NOT_FOUND)
        return err;
    *head = (struct queue_head){ 0 };
    err = change_get(change, queue_head_key(), &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    return err == OK ? queue_head_decode(row, head) : err;
}

void queue_head_put(struct change *change, const struct queue_head *head)
{
    change_put(change, queue_head_key(), queue_head_encode(change_arena(change), head));
}

/* --- messages --- */

int64_t message_inserted(const struct message *message)
{
    return message_id_tick(&message->id);
}

struct slice message_encode(struct arena *arena, const struct message *message)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_MESSAGE);
    row_add_number(&row, TAG_EXPIRES, (uint64_t)message->expires);
    row_add_number(&row, TAG_DEQUEUE_COUNT, message->dequeue_count);
    row_add_bytes(&row, TAG_NONCE, slice_make(&message->nonce, sizeof(message->nonce)));
    return strbuf_slice(&row);
}

static enum err decode_message_field(struct message *message, uint64_t tag, struct slice value)
{
    switch (tag) {
    case TAG_EXPIRES:
        return row_instant(value, &message->expires);
    case TAG_DEQUEUE_COUNT:
        return row_number(value, &message->dequeue_count);
    case TAG_NONCE:
        if (value.len != sizeof(message->nonce))
            return CORRUPT("a message's nonce has %zu bytes", value.len);
        memcpy(&message->nonce, value.data, value.len);
        return OK;
    default:
        return OK;
    }
}

enum err message_decode(struct slice key, struct slice row, uint64_t *generation,
                        struct message *message)
{
    *message = (struct message){ 0 };
    uint64_t ignored;
    enum err err = message_key_decode(key, generation != NULL ? generation : &ignored,
                                      &message->visible_at, &message->id);
    struct row_reader reader;
    if (err == OK)
        err = row_reader_init(&reader, row, ROW_MESSAGE);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_message_field(message, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    /* Nobody guesses a nonce that is there; one that is missing would be zeroes. */
    if (uuid_is_nil(&message->nonce))
        return CORRUPT("a message has no nonce");
    return OK;
}

struct slice message_text_encode(struct arena *arena, struct slice text)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    strbuf_reserve(&row, text.len + 16);
    row_begin(&row, ROW_MESSAGE_TEXT);
    row_add_bytes(&row, TAG_TEXT, text);
    return strbuf_slice(&row);
}

enum err message_text_decode(struct slice row, struct slice *text)
{
    *text = (struct slice){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_MESSAGE_TEXT);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK && tag == TAG_TEXT)
            *text = value;
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- pop receipts --- */

void receipt_format(const struct message *message, char text[RECEIPT_TEXT_LEN + 1])
{
    uint8_t bytes[RECEIPT_BYTES];
    put_be64(bytes, (uint64_t)message->visible_at);
    memcpy(bytes + 8, message->nonce.bytes, sizeof(message->nonce.bytes));
    base64_encode(slice_make(bytes, sizeof(bytes)), text);
}

enum err receipt_parse(struct slice text, struct receipt *receipt)
{
    if (text.len != RECEIPT_TEXT_LEN)
        return ERR_MALFORMED;
    /* A plus sign in a query means a space, and some clients do not know it. */
    char plain[RECEIPT_TEXT_LEN];
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = text.data[i] == ' ' ? '+' : text.data[i];
    struct arena arena = { 0 };
    struct slice bytes;
    enum err err = base64_decode(&arena, slice_make(plain, sizeof(plain)), &bytes);
    if (err == OK && bytes.len != RECEIPT_BYTES)
        err = ERR_MALFORMED;
    if (err == OK) {
        const uint64_t visible_at = get_be64((const uint8_t *)bytes.data);
        if (visible_at == 0 || visible_at > (uint64_t)CLOCK_TICKS_MAX)
            err = ERR_MALFORMED;
        receipt->visible_at = (int64_t)visible_at;
        memcpy(receipt->nonce.bytes, bytes.data + 8, sizeof(receipt->nonce.bytes));
    }
    arena_release(&arena);
    return err;
}

bool receipt_matches(const struct receipt *receipt, const struct message *message)
{
    unsigned difference = 0;
    for (size_t i = 0; i < sizeof(receipt->nonce.bytes); i++)
        difference |= (unsigned)(receipt->nonce.bytes[i] ^ message->nonce.bytes[i]);
    return difference == 0 && receipt->visible_at == message->visible_at;
}
