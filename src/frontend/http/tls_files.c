#include "frontend/http/tls_files.h"

#include <gnutls/gnutls.h>
#include <gnutls/pkcs12.h>
#include <gnutls/x509.h>
#include <stdint.h>

#include "base/log.h"
#include "base/strbuf.h"

/* The whole file in the arena, followed by a NUL. */
static enum err load(struct arena *arena, const char *path, struct slice *text)
{
    gnutls_datum_t data = { 0 };
    const int failure = gnutls_load_file(path, &data);
    if (failure < 0) {
        log_error("tls", "%s: %s", path, gnutls_strerror(failure));
        return ERR_IO;
    }
    *text = arena_copy(arena, slice_make(data.data, data.size));
    gnutls_free(data.data);
    return OK;
}

static void append_pem(struct strbuf *out, const gnutls_datum_t *pem)
{
    strbuf_add(out, slice_make(pem->data, pem->size));
}

/* Key and chain of an opened PKCS #12 bag, as PEM. */
static int export_pem(gnutls_pkcs12_t bag, const char *password, struct strbuf *certificate,
                      struct strbuf *key)
{
    gnutls_x509_privkey_t private_key = NULL;
    gnutls_x509_crt_t *chain = NULL;
    unsigned chain_count = 0;
    int result = gnutls_pkcs12_simple_parse(bag, password, &private_key, &chain, &chain_count, NULL,
                                            NULL, NULL, 0);
    if (result < 0)
        return result;
    gnutls_datum_t pem;
    result = gnutls_x509_privkey_export2(private_key, GNUTLS_X509_FMT_PEM, &pem);
    if (result >= 0) {
        append_pem(key, &pem);
        gnutls_free(pem.data);
    }
    for (unsigned i = 0; i < chain_count; i++) {
        if (result >= 0)
            result = gnutls_x509_crt_export2(chain[i], GNUTLS_X509_FMT_PEM, &pem);
        if (result >= 0) {
            append_pem(certificate, &pem);
            gnutls_free(pem.data);
        }
        gnutls_x509_crt_deinit(chain[i]);
    }
    gnutls_free(chain);
    gnutls_x509_privkey_deinit(private_key);
    return result;
}

static int read_pkcs12(struct slice file, const char *password, struct strbuf *certificate,
                       struct strbuf *key)
{
    const gnutls_datum_t data = { (unsigned char *)(uintptr_t)file.data, (unsigned)file.len };
    gnutls_pkcs12_t bag;
    int result = gnutls_pkcs12_init(&bag);
    if (result < 0)
        return result;
    result = gnutls_pkcs12_import(bag, &data, GNUTLS_X509_FMT_DER, 0);
    if (result >= 0)
        result = export_pem(bag, password, certificate, key);
    gnutls_pkcs12_deinit(bag);
    return result;
}

static enum err load_pkcs12(struct arena *arena, const char *path, const char *password,
                            struct tls_files *files)
{
    struct slice file;
    const enum err err = load(arena, path, &file);
    if (err != OK)
        return err;
    struct strbuf certificate;
    struct strbuf key;
    strbuf_init(&certificate, arena);
    strbuf_init(&key, arena);
    const int failure = read_pkcs12(file, password, &certificate, &key);
    if (failure < 0) {
        log_error("tls", "%s: not a PKCS #12 file that the password opens: %s", path,
                  gnutls_strerror(failure));
        return ERR_MALFORMED;
    }
    files->certificate = arena_copy(arena, strbuf_slice(&certificate)).data;
    files->key = arena_copy(arena, strbuf_slice(&key)).data;
    return OK;
}

enum err tls_files_load(struct arena *arena, const char *certificate_path, const char *key_path,
                        const char *password, struct tls_files *files)
{
    *files = (struct tls_files){ 0 };
    if (key_path == NULL)
        return load_pkcs12(arena, certificate_path, password, files);
    struct slice certificate;
    struct slice key;
    enum err err = load(arena, certificate_path, &certificate);
    if (err == OK)
        err = load(arena, key_path, &key);
    if (err != OK)
        return err;
    *files = (struct tls_files){ certificate.data, key.data, password };
    return OK;
}
