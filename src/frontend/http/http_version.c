#include "frontend/http/http_version.h"

#include <ctype.h>

static bool has_date_shape(struct slice text)
{
    if (text.len != 10)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const bool dash = i == 4 || i == 7;
        if (dash ? text.data[i] != '-' : !isdigit((unsigned char)text.data[i]))
            return false;
    }
    return true;
}

enum err http_version_parse(struct slice text, int *version)
{
    if (!has_date_shape(text))
        return ERR_MALFORMED;
    int number = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != '-')
            number = number * 10 + (text.data[i] - '0');
    const int month = number / 100 % 100;
    const int day = number % 100;
    if (month < 1 || month > 12 || day < 1 || day > 31 || number < HTTP_VERSION_EARLIEST)
        return ERR_MALFORMED;
    *version = number < HTTP_VERSION_NEWEST ? number : HTTP_VERSION_NEWEST;
    return OK;
}
