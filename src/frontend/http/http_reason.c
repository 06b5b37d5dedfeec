#include "frontend/http/http_reason.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"

static _Thread_local const char *next_phrase;

typedef const char *phrase_fn(unsigned int code);

static phrase_fn *library_phrase;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void find_library_phrase(void)
{
    void *symbol = dlsym(RTLD_NEXT, "MHD_get_reason_phrase_for");
    if (symbol == NULL)
        panic("libmicrohttpd has no MHD_get_reason_phrase_for");
    /* POSIX lets a data pointer from dlsym become a function pointer; C wants it copied. */
    memcpy(&library_phrase, &symbol, sizeof(library_phrase));
}

void http_reason_set(const char *phrase)
{
    next_phrase = phrase;
}

static const char *phrase_for(unsigned int code)
{
    if (next_phrase != NULL)
        return next_phrase;
    pthread_once(&library_once, find_library_phrase);
    return library_phrase(code);
}

/* The library asks for the length first and for the phrase last, which uses it up. */
size_t MHD_get_reason_phrase_len_for(unsigned int code)
{
    return strlen(phrase_for(code));
}

const char *MHD_get_reason_phrase_for(unsigned int code)
{
    const char *phrase = phrase_for(code);
    next_phrase = NULL;
    return phrase;
}
