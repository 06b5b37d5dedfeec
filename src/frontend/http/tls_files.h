/*
 * tls_files.h - the certificate and key a listener serves HTTPS with.
 *
 * Two forms, as users of azurite have them: PEM files (--cert and --key, the key maybe encrypted)
 * or one PKCS #12 file (--cert x.pfx --pwd ...), which is turned into PEM in memory.
 */
#ifndef FRONTEND_HTTP_TLS_FILES_H
#define FRONTEND_HTTP_TLS_FILES_H

#include "base/arena.h"
#include "base/error.h"

/* PEM texts in the arena; NULL password when the key is not encrypted. */
struct tls_files {
    const char *certificate;
    const char *key;
    const char *key_password;
};

/*
 * `key_path` is NULL for a PKCS #12 file, `password` may be NULL.  On error a line in the log says
 * which file is at fault: ERR_IO when it cannot be read, ERR_MALFORMED when it is not what it
 * should be or the password is wrong.
 */
MUST_CHECK enum err tls_files_load(struct arena *arena, const char *certificate_path,
                                   const char *key_path, const char *password,
                                   struct tls_files *files);

#endif
