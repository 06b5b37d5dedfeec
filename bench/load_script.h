/*
 * load_script.h - what the load generator sends, and what it demands of each answer.
 *
 * A script is a cycle of requests that every connection goes through again and again.  It is a
 * text of lines, fields separated by tabs, written by bench/steps.py:
 *
 *   let       NAME SOURCE DIVIDE MODULO TIMES PLUS
 *             a number made anew for each cycle: SOURCE / DIVIDE % MODULO * TIMES + PLUS.
 *             SOURCE and PLUS are numbers or names given earlier; a MODULO of 0 does nothing.
 *   lines     FILE NAME...
 *             texts for the cycle: its number tells the line of the file, whose fields are kept
 *             under these names
 *   request   METHOD TARGET STATUS
 *             a request; every answer to it must have exactly this status.  The lines below,
 *             up to the next request, belong to it.
 *   once      it is made once per connection, before the clock starts; what it costs the server
 *             is still seen by those who watch it
 *   times     COUNT             it is made so often in each cycle
 *   header    NAME: VALUE
 *   pieces    FILE SIZE         its body is a piece of the file, one after the other
 *   template  FILE              its body is the file with the places filled in
 *   contains  COUNT TEXT        its answer must contain the text exactly so often
 *   keep      NAME BEFORE [AFTER]
 *             each text of the answer between BEFORE, in any case, and AFTER (or the end of the
 *             line) is kept under the name; there must be one at least
 *
 * Places in targets, headers and templates:
 *
 *   @{NAME}       a number or a kept text; of several kept texts, those in turn where a request is
 *                 made several times
 *   @{NAME:8}     a number with zeros in front, 8 digits wide
 *   @{NAME:url}   a kept text with percent signs where a query needs them
 *   @{noise:64}   64 random characters that neither JSON nor XML nor a URL minds
 *
 * Names given from the start: `number`, of the cycle and different in each; `run`, the first of
 * these numbers; `connection`; `turn`, of a request made several times; `random`, 64 bits that
 * differ from use to use.  What is random, and which piece of a file is sent, follows from the
 * number, so that what a run has stored can be told afterwards.
 *
 * A script is constant once read and may be used by all threads; `struct values` belongs to one
 * connection.  Every failure, of the script or of an answer, ends the process with a message: half
 * a measurement is none.
 */
#ifndef BENCH_LOAD_SCRIPT_H
#define BENCH_LOAD_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load_text.h"

enum {
    STEPS_MAX = 16,
    NUMBERS_MAX = 24,
    KEPT_MAX = 4,        /* names under which texts are kept */
    KEPT_COUNT_MAX = 32, /* texts under one name: the most messages of one Get Messages */
    KEPT_BYTES_MAX = 256,
};

struct script;

struct kept {
    unsigned count;
    char text[KEPT_COUNT_MAX][KEPT_BYTES_MAX];
};

/* What the places of one connection's requests are filled with.  Zero is valid. */
struct values {
    uint64_t run;
    uint64_t connection;
    uint64_t random_state;
    uint64_t numbers[NUMBERS_MAX];
    struct kept kept[KEPT_MAX];
};

/* A request, ready to be sent. */
struct request {
    struct text head;
    struct text filled; /* the body, when it comes from a template */
    const char *body;   /* `filled`, or a piece of a file of the script */
    size_t body_len;
    bool is_head; /* the answer has no body, whatever its length says */
};

/* An answer, whole; the texts are borrowed. */
struct answer {
    unsigned status;
    const char *head;
    size_t head_len;
    const char *body;
    size_t body_len;
};

const struct script *script_read(const char *path);

unsigned script_step_count(const struct script *script);
bool script_step_is_once(const struct script *script, unsigned step);
unsigned script_step_times(const struct script *script, unsigned step);

/* Fill in the numbers of a new cycle. */
void script_begin_cycle(const struct script *script, struct values *values, uint64_t number);

/* Make the request of a step, for the turn-th time in this cycle. */
void script_request(const struct script *script, unsigned step, unsigned turn,
                    struct values *values, struct request *request);

/* Check an answer, and keep of it what the step says. */
void script_answer(const struct script *script, unsigned step, struct values *values,
                   const struct answer *answer);

/* Write what is kept as lines, a field for each name and a line for each text. */
void script_save(const struct script *script, const struct values *values, struct text *text);

#endif
