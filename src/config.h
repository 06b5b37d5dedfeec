/*
 * config.h - what the user asked for: the command line and the config file.
 *
 * The command line is that of azurite, so programs that start azurite can start this server
 * instead, with a few settings of our own.  All settings are rows of settings.def; struct config
 * below has one field for each.
 *
 *   --name value   --name=value   -n value   -n=value      any kind but FLAG
 *   --name   -n   --name=true   --name=false               FLAG
 *
 * A value that begins with a dash is given as --name=value.  Of a setting given twice the last
 * counts.  The config file has a line `name = value` per setting (flags: true or false); lines
 * that begin with # and empty lines are skipped, and paths are relative to the working directory.
 * What the command line says wins over the file.
 *
 * Environment variables are not read here.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"

/* The kinds of settings, and the types of their fields. */
#define CONFIG_TYPE_FLAG      bool
#define CONFIG_TYPE_TEXT      const char * /* NULL: not given, and no initial value */
#define CONFIG_TYPE_PORT      uint16_t
#define CONFIG_TYPE_COUNT     uint32_t
#define CONFIG_TYPE_MEBIBYTES uint64_t /* given in MiB, kept in bytes; 0: not given */

/*
 * A value.  Strings are argv's, literals, or in the arena given to config_parse.
 *
 * The initial values are in settings.def.  `location` is meaningless when `in_memory` is set;
 * `key_path` or `cert_password` is there when `cert_path` is; `oauth` is NULL or "basic"; there
 * is at least one committer.
 */
struct config {
#define GROUP(title)
#define SETTING(field, name, letter, kind, initial, placeholder, help) CONFIG_TYPE_##kind field;
#include "settings.def"
#undef SETTING
#undef GROUP
};

enum config_status {
    CONFIG_RUN,     /* `config` is filled: serve */
    CONFIG_DONE,    /* help or version was printed: exit 0 */
    CONFIG_INVALID, /* a message was printed to `err`: exit 2 */
};

/* Read the command line and the config file it names.  `config` is filled only for CONFIG_RUN. */
MUST_CHECK enum config_status config_parse(struct config *config, struct arena *arena, int argc,
                                           char *const argv[], FILE *out, FILE *err);

#endif
