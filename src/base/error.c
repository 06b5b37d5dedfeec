/*
 * error.c - names and sentences of the errors, expanded from the list in error.h.
 */
#include "base/error.h"

#include <assert.h>
#include <stddef.h>

static const struct {
    const char *name;
    const char *text;
} errors[] = {
#define X(name, text) { #name, text },
    ERR_LIST(X)
#undef X
};

const char *error_name(enum err err)
{
    assert((size_t)err < sizeof(errors) / sizeof(errors[0]));
    return errors[err].name;
}

const char *error_text(enum err err)
{
    assert((size_t)err < sizeof(errors) / sizeof(errors[0]));
    return errors[err].text;
}
