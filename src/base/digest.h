/*
 * digest.h - checksums and message authentication.
 *
 * MD5 and HMAC-SHA256 are nettle's, CRC-32C is ISA-L's; CRC-64 is here because the
 * polynomial the storage services use (CRC-64/NVME) is in no packaged library.
 * Pure functions and values that own nothing.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

enum {
    DIGEST_MD5_BYTES = 16,
    DIGEST_SHA256_BYTES = 32,
    DIGEST_CRC64_BYTES = 8,
};

/* CRC-32C (Castagnoli) of `bytes` continued from `crc`; begin with 0. */
uint32_t digest_crc32c(uint32_t crc, struct slice bytes);

/*
 * CRC-64/NVME (reflected polynomial 0x9A6C9329AC4BC9B5, all ones in and out) continued
 * from `crc`; begin with 0.  On the wire it is the base64 of digest_crc64_bytes.
 */
uint64_t digest_crc64(uint64_t crc, struct slice bytes);

/* The eight bytes of a CRC-64 as the services send them: little-endian. */
void digest_crc64_bytes(uint64_t crc, uint8_t bytes[DIGEST_CRC64_BYTES]);

/* A key made ready once: signing costs no key schedule. */
struct digest_hmac_key {
    struct hmac_sha256_ctx ctx;
};

void digest_hmac_key_init(struct digest_hmac_key *key, struct slice secret);

/* HMAC-SHA256 of `text`. */
void digest_hmac(const struct digest_hmac_key *key, struct slice text,
                 uint8_t mac[DIGEST_SHA256_BYTES]);

/* Equality in time that depends on the length alone. */
bool digest_equal(const void *a, const void *b, size_t len);

#endif
