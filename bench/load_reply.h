/*
 * load_reply.h - an answer as it arrives: where its head ends, where its body does.
 *
 * Of HTTP/1.1 it knows what the measured programs send: a Content-Length, or chunks, whose frames
 * are taken out.  What it does not understand ends the process.
 */
#ifndef BENCH_LOAD_REPLY_H
#define BENCH_LOAD_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "load_text.h"

/* Zero is one of which nothing has arrived. */
struct reply {
    struct text bytes; /* with a zero behind the last */
    bool has_no_body;  /* whatever the head says: of a HEAD */
    size_t head_len;   /* with its empty line; 0 until it is whole */
    size_t body_len;   /* once it is whole */
    bool chunked;
    size_t chunk_at; /* where the next chunk's size stands */
};

/* The next answer is to come. */
void reply_begin(struct reply *reply, bool has_no_body);

/* More bytes have arrived: whether these are all. */
bool reply_is_whole(struct reply *reply);

/* Once the head is whole. */
unsigned reply_status(const struct reply *reply);

#endif
