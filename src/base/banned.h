/*
 * banned.h - functions nobody may call here, poisoned in every file by the build.
 *
 * Each has a safer or reentrant form: bounded copies through slices and strbuf, snprintf
 * for printf into a buffer, gmtime_r, base/encoding.h for numbers, getrandom through uuid.h.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* Headers that declare them come first, so that only uses are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets
#pragma GCC poison gmtime localtime ctime asctime rand srand atoi atol atoll

#endif
