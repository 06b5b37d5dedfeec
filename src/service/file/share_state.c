#include "service/file/share_state.h"

#include "base/strbuf.h"
#include "service/file/file_name.h"
#include "service/row.h"

/* Tags of ROW_SHARE_STATE; never reused for anything else. */
enum {
    TAG_LAST_INSTANT = 1,
    TAG_USED_BYTES = 2,
    TAG_PAST_DUE = 3,
};

struct slice share_state_encode(struct arena *arena, const struct share_state *state)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_SHARE_STATE);
    row_add_number(&row, TAG_LAST_INSTANT, (uint64_t)state->last_instant);
    row_add_number(&row, TAG_USED_BYTES, state->used_bytes);
    row_add_number(&row, TAG_PAST_DUE, (uint64_t)state->past_due);
    return strbuf_slice(&row);
}

enum err share_state_decode(struct slice row, struct share_state *state)
{
    *state = (struct share_state){ 0 };
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    enum err err = row_reader_init(&reader, row, ROW_SHARE_STATE);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        if (tag == TAG_LAST_INSTANT)
            err = row_instant(value, &state->last_instant);
        else if (tag == TAG_USED_BYTES)
            err = row_number(value, &state->used_bytes);
        else if (tag == TAG_PAST_DUE)
            err = row_instant(value, &state->past_due);
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err share_state_get(struct change *change, struct share_state *state)
{
    struct slice row;
    *state = (struct share_state){ 0 };
    const enum err err = change_get(change, share_state_key(), &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    return err == OK ? share_state_decode(row, state) : err;
}

void share_state_put(struct change *change, const struct share_state *state)
{
    change_put(change, share_state_key(), share_state_encode(change_arena(change), state));
}
