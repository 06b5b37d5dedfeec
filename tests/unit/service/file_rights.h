/*
 * file_rights.h - access, share modes and caching as letters, so that tables of tests can be read
 * beside those of the reference: "RWD", "RWH".
 */
#ifndef TESTS_UNIT_SERVICE_FILE_RIGHTS_H
#define TESTS_UNIT_SERVICE_FILE_RIGHTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "service/file/oplock.h"
#include "service/file/share_mode.h"

static inline unsigned letters(const char *text, const char *known, const unsigned *bits)
{
    unsigned result = 0;
    for (; *text != '\0'; text++) {
        const char *at = strchr(known, *text);
        if (at == NULL)
            fail_msg("%c is not one of %s", *text, known);
        else
            result |= bits[at - known];
    }
    return result;
}

static inline unsigned rights(const char *text)
{
    static const unsigned bits[] = { FILE_ACCESS_READ, FILE_ACCESS_WRITE, FILE_ACCESS_DELETE };
    return letters(text, "RWD", bits);
}

static inline struct share_mode mode(const char *access, const char *share)
{
    return (struct share_mode){ .access = rights(access), .share = rights(share) };
}

static inline unsigned caching(const char *text)
{
    static const unsigned bits[] = { CACHING_R, CACHING_W, CACHING_H };
    return letters(text, "RWH", bits);
}

#endif
