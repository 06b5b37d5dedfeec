#include "load_fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void load_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr); /* for good: one message is enough, and it is whole */
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}
